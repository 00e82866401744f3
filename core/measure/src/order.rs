//! Order, loss and duplicates of one lane, by sequence number.
//!
//! One wrong number must not make the right ones look late. So a number far ahead is held until the next arrival
//! confirms it, and a long run of numbers far behind moves the lane back to them.

use units::Nanos;

/// Maximum age of a late packet that is still recognised, in sequence numbers.
pub const WINDOW: u64 = 8192;

const WORDS: usize = WINDOW as usize / 64;

/// This many stale numbers in a row, each above the last, are where the lane is.
pub const RESYNC: u32 = 64;

/// Class of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalOrder {
    /// As expected, or after a gap.
    InOrder,
    /// Received for the first time, but after a packet sent later (RFC 4737 section 3: s < NextExp). Holds how many
    /// sequence numbers late.
    Reordered(u64),
    /// Received before.
    Duplicate,
    /// More than [`WINDOW`] behind: late ones and duplicates can't be distinguished any more.
    Stale,
    /// More than [`WINDOW`] ahead: the next arrival decides whether the lane is there.
    Held,
}

/// An arrival whose number is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    sequence: u64,
    /// Its length.
    pub(crate) bytes: u16,
    /// Arrival minus departure, ns.
    pub(crate) latency: u64,
    /// When it came.
    pub(crate) at: Nanos,
}

/// Fate of a held arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The lane continued after it: it is the next in order.
    Confirmed(Held),
    /// The lane continued where it was.
    Rejected,
}

/// State that a lane without loss does not need: the missing sequence numbers of the last [`WINDOW`], as bits, and the
/// number in doubt.
#[derive(Debug, Clone)]
struct Missing {
    bits: [u64; WORDS],
    live: u32,
    /// An arrival with a number far ahead.
    held: Option<Held>,
    /// Number of consecutive stale numbers, and the last of them.
    stale_run: u32,
    stale_last: u32,
}

impl Default for Missing {
    fn default() -> Self {
        Self { bits: [0; WORDS], live: 0, held: None, stale_run: 0, stale_last: 0 }
    }
}

impl Missing {
    /// Whether the number that is expected can be taken without a second look.
    fn is_quiet(&self) -> bool {
        self.live == 0 && self.held.is_none() && self.stale_run == 0
    }

    fn bit(sequence: u64) -> (usize, u64) {
        let at = sequence % WINDOW;
        ((at / 64) as usize, 1 << (at % 64))
    }

    fn set(&mut self, sequence: u64) {
        let (word, bit) = Self::bit(sequence);
        self.live += u32::from(self.bits[word] & bit == 0);
        self.bits[word] |= bit;
    }

    fn has(&self, sequence: u64) -> bool {
        let (word, bit) = Self::bit(sequence);
        self.bits[word] & bit != 0
    }

    /// Clears the bit; returns whether it was set.
    fn clear(&mut self, sequence: u64) -> bool {
        let (word, bit) = Self::bit(sequence);
        let was = self.bits[word] & bit != 0;
        self.bits[word] &= !bit;
        self.live -= u32::from(was);
        was
    }
}

/// Position of a lane's sequence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lane {
    /// NextExp of RFC 4737: one more than the highest sequence number seen.
    next: u64,
    /// Made at the first gap; a lane without loss never has one.
    missing: Option<Box<Missing>>,
}

impl Lane {
    /// Whether `low`, the low 32 bits of a sequence number, is the one expected and nothing is in doubt; then it is taken, and
    /// those that follow it, so that they are `packets` in all.
    #[inline(always)]
    pub(crate) fn are_next(&mut self, low: u32, packets: u16) -> bool {
        let are_next = low == self.next as u32 && self.missing.as_ref().is_none_or(|m| m.is_quiet());
        self.next += if are_next { u64::from(packets) } else { 0 };
        are_next
    }

    /// Numbers that were missing right before the newest; at most [`WINDOW`].
    pub(crate) fn last_gap(&self) -> u64 {
        let Some(missing) = &self.missing else { return 0 };
        let newest = self.next.saturating_sub(1);
        (1..WINDOW.min(newest + 1)).take_while(|back| missing.has(newest - back)).count() as u64
    }

