//! Randomness without state: a hash of a seed and a number.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), whose `k`-th output can be computed alone: its state
//! only counts. Two seeds begin at unrelated places of it.
//!
//! Not here: where a seed comes from.
//!
//! Separate because fields, gaps and simulated links all need it, and a seed must mean the same everywhere.
//!
//! Invariant: a seed means the same for ever; results name the seed to be repeated by.

#![forbid(unsafe_code)]

pub mod lcg;
pub mod permutation;

/// Increment of the generator's state.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// The right shifts of [`mix`], in order.
pub const SHIFTS: [u32; 3] = [30, 27, 31];
/// The factors of [`mix`], in order.
pub const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// Spreads every bit over all others; a bijection.
#[inline(always)]
pub fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> SHIFTS[0])).wrapping_mul(FACTORS[0]);
    let z = (z ^ (z >> SHIFTS[1])).wrapping_mul(FACTORS[1]);
    z ^ (z >> SHIFTS[2])
}

/// The state that [`mix`] makes `mixed` of.
pub fn unmix(mixed: u64) -> u64 {
    // The inverses of the factors modulo 2^64; a shift is undone by itself and its double.
    let unshift = |z: u64, by: u32| z ^ (z >> by) ^ (z >> (2 * by));
    let z = unshift(mixed, SHIFTS[2]).wrapping_mul(0x3196_42b2_d24d_8ec3);
    let z = unshift(z, SHIFTS[1]).wrapping_mul(0x96de_1b17_3f11_9089);
    unshift(z, SHIFTS[0])
}

/// The state at number 0 for `seed`.
#[inline(always)]
pub fn key(seed: u64) -> u64 {
    mix(seed.wrapping_add(STEP))
}

/// The key of a second sequence that has nothing to do with that of `key`.
#[inline(always)]
pub fn other_key(key: u64) -> u64 {
    mix(key ^ STEP)
}

/// The 64 random bits of number `k`.
#[inline(always)]
pub fn word(key: u64, k: u64) -> u64 {
    mix(key.wrapping_add(k.wrapping_mul(STEP)))
}

/// 128 random bits of number `k`: the word of `key` above that of [`other_key`].
#[inline(always)]
pub fn wide_word(key: u64, k: u64) -> u128 {
    u128::from(word(key, k)) << 64 | u128::from(word(other_key(key), k))
}

/// A number below `span` from a random `word`: `word` as a fraction of 2^64, times `span`.
///
/// Of 2^64 words, some numbers get one more than others: no more than a `span / 2^64`-th of their share.
#[inline(always)]
pub fn below(word: u64, span: u64) -> u64 {
    ((u128::from(word) * u128::from(span)) >> 64) as u64
}

/// A number up to and including `last` from a random 128-bit `word`, in the way of [`below`].
pub fn up_to(word: u128, last: u128) -> u128 {
    // word · (last + 1) / 2^128, which is (word · last + word) / 2^128.
    let (high, low) = multiply(word, last);
    high + u128::from(low.overflowing_add(word).1)
}

/// The upper and the lower half of a product.
fn multiply(a: u128, b: u128) -> (u128, u128) {
    let halves = |n: u128| (n >> 64, n & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    let (low1, low0) = halves(a0 * b0);
    let (mid1, mid0) = halves(a1 * b0 + low1);
    let (other1, other0) = halves(a0 * b1 + mid0);
    (a1 * b1 + mid1 + other1, other0 << 64 | low0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference implementation's first outputs for seed 0 and 1234567.
    #[test]
    fn is_splitmix64() {
        assert_eq!(mix(STEP), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(STEP.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(mix(1_234_567u64.wrapping_add(STEP)), 6_457_827_717_110_365_317);
        assert_eq!(word(STEP, 1), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn unmix_undoes_mix() {
        for n in (0..1_000).map(|n| word(7, n)).chain([0, 1, u64::MAX]) {
            assert_eq!((unmix(mix(n)), mix(unmix(n))), (n, n));
        }
    }

    #[test]
    fn multiplies_wide() {
        assert_eq!(multiply(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
        assert_eq!(multiply(1 << 64, 1 << 64), (1, 0));
        assert_eq!(multiply(u128::MAX, 2), (1, u128::MAX - 1));
        assert_eq!(multiply(7, 6), (0, 42));
    }

    #[test]
    fn stays_in_the_span() {
        assert_eq!((below(0, 10), below(u64::MAX, 10), below(1 << 63, 10)), (0, 9, 5));
        assert_eq!((up_to(0, 9), up_to(u128::MAX, 9), up_to(1 << 127, 9)), (0, 9, 5));
        assert_eq!((up_to(u128::MAX, u128::MAX), up_to(3, u128::MAX)), (u128::MAX, 3));
    }
}
