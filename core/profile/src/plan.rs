//! Input of the engine: a fully resolved profile. Pure data.

pub use crate::frr::frr_daemons;
pub use crate::leases::{ClientAddress, SessionLink};
use crate::protocols::PartPlan;
pub use crate::protocols::plans::*;
pub use crate::protocols::{Prefixes, Routing};
use field::{Choice, Vary};
use replay::{CaptureReport, Flows, LoopAddresses, TooLong, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::plan::{AddressRange, SessionPlan, SidePlan};
use std::net::IpAddr;
use std::sync::Arc;
use units::{FrameLen, FrameMix, Load, Nanos, Pps};
use wire::control::ControlRule;
use wire::{PacketSpec, Vlans};

/// Bytes of the longest ordinary frame with FCS.
const ORDINARY_FRAME: u32 = 1_518;

/// A trial, ready to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Seed of everything random, and of the mark in the test signatures.
    pub seed: u64,
    /// SHA-256 of the profile's text, lower-case hexadecimal.
    pub profile_sha256: String,
    /// Ports, in the order the profile names them.
    pub ports: Vec<PortPlan>,
    /// Streams, in the order the profile names them.
    pub streams: Vec<StreamPlan>,
    /// Sessions, in the order the profile names them.
    pub sessions: Vec<SessionEntry>,
    /// Programs that run control protocols, in the order of the profile.
    pub protocols: Vec<ProtocolPlan>,
    /// Streams that follow each other.
    pub chains: Vec<ChainPlan>,
    /// Fields that group streams for sums, in the order of the profile.
    pub groups: Vec<GroupPlan>,
    /// Whether the beginnings of evenly spaced streams are spread.
    pub stagger: bool,
    /// Duration of traffic. A trial also ends when every stream has sent its count and every entry of `sessions` has
    /// opened, and ended, its own.
    pub duration: Nanos,
    /// Its streams are sent by another process, maybe on another machine, and only received here: how long that one sends.
    pub sent_elsewhere: Option<Nanos>,
    /// Time to wait for late packets after the last one was sent (RFC 2544 section 23: 2 s).
    pub drain: Nanos,
    /// Behaviour of workers while nothing is due.
    pub polling: Polling,
    /// Action of a run on several machines when one of them is lost.
    pub on_agent_loss: OnAgentLoss,
    /// Warnings about the profile or a file it names: sentences for people.
    pub warnings: Vec<String>,
    /// Conditions for the run to pass.
    pub criteria: Vec<Criterion>,
    /// Links and device between the ports when the run is simulated.
    pub sim: SimPlan,
}

/// Action of a run on several machines when one of them is lost after the start. A load is never moved to another machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnAgentLoss {
    /// All others end their traffic at once.
    #[default]
    Stop,
    /// The others send on to the end of the run. The result states which machine was lost, and when.
    Continue,
}

/// Behaviour of a worker while nothing is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Polling {
    /// Sleeps where nothing is due for long and arriving frames wake it; looks for frames all the time otherwise.
    #[default]
    Auto,
    /// Looks for frames all the time.
    Busy,
}

impl Plan {
    /// The first entry under `sessions` that has secrets of its connections written to a file.
    pub fn key_log_entry(&self) -> Option<&str> {
        let mut entries = self.sessions.iter().map(|entry| &entry.session);
        let logged =
            |entry: &&session::plan::SessionPlan| entry.tls.as_ref().is_some_and(|tls| tls.key_log.is_some());
        entries.find(logged).map(|entry| entry.name.as_str())
    }

