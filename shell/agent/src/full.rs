//! The last interval and the totals of a run, as its server keeps them.
//!
//! Of a run on several machines, both documents are made when they are read first: one of a million streams takes a second or more.

use crate::message::Full;
use api::{Neighbour, WorkerLoad};
use engine::RawRow;
use result::{IntervalDocument, TotalDocument, merge};
use std::fmt;
use std::sync::LazyLock;

/// A document that is made for its first reader.
type Lazy<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send>>;

/// A full snapshot. Its documents with rows are made for their first reader.
pub struct FullView {
    /// Time since traffic started, s.
    pub at_s: f64,
    /// Latencies of all streams since the start.
    pub latency: RawRow,
    /// Workers.
    pub workers: Vec<WorkerLoad>,
    /// Resolved neighbours.
    pub neighbours: Vec<Neighbour>,
    /// The interval without rows.
    head: IntervalDocument,
    interval: Lazy<IntervalDocument>,
    total: Lazy<TotalDocument>,
}

impl FullView {
    /// A snapshot like `full`, but with the interval and the totals that these make. The interval of `full` has the same times.
    pub fn new(
        full: Full,
        interval: impl FnOnce() -> IntervalDocument + Send + 'static,
        total: impl FnOnce() -> TotalDocument + Send + 'static,
    ) -> Self {
        let Full { at_s, interval: own, total: _, workers, neighbours, latency, raw: _ } = full;
        let head = merge::interval_head(std::iter::once(&own));
        let (interval, total) = (Lazy::new(Box::new(interval)), Lazy::new(Box::new(total)));
        Self { at_s, latency, workers, neighbours, head, interval, total }
    }

    /// The last interval.
    pub fn interval(&self) -> &IntervalDocument {
        &self.interval
    }

    /// Since the start.
    pub fn total(&self) -> &TotalDocument {
        &self.total
    }

    /// The same without totals, and without rows of the interval, which is made for it only `with_interval`.
    #[must_use]
    pub fn shrunk(&self, with_interval: bool) -> Self {
        let full = Full {
            at_s: self.at_s,
            interval: if with_interval { self.interval().clone() } else { self.head.clone() },
            total: TotalDocument::default(),
            workers: self.workers.clone(),
            neighbours: self.neighbours.clone(),
            latency: self.latency.clone(),
            raw: None,
        };
        full.into()
    }
}

impl From<Full> for FullView {
    fn from(mut full: Full) -> Self {
        let total = std::mem::take(&mut full.total);
        let interval = std::mem::take(&mut full.interval);
        full.interval = merge::interval_head(std::iter::once(&interval));
        Self::new(full, move || interval, move || total)
    }
}

impl fmt::Debug for FullView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FullView").field(&self.at_s).finish()
    }
}
