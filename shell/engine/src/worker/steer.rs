//! Frames that came to a worker that does not own their flow, on their way to the one that does.
//!
//! Network cards distribute frames over queues by their own hash, so a reply may arrive anywhere. The worker that owns
//! a flow is determined by its addresses and ports alone; all others pass its frames on. Thus several workers serve one
//! address. Packets of QUIC to emulated servers go to the worker in their connection identifier: their client may have moved.

use port::bytes::{ByteReceiver, ByteSender, byte_ring};
use std::sync::Arc;
use tcp::{Inside, Numbered};

/// Bytes between each two workers.
const RING: usize = 1 << 20;
/// Frames taken from each of the others in one turn.
const AT_ONCE: usize = 64;
/// Set in the length before a frame: its checksum was left to a card, as reported by its port.
const UNFINISHED: u32 = 1 << 31;

/// One worker's ends of the rings of one port.
pub(crate) struct Steer {
    me: usize,
    owners: usize,
    /// Where packets lead to their worker by themselves.
    numbered: Arc<[Numbered]>,
    /// To each owner; none to itself.
    to: Vec<Option<ByteSender>>,
    /// From each of the others.
    from: Vec<ByteReceiver>,
    frame: Vec<u8>,
}

impl Steer {
    /// For each of `workers`, the first `owners` of which own flows.
    pub(crate) fn between(workers: usize, owners: usize, numbered: &Arc<[Numbered]>) -> Vec<Self> {
        let mut all: Vec<Self> = (0..workers)
            .map(|me| {
                let numbered = numbered.clone();
                Self { me, owners, numbered, to: Vec::new(), from: Vec::new(), frame: Vec::new() }
            })
            .collect();
        for owner in 0..owners {
            for worker in 0..workers {
                if worker == owner {
                    all[worker].to.push(None);
                    continue;
                }
                let (to, from) = byte_ring(RING);
                all[worker].to.push(Some(to));
                all[owner].from.push(from);
            }
        }
        all
    }

    /// Passes `frame` on if it belongs to a flow of another worker; returns whether it does. The others see it after
    /// [`Steer::publish`]. If there is no room the frame is lost, and `lost` counts it.
    #[inline]
    pub(crate) fn pass(&mut self, frame: &[u8], is_unfinished: bool, lost: &mut u64) -> bool {
        let numbered = tcp::numbered_owner(frame, &self.numbered, self.owners);
        let owner =
            numbered.or_else(|| tcp::flow_owner(frame, self.owners)).filter(|owner| *owner != self.me);
        if let Some(owner) = owner {
            self.send(owner, frame, is_unfinished, lost);
        }
        owner.is_some()
    }

    /// The other worker that owns the flow of a frame that was in a tunnel.
    pub(crate) fn other_owner_inside(&self, inside: &Inside<'_>) -> Option<usize> {
        let numbered = tcp::numbered_owner_inside(inside, &self.numbered, self.owners);
        numbered.or_else(|| tcp::flow_owner_inside(inside, self.owners)).filter(|owner| *owner != self.me)
    }

    /// Passes `frame` on to another worker.
    #[inline]
    pub(crate) fn send(&mut self, owner: usize, frame: &[u8], is_unfinished: bool, lost: &mut u64) {
        let Some(to) = &mut self.to[owner] else { return };
        let head = frame.len() as u32 | if is_unfinished { UNFINISHED } else { 0 };
        *lost += u64::from(!to.write(&head.to_le_bytes(), frame));
    }

    /// Shows the others what was passed on.
    #[inline]
    pub(crate) fn publish(&mut self) {
        self.to.iter_mut().flatten().for_each(|to| to.publish(to.mark()));
    }

    /// Takes what others passed on, each frame with whether its checksum is unfinished. Returns whether there was anything.
    pub(crate) fn take(&mut self, mut each: impl FnMut(&[u8], bool)) -> bool {
        let mut any = false;
        for from in &mut self.from {
            for _ in 0..AT_ONCE {
                let mut head = [0; 4];
                if !from.peek(0, &mut head) {
                    break;
                }
                let head = u32::from_le_bytes(head);
                let len = (head & !UNFINISHED) as usize;
                self.frame.resize(len, 0);
                // A frame is published whole.
                if !from.peek(4, &mut self.frame) {
                    break;
                }
                from.skip(4 + len);
                any = true;
                each(&self.frame, head & UNFINISHED != 0);
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Header, PacketSpec, protocol};

    fn frame(port: u128) -> Vec<u8> {
        let mut headers: Vec<Header> =
            ["ethernet", "ipv4", "tcp"].iter().filter_map(|name| protocol(name).map(Header::new)).collect();
        let src = headers[2].protocol.field("src").expect("TCP has ports");
        headers[2].put(src, port);
        PacketSpec { headers, ..PacketSpec::default() }.build_unpadded().expect("a segment").bytes
    }

    #[test]
    fn every_frame_gets_to_its_owner_once() {
        let mut all = Steer::between(3, 2, &Arc::from([]));
        let (mut lost, mut got) = (0, [0; 3]);
        for port in 1..200u128 {
            let frame = frame(port);
            let owner = tcp::flow_owner(&frame, 2).expect("a flow");
            for (worker, steer) in all.iter_mut().enumerate() {
                assert_eq!(steer.pass(&frame, port % 2 == 0, &mut lost), worker != owner);
                got[owner] += u32::from(worker != owner);
            }
        }
        all.iter_mut().for_each(Steer::publish);
        for (worker, steer) in all.iter_mut().enumerate() {
            let mut taken = 0;
            while steer.take(|frame, is_unfinished| {
                assert_eq!(tcp::flow_owner(frame, 2), Some(worker));
                assert_eq!(is_unfinished, frame[35] % 2 == 0, "as the port said");
                taken += 1;
            }) {}
            assert_eq!(taken, got[worker]);
        }
        assert_eq!((lost, got[2], got[0] > 0, got[1] > 0), (0, 0, true, true));
    }

    #[test]
    fn a_full_ring_is_counted() {
        let mut all = Steer::between(2, 1, &Arc::from([]));
        let (frame, mut lost) = (frame(7), 0);
        (0..RING / frame.len() + 10).for_each(|_| assert!(all[1].pass(&frame, false, &mut lost)));
        assert!(lost >= 10);
    }
}
