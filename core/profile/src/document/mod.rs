//! The document users write, as types. Each field is defined here and nowhere else: parser, JSON Schema, error messages
//! and printed profiles come from these structs, and the doc comments are what users read.
//!
//! Front doors build a [`Document`] and print it with [`Document::to_yaml`]; its text is loaded like any other.

pub(crate) mod app;
pub(crate) mod clients;
pub(crate) mod content;
pub(crate) mod dns;
pub(crate) mod end_tunnel;
pub(crate) mod flap;
pub(crate) mod frame;
pub(crate) mod grpc;
pub(crate) mod http;
pub(crate) mod options;
pub(crate) mod packet;
pub(crate) mod pattern;
mod print;
pub(crate) mod protocol;
pub(crate) mod punt;
pub(crate) mod quantity;
pub(crate) mod replay;
pub(crate) mod session;
pub(crate) mod session_text;
pub(crate) mod size;
pub(crate) mod stamp;
pub(crate) mod tls;
pub(crate) mod topology;
pub(crate) mod vary;
pub(crate) mod websocket;

pub use self::app::*;
pub use self::clients::*;
pub use self::content::*;
pub use self::dns::*;
pub use self::end_tunnel::*;
pub use self::flap::*;
pub use self::frame::*;
pub use self::grpc::*;
pub use self::http::*;
pub use self::options::*;
pub use self::packet::{Content, FieldValue, PacketElement};
pub use self::pattern::*;
pub use self::protocol::*;
pub use self::punt::*;
pub use self::quantity::*;
pub use self::replay::*;
pub use self::session::*;
pub use self::session_text::{AddressText, OpenText, print_session_rate, session_rate};
pub use self::size::*;
pub use self::stamp::*;
pub use self::tls::*;
pub use self::topology::*;
pub use self::vary::*;
pub use self::websocket::*;
pub use crate::protocols::documents::*;

use crate::frr::FrrDaemon;
use crate::plan::{OnAgentLoss, Polling};
use crate::protocols::PortPart;
use indexmap::IndexMap;
use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::transform_subschemas,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::LazyLock;
use units::Nanos;

/// Traffic to send: where, at what rate and for how long; and the criteria the result must meet.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Eagre profile")]
pub struct Document {
    /// Seed for everything random. The same seed, profile and version give the same packets. Default: a new seed for
    /// each run, which the result reports.
    pub seed: Option<u64>,
    /// Ports by name. 'from', 'to', 'criteria' and the result use these names.
    #[schemars(extend("propertyNames" = {"format": "name"}, "minProperties" = 1))]
    pub ports: IndexMap<String, PortDoc>,
    /// Streams of packets. With an empty list the ports only count, and capture if 'capture' is set. Optional if
    /// there are 'sessions' or a port captures.
    #[serde(default)]
    pub streams: Vec<StreamDoc>,
    /// Sessions: clients that open connections to servers, and the applications on them.
    #[serde(default)]
    pub sessions: Vec<SessionDoc>,
    /// Programs that run control protocols in the namespaces of ports with 'punt': routing daemons, and others.
    #[serde(default)]
    pub protocols: Vec<ProtocolDoc>,
    /// Duration and load.
    #[serde(default)]
    pub load: LoadDoc,
    /// Conditions on numbers of the result, by path: 'streams.small.loss_ratio: < 0.1%', 'sessions.web.failed_ratio:
    /// < 0.001%'. If one fails, the run fails. A condition on a stream with copies applies to each copy.
    #[serde(default)]
    pub criteria: IndexMap<String, ConditionText>,
    /// Groups of streams by name, each by 'tag' or by a field such as 'ipv4.dscp'. The result has a row with the sum
    /// of the streams for each tag or each value of the field.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"format": "name"}))]
    pub groups: IndexMap<String, String>,
    /// The network between the ports in a simulated run; ignored on real ports.
    #[serde(default)]
    pub sim: SimDoc,
}

