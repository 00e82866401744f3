//! The document `eagre.trex/1`, as types. Streams are as TRex's RPC specification has them.

use crate::astf::Profile;
use crate::stf::Template;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Name and version of the document.
pub const SCHEMA: &str = "eagre.trex/1";

/// Streams of each port.
#[derive(Debug, Clone, Deserialize)]
pub struct Document {
    /// `eagre.trex/1`.
    pub schema: String,
    /// Where the streams come from: a file's name.
    #[serde(default)]
    pub source: String,
    /// Why they could not be loaded, instead of streams.
    #[serde(default)]
    pub error: Option<String>,
    /// Streams by the port's number.
    #[serde(default)]
    pub ports: BTreeMap<u8, Vec<Named>>,
    /// Sessions, instead of streams.
    #[serde(default)]
    pub profile: Option<Profile>,
    /// Templates of flows, instead of streams.
    #[serde(default)]
    pub templates: Option<Vec<Template>>,
    /// Duration of sending, if set in the profile.
    #[serde(default)]
    pub duration_s: Option<f64>,
}

/// A stream, its name, and the name of the one that follows.
#[derive(Debug, Clone, Deserialize)]
pub struct Named {
    /// Name.
    #[serde(default)]
    pub name: Option<String>,
    /// Stream that begins when this one has ended.
    #[serde(default)]
    pub next: Option<String>,
    /// The stream.
    pub stream: Stream,
}

/// A stream.
#[derive(Debug, Clone, Deserialize)]
pub struct Stream {
    /// Whether it exists at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether it begins with the traffic; others wait until a stream names them as next.
    #[serde(default = "yes")]
    pub self_start: bool,
    /// Whether it begins paused.
    #[serde(default)]
    pub start_paused: bool,
    /// Whether it sends nothing and only takes its time.
    #[serde(default)]
    pub dummy_stream: bool,
    /// Time from its start to its first packet, µs.
    #[serde(default)]
    pub isg: f64,
    /// Number of times that it may end until its successor is not started any more; 0 is without limit.
    #[serde(default)]
    pub action_count: u64,
    /// Seed of its random variables; 0 is the clock.
    #[serde(default)]
    pub random_seed: u64,
    /// Bit 0: the packet's source MAC address is kept. Bits 1 and 2: where the destination comes from.
    #[serde(default)]
    pub flags: u8,
    /// The packet.
    pub packet: Packet,
    /// When packets leave.
    pub mode: Mode,
    /// Field program.
    #[serde(default)]
    pub vm: Vm,
    /// Measurement.
    #[serde(default)]
    pub flow_stats: FlowStats,
}

fn yes() -> bool {
    true
}

/// Bytes of a packet, without FCS.
#[derive(Debug, Clone, Deserialize)]
pub struct Packet {
    /// In base64.
    pub binary: String,
}

/// When packets leave.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Mode {
    /// Without end.
    Continuous {
        /// Rate.
        rate: Rate,
    },
    /// A number of packets.
    SingleBurst {
        /// Rate.
        rate: Rate,
        /// Packets.
        total_pkts: u64,
    },
    /// Bursts with pauses.
    MultiBurst {
        /// Rate within a burst.
        rate: Rate,
        /// Packets of a burst.
        pkts_per_burst: u64,
        /// From the last packet of a burst to the first of the next, µs.
        #[serde(default)]
        ibg: f64,
        /// Bursts.
        count: u64,
    },
}

/// A rate.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Rate {
    /// Its unit.
    #[serde(rename = "type")]
    pub kind: RateKind,
    /// Its value.
    pub value: f64,
}

/// Units of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum RateKind {
    /// Packets per second.
    #[serde(rename = "pps")]
    Pps,
    /// Bits per second of frames with FCS.
    #[serde(rename = "bps_L2")]
    BpsL2,
    /// Bits per second with preamble and gap.
    #[serde(rename = "bps_L1")]
    BpsL1,
    /// Share of the link, layer 1.
    #[serde(rename = "percentage")]
    Percentage,
}

/// A program that varies packets.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Vm {
    /// Instructions, in order.
    #[serde(default)]
    pub instructions: Vec<Instruction>,
    /// Packets made once and repeated; 0 is none.
    #[serde(default, alias = "cache_size")]
    pub cache: Option<u64>,
}

