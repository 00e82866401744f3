//! A group of flows: its options, how its frames look, what it counted.

use crate::counts::TcpCounts;
use crate::frame::{self, Addresses, IPV4, IPV6, Tags};
use crate::frame_counts::StackCounts;
use crate::lane::Lane;
use crate::options::{TcpOptions, UdpOptions};
use crate::template::Template;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use wire::Vlans;
use wire::tunnel::OuterHeaders;

/// Bytes of a TCP header without options.
const TCP_HEADER: u16 = 20;
/// Bytes of a UDP header.
pub(crate) const UDP_HEADER: usize = 8;

/// Checksums that the sender left to its network card, on a link where there is no such card: which are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnfinishedChecksums {
    /// None: a card has finished all.
    #[default]
    Refused,
    /// Those that hold the sum of the pseudo-header alone, to which a card adds the rest. Of damaged frames one in 65,536 has it,
    /// too.
    BySum,
    /// Frames that the port reports as unfinished.
    Told,
}

/// Settings common to the flows of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupConfig {
    /// For its TCP flows.
    pub tcp: TcpOptions,
    /// For its UDP flows.
    pub udp: UdpOptions,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The byte with DSCP in its upper six bits; the lower two belong to ECN and are left out.
    pub tos: u8,
    /// VLANs of its frames, outermost first, at most two. Identifier zero appears in tags, and is not a separate VLAN.
    pub vlans: Vlans,
    /// Longest IP packet sent, bytes.
    pub mtu: u16,
    /// Its hardware address: frames to others are not its own.
    pub own_mac: [u8; 6],
    /// Hardware addresses of its IP addresses, where they have their own.
    pub own_macs: Option<Arc<OwnMacs>>,
    /// Where its frames go; `None`: to the address from which a flow's first frame came, unless a `gateway` is known.
    pub hop_mac: Option<[u8; 6]>,
    /// Router for replies to peers that are on none of its networks.
    pub gateway: Option<Gateway>,
    /// Accepted wrong checksums.
    pub unfinished_checksums: UnfinishedChecksums,
    /// Segments and datagrams leave with the sum of the pseudo-header alone for a checksum, and the
    /// [`Sink`](crate::Sink) is notified: for a link that damages nothing and informs the other end, or for a card that
    /// computes them, which knows no tunnels. Fragments and ICMP messages have theirs.
    pub leaves_checksums: bool,
    /// The tunnel its frames are in; `vlans` are then those inside.
    pub tunnel: Option<GroupTunnel>,
}

/// The router for a host's replies to peers outside its own networks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Its hardware address.
    pub mac: [u8; 6],
    /// The host's own networks, of the flows' family.
    pub networks: Vec<RangeInclusive<IpAddr>>,
}

impl Gateway {
    /// Whether it leads to `remote`.
    fn leads_to(&self, remote: IpAddr) -> bool {
        let is_local = matches!(remote, IpAddr::V6(ip) if ip.is_unicast_link_local());
        !is_local && !self.networks.iter().any(|network| network.contains(&remote))
    }
}

/// The tunnel, or the PPPoE sessions, that frames of a group are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupTunnel {
    /// Headers before them.
    pub outer: Arc<OuterHeaders>,
    /// Number of the network inside it, not zero.
    pub network: u32,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            tcp: TcpOptions::default(),
            udp: UdpOptions { idle_timeout: None, ecn: false, refused_after: units::Nanos::ZERO },
            ttl: 64,
            tos: 0,
            vlans: Vlans::NONE,
            mtu: 1500,
            own_mac: [2, 0, 0, 0, 0, 1],
            own_macs: None,
            hop_mac: None,
            gateway: None,
            unfinished_checksums: UnfinishedChecksums::Refused,
            leaves_checksums: false,
            tunnel: None,
        }
    }
}

/// Hardware addresses of hosts by their IP addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnMacs {
    /// By address.
    all: Vec<(IpAddr, [u8; 6])>,
    /// The lowest and the highest.
    span: Option<([u8; 6], [u8; 6])>,
}

impl OwnMacs {
    /// Those of these hosts.
    pub fn new(hosts: impl IntoIterator<Item = (IpAddr, [u8; 6])>) -> Self {
        let mut all: Vec<(IpAddr, [u8; 6])> = hosts.into_iter().collect();
        all.sort_unstable();
        let macs = || all.iter().map(|(_, mac)| *mac);
        let span = macs().min().zip(macs().max());
        Self { all, span }
    }

    /// That of an address.
    pub(crate) fn of(&self, ip: IpAddr) -> Option<[u8; 6]> {
        let place = self.all.binary_search_by_key(&ip, |(of, _)| *of).ok()?;
        Some(self.all[place].1)
    }

    /// Whether `mac` is between the lowest and the highest.
    fn may_be(&self, mac: &[u8]) -> bool {
        self.span.is_some_and(|(low, high)| low[..] <= *mac && *mac <= high[..])
    }
}

impl GroupConfig {
    /// Whether a frame to `mac` is the group's.
    #[inline]
    pub(crate) fn is_to(&self, mac: &[u8]) -> bool {
        self.has_mac(mac) || self.is_bare()
    }

    /// Whether `mac` is one of its hardware addresses.
    #[inline]
    pub(crate) fn has_mac(&self, mac: &[u8]) -> bool {
        *mac == self.own_mac || self.own_macs.as_ref().is_some_and(|macs| macs.may_be(mac))
    }

