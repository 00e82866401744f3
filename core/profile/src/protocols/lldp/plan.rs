//! LLDP agents of a port.

use emulate::lldp::Advert;
use units::Nanos;

/// LLDP agents of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LldpPlan {
    /// The agents: the index of each one's host, and its advertisement.
    pub agents: Vec<(usize, Advert)>,
    /// From one LLDPDU to the next.
    pub interval: Nanos,
    /// Time to live of advertised data, s.
    pub ttl_s: u16,
}
