//! Exact arithmetic of departure times: products that do not fit, and steps of a fraction of a nanosecond.

/// Nanoseconds in a second, in millionths: a rate in micro-pps times a gap in ns.
pub(crate) const GAP_SCALE: u128 = 1_000_000_000_000_000;

/// Greatest common divisor; of zero and a number the number.
pub(crate) const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `a · b` as its upper and lower 128 bits.
pub(crate) fn mul_wide(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a0 * b0;
    let mid = a1 * b0 + (low >> 64);
    let mid2 = a0 * b1 + (mid & LOW);
    (a1 * b1 + (mid >> 64) + (mid2 >> 64), (mid2 << 64) | (low & LOW))
}

/// Quotient (at most `u128::MAX`) and remainder of `a · b / c`; `c` is below 2^127 and not zero.
pub(crate) fn mul_div(a: u128, b: u128, c: u128) -> (u128, u128) {
    if let Some(product) = a.checked_mul(b) {
        return (product / c, product % c);
    }
    let (high, low) = mul_wide(a, b);
    let (mut quotient, mut rest) = (0u128, high % c);
    for bit in (0..128).rev() {
        rest = (rest << 1) | ((low >> bit) & 1);
        quotient <<= 1;
        if rest >= c {
            rest -= c;
            quotient |= 1;
        }
    }
    (if high >= c { u128::MAX } else { quotient }, rest)
}

/// `a · b / c` rounded up, at most `u128::MAX`.
pub(crate) fn mul_div_ceil(a: u128, b: u128, c: u128) -> u128 {
    let (quotient, rest) = mul_div(a, b, c);
    quotient.saturating_add(u128::from(rest != 0))
}

/// `n`, or the largest number there is.
pub(crate) fn narrow(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// The times of events `num / den` ns apart from 0 on, each rounded down to the nanosecond.
#[derive(Debug, Clone)]
pub(crate) struct Ticks {
    num: u128,
    den: u128,
    time: u64,
    carry: u128,
    /// The last jump, taken apart.
    by: u64,
    whole: u64,
    part: u128,
}

impl Ticks {
    pub(crate) fn new(num: u128, den: u128) -> Self {
        Self { num, den, time: 0, carry: 0, by: 0, whole: 0, part: 0 }
    }

    /// The current event's time, ns.
    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    /// Makes event `index` the current one.
    pub(crate) fn set(&mut self, index: u64) {
        let (time, carry) = mul_div(self.num, u128::from(index), self.den);
        (self.time, self.carry) = (narrow(time), carry);
    }

    /// Goes `by` events on.
    #[inline]
    pub(crate) fn jump(&mut self, by: u64) {
        if by != self.by {
            let (whole, part) = mul_div(self.num, u128::from(by), self.den);
            (self.by, self.whole, self.part) = (by, narrow(whole), part);
        }
        self.time = self.time.saturating_add(self.whole);
        self.carry += self.part;
        if self.carry >= self.den {
            self.carry -= self.den;
            self.time = self.time.saturating_add(1);
        }
    }

    /// Time of event `index`, ns.
    pub(crate) fn at(&self, index: u64) -> u64 {
        narrow(mul_div(self.num, u128::from(index), self.den).0)
    }

    /// Events before `span` ns; all of them if they do not advance.
    pub(crate) fn before(&self, span: u64) -> u64 {
        match (span, self.num) {
            (0, _) => 0,
            (_, 0) => u64::MAX,
            (span, num) => narrow(mul_div_ceil(u128::from(span), self.den, num)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_floors_of_multiples() {
        let mut ticks = Ticks::new(1_000, 3);
        for index in 0..100 {
            assert_eq!((ticks.time(), ticks.at(index)), (index * 1_000 / 3, index * 1_000 / 3));
            assert_eq!(ticks.before(ticks.time() + 1), index + 1);
            ticks.jump(1);
        }
        ticks.set(7);
        ticks.jump(5);
        assert_eq!(ticks.time(), 4_000);
    }

    proptest! {
        #[test]
        fn wide_products_divide_like_narrow_ones(a: u64, b: u64, c in 1u64.., shift in 0u32..60) {
            let (wide, product) = (u128::from(a) << shift, u128::from(a) * u128::from(b));
            let c = u128::from(c);
            let (quotient, rest) = mul_div(wide, u128::from(b) << (60 - shift), c << 60);
            prop_assert_eq!((quotient, rest >> 60), (product / c, product % c));
            let (high, low) = mul_wide(wide, u128::from(b));
            if let Some(exact) = wide.checked_mul(u128::from(b)) {
                prop_assert_eq!((high, low), (0, exact));
            }
        }
    }
}
