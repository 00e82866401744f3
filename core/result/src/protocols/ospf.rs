//! OSPF routers of a port: their result, and their states while a trial runs.

use super::{HostState, HostsResult, RoutingCounts};
use crate::LatencyResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::count;

part! {
    /// OSPF routers of a port, from before traffic until their end.
    pub struct OspfResult {
        /// Routers.
        routers: u64 = COUNT.gauge("ospf_routers");
        /// Routers whose adjacency was full when traffic started.
        full: u64 = COUNT;
        /// Routers without a full adjacency when traffic started.
        failed: u64 = COUNT;
        /// Routers whose adjacency is full now; in a result, when traffic had ended.
        full_at_end: u64 = COUNT.gauge("ospf_adjacencies");
        /// Full adjacencies that ended unexpectedly.
        flaps: u64 = COUNT.counter("ospf_flaps");
        /// Time from each router's first Hello packet to its first full adjacency.
        #[serde(skip_serializing_if = "Option::is_none")]
        full_ns: Option<LatencyResult> = PART;
        /// Time from the first Hello packet until all adjacencies were full on both sides and all routes acknowledged.
        /// Absent if this was not reached before traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        announced_after_s: Option<f64> = SECONDS;
        /// Routes advertised; repeated advertisements count again.
        advertised: u64 = COUNT.counter("ospf_advertised_routes");
        /// Routes withdrawn.
        withdrawn: u64 = COUNT.counter("ospf_withdrawn_routes");
        /// When the first routes were withdrawn while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_withdrawal_ns: Option<u64> = NANOS;
        /// When the first routes were advertised while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_advertisement_ns: Option<u64> = NANOS;
        /// LSAs sent, by type; retransmissions count again.
        lsas_sent: OspfLsaCounts = PART;
        /// LSAs received, by type; repetitions count again.
        lsas_received: OspfLsaCounts = PART;
        /// LSAs of the device in the routers' databases now, by type.
        database: OspfLsaCounts = PART;
        /// LSAs of the device that exceeded the capacity of the routers' databases, 1,000,000 in all.
        left_out: u64 = COUNT.counter("ospf_left_out_lsas");
        /// Flushed LSAs received (age MaxAge).
        received_flushed: u64 = COUNT;
        /// LSAs retransmitted because they were not acknowledged in time.
        retransmitted: u64 = COUNT.counter("ospf_retransmitted_lsas");
        /// LSAs refreshed because of their age.
        refreshed: u64 = COUNT;
        /// Own LSAs received in a newer instance than the router's, such as from an earlier run: originated again, or
        /// flushed.
        outdated: u64 = COUNT;
        /// Hello packets sent.
        hellos_sent: u64 = COUNT;
        /// Hello packets received and accepted.
        hellos_received: u64 = COUNT;
        /// Database Description packets sent.
        descriptions_sent: u64 = COUNT;
        /// Database Description packets received.
        descriptions_received: u64 = COUNT;
        /// Link State Request packets sent.
        requests_sent: u64 = COUNT;
        /// Link State Request packets received.
        requests_received: u64 = COUNT;
        /// Link State Update packets sent.
        updates_sent: u64 = COUNT.counter("ospf_updates_sent");
        /// Link State Update packets received.
        updates_received: u64 = COUNT.counter("ospf_updates_received");
        /// Link State Acknowledgment packets sent.
        acknowledgments_sent: u64 = COUNT;
        /// Link State Acknowledgment packets received.
        acknowledgments_received: u64 = COUNT;
        /// Packets refused because their sender is no neighbour: another area or instance, other intervals, another mask or other authentication.
        mismatched: u64 = COUNT.counter("ospf_mismatched_packets");
        /// Packets that could not be read, and LSAs with a wrong checksum.
        malformed: u64 = COUNT.counter("ospf_malformed_packets");
        /// Commands carried out: routes advertised or withdrawn, routers taken up or down.
        commands: u64 = COUNT;
    }
}

part! {
    /// LSAs by type.
    #[derive(Copy)]
    pub struct OspfLsaCounts {
        /// Of routers (type 1; 0x2001 of OSPFv3).
        router: u64 = COUNT;
        /// Of networks (type 2; 0x2002 of OSPFv3).
        network: u64 = COUNT;
        /// Summaries of networks and border routers (types 3 and 4).
        summary: u64 = COUNT;
        /// AS-external LSAs (type 5; 0x4005 of OSPFv3).
        external: u64 = COUNT;
        /// NSSA LSAs (type 7; 0x2007 of OSPFv3).
        nssa: u64 = COUNT;
        /// Link-local opaque LSAs (type 9).
        opaque_link: u64 = COUNT;
        /// Area-local opaque LSAs (type 10).
        opaque_area: u64 = COUNT;
        /// AS-wide opaque LSAs (type 11).
        opaque_domain: u64 = COUNT;
        /// Inter-area-prefix LSAs (OSPFv3, type 0x2003).
        #[serde(default)]
        inter_area_prefix: u64 = COUNT;
        /// Inter-area-router LSAs (OSPFv3, type 0x2004).
        #[serde(default)]
        inter_area_router: u64 = COUNT;
        /// Link LSAs (OSPFv3, type 0x0008).
        #[serde(default)]
        link: u64 = COUNT;
        /// Intra-area-prefix LSAs (OSPFv3, type 0x2009).
        #[serde(default)]
        intra_area_prefix: u64 = COUNT;
        /// OSPFv3 LSAs of other types.
        #[serde(default)]
        other: u64 = COUNT;
    }
}

