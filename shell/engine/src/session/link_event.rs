//! Changes of the links of a trial's ports.

use os::link_watch::LinkChange;
use units::Nanos;

/// A change of a port's link during a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkEvent {
    /// Since traffic began.
    pub(crate) at: Nanos,
    /// The interface.
    pub(crate) interface: String,
    pub(crate) change: LinkChange,
}

impl LinkEvent {
    /// Whether packets may have been lost by it.
    pub(crate) fn may_cost_packets(&self) -> bool {
        match self.change {
            LinkChange::Running => false,
            LinkChange::Mtu { before, after } => after < before,
            _ => true,
        }
    }
}
