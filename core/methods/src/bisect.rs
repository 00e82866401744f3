//! Finds the largest whole number at which trials pass. Rates in millionths of a frame per second, frames of a burst,
//! addresses and sessions are all whole numbers.
//!
//! Invariant: every probe lies between `min` and `max`, above passed and below failed values.

use crate::draft::{Limit, Verdict};

/// A search by bisection.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bisect {
    min: u64,
    max: u64,
    resolution: u64,
    /// Bounds this share of the upper one apart are near enough, too.
    share: f64,
    /// Values to try on the way up, ascending; then `max`.
    ladder: Vec<u64>,
    /// First step down from a failure while nothing has passed; doubled each time. `None` halves instead.
    descent: Option<u64>,
    passed: Option<u64>,
    /// The smallest that did not pass, by the DUT or by the tester.
    failed: Option<(u64, Limit)>,
    failed_by_dut: Option<u64>,
    /// The smallest and the largest value whose trials were inconclusive.
    unknown: Option<(u64, u64)>,
    /// `unknown` is a single value, which is tried again once something has passed.
    again: bool,
    given_up: bool,
}

impl Bisect {
    /// Between `min` and `max`, beginning with `max`, until what passed and what failed are at most `resolution` apart.
    pub(crate) fn new(min: u64, max: u64, resolution: u64) -> Self {
        let max = max.max(1);
        Self {
            min: min.clamp(1, max),
            max,
            resolution: resolution.max(1),
            share: 0.0,
            ladder: Vec::new(),
            descent: None,
            passed: None,
            failed: None,
            failed_by_dut: None,
            unknown: None,
            again: false,
            given_up: false,
        }
    }

    /// Until its bounds are this share of the upper one apart: steps get smaller as the value does.
    pub(crate) fn within(self, share: f64) -> Self {
        Self { share, ..self }
    }

    fn is_near(&self, low: u64, high: u64) -> bool {
        (high - low) as f64 <= (self.resolution as f64).max(high as f64 * self.share)
    }

    /// On the way up these come first.
    pub(crate) fn climbing(mut self, steps: impl IntoIterator<Item = u64>) -> Self {
        self.ladder = steps.into_iter().map(|step| step.clamp(self.min, self.max)).collect();
        self.ladder.sort_unstable();
        self
    }

    /// After a failure at the start, goes down by `step`, then twice that, and so on.
    pub(crate) fn descending(self, step: u64) -> Self {
        Self { descent: Some(step.max(1)), ..self }
    }

    /// A bound from above that is known without a trial.
    pub(crate) fn below(self, failed: u64, limit: Limit) -> Self {
        Self { failed: Some((failed, limit)), ..self }
    }

    /// Between these, trials were inconclusive.
    pub(crate) fn around(self, unknown: Option<(u64, u64)>) -> Self {
        Self { unknown, ..self }
    }

    /// Next value to try; `None` when there is nothing to gain.
    pub(crate) fn probe(&self) -> Option<u64> {
        let failed = self.failed();
        match self.open_unknown() {
            _ if self.given_up => None,
            Some((low, _)) if self.again && self.passed.is_some() => Some(low),
            // Below first: what passes is worth more than what fails.
            Some((low, high)) => self.between(Some(low)).or_else(|| self.beyond(high)),
            None => self.between(failed),
        }
    }

    /// Value to try above passed ones and below `above`.
    fn between(&self, above: Option<u64>) -> Option<u64> {
        match (self.passed, above) {
            (None, None) => Some(self.ladder.first().copied().unwrap_or(self.max)),
            (Some(passed), None) if passed >= self.max => None,
            (Some(passed), None) => {
                Some(self.ladder.iter().copied().find(|step| *step > passed).unwrap_or(self.max))
            }
            (None, Some(above)) if above <= self.min => None,
            (None, Some(above)) => Some(self.lower(above)),
            (Some(passed), Some(above)) => {
                (!self.is_near(passed, above)).then(|| passed + (above - passed) / 2)
            }
        }
    }

    /// Value to try above values that have not been tried.
    fn beyond(&self, high: u64) -> Option<u64> {
        match self.failed() {
            Some(failed) => (!self.is_near(high, failed)).then(|| high + (failed - high) / 2),
            None if high >= self.max => None,
            None => Some(self.ladder.iter().copied().find(|step| *step > high).unwrap_or(self.max)),
        }
    }

