//! Calls of sockets that the standard library lacks: what the kernel knows of a TCP connection, and UDP packets in bulk.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Most UDP packets of one call that sends them cut: what kernels since 4.18 take.
pub const MOST_SEGMENTS: usize = 64;

/// The kernel's data on the sending half of a TCP connection (`struct tcp_info`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpFigures {
    /// Segments sent again, in all.
    pub retransmitted: u64,
    /// Largest segment, octets.
    pub mss: u64,
    /// Congestion window, octets.
    pub window: u64,
    /// Window of the receiver, octets; `None` before Linux 5.4.
    pub peer_window: Option<u64>,
    /// Smoothed round trip time, µs.
    pub rtt_us: u64,
    /// Its mean deviation, µs.
    pub rtt_deviation_us: u64,
    /// Largest packet of the path, octets.
    pub path_mtu: u64,
    /// Octets that were not sent, or not acknowledged.
    pub outstanding: u64,
    /// Time in which something was to be sent, µs; `None` before Linux 4.10.
    pub busy_us: Option<u64>,
    /// Of this, waiting for the receiver's window.
    pub peer_limited_us: Option<u64>,
    /// Of this, waiting for room in the send buffer.
    pub buffer_limited_us: Option<u64>,
}

/// Figures of a TCP connection.
///
/// # Errors
/// It is no TCP socket.
pub fn tcp_figures(socket: &impl AsFd) -> io::Result<TcpFigures> {
    let mut info = [0u8; 256];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(figures(&info[..(length as usize).min(info.len())]))
}

/// Reads `struct tcp_info`, which grows at its end.
fn figures(info: &[u8]) -> TcpFigures {
    let long = |at: usize| {
        info.get(at..).and_then(|rest| rest.first_chunk()).map(|bytes| u64::from_ne_bytes(*bytes))
    };
    let word = |at: usize| {
        info.get(at..).and_then(|rest| rest.first_chunk()).map(|bytes| u64::from(u32::from_ne_bytes(*bytes)))
    };
    let short = |at| word(at).unwrap_or(0);
    TcpFigures {
        retransmitted: short(100),
        mss: short(16),
        window: short(80) * short(16),
        peer_window: word(228),
        rtt_us: short(68),
        rtt_deviation_us: short(72),
        path_mtu: short(60),
        outstanding: short(24) * short(16) + short(144),
        busy_us: long(168),
        peer_limited_us: long(176),
        buffer_limited_us: long(184),
    }
}

fn set(socket: &impl AsFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the option is an int, of which the kernel reads four octets.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as u32,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the kernel cut each send into UDP packets of this number of octets of payload (`UDP_SEGMENT`); 0 for whole
/// ones.
///
/// # Errors
/// The kernel is older than 4.18.
pub fn cut_into(socket: &impl AsFd, payload: u16) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_SEGMENT, payload.into())
}

/// Lets the kernel hand over several UDP packets of one sender at once (`UDP_GRO`), to [`receive`].
///
/// # Errors
/// The kernel is older than 5.0.
pub fn join(socket: &impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Forbids that packets are fragmented, here or on their way. IPv4.
///
/// # Errors
/// It is no socket of IPv4.
pub fn forbid_fragments(socket: &impl AsFd) -> io::Result<()> {
    set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)
}

/// Lets the kernel pace what is sent, octets per second.
///
/// # Errors
/// It can't.
pub fn pace(socket: &impl AsFd, bytes_per_second: u32) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes_per_second.cast_signed())
}

/// Number of packets for which a socket had no room.
///
/// # Errors
/// The kernel is older than 4.12.
pub fn dropped(socket: &impl AsFd) -> io::Result<u64> {
    const DROPS: usize = 8;
    let mut info = [0u32; 9];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if status == 0 { Ok(info[DROPS].into()) } else { Err(io::Error::last_os_error()) }
}

/// Makes a socket's receive buffer as large, if it may be; else as large as users' may be.
pub fn enlarge_receive_buffer(socket: &impl AsFd, bytes: u32) {
    let bytes = bytes.cast_signed();
    if set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes).is_err() {
        // The kernel takes any size, and gives what it gives.
        let _ = set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes);
    }
}

/// Receives: how many octets, and how many of them each UDP packet has (the last one may have fewer).
///
/// # Errors
/// Those of `recvmsg`.
pub fn receive(socket: &impl AsFd, into: &mut [u8]) -> io::Result<(usize, usize)> {
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // Aligned as its headers must be.
    let mut control = [0u64; 8];
    // SAFETY: all zeros is a message without anything.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: the message points to memory that lives until the call returns, with its lengths.
    let length = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    let mut each = length;
    // SAFETY: the kernel wrote the headers, and the macros stay within `msg_controllen`.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if ((*header).cmsg_level, (*header).cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO) {
                let size = libc::CMSG_DATA(header).cast::<i32>().read_unaligned();
                each = usize::try_from(size).unwrap_or(0).clamp(1, length.max(1));
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok((length, each))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_connection_has_figures() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.write_all(&[0; 1000]).unwrap();
        let figures = tcp_figures(&stream).unwrap();
        assert!(
            figures.mss > 500 && figures.window >= figures.mss && figures.path_mtu > figures.mss,
            "{figures:?}"
        );
        assert!(tcp_figures(&UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }

    #[test]
    fn older_kernels_know_less() {
        let mut info = [1u8; 104];
        let old = figures(&info);
        assert_eq!((old.retransmitted, old.busy_us, old.peer_window), (0x0101_0101, None, None));
        info[100] = 2;
        assert_eq!(figures(&info).retransmitted, 0x0101_0102);
        assert_eq!(figures(&[]), TcpFigures::default());
    }

    #[test]
    fn a_socket_tells_what_it_had_no_room_for() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        enlarge_receive_buffer(&receiver, 20_000);
        assert_eq!(dropped(&receiver).unwrap(), 0);
        for _ in 0..100 {
            sender.send(&[0; 1000]).unwrap();
        }
        assert!((20..100).contains(&dropped(&receiver).unwrap()));
    }

    #[test]
    fn packets_are_sent_and_received_in_bulk() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        join(&receiver).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        cut_into(&sender, 100).unwrap();
        assert_eq!(sender.send(&[7; 950]).unwrap(), 950);
        let (mut octets, mut packets, mut buffer) = (0, 0, vec![0; 1 << 16]);
        while octets < 950 {
            let (length, each) = receive(&receiver, &mut buffer).unwrap();
            assert!(buffer[..length].iter().all(|octet| *octet == 7));
            octets += length;
            packets += length.div_ceil(each);
        }
        assert_eq!((octets, packets), (950, 10));
    }
}
