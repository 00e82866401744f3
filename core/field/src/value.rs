//! The value of a variable at each of its turns.

use crate::error::ProgramError;
use crate::vary::{ListOrder, Pick, Source, Variable};
use random::lcg;
use std::sync::Arc;

/// A variable, verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    source: Source,
    divisor: u128,
    offset: u128,
    period: Option<u64>,
    prepared: Prepared,
}

/// Precomputed inputs of a source's values.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Prepared {
    Nothing,
    Draw(Draw),
    Weights(Weights),
    Lcg(Sequence),
}

impl Bound {
    /// Verifies `variables[index]`; those before it are `earlier`.
    pub(crate) fn new(variables: &[Variable], index: usize, earlier: &[Self]) -> Result<Self, ProgramError> {
        let Variable { source, every, after, phase, period } = &variables[index];
        let prepared = prepare(source, index)?;
        if *every == 0 {
            return Err(ProgramError::Zero { of: format!("variable {index}"), what: "every" });
        }
        let refers_to = if let Source::Derived { of, .. } = source { Some(*of) } else { *after };
        if let Some(refers_to) = refers_to.filter(|r| *r >= index) {
            return Err(ProgramError::NotEarlier { variable: index, refers_to });
        }
        let advances = (*every, *after, *phase, *period) != (1, None, 0, None);
        if matches!(source, Source::Derived { .. }) && advances {
            return Err(ProgramError::DerivedAdvances { variable: index });
        }
        if *period == Some(0) {
            return Err(ProgramError::Zero { of: format!("variable {index}"), what: "period" });
        }
        if let (Some(after), Some(_)) = (after, period) {
            return Err(ProgramError::PeriodOfFirst { variable: index, after: *after });
        }
        let round = match after {
            Some(after) => {
                round(earlier, *after).ok_or(ProgramError::Endless { variable: index, after: *after })?
            }
            None => 1,
        };
        let before = after.map(|after| origin(earlier, after));
        let divisor = round.saturating_mul(u128::from(*every));
        let ahead = divisor.saturating_mul(u128::from(*phase));
        Ok(Self {
            source: source.clone(),
            divisor,
            offset: before.map_or(0, |before| before.offset).saturating_add(ahead),
            period: before.map_or(*period, |before| before.period),
            prepared,
        })
    }

    /// Where its values come from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Packets (or flows) of one turn: turn `k` begins at number `k · divisor - offset`. An odometer's wheels differ in
    /// these two only.
    pub fn divisor(&self) -> u128 {
        self.divisor
    }

    /// Numbers it is ahead, because it has a phase, or one it advances after has.
    pub fn offset(&self) -> u128 {
        self.offset
    }

    /// Period: number of packets after which it starts over, regardless of its values.
    pub fn period(&self) -> Option<u64> {
        self.period
    }

    /// Its value at `number`, that of a packet or a flow.
    ///
    /// # Panics
    /// If it is derived: it has no turn.
    pub fn at(&self, number: u64) -> u128 {
        let number = self.period.map_or(number, |period| number % period);
        self.value_of_turn(u128::from(number).saturating_add(self.offset) / self.divisor)
    }

    /// Sequence of a generator's states; of other sources, `None`.
    pub fn sequence(&self) -> Option<&Sequence> {
        if let Prepared::Lcg(sequence) = &self.prepared { Some(sequence) } else { None }
    }

    /// Draw of a random source; of other sources, `None`.
    pub fn draw(&self) -> Option<&Draw> {
        if let Prepared::Draw(draw) = &self.prepared { Some(draw) } else { None }
    }

    /// The weights of a weighted list; of other sources, `None`.
    pub fn weights(&self) -> Option<&Weights> {
        if let Prepared::Weights(weights) = &self.prepared { Some(weights) } else { None }
    }

    /// Its value at turn `k`.
    ///
    /// # Panics
    /// If it is derived: it has no turn.
    pub fn value(&self, k: u64) -> u128 {
        self.value_of_turn(k.into())
    }

