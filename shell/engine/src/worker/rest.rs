//! When a worker may sleep: where nothing is due for long and nothing that is measured can arrive.
//!
//! A worker that sleeps does not see when a frame arrives, only that it was woken by it: some ten microseconds later. So while
//! test packets are under way it stays awake, for [`AWAITED`] at most: that much is little beside the latency of what takes
//! longer. Packets that another worker sends, or another machine, it can't await, so where there are such it does not sleep
//! at all. And it wakes [`EARLY`] before the next one is due.

use units::Nanos;

/// Time by which a worker wakes earlier than needed: about what the kernel takes to wake it.
const EARLY: Nanos = Nanos::from_micros(50);
/// Shorter sleeps are not worth it.
const SHORTEST: Nanos = Nanos::from_micros(150);
/// Longest sleep: packets whose fragments never came are discarded meanwhile, and schedules that are too late.
const LONGEST: Nanos = Nanos::from_millis(50);
/// Time for which sent packets are awaited without a sleep.
const AWAITED: Nanos = Nanos::from_millis(2);
/// Time for which a worker stays awake that has just had something to do.
const LULL: Nanos = Nanos::from_micros(20);
/// Vain waits in a row after which what is sent is not awaited any more, until something arrives.
const VAIN_MAX: u32 = 8;

/// One worker's sleeps.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// Test packets sent and not seen again, as far as they may still come.
    under_way: i64,
    /// When it had something to do last.
    busy: Nanos,
    /// When it last sent something that may come back.
    sent: Nanos,
    vain: u32,
}

impl Rest {
    /// Takes down a turn at `now`: how many test packets were sent and received in it.
    #[inline]
    pub(crate) fn note(&mut self, now: Nanos, sent: u64, received: u64) {
        self.busy = now;
        if received > 0 {
            self.vain = 0;
        }
        if sent > 0 {
            self.sent = now;
        }
        self.under_way = (self.under_way + sent as i64 - received as i64).max(0);
    }

    /// Until when to sleep at `now` if the next thing is due at `due`; `None`: not at all.
    pub(crate) fn until(&mut self, now: Nanos, due: Nanos) -> Option<Nanos> {
        if now.since(self.busy) < LULL {
            return None;
        }
        if self.under_way > 0 && self.vain < VAIN_MAX {
            if now.since(self.sent) < AWAITED {
                return None;
            }
            // Lost, or far away.
            self.vain += 1;
            self.under_way = 0;
        }
        let until = Nanos(due.0.saturating_sub(EARLY.0)).min(now.saturating_add(LONGEST));
        (until > now.saturating_add(SHORTEST)).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Nanos = Nanos::from_millis(1);

    fn at(us: u64) -> Nanos {
        MILLISECOND + Nanos::from_micros(us)
    }

    #[test]
    fn what_was_sent_is_awaited_and_then_given_up() {
        let mut rest = Rest::default();
        rest.note(MILLISECOND, 1, 0);
        assert_eq!(rest.until(at(1999), at(4000)), None);
        assert_eq!(rest.until(at(2000), at(4000)), Some(at(3950)));
        // Once it is back there is nothing to wait for.
        rest.note(at(4000), 1, 0);
        rest.note(at(4010), 0, 1);
        assert_eq!(rest.until(at(4015), at(5000)), None, "it was just busy");
        assert_eq!(rest.until(at(4030), at(5000)), Some(at(4950)));
    }

    #[test]
    fn nothing_that_never_comes_is_awaited_for_ever() {
        let mut rest = Rest::default();
        for n in 0..u64::from(VAIN_MAX) {
            rest.note(at(n * 5000), 1, 0);
            assert_eq!(rest.until(at(n * 5000 + 30), at((n + 1) * 5000)), None);
            assert!(rest.until(at(n * 5000 + 2000), at((n + 1) * 5000)).is_some());
        }
        rest.note(at(50_000), 1, 0);
        assert!(rest.until(at(50_030), at(51_000)).is_some());
        // The first that comes back changes that.
        rest.note(at(50_100), 0, 1);
        rest.note(at(51_000), 1, 0);
        assert_eq!(rest.until(at(51_030), at(52_000)), None);
    }

    #[test]
    fn sleeps_are_neither_short_nor_endless() {
        let mut rest = Rest::default();
        assert_eq!(rest.until(at(0), at(199)), None);
        assert_eq!(rest.until(at(0), Nanos::MAX), Some(at(50_000)));
        assert_eq!(rest.until(at(0), Nanos::ZERO), None);
    }
}
