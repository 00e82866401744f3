//! Turns at a rate, assigned in advance: a caller learns when its turn comes.
//!
//! An unused turn expires, so that a rate is kept, not made up for; unless the pacer keeps unused turns, for requests
//! that are sent late rather than never. Turn `n` comes at `n / rate` exactly, rounded up to the nanosecond, so turns
//! of several workers interleave evenly. Turns of a list come at its instants instead; none of them expires.

use crate::scale::{Scale, Warp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use units::{Nanos, Pps};

const SCALE: u128 = 1_000_000_000_000_000;
/// Kept turns whose waits are listed one by one: of more, neighbours share one.
const WAITS_MAX: u64 = 1 << 16;
/// Share of all turns, as a divisor, above which kept turns are more than what is due as time is up.
const FEW: u64 = 1_000;

/// When turns come.
#[derive(Debug, Clone)]
enum Turns {
    Rate(Pps),
    /// At these instants from `origin` on, in order.
    Times {
        times: Arc<[Nanos]>,
        origin: Nanos,
    },
}

impl Turns {
    fn are_none(&self) -> bool {
        match self {
            Self::Rate(rate) => *rate == Pps::ZERO,
            Self::Times { times, .. } => times.is_empty(),
        }
    }

    /// The first turn that is not before `own`.
    fn first_at(&self, own: Nanos) -> u64 {
        match self {
            Self::Rate(rate) => (u128::from(own.0) * u128::from(rate.micro())).div_ceil(SCALE) as u64,
            Self::Times { times, origin } => {
                times.partition_point(|at| origin.saturating_add(*at) < own) as u64
            }
        }
    }

    /// When a turn comes; [`Nanos::MAX`] after the last.
    fn at(&self, turn: u64) -> Nanos {
        match self {
            Self::Rate(rate) => {
                let at = (u128::from(turn) * SCALE).div_ceil(u128::from(rate.micro()));
                Nanos(at.min(u128::from(u64::MAX)) as u64)
            }
            Self::Times { times, origin } => {
                times.get(turn as usize).map_or(Nanos::MAX, |at| origin.saturating_add(*at))
            }
        }
    }
}

/// An assigned turn that a flow waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    /// When it comes; [`Nanos::MAX`] if none does before the rate changes.
    at: Nanos,
    /// Changes of the rate before it was assigned.
    changes: u64,
    /// Whether it is one to close.
    closes: bool,
}

impl Turn {
    pub(crate) fn to_close(self) -> Self {
        Self { closes: true, ..self }
    }

    pub(crate) fn is_to_close(self) -> bool {
        self.closes
    }
}

/// Gives out every `workers`-th turn.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    turns: Turns,
    workers: u64,
    /// The next turn to give out.
    next: u64,
    warp: Warp,
    /// Changes of the rate so far.
    changes: u64,
    /// Whether unused turns are kept.
    keeps: bool,
    /// Whether a turn has been requested. Earlier turns expire.
    begun: bool,
    /// The first turn from then on.
    first: u64,
    /// Assigned turns that could not be used, and their numbers.
    returned: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// When the assigned turns come that flows wait for, by the flow's number; [`Nanos::MAX`] of flows that wait for none, or note it
    /// elsewhere.
    awaited: Vec<Nanos>,
    /// Number of the turn given out last.
    last: u64,
    /// Turns that expired since the first request.
    expired: u64,
}

impl Pacer {
    pub(crate) fn new(rate: Pps, worker: u64, workers: u64) -> Self {
        Self::of(Turns::Rate(rate), worker, workers)
    }

    /// Turns at these instants, in order, from [`Pacer::begin_at`] on. All are kept.
    pub(crate) fn listed(times: Arc<[Nanos]>, worker: u64, workers: u64) -> Self {
        let turns = Turns::Times { times, origin: Nanos::ZERO };
        Self { begun: true, ..Self::of(turns, worker, workers).keeping() }
    }

