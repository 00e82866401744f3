//! What all workers counted, added up.

use crate::counts::interval::{Interval, PortCounts, Shape};
use crate::counts::sessions::SessionCounts;
use measure::Totals;
use sched::PacingRecord;
use session::plan::Side;

/// Counts of all workers over a span of time.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    pub(crate) arrivals: Totals,
    pub(crate) sent: Vec<u64>,
    pub(crate) sent_bytes: Vec<u64>,
    pub(crate) pacing: Vec<PacingRecord>,
    pub(crate) ports: Vec<PortCounts>,
    /// By worker: their most sessions at a time can't be told from each other's sums.
    sessions: Vec<Vec<SessionCounts>>,
    /// What sessions had done when sending was over, by place in a list of all; empty before that.
    progress: Vec<SessionProgress>,
    pub(crate) workers: Vec<WorkerTime>,
}

/// What rates of sessions count.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SessionProgress {
    pub(crate) transactions: u64,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_delivered: u64,
}

impl SessionProgress {
    pub(crate) fn of(counts: &SessionCounts) -> Self {
        let session::Counts { transactions, bytes_received, bytes_delivered, .. } = counts.app;
        Self { transactions, bytes_received, bytes_delivered }
    }
}

/// How one worker spent its time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WorkerTime {
    pub(crate) busy_ns: u64,
    pub(crate) total_ns: u64,
    pub(crate) stall_max_ns: u64,
    pub(crate) paused_ns: u64,
    pub(crate) hitches_ns: u64,
}

impl Sums {
    pub(crate) fn new(shape: Shape, workers: usize) -> Self {
        let empty = shape.first_interval();
        Self {
            arrivals: Totals::new(shape.streams, shape.scale),
            sent: empty.sent,
            sent_bytes: empty.sent_bytes,
            pacing: empty.pacing,
            ports: empty.ports,
            sessions: vec![empty.sessions; workers],
            progress: Vec::new(),
            workers: vec![WorkerTime::default(); workers],
        }
    }

    /// Forgets everything counted.
    pub(crate) fn clear(&mut self) {
        self.arrivals.clear();
        self.sent.fill(0);
        self.sent_bytes.fill(0);
        self.pacing.iter_mut().for_each(PacingRecord::clear);
        self.ports.fill(PortCounts::default());
        self.sessions.iter_mut().flatten().for_each(SessionCounts::clear);
        self.progress.clear();
        self.workers.fill(WorkerTime::default());
    }

    /// Sending is over: what comes later is no part of rates.
    pub(crate) fn mark_sent(&mut self) {
        let sides = self.sessions.first().map_or(0, Vec::len);
        self.progress = (0..sides).map(|index| SessionProgress::of(&self.side(index))).collect();
    }

    /// What sessions of an entry on one side did in the time that rates count over.
    pub(crate) fn progress(&self, entry: usize, side: Side) -> SessionProgress {
        let index = SessionCounts::index(entry, side);
        self.progress.get(index).copied().unwrap_or_else(|| SessionProgress::of(&self.side(index)))
    }

    /// What came of the sessions of an entry on one side.
    pub(crate) fn sessions(&self, entry: usize, side: Side) -> SessionCounts {
        self.side(SessionCounts::index(entry, side))
    }

    fn side(&self, index: usize) -> SessionCounts {
        let mut all = SessionCounts::default();
        self.sessions.iter().for_each(|worker| all.merge(&worker[index]));
        all
    }

    /// Whether no session is open.
    pub(crate) fn sessions_ended(&self) -> bool {
        let active = |counts: &SessionCounts| counts.app.active();
        let indices = 0..self.sessions.first().map_or(0, Vec::len);
        indices
            .map(|index| self.sessions.iter().map(|worker| active(&worker[index])).sum::<i64>())
            .all(|n| n <= 0)
    }

    /// Adds what worker `worker` counted.
    pub(crate) fn add(&mut self, worker: usize, interval: &Interval) {
        self.arrivals.add(&interval.arrivals);
        self.sent.iter_mut().zip(&interval.sent).for_each(|(sum, n)| *sum += n);
        self.sent_bytes.iter_mut().zip(&interval.sent_bytes).for_each(|(sum, n)| *sum += n);
        self.pacing.iter_mut().zip(&interval.pacing).for_each(|(sum, record)| sum.merge(record));
        self.ports.iter_mut().zip(&interval.ports).for_each(|(sum, counts)| sum.merge(counts));
        self.sessions[worker].iter_mut().zip(&interval.sessions).for_each(|(sum, counts)| sum.append(counts));
        let time = &mut self.workers[worker];
        time.busy_ns += interval.busy_ns;
        time.total_ns += interval.total_ns;
        time.stall_max_ns = time.stall_max_ns.max(interval.stall_max_ns);
        time.paused_ns += interval.paused_ns;
        time.hitches_ns += interval.hitches_ns;
    }

    /// Whether every measured stream that should come back here has come back whole.
    pub(crate) fn all_arrived(&self, measured: &[bool]) -> bool {
        let streams = self.sent.iter().zip(&self.arrivals.streams).zip(measured);
        streams.filter(|(_, measured)| **measured).all(|((sent, got), _)| *sent <= got.counts.received)
    }
}
