//! Pauses of workers: times in which the tester did nothing although it had to, and packets that they touched.
//!
//! A pause is known once it is over: two readings of the clock that are further apart than work explains. A packet is
//! touched if the pause lies between its departure and its arrival, or if it left before the packets held up by the
//! pause were sent and the device had passed it on. So every packet that left before the end of that recovery and has
//! not arrived before the pause was touched: one comparison of instants decides.
//!
//! Not here: what pauses mean for figures (`trust`), and what becomes of touched packets (`measure`).
//!
//! Invariant: no clock is read for it but the one that is read anyway, except after a long turn.

use crate::counts::interval::PAUSE_NS;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Nanos;

/// Time between two readings of the clock that may be a pause: a burst takes less.
pub(crate) const GAP_MIN: Nanos = Nanos::from_micros(50);
/// The same of a sleep that lasted too long: a core that idles takes some time to wake.
const OVERSLEPT_MIN: Nanos = Nanos::from_micros(200);
/// Time after which another worker that was not seen counts as kept from its core. Its turn may be long.
const ABSENT_MIN: Nanos = Nanos::from_micros(200);
/// Interval at which a worker shows that it is alive, and checks the others.
const SHOW_EVERY: Nanos = Nanos::from_micros(20);
/// Number of packets that must come back after a pause, each sent after the previous one came back, until the device
/// counts as recovered from the burst: its queue shrinks each time by its load.
const ROUNDS: u8 = 3;
/// Longest time to wait for them, as a multiple of the pause.
const ROUNDS_TIME_MAX: u64 = 1;

/// State shared by a trial's workers.
#[derive(Debug)]
pub(crate) struct Shared {
    touched_until: AtomicU64,
    seen: Box<[Seen]>,
}

/// When a worker was last seen, on a separate cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Seen(AtomicU64);

impl Shared {
    /// For this number of workers; `None` for one.
    pub(crate) fn new(workers: usize) -> Option<Arc<Self>> {
        let seen = || (0..workers).map(|_| Seen::default()).collect();
        (workers > 1).then(|| Arc::new(Self { touched_until: AtomicU64::new(0), seen: seen() }))
    }
}

/// A pause and what follows from it.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    /// When the worker resumed.
    end: Nanos,
    length: u64,
    /// Packets that leave from here on find the device without the burst, once one of them has come back so often.
    probe: Option<Nanos>,
    rounds: u8,
    deadline: Nanos,
}

/// One worker's pauses.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Shortest gap that may be a pause, ns; the largest number where there are none.
    gap_min: u64,
    last: Nanos,
    /// Packets that left before this were touched.
    touched_until: Nanos,
    recovery: Option<Recovery>,
    /// Processor time of this thread.
    processor_time: fn() -> Nanos,
    /// Readings of both clocks at the last long gap, and the time slept since.
    before: (Nanos, Nanos),
    slept: u64,
    /// Pauses since they were taken out, and their time.
    pauses: u64,
    paused_ns: u64,
    /// Time of long turns that were no pauses since it was taken out, ns, and when the last one ended.
    long_turns_ns: u64,
    long_turn_end: Nanos,
    others: Option<Others>,
}

/// The other workers, as one sees them.
#[derive(Debug)]
struct Others {
    shared: Arc<Shared>,
    own: usize,
    shown: Nanos,
    /// All of them were there then.
    seen: Nanos,
}

impl Watch {
    /// Of a trial in virtual time, in which nothing pauses.
    pub(crate) fn off() -> Self {
        Self {
            gap_min: u64::MAX,
            last: Nanos::ZERO,
            touched_until: Nanos::ZERO,
            recovery: None,
            processor_time: || Nanos::ZERO,
            before: (Nanos::ZERO, Nanos::ZERO),
            slept: 0,
            pauses: 0,
            paused_ns: 0,
            long_turns_ns: 0,
            long_turn_end: Nanos::ZERO,
            others: None,
        }
    }

    /// Of worker `own`, whose thread calls it from `now` on.
    pub(crate) fn new(
        now: Nanos,
        processor_time: fn() -> Nanos,
        own: usize,
        shared: Option<Arc<Shared>>,
    ) -> Self {
        let others = shared.map(|shared| Others { shared, own, shown: Nanos::ZERO, seen: now });
        let before = (now, processor_time());
        Self { gap_min: GAP_MIN.0, last: now, processor_time, before, others, ..Self::off() }
    }

    /// Has the worker be due at `epoch`: if it begins later, it was held up from then on.
    pub(crate) fn due_at(&mut self, epoch: Nanos) {
        self.last = self.last.min(epoch);
        self.before.0 = self.before.0.min(epoch);
    }

    /// Notes that the worker is at work `now`.
    #[inline(always)]
    pub(crate) fn at(&mut self, now: Nanos) {
        if now.since(self.last).0 >= self.gap_min {
            self.gap(now);
        }
        self.last = now;
        if self.others.is_some() {
            self.show(now);
        }
    }

