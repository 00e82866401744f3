//! IS-IS routers of a port.

pub(crate) mod document;
pub(crate) mod plan;
mod resolve;

use self::document::IsisDoc;
use self::plan::IsisPlan;
use super::{PartPlan, PortPart, Routing, Site};
use crate::frr::FrrDaemon;
use crate::resolve::Resolver;

impl PortPart for IsisDoc {
    type Plan = IsisPlan;

    const FRR: &'static [FrrDaemon] = &[("isisd", &["router isis", "ip router isis"])];

    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<IsisPlan> {
        Some(resolver.isis(at.name, self, at.hosts, at.has_punt))
    }
}

impl PartPlan for IsisPlan {
    const ROUTES: bool = true;

    fn routing(&self) -> Option<&dyn Routing> {
        Some(self)
    }

    fn routing_mut(&mut self) -> Option<&mut dyn Routing> {
        Some(self)
    }
}