    /// A round more than 2^64 turns may have been begun by a phase.
    fn value_of_turn(&self, turn: u128) -> u128 {
        let k = turn as u64;
        match (&self.source, &self.prepared) {
            (Source::Range { first, step, count, width }, _) => {
                first.wrapping_add(step.wrapping_mul(turn % count)) & low_bits(*width)
            }
            (_, Prepared::Draw(draw)) => draw.value(k),
            (Source::List { values, order: ListOrder::Sequential }, _) => {
                values[(turn % values.len() as u128) as usize]
            }
            (Source::List { values, order: ListOrder::Random { seed } }, _) => {
                values[random::below(random::word(random::key(*seed), k), values.len() as u64) as usize]
            }
            (Source::Weighted { values, seed, .. }, Prepared::Weights(weights)) => {
                values[weights.pick(random::word(random::key(*seed), k))]
            }
            (Source::Lcg { bytes, pick, .. }, Prepared::Lcg(sequence)) => {
                pick.of(lcg::number(sequence.state(turn), *bytes))
            }
            _ => panic!("a derived variable has no separate turn"),
        }
    }

    /// The variable it is derived from, if it is.
    pub fn original(&self) -> Option<usize> {
        match self.source {
            Source::Derived { of, .. } => Some(of),
            _ => None,
        }
    }

    /// Its value, if it is derived, where the variable it is derived from has the value `original`.
    pub fn derive(&self, original: u128) -> u128 {
        let Source::Derived { shift, add, mask, width, .. } = &self.source else { return original };
        let bits = u32::from(shift.unsigned_abs());
        let shifted = if *shift < 0 { original.checked_shr(bits) } else { original.checked_shl(bits) };
        shifted.unwrap_or(0).wrapping_add(*add) & mask & low_bits(*width)
    }

    /// Turns before its values begin again; `None` if they never do.
    fn turns(&self) -> Option<u128> {
        match &self.source {
            Source::Range { count, .. } => Some(*count),
            Source::Lcg { limit, .. } => limit.map(u128::from),
            Source::List { values, order: ListOrder::Sequential } => Some(values.len() as u128),
            _ => None,
        }
    }
}

/// Numbers before the variable has gone round once; a derived one goes round with its original.
fn round(variables: &[Bound], index: usize) -> Option<u128> {
    let variable = origin(variables, index);
    variable.turns().map(|turns| turns.saturating_mul(variable.divisor))
}

/// The variable with its own turns that `index` goes with: itself, unless it is derived.
fn origin(variables: &[Bound], index: usize) -> &Bound {
    let variable = &variables[index];
    variable.original().map_or(variable, |of| origin(variables, of))
}

/// Verifies that the source of variable `index` has values.
fn prepare(source: &Source, index: usize) -> Result<Prepared, ProgramError> {
    let of = || format!("variable {index}");
    match source {
        Source::Range { count: 0, .. } => Err(ProgramError::Zero { of: of(), what: "count" }),
        Source::Random { distinct: Some(0), .. } => Err(ProgramError::Zero { of: of(), what: "distinct" }),
        Source::Random { from, to, .. } if from > to => Err(ProgramError::Backwards { variable: index }),
        Source::Lcg { pick: Pick::Range { from, to }, .. } if from > to => {
            Err(ProgramError::Backwards { variable: index })
        }
        Source::Lcg { pick: Pick::List(values), .. } if values.is_empty() => {
            Err(ProgramError::Empty { variable: index })
        }
        Source::Lcg { limit: Some(0), .. } => Err(ProgramError::Zero { of: of(), what: "limit" }),
        Source::Lcg { bytes, .. } if !matches!(bytes, 1 | 2 | 4 | 8) => {
            Err(ProgramError::Width { of: of(), width: u16::from(*bytes) * 8 })
        }
        Source::Lcg { seed, skip, stride, limit, .. } => {
            Ok(Prepared::Lcg(Sequence::new(*seed, *skip, *stride, *limit)))
        }
        Source::Range { width, .. } | Source::Derived { width, .. } if !(1..=128).contains(width) => {
            Err(ProgramError::Width { of: of(), width: *width })
        }
        Source::List { values, .. } | Source::Weighted { values, .. } if values.is_empty() => {
            Err(ProgramError::Empty { variable: index })
        }
        Source::Weighted { values, weights, .. } => Weights::new(weights)
            .filter(|_| values.len() == weights.len())
            .map(Prepared::Weights)
            .ok_or(ProgramError::Weights { variable: index }),
        Source::Random { from, to, distinct, seed } => {
            Ok(Prepared::Draw(Draw::new(*from, *to, *distinct, *seed)))
        }
        _ => Ok(Prepared::Nothing),
    }
}

