//! ArrivalOrder, loss and duplicates of one lane, by sequence number.

/// How far back a late packet is still recognised, in sequence numbers.
pub const WINDOW: u64 = 8192;

const WORDS: usize = WINDOW as usize / 64;

/// What an arrival turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalOrder {
    /// As expected, or after a gap.
    InOrder,
    /// Received for the first time, but after a packet sent later (RFC 4737 section 3: s < NextExp). Holds how many
    /// sequence numbers late.
    Reordered(u64),
    /// Received before.
    Duplicate,
    /// More than [`WINDOW`] behind: whether it is late or a duplicate can't be told any more.
    Stale,
}

/// The missing sequence numbers of the last [`WINDOW`], as bits.
#[derive(Debug, Clone)]
struct Missing {
    bits: [u64; WORDS],
    live: u32,
}

impl Missing {
    fn bit(sequence: u64) -> (usize, u64) {
        let at = sequence % WINDOW;
        ((at / 64) as usize, 1 << (at % 64))
    }

    fn set(&mut self, sequence: u64) {
        let (word, bit) = Self::bit(sequence);
        self.live += u32::from(self.bits[word] & bit == 0);
        self.bits[word] |= bit;
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

/// Where a lane's sequence stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lane {
    /// NextExp of RFC 4737: one more than the highest sequence number seen.
    next: u64,
    /// Made at the first gap; a lane without loss never has one.
    missing: Option<Box<Missing>>,
}

impl Lane {
    /// Takes the low 32 bits of a sequence number.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, low: u32) -> ArrivalOrder {
        if low == self.next as u32 && self.missing.as_ref().is_none_or(|m| m.live == 0) {
            self.next += 1;
            return ArrivalOrder::InOrder;
        }
        self.out_of_line(low)
    }

    #[inline(never)]
    fn out_of_line(&mut self, low: u32) -> ArrivalOrder {
        // The number nearest to the expected one; 2^31 packets either way.
        let ahead = i64::from(low.wrapping_sub(self.next as u32) as i32);
        if ahead < 0 {
            return self.behind(ahead.unsigned_abs());
        }
        let missing = self.missing.get_or_insert_with(|| Box::new(Missing { bits: [0; WORDS], live: 0 }));
        let sequence = self.next + ahead.unsigned_abs();
        for lost in self.next.max(sequence.saturating_sub(WINDOW))..sequence {
            missing.set(lost);
        }
        missing.clear(sequence);
        self.next = sequence + 1;
        ArrivalOrder::InOrder
    }

    fn behind(&mut self, distance: u64) -> ArrivalOrder {
        if distance > WINDOW || distance > self.next {
            return ArrivalOrder::Stale;
        }
        let sequence = self.next - distance;
        let first_time = self.missing.as_mut().is_some_and(|m| m.clear(sequence));
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
    use ArrivalOrder::*;

    fn orders(sequences: &[u32]) -> Vec<ArrivalOrder> {
        let mut lane = Lane::default();
        sequences.iter().map(|s| lane.arrived(*s)).collect()
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
        lane.arrived(1);
        for s in 2..=WINDOW as u32 {
            assert_eq!(lane.arrived(s), InOrder);
        }
        assert_eq!(lane.arrived(WINDOW as u32 + 1), InOrder);
        assert_eq!(lane.arrived(0), Stale);
        assert_eq!(lane.arrived(2), Duplicate, "the oldest of the window, and it came");
    }

    #[test]
    fn a_gap_longer_than_the_window_leaves_only_its_end_fillable() {
        let mut lane = Lane::default();
        let far = 3 * WINDOW as u32;
        assert_eq!(lane.arrived(far), InOrder);
        assert_eq!(lane.arrived(far - 1), Reordered(2));
        assert_eq!(lane.arrived(far - WINDOW as u32), Stale);
        assert_eq!(lane.arrived(far + 1 - WINDOW as u32), Reordered(WINDOW));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut lane = Lane { next: u64::from(u32::MAX) - 1, missing: None };
        assert_eq!(lane.arrived(u32::MAX - 1), InOrder);
        assert_eq!(lane.arrived(0), InOrder);
        assert_eq!(lane.arrived(u32::MAX), Reordered(2));
        assert_eq!(lane.expected(), (1 << 32) + 1);
    }
}
