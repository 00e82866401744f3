//! The in-process pair: two ports joined by rings in memory. No root, no huge pages, no driver.
//!
//! Device strings: `ring:a` and `ring:b` are the two ends of a pair; `ring:lab1.a` and `ring:lab1.b` of another. An end
//! that is opened without its partner receives its own frames.
//!
//! Queue *i* of one end is joined to queue *i* of the other.

use crate::burst::{BURST, Burst};
use crate::frame::FrameHead;
use crate::memory::{self, Frames, FreeFrames};
use crate::{DriverDrops, Port, PortError, PortErrorKind, PortFacts, PortRequest, Queues, RxQueue, TxQueue};
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;

/// Frames under way in one direction of one queue at most.
const RING_FRAMES: usize = 1024;

/// The part of a device string after `ring:`: the pair's name and which end of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RingName {
    pair: String,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum End {
    A,
    B,
}

impl RingName {
    /// Reads a device string such as `ring:a` or `ring:lab1.b`; `None` if it does not start with `ring:`.
    pub fn parse(device: &str) -> Option<Result<Self, PortError>> {
        let name = device.strip_prefix("ring:")?;
        let (pair, end) = name.rsplit_once('.').unwrap_or(("", name));
        let end = match end {
            "a" => End::A,
            "b" => End::B,
            _ => {
                return Some(Err(PortError::new(
                    device,
                    PortErrorKind::Name,
                    "an in-process port is called ring:a or ring:b, or ring:NAME.a and ring:NAME.b for further pairs",
                    "",
                )));
            }
        };
        Some(Ok(Self { pair: pair.to_owned(), end }))
    }

    /// Whether `other` is the other end of the same pair.
    pub fn is_partner_of(&self, other: &Self) -> bool {
        self.pair == other.pair && self.end != other.end
    }
}

/// The name as a device string.
impl std::fmt::Display for RingName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = match self.end {
            End::A => "a",
            End::B => "b",
        };
        match self.pair.as_str() {
            "" => write!(f, "ring:{end}"),
            pair => write!(f, "ring:{pair}.{end}"),
        }
    }
}

/// Both ends of a pair, opened together.
pub fn pair(devices: [&str; 2], request: PortRequest) -> Result<[RingPort; 2], PortError> {
    let (tx_a, rx_b) = direction(devices[0], request)?;
    let (tx_b, rx_a) = direction(devices[1], request)?;
    Ok([RingPort::new(devices[0], request, tx_a, rx_a), RingPort::new(devices[1], request, tx_b, rx_b)])
}

/// An end that receives its own frames.
pub fn looped(device: &str, request: PortRequest) -> Result<RingPort, PortError> {
    let (tx, rx) = direction(device, request)?;
    Ok(RingPort::new(device, request, tx, rx))
}

fn direction(device: &str, request: PortRequest) -> Result<(Vec<RingTx>, Vec<RingRx>), PortError> {
    let count = request.queues.max(1);
    let queues: Option<Vec<_>> = (0..count).map(|_| queue(request.buffer_bytes() as usize)).collect();
    queues.map(|queues| queues.into_iter().unzip()).ok_or_else(|| memory::too_little(device, count))
}

fn queue(frame_bytes: usize) -> Option<(RingTx, RingRx)> {
    let (there, arrived) = RingBuffer::new(RING_FRAMES);
    // Every frame may be on its way back at once, so the way back never fills up.
    let (back, returned) = RingBuffer::new(RING_FRAMES * 2);
    let free = FreeFrames::new(RING_FRAMES + 2 * BURST, frame_bytes)?;
    let memory = free.memory().clone();
    Some((RingTx { there, returned, free }, RingRx { arrived, back, memory }))
}

/// One end of an in-process pair.
pub struct RingPort {
    facts: PortFacts,
    queues: Queues,
}

impl RingPort {
    fn new(device: &str, request: PortRequest, tx: Vec<RingTx>, rx: Vec<RingRx>) -> Self {
        let facts = PortFacts {
            device: device.to_owned(),
            driver: "ring".to_owned(),
            mac: mac_of(device),
            frame_len_max: request.frame_len_max,
            vlan_bytes: 0,
            speed_bps: None,
            netdev: None,
            numa_node: None,
            tx_checksum_offload: false,
            tells_unfinished_checksums: true,
            is_in_process: true,
            rx_spread: if rx.len() > 1 { "pair" } else { "none" },
            xdp_mode: None,
        };
        let tx = tx.into_iter().map(|q| Box::new(q) as Box<dyn TxQueue>).collect();
        let rx = rx.into_iter().map(|q| Box::new(q) as Box<dyn RxQueue>).collect();
        Self { facts, queues: Queues { tx, rx } }
    }
}

/// A locally administered address that depends on the device string alone.
pub fn mac_of(device: &str) -> [u8; 6] {
    let hash = device
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let [a, b, c, d, ..] = hash.to_le_bytes();
    [0x02, 0xea, a, b, c, d]
}

