//! Counters of speakers.

use units::{Nanos, counters};

counters! {
    /// Counters of the sessions with a peer, or with all peers of a port.
    pub struct BgpCounts {
        /// Connections that were tried or accepted.
        pub connections: u64,
        /// Sessions established.
        pub established: u64,
        /// Sessions that ended after they were established, but by the shutdown at the end or by a command.
        pub flaps: u64,
        /// Sessions that a command has ended to let them restart.
        pub restarts: u64,
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
        /// When routes were first withdrawn while traffic ran, after it started.
        pub first_withdrawal: Option<Nanos>,
        /// When routes were first advertised while traffic ran, after it started.
        pub first_advertisement: Option<Nanos>,
        /// IPv4 routes received.
        pub received_ipv4: u64,
        /// IPv6 routes received.
        pub received_ipv6: u64,
        /// Withdrawals received, of both families.
        pub received_withdrawn: u64,
        /// End-of-RIB marks received (RFC 4724): IPv4, IPv6.
        pub ends_of_rib: (u64, u64),
    }
}
