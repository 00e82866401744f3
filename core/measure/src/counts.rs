//! Sums from which the reported figures follow. All of them add up exactly, in any order.

/// Count, extremes and moments of a quantity in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moments {
    /// How many values.
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
    /// Takes one value.
    #[inline(always)]
    pub fn add(&mut self, value: u64) {
        self.samples += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.squares += u128::from(value) * u128::from(value);
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

/// What is known of one stream's arrivals, but for the latency histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets received for the first time.
    pub received: u64,
    /// Packets received again.
    pub duplicates: u64,
    /// Packets received after one sent later (RFC 4737).
    pub reordered: u64,
    /// Packets too far behind to tell late from duplicate; counted as lost.
    pub stale: u64,
    /// Farthest a reordered packet was behind, in sequence numbers.
    pub reorder_distance_max: u64,
    /// One-way delay, ns.
    pub latency: Moments,
    /// |D(i) − D(i−1)| of consecutive received packets (RFC 4689 section 3.2.5), ns.
    pub delay_change: Moments,
    /// Time between consecutive arrivals, ns.
    pub interarrival: Moments,
}

impl Counts {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.stale += other.stale;
        self.reorder_distance_max = self.reorder_distance_max.max(other.reorder_distance_max);
        self.latency.merge(&other.latency);
        self.delay_change.merge(&other.delay_change);
        self.interarrival.merge(&other.interarrival);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_known_series() {
        let mut m = Moments::default();
        assert_eq!((m.mean(), m.stddev()), (None, None));
        [2, 4, 4, 4, 5, 5, 7, 9].iter().for_each(|v| m.add(*v));
        assert_eq!((m.samples, m.min, m.max, m.mean(), m.stddev()), (8, 2, 9, Some(5.0), Some(2.0)));
    }
}