    /// Notes a sleep that should have ended at `until` and lasted until `now`.
    pub(crate) fn slept(&mut self, until: Nanos, now: Nanos) {
        if self.gap_min == u64::MAX {
            return;
        }
        let woken = now.min(until);
        self.slept += woken.since(self.last).0;
        self.last = if now.since(woken) >= OVERSLEPT_MIN { woken } else { now };
    }

    /// The time between the last two readings was long: a pause, unless the thread worked.
    #[cold]
    fn gap(&mut self, now: Nanos) {
        let length = now.since(self.last).0;
        let used = (self.processor_time)();
        let idle = now.since(self.before.0).0.saturating_sub(self.slept);
        let kept = idle.saturating_sub(used.since(self.before.1).0);
        (self.before, self.slept) = ((now, used), 0);
        if length < PAUSE_NS && kept < length / 2 {
            self.long_turns_ns += length;
            self.long_turn_end = now;
            return;
        }
        (self.pauses, self.paused_ns) = (self.pauses + 1, self.paused_ns + length);
        self.touched_until = Nanos::MAX;
        // A pause within the recovery of another has what that held up to recover from, too.
        let length = length.max(self.recovery.map_or(0, |recovery| recovery.length));
        self.recovery =
            Some(Recovery { end: now, length, probe: None, rounds: ROUNDS, deadline: Nanos::MAX });
        if let Some(others) = &self.others {
            let until = now.saturating_add(ABSENT_MIN);
            others.shared.touched_until.fetch_max(until.0, Ordering::Release);
        }
    }

    /// Whether a pause is not yet recovered from.
    #[inline(always)]
    pub(crate) fn recovers(&self) -> bool {
        self.recovery.is_some()
    }

    /// Goes on with the recovery: the first packet not yet sent was due at `due`, and frames wait to be taken in if
    /// `is_behind`.
    #[cold]
    pub(crate) fn recover(&mut self, now: Nanos, due: Nanos, is_behind: bool) {
        let Some(recovery) = &mut self.recovery else { return };
        let waits = is_behind && now < recovery.end.saturating_add(Nanos(4 * recovery.length));
        if recovery.probe.is_none() && due > recovery.end && !waits {
            recovery.probe = Some(now);
            recovery.deadline = now.saturating_add(Nanos(recovery.length * ROUNDS_TIME_MAX));
        }
        if let Some(others) = &self.others {
            let until = now.saturating_add(ABSENT_MIN);
            others.shared.touched_until.fetch_max(until.0, Ordering::Release);
        }
        if now >= recovery.deadline || recovery.rounds == 0 {
            (self.touched_until, self.recovery) = (now, None);
        }
    }

    /// Notes that packets came back at `now` of which the newest left at `sent`.
    pub(crate) fn came_back(&mut self, sent: Nanos, now: Nanos) {
        let Some(recovery) = &mut self.recovery else { return };
        if recovery.probe.is_some_and(|probe| sent >= probe) {
            recovery.rounds = recovery.rounds.saturating_sub(1);
            recovery.probe = Some(now);
        }
    }

    /// Packets that left before this and are taken in at `now` were touched.
    #[inline(always)]
    pub(crate) fn touched_until(&mut self, now: Nanos) -> Nanos {
        if self.others.is_some() { self.touched_by_any(now) } else { self.touched_until }
    }

    #[inline(never)]
    fn touched_by_any(&mut self, now: Nanos) -> Nanos {
        let Some(others) = &mut self.others else { return self.touched_until };
        if now.since(others.seen) >= SHOW_EVERY {
            let all = others.shared.seen.iter().enumerate().filter(|(worker, _)| *worker != others.own);
            let first = all.map(|(_, seen)| seen.0.load(Ordering::Acquire)).min();
            // One that has not shown itself yet has not sent anything either.
            others.seen = first.filter(|first| *first > 0).map_or(now, Nanos).min(now);
        }
        if now.since(others.seen) >= ABSENT_MIN {
            return Nanos::MAX;
        }
        self.touched_until.max(Nanos(others.shared.touched_until.load(Ordering::Acquire)))
    }

    /// Shows the others that it is there.
    #[inline(always)]
    fn show(&mut self, now: Nanos) {
        let Some(others) = &mut self.others else { return };
        if now.since(others.shown) >= SHOW_EVERY {
            others.shown = now;
            others.shared.seen[others.own].0.store(now.0, Ordering::Release);
        }
    }

    /// Ends: no other worker waits for it any more.
    pub(crate) fn end(&mut self) {
        if let Some(others) = &self.others {
            others.shared.seen[others.own].0.store(u64::MAX, Ordering::Release);
        }
    }