    /// The plan of a receiver, at one port, of streams that another process sends by this plan: the same seed and the
    /// streams' positions identify its packets. `time` is the maximum time to listen.
    #[must_use]
    pub fn received_at(self, port: PortPlan, time: Nanos) -> Self {
        let received = |stream: StreamPlan| StreamPlan {
            from: 0,
            to: Some(0),
            also_to: Vec::new(),
            outages: None,
            from_host: 0,
            to_host: 0,
            leased: None,
            to_clients: false,
            next_hop: NextHop::Given,
            fill_source_mac: false,
            vary: None,
            replay: None,
            flows: None,
            loop_addresses: None,
            capture: None,
            too_long: None,
            // What it asks of its sender is asked there.
            rate: Load::Max,
            pattern: Pattern::Continuous,
            count: None,
            start_delay: Nanos::ZERO,
            duration: None,
            ..stream
        };
        let concerns_streams = |criterion: &Criterion| {
            ["streams.", "groups."].iter().any(|part| criterion.path.starts_with(part))
        };
        Self {
            ports: vec![port],
            streams: self.streams.into_iter().map(received).collect(),
            sessions: Vec::new(),
            protocols: Vec::new(),
            chains: Vec::new(),
            criteria: self.criteria.into_iter().filter(concerns_streams).collect(),
            sent_elsewhere: Some(self.duration),
            duration: time,
            ..self
        }
    }

    /// The group of a name, made if there is none.
    pub fn group_mut(&mut self, name: &str) -> &mut GroupPlan {
        let at = self.groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            self.groups.push(GroupPlan { name: name.to_owned(), rows: Vec::new() });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }

    /// Bytes of the longest frame sent or expected, with FCS.
    pub fn longest_frame(&self) -> u32 {
        let streams = self.streams.iter().map(|stream| stream.sizes.longest().bytes());
        let sides =
            self.sessions.iter().flat_map(|entry| entry.session.client.iter().chain(&entry.session.server));
        let routing = self.ports.iter().filter(|port| port.routing().next().is_some());
        let speakers = routing.map(|_| ORDINARY_FRAME);
        streams.chain(sides.map(SidePlan::frame_len_needed)).chain(speakers).max().unwrap_or(0)
    }
}