    /// Whether its packets have no hardware addresses: their tunnel carries no Ethernet.
    fn is_bare(&self) -> bool {
        self.tunnel.as_ref().is_some_and(|tunnel| tunnel.outer.is_bare())
    }
}

/// A group at work.
#[derive(Debug)]
pub(crate) struct Group {
    pub tags: Tags,
    /// Number of its hop among the hardware addresses known; `None`: each flow has its own.
    pub hop: Option<u16>,
    pub template: Template,
    /// Of the express lane, if its frames can take it.
    pub lane: Option<Lane>,
    /// Bytes to leave before its frames, for outer headers.
    pub before: usize,
    pub config: GroupConfig,
    pub tcp: TcpCounts,
    pub stack: StackCounts,
}

impl GroupConfig {
    /// Destination of a flow's replies to `remote`, whose first frame came from `source`.
    pub(crate) fn answers(&self, remote: IpAddr, source: [u8; 6]) -> [u8; 6] {
        self.gateway.as_ref().filter(|gateway| gateway.leads_to(remote)).map_or(source, |gateway| gateway.mac)
    }
}

impl Group {
    pub(crate) fn new(config: GroupConfig, hop: Option<u16>) -> Self {
        let tunnel = config.tunnel.as_ref();
        let network = tunnel.map_or(Tags::default(), |tunnel| Tags::inside(tunnel.network));
        Self {
            tags: config.vlans.iter().take(2).fold(network, |tags, id| tags.with(*id)),
            hop,
            before: tunnel.map_or(0, |tunnel| tunnel.outer.before()),
            template: Template::new(&config),
            lane: Lane::new(&config),
            config,
            tcp: TcpCounts::default(),
            stack: StackCounts::default(),
        }
    }

    /// Counts a frame to the group; `false` if it is to another hardware address.
    #[inline(always)]
    pub(crate) fn takes_frame(&mut self, bytes: &[u8]) -> bool {
        if !self.config.is_to(&bytes[..6]) {
            return false;
        }
        self.stack.frames_in += 1;
        self.stack.frame_bytes_in += bytes.len() as u64;
        true
    }

    /// Counts a frame of the express lane whose packet ends at `end`.
    #[inline(always)]
    pub(crate) fn count_plain(&mut self, bytes: &[u8], end: u16, is_told: bool) {
        self.stack.unfinished_checksum += u64::from(is_told);
        self.stack.frames_in += 1;
        self.stack.frame_bytes_in += bytes.len() as u64;
        self.tcp.packet_max = self.tcp.packet_max.max(u64::from(end) - frame::ETHERNET as u64);
    }

    /// Whether the checksum of a segment or datagram is good; counts a wrong one, and an unfinished one, as reported by
    /// the port if `is_told`.
    #[inline(always)]
    pub(crate) fn is_sum_good(
        &mut self,
        addresses: &Addresses,
        protocol: u8,
        transport: &[u8],
        is_told: bool,
    ) -> bool {
        if is_told && self.config.unfinished_checksums == UnfinishedChecksums::Told {
            // What the field holds says nothing.
            self.stack.unfinished_checksum += 1;
            return true;
        }
        frame::is_sum_right(addresses, protocol, transport) || self.takes(addresses, protocol, transport)
    }

    #[cold]
    fn takes(&mut self, addresses: &Addresses, protocol: u8, transport: &[u8]) -> bool {
        let is_unfinished = frame::is_sum_unfinished(addresses, protocol, transport);
        let taken = is_unfinished && self.config.unfinished_checksums == UnfinishedChecksums::BySum;
        if is_unfinished && self.config.unfinished_checksums == UnfinishedChecksums::Told {
            self.stack.unfinished_untold += 1;
        }
        let counter = if taken { &mut self.stack.unfinished_checksum } else { &mut self.stack.bad_checksum };
        *counter += 1;
        taken
    }

    /// Bytes of payload in a segment without options in the longest packet.
    #[inline]
    pub(crate) fn mss_limit(&self, is_v6: bool) -> u16 {
        mss_of(self.config.mtu, is_v6)
    }

    /// Bytes of payload in the longest datagram that needs no fragments.
    pub(crate) fn datagram_whole(&self, addresses: &Addresses) -> usize {
        let ip = if matches!(addresses, Addresses::V4 { .. }) { IPV4 } else { IPV6 };
        usize::from(self.config.mtu).saturating_sub(ip + UDP_HEADER)
    }
}

/// Bytes of payload in the longest datagram: IPv4's length counts its header.
pub fn datagram_max(is_v6: bool) -> u16 {
    u16::MAX - UDP_HEADER as u16 - if is_v6 { 0 } else { IPV4 as u16 }
}

/// Bytes of payload in a segment to a peer that offers no MSS: in the packet that every host takes (RFC 9293 section 3.7.1).
#[inline]
pub(crate) fn mss_unsaid(is_v6: bool) -> u16 {
    mss_of(if is_v6 { 1280 } else { 576 }, is_v6)
}

/// Bytes of payload in a segment without options in a packet of `mtu` bytes.
#[inline]
pub(crate) fn mss_of(mtu: u16, is_v6: bool) -> u16 {
    mtu.saturating_sub(TCP_HEADER + if is_v6 { IPV6 as u16 } else { IPV4 as u16 })
}
