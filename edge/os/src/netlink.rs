//! The kernel's routing socket: typed requests and replies about one network namespace.
//!
//! Not here: the meaning of a reply; see `link`.
//!
//! Invariant: a [`Netlink`] covers the network namespace of the thread that opened it, for any later user.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_EXCL, NLM_F_MULTIPART, NLM_F_REQUEST,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage as RouteMessage;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// The kernel never sends more than 32 KiB of a dump at a time.
const ANSWER_BYTES: usize = 64 * 1024;
const DUMP_ATTEMPTS: usize = 4;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of the socket: of a refused request only the header comes back, and with it the reason in words.
const CAP_ACK: i32 = 10;
const EXT_ACK: i32 = 11;
/// The reply continues with attributes after the header of the request (`NLM_F_ACK_TLVS`).
const HAS_ATTRIBUTES: u16 = 0x200;
const REQUEST_HEADER_BYTES: usize = 16;
/// The attribute with the reason, ended by a zero byte (`NLMSGERR_ATTR_MSG`).
const REASON: u16 = 1;

/// A connection to the kernel's tables of interfaces, addresses and routes.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    /// Why the kernel refused the last request, in its words.
    reason: Option<String>,
}

impl Netlink {
    /// Opens a socket in the network namespace of the calling thread.
    pub(crate) fn open() -> io::Result<Self> {
        let socket = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        net::sockopt::set_socket_timeout(&socket, net::sockopt::Timeout::Recv, Some(ANSWER_TIMEOUT))?;
        // Without them there are no reasons.
        [CAP_ACK, EXT_ACK].into_iter().for_each(|option| switch_on(&socket, option));
        Ok(Self { socket, sequence: 0, reason: None })
    }

    /// Why the kernel refused the last request, in its own words, if it gave any.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Reads one object; `Err` with the kernel's reason, such as `ENODEV`.
    pub(crate) fn get(&mut self, request: RouteMessage) -> io::Result<RouteMessage> {
        let answers = self.transact(request, NLM_F_REQUEST)?;
        answers.into_iter().next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Reads all objects of a kind. Starts again if they changed while the kernel listed them.
    pub(crate) fn dump(&mut self, request: RouteMessage) -> io::Result<Vec<RouteMessage>> {
        let flags = NLM_F_REQUEST | NLM_F_DUMP;
        for _ in 1..DUMP_ATTEMPTS {
            match self.transact(request.clone(), flags) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
        self.transact(request, flags)
    }

    /// Changes an object; `Err` with the kernel's reason, such as `EPERM`.
    pub(crate) fn change(&mut self, request: RouteMessage) -> io::Result<()> {
        self.transact(request, NLM_F_REQUEST | NLM_F_ACK).map(drop)
    }

    /// Makes an object that must not be there yet.
    pub(crate) fn create(&mut self, request: RouteMessage) -> io::Result<()> {
        self.transact(request, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    fn transact(&mut self, request: RouteMessage, flags: u16) -> io::Result<Vec<RouteMessage>> {
        self.sequence += 1;
        let mut message = NetlinkMessage::from(request);
        message.header.flags = flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        net::send(&self.socket, &bytes, SendFlags::empty())?;
        let mut answer = Answer { sequence: self.sequence, messages: Vec::new(), reason: None };
        let mut buffer = vec![0; ANSWER_BYTES];
        self.reason = None;
        loop {
            let (received, _) = match net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Err(rustix::io::Errno::INTR) => continue,
                received => received?,
            };
            let taken = answer.take(&buffer[..received]);
            self.reason = answer.reason.take();
            if taken? {
                return Ok(answer.messages);
            }
        }
    }
}

/// The kernel's reply to the request with this number.
struct Answer {
    sequence: u32,
    messages: Vec<RouteMessage>,
    reason: Option<String>,
}

/// Switches an option of a netlink socket on, if the kernel has it.
fn switch_on(socket: &OwnedFd, option: i32) {
    let on: libc::c_int = 1;
    let (value, bytes) = ((&raw const on).cast(), size_of_val(&on) as u32);
    // SAFETY: an open socket, and a number that outlives the call.
    unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_NETLINK, option, value, bytes) };
}

/// The reason among the attributes of a refusal.
fn reason(mut attributes: &[u8]) -> Option<String> {
    while let [a, b, c, d, ..] = *attributes {
        let (bytes, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
        let value = attributes.get(4..bytes)?;
        if kind == REASON {
            return Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_owned());
        }
        attributes = attributes.get(bytes.next_multiple_of(4)..)?;
    }
    None
}

impl Answer {
    /// Processes the messages of one datagram; true when the reply is complete.
    fn take(&mut self, mut datagram: &[u8]) -> io::Result<bool> {
        while !datagram.is_empty() {
            let message = NetlinkMessage::<RouteMessage>::deserialize(datagram)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let bytes = (message.header.length as usize).next_multiple_of(4).min(datagram.len());
            datagram = &datagram[bytes..];
            // The answer to an earlier request that was given up.
            if message.header.sequence_number != self.sequence {
                continue;
            }
            if message.header.flags & NLM_F_DUMP_INTR != 0 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) => {
                    if message.header.flags & HAS_ATTRIBUTES != 0 {
                        self.reason = error.header.get(REQUEST_HEADER_BYTES..).and_then(reason);
                    }
                    return error.code.map_or(Ok(true), |_| Err(error.to_io()));
                }
                NetlinkPayload::InnerMessage(inner) => self.messages.push(inner),
                _ => {}
            }
            if message.header.flags & NLM_F_MULTIPART == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::{DoneMessage, ErrorMessage};
    use netlink_packet_route::link::LinkMessage;