/// The document of a port: the keys of `last` come after the keys of protocols.
macro_rules! port_document {
    (
        [$($(#[doc = $about:literal])* $key:ident: $part:ident => $plan:ident;)*]
        $(#[doc = $port_about:literal])* pub struct PortDoc { $($first:tt)* } last { $($last:tt)* }
    ) => {
        $(#[doc = $port_about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(rename = "Port")]
        pub struct PortDoc {
            $($first)*
            $($(#[doc = $about])* pub $key: Option<$part>,)*
            $($last)*
        }

        impl PortDoc {
            /// FRRouting's daemons of its protocols.
            pub(crate) const FRR: &'static [&'static [FrrDaemon]] = &[$(<$part as PortPart>::FRR),*];

            /// Leaves all protocols out.
            fn silence(&mut self) {
                $(self.$key = None;)*
            }
        }
    };
}

crate::protocols::with_protocols! { port_document! {
/// A port and the hosts emulated behind it. The keys 'ip', 'gateway', 'mac' and 'vlan' define the first host, which
/// has the port's name.
pub struct PortDoc {
    /// Device: 'veth0', 'afxdp:veth0', 'xdp:veth0', 'memif:/run/x.sock', '0000:03:00.0', 'ring:a', …
    #[schemars(length(min = 1))]
    pub device: String,
    /// Addresses of the host, with prefix length; the first of each family is the default source. A port with an
    /// address replies to ARP, neighbour discovery and ping, and resolves the MAC addresses of next hops.
    pub ip: Option<OneOrMany<IpPrefix>>,
    /// Gateways for destinations outside the host's networks, at most one for each network.
    pub gateway: Option<OneOrMany<Ip>>,
    /// MAC addresses of gateways by IP address. These are not resolved.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"format": "ip"}))]
    pub gateway_mac: IndexMap<String, Mac>,
    /// MAC address. Default: the port's own.
    pub mac: Option<Mac>,
    /// VLAN of the host, or a list from the outermost inwards. Tags ARP, neighbour discovery and ping, and every
    /// packet of the port's streams without a vlan header.
    pub vlan: Option<OneOrMany<VlanId>>,
    /// EtherType of the host's outermost tag: '0x8100', '0x88a8' or '0x9100', in all that it sends: streams, sessions and
    /// control protocols. Inner tags have 0x8100. Frames with outer tags of any of the three types are received. Default: 0x8100
    /// for a single VLAN, 0x88a8 for several.
    pub vlan_type: Option<VlanType>,
    /// More hosts behind the port, each with its own addresses, MAC address, VLANs and gateways; at most 4,096
    /// including the first. The host that owns the source address sends the stream or session.
    #[serde(default)]
    pub hosts: Vec<HostDoc>,
    /// Layer-1 speed of the link, for devices that do not report one. Rates such as '40%' refer to it.
    pub speed: Option<Speed>,
    /// Where checksums are computed: for streams, checksums that change from packet to packet; for sessions, TCP and
    /// UDP checksums. In tunnels, and while a port is captured, sessions compute theirs in software.
    #[serde(default)]
    pub checksum: ChecksumDoc,
    /// Source of the arrival times of received frames. All but 'software' need an 'afpacket:' port.
    #[serde(default)]
    pub timestamps: TimestampsDoc,
    /// Capture the port's packets to a file while traffic runs.
    pub capture: Option<CaptureDoc>,
    /// Let a network namespace be the control plane of the port's hosts: programs in it exchange routes and leases with
    /// the device through this port. '{}' is a new namespace and all control protocols.
    pub punt: Option<PuntDoc>,
}
last {
    /// Allow an interface that carries the machine's default route. Test traffic harms a production network (RFC
    /// 6815): use it only in a lab.
    #[serde(default)]
    pub allow_default_route: bool,
}
} }

impl PortDoc {
    /// A port with default settings.
    pub fn new(device: impl Into<String>) -> Self {
        Self { device: device.into(), ..Self::default() }
    }

    /// The same port with hosts that reply to requests, and send nothing by themselves.
    #[must_use]
    pub fn listening(mut self) -> Self {
        self.silence();
        self.punt = None;
        self
    }
}

/// Another host behind a port, or 'count' of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Host")]
pub struct HostDoc {
    /// Name for 'from_host', 'to_host', errors and results. With 'count': 'name[0]', 'name[1]', … Default: 'host1'
    /// for the first of the list, and so on.
    pub name: Option<Name>,
    /// Addresses with prefix length.
    pub ip: OneOrMany<IpPrefix>,
    /// Gateways for destinations outside its networks, at most one for each network.
    pub gateway: Option<OneOrMany<Ip>>,
    /// MAC addresses of gateways by IP address. These are not resolved.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"format": "ip"}))]
    pub gateway_mac: IndexMap<String, Mac>,
    /// MAC address. Default: a unique, locally administered one derived from the port's.
    pub mac: Option<Mac>,
    /// VLAN, or a list from the outermost inwards. Default: untagged, regardless of the port's 'vlan'.
    pub vlan: Option<OneOrMany<VlanId>>,
    /// EtherType of its outermost tag: '0x8100', '0x88a8' or '0x9100'. Default: 0x8100 for a single VLAN, 0x88a8 for
    /// several, regardless of the port's 'vlan_type'.
    pub vlan_type: Option<VlanType>,
    /// Number of hosts to create. The first is as written; each other has the next addresses, and the next MAC
    /// address if 'mac' is set.
    #[schemars(range(min = 1, max = 4095))]
    pub count: Option<u32>,
    /// Step from one host's addresses to the next: a number for both families, or an address for its own family
    /// ('0.0.1.0'). Default: 1.
    pub ip_step: Option<OneOrMany<Step>>,
    /// Step from one host's gateways to the next. Default: all have the same.
    pub gateway_step: Option<OneOrMany<Step>>,
    /// Step from one host's innermost VLAN to the next. Default: all are in the same.
    pub vlan_step: Option<u32>,
}

impl HostDoc {
    /// A host with only a name and addresses.
    pub fn new(name: Name, ip: Vec<IpPrefix>) -> Self {
        Self {
            name: Some(name),
            ip: OneOrMany::Many(ip),
            gateway: None,
            gateway_mac: IndexMap::new(),
            mac: None,
            vlan: None,
            vlan_type: None,
            count: None,
            ip_step: None,
            gateway_step: None,
            vlan_step: None,
        }
    }
}

/// A capture on a port: pcapng with nanosecond timestamps. Packets dropped because the disk or memory is too slow are
/// counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Capture")]
pub struct CaptureDoc {
    /// Capture file, '.pcapng', relative to the working directory. With 'rotate_size' or 'rotate_time' a number
    /// precedes the dot.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Filter in libpcap (tcpdump) syntax: 'udp port 53'. Default: all packets.
    pub filter: Option<String>,
    /// Bytes to keep of each packet. Default: all.
    pub snap: Option<Bytes>,
    /// Packets to capture: received, sent or both.
    #[serde(default)]
    pub direction: DirectionDoc,
    /// Size after which to start a new file.
    pub rotate_size: Option<Bytes>,
    /// Time after which to start a new file.
    pub rotate_time: Option<Duration>,
    /// Number of newest files to keep. Default: all.
    #[schemars(range(min = 1))]
    pub files: Option<u32>,
    /// Size of a ring buffer in memory, written at the end.
    pub ring: Option<Bytes>,
    /// Size of the buffer between the worker and the disk.
    #[serde(default = "capture_buffer")]
    pub buffer: Bytes,
}

impl CaptureDoc {
    /// A capture of all received packets.
    pub fn new(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            filter: None,
            snap: None,
            direction: DirectionDoc::default(),
            rotate_size: None,
            rotate_time: None,
            files: None,
            ring: None,
            buffer: capture_buffer(),
        }
    }
}

/// Which packets of a port are captured.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum DirectionDoc {
    /// Received packets.
    #[default]
    Rx,
    /// Sent packets.
    Tx,
    /// Both.
    Both,
}

fn capture_buffer() -> Bytes {
    Bytes(64_000_000)
}

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values, each with what to append to the path of the whole to get its own.
    pub fn with_paths(&self) -> Vec<(String, &T)> {
        match self {
            Self::One(value) => vec![(String::new(), value)],
            Self::Many(values) => {
                values.iter().enumerate().map(|(i, value)| (format!("[{i}]"), value)).collect()
            }
        }
    }
}

/// A VLAN identifier (IEEE 802.1Q).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct VlanId(#[schemars(range(min = 1, max = 4094))] pub u16);

/// Where checksums are computed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ChecksumDoc {
    /// By the tester, on any port.
    #[default]
    Software,
    /// By the port; an error if it cannot.
    Offload,
}

/// Source of the arrival times of received frames. Departures are always the worker's.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TimestampsDoc {
    /// The worker, when it takes a frame in.
    #[default]
    Software,
    /// The kernel, when the interface's driver hands it the frame: what a frame waits for the worker is no latency.
    Kernel,
    /// The network card, where it stamps all frames; an error if it does not.
    Hardware,
}

/// A stream of packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stream")]
pub struct StreamDoc {
    /// Name of the stream in 'criteria' and the result.
    pub name: Name,
    /// Port to send from.
    pub from: String,
    /// Port that receives the stream. Leave it out if the receiver is not a port of this profile.
    pub to: Option<String>,
    /// Other ports at which its packets may arrive: other paths through the device, such as a backup or an equal-cost
    /// path. The result shows the number of packets per port, and the times ('paths').
    pub also_to: Option<OneOrMany<String>>,
    /// Report outages, in which fewer than this share of the packets arrived ('outages' in the result). The share
    /// refers to the packets sent in 1 ms, or in as long as it takes to send 20 packets. Needs 'to', and packets with a
    /// signature.
    pub outages: Option<Share>,
    /// Bits by whose value received packets are counted separately, to show how the device changed them: fields of the
    /// packet, named as in 'vary' ('ipv4.dscp', 'vlan.pcp'), or 'bits[120..126]' and 'bytes[15]' of the frame as it
    /// arrives. A field is looked for where this packet has it; if headers are added or removed on the way, use 'bits'.
    /// At most 12 bits a stream; the result has a row for each value that came ('egress').
    pub egress: Option<OneOrMany<String>>,
    /// Host of port 'from' that sends the stream and gives its MAC address, VLANs and gateways, or 'dhcp': all DHCP
    /// clients of the port in turn, each from its address, or 'pppoe': all PPPoE clients, each in its session. Default: the host
    /// with the packet's outermost source address (and its VLANs, if the packet has vlan headers), otherwise the
    /// first that fits.
    pub from_host: Option<String>,
    /// Host of port 'to' that receives the stream, or 'pppoe': all PPPoE clients of the port in turn, each at its address. Default:
    /// the host with the packet's destination address, otherwise the first that fits.
    pub to_host: Option<String>,
    /// Next hop that takes the packets, whose MAC address the sending host resolves. Default: the destination, if it is
    /// on a network of the host, otherwise the host's gateway.
    pub next_hop: Option<Ip>,
    /// Headers from the outermost inwards, then optionally the first bytes of the payload. 'ethernet' is optional. An
    /// outermost ipv4 or ipv6 header takes its 'src' from port 'from' and its 'dst' from port 'to'; MAC addresses
    /// come from the ports and their neighbors. Lengths, checksums and 'type' fields are computed. Fields you set are
    /// sent as set, even if wrong. Either this, 'frame' or 'replay'.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub packet: Vec<PacketElement>,
    /// Frame to send byte by byte, instead of 'packet'.
    pub frame: Option<FrameDoc>,
    /// Capture file to send, instead of 'packet'.
    pub replay: Option<ReplayDoc>,
    /// Frame lengths with FCS. Default: the shortest that holds packet and signature. A 'frame' is cut, or filled with
    /// zeros.
    pub size: Option<SizesDoc>,
    /// Fields whose values vary from packet to packet: 'ipv4.src', 'vlan[1].id', 'vxlan.inner.ipv4.dst', or raw
    /// 'bytes[42..44]', 'payload[0..4]', 'bits[336..340]'. All advance together unless 'after' is set. Checksums stay
    /// correct, except in a 'frame'. A name that begins with '$' is a variable for others to use, with 'same_as',
    /// 'after' and 'size', and is not written itself.
    #[serde(default)]
    pub vary: IndexMap<String, VaryDoc>,
    /// State of the generator that all 'lcg' without a 'seed' draw from, in the order of 'vary'. Default: derived from
    /// the profile's seed and the stream.
    pub lcg_seed: Option<u32>,
    /// Fields that differ between the copies of 'copies' and are constant within each.
    #[serde(default)]
    pub per_copy: IndexMap<String, VaryDoc>,
    /// Flows: the fields of 'vary' keep their values within a flow.
    pub flows: Option<FlowsDoc>,
    /// Packets per second, bits per second, a share of the link, packets per second of each flow ('100pps/flow'), or
    /// 'max' for as fast as the port accepts. Required unless --rate is given or the pattern sets the rate.
    pub rate: Option<StreamRate>,
    /// Sending times.
    #[serde(default)]
    pub pattern: PatternDoc,
    /// Stream that starts when this one has sent its count: another one, one that was before it in the chain, or itself.
    /// Each stream of the chain needs a rate and, unless it is the last, a count; 'start_delay' and 'loops' belong to the
    /// first.
    pub then: Option<ThenForm>,
    /// Number of times to run the chain that starts with this stream. Default: without end if the last stream names
    /// this one in 'then', else once.
    #[schemars(range(min = 1))]
    pub loops: Option<u64>,
    /// Number of packets to send; each copy sends as many. Default: until the duration ends.
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
    /// Delay from the start of traffic to the first packet.
    #[serde(default = "no_time")]
    pub start_delay: Duration,
    /// Time to send, from the start delay on. Packets that are due by then and could not be sent are discarded. Needs a
    /// rate other than 'max'. Default: until the duration of the run ends.
    pub duration: Option<Duration>,
    /// Kind of measurement. True: every packet carries the 18-byte signature, which shows loss, order and latency.
    /// 'mark': only sent and received packets are counted, by a number in the ipv4 'id' or the ipv6 'flow_label' of the
    /// outermost IP header, from 64512 on; payloads are not touched. False: none. Default: true, but false for a
    /// 'frame' and 'replay'.
    pub measure: Option<MeasureDoc>,
    /// Scope of the comparison of every received packet. 'signature': its 18 bytes. 'full': also the rest of the
    /// payload, which is filled with a function of the packet's number after the bytes given in 'packet'. Default:
    /// 'load.integrity'.
    pub integrity: Option<IntegrityDoc>,
    /// Number of copies of the stream, named 'name[0]', 'name[1]', … Each has the full rate and its own results.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub copies: Option<u32>,
    /// Tags for 'groups'.
    pub tag: Option<OneOrMany<Name>>,
}

impl StreamDoc {
    /// A stream with only a name and a port.
    pub fn new(name: Name, from: impl Into<String>) -> Self {
        Self {
            name,
            from: from.into(),
            to: None,
            also_to: None,
            outages: None,
            egress: None,
            from_host: None,
            to_host: None,
            next_hop: None,
            packet: Vec::new(),
            frame: None,
            replay: None,
            size: None,
            vary: IndexMap::new(),
            lcg_seed: None,
            per_copy: IndexMap::new(),
            flows: None,
            rate: None,
            pattern: PatternDoc::default(),
            then: None,
            loops: None,
            count: None,
            start_delay: no_time(),
            duration: None,
            measure: None,
            integrity: None,
            copies: None,
            tag: None,
        }
    }

    /// Whether its packets carry the signature.
    pub fn is_measured(&self) -> bool {
        match self.measure {
            Some(MeasureDoc::Signature(yes)) => yes,
            Some(MeasureDoc::Word(MeasureWord::Mark)) => false,
            None => self.frame.is_none(),
        }
    }

    /// Whether its packets are identified by a number in their IP header.
    pub fn is_marked(&self) -> bool {
        self.measure == Some(MeasureDoc::Word(MeasureWord::Mark))
    }
}

/// Measurement of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum MeasureDoc {
    Signature(bool),
    Word(MeasureWord),
}

