//! Which flows want to be called when: a hierarchical timer wheel (Varghese, Lauck, SOSP 1987, scheme 7) of four levels
//! of 256 buckets, by ticks of 65,536 ns.
//!
//! A flow has one entry that counts, and keeps its place (two bytes). Moving a deadline to later costs nothing: the entry
//! fires early and is put back. Moving it to earlier makes a new entry; the one left behind is known by not being the
//! flow's place any more. Entries are numbers in blocks, so that a flow without a deadline costs nothing, and neither
//! putting nor taking back touches another flow's memory.
//!
//! Not here: deadlines. The receiver of a due entry knows whether it really is due.
//!
//! Invariants: no place is later than its flow's deadline; a bucket never holds more than twice as many entries as count,
//! plus a constant.

use crate::slab::{Linked, Slab};
use units::Nanos;

const LEVELS: usize = 4;
const BUCKETS: usize = 256;
/// Entries of a block.
const BLOCK: usize = 62;
/// Blocks that are allocated at once.
const PAGE: usize = 64;
/// Entries a bucket may hold before stale ones are counted.
const UNSWEPT: u32 = 2_048;
const NIL: u32 = u32::MAX;
/// Furthest deadline, ticks from now: beyond it, later and earlier can't be distinguished.
const FURTHEST: u32 = i32::MAX as u32;

/// Length of a tick, as a shift: 65,536 ns.
pub(crate) const TICK_BITS: u32 = 16;

/// The tick that has begun at `now`, in full width.
#[inline(always)]
fn tick_of(now: Nanos) -> u64 {
    now.0 >> TICK_BITS
}

/// Where an entry is: level, bucket and which sweeping of it, or nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WheelPosition(u16);

impl WheelPosition {
    /// In no bucket.
    pub(crate) const NOWHERE: Self = Self(u16::MAX);
    const SWEPT: u16 = 1 << 10;

    fn bucket(self) -> usize {
        usize::from(self.0 & (Self::SWEPT - 1))
    }
}

/// Entries in a row; `next` leads to the one filled before.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Block {
    next: u32,
    len: u32,
    entries: [u32; BLOCK],
}

impl Linked for Block {
    fn unused() -> Self {
        Self { next: NIL, len: 0, entries: [0; BLOCK] }
    }

    #[inline(always)]
    fn link(&self) -> u32 {
        self.next
    }

    #[inline(always)]
    fn set_link(&mut self, link: u32) {
        self.next = link;
    }
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    block: u32,
    entries: u32,
    /// Entries that are their flows' places.
    live: u32,
    /// Changes with every sweeping; see [`WheelPosition`].
    swept: u16,
}

/// The wheel.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// Everything due before it has been taken out.
    now: u64,
    /// For each level, `now` without the digits of this level and of lower ones; zero for the highest.
    above: [u32; LEVELS],
    /// No entry is due before it. Entries due at `now` may be there too.
    next: u64,
    buckets: Vec<Bucket>,
    /// A bit for each bucket with entries.
    filled: [[u64; BUCKETS / 64]; LEVELS],
    blocks: Slab<Block, PAGE>,
    /// The entries being taken out, and the place they had.
    due: u32,
    due_place: WheelPosition,
    /// A bucket with more entries than it should have.
    crowded: Option<usize>,
}

impl Wheel {
    pub(crate) fn new() -> Self {
        Self {
            now: 0,
            above: [0; LEVELS],
            next: u64::MAX,
            buckets: vec![Bucket { block: NIL, entries: 0, live: 0, swept: 0 }; LEVELS * BUCKETS],
            filled: [[0; BUCKETS / 64]; LEVELS],
            blocks: Slab::new(),
            due: NIL,
            due_place: WheelPosition::NOWHERE,
            crowded: None,
        }
    }

    /// When something is due next, or [`Nanos::MAX`]. May be too early, never too late.
    #[inline]
    pub(crate) fn next_due(&self) -> Nanos {
        if self.due != NIL {
            return Nanos::ZERO;
        }
        if self.next == u64::MAX { Nanos::MAX } else { Nanos(self.next << TICK_BITS) }
    }

    /// The tick (mod 2^32) at which an entry at `place` fires.
    #[inline(always)]
    fn fires(&self, place: WheelPosition) -> u32 {
        let (level, digit) = (place.bucket() / BUCKETS % LEVELS, (place.bucket() % BUCKETS) as u32);
        self.above[level] | digit << (8 * level)
    }

