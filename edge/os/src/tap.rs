//! TAP interfaces: kernel interfaces whose wire is a file. They end with it.
//!
//! Not here: which frames go there.

use crate::link::Links;
use crate::link_state;
use crate::netlink::Netlink;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Frames that wait in the kernel until they are read: arrivals within 50 ms at 200,000 a second.
const QUEUE_LEN: u32 = 10_000;
/// Most files that [`TapSet::wait`] returns at a time.
const READY_MAX: usize = 64;

/// Parameters of a TAP interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapOptions {
    /// Its name, at most 15 characters.
    pub name: String,
    /// Its MAC address.
    pub mac: [u8; 6],
    /// The longest IP packet, bytes.
    pub mtu: u32,
    /// Its addresses with prefix length.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Routers for destinations elsewhere.
    pub gateways: Vec<IpAddr>,
}

/// A TAP interface. It is removed when this is dropped, or the process ends.
#[derive(Debug)]
pub struct Tap {
    file: OwnedFd,
}

impl Tap {
    /// Makes the interface in the network namespace of the calling thread and sets it up. An error of kind `AlreadyExists` or
    /// `ResourceBusy` if there is one of that name. Needs CAP_NET_ADMIN.
    pub fn open(options: &TapOptions) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
        // SAFETY: plain numbers, of which all may be 0.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if options.name.len() >= request.ifr_name.len() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        for (to, byte) in request.ifr_name.iter_mut().zip(options.name.bytes()) {
            *to = byte as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        // SAFETY: the file is open, and the request outlives the call.
        if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let tap = Self { file };
        tap.configure(options)?;
        Ok(tap)
    }

    fn configure(&self, options: &TapOptions) -> io::Result<()> {
        let (mut netlink, index) = (Netlink::open()?, Links::open()?.by_name(&options.name)?.index);
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![
            LinkAttribute::Address(options.mac.to_vec()),
            LinkAttribute::Mtu(options.mtu),
            LinkAttribute::TxQueueLen(QUEUE_LEN),
        ];
        netlink.change(RouteNetlinkMessage::SetLink(link))?;
        // Nobody else may have the addresses of a host: no time is lost with looking. Without IPv6 there is no such file.
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{}/accept_dad", options.name), "0");
        // One interface does not speak for the addresses of another.
        for (key, value) in [("arp_ignore", "1"), ("arp_announce", "2")] {
            std::fs::write(format!("/proc/sys/net/ipv4/conf/{}/{key}", options.name), value)?;
        }
        link_state::set(&options.name, true)?;
        for (ip, prefix_len) in &options.addresses {
            netlink.create(RouteNetlinkMessage::NewAddress(address(index, *ip, *prefix_len)))?;
        }
        for gateway in &options.gateways {
            match netlink.create(RouteNetlinkMessage::NewRoute(default_route(index, *gateway))) {
                // The namespace has one of somebody else's.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Reads a frame the kernel sends into `into`; `None` if there is none.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.file, into) {
            Ok(len) => Ok(Some(len)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the kernel a frame to receive.
    pub fn write(&self, frame: &[u8]) -> io::Result<()> {
        Ok(rustix::io::write(&self.file, frame).map(drop)?)
    }
}

fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn address(index: u32, ip: IpAddr, prefix_len: u8) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(ip);
    message.header.prefix_len = prefix_len;
    message.header.index = index;
    message.attributes = vec![
        AddressAttribute::Local(ip),
        AddressAttribute::Address(ip),
        AddressAttribute::Flags(AddressFlags::Nodad | AddressFlags::Permanent),
    ];
    message
}

fn default_route(index: u32, gateway: IpAddr) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(gateway);
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message.attributes =
        vec![RouteAttribute::Gateway(RouteAddress::from(gateway)), RouteAttribute::Oif(index)];
    message
}

/// TAP interfaces to wait for.
#[derive(Debug)]
pub struct TapSet {
    taps: Vec<Tap>,
    poll: OwnedFd,
}

impl TapSet {
    /// A set of `taps`.
    pub fn new(taps: Vec<Tap>) -> io::Result<Self> {
        // SAFETY: no pointer is handed over, and the number is a new file's if it is not negative.
        let poll = unsafe {
            match libc::epoll_create1(libc::EPOLL_CLOEXEC) {
                file if file < 0 => return Err(io::Error::last_os_error()),
                file => OwnedFd::from_raw_fd(file),
            }
        };
        for (number, tap) in taps.iter().enumerate() {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number as u64 };
            let (poll, file) = (poll.as_raw_fd(), tap.file.as_raw_fd());
            // SAFETY: both files are open, and the event outlives the call.
            if unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, file, &raw mut event) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { taps, poll })
    }

    /// The interface with this number.
    pub fn tap(&self, number: usize) -> &Tap {
        &self.taps[number]
    }

    /// Waits up to `wait_ms` milliseconds until there are frames to read; the numbers of some interfaces that have some go to
    /// `ready`.
    pub fn wait(&self, wait_ms: i32, ready: &mut Vec<usize>) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; READY_MAX];
        // SAFETY: the file is open, and there is room for as many events.
        let found = unsafe {
            libc::epoll_wait(self.poll.as_raw_fd(), events.as_mut_ptr(), READY_MAX as i32, wait_ms)
        };
        ready.clear();
        ready.extend(events.iter().take(usize::try_from(found).unwrap_or(0)).map(|event| event.u64 as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::Namespace;

    fn options(name: &str) -> TapOptions {
        TapOptions {
            name: name.to_owned(),
            mac: [2, 0, 0, 0, 0, 9],
            mtu: 1400,
            addresses: vec![("10.9.0.2".parse().unwrap(), 24), ("2001:2::2".parse().unwrap(), 64)],
            gateways: vec!["10.9.0.1".parse().unwrap(), "2001:2::1".parse().unwrap()],
        }
    }

    #[test]
    fn an_interface_is_what_was_asked_for_and_ends_with_its_file() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let test = || {
            Namespace::private().unwrap().enter().unwrap();
            let tap = Tap::open(&options("west")).unwrap();
            let facts = Links::open().unwrap().by_name("west").unwrap();
            assert_eq!((facts.mtu, facts.mac), (1400, [2, 0, 0, 0, 0, 9]));
            assert!(Tap::open(&options("west")).is_err(), "there is one of that name");
            // To an address on the interface's network the kernel asks for the neighbour.
            let socket = std::net::UdpSocket::bind("10.9.0.2:0").unwrap();
            socket.send_to(b"tide", "10.9.0.7:9").unwrap();
            let set = TapSet::new(vec![tap]).unwrap();
            let (mut ready, mut frame, mut asked) = (Vec::new(), [0; 2048], false);
            for _ in 0..50 {
                set.wait(100, &mut ready);
                assert!(ready.iter().all(|number| *number == 0));
                while let Some(len) = set.tap(0).read(&mut frame).unwrap() {
                    asked |= frame[..len].get(12..14) == Some(&[8, 6]) && frame[38..42] == [10, 9, 0, 7];
                }
                if asked {
                    break;
                }
            }
            assert!(asked);
            set.tap(0).write(&frame[..60]).unwrap();
            drop(set);
            assert!(Links::open().unwrap().by_name("west").is_err());
        };
        std::thread::spawn(test).join().unwrap();
    }
}