/// Scope of the comparison of every received packet that carries a signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum IntegrityDoc {
    /// The 18 bytes of the signature.
    #[default]
    Signature,
    /// The payload.
    Full,
}

/// Measurement without a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum MeasureWord {
    /// Sent and received packets.
    Mark,
}

/// Duration of the traffic, time to wait for late packets, and how sessions ramp up and down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Load")]
pub struct LoadDoc {
    /// Time to send. The run ends earlier when all streams have sent their counts and all sessions of all counts have
    /// ended.
    pub duration: Duration,
    /// Time to wait for late packets (RFC 2544 section 23).
    pub drain: Duration,
    /// Time for sessions to reach each entry's 'open' rate, in a straight line. Does not affect entries with 'max' or
    /// with their own ramp or curve, nor streams, which have patterns.
    pub ramp_up: Duration,
    /// Time for sessions to fall from each entry's 'open' rate to zero at the end of the run.
    pub ramp_down: Duration,
    /// Spread the beginnings of evenly spaced streams over up to 1 ms, so that they do not all send at once. If false, each
    /// begins exactly at its 'start_delay'.
    pub stagger: bool,
    /// Factor for 'concurrent' and the rates 'open', 'close' and 'request_rate' of all sessions. Does not affect
    /// streams: use '--rate'.
    pub multiply: Factor,
    /// Behaviour of workers while nothing is due.
    pub polling: Polling,
    /// Action of a run on several machines of a fleet when one of them is lost. Does not affect other runs.
    pub on_agent_loss: OnAgentLoss,
    /// 'integrity' of streams that do not set it and carry a signature.
    pub integrity: IntegrityDoc,
}

