//! Cuts the range of loads into equal steps on a logarithmic scale, so that a goal's width is a whole number of them and
//! two goals meet at the same loads.

use units::Pps;

/// A width of `w` steps is at least this share of the requested width, and never more than [`FIT_MAX`].
const FIT_MIN: f64 = 0.99;
/// Leaves room for rounding.
const FIT_MAX: f64 = 0.999_999;

/// Loads by number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    min: f64,
    max: f64,
    last: u32,
}

impl Grid {
    /// Loads from `min` to `max` (frames/s) for goals of these relative widths.
    pub(crate) fn new(min: f64, max: f64, widths: &[f64]) -> Self {
        let span = (max / min).ln();
        let narrowest = widths.iter().copied().fold(f64::INFINITY, f64::min);
        let least = (span / (log_width(narrowest) * FIT_MAX)).ceil().max(1.0) as u32;
        let fits = |last: u32| {
            widths.iter().all(|width| {
                let steps = log_width(*width) / (span / f64::from(last));
                let whole = (steps * FIT_MAX).floor();
                whole >= 1.0 && (whole >= steps * FIT_MIN || last == 1)
            })
        };
        // Within a hundred times the least number every width fits: a step is a hundredth of the narrowest then.
        let last = (least..=least.saturating_mul(101)).find(|last| fits(*last)).unwrap_or(least);
        Self { min, max, last }
    }

    /// The number of the largest load.
    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    /// Number of steps in a width, at least one.
    pub(crate) fn steps(&self, width: f64) -> u32 {
        let step = (self.max / self.min).ln() / f64::from(self.last);
        ((log_width(width) / step * FIT_MAX).floor() as u32).max(1)
    }

    /// Load `index`.
    pub(crate) fn load(&self, index: u32) -> Pps {
        let load = if index >= self.last {
            self.max
        } else {
            self.min * (f64::from(index) / f64::from(self.last) * (self.max / self.min).ln()).exp()
        };
        Pps::from_micro((load * 1e6).round() as u64)
    }

    /// The largest load of at most `rate` (frames/s, to the millionth as loads are), or the smallest.
    pub(crate) fn at_most(&self, rate: f64) -> u32 {
        if rate <= self.min {
            return 0;
        }
        let step = (self.max / self.min).ln() / f64::from(self.last);
        let near = (((rate / self.min).ln() / step).round() as u32).min(self.last);
        // The logarithm leads to within a step; the loads themselves, which are rounded, decide.
        let rate = Pps::from_micro((rate * 1e6).round() as u64);
        [near + 1, near]
            .into_iter()
            .find(|i| *i <= self.last && self.load(*i) <= rate)
            .unwrap_or(near.saturating_sub(1))
    }
}

/// From the upper bound down to the lower, on the logarithmic scale.
fn log_width(width: f64) -> f64 {
    -(1.0 - width).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_a_percent_from_a_thousand_to_a_billion() {
        let grid = Grid::new(1e3, 1e9, &[0.005, 0.005]);
        assert_eq!((grid.last(), grid.steps(0.005)), (2757, 1));
        assert!((grid.load(1378).as_f64() - 997_497.602_9).abs() < 1e-4);
        assert_eq!((grid.load(0), grid.load(2757)), (Pps::new(1_000), Pps::new(1_000_000_000)));
    }

    proptest! {
        #[test]
        fn widths_fit(min in 1.0f64..1e4, factor in 2.0f64..1e5, a in 0.0005f64..0.2, b in 0.0005f64..0.2) {
            let grid = Grid::new(min, min * factor, &[a, b]);
            for width in [a, b] {
                let steps = grid.steps(width);
                if steps < grid.last() {
                    let [low, high] = [0, steps].map(|i| grid.load(i).as_f64());
                    prop_assert!(high - low <= width * high + 2e-6, "{} steps", steps);
                    prop_assert!((high / low).ln() >= log_width(width) * 0.98 || grid.last() <= 2);
                }
            }
        }

        #[test]
        fn finds_its_own_loads(min in 1.0f64..1e4, factor in 2.0f64..1e5, width in 0.001f64..0.2) {
            let grid = Grid::new(min, min * factor, &[width]);
            for i in [0, 1, grid.last() / 2, grid.last()] {
                prop_assert_eq!(grid.at_most(grid.load(i).as_f64()), i);
            }
        }
    }
}
