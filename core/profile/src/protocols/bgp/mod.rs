//! BGP sessions of a port's hosts.

pub(crate) mod document;
pub(crate) mod plan;
mod resolve;

use self::document::BgpDoc;
use self::plan::BgpPlan;
use super::{PartPlan, PortPart, Routing, Site};
use crate::frr::FrrDaemon;
use crate::resolve::Resolver;

impl PortPart for BgpDoc {
    type Plan = BgpPlan;

    const FRR: &'static [FrrDaemon] = &[("bgpd", &["router bgp", "bgp "])];

    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<BgpPlan> {
        Some(resolver.bgp(at.name, self, at.hosts, at.has_punt))
    }
}

impl PartPlan for BgpPlan {
    const ROUTES: bool = true;

    fn routing(&self) -> Option<&dyn Routing> {
        Some(self)
    }

    fn routing_mut(&mut self) -> Option<&mut dyn Routing> {
        Some(self)
    }
}
