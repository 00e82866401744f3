//! Notation of quantities in stored documents.
//!
//! People write configurations, so quantities there are text (`60s`, `64B`). Programs read requests, outcomes and results,
//! so quantities there are numbers, and field names end in the unit.
//!
//! Each form is a type that serde and schemars both take: `#[serde(with = "AsText")]`.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serializer, de::Error};
use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;
use units::{Nanos, Pps};

/// The schema of a form is that of the JSON type it is written as.
macro_rules! written_as {
    ($($form:ident: $json:ty;)*) => {$(
        impl JsonSchema for $form {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($form).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$json>::json_schema(generator)
            }
        }
    )*};
}

written_as! {
    AsText: String;
    AsTextOrNone: Option<String>;
    AsNanos: u64;
    AsPps: f64;
}

/// The text that a quantity prints and parses.
pub(crate) enum AsText {}

impl AsText {
    pub(crate) fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// The same for an optional quantity.
pub(crate) enum AsTextOrNone {}

impl AsTextOrNone {
    pub(crate) fn serialize<T: Display, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.collect_str(value),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

/// Nanoseconds as a whole number.
pub(crate) enum AsNanos {}

impl AsNanos {
    pub(crate) fn serialize<S: Serializer>(value: &Nanos, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
        u64::deserialize(from).map(Nanos)
    }
}

/// Packets per second as a number, exact to the millionth up to 9 Gpps.
pub(crate) enum AsPps {}

impl AsPps {
    pub(crate) fn serialize<S: Serializer>(value: &Pps, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(value.as_f64())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pps, D::Error> {
        let value = f64::deserialize(from)?;
        if value.is_finite() && value >= 0.0 {
            Ok(Pps::from_micro((value * 1e6).round() as u64))
        } else {
            Err(D::Error::custom("a packet rate must be finite and not negative"))
        }
    }
}

/// A number with thousands separated, for sentences.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A ratio as a percentage with as many digits as it takes to distinguish it from 0 and 100.
pub(crate) fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let mut digits = 2;
    while digits < 7
        && percent > 0.0
        && (percent < 10f64.powi(-digits) || (percent < 100.0 && 100.0 - percent < 10f64.powi(-digits)))
    {
        digits += 1;
    }
    let text = format!("{percent:.*}", digits as usize);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well_in_sentences() {
        assert_eq!([0, 999, 1_000, 14_880_952].map(grouped), ["0", "999", "1,000", "14,880,952"]);
        assert_eq!(
            [0.0, 1.0, 0.5, 0.123_456, 0.000_001, 0.999_999].map(percent),
            ["0%", "100%", "50%", "12.35%", "0.0001%", "99.9999%"]
        );
    }
}
