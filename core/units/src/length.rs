//! Frame lengths.

use crate::decimal::{self, QuantityError};
use crate::{FCS_BYTES, L1_OVERHEAD_BYTES};
use std::fmt;
use std::str::FromStr;

/// Length of an Ethernet frame in bytes, FCS included (RFC 2544 section 9.1).
///
/// Text form: `64B`, `1518B`, `9KB` (1 KB = 1000 B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameLen(u32);

impl FrameLen {
    /// The shortest Ethernet frame.
    pub const MIN: Self = Self(64);
    /// The longest frame any port here carries.
    pub const MAX: Self = Self(16_384);

    /// A frame of `bytes` with FCS; `None` outside 64…16384.
    pub const fn new(bytes: u32) -> Option<Self> {
        if bytes < Self::MIN.0 || bytes > Self::MAX.0 { None } else { Some(Self(bytes)) }
    }

    /// The frame that holds `bytes` before its FCS, padded to the minimum.
    pub const fn holding(bytes: u32) -> Self {
        let with_fcs = bytes + FCS_BYTES;
        Self(if with_fcs < Self::MIN.0 { Self::MIN.0 } else { with_fcs })
    }

    /// Bytes with FCS.
    pub const fn bytes(self) -> u32 {
        self.0
    }

    /// Bytes a port is handed: without FCS.
    pub const fn without_fcs(self) -> u32 {
        self.0 - FCS_BYTES
    }

    /// Bits this frame takes at layer 1: with preamble and inter-frame gap.
    pub const fn l1_bits(self) -> u64 {
        (self.0 + L1_OVERHEAD_BYTES) as u64 * 8
    }

    /// Bits of the frame itself (layer 2).
    pub const fn l2_bits(self) -> u64 {
        self.0 as u64 * 8
    }
}

/// Frames of several lengths, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameMix {
    frames: u128,
    bytes: u128,
}

impl FrameMix {
    /// Number of frames.
    pub const fn frames(self) -> u128 {
        self.frames
    }

    /// Bits they take at layer 1, with preambles and inter-frame gaps.
    pub const fn l1_bits(self) -> u128 {
        (self.bytes + self.frames * L1_OVERHEAD_BYTES as u128) * 8
    }

    /// Bits of the frames themselves (layer 2).
    pub const fn l2_bits(self) -> u128 {
        self.bytes * 8
    }
}

impl From<FrameLen> for FrameMix {
    fn from(length: FrameLen) -> Self {
        Self { frames: 1, bytes: length.0.into() }
    }
}

/// Lengths, each with how many frames have it.
impl FromIterator<(FrameLen, u64)> for FrameMix {
    fn from_iter<I: IntoIterator<Item = (FrameLen, u64)>>(lengths: I) -> Self {
        lengths.into_iter().fold(Self::default(), |sum, (length, frames)| Self {
            frames: sum.frames + u128::from(frames),
            bytes: sum.bytes + u128::from(frames) * u128::from(length.0),
        })
    }
}

impl FromStr for FrameLen {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let bad = || QuantityError::new(text, "a frame length with FCS from 64B to 16384B, such as 1518B");
        let (number, unit) = decimal::split(text).ok_or_else(bad)?;
        let power = match unit {
            "B" => 0,
            "KB" | "kB" => 3,
            _ => return Err(bad()),
        };
        let bytes = number.times_ten_to(power).and_then(|n| u32::try_from(n).ok()).ok_or_else(bad)?;
        Self::new(bytes).ok_or_else(bad)
    }
}

impl fmt::Display for FrameLen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_fcs() {
        let frame: FrameLen = "64B".parse().unwrap();
        assert_eq!(
            (frame.bytes(), frame.without_fcs(), frame.l1_bits(), frame.l2_bits()),
            (64, 60, 672, 512)
        );
        assert_eq!(FrameLen::holding(42), FrameLen::MIN);
        assert_eq!(FrameLen::holding(100).bytes(), 104);
    }

    #[test]
    fn refuses_frames_no_port_carries() {
        for text in ["63B", "16385B", "64", "64b", "64 bytes", "1.5B"] {
            assert!(text.parse::<FrameLen>().is_err(), "{text}");
        }
    }
}
