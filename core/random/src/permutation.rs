//! Random orders: the item at each place, computed for that place alone.
//!
//! A Feistel network (Luby, Rackoff, SIAM J. Computing 1988) of six rounds over the rows and columns of a table that is
//! nearly square and has at most a row more than needed; numbers beyond the end walk on until they are in it.
//!
//! Invariant: for each key, [`Permutation::at`] is a bijection of the numbers below the length.

use crate::{FACTORS, below};

/// An order of this number of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permutation {
    len: u64,
    /// Columns are a power of two: this one.
    bits: u32,
    rows: u64,
}

impl Permutation {
    /// Orders of the numbers below `len`; of none, as of one.
    pub fn new(len: u64) -> Self {
        let len = len.max(1);
        let bits = (u64::BITS - (len - 1).leading_zeros()).div_ceil(2);
        Self { len, bits, rows: ((len - 1) >> bits) + 1 }
    }

    /// Bits of a column's number.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number at place `at`, which is below the length. Another key gives another order.
    #[inline]
    pub fn at(&self, key: u64, mut at: u64) -> u64 {
        let columns = (1u64 << self.bits) - 1;
        loop {
            let (mut column, mut row) = (at & columns, at >> self.bits);
            // Rows first: neighbours are in one.
            for round in 0..ROUNDS {
                let key = key.rotate_left(round * TURN);
                if round % 2 == 1 {
                    column = column.wrapping_add(spread(row, key)) & columns;
                } else {
                    row += below(spread(column, key), self.rows);
                    row = row.checked_sub(self.rows).unwrap_or(row);
                }
            }
            at = row << self.bits | column;
            if at < self.len {
                return at;
            }
        }
    }
}

/// Rounds of the network.
pub const ROUNDS: u32 = 6;
/// Bits by which the key of a round is rotated to be that of the next.
pub const TURN: u32 = 11;
/// The right shift of a round, after each multiplication.
pub const SHIFT: u32 = 32;

/// Spreads the bits of a small number.
#[inline]
fn spread(value: u64, key: u64) -> u64 {
    let z = value.wrapping_add(key).wrapping_mul(FACTORS[0]);
    let z = (z ^ (z >> SHIFT)).wrapping_mul(FACTORS[1]);
    z ^ (z >> SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word;

    #[test]
    fn every_number_comes_once() {
        for len in (1..300).chain([1_000, 4_096, 4_097, 65_535, 1 << 17]) {
            let permutation = Permutation::new(len);
            for key in 0..3 {
                let mut seen = vec![false; len as usize];
                for at in 0..len {
                    let number = permutation.at(word(1, key), at) as usize;
                    assert!(!std::mem::replace(&mut seen[number], true), "{number} of {len} comes twice");
                }
            }
        }
        let longest = Permutation::new(u64::MAX);
        assert!((0..1_000).all(|at| longest.at(at, u64::MAX - 1 - at) < u64::MAX));
    }

    /// Each number is equally likely at each place, and neighbours are independent.
    #[test]
    fn orders_are_random() {
        for len in [5u64, 16, 40, 200] {
            let (permutation, keys) = (Permutation::new(len), 200 * len);
            let (mut places, mut steps) = (vec![0u64; (len * len) as usize], vec![0u64; len as usize]);
            for key in 0..keys {
                let order: Vec<u64> = (0..len).map(|at| permutation.at(word(7, key), at)).collect();
                order.iter().zip(0..).for_each(|(number, at)| places[(at * len + number) as usize] += 1);
                let pairs = order.windows(2).map(|pair| (pair[1] + len - pair[0]) % len);
                pairs.for_each(|step| steps[step as usize] += 1);
            }
            let mean = |counts: &[u64]| counts.iter().sum::<u64>() as f64 / counts.len() as f64;
            let far = |counts: &[u64]| {
                let mean = mean(counts);
                counts.iter().map(|n| (*n as f64 / mean - 1.0).abs()).fold(0.0, f64::max)
            };
            // Of 200 there are 200 of each: 14 more or less are one standard deviation.
            assert!(far(&places) < 0.4, "{len}: {}", far(&places));
            assert_eq!(steps[0], 0);
            assert!(far(&steps[1..]) < 0.35, "{len}: {}", far(&steps[1..]));
        }
    }
}
