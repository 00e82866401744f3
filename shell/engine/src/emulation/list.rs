//! The list of hosts' control protocols.

use super::bgp::Speakers;
use super::dhcp::Clients;
use super::dhcp6::Clients6;
use super::groups::Members;
use super::isis::IsisRouters;
use super::lacp::LagPort;
use super::lldp::Agents;
use super::ospf::OspfRouters;
use super::pppoe::Subscribers;
use super::protocol::{Context, HostProtocol, Planned, Wanted};
use super::vrrp::Routers;
use profile::plan::PortPlan;

protocols! {
    dhcp: Clients,
    dhcp6: Clients6,
    pppoe: Subscribers,
    members: Members,
    lldp: Agents,
    lacp: LagPort,
    bgp: Speakers,
    ospf: OspfRouters,
    isis: IsisRouters,
    vrrp: Routers,
}
