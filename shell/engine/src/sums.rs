//! Sums of all workers' counts.

use crate::counts::interval::{Interval, PortCounts, Shape, clear, is_any};
use crate::counts::sessions::SessionCounts;
use crate::phases::Phases;
use measure::{Damages, Egress, Paths, Totals};
use sched::PacingRecord;
use session::plan::Side;
use units::Nanos;

/// Counts of all workers over a span of time.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    pub(crate) arrivals: Totals,
    pub(crate) paths: Paths,
    pub(crate) egress: Egress,
    pub(crate) damages: Damages,
    pub(crate) sent: Vec<u64>,
    pub(crate) sent_bytes: Vec<u64>,
    pub(crate) sent_touched: Vec<u64>,
    /// Those that left late after a long turn that was no pause, with the others of their burst.
    pub(crate) sent_late: Vec<u64>,
    /// Those sent before counters were set to zero that arrived later.
    pub(crate) passed: Vec<u64>,
    pub(crate) pacing: Vec<PacingRecord>,
    pub(crate) ports: Vec<PortCounts>,
    /// By worker: their maximum numbers of sessions can't be derived from each other's sums.
    sessions: Vec<Vec<SessionCounts>>,
    /// Between which bounds the most sessions at a time lie, by place in a list of all; empty if not noted.
    most: Vec<Most>,
    /// Sessions' progress when sending was over, by index in a list of all; empty before that.
    progress: Vec<SessionProgress>,
    /// Of a whole trial: the same by phase of the load.
    pub(crate) phases: Phases,
    pub(crate) workers: Vec<WorkerTime>,
    /// Since when they count.
    pub(crate) since: Since,
}

/// Since when a trial's counters count, if they were set to zero.
#[derive(Debug, Clone, Default)]
pub(crate) struct Since {
    /// Time since the start of traffic.
    pub(crate) at: Nanos,
    /// Number of times they were set to zero.
    pub(crate) times: u32,
    /// Whether something was counted on the wrong side of the last instant.
    pub(crate) is_inexact: bool,
    /// Packets of each stream sent before, in all.
    pub(crate) sent: Vec<u64>,
    /// Sessions attempted before, by index in a list of all.
    pub(crate) attempted: Vec<u64>,
    /// Test packets sent by each port before, in all, and their bytes with FCS.
    pub(crate) ports: Vec<(u64, u64)>,
}

/// Between which bounds the most sessions at a time of all workers lie.
#[derive(Debug, Clone, Copy, Default)]
struct Most {
    /// Number at the end of a span.
    seen: u64,
    /// In no span did the maxima of all workers add up to more.
    bound: u64,
}

/// Counts for rates of sessions.
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

/// Use of one worker's time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WorkerTime {
    pub(crate) busy_ns: u64,
    pub(crate) total_ns: u64,
    pub(crate) stall_max_ns: u64,
    pub(crate) paused_ns: u64,
    pub(crate) hitches_ns: u64,
    pub(crate) pauses: u64,
    pub(crate) kept_ns: u64,
    /// Time of turns as long as a pause in which the thread had its core, by the processor's clock.
    pub(crate) long_turns_ns: u64,
    pub(crate) slept_ns: u64,
    pub(crate) overslept_max_ns: u64,
}

impl WorkerTime {
    /// Time in which the worker may have sent and received nothing, ns: pauses, however short, and long turns that count as work,
    /// which may be pauses, too.
    pub(crate) fn away_ns(&self) -> u64 {
        // Those of `paused_ns` are among them, unless no clock of the thread is read.
        self.kept_ns.max(self.paused_ns) + self.long_turns_ns
    }
}

impl Sums {
    pub(crate) fn new(shape: Shape, workers: usize) -> Self {
        let empty = shape.first_interval();
        Self {
            arrivals: Totals::new(shape.streams, shape.scale),
            paths: empty.paths,
            egress: empty.egress,
            damages: empty.damages,
            sent: empty.sent,
            sent_bytes: empty.sent_bytes,
            sent_touched: empty.sent_touched,
            sent_late: empty.sent_late,
            passed: empty.passed,
            pacing: empty.pacing,
            ports: empty.ports,
            most: Vec::new(),
            sessions: vec![empty.sessions; workers],
            progress: Vec::new(),
            phases: Phases::default(),
            workers: vec![WorkerTime::default(); workers],
            since: Since::default(),
        }
    }

