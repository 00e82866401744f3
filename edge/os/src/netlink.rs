//! Questions to the kernel's routing socket and their answers, in the network namespace of the calling thread.
//!
//! Not here: what an attribute means; see `link`. Layouts: linux/netlink.h, linux/rtnetlink.h, linux/if_link.h.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The kernel never answers a dump with more than 32 KiB at a time.
const ANSWER_BYTES: usize = 64 * 1024;
const HEADER_BYTES: usize = 16;
const DUMP_ATTEMPTS: usize = 4;
const ANSWER_TIMEOUT_S: libc::time_t = 2;

/// Asks for one object; `Err` with the kernel's reason, such as `ENODEV`.
pub fn get(message_type: u16, request: &[u8]) -> io::Result<Vec<u8>> {
    let answers = ask(message_type, libc::NLM_F_REQUEST as u16, request)?;
    answers.into_iter().next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Asks for all objects of a kind. Asks again if they changed while the kernel was listing them.
pub fn dump(message_type: u16, request: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    let mut outcome = ask(message_type, flags, request);
    for _ in 1..DUMP_ATTEMPTS {
        if !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::Interrupted) {
            break;
        }
        outcome = ask(message_type, flags, request);
    }
    outcome
}

/// Changes an object; `Err` with the kernel's reason, such as `EPERM`.
pub fn change(message_type: u16, request: &[u8]) -> io::Result<()> {
    ask(message_type, (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16, request).map(drop)
}

/// The attributes in `bytes`: type without its flags, and payload. Ends at the first that does not fit.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & 0x3fff;
        let payload = bytes.get(4..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, payload))
    })
}

/// One attribute, ready to append to a request.
pub fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + 8);
    bytes.extend_from_slice(&(payload.len() as u16 + 4).to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The 16-bit number at `at`, in the machine's order.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The 32-bit number at `at`, in the machine's order.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The 64-bit number at `at`, in the machine's order.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Text that may end in a NUL.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn ask(message_type: u16, flags: u16, request: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let socket = open()?;
    let mut message = Vec::with_capacity(HEADER_BYTES + request.len());
    message.extend_from_slice(&((HEADER_BYTES + request.len()) as u32).to_ne_bytes());
    message.extend_from_slice(&message_type.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(request);
    // SAFETY: pointer and length describe `message`, which the kernel only reads.
    let sent = unsafe { libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let is_dump = flags & libc::NLM_F_DUMP as u16 != 0;
    let mut buffer = vec![0u8; ANSWER_BYTES];
    let mut collector = Collector { is_dump, answers: Vec::new() };
    loop {
        // SAFETY: pointer and length describe `buffer`, of which the kernel writes at most that much.
        let received = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        match usize::try_from(received) {
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            Ok(received) => {
                if collector.take(&buffer[..received])? {
                    return Ok(collector.answers);
                }
            }
        }
    }
}

struct Collector {
    is_dump: bool,
    answers: Vec<Vec<u8>>,
}

impl Collector {
    /// Takes the messages of one datagram; true when the answer is complete.
    fn take(&mut self, mut datagram: &[u8]) -> io::Result<bool> {
        while let Some(len) = u32_at(datagram, 0) {
            let message = datagram.get(..len as usize).ok_or(io::ErrorKind::InvalidData)?;
            let payload = message.get(HEADER_BYTES..).ok_or(io::ErrorKind::InvalidData)?;
            let message_type = i32::from(u16_at(message, 4).unwrap_or(0));
            let flags = i32::from(u16_at(message, 6).unwrap_or(0));
            if flags & libc::NLM_F_DUMP_INTR != 0 && self.is_dump {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match message_type {
                libc::NLMSG_DONE => return Ok(true),
                libc::NLMSG_ERROR => match u32_at(payload, 0).map(|code| code as i32) {
                    Some(0) => return Ok(true),
                    Some(code) => return Err(io::Error::from_raw_os_error(code.wrapping_neg())),
                    None => return Err(io::ErrorKind::InvalidData.into()),
                },
                libc::NLMSG_NOOP => {}
                _ => {
                    self.answers.push(payload.to_vec());
                    if !self.is_dump {
                        return Ok(true);
                    }
                }
            }
            datagram = datagram.get((len as usize).next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(false)
    }
}

fn open() -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the result is checked below.
    let fd =
        unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let timeout = libc::timeval { tv_sec: ANSWER_TIMEOUT_S, tv_usec: 0 };
    // SAFETY: pointer and length describe `timeout`, which the kernel only reads.
    unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const timeout).cast(),
            size_of_val(&timeout) as libc::socklen_t,
        )
    };
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(message_type: i32, flags: i32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
        bytes.extend((message_type as u16).to_ne_bytes());
        bytes.extend((flags as u16).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn attributes_are_read_back() {
        let bytes = [attribute(3, b"eth0\0"), attribute(4, &1500u32.to_ne_bytes())].concat();
        assert_eq!(bytes.len(), 12 + 8);
        let read: Vec<_> = attributes(&bytes).collect();
        assert_eq!(read, [(3, &b"eth0\0"[..]), (4, &1500u32.to_ne_bytes()[..])]);
        assert_eq!(text(read[0].1), "eth0");
    }

    #[test]
    fn broken_attributes_end_the_list() {
        let good = attribute(3, b"x");
        for tail in [&[0u8, 0, 0, 0][..], &[3, 0, 1, 0], &[200, 0, 1, 0, 7], &[9]] {
            let bytes = [&good[..], tail].concat();
            assert_eq!(attributes(&bytes).count(), 1, "{tail:?}");
        }
    }

    #[test]
    fn a_dump_is_complete_at_its_end_mark() {
        let mut collector = Collector { is_dump: true, answers: vec![] };
        let first = [message(16, 2, b"abcde"), message(16, 2, b"f")].concat();
        assert!(!collector.take(&first).unwrap());
        assert!(collector.take(&message(libc::NLMSG_DONE, 2, &[0; 4])).unwrap());
        assert_eq!(collector.answers, [b"abcde".to_vec(), b"f".to_vec()]);
    }

    #[test]
    fn errors_carry_the_kernels_code() {
        let mut collector = Collector { is_dump: false, answers: vec![] };
        let answer = message(libc::NLMSG_ERROR, 0, &(-libc::ENODEV).to_ne_bytes());
        assert_eq!(collector.take(&answer).unwrap_err().raw_os_error(), Some(libc::ENODEV));
        let mut collector = Collector { is_dump: true, answers: vec![] };
        let torn = message(16, libc::NLM_F_DUMP_INTR, b"");
        assert_eq!(collector.take(&torn).unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert!(collector.take(&[255, 255, 0, 0, 1]).is_err());
    }
}
