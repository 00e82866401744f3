//! UDP packets with the facts that the kernel has of their arrival: time, TTL, and the address they came to; replies leave from that
//! address.
//!
//! Separate because `os` only looks at the machine, and this sends.

#![allow(unsafe_code)]

use os::clock;
use port::KernelClock;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

/// A UDP packet that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Octets of payload.
    pub length: usize,
    /// Whether the payload is longer than the buffer.
    pub is_cut: bool,
    /// Sender.
    pub from: SocketAddr,
    /// Address of this host that it came to.
    pub to: Option<IpAddr>,
    /// When the kernel got it, CLOCK_REALTIME, ns since 1970.
    pub at_ns: Option<u64>,
    /// TTL, or hop limit.
    pub hops: Option<u8>,
}

/// Has the kernel note time, TTL and destination of what comes.
///
/// # Errors
/// It does not know one of these.
pub fn note_arrivals(socket: &impl AsFd, is_v6: bool) -> io::Result<()> {
    let mut options = vec![
        (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS),
        (libc::IPPROTO_IP, libc::IP_RECVTTL),
        (libc::IPPROTO_IP, libc::IP_PKTINFO),
    ];
    if is_v6 {
        options.push((libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT));
        options.push((libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO));
    }
    options.into_iter().try_for_each(|(level, option)| switch_on(socket, level, option))
}

fn switch_on(socket: &impl AsFd, level: i32, option: i32) -> io::Result<()> {
    let value = 1i32;
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

/// The time of day, CLOCK_REALTIME, ns since 1970, by which arrivals are stamped.
pub fn time_of_day_ns() -> u64 {
    clock::kernel_ns(KernelClock::REALTIME).unwrap_or(0)
}

/// International Atomic Time minus UTC, s, as far as the kernel knows it: 0 unless a daemon has set it.
pub fn tai_ahead_s() -> u64 {
    let tai_ns = clock::kernel_ns(KernelClock(libc::CLOCK_TAI)).unwrap_or(0);
    tai_ns.saturating_sub(time_of_day_ns()).saturating_add(500_000_000) / 1_000_000_000
}

/// Receives one packet.
///
/// # Errors
/// Those of `recvmsg`.
pub fn receive(socket: &impl AsFd, into: &mut [u8]) -> io::Result<Arrival> {
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // Aligned as its headers must be.
    let mut control = [0u64; 32];
    // SAFETY: all zeros is an address of no family, and a message without anything.
    let (mut name, mut message): (libc::sockaddr_storage, libc::msghdr) = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = size_of_val(&name) as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: the message points to memory that lives until the call returns, with its lengths.
    let length = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    let from = address(&name).ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
    let is_cut = message.msg_flags & libc::MSG_TRUNC != 0;
    let mut arrival = Arrival { length, is_cut, from, to: None, at_ns: None, hops: None };
    // SAFETY: the kernel wrote the headers, and the macros stay within `msg_controllen`.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            note(&mut arrival, header);
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok(arrival)
}

/// Takes one of the kernel's facts in.
///
/// # Safety
/// `header` is one that the kernel wrote, with its data behind it.
unsafe fn note(arrival: &mut Arrival, header: *const libc::cmsghdr) {
    // SAFETY: the kernel writes for each kind a value of the type that is read here.
    unsafe {
        let data = libc::CMSG_DATA(header);
        match ((*header).cmsg_level, (*header).cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                let time = data.cast::<libc::timespec>().read_unaligned();
                arrival.at_ns = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                arrival.hops = u8::try_from(data.cast::<i32>().read_unaligned()).ok();
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                arrival.to = Some(Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr)).into());
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) if arrival.to.is_none() => {
                let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                arrival.to = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).to_canonical());
            }
            _ => {}
        }
    }
}

/// Sends one packet from an address of this host; `None` for the one that the kernel chooses.
///
/// # Errors
/// Those of `sendmsg`.
pub fn send_from(socket: &impl AsFd, bytes: &[u8], to: SocketAddr, from: Option<IpAddr>) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let (mut name, length) = name_of(to);
    let mut control = [0u64; 8];
    // SAFETY: all zeros is a message without anything.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = length;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if let Some(from) = from {
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        // SAFETY: the buffer has room for the largest of these headers with its data.
        message.msg_controllen = unsafe { source(&message, from) };
    }
    // SAFETY: the message points to memory that lives until the call returns, with its lengths.
    let sent = unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Writes the source address as the first header of the message; the octets it takes.