    /// Decides on the held number, if there is one, by the number that arrived after it; must be called before
    /// [`Self::arrived`]. A reordered neighbour confirms, too.
    pub(crate) fn settle(&mut self, low: u32) -> Option<Settled> {
        let held = self.missing.as_mut()?.held.take()?;
        let behind_held = i64::from(low.wrapping_sub(held.sequence as u32) as i32);
        if behind_held < -(WINDOW as i64) {
            return Some(Settled::Rejected);
        }
        self.advance(held.sequence);
        Some(Settled::Confirmed(held))
    }

    /// The held arrival, if there is one, confirmed: nothing contradicts it any more.
    pub(crate) fn settle_last(&mut self) -> Option<Held> {
        let held = self.missing.as_mut()?.held.take()?;
        self.advance(held.sequence);
        Some(held)
    }

    /// Takes the low 32 bits of the sequence number of a packet of `bytes` that came `at` an instant with a `latency`.
    #[inline(never)]
    pub(crate) fn arrived(&mut self, low: u32, bytes: u16, latency: u64, at: Nanos) -> ArrivalOrder {
        // The number nearest to the expected one; 2^31 packets either way.
        let ahead = i64::from(low.wrapping_sub(self.next as u32) as i32);
        if ahead < 0 {
            return self.behind(ahead.unsigned_abs(), low);
        }
        let sequence = self.next + ahead.unsigned_abs();
        let missing = self.missing.get_or_insert_default();
        missing.stale_run = 0;
        if ahead.unsigned_abs() > WINDOW {
            missing.held = Some(Held { sequence, bytes, latency, at });
            return ArrivalOrder::Held;
        }
        self.advance(sequence);
        ArrivalOrder::InOrder
    }

    /// On to a sequence number that is not below the expected one; those between are missing.
    fn advance(&mut self, sequence: u64) {
        let missing = self.missing.get_or_insert_default();
        for lost in self.next.max(sequence.saturating_sub(WINDOW))..sequence {
            missing.set(lost);
        }
        missing.clear(sequence);
        self.next = sequence + 1;
    }

    fn behind(&mut self, distance: u64, low: u32) -> ArrivalOrder {
        let missing = self.missing.get_or_insert_default();
        if distance > WINDOW || distance > self.next {
            let goes_on = missing.stale_run > 0 && (low.wrapping_sub(missing.stale_last) as i32) > 0;
            missing.stale_run = if goes_on { missing.stale_run + 1 } else { 1 };
            missing.stale_last = low;
            if missing.stale_run <= RESYNC {
                return ArrivalOrder::Stale;
            }
            self.missing = None;
            self.next = self.next.checked_sub(distance).unwrap_or(u64::from(low)) + 1;
            return ArrivalOrder::InOrder;
        }
        missing.stale_run = 0;
        let first_time = missing.clear(self.next - distance);
        if first_time { ArrivalOrder::Reordered(distance) } else { ArrivalOrder::Duplicate }
    }

