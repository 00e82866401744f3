//! BGP peers of a port: their result, and their states while a trial runs.

use super::{HostState, HostsResult, RoutingCounts};
use crate::LatencyResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use units::count;

part! {
    /// BGP sessions of a port's hosts, from before traffic until their end.
    pub struct BgpResult {
        /// Peers.
        peers: u64 = COUNT.gauge("bgp_peers");
        /// Sessions that were established when traffic started.
        established: u64 = COUNT;
        /// Peers without an established session when traffic started.
        failed: u64 = COUNT;
        /// Sessions that are established now; in a result, when traffic had ended.
        established_at_end: u64 = COUNT.gauge("bgp_sessions");
        /// Sessions that ended unexpectedly.
        flaps: u64 = COUNT.counter("bgp_flaps");
        /// Sessions restarted by a command.
        #[serde(default)]
        restarts: u64 = COUNT;
        /// Peers that announced graceful restart (RFC 4724) in their latest session.
        #[serde(default)]
        graceful_restart_peers: u64 = COUNT;
        /// Sessions in which a prefix can have several paths, one way or both (RFC 7911); in a result, when traffic had ended.
        #[serde(default)]
        add_path_sessions: u64 = COUNT;
        /// Time from the first attempt to the first session of each peer.
        #[serde(skip_serializing_if = "Option::is_none")]
        setup_ns: Option<LatencyResult> = PART;
        /// Time from the first connection until all sessions were established and all routes acknowledged. Absent if
        /// this was not reached before traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        announced_after_s: Option<f64> = SECONDS;
        /// Connections opened, and accepted.
        connections: u64 = COUNT;
        /// Routes advertised; repeated advertisements count again.
        advertised: u64 = COUNT.counter("bgp_advertised_routes");
        /// Routes withdrawn.
        withdrawn: u64 = COUNT.counter("bgp_withdrawn_routes");
        /// When the first routes were withdrawn while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_withdrawal_ns: Option<u64> = NANOS;
        /// When the first routes were advertised while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_advertisement_ns: Option<u64> = NANOS;
        /// IPv4 routes received.
        received_ipv4: u64 = COUNT.counter("bgp_received_ipv4_routes");
        /// IPv6 routes received.
        received_ipv6: u64 = COUNT.counter("bgp_received_ipv6_routes");
        /// Withdrawals received.
        received_withdrawn: u64 = COUNT.counter("bgp_received_withdrawals");
        /// End-of-RIB marks received for IPv4: all its routes have been sent (RFC 4724).
        received_end_of_rib_ipv4: u64 = COUNT;
        /// End-of-RIB marks received for IPv6.
        received_end_of_rib_ipv6: u64 = COUNT;
        /// OPEN messages sent.
        opens_sent: u64 = COUNT;
        /// OPEN messages received.
        opens_received: u64 = COUNT;
        /// UPDATE messages sent.
        updates_sent: u64 = COUNT.counter("bgp_updates_sent");
        /// UPDATE messages received.
        updates_received: u64 = COUNT.counter("bgp_updates_received");
        /// KEEPALIVE messages sent.
        keepalives_sent: u64 = COUNT;
        /// KEEPALIVE messages received.
        keepalives_received: u64 = COUNT;
        /// NOTIFICATION messages sent.
        notifications_sent: u64 = COUNT.counter("bgp_notifications_sent");
        /// NOTIFICATION messages received.
        notifications_received: u64 = COUNT.counter("bgp_notifications_received");
        /// ROUTE-REFRESH messages received.
        refreshes_received: u64 = COUNT;
        /// Commands carried out: routes advertised or withdrawn, peers taken up or down or restarted.
        #[serde(default)]
        commands: u64 = COUNT;
    }
}

/// Graceful restart capability of a BGP peer (RFC 4724).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GracefulRestartState {
    /// Whether the peer announced that it has restarted.
    pub restarted: bool,
    /// Restart time: longest time until the peer is back, s.
    pub time_s: u32,
    /// Whether it also retains routes when a session ends with a NOTIFICATION (RFC 8538).
    #[serde(default)]
    pub notification: bool,
    /// Address families whose routes are retained while it restarts: `ipv4`, `ipv6`.
    pub families: Vec<String>,
    /// Of these, address families whose forwarding state it preserves.
    pub forwarding: Vec<String>,
}

