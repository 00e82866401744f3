//! The document users write. Each field is defined here and nowhere else: parser, JSON Schema and error messages are
//! made from these structs, and the doc comments are what users read.

use crate::packet_doc::PacketElement;
use crate::pattern_doc::{PatternDoc, ThenForm};
use crate::quantity::{
    Bytes, ConditionText, Duration, Factor, Ip, IpPrefix, Mac, Name, PacketRate, Share, Speed, Step,
    StreamRate,
};
use crate::replay_doc::ReplayDoc;
use crate::session_doc::SessionDoc;
use crate::size_doc::SizesDoc;
use crate::vary_doc::{FlowsDoc, VaryDoc};
use indexmap::IndexMap;
use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::transform_subschemas,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use units::Nanos;

/// What to send where, how fast, for how long, and what must hold for the run to pass.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Eagre profile")]
pub(crate) struct Document {
    /// Seed of everything random. The same seed, profile and version give the same packets. Without it every run
    /// draws its own and reports it.
    pub(crate) seed: Option<u64>,
    /// Ports by name. The names are used in 'from', 'to', 'criteria' and the result.
    #[schemars(extend("propertyNames" = {"format": "name"}, "minProperties" = 1))]
    pub(crate) ports: IndexMap<String, PortDoc>,
    /// Streams of packets. If the list is empty, what arrives at the ports is counted, and captured if they say so. May
    /// be left out beside 'sessions', or if a port captures.
    #[serde(default)]
    pub(crate) streams: Vec<StreamDoc>,
    /// Sessions: clients that open connections to servers, and what they say.
    #[serde(default)]
    pub(crate) sessions: Vec<SessionDoc>,
    /// How long, and how much.
    #[serde(default)]
    pub(crate) load: LoadDoc,
    /// Conditions on numbers of the result, by path: 'streams.small.loss_ratio: < 0.1%',
    /// 'sessions.web.failed_ratio: < 0.001%'. If one fails, the run fails.
    /// A condition on a stream with copies holds for each of them.
    #[serde(default)]
    pub(crate) criteria: IndexMap<String, ConditionText>,
    /// What to add streams up by, by name: 'tag', or a field such as 'ipv4.dscp'. The result then has a row for each tag,
    /// or for each value of the field, with the streams that have it added up.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"format": "name"}))]
    pub(crate) groups: IndexMap<String, String>,
    /// What lies between the ports when the run is simulated; ignored on real ports.
    #[serde(default)]
    pub(crate) sim: SimDoc,
}

/// A port and the hosts the tester plays behind it. Its own keys 'ip', 'gateway', 'mac' and 'vlan' make the first host,
/// which is called like the port.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Port")]
pub(crate) struct PortDoc {
    /// Which device: 'veth0', 'afxdp:veth0', 'memif:/run/x.sock', '0000:03:00.0', 'ring:a', …
    #[schemars(length(min = 1))]
    pub(crate) device: String,
    /// The host's addresses with prefix length, the first of a family before the others. With an address the port answers
    /// ARP, neighbour discovery and ping, and asks for the hardware addresses of next hops.
    pub(crate) ip: Option<OneOrMany<IpPrefix>>,
    /// Routers for destinations that are not on the host's networks, at most one for each network.
    pub(crate) gateway: Option<OneOrMany<Ip>>,
    /// Hardware addresses of gateways, by the gateway's address. Nobody is asked for these.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"format": "ip"}))]
    pub(crate) gateway_mac: IndexMap<String, Mac>,
    /// Hardware address to use instead of the port's own.
    pub(crate) mac: Option<Mac>,
    /// VLAN the host lives in, or a list from the outermost in. ARP, neighbour discovery and ping are tagged with it,
    /// and so is every packet of the port's streams that has no vlan header of its own.
    pub(crate) vlan: Option<OneOrMany<VlanId>>,
    /// Further hosts behind the port, each with addresses, hardware address, VLANs and gateways of its own: 4,096 with the
    /// port's own at most. A stream or session is sent by the host whose address it has as its source.
    #[serde(default)]
    pub(crate) hosts: Vec<HostDoc>,
    /// Layer-1 speed of the link, for devices that do not know theirs. Shares such as '40%' are of this.
    pub(crate) speed: Option<Speed>,
    /// Who computes checksums that change from packet to packet.
    #[serde(default)]
    pub(crate) checksum: ChecksumDoc,
    /// Write what crosses the port into a capture file while traffic runs.
    pub(crate) capture: Option<CaptureDoc>,
    /// Allow an interface that carries the machine's default route. Everyone on that network gets the traffic
    /// (RFC 6815): leave it off outside a lab.
    #[serde(default)]
    pub(crate) allow_default_route: bool,
}

