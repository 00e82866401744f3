//! Options of a group's flows.

use units::Nanos;

/// Longest [`TcpOptions::ack_delay`].
pub const ACK_DELAY_MAX: Nanos = Nanos::from_secs(2);

/// Congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 9438.
    Cubic,
    /// RFC 5681 and 6582.
    NewReno,
    /// The peer's window alone: for filling links, not for sharing them.
    None,
}

/// Behaviour when both sides have closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeWait {
    /// The side that closed first waits so long (RFC 9293 section 3.6.1: twice the MSL).
    For(Nanos),
    /// It forgets the flow at once.
    Skip,
}

/// Options of TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpOptions {
    /// Largest segment offered and sent, bytes of payload without options; `None` follows the MTU.
    pub mss: Option<u16>,
    /// Receive window offered, bytes.
    pub window: u32,
    /// Whether windows may be scaled (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Whether timestamps are offered and taken (RFC 7323 section 3).
    pub timestamps: bool,
    /// Time in which the clock of timestamps advances by one (RFC 7323 section 5.4: 1 ms to 1 s); not zero.
    pub timestamp_step: Nanos,
    /// Initial sequence number of every flow; `None` is another one for each (RFC 6528).
    pub isn: Option<u32>,
    /// Whether selective acknowledgements are offered and taken (RFC 2018).
    pub sack: bool,
    /// Whether loss is also detected by time, and the tail is probed (RFC 8985); needs selective acknowledgements.
    pub rack: bool,
    /// Whether explicit congestion notification is offered and taken (RFC 3168).
    pub ecn: bool,
    /// Segments that may be sent before the first acknowledgement (RFC 6928: 10).
    pub initial_window: u16,
    /// Congestion control.
    pub congestion: Congestion,
    /// Whether small segments are sent at once instead of waiting for acknowledgements (Nagle, RFC 9293 section 3.7.4).
    pub no_delay: bool,
    /// Maximum delay of an acknowledgement (RFC 9293 section 3.8.6.3: below 500 ms), at most [`ACK_DELAY_MAX`]; zero
    /// acknowledges at once.
    pub ack_delay: Nanos,
    /// Retransmission time-out before the first measurement (RFC 6298: 1 s).
    pub rto_initial: Nanos,
    /// Shortest retransmission time-out.
    pub rto_min: Nanos,
    /// Longest retransmission time-out.
    pub rto_max: Nanos,
    /// Times a SYN is repeated.
    pub syn_retries: u8,
    /// Times a SYN-ACK is repeated.
    pub syn_ack_retries: u8,
    /// Times data, a FIN or a window probe is repeated.
    pub data_retries: u8,
    /// Longest time in FIN-WAIT-2.
    pub fin_timeout: Nanos,
    /// Behaviour when both sides have closed.
    pub time_wait: TimeWait,
    /// Idle time after which a peer is probed; `None` never probes.
    pub keep_alive: Option<Nanos>,
    /// Whether the first flow's side closes by reset in place of a FIN.
    pub close_by_reset: bool,
    /// Whether segments that need nothing out of the ordinary take the express lane, which changes nothing but the time
    /// they take.
    pub express: bool,
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            mss: None,
            window: 65_535 * 4,
            window_scaling: true,
            timestamps: true,
            timestamp_step: Nanos(1 << 20),
            isn: None,
            sack: true,
            rack: true,
            ecn: false,
            initial_window: 10,
            congestion: Congestion::Cubic,
            no_delay: true,
            ack_delay: Nanos::from_millis(40),
            rto_initial: Nanos::from_secs(1),
            rto_min: Nanos::from_millis(200),
            rto_max: Nanos::from_secs(60),
            syn_retries: 6,
            syn_ack_retries: 5,
            data_retries: 15,
            fin_timeout: Nanos::from_secs(60),
            time_wait: TimeWait::For(Nanos::from_secs(1)),
            keep_alive: None,
            close_by_reset: false,
            express: true,
        }
    }
}

/// Options of UDP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UdpOptions {
    /// Silence after which a flow ends; `None` never.
    pub idle_timeout: Option<Nanos>,
    /// Whether connections of QUIC use congestion marks (RFC 9000 section 13.4).
    pub ecn: bool,
    /// Time that a flow which has received datagrams waits for another one after "port unreachable" (ICMP) before it is
    /// refused. The other end of a connection of QUIC may have another port by now, from which nothing has come yet.
    pub refused_after: Nanos,
}
