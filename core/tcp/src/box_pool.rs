//! State of only some flows, apart from the flows: boxes that are lent and returned.
//!
//! A flow that is idle, or that loses nothing, has none; so 10 million of them stay small.
//!
//! Invariant: a box that is lent again is as new.

use crate::endpoint::{Cubic, Rack, Reassembly, Recovery, Scoreboard, Undo};
use units::Nanos;

/// Which box a flow has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoxId(u32);

impl BoxId {
    #[inline(always)]
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The box with a number that [`BoxId::number`] gave.
    #[inline(always)]
    pub(crate) fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// Challenge ACKs a stack sends in a second (RFC 5961 section 7).
const CHALLENGES_PER_SECOND: u32 = 1_000;
/// Bytes of buffers a box keeps for its next borrower.
const KEPT_BYTES: usize = 4_096;

/// The boxes of a stack.
#[derive(Debug, Default)]
pub struct BoxPool {
    #[expect(clippy::vec_box, reason = "growing must not move all of them")]
    boxes: Vec<Box<Work>>,
    free: Vec<u32>,
    challenge_second: u64,
    challenges: u32,
}

impl BoxPool {
    /// Without any box yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Boxes lent.
    pub fn in_use(&self) -> usize {
        self.boxes.len() - self.free.len()
    }

    /// Boxes there are, lent or not.
    pub fn capacity(&self) -> usize {
        self.boxes.len()
    }

    pub(crate) fn lend(&mut self) -> BoxId {
        BoxId(self.free.pop().unwrap_or_else(|| {
            self.boxes.push(Box::default());
            self.boxes.len() as u32 - 1
        }))
    }

    pub(crate) fn take_back(&mut self, id: BoxId) {
        self.boxes[id.0 as usize].clear();
        self.free.push(id.0);
    }

    #[inline]
    pub(crate) fn work(&self, id: BoxId) -> &Work {
        &self.boxes[id.0 as usize]
    }

    #[inline]
    pub(crate) fn work_mut(&mut self, id: BoxId) -> &mut Work {
        &mut self.boxes[id.0 as usize]
    }

    /// Whether one more challenge ACK may be sent now.
    pub(crate) fn may_challenge(&mut self, now: Nanos) -> bool {
        let second = now.0 >> 30;
        if second != self.challenge_second {
            (self.challenge_second, self.challenges) = (second, 0);
        }
        self.challenges += 1;
        self.challenges <= CHALLENGES_PER_SECOND
    }
}

/// Contents of a flow's box.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// The segment being timed ends here.
    pub timed_seq: u32,
    /// Bytes passed by the application beyond the flow's own counter.
    pub beyond: u64,
    /// The upper half of the stream offset of SND.UNA.
    pub offset_high: u32,
    /// Data that the peer holds beyond SND.UNA.
    pub scoreboard: Scoreboard,
    /// Duplicate acknowledgements in a row.
    pub repeated: u32,
    /// Bytes that have left according to duplicate acknowledgements, if the peer does not report which (RFC 5681
    /// section 3.2).
    pub departed: u32,
    /// Loss that is being repaired.
    pub recovery: Option<Recovery>,
    /// The end of the last repair: acknowledgements up to here begin no other (RFC 6582 section 3.2).
    pub recovered: Option<u32>,
    /// State before the last repair, in case it was spurious.
    pub undo: Option<Undo>,
    /// CUBIC between two losses.
    pub cubic: Option<Cubic>,
    /// SND.NXT when ECN last reduced the window: once a round trip is enough (RFC 3168 section 6.1.2).
    pub reduced: Option<u32>,
    /// Sequence number of a reset in reply to a stray segment; the flow lives on.
    pub stray_reset: Option<u32>,
    /// Loss by time, and probes of the tail (RFC 8985).
    pub rack: Rack,
    /// Range received twice, which the next acknowledgement reports (RFC 2883).
    pub twice: Option<(u32, u32)>,
    /// Bytes received ahead of a gap.
    pub reassembly: Reassembly,
    /// Position of the peer's FIN, if it arrived ahead of a gap.
    pub fin_at: Option<u32>,
    /// Bytes in order that a paused application has not taken yet.
    pub held: Vec<u8>,
    /// Whether the FIN has not been delivered to the paused application yet.
    pub fin_held: bool,
}

impl Work {
    /// Whether the flow can do without, if all it has sent is acknowledged or not.
    pub(crate) fn is_spare(&self, quiet: bool) -> bool {
        let sending = self.scoreboard.is_empty() && self.recovery.is_none() && self.stray_reset.is_none();
        let loss = quiet
            || (self.repeated == 0
                && self.recovered.is_none()
                && self.reduced.is_none()
                && self.undo.is_none()
                && self.rack.is_spare());
        let growth = quiet || self.cubic.is_none();
        let big = self.beyond > 0 || self.offset_high > 0;
        let receiving =
            self.twice.is_none() && self.reassembly.is_empty() && self.fin_at.is_none() && !self.holds();
        sending && loss && growth && !big && receiving
    }

    /// Whether there is something to deliver to a paused application.
    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty() || self.fin_held
    }

    fn clear(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        held.shrink_to(KEPT_BYTES);
        let mut reassembly = std::mem::take(&mut self.reassembly);
        reassembly.clear();
        let mut scoreboard = std::mem::take(&mut self.scoreboard);
        scoreboard.clear();
        *self = Self { held, reassembly, scoreboard, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_lent_again_is_as_new() {
        let mut busy = BoxPool::new();
        let (first, second) = (busy.lend(), busy.lend());
        assert_eq!((busy.in_use(), busy.capacity()), (2, 2));
        let work = busy.work_mut(first);
        assert!(work.is_spare(false));
        work.held.extend([0; 100_000]);
        work.scoreboard.add(1, 2);
        work.reassembly.insert(5, b"abc");
        (work.beyond, work.offset_high, work.repeated) = (1, 2, 3);
        (work.fin_held, work.fin_at, work.recovered) = (true, Some(1), Some(2));
        assert!(!work.is_spare(true));
        busy.take_back(first);
        assert_eq!((busy.in_use(), busy.lend()), (1, first));
        let work = busy.work(first);
        assert!(work.is_spare(false) && work.held.capacity() <= KEPT_BYTES);
        busy.take_back(second);
        assert_eq!((busy.in_use(), busy.capacity()), (1, 2));
    }
}
