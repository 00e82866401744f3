//! Kernel interfaces: what they are and what they counted.
//!
//! Everything is read from the kernel's routing socket and by ioctl. `/sys/class/net` would show the network namespace
//! that `/sys` was mounted in, which is another one after a bare `setns`.
//!
//! Not here: setting an interface up or down (`link_state`), and which interfaces the machine depends on (`default_route`).

use crate::ethtool;
use crate::memory::page_bytes;
use crate::netlink::Netlink;
use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    LinkAttribute, LinkFlags, LinkInfo, LinkMessage, LinkXdp, State, Stats64, XdpAttached,
};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

/// The kernel's data on one interface.
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
    /// Whether it accepts frames for every address, for any reason.
    pub promiscuous: bool,
    /// Whether its administrator enabled that (`ip link set … promisc on`).
    pub promiscuous_by_admin: bool,
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
    /// Bit rate of a device's link; `None` without carrier, or for a virtual interface, even if its driver invents a
    /// rate.
    pub speed_bps: Option<u64>,
    /// Memory node the device is attached to, if known.
    pub numa_node: Option<u32>,
    /// Transmit queues.
    pub tx_queues: u32,
    /// Receive queues.
    pub rx_queues: u32,
    /// XDP program it runs.
    pub xdp: Option<AttachedProgram>,
    /// Number of the bridge, bond or team it is a member of.
    pub master: Option<u32>,
    /// Number of the interface below (VLAN, macvlan) or opposite (veth) it.
    pub link: Option<u32>,
    /// If what is below or opposite it is in another network namespace: its number there, and this namespace's number for
    /// that one.
    pub elsewhere: Option<Elsewhere>,
}

/// An interface in another network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its number there.
    pub index: u32,
    /// This namespace's id of that one; negative if it is unknown.
    pub namespace: i32,
}

/// Why an interface does not take an XDP program in its driver.
#[derive(Debug)]
pub struct XdpRefusal {
    /// The kernel's error.
    pub error: io::Error,
    /// Its reason in words, if it gave one.
    pub reason: Option<String>,
}

/// An XDP program on an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachedProgram {
    /// Number of the program; 0 if there are several.
    pub id: u32,
    /// Where it runs.
    pub mode: XdpMode,
}

/// Attachment mode of an XDP program (`XDP_ATTACHED_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver.
    Driver,
    /// In the kernel's network stack.
    Generic,
    /// On the card.
    Hardware,
    /// Several programs in several places.
    Several,
}

macro_rules! counters {
    ($($name:ident)*) => {
        /// The kernel's counters of one interface since its creation.
        ///
        /// The kernel's byte counters have no FCS. Frames that bypass the kernel (DPDK's userspace drivers; zero-copy
        /// AF_XDP on some drivers) are not in them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[allow(missing_docs, reason = "the kernel's own names, linux/if_link.h struct rtnl_link_stats64")]
        pub struct LinkCounters {
            $(pub $name: u64,)*
        }

        impl LinkCounters {
            /// Counts since `earlier`.
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($name: self.$name.wrapping_sub(earlier.$name)),* }
            }
        }

        impl From<&Stats64> for LinkCounters {
            fn from(stats: &Stats64) -> Self {
                Self { $($name: stats.$name),* }
            }
        }
    };
}

counters! {
    rx_packets tx_packets rx_bytes tx_bytes rx_errors tx_errors rx_dropped tx_dropped multicast
    rx_length_errors rx_over_errors rx_crc_errors rx_frame_errors rx_fifo_errors rx_missed_errors
    tx_aborted_errors tx_carrier_errors tx_fifo_errors rx_nohandler
}

impl LinkCounters {
    /// Counters of the interface `name`; an error of kind `NotFound` if there is none.
    pub fn read(name: &str) -> io::Result<Self> {
        Links::open()?.counters(name)
    }
}

/// The interfaces of one network namespace: that of the thread that opened it.
#[derive(Debug)]
pub struct Links {
    netlink: Netlink,
}

impl Links {
    /// The interfaces of the calling thread's network namespace.
    pub fn open() -> io::Result<Self> {
        Ok(Self { netlink: Netlink::open()? })
    }

    /// Facts of the interface `name`, without its driver's; an error of kind `NotFound` if there is none.
    pub fn by_name(&mut self, name: &str) -> io::Result<LinkFacts> {
        Ok(LinkFacts::new(&self.message(name)?))
    }

