//! Streams with the same load that take turns.

use crate::exact::{GAP_SCALE, gcd, mul_div, narrow};
use crate::factor::Factor;
use crate::load::{Pace, StreamLoad};
use crate::schedule::{Share, Slot};
use units::Nanos;

/// The first slots of different classes are spread over at most this long.
const PHASE_MAX: u64 = 1_000_000;

/// Packets a stream without a rate sends in its turn: no spacing was requested, and a stream's state is loaded once.
const GREEDY_TURN: u32 = 8;

/// The same for the only such stream of a port with several workers, who need not make room for another.
const GREEDY_TURN_ALONE: u32 = 64;

/// Placeholder for a stream that has left its class: its slots are unused.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Position of a class in its schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassPosition {
    /// Its number among the paced classes, and how many there are: its phase.
    pub(crate) index: usize,
    pub(crate) of: usize,
    /// Whether no other stream of the schedule is without a rate.
    pub(crate) alone: bool,
}

/// When a class's groups are due: `due`, then one every `whole + part/den` ns, exactly.
#[derive(Debug, Clone)]
struct Cadence {
    due: u64,
    whole: u64,
    part: u128,
    den: u128,
    carry: u128,
}

impl Cadence {
    const NEVER: Self = Self { due: u64::MAX, whole: 0, part: 0, den: 1, carry: 0 };

    #[inline(always)]
    fn advance(&mut self) {
        self.due = self.due.saturating_add(self.whole);
        self.carry += self.part;
        if self.carry >= self.den {
            self.carry -= self.den;
            self.due = self.due.saturating_add(1);
        }
    }
}

/// The exact times of all groups of a class, in ticks of `1/den` ns, and how fast they pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// Tick of group 0.
    first: u128,
    /// Ticks from one group to the next.
    step: u128,
    den: u128,
    /// The instant at which the factor began to hold, its tick, rounded down, and whether that rounding took something.
    since: u64,
    tick: u128,
    partial: bool,
    factor: Factor,
}

/// Minimum number of bits by which ticks are finer than a nanosecond, where they fit: resolution of a change of speed.
const TICK_BITS: u32 = 32;

impl Timing {
    fn new(first: u64, num: u128, den: u128) -> Self {
        let common = gcd(num, den).max(1);
        let (step, den) = (num / common, den / common);
        let room = (step.leading_zeros().saturating_sub(48)).min(den.leading_zeros().saturating_sub(48));
        let (step, den) = (step << room.min(TICK_BITS), den << room.min(TICK_BITS));
        let first = u128::from(first).saturating_mul(den);
        Self { first, step, den, since: 0, tick: 0, partial: false, factor: Factor::ONE }
    }

    /// Ticks pass at `den' / num'` a nanosecond: `(num', den')`.
    fn speed(&self) -> (u128, u128) {
        let num = u128::from(self.factor.den());
        let common = gcd(self.den, num);
        (num / common, (self.den / common).saturating_mul(self.factor.num().into()))
    }

    /// Applies `factor` from `at` on; one that does not fit exactly is adjusted.
    fn change(&mut self, at: Nanos, factor: Factor) {
        (self.tick, self.partial) = self.tick_at(at);
        self.since = self.since.max(at.0);
        self.factor = factor;
        let (num, den) = self.speed();
        if den >= 1 << 126 || self.step.checked_mul(num).is_none_or(|step| step >= 1 << 111) {
            self.factor = factor.coarse();
        }
    }

    /// The tick of `at`, rounded down, and whether a part of one is left.
    fn tick_at(&self, at: Nanos) -> (u128, bool) {
        let (num, den) = self.speed();
        let span = u128::from(at.0.saturating_sub(self.since));
        let (ticks, part) = mul_div(den, span, num);
        (self.tick.saturating_add(ticks), part > 0 || (ticks == 0 && self.partial))
    }

    /// Groups that are due before `end`.
    fn groups_before(&self, end: Nanos) -> u128 {
        let (tick, partial) = self.tick_at(end);
        tick.saturating_add(partial.into()).saturating_sub(self.first).div_ceil(self.step.max(1))
    }

    /// When group `group` is due and every `stride`-th from there.
    fn cadence(&self, group: u128, stride: usize) -> Cadence {
        let (num, den) = self.speed();
        let ticks = group.checked_mul(self.step).and_then(|ticks| ticks.checked_add(self.first));
        let (Some(ticks), 1..) = (ticks, den) else { return Cadence::NEVER };
        let (wait, carry) = mul_div(ticks.saturating_sub(self.tick), num, den);
        let (whole, part) = mul_div(self.step.saturating_mul(stride as u128), num, den);
        let due = narrow(wait).saturating_add(self.since);
        Cadence { due, whole: narrow(whole), part, den, carry }
    }
}

