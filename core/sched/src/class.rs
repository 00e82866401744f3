//! Streams that ask for the same load and take turns.

use crate::schedule::{Share, Slot, StreamLoad};
use units::Nanos;

/// Nanoseconds in a second, in millionths: a rate in micro-pps times a gap in ns.
const GAP_SCALE: u128 = 1_000_000_000_000_000;

/// The first slots of different classes are spread over at most this long.
const PHASE_MAX: u64 = 1_000_000;

/// Packets a stream without a rate sends in its turn: nobody asked for spacing, and a stream's state is loaded once.
const GREEDY_TURN: u32 = 8;

/// When a class's groups are due: `first`, then one every `whole + part/den` ns, exactly.
#[derive(Debug, Clone)]
struct Cadence {
    due: u64,
    whole: u64,
    part: u128,
    den: u128,
    carry: u128,
}

impl Cadence {
    /// Group `index`, `index + stride`, … of a class whose groups are `num / den` ns apart, the first at `start`.
    fn new(start: u64, num: u128, den: u128, share: Share) -> Self {
        let offset = num * u128::from(share.index);
        let step = num * u128::from(share.of);
        Self {
            due: start.saturating_add(u64::try_from(offset / den).unwrap_or(u64::MAX)),
            carry: offset % den,
            whole: u64::try_from(step / den).unwrap_or(u64::MAX),
            part: step % den,
            den,
        }
    }

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

/// A class: which streams, whose turn it is, when the next slot is due.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    streams: Vec<u32>,
    /// Place in `streams` of the next slot's stream.
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
}

impl Class {
    /// The class of `streams`, which all ask for `load`. Of a paced one, `place` of `classes` tells its phase.
    pub(crate) fn new(
        streams: Vec<u32>,
        load: &StreamLoad,
        start: Nanos,
        share: Share,
        place: usize,
        classes: usize,
    ) -> Self {
        let group = match load.rate {
            Some(_) => load.group.max(1),
            None => load.group.max(GREEDY_TURN),
        };
        let start = start.saturating_add(load.start_delay).0;
        let cadence = load.rate.map(|rate| {
            let num = GAP_SCALE * u128::from(group);
            let den = u128::from(rate.micro().max(1)) * streams.len() as u128;
            let gap = u64::try_from(num / den).unwrap_or(u64::MAX);
            let phase = u128::from(gap.min(PHASE_MAX)) * place as u128 / classes as u128;
            Cadence::new(start.saturating_add(phase as u64), num, den, share)
        });
        let mut class = Self {
            turn: 0,
            number: 0,
            left: group,
            group,
            stride: usize::from(share.of),
            count: load.count.unwrap_or(u64::MAX),
            cadence,
            start,
            streams,
        };
        class.skip(usize::from(share.index));
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

    /// Whether slots are due at set times, rather than whenever there is room.
    pub(crate) fn is_paced(&self) -> bool {
        self.cadence.is_some()
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
            self.left = self.group;
            self.skip(self.stride);
            if let Some(cadence) = &mut self.cadence {
                cadence.advance();
            }
        }
    }

    /// Slots due before `end` that have not been sent.
    pub(crate) fn owed(&self, end: Nanos) -> u64 {
        let Some(cadence) = &self.cadence else { return 0 };
        if self.is_finished() || cadence.due >= end.0 {
            return 0;
        }
        // Group k from here is due before `end` if carry + k·step < (end − due)·den.
        let step = u128::from(cadence.whole) * cadence.den + cadence.part;
        let span = u128::from(end.0 - cadence.due) * cadence.den - cadence.carry;
        let groups = span.div_ceil(step.max(1));
        let (full, partial, partial_size) = self.groups_left();
        let full_owed = groups.min(full);
        let partial_owed = (groups - full_owed).min(partial);
        let slots = full_owed * u128::from(self.group) + partial_owed * partial_size;
        let begun = u128::from(self.group - self.left);
        u64::try_from(slots - begun).unwrap_or(u64::MAX)
    }

    /// Groups this worker has still to send until the count is reached, from the current one: whole groups, groups of
    /// the last round, and the size of those.
    fn groups_left(&self) -> (u128, u128, u128) {
        let (streams, group, count) =
            (self.streams.len() as u128, u128::from(self.group), u128::from(self.count));
        let rounds = count.div_ceil(group);
        let here = u128::from(self.number) / group * streams + self.turn as u128;
        let last_round = (rounds - 1) * streams;
        let stride = self.stride as u128;
        let full = last_round.saturating_sub(here).div_ceil(stride);
        let all = (rounds * streams).saturating_sub(here).div_ceil(stride);
        (full, all - full, count - (rounds - 1) * group)
    }
}
