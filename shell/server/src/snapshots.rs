//! Snapshots of a running trial, published by pointer.

use crate::texts::{Text, Texts};
use agent::{Full, FullView};
use api::{Live, Names};
use result::{IntervalDocument, TotalDocument};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::watch;

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

/// The latest snapshots. Waiting readers are woken; slow ones delay no others.
#[derive(Debug)]
pub(crate) struct Snapshots {
    live: Mutex<Arc<LiveSnapshot>>,
    full: Mutex<Option<Arc<FullView>>>,
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

    pub(crate) fn full(&self) -> Option<Arc<FullView>> {
        newest(&self.full)
    }

    pub(crate) fn put_full(&self, snapshot: FullView) {
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
        let kept = Full {
            at_s: full.at_s,
            interval,
            total: TotalDocument::default(),
            workers: full.workers.clone(),
            neighbours: full.neighbours.clone(),
            latency: full.latency.clone(),
            raw: None,
        };
        *newest = Some(Arc::new(kept.into()));
    }

    /// Wakes waiting readers.
    pub(crate) fn notify(&self) {
        self.changes.send_modify(|n| *n += 1);
    }

    /// Wakes on every snapshot and change of state.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Publishes live figures that were taken just now.
    pub(crate) fn put_live(&self, live: Live) {
        let taken = Instant::now();
        let mut newest = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        *newest = Arc::new(LiveSnapshot { live, number: newest.number + 1, taken: Some(taken) });
    }
}
