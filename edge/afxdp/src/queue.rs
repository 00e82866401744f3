//! An open port and its queues.
//!
//! Invariant: the interface's lock, the program and the sockets last until the port and all its queues are gone.

use crate::ring::{Consumer, Producer};
use crate::socket::{CONTINUED, Descriptor, Mapping, Membership, Socket, Statistics};
use crate::umem::Umem;
use os::interface_lock::InterfaceLock;
use os::open_interface::OpenInterface;
use port::loose::{self, Loose};
use port::{BURST, Burst, DriverDrops, FrameHead, PoolId, Port, PortFacts, Queues, RxQueue, TxQueue};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xdp::{Intake, LiveCounts, Redirect, SocketMap};

/// Shortest frame without FCS: an Ethernet header.
const FRAME_MIN: u32 = 14;

/// The program that hands frames to the sockets, on the interface as long as this lives.
#[derive(Debug)]
pub(crate) enum Program {
    Redirects(#[allow(dead_code, reason = "it is on the interface as long as it lives")] Redirect),
    Records(Intake),
}

/// One socket, and the memory of its frames and rings.
#[derive(Debug)]
pub(crate) struct Channel {
    pub socket: Socket,
    pub umem: Umem,
    pub _rings: Vec<Mapping>,
    /// Whether the card itself reads and writes frames.
    pub is_zero_copy: bool,
}

/// State shared by port and queues. The program is dropped first.
pub(crate) struct Shared {
    pub program: Program,
    pub channels: Vec<Channel>,
    pub _sockets: SocketMap,
    /// Longest frame without FCS that the interface takes, bytes.
    pub tx_bytes_max: u32,
    /// Received frames in several buffers for which there was no memory.
    pub rx_too_long: AtomicU64,
    /// Frames to be sent that are longer than the interface takes, or shorter than an Ethernet header.
    pub tx_too_long: AtomicU64,
    pub tx_too_short: AtomicU64,
    /// Frames that were to be sent while the interface was down or gone.
    pub link_down: AtomicU64,
    pub _membership: Option<Membership>,
    pub _locks: Vec<InterfaceLock>,
}

/// The control side.
pub(crate) struct XdpPort {
    pub facts: PortFacts,
    pub queues: Queues,
    pub shared: Arc<Shared>,
    pub interface: OpenInterface,
    pub live: Option<Arc<LiveCounts>>,
}

impl Port for XdpPort {
    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn take_queues(&mut self) -> Queues {
        std::mem::replace(&mut self.queues, Queues { tx: Vec::new(), rx: Vec::new() })
    }

    fn driver_drops(&mut self) -> DriverDrops {
        let shared = &self.shared;
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let all: Vec<Statistics> =
            shared.channels.iter().map(|channel| channel.socket.statistics()).collect();
        let sum = |of: fn(&Statistics) -> u64| all.iter().map(of).sum::<u64>();
        // In copy mode the kernel counts a frame it had no buffer for under both names; in zero-copy mode the card's driver asks
        // for buffers ahead, and an empty fill ring is not yet a loss.
        let no_buffer = sum(|one| one.rx_fill_ring_empty.min(one.rx_dropped));
        let mut rx = vec![
            ("xdp_no_buffer", no_buffer),
            ("xdp_dropped", sum(|one| one.rx_dropped) - no_buffer),
            ("xdp_ring_full", sum(|one| one.rx_ring_full)),
            ("xdp_invalid_buffers", sum(|one| one.rx_invalid_descs)),
            ("too_long", count(&shared.rx_too_long)),
        ];
        let mut tx = vec![
            ("too_long", count(&shared.tx_too_long)),
            ("too_short", count(&shared.tx_too_short)),
            ("link_down", count(&shared.link_down)),
            ("xdp_invalid_descriptors", sum(|one| one.tx_invalid_descs)),
        ];
        if let Some(live) = &self.live {
            tx.push(("xdp_refused", live.refused.load(Ordering::Relaxed)));
        }
        if let Program::Records(intake) = &shared.program {
            rx.push(("xdp_records_full", intake.refused()));
        }
        if let Some(dropped) = self.interface.dropped() {
            tx.push(("interface_dropped", dropped));
        }
        DriverDrops { rx, tx, tx_joined: 0 }
    }
}

/// A queue to send from.
pub(crate) struct XdpTx {
    ring: Producer<Descriptor>,
    completion: Consumer<u64>,
    /// Last in, first out: a steady sender goes round the same few frames.
    free: Vec<*mut FrameHead>,
    /// Frames in bursts.
    taken: usize,
    /// The kernel has not taken all there was.
    is_stuck: bool,
    channel: usize,
    shared: Arc<Shared>,
}

// SAFETY: the heads on the stack are the queue's alone.
unsafe impl Send for XdpTx {}

impl XdpTx {
    pub(crate) fn new(
        ring: Producer<Descriptor>,
        completion: Consumer<u64>,
        channel: usize,
        shared: Arc<Shared>,
    ) -> Self {
        let mut free: Vec<_> = shared.channels[channel].umem.tx_heads().collect();
        free.reverse();
        Self { ring, completion, free, taken: 0, is_stuck: false, channel, shared }
    }

