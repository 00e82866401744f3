//! Turns at a rate, given out in advance: whoever wants one is told when it comes.
//!
//! A turn that nobody wanted is gone: a rate is kept, not made up for. Turn `n` comes at `n / rate` exactly, rounded up
//! to the nanosecond, so turns of several workers interleave evenly.

use crate::scale::{Scale, Warp};
use units::{Nanos, Pps};

const SCALE: u128 = 1_000_000_000_000_000;

/// Gives out every `workers`-th turn.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    rate: Pps,
    workers: u64,
    /// The next turn to give out.
    next: u64,
    warp: Warp,
}

impl Pacer {
    pub(crate) fn new(rate: Pps, worker: u64, workers: u64) -> Self {
        Self { rate, workers: workers.max(1), next: worker, warp: Warp::default() }
    }

    /// Goes so many times as fast, from `at` on. Whoever has a turn that has not come must ask for another.
    pub(crate) fn scale(&mut self, at: Nanos, scale: Scale) {
        self.warp.change(at, scale);
        self.next %= self.workers;
        self.skip_to(self.warp.own(at));
    }

    /// Whether no turn comes until the rate changes again.
    pub(crate) fn is_still(&self) -> bool {
        self.warp.is_still()
    }

    /// Goes on to the first turn that is not before its own time `own`.
    fn skip_to(&mut self, own: Nanos) {
        let first = (u128::from(own.0) * u128::from(self.rate.micro())).div_ceil(SCALE) as u64;
        if self.next < first {
            self.next += (first - self.next).div_ceil(self.workers) * self.workers;
        }
    }

    /// When the next turn comes, not before `now`; it is taken. [`Nanos::MAX`] if none ever comes.
    pub(crate) fn next(&mut self, now: Nanos) -> Nanos {
        self.next_before(now, Nanos::MAX).unwrap_or(Nanos::MAX)
    }

    /// The same for somebody who is gone at `end`: a turn that would come then, or later, is left to others. One that
    /// comes at `now` is taken in any case.
    pub(crate) fn next_before(&mut self, now: Nanos, end: Nanos) -> Option<Nanos> {
        if self.rate == Pps::ZERO {
            return None;
        }
        self.skip_to(self.warp.own(now));
        let at = (u128::from(self.next) * SCALE).div_ceil(u128::from(self.rate.micro()));
        let at = self.warp.when(Nanos(at.min(u128::from(u64::MAX)) as u64)).max(now);
        if at == Nanos::MAX {
            return None;
        }
        if at > now && at >= end {
            return None;
        }
        self.next += self.workers;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_at_the_rate_and_are_not_made_up() {
        let mut pacer = Pacer::new(Pps::new(3), 0, 1);
        assert_eq!([0, 0, 0].map(|now| pacer.next(Nanos(now)).0), [0, 333_333_334, 666_666_667]);
        assert_eq!(pacer.next(Nanos::from_secs(10)), Nanos::from_secs(10));
        assert_eq!(pacer.next(Nanos::from_secs(10)).0, 10_333_333_334);
        assert_eq!(Pacer::new(Pps::ZERO, 0, 1).next(Nanos::ZERO), Nanos::MAX);
    }

    #[test]
    fn a_turn_that_comes_too_late_is_left_to_others() {
        let mut pacer = Pacer::new(Pps::new(10), 0, 1);
        let ms = Nanos::from_millis;
        assert_eq!(pacer.next_before(ms(50), ms(100)), None);
        assert_eq!(pacer.next_before(ms(50), ms(101)), Some(ms(100)));
        assert_eq!(pacer.next(ms(50)), ms(200));
        // One that comes now is not too late, whoever is gone.
        assert_eq!(pacer.next_before(ms(300), ms(200)), Some(ms(300)));
        assert_eq!(Pacer::new(Pps::ZERO, 0, 1).next_before(ms(0), Nanos::MAX), None);
    }

    #[test]
    fn workers_share_the_turns() {
        let mut all: Vec<u64> = (0..3)
            .flat_map(|worker| {
                let mut pacer = Pacer::new(Pps::new(7), worker, 3);
                (0..10).map(move |_| pacer.next(Nanos(5)).0)
            })
            .collect();
        all.sort_unstable();
        let mut one = Pacer::new(Pps::new(7), 0, 1);
        one.next(Nanos(0));
        let alone: Vec<u64> = (0..30).map(|_| one.next(Nanos(0)).0).collect();
        assert_eq!(all[..20], alone[..20]);
    }
}