impl Port for RingPort {
    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn take_queues(&mut self) -> Queues {
        std::mem::replace(&mut self.queues, Queues { tx: Vec::new(), rx: Vec::new() })
    }

    fn driver_drops(&mut self) -> DriverDrops {
        DriverDrops::default()
    }
}

// Fields are dropped in this order: the memory goes when nobody can put a frame of it into a ring any more.
struct RingTx {
    there: Producer<*mut FrameHead>,
    returned: Consumer<*mut FrameHead>,
    free: FreeFrames,
}

struct RingRx {
    arrived: Consumer<*mut FrameHead>,
    back: Producer<*mut FrameHead>,
    memory: Arc<Frames>,
}

/// Puts as many of `heads` into `ring` as fit; returns how many. A single one goes without a call of `memcpy`, which would
/// take longer than the rest: it is what a paced stream sends.
#[inline(always)]
fn push(ring: &mut Producer<*mut FrameHead>, heads: &[*mut FrameHead]) -> usize {
    match heads {
        [only] => usize::from(ring.push(*only).is_ok()),
        many => ring.push_partial_slice(many).0.len(),
    }
}

/// Takes heads out of `ring` until it is empty or `room` is full; returns how many. As for [`push`], a single one goes
/// the short way.
#[inline(always)]
fn pop(ring: &mut Consumer<*mut FrameHead>, room: &mut [*mut FrameHead]) -> usize {
    let Some((first, others)) = room.split_first_mut() else { return 0 };
    let Ok(head) = ring.pop() else { return 0 };
    *first = head;
    if others.is_empty() || ring.is_empty() { 1 } else { 1 + ring.pop_partial_slice(others).0.len() }
}

/// Frames in a ring when its end is dropped stay in the pool.
fn leave(ring: &mut Consumer<*mut FrameHead>, memory: &Frames) {
    memory.keep(std::mem::replace(ring, RingBuffer::new(1).1));
}

impl Drop for RingTx {
    fn drop(&mut self) {
        leave(&mut self.returned, self.free.memory());
    }
}

impl Drop for RingRx {
    fn drop(&mut self) {
        leave(&mut self.arrived, &self.memory);
    }
}

// SAFETY: both ends of the rings are used by the owner of the queue alone; heads are handed on through them.
unsafe impl Send for RingTx {}
// SAFETY: as for `RingTx`.
unsafe impl Send for RingRx {}

impl TxQueue for RingTx {
    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize {
        // What came back last is used first: a few frames stay in the cache instead of a thousand passing through it.
        let spare = burst.spare();
        let wanted = n.min(spare.len());
        let warm = pop(&mut self.returned, &mut spare[..wanted]);
        // SAFETY: the receiving end gave these frames back and forgot them.
        unsafe { burst.grow(warm, self.free.pool()) };
        warm + self.free.take(burst, wanted - warm)
    }

    fn send(&mut self, burst: &mut Burst) -> usize {
        assert!(burst.is_of(self.free.pool()), "frames of another queue are sent");
        // SAFETY: the slice is only read, and what is taken is forgotten.
        let n = push(&mut self.there, unsafe { burst.heads() });
        burst.forget_front(n);
        n
    }

    fn free(&mut self, burst: &mut Burst) {
        let n = burst.len();
        self.free.give_front(burst, n);
        let mut late = [std::ptr::null_mut::<FrameHead>(); BURST];
        let n = pop(&mut self.returned, &mut late);
        // SAFETY: the receiving end gave these frames back and forgot them.
        unsafe { self.free.give_heads(&late[..n]) };
    }
}

impl RxQueue for RingRx {
    fn recv(&mut self, burst: &mut Burst) -> usize {
        let n = pop(&mut self.arrived, burst.spare());
        // SAFETY: the sending end handed these frames over and forgot them.
        unsafe { burst.grow(n, self.memory.pool()) };
        n
    }

    fn free(&mut self, burst: &mut Burst) {
        assert!(burst.is_of(self.memory.pool()), "frames of another queue are given back");
        // SAFETY: the slice is only read, and what is taken is forgotten.
        let n = push(&mut self.back, unsafe { burst.heads() });
        debug_assert_eq!(n, burst.len(), "the way back holds every frame there is");
        burst.forget_front(n);
    }