    fn of(turns: Turns, worker: u64, workers: u64) -> Self {
        Self {
            turns,
            workers: workers.max(1),
            next: worker,
            warp: Warp::default(),
            changes: 0,
            keeps: false,
            begun: false,
            first: 0,
            returned: BinaryHeap::new(),
            awaited: Vec::new(),
            last: 0,
            expired: 0,
        }
    }

    /// The instants of a list count from `origin`.
    pub(crate) fn begin_at(&mut self, at: Nanos) {
        if let Turns::Times { origin, .. } = &mut self.turns {
            *origin = at;
        }
    }

    /// Whether its turns come from a list.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(self.turns, Turns::Times { .. })
    }

    /// Number of the turn given out last: its place in the list.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Keeps unused turns, from the first request on.
    pub(crate) fn keeping(self) -> Self {
        Self { keeps: true, ..self }
    }

    /// Kept turns before `now` without a taker.
    pub(crate) fn kept(&self, now: Nanos) -> u64 {
        if !self.keeps || !self.begun {
            return 0;
        }
        self.returned_until(now)
            + self.first_at(self.warp.own(now)).saturating_sub(self.next).div_ceil(self.workers)
    }

    /// Durations, in nanoseconds, for which kept turns have waited at `now`, each with the number of turns it applies to; of `most` turns at
    /// most. None if they are no more than one in [`FEW`] of all turns so far.
    pub(crate) fn waits(&self, now: Nanos, most: u64) -> impl Iterator<Item = (u64, u64)> {
        let due = self.first_at(self.warp.own(now)).saturating_sub(self.first) / self.workers;
        let kept = self.kept(now).min(most);
        let kept = if kept > due / FEW { kept } else { 0 };
        let returned = self.returned_until(now).min(kept);
        let others = kept - returned;
        let parts = others.min(WAITS_MAX);
        // Where the part `part` of the others begins.
        let begin =
            move |part: u64| (u128::from(part) * u128::from(others) / u128::from(parts.max(1))) as u64;
        let of_part = move |part| {
            let (from, to) = (begin(part), begin(part + 1));
            let at = self.warp.when(self.turns.at(self.next + (from + to - 1) / 2 * self.workers));
            (now.since(at).0, to - from)
        };
        let back = self.returned.iter().filter(move |Reverse((at, _))| *at <= now);
        let back = back.map(move |Reverse((at, _))| (now.since(*at).0, 1)).take(returned as usize);
        back.chain((0..parts).map(of_part))
    }

    /// Whether unused turns are kept.
    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    /// Turns that expired before `now` without a taker, as far as they were found since the first request.
    pub(crate) fn expired(&self, now: Nanos) -> u64 {
        let unseen = if self.keeps || now == Nanos::ZERO { 0 } else { self.returned_until(Nanos(now.0 - 1)) };
        self.expired + unseen
    }

    /// When the first turn comes that was returned.
    fn first_returned(&self) -> Option<Nanos> {
        self.returned.peek().map(|Reverse((at, _))| *at)
    }

    /// Returned turns that come at `until` or before. Mostly there are none, as the first one shows.
    fn returned_until(&self, until: Nanos) -> u64 {
        match self.first_returned() {
            Some(at) if at <= until => {
                self.returned.iter().filter(|Reverse((at, _))| *at <= until).count() as u64
            }
            _ => 0,
        }
    }

    /// Lets turns before `now` expire, unless they are kept.
    pub(crate) fn expire(&mut self, now: Nanos) {
        if self.begun && !self.keeps && !self.turns.are_none() {
            self.expire_returned(now);
            self.expired += self.skip_to(self.warp.own(now));
        }
    }

    /// Turns that were returned expire like others, unless they are kept.
    fn expire_returned(&mut self, now: Nanos) {
        while !self.keeps && self.first_returned().is_some_and(|at| at < now) {
            self.returned.pop();
            self.expired += 1;
        }
    }

    /// A flow waits for a turn that comes at `at`.
    pub(crate) fn await_turn(&mut self, flow: u32, at: Nanos) {
        let place = flow as usize;
        if self.awaited.len() <= place {
            self.awaited.resize(place + 1, Nanos::MAX);
        }
        self.awaited[place] = at;
    }

    /// The turn that a flow has waited for, and does not any more.
    #[inline]
    pub(crate) fn awaited(&mut self, flow: u32) -> Option<Turn> {
        let at = std::mem::replace(self.awaited.get_mut(flow as usize)?, Nanos::MAX);
        (at != Nanos::MAX).then(|| self.turn(at))
    }

    /// A turn that comes at `at`, for a flow that notes elsewhere which one it waits for.
    pub(crate) fn turn(&self, at: Nanos) -> Turn {
        Turn { at, changes: self.changes, closes: false }
    }

    /// When a turn comes; `None` if it never does, because the rate has changed since it was assigned or was zero.
    pub(crate) fn comes(&self, turn: Turn) -> Option<Nanos> {
        (turn.changes == self.changes && turn.at != Nanos::MAX).then_some(turn.at)
    }

    /// An assigned turn was not used, and is not kept.
    pub(crate) fn lose(&mut self) {
        self.expired += 1;
    }

    /// Takes an assigned turn back that was not used: for the next caller, unless it comes before that and is not kept.
    pub(crate) fn give_back(&mut self, at: Nanos, turn: u64) {
        self.returned.push(Reverse((at, turn)));
    }

    /// Scales the rate, from `at` on. A holder of a turn that has not come must request another.
    pub(crate) fn scale(&mut self, at: Nanos, scale: Scale) {
        self.warp.change(at, scale);
        self.changes += 1;
        self.returned.clear();
        self.awaited.clear();
        self.next %= self.workers;
        self.skip_to(self.warp.own(at));
    }

    /// Whether no turn comes until the rate changes again.
    pub(crate) fn is_still(&self) -> bool {
        self.warp.is_still()
    }

    /// Goes on to the first turn that is not before its own time `own`; returns how many it passes over.
    fn skip_to(&mut self, own: Nanos) -> u64 {
        let passed = self.first_at(own).saturating_sub(self.next).div_ceil(self.workers);
        self.next += passed * self.workers;
        passed
    }

    /// The first turn, of any worker, that is not before the pacer's own time `own`.
    fn first_at(&self, own: Nanos) -> u64 {
        self.turns.first_at(own)
    }

    /// When the next turn comes, not before `now` unless it was kept; it is taken. [`Nanos::MAX`] if none ever comes.
    pub(crate) fn next(&mut self, now: Nanos) -> Nanos {
        self.next_before(now, Nanos::MAX).unwrap_or(Nanos::MAX)
    }

    /// The same for a session that ends at `end`: a turn at that time or later is left to others. A turn at `now` is
    /// taken in any case.
    pub(crate) fn next_before(&mut self, now: Nanos, end: Nanos) -> Option<Nanos> {
        if self.turns.are_none() {
            return None;
        }
        self.expire_returned(now);
        if let Some(Reverse((at, turn))) = self.returned.peek().copied() {
            if at > now && at >= end {
                return None;
            }
            self.returned.pop();
            self.last = turn;
            return Some(at);
        }
        let is_first = !std::mem::replace(&mut self.begun, true);
        if is_first || !self.keeps {
            let passed = self.skip_to(self.warp.own(now));
            self.expired += if is_first { 0 } else { passed };
        }
        if is_first {
            self.first = self.next;
        }
        let at = self.warp.when(self.turns.at(self.next));
        let at = if self.keeps { at } else { at.max(now) };
        if at == Nanos::MAX {
            return None;
        }
        if at > now && at >= end {
            return None;
        }
        self.last = self.next;
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
    fn turns_without_a_taker_are_counted() {
        let ms = Nanos::from_millis;
        let mut pacer = Pacer::new(Pps::new(100), 0, 1);
        pacer.expire(ms(500));
        assert_eq!(
            (pacer.next(ms(1_000)), pacer.expired(ms(1_000))),
            (ms(1_000), 0),
            "none before the first"
        );
        // Due at 1,010, 1,020 and 1,030 ms, while nobody was free.
        assert_eq!((pacer.next(ms(1_035)), pacer.expired(ms(1_035))), (ms(1_040), 3));
        pacer.expire(ms(1_065));
        assert_eq!(pacer.expired(ms(1_065)), 5);
        // A change of the rate takes turns away that nobody has missed yet.
        pacer.scale(ms(2_000), Scale::new(1, 2));
        assert_eq!((pacer.next(ms(2_000)).0 > 0, pacer.expired(ms(2_000))), (true, 5));
        pacer.lose();
        assert_eq!(pacer.expired(ms(2_000)), 6);
    }

    #[test]
    fn a_turn_that_was_given_back_is_the_next_callers_until_it_expires() {
        let ms = Nanos::from_millis;
        let mut pacer = Pacer::new(Pps::new(10), 0, 1);
        let turns = [0; 3].map(|_| (pacer.next(ms(50)), pacer.last()));
        assert_eq!(turns, [(ms(100), 1), (ms(200), 2), (ms(300), 3)]);
        for (at, turn) in [turns[1], turns[0]] {
            pacer.give_back(at, turn);
        }
        assert_eq!(pacer.next_before(ms(60), ms(100)), None, "too late for this one");
        assert_eq!((pacer.next(ms(60)), pacer.last(), pacer.expired(ms(60))), (ms(100), 1, 0));
        assert_eq!(pacer.expired(ms(210)), 1, "nobody came for the other one");
        assert_eq!((pacer.next(ms(210)), pacer.expired(ms(210))), (ms(400), 1));
        let [first, second] = [0; 2].map(|_| (pacer.next(ms(410)), pacer.last()));
        pacer.give_back(first.0, first.1);
        pacer.give_back(second.0, second.1);
        pacer.expire(ms(550));
        assert_eq!((pacer.expired(ms(550)), pacer.next(ms(550))), (2, second.0));
    }

    /// Whatever the order in which they come back, and however many.
    #[test]
    fn many_turns_that_were_given_back_are_in_order() {
        const TURNS: u64 = 1_000_000;
        let mut pacer = Pacer::new(Pps::new(1_000_000), 0, 1);
        let mut turns: Vec<(Nanos, u64)> = (0..TURNS).map(|_| (pacer.next(Nanos(0)), pacer.last())).collect();
        let mut state = 1_u64;
        for place in (1..turns.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            turns.swap(place, (state >> 33) as usize % (place + 1));
        }
        for (at, turn) in turns {
            pacer.give_back(at, turn);
        }
        let half = Nanos::from_millis(500);
        assert_eq!((pacer.expired(Nanos(0)), pacer.expired(half)), (0, TURNS / 2));
        for turn in TURNS / 2..TURNS {
            assert_eq!((pacer.next(half), pacer.last()), (Nanos::from_micros(turn), turn));
        }
        assert_eq!((pacer.next(half), pacer.expired(half)), (Nanos::from_secs(1), TURNS / 2));
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
    fn turns_are_kept_for_whoever_comes_late() {
        let mut pacer = Pacer::new(Pps::new(10), 0, 1).keeping();
        let ms = Nanos::from_millis;
        assert_eq!((pacer.kept(ms(950)), pacer.next(ms(950))), (0, ms(1_000)), "none before the first");
        assert_eq!(pacer.kept(ms(1_350)), 3);
        assert_eq!([0; 3].map(|_| pacer.next(ms(1_350))), [1_100, 1_200, 1_300].map(ms));
        assert_eq!((pacer.next_before(ms(1_350), ms(1_400)), pacer.next(ms(1_350))), (None, ms(1_400)));
        pacer.give_back(ms(1_100), 0);
        assert_eq!(
            (pacer.kept(ms(1_350)), pacer.next(ms(1_350)), pacer.next(ms(1_350))),
            (1, ms(1_100), ms(1_500))
        );
        // What was due before the rate changes is not made up for.
        pacer.scale(ms(2_000), Scale::new(1, 2));
        assert_eq!(pacer.kept(ms(2_000)), 0);
    }

    #[test]
    fn kept_turns_have_waited_since_they_came() {
        let ms = Nanos::from_millis;
        let mut pacer = Pacer::new(Pps::new(10), 0, 2).keeping();
        let [first, _] = [0; 2].map(|_| (pacer.next(ms(0)), pacer.last()));
        let waits = |pacer: &Pacer, most| -> Vec<u64> {
            pacer.waits(ms(1_050), most).flat_map(|(ns, n)| (0..n).map(move |_| ns / 1_000_000)).collect()
        };
        assert_eq!(waits(&pacer, 9), [650, 450, 250, 50], "every second one is another worker's");
        assert_eq!(waits(&pacer, 2), [650, 450]);
        pacer.give_back(first.0, first.1);
        assert_eq!(waits(&pacer, 9), [1_050, 650, 450, 250, 50]);
        assert_eq!(Pacer::new(Pps::new(10), 0, 1).waits(ms(1_050), 9).count(), 0, "nothing is kept");
    }

    #[test]
    fn of_very_many_kept_turns_neighbours_share_a_wait() {
        let mut pacer = Pacer::new(Pps::new(1_000_000), 0, 1).keeping();
        pacer.next(Nanos(0));
        let now = Nanos::from_secs(10);
        let waits: Vec<(u64, u64)> = pacer.waits(now, u64::MAX).collect();
        assert_eq!((waits.len() as u64, waits.iter().map(|(_, n)| n).sum()), (WAITS_MAX, pacer.kept(now)));
        let mean = waits.iter().map(|(ns, n)| u128::from(ns * n)).sum::<u128>() / u128::from(pacer.kept(now));
        assert!(mean.abs_diff(5_000_000_000) < 1_000_000, "{mean}");
        // One in a thousand is what is due as time is up.
        let mut keeping_up = Pacer::new(Pps::new(1_000), 0, 1).keeping();
        keeping_up.next(Nanos(0));
        while keeping_up.next(now) < Nanos::from_millis(9_989) {}
        assert_eq!((keeping_up.kept(now), keeping_up.waits(now, u64::MAX).count()), (10, 0));
    }

    #[test]
    fn turns_of_a_list_come_when_it_says_and_wait() {
        let ms = Nanos::from_millis;
        let times: Arc<[Nanos]> = [0, 10, 10, 500].map(ms).into();
        let mut pacer = Pacer::listed(times.clone(), 0, 1);
        pacer.begin_at(ms(1_000));
        assert_eq!(pacer.kept(ms(1_011)), 3);
        let next = |pacer: &mut Pacer, now| (pacer.next(ms(now)), pacer.last());
        assert_eq!(next(&mut pacer, 1_200), (ms(1_000), 0));
        assert_eq!(next(&mut pacer, 1_200), (ms(1_010), 1));
        pacer.give_back(ms(1_010), 1);
        assert_eq!((next(&mut pacer, 1_200), next(&mut pacer, 1_200)), ((ms(1_010), 1), (ms(1_010), 2)));
        assert_eq!((next(&mut pacer, 1_200), pacer.next(ms(2_000))), ((ms(1_500), 3), Nanos::MAX));
        let mut second = Pacer::listed(times, 1, 2);
        assert_eq!((next(&mut second, 0).1, next(&mut second, 0).1, second.next(ms(0))), (1, 3, Nanos::MAX));
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
