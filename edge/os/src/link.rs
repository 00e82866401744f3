//! Kernel interfaces: what they are, what they counted, and which of them the machine itself depends on.
//!
//! Everything is asked of the network namespace the calling thread is in, over netlink and ioctl. `/sys/class/net`
//! would show the namespace that `/sys` was mounted in, which is another one after a bare `setns`.
//!
//! Not here: changing an interface (`link_state`).

use crate::netlink::{self, attribute, attributes, u16_at, u32_at, u64_at};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

// linux/if_link.h
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_PROMISCUITY: u16 = 30;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_XDP: u16 = 43;
const IFLA_PARENT_DEV_NAME: u16 = 56;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_XDP_ATTACHED: u16 = 2;
const IF_OPER_UP: u8 = 6;

// linux/rtnetlink.h
const RTA_OIF: u16 = 4;
const RTA_MULTIPATH: u16 = 9;
const RTN_UNICAST: u8 = 1;

/// Bytes of `struct ifinfomsg` and of `struct rtmsg`.
const IFINFO_BYTES: usize = 16;
const IFADDRMSG_BYTES: usize = 8;
const RTMSG_BYTES: usize = 12;

/// Longest name of an interface with its NUL, bytes (linux/if.h).
const IFNAMSIZ: usize = 16;

/// What the kernel says of one interface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkFacts {
    /// Name, such as `eth0`.
    pub name: String,
    /// Number in this network namespace.
    pub index: u32,
    /// Whether it was set up (`ip link set … up`).
    pub up: bool,
    /// Whether it is up and has a carrier: frames can pass.
    pub running: bool,
    /// Whether it is the loopback interface.
    pub loopback: bool,
    /// Whether it takes frames for every address.
    pub promiscuous: bool,
    /// Longest payload, bytes: a frame with FCS is 18 longer.
    pub mtu: u32,
    /// Hardware address; zero where there is none.
    pub mac: [u8; 6],
    /// Kind of a virtual interface, such as `veth`, `bridge` or `vlan`.
    pub kind: Option<String>,
    /// Driver, such as `virtio_net` or `veth`.
    pub driver: Option<String>,
    /// Bus address of the device behind it, such as `0000:03:00.0`; `None` for a virtual interface.
    pub device: Option<String>,
    /// Bit rate of a device's link; `None` for a virtual interface, whatever its driver makes up, or without carrier.
    pub speed_bps: Option<u64>,
    /// Memory node the device is attached to, if known.
    pub numa_node: Option<u32>,
    /// Transmit queues.
    pub tx_queues: u32,
    /// Receive queues.
    pub rx_queues: u32,
    /// Whether an XDP program is attached.
    pub xdp: bool,
    /// Number of the bridge, bond or team it is a member of.
    pub master: Option<u32>,
    /// Number of the interface below (VLAN, macvlan) or opposite (veth) it.
    pub link: Option<u32>,
    /// Whether what is below or opposite it is in another network namespace.
    pub link_is_elsewhere: bool,
}

/// What the kernel counted on one interface since it exists.
///
/// The kernel's byte counters have no FCS. Frames that bypass the kernel (DPDK drivers of their own; zero-copy AF_XDP on
/// some drivers) are not in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the kernel's own names, linux/if_link.h struct rtnl_link_stats64")]
pub struct LinkCounters {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_errors: u64,
    pub tx_errors: u64,
    pub rx_dropped: u64,
    pub tx_dropped: u64,
    pub multicast: u64,
    pub rx_length_errors: u64,
    pub rx_over_errors: u64,
    pub rx_crc_errors: u64,
    pub rx_frame_errors: u64,
    pub rx_fifo_errors: u64,
    pub rx_missed_errors: u64,
    pub tx_aborted_errors: u64,
    pub tx_carrier_errors: u64,
    pub tx_fifo_errors: u64,
    pub rx_nohandler: u64,
}

