//! Packet rates, bit rates with their layer, and the load of a stream.

use crate::decimal::{self, QuantityError};
use crate::{FrameMix, Nanos};
use std::fmt;
use std::str::FromStr;

/// Packets per second, in steps of a millionth of a packet per second.
///
/// Text form: `10Mpps`, `500kpps`, `0.5pps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pps(u64);

const MICRO: u64 = 1_000_000;

impl Pps {
    /// No packets at all.
    pub const ZERO: Self = Self(0);

    /// `n` whole packets per second.
    pub const fn new(n: u64) -> Self {
        Self(n * MICRO)
    }

    /// `n` millionths of a packet per second.
    pub const fn from_micro(n: u64) -> Self {
        Self(n)
    }

    /// Millionths of a packet per second.
    pub const fn micro(self) -> u64 {
        self.0
    }

    /// The rate as a floating-point number, for reports.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / MICRO as f64
    }

    /// Packets due in `span`, rounded down.
    pub const fn packets_in(self, span: Nanos) -> u64 {
        (self.0 as u128 * span.0 as u128 / 1_000_000_000_000_000) as u64
    }
}

impl FromStr for Pps {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bad = || QuantityError::new(text, "a packet rate such as 10Mpps, 500kpps or 20pps");
        let (number, unit) = decimal::split(text).ok_or_else(bad)?;
        let power = match unit {
            "pps" => 0,
            "kpps" | "Kpps" => 3,
            "Mpps" => 6,
            "Gpps" => 9,
            _ => return Err(bad()),
        };
        number.times_ten_to(power + 6).map(Self).ok_or_else(bad)
    }
}

impl fmt::Display for Pps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 / MICRO {
            n if n >= 1_000_000 => (12, "Mpps"),
            n if n >= 1_000 => (9, "kpps"),
            _ => (6, "pps"),
        };
        decimal::write(f, self.0, scale)?;
        f.write_str(unit)
    }
}

/// Which bits a bit rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Preamble, start delimiter, frame, FCS and inter-frame gap: what fills the wire.
    L1,
    /// The frame with its FCS.
    L2,
}

/// Bits per second at a layer.
///
/// Text form: `2.5Gbps` (layer 2), `2.5Gbps-L1`, `2.5Gbps-L2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BitRate {
    /// Bits per second.
    pub bps: u64,
    /// Which bits.
    pub layer: Layer,
}

impl BitRate {
    /// The packet rate at which frames of this mix make this bit rate.
    pub fn packets(self, mix: FrameMix) -> Pps {
        let bits = match self.layer {
            Layer::L1 => mix.l1_bits(),
            Layer::L2 => mix.l2_bits(),
        };
        let micro = u128::from(self.bps) * u128::from(MICRO) * mix.frames() / bits.max(1);
        Pps(u64::try_from(micro).unwrap_or(u64::MAX))
    }
}

impl FromStr for BitRate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bad = || QuantityError::new(text, "a bit rate such as 2.5Gbps (layer 2) or 10Gbps-L1");
        let (number, unit) = decimal::split(text).ok_or_else(bad)?;
        let (unit, layer) = match unit.split_once('-') {
            None => (unit, Layer::L2),
            Some((unit, "L1")) => (unit, Layer::L1),
            Some((unit, "L2")) => (unit, Layer::L2),
            Some(_) => return Err(bad()),
        };
        let power = match unit {
            "bps" => 0,
            "kbps" | "Kbps" => 3,
            "Mbps" => 6,
            "Gbps" => 9,
            "Tbps" => 12,
            _ => return Err(bad()),
        };
        let bps = number.times_ten_to(power).ok_or_else(bad)?;
        Ok(Self { bps, layer })
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.bps {
            n if n >= 1_000_000_000 => (9, "Gbps"),
            n if n >= 1_000_000 => (6, "Mbps"),
            n if n >= 1_000 => (3, "kbps"),
            _ => (0, "bps"),
        };
        decimal::write(f, self.bps, scale)?;
        f.write_str(unit)?;
        if self.layer == Layer::L1 { f.write_str("-L1") } else { Ok(()) }
    }
}

/// The load of a stream, in its author's unit.
///
/// Text form: a packet rate, a bit rate, a share of the link (`40%`), or `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Load {
    /// Packets per second.
    Packets(Pps),
    /// Bits per second at a layer.
    Bits(BitRate),
    /// Millionths of the link's layer-1 rate (`40%` is 400,000).
    LinkShare(u32),
    /// As fast as the port takes.
    Max,
}