/// A further host behind a port, or 'count' of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Host")]
pub(crate) struct HostDoc {
    /// What it is called in 'from_host' and 'to_host' of streams, in errors, and where neighbours are told; 'host1' for the
    /// first of the list unless said otherwise, and so on. With 'count': 'name[0]', 'name[1]', …
    pub(crate) name: Option<Name>,
    /// Its addresses with prefix length.
    pub(crate) ip: OneOrMany<IpPrefix>,
    /// Routers for destinations that are not on its networks, at most one for each network.
    pub(crate) gateway: Option<OneOrMany<Ip>>,
    /// Hardware addresses of gateways, by the gateway's address. Nobody is asked for these.
    #[serde(default)]
    #[schemars(extend("propertyNames" = {"format": "ip"}))]
    pub(crate) gateway_mac: IndexMap<String, Mac>,
    /// Its hardware address. Without it one is made of the port's own, locally administered and nobody else's here.
    pub(crate) mac: Option<Mac>,
    /// VLAN it lives in, or a list from the outermost in; without it frames are untagged, whatever the port's own 'vlan'.
    pub(crate) vlan: Option<OneOrMany<VlanId>>,
    /// So many hosts instead of one: the first as it is written, each of the others with the next addresses, and the next
    /// hardware address if 'mac' gives the first.
    #[schemars(range(min = 1, max = 4095))]
    pub(crate) count: Option<u32>,
    /// From one host's addresses to the next one's: a number for all of them, or an address as difference for those of its
    /// family ('0.0.1.0'). Without it 1.
    pub(crate) ip_step: Option<OneOrMany<Step>>,
    /// From one host's gateways to the next one's, likewise. Without it all have the same.
    pub(crate) gateway_step: Option<OneOrMany<Step>>,
    /// From one host's innermost VLAN to the next one's. Without it all are in the same.
    pub(crate) vlan_step: Option<u32>,
}

/// A capture on a port: pcapng with nanoseconds. What the disk or memory was too slow for is counted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Capture")]
pub(crate) struct CaptureDoc {
    /// The file, '.pcapng'. With 'rotate_size' or 'rotate_time' a number goes before the dot. Relative to where the
    /// command is run.
    #[schemars(length(min = 1))]
    pub(crate) file: String,
    /// Which packets, in the syntax of libpcap (tcpdump): 'udp port 53'. Without it: all.
    pub(crate) filter: Option<String>,
    /// At most so many bytes of each packet.
    pub(crate) snap: Option<Bytes>,
    /// Received packets, sent ones, or both.
    #[serde(default)]
    pub(crate) direction: DirectionDoc,
    /// Begin a new file when one is so large.
    pub(crate) rotate_size: Option<Bytes>,
    /// Begin a new file after so long.
    pub(crate) rotate_time: Option<Duration>,
    /// Keep only the newest so many files.
    #[schemars(range(min = 1))]
    pub(crate) files: Option<u32>,
    /// Keep the newest so many bytes in memory and write them at the end.
    pub(crate) ring: Option<Bytes>,
    /// Memory between the worker and the disk.
    #[serde(default = "capture_buffer")]
    pub(crate) buffer: Bytes,
}

/// Which packets of a port are captured.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum DirectionDoc {
    /// What is received.
    #[default]
    Rx,
    /// What is sent.
    Tx,
    /// Both.
    Both,
}