impl LinkFacts {
    /// Facts of the interface `name`; an error of kind `NotFound` if there is none.
    pub fn read(name: &str) -> io::Result<Self> {
        let mut facts = Self::parse(&ask_link(name)?).ok_or(io::ErrorKind::InvalidData)?;
        facts.ask_driver();
        Ok(facts)
    }

    /// Whether frames sent here can leave the machine: there is a device behind it.
    pub fn is_physical(&self) -> bool {
        self.device.is_some()
    }

    /// Whether it is the end of a veth pair whose other end is somebody else's: what such an interface drops when it sends,
    /// the other end's receive queue had no room for.
    pub fn leads_elsewhere(&self) -> bool {
        self.link_is_elsewhere && self.kind.as_deref() == Some("veth")
    }

    fn parse(message: &[u8]) -> Option<Self> {
        let flags = u32_at(message, 8)?;
        let has = |flag: i32| flags & flag as u32 != 0;
        let mut facts = Self {
            index: u32_at(message, 4)?,
            up: has(libc::IFF_UP),
            running: has(libc::IFF_UP) && has(libc::IFF_LOWER_UP),
            loopback: has(libc::IFF_LOOPBACK),
            ..Self::default()
        };
        for (kind, value) in attributes(message.get(IFINFO_BYTES..)?) {
            let number = u32_at(value, 0);
            match kind {
                IFLA_IFNAME => facts.name = netlink::text(value),
                IFLA_ADDRESS => facts.mac = value.try_into().unwrap_or_default(),
                IFLA_MTU => facts.mtu = number.unwrap_or(0),
                IFLA_LINK => facts.link = number.filter(|&index| index != 0 && index != facts.index),
                IFLA_LINK_NETNSID => facts.link_is_elsewhere = true,
                IFLA_MASTER => facts.master = number.filter(|&index| index != 0),
                IFLA_OPERSTATE => facts.running |= facts.up && value.first() == Some(&IF_OPER_UP),
                IFLA_PROMISCUITY => facts.promiscuous = number.is_some_and(|count| count > 0),
                IFLA_NUM_TX_QUEUES => facts.tx_queues = number.unwrap_or(0),
                IFLA_NUM_RX_QUEUES => facts.rx_queues = number.unwrap_or(0),
                IFLA_PARENT_DEV_NAME => facts.device = Some(netlink::text(value)),
                IFLA_LINKINFO => {
                    let info = attributes(value).find(|(kind, _)| *kind == IFLA_INFO_KIND);
                    facts.kind = info.map(|(_, value)| netlink::text(value));
                }
                IFLA_XDP => {
                    let attached = attributes(value).find(|(kind, _)| *kind == IFLA_XDP_ATTACHED);
                    facts.xdp = attached.is_some_and(|(_, mode)| mode.first().is_some_and(|&mode| mode != 0));
                }
                _ => {}
            }
        }
        Some(facts)
    }

    /// What netlink does not say: driver, the PCI address behind layers such as virtio, and the speed.
    fn ask_driver(&mut self) {
        if let Ok(info) = ethtool(&self.name, EthtoolGet::Driver) {
            let [driver, bus] = [text_in(&info, 4, 32), text_in(&info, 100, 32)];
            self.driver = Some(driver).filter(|driver| !driver.is_empty());
            if is_pci_address(&bus) {
                self.device = Some(bus);
            }
        }
        if let Some(device) = &self.device {
            self.numa_node = numa_node(device);
            self.speed_bps =
                ethtool(&self.name, EthtoolGet::Settings).ok().and_then(|answer| speed_in(&answer));
        }
    }
}

/// All interfaces of this network namespace, by number.
pub fn list() -> io::Result<Vec<LinkFacts>> {
    let mut links = list_by_netlink()?;
    links.iter_mut().for_each(LinkFacts::ask_driver);
    Ok(links)
}

/// Addresses of the interface `name` that reach beyond its link, with the length of their prefix.
pub fn addresses(name: &str) -> io::Result<Vec<(IpAddr, u8)>> {
    let index = LinkFacts::read(name)?.index;
    let addresses = netlink::dump(libc::RTM_GETADDR, &[0u8; IFADDRMSG_BYTES])?;
    Ok(addresses.iter().filter_map(|message| global_address(message, index)).collect())
}

