//! A share of samples, with bounds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples that show something, of all.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Samples that show it.
    pub count: u64,
    /// All samples.
    pub of: u64,
    /// Lower bound of the share, 95 % confidence (Wilson score interval).
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
}

/// Normal quantile of 95 % confidence.
const Z: f64 = 1.959_963_985;

impl Share {
    /// `count` of `of`; of nothing, the share lies anywhere.
    pub fn new(count: u64, of: u64) -> Self {
        if of == 0 {
            return Self { count, of, lower: 0.0, upper: 1.0 };
        }
        let (n, p) = (of as f64, count.min(of) as f64 / of as f64);
        let scale = 1.0 + Z * Z / n;
        let middle = (p + Z * Z / (2.0 * n)) / scale;
        let half = Z / scale * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let lower = if count == 0 { 0.0 } else { (middle - half).max(0.0) };
        let upper = if count >= of { 1.0 } else { (middle + half).min(1.0) };
        Self { count, of, lower, upper }
    }

    /// Of the samples that `all` yields, those that are true.
    pub fn of(all: impl IntoIterator<Item = bool>) -> Self {
        let (count, of) = all.into_iter().fold((0, 0), |(count, of), is| (count + u64::from(is), of + 1));
        Self::new(count, of)
    }

    /// The share, 0 to 1; `None` of nothing.
    pub fn ratio(&self) -> Option<f64> {
        (self.of > 0).then(|| self.count as f64 / self.of as f64)
    }

    /// Whether all samples show it, and there are some.
    pub fn is_all(&self) -> bool {
        self.of > 0 && self.count == self.of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_the_share_and_narrow_with_samples() {
        let (few, many) = (Share::new(5, 10), Share::new(500, 1000));
        assert!(few.lower < 0.5 && few.upper > 0.5 && many.upper - many.lower < few.upper - few.lower);
        // Wilson's interval of 5 in 10, as tables have it.
        assert!((few.lower - 0.2366).abs() < 1e-4 && (few.upper - 0.7634).abs() < 1e-4, "{few:?}");
        assert_eq!(
            (Share::new(0, 0).lower, Share::new(0, 0).upper, Share::new(0, 0).ratio()),
            (0.0, 1.0, None)
        );
        assert_eq!((Share::new(7, 7).upper, Share::new(0, 7).lower), (1.0, 0.0));
    }
}