    /// Time has come to `tick`, unless it is past.
    #[inline]
    fn come_to(&mut self, tick: u64) {
        if tick > self.now {
            self.now = tick;
            let now = tick as u32;
            self.above = [now & 0xffff_ff00, now & 0xffff_0000, now & 0xff00_0000, 0];
        }
    }

    /// Ticks from now to `tick`; none if it is past.
    #[inline(always)]
    fn ahead(&self, tick: u32) -> u32 {
        let ahead = tick.wrapping_sub(self.now as u32);
        if ahead > FURTHEST { 0 } else { ahead }
    }

    /// Sees to it that flow `index`, whose entry is at `place`, comes up not later than `tick`, but not in the tick that
    /// is being worked off.
    #[inline(always)]
    pub(crate) fn arm(&mut self, now: Nanos, index: u32, place: &mut WheelPosition, tick: u32) {
        if self.next == u64::MAX {
            // Nothing waits: the wheel may stand where it stood long ago, too far back to tell later from earlier.
            self.come_to(tick_of(now));
        }
        let ahead = self.ahead(tick).max(1);
        if *place != WheelPosition::NOWHERE && self.ahead(self.fires(*place)) <= ahead {
            return;
        }
        self.disarm(place);
        *place = self.put(index, ahead);
    }

    /// The flow's entry counts no more.
    #[inline]
    pub(crate) fn disarm(&mut self, place: &mut WheelPosition) {
        if *place == WheelPosition::NOWHERE {
            return;
        }
        let bucket = &mut self.buckets[place.bucket()];
        // What is being taken out is not counted any more.
        if place.0 & WheelPosition::SWEPT == bucket.swept {
            bucket.live -= 1;
        }
        *place = WheelPosition::NOWHERE;
    }

    fn put(&mut self, index: u32, ahead: u32) -> WheelPosition {
        let tick = self.now + u64::from(ahead);
        // The first of the four digits, from above, in which the two differ.
        let level = (31 - ((tick ^ self.now) as u32 | 1).leading_zeros()) as usize / 8;
        let digit = (tick >> (8 * level)) as usize % BUCKETS;
        let at = level * BUCKETS + digit;
        self.push(at, index);
        self.filled[level][digit / 64] |= 1 << (digit % 64);
        self.next = self.next.min(tick >> (8 * level) << (8 * level));
        let bucket = &mut self.buckets[at];
        bucket.live += 1;
        if bucket.entries > 2 * bucket.live + UNSWEPT {
            self.crowded = Some(at);
        }
        WheelPosition(at as u16 | bucket.swept)
    }

    fn push(&mut self, at: usize, index: u32) {
        let block = self.buckets[at].block;
        let full = block == NIL || self.blocks[block].len as usize == BLOCK;
        let block = if full { self.new_block(block) } else { block };
        let entries = &mut self.blocks[block];
        entries.entries[entries.len as usize % BLOCK] = index;
        entries.len += 1;
        self.buckets[at].block = block;
        self.buckets[at].entries += 1;
    }

    fn new_block(&mut self, next: u32) -> u32 {
        let block = Block { next, len: 0, entries: [0; BLOCK] };
        let Some(index) = self.blocks.take_free() else {
            return self.blocks.push(block).expect("fewer blocks than flows");
        };
        (self.blocks[index].next, self.blocks[index].len) = (next, 0);
        index
    }

    /// The last entry of the blocks from `block` on, and the block to continue with. Emptied blocks are free again.
    #[inline]
    fn pop(&mut self, block: u32) -> (u32, u32) {
        let entries = &mut self.blocks[block];
        entries.len -= 1;
        let (index, next) = (entries.entries[entries.len as usize % BLOCK], entries.next);
        if entries.len > 0 {
            return (index, block);
        }
        self.blocks.give_back(block);
        (index, next)
    }

