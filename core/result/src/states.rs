//! Current state of the control protocols of a running trial's hosts.
//!
//! Not here: their counts since the start, which are part of the totals (`port`).

use crate::{IsisLevelCounts, LacpResult, LldpResult, OspfLsaCounts, VrrpRouterState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Control protocols of a running trial's hosts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolStates {
    /// Number of each kind, also of those that are not listed.
    #[serde(default)]
    pub counts: ProtocolCounts,
    /// BGP peers, by port and in the order of the profile.
    pub bgp: Vec<BgpPeerState>,
    /// OSPF routers, by port and in the order of the profile.
    #[serde(default)]
    pub ospf: Vec<OspfRouterState>,
    /// IS-IS routers, by port and in the order of the profile.
    #[serde(default)]
    pub isis: Vec<IsisRouterState>,
    /// DHCP clients, by port and number.
    pub dhcp: Vec<DhcpClientState>,
    /// DHCPv6 clients, by port and number.
    #[serde(default)]
    pub dhcpv6: Vec<Dhcpv6ClientState>,
    /// PPPoE clients, by port and number.
    #[serde(default)]
    pub pppoe: Vec<PppoeClientState>,
    /// LLDP agents, by port.
    #[serde(default)]
    pub lldp: Vec<LldpPortState>,
    /// Ports of lags.
    #[serde(default)]
    pub lacp: Vec<LacpPortState>,
    /// Multicast groups that hosts are members of, by port and address.
    #[serde(default)]
    pub groups: Vec<GroupState>,
    /// Virtual routers, by port and in the order of the profile.
    #[serde(default)]
    pub vrrp: Vec<VrrpRouterState>,
}

/// Number of each kind on all ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolCounts {
    /// BGP peers.
    pub bgp_peers: u64,
    /// BGP peers with an established session.
    pub bgp_established: u64,
    /// OSPF routers.
    #[serde(default)]
    pub ospf_routers: u64,
    /// OSPF routers with a full adjacency.
    #[serde(default)]
    pub ospf_full: u64,
    /// IS-IS routers.
    #[serde(default)]
    pub isis_routers: u64,
    /// IS-IS routers with an adjacency at each of their levels.
    #[serde(default)]
    pub isis_up: u64,
    /// DHCP clients.
    pub dhcp_clients: u64,
    /// DHCP clients with a lease.
    pub dhcp_leases: u64,
    /// DHCPv6 clients.
    #[serde(default)]
    pub dhcpv6_clients: u64,
    /// DHCPv6 clients with a lease.
    #[serde(default)]
    pub dhcpv6_leases: u64,
    /// PPPoE clients.
    #[serde(default)]
    pub pppoe_clients: u64,
    /// PPPoE clients with a session and an address.
    #[serde(default)]
    pub pppoe_sessions: u64,
    /// Ports with LLDP agents.
    pub lldp_ports: u64,
    /// LLDP neighbours that are known.
    pub lldp_neighbours: u64,
    /// Ports of lags.
    #[serde(default)]
    pub lacp_ports: u64,
    /// Ports of lags that distribute.
    #[serde(default)]
    pub lacp_distributing: u64,
    /// Multicast groups that are joined.
    pub groups: u64,
    /// Virtual routers.
    #[serde(default)]
    pub vrrp_routers: u64,
    /// Virtual routers that are Active.
    #[serde(default)]
    pub vrrp_active: u64,
}

/// LLDP agents of a port, and whom they know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LldpPortState {
    /// Name of the port in the profile.
    pub port: String,
    /// Whether a command has disabled them.
    pub is_down: bool,
    /// Counts of the agents and the currently known neighbours.
    pub agents: LldpResult,
}

/// A port of a lag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LacpPortState {
    /// Name of the port in the profile.
    pub port: String,
    /// Whether a command has disabled LACP on it.
    pub is_down: bool,
    /// Current LACP state.
    pub lacp: LacpResult,
}

/// A multicast group that the host of a port is a member of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupState {
    /// Name of the port in the profile.
    pub port: String,
    /// Address of the group.
    pub group: String,
    /// Filter mode: true excludes `sources`, false includes only those.
    pub exclude: bool,
    /// Sources.
    pub sources: Vec<String>,
    /// Time since it was joined, s.
    pub joined_for_s: f64,
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