    /// Facts as in [`by_name`](Self::by_name), of the interface with this name or alternative name; its `name` is the
    /// canonical one. An error of kind `NotFound` if there is none.
    pub fn by_any_name(&mut self, name: &str) -> io::Result<LinkFacts> {
        if name.len() < libc::IFNAMSIZ {
            // The kernel looks through alternative names too.
            return self.by_name(name);
        }
        // linux/if_link.h IFLA_ALT_IFNAME; ALTIFNAMSIZ is 128 with the closing zero.
        const ALTERNATIVE_NAME: u16 = 53;
        if name.len() > 127 || name.contains('\0') {
            return Err(io::ErrorKind::NotFound.into());
        }
        let bytes = [name.as_bytes(), &[0]].concat();
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::Other(DefaultNla::new(ALTERNATIVE_NAME, bytes)));
        Ok(LinkFacts::new(&self.ask(request)?))
    }

    /// Facts of the interface with this number; an error of kind `NotFound` if there is none.
    pub fn by_index(&mut self, index: u32) -> io::Result<LinkFacts> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        Ok(LinkFacts::new(&self.ask(request)?))
    }

    /// Counters of the interface `name`; an error of kind `NotFound` if there is none.
    pub fn counters(&mut self, name: &str) -> io::Result<LinkCounters> {
        let message = self.message(name)?;
        let stats = message.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(stats) => Some(stats),
            _ => None,
        });
        stats.map(LinkCounters::from).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// All interfaces, by number, without their drivers' facts.
    pub fn all(&mut self) -> io::Result<Vec<LinkFacts>> {
        let messages = self.netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
        let mut links: Vec<LinkFacts> = messages
            .iter()
            .filter_map(|message| match message {
                RouteNetlinkMessage::NewLink(message) => Some(LinkFacts::new(message)),
                _ => None,
            })
            .collect();
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// Takes the XDP program off an interface. Needs CAP_NET_ADMIN.
    pub fn detach_xdp(&mut self, index: u32, mode: XdpMode) -> io::Result<()> {
        // linux/if_link.h XDP_FLAGS_…_MODE
        let flags = match mode {
            XdpMode::Generic => 1 << 1,
            XdpMode::Driver => 1 << 2,
            XdpMode::Hardware => 1 << 3,
            XdpMode::Several => 0,
        };
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::Xdp(vec![LinkXdp::Fd(-1), LinkXdp::Flags(flags)]));
        self.netlink.change(RouteNetlinkMessage::SetLink(message))
    }

    /// Tries whether the driver of an interface without an XDP program takes one, and takes it off again. Needs
    /// CAP_NET_ADMIN.
    pub fn try_xdp(&mut self, index: u32, program: BorrowedFd<'_>) -> Result<(), XdpRefusal> {
        // linux/if_link.h XDP_FLAGS_UPDATE_IF_NOEXIST, XDP_FLAGS_DRV_MODE
        let flags = 1 | 1 << 2;
        let mut message = LinkMessage::default();
        message.header.index = index;
        message
            .attributes
            .push(LinkAttribute::Xdp(vec![LinkXdp::Fd(program.as_raw_fd()), LinkXdp::Flags(flags)]));
        let tried = self.netlink.change(RouteNetlinkMessage::SetLink(message));
        let refused =
            |error, links: &Self| XdpRefusal { error, reason: links.netlink.reason().map(str::to_owned) };
        tried.map_err(|error| refused(error, self))?;
        self.detach_xdp(index, XdpMode::Driver).map_err(|error| refused(error, self))
    }

    /// Facts of the other end of a veth pair, wherever it is; an error of kind `NotFound` if there is none.
    pub fn opposite(&mut self, of: &LinkFacts) -> io::Result<LinkFacts> {
        if of.kind.as_deref() != Some("veth") {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut request = LinkMessage::default();
        match (of.elsewhere, of.link) {
            (Some(Elsewhere { index, namespace }), _) => {
                request.header.index = index;
                request.attributes.push(LinkAttribute::IfNetnsId(namespace));
            }
            (None, Some(index)) => request.header.index = index,
            (None, None) => return Err(io::ErrorKind::NotFound.into()),
        }
        Ok(LinkFacts::new(&self.ask(request)?))
    }

    fn message(&mut self, name: &str) -> io::Result<LinkMessage> {
        check_name(name)?;
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.ask(request)
    }

    fn ask(&mut self, request: LinkMessage) -> io::Result<LinkMessage> {
        match self.netlink.get(RouteNetlinkMessage::GetLink(request)) {
            Ok(RouteNetlinkMessage::NewLink(message)) => Ok(message),
            Ok(_) => Err(io::ErrorKind::InvalidData.into()),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                Err(io::Error::new(io::ErrorKind::NotFound, error))
            }
            Err(error) => Err(error),
        }
    }
}

impl LinkFacts {
    /// Facts of the interface `name`; an error of kind `NotFound` if there is none.
    pub fn read(name: &str) -> io::Result<Self> {
        let mut facts = Links::open()?.by_name(name)?;
        facts.read_driver();
        Ok(facts)
    }

