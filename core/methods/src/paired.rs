//! Paired comparisons: two sides measured in turns, and how far apart they are.
//!
//! A pair is one trial of each side, one directly after the other, so that a disturbance of the machine affects both.
//! The order is drawn from the seed, balanced over every two pairs (ABBA or BAAB), so that neither gains by a drift.
//! After a few pairs, at instants fixed beforehand, the pairs are evaluated; the comparison ends as soon as they decide
//! the [`Question`].
//!
//! Not here: trials, figures, files. A trial is a side and a seed; its outcome is one number.
//!
//! Invariants: all looks together are wrong in a share of at most 1 − `confidence` of all comparisons (the share is
//! divided among the looks, regardless of their dependence). That the sides are alike is concluded from trials alone in
//! which the tester's own trouble can't have made the figure. That they differ may also be concluded from disturbed
//! pairs: a disturbance that knows nothing of sides favours none.

use crate::settings::ConfigError;
use crate::signed_rank::{Bounds, PAIRS_MAX, bounds, pairs_needed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Looks at the undisturbed pairs, at most, and as many at all pairs.
const LOOKS_MAX: usize = 4;

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first: what the other is compared with.
    A,
    /// The second.
    B,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Question of a comparison. Differences are B's advantage over A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Which side is better, or that they differ by no more than this.
    Differ {
        /// The smallest difference of interest.
        margin: f64,
    },
    /// Whether B is worse than A by more than this.
    Worse {
        /// Between what counts as alike and what counts as worse.
        threshold: f64,
    },
}

/// Scale of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As a share of the smaller value: rates, times, counts.
    Relative,
    /// As it is: shares such as a loss ratio.
    Absolute,
}

/// Which values are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Large ones: rates.
    Higher,
    /// Small ones: times, losses.
    Lower,
}

/// Settings of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedConfig {
    /// Question.
    pub question: Question,
    /// Scale of differences.
    pub scale: Scale,
    /// Which values are good.
    pub better: Better,
    /// Minimum share of comparisons with a right result: 0.99.
    pub confidence: f64,
    /// Undisturbed pairs, at most.
    pub pairs: u32,
    /// Disturbed pairs that are repeated, at most.
    pub repeats: u32,
    /// Draws the order of trials, and the seed of each pair.
    pub seed: u64,
}

/// A trial to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedTrial {
    /// Number of its pair, from 0; a repeated pair has a new number.
    pub pair: u32,
    /// Which side.
    pub side: Side,
    /// Seed of all that is random in it: the same for both trials of a pair.
    pub seed: u64,
}

/// The figure of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// The device's.
    Value(f64),
    /// The tester's own trouble may have made it.
    Disturbed {
        /// The figure, if there is one.
        value: Option<f64>,
        /// The trouble.
        reason: String,
    },
}

impl Measured {
    /// The figure, however sure.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Disturbed { value, .. } => *value,
        }
    }

    fn trouble(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::Disturbed { reason, .. } => Some(reason),
        }
    }
}

/// Two trials that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Which went first.
    pub first: Side,
    /// Of A.
    pub a: Measured,
    /// Of B.
    pub b: Measured,
}

/// Result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A is better; of [`Question::Worse`], B is worse by more than the threshold.
    A,
    /// B is better.
    B,
    /// No difference larger than the margin; of [`Question::Worse`], B is worse by less than the threshold, if at all.
    Alike,
    /// The pairs do not decide.
    Unknown,
}

/// Findings of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedResult {
    /// Result.
    pub answer: Answer,
    /// B's advantage over A: estimate and interval; `None` without pairs.
    pub advantage: Option<Bounds>,
    /// Number of pairs used for the result.
    pub pairs: u32,
    /// Pairs that were disturbed.
    pub disturbed: u32,
    /// Whether disturbed pairs are used for the result.
    pub uses_disturbed: bool,
    /// The most frequent trouble of disturbed trials.
    pub trouble: Option<String>,
}

/// A comparison under way.
#[derive(Debug, Clone)]
pub struct Paired {
    config: PairedConfig,
    /// Numbers of undisturbed pairs at which to look at these, ascending.
    looks: Vec<u32>,
    /// Numbers of pairs at which to look at all of them, if some were disturbed.
    looks_at_all: Vec<u32>,
    pairs: Vec<Pair>,
    /// Of the pair under way: which side was measured.
    half: Option<(Side, Measured)>,
    result: Option<PairedResult>,
}

