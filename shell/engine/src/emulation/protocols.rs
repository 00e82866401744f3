//! Hosts' control protocols, a file each. The one list of them in this crate: to add a protocol, write its file, and here its `mod`
//! and a line.

mod bgp;
mod dhcp;
mod dhcp6;
mod groups;
mod isis;
mod lacp;
mod lldp;
mod ospf;
mod pppoe;
mod vrrp;

use super::protocol::{Context, HostProtocol, Planned, Wanted};
pub(super) use lacp::{LagPort, run_lags};
use profile::plan::PortPlan;

protocols! {
    dhcp: dhcp::Clients,
    dhcp6: dhcp6::Clients6,
    pppoe: pppoe::Subscribers,
    members: groups::Members,
    lldp: lldp::Agents,
    lacp: lacp::LagPort,
    bgp: bgp::Speakers,
    ospf: ospf::OspfRouters,
    isis: isis::IsisRouters,
    vrrp: vrrp::Routers,
}

impl Protocols {
    /// The port of a lag, which comes up before all others begin.
    pub(super) fn lag_port(&self) -> Option<&LagPort> {
        self.lacp.as_ref()
    }

    /// The same, to change it.
    pub(super) fn lag_port_mut(&mut self) -> Option<&mut LagPort> {
        self.lacp.as_mut()
    }
}
