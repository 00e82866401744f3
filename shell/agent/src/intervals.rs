//! Selects the intervals of a run that are stored: their length doubles after a number of rows.
//!
//! Invariants: intervals leave nothing out: their counts add up to the run's. While the store accepts nothing, intervals get
//! longer instead of more.

use crate::message::{Batch, FromAgent};
use crate::outbox::Outbox;
use crate::part::FromPart;
use crate::share::Share;
use crate::view::EVERY;
use engine::View;
use result::IntervalDocument;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use units::Nanos;

/// Rows of streams, sessions and ports in intervals of one length.
const ROWS_PER_LENGTH: usize = 20_000;
/// Most intervals of one length.
const MOST: usize = 1_000;
/// Intervals of runs with more streams have the sum of all streams instead of their rows.
const ROWS_OF_STREAMS_MAX: usize = 200;
/// Of runs with more streams, rows of streams are stored at the end only.
const STREAMS_SO_FAR_MAX: usize = 2_000;
/// Streams that are added up in the time of the shortest interval.
const STREAMS_PER_INTERVAL: usize = 2_000;

/// State of the server's store.
#[derive(Debug, Default)]
pub(crate) struct StoreState {
    /// Whether it wants a batch.
    pub(crate) wants_batch: AtomicBool,
    /// Number of stored intervals.
    pub(crate) stored: AtomicU64,
}

/// Sends the intervals of a run.
pub(crate) struct Intervals {
    lengths: Lengths,
    /// Rows to send, of one of several machines.
    share: Option<Arc<Share>>,
    sent: u64,
}

impl Intervals {
    /// For a run with this number of streams. `share` has the rows to send; without it, these are all.
    pub(crate) fn new(streams: usize, share: Option<Arc<Share>>) -> Self {
        Self { lengths: Lengths::new(streams), share, sent: 0 }
    }

    /// Sends what was counted since this last returned true; `must` if nothing may be added to it.
    pub(crate) fn keep(&mut self, view: &View<'_>, must: bool, store: &StoreState, outbox: &Outbox) -> bool {
        let is_whole = must && view.span() > Nanos::ZERO || self.lengths.is_whole(view.span());
        let waiting = self.sent.saturating_sub(store.stored.load(Ordering::Relaxed));
        let has_room = waiting < self.lengths.waiting_max() as u64;
        let is_wanted = store.wants_batch.swap(false, Ordering::Relaxed);
        let keeps = is_whole && (has_room || must);
        if !keeps && !is_wanted {
            return must;
        }
        let mut interval = match view.stream_count() <= ROWS_OF_STREAMS_MAX {
            true => view.document(),
            false => view.document_in_sum(),
        };
        let share = self.share.as_deref();
        if let Some(share) = share {
            share.of_interval(&mut interval);
        }
        let batch = is_wanted.then(|| Box::new(batch(view, (!keeps).then(|| interval.clone()), share)));
        if keeps {
            self.lengths.count(rows(&interval));
            self.sent += 1;
            outbox.send(match view.raw() {
                Some((raw, _)) => {
                    FromAgent::Part(Box::new(FromPart::Interval(Box::new(interval), Box::new(raw))))
                }
                None => FromAgent::Interval(Box::new(interval)),
            });
        }
        if let Some(batch) = batch {
            outbox.send(FromAgent::Batch(batch));
        }
        keeps || must
    }
}

fn rows(interval: &IntervalDocument) -> usize {
    let groups = interval.groups.values().map(|rows| rows.len()).sum::<usize>();
    interval.streams.len() + interval.sessions.len() + interval.ports.len() + groups + 1
}

fn batch(view: &View<'_>, unfinished: Option<IntervalDocument>, share: Option<&Share>) -> Batch {
    let mut total = match view.stream_count() <= STREAMS_SO_FAR_MAX {
        true => view.total(),
        false => view.total_without_streams(),
    };
    if let Some(share) = share {
        share.of_total(&mut total);
    }
    let seconds = view.at().min(view.duration()).as_secs_f64();
    let raw = view.raw().map(Box::new);
    Batch { at_s: view.at().as_secs_f64(), seconds, unfinished, total, raw }
}

/// Length of intervals.
struct Lengths {
    length: Nanos,
    /// Rows of intervals of this length.
    made: usize,
    /// Rows of one interval. There are more when streams are added.
    rows: usize,
}

impl Lengths {
    /// For a run with this number of streams.
    fn new(streams: usize) -> Self {
        let times = streams.div_ceil(STREAMS_PER_INTERVAL).max(1).next_power_of_two();
        Self { length: Nanos(EVERY.0.saturating_mul(times as u64)), made: 0, rows: 0 }
    }

    /// Whether an interval as long as `span` is whole. Snapshots come somewhat before or after their time.
    fn is_whole(&self, span: Nanos) -> bool {
        span.saturating_add(Nanos(EVERY.0 / 2)) >= self.length
    }

    /// Counts an interval of this number of rows.
    fn count(&mut self, rows: usize) {
        self.rows = rows;
        self.made += rows.max(ROWS_PER_LENGTH / MOST);
        if self.made >= ROWS_PER_LENGTH {
            (self.made, self.length) = (0, Nanos(self.length.0.saturating_mul(2)));
        }
    }

    /// Maximum number of intervals that wait for the store.
    fn waiting_max(&self) -> usize {
        (ROWS_PER_LENGTH / self.rows.max(1)).clamp(1, MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the intervals of a run of this duration.
    fn lengths(rows: usize, seconds: f64) -> Vec<f64> {
        let (mut lengths, mut all, mut at) = (Lengths::new(rows), Vec::new(), 0.0);
        while at < seconds {
            let length = lengths.length.as_secs_f64();
            assert!(lengths.is_whole(lengths.length) && !lengths.is_whole(Nanos(lengths.length.0 / 3)));
            lengths.count(rows);
            all.push(length);
            at += length;
        }
        all
    }

    #[test]
    fn intervals_get_longer_instead_of_many() {
        let day = lengths(4, 86_400.0);
        assert!(day.len() < 10_000, "{}", day.len());
        assert!(day[..MOST].iter().all(|length| *length == 0.1));
        assert!(day[day.len() - 1] < 86_400.0 / 500.0);
        let of_many = lengths(2 * ROWS_OF_STREAMS_MAX, 86_400.0);
        assert!(of_many.len() * 2 * ROWS_OF_STREAMS_MAX < 500_000, "{}", of_many.len());
        assert_eq!(lengths(engine::STREAMS_KEPT, 10.0)[0], 1.6, "adding up takes time");
        assert_eq!(lengths(4, 9.95).len(), 100);
    }
}