/// An OSPF router behind a port, and its neighbour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OspfRouterState {
    /// Name of the port in the profile.
    pub port: String,
    /// Name of the host that is the router.
    pub host: String,
    /// Name of the router in the profile; empty if it has none.
    pub name: String,
    /// Version of OSPF: 2 or 3.
    #[serde(default)]
    pub version: u8,
    /// Router ID.
    pub router_id: String,
    /// Area of its link.
    pub area: String,
    /// Instance of OSPFv3 on its link; 0 with version 2.
    #[serde(default)]
    pub instance: u8,
    /// Address of the host.
    pub local: String,
    /// Network type of its link: `broadcast` or `point_to_point`.
    pub network: String,
    /// Neighbour state: `down`, `init`, `two_way`, `ex_start`, `exchange`, `loading` or `full` (RFC 2328 section 10.1).
    /// With several neighbours, the designated router's.
    pub state: String,
    /// Identifier of the neighbour; null if none was detected.
    pub neighbour_id: Option<String>,
    /// Address of the neighbour; null if none was detected.
    pub neighbour: Option<String>,
    /// Address of the designated router, its identifier with version 3; null if there is none.
    pub designated: Option<String>,
    /// Address of the backup designated router, its identifier with version 3; null if there is none.
    pub backup: Option<String>,
    /// Time since the adjacency became full, s; null if it is not.
    pub full_for_s: Option<f64>,
    /// Whether the adjacency is full, and the neighbour's LSAs list it too.
    pub is_mutual: bool,
    /// Whether a command has taken the router down.
    pub is_down: bool,
    /// Why there is no full adjacency; null if there is one, or the router is down.
    pub reason: Option<String>,
    /// Full adjacencies that ended unexpectedly.
    pub flaps: u64,
    /// Routes advertised; repeated advertisements count again.
    pub advertised: u64,
    /// Routes withdrawn.
    pub withdrawn: u64,
    /// Router LSAs originated: its own, and those for the routers generated behind it.
    pub originated_routers: u64,
    /// Packets sent, by type.
    pub packets_sent: OspfPacketCounts,
    /// Packets received and accepted, by type.
    pub packets_received: OspfPacketCounts,
    /// LSAs sent, by type; retransmissions count again.
    pub lsas_sent: OspfLsaCounts,
    /// LSAs received, by type; repetitions count again.
    pub lsas_received: OspfLsaCounts,
    /// LSAs retransmitted because they were not acknowledged in time.
    pub retransmitted: u64,
    /// LSAs of neighbours in its database, by type.
    pub database: OspfLsaCounts,
    /// Number of stored LSAs, at most `keep` of the profile.
    pub kept: u64,
    /// LSAs that exceeded the capacity of its database.
    pub left_out: u64,
    /// Stored LSAs by type, identifier and router, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lsas: Vec<OspfLsaState>,
}

/// OSPF packets, by type (RFC 2328 appendix A.3, RFC 5340 appendix A.3).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OspfPacketCounts {
    /// Hello packets.
    pub hellos: u64,
    /// Database Description packets.
    pub descriptions: u64,
    /// Link State Request packets.
    pub requests: u64,
    /// Link State Update packets.
    pub updates: u64,
    /// Link State Acknowledgment packets.
    pub acknowledgments: u64,
    /// LSAs that these packets acknowledge.
    pub acknowledged_lsas: u64,
}

/// An LSA that a neighbour sent (RFC 2328 appendix A.4, RFC 5340 appendix A.4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OspfLsaState {
    /// Type; with version 3 as on the wire, such as 0x2001, but decimal.
    pub kind: u16,
    /// Link state identifier.
    pub id: String,
    /// Identifier of the router that originated it.
    pub router_id: String,
    /// Options (RFC 2328 appendix A.2); 0 with version 3, whose headers have none.
    pub options: u8,
    /// Sequence number, as on the wire.
    pub sequence: u32,
    /// Age, s.
    pub age_s: u64,
    /// Body after the header, in hexadecimal digits.
    pub body: String,
}

impl HostsResult for OspfResult {
    fn routing(&self) -> Option<RoutingCounts> {
        Some(routing_counts!(self))
    }

    fn sentence(&self) -> String {
        let (full, all) = (count(self.full), count(self.routers));
        format!(
            "{full} of {all} OSPF routers with a full adjacency{}",
            routing_counts!(self).of_routers(self.withdrawn)
        )
    }
}

impl HostState for OspfRouterState {
    /// Once it has left.
    fn end(&mut self) {
        self.state = "down".to_owned();
        self.lsas.clear();
    }
}
