//! Speed of time for a stream.

use crate::exact::{gcd, mul_div, narrow};
use units::{Nanos, Pps};

/// Factor on the stream's load: an exact ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Factor {
    num: u64,
    den: u64,
}

impl Factor {
    /// Paused.
    pub const ZERO: Self = Self { num: 0, den: 1 };
    /// The load's rate.
    pub const ONE: Self = Self { num: 1, den: 1 };

    /// `num / den`; a `den` of 0 is taken as 1.
    pub const fn new(num: u64, den: u64) -> Self {
        let den = if den == 0 { 1 } else { den };
        let common = gcd(num as u128, den as u128) as u64;
        Self { num: num / common, den: den / common }
    }

    /// `ppm` millionths.
    pub const fn from_ppm(ppm: u64) -> Self {
        Self::new(ppm, 1_000_000)
    }

    /// Factor from a load of `old` to one of `new`.
    pub const fn of_rates(new: Pps, old: Pps) -> Self {
        Self::new(new.micro(), old.micro())
    }

    /// The factor as a floating-point number, for reports.
    pub fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }

    pub(crate) const fn num(self) -> u64 {
        self.num
    }

    pub(crate) const fn den(self) -> u64 {
        self.den
    }

    /// The nearest factor that takes part in any product: 30 bits each.
    pub(crate) fn coarse(self) -> Self {
        let shift = (64 - self.num.max(self.den).leading_zeros()).saturating_sub(30);
        if shift == 0 { self } else { Self::new(self.num >> shift, (self.den >> shift).max(1)) }
    }
}

/// From a stream's own time, in whole nanoseconds, to the schedule's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Warp {
    /// The schedule's time at which the factor began to hold.
    since: u64,
    /// The stream's own time then, rounded down, and whether that rounding took something.
    own: u64,
    partial: bool,
    factor: Factor,
}

impl Warp {
    pub(crate) const NONE: Self = Self { since: 0, own: 0, partial: false, factor: Factor::ONE };

    /// When the stream's own time `own` is there, rounded down.
    #[inline(always)]
    pub(crate) fn due(&self, own: u64) -> u64 {
        if self.factor.num == self.factor.den && own < u64::MAX {
            return own.saturating_sub(self.own).saturating_add(self.since);
        }
        self.scaled_due(own)
    }

    fn scaled_due(&self, own: u64) -> u64 {
        if self.factor.num == 0 || own == u64::MAX {
            return u64::MAX;
        }
        let span = own.saturating_sub(self.own);
        let span = match span.checked_mul(self.factor.den) {
            Some(product) => product / self.factor.num,
            None => narrow(mul_div(span.into(), self.factor.den.into(), self.factor.num.into()).0),
        };
        span.saturating_add(self.since)
    }

    /// The stream's own time at `at`, rounded down, and whether a part of a nanosecond is left.
    fn own_at(&self, at: Nanos) -> (u64, bool) {
        let span = at.0.saturating_sub(self.since);
        let (own, part) = mul_div(span.into(), self.factor.num.into(), self.factor.den.into());
        (narrow(own).saturating_add(self.own), part > 0 || (own == 0 && self.partial))
    }

    /// The first of the stream's own times not due before `at`.
    pub(crate) fn own_after(&self, at: Nanos) -> u64 {
        let (own, partial) = self.own_at(at);
        own.saturating_add(partial.into())
    }

    /// Applies `factor` from `at` on.
    pub(crate) fn change(&mut self, at: Nanos, factor: Factor) {
        let (own, partial) = self.own_at(at);
        *self = Self { own, partial, since: self.since.max(at.0), factor };
    }

    pub(crate) fn is_still(&self) -> bool {
        self.factor.num == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn own_time_passes_as_fast_as_the_factors_say() {
        let mut warp = Warp::NONE;
        warp.change(Nanos(1_000), Factor::new(3, 2));
        assert_eq!([1_000, 1_001, 1_002, 1_003].map(|own| warp.due(own)), [1_000, 1_000, 1_001, 1_002]);
        warp.change(Nanos(2_000), Factor::ZERO);
        assert_eq!((warp.own_after(Nanos(9_000)), warp.due(2_500)), (2_500, u64::MAX));
        warp.change(Nanos(3_000), Factor::ONE);
        assert_eq!(warp.due(2_600), 3_100);
    }

    proptest! {
        #[test]
        fn what_is_due_before_an_instant_is_what_lies_before_its_own_time(
            num in 1u64..50, den in 1u64..50, at in 0u64..1_000, end in 0u64..5_000, own in 0u64..5_000,
        ) {
            let mut warp = Warp::NONE;
            warp.change(Nanos(at), Factor::new(num, den));
            prop_assume!(own >= warp.own);
            prop_assert_eq!(warp.due(own) < end, own < warp.own_after(Nanos(end)) && end > at);
        }
    }
}