    /// An entry that is due at `now` and the place it had. It counts if that is its flow's place: the flow is nowhere
    /// then, and is armed again or called.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<(u32, WheelPosition)> {
        let tick = tick_of(now);
        if self.due == NIL {
            if tick < self.next {
                self.come_to(tick);
                return None;
            }
            self.turn_to(tick)?;
        }
        let (index, rest) = self.pop(self.due);
        self.due = rest;
        Some((index, self.due_place))
    }

    /// Makes the next bucket due the one being taken out; `None` if there is none until `tick`.
    fn turn_to(&mut self, tick: u64) -> Option<()> {
        loop {
            let Some((at, start)) = self.first().filter(|(_, start)| *start <= tick) else {
                self.come_to(tick);
                self.next = self.first().map_or(u64::MAX, |(_, start)| start);
                return None;
            };
            self.come_to(start);
            let bucket = &mut self.buckets[at];
            self.due_place = WheelPosition(at as u16 | bucket.swept);
            self.due = std::mem::replace(&mut bucket.block, NIL);
            (bucket.entries, bucket.live) = (0, 0);
            // What comes into the bucket from now on is not what is being taken out.
            bucket.swept ^= WheelPosition::SWEPT;
            self.filled[at / BUCKETS][at % BUCKETS / 64] &= !(1 << (at % 64));
            self.next = self.now;
            if self.due != NIL {
                return Some(());
            }
        }
    }

    /// The first bucket with entries, and the tick at which it begins: all at lower levels come before those above.
    fn first(&self) -> Option<(usize, u64)> {
        for (level, filled) in self.filled.iter().enumerate() {
            let shift = 8 * level as u32;
            let current = (self.now >> shift) as usize % BUCKETS;
            if let Some(digit) = first_from(filled, current) {
                let turn = self.now >> (shift + 8) << (shift + 8);
                let start = turn + ((digit as u64) << shift);
                // On the highest level the next turn's buckets stand before the current one.
                let next_turn = if digit < current { 1 << (shift + 8) } else { 0 };
                return Some((level * BUCKETS + digit, start + next_turn));
            }
        }
        None
    }

    /// Forgets the entries that do not count in a bucket that holds too many of them. `claim` is given an entry, the
    /// place it has and the one it gets, and changes the flow's place if it was that.
    pub(crate) fn sweep(&mut self, mut claim: impl FnMut(u32, WheelPosition, WheelPosition) -> bool) {
        // What is being taken out must be told from what is swept.
        if self.due != NIL {
            return;
        }
        let Some(at) = self.crowded.take() else { return };
        let bucket = &mut self.buckets[at];
        if bucket.entries <= 2 * bucket.live + UNSWEPT {
            return;
        }
        let before = WheelPosition(at as u16 | bucket.swept);
        bucket.swept ^= WheelPosition::SWEPT;
        let after = WheelPosition(at as u16 | bucket.swept);
        let mut block = std::mem::replace(&mut bucket.block, NIL);
        (bucket.entries, bucket.live) = (0, 0);
        while block != NIL {
            let (index, rest) = self.pop(block);
            block = rest;
            if claim(index, before, after) {
                self.push(at, index);
                self.buckets[at].live += 1;
            }
        }
    }

    /// Whether [`Wheel::sweep`] has something to do.
    #[inline(always)]
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded.is_some()
    }

    /// Entries that count.
    #[cfg(test)]
    pub(crate) fn live(&self) -> u32 {
        self.buckets.iter().map(|bucket| bucket.live).sum()
    }
}

