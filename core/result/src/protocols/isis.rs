//! IS-IS routers of a port: their result, and their states while a trial runs.

use super::{HostState, HostsResult, RoutingCounts};
use crate::LatencyResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::count;

part! {
    /// IS-IS routers of a port, from before traffic until their end.
    pub struct IsisResult {
        /// Routers.
        routers: u64 = COUNT.gauge("isis_routers");
        /// Routers with an adjacency at each of their levels when traffic started.
        up: u64 = COUNT;
        /// Routers without all adjacencies when traffic started.
        failed: u64 = COUNT;
        /// Routers with an adjacency at each of their levels now; in a result, when traffic had ended.
        up_at_end: u64 = COUNT.gauge("isis_adjacencies");
        /// Adjacencies lost unexpectedly.
        flaps: u64 = COUNT.counter("isis_flaps");
        /// Time from each router's first hello until it first had an adjacency at each of its levels.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_ns: Option<LatencyResult> = PART;
        /// Time from the first hello until all adjacencies were up on both sides and the device had all LSPs. Absent if
        /// this was not reached before traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        announced_after_s: Option<f64> = SECONDS;
        /// Routes advertised; repeated advertisements count again, routes at both levels count once.
        advertised: u64 = COUNT.counter("isis_advertised_routes");
        /// Routes withdrawn.
        withdrawn: u64 = COUNT.counter("isis_withdrawn_routes");
        /// When the first routes were withdrawn while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_withdrawal_ns: Option<u64> = NANOS;
        /// When the first routes were advertised while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_advertisement_ns: Option<u64> = NANOS;
        /// LSPs sent, by level; retransmissions count again.
        lsps_sent: IsisLevelCounts = PART;
        /// LSPs received, by level; repetitions count again.
        lsps_received: IsisLevelCounts = PART;
        /// LSPs of the device in the routers' databases now, by level.
        database: IsisLevelCounts = PART;
        /// LSPs of the device that exceeded the capacity of the routers' databases, 1,000,000 per level in all.
        left_out: u64 = COUNT.counter("isis_left_out_lsps");
        /// Purged LSPs received (remaining lifetime 0).
        received_purged: u64 = COUNT;
        /// LSPs retransmitted because the device did not acknowledge them in time.
        retransmitted: u64 = COUNT.counter("isis_retransmitted_lsps");
        /// LSPs refreshed because of their age, every 15 minutes.
        refreshed: u64 = COUNT;
        /// Own LSPs received in a newer instance than the router's, such as from an earlier run: originated again, or
        /// purged.
        outdated: u64 = COUNT;
        /// Hellos sent.
        hellos_sent: u64 = COUNT;
        /// Hellos received and accepted.
        hellos_received: u64 = COUNT;
        /// Complete sequence numbers PDUs sent.
        csnps_sent: u64 = COUNT;
        /// Complete sequence numbers PDUs received.
        csnps_received: u64 = COUNT;
        /// Partial sequence numbers PDUs sent.
        psnps_sent: u64 = COUNT;
        /// Partial sequence numbers PDUs received.
        psnps_received: u64 = COUNT;
        /// PDUs rejected because of a mismatch with their sender: area, level, network type or authentication.
        mismatched: u64 = COUNT.counter("isis_mismatched_pdus");
        /// PDUs that could not be read, and LSPs with a wrong checksum.
        malformed: u64 = COUNT.counter("isis_malformed_pdus");
        /// Commands carried out: routes advertised or withdrawn, routers taken up or down.
        commands: u64 = COUNT;
    }
}

part! {
    /// Counts by IS-IS level.
    #[derive(Copy)]
    pub struct IsisLevelCounts {
        /// Level 1.
        level_1: u64 = COUNT;
        /// Level 2.
        level_2: u64 = COUNT;
    }
}