    /// Test packets that a port sent, and their bytes with FCS, also before counters were set to zero.
    pub(crate) fn port_sent_in_all(&self, port: usize) -> (u64, u64) {
        let before = self.since.ports.get(port).copied().unwrap_or_default();
        (self.ports[port].tx_packets + before.0, self.ports[port].tx_bytes + before.1)
    }

    /// Packets of a stream sent, also before counters were set to zero.
    pub(crate) fn sent_in_all(&self, stream: usize) -> u64 {
        self.sent[stream] + self.since.sent.get(stream).copied().unwrap_or(0)
    }

    /// The same without rows of streams.
    pub(crate) fn without_streams(shape: Shape, workers: usize) -> Self {
        Self::new(Shape { streams: 0, ..shape }, workers)
    }

    /// Has room for more streams.
    pub(crate) fn grow(&mut self, shape: Shape) {
        self.arrivals.grow(shape.streams, shape.scale);
        self.sent.resize(shape.streams, 0);
        self.sent_bytes.resize(shape.streams, 0);
        self.sent_touched.resize(shape.streams, 0);
        self.sent_late.resize(shape.streams, 0);
        self.passed.resize(shape.streams, 0);
        if shape.paces_streams {
            self.pacing.resize(shape.streams, PacingRecord::default());
        }
    }

    /// Forgets everything counted.
    pub(crate) fn clear(&mut self) {
        self.arrivals.clear();
        self.paths.clear();
        self.egress.clear();
        self.damages.clear();
        let Self { sent, sent_bytes, sent_touched, sent_late, passed, .. } = self;
        [sent, sent_bytes, sent_touched, sent_late, passed].into_iter().for_each(|numbers| clear(numbers));
        self.pacing.iter_mut().for_each(PacingRecord::clear);
        self.ports.fill(PortCounts::default());
        self.sessions.iter_mut().flatten().for_each(SessionCounts::clear);
        self.progress.clear();
        self.most.clear();
        self.workers.fill(WorkerTime::default());
    }

    /// Counters are set to zero `at` a time since the start of traffic: what is open stays so.
    pub(crate) fn begin_anew(&mut self, at: Nanos, is_exact: bool) {
        let sides = self.sessions.first().map_or(0, Vec::len);
        let attempted: Vec<u64> = (0..sides).map(|index| self.side(index).app.attempted).collect();
        let Since { at: since, times, is_inexact, sent, attempted: before, ports } = &mut self.since;
        (*since, *times) = (at, *times + 1);
        *is_inexact = !is_exact;
        add_each(sent, &self.sent);
        add_each(before, &attempted);
        ports.resize(self.ports.len(), (0, 0));
        for (sum, port) in ports.iter_mut().zip(&self.ports) {
            *sum = (sum.0 + port.tx_packets, sum.1 + port.tx_bytes);
        }
        let open: Vec<Vec<SessionCounts>> =
            self.sessions.iter().map(|worker| worker.iter().map(SessionCounts::carried).collect()).collect();
        self.clear();
        self.sessions = open;
        self.phases.begin_anew(at);
    }

    /// Sending is over: what comes later is no part of rates.
    pub(crate) fn mark_sent(&mut self) {
        let sides = self.sessions.first().map_or(0, Vec::len);
        self.progress = (0..sides).map(|index| SessionProgress::of(&self.side(index))).collect();
    }

    /// Progress of an entry's sessions on one side in the time that rates cover.
    pub(crate) fn progress(&self, entry: usize, side: Side) -> SessionProgress {
        let index = SessionCounts::index(entry, side);
        self.progress.get(index).copied().unwrap_or_else(|| SessionProgress::of(&self.side(index)))
    }

    /// Counts of an entry's sessions on one side.
    pub(crate) fn sessions(&self, entry: usize, side: Side) -> SessionCounts {
        self.side(SessionCounts::index(entry, side))
    }