/// A class: which streams, whose turn it is, when the next slot is due.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    streams: Vec<u32>,
    /// Position in `streams` of the next slot's stream.
    turn: usize,
    /// Packet number of that slot in its stream.
    number: u64,
    /// Slots of this group still to come.
    left: u32,
    /// Packets in a group.
    group: u32,
    stride: usize,
    count: u64,
    cadence: Option<Cadence>,
    start: u64,
    timing: Timing,
    /// Number of used places in `streams`.
    members: usize,
}

impl Class {
    /// The class of `streams`, which all have the load `load`: evenly paced, or not at all.
    pub(crate) fn new(
        streams: Vec<u32>,
        load: &StreamLoad,
        start: Nanos,
        share: Share,
        place: ClassPosition,
    ) -> Self {
        let rate = match &load.pace {
            Pace::Even(rate) => Some(*rate),
            _ => None,
        };
        let group = match rate {
            Some(_) => load.group.max(1),
            None if place.alone && share.of > 1 => load.group.max(GREEDY_TURN_ALONE),
            None => load.group.max(GREEDY_TURN),
        };
        let start = start.saturating_add(load.start_delay).0;
        let timing = rate.map(|rate| {
            let num = GAP_SCALE * u128::from(group);
            let den = u128::from(rate.micro().max(1)) * streams.len() as u128;
            let gap = narrow(num / den);
            let phase = u128::from(gap.min(PHASE_MAX)) * place.index as u128 / place.of as u128;
            Timing::new(start.saturating_add(phase as u64), num, den)
        });
        let mut class = Self {
            turn: 0,
            number: 0,
            left: group,
            group,
            stride: usize::from(share.of),
            count: load.count.unwrap_or(u64::MAX),
            cadence: None,
            start,
            timing: timing.unwrap_or(Timing::new(start, 0, 1)),
            members: streams.len(),
            streams,
        };
        class.skip(usize::from(share.index));
        class.cadence = timing.map(|timing| timing.cadence(class.group_index(), class.stride));
        class
    }

    /// Moves `groups` groups on, without their slots being sent.
    #[inline(always)]
    fn skip(&mut self, groups: usize) {
        self.turn += groups;
        while self.turn >= self.streams.len() {
            self.turn -= self.streams.len();
            self.number += u64::from(self.group);
        }
    }

    /// Goes on to this worker's next group.
    #[inline(always)]
    fn next_group(&mut self) {
        self.left = self.group;
        self.skip(self.stride);
        if let Some(cadence) = &mut self.cadence {
            cadence.advance();
        }
    }

    /// Number of the current group among all of the class.
    fn group_index(&self) -> u128 {
        u128::from(self.number / u64::from(self.group)) * self.streams.len() as u128 + self.turn as u128
    }

    /// Instant of the next slot; [`Nanos::MAX`] when all are sent.
    #[inline(always)]
    pub(crate) fn due(&self) -> Nanos {
        if self.is_finished() {
            return Nanos::MAX;
        }
        Nanos(self.cadence.as_ref().map_or(self.start, |c| c.due))
    }

    /// Whether every packet of the count has had its slot.
    #[inline(always)]
    pub(crate) fn is_finished(&self) -> bool {
        self.number + u64::from(self.group - self.left) >= self.count
    }

    /// Sends no more.
    pub(crate) fn give_up(&mut self) {
        self.count = 0;
    }

    /// Whether it has packets to send but is paused.
    pub(crate) fn is_held(&self) -> bool {
        self.timing.factor.num() == 0 && !self.is_finished()
    }

    /// The next slot, of at most `room` packets: what is left of the group, all of which is due at once. A class of one
    /// stream without a rate fills the room.
    #[inline(always)]
    pub(crate) fn slot(&self, room: u32) -> Slot {
        let number = self.number + u64::from(self.group - self.left);
        let alone = self.cadence.is_none() && self.streams.len() == 1 && self.stride == 1;
        let most = if alone { room } else { room.min(self.left) };
        let run = u64::from(most).min(self.count - number) as u32;
        Slot { stream: self.streams[self.turn], run, number, due: self.due() }
    }