    fn lower(&self, above: u64) -> u64 {
        if above - self.min <= self.resolution {
            return self.min;
        }
        let below = match self.descent {
            Some(step) => above.saturating_sub(step),
            None => self.min + (above - self.min) / 2,
        };
        below.max(self.min)
    }

    /// Takes the verdict on `at`.
    pub(crate) fn judge(&mut self, at: u64, verdict: Verdict) {
        match verdict {
            Verdict::Pass => self.passed = Some(self.passed.map_or(at, |passed| passed.max(at))),
            Verdict::Fail => {
                self.failed_by_dut = Some(self.failed_by_dut.map_or(at, |failed| failed.min(at)));
                self.fail(at, Limit::Dut);
            }
            Verdict::Tester => self.fail(at, Limit::Tester),
            Verdict::Disturbed | Verdict::GivenUp => {
                self.given_up = verdict == Verdict::GivenUp;
                self.again = self.unknown.is_none();
                let (low, high) = self.unknown.unwrap_or((at, at));
                self.unknown = Some((low.min(at), high.max(at)));
            }
        }
        if verdict.is_known() && self.unknown == Some((at, at)) {
            self.unknown = None;
        }
    }

    /// The failure at `at`, the smallest value that failed, was not one: it passed when it was tried again.
    pub(crate) fn retract(&mut self, at: u64) {
        if self.failed() == Some(at) {
            (self.failed, self.failed_by_dut) = (None, None);
        }
        self.judge(at, Verdict::Pass);
    }

    fn fail(&mut self, at: u64, limit: Limit) {
        self.descent = self.descent.map(|step| step.saturating_mul(2));
        if self.failed.is_none_or(|(failed, _)| at < failed) {
            self.failed = Some((at, limit));
        }
    }

    /// Values of which nothing is known, as far as they lie above what passed and below what failed.
    pub(crate) fn open_unknown(&self) -> Option<(u64, u64)> {
        let (low, high) = self.unknown?;
        let low = low.max(self.passed.map_or(0, |passed| passed + 1));
        let high = high.min(self.failed().map_or(u64::MAX, |failed| failed - 1));
        (low <= high).then_some((low, high))
    }

    /// The largest that passed.
    pub(crate) fn passed(&self) -> Option<u64> {
        self.passed
    }

    /// The smallest that did not pass, by the DUT or by the tester.
    pub(crate) fn failed(&self) -> Option<u64> {
        self.failed.map(|(failed, _)| failed)
    }

    /// The smallest at which the DUT failed.
    pub(crate) fn failed_by_dut(&self) -> Option<u64> {
        self.failed_by_dut.filter(|failed| self.passed.is_none_or(|passed| passed < *failed))
    }