fn capture_buffer() -> Bytes {
    Bytes(64_000_000)
}

/// One value, or a list of them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values, each with what to put behind the path of the whole to get its own.
    pub(crate) fn with_paths(&self) -> Vec<(String, &T)> {
        match self {
            Self::One(value) => vec![(String::new(), value)],
            Self::Many(values) => {
                values.iter().enumerate().map(|(i, value)| (format!("[{i}]"), value)).collect()
            }
        }
    }
}

/// A VLAN identifier (IEEE 802.1Q).
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct VlanId(#[schemars(range(min = 1, max = 4094))] pub(crate) u16);

/// Who computes checksums.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ChecksumDoc {
    /// The tester: right on every port.
    #[default]
    Software,
    /// The port; an error if it can't.
    Offload,
}

/// A stream of packets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stream")]
pub(crate) struct StreamDoc {
    /// The stream's name, used in 'criteria' and the result.
    pub(crate) name: Name,
    /// Port the stream is sent from.
    pub(crate) from: String,
    /// Port the stream should arrive at. Leave it out if nobody here receives it.
    pub(crate) to: Option<String>,
    /// Host of the port 'from' that sends it: its hardware address, VLANs and gateways. Without it the one whose address is
    /// the packet's outermost source, in the VLANs of the packet if that has vlan headers, or else the first that can.
    pub(crate) from_host: Option<String>,
    /// Host of the port 'to' that it goes to. Without it the one with the packet's destination, or the first that can.
    pub(crate) to_host: Option<String>,
    /// Headers from the outside in, then, if wanted, the first bytes of the payload. 'ethernet' may be left out.
    /// An outermost ipv4 or ipv6 header gets its 'src' from the port it is sent from and its 'dst' from the port it
    /// goes to; hardware addresses come from the ports and their neighbours. Lengths, checksums and 'type' fields are
    /// computed. What you set stays as you set it, even if it is wrong. Either this or 'replay'.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) packet: Vec<PacketElement>,
    /// Send what a capture file has, instead of 'packet'.
    pub(crate) replay: Option<ReplayDoc>,
    /// Frame lengths with FCS. Without it: the shortest that holds packet and signature.
    pub(crate) size: Option<SizesDoc>,
    /// Fields whose values vary from packet to packet: 'ipv4.src', 'vlan[1].id', 'vxlan.inner.ipv4.dst', or raw
    /// 'bytes[42..44]', 'payload[0..4]', 'bits[336..340]'. All advance together unless 'after' says otherwise.
    /// Checksums stay right.
    #[serde(default)]
    pub(crate) vary: IndexMap<String, VaryDoc>,
    /// Fields that differ from copy to copy of 'copies' and are constant within one.
    #[serde(default)]
    pub(crate) per_copy: IndexMap<String, VaryDoc>,
    /// Flows: the fields of 'vary' keep their values for the packets of a flow.
    pub(crate) flows: Option<FlowsDoc>,
    /// Packets per second, bits per second, a share of the link, packets per second of each flow ('100pps/flow'), or
    /// 'max' for as fast as the port takes. Required unless the command line gives a rate, or the pattern is one.
    pub(crate) rate: Option<StreamRate>,
    /// How sending times are arranged.
    #[serde(default)]
    pub(crate) pattern: PatternDoc,
    /// The stream that begins when this one has sent its count. The first stream of such a chain has 'start_delay' and
    /// 'loops'; each needs a count and a rate.
    pub(crate) then: Option<ThenForm>,
    /// How often the chain that begins with this stream is gone through. Without it: for ever if the last stream names
    /// this one in 'then', else once.
    #[schemars(range(min = 1))]
    pub(crate) loops: Option<u64>,
    /// Stop after so many packets. Without it: until the duration ends. Each copy sends so many.
    #[schemars(range(min = 1))]
    pub(crate) count: Option<u64>,
    /// From the start of traffic to the stream's first packet.
    #[serde(default = "no_time")]
    pub(crate) start_delay: Duration,
    /// Whether every packet carries the 18-byte signature and is measured. Replayed packets never are.
    #[serde(default = "yes")]
    pub(crate) measure: bool,
    /// This many equal streams instead of one, named 'name[0]', 'name[1]', … Each has the given rate and is measured
    /// by itself.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub(crate) copies: Option<u32>,
    /// Words to add streams up by: see 'groups'.
    pub(crate) tag: Option<OneOrMany<Name>>,
}

