//! Takes arrivals, a burst at a time, on the worker's core.

use crate::counts::Counts;
use crate::order::{Lane, Order};
use crate::totals::Jitter;
use histogram::Scale;
use units::Nanos;

/// A test packet that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Index of its stream.
    pub stream: u32,
    /// Which worker sent it.
    pub lane: u8,
    /// Low 32 bits of its sequence number in the lane.
    pub sequence: u32,
    /// Arrival minus departure, ns.
    pub latency: u64,
}

/// What was counted since the last swap: one row for each stream.
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) rows: Vec<Counts>,
    /// Latency buckets of all streams in one block; empty if no histogram is kept.
    pub(crate) buckets: Vec<u32>,
    pub(crate) scale: Option<Scale>,
}

impl Table {
    /// An empty table of `streams` rows; without a scale, no latency histogram is kept.
    pub fn new(streams: usize, scale: Option<Scale>) -> Self {
        let per_stream = scale.map_or(0, Scale::buckets);
        Self { rows: vec![Counts::default(); streams], buckets: vec![0; streams * per_stream], scale }
    }

    /// Forgets everything counted.
    pub fn clear(&mut self) {
        self.rows.fill(Counts::default());
        self.buckets.fill(0);
    }

    /// The rows, one for each stream.
    pub fn rows(&self) -> &[Counts] {
        &self.rows
    }
}

/// What lasts from packet to packet of a stream.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    arrival: Nanos,
    latency: u64,
    /// RFC 3550's J times 16 (appendix A.8 keeps it so).
    jitter_16: u64,
    seen: u64,
}

/// One worker's view of all streams.
#[derive(Debug)]
pub struct Recorder {
    table: Table,
    last: Vec<Last>,
    lanes: Vec<Lane>,
    lanes_per_stream: usize,
}

/// From this many streams on, rows are loaded for a whole burst before they are used: the loads overlap.
const WARM_FROM: usize = 64;

impl Recorder {
    /// A recorder for `streams` streams sent by at most `lanes` workers each.
    pub fn new(streams: usize, lanes: usize, scale: Option<Scale>) -> Self {
        Self {
            table: Table::new(streams, scale),
            last: vec![Last::default(); streams],
            lanes: vec![Lane::default(); streams * lanes],
            lanes_per_stream: lanes,
        }
    }

    /// Counts a burst that arrived at `now`. Returns how many arrivals name a stream or lane there is not; they are
    /// left out.
    #[inline]
    pub fn record(&mut self, arrivals: &[Arrival], now: Nanos) -> u64 {
        if self.last.len() >= WARM_FROM {
            std::hint::black_box(self.touch(arrivals));
        }
        let mut unknown = 0;
        for arrival in arrivals {
            unknown += u64::from(!self.take(arrival, now));
        }
        unknown
    }

    /// Reads one word of everything the burst will need; the loads do not wait for one another.
    #[inline(always)]
    fn touch(&self, arrivals: &[Arrival]) -> u64 {
        let mut sum = 0u64;
        for a in arrivals {
            let stream = a.stream as usize;
            sum ^= self.last.get(stream).map_or(0, |l| l.latency);
            sum ^= self
                .lanes
                .get(stream * self.lanes_per_stream + usize::from(a.lane))
                .map_or(0, Lane::expected);
            if let Some(row) = self.table.rows.get(stream) {
                sum ^= row.received ^ row.latency.max ^ row.interarrival.max;
            }
            if let Some(scale) = self.table.scale {
                let bucket = stream * scale.buckets() + scale.index(a.latency);
                sum ^= u64::from(self.table.buckets.get(bucket).copied().unwrap_or(0));
            }
        }
        sum
    }

    #[inline(always)]
    fn take(&mut self, a: &Arrival, now: Nanos) -> bool {
        let stream = a.stream as usize;
        let (Some(row), Some(last)) = (self.table.rows.get_mut(stream), self.last.get_mut(stream)) else {
            return false;
        };
        if usize::from(a.lane) >= self.lanes_per_stream {
            return false;
        }
        match self.lanes[stream * self.lanes_per_stream + usize::from(a.lane)].arrived(a.sequence) {
            Order::InOrder => {}
            Order::Reordered(distance) => {
                row.reordered += 1;
                row.reorder_distance_max = row.reorder_distance_max.max(distance);
            }
            Order::Duplicate => {
                row.duplicates += 1;
                return true;
            }
            Order::Stale => {
                row.stale += 1;
                return true;
            }
        }
        row.received += 1;
        row.latency.add(a.latency);
        if let Some(scale) = self.table.scale {
            self.table.buckets[stream * scale.buckets() + scale.index(a.latency)] += 1;
        }
        if last.seen > 0 {
            let change = a.latency.abs_diff(last.latency);
            row.delay_change.add(change);
            row.interarrival.add(now.since(last.arrival).0);
            // RFC 3550 appendix A.8: J += |D| − ((J + 8) >> 4), with J scaled by 16.
            last.jitter_16 = last.jitter_16 + change - ((last.jitter_16 + 8) >> 4);
        }
        *last = Last { arrival: now, latency: a.latency, jitter_16: last.jitter_16, seen: last.seen + 1 };
        true
    }

    /// Exchanges what was counted for `empty`.
    ///
    /// # Panics
    /// If `empty` has not the same shape.
    pub fn swap(&mut self, empty: &mut Table) {
        assert!(empty.rows.len() == self.table.rows.len() && empty.scale == self.table.scale);
        std::mem::swap(&mut self.table, empty);
    }

    /// RFC 3550 jitter of each stream as it stands.
    pub fn jitter(&self) -> impl Iterator<Item = Jitter> {
        self.last.iter().map(|l| Jitter::new(l.jitter_16 as f64 / 16.0, l.seen))
    }

    /// Packets the senders of `stream` had sent when the newest packet of each lane left, as far as can be seen here.
    pub fn expected(&self, stream: usize) -> u64 {
        let first = stream * self.lanes_per_stream;
        self.lanes[first..first + self.lanes_per_stream].iter().map(Lane::expected).sum()
    }
}
