//! A capture file to send, as written.

use crate::document::packet::FieldValue;
use crate::document::quantity::{Addresses, Duration, Mac, Network, PortRange, SessionRate, Speedup};
use crate::document::{Mtu, OneOrMany, VlanId};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A capture file to send: pcap or pcapng, with micro- or nanoseconds, also compressed by gzip.
///
/// Packets are sent at the stream's 'rate', or without one as captured. With 'split', rate and count apply to both
/// directions together. They carry no signature: received packets are counted at the port but not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Replay")]
pub struct ReplayDoc {
    /// Capture file, relative to the profile.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Speed relative to the capture, such as '2x' or '0.5x'. Default: 1x.
    pub speed: Option<Speedup>,
    /// Number of times to send the file; 'count' ends it, too. Default: 1.
    #[schemars(range(min = 1))]
    pub loops: Option<u64>,
    /// Time from the last packet of a loop to the first of the next. Default: the capture's mean gap.
    pub loop_gap: Option<Duration>,
    /// Other addresses in each loop (tcpreplay's '--unique-ip'): in loop n, counted from 0, each IP address is n steps further on within
    /// its network, in all headers of all packets, tunnels, ARP and quotes in ICMP errors included. Correct checksums stay correct. After
    /// 'rewrite'. Default: the captured addresses.
    pub loop_addresses: Option<LoopAddressesForm>,
    /// Method to split the two directions: clients' packets are sent from 'from', servers' from 'to', in the order of
    /// the capture. Default: all from 'from'.
    pub split: Option<SplitDoc>,
    /// The capture as a template: its conversation again and again, flows that overlap, each between other ends. Instead
    /// of 'rate', 'speed' and 'loops'.
    pub flows: Option<ReplayFlowsDoc>,
    /// Fields to rewrite in packets that have them: a value ('udp.dst: 53'), or one for another ('ipv4.src:
    /// 10.0.0.0/8 -> 192.168.0.0/8'). 'addresses' and 'ports' rewrite both ends. 'ethernet.src: port' is the port's
    /// own address, 'ethernet.dst: next_hop' that of its gateway or of the peer port. 'addresses' and 'ports' rewrite all headers of
    /// a packet, those in tunnels and those that ICMP errors quote included, other fields the outermost. Correct checksums stay
    /// correct, also those in first fragments.
    #[serde(default)]
    pub rewrite: IndexMap<String, OneOrMany<FieldValue>>,
    /// Which wrong checksums of whole packets to put right before anything is rewritten: 'unfinished' are those left to a network card
    /// (only the pseudo-header's sum, or 0).
    #[serde(default)]
    pub checksums: ReplayChecksumsDoc,
    /// Treatment of packets that are longer than 'mtu', or than the port's maximum.
    #[serde(default)]
    pub too_long: TooLongDoc,
    /// Longest IP packet, bytes. Default: what the port carries.
    pub mtu: Option<Mtu>,
    /// Treatment of packets that are not Ethernet frames and can't be converted. Packets of loopback interfaces, Linux
    /// 'any', PPP and Cisco HDLC that hold IP, and bare IP packets, get an Ethernet header.
    #[serde(default)]
    pub unsendable: UnsendableDoc,
    /// Whether IPv4 packets become IPv6: addresses in 64:ff9b::/96 until 'flows' or 'rewrite' give others; type of service and time
    /// to live stay. Packets with options, fragments and ICMP refuse the capture.
    #[serde(default)]
    pub to_ipv6: bool,
    /// Treatment of bytes after the IP packet of a frame: padding, and data appended by devices.
    #[serde(default)]
    pub trailer: TrailerDoc,
    /// Longest time between two packets; longer pauses are shortened to it. Default: as captured.
    pub max_gap: Option<Duration>,
    /// VLAN tag to add in front of all others.
    pub push_vlan: Option<VlanId>,
    /// Remove the outermost VLAN tag first.
    #[serde(default)]
    pub pop_vlan: bool,
}

impl ReplayDoc {
    /// A file, sent once as it was captured.
    pub fn new(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            speed: None,
            loops: None,
            loop_gap: None,
            loop_addresses: None,
            split: None,
            flows: None,
            rewrite: IndexMap::new(),
            checksums: ReplayChecksumsDoc::default(),
            too_long: TooLongDoc::default(),
            mtu: None,
            unsendable: UnsendableDoc::default(),
            to_ipv6: false,
            trailer: TrailerDoc::default(),
            max_gap: None,
            push_vlan: None,
            pop_vlan: false,
        }
    }
}

/// `true`, or more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum LoopAddressesForm {
    Default(bool),
    Full(LoopAddressesDoc),
}

/// Addresses of the loops of a capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LoopAddresses")]
pub struct LoopAddressesDoc {
    /// Addresses from one loop to the next. A step that is longer than the range of the capture's addresses keeps the addresses of all loops apart.
    /// Default: 1.
    #[schemars(range(min = 1))]
    pub step: Option<u64>,
    /// Networks whose addresses change; they stay in them, counted round. Default: all unicast addresses, IPv4 within their /8, IPv6 within
    /// their /64; loopback and link-local ones stay.
    pub networks: Option<OneOrMany<Network>>,
}

