//! Instants and durations in nanoseconds.

use crate::decimal::{self, QuantityError};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// Nanoseconds: an instant on the clock that drives the run, or a duration between two of them.
///
/// Text form: `30s`, `250us`, `1.5ms`, `2min`, `1h`, `80ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The beginning of the clock, or no time at all.
    pub const ZERO: Self = Self(0);
    /// Later than every instant.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// The same span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// This instant `span` later, at most [`Nanos::MAX`].
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl FromStr for Nanos {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bad = || QuantityError::new(text, "a duration such as 30s, 250us or 1.5ms");
        let (number, unit) = decimal::split(text).ok_or_else(bad)?;
        let (factor, power) = match unit {
            "ns" => (1, 0),
            "us" | "µs" => (1, 3),
            "ms" => (1, 6),
            "s" => (1, 9),
            "min" | "m" => (60, 9),
            "h" => (3600, 9),
            _ => return Err(bad()),
        };
        let ns = number.times_ten_to(power).and_then(|n| n.checked_mul(factor)).ok_or_else(bad)?;
        Ok(Self(ns))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0 => (0, "s"),
            n if n < 1_000 => (0, "ns"),
            n if n < 1_000_000 => (3, "us"),
            n if n < 1_000_000_000 => (6, "ms"),
            _ => (9, "s"),
        };
        decimal::write(f, self.0, scale)?;
        f.write_str(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_the_fields_units() {
        for (text, ns) in [
            ("30s", 30_000_000_000),
            ("250us", 250_000),
            ("1.5ms", 1_500_000),
            ("80 ns", 80),
            ("2min", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("0s", 0),
        ] {
            assert_eq!(text.parse::<Nanos>().unwrap().0, ns, "{text}");
        }
    }

    #[test]
    fn refuses_what_has_no_unit_or_is_no_number() {
        for text in ["", "10", "s", "-3s", "1.s", "1..2s", "3 parsecs", "0.1ns", "99999999999999h"] {
            let error = text.parse::<Nanos>().unwrap_err();
            assert_eq!(error.to_string(), format!("'{text}' is not a duration such as 30s, 250us or 1.5ms"));
        }
    }

    proptest! {
        #[test]
        fn prints_what_it_parses(ns: u64) {
            prop_assert_eq!(Nanos(ns).to_string().parse::<Nanos>().unwrap(), Nanos(ns));
        }
    }
}