impl Default for LoadDoc {
    fn default() -> Self {
        Self {
            duration: Duration(Nanos::from_secs(10)),
            drain: Duration(Nanos::from_secs(2)),
            ramp_up: no_time(),
            ramp_down: no_time(),
            stagger: true,
            multiply: Factor(1_000_000),
            polling: Polling::Auto,
            on_agent_loss: OnAgentLoss::Stop,
            integrity: IntegrityDoc::Signature,
        }
    }
}

/// Links and device under test of a simulated run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Sim")]
pub struct SimDoc {
    /// Link of every port, the same in both directions. A packet crosses two: the sender's and the receiver's.
    pub link: LinkDoc,
    /// Model router between the links. Default: none, the links form one wire.
    pub router: Option<RouterDoc>,
    /// Model switch between the links, in place of a router.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<SwitchDoc>,
}

/// A simulated link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Link")]
pub struct LinkDoc {
    /// Layer-1 speed of ports without 'speed'.
    pub speed: Speed,
    /// Propagation delay of each link.
    pub delay: Duration,
    /// Share of frames lost on the sender's link.
    pub loss: Share,
    /// Share of frames delivered twice.
    pub duplicate: Share,
    /// Share of frames delayed by 'reorder_by'.
    pub reorder: Share,
    /// Extra delay of a reordered frame.
    pub reorder_by: Duration,
    /// Share of frames in which one bit after the headers is flipped: Ethernet, VLAN tags, IPv4 or IPv6, UDP or TCP.
    pub corrupt: Share,
    /// Share of the packets with ECT in their ECN field that get CE, the mark of congestion: of TCP and QUIC with 'ecn'.
    pub mark: Share,
}

