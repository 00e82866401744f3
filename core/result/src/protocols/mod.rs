//! Control protocols of hosts, a file each: a protocol's part of a port's row, the states of its hosts while a trial runs, and its
//! sentence. The one list of them in this crate: to add a protocol, write its file, and here its `mod`, `pub use` and two lines.

#[macro_use]
mod routing;
#[macro_use]
mod states;
mod bgp;
mod dhcp;
mod isis;
mod lacp;
mod lldp;
mod multicast;
mod ospf;
mod pppoe;
mod vrrp;

pub use bgp::{AsPathPart, BgpPeerState, BgpResult, BgpRouteState, GracefulRestartState};
pub use dhcp::{DhcpClientState, DhcpResult, Dhcpv6ClientState, Dhcpv6Result};
pub use isis::{IsisLevelCounts, IsisLspState, IsisNeighbourState, IsisResult, IsisRouterState};
pub use lacp::{LacpEndResult, LacpPortState, LacpResult};
pub use lldp::{LldpNeighbourResult, LldpPortState, LldpResult, LldpTlvResult};
pub use multicast::{GroupState, MulticastResult};
pub use ospf::{OspfLsaCounts, OspfLsaState, OspfPacketCounts, OspfResult, OspfRouterState};
pub use pppoe::{PppoeClientState, PppoeResult};
pub use routing::RoutingCounts;
pub use vrrp::{VrrpChangeResult, VrrpResult, VrrpRouterResult, VrrpRouterState};

use states::HostState;

/// A protocol's part of a port's row.
pub(crate) trait HostsResult {
    /// A sentence without its end.
    fn sentence(&self) -> String;

    /// The routes that its hosts advertise, if it has routes.
    fn routing(&self) -> Option<RoutingCounts> {
        None
    }
}

/// Hands the protocols' parts of a port's row, in this order, on to the macro `$then`.
macro_rules! with_parts_of_protocols {
    ($then:ident! { $($input:tt)* }) => {
        $then! {
            [
                /// The port's DHCP clients. Absent if it has none.
                dhcp: $crate::DhcpResult;
                /// The port's DHCPv6 clients. Absent if it has none.
                dhcpv6: $crate::Dhcpv6Result;
                /// The port's PPPoE clients. Absent if it has none.
                pppoe: $crate::PppoeResult;
                /// The multicast groups of the port's host. Absent if it joins none.
                multicast: $crate::MulticastResult;
                /// LLDP agents of the port, and its neighbours. Absent if it has none.
                lldp: $crate::LldpResult;
                /// LACP state of the port. Absent if it belongs to no LAG.
                lacp: $crate::LacpResult;
                /// BGP sessions of the port's hosts. Absent if they have none.
                bgp: $crate::BgpResult;
                /// OSPF routers of the port. Absent if it has none.
                ospf: $crate::OspfResult;
                /// IS-IS routers of the port. Absent if it has none.
                isis: $crate::IsisResult;
                /// Virtual routers of the port. Absent if it has none.
                vrrp: $crate::VrrpResult;
            ]
            $($input)*
        }
    };
}

states! {
    /// BGP peers, by port and in the order of the profile.
    bgp: BgpPeerState {
        /// BGP peers.
        bgp_peers,
        /// BGP peers with an established session.
        bgp_established,
    }
    /// OSPF routers, by port and in the order of the profile.
    #[serde(default)]
    ospf: OspfRouterState {
        /// OSPF routers.
        #[serde(default)]
        ospf_routers,
        /// OSPF routers with a full adjacency.
        #[serde(default)]
        ospf_full,
    }
    /// IS-IS routers, by port and in the order of the profile.
    #[serde(default)]
    isis: IsisRouterState {
        /// IS-IS routers.
        #[serde(default)]
        isis_routers,
        /// IS-IS routers with an adjacency at each of their levels.
        #[serde(default)]
        isis_up,
    }
    /// DHCP clients, by port and number.
    dhcp: DhcpClientState {
        /// DHCP clients.
        dhcp_clients,
        /// DHCP clients with a lease.
        dhcp_leases,
    }
    /// DHCPv6 clients, by port and number.
    #[serde(default)]
    dhcpv6: Dhcpv6ClientState {
        /// DHCPv6 clients.
        #[serde(default)]
        dhcpv6_clients,
        /// DHCPv6 clients with a lease.
        #[serde(default)]
        dhcpv6_leases,
    }
    /// PPPoE clients, by port and number.
    #[serde(default)]
    pppoe: PppoeClientState {
        /// PPPoE clients.
        #[serde(default)]
        pppoe_clients,
        /// PPPoE clients with a session and an address.
        #[serde(default)]
        pppoe_sessions,
    }
    /// LLDP agents, by port.
    #[serde(default)]
    lldp: LldpPortState {
        /// Ports with LLDP agents.
        lldp_ports,
        /// LLDP neighbours that are known.
        lldp_neighbours,
    }
    /// Ports of lags.
    #[serde(default)]
    lacp: LacpPortState {
        /// Ports of lags.
        #[serde(default)]
        lacp_ports,
        /// Ports of lags that distribute.
        #[serde(default)]
        lacp_distributing,
    }
    /// Multicast groups that hosts are members of, by port and address.
    #[serde(default)]
    groups: GroupState {
        /// Multicast groups that are joined.
        groups,
    }
    /// Virtual routers, by port and in the order of the profile.
    #[serde(default)]
    vrrp: VrrpRouterState {
        /// Virtual routers.
        #[serde(default)]
        vrrp_routers,
        /// Virtual routers that are Active.
        #[serde(default)]
        vrrp_active,
    }
}

/// Hosts that commands are for, in words. A macro, because documentation is made of it, too.
#[macro_export]
macro_rules! hosts_in_words {
    (routing) => {
        "BGP, OSPF and IS-IS"
    };
    (sessions) => {
        "BGP sessions, OSPF and IS-IS adjacencies"
    };
    (any_routing) => {
        "BGP peers, OSPF or IS-IS routers"
    };
    (any_peer) => {
        "BGP peers, OSPF, IS-IS or virtual routers"
    };
    (clients) => {
        "DHCP or PPPoE clients"
    };
    (links) => {
        "LLDP agents or lag"
    };
    (restarting) => {
        "BGP peers"
    };
    (restarts) => {
        "BGP sessions without a NOTIFICATION"
    };
    (renewed) => {
        "the leases of DHCP clients; DHCP clients without an address and PPPoE clients without a session try to\nget one"
    };
    (released) => {
        "the leases of DHCP clients, ends the sessions of PPPoE clients"
    };
    (enabled) => {
        "LLDP agents, and LACP on LAG members,"
    };
    (disabled) => {
        "LLDP agents, which send a shutdown LLDPDU and forget their neighbours, and LACP on LAG members, which\nleave their LAGs"
    };
    (peers) => {
        "BGP peers, OSPF, IS-IS and virtual routers"
    };
}
