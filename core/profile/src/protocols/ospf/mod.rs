//! OSPF routers of a port.

pub(crate) mod document;
pub(crate) mod plan;
mod resolve;

use self::document::OspfDoc;
use self::plan::OspfPlan;
use super::{PartPlan, PortPart, Routing, Site};
use crate::frr::FrrDaemon;
use crate::resolve::Resolver;

impl PortPart for OspfDoc {
    type Plan = OspfPlan;

    const FRR: &'static [FrrDaemon] =
        &[("ospfd", &["router ospf", "ip ospf "]), ("ospf6d", &["router ospf6", "ipv6 ospf6 "])];

    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<OspfPlan> {
        Some(resolver.ospf(at.name, self, at.hosts, at.has_punt))
    }
}

impl PartPlan for OspfPlan {
    const ROUTES: bool = true;

    fn routing(&self) -> Option<&dyn Routing> {
        Some(self)
    }

    fn routing_mut(&mut self) -> Option<&mut dyn Routing> {
        Some(self)
    }
}
