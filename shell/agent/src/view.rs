//! Snapshots of a running trial as documents.

use crate::message::Full;
use crate::share::Share;
use api::{Latency, Live, LivePorts, LiveSessions, LiveStreams, Names, Neighbour, WorkerLoad};
use columns::RowsMessage;
use engine::{NeighbourView, View};
use result::LatencyResult;
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::Nanos;

/// Time between snapshots.
pub(crate) const EVERY: Nanos = Nanos::from_millis(100);
/// Full snapshots take at most one part in this many of the time.
const FULL_SHARE: u32 = 10;
/// Streams of all machines of a run that snapshots have room for in the time between two: with more, snapshots are less often, as
/// one end takes all of them.
const STREAMS_PER_SNAPSHOT: usize = 100_000;

/// Makes documents of an engine's views, full ones as often as they are cheap enough.
pub(crate) struct Publisher {
    cores: Vec<usize>,
    /// Rows to show, of one of several machines.
    share: Option<Arc<Share>>,
    next_full: Instant,
    /// Number of the last snapshot of one of several machines that are less often.
    shown: u64,
}

impl Publisher {
    /// For workers on `cores`. `share` has the rows to show; without it, these are all.
    pub(crate) fn new(cores: Vec<usize>, share: Option<Arc<Share>>) -> Self {
        Self { cores, share, next_full: Instant::now(), shown: 0 }
    }

    /// Whether it is time for a snapshot of a run with this number of streams on all machines, `at` this time since traffic started.
    /// All machines have the same times.
    pub(crate) fn is_due(&mut self, streams: usize, at: Nanos) -> bool {
        let every = every(streams);
        if self.share.is_none() || every == EVERY {
            return true;
        }
        let number = number(at, every);
        let is_new = number > self.shown;
        self.shown = number;
        is_new
    }

    /// Live figures, and all of them if it is time and `wants_full`. `later` is what a full one takes beside being made.
    pub(crate) fn documents(
        &mut self,
        view: &View<'_>,
        wants_full: bool,
        later: Duration,
    ) -> (Live, Option<(Full, Option<RowsMessage>)>) {
        let share = self.share.as_deref();
        let live = live(view, &self.cores, share);
        let began = Instant::now();
        if began < self.next_full || !wants_full {
            return (live, None);
        }
        let full = full(view, &self.cores, share);
        self.next_full = began + (began.elapsed() + later) * FULL_SHARE - Duration::from_millis(1);
        (live, Some(full))
    }
}

/// Time between snapshots of a machine of a run with this number of streams on all of them.
fn every(streams: usize) -> Nanos {
    Nanos(EVERY.0.saturating_mul(streams.div_ceil(STREAMS_PER_SNAPSHOT).max(1) as u64))
}

/// The number of the snapshot that is nearest to this time.
fn number(at: Nanos, every: Nanos) -> u64 {
    at.0.saturating_add(EVERY.0 / 2) / every.0
}

/// The names in a view, in the order of its columns.
pub(crate) fn live_names(view: &View<'_>) -> Names {
    Names {
        ports: view.ports().into_iter().map(|port| port.name).collect(),
        streams: view.streams().map(|stream| stream.name.to_owned()).collect(),
        groups: view.groups().map(str::to_owned).collect(),
        sessions: view.sessions().into_iter().map(|entry| entry.name).collect(),
    }
}

fn workers(view: &View<'_>, cores: &[usize]) -> Vec<WorkerLoad> {
    let load = |(index, busy_ratio)| WorkerLoad { core: cores.get(index).copied(), busy_ratio };
    view.busy_ratios().enumerate().map(load).collect()
}

fn latency(result: LatencyResult) -> Latency {
    Latency {
        p50_ns: result.p50,
        p90_ns: result.p90,
        p95_ns: result.p95,
        p99_ns: result.p99,
        p99_9_ns: result.p99_9,
        max_ns: result.max,
    }
}

fn live(view: &View<'_>, cores: &[usize], share: Option<&Share>) -> Live {
    let mut live = Live {
        at_s: view.at().as_secs_f64(),
        interval_s: view.span().as_secs_f64(),
        draining: view.is_draining(),
        latency: view.latency().map(latency),
        workers: workers(view, cores),
        disturbances: view.disturbances(),
        ..Live::default()
    };
    let is_shown = |has: fn(&Share, &str) -> bool, name: &str| share.is_none_or(|share| has(share, name));
    let ports = view.ports().into_iter().filter(|port| is_shown(Share::has_port, &port.name));
    ports.for_each(|port| live.ports.push(&port));
    let streams = view.streams().filter(|stream| is_shown(Share::has_stream, stream.name));
    streams.for_each(|stream| live.streams.push(&stream));
    let sessions = view.sessions().into_iter().filter(|entry| is_shown(Share::has_sessions, &entry.name));
    sessions.for_each(|entry| live.sessions.push(&entry));
    live
}