impl Default for LinkDoc {
    fn default() -> Self {
        Self {
            speed: Speed(10_000_000_000),
            delay: no_time(),
            loss: Share(0.0),
            duplicate: Share(0.0),
            reorder: Share(0.0),
            reorder_by: Duration(Nanos::from_micros(10)),
            corrupt: Share(0.0),
            mark: Share(0.0),
        }
    }
}

/// A model router.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Router")]
pub struct RouterDoc {
    /// Forwarding rate.
    pub capacity: PacketRate,
    /// Queue length, frames; frames that find it full are dropped.
    #[serde(default = "router_buffer")]
    pub buffer: u32,
    /// Forwarding delay with an empty queue.
    #[serde(default = "router_latency")]
    pub latency: Duration,
}

fn router_buffer() -> u32 {
    512
}

/// A model switch, which learns addresses. Its links have one speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Switch")]
pub struct SwitchDoc {
    /// Memory for the waiting frames of all queues together, bytes of frames with FCS. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Memory for the waiting frames of a queue. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Bytes>,
    /// Place of the queues.
    pub queues: SwitchQueuesDoc,
    /// Whether frames begin to leave after their first 64 bytes, not after all of them.
    pub cut_through: bool,
    /// Forwarding delay with empty queues.
    pub latency: Duration,
    /// Addresses in the table.
    pub addresses: u32,
}

