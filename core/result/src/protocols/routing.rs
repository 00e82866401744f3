//! Routes of a port's hosts, whatever protocol advertises them.

use std::fmt::Write;
use units::count;

/// Routes that a control protocol of a port advertised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoutingCounts {
    /// Routes advertised; repeated advertisements count again.
    pub advertised: u64,
    /// Sessions or adjacencies lost unexpectedly.
    pub flaps: u64,
    /// Time until all routes were known to the device, s. Absent if this was not reached before traffic started.
    pub announced_after_s: Option<f64>,
    /// When the first routes were withdrawn while traffic ran, ns since it started.
    pub first_withdrawal_ns: Option<u64>,
    /// When the first routes were advertised while traffic ran, ns since it started.
    pub first_advertisement_ns: Option<u64>,
}

/// The routes of a protocol's result, whose fields have the same names.
macro_rules! routing_counts {
    ($result:expr) => {
        RoutingCounts {
            advertised: $result.advertised,
            flaps: $result.flaps,
            announced_after_s: $result.announced_after_s,
            first_withdrawal_ns: $result.first_withdrawal_ns,
            first_advertisement_ns: $result.first_advertisement_ns,
        }
    };
}

impl RoutingCounts {
    /// The end of a sentence about routers of a link-state protocol.
    pub(crate) fn of_routers(&self, withdrawn: u64) -> String {
        let mut text =
            format!(", {} routes advertised, {} withdrawn", count(self.advertised), count(withdrawn));
        if let Some(after) = self.announced_after_s {
            let _ = write!(text, "; all known to the neighbours after {after:.3} s");
        }
        let _ = write!(text, "; {} adjacencies lost", count(self.flaps));
        text
    }
}