impl Pick {
    /// Result for `number`.
    fn of(&self, number: u64) -> u128 {
        match self {
            Self::Range { from: 0, to: u64::MAX } => number.into(),
            Self::Range { from, to } => (from + number % (to - from + 1)).into(),
            Self::List(values) => values[(number % values.len() as u64) as usize],
        }
    }
}

/// The states of a generator, as one variable sees them: one for each of its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// The state of turn 0.
    pub first: u32,
    /// From one turn's to the next one's.
    pub step: lcg::Jump,
    /// Turns after which turn 0's comes again.
    pub limit: Option<u64>,
    stride: u32,
}

impl Sequence {
    fn new(seed: u32, skip: u32, stride: u32, limit: Option<u64>) -> Self {
        let first = lcg::Jump::by(skip.into()).of(seed);
        Self { first, step: lcg::Jump::by(stride.into()), limit, stride }
    }

    /// The state before the draws of a turn.
    pub fn state(&self, turn: u128) -> u32 {
        let turn = self.limit.map_or(turn, |limit| turn % u128::from(limit));
        lcg::Jump::by((turn as u64).wrapping_mul(self.stride.into())).of(self.first)
    }
}

/// Draw of a random value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Smallest value.
    pub from: u128,
    /// Largest value, less the smallest.
    pub last: u128,
    /// Key of the words that choose.
    pub key: u64,
    /// Parts the range is cut into, of which each gives one value; `None`: any value can come.
    pub parts: Option<Parts>,
}

/// A range cut into parts of almost equal length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Number of values.
    pub count: u64,
    /// Length of the later ones; the first [`Parts::longer`] have one more.
    pub length: u128,
    /// Number of those that have one more; at least 1.
    pub longer: u64,
    /// Key of the words that pick each part's value.
    pub key: u64,
}

impl Draw {
    /// Draw of values in `from..=to`.
    pub fn new(from: u128, to: u128, distinct: Option<u64>, seed: u64) -> Self {
        let (last, key) = (to - from, random::key(seed));
        let parts = distinct.map(|distinct| {
            // There are last + 1 values, which may not fit: so last / count, and the one counts among the longer.
            let count = u128::from(distinct).min(last.saturating_add(1));
            Parts {
                count: count as u64,
                length: last / count,
                longer: (last % count) as u64 + 1,
                key: random::other_key(random::other_key(key)),
            }
        });
        Self { from, last, key, parts }
    }

    /// The value at turn `k`.
    pub fn value(&self, k: u64) -> u128 {
        let Some(Parts { count, length, longer, key }) = self.parts else {
            return self.from + uniform(self.key, k, self.last);
        };
        let part = random::below(random::word(self.key, k), count);
        let before = u128::from(part) * length + u128::from(part.min(longer));
        let last = if part < longer { length } else { length - 1 };
        self.from + before + uniform(key, part, last)
    }
}

/// A uniform number from 0 to `last`. From 64 bits if they hold it, else from 128.
fn uniform(key: u64, k: u64, last: u128) -> u128 {
    match u64::try_from(last) {
        Ok(u64::MAX) => u128::from(random::word(key, k)),
        Ok(last) => u128::from(random::below(random::word(key, k), last + 1)),
        Err(_) => random::up_to(random::wide_word(key, k), last),
    }
}

/// Weights, added up: what a random word picks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Weights {
    /// Sum of the weights up to and including each.
    sums: Arc<[u64]>,
}

impl Weights {
    /// `None` if all are zero.
    pub fn new(weights: &[u32]) -> Option<Self> {
        let sums = weights.iter().scan(0, |sum, weight| {
            *sum += u64::from(*weight);
            Some(*sum)
        });
        let sums: Arc<[u64]> = sums.collect();
        sums.last().is_some_and(|total| *total > 0).then_some(Self { sums })
    }

    /// The sum of the weights up to and including each; the last one is the total.
    pub fn sums(&self) -> &[u64] {
        &self.sums
    }

    /// The index for a random `word`: each in proportion to its weight.
    pub fn pick(&self, word: u64) -> usize {
        let total = self.sums.last().copied().unwrap_or(0);
        let drawn = random::below(word, total);
        self.sums.partition_point(|sum| *sum <= drawn)
    }
}

/// A number with its lowest `width` bits set, 1 to 128.
pub(crate) fn low_bits(width: u16) -> u128 {
    u128::MAX >> (128 - width)
}

#[cfg(test)]
mod tests;