    /// Limit of the result.
    pub(crate) fn limit(&self) -> Limit {
        match (self.passed, self.failed) {
            _ if self.probe().is_some() => Limit::Open,
            (Some(passed), _) if passed >= self.max => Limit::Maximum,
            // Nothing lies between a pass and a failure that are next to each other.
            _ if self.open_unknown().is_some() || self.given_up => Limit::Disturbed,
            (_, None) => Limit::Maximum,
            (None, Some((_, Limit::Tester))) => Limit::Tester,
            (None, Some(_)) => Limit::Impossible,
            (Some(_), Some((_, limit))) => limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(mut search: Bisect, capacity: u64) -> (Bisect, u32) {
        let mut trials = 0;
        while let Some(at) = search.probe() {
            search.judge(at, if at <= capacity { Verdict::Pass } else { Verdict::Fail });
            trials += 1;
        }
        (search, trials)
    }

    proptest! {
        /// For any outcome of the trials, the search ends, and its bounds are outcomes of trials.
        #[test]
        fn bounds_are_what_trials_said(
            capacity in 1u64..2_000,
            resolution in 1u64..50,
            dice in proptest::collection::vec(0u8..8, 1..64),
        ) {
            let mut search = Bisect::new(1, 1_000, resolution);
            let mut trials = 0;
            let (mut passed, mut failed) = (None::<u64>, None::<u64>);
            while let Some(at) = search.probe() {
                prop_assert!(search.passed().is_none_or(|passed| passed < at));
                prop_assert!(search.failed().is_none_or(|failed| at < failed));
                let verdict = match dice[trials % dice.len()] {
                    0 => Verdict::Tester,
                    1 | 2 => Verdict::Disturbed,
                    3 if trials > 20 => Verdict::GivenUp,
                    _ if at <= capacity => Verdict::Pass,
                    _ => Verdict::Fail,
                };
                match verdict {
                    Verdict::Pass => passed = passed.max(Some(at)),
                    Verdict::Fail => failed = Some(failed.map_or(at, |failed| failed.min(at))),
                    _ => {}
                }
                search.judge(at, verdict);
                trials += 1;
                prop_assert!(trials < 200, "{:?}", search);
            }
            prop_assert_eq!((search.passed(), search.failed_by_dut()), (passed, failed));
            let limit = search.limit();
            prop_assert!(limit != Limit::Open);
            if limit == Limit::Dut {
                prop_assert!(failed.unwrap() - passed.unwrap() <= resolution);
            }
            if limit == Limit::Maximum {
                prop_assert!(passed == Some(1_000));
            }
        }

        #[test]
        fn finds_the_capacity(capacity in 1u64..2_000_000, resolution in 1u64..5_000, descent: Option<u8>) {
            let mut search = Bisect::new(1, 1_000_000, resolution);
            if let Some(step) = descent {
                search = search.descending(u64::from(step) * resolution);
            }
            let (found, trials) = run(search, capacity);
            let passed = found.passed().unwrap();
            prop_assert!(passed <= capacity);
            prop_assert!(capacity.min(1_000_000) - passed <= resolution);
            prop_assert!(trials <= 45, "{} trials", trials);
        }
    }

    #[test]
    fn says_what_bounds_the_answer() {
        assert_eq!(run(Bisect::new(1, 100, 1), 100).0.limit(), Limit::Maximum);
        assert_eq!(run(Bisect::new(1, 100, 1), 50).0.limit(), Limit::Dut);
        assert_eq!(run(Bisect::new(1, 100, 1), 0).0.limit(), Limit::Impossible);
        let mut search = Bisect::new(1, 100, 1);
        search.judge(100, Verdict::Tester);
        assert_eq!((search.limit(), search.probe()), (Limit::Open, Some(50)));
        (50..100).for_each(|at| search.judge(at, Verdict::Pass));
        assert_eq!(search.limit(), Limit::Tester);
        search.judge(100, Verdict::Fail);
        assert_eq!((search.limit(), search.failed_by_dut()), (Limit::Tester, Some(100)));
    }

    #[test]
    fn searches_around_what_cannot_be_judged() {
        // Between 60 and 70 no trial says anything.
        let verdict = |at: u64| match at {
            ..60 => Verdict::Pass,
            60..=70 => Verdict::Disturbed,
            _ => Verdict::Fail,
        };
        let mut search = Bisect::new(1, 128, 1);
        while let Some(at) = search.probe() {
            search.judge(at, verdict(at));
        }
        assert_eq!((search.passed(), search.failed_by_dut()), (Some(59), Some(71)));
        assert_eq!((search.open_unknown(), search.limit()), (Some((60, 70)), Limit::Disturbed));
    }

    #[test]
    fn tries_again_what_could_not_be_judged_and_may_give_up() {
        let mut search = Bisect::new(1, 100, 1);
        search.judge(100, Verdict::Disturbed);
        assert_eq!(search.probe(), Some(50));
        search.judge(50, Verdict::Pass);
        assert_eq!(search.probe(), Some(100));
        search.judge(100, Verdict::Pass);
        assert_eq!((search.limit(), search.open_unknown()), (Limit::Maximum, None));
        let mut search = Bisect::new(1, 100, 1);
        search.judge(100, Verdict::Fail);
        search.judge(50, Verdict::GivenUp);
        assert_eq!((search.probe(), search.limit()), (None, Limit::Disturbed));
        assert_eq!((search.passed(), search.failed_by_dut()), (None, Some(100)));
    }

    #[test]
    fn climbs_its_ladder_first() {
        let search = Bisect::new(1, 100, 1).climbing([50, 10]);
        let mut asked = Vec::new();
        let mut search = search;
        while let Some(at) = search.probe() {
            asked.push(at);
            search.judge(at, if at <= 70 { Verdict::Pass } else { Verdict::Fail });
        }
        assert_eq!(asked[..4], [10, 50, 100, 75]);
    }
}
