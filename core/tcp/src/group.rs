//! A group of flows: its options, how its frames look, what it counted.

use crate::counts::TcpCounts;
use crate::frame::{self, Addresses, IPV4, IPV6, Tags};
use crate::frame_counts::StackCounts;
use crate::options::{TcpOptions, UdpOptions};
use crate::template::Template;

/// Bytes of a TCP header without options.
const TCP_HEADER: u16 = 20;
/// Bytes of a UDP header.
pub(crate) const UDP_HEADER: usize = 8;

/// What the flows of a group have in common.
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
    /// VLANs its frames are in, outermost first, at most two. Identifier zero stands in tags, and is no VLAN of its own.
    pub vlans: Vec<u16>,
    /// Longest IP packet sent, bytes.
    pub mtu: u16,
    /// Its hardware address: frames to others are not its own.
    pub own_mac: [u8; 6],
    /// Where its frames go; `None`: to the address from which a flow's first frame came.
    pub hop_mac: Option<[u8; 6]>,
    /// Whether checksums that the sender left to its card are good: nothing on a virtual link finishes them.
    pub takes_unfinished_checksums: bool,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            tcp: TcpOptions::default(),
            udp: UdpOptions { idle_timeout: None },
            ttl: 64,
            tos: 0,
            vlans: Vec::new(),
            mtu: 1500,
            own_mac: [2, 0, 0, 0, 0, 1],
            hop_mac: None,
            takes_unfinished_checksums: false,
        }
    }
}

/// A group at work.
#[derive(Debug)]
pub(crate) struct Group {
    pub tags: Tags,
    /// Number of its hop among the hardware addresses known; `None`: each flow has its own.
    pub hop: Option<u16>,
    pub template: Template,
    pub config: GroupConfig,
    pub tcp: TcpCounts,
    pub stack: StackCounts,
}

impl Group {
    pub(crate) fn new(config: GroupConfig, hop: Option<u16>) -> Self {
        Self {
            tags: config.vlans.iter().take(2).fold(Tags::default(), |tags, id| tags.with(*id)),
            hop,
            template: Template::new(&config),
            config,
            tcp: TcpCounts::default(),
            stack: StackCounts::default(),
        }
    }

    /// Whether the checksum of a segment or datagram is good; counts one that is not, and one that is not finished.
    #[inline(always)]
    pub(crate) fn is_sum_good(&mut self, addresses: &Addresses, protocol: u8, transport: &[u8]) -> bool {
        frame::is_sum_right(addresses, protocol, transport) || self.takes(addresses, protocol, transport)
    }

    #[cold]
    fn takes(&mut self, addresses: &Addresses, protocol: u8, transport: &[u8]) -> bool {
        let taken = self.config.takes_unfinished_checksums
            && frame::is_sum_unfinished(addresses, protocol, transport);
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

/// Bytes of payload in a segment without options in a packet of `mtu` bytes.
#[inline]
pub(crate) fn mss_of(mtu: u16, is_v6: bool) -> u16 {
    mtu.saturating_sub(TCP_HEADER + if is_v6 { IPV6 as u16 } else { IPV4 as u16 })
}
