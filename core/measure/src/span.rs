//! From a stream's first arrival to its last.
//!
//! The times between arrivals add up to the time from the first to the last, so nothing is kept for each packet.

use crate::recorder::Table;
use units::Nanos;

/// When the first and the last packet of a stream came in, on one worker or on several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: Nanos,
    /// The last so far.
    pub last: Nanos,
}

impl Span {
    /// The span of both.
    pub fn join(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

/// Spans of all streams as each worker sees them.
#[derive(Debug, Clone)]
pub struct Spans {
    /// By worker, then by stream.
    spans: Vec<Vec<Option<Span>>>,
}

impl Spans {
    /// Nothing arrived yet.
    pub fn new(streams: usize, workers: usize) -> Self {
        Self { spans: vec![vec![None; streams]; workers] }
    }

    /// Has room for `streams` streams, at least as many as before.
    pub fn grow(&mut self, streams: usize) {
        self.spans.iter_mut().for_each(|worker| worker.resize(streams, None));
    }

    /// Adds a table of `worker`, in the order in which it counted them.
    pub fn add(&mut self, worker: usize, table: &Table) {
        if !table.is_used {
            return;
        }
        for (stream, span) in self.spans[worker].iter_mut().enumerate().take(table.rows.len()) {
            let (received, first, between) = table.arrivals(stream);
            if received == 0 {
                continue;
            }
            let begun = || first.map(|first| Span { first: Nanos(first), last: Nanos(first) });
            *span = span.or_else(begun);
            if let Some(span) = span {
                span.last = span.last.saturating_add(Nanos(between));
            }
        }
    }

    /// The span of a stream over all workers; `None` if nothing of it has arrived.
    pub fn of(&self, stream: usize) -> Option<Span> {
        self.spans.iter().filter_map(|worker| worker[stream]).reduce(Span::join)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Arrival, Recorder};

    #[test]
    fn the_first_and_the_last_of_all_workers_and_intervals() {
        let mut spans = Spans::new(2, 2);
        let mut workers = [(); 2].map(|()| Recorder::new(Table::new(2, None), 1));
        let mut arrive = |worker: usize, instants: &[u64], first: u32| {
            for (sequence, at) in (first..).zip(instants) {
                workers[worker].record(&[Arrival { stream: 1, sequence, ..Arrival::default() }], Nanos(*at));
            }
            let mut table = Table::new(2, None);
            workers[worker].swap(&mut table);
            spans.add(worker, &table);
            spans.of(1).map(|span| (span.first.0, span.last.0))
        };
        assert_eq!(arrive(0, &[], 0), None);
        assert_eq!(arrive(0, &[50], 0), Some((50, 50)));
        assert_eq!(arrive(0, &[], 1), Some((50, 50)));
        assert_eq!(arrive(1, &[40, 70], 0), Some((40, 70)));
        assert_eq!(arrive(0, &[60, 90, 90], 1), Some((40, 90)));
        // A duplicate is no arrival.
        assert_eq!(arrive(0, &[99], 1), Some((40, 90)));
        assert_eq!(spans.of(0), None);
    }
}
