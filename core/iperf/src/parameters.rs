//! A client's request to a server, in JSON.

use crate::Number;
use serde::{Deserialize, Serialize};

fn is_zero(number: &Number) -> bool {
    *number == Number::default()
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The parameters of a test. Others are for the client alone, or for authentication, which is not supported here.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// Over TCP.
    #[serde(skip_serializing_if = "is_false")]
    pub tcp: bool,
    /// Over UDP.
    #[serde(skip_serializing_if = "is_false")]
    pub udp: bool,
    /// Over SCTP.
    #[serde(skip_serializing_if = "is_false")]
    pub sctp: bool,
    /// Seconds at the beginning that do not count.
    pub omit: Number,
    /// Length of the test in seconds; 0 if octets or blocks end it.
    pub time: Number,
    /// Octets to send in all, or 0.
    pub num: Number,
    /// Blocks to send in all, or 0.
    pub blockcount: Number,
    /// Largest segment of TCP.
    #[serde(rename = "MSS", skip_serializing_if = "is_zero")]
    pub mss: Number,
    /// Without Nagle's delay.
    #[serde(skip_serializing_if = "is_false")]
    pub nodelay: bool,
    /// Streams in each direction.
    pub parallel: Number,
    /// The server sends.
    #[serde(skip_serializing_if = "is_false")]
    pub reverse: bool,
    /// Both send.
    #[serde(skip_serializing_if = "is_false")]
    pub bidirectional: bool,
    /// Size of the sockets' buffers.
    #[serde(skip_serializing_if = "is_zero")]
    pub window: Number,
    /// Octets of a write, or of a UDP packet.
    pub len: Number,
    /// Bits per second of each stream; 0 for as many as go.
    #[serde(skip_serializing_if = "is_zero")]
    pub bandwidth: Number,
    /// Bits per second of each stream that the kernel paces.
    #[serde(skip_serializing_if = "is_zero")]
    pub fqrate: Number,
    /// Shortest time between two looks at the clock, µs.
    pub pacing_timer: Number,
    /// Blocks that are sent at once.
    #[serde(skip_serializing_if = "is_zero")]
    pub burst: Number,
    /// Type of service of the packets.
    #[serde(rename = "TOS", skip_serializing_if = "is_zero")]
    pub tos: Number,
    /// A word of the user's for the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_data: Option<String>,
    /// Congestion control of TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// The client wants the server's output.
    #[serde(skip_serializing_if = "is_zero")]
    pub get_server_output: Number,
    /// Packets of UDP are counted with 64 bits.
    #[serde(skip_serializing_if = "is_zero")]
    pub udp_counters_64bit: Number,
    /// Packets of UDP must not be fragmented.
    #[serde(skip_serializing_if = "is_zero")]
    pub dont_fragment: Number,
    /// Version of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
}