/// The plan of a port: the fields of `last` come after the protocols.
macro_rules! port_plan {
    (
        [$($(#[doc = $about:literal])* $key:ident: $part:ident => $plan:ident;)*]
        $(#[doc = $port_about:literal])* pub struct PortPlan { $($first:tt)* } last { $($last:tt)* }
    ) => {
        $(#[doc = $port_about])*
        #[derive(Debug, Clone, Default)]
        pub struct PortPlan {
            $($first)*
            $($(#[doc = $about])* pub $key: Option<$plan>,)*
            $($last)*
        }

        impl PortPlan {
            /// The control protocols of its hosts that advertise routes.
            pub fn routing(&self) -> impl Iterator<Item = &dyn Routing> {
                [$(self.$key.as_ref().and_then(PartPlan::routing)),*].into_iter().flatten()
            }

            /// The same, to change them.
            pub fn routing_mut(&mut self) -> impl Iterator<Item = &mut dyn Routing> {
                [$(self.$key.as_mut().and_then(PartPlan::routing_mut)),*].into_iter().flatten()
            }

            /// Keys in the profile of control protocols that advertise routes, in words.
            pub fn routing_keys() -> String {
                let all = [$((stringify!($key), <$plan as PartPlan>::ROUTES)),*].into_iter();
                either(all.filter(|(_, routes)| *routes).map(|(key, _)| format!("'{key}'")).collect())
            }

            /// Leaves all protocols out.
            fn silence_protocols(&mut self) {
                $(self.$key = None;)*
            }
        }
    };
}

crate::protocols::with_protocols! { port_plan! {
/// A port and the hosts emulated behind it.
pub struct PortPlan {
    /// The port's name in the profile.
    pub name: String,
    /// Device string: `afxdp:veth0`.
    pub device: String,
    /// The hosts. The first is the port's own and always there, if only without addresses.
    pub hosts: Vec<HostPlan>,
    /// Declared layer-1 speed of the link; `None` means the port's reported speed.
    pub speed_bps: Option<u64>,
    /// Where checksums that change from packet to packet are computed.
    pub checksum: ChecksumBy,
    /// Source of arrival times, if that is not the worker.
    pub stamps: Option<StampsBy>,
    /// Whether the interface with the machine's default route may be used.
    pub allow_default_route: bool,
    /// Packets written into a capture file while traffic runs.
    pub capture: Option<CapturePlan>,
    /// The network namespace that is its hosts' control plane.
    pub punt: Option<PuntPlan>,
}
last {
    /// Maximum rate of the port, packets or bits per second, regardless of the streams' rates. Set by the owner of the
    /// port; no profile has it.
    pub rate_max: Option<Load>,
}
} }

/// Several words, of which any is meant: `a, b or c`.
fn either(words: Vec<String>) -> String {
    match &words[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        all => all.concat(),
    }
}

impl PortPlan {
    /// The port's own host.
    pub fn own(&self) -> &HostPlan {
        &self.hosts[0]
    }

    /// Takes all that its hosts do by themselves from it, for a part of a run at whose ports it is not.
    pub fn silence(&mut self) {
        self.silence_protocols();
        (self.punt, self.capture, self.stamps) = (None, None, None);
    }

    /// All addresses of all hosts.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.hosts.iter().flat_map(|host| &host.addresses)
    }

    /// All gateways of all hosts.
    pub fn gateways(&self) -> impl Iterator<Item = IpAddr> {
        self.hosts.iter().flat_map(|host| &host.gateways).copied()
    }
}

/// A host emulated behind a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlan {
    /// Its name; the port's own host has that of the port.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<Address>,
    /// Routers to send through, at most one for the network of each address.
    pub gateways: Vec<IpAddr>,
    /// Those of `gateways` whose hardware address is given, and so not resolved.
    pub gateway_macs: Vec<(IpAddr, [u8; 6])>,
    /// Its hardware address; `None` is the port's for the port's own host, and for another one made of the port's.
    pub mac: Option<[u8; 6]>,
    /// VLAN identifiers it lives in, outermost first; ARP, ND and ping use them.
    pub vlans: Vlans,
}

impl HostPlan {
    /// The first address of a family.
    pub fn address(&self, ipv4: bool) -> Option<Address> {
        self.addresses.iter().find(|address| address.ip.is_ipv4() == ipv4).copied()
    }

    /// The one of its addresses that `users` have, or whose network theirs is on, or its first of the family.
    pub fn address_of(&self, users: &[AddressRange], ipv4: bool) -> Option<Address> {
        // Addresses of a family are in the order of their numbers, and all of IPv4 before those of IPv6.
        let has = |range: &AddressRange, ip: IpAddr| range.first <= ip && ip <= range.last;
        let is_theirs = |own: &&Address| users.iter().any(|range| has(range, own.ip));
        let is_near = |own: &&Address| users.first().is_some_and(|range| own.on_link(range.first));
        let found = self.addresses.iter().find(is_theirs).or_else(|| self.addresses.iter().find(is_near));
        found.copied().or_else(|| self.address(ipv4))
    }

    /// The router by which what has this address of the host as its source leaves the network; another one of the family if
    /// that network has none.
    pub fn gateway(&self, address: &Address) -> Option<IpAddr> {
        let mut kin = self.gateways.iter().copied().filter(|ip| ip.is_ipv4() == address.ip.is_ipv4());
        let own = kin.clone().find(|ip| address.is_next_to(*ip));
        own.or_else(|| kin.next())
    }
}

/// The network namespace that is the control plane of a port's hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PuntPlan {
    /// Its name; `None` is one of the port's own.
    pub namespace: Option<String>,
    /// Frames to pass, besides ARP, ICMP and ICMPv6.
    pub rules: Vec<ControlRule>,
}

/// A program that runs in the network namespace of a port's hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolPlan {
    /// Its name.
    pub name: String,
    /// The port's number.
    pub port: usize,
    /// The program to run.
    pub program: ProtocolProgram,
    /// Its configuration.
    pub config: String,
    /// Shell command that succeeds when it is up; `None` leaves that to what is known of the program.
    pub ready: Option<String>,
    /// Time to wait for it.
    pub timeout: Nanos,
    /// Its folder; `None` is a new one.
    pub folder: Option<String>,
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolProgram {
    /// A daemon that is known.
    Daemon(Daemon),
    /// A program and its arguments.
    Command(Vec<String>),
}

/// A daemon that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Daemon {
    /// BIRD.
    Bird,
    /// FRRouting.
    Frr,
    /// GoBGP.
    Gobgp,
    /// lldpd.
    Lldpd,
}

impl Daemon {
    /// As profiles name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bird => "bird",
            Self::Frr => "frr",
            Self::Gobgp => "gobgp",
            Self::Lldpd => "lldpd",
        }
    }
}

/// A capture on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturePlan {
    /// The file.
    pub file: String,
    /// Filter in libpcap's syntax; empty lets everything pass.
    pub filter: String,
    /// Bytes kept of each packet at most.
    pub snap_bytes: u32,
    /// Whether received packets are captured.
    pub rx: bool,
    /// Whether sent packets are captured.
    pub tx: bool,
    /// Where captured packets go.
    pub storage: CaptureStorage,
    /// Bytes between each worker and the disk.
    pub buffer_bytes: u64,
}

