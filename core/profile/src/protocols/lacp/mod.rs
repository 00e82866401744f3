//! Ports of LAGs.

pub(crate) mod document;
pub(crate) mod plan;
mod resolve;

use self::document::LacpDoc;
use self::plan::LacpPlan;
use super::{PartPlan, PortPart, Site};
use crate::resolve::Resolver;

impl PortPart for LacpDoc {
    type Plan = LacpPlan;

    /// Ports of a lag are known once all ports are: see [`Resolver::lags`].
    fn resolve(&self, _: &mut Resolver<'_>, _: &Site<'_>) -> Option<LacpPlan> {
        None
    }
}

impl PartPlan for LacpPlan {}