/// The first bit set from `start` on, around the end.
fn first_from(bits: &[u64; BUCKETS / 64], start: usize) -> Option<usize> {
    let (word, bit) = (start / 64, start % 64);
    let here = bits[word] & (!0 << bit);
    if here != 0 {
        return Some(word * 64 + here.trailing_zeros() as usize);
    }
    // Last comes the same word again: its bits before `start`.
    (1..=bits.len())
        .map(|step| (word + step) % bits.len())
        .find(|word| bits[*word] != 0)
        .map(|word| word * 64 + bits[word].trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Flows with deadlines, and a wheel that is queried for them.
    struct Model {
        wheel: Wheel,
        places: Vec<WheelPosition>,
        deadlines: BTreeMap<u32, u32>,
        now: u64,
    }

    impl Model {
        fn new(flows: usize) -> Self {
            Self {
                wheel: Wheel::new(),
                places: vec![WheelPosition::NOWHERE; flows],
                deadlines: BTreeMap::new(),
                now: 0,
            }
        }

        fn set(&mut self, flow: u32, tick: u32) {
            self.deadlines.insert(flow, tick);
            self.wheel.arm(Nanos(self.now << TICK_BITS), flow, &mut self.places[flow as usize], tick);
        }

        fn unset(&mut self, flow: u32) {
            self.deadlines.remove(&flow);
            self.wheel.disarm(&mut self.places[flow as usize]);
        }

        /// Moves on and returns who was called.
        fn turn(&mut self, to: u64) -> Vec<u32> {
            self.now = to;
            let mut called = Vec::new();
            while let Some((flow, place)) = self.wheel.pop_due(Nanos(to << TICK_BITS)) {
                let mine = &mut self.places[flow as usize];
                if *mine != place {
                    continue;
                }
                *mine = WheelPosition::NOWHERE;
                match self.deadlines.get(&flow) {
                    Some(tick) if tick.wrapping_sub(to as u32) as i32 > 0 => {
                        self.wheel.arm(Nanos(to << TICK_BITS), flow, mine, *tick)
                    }
                    Some(_) => {
                        self.deadlines.remove(&flow);
                        called.push(flow);
                    }
                    None => {}
                }
            }
            let places = &mut self.places;
            self.wheel.sweep(|flow, before, after| {
                let is_there = places[flow as usize] == before;
                if is_there {
                    places[flow as usize] = after;
                }
                is_there
            });
            called
        }

        fn check(&self) {
            let armed = self.places.iter().filter(|place| **place != WheelPosition::NOWHERE).count();
            assert_eq!(self.wheel.live() as usize, armed);
            let first = self.deadlines.values().map(|tick| tick.wrapping_sub(self.now as u32) as i32).min();
            let next = self.wheel.next_due();
            if let Some(first) = first {
                let latest = self.now + first.max(1) as u64;
                assert!(next <= Nanos(latest << TICK_BITS), "{next} is later than tick {latest}");
            }
        }
    }

    proptest! {
        #[test]
        fn calls_everyone_in_time(
            start in prop::sample::select(vec![0u64, 200, 65_000, (1 << 32) - 70_000, (1 << 33) - 3]),
            ops in prop::collection::vec((0u32..40, 0u8..10, 0u32..28, any::<u32>()), 1..300),
        ) {
            let mut model = Model::new(40);
            model.now = start;
            for (flow, op, bits, random) in ops {
                let span = random & ((1u32 << bits) - 1);
                match op {
                    0..6 => model.set(flow, (model.now as u32).wrapping_add(span)),
                    6 => model.unset(flow),
                    _ => {
                        let to = model.now + u64::from(span >> 4);
                        let late: Vec<u32> = model.deadlines.iter()
                            .filter(|(_, tick)| (tick.wrapping_sub(to as u32) as i32) <= 0)
                            .map(|(flow, _)| *flow).collect();
                        let mut called = model.turn(to);
                        called.sort_unstable();
                        // What was armed for a tick already being worked off comes with the next one.
                        let missing: Vec<_> = late.iter().filter(|flow| !called.contains(flow)).collect();
                        prop_assert!(missing.iter().all(|flow| model.places[**flow as usize] != WheelPosition::NOWHERE));
                        prop_assert!(called.iter().all(|flow| late.contains(flow)));
                        if to > model.now { prop_assert!(missing.is_empty()); }
                    }
                }
                model.check();
            }
            let mut turns = 0;
            while !model.deadlines.is_empty() {
                let next = model.wheel.next_due().0 >> TICK_BITS;
                let to = next.max(model.now + 1);
                model.turn(to);
                turns += 1;
                prop_assert!(turns < 2_000, "{:?}", model.deadlines);
            }
        }
    }

    #[test]
    fn entries_left_behind_are_swept() {
        let mut model = Model::new(100);
        for n in 0..1_000_000u32 {
            let flow = n % 100;
            model.unset(flow);
            model.set(flow, model.now as u32 + 100_000);
            if n % 64 == 0 {
                model.turn(model.now);
            }
        }
        assert!(model.wheel.blocks.end() < 200, "{} blocks", model.wheel.blocks.end());
        model.check();
        assert_eq!(model.turn(200_000).len(), 100);
    }

    #[test]
    fn next_due_is_exact_when_it_is_near() {
        let mut model = Model::new(3);
        assert_eq!(model.wheel.next_due(), Nanos::MAX);
        model.turn(512);
        model.set(1, 600);
        model.set(0, 700);
        model.set(2, 100_000);
        assert_eq!(model.wheel.next_due(), Nanos(600 << TICK_BITS));
        assert_eq!(model.turn(600), [1]);
        assert_eq!(model.wheel.next_due(), Nanos(700 << TICK_BITS));
    }
}
