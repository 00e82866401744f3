//! The slots of a receive ring that the kernel shares (TPACKET_V2, linux/if_packet.h), and the heads of the frames in them.
//!
//! Invariants:
//! - The kernel writes to a slot whose status is 0, and to no other; it fills them in turn.
//! - A slot is read once: until its frame is given back it is marked as taken, so a frame that is kept for long is not
//!   delivered again when the ring has gone round.
//!
//! No system call here: tests play the kernel in ordinary memory.

use port::{FrameHead, RX_FLAG_CHECKSUM_UNFINISHED, Stamps};
use std::cell::Cell;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of a `virtio_net_hdr`.
pub(crate) const VIRTIO: usize = 10;
/// Bytes of a VLAN tag.
const TAG: usize = 4;
/// Two hardware addresses.
const MACS: usize = 12;

// `TP_STATUS_…`
const USER: u32 = 1;
const COPY: u32 = 1 << 1;
const VLAN_VALID: u32 = 1 << 4;
const VLAN_TPID_VALID: u32 = 1 << 6;
const CARD_TIME: u32 = 1 << 31;

/// `PACKET_OUTGOING`
const OUTGOING: u8 = 4;
/// `ETH_P_8021Q`
const VLAN_TYPE: u16 = 0x8100;

/// `struct tpacket2_hdr` and the `struct sockaddr_ll` after it.
#[repr(C)]
struct SlotHead {
    status: AtomicU32,
    len: u32,
    len_here: u32,
    mac: u16,
    net: u16,
    time: [u32; 2],
    vlan_tci: u16,
    vlan_type: u16,
    padding: [u8; 4],
    family: u16,
    protocol: u16,
    interface: u32,
    hardware: u16,
    kind: u8,
    address_bytes: u8,
    address: [u8; 8],
}

const _: () = {
    assert!(size_of::<SlotHead>() == 52 && offset_of!(SlotHead, family) == 32);
    assert!(offset_of!(SlotHead, kind) == 42);
};

/// A VLAN tag that the kernel took off a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    kind: u16,
    control: u16,
}

impl Tag {
    /// Puts the tag back into the frame of `len` bytes at `at`, which begins 4 bytes earlier then.
    ///
    /// # Safety
    /// These bytes and 4 bytes before are the caller's alone.
    pub(crate) unsafe fn put_back(self, at: *mut u8) {
        let ([a, b], [c, d]) = (self.kind.to_be_bytes(), self.control.to_be_bytes());
        // SAFETY: as the caller says; a frame has two addresses at least.
        unsafe {
            std::ptr::copy(at, at.sub(TAG), MACS);
            at.add(MACS - TAG).cast::<[u8; TAG]>().write_unaligned([a, b, c, d]);
        }
    }
}

/// Content of the next slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The kernel has written nothing there.
    Empty,
    /// A whole frame of `len` bytes.
    Frame { slot: usize, len: u32, udp_part: u16 },
    /// The beginning of a frame. `queued`: the whole of it is the next one in the socket's queue.
    Part { slot: usize, queued: bool, tag: Option<Tag>, outgoing: bool },
    /// Something this machine sends.
    Outgoing { slot: usize },
}

/// `VIRTIO_NET_HDR_GSO_UDP_L4`: several datagrams of one size, joined.
const UDP_JOINED: u8 = 5;

/// Bytes of payload of each datagram that a frame with this `virtio_net_hdr` was joined from; 0 if it was not.
pub(crate) fn udp_part(header: &[u8; VIRTIO]) -> u16 {
    if header[1] == UDP_JOINED { u16::from_ne_bytes([header[4], header[5]]) } else { 0 }
}

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the kernel left the checksum to a network card.
pub(crate) const NEEDS_CHECKSUM: u8 = 1;

/// Flags in a frame's head for this `virtio_net_hdr`.
///
/// A checksum reported as good (`VIRTIO_NET_HDR_F_DATA_VALID`) is still verified, at no extra cost.
pub(crate) fn flags(header: &[u8; VIRTIO]) -> u64 {
    if header[0] & NEEDS_CHECKSUM != 0 { RX_FLAG_CHECKSUM_UNFINISHED } else { 0 }
}

/// The slots of a ring.
pub(crate) struct Ring {
    base: NonNull<u8>,
    slot_bytes: usize,
    /// A power of two.
    slots: usize,
    /// Where the kernel writes next.
    next: usize,
    /// One for each slot.
    heads: NonNull<FrameHead>,
    /// Frames in bursts.
    taken: usize,
    /// Source of arrival times, if frames have them.
    stamps: Option<Stamps>,
    /// That of the slot that was read last, ns.
    arrived_ns: Cell<u64>,
}

/// Tags of heads, which have no other meaning in a receive ring.
const FREE: u32 = 0;
const TAKEN: u32 = 1;

