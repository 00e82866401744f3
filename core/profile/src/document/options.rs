//! TCP, UDP and IP options of sessions, as written. A missing option has the entry's value for both ends, or the
//! default.

use crate::document::http::MigrateDoc;
use crate::document::quantity::{Bytes, Duration, TimeLimit, TimeWaitText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP of one end or of both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tcp")]
pub struct TcpDoc {
    /// Maximum segment size, bytes of payload. Default: what fits 'mtu'.
    #[schemars(range(min = 64, max = 16_000))]
    pub mss: Option<u16>,
    /// Receive window. Default: 262140B.
    pub window: Option<Bytes>,
    /// Window scaling (RFC 7323), required for windows above 65535B. Default: true.
    pub window_scaling: Option<bool>,
    /// Timestamps (RFC 7323). Default: true.
    pub timestamps: Option<bool>,
    /// Time in which the clock of timestamps advances by one, from 1ms to 1s (RFC 7323 section 5.4). Default: 1048576ns.
    pub timestamp_step: Option<Duration>,
    /// Initial sequence number of every connection, to try a wrap of sequence numbers for example. Default: another one for
    /// each connection (RFC 6528).
    #[schemars(range(min = 0, max = 4_294_967_295_u32))]
    pub isn: Option<u32>,
    /// Selective acknowledgements (RFC 2018). Default: true.
    pub sack: Option<bool>,
    /// Loss by time, and probes of the last segments (RFC 8985); needs 'sack'. Default: true.
    pub rack: Option<bool>,
    /// Explicit congestion notification (RFC 3168). Default: false.
    pub ecn: Option<bool>,
    /// Initial congestion window, segments (RFC 6928). Default: 10.
    #[schemars(range(min = 1, max = 1_000))]
    pub initial_window: Option<u16>,
    /// Congestion control. Default: cubic.
    pub congestion: Option<CongestionDoc>,
    /// Send small segments at once instead of waiting for acknowledgements (no Nagle). Default: true.
    pub no_delay: Option<bool>,
    /// Maximum delay of an acknowledgement, up to 2s; 0s acknowledges at once. Default: 40ms.
    pub ack_delay: Option<Duration>,
    /// Initial retransmission timeout (RFC 6298). Default: 1s.
    pub rto_initial: Option<Duration>,
    /// Minimum retransmission timeout. Default: 200ms.
    pub rto_min: Option<Duration>,
    /// Maximum retransmission timeout. Default: 60s.
    pub rto_max: Option<Duration>,
    /// Maximum number of SYN retransmissions. Default: 6.
    pub syn_retries: Option<Retries>,
    /// Maximum number of SYN-ACK retransmissions. Default: 5.
    pub syn_ack_retries: Option<Retries>,
    /// Maximum number of retransmissions of data or a FIN. Default: 15.
    pub data_retries: Option<Retries>,
    /// Time to wait for the peer's FIN. Default: 60s.
    pub fin_timeout: Option<Duration>,
    /// Length of TIME-WAIT, or 'skip'. Default: 1s.
    pub time_wait: Option<TimeWaitText>,
    /// Idle time before a keep-alive probe, or 'none'. Default: none.
    pub keep_alive: Option<TimeLimit>,
    /// Way to close first: with a FIN or a reset. Default: fin.
    pub close_by: Option<CloseByDoc>,
    /// Take expected segments in and send them by the express lane of the code, which is faster and changes nothing else; 'false' to compare.
    /// Default: true.
    pub express: Option<bool>,
}

/// A number of repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Retries(#[schemars(range(min = 0, max = 255))] pub u8);

/// Congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CongestionDoc {
    /// RFC 9438.
    Cubic,
    /// RFC 5681 and 6582.
    NewReno,
    /// None: the receiver's window alone.
    None,
}

/// Way to close first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CloseByDoc {
    /// By a FIN.
    Fin,
    /// By a reset.
    Reset,
}

/// UDP of one end or of both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Udp")]
pub struct UdpDoc {
    /// Idle time after which a session ends. Default: 30s.
    pub idle_timeout: Option<TimeLimit>,
    /// Congestion marks (ECN) of QUIC: datagrams carry ECT(0), and marks are reported to the other end (RFC 9000 section 13.4).
    /// Other applications have no use for it. Default: false.
    pub ecn: Option<bool>,
}

/// QUIC of both ends.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Quic")]
pub struct QuicDoc {
    /// Clients that resume a session ('tls: {resumption: …}') send requests, and messages of 'raw' and 'program', in their first packets
    /// (0-RTT), where the server has allowed it; emulated servers allow and accept it. Such packets may be replayed. Default: false.
    pub early_data: Option<bool>,
    /// Emulated servers have clients prove their address first, by a Retry packet (RFC 9000 section 8.1.2). Default: false.
    pub retry: Option<bool>,
    /// Have clients change their UDP port while connections last. Default: never.
    pub migrate: Option<MigrateDoc>,
    /// Number of packets after which clients update their keys (RFC 9001 section 6). Default: never.
    #[schemars(range(min = 1))]
    pub key_update: Option<u64>,
    /// Send each message of a program in a DATAGRAM frame (RFC 9221), which is not sent again if it is lost, and not on a stream. Of 'raw' and
    /// 'program'. Default: false.
    pub datagrams: Option<bool>,
    /// Number of streams that a client opens at a time, on each of which both ends run their programs. Of 'raw' and 'program'. Default: 1.
    #[schemars(range(min = 1, max = 1_000))]
    pub streams: Option<u16>,
    /// Have each end send on its own unidirectional stream, the server's in the order of its client's. Of 'raw' and 'program'.
    /// Default: false.
    pub unidirectional: Option<bool>,
}

/// IP of one end or of both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ip")]
pub struct IpDoc {
    /// Time to live, or hop limit. Default: 64.
    #[schemars(range(min = 1, max = 255))]
    pub ttl: Option<u8>,
    /// Differentiated services code point (RFC 2474). Default: 0.
    #[schemars(range(min = 0, max = 63))]
    pub dscp: Option<u8>,
    /// Whole traffic class byte, instead of 'dscp'. The lower two bits (ECN) must be zero.
    #[schemars(range(min = 0, max = 255))]
    pub tos: Option<u8>,
}

/// Largest IP packet, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Mtu(#[schemars(range(min = 256, max = 16_000))] pub u16);