/// A DHCP client behind a port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DhcpClientState {
    /// Name of the port in the profile.
    pub port: String,
    /// Number of the client, from 0.
    pub client: u32,
    /// MAC address: `02:00:00:00:00:01`.
    pub mac: String,
    /// Leased address; null without a lease. The other fields are null then, too.
    pub ip: Option<String>,
    /// Length of its network's prefix, bits.
    pub prefix_len: Option<u8>,
    /// Router (option 3).
    pub router: Option<String>,
    /// Server that granted the lease.
    pub server: Option<String>,
    /// Duration of the lease, s.
    pub lease_s: Option<u32>,
    /// Seconds of the lease until the client requests a renewal from its server (T1).
    pub renew_s: Option<u32>,
    /// Seconds of the lease until the client requests a rebind from any server (T2).
    pub rebind_s: Option<u32>,
    /// Time since the lease started or was extended, s.
    #[serde(default)]
    pub leased_for_s: Option<f64>,
    /// DISCOVER messages sent.
    pub discovers: u32,
    /// OFFER messages received.
    pub offers: u32,
    /// REQUEST messages sent.
    pub requests: u32,
    /// ACK messages received.
    pub acks: u32,
    /// NAK messages received.
    pub naks: u32,
    /// RELEASE messages sent.
    pub releases: u32,
}

/// A PPPoE client behind a port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PppoeClientState {
    /// Name of the port in the profile.
    pub port: String,
    /// Number of the client, from 0.
    pub client: u32,
    /// MAC address: `02:00:00:00:00:01`.
    pub mac: String,
    /// Phase: `waiting`, `discovery`, `link`, `authentication`, `network`, `up`, `terminating`, `pausing` before
    /// another attempt, or `down`.
    pub phase: String,
    /// Session identifier; null if the session is not up. The other fields are null then, too.
    pub session: Option<u16>,
    /// MAC address of the access concentrator.
    pub ac: Option<String>,
    /// Address.
    pub ip: Option<String>,
    /// Address of the access concentrator; null if not announced.
    pub peer: Option<String>,
    /// Addresses of name servers.
    pub dns: Vec<String>,
    /// IPv6 interface identifier, in hexadecimal digits; null if none was negotiated.
    pub interface: Option<String>,
    /// Longest IP packet that the access concentrator accepts, bytes.
    pub mru: Option<u16>,
    /// Time since the session came up, s.
    pub up_for_s: Option<f64>,
    /// Why the last attempt failed or the last session ended: `discovery`, `link`, `authentication`, `network`, `ended` by the access
    /// concentrator, or `silent`; null if none did.
    pub failure: Option<String>,
    /// Sessions that came up.
    pub sessions: u32,
    /// Attempts that failed.
    pub failed: u32,
    /// Sessions that ended without a request of the client.
    pub lost: u32,
}

/// A DHCPv6 client behind a port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dhcpv6ClientState {
    /// Name of the port in the profile.
    pub port: String,
    /// Number of the client, from 0.
    pub client: u32,
    /// MAC address: `02:00:00:00:00:01`.
    pub mac: String,
    /// Link-local address.
    pub link_local: String,
    /// Leased address; null without a lease, or if none was requested. The other fields are null without a lease, too.
    pub ip: Option<String>,
    /// Delegated prefix; null if none was requested.
    pub prefix: Option<String>,
    /// Prefix length, bits.
    pub prefix_len: Option<u8>,
    /// DUID of the server that granted the lease, in hexadecimal digits.
    pub server: Option<String>,
    /// Duration of the lease, s.
    pub valid_s: Option<u32>,
    /// Seconds of the lease until the client requests a renewal from its server (T1).
    pub renew_s: Option<u32>,
    /// Seconds of the lease until the client requests a rebind from any server (T2).
    pub rebind_s: Option<u32>,
    /// SOLICIT messages sent.
    pub solicits: u32,
    /// ADVERTISE messages received.
    pub advertises: u32,
    /// ADVERTISE messages without the requested addresses or prefixes.
    pub passed_over: u32,
    /// REQUEST messages sent.
    pub requests: u32,
    /// RENEW messages sent.
    pub renews: u32,
    /// REBIND messages sent.
    pub rebinds: u32,
    /// REPLY messages received.
    pub replies: u32,
    /// REPLY messages without the requested addresses or prefixes.
    pub refused: u32,
    /// RELEASE messages sent.
    pub releases: u32,
}