impl Ring {
    /// The ring in `slots` times `slot_bytes` bytes at `base`.
    ///
    /// # Safety
    /// The bytes are shared only with the kernel by `PACKET_RX_RING` with `PACKET_VNET_HDR`, or not at all, and stay
    /// until the ring is dropped with no frame [taken](Ring::taken). Both numbers are powers of two, a slot has 256
    /// bytes at least.
    pub(crate) unsafe fn new(base: NonNull<u8>, slot_bytes: usize, slots: usize) -> Self {
        assert!(slots.is_power_of_two() && slot_bytes.is_power_of_two() && slot_bytes >= 256);
        let room = slot_bytes.min(usize::from(u16::MAX)) as u16;
        let head = |slot| FrameHead::new(base.as_ptr().wrapping_add(slot * slot_bytes), room, 0);
        let heads: Box<[FrameHead]> = (0..slots).map(head).collect();
        let heads = NonNull::from(Box::leak(heads)).cast();
        Self { base, slot_bytes, slots, next: 0, heads, taken: 0, stamps: None, arrived_ns: Cell::new(0) }
    }

    /// Bytes that are shared.
    pub(crate) fn bytes(&self) -> (NonNull<u8>, usize) {
        (self.base, self.slot_bytes * self.slots)
    }

    /// Reads arrival times, too.
    pub(crate) fn stamp(&mut self, by: Stamps) {
        self.stamps = Some(by);
    }

    /// Arrival time of the slot that was read last, ns: of CLOCK_REALTIME, or of the card's clock. Zero if it has none, and `None` if
    /// none are read.
    #[inline]
    pub(crate) fn arrived_ns(&self) -> Option<u64> {
        self.stamps.map(|_| self.arrived_ns.get())
    }

    /// Frames in bursts.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// Something of the ring's own, by which its frames are known.
    pub(crate) fn identity(&self) -> *const FrameHead {
        self.heads.as_ptr()
    }

    fn slot(&self, slot: usize) -> *mut u8 {
        debug_assert!(slot < self.slots);
        // SAFETY: inside the ring.
        unsafe { self.base.as_ptr().add(slot * self.slot_bytes) }
    }

    fn head(&self, slot: usize) -> *mut FrameHead {
        debug_assert!(slot < self.slots);
        // SAFETY: there is a head for each slot.
        unsafe { self.heads.as_ptr().add(slot) }
    }

    fn status(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: a slot begins with its status, aligned as slots are; all accesses are atomic.
        unsafe { &(*self.slot(slot).cast::<SlotHead>()).status }
    }

    /// Reads the next slot. A slot other than [`Next::Empty`] is then [taken](Ring::take) or [passed over](Ring::pass).
    #[inline]
    pub(crate) fn look(&self) -> Next {
        let slot = self.next;
        let status = self.status(slot).load(Ordering::Acquire);
        // SAFETY: the head of a slot; heads in bursts are written through the burst alone, but never their tags.
        if status & USER == 0 || unsafe { (*self.head(slot)).tag } == TAKEN {
            return Next::Empty;
        }
        let at = self.slot(slot);
        // SAFETY: the kernel has handed the slot over: it was written before its status, and nobody writes to it now.
        let (head, header) = unsafe {
            let head = &*at.cast::<SlotHead>();
            let before = usize::from(head.mac).saturating_sub(VIRTIO).min(self.slot_bytes - VIRTIO);
            (head, at.add(before).cast::<[u8; VIRTIO]>().read())
        };
        if let Some(stamps) = self.stamps {
            let is_by_card = status & CARD_TIME != 0;
            let ns = u64::from(head.time[0]) * 1_000_000_000 + u64::from(head.time[1]);
            self.arrived_ns.set(if is_by_card == (stamps == Stamps::Hardware) { ns } else { 0 });
        }
        let outgoing = head.kind == OUTGOING;
        let inside = usize::from(head.mac) + head.len_here as usize <= self.slot_bytes;
        if head.len > head.len_here || !inside {
            let tag = (status & VLAN_VALID != 0).then(|| tag(head, status));
            return Next::Part { slot, queued: status & COPY != 0, tag, outgoing };
        }
        if outgoing {
            return Next::Outgoing { slot };
        }
        let (mut len, mut start) = (head.len_here, head.mac);
        if status & VLAN_VALID != 0
            && len as usize >= MACS
            && usize::from(start) >= size_of::<SlotHead>() + TAG
        {
            // SAFETY: as above; the kernel's head ends 4 bytes before the frame at least, and the header was read.
            unsafe { tag(head, status).put_back(at.add(usize::from(start))) };
            (len, start) = (len + TAG as u32, start - TAG as u16);
        }
        let frame = self.head(slot);
        // SAFETY: the head of a slot that is in no burst.
        unsafe {
            (*frame).data_off = start;
            (*frame).len = len;
            (*frame).segment_len = len as u16;
            (*frame).flags = flags(&header);
        }
        Next::Frame { slot, len, udp_part: udp_part(&header) }
    }

