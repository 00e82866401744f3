//! Which of several things comes at which turn.

use crate::vary::SelectionOrder;
use field::Choice;

/// Picks by turn.
#[derive(Debug, Clone)]
pub(crate) struct Turns(Option<Choice>);

impl Turns {
    pub(crate) fn new(weights: &[u32], order: SelectionOrder) -> Self {
        if weights.len() <= 1 {
            return Self(None);
        }
        // Weights that come out right only after very many turns are dealt by chance.
        let by_chance = |seed| Choice::random(weights, seed);
        Self(match order {
            SelectionOrder::Sequential => Choice::weighted(weights).or_else(|_| by_chance(0)).ok(),
            SelectionOrder::Random { seed } => by_chance(seed).ok(),
        })
    }

    #[inline]
    pub(crate) fn pick(&self, turn: u64) -> usize {
        self.0.as_ref().map_or(0, |choice| choice.pick(turn) as usize)
    }
}
