//! By which port the packets of a stream came that may come by several, and when the first and the last did.
//!
//! Beside the recorder, which knows no ports: a burst has one, so its arrivals are counted here once more.
//!
//! Not here: which port is which path, and whether it is the right one. Duplicates count, as often as they come.

use crate::recorder::Arrival;
use units::Nanos;

/// Arrivals of a stream at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathCounts {
    /// Packets that arrived.
    pub received: u64,
    /// When the first one arrived.
    pub first_arrival: Nanos,
    /// When the last one did.
    pub last_arrival: Nanos,
    /// When the first one to leave of them was sent.
    pub first_departure: Nanos,
    /// When the last one to leave of them was sent.
    pub last_departure: Nanos,
}

impl PathCounts {
    const NOTHING: Self = Self {
        received: 0,
        first_arrival: Nanos::MAX,
        last_arrival: Nanos::ZERO,
        first_departure: Nanos::MAX,
        last_departure: Nanos::ZERO,
    };

    fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.first_arrival = self.first_arrival.min(other.first_arrival);
        self.last_arrival = self.last_arrival.max(other.last_arrival);
        self.first_departure = self.first_departure.min(other.first_departure);
        self.last_departure = self.last_departure.max(other.last_departure);
    }
}

/// Arrivals of streams by port. Empty, it counts nothing.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// By stream, then by port.
    rows: Vec<PathCounts>,
    ports: usize,
}

impl Paths {
    /// Nothing arrived yet of `streams` streams at `ports` ports.
    pub fn new(streams: usize, ports: usize) -> Self {
        Self { rows: vec![PathCounts::NOTHING; streams * ports], ports }
    }

    /// Whether there are streams to count.
    #[inline]
    pub fn is_counting(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Counts a burst that arrived at `port` at `now`; arrivals of streams there are not are left out.
    #[inline]
    pub fn record(&mut self, port: usize, arrivals: &[Arrival], now: Nanos) {
        if self.is_counting() {
            arrivals.iter().for_each(|arrival| self.take(port, arrival, now));
        }
    }

    fn take(&mut self, port: usize, arrival: &Arrival, now: Nanos) {
        if let Some(row) = self.rows.get_mut(arrival.stream as usize * self.ports + port) {
            let departure = now.since(Nanos(arrival.latency));
            row.merge(&PathCounts {
                received: arrival.packets.into(),
                first_arrival: now,
                last_arrival: now,
                first_departure: departure,
                last_departure: departure,
            });
        }
    }

    /// Forgets everything counted.
    pub fn clear(&mut self) {
        self.rows.fill(PathCounts::NOTHING);
    }

    /// Adds what another of the same shape has counted.
    pub fn merge(&mut self, other: &Self) {
        self.rows.iter_mut().zip(&other.rows).for_each(|(row, other)| row.merge(other));
    }

    /// The arrivals of a stream, with the number of their port; ports without any are left out.
    pub fn of(&self, stream: usize) -> impl Iterator<Item = (usize, &PathCounts)> {
        let rows = self.rows.iter().skip(stream * self.ports).take(self.ports).enumerate();
        rows.filter(|(_, row)| row.received > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_changes_its_path() {
        let arrival = |stream, latency| Arrival { stream, latency, ..Arrival::default() };
        let (mut one, mut other) = (Paths::new(2, 3), Paths::new(2, 3));
        one.record(0, &[arrival(1, 5), arrival(0, 7)], Nanos(100));
        one.record(2, &[arrival(1, 30)], Nanos(150));
        other.record(0, &[arrival(1, 5), arrival(9, 5)], Nanos(90));
        // The last to arrive is not the last that left.
        other.record(2, &[arrival(1, 90)], Nanos(160));
        let mut sum = Paths::new(2, 3);
        sum.merge(&one);
        sum.merge(&other);
        let of = |stream| {
            let row = |(port, row): (usize, &PathCounts)| {
                let [a, b, c, d] =
                    [row.first_arrival, row.last_arrival, row.first_departure, row.last_departure];
                (port, row.received, [a.0, b.0, c.0, d.0])
            };
            sum.of(stream).map(row).collect::<Vec<_>>()
        };
        assert_eq!(of(0), [(0, 1, [100, 100, 93, 93])]);
        assert_eq!(of(1), [(0, 2, [90, 100, 85, 95]), (2, 2, [150, 160, 70, 120])]);
        sum.clear();
        assert_eq!(sum.of(1).count(), 0);
        let mut none = Paths::default();
        none.record(0, &[arrival(0, 1)], Nanos(5));
        assert_eq!(none.of(0).count(), 0);
    }
}