/// Where captured packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureStorage {
    /// One file.
    File,
    /// Several files, each of this many bytes.
    RotateBytes {
        /// Bytes after which a new one begins.
        bytes: u64,
        /// Number of the newest that are kept; `None` is all.
        files: Option<u32>,
    },
    /// One file after the other, each of so long.
    RotateTime {
        /// Time after which a new one begins.
        time: Nanos,
        /// Number of the newest that are kept; `None` is all.
        files: Option<u32>,
    },
    /// Size of a ring buffer in memory, written at the end; bytes.
    Ring {
        /// Bytes kept.
        bytes: u64,
    },
}

/// An address with the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Prefix length, bits.
    pub prefix_len: u8,
}

impl Address {
    /// Whether `ip` is on this address's network.
    pub fn on_link(&self, ip: IpAddr) -> bool {
        let bits = |ip: IpAddr| match ip {
            IpAddr::V4(v4) => (u128::from(u32::from(v4)) << 96, 32),
            IpAddr::V6(v6) => (u128::from(v6), 128),
        };
        let ((ours, width), (theirs, their_width)) = (bits(self.ip), bits(ip));
        width == their_width
            && (self.prefix_len == 0 || (ours ^ theirs) >> (128 - u32::from(self.prefix_len)) == 0)
    }

    /// Whether `ip` is on this address's network or, as a link-local address, on its link.
    pub fn is_next_to(&self, ip: IpAddr) -> bool {
        let is_local = matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
        self.on_link(ip) || (is_local && self.ip.is_ipv6())
    }

    /// The first and the last address of this address's network.
    pub fn network(&self) -> (IpAddr, IpAddr) {
        match self.ip {
            IpAddr::V4(ip) => {
                let hosts = u32::MAX.checked_shr(self.prefix_len.into()).unwrap_or(0);
                let first = u32::from(ip) & !hosts;
                (IpAddr::V4(first.into()), IpAddr::V4((first | hosts).into()))
            }
            IpAddr::V6(ip) => {
                let hosts = u128::MAX.checked_shr(self.prefix_len.into()).unwrap_or(0);
                let first = u128::from(ip) & !hosts;
                (IpAddr::V6(first.into()), IpAddr::V6((first | hosts).into()))
            }
        }
    }
}

/// Where checksums are computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChecksumBy {
    /// The tester: right on every port.
    #[default]
    Software,
    /// The port; an error if it can't.
    Offload,
}

