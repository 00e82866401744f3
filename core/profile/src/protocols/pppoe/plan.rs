//! PPPoE clients of a port.

use emulate::pppoe::PppoeConfig;
use units::Nanos;

/// PPPoE clients behind a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PppoePlan {
    /// The clients; their hardware addresses only if they are given.
    pub config: PppoeConfig,
    /// Whether the hardware addresses in `config` are the profile's; if not, they are made of the port's.
    pub has_macs: bool,
    /// Time limit for all clients to get a session.
    pub timeout: Nanos,
}
