//! What speakers count.

use histogram::Timing;

/// What the speakers of a port counted.
#[derive(Debug, Clone, Default)]
pub struct BgpCounts {
    /// Connections that were tried or accepted.
    pub connections: u64,
    /// Sessions established.
    pub established: u64,
    /// Sessions that ended after they were established, but by the shutdown at the end.
    pub flaps: u64,
    /// Time from a peer's first attempt to its first session, ns.
    pub set_up: Timing,
    /// OPEN messages sent and received.
    pub opens: (u64, u64),
    /// UPDATE messages sent and received.
    pub updates: (u64, u64),
    /// KEEPALIVE messages sent and received.
    pub keep_alives: (u64, u64),
    /// NOTIFICATION messages sent and received.
    pub notifications: (u64, u64),
    /// ROUTE-REFRESH messages received.
    pub refreshes: u64,
    /// Routes advertised.
    pub advertised: u64,
    /// Routes withdrawn.
    pub withdrawn: u64,
    /// IPv4 routes received.
    pub received_ipv4: u64,
    /// IPv6 routes received.
    pub received_ipv6: u64,
    /// Withdrawals received, of both families.
    pub received_withdrawn: u64,
    /// Marks received that say that all routes of a family have been sent (RFC 4724).
    pub ends_of_rib: u64,
}
