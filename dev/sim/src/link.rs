//! One direction of a link.

use crate::random::Dice;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{L1_OVERHEAD_BYTES, Nanos};

/// What a link does to frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkModel {
    /// Layer-1 bits per second.
    pub speed_bps: u64,
    /// Propagation delay.
    pub delay: Nanos,
    /// Share of frames lost, 0 to 1.
    pub loss: f64,
    /// Share of frames delivered twice.
    pub duplicate: f64,
    /// Share of frames delayed by `reorder_by` more.
    pub reorder: f64,
    /// Extra delay of those.
    pub reorder_by: Nanos,
}

impl LinkModel {
    /// A link that does nothing but take time to fill.
    pub fn perfect(speed_bps: u64) -> Self {
        Self {
            speed_bps,
            delay: Nanos::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_by: Nanos::ZERO,
        }
    }

    /// Time `bytes` (without FCS) take on the wire, in thousandths of a nanosecond.
    fn picos(&self, bytes: usize) -> u64 {
        let bits = (bytes as u64 + 4 + u64::from(L1_OVERHEAD_BYTES)) * 8;
        (u128::from(bits) * 1_000_000_000_000 / u128::from(self.speed_bps.max(1))) as u64
    }
}

/// A frame under way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flight {
    pub(crate) arrives: Nanos,
    /// Number of the frame on the port it was first sent from; a copy has the same.
    pub(crate) number: u64,
    /// The port it was first sent from.
    pub(crate) origin: usize,
    pub(crate) bytes: Vec<u8>,
}

/// What happened to frames on a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LinkCounts {
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) delayed: u64,
}

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct Link {
    model: LinkModel,
    dice: Dice,
    /// When the last frame will have been sent, ps.
    free: u128,
    in_order: VecDeque<Flight>,
    late: BinaryHeap<Reverse<Flight>>,
    pub(crate) counts: LinkCounts,
}

/// Frames that may wait to be sent, as in a network card's ring.
const RING_FRAMES: u128 = 512;

impl Link {
    pub(crate) fn new(model: LinkModel, seed: u64) -> Self {
        Self {
            model,
            dice: Dice::new(seed),
            free: 0,
            in_order: VecDeque::new(),
            late: BinaryHeap::new(),
            counts: LinkCounts::default(),
        }
    }

    /// When there is room for a frame of `bytes`; an instant not after `now` if there is already.
    pub(crate) fn room_at(&self, bytes: usize) -> Nanos {
        let ring = RING_FRAMES * u128::from(self.model.picos(bytes));
        Nanos((self.free.saturating_sub(ring)).div_ceil(1_000) as u64)
    }

    /// Sends a frame at `now`, room or not. `spare` gives memory for a copy.
    pub(crate) fn send(&mut self, now: Nanos, mut flight: Flight, spare: impl FnOnce() -> Vec<u8>) {
        let start = self.free.max(u128::from(now.0) * 1_000);
        self.free = start + u128::from(self.model.picos(flight.bytes.len()));
        flight.arrives = Nanos((self.free / 1_000) as u64) + self.model.delay;
        if self.dice.chance(self.model.loss) {
            self.counts.lost += 1;
            return;
        }
        if self.dice.chance(self.model.duplicate) {
            self.counts.duplicated += 1;
            let mut bytes = spare();
            bytes.clear();
            bytes.extend_from_slice(&flight.bytes);
            self.late.push(Reverse(Flight { bytes, ..flight }));
        }
        if self.dice.chance(self.model.reorder) {
            self.counts.delayed += 1;
            flight.arrives += self.model.reorder_by;
            self.late.push(Reverse(flight));
        } else {
            self.in_order.push_back(flight);
        }
    }

    /// When the next frame arrives.
    pub(crate) fn next_arrival(&self) -> Nanos {
        let in_order = self.in_order.front().map_or(Nanos::MAX, |f| f.arrives);
        in_order.min(self.late.peek().map_or(Nanos::MAX, |f| f.0.arrives))
    }

    /// The next frame that has arrived by `now`.
    pub(crate) fn arrived(&mut self, now: Nanos) -> Option<Flight> {
        if self.next_arrival() > now {
            return None;
        }
        let first = self.in_order.front().map_or(Nanos::MAX, |f| f.arrives);
        match self.late.peek() {
            Some(late) if late.0.arrives < first => self.late.pop().map(|f| f.0),
            _ => self.in_order.pop_front(),
        }
    }
}