    /// Takes out how many pauses there were, and their time in ns.
    pub(crate) fn take(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.pauses), std::mem::take(&mut self.paused_ns))
    }

    /// Packets that were due before this and have not left were held up by a long turn that was no pause.
    #[inline(always)]
    pub(crate) fn held_up_until(&self) -> Nanos {
        self.long_turn_end
    }

    /// Takes out the time of long turns that were no pauses, ns.
    pub(crate) fn take_long_turns(&mut self) -> u64 {
        std::mem::take(&mut self.long_turns_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that never gets its core in a gap.
    fn watch() -> Watch {
        Watch::new(Nanos(1_000), || Nanos::ZERO, 0, None)
    }

    const US: u64 = 1_000;

    #[test]
    fn packets_are_touched_until_the_device_has_recovered() {
        let mut watch = watch();
        watch.at(Nanos(20 * US));
        assert_eq!(watch.touched_until(Nanos(20 * US)), Nanos::ZERO);
        // Away for a millisecond.
        watch.at(Nanos(1_020 * US));
        assert!(watch.recovers() && watch.touched_until(Nanos(1_020 * US)) == Nanos::MAX);
        // What was due meanwhile has not left yet.
        watch.recover(Nanos(1_021 * US), Nanos(900 * US), false);
        watch.came_back(Nanos(1_021 * US), Nanos(1_022 * US));
        // Now it has; packets that leave from here on come back three times.
        watch.recover(Nanos(1_030 * US), Nanos(1_040 * US), false);
        watch.came_back(Nanos(1_029 * US), Nanos(1_031 * US));
        for round in 0..u64::from(ROUNDS) {
            assert!(watch.recovers());
            let sent = Nanos((1_031 + 10 * round) * US);
            watch.came_back(sent, sent + Nanos(5 * US));
        }
        watch.recover(Nanos(1_070 * US), Nanos(1_080 * US), false);
        assert_eq!((watch.recovers(), watch.touched_until(Nanos(1_070 * US))), (false, Nanos(1_070 * US)));
        assert_eq!(watch.take(), (1, 1_000 * US));
    }

    #[test]
    fn a_recovery_ends_where_nothing_comes_back() {
        let mut watch = watch();
        watch.at(Nanos(1_001 * US));
        watch.recover(Nanos(1_010 * US), Nanos::MAX, false);
        watch.recover(Nanos(2_009 * US), Nanos::MAX, false);
        assert!(watch.recovers());
        watch.recover(Nanos(2_010 * US), Nanos::MAX, false);
        assert!(!watch.recovers());
    }

    #[test]
    fn work_is_no_pause() {
        let mut watch = Watch::new(Nanos(0), || Nanos(200 * US), 0, None);
        watch.before = (Nanos(0), Nanos(0));
        watch.at(Nanos(210 * US));
        assert!(!watch.recovers());
        assert_eq!(watch.held_up_until(), Nanos(210 * US));
        assert_eq!((watch.take_long_turns(), watch.take_long_turns()), (210 * US, 0));
        // Of longer times the processor's clock is not believed: its machine may have stood still.
        watch.at(Nanos(210 * US + PAUSE_NS));
        assert!(watch.recovers());
    }

    #[test]
    fn a_late_begin_is_a_pause() {
        let begun = |epoch: u64| {
            let mut watch = Watch::new(Nanos(900 * US), || Nanos(7 * US), 0, None);
            watch.due_at(Nanos(epoch * US));
            watch.at(Nanos(901 * US));
            watch.take()
        };
        assert_eq!(begun(100), (1, 801 * US));
        assert_eq!((begun(890), begun(5_000)), ((0, 0), (0, 0)));
    }

    #[test]
    fn a_sleep_is_a_pause_only_if_it_lasts_too_long() {
        let mut watch = watch();
        watch.slept(Nanos(5_000 * US), Nanos(5_100 * US));
        watch.at(Nanos(5_101 * US));
        assert!(!watch.recovers());
        watch.slept(Nanos(9_000 * US), Nanos(9_300 * US));
        watch.at(Nanos(9_301 * US));
        assert!(watch.recovers());
    }

    #[test]
    fn a_worker_that_others_miss_touches_their_packets() {
        let shared = Shared::new(2).unwrap();
        let [mut a, mut b] =
            [0, 1].map(|own| Watch::new(Nanos(1), || Nanos::ZERO, own, Some(shared.clone())));
        let both = |a: &mut Watch, b: &mut Watch, us: u64| {
            a.at(Nanos(us * US));
            b.at(Nanos(us * US));
        };
        (1..10).for_each(|n| both(&mut a, &mut b, 30 * n));
        assert_eq!(a.touched_until(Nanos(280 * US)), Nanos::ZERO);
        // b is gone; nobody knows yet that it is a pause.
        (10..20).for_each(|n| a.at(Nanos(30 * n * US)));
        assert_eq!(a.touched_until(Nanos(570 * US)), Nanos::MAX);
        // It comes back: what it held up is touched, what leaves later is not.
        b.at(Nanos(580 * US));
        a.at(Nanos(581 * US));
        let until = a.touched_until(Nanos(600 * US));
        assert!(until > Nanos(580 * US) && until < Nanos::MAX, "{until:?}");
        b.end();
        assert!(a.touched_until(Nanos(5_000 * US)) < Nanos::MAX);
    }
}
