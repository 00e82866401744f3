//! Times with their distribution.

use crate::{Histogram, Scale};

/// Times in nanoseconds: how many of which length, to within 0.8%, and their exact ends, sum and squares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// Distribution of the values.
    pub histogram: Histogram,
    /// The shortest; [`u64::MAX`] if there is none.
    pub min: u64,
    /// The longest.
    pub max: u64,
    sum: u128,
    squares: u128,
}

/// Of all of them.
const SCALE: Scale = Scale::MEDIUM;

impl Default for Timing {
    fn default() -> Self {
        Self { histogram: Histogram::new(SCALE), min: u64::MAX, max: 0, sum: 0, squares: 0 }
    }
}

impl Timing {
    /// Counts one.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        // The scale is always the same, so its bucket is found by constants.
        self.histogram.record_at(SCALE.index(ns));
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.sum += u128::from(ns);
        self.squares += u128::from(ns) * u128::from(ns);
    }

    /// Counts the same one `times` times.
    pub fn record_many(&mut self, ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.histogram.record_many_at(SCALE.index(ns), times);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.sum += u128::from(ns) * u128::from(times);
        self.squares += u128::from(ns) * u128::from(ns) * u128::from(times);
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.histogram.total()
    }

    /// All together.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Their mean; `None` if there are none.
    pub fn mean(&self) -> Option<f64> {
        (self.samples() > 0).then(|| self.sum as f64 / self.samples() as f64)
    }

    /// Their standard deviation; `None` if there are none.
    pub fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.squares as f64 / self.samples() as f64 - mean * mean).max(0.0).sqrt())
    }

    /// Adds another one.
    pub fn merge(&mut self, other: &Self) {
        if other.samples() == 0 {
            return;
        }
        self.histogram.merge(&other.histogram);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        if self.samples() == 0 {
            return;
        }
        self.histogram.clear();
        (self.min, self.max, self.sum, self.squares) = (u64::MAX, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_spreads() {
        let mut times = Timing::default();
        assert_eq!((times.mean(), times.stddev()), (None, None));
        [2, 4, 4, 4, 5, 5, 7, 9].into_iter().for_each(|ns| times.record(ns));
        assert_eq!((times.mean(), times.stddev(), times.min, times.max), (Some(5.0), Some(2.0), 2, 9));
        let mut both = times.clone();
        both.merge(&times);
        assert_eq!((both.samples(), both.sum(), both.stddev()), (16, 80, Some(2.0)));
        both.clear();
        assert_eq!(both, Timing::default());
    }
}
