//! LLDP agents of a port.

pub(crate) mod document;
pub(crate) mod plan;
mod resolve;

use self::document::LldpDoc;
use self::plan::LldpPlan;
use super::{PartPlan, PortPart, Site};
use crate::resolve::Resolver;

impl PortPart for LldpDoc {
    type Plan = LldpPlan;

    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<LldpPlan> {
        Some(resolver.lldp(at.name, self, at.hosts))
    }
}

impl PartPlan for LldpPlan {}
