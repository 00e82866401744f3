//! Virtual routers of a port.

pub(crate) mod document;
pub(crate) mod plan;
mod resolve;

use self::document::VrrpDoc;
use self::plan::VrrpPlan;
use super::{PartPlan, PortPart, Site};
use crate::frr::FrrDaemon;
use crate::resolve::Resolver;

impl PortPart for VrrpDoc {
    type Plan = VrrpPlan;

    const FRR: &'static [FrrDaemon] = &[("vrrpd", &["vrrp "])];

    fn resolve(&self, resolver: &mut Resolver<'_>, at: &Site<'_>) -> Option<VrrpPlan> {
        Some(resolver.vrrp(at.name, self, at.hosts, at.has_punt))
    }
}

impl PartPlan for VrrpPlan {}
