//! The option `-m`: a factor, or the rate that all streams of a port send together.

use std::str::FromStr;

/// A multiplier as it is written: `3`, `10%`, `5kpps`, `1gbps`, `1gbpsl1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multiplier {
    /// Value.
    pub value: f64,
    /// Unit.
    pub unit: Unit,
}

/// Unit of a multiplier's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Multiple of the profile's rate.
    Factor,
    /// Share of the link, layer 1.
    Percent,
    /// Packets per second.
    Pps,
    /// Bits per second of frames with FCS.
    BpsL2,
    /// Bits per second with preamble and gap.
    BpsL1,
}

impl Default for Multiplier {
    fn default() -> Self {
        Self { value: 1.0, unit: Unit::Factor }
    }
}

impl FromStr for Multiplier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let digits = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
        let (number, unit) = lower.split_at(digits);
        let wrong = || {
            format!(
                "'{text}' is not a multiplier: write a factor (3), 10%, 5kpps, 1gbps (layer 2) or 1gbpsl1"
            )
        };
        let value: f64 = number.parse().map_err(|_| wrong())?;
        let (prefix, rest) = match unit.as_bytes().first() {
            Some(b'k') => (1e3, &unit[1..]),
            Some(b'm') => (1e6, &unit[1..]),
            Some(b'g') => (1e9, &unit[1..]),
            _ => (1.0, unit),
        };
        let unit = match (rest, prefix) {
            ("", 1.0) => Unit::Factor,
            ("%", 1.0) => Unit::Percent,
            ("pps", _) => Unit::Pps,
            ("bps", _) => Unit::BpsL2,
            ("bpsl1", _) => Unit::BpsL1,
            _ => return Err(wrong()),
        };
        let value = value * prefix;
        if value > 0.0 && value.is_finite() { Ok(Self { value, unit }) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Multiplier, Unit};

    #[test]
    fn texts_of_the_console() {
        let read = |text: &str| text.parse::<Multiplier>().map(|m| (m.value, m.unit));
        assert_eq!(read("3"), Ok((3.0, Unit::Factor)));
        assert_eq!(read("12.5%"), Ok((12.5, Unit::Percent)));
        assert_eq!(read("5kpps"), Ok((5e3, Unit::Pps)));
        assert_eq!(read("1Gbps"), Ok((1e9, Unit::BpsL2)));
        assert_eq!(read("10mbpsl1"), Ok((1e7, Unit::BpsL1)));
        for wrong in ["", "0", "fast", "3k", "5%%", "-1", "1tbps", "1..2"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