/// Source of arrival times that is not the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampsBy {
    /// The kernel.
    Kernel,
    /// The network card.
    Hardware,
}

impl StampsBy {
    /// Its name in profiles and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Hardware => "hardware",
        }
    }
}

/// A stream of packets.
#[derive(Debug, Clone)]
pub struct StreamPlan {
    /// The stream's name in the profile.
    pub name: String,
    /// Index of the port it is sent from.
    pub from: usize,
    /// Index of the port it should arrive at; `None` if no port here receives it.
    pub to: Option<usize>,
    /// Indices of other ports at which it may arrive as well.
    pub also_to: Vec<usize>,
    /// Share of packets, in millionths, below which there is an outage, if it is watched for them.
    pub outages: Option<u32>,
    /// Bits by whose value its packets are counted apart where they arrive.
    pub egress: Vec<EgressBits>,
    /// Index of the host of `from` that sends it.
    pub from_host: usize,
    /// Index of the host of `to` that it goes to.
    pub to_host: usize,
    /// The clients of `from` that send it, if they do: sources and next hop follow from what they get ([`Plan::with_leases`]).
    pub leased: Option<ClientsBy>,
    /// Whether it goes to clients of `to` that are in sessions: destinations and next hop follow from what they get.
    pub to_clients: bool,
    /// The packet to send.
    pub packet: Arc<PacketSpec>,
    /// Whether the packet's author set `ethernet.dst`; if not, the next hop is resolved and filled in.
    pub next_hop: NextHop,
    /// Whether the packet's author left `ethernet.src` out: the sending host's address is filled in.
    pub fill_source_mac: bool,
    /// Frame lengths.
    pub sizes: Arc<Sizes>,
    /// Variable fields of the packet; `None` if there are none.
    pub vary: Option<Arc<Vary>>,
    /// Captured packets, which are sent in place of `packet`.
    pub replay: Option<Arc<Trace>>,
    /// Packets of the capture of `replay` that are not sent unmodified.
    pub capture: Option<Arc<CaptureReport>>,
    /// Treatment of packets of `replay` that are longer than the port's maximum; `None`: they refuse the stream.
    pub too_long: Option<TooLong>,
    /// Flows that the packets of `replay` are sent for; without, they are sent unmodified.
    pub flows: Option<Arc<Flows>>,
    /// Addresses of each loop of `replay`; without, all loops have the captured ones.
    pub loop_addresses: Option<Arc<LoopAddresses>>,
    /// Lowest and highest destination address of the outermost IP header, if it has one.
    pub destinations: Option<(IpAddr, IpAddr)>,
    /// Packets per second; `None` is as fast as the port takes. Bit rates and shares are resolved once the port's
    /// speed is known.
    pub rate: Load,
    /// Pattern of sending times.
    pub pattern: Pattern,
    /// Packets to send; `None` is until the duration ends.
    pub count: Option<u64>,
    /// From the start of traffic to the stream's first packet.
    pub start_delay: Nanos,
    /// From then to the stream's end, regardless of the packets sent; `None` is until the duration ends.
    pub duration: Option<Nanos>,
    /// Whether every packet carries the 18-byte signature and is measured.
    pub measure: bool,
    /// Whether the payload is a function of the packet's number, and compared where it arrives.
    pub integrity: bool,
    /// The number in the IP header by which packets without a signature are counted, if they are.
    pub mark: Option<u16>,
}

impl StreamPlan {
    /// Whether a name means it: its own, or that of a stream with copies of which it is one.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
    }

    /// Whether its packets are counted where they arrive.
    pub fn is_counted(&self) -> bool {
        self.measure || self.mark.is_some()
    }

    /// Number of values that its tracked bits can have; 0 if none are tracked.
    pub fn egress_values(&self) -> usize {
        let bits: u16 = self.egress.iter().map(|bits| bits.width).sum();
        if bits == 0 { 0 } else { 1 << bits }
    }

    /// Whether its packets may arrive at a port.
    pub fn arrives_at(&self, port: usize) -> bool {
        self.to == Some(port) || self.also_to.contains(&port)
    }
}