/// A row for columns.
trait Push<T> {
    fn push(&mut self, row: &T);
}

impl Push<engine::PortView> for LivePorts {
    fn push(&mut self, row: &engine::PortView) {
        self.tx_pps.push(row.tx_pps);
        self.rx_pps.push(row.rx_pps);
        self.tx_bps_l1.push(row.tx_bps_l1);
        self.rx_bps_l1.push(row.rx_bps_l1);
        self.tx_packets.push(row.tx_packets);
        self.rx_packets.push(row.rx_packets);
    }
}

impl Push<engine::StreamView<'_>> for LiveStreams {
    fn push(&mut self, row: &engine::StreamView<'_>) {
        self.tx_pps.push(row.tx_pps);
        self.rx_pps.push(row.rx_pps);
        self.tx.push(row.tx);
        self.rx.push(row.rx);
        self.lost.push(row.missing);
        self.latency_p50_ns.push(row.latency.as_ref().and_then(|latency| latency.p50));
        self.latency_p99_ns.push(row.latency.as_ref().and_then(|latency| latency.p99));
        self.latency_max_ns.push(row.latency.as_ref().map(|latency| latency.max));
    }
}

impl Push<engine::SessionView> for LiveSessions {
    fn push(&mut self, row: &engine::SessionView) {
        self.active.push(row.active);
        self.open_per_s.push(row.open_per_s);
        self.transactions_per_s.push(row.transactions_per_s);
        self.rx_bps_goodput.push(row.rx_bps_goodput);
        self.failed.push(row.failed);
        self.established.push(row.established);
    }
}

/// Everything; rows of streams of one of several machines are apart.
fn full(view: &View<'_>, cores: &[usize], share: Option<&Share>) -> (Full, Option<RowsMessage>) {
    let (mut interval, mut total) = (view.document(), view.total());
    let rows = share.map(|share| {
        share.of_interval(&mut interval);
        share.of_total(&mut total);
        let [interval, total] = [&mut interval.streams, &mut total.streams].map(std::mem::take);
        RowsMessage::new(interval.into_values(), total.into_values())
    });
    let full = Full {
        at_s: view.at().as_secs_f64(),
        interval,
        total,
        workers: workers(view, cores),
        neighbours: view.neighbours().map(neighbour).collect(),
        latency: view.total_row(),
        raw: view.raw().map(Box::new),
    };
    (full, rows)
}

fn neighbour(found: NeighbourView<'_>) -> Neighbour {
    let mac = units::Mac(found.mac).to_string();
    Neighbour { port: found.port.to_owned(), host: found.host.to_owned(), ip: found.ip.to_string(), mac }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_of_many_streams_are_less_often() {
        for (streams, tenths) in [(0, 1), (1, 1), (100_000, 1), (100_001, 2), (200_000, 2), (1_000_000, 10)] {
            assert_eq!(every(streams), Nanos(EVERY.0 * tenths), "{streams}");
        }
    }

    #[test]
    fn each_snapshot_of_many_streams_is_due_once() {
        let due = |share: Option<Arc<Share>>, streams: usize| {
            let mut publisher = Publisher::new(Vec::new(), share);
            // Snapshots come somewhat before or after their time.
            let at = |n: u64| Nanos(EVERY.0 * n + n * 7_919_000 % 40_000_000 - 20_000_000);
            (1..=30).filter(|n| publisher.is_due(streams, at(*n))).collect::<Vec<u64>>()
        };
        let all: Vec<u64> = (1..=30).collect();
        let share = || Some(Arc::new(Share::default()));
        assert_eq!(due(share(), 1_000_000), [10, 20, 30]);
        assert_eq!(due(share(), 250_000), [3, 6, 9, 12, 15, 18, 21, 24, 27, 30]);
        assert_eq!(due(share(), 100_000), all);
        assert_eq!(due(None, 1_000_000), all, "the only machine of a run takes all");
        // One that comes too late is taken at once, and the next one at its own time.
        let mut late = Publisher::new(Vec::new(), share());
        let taken = [25, 26, 29, 30, 31].map(|n| late.is_due(1_000_000, Nanos(EVERY.0 * n)));
        assert_eq!(taken, [true, false, false, true, false]);
    }

    #[test]
    fn machines_whose_times_differ_a_little_show_the_same_snapshots() {
        let off = Nanos::from_millis(40);
        for streams in [100_001, 1_000_000] {
            let every = every(streams);
            for number_of in 1..50 {
                let at = Nanos(every.0 * number_of);
                assert_eq!(number(at, every), number_of);
                assert_eq!(number(Nanos(at.0 - off.0), every), number_of, "early");
                assert_eq!(number(Nanos(at.0 + off.0), every), number_of, "late");
                // The tenth of a second before it belongs to the one before.
                assert_eq!(number(Nanos(at.0 - EVERY.0 + off.0), every), number_of - 1);
            }
        }
    }
}