impl Paired {
    /// # Errors
    /// A setting that makes no sense, or too few pairs for the confidence.
    pub fn new(config: PairedConfig) -> Result<Self, ConfigError> {
        let bound = match config.question {
            Question::Differ { margin } => margin,
            Question::Worse { threshold } => threshold,
        };
        if !(bound.is_finite() && bound > 0.0) {
            return Err(ConfigError::new("margin", "must be more than 0"));
        }
        if !(config.confidence >= 0.5 && config.confidence < 1.0) {
            return Err(ConfigError::new("confidence", "must be at least 50% and less than 100%"));
        }
        let all = config.pairs.saturating_add(config.repeats) as usize;
        let needed = pairs_needed(config.alpha());
        if (config.pairs as usize) < needed || all > PAIRS_MAX {
            let reason = format!(
                "must be at least {needed} for a confidence of {}%, and at most {PAIRS_MAX} with repeats",
                config.confidence * 100.0
            );
            return Err(ConfigError::new("pairs", reason));
        }
        let looks_at_all = if config.repeats > 0 { looks(needed, all) } else { Vec::new() };
        let looks = looks(needed, config.pairs as usize);
        Ok(Self { config, looks, looks_at_all, pairs: Vec::new(), half: None, result: None })
    }

    /// The next trial; `None` once the question is decided or no pair is left.
    pub fn next_trial(&self) -> Option<PairedTrial> {
        if self.result.is_some() {
            return None;
        }
        let pair = self.pairs.len() as u32;
        let first = self.first_of(pair);
        let side = self.half.as_ref().map_or(first, |(side, _)| side.other());
        Some(PairedTrial {
            pair,
            side,
            seed: random::word(random::key(self.config.seed), u64::from(pair) + 1),
        })
    }

    /// ABBA or BAAB for every two pairs, from the seed.
    fn first_of(&self, pair: u32) -> Side {
        let key = random::other_key(random::key(self.config.seed));
        let block = random::word(key, u64::from(pair / 2)) & 1;
        if (block + u64::from(pair % 2)).is_multiple_of(2) { Side::A } else { Side::B }
    }

    /// Takes the outcome of the trial that [`Paired::next_trial`] names.
    pub fn record(&mut self, measured: Measured) {
        let Some(trial) = self.next_trial() else { return };
        let Some((first, earlier)) = self.half.take() else {
            self.half = Some((trial.side, measured));
            return;
        };
        let (a, b) = if first == Side::A { (earlier, measured) } else { (measured, earlier) };
        self.pairs.push(Pair { first, a, b });
        self.look();
    }

    /// The pairs so far.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The result; before the end, as far as it is known.
    pub fn result(&self) -> PairedResult {
        self.result.clone().unwrap_or_else(|| PairedResult {
            answer: Answer::Unknown,
            ..self.found(&self.differences(false), false, false)
        })
    }

    /// Evaluates the pairs if it is time to, and ends the comparison with the first result, or with the last pair.
    fn look(&mut self) {
        let clean = self.differences(false);
        let (count, all) = (clean.len() as u32, self.pairs.len() as u32);
        let newest_is_clean = self.pairs.last().is_some_and(Pair::is_undisturbed);
        let is_last = count == self.config.pairs || all - count > self.config.repeats;
        if newest_is_clean && self.looks.contains(&count) {
            let found = self.found(&clean, count == self.config.pairs, false);
            self.result = Some(found).filter(|found| found.answer != Answer::Unknown);
        }
        if self.result.is_none() && all > count && (self.looks_at_all.contains(&all) || is_last) {
            let found = self.found(&self.differences(true), is_last, true);
            self.result = Some(found).filter(|found| found.answer != Answer::Unknown);
        }
        if self.result.is_none() && is_last {
            // Nothing was learnt: the last look at undisturbed pairs was one of those above, or comes too early to count.
            let found = self.found(&clean, true, false);
            self.result = Some(PairedResult { answer: Answer::Unknown, ..found });
        }
    }

    /// B's advantage in each pair; without those that were disturbed, or in all that have both figures.
    fn differences(&self, disturbed: bool) -> Vec<f64> {
        let pairs = self.pairs.iter().filter(|pair| disturbed || pair.is_undisturbed());
        pairs.filter_map(|pair| self.config.advantage(pair)).collect()
    }

    /// Result from `differences`. Disturbed pairs can only show that the sides differ.
    fn found(&self, differences: &[f64], is_last: bool, uses_disturbed: bool) -> PairedResult {
        let pairs = differences.len() as u32;
        let advantage = bounds(differences, self.config.alpha());
        let mut answer = advantage.map_or(Answer::Unknown, |found| self.config.answer(found, is_last));
        if uses_disturbed && answer == Answer::Alike {
            answer = Answer::Unknown;
        }
        let disturbed = self.pairs.iter().filter(|pair| !pair.is_undisturbed()).count() as u32;
        PairedResult { answer, advantage, pairs, disturbed, uses_disturbed, trouble: self.trouble() }
    }

