//! Finds the largest whole number at which trials pass. Rates in millionths of a frame per second, frames of a burst,
//! addresses and sessions are all whole numbers.
//!
//! Invariant: everything asked for lies between `min` and `max`, above what passed and below what failed.

use crate::draft::{Limit, Verdict};

/// A search by bisection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bisect {
    min: u64,
    max: u64,
    resolution: u64,
    /// What to try on the way up, ascending; then `max`.
    ladder: Vec<u64>,
    /// First step down from a failure while nothing has passed; doubled each time. `None` halves instead.
    descent: Option<u64>,
    passed: Option<u64>,
    failed: Option<(u64, Limit)>,
}

impl Bisect {
    /// Between `min` and `max`, beginning with `max`, until what passed and what failed are at most `resolution` apart.
    pub(crate) fn new(min: u64, max: u64, resolution: u64) -> Self {
        let max = max.max(1);
        Self {
            min: min.clamp(1, max),
            max,
            resolution: resolution.max(1),
            ladder: Vec::new(),
            descent: None,
            passed: None,
            failed: None,
        }
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

    /// What to try next; `None` when there is nothing to gain.
    pub(crate) fn probe(&self) -> Option<u64> {
        match (self.passed, self.failed) {
            (None, None) => Some(self.ladder.first().copied().unwrap_or(self.max)),
            (Some(passed), None) if passed >= self.max => None,
            (Some(passed), None) => {
                Some(self.ladder.iter().copied().find(|step| *step > passed).unwrap_or(self.max))
            }
            (None, Some((failed, _))) if failed <= self.min => None,
            (None, Some((failed, _))) => Some(self.lower(failed)),
            (Some(passed), Some((failed, _))) => {
                (failed - passed > self.resolution).then(|| passed + (failed - passed) / 2)
            }
        }
    }

    fn lower(&self, failed: u64) -> u64 {
        if failed - self.min <= self.resolution {
            return self.min;
        }
        let below = match self.descent {
            Some(step) => failed.saturating_sub(step),
            None => self.min + (failed - self.min) / 2,
        };
        below.max(self.min)
    }

    /// Takes the verdict on `at`.
    pub(crate) fn judge(&mut self, at: u64, verdict: Verdict) {
        match verdict {
            Verdict::Pass => self.passed = Some(self.passed.map_or(at, |passed| passed.max(at))),
            Verdict::Fail => self.fail(at, Limit::Dut),
            Verdict::Tester => self.fail(at, Limit::Tester),
            Verdict::Disturbed => self.fail(at, Limit::Disturbed),
        }
    }

    fn fail(&mut self, at: u64, limit: Limit) {
        self.descent = self.descent.map(|step| step.saturating_mul(2));
        if self.failed.is_none_or(|(failed, _)| at < failed) {
            self.failed = Some((at, limit));
        }
    }

    /// The largest that passed.
    pub(crate) fn passed(&self) -> Option<u64> {
        self.passed
    }

    /// The smallest that failed.
    pub(crate) fn failed(&self) -> Option<u64> {
        self.failed.map(|(failed, _)| failed)
    }

    /// Who failed at the smallest that failed.
    pub(crate) fn failed_by(&self) -> Option<Limit> {
        self.failed.map(|(_, limit)| limit)
    }

    /// What bounds the answer.
    pub(crate) fn limit(&self) -> Limit {
        match (self.passed, self.failed) {
            _ if self.probe().is_some() => Limit::Open,
            (_, None) => Limit::Maximum,
            (None, Some((_, limit @ (Limit::Tester | Limit::Disturbed)))) => limit,
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
