//! Virtual routers of a port.

use emulate::vrrp::VrrpConfig;
use units::Nanos;

/// Virtual routers of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VrrpPlan {
    /// The routers; their hosts are the port's.
    pub routers: Vec<VrrpConfig>,
    /// Maximum time until all are elected.
    pub timeout: Nanos,
}