/// A BGP peer of a speaker behind a port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BgpPeerState {
    /// Name of the port in the profile.
    pub port: String,
    /// Name of the BGP speaker's host behind the port.
    pub host: String,
    /// Name of the peer in the profile; empty if it has none.
    pub name: String,
    /// Address of the host.
    pub local: String,
    /// Address of the peer.
    pub remote: String,
    /// AS number of the host.
    pub local_as: u32,
    /// AS number of the peer; 0 while it is not known.
    pub remote_as: u32,
    /// `idle`, `connect`, `open_sent`, `open_confirm` or `established` (RFC 4271 section 8.2.2).
    pub state: String,
    /// Time since the session was established, s; null if there is none.
    #[serde(default)]
    pub established_for_s: Option<f64>,
    /// Whether a command has taken the session down.
    pub is_down: bool,
    /// Why there is no session; null if there is one, or nothing has gone wrong so far.
    pub reason: Option<String>,
    /// Sessions that ended unexpectedly.
    pub flaps: u64,
    /// Sessions restarted by a command.
    #[serde(default)]
    pub restarts: u64,
    /// Graceful restart capability of the peer in its latest session (RFC 4724); null if not announced.
    #[serde(default)]
    pub graceful_restart: Option<GracefulRestartState>,
    /// Whether a prefix can have several paths (RFC 7911): `send` to the peer, `receive` from it, `both`; null if not.
    #[serde(default)]
    pub add_path: Option<String>,
    /// Routes advertised; repeated advertisements count again.
    pub advertised: u64,
    /// Routes withdrawn.
    pub withdrawn: u64,
    /// Routes received.
    pub received: u64,
    /// Withdrawals received.
    pub received_withdrawn: u64,
    /// End-of-RIB marks received for IPv4: all its routes have been sent (RFC 4724).
    pub received_end_of_rib_ipv4: u64,
    /// End-of-RIB marks received for IPv6.
    pub received_end_of_rib_ipv6: u64,
    /// OPEN messages sent.
    pub opens_sent: u64,
    /// OPEN messages received.
    pub opens_received: u64,
    /// UPDATE messages sent.
    pub updates_sent: u64,
    /// UPDATE messages received.
    pub updates_received: u64,
    /// KEEPALIVE messages sent.
    pub keepalives_sent: u64,
    /// KEEPALIVE messages received.
    pub keepalives_received: u64,
    /// NOTIFICATION messages sent.
    pub notifications_sent: u64,
    /// NOTIFICATION messages received.
    pub notifications_received: u64,
    /// Number of stored routes of the peer: advertised and not withdrawn, at most `keep` of the profile.
    pub kept: u64,
    /// Advertised routes that exceeded this limit.
    pub left_out: u64,
    /// Stored routes by prefix, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<BgpRouteState>,
}

/// A route that a peer advertises.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BgpRouteState {
    /// Address of the prefix.
    pub address: String,
    /// Prefix length, bits.
    pub prefix_len: u8,
    /// Path identifier, where a prefix can have several paths (RFC 7911).
    #[serde(default)]
    pub path_id: Option<u32>,
    /// Next hop.
    pub next_hop: Option<String>,
    /// `igp`, `egp` or `incomplete`.
    pub origin: Option<String>,
    /// AS path.
    pub as_path: Vec<AsPathPart>,
    /// Communities (RFC 1997), as numbers of 32 bits.
    pub communities: Vec<u32>,
    /// Multi-exit discriminator.
    pub med: Option<u32>,
    /// Local preference.
    pub local_pref: Option<u32>,
}

/// A part of an AS path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AsPathPart {
    /// `set`, `sequence`, `confederation_sequence` or `confederation_set` (RFC 4271 section 4.3, RFC 5065 section 3).
    pub kind: String,
    /// AS numbers, the nearest first.
    pub numbers: Vec<u32>,
}

impl HostsResult for BgpResult {
    fn routing(&self) -> Option<RoutingCounts> {
        Some(routing_counts!(self))
    }

    fn sentence(&self) -> String {
        let mut text = format!("{} of {} BGP sessions", count(self.established), count(self.peers));
        let (advertised, withdrawn) = (count(self.advertised), count(self.withdrawn));
        let received = count(self.received_ipv4 + self.received_ipv6);
        let _ = write!(text, ", {advertised} routes advertised, {withdrawn} withdrawn, {received} received");
        if let Some(after) = self.announced_after_s {
            let _ = write!(text, "; all known to the peers after {after:.3} s");
        }
        let _ = write!(text, "; {} sessions lost", count(self.flaps));
        text
    }
}

impl HostState for BgpPeerState {
    /// Once it has left.
    fn end(&mut self) {
        self.state = "idle".to_owned();
        self.routes.clear();
    }
}
