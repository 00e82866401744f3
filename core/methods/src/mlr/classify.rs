//! Judges one load by the durations of the trials at it (MLRsearch, load classification).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Effective durations of the trials at a load, s: full-length or short, low-loss or high-loss.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Durations {
    /// Full-length, low-loss.
    pub full_low: f64,
    /// Full-length, high-loss.
    pub full_high: f64,
    /// Short, low-loss.
    pub short_low: f64,
    /// Short, high-loss.
    pub short_high: f64,
}

/// Condition for a decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// Share of high-loss duration that a lower bound may have.
    pub exceed_ratio: f64,
    /// Sum of full-length trials, s.
    pub duration_sum: f64,
}

/// Class of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadClass {
    /// For any trials, it stays within the exceed ratio.
    Lower,
    /// For any trials, it stays above.
    Upper,
    /// More trials are needed.
    Undecided,
}

impl Threshold {
    /// Whether the load would stay within the exceed ratio if all trials that are missing were good, and if all were bad.
    ///
    /// Short high-loss trials count against the load as far as short low-loss trials don't outweigh them; short low-loss
    /// trials never count for it.
    pub fn estimates(self, trials: Durations) -> (bool, bool) {
        let outweighed = trials.short_low * self.exceed_ratio / (1.0 - self.exceed_ratio);
        let excess = trials.full_high + (trials.short_high - outweighed).max(0.0);
        let whole = (trials.full_low + excess).max(self.duration_sum);
        let quota = whole * self.exceed_ratio;
        (excess <= quota, whole - trials.full_low <= quota)
    }

    /// Class of the load.
    pub fn classify(self, trials: Durations) -> LoadClass {
        match self.estimates(trials) {
            (true, true) => LoadClass::Lower,
            (false, false) => LoadClass::Upper,
            _ => LoadClass::Undecided,
        }
    }

    /// The loss ratio that counts for conditional throughput: the worst one left after the worst trials within the exceed
    /// ratio are set aside. `losses` are (loss ratio, duration in s) of the full-length trials, in any order.
    pub fn conditional_loss(self, losses: &[(f64, f64)]) -> f64 {
        let mut losses = losses.to_vec();
        losses.sort_by(|a, b| a.0.total_cmp(&b.0));
        let whole: f64 = losses.iter().map(|(_, duration)| duration).sum();
        let mut left = whole.max(self.duration_sum) * (1.0 - self.exceed_ratio);
        for (loss, duration) in losses {
            left -= duration;
            // A billionth of a second is what sums of floating-point seconds may be off by.
            if left <= 1e-9 {
                return loss;
            }
        }
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CSIT: Threshold = Threshold { exceed_ratio: 0.5, duration_sum: 21.0 };
    const RFC2544: Threshold = Threshold { exceed_ratio: 0.0, duration_sum: 60.0 };

    fn full(full_low: f64, full_high: f64) -> Durations {
        Durations { full_low, full_high, ..Durations::default() }
    }

    #[test]
    fn eleven_of_twenty_one_seconds_decide() {
        assert_eq!(CSIT.classify(full(10.0, 10.0)), LoadClass::Undecided);
        assert_eq!(CSIT.classify(full(11.0, 10.0)), LoadClass::Lower);
        assert_eq!(CSIT.classify(full(10.0, 11.0)), LoadClass::Upper);
    }

    #[test]
    fn one_lossy_trial_is_too_many_for_rfc_2544() {
        assert_eq!(RFC2544.classify(full(60.0, 0.0)), LoadClass::Lower);
        assert_eq!(RFC2544.classify(full(0.0, 60.0)), LoadClass::Upper);
        assert_eq!(RFC2544.classify(Durations { short_high: 1.0, ..full(60.0, 0.0) }), LoadClass::Upper);
        assert_eq!(RFC2544.classify(Durations { short_low: 500.0, ..full(0.0, 0.0) }), LoadClass::Undecided);
    }

    #[test]
    fn the_worst_trials_within_the_ratio_are_set_aside() {
        let losses: Vec<_> = (0..21).map(|i| (f64::from(i) / 100.0, 1.0)).collect();
        assert_eq!(CSIT.conditional_loss(&losses), 0.1);
        assert_eq!(CSIT.conditional_loss(&losses[..10]), 1.0);
        assert_eq!(RFC2544.conditional_loss(&[(0.0, 60.0)]), 0.0);
    }

    proptest! {
        /// A good trial never makes a lower bound anything else, nor a bad one an upper bound.
        #[test]
        fn more_of_the_same_changes_nothing(fl in 0.0f64..99.0, fh in 0.0f64..99.0, sl in 0.0f64..99.0, sh in 0.0f64..99.0,
                                            exceed in 0.0f64..0.99, sum in 1.0f64..99.0, more in 0.0f64..99.0) {
            let threshold = Threshold { exceed_ratio: exceed, duration_sum: sum };
            let trials = Durations { full_low: fl, full_high: fh, short_low: sl, short_high: sh };
            let better = Durations { full_low: fl + more, ..trials };
            let worse = Durations { full_high: fh + more, ..trials };
            match threshold.classify(trials) {
                LoadClass::Lower => prop_assert_eq!(threshold.classify(better), LoadClass::Lower),
                LoadClass::Upper => prop_assert_eq!(threshold.classify(worse), LoadClass::Upper),
                LoadClass::Undecided => {}
            }
        }
    }
}