    fn side(&self, index: usize) -> SessionCounts {
        let mut all = SessionCounts::default();
        self.sessions.iter().for_each(|worker| all.merge(&worker[index]));
        if let Some(most) = self.most.get(index) {
            all.app.active_max = most.bound;
        }
        all
    }

    /// Lower bound of the maximum number of an entry's sessions on one side: several workers, applications and hosts
    /// have their maxima at different instants, so `active_max` is an upper bound then.
    pub(crate) fn most_seen(&self, entry: usize, side: Side) -> Option<u64> {
        let index = SessionCounts::index(entry, side);
        let has_parts = |counts: &SessionCounts| counts.members.len() > 1 || counts.hosts.len() > 1;
        let several = self.sessions.len() > 1 || self.sessions.iter().any(|worker| has_parts(&worker[index]));
        self.most.get(index).filter(|_| several).map(|most| most.seen)
    }

    /// Notes the most sessions at a time of a span in which all workers handed over once: `bounds` are the sums of their
    /// maxima, by place in a list of all. Sets them to zero.
    pub(crate) fn note_most(&mut self, bounds: &mut [u64]) {
        self.phases.note_most(bounds);
        self.most.resize(bounds.len(), Most::default());
        for (index, (most, bound)) in self.most.iter_mut().zip(bounds).enumerate() {
            let open: i64 = self.sessions.iter().map(|worker| worker[index].app.active()).sum();
            most.bound = most.bound.max(std::mem::take(bound));
            most.seen = most.seen.max(u64::try_from(open).unwrap_or(0)).min(most.bound);
        }
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
        self.paths.merge(&interval.paths);
        self.egress.merge(&interval.egress);
        self.damages.merge(&interval.damages);
        for (sums, numbers) in [
            (&mut self.sent, &interval.sent),
            (&mut self.sent_bytes, &interval.sent_bytes),
            (&mut self.sent_touched, &interval.sent_touched),
            (&mut self.sent_late, &interval.sent_late),
            (&mut self.passed, &interval.passed),
        ] {
            // Most are zero for all streams, most of the time.
            if is_any(numbers) {
                sums.iter_mut().zip(numbers).for_each(|(sum, n)| *sum += n);
            }
        }
        self.pacing.iter_mut().zip(&interval.pacing).for_each(|(sum, record)| sum.merge(record));
        self.ports.iter_mut().zip(&interval.ports).for_each(|(sum, counts)| sum.merge(counts));
        self.phases.add(&interval.sessions);
        self.sessions[worker].iter_mut().zip(&interval.sessions).for_each(|(sum, counts)| sum.append(counts));
        let time = &mut self.workers[worker];
        time.busy_ns += interval.busy_ns;
        time.total_ns += interval.total_ns;
        time.stall_max_ns = time.stall_max_ns.max(interval.stall_max_ns);
        time.paused_ns += interval.paused_ns;
        time.hitches_ns += interval.hitches_ns;
        time.pauses += interval.pauses;
        time.kept_ns += interval.kept_ns;
        time.long_turns_ns += interval.long_turns_ns;
        time.slept_ns += interval.slept_ns;
        time.overslept_max_ns = time.overslept_max_ns.max(interval.overslept_max_ns);
    }

    /// Whether every measured stream that should come back here has come back whole.
    ///
    /// `others` are the packets of each stream that another machine has sent, if any has.
    pub(crate) fn all_arrived(&self, measured: &[bool], others: &[u64]) -> bool {
        let others = others.iter().copied().chain(std::iter::repeat(0));
        let sent = self.sent.iter().zip(others).map(|(here, there)| here + there);
        let streams = sent.zip(&self.arrivals.streams).zip(measured);
        streams.filter(|(_, measured)| **measured).all(|((sent, got), _)| sent <= got.counts.received)
    }
}

fn add_each(sums: &mut Vec<u64>, numbers: &[u64]) {
    sums.resize(numbers.len(), 0);
    sums.iter_mut().zip(numbers).for_each(|(sum, n)| *sum += n);
}
