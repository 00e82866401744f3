//! Kernel interfaces, over rtnetlink: whether they are there, up and large enough, what they dropped, and which XDP
//! program they run.
//!
//! Not here: changing them, but for one thing: [`Netlink::detach_xdp`].
//!
//! Invariant: a [`Netlink`] speaks about the network namespace of the thread that made it, whoever uses it later.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const HEADER: usize = 16;
const IFINFO: usize = 16;
const ALIGN: usize = 4;

const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_STATS64: u16 = 23;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_FD: u16 = 1;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_FLAGS: u16 = 3;
const IFLA_XDP_PROG_ID: u16 = 4;
const NESTED: u16 = 1 << 15;

/// Byte of `tx_dropped` in `struct rtnl_link_stats64`.
const STATS_TX_DROPPED: usize = 7 * 8;

/// `XDP_ATTACHED_…`: how a program hangs on an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum XdpMode {
    Driver,
    Generic,
    Hardware,
    Several,
}

/// An interface as it is now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interface {
    pub index: u32,
    pub name: String,
    pub flags: u32,
    pub mtu: u32,
    /// Number of the XDP program it runs.
    pub xdp: Option<(u32, XdpMode)>,
    /// Frames the kernel was to send over it and dropped.
    pub tx_dropped: u64,
}

impl Interface {
    /// Receives what is meant for others, on its administrator's word.
    pub(crate) fn is_promiscuous(&self) -> bool {
        self.flags & libc::IFF_PROMISC as u32 != 0
    }

    /// Set up by its administrator.
    pub(crate) fn is_up(&self) -> bool {
        self.flags & libc::IFF_UP as u32 != 0
    }

    /// There is somebody at the other end.
    pub(crate) fn has_carrier(&self) -> bool {
        self.flags & libc::IFF_LOWER_UP as u32 != 0
    }
}