/// An instruction of a program.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Instruction {
    /// A variable that counts, is drawn, or goes through a list.
    FlowVar {
        /// Name.
        name: String,
        /// Bytes.
        size: u8,
        /// Operation.
        op: Op,
        /// First value.
        #[serde(default, deserialize_with = "number")]
        init_value: u64,
        /// Smallest value.
        #[serde(default, deserialize_with = "number")]
        min_value: u64,
        /// Largest value.
        #[serde(default, deserialize_with = "number")]
        max_value: u64,
        /// Step.
        #[serde(default = "one", deserialize_with = "number")]
        step: u64,
        /// The values, instead of a range.
        #[serde(default)]
        value_list: Option<Vec<u64>>,
        /// Variable that advances when this one wraps.
        #[serde(default)]
        next_var: Option<String>,
    },
    /// A variable that is drawn; after `limit` values the same come again.
    FlowVarRandLimit {
        /// Name.
        name: String,
        /// Bytes.
        size: u8,
        /// Values until they repeat.
        limit: u64,
        /// Seed.
        seed: u64,
        /// Smallest value.
        #[serde(default, deserialize_with = "number")]
        min_value: u64,
        /// Largest value.
        #[serde(deserialize_with = "number")]
        max_value: u64,
        /// Variable that advances when this one repeats.
        #[serde(default)]
        next_var: Option<String>,
    },
    /// Pairs of an address and a port.
    TupleFlowVar {
        /// Name of the pair.
        name: String,
        /// First address.
        #[serde(deserialize_with = "number")]
        ip_min: u64,
        /// Last address.
        #[serde(deserialize_with = "number")]
        ip_max: u64,
        /// First port.
        port_min: u64,
        /// Last port.
        port_max: u64,
        /// Pairs until all begins again.
        limit_flows: u64,
        /// 1: the port stays.
        #[serde(default)]
        flags: u64,
    },
    /// Writes a variable.
    WriteFlowVar {
        /// Variable.
        name: String,
        /// Where.
        pkt_offset: u16,
        /// Added before.
        #[serde(default)]
        add_value: i64,
        /// Byte order.
        #[serde(default = "yes")]
        is_big_endian: bool,
    },
    /// Writes some bits of a variable.
    WriteMaskFlowVar {
        /// Variable.
        name: String,
        /// Where.
        pkt_offset: u16,
        /// Bytes.
        pkt_cast_size: u8,
        /// Bits to write.
        mask: u64,
        /// Bits to shift left; negative is right.
        #[serde(default)]
        shift: i32,
        /// Added before the shift.
        #[serde(default)]
        add_value: i64,
        /// Byte order.
        #[serde(default = "yes")]
        is_big_endian: bool,
    },
    /// Cuts the packet.
    TrimPktSize {
        /// Variable with the length without FCS.
        name: String,
    },
    /// Recomputes the checksum of an IPv4 header.
    #[serde(rename = "fix_checksum_ipv4")]
    FixChecksumIpv4 {
        /// The header's offset.
        pkt_offset: u16,
    },
    /// Has the card compute checksums.
    FixChecksumHw {
        /// Bytes before the IP header.
        l2_len: u16,
        /// Bytes of the IP header.
        l3_len: u16,
        /// 11 UDP, 13 TCP, 17 IP alone.
        l4_type: u8,
    },
    /// Recomputes the checksum of ICMPv6.
    #[serde(rename = "fix_checksum_icmpv6")]
    FixChecksumIcmpv6 {
        /// Bytes before the IP header.
        l2_len: u16,
        /// Bytes of the IP header.
        l3_len: u16,
    },
}

fn one() -> u64 {
    1
}

/// A number as documents have it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(u64),
    Fraction(f64),
    Text(String),
}

/// A number; JSON of other programs has it as a fraction or a text, too.
fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    use serde::de::Error;
    match Written::deserialize(deserializer)? {
        Written::Whole(n) => Ok(n),
        Written::Fraction(n) if n >= 0.0 => Ok(n as u64),
        Written::Fraction(n) => Err(D::Error::custom(format!("{n} is not a number from 0"))),
        Written::Text(text) => {
            text.parse().map_err(|_| D::Error::custom(format!("'{text}' is not a number")))
        }
    }
}

/// Operation of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Up.
    Inc,
    /// Down.
    Dec,
    /// Drawn.
    Random,
}

/// Measurement of a stream.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct FlowStats {
    /// Whether anything is.
    #[serde(default)]
    pub enabled: bool,
    /// Group.
    #[serde(default)]
    pub stream_id: u64,
    /// `stats`, `latency`, `tpg`.
    #[serde(default)]
    pub rule_type: Option<String>,
    /// Whether headers within VXLAN count.
    #[serde(default)]
    pub vxlan: bool,
    /// Whether cards take the times.
    #[serde(default)]
    pub ieee_1588: bool,
}

impl Rate {
    /// Packets per second of frames of this mean length without FCS, on a link of this speed; `None` if the speed is missing.
    pub(crate) fn pps(self, length: f64, speed_bps: Option<f64>) -> Option<f64> {
        match self.kind {
            RateKind::Pps => Some(self.value),
            RateKind::BpsL2 => Some(self.value / 8.0 / (length + 4.0)),
            RateKind::BpsL1 => Some(self.value / 8.0 / (length + 24.0)),
            RateKind::Percentage => Some(self.value / 100.0 * speed_bps? / 8.0 / (length + 24.0)),
        }
    }
}

impl Mode {
    /// The rate.
    pub fn rate(&self) -> Rate {
        match self {
            Self::Continuous { rate } | Self::SingleBurst { rate, .. } | Self::MultiBurst { rate, .. } => {
                *rate
            }
        }
    }

    /// Seconds from its first packet to its last; `None` is without end.
    pub(crate) fn seconds(&self, pps: f64) -> Option<f64> {
        match self {
            Self::Continuous { .. } => None,
            Self::SingleBurst { total_pkts, .. } => Some((*total_pkts as f64 - 1.0) / pps),
            Self::MultiBurst { pkts_per_burst, ibg, count, .. } => {
                let burst = (*pkts_per_burst as f64 - 1.0) / pps;
                Some(*count as f64 * burst + (*count as f64 - 1.0) * ibg / 1e6)
            }
        }
    }
}

impl FlowStats {
    /// Whether latency is measured: such a stream keeps its rate regardless of the multiplier.
    pub fn is_latency(&self) -> bool {
        self.enabled && self.rule_type.as_deref() == Some("latency")
    }
}