    fn trouble(&self) -> Option<String> {
        let all: Vec<&str> =
            self.pairs.iter().flat_map(|pair| [pair.a.trouble(), pair.b.trouble()]).flatten().collect();
        let often = |one: &&&str| all.iter().filter(|other| *other == *one).count();
        all.iter().rev().max_by_key(often).map(|reason| (*reason).to_owned())
    }
}

impl Pair {
    /// Whether both figures are the device's.
    pub fn is_undisturbed(&self) -> bool {
        matches!((&self.a, &self.b), (Measured::Value(_), Measured::Value(_)))
    }
}

impl PairedConfig {
    /// Share of wrong results that one evaluation may add. If pairs are repeated, there are evaluations of all pairs,
    /// and one at the end.
    fn alpha(&self) -> f64 {
        let looks = if self.repeats > 0 { 2 * LOOKS_MAX + 1 } else { LOOKS_MAX };
        (1.0 - self.confidence) / looks as f64
    }

    /// B's advantage over A in a pair, on the scale of differences.
    fn advantage(&self, pair: &Pair) -> Option<f64> {
        let (a, b) = (pair.a.value()?, pair.b.value()?);
        let more = match self.scale {
            Scale::Absolute => b - a,
            // Of no trial's value alone, so that sides can be swapped; between −2 and 2, whatever the values.
            Scale::Relative if a + b == 0.0 => 0.0,
            Scale::Relative => 2.0 * (b - a) / (a + b),
        };
        Some(if self.better == Better::Higher { more } else { -more })
    }

    /// An advantage as users read it: of [`Scale::Relative`], by what share the better one's value is above, or of
    /// [`Better::Lower`] the worse one's, with the sign of the advantage.
    pub fn share(&self, advantage: f64) -> f64 {
        match self.scale {
            Scale::Absolute => advantage,
            Scale::Relative if advantage.abs() >= 2.0 => f64::INFINITY.copysign(advantage),
            Scale::Relative => (2.0 * advantage.abs() / (2.0 - advantage.abs())).copysign(advantage),
        }
    }

    /// The inverse of [`PairedConfig::share`].
    fn on_scale(&self, share: f64) -> f64 {
        match self.scale {
            Scale::Absolute => share,
            Scale::Relative => 2.0 * share / (2.0 + share),
        }
    }

    fn answer(&self, found: Bounds, is_last: bool) -> Answer {
        match self.question {
            Question::Worse { threshold } => {
                let threshold = -self.on_scale(threshold);
                match found {
                    Bounds { upper, .. } if upper < threshold => Answer::A,
                    Bounds { lower, .. } if lower > threshold => Answer::Alike,
                    _ => Answer::Unknown,
                }
            }
            Question::Differ { margin } => {
                let margin = self.on_scale(margin);
                let Bounds { estimate, lower, upper } = found;
                // A difference around the margin is measured on: it may turn out to be no more than that.
                let tells = is_last || estimate.abs() > margin;
                match () {
                    () if -margin <= lower && upper <= margin => Answer::Alike,
                    () if tells && lower > 0.0 => Answer::B,
                    () if tells && upper < 0.0 => Answer::A,
                    () => Answer::Unknown,
                }
            }
        }
    }
}

