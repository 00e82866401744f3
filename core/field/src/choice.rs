//! Which of several things packet n is: a frame size, a captured packet.

use crate::error::ProgramError;
use crate::program::{bind_variables, flow, value_of};
use crate::value::{Bound, Weights};
use crate::vary::{Flows, Vary};
use std::fmt;
use std::sync::Arc;

/// Picks one of several things for each packet, by the packet's number alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice(Way);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// One after the other, then again from the first.
    Table(Arc<[u32]>),
    /// By chance.
    Chance { weights: Weights, key: u64 },
    /// By a variable.
    Variable(Arc<ByVariable>),
}

/// The variable that selects, and the meaning of its values.
#[derive(Debug, PartialEq, Eq)]
struct ByVariable {
    variables: Vec<Bound>,
    flows: Option<Flows>,
    variable: usize,
    /// The value of the table's first entry.
    lowest: u128,
    table: Vec<u32>,
}

/// Why weights can't be chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceError {
    /// There are none, or all are zero.
    NoWeights,
    /// It takes more packets than [`Choice::CYCLE_MAX`] until each has come as often as its weight.
    TooLong {
        /// Number of packets it takes.
        cycle: u64,
    },
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWeights => write!(f, "there is no weight above zero"),
            Self::TooLong { cycle } => write!(
                f,
                "these weights come out right only after {cycle} packets, more than {}: use smaller numbers",
                Choice::CYCLE_MAX
            ),
        }
    }
}

impl std::error::Error for ChoiceError {}

impl Choice {
    /// Longest cycle of [`Choice::weighted`], packets.
    pub const CYCLE_MAX: u64 = 1 << 20;

    /// `table[number % table.len()]`.
    ///
    /// # Panics
    /// If the table is empty.
    pub fn sequence(table: Vec<u32>) -> Self {
        assert!(!table.is_empty(), "a choice of nothing");
        Self(Way::Table(table.into()))
    }

    /// Index `i` comes `weights[i]` times in each cycle, spread out evenly: with the weights 7, 4 and 1, exactly this
    /// often in each 12 packets.
    pub fn weighted(weights: &[u32]) -> Result<Self, ChoiceError> {
        let divisor = weights.iter().copied().fold(0, greatest_common_divisor);
        if divisor == 0 {
            return Err(ChoiceError::NoWeights);
        }
        let weights: Vec<u64> = weights.iter().map(|weight| u64::from(weight / divisor)).collect();
        match weights.iter().sum() {
            cycle if cycle > Self::CYCLE_MAX => Err(ChoiceError::TooLong { cycle }),
            cycle => Ok(Self::sequence(spread(&weights, cycle))),
        }
    }

    /// Index `i` comes at random, in proportion to `weights[i]`.
    pub fn random(weights: &[u32], seed: u64) -> Result<Self, ChoiceError> {
        let weights = Weights::new(weights).ok_or(ChoiceError::NoWeights)?;
        Ok(Self(Way::Chance { weights, key: random::key(seed) }))
    }

    /// `table[value - lowest]` of the variable `variable` of `vary`; values beyond the table are as its nearest end.
    ///
    /// # Panics
    /// If the table is empty, or there is no such variable.
    pub fn variable(
        vary: &Vary,
        variable: usize,
        lowest: u128,
        table: Vec<u32>,
    ) -> Result<Self, ProgramError> {
        assert!(!table.is_empty() && variable < vary.variables.len(), "a choice of nothing");
        let (variables, flows) = (bind_variables(vary)?, vary.flows);
        Ok(Self(Way::Variable(Arc::new(ByVariable { variables, flows, variable, lowest, table }))))
    }

    /// Choice for packet `number`.
    #[inline]
    pub fn pick(&self, number: u64) -> u32 {
        match &self.0 {
            Way::Table(table) => table[(number % table.len() as u64) as usize],
            Way::Chance { weights, key } => weights.pick(random::word(*key, number)) as u32,
            Way::Variable(by) => by.pick(number),
        }
    }
}

impl ByVariable {
    fn pick(&self, number: u64) -> u32 {
        let number = self.flows.as_ref().map_or(number, |flows| flow(flows, number));
        let value = value_of(&self.variables, self.variable, number);
        let last = self.table.len() - 1;
        self.table[usize::try_from(value.saturating_sub(self.lowest)).map_or(last, |at| at.min(last))]
    }
}

/// One cycle in which each index comes as often as its weight: the next is always the one that is most overdue.
fn spread(weights: &[u64], cycle: u64) -> Vec<u32> {
    let mut credit = vec![0i64; weights.len()];
    let mut next = || {
        for (credit, weight) in credit.iter_mut().zip(weights) {
            *credit += *weight as i64;
        }
        let mut most = 0;
        for index in 1..credit.len() {
            if credit[index] > credit[most] {
                most = index;
            }
        }
        credit[most] -= cycle as i64;
        most as u32
    };
    (0..cycle).map(|_| next()).collect()
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(choice: &Choice, numbers: std::ops::Range<u64>) -> Vec<u32> {
        numbers.map(|number| choice.pick(number)).collect()
    }

    #[test]
    fn goes_round_a_table() {
        assert_eq!(picks(&Choice::sequence(vec![3, 1, 4]), 0..7), [3, 1, 4, 3, 1, 4, 3]);
        assert_eq!(Choice::sequence(vec![5, 6]).pick(u64::MAX), 6);
    }

    #[test]
    fn spreads_weights_exactly() {
        let choice = Choice::weighted(&[7, 4, 1]).unwrap();
        assert_eq!(picks(&choice, 0..12), [0, 1, 0, 0, 1, 0, 2, 0, 1, 0, 1, 0]);
        for start in 0..30 {
            let cycle = picks(&choice, start..start + 12);
            assert_eq!([0, 1, 2].map(|i| cycle.iter().filter(|p| **p == i).count()), [7, 4, 1]);
        }
        // The same proportions are the same choice, and a zero never comes.
        assert_eq!(Choice::weighted(&[700, 400, 100]), Ok(choice));
        assert_eq!(picks(&Choice::weighted(&[0, 9]).unwrap(), 0..3), [1, 1, 1]);
    }

    #[test]
    fn draws_by_chance() {
        let choice = Choice::random(&[1, 0, 3], 7).unwrap();
        let drawn = picks(&choice, 0..40_000);
        let count = |index| drawn.iter().filter(|p| **p == index).count();
        assert_eq!(count(1), 0);
        // Four standard deviations.
        assert!((count(0) as i64 - 10_000).abs() < 350, "{}", count(0));
        assert_ne!(drawn, picks(&Choice::random(&[1, 0, 3], 8).unwrap(), 0..40_000));
    }

    #[test]
    fn refuses_what_cannot_be_chosen_by() {
        assert_eq!(Choice::weighted(&[]), Err(ChoiceError::NoWeights));
        assert_eq!(Choice::weighted(&[0, 0]), Err(ChoiceError::NoWeights));
        assert_eq!(Choice::random(&[0], 0), Err(ChoiceError::NoWeights));
        let long = Choice::weighted(&[1 << 20, 1]);
        assert_eq!(long, Err(ChoiceError::TooLong { cycle: (1 << 20) + 1 }));
    }
}