    /// Whether frames sent here can leave the machine: there is a device behind it.
    pub fn is_physical(&self) -> bool {
        self.device.is_some()
    }

    /// Whether it is the end of a veth pair whose other end is external: drops of such an interface when it sends are
    /// frames without room in the other end's receive queue.
    pub fn leads_elsewhere(&self) -> bool {
        self.elsewhere.is_some() && self.kind.as_deref() == Some("veth")
    }

    pub(crate) fn new(message: &LinkMessage) -> Self {
        let has = |flag| message.header.flags.contains(flag);
        let mut facts = Self {
            index: message.header.index,
            up: has(LinkFlags::Up),
            running: has(LinkFlags::Up) && has(LinkFlags::LowerUp),
            loopback: has(LinkFlags::Loopback),
            promiscuous_by_admin: has(LinkFlags::Promisc),
            ..Self::default()
        };
        let (mut link, mut namespace) = (0, None);
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => facts.name.clone_from(name),
                LinkAttribute::Address(mac) => facts.mac = mac.as_slice().try_into().unwrap_or_default(),
                LinkAttribute::Mtu(mtu) => facts.mtu = *mtu,
                LinkAttribute::Link(index) => link = *index,
                LinkAttribute::LinkNetNsId(number) => namespace = Some(*number),
                LinkAttribute::Controller(index) => facts.master = Some(*index).filter(|&index| index != 0),
                LinkAttribute::OperState(state) => facts.running |= facts.up && *state == State::Up,
                LinkAttribute::Promiscuity(count) => facts.promiscuous = *count > 0,
                LinkAttribute::NumTxQueues(count) => facts.tx_queues = *count,
                LinkAttribute::NumRxQueues(count) => facts.rx_queues = *count,
                LinkAttribute::ParentDevName(device) => facts.device = Some(device.clone()),
                LinkAttribute::LinkInfo(info) => {
                    facts.kind = info.iter().find_map(|info| match info {
                        LinkInfo::Kind(kind) => Some(kind.to_string()),
                        _ => None,
                    });
                }
                LinkAttribute::Xdp(xdp) => facts.xdp = attached(xdp),
                _ => {}
            }
        }
        facts.link = Some(link).filter(|&index| index != 0 && index != facts.index);
        facts.elsewhere = namespace.map(|namespace| Elsewhere { index: link, namespace });
        facts
    }

    /// Facts not in netlink: driver, the PCI address behind layers such as virtio, and the speed.
    fn read_driver(&mut self) {
        if let Some((driver, bus)) = ethtool::driver(&self.name) {
            self.driver = Some(driver).filter(|driver| !driver.is_empty());
            if is_pci_address(&bus) {
                self.device = Some(bus);
            }
        }
        if let Some(device) = &self.device {
            self.numa_node = numa_node(device);
            self.speed_bps = ethtool::speed_bps(&self.name);
        }
    }
}

/// Longest MTU that the other end of a veth may have for the kernel to run an XDP program here: a packet must fit in a
/// page with its headroom, the Ethernet header and what the kernel keeps after it (drivers/net/veth.c, `veth_xdp_set`).
pub fn veth_xdp_mtu_max() -> u32 {
    const HEADROOM: u32 = 256;
    const ETHERNET: u32 = 14;
    const KEPT_BEHIND: u32 = 320;
    u32::try_from(page_bytes()).unwrap_or(4_096).saturating_sub(HEADROOM + ETHERNET + KEPT_BEHIND)
}

fn attached(xdp: &[LinkXdp]) -> Option<AttachedProgram> {
    let mode = xdp.iter().find_map(|xdp| match xdp {
        LinkXdp::Attached(XdpAttached::Driver) => Some(XdpMode::Driver),
        LinkXdp::Attached(XdpAttached::SocketBuffer) => Some(XdpMode::Generic),
        LinkXdp::Attached(XdpAttached::Hardware) => Some(XdpMode::Hardware),
        LinkXdp::Attached(XdpAttached::Multiple) => Some(XdpMode::Several),
        _ => None,
    })?;
    let id = xdp.iter().find_map(|xdp| match xdp {
        LinkXdp::ProgId(id) => Some(*id),
        _ => None,
    });
    Some(AttachedProgram { id: id.unwrap_or(0), mode })
}

/// All interfaces of this network namespace, by number.
pub fn list() -> io::Result<Vec<LinkFacts>> {
    let mut links = Links::open()?.all()?;
    links.iter_mut().for_each(LinkFacts::read_driver);
    Ok(links)
}

