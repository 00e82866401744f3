//! Timestamps of packets in both formats, and the estimate of their error.
//!
//! Instants of this crate are nanoseconds since 1970, UTC. On the wire they are NTP's seconds since 1900 with a binary fraction, or the
//! truncated format of PTPv2: seconds since 1970 and nanoseconds, in International Atomic Time (IEEE 1588), which is ahead of UTC by
//! whole seconds.

use units::Nanos;

/// Seconds from 1900 to 1970.
const SINCE_1900: u64 = 2_208_988_800;
const SECOND: u64 = 1_000_000_000;

/// Format of a timestamp: the bit Z of the error estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// NTP version 4, 64 bits.
    #[default]
    Ntp,
    /// PTPv2, truncated to 64 bits.
    Ptp,
}

impl Format {
    /// Name in results: `ntp` or `ptp`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ntp => "ntp",
            Self::Ptp => "ptp",
        }
    }

    /// The timestamp of `at`; `tai_ahead_s` is TAI − UTC, s.
    pub fn write(self, at: Nanos, tai_ahead_s: u64) -> u64 {
        let (seconds, nanos) = (at.0 / SECOND, at.0 % SECOND);
        let (seconds, fraction) = match self {
            Self::Ntp => (seconds + SINCE_1900, (nanos << 32) / SECOND),
            Self::Ptp => (seconds + tai_ahead_s, nanos),
        };
        (seconds & u64::from(u32::MAX)) << 32 | fraction
    }

    /// The instant of a timestamp that is nearest to `near`: 32 bits of seconds begin again every 136 years. `None` if it is no
    /// timestamp.
    pub fn read(self, stamp: u64, near: Nanos, tai_ahead_s: u64) -> Option<Nanos> {
        let (seconds, fraction) = (stamp >> 32, stamp & u64::from(u32::MAX));
        let (ahead, nanos) = match self {
            Self::Ntp => (SINCE_1900, (fraction * SECOND + (1 << 31)) >> 32),
            Self::Ptp => (tai_ahead_s, fraction),
        };
        if nanos > SECOND || self == Self::Ptp && nanos == SECOND {
            return None;
        }
        let around = near.0 / SECOND + ahead;
        let distance = (seconds as u32).wrapping_sub(around as u32).cast_signed();
        let seconds = around.checked_add_signed(distance.into())?.checked_sub(ahead)?;
        Some(Nanos(seconds.checked_mul(SECOND)?.checked_add(nanos)?))
    }
}

/// Bound on the error of a host's clock: the field of this name (RFC 4656 section 4.1.2, RFC 8186 section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorEstimate {
    /// Whether the clock is synchronized with UTC by an external source: the bit S.
    pub is_synchronized: bool,
    /// Format of the packet's timestamps: the bit Z.
    pub format: Format,
    /// Exponent of the error, 0 to 63.
    scale: u8,
    /// Factor of the error; 0 is none.
    multiplier: u8,
}

impl ErrorEstimate {
    /// Of a synchronized clock with this bound on its error, ns; of another clock without one.
    pub fn of(error_max_ns: Option<u64>, format: Format) -> Self {
        let Some(ns) = error_max_ns else {
            return Self { is_synchronized: false, format, scale: 63, multiplier: u8::MAX };
        };
        let mut units = ((u128::from(ns) << 32).div_ceil(u128::from(SECOND))).max(1);
        let mut scale = 0;
        while units > u128::from(u8::MAX) {
            (units, scale) = (units.div_ceil(2), scale + 1);
        }
        Self { is_synchronized: true, format, scale, multiplier: units as u8 }
    }

    /// Reads the field.
    pub fn read(field: u16) -> Self {
        Self {
            is_synchronized: field & 1 << 15 != 0,
            format: if field & 1 << 14 == 0 { Format::Ntp } else { Format::Ptp },
            scale: (field >> 8 & 63) as u8,
            multiplier: field as u8,
        }
    }

    /// The field.
    pub fn write(self) -> u16 {
        u16::from(self.is_synchronized) << 15
            | u16::from(self.format == Format::Ptp) << 14
            | u16::from(self.scale) << 8
            | u16::from(self.multiplier)
    }

    /// Bound on the error, ns, of a clock that is synchronized. A multiplier of 0 is no estimate (RFC 4656 section 4.1.2).
    pub fn error_max_ns(self) -> Option<u64> {
        if !self.is_synchronized || self.multiplier == 0 {
            return None;
        }
        let units = u128::from(self.multiplier) << self.scale;
        Some(u64::try_from((units * u128::from(SECOND)).div_ceil(1 << 32)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Nanos = Nanos(1_790_000_000_123_456_789);

    #[test]
    fn formats_have_their_epochs() {
        assert_eq!(Format::Ntp.write(NOW, 37) >> 32, 1_790_000_000 + SINCE_1900);
        assert_eq!(Format::Ptp.write(NOW, 37), (1_790_000_037 << 32) | 123_456_789);
        // NTP's seconds begin again on 2036-02-07.
        let later = Nanos(2_100_000_000 * SECOND + 5);
        assert!(Format::Ntp.write(later, 0) >> 32 < 20_000_000);
        assert_eq!(Format::Ntp.read(Format::Ntp.write(later, 0), NOW, 0), Some(later));
    }

    #[test]
    fn nanoseconds_beyond_a_second_are_no_timestamp() {
        assert_eq!(Format::Ptp.read((1_790_000_000 << 32) | 1_000_000_000, NOW, 0), None);
        assert_eq!(Format::Ptp.read(u64::MAX, NOW, 0), None);
    }

    #[test]
    fn errors_are_rounded_up() {
        assert_eq!(ErrorEstimate::of(Some(0), Format::Ntp).write(), 0x8001);
        assert_eq!(ErrorEstimate::of(None, Format::Ptp).write(), 0x7fff);
        // 1 ms is 4,294,967.3 units of 2^-32 s: 132 × 2^15.
        assert_eq!(ErrorEstimate::of(Some(1_000_000), Format::Ntp).write(), 0x8000 | 15 << 8 | 132);
        assert_eq!(ErrorEstimate::read(0x8f00).error_max_ns(), None);
        assert_eq!(ErrorEstimate::read(0xbfff).error_max_ns(), Some(u64::MAX));
        assert_eq!(ErrorEstimate::read(0x0f10).error_max_ns(), None);
    }

    proptest! {
        #[test]
        fn timestamps_come_back(ns in 0u64..4_000_000_000_000_000_000, off_s in -1_000_000_000i64..1_000_000_000, tai in 0u64..100) {
            let near = Nanos(ns.saturating_add_signed(off_s.saturating_mul(1_000_000_000)));
            for format in [Format::Ntp, Format::Ptp] {
                prop_assert_eq!(format.read(format.write(Nanos(ns), tai), near, tai), Some(Nanos(ns)));
            }
        }

        #[test]
        fn no_timestamp_is_beyond_arithmetic(stamp: u64, near: u64, tai in 0u64..1000) {
            for format in [Format::Ntp, Format::Ptp] {
                let _ = format.read(stamp, Nanos(near), tai);
            }
        }

        #[test]
        fn estimates_bound_the_error(ns in 0u64..u64::MAX / 2) {
            let read = ErrorEstimate::read(ErrorEstimate::of(Some(ns), Format::Ptp).write());
            let bound = read.error_max_ns().unwrap();
            prop_assert!(bound >= ns && bound as f64 <= ns as f64 * 1.01 + 2.0, "{} {}", ns, bound);
        }
    }
}