    #[inline(always)]
    fn channel(&self) -> &Channel {
        &self.shared.channels[self.channel]
    }

    #[inline(always)]
    fn pool(&self) -> PoolId {
        // Receive and transmit frames are not each other's.
        PoolId::of(self.channel().umem.identity().cast::<u8>().wrapping_add(1))
    }

    /// Takes back what was sent. A frame in several pieces comes back once: with its last one.
    #[inline]
    fn reclaim(&mut self) {
        let n = self.completion.ready(u32::MAX);
        for i in 0..n {
            let at = self.completion.read(i);
            let umem = &self.shared.channels[self.channel].umem;
            if let Some(head) = umem.tx_head(at) {
                // SAFETY: a head of this pool, whose frame the kernel has; it is only read.
                let (start, len) =
                    unsafe { (umem.place((*head).buf) + u64::from((*head).data_off), (*head).len) };
                if umem.form().last_piece(start, len) == at {
                    self.free.push(head);
                }
            }
        }
        self.completion.release(n);
    }

    /// Writes the pieces of a frame after `ahead` others; returns how many.
    #[inline(always)]
    fn write(&mut self, head: *mut FrameHead, ahead: u32) -> u32 {
        let umem = &self.shared.channels[self.channel].umem;
        // SAFETY: a head of a burst of this pool, which is only read.
        let (mut at, mut left) = unsafe {
            let head = &*head;
            (umem.place(head.buf) + u64::from(head.data_off), head.len)
        };
        let chunk = umem.form().chunk;
        let mut pieces = 0;
        loop {
            let len = left.min(chunk - (at as u32 & (chunk - 1)));
            left -= len;
            let options = if left > 0 { CONTINUED } else { 0 };
            self.ring.write(ahead + pieces, Descriptor { at, len, options });
            pieces += 1;
            if left == 0 {
                return pieces;
            }
            at += u64::from(len);
        }
    }

    /// Lets the kernel send what it was given.
    #[inline]
    fn kick(&mut self) {
        if self.channel().is_zero_copy {
            // The card goes on by itself; an error tells of a call, not of a frame.
            if self.ring.needs_wakeup() {
                let _ = self.channel().socket.kick();
            }
            return;
        }
        self.is_stuck = false;
        let mut waiting = self.ring.waiting();
        while waiting > 0 {
            let error = self.channel().socket.kick().err();
            let left = self.ring.waiting();
            match error.and_then(|error| error.raw_os_error()) {
                // Down, or gone.
                Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => return self.give_up(),
                // Frames that an interface without carrier drops are errors, too.
                _ if left < waiting => waiting = left,
                // The frames before are still under way.
                _ => {
                    self.is_stuck = true;
                    return;
                }
            }
        }
    }

    /// Takes back what the kernel does not send. It reads the ring in calls of this thread alone.
    #[cold]
    fn give_up(&mut self) {
        let (umem, free) = (&self.shared.channels[self.channel].umem, &mut self.free);
        let mut frames = 0;
        self.ring.retract(|piece| {
            // The last piece of a frame stands for it.
            if piece.options & CONTINUED == 0 {
                frames += 1;
                free.extend(umem.tx_head(piece.at));
            }
        });
        self.shared.link_down.fetch_add(frames, Ordering::Relaxed);
    }

