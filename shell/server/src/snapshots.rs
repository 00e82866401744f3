//! Snapshots of a running trial, published by pointer.

use crate::texts::{Text, Texts};
use agent::FullView;
use api::{Live, Names};
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

    /// Leaves out of the newest full snapshot, once its trial is over, totals that are elsewhere, and rows of its interval. They are not
    /// made for that.
    pub(crate) fn shrink(&self, without_totals: bool, without_interval: bool) {
        let Some(full) = self.full().filter(|_| without_totals) else { return };
        // Readers do not wait for the interval.
        let kept = Arc::new(full.shrunk(!without_interval));
        let mut newest = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, &full)) {
            *newest = Some(kept);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use agent::Full;
    use api::Neighbour;
    use result::IntervalDocument;

    fn view(make: impl FnOnce() -> IntervalDocument + Send + 'static) -> FullView {
        let neighbour = Neighbour {
            port: "west".to_owned(),
            host: "h".to_owned(),
            ip: "10.0.0.1".to_owned(),
            mac: "02:00:00:00:00:01".to_owned(),
        };
        let interval =
            IntervalDocument { at_s: 2.5, interval_s: 0.5, draining: true, ..IntervalDocument::default() };
        let full = Full { at_s: 3.0, interval, neighbours: vec![neighbour], ..Full::default() };
        FullView::new(full, make, || panic!("nobody reads the totals"))
    }

    #[test]
    fn the_end_of_a_run_makes_no_document_that_nobody_reads() {
        let snapshots = Snapshots::default();
        snapshots.put_full(view(|| panic!("nobody reads the interval")));
        snapshots.shrink(false, false);
        snapshots.shrink(true, true);
        let kept = snapshots.full().unwrap();
        assert_eq!((kept.at_s, kept.neighbours.len()), (3.0, 1));
        assert!(kept.total().streams.is_empty() && kept.interval().streams.is_empty());
        let interval = kept.interval();
        assert_eq!((interval.at_s, interval.interval_s, interval.draining), (2.5, 0.5, true));
        assert_eq!(interval.schema, result::INTERVAL_SCHEMA);
    }

    #[test]
    fn the_interval_is_kept_and_readers_do_not_wait_for_it() {
        let snapshots = Arc::new(Snapshots::default());
        let reader = snapshots.clone();
        snapshots.put_full(view(move || {
            // The same thread has the lock, if anyone has.
            assert!(reader.full.try_lock().is_ok());
            IntervalDocument { late: vec!["a1".to_owned()], ..IntervalDocument::default() }
        }));
        snapshots.shrink(true, false);
        let kept = snapshots.full().unwrap();
        assert_eq!((&kept.interval().late[..], kept.total().streams.len()), (&["a1".to_owned()][..], 0));
    }
}