/// Bits of a frame as it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressBits {
    /// From the frame's first bit to the first of them, bits.
    pub offset: u32,
    /// Number of bits, at most [`EGRESS_BITS_MAX`].
    pub width: u16,
}

/// Streams of a plan of which one is watched for outages, at most: workers keep a quarter of a second of samples of each.
pub const WATCHED_MAX: usize = 1_000;

/// Streams of a plan whose payloads are compared, at most: workers count what is wrong with each.
pub const INTEGRITY_MAX: usize = 1 << 16;

/// Bits that are tracked of a stream at most, all fields together.
pub const EGRESS_BITS_MAX: u16 = 12;

/// Values that the tracked bits of all streams can have at most.
pub const EGRESS_VALUES_MAX: usize = 1 << 16;

/// A stream's frame lengths and which packet has which.
#[derive(Debug, Clone)]
pub struct Sizes {
    /// Each length once.
    pub lengths: Vec<FrameLen>,
    /// Relative frequency of each.
    pub weights: Vec<u64>,
    /// Index in `lengths` for each packet.
    pub choice: Choice,
}

impl Sizes {
    /// Always `length`.
    pub fn one(length: FrameLen) -> Self {
        Self { lengths: vec![length], weights: vec![1], choice: Choice::sequence(vec![0]) }
    }

    /// The longest.
    pub fn longest(&self) -> FrameLen {
        self.lengths.iter().copied().max().unwrap_or(FrameLen::MIN)
    }

    /// The shortest.
    pub fn shortest(&self) -> FrameLen {
        self.lengths.iter().copied().min().unwrap_or(FrameLen::MIN)
    }

    /// All of them as often as they come: what a bit rate is made of.
    pub fn mix(&self) -> FrameMix {
        self.lengths.iter().zip(&self.weights).map(|(length, weight)| (*length, *weight)).collect()
    }
}

/// Streams that follow each other: when one has sent its count the next begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainPlan {
    /// The streams, in their order.
    pub links: Vec<ChainLink>,
    /// Number of loops; `None` is for ever.
    pub loops: Option<u64>,
    /// Index of the link that follows the last one; those before it come once.
    pub repeat_from: usize,
    /// Index of the link that ends the last loop.
    pub last: Option<usize>,
}

/// One stream's turn in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainLink {
    /// Index of the stream.
    pub stream: usize,
    /// From its end to the next one's start.
    pub gap: Nanos,
    /// Whether it ends with its last packet; else one of its gaps later.
    pub ends_at_last: bool,
}

/// Streams added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPlan {
    /// The group's name in the profile.
    pub name: String,
    /// Rows by name: the indices of the streams of each. Streams that have neither tag nor field are in none.
    pub rows: Vec<(String, Vec<u32>)>,
}

impl GroupPlan {
    /// Adds the rows of `more`, whose streams are numbered from `first` on here.
    pub fn take_in(&mut self, more: &Self, first: u32) {
        for (name, members) in &more.rows {
            let at = self.rows.iter().position(|(row, _)| row == name).unwrap_or_else(|| {
                self.rows.push((name.clone(), Vec::new()));
                self.rows.len() - 1
            });
            self.rows[at].1.extend(members.iter().map(|member| member + first));
        }
    }
}

/// Resolution of a stream's destination hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHop {
    /// It is in the packet.
    Given,
    /// The hardware address of this neighbour (the destination itself, or a gateway), which the sending host resolves.
    Resolve(IpAddr),
    /// The hardware address of the host the stream goes to: nothing but a wire or a switch is between.
    PeerPort,
}