    /// Takes the frame that [`look`](Ring::look) has found; it is given back by [`give_back`](Ring::give_back).
    #[inline]
    pub(crate) fn take(&mut self, slot: usize) -> *mut FrameHead {
        debug_assert_eq!(slot, self.next);
        self.next = (self.next + 1) & (self.slots - 1);
        self.taken += 1;
        let head = self.head(slot);
        // SAFETY: the head of a slot that was in no burst.
        unsafe { (*head).tag = TAKEN };
        head
    }

    /// The bytes of the frame that [`look`](Ring::look) has found.
    pub(crate) fn frame(&self, slot: usize) -> &[u8] {
        // SAFETY: the head of a slot that is in no burst, with `len` bytes at `data_off` of it, all inside the slot.
        unsafe {
            let head = &*self.head(slot);
            std::slice::from_raw_parts(head.buf.add(usize::from(head.data_off)), head.len as usize)
        }
    }

    /// Gives the slot that [`look`](Ring::look) has found to the kernel.
    #[inline]
    pub(crate) fn pass(&mut self, slot: usize) {
        debug_assert_eq!(slot, self.next);
        self.next = (self.next + 1) & (self.slots - 1);
        self.status(slot).store(0, Ordering::Release);
    }

    /// Gives a taken frame's slot to the kernel; `false` if it is none of these.
    #[inline]
    pub(crate) fn give_back(&mut self, head: *mut FrameHead) -> bool {
        let offset = head.addr().wrapping_sub(self.heads.as_ptr().addr());
        let slot = offset / size_of::<FrameHead>();
        if slot >= self.slots {
            return false;
        }
        // SAFETY: one of the heads, which the burst had and has no more.
        unsafe { (*self.head(slot)).tag = FREE };
        self.taken -= 1;
        self.status(slot).store(0, Ordering::Release);
        true
    }
}