/// How long traffic is sent and late packets are waited for, and how sessions begin and end.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Load")]
pub(crate) struct LoadDoc {
    /// How long traffic is sent. The run also ends when every stream has sent its count, and every entry of 'sessions'
    /// has opened its own and they have ended.
    pub(crate) duration: Duration,
    /// How long late packets are waited for after the last one was sent (RFC 2544 section 23).
    pub(crate) drain: Duration,
    /// Of sessions: from nothing to each entry's rate of opening, in a straight line. An entry that says 'max' or has a
    /// shape of its own is not changed. Streams have patterns for that.
    pub(crate) ramp_up: Duration,
    /// Of sessions: from each entry's rate back to nothing, ending with the run.
    pub(crate) ramp_down: Duration,
    /// Of sessions: multiplies 'concurrent' and all rates of each entry: 'open', 'close' and 'request_rate'. Streams are not
    /// changed; '--rate' is for those.
    pub(crate) multiply: Factor,
}

impl Default for LoadDoc {
    fn default() -> Self {
        Self {
            duration: Duration(Nanos::from_secs(10)),
            drain: Duration(Nanos::from_secs(2)),
            ramp_up: no_time(),
            ramp_down: no_time(),
            multiply: Factor(1_000_000),
        }
    }
}

/// Links and device of a simulated run.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Sim")]
pub(crate) struct SimDoc {
    /// Every port's link, both directions alike. A packet crosses two: its sender's and its receiver's.
    pub(crate) link: LinkDoc,
    /// A model router between the links. Without it the links are one wire.
    pub(crate) router: Option<RouterDoc>,
}

/// A simulated link.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Link")]
pub(crate) struct LinkDoc {
    /// Layer-1 speed where the port declares none.
    pub(crate) speed: Speed,
    /// Propagation delay, on each of the two links.
    pub(crate) delay: Duration,
    /// Share of frames lost on the link they are sent on.
    pub(crate) loss: Share,
    /// Share of frames delivered twice.
    pub(crate) duplicate: Share,
    /// Share of frames that arrive late by 'reorder_by'.
    pub(crate) reorder: Share,
    /// Extra delay of a reordered frame.
    pub(crate) reorder_by: Duration,
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
        }
    }
}

/// A model router.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Router")]
pub(crate) struct RouterDoc {
    /// Packets it forwards each second.
    pub(crate) capacity: PacketRate,
    /// Frames it keeps waiting at most; what comes when they are full is dropped.
    #[serde(default = "router_buffer")]
    pub(crate) buffer: u32,
    /// Time a frame spends in it when nothing waits.
    #[serde(default = "router_latency")]
    pub(crate) latency: Duration,
}

fn router_buffer() -> u32 {
    512
}

fn router_latency() -> Duration {
    Duration(Nanos::from_micros(20))
}

pub(crate) fn no_time() -> Duration {
    Duration(Nanos::ZERO)
}

fn yes() -> bool {
    true
}

/// JSON Schema (draft 2020-12) of the profile.
///
/// Texts with a meaning of their own carry a `format`: `rate`, `duration`, `frame-length`, `ip-prefix` and so on.
pub fn schema() -> Value {
    schema_of::<Document>()
}

/// JSON Schema (draft 2020-12) of a document that is read as profiles are.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let mut schema = generator.root_schema_for::<T>();
    tidy(&mut schema);
    schema.to_value()
}

/// An absent value is left out of the document, never written as null. Descriptions have no lines of their own.
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
