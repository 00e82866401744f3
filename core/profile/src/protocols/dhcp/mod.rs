//! DHCP and DHCPv6 clients of a port.

pub(crate) mod document;
pub(crate) mod plan;
mod resolve;

use self::document::{DhcpDoc, Dhcpv6Doc};
use self::plan::{Dhcp6Plan, DhcpPlan};
use super::{PortPart, Site};
use crate::resolve::Resolver;

impl PortPart for DhcpDoc {
    type Plan = DhcpPlan;

    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<DhcpPlan> {
        Some(resolver.dhcp(at.name, self, at.vlans()))
    }
}

impl PortPart for Dhcpv6Doc {
    type Plan = Dhcp6Plan;

    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<Dhcp6Plan> {
        Some(resolver.dhcpv6(at.name, self, at.vlans()))
    }
}