    /// Sequence numbers seen or skipped so far: how many packets the sender had sent up to the newest arrival.
    pub(crate) fn expected(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ArrivalOrder::{Duplicate, InOrder, Reordered, Stale};

    /// Class of a number, and before it the fate of a held one.
    fn take(lane: &mut Lane, low: u32) -> (Option<Settled>, ArrivalOrder) {
        if lane.are_next(low, 1) {
            return (None, InOrder);
        }
        let settled = lane.settle(low);
        (settled, lane.arrived(low, 60, u64::from(low), Nanos(7)))
    }

    fn held(sequence: u32) -> super::Held {
        super::Held { sequence: u64::from(sequence), bytes: 60, latency: u64::from(sequence), at: Nanos(7) }
    }

    fn orders(sequences: &[u32]) -> Vec<ArrivalOrder> {
        let mut lane = Lane::default();
        sequences.iter().map(|s| take(&mut lane, *s).1).collect()
    }

    #[test]
    fn tells_late_from_duplicate() {
        assert_eq!(orders(&[0, 1, 2]), [InOrder; 3]);
        assert_eq!(orders(&[0, 0, 1, 1]), [InOrder, Duplicate, InOrder, Duplicate]);
        // RFC 4737 section 7.1's example in its shape: 4 arrives after 7, once more after that.
        assert_eq!(
            orders(&[1, 2, 3, 5, 6, 7, 4, 4, 8, 0]),
            [
                InOrder,
                InOrder,
                InOrder,
                InOrder,
                InOrder,
                InOrder,
                Reordered(4),
                Duplicate,
                InOrder,
                Reordered(9)
            ]
        );
    }

    #[test]
    fn what_is_too_old_is_stale_and_its_place_is_taken() {
        let mut lane = Lane::default();
        take(&mut lane, 1);
        for s in 2..=WINDOW as u32 {
            assert_eq!(take(&mut lane, s).1, InOrder);
        }
        assert_eq!(take(&mut lane, WINDOW as u32 + 1).1, InOrder);
        assert_eq!(take(&mut lane, 0).1, Stale);
        assert_eq!(take(&mut lane, 2).1, Duplicate, "the oldest of the window, and it came");
    }

    #[test]
    fn a_gap_longer_than_the_window_leaves_only_its_end_fillable() {
        let mut lane = Lane::default();
        let far = 3 * WINDOW as u32;
        assert_eq!(take(&mut lane, far), (None, ArrivalOrder::Held));
        assert_eq!(take(&mut lane, far - 1), (Some(Settled::Confirmed(held(far))), Reordered(2)));
        assert_eq!(take(&mut lane, far - WINDOW as u32).1, Stale);
        assert_eq!(take(&mut lane, far + 1 - WINDOW as u32).1, Reordered(WINDOW));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut lane = Lane { next: u64::from(u32::MAX) - 1, missing: None };
        assert_eq!(take(&mut lane, u32::MAX - 1).1, InOrder);
        assert_eq!(take(&mut lane, 0).1, InOrder);
        assert_eq!(take(&mut lane, u32::MAX).1, Reordered(2));
        assert_eq!(lane.expected(), (1 << 32) + 1);
    }

    /// A damaged or forged number far ahead costs itself and nothing else.
    #[test]
    fn one_wrong_number_leaves_the_right_ones_alone() {
        let mut lane = Lane::default();
        (0..100).for_each(|s| assert_eq!(take(&mut lane, s), (None, InOrder)));
        assert_eq!(take(&mut lane, 3_000_000), (None, ArrivalOrder::Held));
        assert_eq!(take(&mut lane, 100), (Some(Settled::Rejected), InOrder));
        (101..200).for_each(|s| assert_eq!(take(&mut lane, s), (None, InOrder)));
        assert_eq!(lane.expected(), 200);
    }

    /// A device that passes one packet in 100,000: each is far ahead of the one before.
    #[test]
    fn long_gaps_are_confirmed_by_what_follows() {
        let mut lane = Lane::default();
        assert_eq!(take(&mut lane, 100_000), (None, ArrivalOrder::Held));
        for n in 2..10 {
            assert_eq!(
                take(&mut lane, n * 100_000),
                (Some(Settled::Confirmed(held((n - 1) * 100_000))), ArrivalOrder::Held)
            );
        }
        assert_eq!(lane.settle_last(), Some(held(900_000)));
        assert_eq!((lane.settle_last(), lane.expected()), (None, 900_001));
    }

    #[test]
    fn a_lane_that_was_led_astray_comes_back() {
        let mut lane = Lane::default();
        (0..10).for_each(|s| _ = take(&mut lane, s));
        // Two wrong numbers that confirm each other.
        take(&mut lane, 1_000_000);
        take(&mut lane, 1_000_001);
        let came: Vec<_> = (10..200).map(|s| take(&mut lane, s).1).collect();
        assert!(came[..RESYNC as usize].iter().all(|order| *order == Stale));
        assert!(came[RESYNC as usize..].iter().all(|order| *order == InOrder));
        assert_eq!(lane.expected(), 200);
    }

    /// Old duplicates in any order don't move the lane.
    #[test]
    fn what_is_stale_and_does_not_go_on_is_no_place_to_be() {
        let mut lane = Lane::default();
        (0..3 * WINDOW as u32).for_each(|s| _ = take(&mut lane, s));
        (0..1_000).for_each(|n| assert_eq!(take(&mut lane, 1_000 - n).1, Stale));
        assert_eq!(lane.expected(), 3 * WINDOW);
    }
}
