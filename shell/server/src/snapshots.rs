//! Snapshots of a running trial, published by pointer.

use crate::texts::{Text, Texts};
use api::{Latency, Live, LivePorts, LiveSessions, LiveStreams, Names, Neighbour, WorkerLoad};
use engine::{NeighbourView, View};
use result::{IntervalDocument, LatencyResult, TotalDocument};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use units::Nanos;

/// Time between snapshots.
pub(crate) const EVERY: Nanos = Nanos::from_millis(100);
/// Full snapshots take at most one part in this many of the time.
const FULL_SHARE: u32 = 10;

/// Live figures.
#[derive(Debug, Default)]
pub(crate) struct LiveSnapshot {
    pub(crate) live: Live,
    /// Counts from 1; 0 is the one before the first.
    number: u64,
    /// When it was taken.
    taken: Option<Instant>,
}

impl LiveSnapshot {
    /// Time since traffic started, s, while the run is active.
    pub(crate) fn now_s(&self) -> f64 {
        self.live.at_s + self.taken.map_or(0.0, |taken| taken.elapsed().as_secs_f64())
    }
}

/// The last interval and the totals.
#[derive(Debug)]
pub(crate) struct FullSnapshot {
    pub(crate) at_s: f64,
    pub(crate) interval: IntervalDocument,
    pub(crate) total: TotalDocument,
    pub(crate) workers: Vec<WorkerLoad>,
    pub(crate) neighbours: Vec<Neighbour>,
}

/// The latest snapshots. Waiting readers are woken; slow ones delay no others.
#[derive(Debug)]
pub(crate) struct Snapshots {
    live: Mutex<Arc<LiveSnapshot>>,
    full: Mutex<Option<Arc<FullSnapshot>>>,
    live_texts: Texts<u64>,
    /// Counts snapshots and changes of state.
    changes: watch::Sender<u64>,
}

impl Default for Snapshots {
    fn default() -> Self {
        Self {
            live: Mutex::default(),
            full: Mutex::default(),
            live_texts: Texts::default(),
            changes: watch::Sender::new(0),
        }
    }
}

fn newest<T: Clone>(slot: &Mutex<T>) -> T {
    slot.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Snapshots {
    pub(crate) fn live(&self) -> Arc<LiveSnapshot> {
        newest(&self.live)
    }

    /// Live figures as JSON, with `names` if they are given; none before the first interval.
    pub(crate) fn live_text(&self, names: Option<&Names>) -> Option<Text> {
        let newest = self.live();
        if newest.live.interval_s <= 0.0 {
            return None;
        }
        let text = |live: &Live| serde_json::to_string(live).unwrap_or_default();
        Some(self.live_texts.newest(newest.number, || match names {
            Some(names) => text(&Live { names: Some(names.clone()), ..newest.live.clone() }),
            None => text(&newest.live),
        }))
    }

    pub(crate) fn full(&self) -> Option<Arc<FullSnapshot>> {
        newest(&self.full)
    }

    pub(crate) fn put_full(&self, snapshot: FullSnapshot) {
        *self.full.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(snapshot));
    }

    /// Keeps of the newest full snapshot what nothing else has, once its trial is over: without totals, and without its
    /// interval.
    pub(crate) fn shrink(&self, without_totals: bool, without_interval: bool) {
        let mut newest = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(full) = newest.as_ref().filter(|_| without_totals) else { return };
        let interval = match without_interval {
            true => IntervalDocument {
                schema: full.interval.schema.clone(),
                at_s: full.interval.at_s,
                interval_s: full.interval.interval_s,
                draining: full.interval.draining,
                ..IntervalDocument::default()
            },
            false => full.interval.clone(),
        };
        *newest = Some(Arc::new(FullSnapshot {
            at_s: full.at_s,
            interval,
            total: TotalDocument::default(),
            workers: full.workers.clone(),
            neighbours: full.neighbours.clone(),
        }));
    }

    /// Wakes waiting readers.
    pub(crate) fn notify(&self) {
        self.changes.send_modify(|n| *n += 1);
    }

    /// Wakes on every snapshot and change of state.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn put_live(&self, live: Live, taken: Instant) {
        let mut newest = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        *newest = Arc::new(LiveSnapshot { live, number: newest.number + 1, taken: Some(taken) });
    }
}

/// Publishes snapshots of an engine's views.
pub(crate) struct SnapshotPublisher {
    cores: Vec<usize>,
    next_full: Instant,
}

impl SnapshotPublisher {
    /// For workers on `cores`.
    pub(crate) fn new(cores: Vec<usize>) -> Self {
        Self { cores, next_full: Instant::now() }
    }

    /// Publishes a view.
    pub(crate) fn publish(&mut self, view: &View<'_>, snapshots: &Snapshots) {
        let began = Instant::now();
        snapshots.put_live(live(view, &self.cores), began);
        if began >= self.next_full {
            snapshots.put_full(full(view, &self.cores));
            self.next_full = began + began.elapsed() * FULL_SHARE - Duration::from_millis(1);
        }
        snapshots.notify();
    }
}

/// The names in a view, in the order of its columns.
pub(crate) fn names(view: &View<'_>) -> Names {
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

fn live(view: &View<'_>, cores: &[usize]) -> Live {
    let mut live = Live {
        at_s: view.at().as_secs_f64(),
        interval_s: view.span().as_secs_f64(),
        draining: view.is_draining(),
        latency: view.latency().map(latency),
        workers: workers(view, cores),
        disturbances: view.disturbances(),
        ..Live::default()
    };
    view.ports().into_iter().for_each(|port| live.ports.push(&port));
    view.streams().for_each(|stream| live.streams.push(&stream));
    view.sessions().into_iter().for_each(|entry| live.sessions.push(&entry));
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

fn full(view: &View<'_>, cores: &[usize]) -> FullSnapshot {
    FullSnapshot {
        at_s: view.at().as_secs_f64(),
        interval: view.document(),
        total: view.total(),
        workers: workers(view, cores),
        neighbours: view.neighbours().map(neighbour).collect(),
    }
}

fn neighbour(found: NeighbourView<'_>) -> Neighbour {
    let mac = units::Mac(found.mac).to_string();
    Neighbour { port: found.port.to_owned(), host: found.host.to_owned(), ip: found.ip.to_string(), mac }
}