///
/// # Safety
/// The message has room for it.
unsafe fn source(message: &libc::msghdr, from: IpAddr) -> usize {
    // SAFETY: the caller's buffer is large enough for the first header and its data, and zeroed.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        match from {
            IpAddr::V4(from) => {
                let mut info: libc::in_pktinfo = std::mem::zeroed();
                info.ipi_spec_dst.s_addr = u32::from(from).to_be();
                (*header).cmsg_level = libc::IPPROTO_IP;
                (*header).cmsg_type = libc::IP_PKTINFO;
                (*header).cmsg_len = libc::CMSG_LEN(size_of_val(&info) as u32) as usize;
                libc::CMSG_DATA(header).cast::<libc::in_pktinfo>().write_unaligned(info);
                libc::CMSG_SPACE(size_of_val(&info) as u32) as usize
            }
            IpAddr::V6(from) => {
                let mut info: libc::in6_pktinfo = std::mem::zeroed();
                info.ipi6_addr.s6_addr = from.octets();
                (*header).cmsg_level = libc::IPPROTO_IPV6;
                (*header).cmsg_type = libc::IPV6_PKTINFO;
                (*header).cmsg_len = libc::CMSG_LEN(size_of_val(&info) as u32) as usize;
                libc::CMSG_DATA(header).cast::<libc::in6_pktinfo>().write_unaligned(info);
                libc::CMSG_SPACE(size_of_val(&info) as u32) as usize
            }
        }
    }
}

fn address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: of this family the storage has this type.
            let name = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(name.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: of this family the storage has this type.
            let name = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in6>() };
            let (ip, port) = (Ipv6Addr::from(name.sin6_addr.s6_addr), u16::from_be(name.sin6_port));
            Some(SocketAddrV6::new(ip, port, name.sin6_flowinfo, name.sin6_scope_id).into())
        }
        _ => None,
    }
}

fn name_of(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zeros is an address of no family.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match address {
        SocketAddr::V4(address) => {
            // SAFETY: the storage is large enough and aligned for the addresses of all families.
            let name = unsafe { &mut *(&raw mut storage).cast::<libc::sockaddr_in>() };
            name.sin_family = libc::AF_INET as libc::sa_family_t;
            name.sin_port = address.port().to_be();
            name.sin_addr.s_addr = u32::from(*address.ip()).to_be();
            size_of_val(name)
        }
        SocketAddr::V6(address) => {
            // SAFETY: as above.
            let name = unsafe { &mut *(&raw mut storage).cast::<libc::sockaddr_in6>() };
            name.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            name.sin6_port = address.port().to_be();
            name.sin6_flowinfo = address.flowinfo();
            name.sin6_scope_id = address.scope_id();
            name.sin6_addr.s6_addr = address.ip().octets();
            size_of_val(name)
        }
    };
    (storage, length as libc::socklen_t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Duration;

    fn bound(address: &str) -> UdpSocket {
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        note_arrivals(&socket, address.starts_with('[')).unwrap();
        socket
    }

    /// A packet from a sender of `here` to `to` at a socket of all addresses, and a reply from the address it came to.
    fn exchange(all: &str, here: &str, to: IpAddr) {
        let (reflector, sender) = (bound(all), bound(here));
        sender.set_ttl(17).unwrap();
        let before = time_of_day_ns();
        let port = reflector.local_addr().unwrap().port();
        send_from(&sender, b"ping", SocketAddr::new(to, port), None).unwrap();
        let mut buffer = [0; 3];
        let came = receive(&reflector, &mut buffer).unwrap();
        assert_eq!((came.length, came.is_cut, came.to), (3, true, Some(to)), "{came:?}");
        let at = came.at_ns.unwrap();
        assert!(before <= at && at <= time_of_day_ns(), "{before} {at}");
        assert_eq!(came.hops, Some(if to.is_ipv4() { 17 } else { 64 }));
        send_from(&reflector, b"pong", came.from, came.to).unwrap();
        let reply = receive(&sender, &mut [0; 9]).unwrap();
        assert_eq!(reply.from, SocketAddr::new(to, port));
    }

    #[test]
    fn replies_leave_from_the_address_that_was_asked() {
        // Of the loopback network, the kernel would choose the first address.
        exchange("0.0.0.0:0", "127.0.0.1:0", "127.0.0.9".parse().unwrap());
        exchange("[::]:0", "[::1]:0", "::1".parse().unwrap());
    }

    #[test]
    fn a_socket_of_both_families_has_facts_of_both() {
        let (reflector, sender) = (bound("[::]:0"), bound("127.0.0.1:0"));
        let to = SocketAddr::from(([127, 0, 0, 9], reflector.local_addr().unwrap().port()));
        send_from(&sender, b"ping", to, None).unwrap();
        let came = receive(&reflector, &mut [0; 9]).unwrap();
        assert_eq!((came.to, came.hops), (Some(to.ip()), Some(64)), "{came:?}");
        send_from(&reflector, b"pong", came.from, came.to).unwrap();
        assert_eq!(receive(&sender, &mut [0; 9]).unwrap().from, to);
    }

    #[test]
    fn atomic_time_is_ahead_by_whole_seconds() {
        assert!(tai_ahead_s() <= 60);
    }
}