/// The address in a `struct ifaddrmsg` (family, prefix length, flags, scope, interface) with its attributes, if it is
/// of interface `index` and global.
fn global_address(message: &[u8], index: u32) -> Option<(IpAddr, u8)> {
    let &[family, prefix_len, _, scope, ..] = message else { return None };
    if u32_at(message, 4)? != index || scope != libc::RT_SCOPE_UNIVERSE {
        return None;
    }
    let mut attributes = attributes(message.get(IFADDRMSG_BYTES..)?);
    let (_, bytes) = attributes.find(|(kind, _)| {
        *kind == if i32::from(family) == libc::AF_INET { libc::IFA_LOCAL } else { libc::IFA_ADDRESS }
    })?;
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        _ => return None,
    };
    Some((ip, prefix_len))
}

impl LinkCounters {
    /// Counters of the interface `name`; an error of kind `NotFound` if there is none.
    pub fn read(name: &str) -> io::Result<Self> {
        Self::parse(&ask_link(name)?).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let (now, then) = (self.to_array(), earlier.to_array());
        Self::from_array(std::array::from_fn(|at| now[at].wrapping_sub(then[at])))
    }

    fn parse(message: &[u8]) -> Option<Self> {
        let (_, stats) = attributes(message.get(IFINFO_BYTES..)?).find(|(kind, _)| *kind == IFLA_STATS64)?;
        // Old kernels end before the last ones.
        let field = |at: usize| u64_at(stats, at * 8).unwrap_or(0);
        u64_at(stats, 7 * 8)?;
        Some(Self::from_array(KERNEL_ORDER.map(field)))
    }

    fn to_array(self) -> [u64; 19] {
        [
            self.rx_packets,
            self.tx_packets,
            self.rx_bytes,
            self.tx_bytes,
            self.rx_errors,
            self.tx_errors,
            self.rx_dropped,
            self.tx_dropped,
            self.multicast,
            self.rx_length_errors,
            self.rx_over_errors,
            self.rx_crc_errors,
            self.rx_frame_errors,
            self.rx_fifo_errors,
            self.rx_missed_errors,
            self.tx_aborted_errors,
            self.tx_carrier_errors,
            self.tx_fifo_errors,
            self.rx_nohandler,
        ]
    }

    fn from_array(n: [u64; 19]) -> Self {
        Self {
            rx_packets: n[0],
            tx_packets: n[1],
            rx_bytes: n[2],
            tx_bytes: n[3],
            rx_errors: n[4],
            tx_errors: n[5],
            rx_dropped: n[6],
            tx_dropped: n[7],
            multicast: n[8],
            rx_length_errors: n[9],
            rx_over_errors: n[10],
            rx_crc_errors: n[11],
            rx_frame_errors: n[12],
            rx_fifo_errors: n[13],
            rx_missed_errors: n[14],
            tx_aborted_errors: n[15],
            tx_carrier_errors: n[16],
            tx_fifo_errors: n[17],
            rx_nohandler: n[18],
        }
    }
}

/// Where `struct rtnl_link_stats64` keeps the counters of [`LinkCounters`]; left out are collisions (9), heartbeat and
/// window errors (19, 20) and compressed frames (21, 22).
const KERNEL_ORDER: [usize; 19] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 23];

/// Interfaces that carry a default route of this network namespace, in any routing table, and those such an interface
/// stands on (members of a bridge or bond, the device below a VLAN). Sending test traffic there cuts the machine off.
///
/// Half of all addresses (`0.0.0.0/1`, as VPNs set it) counts as default too. An error means not known, not none.
pub fn default_route_interfaces() -> io::Result<Vec<String>> {
    let mut carriers = BTreeSet::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut request = [0u8; RTMSG_BYTES];
        request[0] = family as u8;
        match netlink::dump(libc::RTM_GETROUTE, &request) {
            Ok(routes) => carriers.extend(routes.iter().flat_map(|route| default_carriers(route))),
            // A kernel without IPv6 has no IPv6 routes.
            Err(error) if family == libc::AF_INET6 && error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(error),
        }
    }
    let links = list_by_netlink()?;
    let carriers = with_lower(carriers, &links);
    Ok(links.into_iter().filter(|link| carriers.contains(&link.index)).map(|link| link.name).collect())
}