impl Load {
    /// The packet rate for frames of a length or a mix of them, on a link of `speed_bps` (layer 1); `None` means as fast
    /// as possible.
    pub fn packets(self, frames: impl Into<FrameMix>, speed_bps: u64) -> Option<Pps> {
        let mix = frames.into();
        match self {
            Load::Packets(pps) => Some(pps),
            Load::Bits(rate) => Some(rate.packets(mix)),
            Load::LinkShare(ppm) => {
                let bps = (u128::from(speed_bps) * u128::from(ppm) / u128::from(MICRO)) as u64;
                Some(BitRate { bps, layer: Layer::L1 }.packets(mix))
            }
            Load::Max => None,
        }
    }
}

impl FromStr for Load {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bad = || QuantityError::new(text, "a rate such as 1Mpps, 2.5Gbps, 2.5Gbps-L1, 40% or max");
        let (number, unit) = match text.trim() {
            "max" => return Ok(Load::Max),
            text => decimal::split(text).ok_or_else(bad)?,
        };
        if unit == "%" {
            let ppm = number.times_ten_to(4).filter(|n| *n <= MICRO).ok_or_else(bad)?;
            return Ok(Load::LinkShare(ppm as u32));
        }
        if unit.contains("pps") {
            return text.parse().map(Load::Packets).map_err(|_| bad());
        }
        text.parse().map(Load::Bits).map_err(|_| bad())
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Packets(pps) => pps.fmt(f),
            Load::Bits(rate) => rate.fmt(f),
            Load::LinkShare(ppm) => {
                decimal::write(f, u64::from(*ppm), 4)?;
                f.write_str("%")
            }
            Load::Max => f.write_str("max"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameLen;
    use proptest::prelude::*;

    const TEN_GIG: u64 = 10_000_000_000;

    fn pps(text: &str, bytes: u32) -> f64 {
        let load: Load = text.parse().unwrap();
        load.packets(FrameLen::new(bytes).unwrap(), TEN_GIG).unwrap().as_f64()
    }

    /// Line rates of RFC 2544 section 20: line / (8 × (L + 20)).
    #[test]
    fn knows_the_line_rates() {
        assert!((pps("100%", 64) - 14_880_952.380_952).abs() < 1e-5);
        assert!((pps("10Gbps-L1", 1518) - 812_743.823_146).abs() < 1e-5);
        assert_eq!(pps("5.12Gbps", 64), 10_000_000.0);
        assert_eq!(pps("1Mpps", 64), 1e6);
    }

    /// Two frames of 64 bytes to one of 1518 are 1646 bytes, and 1706 with what layer 1 adds.
    #[test]
    fn a_mix_has_a_rate_of_its_own() {
        let mix: FrameMix =
            [(64, 2), (1518, 1)].map(|(b, n)| (FrameLen::new(b).unwrap(), n)).into_iter().collect();
        let rate = |text: &str| text.parse::<Load>().unwrap().packets(mix, TEN_GIG).unwrap().as_f64();
        assert!((rate("1Gbps") - 3.0 * 1e9 / 8.0 / 1646.0).abs() < 1e-5);
        assert!((rate("100%") - 3.0 * 1e10 / 8.0 / 1706.0).abs() < 1e-5);
    }

    #[test]
    fn refuses_a_rate_without_a_unit_or_beyond_the_link() {
        for text in ["10", "10M", "101%", "fast", "1Mpps-L1", "2Gbps-L3", "1 Mpp"] {
            let error = text.parse::<Load>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("'{text}' is not a rate such as 1Mpps, 2.5Gbps, 2.5Gbps-L1, 40% or max")
            );
        }
    }

    #[test]
    fn counts_packets_in_a_span() {
        assert_eq!(Pps::new(1_000_000).packets_in(Nanos::from_secs(60)), 60_000_000);
        assert_eq!("0.5pps".parse::<Pps>().unwrap().packets_in(Nanos::from_secs(3)), 1);
    }

    proptest! {
        #[test]
        fn prints_what_it_parses(micro: u64, bps: u64, ppm in 0u32..=1_000_000, l1: bool) {
            let layer = if l1 { Layer::L1 } else { Layer::L2 };
            let loads = [
                Load::Packets(Pps::from_micro(micro)),
                Load::Bits(BitRate { bps, layer }),
                Load::LinkShare(ppm),
                Load::Max,
            ];
            for load in loads {
                prop_assert_eq!(load.to_string().parse::<Load>().unwrap(), load);
            }
        }
    }
}
