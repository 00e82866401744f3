//! Sets a worker's counters to zero at an instant that all workers of a trial have in common.
//!
//! A packet counts by when it left: its sender counts those that leave at the instant or later, and so do its receivers, which
//! find in each packet when it left. So what is counted as sent and what as received are the same packets, on any number of
//! workers. This holds if a worker knows of the instant in time, and takes in nothing in a turn that begins before it and
//! ends after it. A worker reports whether it did, and control repeats the attempt if not.

use crate::counts::interval::Interval;
use units::Nanos;

/// Time before the instant in which frames are not taken in: turns are shorter.
const GUARD: Nanos = Nanos::from_micros(30);

/// An instant at which counters are to be set to zero.
pub(crate) struct Cut {
    at: Nanos,
    /// The interval to continue with; after the instant, the one to return.
    interval: Box<Interval>,
    /// Whether it is over.
    is_done: bool,
    /// Whether nothing was counted on the wrong side of it.
    is_exact: bool,
}

impl Cut {
    /// Counters are to be set to zero at `at`, and `empty` is the interval to continue with then. `now`: the time.
    pub(super) fn new(at: Nanos, empty: Box<Interval>, now: Nanos) -> Self {
        Self { at, interval: empty, is_done: false, is_exact: now < at }
    }

    /// The instant.
    pub(super) fn at(&self) -> Nanos {
        self.at
    }

    /// When there is something to do.
    pub(super) fn next_due(&self) -> Nanos {
        if self.is_done { Nanos::MAX } else { self.at }
    }

    /// Whether it is time.
    pub(super) fn is_due(&self, now: Nanos) -> bool {
        now >= self.next_due()
    }

    /// Whether frames may be taken in.
    pub(super) fn may_receive(&self, now: Nanos) -> bool {
        self.is_done || now.saturating_add(GUARD) < self.at
    }

    /// It is over: `swap` gives the counts of before for the interval to continue with.
    pub(super) fn pass(self, swap: impl FnOnce(Box<Interval>) -> Box<Interval>) -> Self {
        Self { interval: swap(self.interval), is_done: true, ..self }
    }

    /// A turn ends at `now` in which frames were taken in, if they could be.
    pub(super) fn note_end(&mut self, now: Nanos, may_receive: bool) {
        if !self.is_done && may_receive {
            self.is_exact &= now < self.at;
        }
    }

    /// Whether it is over.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The counts of before, and whether nothing was counted on the wrong side of the instant.
    pub(super) fn counted(self) -> (Box<Interval>, bool) {
        (self.interval, self.is_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::interval::Shape;

    const AT: Nanos = Nanos::from_millis(1);

    fn cut(now: Nanos) -> Cut {
        Cut::new(AT, Box::new(Shape::new(1, 1, 0, false).interval()), now)
    }

    #[test]
    fn a_turn_that_takes_frames_in_past_the_instant_is_noticed() {
        let before = Nanos::from_micros(800);
        for (ends, received, is_exact) in
            [(Nanos(AT.0 - 1), true, true), (AT, true, false), (AT, false, true), (Nanos::MAX, true, false)]
        {
            let mut cut = cut(Nanos::ZERO);
            assert!(cut.may_receive(before) && !cut.is_due(before));
            cut.note_end(ends, received);
            assert_eq!(cut.counted().1, is_exact, "{ends} {received}");
        }
        assert!(!cut(AT).counted().1, "too late from the start");
    }

    #[test]
    fn frames_wait_for_an_instant_that_is_near() {
        let waiting = cut(Nanos::ZERO);
        assert!(!waiting.may_receive(Nanos::from_micros(980)) && !waiting.is_due(Nanos::from_micros(980)));
        assert!(waiting.is_due(AT) && waiting.next_due() == AT && waiting.at() == AT);
        let done = waiting.pass(|interval| interval);
        assert!(done.is_done() && done.may_receive(AT) && !done.is_due(AT) && done.next_due() == Nanos::MAX);
    }
}
