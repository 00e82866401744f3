//! Conditions on numbers of the result, as profiles write them: a comparison, a bound, perhaps a unit.

use crate::document::session_text::session_rate;
use crate::plan::Comparison;
use result::Unit;
use std::str::FromStr;
use units::{BitRate, Nanos, Pps};

/// A comparison and its bound, as written: `< 0.1%`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    pub(crate) comparison: Comparison,
    bound: f64,
    /// The unit the author wrote; `None` for a plain number.
    unit: Option<Unit>,
    pub(crate) text: String,
}

impl Condition {
    /// The bound in the unit of the result, if what was written fits a number of `unit`.
    pub(crate) fn bound_for(&self, unit: Unit) -> Result<f64, String> {
        let wanted = match unit {
            _ if self.unit.is_none_or(|written| written == unit) => return Ok(self.bound),
            Unit::Seconds if self.unit == Some(Unit::Nanos) => return Ok(self.bound / 1e9),
            Unit::Count | Unit::Bytes | Unit::Ppm | Unit::Hertz => "a plain number such as '== 0'",
            Unit::Ratio => "a share such as '< 0.1%'",
            Unit::Flag => "'== true' or '== false'",
            Unit::Nanos => "a duration such as '<= 50us'",
            Unit::Seconds => "a duration such as '>= 10s'",
            Unit::PacketRate => "a packet rate such as '>= 1Mpps'",
            Unit::BitRate => "a bit rate such as '>= 1Gbps'",
            Unit::SessionRate => "a rate such as '>= 1000/s'",
        };
        Err(format!("'{}' does not fit this field; it is compared with {wanted}", self.text))
    }
}

impl FromStr for Condition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        const COMPARISONS: [(&str, Comparison); 5] = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("==", Comparison::Equal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let trimmed = text.trim();
        let (sign, comparison) = COMPARISONS.iter().find(|(sign, _)| trimmed.starts_with(sign)).ok_or(())?;
        let (bound, unit) = bound(trimmed[sign.len()..].trim()).ok_or(())?;
        Ok(Self { comparison: *comparison, bound, unit, text: text.to_owned() })
    }
}

fn bound(text: &str) -> Option<(f64, Option<Unit>)> {
    let percent = || text.strip_suffix('%').and_then(plain_number).map(|n| (n / 100.0, Some(Unit::Ratio)));
    let nanos = || text.parse::<Nanos>().ok().map(|ns| (ns.0 as f64, Some(Unit::Nanos)));
    let pps = || text.parse::<Pps>().ok().map(|pps| (pps.as_f64(), Some(Unit::PacketRate)));
    let bps = || text.parse::<BitRate>().ok().map(|rate| (rate.bps as f64, Some(Unit::BitRate)));
    let flag = || text.parse::<bool>().ok().map(|flag| (f64::from(flag), Some(Unit::Flag)));
    let per_s = || session_rate(text).map(|rate| (rate.as_f64(), Some(Unit::SessionRate)));
    plain_number(text)
        .map(|n| (n, None))
        .or_else(percent)
        .or_else(nanos)
        .or_else(pps)
        .or_else(bps)
        .or_else(per_s)
        .or_else(flag)
}

/// A decimal such as `0.001`, `1e6` or `-2`; neither `inf` nor `nan`.
fn plain_number(text: &str) -> Option<f64> {
    let first = text.chars().next()?;
    if !(first.is_ascii_digit() || first == '-') {
        return None;
    }
    text.trim_end().parse().ok().filter(|n: &f64| n.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_comparison_and_unit() {
        for (text, comparison, unit, bound) in [
            ("< 0.1%", Comparison::Less, Unit::Ratio, 0.001),
            ("<0.001", Comparison::Less, Unit::Ratio, 0.001),
            ("<= 50us", Comparison::AtMost, Unit::Nanos, 50_000.0),
            (">= 1Mpps", Comparison::AtLeast, Unit::PacketRate, 1e6),
            ("> 2.5Gbps", Comparison::Greater, Unit::BitRate, 2.5e9),
            ("== 0", Comparison::Equal, Unit::Count, 0.0),
            (">= 10s", Comparison::AtLeast, Unit::Seconds, 10.0),
            ("== true", Comparison::Equal, Unit::Flag, 1.0),
        ] {
            let condition: Condition = text.parse().unwrap();
            assert_eq!(condition.comparison, comparison, "{text}");
            assert!((condition.bound_for(unit).unwrap() - bound).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_condition_or_the_wrong_unit() {
        for text in ["0.1%", "< ", "= 3", "!= 0", "< inf", "< nan", "< 3 parsecs", ""] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
        assert!("< 5us".parse::<Condition>().unwrap().bound_for(Unit::Ratio).is_err());
    }
}
