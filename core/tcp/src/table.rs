//! From the hash of a flow's addresses to the number of its slot: open addressing in buckets of one cache line.
//!
//! A bucket holds ten entries, each a slot's number and 16 more bits of the hash, so that a probe seldom touches a slot
//! that is not the wanted one. An entry whose home is full is in a later bucket; each bucket counts how many passed it
//! by, so a search ends where none did, and deletions leave nothing behind.
//!
//! Not here: keys. The caller decides whether a slot matches, and provides its hash when the table grows.
//!
//! Invariant: an entry is in the first bucket from its home on that had room when it was inserted, and every bucket it
//! passed counts it.

/// Entries of a bucket.
const LANES: usize = 10;
/// Expected entries for each bucket: a load of 0.8.
const EXPECTED: usize = 8;
/// Nothing is found by it; no tag is zero.
const EMPTY: u16 = 0;
/// No slot.
pub(crate) const NONE: u32 = u32::MAX;
/// Buckets moved with every insertion while the table grows: enough to be done before it grows again.
const MOVED_AT_ONCE: usize = 4;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    tags: [u16; LANES],
    /// Entries whose home is this bucket or an earlier one, and that are in a later one. Stays at its maximum.
    passed: u16,
    /// A bit for each lane with an entry.
    used: u16,
    slots: [u32; LANES],
}

const _: () = assert!(size_of::<Bucket>() == 64);

impl Bucket {
    const EMPTY: Self = Self { tags: [EMPTY; LANES], passed: 0, used: 0, slots: [NONE; LANES] };

    /// A bit for each lane that holds `tag`.
    #[inline(always)]
    fn lanes_with(&self, tag: u16) -> u32 {
        let mut lanes = 0;
        for (lane, other) in self.tags.iter().enumerate() {
            lanes |= u32::from(*other == tag) << lane;
        }
        lanes
    }

    #[inline(always)]
    fn clear(&mut self, lane: usize) {
        (self.tags[lane], self.slots[lane]) = (EMPTY, NONE);
        self.used &= !(1 << lane);
    }
}

/// The entries, and while the table grows those not moved yet.
#[derive(Debug)]
pub(crate) struct Table {
    buckets: Vec<Bucket>,
    len: usize,
    /// The buckets before growth; those before `moved` are empty.
    old: Vec<Bucket>,
    moved: usize,
}

