//! A worker's end of a capture.

use super::options::{CaptureOptions, Directions};
use super::record::RecordHead;
use super::shared::Shared;
use filter::Filter;
use pcap::Direction;
use port::BURST;
use port::bytes::{ByteSender, Mark};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use units::Nanos;

/// A worker's end of a capture: one for each port it works for. Owned by one thread; never allocates, waits, locks or
/// makes a system call. When the capture is off or over, it does nothing.
pub(crate) struct Tap {
    sender: ByteSender,
    filter: Option<Arc<Filter>>,
    snap_len: usize,
    directions: Directions,
    shared: Arc<Shared>,
    /// Which of the shared tallies is this tap's.
    index: usize,
    seen: u64,
    matched: u64,
    dropped: u64,
    /// Packets that are about to be sent, in the order of the burst.
    staged: [Staged; BURST],
    staged_len: usize,
    /// When they are.
    staged_at: Nanos,
}

/// A packet that is about to be sent.
#[derive(Clone, Copy)]
struct Staged {
    fate: Fate,
    /// The ring's end with it.
    mark: Mark,
}

/// Fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unmatched,
    Dropped,
    Captured,
}

impl Tap {
    pub(super) fn new(
        sender: ByteSender,
        filter: Option<Arc<Filter>>,
        options: &CaptureOptions,
        shared: Arc<Shared>,
        index: usize,
    ) -> Self {
        let staged = Staged { fate: Fate::Unmatched, mark: sender.mark() };
        Self {
            sender,
            filter,
            snap_len: options.snap_len as usize,
            directions: options.directions,
            shared,
            index,
            seen: 0,
            matched: 0,
            dropped: 0,
            staged: [staged; BURST],
            staged_len: 0,
            staged_at: Nanos::ZERO,
        }
    }

    /// Whether packets that go this way are wanted; if not, [`Tap::offer`] and [`Tap::stage`] do nothing.
    #[inline(always)]
    pub(crate) fn wants(&self, direction: Direction) -> bool {
        self.directions.include(direction) && self.shared.is_taking()
    }

    /// Takes a packet that was received, or sent, at `at` of the worker's clock. `frame` is without FCS.
    #[inline]
    pub(crate) fn offer(&mut self, at: Nanos, direction: Direction, frame: &[u8]) {
        debug_assert_eq!(self.staged_len, 0, "staged packets are committed first");
        if !self.wants(direction) {
            return;
        }
        let fate = self.put(at, direction, frame);
        self.count(fate);
        self.sender.publish(self.sender.mark());
        self.tell(at);
    }

    /// Adds a packet that is passed to the port next, up to [`BURST`] of them, in the order of the burst.
    /// [`Tap::commit`] decides its fate.
    #[inline]
    pub(crate) fn stage(&mut self, at: Nanos, frame: &[u8]) {
        if !self.wants(Direction::Sent) {
            return;
        }
        let fate = self.put(at, Direction::Sent, frame);
        self.staged[self.staged_len] = Staged { fate, mark: self.sender.mark() };
        self.staged_len += 1;
        self.staged_at = at;
    }

    /// Takes the first `sent` packets staged, which the port took, and forgets the others. To be called after every
    /// burst, even if the port took none.
    #[inline]
    pub(crate) fn commit(&mut self, sent: usize) {
        // Nothing is staged if the direction is not wanted, and too little if the capture ended meanwhile.
        let sent = sent.min(self.staged_len);
        if self.staged_len == 0 {
            return;
        }
        let before = match sent {
            0 => self.sender.published(),
            n => self.staged[n - 1].mark,
        };
        self.sender.publish(before);
        for index in 0..sent {
            self.count(self.staged[index].fate);
        }
        self.staged_len = 0;
        if sent > 0 {
            self.tell(self.staged_at);
        }
    }

    /// Writes a packet into the ring, not yet visible.
    #[inline(always)]
    fn put(&mut self, at: Nanos, direction: Direction, frame: &[u8]) -> Fate {
        let original_len = frame.len() as u32;
        if self.filter.as_ref().is_some_and(|filter| !filter.matches(frame, original_len)) {
            return Fate::Unmatched;
        }
        let kept = &frame[..frame.len().min(self.snap_len)];
        let head = RecordHead { at, direction, original_len, captured_len: kept.len() as u32 };
        if self.sender.write(&head.to_bytes(), kept) { Fate::Captured } else { Fate::Dropped }
    }

    #[inline(always)]
    fn count(&mut self, fate: Fate) {
        self.seen += 1;
        self.matched += u64::from(fate != Fate::Unmatched);
        self.dropped += u64::from(fate == Fate::Dropped);
    }

    /// Makes the counts known.
    #[inline(always)]
    fn tell(&self, at: Nanos) {
        let tally = &self.shared.tallies[self.index];
        tally.seen.store(self.seen, Ordering::Relaxed);
        tally.matched.store(self.matched, Ordering::Relaxed);
        tally.dropped.store(self.dropped, Ordering::Relaxed);
        tally.latest.store(at.0, Ordering::Relaxed);
    }
}