/// Pattern of a stream's sending times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Evenly spaced.
    Continuous,
    /// Groups of `packets` back to back, the groups spaced so that the stream's rate is met on average.
    Bursts {
        /// Packets in a group.
        packets: u32,
    },
    /// Gaps at random, exponentially distributed.
    Poisson {
        /// Of the gaps.
        seed: u64,
    },
    /// Bursts at the stream's rate, with silence between them.
    MultiBurst {
        /// Packets in a burst.
        packets: u32,
        /// From the start of one to that of the next.
        every: Nanos,
        /// Number of bursts; `None` is until the end.
        bursts: Option<u64>,
    },
    /// The stream's rate for a while, nothing for a while, and again.
    OnOff {
        /// Time in which packets are sent.
        on: Nanos,
        /// Time in which none are.
        off: Nanos,
    },
    /// The time from each packet to the next.
    Gaps {
        /// The gaps.
        gaps: Arc<[Nanos]>,
        /// `Some` draws them at random, `None` takes them in turn.
        random: Option<u64>,
    },
    /// The rate over time.
    Curve {
        /// Times since the stream's start, increasing, and the rates there.
        points: Vec<(Nanos, Load)>,
        /// Whether the rate stays until the next point instead of going there in a straight line.
        steps: bool,
        /// Whether it begins again when the last point is reached.
        repeat: bool,
    },
    /// As captured: times since the stream's start, and the time after which they come again.
    Captured {
        /// When each packet leaves.
        times: Arc<[Nanos]>,
        /// From the start of one loop to that of the next.
        period: Nanos,
    },
    /// A direction of a capture at the stream's rate, which is that of both directions together.
    Interleaved {
        /// The positions of its packets among the packets of both directions.
        places: Arc<[u64]>,
        /// Packets of both.
        of: u64,
        /// Their lengths.
        mix: FrameMix,
    },
    /// Flows that overlap.
    Flows {
        /// From a flow's begin to each of its packets.
        offsets: Arc<[Nanos]>,
        /// Flows begun in a second.
        rate: Pps,
        /// Number of flows; `None` is until the end.
        flows: Option<u64>,
        /// Number of times that they are sent, and the time from the first flow to the same one again.
        loops: (u64, Nanos),
        /// Which of the flows.
        take: FlowsTaken,
    },
}

/// The flows of a stream to send: the flows of some of the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowsTaken {
    /// Successive flows of one client.
    pub each: u64,
    /// Clients, which have flows in turn.
    pub clients: u64,
    /// Every so-many-th client.
    pub every: u64,
    /// The first of them.
    pub first: u64,
}

impl FlowsTaken {
    /// Those of all clients.
    pub const ALL: Self = Self { each: 1, clients: 1, every: 1, first: 0 };

    /// Number of these among the first `flows`.
    pub fn of(&self, flows: u64) -> u64 {
        let clients = |clients: u64| clients.saturating_sub(self.first).div_ceil(self.every.max(1));
        let round = self.clients.max(1);
        let (whole, rest) = (flows / self.each.max(1), flows % self.each.max(1));
        let taken = (whole / round).saturating_mul(clients(round)).saturating_add(clients(whole % round));
        // Of the last client's flows only some have begun.
        let begun = clients(whole % round + 1) - clients(whole % round);
        taken.saturating_mul(self.each.max(1)).saturating_add(begun * rest)
    }
}

/// An entry under `sessions:` and how its ends find each other.
#[derive(Debug, Clone)]
pub struct SessionEntry {
    /// The sessions to run.
    pub session: SessionPlan,
    /// Indices of the hosts, on the clients' port, that emulated clients are, in the order of their side's hosts.
    pub client_hosts: Vec<usize>,
    /// Indices of the hosts, on the servers' port, that emulated servers are.
    pub server_hosts: Vec<usize>,
    /// Address assignment of emulated clients, if they are clients of the port: addresses, host and hops,
    /// or sessions, follow from what those get ([`Plan::with_leases`]).
    pub leased: Option<ClientsBy>,
    /// Next hops of emulated clients: for each of their hosts every server's address is in exactly one of these. Empty
    /// if the clients are external. Servers reply to the hardware address that a session comes from.
    pub hops: Vec<SessionHop>,
}

