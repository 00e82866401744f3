//! The linear congruential generator of old C libraries, with 15 random bits a draw.
//!
//! Its quality is poor. It is here to repeat the traffic of other generators number by number; everything else uses the
//! parent module.
//!
//! Invariant: a state is a function of the first one and the number of draws, computed in a few steps.

/// Multiplier of a state.
pub const FACTOR: u32 = 214_013;
/// Increment of a state.
pub const ADDEND: u32 = 2_531_011;
/// Number of bits by which a draw is shifted in the state.
pub const SHIFT: u32 = 16;
/// The bits of a draw.
pub const DRAW_MASK: u32 = 0x7fff;

/// Effect of a number of draws on a state: a multiplication, then an addition, modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// Multiplier.
    pub factor: u32,
    /// Increment.
    pub addend: u32,
}

/// A jump by one draw.
const ONE: Jump = Jump { factor: FACTOR, addend: ADDEND };

/// Jumps by 1, 2, 4, 8 and so on draws.
const POWERS: [Jump; 32] = {
    let (mut powers, mut index) = ([ONE; 32], 1);
    while index < 32 {
        powers[index] = powers[index - 1].then(powers[index - 1]);
        index += 1;
    }
    powers
};

impl Jump {
    /// A jump by this number of draws. The sequence of states repeats after 2^32.
    pub fn by(draws: u64) -> Self {
        let mut jump = Self { factor: 1, addend: 0 };
        let mut rest = draws as u32;
        while rest != 0 {
            jump = jump.then(POWERS[rest.trailing_zeros() as usize]);
            rest &= rest - 1;
        }
        jump
    }

    /// This one, then `next`.
    const fn then(self, next: Self) -> Self {
        let factor = self.factor.wrapping_mul(next.factor);
        let addend = self.addend.wrapping_mul(next.factor).wrapping_add(next.addend);
        Self { factor, addend }
    }

    /// The state after it.
    #[inline]
    pub fn of(self, state: u32) -> u32 {
        state.wrapping_mul(self.factor).wrapping_add(self.addend)
    }
}

/// Draws a number for a value of `bytes` bytes from `state`: one draw for 1 or 2 bytes, two for 4, four for 8. The first
/// is the most significant, 16 bits apart, so some bits are always zero.
pub fn number(state: u32, bytes: u8) -> u64 {
    let mut state = state;
    (0..draws(bytes)).fold(0, |number, _| {
        state = ONE.of(state);
        number << 16 | u64::from(state >> SHIFT & DRAW_MASK)
    })
}

/// Number of draws for a number of this size.
pub fn draws(bytes: u8) -> u32 {
    u32::from(bytes).div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of the well-known C library's generator after `srand(1)`.
    #[test]
    fn is_the_known_generator() {
        let mut state = 1;
        for expected in [41, 18_467, 6_334, 26_500, 19_169, 15_724, 11_478, 29_358] {
            assert_eq!(number(state, 2), expected);
            state = ONE.of(state);
        }
        assert_eq!(number(1, 1), 41);
        assert_eq!(number(1, 4), 41 << 16 | 18_467);
        assert_eq!(number(1, 8), 41 << 48 | 18_467 << 32 | 6_334 << 16 | 26_500);
    }

    #[test]
    fn jumps_as_if_stepped() {
        let mut state = 0xea67_e001_u32;
        for draws in 0..5_000 {
            assert_eq!(Jump::by(draws).of(0xea67_e001), state);
            state = state.wrapping_mul(214_013).wrapping_add(2_531_011);
        }
        assert_eq!(Jump::by(1 << 32).of(5), 5);
        assert_eq!(Jump::by(u64::MAX).of(ONE.of(9)), 9);
    }
}