/// Wrong checksums that are put right.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ReplayChecksumsDoc {
    /// None.
    #[default]
    Keep,
    /// Those left to a network card.
    Unfinished,
    /// All.
    All,
}

/// Treatment of packets that are too long.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TooLongDoc {
    /// One refuses the capture.
    Refuse,
    /// They are left out and counted.
    #[default]
    Skip,
    /// Truncated; lengths and checksums match the truncated packet.
    Cut,
    /// They are cut: TCP into segments, other IP packets into fragments.
    Segment,
}

/// Treatment of bytes after an IP packet.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TrailerDoc {
    /// They are sent.
    #[default]
    Keep,
    /// They are left out, down to the shortest frame of 64 bytes.
    Cut,
}

/// Treatment of packets that can't be sent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum UnsendableDoc {
    /// They are left out and counted.
    #[default]
    Skip,
    /// One refuses the capture.
    Refuse,
}

/// Flows made from a capture of one conversation over TCP or UDP. Addresses and the client's port are rewritten;
/// 'split' identifies the client, by default the sender of the first packet. The IPv4 checksum is computed, a correct
/// TCP or UDP checksum stays correct.
///
/// With several flows under way their packets leave in the order of time. All of a flow follows from its number: flow 0
/// has the first client and the first server, flow 1 the next of both, each counted round its own pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ReplayFlows")]
pub struct ReplayFlowsDoc {
    /// Flows begun per second.
    pub rate: SessionRate,
    /// Clients' addresses.
    pub clients: Addresses,
    /// Servers' addresses.
    pub servers: Addresses,
    /// Successive flows between one client and one server.
    #[serde(default = "one_flow")]
    #[schemars(range(min = 1))]
    pub per_pair: u64,
    /// Clients' ports: each client uses the next one for each of its flows, and after the last the first. Servers' ports
    /// stay as captured.
    #[serde(default = "flow_ports")]
    pub client_ports: PortRange,
    /// The port each client begins with: the first of 'client_ports', or one spread over them: of n ports client i, from
    /// 0, begins with number ((214013 * i + 2531011) mod 65536) mod (n - 1) + 1.
    #[serde(default)]
    pub first_port: FirstPortDoc,
    /// Time from a packet of a flow to the next one of the same direction. Default: as captured.
    pub ipg: Option<Duration>,
    /// Time from a packet of a flow to the next one of the other direction. Default: 'ipg'.
    pub rtt: Option<Duration>,
    /// Time for shorter captured ones between packets of a flow; goes with 'shortest', instead of 'ipg'.
    pub short_gap: Option<Duration>,
    /// Captured times below this one are replaced by 'short_gap'.
    pub shortest: Option<Duration>,
    /// Number of flows. Default: until the duration ends, which cuts the flows under way.
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
    /// Whether clients have the servers' addresses and servers the clients'; ports and 'take' still follow 'clients'.
    #[serde(default)]
    pub swap: bool,
    /// Which clients' flows are sent; the others are left to another stream, with their times. Default: all.
    pub take: Option<TakeDoc>,
    /// Number of times to send the flows of 'limit', each time from the first pair and port on. Default: 1.
    #[schemars(range(min = 1))]
    pub loops: Option<u64>,
    /// Time from the last packet of a loop to the first of the next. Default: the time between two flows.
    pub loop_gap: Option<Duration>,
}

/// Some of the clients, by their numbers from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TakeClients")]
pub struct TakeDoc {
    /// Every so-many-th client.
    #[schemars(range(min = 1))]
    pub every: u64,
    /// The first of them. Default: 0.
    #[serde(default)]
    pub first: u64,
}

fn one_flow() -> u64 {
    1
}

fn flow_ports() -> PortRange {
    PortRange((1024, 65535))
}

/// The port each client begins with.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum FirstPortDoc {
    /// The first.
    #[default]
    First,
    /// One that is the client's.
    Spread,
}

/// Method to split the two directions of a capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum SplitDoc {
    Word(SplitWord),
    By(SplitByDoc),
}

/// Method of automatic splitting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SplitWord {
    /// By conversation: the sender of its first packet is the client.
    FirstSource,
}

/// Which hosts are the clients, or which capture is the servers'; exactly one of the four.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SplitBy")]
pub struct SplitByDoc {
    /// Networks of the clients.
    pub clients: Option<OneOrMany<Network>>,
    /// MAC addresses of the clients.
    pub macs: Option<OneOrMany<Mac>>,
    /// Number of the capture's interface on the clients' side.
    pub interface: Option<u32>,
    /// Capture of the servers' side, relative to the profile, such as the second file of a tap: 'file' has the clients' packets,
    /// this one the servers'. Both are sent together, aligned by their times, which must be of one clock.
    #[schemars(length(min = 1))]
    pub other: Option<String>,
}
