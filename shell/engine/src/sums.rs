//! What all workers counted, added up.

use crate::interval::{Interval, PortCounts, Shape};
use measure::Totals;
use sched::PacingRecord;

/// Counts of all workers over a span of time.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    pub(crate) arrivals: Totals,
    pub(crate) sent: Vec<u64>,
    pub(crate) pacing: Vec<PacingRecord>,
    pub(crate) ports: Vec<PortCounts>,
    pub(crate) workers: Vec<WorkerTime>,
}

/// How one worker spent its time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WorkerTime {
    pub(crate) busy_ns: u64,
    pub(crate) total_ns: u64,
    pub(crate) stall_max_ns: u64,
}

impl Sums {
    pub(crate) fn new(shape: Shape, workers: usize) -> Self {
        let empty = shape.interval();
        Self {
            arrivals: Totals::new(shape.streams, shape.scale),
            sent: empty.sent,
            pacing: empty.pacing,
            ports: empty.ports,
            workers: vec![WorkerTime::default(); workers],
        }
    }

    /// Forgets everything counted.
    pub(crate) fn clear(&mut self) {
        self.arrivals.clear();
        self.sent.fill(0);
        self.pacing.iter_mut().for_each(PacingRecord::clear);
        self.ports.fill(PortCounts::default());
        self.workers.fill(WorkerTime::default());
    }

    /// Adds what worker `worker` counted.
    pub(crate) fn add(&mut self, worker: usize, interval: &Interval) {
        self.arrivals.add(&interval.arrivals);
        self.sent.iter_mut().zip(&interval.sent).for_each(|(sum, n)| *sum += n);
        self.pacing.iter_mut().zip(&interval.pacing).for_each(|(sum, record)| sum.merge(record));
        self.ports.iter_mut().zip(&interval.ports).for_each(|(sum, counts)| sum.merge(counts));
        let time = &mut self.workers[worker];
        time.busy_ns += interval.busy_ns;
        time.total_ns += interval.total_ns;
        time.stall_max_ns = time.stall_max_ns.max(interval.stall_max_ns);
    }

    /// Whether every measured stream that should come back here has come back whole.
    pub(crate) fn all_arrived(&self, measured: &[bool]) -> bool {
        let streams = self.sent.iter().zip(&self.arrivals.streams).zip(measured);
        streams.filter(|(_, measured)| **measured).all(|((sent, got), _)| *sent <= got.counts.received)
    }
}
