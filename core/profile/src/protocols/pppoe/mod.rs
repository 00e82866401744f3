//! PPPoE clients of a port.

pub(crate) mod document;
pub(crate) mod plan;
mod resolve;
pub(super) mod sessions;

use self::document::PppoeDoc;
use self::plan::PppoePlan;
use super::{PortPart, Site};
use crate::resolve::Resolver;

impl PortPart for PppoeDoc {
    type Plan = PppoePlan;

    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<PppoePlan> {
        Some(resolver.pppoe(at.name, self, at.vlans()))
    }
}