/// Numbers of pairs at which to evaluate: from the first that can decide up to all, at equal ratios.
fn looks(first: usize, pairs: usize) -> Vec<u32> {
    let ratio = (pairs as f64 / first as f64).powf(1.0 / (LOOKS_MAX - 1) as f64);
    let place = |n: usize| (first as f64 * ratio.powi(n as i32)).round() as u32;
    let mut looks: Vec<u32> = (0..LOOKS_MAX).map(place).collect();
    looks.dedup();
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(margin: f64) -> PairedConfig {
        PairedConfig {
            question: Question::Differ { margin },
            scale: Scale::Relative,
            better: Better::Higher,
            confidence: 0.99,
            pairs: 40,
            repeats: 120,
            seed: 7,
        }
    }

    fn played(
        config: PairedConfig,
        mut trial: impl FnMut(PairedTrial) -> Measured,
    ) -> (Paired, PairedResult) {
        let mut paired = Paired::new(config).unwrap();
        while let Some(next) = paired.next_trial() {
            paired.record(trial(next));
        }
        let result = paired.result();
        (paired, result)
    }

    #[test]
    fn looks_are_fixed_and_the_last_is_at_all_pairs() {
        assert_eq!(looks(11, 40), [11, 17, 26, 40]);
        assert_eq!(looks(9, 9), [9]);
        for (first, all) in [(9, 400), (11, 13), (12, 399)] {
            assert_eq!(looks(first, all).last(), Some(&(all as u32)));
        }
        let few = PairedConfig { pairs: 8, ..config(0.01) };
        let error = Paired::new(few).unwrap_err().to_string();
        assert!(error.contains("must be at least 11 for a confidence of 99%, and at most 400"), "{error}");
    }

    #[test]
    fn order_is_balanced_reproducible_and_of_the_seed() {
        let order = |seed| {
            let mut order = String::new();
            let (paired, _) = played(PairedConfig { seed, ..config(1e-9) }, |trial| {
                order.push(if trial.side == Side::A { 'a' } else { 'b' });
                Measured::Value(1.0 + f64::from(trial.pair % 3) * f64::from(trial.side == Side::A))
            });
            (order, paired.pairs().len())
        };
        let (text, _) = order(7);
        assert!(
            text.as_bytes().chunks(4).all(|block| matches!(block, b"abba" | b"baab" | b"ab" | b"ba")),
            "{text}"
        );
        assert_eq!(order(7), order(7));
        assert!((1..20).any(|seed| order(seed).0 != text));
    }

    #[test]
    fn both_trials_of_a_pair_have_one_seed() {
        let mut seeds = Vec::new();
        played(config(0.01), |trial| {
            seeds.push((trial.pair, trial.seed));
            Measured::Value(1.0)
        });
        assert!(seeds.chunks(2).all(|pair| pair[0] == pair[1]));
        assert!(seeds.chunks(2).zip(seeds.chunks(2).skip(1)).all(|(one, next)| one[0].1 != next[0].1));
    }

    #[test]
    fn equal_sides_are_alike_and_a_faster_one_is_named() {
        let (paired, alike) = played(config(0.01), |_| Measured::Value(1e6));
        assert_eq!((alike.answer, paired.pairs().len()), (Answer::Alike, 11));
        let faster = |factor: f64, better| {
            let config = PairedConfig { better, ..config(0.01) };
            let (paired, result) = played(config, |trial| {
                let noise = 1.0 + (trial.seed % 1000) as f64 * 1e-6;
                Measured::Value(noise * if trial.side == Side::B { factor } else { 1.0 })
            });
            let share = paired.config.share(result.advantage.unwrap().estimate);
            (result.answer, (share * 1e4).round() / 1e4)
        };
        assert_eq!(faster(1.02, Better::Higher), (Answer::B, 0.02));
        assert_eq!(faster(1.0 / 1.02, Better::Higher), (Answer::A, -0.02));
        assert_eq!(faster(1.02, Better::Lower), (Answer::A, -0.02));
    }

    #[test]
    fn disturbed_pairs_are_repeated_and_alone_never_make_sides_alike() {
        let disturbed = |value| Measured::Disturbed { value: Some(value), reason: "hog".into() };
        let (_, some) = played(config(0.01), |trial| match trial.pair % 3 {
            0 => disturbed(5.0),
            _ => Measured::Value(1.0),
        });
        assert_eq!((some.answer, some.pairs, some.disturbed), (Answer::Alike, 11, 6));
        let (paired, all) = played(config(0.01), |_| disturbed(1.0));
        assert_eq!(
            (all.answer, paired.pairs().len(), all.trouble.as_deref()),
            (Answer::Unknown, 121, Some("hog"))
        );
        let (_, differ) =
            played(config(0.01), |trial| disturbed(if trial.side == Side::A { 1.1 } else { 1.0 }));
        assert_eq!((differ.answer, differ.uses_disturbed, differ.pairs), (Answer::A, true, 11));
    }

    #[test]
    fn a_threshold_lies_between_alike_and_worse() {
        let worse = |by: f64| {
            let config = PairedConfig { question: Question::Worse { threshold: 0.05 }, ..config(0.01) };
            let (_, result) = played(config, |trial| {
                let noise = 1.0 + (trial.seed % 1000) as f64 * 1e-5;
                Measured::Value(noise / if trial.side == Side::B { 1.0 + by } else { 1.0 })
            });
            result.answer
        };
        assert_eq!(
            [worse(0.0), worse(0.1), worse(-0.1), worse(0.03)],
            [Answer::Alike, Answer::A, Answer::Alike, Answer::Alike]
        );
    }

    #[test]
    fn shares_are_not_relative() {
        let config = PairedConfig { scale: Scale::Absolute, better: Better::Lower, ..config(0.001) };
        let (paired, result) =
            played(config, |trial| Measured::Value(if trial.side == Side::A { 0.0 } else { 0.01 }));
        assert_eq!(result.answer, Answer::A);
        assert_eq!(paired.config.share(result.advantage.unwrap().estimate), -0.01);
    }
}