impl Default for SwitchDoc {
    fn default() -> Self {
        Self {
            buffer: None,
            queue: None,
            queues: SwitchQueuesDoc::Output,
            cut_through: false,
            latency: no_time(),
            addresses: 8_192,
        }
    }
}

/// Place of a switch's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SwitchQueues")]
pub enum SwitchQueuesDoc {
    /// One for each port that frames leave by.
    #[default]
    Output,
    /// One for each port that frames come by: one that waits for a busy port blocks those behind it.
    Input,
}

fn router_latency() -> Duration {
    Duration(Nanos::from_micros(20))
}

pub(crate) fn no_time() -> Duration {
    Duration(Nanos::ZERO)
}

/// The schema to which a `$ref` of another leads.
pub(crate) fn referred<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    let pointer = schema.get("$ref").and_then(Value::as_str)?.strip_prefix('#')?;
    // Nearly all lead there, and a pointer takes ten times as long.
    let named = pointer.strip_prefix("/$defs/").and_then(|name| root.get("$defs")?.get(name));
    named.or_else(|| root.pointer(pointer))
}

/// JSON Schema (draft 2020-12) of the profile.
///
/// Texts with a special syntax carry a `format`: `rate`, `duration`, `frame-length`, `ip-prefix` and so on. It is read from a file
/// that the test `reference` writes from the types: a program that has the file needs nothing that makes schemas.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(SCHEMA_TEXT).unwrap_or_default());
    &SCHEMA
}

/// The text of [`schema`].
pub const SCHEMA_TEXT: &str = include_str!("../../schema.json");

/// JSON Schema (draft 2020-12) of a document that is read as profiles are.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let mut schema = generator.root_schema_for::<T>();
    tidy(&mut schema);
    schema.to_value()
}

/// An absent value is left out of the document, never written as null. Descriptions have no line breaks.
fn tidy(schema: &mut Schema) {
    transform_subschemas(&mut tidy, schema);
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::String(description)) = object.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = &branches[..] {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
}
