//! Arrivals by the value of bits that a device may have changed, such as a DSCP or a VLAN priority.
//!
//! Beside the recorder, like [`crate::Paths`]: the reader of the frame gives each arrival the number of its row.
//!
//! Not here: which bits these are, and which row is which value of which stream. Duplicates count, as often as they come.

use crate::counts::Moments;
use crate::recorder::Arrival;
use units::Nanos;

/// Arrivals that had one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EgressCounts {
    /// Their bytes with FCS.
    pub bytes: u64,
    /// When the first one arrived.
    pub first_arrival: Nanos,
    /// When the last one did.
    pub last_arrival: Nanos,
    /// One-way delay, ns; `samples` is the number of packets.
    pub latency: Moments,
}

impl EgressCounts {
    fn nothing() -> Self {
        Self { bytes: 0, first_arrival: Nanos::MAX, last_arrival: Nanos::ZERO, latency: Moments::default() }
    }

    fn take(&mut self, arrival: &Arrival, now: Nanos) {
        let packets = u64::from(arrival.packets);
        self.bytes += packets * u64::from(arrival.bytes);
        self.first_arrival = self.first_arrival.min(now);
        self.last_arrival = self.last_arrival.max(now);
        self.latency.add(arrival.latency, packets);
    }

    fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.first_arrival = self.first_arrival.min(other.first_arrival);
        self.last_arrival = self.last_arrival.max(other.last_arrival);
        self.latency.merge(&other.latency);
    }
}

/// Arrivals by row. Empty, it counts nothing.
#[derive(Debug, Clone, Default)]
pub struct Egress {
    rows: Vec<EgressCounts>,
}

impl Egress {
    /// Nothing arrived yet in rows 1 to `rows`.
    pub fn new(rows: usize) -> Self {
        Self { rows: vec![EgressCounts::nothing(); rows] }
    }

    /// Counts a burst that arrived at `now`; arrivals of row 0 and of rows there are not are left out.
    #[inline]
    pub fn record(&mut self, arrivals: &[Arrival], now: Nanos) {
        if !self.rows.is_empty() {
            arrivals.iter().for_each(|arrival| self.take(arrival, now));
        }
    }

    fn take(&mut self, arrival: &Arrival, now: Nanos) {
        let row = (arrival.egress as usize).wrapping_sub(1);
        if let Some(row) = self.rows.get_mut(row) {
            row.take(arrival, now);
        }
    }

    /// Forgets everything counted.
    pub fn clear(&mut self) {
        self.rows.fill(EgressCounts::nothing());
    }

    /// Adds what another of the same shape has counted.
    pub fn merge(&mut self, other: &Self) {
        let seen = self.rows.iter_mut().zip(&other.rows).filter(|(_, other)| other.latency.samples > 0);
        seen.for_each(|(row, other)| row.merge(other));
    }

    /// Counts of row `row`, from 1 on; `None` if there are none.
    pub fn row(&self, row: u32) -> Option<&EgressCounts> {
        self.rows.get((row as usize).wrapping_sub(1)).filter(|row| row.latency.samples > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_counted_by_row() {
        let arrival = |egress, latency| Arrival { egress, latency, bytes: 64, ..Arrival::default() };
        let (mut one, mut other) = (Egress::new(3), Egress::new(3));
        one.record(&[arrival(1, 5), arrival(3, 7), arrival(0, 1), arrival(4, 1)], Nanos(100));
        other.record(&[arrival(3, 9)], Nanos(90));
        let mut sum = Egress::new(3);
        sum.merge(&one);
        sum.merge(&other);
        assert_eq!(sum.row(1).map(|row| (row.latency.samples, row.bytes)), Some((1, 64)));
        assert_eq!([0, 2, 4].map(|row| sum.row(row)), [None; 3]);
        let both = sum.row(3).unwrap();
        assert_eq!((both.first_arrival, both.last_arrival), (Nanos(90), Nanos(100)));
        let moments = both.latency;
        assert_eq!((moments.samples, moments.min, moments.max, moments.mean()), (2, 7, 9, Some(8.0)));
        assert_eq!(moments.stddev(), Some(1.0));
        sum.clear();
        assert_eq!(sum.row(3), None);
        let mut none = Egress::default();
        none.record(&[arrival(1, 5)], Nanos(5));
        assert_eq!(none.row(1), None);
    }
}