impl SessionEntry {
    /// Resolution of the hardware address to which the clients' host at a place sends for a server.
    pub fn hop(&self, host: usize, server: IpAddr) -> Option<HopBy> {
        let is_it = |hop: &&SessionHop| hop.host == host && hop.first <= server && server <= hop.last;
        self.hops.iter().find(is_it).map(|hop| hop.by)
    }
}

/// Servers that are reached the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionHop {
    /// Which of the clients' hosts it is for.
    pub host: usize,
    /// The first server's address.
    pub first: IpAddr,
    /// The last one's, of the same family.
    pub last: IpAddr,
    /// Resolution of the hardware address.
    pub by: HopBy,
}

/// Resolution of the hardware address to which sessions are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HopBy {
    /// It is in the profile.
    Given([u8; 6]),
    /// The hardware address of this neighbour (the server itself, or a gateway), which the clients' host resolves.
    Resolve(IpAddr),
    /// The hardware address of the servers' host: nothing but a wire or a switch is between.
    PeerPort,
}

impl HopBy {
    /// None is needed: packets have no hardware addresses, in a tunnel without Ethernet or in a client's session.
    pub const UNSENT: Self = Self::Given([0; 6]);
}

/// A condition on the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
    /// Path of the value in the result document: `streams.small.loss_ratio`.
    pub path: String,
    /// Default of a value that is absent from the document.
    pub absent: Option<f64>,
    /// Comparison.
    pub comparison: Comparison,
    /// With what.
    pub bound: f64,
    /// As the author wrote it, for messages: `< 0.1%`.
    pub text: String,
}

/// Comparison of a value with its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
}

/// The network between the ports in a simulated run.
#[derive(Debug, Clone, PartialEq)]
pub struct SimPlan {
    /// Every link, in both directions.
    pub link: LinkPlan,
    /// The device between the links; `None` is a wire.
    pub router: Option<RouterPlan>,
    /// A switch between the links.
    pub switch: Option<SwitchPlan>,
}

/// A model switch. Lengths are of frames with FCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchPlan {
    /// Bytes of frames that wait in all queues together, at most.
    pub buffer: u64,
    /// Bytes of frames that wait in a queue, at most.
    pub queue: u64,
    /// Whether a queue is of a port that frames come by, not of one that they leave by.
    pub queues_are_inputs: bool,
    /// Whether frames begin to leave after their first 64 bytes.
    pub cut_through: bool,
    /// Forwarding delay with empty queues.
    pub latency: Nanos,
    /// Addresses in the table.
    pub addresses: usize,
}

/// A simulated link, each direction alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkPlan {
    /// Layer-1 bit rate if the port declares none.
    pub speed_bps: u64,
    /// Propagation delay.
    pub delay: Nanos,
    /// Share of frames lost, 0 to 1.
    pub loss: f64,
    /// Share of frames delivered twice.
    pub duplicate: f64,
    /// Share of frames delayed by `reorder_by` more.
    pub reorder: f64,
    /// Extra delay of a reordered frame.
    pub reorder_by: Nanos,
    /// Share of frames in which one bit after the headers is flipped.
    pub corrupt: f64,
    /// Share of packets of an ECN-capable transport that get the mark of congestion.
    pub mark: f64,
}

/// A model router.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RouterPlan {
    /// Packets it forwards each second.
    pub capacity: Pps,
    /// Frames it keeps waiting at most; what comes when they are full is dropped.
    pub buffer: u32,
    /// Time a frame spends in it when nothing waits.
    pub latency: Nanos,
}