    /// Passes on to what comes after `slot`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, slot: &Slot) {
        if slot.run > self.left {
            // A stream alone in its class: whole groups at once.
            self.number = slot.number + u64::from(slot.run);
            self.left = self.group;
            return;
        }
        self.left -= slot.run;
        if self.left == 0 || self.is_finished() {
            self.next_group();
            if self.members < self.streams.len() {
                self.pass_nobody();
            }
        }
    }

    /// Advances to the first used group from here.
    #[cold]
    fn pass_nobody(&mut self) {
        // After as many groups as there are places this worker has been at all the places it ever comes to.
        for _ in 0..self.streams.len() {
            if self.streams[self.turn] != NOBODY || self.is_finished() {
                return;
            }
            self.next_group();
        }
        self.count = 0;
    }

    /// Writes the slots due up to `until` into `out`, of at most `room` packets together; returns how many.
    #[inline(always)]
    pub(crate) fn fill(&mut self, until: Nanos, out: &mut [Slot], room: &mut u32) -> usize {
        if self.group == 1 && self.members == self.streams.len() && self.cadence.is_some() {
            return self.fill_singly(until, out, room);
        }
        let (mut n, mut left, mut due) = (0, *room, self.due());
        while due <= until && n < out.len() && left > 0 {
            let slot = Slot { due, ..self.slot(left) };
            left -= slot.run;
            out[n] = slot;
            n += 1;
            self.advance(&slot);
            due = self.due();
        }
        *room = left;
        n
    }

    /// The same for packets that are due one by one, each at a used place.
    #[inline(always)]
    fn fill_singly(&mut self, until: Nanos, out: &mut [Slot], room: &mut u32) -> usize {
        let Self { streams, turn, number, stride, count, cadence: Some(cadence), .. } = self else {
            return 0;
        };
        let most = out.len().min(*room as usize);
        let mut n = 0;
        for slot in &mut out[..most] {
            if cadence.due > until.0 || *number >= *count {
                break;
            }
            *slot = Slot { stream: streams[*turn], run: 1, number: *number, due: Nanos(cadence.due) };
            n += 1;
            *turn += *stride;
            while *turn >= streams.len() {
                *turn -= streams.len();
                *number += 1;
            }
            cadence.advance();
        }
        *room -= n as u32;
        n
    }

    /// Applies `factor` from `at` on. Everything due before has been taken.
    pub(crate) fn change(&mut self, at: Nanos, factor: Factor) {
        self.timing.change(at, factor);
        let cadence = self.timing.cadence(self.group_index(), self.stride);
        if self.cadence.is_some() {
            self.cadence = Some(cadence);
        } else {
            self.start = cadence.due;
        }
    }

    /// Slots due before `end` that have not been sent, if `changes` come.
    pub(crate) fn owed(&self, changes: impl Iterator<Item = (Nanos, Factor)>, end: Nanos) -> u64 {
        let mut timing = self.timing;
        for (at, factor) in changes.take_while(|(at, _)| *at < end) {
            timing.change(at, factor);
        }
        if self.cadence.is_none() || self.is_finished() {
            return 0;
        }
        let (until, here) = (timing.groups_before(end), self.group_index());
        if until <= here {
            return 0;
        }
        let slots = if self.members == self.streams.len() {
            let groups = (until - here).div_ceil(self.stride as u128);
            let (full, partial, partial_size) = self.groups_left();
            let full_owed = groups.min(full);
            let partial_owed = (groups - full_owed).min(partial);
            full_owed * u128::from(self.group) + partial_owed * partial_size
        } else {
            let places = (0..self.streams.len()).filter(|place| self.streams[*place] != NOBODY);
            places.map(|place| self.slots_of(place, until)).sum()
        };
        let begun = u128::from(self.group - self.left);
        narrow(slots - begun)
    }

    /// Groups this worker has still to send until the count is reached, from the current one: whole groups, groups of
    /// the last round, and the size of those.
    fn groups_left(&self) -> (u128, u128, u128) {
        let (streams, group, count) =
            (self.streams.len() as u128, u128::from(self.group), u128::from(self.count));
        let rounds = count.div_ceil(group);
        let here = self.group_index();
        let last_round = (rounds - 1) * streams;
        let stride = self.stride as u128;
        let full = last_round.saturating_sub(here).div_ceil(stride);
        let all = (rounds * streams).saturating_sub(here).div_ceil(stride);
        (full, all - full, count - (rounds - 1) * group)
    }

    /// Slots of the stream at `place` in this worker's groups from the current one until before group `until`.
    fn slots_of(&self, place: usize, until: u128) -> u128 {
        let Some((first, rounds)) = self.groups_of(place) else { return 0 };
        let streams = self.streams.len() as u128;
        // Rounds of the stream: first, first + rounds, … as long as they begin before `until` and the count.
        let (first, rounds) = (first / streams, rounds as u128);
        let (group, count) = (u128::from(self.group), u128::from(self.count));
        let end = until.saturating_sub(place as u128).div_ceil(streams).min(count.div_ceil(group));
        if first >= end {
            return 0;
        }
        let groups = (end - first).div_ceil(rounds);
        let last = first + (groups - 1) * rounds;
        groups * group - ((last + 1) * group).saturating_sub(count)
    }

    /// This worker's groups of the stream at `place`: the first from the current one on, and from one to the next how
    /// many of the stream's. `None` if the others have them all.
    fn groups_of(&self, place: usize) -> Option<(u128, usize)> {
        let (streams, stride) = (self.streams.len(), self.stride);
        let common = gcd(streams as u128, stride as u128) as usize;
        // current + m·stride ≡ place, modulo streams
        let ahead = (place + streams - self.turn) % streams;
        if !ahead.is_multiple_of(common) {
            return None;
        }
        let modulus = (streams / common) as u128;
        let inverse = inverse((stride / common) as u128, modulus);
        let m = (ahead / common) as u128 % modulus * inverse % modulus;
        Some((self.group_index() + m * stride as u128, stride / common))
    }

    /// Its streams, with their places.
    pub(crate) fn members(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let places = (0..).zip(&self.streams);
        places.filter(|(_, stream)| **stream != NOBODY).map(|(place, stream)| (place, *stream))
    }

    /// Number of places, used or not, and number of used ones.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.streams.len(), self.members)
    }

    /// Removes the streams at `places` and keeps the others; they become a separate class, due as before, in which the
    /// other places are unused.
    pub(crate) fn part_together(&mut self, places: &[u32]) -> Self {
        let mut part = self.clone();
        part.streams.fill(NOBODY);
        for place in places.iter().map(|place| *place as usize) {
            part.streams[place] = std::mem::replace(&mut self.streams[place], NOBODY);
        }
        part.members = places.len();
        self.members -= places.len();
        for class in [&mut part, self] {
            class.pass_nobody();
        }
        part
    }

    /// Removes the streams at `places`, each into a separate class, due as before. Streams of which this worker sends
    /// nothing are left out.
    pub(crate) fn part_singly(&mut self, places: &[u32]) -> Vec<Self> {
        let singles = places.iter().filter_map(|place| self.single(*place as usize)).collect();
        for place in places {
            self.streams[*place as usize] = NOBODY;
        }
        self.members -= places.len();
        self.pass_nobody();
        singles
    }

    /// The stream at `place` by itself.
    fn single(&self, place: usize) -> Option<Self> {
        let (first, rounds) = self.groups_of(place)?;
        let streams = self.streams.len() as u128;
        let mut timing = self.timing;
        timing.first = timing.first.saturating_add(timing.step.saturating_mul(place as u128));
        timing.step = timing.step.saturating_mul(streams);
        let round = first / streams;
        let mut single = Self {
            streams: vec![self.streams[place]],
            turn: 0,
            number: narrow(round).saturating_mul(self.group.into()),
            left: if place == self.turn { self.left } else { self.group },
            stride: rounds,
            timing,
            members: 1,
            cadence: None,
            ..*self
        };
        single.cadence = self.cadence.is_some().then(|| timing.cadence(round, rounds));
        Some(single)
    }
}

/// The number that times `n` is 1 modulo `modulus`, to which `n` is prime; 0 modulo 1.
fn inverse(n: u128, modulus: u128) -> u128 {
    let (mut r0, mut r1) = (modulus as i128, (n % modulus) as i128);
    let (mut t0, mut t1) = (0i128, 1i128);
    while r1 != 0 {
        let quotient = r0 / r1;
        (r0, r1) = (r1, r0 - quotient * r1);
        (t0, t1) = (t1, t0 - quotient * t1);
    }
    t0.rem_euclid(modulus as i128) as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_are_inverse() {
        for modulus in 1..60 {
            for n in (1..60).filter(|n| gcd(*n, modulus) == 1) {
                assert_eq!(n * inverse(n, modulus) % modulus, 1 % modulus);
            }
        }
    }
}
