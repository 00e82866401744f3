//! A port of a lag.

use emulate::lacp::LacpConfig;
use units::Nanos;

/// A port of a lag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LacpPlan {
    /// Number of its lag, from 0.
    pub lag: usize,
    /// Name of its lag.
    pub name: String,
    /// The LACP actor; without its hardware address, and its system only if that is given.
    pub config: LacpConfig,
    /// Whether the system in `config` is the profile's; if not, it is the hardware address of the lag's first port.
    pub has_system: bool,
    /// Time limit for the port to be distributing.
    pub wait: Nanos,
}
