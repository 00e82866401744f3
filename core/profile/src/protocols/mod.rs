//! Control protocols of a port's hosts, a folder each: a protocol's key in the profile, its part of the plan, and how one becomes
//! the other. The one list of them in this crate: to add a protocol, write its folder, and here its `mod`, its `pub use` and a line.

mod bgp;
mod clients;
mod dhcp;
mod isis;
mod lacp;
mod lldp;
mod multicast;
mod ospf;
mod pppoe;
mod routing;
mod vrrp;

pub(crate) use clients::{CLIENTS_IN_WORDS, KEYS_IN_WORDS};
pub(crate) use pppoe::sessions::{open_in_sessions, send_in_sessions, send_to_sessions};
pub use routing::{Prefixes, Routing};

/// Types of documents.
pub(crate) mod documents {
    pub use super::bgp::document::*;
    pub use super::dhcp::document::*;
    pub use super::isis::document::*;
    pub use super::lacp::document::*;
    pub use super::lldp::document::*;
    pub use super::multicast::document::*;
    pub use super::ospf::document::*;
    pub use super::pppoe::document::*;
    pub use super::vrrp::document::*;
}

/// Types of plans.
pub(crate) mod plans {
    pub use super::bgp::plan::*;
    pub use super::clients::{ClientsBy, ClientsPlan};
    pub use super::dhcp::plan::*;
    pub use super::isis::plan::*;
    pub use super::lacp::plan::*;
    pub use super::lldp::plan::*;
    pub use super::multicast::plan::*;
    pub use super::ospf::plan::*;
    pub use super::pppoe::plan::*;
    pub use super::vrrp::plan::*;
}

use crate::document::quantity::Format;
use crate::frr::FrrDaemon;
use crate::plan::HostPlan;
use crate::resolve::Resolver;
use wire::Vlans;

/// Hands the protocols, in the order of a port's keys, on to the macro `$then`: key, document and plan of each.
macro_rules! with_protocols {
    ($then:ident! { $($input:tt)* }) => {
        $then! {
            [
                /// DHCP clients behind the port, besides its hosts.
                dhcp: DhcpDoc => DhcpPlan;
                /// DHCPv6 clients behind the port, besides its hosts. Those of 'dhcp' with the same MAC address are the same hosts.
                dhcpv6: Dhcpv6Doc => Dhcp6Plan;
                /// PPPoE clients behind the port, besides its hosts.
                pppoe: PppoeDoc => PppoePlan;
                /// Multicast groups that the port's first host joins.
                multicast: MulticastDoc => MulticastPlan;
                /// Data that the port's hosts advertise by LLDP, and whether neighbours are listed. '{}' is an agent with all
                /// defaults.
                lldp: LldpDoc => LldpPlan;
                /// LAG that the port joins by LACP. '{}' is the LAG 'lag', with all defaults.
                lacp: LacpDoc => LacpPlan;
                /// BGP sessions of the port's hosts with the device, and the routes they advertise.
                bgp: BgpDoc => BgpPlan;
                /// OSPF routers among the port's hosts, with adjacencies to the device, and the routes they advertise.
                ospf: OspfDoc => OspfPlan;
                /// IS-IS routers among the port's hosts, with adjacencies to the device, and the routes they advertise.
                isis: IsisDoc => IsisPlan;
                /// Virtual routers among the port's hosts, which elect an Active router with the device's by VRRP.
                vrrp: VrrpDoc => VrrpPlan;
            ]
            $($input)*
        }
    };
}
pub(crate) use with_protocols;

/// Texts in documents of protocols.
pub(crate) const FORMATS: [&[Format]; 3] =
    [bgp::document::FORMATS, ospf::document::FORMATS, isis::document::FORMATS];

/// Bytes of the longest file that a protocol reads.
pub(crate) const FILE_MAX: u64 = ::bgp::TABLE_FILE_MAX as u64;

/// A port whose protocols are resolved.
pub(crate) struct Site<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    pub(crate) hosts: &'a [HostPlan],
    /// Whether the control plane of its hosts is in a namespace.
    pub(crate) has_punt: bool,
}

impl Site<'_> {
    /// VLANs of its first host.
    pub(crate) fn vlans(&self) -> &Vlans {
        &self.hosts[0].vlans
    }
}

/// The document of a protocol at a port.
pub(crate) trait PortPart {
    /// Its part of the port's plan.
    type Plan: PartPlan;

    /// FRRouting's daemons that run it in a namespace.
    const FRR: &'static [FrrDaemon] = &[];

    /// Resolves it.
    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<Self::Plan>;
}

/// The plan of a protocol at a port.
pub(crate) trait PartPlan {
    /// Whether its hosts advertise routes.
    const ROUTES: bool = false;

    /// Their routes.
    fn routing(&self) -> Option<&dyn Routing> {
        None
    }

    /// The same, to change them.
    fn routing_mut(&mut self) -> Option<&mut dyn Routing> {
        None
    }
}
