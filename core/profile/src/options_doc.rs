//! TCP, UDP and IP of sessions, as written. What is left out is the default, or what the entry says for both ends.

use crate::quantity::{Bytes, Duration, TimeLimit, TimeWaitText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP of one end or of both.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tcp")]
pub(crate) struct TcpDoc {
    /// Largest segment offered and sent, bytes of payload. Without it what fits 'mtu'.
    #[schemars(range(min = 64, max = 16_000))]
    pub(crate) mss: Option<u16>,
    /// Receive window offered: 262140B unless given.
    pub(crate) window: Option<Bytes>,
    /// Whether windows may be scaled (RFC 7323): yes unless given. Needed for windows above 65535B.
    pub(crate) window_scaling: Option<bool>,
    /// Whether timestamps are offered and taken (RFC 7323): yes unless given.
    pub(crate) timestamps: Option<bool>,
    /// Whether selective acknowledgements are offered and taken (RFC 2018): yes unless given.
    pub(crate) sack: Option<bool>,
    /// Whether explicit congestion notification is offered and taken (RFC 3168): no unless given.
    pub(crate) ecn: Option<bool>,
    /// Segments that may be sent before the first acknowledgement (RFC 6928): 10 unless given.
    #[schemars(range(min = 1, max = 1_000))]
    pub(crate) initial_window: Option<u16>,
    /// How congestion is controlled: cubic unless given.
    pub(crate) congestion: Option<CongestionDoc>,
    /// Whether small segments are sent at once instead of waiting for acknowledgements (Nagle): yes unless given.
    pub(crate) no_delay: Option<bool>,
    /// How long an acknowledgement may wait for data to go with: 40ms unless given; 0s acknowledges at once.
    pub(crate) ack_delay: Option<Duration>,
    /// Time until a retransmission before the round trip is known (RFC 6298): 1s unless given.
    pub(crate) rto_initial: Option<Duration>,
    /// Shortest time until a retransmission: 200ms unless given.
    pub(crate) rto_min: Option<Duration>,
    /// Longest time until a retransmission: 60s unless given.
    pub(crate) rto_max: Option<Duration>,
    /// How often a SYN is repeated: 6 times unless given.
    pub(crate) syn_retries: Option<Retries>,
    /// How often a SYN-ACK is repeated: 5 times unless given.
    pub(crate) syn_ack_retries: Option<Retries>,
    /// How often data or a FIN is repeated: 15 times unless given.
    pub(crate) data_retries: Option<Retries>,
    /// Longest wait for the other end's FIN: 60s unless given.
    pub(crate) fin_timeout: Option<Duration>,
    /// How long the end that closed first remembers a session: 1s unless given, or 'skip'.
    pub(crate) time_wait: Option<TimeWaitText>,
    /// Silence after which the other end is asked whether it is there: 'none' unless given.
    pub(crate) keep_alive: Option<TimeLimit>,
    /// Whether the end that closes first sends a FIN or a reset: fin unless given.
    pub(crate) close_by: Option<CloseByDoc>,
}

/// A number of repetitions.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Retries(#[schemars(range(min = 0, max = 255))] pub(crate) u8);

/// How congestion is controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum CongestionDoc {
    /// RFC 9438.
    Cubic,
    /// RFC 5681 and 6582.
    NewReno,
    /// The receiver's window alone.
    None,
}

/// How the end that closes first does so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum CloseByDoc {
    /// By a FIN.
    Fin,
    /// By a reset.
    Reset,
}

/// UDP of one end or of both.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Udp")]
pub(crate) struct UdpDoc {
    /// Silence after which a session ends: 30s unless given.
    pub(crate) idle_timeout: Option<TimeLimit>,
}

/// IP of one end or of both.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ip")]
pub(crate) struct IpDoc {
    /// Time to live, or hop limit: 64 unless given.
    #[schemars(range(min = 1, max = 255))]
    pub(crate) ttl: Option<u8>,
    /// Class of service (RFC 2474): 0 unless given.
    #[schemars(range(min = 0, max = 63))]
    pub(crate) dscp: Option<u8>,
    /// The whole byte around 'dscp', in place of it. Its lower two bits are those of ECN and must be zero.
    #[schemars(range(min = 0, max = 255))]
    pub(crate) tos: Option<u8>,
}

/// Largest IP packet, bytes.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Mtu(#[schemars(range(min = 256, max = 16_000))] pub(crate) u16);
