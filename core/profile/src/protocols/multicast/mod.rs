//! Multicast groups of a port's host.

pub(crate) mod document;
pub(crate) mod plan;
mod resolve;

use self::document::MulticastDoc;
use self::plan::MulticastPlan;
use super::{PartPlan, PortPart, Site};
use crate::resolve::Resolver;

impl PortPart for MulticastDoc {
    type Plan = MulticastPlan;

    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<MulticastPlan> {
        Some(resolver.multicast(at.name, self))
    }
}

impl PartPlan for MulticastPlan {}