/// Interfaces a default route goes out of; empty if the route is none.
fn default_carriers(route: &[u8]) -> Vec<u32> {
    let (Some(&prefix_len), Some(&route_type)) = (route.get(1), route.get(7)) else { return Vec::new() };
    if prefix_len > 1 || route_type != RTN_UNICAST {
        return Vec::new();
    }
    let mut carriers = Vec::new();
    for (kind, value) in attributes(&route[RTMSG_BYTES.min(route.len())..]) {
        match kind {
            RTA_OIF => carriers.extend(u32_at(value, 0)),
            RTA_MULTIPATH => carriers.extend(next_hops(value)),
            _ => {}
        }
    }
    carriers
}

/// Interfaces in a list of `struct rtnexthop`: length, flags, hops, interface, attributes.
fn next_hops(mut bytes: &[u8]) -> Vec<u32> {
    let mut interfaces = Vec::new();
    while let (Some(len), Some(interface)) = (u16_at(bytes, 0), u32_at(bytes, 4)) {
        interfaces.push(interface);
        bytes = bytes.get(usize::from(len).max(8).next_multiple_of(4)..).unwrap_or_default();
    }
    interfaces
}

fn with_lower(mut indexes: BTreeSet<u32>, links: &[LinkFacts]) -> BTreeSet<u32> {
    loop {
        let before = indexes.len();
        for link in links {
            if link.master.is_some_and(|master| indexes.contains(&master)) {
                indexes.insert(link.index);
            }
            let stands_on = matches!(link.kind.as_deref(), Some("vlan" | "macvlan" | "macvtap" | "ipvlan"));
            if stands_on && indexes.contains(&link.index) {
                indexes.extend(link.link);
            }
        }
        if indexes.len() == before {
            return indexes;
        }
    }
}

/// Pause frames an interface's link partner may send and receive (IEEE 802.3 annex 31B).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Whether the link negotiates it.
    pub negotiated: bool,
    /// Whether received pause frames stop the sender.
    pub rx: bool,
    /// Whether a full receiver sends pause frames.
    pub tx: bool,
}

/// Flow control of the interface `name`; `None` if its driver has none.
pub fn pause(name: &str) -> Option<Pause> {
    let answer = ethtool(name, EthtoolGet::Pause).ok()?;
    Some(Pause { negotiated: answer[1] != 0, rx: answer[2] != 0, tx: answer[3] != 0 })
}

/// Work the kernel moves between frames and the device, by the names `ethtool -K` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offloads {
    /// Received frames are joined by the kernel.
    pub gro: bool,
    /// Received frames are joined by the device.
    pub lro: bool,
    /// Long frames are cut by the device.
    pub tso: bool,
    /// Long frames are cut by the kernel, late.
    pub gso: bool,
}

/// Offloads that are on at the interface `name`; `None` if there is no such interface.
pub fn offloads(name: &str) -> Option<Offloads> {
    const ETH_FLAG_LRO: u32 = 1 << 15;
    let value = |get| ethtool(name, get).map(|answer| answer[1]);
    let gro = value(EthtoolGet::Gro).ok()? != 0;
    let is_on = |get, mask: u32| value(get).is_ok_and(|value| value & mask != 0);
    Some(Offloads {
        gro,
        lro: is_on(EthtoolGet::Flags, ETH_FLAG_LRO),
        tso: is_on(EthtoolGet::Tso, u32::MAX),
        gso: is_on(EthtoolGet::Gso, u32::MAX),
    })
}