    /// A worker has both ends of a queue.
    fn is_warm(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TxOffload;

    const REQUEST: PortRequest = PortRequest { queues: 1, frame_len_max: 1518, confined: false };

    fn ends(port: &mut RingPort) -> (Box<dyn TxQueue>, Box<dyn RxQueue>) {
        let mut queues = port.take_queues();
        (queues.tx.remove(0), queues.rx.remove(0))
    }

    #[test]
    fn names_have_two_ends() {
        let name = |text: &str| RingName::parse(text).unwrap();
        assert!(name("ring:a").unwrap().is_partner_of(&name("ring:b").unwrap()));
        assert!(name("ring:x.a").unwrap().is_partner_of(&name("ring:x.b").unwrap()));
        assert!(!name("ring:x.a").unwrap().is_partner_of(&name("ring:b").unwrap()));
        assert!(name("ring:c").is_err());
        assert!(RingName::parse("veth0").is_none());
    }

    #[test]
    fn what_one_end_sends_the_other_receives_in_order() {
        let [mut a, mut b] = pair(["ring:a", "ring:b"], REQUEST).unwrap();
        let (mut tx, _) = ends(&mut a);
        let (_, mut rx) = ends(&mut b);
        let mut burst = Burst::new();
        for round in 0..if cfg!(miri) { 40 } else { 5_000u32 } {
            assert_eq!(tx.alloc(&mut burst, 64), 64);
            for i in 0..64 {
                burst.frame_mut(i as usize).copy_from(&(round * 64 + i).to_be_bytes());
            }
            assert_eq!(tx.send(&mut burst), 64);
            assert_eq!(rx.recv(&mut burst), 64);
            for i in 0..64 {
                assert_eq!(burst.data(i as usize), (round * 64 + i).to_be_bytes());
            }
            rx.free(&mut burst);
        }
    }

    #[test]
    fn a_full_ring_refuses_and_loses_nothing() {
        let mut port = looped("ring:a", REQUEST).unwrap();
        let (mut tx, mut rx) = ends(&mut port);
        let (mut burst, mut sent) = (Burst::new(), 0);
        loop {
            tx.alloc(&mut burst, 64);
            let n = tx.send(&mut burst);
            sent += n;
            if n < 64 {
                break;
            }
        }
        assert_eq!((sent, burst.len()), (RING_FRAMES, 64));
        tx.free(&mut burst);
        let mut received = 0;
        loop {
            let n = rx.recv(&mut burst);
            received += n;
            rx.free(&mut burst);
            if n == 0 {
                break;
            }
        }
        assert_eq!(received, sent);
    }

    #[test]
    fn memory_goes_when_both_ends_and_all_frames_are_gone() {
        for tx_first in [true, false] {
            let (mut tx, mut rx) = queue(64).unwrap();
            let memory = Arc::downgrade(tx.free.memory());
            let mut burst = Burst::new();
            // Some are under way, some on their way back, some looked at.
            for _ in 0..3 {
                assert_eq!((tx.alloc(&mut burst, 64), tx.send(&mut burst)), (64, 64));
            }
            rx.recv(&mut burst);
            rx.free(&mut burst);
            rx.recv(&mut burst);
            let (mut tx, mut rx) = (Some(tx), Some(rx));
            if tx_first {
                tx = None;
            }
            if let Some(rx) = &mut rx {
                rx.free(&mut burst);
            }
            rx = None;
            assert_eq!(memory.upgrade().is_some(), tx.is_some());
            drop((tx, rx));
            assert!(memory.upgrade().is_none());
        }
    }

    #[test]
    #[should_panic(expected = "frames of another queue")]
    fn frames_of_another_queue_are_not_sent() {
        let ((mut one, _one_rx), (mut other, _other_rx)) = (queue(64).unwrap(), queue(64).unwrap());
        let mut burst = Burst::new();
        one.alloc(&mut burst, 1);
        other.send(&mut burst);
    }

    #[test]
    fn a_buffer_remembers_its_template() {
        let mut port = looped("ring:a", REQUEST).unwrap();
        let (mut tx, mut rx) = ends(&mut port);
        let (mut burst, mut copied) = (Burst::new(), 0);
        for _ in 0..100 {
            tx.alloc(&mut burst, 64);
            for i in 0..64 {
                let mut frame = burst.frame_mut(i);
                copied += u32::from(frame.fill(7, &[[0x55; 64]], 60, TxOffload::default()));
                assert_eq!(frame.data_mut(), [0x55; 60]);
            }
            tx.send(&mut burst);
            rx.recv(&mut burst);
            rx.free(&mut burst);
        }
        assert!(copied <= 128, "{copied} copies for 6400 frames");
    }

    #[test]
    fn two_threads_exchange_frames() {
        let [mut a, mut b] = pair(["ring:a", "ring:b"], REQUEST).unwrap();
        let (mut tx, _) = ends(&mut a);
        let (_, mut rx) = ends(&mut b);
        let total = if cfg!(miri) { 300 } else { 200_000u64 };
        let sender = std::thread::spawn(move || {
            let (mut burst, mut next) = (Burst::new(), 0u64);
            while next < total {
                let n = tx.alloc(&mut burst, 32.min((total - next) as usize));
                for i in 0..n {
                    burst.frame_mut(i).copy_from(&(next + i as u64).to_be_bytes());
                }
                next += tx.send(&mut burst) as u64;
                tx.free(&mut burst);
                std::thread::yield_now();
            }
            tx
        });
        let (mut burst, mut expected) = (Burst::new(), 0u64);
        while expected < total {
            rx.recv(&mut burst);
            for i in 0..burst.len() {
                assert_eq!(burst.data(i), expected.to_be_bytes());
                expected += 1;
            }
            rx.free(&mut burst);
        }
        drop(sender.join().unwrap());
    }
}
