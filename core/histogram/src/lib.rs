//! Log-linear histograms of nanoseconds, in the manner of HDR histograms: every octave is cut into the same number of
//! equal buckets, so the relative error is the same everywhere.
//!
//! Not here: minimum, maximum and mean, which their owners keep exactly.
//!
//! Separate because pacing (`sched`) and latency (`measure`) both need one, and neither should know the other.
//!
//! Invariant: for every value v below the ceiling, `scale.highest(scale.index(v))` is at least v and at most
//! v × (1 + [`Scale::relative_error`]).

#![forbid(unsafe_code)]

mod sparse;
mod timing;

pub use sparse::SparseHistogram;
pub use timing::Timing;

/// Values of 2^36 ns (about 69 s) and more share the last bucket.
pub const CEILING_BITS: u32 = 36;

/// Resolution of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    bits: u32,
}

impl Scale {
    /// Relative error below 0.1%: 27,648 buckets.
    pub const FINE: Self = Self { bits: 11 };
    /// Relative error below 0.8%: 3,840 buckets.
    pub const MEDIUM: Self = Self { bits: 8 };
    /// Relative error below 3.2%: 1,024 buckets.
    pub const COARSE: Self = Self { bits: 6 };

    /// Number of buckets.
    pub const fn buckets(self) -> usize {
        (1 << self.bits) + ((CEILING_BITS - self.bits) as usize) * (1 << (self.bits - 1))
    }

    /// Bucket of `value`.
    #[inline(always)]
    pub const fn index(self, value: u64) -> usize {
        if value < 1 << self.bits {
            return value as usize;
        }
        let octave = 63 - value.leading_zeros();
        if octave >= CEILING_BITS {
            return self.buckets() - 1;
        }
        let shift = octave + 1 - self.bits;
        // The leading bit is always set, so each octave above the first has half of 2^bits buckets.
        ((shift as usize) << (self.bits - 1)) + (value >> shift) as usize
    }

    /// Highest value of bucket `index`.
    pub const fn highest(self, index: usize) -> u64 {
        let half = 1usize << (self.bits - 1);
        if index < 2 * half {
            return index as u64;
        }
        let shift = index / half - 1;
        let mantissa = index - shift * half;
        ((mantissa as u64 + 1) << shift) - 1
    }

    /// Maximum relative excess of a reported value over the true one.
    pub fn relative_error(self) -> f64 {
        1.0 / f64::from(1u32 << (self.bits - 1))
    }
}

/// Counts over a scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    scale: Scale,
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    /// An empty histogram.
    pub fn new(scale: Scale) -> Self {
        Self { scale, counts: vec![0; scale.buckets()], total: 0 }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_at(self.scale.index(value));
    }

    /// Counts one value in the bucket that [`Scale::index`] has for it.
    ///
    /// # Panics
    /// If there is no such bucket.
    #[inline(always)]
    pub fn record_at(&mut self, bucket: usize) {
        self.counts[bucket] += 1;
        self.total += 1;
    }

    /// Counts a value `times` times in the bucket that [`Scale::index`] has for it.
    ///
    /// # Panics
    /// If there is no such bucket.
    pub fn record_many_at(&mut self, bucket: usize, times: u64) {
        self.counts[bucket] += times;
        self.total += times;
    }

    /// Adds another histogram of the same scale.
    ///
    /// # Panics
    /// If the scales differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.scale, other.scale, "histograms of different scales can't be merged");
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    /// Forgets everything counted.
    pub fn clear(&mut self) {
        if self.total > 0 {
            self.counts.fill(0);
            self.total = 0;
        }
    }

    /// Values counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The smallest bucket end that at least a share `q` (0 to 1) of the values does not exceed; `None` if empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((q * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(self.scale.highest(index));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SCALES: [Scale; 3] = [Scale::FINE, Scale::MEDIUM, Scale::COARSE];

    #[test]
    fn sizes_are_as_documented() {
        assert_eq!(SCALES.map(Scale::buckets), [27_648, 3_840, 1_024]);
    }

    #[test]
    fn every_bucket_holds_its_own_highest_value() {
        for scale in SCALES {
            for index in 0..scale.buckets() {
                assert_eq!(scale.index(scale.highest(index)), index);
            }
            assert_eq!(scale.index(u64::MAX), scale.buckets() - 1);
        }
    }

    #[test]
    fn quantiles_of_known_values() {
        let mut h = Histogram::new(Scale::FINE);
        assert_eq!(h.quantile(0.5), None);
        for v in 1..=1000 {
            h.record(v);
        }
        assert_eq!([0.0, 0.5, 0.99, 0.999, 1.0].map(|q| h.quantile(q).unwrap()), [1, 500, 990, 999, 1000]);
    }

    proptest! {
        #[test]
        fn error_is_bounded(value in 0u64..1 << CEILING_BITS) {
            for scale in SCALES {
                let highest = scale.highest(scale.index(value));
                prop_assert!(highest >= value);
                prop_assert!((highest - value) as f64 <= value as f64 * scale.relative_error());
            }
        }

        #[test]
        fn merging_is_recording_both(a in proptest::collection::vec(any::<u64>(), 0..50),
                                     b in proptest::collection::vec(any::<u64>(), 0..50)) {
            let mut of_a = Histogram::new(Scale::COARSE);
            let mut of_b = of_a.clone();
            let mut of_both = of_a.clone();
            a.iter().for_each(|v| of_a.record(*v));
            b.iter().for_each(|v| of_b.record(*v));
            a.iter().chain(&b).for_each(|v| of_both.record(*v));
            of_a.merge(&of_b);
            prop_assert_eq!(of_a, of_both);
        }
    }
}