    /// A frame that can't be sent, if it is one: it is counted.
    #[inline(always)]
    fn is_refused(&self, head: *mut FrameHead) -> bool {
        // SAFETY: a head of a burst of this pool, which is only read.
        let len = unsafe { (*head).len };
        if (FRAME_MIN..=self.shared.tx_bytes_max).contains(&len) {
            return false;
        }
        let of = if len < FRAME_MIN { &self.shared.tx_too_short } else { &self.shared.tx_too_long };
        of.fetch_add(1, Ordering::Relaxed);
        true
    }
}

impl TxQueue for XdpTx {
    #[inline]
    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize {
        if self.is_stuck {
            self.kick();
        }
        let pool = self.pool();
        let spare = burst.spare();
        let n = n.min(spare.len());
        if self.free.len() < n {
            self.reclaim();
        }
        let n = n.min(self.free.len());
        let rest = self.free.len() - n;
        spare[..n].copy_from_slice(&self.free[rest..]);
        // SAFETY: the heads came from the stack, which owned them and forgets them next.
        unsafe { burst.grow(n, pool) };
        self.free.truncate(rest);
        self.taken += n;
        n
    }

    #[inline]
    fn send(&mut self, burst: &mut Burst) -> usize {
        assert!(burst.is_of(self.pool()), "frames of another queue are sent");
        let mut heads = [std::ptr::null_mut(); BURST];
        let n = burst.len();
        // SAFETY: what is taken is in front, and is forgotten below.
        heads[..n].copy_from_slice(unsafe { burst.heads() });
        let form = self.channel().umem.form();
        let (mut written, mut taken) = (0, 0);
        for &head in &heads[..n] {
            if self.is_refused(head) {
                self.free.push(head);
            } else {
                // SAFETY: a head of the burst, which is only read.
                let pieces = unsafe { form.pieces(u64::from((*head).data_off), (*head).len) };
                if self.ring.room(written + pieces) < written + pieces {
                    break;
                }
                written += self.write(head, written);
            }
            taken += 1;
        }
        burst.forget_front(taken);
        self.taken -= taken;
        self.ring.publish(written);
        self.kick();
        self.reclaim();
        taken
    }

    fn free(&mut self, burst: &mut Burst) {
        assert!(burst.is_of(self.pool()), "frames of another queue are given back");
        // SAFETY: all are forgotten below.
        let heads = unsafe { burst.heads() };
        let n = heads.len();
        self.free.extend_from_slice(heads);
        self.taken -= n;
        burst.forget_front(n);
    }
}

impl Drop for XdpTx {
    fn drop(&mut self) {
        if self.taken > 0 {
            self.channel().umem.keep();
        }
    }
}

/// A queue to receive from.
pub(crate) struct XdpRx {
    ring: Consumer<Descriptor>,
    fill: Producer<u64>,
    loose: Loose,
    /// A frame in several pieces, of which some are still to come: its head, and its length so far; none if there is no memory.
    begun: Option<(Option<*mut FrameHead>, usize)>,
    /// Frames in bursts, and loose ones in `begun`.
    taken: usize,
    polls_busily: bool,
    channel: usize,
    shared: Arc<Shared>,
}

// SAFETY: ring, heads and loose frames are used by the owner of the queue alone, and by bursts that own their frames.
unsafe impl Send for XdpRx {}

impl XdpRx {
    pub(crate) fn new(
        ring: Consumer<Descriptor>,
        mut fill: Producer<u64>,
        polls_busily: bool,
        channel: usize,
        shared: Arc<Shared>,
    ) -> Self {
        let mut n = 0;
        for place in shared.channels[channel].umem.rx_places() {
            fill.write(n, place);
            n += 1;
        }
        fill.publish(n);
        Self { ring, fill, loose: Loose::default(), begun: None, taken: 0, polls_busily, channel, shared }
    }

    #[inline(always)]
    fn channel(&self) -> &Channel {
        &self.shared.channels[self.channel]
    }

    #[inline(always)]
    fn pool(&self) -> PoolId {
        PoolId::of(self.channel().umem.identity())
    }

