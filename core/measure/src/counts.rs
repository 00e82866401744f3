//! Sums from which the reported figures follow. All of them add up exactly, in any order.

use serde::{Deserialize, Serialize};

/// Count, extremes and moments of a quantity in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// Number of values.
    pub samples: u64,
    /// Smallest; `u64::MAX` if there is none.
    pub min: u64,
    /// Largest.
    pub max: u64,
    sum: u128,
    squares: u128,
}

impl Default for Moments {
    fn default() -> Self {
        Self { samples: 0, min: u64::MAX, max: 0, sum: 0, squares: 0 }
    }
}

impl Moments {
    /// Adds a value this number of times, at least once.
    #[inline]
    pub(crate) fn add(&mut self, value: u64, times: u64) {
        self.samples += times;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value) * u128::from(times);
        self.squares += u128::from(value) * u128::from(value) * u128::from(times);
    }

    /// Adds what another has taken.
    pub fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Arithmetic mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum as f64 / self.samples as f64)
    }

    /// Standard deviation over all values (not of a sample); `None` of nothing.
    pub fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.squares as f64 / self.samples as f64 - mean * mean).max(0.0).sqrt())
    }
}

/// Count, maximum and sum of a quantity in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DelayVariation {
    /// Number of values.
    pub samples: u64,
    /// Largest.
    pub max: u64,
    sum: u128,
}

impl DelayVariation {
    /// Adds what another has taken.
    pub fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// Arithmetic mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum as f64 / self.samples as f64)
    }
}

/// Counts of one stream's arrivals, except for the latency histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Packets received for the first time.
    pub received: u64,
    /// Their bytes, by their arrivals.
    pub bytes: u64,
    /// Packets received again.
    pub duplicates: u64,
    /// Packets received after one sent later (RFC 4737).
    pub reordered: u64,
    /// Packets too far behind to distinguish late ones from duplicates; counted as lost.
    pub stale: u64,
    /// Packets more than [`crate::WINDOW`] ahead that no later packet confirmed: their number is wrong. Not received.
    pub rejected: u64,
    /// Farthest a reordered packet was behind, in sequence numbers.
    pub reorder_distance_max: u64,
    /// One-way delay, ns.
    pub latency: Moments,
    /// |D(i) − D(i−1)| of consecutive received packets (RFC 4689 section 3.2.5), ns.
    pub delay_change: DelayVariation,
    /// Time between consecutive arrivals, ns.
    pub interarrival: Moments,
    /// Numbers missing before packets that no pause touched, so that none can have cost them; of one receiver only.
    pub missed: i64,
}

impl Counts {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.bytes += other.bytes;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.stale += other.stale;
        self.rejected += other.rejected;
        self.reorder_distance_max = self.reorder_distance_max.max(other.reorder_distance_max);
        self.latency.merge(&other.latency);
        self.delay_change.merge(&other.delay_change);
        self.interarrival.merge(&other.interarrival);
        self.missed += other.missed;
    }

    /// The same with what was counted of packets that pauses touched.
    pub(crate) fn with_touched(mut self, touched: &Row) -> Self {
        self.merge(&touched.counts(&Rare::default()));
        self
    }
}

/// Minimum, maximum, sum and squares of values whose count is kept elsewhere, small enough for a worker's cache.
///
/// The sum has 64 bits and stops at the top: an interval would have to hold 5 · 10^8 packets of 37 s each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compact {
    pub(crate) min: u64,
    pub(crate) max: u64,
    sum: u64,
    squares: [u64; 2],
}

impl Default for Compact {
    fn default() -> Self {
        Self { min: u64::MAX, max: 0, sum: 0, squares: [0; 2] }
    }
}

impl Compact {
    #[inline(always)]
    pub(crate) fn add(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum = self.sum.saturating_add(value);
        self.add_squares(u128::from(value) * u128::from(value));
    }

    /// Adds a value this number of times, at least once.
    #[inline(always)]
    pub(crate) fn add_times(&mut self, value: u64, times: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if let Some(sum) = value.checked_mul(times) {
            self.sum = self.sum.saturating_add(sum);
            self.add_squares(u128::from(sum) * u128::from(value));
        } else {
            self.sum = u64::MAX;
            self.add_squares(u128::from(value) * u128::from(value) * u128::from(times));
        }
    }

    #[inline(always)]
    fn add_squares(&mut self, squares: u128) {
        let squares = self.squares() + squares;
        self.squares = [squares as u64, (squares >> 64) as u64];
    }

    /// Adds zeros, which change neither sum nor squares.
    #[inline(always)]
    pub(crate) fn add_zeros(&mut self, times: u64) {
        self.min = if times > 0 { 0 } else { self.min };
    }

    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    #[inline(always)]
    fn squares(&self) -> u128 {
        u128::from(self.squares[0]) | u128::from(self.squares[1]) << 64
    }