/// Every address of this network namespace, with the number of its interface.
pub(crate) fn all_addresses() -> io::Result<Vec<(u32, IpAddr)>> {
    let messages = Netlink::open()?.dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()))?;
    let address = |message: &RouteNetlinkMessage| match message {
        RouteNetlinkMessage::NewAddress(message) => Some((message.header.index, own_address(message)?)),
        _ => None,
    };
    Ok(messages.iter().filter_map(address).collect())
}

/// Addresses of the interface `name` that reach beyond its link, with the length of their prefix.
pub fn addresses(name: &str) -> io::Result<Vec<(IpAddr, u8)>> {
    let index = Links::open()?.by_name(name)?.index;
    let messages = Netlink::open()?.dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()))?;
    Ok(messages
        .iter()
        .filter_map(|message| match message {
            RouteNetlinkMessage::NewAddress(message) => global_address(message, index),
            _ => None,
        })
        .collect())
}

/// The address in a message, if it is of interface `index` and global. On IPv4 links between two hosts `Address` is the
/// other end's.
fn global_address(message: &AddressMessage, index: u32) -> Option<(IpAddr, u8)> {
    if message.header.index != index || message.header.scope != AddressScope::Universe {
        return None;
    }
    Some((own_address(message)?, message.header.prefix_len))
}

fn own_address(message: &AddressMessage) -> Option<IpAddr> {
    let local = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(ip) => Some(*ip),
        _ => None,
    });
    let address = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Address(ip) => Some(*ip),
        _ => None,
    });
    local.or(address)
}

/// A name the kernel would cut short could be another interface's.
pub(crate) fn check_name(name: &str) -> io::Result<()> {
    let possible = !name.is_empty() && name.len() < libc::IFNAMSIZ && !name.contains('\0');
    possible.then_some(()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Memory node of a device by its bus address, if known from the firmware.
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

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::InfoKind;

    #[test]
    fn loopback_is_there() {
        let facts = LinkFacts::read("lo").unwrap();
        assert!(facts.loopback && facts.mtu >= 1500 && facts.index > 0 && facts.xdp.is_none());
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
        }
    }

    #[test]
    fn an_interface_has_a_number_and_other_names() {
        let mut links = Links::open().unwrap();
        let lo = links.by_name("lo").unwrap();
        assert_eq!((links.by_any_name("lo").unwrap(), links.by_index(lo.index).unwrap()), (lo.clone(), lo));
        for name in ["", "no-such-link", "an-alternative-name-nobody-has"] {
            assert_eq!(links.by_any_name(name).unwrap_err().kind(), io::ErrorKind::NotFound, "{name:?}");
        }
        assert_eq!(links.by_index(u32::MAX >> 2).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_link_message_is_understood() {
        let mut message = LinkMessage::default();
        message.header.index = 7;
        message.header.flags = LinkFlags::Up | LinkFlags::LowerUp;
        message.attributes = vec![
            LinkAttribute::IfName("veth0".to_owned()),
            LinkAttribute::Address(vec![2, 0, 0, 0, 0, 1]),
            LinkAttribute::Mtu(9000),
            LinkAttribute::Link(8),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth)]),
            LinkAttribute::Xdp(vec![LinkXdp::Attached(XdpAttached::Driver), LinkXdp::ProgId(42)]),
            LinkAttribute::NumRxQueues(4),
        ];
        let facts = LinkFacts::new(&message);
        assert_eq!((facts.name.as_str(), facts.index, facts.mtu), ("veth0", 7, 9000));
        assert_eq!(
            (facts.mac, facts.link, facts.kind.as_deref()),
            ([2, 0, 0, 0, 0, 1], Some(8), Some("veth"))
        );
        assert!(facts.up && facts.running && !facts.loopback);
        assert_eq!(facts.xdp, Some(AttachedProgram { id: 42, mode: XdpMode::Driver }));
        assert_eq!((facts.rx_queues, facts.elsewhere), (4, None));
        // The other end may have the same number in another namespace.
        message.attributes.extend([LinkAttribute::Link(7), LinkAttribute::LinkNetNsId(3)]);
        let facts = LinkFacts::new(&message);
        assert_eq!((facts.link, facts.elsewhere), (None, Some(Elsewhere { index: 7, namespace: 3 })));
    }

    #[test]
    fn kinds_have_the_names_that_ip_link_takes() {
        for (kind, name) in
            [(InfoKind::Vlan, "vlan"), (InfoKind::MacVlan, "macvlan"), (InfoKind::IpVlan, "ipvlan")]
        {
            assert_eq!(kind.to_string(), name);
        }
    }

    #[test]
    fn counters_are_differences() {
        let mut stats = Stats64::default();
        (stats.rx_packets, stats.tx_dropped) = (5, 7);
        let counters = LinkCounters::from(&stats);
        assert_eq!((counters.rx_packets, counters.tx_dropped), (5, 7));
        assert_eq!(counters.since(&counters), LinkCounters::default());
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
