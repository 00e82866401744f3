//! Input of a verdict.

use crate::rows::PortEnd;
use crate::sums::Sums;
use crate::trial::Trial;
use measure::Spans;
use os::ThreadUsage;
use port::PortFacts;
use units::Nanos;

/// Clock drift above which a result is not valid, parts per million.
pub(super) const DRIFT_PPM_MAX: f64 = 500.0;
/// Share of packets that may arrive before they were sent: clocks of two cores differ by some nanoseconds.
pub(super) const BEFORE_SENT_MAX: f64 = 0.001;

/// Input of the verdict.
pub(crate) struct Evidence<'a> {
    pub(crate) trial: &'a Trial<'a>,
    pub(crate) sums: &'a Sums,
    pub(crate) ends: &'a [PortEnd],
    pub(crate) drift_ppm: Option<f64>,
    /// Of each worker's thread; `None` in virtual time, where nothing can disturb it.
    pub(crate) usage: &'a [Option<ThreadUsage>],
    /// Of each stream the packets sent after the newest that arrived, if no pause came since.
    pub(crate) unseen: &'a [u64],
    /// Of each port.
    pub(crate) facts: &'a [PortFacts],
    /// When packets of each stream arrived.
    pub(crate) spans: &'a Spans,
    /// Of each stream, when it was noticed that packets had been sent.
    pub(crate) first_sent: &'a [Option<Nanos>],
}

impl Evidence<'_> {
    pub(super) fn port_name(&self, port: usize) -> &str {
        &self.trial.plan.ports[port].name
    }
}
