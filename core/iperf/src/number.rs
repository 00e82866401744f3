//! Numbers as iperf3 writes them.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A whole number; -1 for "not known".
///
/// Where iperf3 keeps -1 without a sign, it writes 18446744073709551615, or 1.8446744073709552e+19 after the first reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(transparent)]
pub struct Number(pub i64);

impl Number {
    /// An unknown number.
    pub const UNKNOWN: Self = Self(-1);

    /// Without a sign; 0 if it is negative.
    pub fn count(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }

    /// `None` if it is not known.
    pub fn known(self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
                Ok(i64::try_from(value).map_or(Number::UNKNOWN, Number))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
                // Casts of floats to integers saturate; what has no sign and is larger is -1.
                Ok(if value >= i64::MAX as f64 { Number::UNKNOWN } else { Number(value as i64) })
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Number, E> {
                Ok(Number(value.into()))
            }
        }
        from.deserialize_any(Whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_minus_one_are_unknown() {
        for text in ["-1", "18446744073709551615", "1.8446744073709552e+19"] {
            assert_eq!(serde_json::from_str::<Number>(text).unwrap(), Number::UNKNOWN, "{text}");
        }
        for (text, value) in [("0", 0), ("1e9", 1_000_000_000), ("12.9", 12), ("true", 1), ("-5", -5)] {
            assert_eq!(serde_json::from_str::<Number>(text).unwrap(), Number(value), "{text}");
        }
        assert!(serde_json::from_str::<Number>("\"1\"").is_err());
        assert_eq!(serde_json::to_string(&Number::UNKNOWN).unwrap(), "-1");
    }
}