/// An IS-IS router behind a port, and its neighbour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IsisRouterState {
    /// Name of the port in the profile.
    pub port: String,
    /// Name of the host that is the router.
    pub host: String,
    /// Name of the router in the profile; empty if it has none.
    pub name: String,
    /// System identifier.
    pub system_id: String,
    /// Area.
    pub area: String,
    /// Levels: `1`, `2` or `1-2`.
    pub level: String,
    /// Address of the host.
    pub local: String,
    /// Network type of its link: `broadcast` or `point_to_point`.
    pub network: String,
    /// Adjacency state: `down`, `initializing` or `up`. With several neighbours, the designated system's.
    pub state: String,
    /// System identifier of the neighbour; null if none was detected.
    pub neighbour_id: Option<String>,
    /// Address of the neighbour; null if no neighbour was detected, or it advertises none.
    pub neighbour: Option<String>,
    /// The designated system's circuit; null if there is none.
    pub designated: Option<String>,
    /// All detected neighbours; a neighbour of both levels on a LAN is listed twice.
    pub neighbours: Vec<IsisNeighbourState>,
    /// Adjacencies by level.
    pub adjacencies: IsisLevelCounts,
    /// Holding time: the device drops the adjacency if it receives no hello for this long, s.
    pub hold_s: u64,
    /// Time since the adjacency came up, s; null if the router lacks one.
    pub up_for_s: Option<f64>,
    /// Whether there is an adjacency at each level, and the neighbour's LSPs name the router.
    pub is_mutual: bool,
    /// Whether a command has taken the router down.
    pub is_down: bool,
    /// Why an adjacency is missing; null if none is, or the router is down.
    pub reason: Option<String>,
    /// Adjacencies lost unexpectedly.
    pub flaps: u64,
    /// Adjacencies lost unexpectedly, by level.
    pub flaps_by_level: IsisLevelCounts,
    /// Hellos sent, by level; hellos on a point-to-point link count at each of the router's levels.
    pub hellos_sent: IsisLevelCounts,
    /// Hellos received, by level; hellos on a point-to-point link count at each common level.
    pub hellos_received: IsisLevelCounts,
    /// Complete sequence numbers PDUs sent, by level.
    pub csnps_sent: IsisLevelCounts,
    /// Complete sequence numbers PDUs received, by level.
    pub csnps_received: IsisLevelCounts,
    /// Partial sequence numbers PDUs sent, by level.
    pub psnps_sent: IsisLevelCounts,
    /// Partial sequence numbers PDUs received, by level.
    pub psnps_received: IsisLevelCounts,
    /// Routes advertised; repeated advertisements count again.
    pub advertised: u64,
    /// Routes withdrawn.
    pub withdrawn: u64,
    /// LSPs originated: its own, and those for the routers generated behind it.
    pub originated: u64,
    /// LSPs sent, by level; retransmissions count again.
    pub lsps_sent: IsisLevelCounts,
    /// LSPs received, by level; repetitions count again.
    pub lsps_received: IsisLevelCounts,
    /// LSPs retransmitted because the device did not acknowledge them in time.
    pub retransmitted: u64,
    /// LSPs of neighbours in its databases, by level.
    pub database: IsisLevelCounts,
    /// Number of stored LSPs, at most `keep` of the profile per level.
    pub kept: u64,
    /// LSPs that exceeded the capacity of its databases.
    pub left_out: u64,
    /// Stored LSPs by level and identifier, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lsps: Vec<IsisLspState>,
}

/// A neighbour of an IS-IS router.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IsisNeighbourState {
    /// System identifier.
    pub system_id: String,
    /// IP address; null if it advertises none.
    pub ip: Option<String>,
    /// Common levels: `1`, `2` or `1-2`.
    pub level: String,
    /// Adjacency state: `down`, `initializing` or `up`.
    pub state: String,
    /// Priority on a LAN.
    pub priority: u64,
    /// Remaining holding time, s.
    pub hold_s: u64,
}

/// An LSP that a neighbour sent (ISO/IEC 10589 section 9.8).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IsisLspState {
    /// Level.
    pub level: u8,
    /// Identifier: the system, its pseudonode, the fragment.
    pub id: String,
    /// Sequence number.
    pub sequence: u32,
    /// Remaining lifetime, s.
    pub lifetime_s: u64,
    /// Its flags: levels (1 and 2), overload (4), attached (8 by the default metric), partition repair (128).
    pub flags: u8,
    /// Its TLVs, in hexadecimal digits.
    pub body: String,
}

impl HostsResult for IsisResult {
    fn routing(&self) -> Option<RoutingCounts> {
        Some(routing_counts!(self))
    }

    fn sentence(&self) -> String {
        let (up, all) = (count(self.up), count(self.routers));
        format!(
            "{up} of {all} IS-IS routers with their adjacencies{}",
            routing_counts!(self).of_routers(self.withdrawn)
        )
    }
}

impl HostState for IsisRouterState {
    /// Once it has left.
    fn end(&mut self) {
        self.state = "down".to_owned();
        self.adjacencies = IsisLevelCounts::default();
        self.neighbours.clear();
        self.lsps.clear();
    }
}
