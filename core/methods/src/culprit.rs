//! Finds the first bad step of a row whose first step is good and whose last is bad, by halving.
//!
//! A step that can't be judged is left out, and an adjacent one is tried: then several steps may remain.
//!
//! Invariant: every step to try lies between the last known good one and the first known bad one.

use std::collections::BTreeSet;

/// Result of the trials of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepFound {
    /// As good as the first.
    Good,
    /// Worse.
    Bad,
    /// Nothing.
    Unknown,
}

/// A search for the first bad step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Culprit {
    good: usize,
    bad: usize,
    unknown: BTreeSet<usize>,
}

impl Culprit {
    /// Of `steps` steps, of which there are at least two.
    pub fn new(steps: usize) -> Self {
        Self { good: 0, bad: steps.max(2) - 1, unknown: BTreeSet::new() }
    }

    /// The step to try next; `None` if nothing is left to learn.
    pub fn next_step(&self) -> Option<usize> {
        let middle = self.good + (self.bad - self.good) / 2;
        let open = (self.good + 1..self.bad).filter(|step| !self.unknown.contains(step));
        open.min_by_key(|step| step.abs_diff(middle))
    }

    /// Takes what was found of a step.
    pub fn record(&mut self, step: usize, found: StepFound) {
        match found {
            StepFound::Good => self.good = self.good.max(step.min(self.bad - 1)),
            StepFound::Bad => self.bad = self.bad.min(step.max(self.good + 1)),
            StepFound::Unknown => {
                self.unknown.insert(step);
            }
        }
    }

    /// The last step that is known to be good.
    pub fn last_good(&self) -> usize {
        self.good
    }

    /// The first step that is known to be bad. If it does not follow the last good one, those between can't be judged.
    pub fn first_bad(&self) -> usize {
        self.bad
    }

    /// Steps to try, at most, if all can be judged.
    pub fn left(&self) -> u32 {
        usize::BITS - (self.bad - self.good - 1).leading_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(steps: usize, culprit: usize, unknown: &[usize]) -> (Culprit, u32) {
        let mut search = Culprit::new(steps);
        let mut tried = 0;
        while let Some(step) = search.next_step() {
            tried += 1;
            search.record(
                step,
                match () {
                    () if unknown.contains(&step) => StepFound::Unknown,
                    () if step >= culprit => StepFound::Bad,
                    () => StepFound::Good,
                },
            );
        }
        (search, tried)
    }

    #[test]
    fn the_first_bad_step_is_found_in_as_few_tries_as_forecast() {
        for steps in 2..70 {
            for culprit in 1..steps {
                let (found, tried) = search(steps, culprit, &[]);
                assert_eq!(
                    (found.last_good(), found.first_bad()),
                    (culprit - 1, culprit),
                    "{culprit} of {steps}"
                );
                assert!(tried <= Culprit::new(steps).left(), "{tried} tries for {culprit} of {steps}");
            }
        }
        assert_eq!(Culprit::new(33).left(), 5);
        assert_eq!(Culprit::new(2).next_step(), None);
    }

    #[test]
    fn steps_that_cannot_be_judged_are_left_out() {
        let (found, _) = search(33, 20, &[16, 24]);
        assert_eq!((found.last_good(), found.first_bad()), (19, 20));
        let (found, _) = search(33, 20, &[19, 20]);
        assert_eq!((found.last_good(), found.first_bad()), (18, 21));
    }
}
