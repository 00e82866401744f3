//! Current state of the control protocols of a running trial's hosts. Each has a file with its state and its result.

use crate::{
    BgpPeerState, DhcpClientState, Dhcpv6ClientState, GroupState, IsisRouterState, LacpPortState,
    LldpPortState, OspfRouterState, PppoeClientState, VrrpRouterState,
};
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