#[inline(always)]
fn home(hash: u64, buckets: usize) -> usize {
    // The upper half as a fraction of the number of buckets; the tag is taken from the lower half.
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

#[inline(always)]
fn tag(hash: u64) -> u16 {
    (hash as u16).max(1)
}

#[inline(always)]
fn behind(at: usize, buckets: usize) -> usize {
    if at + 1 == buckets { 0 } else { at + 1 }
}

/// Position of an entry: its bucket, its lane.
type LanePosition = (usize, usize);

/// All lanes of a bucket.
const ALL: u16 = (1 << LANES) - 1;

#[inline]
fn find_in(buckets: &[Bucket], hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<LanePosition> {
    let (mut at, tag) = (home(hash, buckets.len()), tag(hash));
    for _ in 0..buckets.len() {
        let bucket = &buckets[at];
        let mut lanes = bucket.lanes_with(tag);
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize % LANES;
            if is_it(bucket.slots[lane]) {
                return Some((at, lane));
            }
            lanes &= lanes - 1;
        }
        if bucket.passed == 0 {
            return None;
        }
        at = behind(at, buckets.len());
    }
    None
}

#[inline(always)]
fn insert_in(buckets: &mut [Bucket], hash: u64, slot: u32) {
    let (mut at, len) = (home(hash, buckets.len()), buckets.len());
    loop {
        let bucket = &mut buckets[at];
        if bucket.used != ALL {
            let lane = bucket.used.trailing_ones() as usize % LANES;
            (bucket.tags[lane], bucket.slots[lane]) = (tag(hash), slot);
            bucket.used |= 1 << lane;
            return;
        }
        bucket.passed = bucket.passed.saturating_add(1);
        at = behind(at, len);
    }
}

fn remove_at(buckets: &mut [Bucket], hash: u64, (last, lane): LanePosition) {
    let (mut at, len) = (home(hash, buckets.len()), buckets.len());
    buckets[last].clear(lane);
    while at != last {
        // At its maximum it is not known how many there are.
        if buckets[at].passed != u16::MAX {
            buckets[at].passed -= 1;
        }
        at = behind(at, len);
    }
}

impl Table {
    /// With room for `expected` entries before it grows.
    pub(crate) fn new(expected: usize) -> Self {
        let buckets = expected.div_ceil(EXPECTED).clamp(16, u32::MAX as usize / LANES);
        Self { buckets: vec![Bucket::EMPTY; buckets], len: 0, old: Vec::new(), moved: 0 }
    }

    /// Entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all buckets.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        (self.buckets.len() + self.old.len()) * size_of::<Bucket>()
    }

    /// The slot with `hash` for which `is_it` holds.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.is_absent(hash) { None } else { self.find_any(hash, is_it) }
    }

    /// Whether no slot has `hash`: `false` if one may have it.
    #[inline(always)]
    pub(crate) fn is_absent(&self, hash: u64) -> bool {
        let bucket = &self.buckets[home(hash, self.buckets.len())];
        bucket.lanes_with(tag(hash)) == 0 && bucket.passed == 0 && self.old.is_empty()
    }

    #[inline]
    fn find_any(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        if let Some((at, lane)) = find_in(&self.buckets, hash, &mut is_it) {
            return Some(self.buckets[at].slots[lane]);
        }
        if self.old.is_empty() {
            return None;
        }
        find_in(&self.old, hash, is_it).map(|(at, lane)| self.old[at].slots[lane])
    }

    /// The slot that probably has `hash`, or [`NONE`] if its home has none: reads one cache line and no slot, so that
    /// many searches can wait for memory at the same time.
    #[inline(always)]
    pub(crate) fn guess(&self, hash: u64) -> u32 {
        self.guess_lane(hash).0
    }

    /// The same with its lane there.
    #[inline(always)]
    pub(crate) fn guess_lane(&self, hash: u64) -> (u32, u8) {
        let bucket = &self.buckets[home(hash, self.buckets.len())];
        match bucket.lanes_with(tag(hash)) {
            0 => (NONE, 0),
            lanes => {
                let lane = lanes.trailing_zeros() as usize % LANES;
                (bucket.slots[lane], lane as u8)
            }
        }
    }

    /// Takes `slot` out, which [`Table::guess_lane`] may have found in this lane of its home.
    #[inline(always)]
    pub(crate) fn remove_from(&mut self, hash: u64, slot: u32, lane: u8) {
        let (home, lane) = (home(hash, self.buckets.len()), usize::from(lane).min(LANES - 1));
        let bucket = &mut self.buckets[home];
        if bucket.slots[lane] == slot {
            bucket.clear(lane);
            self.len -= 1;
        } else {
            self.remove(hash, slot);
        }
    }

    /// Adds `slot`, which must not be in the table. `hash_of` provides the hashes of other slots when it grows.
    #[inline(always)]
    pub(crate) fn insert(&mut self, hash: u64, slot: u32, hash_of: impl Fn(u32) -> u64) {
        if !self.old.is_empty() || self.len >= self.buckets.len() * LANES / 10 * 9 {
            self.grow(hash_of);
        }
        insert_in(&mut self.buckets, hash, slot);
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        if self.old.is_empty() && self.len >= self.buckets.len() * LANES / 10 * 9 {
            let more = self.buckets.len() + self.buckets.len() / 2;
            self.old = std::mem::replace(&mut self.buckets, vec![Bucket::EMPTY; more]);
            self.moved = 0;
        }
        self.move_some(hash_of);
    }

    fn move_some(&mut self, hash_of: impl Fn(u32) -> u64) {
        let end = (self.moved + MOVED_AT_ONCE).min(self.old.len());
        for bucket in &mut self.old[self.moved..end] {
            for (tag, slot) in bucket.tags.iter_mut().zip(&bucket.slots).filter(|(tag, _)| **tag != EMPTY) {
                insert_in(&mut self.buckets, hash_of(*slot), *slot);
                *tag = EMPTY;
            }
            bucket.used = 0;
        }
        self.moved = end;
        if end == self.old.len() {
            self.old = Vec::new();
        }
    }

    /// Takes `slot` out; returns whether it was there.
    pub(crate) fn remove(&mut self, hash: u64, slot: u32) -> bool {
        let found = match find_in(&self.buckets, hash, |other| other == slot) {
            Some(place) => {
                remove_at(&mut self.buckets, hash, place);
                true
            }
            None if self.old.is_empty() => false,
            None => {
                let place = find_in(&self.old, hash, |other| other == slot);
                place.map(|place| remove_at(&mut self.old, hash, place)).is_some()
            }
        };
        self.len -= usize::from(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Few homes and few tags, so that entries are often in each other's way.
    fn crowded(key: u8) -> u64 {
        let key = u64::from(key);
        (key % 3) << 62 | (key % 5)
    }

    #[test]
    fn an_entry_costs_eight_bytes_at_the_expected_load() {
        let table = Table::new(1_000_000);
        assert!(table.bytes() <= 8_001_000, "{}", table.bytes());
    }

    #[test]
    fn holds_many_and_forgets_them() {
        let mut table = Table::new(100);
        let hash = |slot: u32| random::word(random::key(1), u64::from(slot));
        for slot in 0..20_000 {
            table.insert(hash(slot), slot, hash);
        }
        for slot in 0..20_000 {
            assert_eq!(table.find(hash(slot), |other| other == slot), Some(slot));
        }
        assert!(table.find(hash(20_000), |_| true).is_none());
        for slot in (0..20_000).rev() {
            assert!(table.remove(hash(slot), slot));
        }
        assert_eq!(table.len(), 0);
        let is_clean =
            |bucket: &Bucket| (bucket.passed, bucket.used) == (0, 0) && bucket.tags == [EMPTY; LANES];
        assert!(table.old.iter().chain(&table.buckets).all(is_clean));
    }

    proptest! {
        #[test]
        fn agrees_with_a_map(ops in prop::collection::vec((any::<bool>(), any::<u8>()), 0..600)) {
            let (mut table, mut map) = (Table::new(0), HashMap::new());
            // What stands in slots: here a slot's number is its key.
            let hash_of = |slot: u32| crowded(slot as u8);
            for (is_insert, key) in ops {
                let (hash, slot) = (crowded(key), u32::from(key));
                if is_insert && map.insert(key, slot).is_none() {
                    table.insert(hash, slot, hash_of);
                } else if !is_insert {
                    let was_there = map.remove(&key).is_some();
                    if was_there && key.is_multiple_of(2) {
                        // The lane may be another entry's: some hashes are the same.
                        table.remove_from(hash, slot, table.guess_lane(hash).1);
                    } else {
                        prop_assert_eq!(table.remove(hash, slot), was_there);
                    }
                }
                prop_assert_eq!(table.len(), map.len());
                for key in 0..=255u8 {
                    let found = table.find(crowded(key), |slot| slot == u32::from(key));
                    prop_assert_eq!(found, map.get(&key).copied());
                }
            }
        }
    }
}
