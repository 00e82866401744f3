//! PPPoE clients of a port.

use crate::plan::ClientsPlan;
use emulate::pppoe::PppoeConfig;

/// PPPoE clients behind a port.
pub type PppoePlan = ClientsPlan<PppoeConfig>;
