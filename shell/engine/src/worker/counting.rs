//! Counters of a worker's arrivals.

use super::watch::Watch;
use crate::counts::interval::Interval;
use measure::{Arrival, Recorder};
use units::Nanos;

/// Counters of arrivals.
pub(crate) struct Counting<'c> {
    pub(crate) watch: &'c mut Watch,
    pub(crate) recorder: &'c mut Recorder,
    pub(crate) interval: &'c mut Interval,
}

/// Counts arrivals that were sent before counters were set to zero apart. The others move to the front, with what is at the
/// same `places`; returns how many these are. `at`: when each arrived.
#[cold]
#[inline(never)]
pub(super) fn leave_out(
    recorder: &mut Recorder,
    passed: &mut [u64],
    arrivals: &mut [Arrival],
    at: impl Fn(usize) -> Nanos,
    mut place: impl FnMut(usize, usize),
) -> usize {
    let mut left = 0;
    for i in 0..arrivals.len() {
        let arrival = arrivals[i];
        if recorder.is_before(&arrival, at(i)) {
            recorder.pass(&arrival, at(i));
            if let Some(passed) = passed.get_mut(arrival.stream as usize) {
                *passed += u64::from(arrival.packets);
            }
            continue;
        }
        arrivals[left] = arrival;
        place(i, left);
        left += 1;
    }
    left
}
