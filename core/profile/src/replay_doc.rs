//! A capture file to send, as written.

use crate::document::{OneOrMany, VlanId};
use crate::packet_doc::FieldValue;
use crate::quantity::{Duration, Mac, Network, Speedup};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A capture file to send: pcap or pcapng, with micro- or nanoseconds, Ethernet.
///
/// With the stream's 'rate' the packets are sent at that rate; without, as they were captured. They carry no signature,
/// so what arrives is counted at the port and not measured.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Replay")]
pub(crate) struct ReplayDoc {
    /// The file. Relative to the profile.
    #[schemars(length(min = 1))]
    pub(crate) file: String,
    /// How many times as fast as captured, such as '2x' or '0.5x'.
    pub(crate) speed: Option<Speedup>,
    /// How often the file is sent; once unless given. 'count' ends it, too.
    #[schemars(range(min = 1))]
    pub(crate) loops: Option<u64>,
    /// From the last packet of one loop to the first of the next. Without it: the capture's mean gap.
    pub(crate) loop_gap: Option<Duration>,
    /// Send only one direction from 'from', the other from 'to'. Without it everything is sent from 'from'.
    pub(crate) split: Option<SplitDoc>,
    /// Fields to change, in packets that have them: a value ('udp.dst: 53'), or one for another
    /// ('ipv4.src: 10.0.0.0/8 -> 192.168.0.0/8'). 'addresses' and 'ports' change both ends, whichever field they stand
    /// in. 'port' as 'ethernet.src' is the port's own, 'next_hop' as 'ethernet.dst' that of its gateway or of the port
    /// at the other end. Checksums that were right stay right.
    #[serde(default)]
    pub(crate) rewrite: IndexMap<String, OneOrMany<FieldValue>>,
    /// VLAN tag to put before all others.
    pub(crate) push_vlan: Option<VlanId>,
    /// Take the outermost VLAN tag away first.
    #[serde(default)]
    pub(crate) pop_vlan: bool,
}

/// How to tell the two directions of a capture apart.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum SplitDoc {
    Word(SplitWord),
    By(SplitByDoc),
}

/// A way of splitting that needs no more said.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum SplitWord {
    /// By conversation: who sent its first packet is the client and is sent from 'from'.
    FirstSource,
}

/// Who the clients are, whose packets are sent from 'from'. One of the three.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SplitBy")]
pub(crate) struct SplitByDoc {
    /// Networks of the clients.
    pub(crate) clients: Option<OneOrMany<Network>>,
    /// Hardware addresses of the clients.
    pub(crate) macs: Option<OneOrMany<Mac>>,
    /// Number of the capture's interface on which clients were seen.
    pub(crate) interface: Option<u32>,
}