/// Memory node of a device by its bus address, if the firmware told the kernel.
pub fn numa_node(device: &str) -> Option<u32> {
    let bus = if is_pci_address(device) { "pci" } else { "virtio" };
    let path = fs::canonicalize(Path::new("/sys/bus").join(bus).join("devices").join(device)).ok()?;
    let text = path.ancestors().find_map(|folder| fs::read_to_string(folder.join("numa_node")).ok())?;
    text.trim().parse().ok()
}

/// Whether `text` has the form `0000:03:00.0`.
pub fn is_pci_address(text: &str) -> bool {
    let mut parts = text.split([':', '.']);
    let hex = |part: Option<&str>, len: usize| {
        part.is_some_and(|part| part.len() >= len && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    hex(parts.next(), 4)
        && hex(parts.next(), 2)
        && hex(parts.next(), 2)
        && hex(parts.next(), 1)
        && parts.next().is_none()
}

fn ask_link(name: &str) -> io::Result<Vec<u8>> {
    check_name(name)?;
    let mut request = vec![0u8; IFINFO_BYTES];
    request.extend(attribute(IFLA_IFNAME, format!("{name}\0").as_bytes()));
    netlink::get(libc::RTM_GETLINK, &request).map_err(|error| match error.raw_os_error() {
        Some(libc::ENODEV) => io::Error::new(io::ErrorKind::NotFound, error),
        _ => error,
    })
}

/// A name the kernel would cut short could be another interface's.
fn check_name(name: &str) -> io::Result<()> {
    let possible = !name.is_empty() && name.len() < IFNAMSIZ && !name.contains('\0');
    possible.then_some(()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn list_by_netlink() -> io::Result<Vec<LinkFacts>> {
    let messages = netlink::dump(libc::RTM_GETLINK, &[0; IFINFO_BYTES])?;
    let mut links: Vec<LinkFacts> = messages.iter().filter_map(|message| LinkFacts::parse(message)).collect();
    links.sort_by_key(|link| link.index);
    Ok(links)
}

/// Questions to a driver that any user may ask (linux/ethtool.h).
#[derive(Debug, Clone, Copy)]
enum EthtoolGet {
    /// `struct ethtool_cmd`, 44 bytes.
    Settings = 0x01,
    /// `struct ethtool_drvinfo`, 196 bytes.
    Driver = 0x03,
    /// `struct ethtool_pauseparam`, 16 bytes.
    Pause = 0x12,
    /// `struct ethtool_value`, 8 bytes, here and below.
    Tso = 0x1e,
    Gso = 0x23,
    Flags = 0x25,
    Gro = 0x2b,
}

/// Words of an answer's buffer: more than any of [`EthtoolGet`] fills.
const ETHTOOL_WORDS: usize = 64;

fn ethtool(name: &str, get: EthtoolGet) -> io::Result<[u32; ETHTOOL_WORDS]> {
    check_name(name)?;
    // SAFETY: no pointers; the result is checked below.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut answer = [0u32; ETHTOOL_WORDS];
    answer[0] = get as u32;
    // SAFETY: an ifreq of zeros is valid: a name and a union of plain numbers and pointers nobody follows.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name[..IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = answer.as_mut_ptr().cast();
    // SAFETY: `request` names the interface and points to `answer`, which is longer than the structure of every command
    // in EthtoolGet; none of them has a part of variable length.
    let rc = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
    if rc == 0 { Ok(answer) } else { Err(io::Error::last_os_error()) }
}

/// Text inside an answer, by its place in bytes.
fn text_in(answer: &[u32; ETHTOOL_WORDS], at: usize, len: usize) -> String {
    let bytes: Vec<u8> = answer.iter().flat_map(|word| word.to_ne_bytes()).skip(at).take(len).collect();
    netlink::text(&bytes)
}

/// Speed in a `struct ethtool_cmd`: low half at byte 12, high half at byte 28, Mbit/s; all ones is unknown.
fn speed_in(answer: &[u32; ETHTOOL_WORDS]) -> Option<u64> {
    let bytes: Vec<u8> = answer.iter().flat_map(|word| word.to_ne_bytes()).take(44).collect();
    let mbps = u32::from(u16_at(&bytes, 28)?) << 16 | u32::from(u16_at(&bytes, 12)?);
    // Old drivers say unknown in 16 bits.
    (mbps != 0 && mbps != u32::MAX && mbps != 0xffff).then_some(u64::from(mbps) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link_message(index: u32, flags: i32, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0u8; IFINFO_BYTES];
        bytes[4..8].copy_from_slice(&index.to_ne_bytes());
        bytes[8..12].copy_from_slice(&(flags as u32).to_ne_bytes());
        bytes.extend(attributes.concat());
        bytes
    }

    fn link(index: u32, kind: &str, master: Option<u32>, below: Option<u32>) -> LinkFacts {
        LinkFacts { index, kind: Some(kind.into()), master, link: below, ..LinkFacts::default() }
    }

    #[test]
    fn loopback_is_there() {
        let facts = LinkFacts::read("lo").unwrap();
        assert!(facts.loopback && facts.mtu > 0 && facts.index > 0);
        assert_eq!((facts.mac, facts.speed_bps, facts.is_physical()), ([0; 6], None, false));
        assert!(list().unwrap().iter().any(|link| link.name == "lo"));
    }

    #[test]
    fn loopback_counts() {
        let before = LinkCounters::read("lo").unwrap();
        if !LinkFacts::read("lo").unwrap().up {
            return;
        }
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[0; 100], socket.local_addr().unwrap()).unwrap();
        let counted = LinkCounters::read("lo").unwrap().since(&before);
        assert!(counted.tx_packets >= 1 && counted.tx_bytes >= 100, "{counted:?}");
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for name in ["", "no-such-link", "a-name-that-is-far-too-long", "lo\0x"] {
            assert_eq!(LinkFacts::read(name).unwrap_err().kind(), io::ErrorKind::NotFound, "{name:?}");
            assert_eq!(LinkCounters::read(name).unwrap_err().kind(), io::ErrorKind::NotFound, "{name:?}");
            assert_eq!((pause(name), offloads(name)), (None, None));
        }
    }

    #[test]
    fn default_routes_are_known_here() {
        let carriers = default_route_interfaces().unwrap();
        assert!(carriers.iter().all(|name| LinkFacts::read(name).is_ok()), "{carriers:?}");
    }

    #[test]
    fn a_link_message_is_understood() {
        let message = link_message(
            7,
            libc::IFF_UP | libc::IFF_LOWER_UP,
            &[
                attribute(IFLA_IFNAME, b"veth0\0"),
                attribute(IFLA_ADDRESS, &[2, 0, 0, 0, 0, 1]),
                attribute(IFLA_MTU, &9000u32.to_ne_bytes()),
                attribute(IFLA_LINK, &8u32.to_ne_bytes()),
                attribute(IFLA_LINKINFO, &attribute(IFLA_INFO_KIND, b"veth\0")),
                attribute(IFLA_XDP, &attribute(IFLA_XDP_ATTACHED, &[1])),
                attribute(IFLA_NUM_RX_QUEUES, &4u32.to_ne_bytes()),
            ],
        );
        let facts = LinkFacts::parse(&message).unwrap();
        assert_eq!((facts.name.as_str(), facts.index, facts.mtu), ("veth0", 7, 9000));
        assert_eq!(
            (facts.mac, facts.link, facts.kind.as_deref()),
            ([2, 0, 0, 0, 0, 1], Some(8), Some("veth"))
        );
        assert!(facts.up && facts.running && facts.xdp && !facts.loopback);
        assert_eq!(facts.rx_queues, 4);
        assert_eq!(LinkFacts::parse(&message[..10]), None);
    }

    #[test]
    fn counters_come_in_the_kernels_order() {
        let stats: Vec<u8> = (0..25u64).flat_map(u64::to_ne_bytes).collect();
        let message = |stats: &[u8]| link_message(1, 0, &[attribute(IFLA_STATS64, stats)]);
        let counters = LinkCounters::parse(&message(&stats)).unwrap();
        assert_eq!((counters.rx_packets, counters.tx_bytes, counters.tx_dropped), (0, 3, 7));
        assert_eq!((counters.rx_crc_errors, counters.rx_missed_errors, counters.rx_nohandler), (12, 15, 23));
        assert_eq!(counters.since(&counters), LinkCounters::default());
        // A kernel of before 2016 has one counter less.
        assert_eq!(LinkCounters::parse(&message(&stats[..23 * 8])).unwrap().rx_nohandler, 0);
        assert_eq!(LinkCounters::parse(&message(&stats[..8])), None);
    }

    #[test]
    fn default_routes_are_told_from_others() {
        let route = |prefix_len: u8, route_type: u8, attributes: &[Vec<u8>]| {
            let mut bytes = vec![0u8; RTMSG_BYTES];
            (bytes[1], bytes[7]) = (prefix_len, route_type);
            bytes.extend(attributes.concat());
            default_carriers(&bytes)
        };
        let out = attribute(RTA_OIF, &5u32.to_ne_bytes());
        assert_eq!(route(0, RTN_UNICAST, std::slice::from_ref(&out)), [5]);
        assert_eq!(route(1, RTN_UNICAST, std::slice::from_ref(&out)), [5]);
        assert!(route(24, RTN_UNICAST, std::slice::from_ref(&out)).is_empty());
        assert!(route(0, 7, &[out]).is_empty(), "unreachable");
        let hop = |interface: u32, tail: &[u8]| {
            let mut bytes = (8 + tail.len() as u16).to_ne_bytes().to_vec();
            bytes.extend([0, 0]);
            bytes.extend(interface.to_ne_bytes());
            bytes.extend(tail);
            bytes
        };
        let hops = [hop(3, &[0; 8]), hop(4, &[])].concat();
        assert_eq!(route(0, RTN_UNICAST, &[attribute(RTA_MULTIPATH, &hops)]), [3, 4]);
        assert!(default_carriers(&[0; 3]).is_empty());
    }

    #[test]
    fn what_a_carrier_stands_on_carries_too() {
        let links = [
            link(1, "", None, None),
            link(2, "bridge", None, None),
            link(3, "bond", Some(2), None),
            link(4, "", Some(3), None),
            link(5, "vlan", None, Some(1)),
            link(6, "veth", None, Some(7)),
            link(7, "veth", None, Some(6)),
        ];
        let carriers = |index: u32| with_lower([index].into(), &links).into_iter().collect::<Vec<_>>();
        assert_eq!(carriers(2), [2, 3, 4]);
        assert_eq!(carriers(5), [1, 5]);
        assert_eq!(carriers(6), [6]);
    }

    #[test]
    fn speed_is_split_in_two_halves() {
        let answer = |low: u16, high: u16| {
            let mut words = [0u32; ETHTOOL_WORDS];
            let pair = |a: u16, b: u16| {
                u32::from_ne_bytes([a.to_ne_bytes(), b.to_ne_bytes()].concat().try_into().unwrap())
            };
            words[3] = pair(low, 0);
            words[7] = pair(high, 0);
            speed_in(&words)
        };
        assert_eq!(answer(10_000, 0), Some(10_000_000_000));
        assert_eq!(answer((100_000u32 & 0xffff) as u16, 1), Some(100_000_000_000));
        assert_eq!(answer(0xffff, 0xffff), None);
        assert_eq!(answer(0, 0), None);
    }

    #[test]
    fn loopback_has_no_address_that_reaches_further() {
        assert_eq!(addresses("lo").unwrap(), []);
        assert!(addresses("no-such-link").is_err());
    }

    #[test]
    fn pci_addresses_have_a_form() {
        assert!(is_pci_address("0000:03:00.0") && is_pci_address("10000:e1:00.1"));
        for text in ["", "virtio2", "03:00.0", "usb-0000:00:14.0-1", "tap", "0000:03:00.0.1"] {
            assert!(!is_pci_address(text), "{text}");
        }
    }
}