    /// The frame that the kernel has handed over; `None` if it is not whole yet.
    #[inline(always)]
    fn take(&mut self, piece: Descriptor) -> Option<*mut FrameHead> {
        if piece.options & CONTINUED != 0 || self.begun.is_some() {
            return self.join(piece);
        }
        let (head, offset) = self.channel().umem.rx_head(piece.at)?;
        // SAFETY: the head of a chunk that is in no burst.
        unsafe {
            (*head).data_off = offset;
            (*head).len = piece.len;
            (*head).segment_len = piece.len as u16;
            (*head).flags = 0;
        }
        Some(head)
    }

    /// Copies a piece of a frame to a loose frame, and returns its chunk; returns the frame once it is whole.
    #[cold]
    fn join(&mut self, piece: Descriptor) -> Option<*mut FrameHead> {
        let (head, len) = self.begun.take().unwrap_or_else(|| (self.loose.take().map(|(head, _)| head), 0));
        let umem = &self.shared.channels[self.channel].umem;
        let bytes = piece.len as usize;
        let fits = loose::BEFORE + len + bytes <= loose::ROOM;
        if let (Some(head), Some((chunk, offset)), true) = (head, umem.rx_head(piece.at), fits) {
            // SAFETY: a loose frame has `ROOM` bytes, and the piece is in its chunk, which the kernel has written.
            unsafe {
                let from = (*chunk).buf.add(usize::from(offset));
                std::ptr::copy_nonoverlapping(from, (*head).buf.add(loose::BEFORE + len), bytes);
            }
        }
        self.give_place(piece.at);
        let head = if fits {
            head
        } else {
            // SAFETY: it came from there, and nobody has it.
            unsafe { head.into_iter().for_each(|head| self.loose.give_back(head)) };
            None
        };
        let len = len + bytes;
        if piece.options & CONTINUED != 0 {
            self.begun = Some((head, len));
            return None;
        }
        let Some(head) = head else {
            self.shared.rx_too_long.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        // SAFETY: so many bytes were written.
        unsafe { Loose::set(head, loose::BEFORE, len, 0) };
        Some(head)
    }

    /// Gives the chunk at `at` to the kernel.
    fn give_place(&mut self, at: u64) {
        let chunk = u64::from(self.channel().umem.form().chunk);
        self.fill.write(0, at & !(chunk - 1));
        self.fill.publish(1);
    }
}

impl RxQueue for XdpRx {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.channel().socket.as_fd())
    }

    #[inline]
    fn recv(&mut self, burst: &mut Burst) -> usize {
        let pool = self.pool();
        assert!(burst.is_of(pool), "frames of two queues in one burst");
        let spare = burst.spare();
        let mut n = 0;
        while n < spare.len() {
            let ready = self.ring.ready((spare.len() - n) as u32);
            let before = n;
            for i in 0..ready {
                if let Some(head) = self.take(self.ring.read(i)) {
                    spare[n] = head;
                    n += 1;
                }
            }
            self.ring.release(ready);
            // Unless frames were in several pieces there is no more room, or there were no more.
            if n - before == ready as usize {
                break;
            }
        }
        if n == 0 && (self.polls_busily || self.fill.needs_wakeup()) {
            self.channel().socket.wake();
        }
        // SAFETY: heads of chunks that were the kernel's, or loose ones, with their frames, and in no other burst.
        unsafe { burst.grow(n, pool) };
        self.taken += n;
        n
    }

    #[inline]
    fn free(&mut self, burst: &mut Burst) {
        assert!(burst.is_of(self.pool()), "frames of another queue are given back");
        let umem = &self.shared.channels[self.channel].umem;
        // SAFETY: all are forgotten below.
        let heads = unsafe { burst.heads() };
        let n = heads.len();
        let mut places = 0;
        for &mut head in heads {
            match umem.rx_place(head) {
                Some(place) => {
                    self.fill.write(places, place);
                    places += 1;
                }
                // SAFETY: it is a loose one, which the burst had.
                None => unsafe { self.loose.give_back(head) },
            }
        }
        self.fill.publish(places);
        self.taken -= n;
        burst.forget_front(n);
    }
}

impl Drop for XdpRx {
    fn drop(&mut self) {
        if let Some((Some(head), _)) = self.begun.take() {
            // SAFETY: it came from there, and nobody has it.
            unsafe { self.loose.give_back(head) };
        }
        if self.taken > 0 {
            self.channel().umem.keep();
        }
    }
}