/// A connection to the kernel's interface table.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    pub(crate) fn open() -> io::Result<Self> {
        // SAFETY: a fresh descriptor, which the `OwnedFd` owns from here on.
        let socket = unsafe {
            let socket =
                libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
            if socket < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(socket)
        };
        Ok(Self { socket, sequence: 0 })
    }

    /// The interface `name`; `None` if there is none.
    pub(crate) fn interface(&mut self, name: &str) -> io::Result<Option<Interface>> {
        let mut message = Message::new(libc::RTM_GETLINK, libc::NLM_F_REQUEST as u16, 0);
        message.attribute(IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
        match self.ask(message) {
            Ok(mut found) => Ok(found.pop()),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All interfaces.
    pub(crate) fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        self.ask(Message::new(libc::RTM_GETLINK, (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16, 0))
    }

    /// Takes the XDP program off an interface.
    pub(crate) fn detach_xdp(&mut self, index: u32, mode: XdpMode) -> io::Result<()> {
        let flags: u32 = match mode {
            XdpMode::Generic => 1 << 1,
            XdpMode::Driver => 1 << 2,
            XdpMode::Hardware => 1 << 3,
            XdpMode::Several => 0,
        };
        let mut message =
            Message::new(libc::RTM_SETLINK, (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16, index);
        let mut nest = Vec::new();
        attribute(&mut nest, IFLA_XDP_FD, &(-1i32).to_ne_bytes());
        attribute(&mut nest, IFLA_XDP_FLAGS, &flags.to_ne_bytes());
        message.attribute(IFLA_XDP | NESTED, &nest);
        self.ask(message).map(drop)
    }

    /// Sends a request and reads its answer: one message, or several up to the end mark.
    fn ask(&mut self, mut message: Message) -> io::Result<Vec<Interface>> {
        self.sequence += 1;
        let request = message.finish(self.sequence);
        // SAFETY: the buffer is as long as said.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut found = Vec::new();
        let mut buffer = vec![0u8; 64 << 10];
        loop {
            // SAFETY: as above.
            let n = unsafe {
                let to = buffer.as_mut_ptr().cast::<c_void>();
                libc::recv(self.socket.as_raw_fd(), to, buffer.len(), 0)
            };
            if n < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut rest = &buffer[..n as usize];
            while rest.len() >= HEADER {
                let length = (u32_at(rest, 0) as usize).clamp(HEADER, rest.len());
                let (kind, flags, sequence) = (u16_at(rest, 4), u16_at(rest, 6), u32_at(rest, 8));
                let body = &rest[HEADER..length];
                rest = &rest[length.next_multiple_of(ALIGN).min(rest.len())..];
                if sequence != self.sequence {
                    continue;
                }
                match i32::from(kind) {
                    libc::NLMSG_DONE => return Ok(found),
                    libc::NLMSG_ERROR => {
                        let code = -(u32_at(body, 0) as i32);
                        return if code == 0 { Ok(found) } else { Err(io::Error::from_raw_os_error(code)) };
                    }
                    _ if kind == libc::RTM_NEWLINK => found.extend(read_interface(body)),
                    _ => {}
                }
                if flags & libc::NLM_F_MULTI as u16 == 0 {
                    return Ok(found);
                }
            }
        }
    }
}

fn read_interface(body: &[u8]) -> Option<Interface> {
    let attributes = body.get(IFINFO..)?;
    let mut interface = Interface { index: u32_at(body, 4), flags: u32_at(body, 8), ..Interface::default() };
    for (kind, value) in Attributes(attributes) {
        match kind {
            IFLA_IFNAME => {
                interface.name =
                    String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned();
            }
            IFLA_MTU => interface.mtu = u32_at(value, 0),
            IFLA_STATS64 => interface.tx_dropped = u64_at(value, STATS_TX_DROPPED),
            IFLA_XDP => interface.xdp = read_xdp(value),
            _ => {}
        }
    }
    Some(interface)
}

fn read_xdp(value: &[u8]) -> Option<(u32, XdpMode)> {
    let (mut mode, mut program) = (None, 0);
    for (kind, value) in Attributes(value) {
        match kind {
            IFLA_XDP_ATTACHED => {
                mode = match value.first() {
                    Some(1) => Some(XdpMode::Driver),
                    Some(2) => Some(XdpMode::Generic),
                    Some(3) => Some(XdpMode::Hardware),
                    Some(4) => Some(XdpMode::Several),
                    _ => None,
                }
            }
            IFLA_XDP_PROG_ID => program = u32_at(value, 0),
            _ => {}
        }
    }
    mode.map(|mode| (program, mode))
}

/// A request under construction.
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn new(kind: u16, flags: u16, index: u32) -> Self {
        let mut bytes = vec![0; HEADER + IFINFO];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes[HEADER + 4..HEADER + 8].copy_from_slice(&index.to_ne_bytes());
        Self { bytes }
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        attribute(&mut self.bytes, kind, value);
    }

    fn finish(&mut self, sequence: u32) -> &[u8] {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        &self.bytes
    }
}

fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    to.extend_from_slice(&kind.to_ne_bytes());
    to.extend_from_slice(value);
    to.resize(to.len().next_multiple_of(ALIGN), 0);
}

/// The attributes in a message, without the flags in their kinds.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.len() < 4 {
            return None;
        }
        let length = usize::from(u16_at(self.0, 0)).clamp(4, self.0.len());
        let item = (u16_at(self.0, 2) & 0x3fff, &self.0[4..length]);
        self.0 = &self.0[length.next_multiple_of(ALIGN).min(self.0.len())..];
        Some(item)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_ne_bytes([b[0], b[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// How many receive and send channels an interface has together ("combined"); at least 1.
pub(crate) fn channels(interface: &str) -> u16 {
    const ETHTOOL_GCHANNELS: u32 = 0x3c;
    const SIOCETHTOOL: u64 = 0x8946;
    // `struct ethtool_channels`: cmd, then max and count of rx, tx, other, combined.
    let mut channels = [ETHTOOL_GCHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: an all-zero request is valid; the name fits, and `channels` outlives the call.
    let done = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().take(15).zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = channels.as_mut_ptr().cast();
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        let done = libc::ioctl(socket, SIOCETHTOOL as _, &mut request) == 0;
        libc::close(socket);
        done
    };
    let [_, _, _, _, combined_max, _, _, _, combined] = channels;
    if done && combined_max > 0 { combined.clamp(1, 1024) as u16 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_there() {
        let mut netlink = Netlink::open().unwrap();
        let lo = netlink.interface("lo").unwrap().unwrap();
        assert_eq!((lo.name.as_str(), lo.xdp), ("lo", None));
        assert!(lo.mtu >= 1500 && lo.index > 0);
        assert!(netlink.interfaces().unwrap().iter().any(|i| i.name == "lo"));
        assert!(netlink.interface("no-such-dev").unwrap().is_none());
        assert_eq!(channels("lo"), 1);
    }
}
