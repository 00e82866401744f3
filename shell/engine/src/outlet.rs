//! Frames that leave a port while no trial has it: what hosts, resolvers and namespaces send before traffic and after it.
//!
//! Invariant: a port with a limit sends no more than it outside trials either; what is too early waits, and what there is no room
//! for is dropped as a slow link would, for the protocols to repeat.

use crate::worker::cap::Cap;
use port::{Burst, TxQueue};
use std::collections::VecDeque;
use units::{Load, Nanos};

/// Frames that wait at most.
const WAITING_MAX: usize = 1_024;
/// The longest frame that protocols send, with FCS.
const FRAME_BYTES: u32 = 1_518;

/// The way out of a port.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    cap: Option<Cap>,
    waiting: VecDeque<Vec<u8>>,
}

impl Outlet {
    /// One that keeps to `limit`.
    pub(crate) fn new(limit: Option<Load>) -> Self {
        let cap = limit.and_then(|limit| Cap::new(limit, 1, FRAME_BYTES)).map(Cap::looked_at_seldom);
        Self { cap, waiting: VecDeque::new() }
    }

    /// Whether nothing waits: senders of unsolicited frames make more only then.
    pub(crate) fn is_free(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Drops what waits.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Sends what waits and then `frames`, as far as may leave at `now`.
    pub(crate) fn send(&mut self, now: Nanos, queue: &mut dyn TxQueue, frames: &mut Vec<Vec<u8>>) {
        let Some(cap) = &mut self.cap else {
            frames.drain(..).for_each(|frame| send(queue, &frame));
            return;
        };
        let room = WAITING_MAX.saturating_sub(self.waiting.len());
        self.waiting.extend(frames.drain(..).take(room));
        while cap.room(now) > 0 {
            let Some(frame) = self.waiting.pop_front() else { return };
            send(queue, &frame);
            cap.pay(1, frame.len() as u64 + 4);
        }
    }
}

/// Sends a frame now.
fn send(queue: &mut dyn TxQueue, frame: &[u8]) {
    let mut burst = Burst::new();
    if queue.alloc(&mut burst, 1) == 1 {
        let mut buffer = burst.frame_mut(0);
        if buffer.fits(frame.len()) {
            buffer.copy_from(frame);
            queue.send(&mut burst);
        }
        queue.free(&mut burst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::{Port, PortRequest, ring};

    /// Frames that arrive at the other end when `frames` are given to a way out every ms for `ms`.
    fn arrive(limit: Option<&str>, frames: usize, ms: u64) -> u64 {
        let request = PortRequest { queues: 1, frame_len_max: 1_518, confined: false };
        let [mut near, mut far] = ring::pair(["ring:a", "ring:b"], request).unwrap();
        let (mut tx, mut rx) = (near.take_queues().tx, far.take_queues().rx);
        let mut outlet = Outlet::new(limit.map(|limit| limit.parse().unwrap()));
        let mut burst = Burst::new();
        let mut arrived = 0;
        for ms in 0..ms {
            let mut made = if outlet.is_free() { vec![vec![0; 300]; frames] } else { Vec::new() };
            outlet.send(Nanos::from_millis(ms), tx[0].as_mut(), &mut made);
            assert!(made.is_empty());
            while rx[0].recv(&mut burst) > 0 {
                arrived += burst.len() as u64;
                rx[0].free(&mut burst);
            }
        }
        arrived
    }

    #[test]
    fn no_more_leaves_than_the_limit_and_no_less() {
        assert_eq!(arrive(None, 40, 100), 4_000);
        let arrived = arrive(Some("100pps"), 40, 3_000);
        assert!((300..=302).contains(&arrived), "{arrived}");
        let arrived = arrive(Some("243200bps"), 40, 1_000);
        assert!((97..=102).contains(&arrived), "{arrived}");
        assert_eq!(arrive(Some("1pps"), 1, 900), 1);
    }
}