fn tag(head: &SlotHead, status: u32) -> Tag {
    // Before Linux 3.14 only the usual type was taken off.
    let kind = if status & VLAN_TPID_VALID != 0 { head.vlan_type } else { VLAN_TYPE };
    Tag { kind, control: head.vlan_tci }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // A frame in a burst keeps all of them.
        if self.taken == 0 {
            let heads = std::ptr::slice_from_raw_parts_mut(self.heads.as_ptr(), self.slots);
            // SAFETY: from `Box::leak` in `new`, and nobody has one.
            drop(unsafe { Box::from_raw(heads) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    const SLOT: usize = 256;
    const SLOTS: usize = 4;
    const MAC: u16 = 76;

    /// A ring, and the kernel's side of it.
    struct Bench {
        ring: Ring,
        fills: usize,
        /// Prefix of the next frames.
        virtio: [u8; VIRTIO],
    }

    fn layout() -> Layout {
        Layout::from_size_align(SLOT * SLOTS, 4096).unwrap()
    }

    impl Bench {
        fn new() -> Self {
            // SAFETY: the memory is this test's, and freed when the ring is gone.
            let ring = unsafe { Ring::new(NonNull::new(alloc_zeroed(layout())).unwrap(), SLOT, SLOTS) };
            Self { ring, fills: 0, virtio: [0; VIRTIO] }
        }

        /// Writes a frame as the kernel does; `false` if the ring is full.
        fn write(&mut self, frame: &[u8], len: u32, status: u32, change: impl Fn(&mut SlotHead)) -> bool {
            let slot = self.fills % SLOTS;
            if self.ring.status(slot).load(Ordering::Acquire) != 0 {
                return false;
            }
            let at = self.ring.slot(slot);
            // SAFETY: the slot is the kernel's, which is played here.
            unsafe {
                let head = &mut *at.cast::<SlotHead>();
                (head.len, head.len_here, head.mac, head.kind) = (len, frame.len() as u32, MAC, 0);
                change(head);
                at.add(usize::from(MAC) - VIRTIO).cast::<[u8; VIRTIO]>().write(self.virtio);
                std::ptr::copy_nonoverlapping(frame.as_ptr(), at.add(usize::from(MAC)), frame.len());
            }
            self.ring.status(slot).store(status, Ordering::Release);
            self.fills += 1;
            true
        }

        fn put(&mut self, frame: &[u8]) -> bool {
            self.write(frame, frame.len() as u32, USER, |_| {})
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            assert_eq!(self.ring.taken(), 0);
            // SAFETY: allocated in `new`; the ring does not read it any more.
            unsafe { dealloc(self.ring.bytes().0.as_ptr(), layout()) };
        }
    }

    #[test]
    fn frames_come_in_turn_and_a_full_ring_takes_no_more() {
        let mut bench = Bench::new();
        let mut number = 0u8;
        for _ in 0..5 {
            let mut heads = Vec::new();
            for _ in 0..SLOTS {
                assert!(bench.put(&[number; 60]));
                number += 1;
            }
            assert!(!bench.put(&[0; 60]));
            while let Next::Frame { slot, len, udp_part: 0 } = bench.ring.look() {
                assert_eq!((len, bench.ring.frame(slot)), (60, &[number - 4 + heads.len() as u8; 60][..]));
                heads.push(bench.ring.take(slot));
            }
            assert_eq!((heads.len(), bench.ring.taken(), bench.put(&[0; 60])), (SLOTS, SLOTS, false));
            assert!(heads.into_iter().all(|head| bench.ring.give_back(head)));
        }
        assert!(!bench.ring.give_back(std::ptr::null_mut()));
    }

    #[test]
    fn a_frame_that_is_kept_is_not_delivered_again() {
        let mut bench = Bench::new();
        (0..SLOTS).for_each(|_| assert!(bench.put(&[7; 60])));
        let mut heads = Vec::new();
        while let Next::Frame { slot, .. } = bench.ring.look() {
            heads.push(bench.ring.take(slot));
        }
        // The first one stays out; the others are free, but the kernel fills slots in turn.
        let kept = heads.remove(0);
        heads.into_iter().for_each(|head| assert!(bench.ring.give_back(head)));
        assert_eq!((bench.ring.look(), bench.put(&[8; 60])), (Next::Empty, false));
        assert!(bench.ring.give_back(kept) && bench.put(&[9; 60]));
        let Next::Frame { slot: 0, .. } = bench.ring.look() else { panic!("the frame is there") };
        bench.ring.pass(0);
    }

    #[test]
    fn tags_are_put_back() {
        let mut bench = Bench::new();
        let frame: Vec<u8> = (0..60).collect();
        let status = USER | VLAN_VALID | VLAN_TPID_VALID;
        bench.write(&frame, 60, status, |head| (head.vlan_tci, head.vlan_type) = (0x6064, 0x88a8));
        let Next::Frame { slot, len: 64, .. } = bench.ring.look() else { panic!("a tagged frame") };
        let tagged = [&frame[..12], &[0x88, 0xa8, 0x60, 0x64], &frame[12..]].concat();
        assert_eq!(bench.ring.frame(slot), tagged);
        bench.ring.pass(slot);
    }

    #[test]
    fn parts_and_own_frames_are_told_apart() {
        let mut bench = Bench::new();
        bench.write(&[1; 100], 3000, USER | COPY, |_| {});
        bench.write(&[1; 100], 3000, USER, |head| head.kind = OUTGOING);
        bench.write(&[1; 100], 100, USER, |head| head.kind = OUTGOING);
        // A length that cannot be.
        bench.write(&[1; 100], 100, USER, |head| (head.len, head.len_here) = (400, 400));
        let part = |slot, queued, outgoing| Next::Part { slot, queued, tag: None, outgoing };
        for expected in
            [part(0, true, false), part(1, false, true), Next::Outgoing { slot: 2 }, part(3, false, false)]
        {
            let next = bench.ring.look();
            assert_eq!(next, expected);
            bench.ring.pass((bench.ring.next) & (SLOTS - 1));
        }
        assert_eq!(bench.ring.look(), Next::Empty);
    }

    #[test]
    fn joined_datagrams_say_their_size() {
        let [a, b] = 1200u16.to_ne_bytes();
        assert_eq!(udp_part(&[1, 5, 0, 0, a, b, 0, 0, 0, 0]), 1200);
        // TCP, and nothing special.
        assert_eq!((udp_part(&[1, 1, 0, 0, a, b, 0, 0, 0, 0]), udp_part(&[0; VIRTIO])), (0, 0));
    }

    #[test]
    fn heads_say_what_the_kernel_left_to_a_card() {
        let mut bench = Bench::new();
        let mut found = Vec::new();
        // Left to a card, twice the same slot's turn later nothing of that kind, and known to be good.
        for said in [1, 0, 2, 1, 2, 0] {
            bench.virtio = [said, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            assert!(bench.put(&[0; 60]));
            let Next::Frame { slot, .. } = bench.ring.look() else { panic!("the frame is there") };
            let head = bench.ring.take(slot);
            // SAFETY: the head of a frame that was taken and is given back once.
            found.push(unsafe { (*head).flags } == RX_FLAG_CHECKSUM_UNFINISHED);
            assert!(bench.ring.give_back(head));
        }
        assert_eq!(found, [true, false, false, true, false, false]);
    }
}
