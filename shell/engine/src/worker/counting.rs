//! Counters of a worker's arrivals.

use super::watch::Watch;
use crate::counts::interval::Interval;
use measure::Recorder;

/// Counters of arrivals.
pub(crate) struct Counting<'c> {
    pub(crate) watch: &'c mut Watch,
    pub(crate) recorder: &'c mut Recorder,
    pub(crate) interval: &'c mut Interval,
}