    fn moments(&self, samples: u64) -> Moments {
        Moments { samples, min: self.min, max: self.max, sum: u128::from(self.sum), squares: self.squares() }
    }
}

/// Counts that change with every packet of a stream: two cache lines.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(128))]
pub(crate) struct Row {
    pub(crate) received: u64,
    bytes: u64,
    /// Arrivals that had one before them.
    pub(crate) pairs: u64,
    pub(crate) latency: Compact,
    pub(crate) interarrival: Compact,
    change_sum: u64,
    pub(crate) change_max: u64,
    /// Instant of the first arrival of all, if it is in this table, ns plus 1.
    first: u64,
}

const _: () = assert!(size_of::<Row>() == 128);

impl Row {
    /// Takes a packet of which no delay is known.
    pub(crate) fn counted(&mut self, bytes: u16) {
        self.received += 1;
        self.bytes += u64::from(bytes);
    }

    /// Takes the delay of packets of one length.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, packets: u64, bytes: u16, latency: u64) {
        self.received += packets;
        self.bytes += packets * u64::from(bytes);
        self.latency.add_times(latency, packets);
    }

    /// Takes what sets a packet apart from the one before it.
    #[inline(always)]
    pub(crate) fn followed(&mut self, change: u64, interarrival: u64) {
        self.pairs += 1;
        self.change_sum = self.change_sum.saturating_add(change);
        self.change_max = self.change_max.max(change);
        self.interarrival.add(interarrival);
    }

    /// Takes packets that arrived with the one before them and took as long.
    #[inline(always)]
    pub(crate) fn followed_at_once(&mut self, packets: u64) {
        self.pairs += packets;
        self.interarrival.add_zeros(packets);
    }

    /// Takes the instant of the first packet of all, ns.
    #[inline(always)]
    pub(crate) fn began(&mut self, at: u64) {
        self.first = at + 1;
    }

    /// Whether nothing was counted here.
    pub(crate) fn is_empty(&self) -> bool {
        self.received + self.pairs + self.first == 0
    }

    /// The instant of the first arrival of all, ns, if it was counted here.
    pub(crate) fn first(&self) -> Option<u64> {
        self.first.checked_sub(1)
    }

    /// The same as counts that can be added up.
    pub(crate) fn counts(&self, rare: &Rare) -> Counts {
        Counts {
            received: self.received,
            bytes: self.bytes,
            duplicates: rare.duplicates,
            reordered: rare.reordered,
            stale: rare.stale,
            rejected: rare.rejected,
            reorder_distance_max: rare.reorder_distance_max,
            latency: self.latency.moments(self.received.saturating_sub(rare.untimed)),
            delay_change: DelayVariation {
                samples: self.pairs,
                max: self.change_max,
                sum: u128::from(self.change_sum),
            },
            interarrival: self.interarrival.moments(self.pairs),
            missed: rare.missed,
        }
    }
}

/// Counts that stay zero on a healthy network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rare {
    pub(crate) duplicates: u64,
    pub(crate) reordered: u64,
    pub(crate) stale: u64,
    pub(crate) rejected: u64,
    /// Received packets of which no delay is known.
    pub(crate) untimed: u64,
    pub(crate) reorder_distance_max: u64,
    /// See [`Counts::missed`].
    pub(crate) missed: i64,
}

impl Rare {
    /// Whether nothing was counted here.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_of_a_known_series() {
        assert_eq!((Moments::default().mean(), Moments::default().stddev()), (None, None));
        let mut compact = Compact::default();
        [2, 4, 4, 4, 5, 5, 7, 9].iter().for_each(|v| compact.add(*v));
        let m = compact.moments(8);
        assert_eq!((m.samples, m.min, m.max, m.mean(), m.stddev()), (8, 2, 9, Some(5.0), Some(2.0)));
    }

    proptest! {
        /// Whichever machine took a value: merged sums equal the sums over all values, and so does what follows, to the last bit.
        #[test]
        fn machines_add_up_to_one(parts in proptest::collection::vec(proptest::collection::vec(0..u64::MAX >> 8, 0..20), 1..6)) {
            let mut all = Counts::default();
            let mut merged = Counts::default();
            for values in parts.iter().rev() {
                let mut part = Counts::default();
                for counts in [&mut part, &mut all] {
                    for value in values {
                        counts.latency.add(*value, 1);
                        counts.interarrival.add(*value / 3, 2);
                    }
                }
                merged.merge(&part);
            }
            prop_assert_eq!(merged, all);
            let bits = |moments: &Moments| [moments.mean(), moments.stddev()].map(|value| value.map(f64::to_bits));
            prop_assert_eq!(bits(&merged.latency), bits(&all.latency));
        }
    }
}
