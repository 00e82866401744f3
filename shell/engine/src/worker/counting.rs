//! What a worker counts arrivals in.

use super::watch::Watch;
use crate::counts::interval::Interval;
use measure::Recorder;

/// What arrivals are counted in.
pub(crate) struct Counting<'c> {
    pub(crate) watch: &'c mut Watch,
    pub(crate) recorder: &'c mut Recorder,
    pub(crate) interval: &'c mut Interval,
}