    const SEQUENCE: u32 = 7;

    fn bytes(payload: NetlinkPayload<RouteMessage>, flags: u16, sequence: u32) -> Vec<u8> {
        let mut message = NetlinkMessage::new(Default::default(), payload);
        message.header.flags = flags;
        message.header.sequence_number = sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    fn link(index: u32) -> NetlinkPayload<RouteMessage> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        NetlinkPayload::InnerMessage(RouteMessage::NewLink(message))
    }

    fn answer() -> Answer {
        Answer { sequence: SEQUENCE, messages: Vec::new(), reason: None }
    }

    #[test]
    fn a_dump_is_complete_at_its_end_mark() {
        let mut answer = answer();
        let both = [bytes(link(1), NLM_F_MULTIPART, SEQUENCE), bytes(link(2), NLM_F_MULTIPART, SEQUENCE)];
        assert!(!answer.take(&both.concat()).unwrap());
        let done = NetlinkPayload::Done(DoneMessage::default());
        assert!(answer.take(&bytes(done, NLM_F_MULTIPART, SEQUENCE)).unwrap());
        assert_eq!(answer.messages.len(), 2);
    }

    #[test]
    fn one_object_is_one_message() {
        let mut answer = answer();
        assert!(answer.take(&bytes(link(1), 0, SEQUENCE)).unwrap());
        assert_eq!(answer.messages.len(), 1);
    }

    #[test]
    fn answers_to_other_requests_are_skipped() {
        let mut answer = answer();
        assert!(!answer.take(&bytes(link(1), 0, SEQUENCE - 1)).unwrap());
        assert!(answer.messages.is_empty());
    }

    #[test]
    fn errors_carry_the_kernels_code() {
        let mut error = ErrorMessage::default();
        error.code = std::num::NonZeroI32::new(-libc::ENODEV);
        let refused = answer().take(&bytes(NetlinkPayload::Error(error), 0, SEQUENCE)).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ENODEV));
        assert!(answer().take(&bytes(NetlinkPayload::Error(ErrorMessage::default()), 0, SEQUENCE)).unwrap());
        let torn = bytes(link(1), NLM_F_MULTIPART | NLM_F_DUMP_INTR, SEQUENCE);
        assert_eq!(answer().take(&torn).unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert!(answer().take(&[255, 255, 0, 0, 1]).is_err());
    }

    #[test]
    fn refusals_have_a_reason_in_words() {
        let mut error = ErrorMessage::default();
        error.code = std::num::NonZeroI32::new(-libc::ERANGE);
        let words = b"Peer MTU is too large to set XDP\0";
        let other = [8u16.to_ne_bytes(), 2u16.to_ne_bytes(), [0; 2], [0; 2]].concat();
        let said = [(4 + words.len() as u16).to_ne_bytes(), REASON.to_ne_bytes()].concat();
        error.header = [&[0; REQUEST_HEADER_BYTES][..], &other, &said, words].concat();
        let mut answer = answer();
        let datagram = bytes(NetlinkPayload::Error(error), HAS_ATTRIBUTES, SEQUENCE);
        assert_eq!(answer.take(&datagram).unwrap_err().raw_os_error(), Some(libc::ERANGE));
        assert_eq!(answer.reason.as_deref(), Some("Peer MTU is too large to set XDP"));
        assert_eq!((reason(&[]), reason(&[9, 0, 1]), reason(&[200, 0, 1, 0, 1])), (None, None, None));
    }

    #[test]
    fn a_socket_answers_more_than_once() {
        let mut netlink = Netlink::open().unwrap();
        for _ in 0..3 {
            let links = netlink.dump(RouteMessage::GetLink(LinkMessage::default())).unwrap();
            assert!(!links.is_empty());
        }
    }
}
