//! An open port and its queues.
//!
//! Invariant: the interface's lock and the sockets last until the port and all its queues are gone.

use crate::cut::Joined;
use crate::join::{Front, data, join};
use crate::ring::{Next, Ring, Tag, VIRTIO, flags, udp_part};
use crate::socket::Socket;
use crate::tx_ring::TxRing;
use os::card_stamps::CardStamps;
use os::interface_lock::InterfaceLock;
use os::open_interface::OpenInterface;
use port::RX_FLAG_CHECKSUM_UNFINISHED;
use port::loose::{self, BEFORE, Loose};
use port::memory::FreeFrames;
use port::{
    BURST, Burst, DriverDrops, FrameHead, KernelClock, PoolId, Port, PortFacts, Queues, RxQueue, Stamps,
    TxQueue,
};
use rustix::mm::munmap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// State shared by port and queues.
pub(crate) struct Shared {
    /// Of the receive queues.
    pub sockets: Vec<Socket>,
    /// The interface's name.
    pub interface: String,
    /// Its card, if that stamps frames.
    pub card: OnceLock<CardStamps>,
    /// Received frames that the kernel had no room for as a whole.
    pub too_long: AtomicU64,
    /// Sent frames that are longer than the interface takes.
    pub too_long_to_send: AtomicU64,
    /// Frames that were sent as the rest of a longer one.
    pub joined: AtomicU64,
    /// Frames that were to be sent while the interface was down or gone.
    pub link_down: AtomicU64,
    /// Frames that the kernel refused for another reason: without the right to send, by a filter, malformed.
    pub refused: AtomicU64,
    pub _locks: Vec<InterfaceLock>,
}

/// The control side.
pub(crate) struct PacketPort {
    pub facts: PortFacts,
    pub queues: Queues,
    pub shared: Arc<Shared>,
    pub interface: OpenInterface,
    /// So far; reading resets the kernel's.
    pub ring_full: u64,
}

impl Port for PacketPort {
    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn take_queues(&mut self) -> Queues {
        std::mem::replace(&mut self.queues, Queues { tx: Vec::new(), rx: Vec::new() })
    }

    fn driver_drops(&mut self) -> DriverDrops {
        let shared = &self.shared;
        self.ring_full += shared.sockets.iter().map(Socket::drops).sum::<u64>();
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let mut tx = vec![
            ("too_long", count(&shared.too_long_to_send)),
            ("link_down", count(&shared.link_down)),
            ("kernel_refused", count(&shared.refused)),
        ];
        if let Some(dropped) = self.interface.dropped() {
            tx.push(("interface_dropped", dropped));
        }
        let rx = vec![("kernel_ring_full", self.ring_full), ("too_long", count(&shared.too_long))];
        DriverDrops { rx, tx, tx_joined: count(&shared.joined) }
    }
}

/// The `virtio_net_hdr` of a packet that leaves nothing to the card.
static NOTHING_LEFT: [u8; VIRTIO] = [0; VIRTIO];

/// A queue to send from.
pub(crate) struct PacketTx {
    socket: Socket,
    /// Sends single frames in its place.
    ring: Option<TxRing>,
    free: FreeFrames,
    messages: Box<[libc::mmsghdr; BURST]>,
    parts: Box<[libc::iovec; 2 * BURST]>,
    /// Frames of the burst up to the end of each message.
    ends: [usize; BURST],
    /// Prefix of each message's frames, if a `virtio_net_hdr` is needed.
    fronts: Option<Box<[Front; BURST]>>,
    shared: Arc<Shared>,
}

// SAFETY: the pointers in messages and parts are written before each use, by the thread that uses them.
unsafe impl Send for PacketTx {}

fn part(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

impl PacketTx {
    pub(crate) fn new(
        socket: Socket,
        ring: Option<TxRing>,
        free: FreeFrames,
        segmentation_offload: bool,
        shared: Arc<Shared>,
    ) -> Self {
        // SAFETY: both are plain numbers and pointers that may be null.
        let (message, part) = unsafe { std::mem::zeroed() };
        Self {
            socket,
            ring,
            free,
            messages: Box::new([message; BURST]),
            parts: Box::new([part; 2 * BURST]),
            ends: [0; BURST],
            fronts: segmentation_offload.then(|| Box::new([const { Front::EMPTY }; BURST])),
            shared,
        }
    }

    /// Makes messages of the frames of `burst`; returns how many.
    #[inline]
    fn write_messages(&mut self, burst: &Burst) -> usize {
        let (mut frames, mut messages, mut used) = (0, 0, 0);
        while frames < burst.len() {
            let begin = used;
            let mut push = |bytes: &[u8]| {
                self.parts[used] = part(bytes);
                used += 1;
            };
            let joined = match &mut self.fronts {
                None => {
                    push(burst.data(frames));
                    1
                }
                Some(fronts) => {
                    let front = &mut fronts[messages];
                    let joined = join(burst, frames, front);
                    if joined == 1 {
                        push(&NOTHING_LEFT);
                        push(burst.data(frames));
                    } else {
                        push(front.bytes());
                        (frames..frames + joined).for_each(|i| push(data(burst.data(i))));
                    }
                    joined
                }
            };
            frames += joined;
            self.ends[messages] = frames;
            let message = &mut self.messages[messages].msg_hdr;
            message.msg_iov = self.parts[begin..].as_mut_ptr();
            message.msg_iovlen = used - begin;
            messages += 1;
        }
        messages
    }

    /// Hands the frames of `burst` to the kernel; returns how many are done with.
    #[inline]
    fn hand_over(&mut self, burst: &Burst) -> usize {
        let n = self.write_messages(burst);
        let mut done = 0;
        while done < n {
            let (sent, error) = if self.ring.is_some() {
                self.send_from_ring(burst, done, n)
            } else {
                self.send_messages(done, n)
            };
            done += sent;
            let Some(error) = error.filter(|_| done < n) else {
                if sent == 0 {
                    break;
                }
                continue;
            };
            let before = self.done_with(done);
            let (first, all) = (self.ends[done] - before, burst.len() - before);
            match self.refused(&error, first, all) {
                0 => break,
                lost if lost == all => done = n,
                _ => done += 1,
            }
        }
        let frames = self.done_with(done);
        if frames > done {
            self.shared.joined.fetch_add((frames - done) as u64, Ordering::Relaxed);
        }
        frames
    }

    /// Sends the messages from `done` on up to `n`; returns how many the kernel took, or why it took none.
    #[inline]
    fn send_messages(&mut self, done: usize, n: usize) -> (usize, Option<io::Error>) {
        let rest = &mut self.messages[done..n];
        let (count, flags) = (rest.len() as u32, libc::MSG_DONTWAIT);
        // SAFETY: as many messages as said, each with parts that point to frames of the burst or to what stands before
        // them; the kernel reads these, and writes to the messages only.
        let code = unsafe { libc::sendmmsg(self.socket.raw(), rest.as_mut_ptr(), count, flags as _) };
        match usize::try_from(code) {
            Ok(sent) => (sent, None),
            Err(_) => (0, Some(io::Error::last_os_error())),
        }
    }

    /// The same without a call that could have an address: from the ring, or one message that the card is to cut.
    fn send_from_ring(&mut self, burst: &Burst, done: usize, n: usize) -> (usize, Option<io::Error>) {
        let begin = |message: usize| message.checked_sub(1).map_or(0, |last| self.ends[last]);
        let singles = (done..n).take_while(|&message| self.ends[message] - begin(message) == 1);
        let Some(ring) = &mut self.ring else { return (0, None) };
        let mut put = 0;
        for message in singles {
            if !ring.put(burst.data(self.ends[message] - 1)) {
                break;
            }
            put += 1;
        }
        if put > 0 {
            return ring.send();
        }
        let message = &self.messages[done].msg_hdr;
        if self.ends[done] - self.done_with(done) == 1 {
            // The ring is full of frames under way.
            return (0, None);
        }
        // SAFETY: the parts of the message point to frames of the burst and to what stands before them; the kernel reads them.
        let code =
            unsafe { libc::writev(self.socket.raw(), message.msg_iov, message.msg_iovlen as libc::c_int) };
        if code < 0 { (0, Some(io::Error::last_os_error())) } else { (1, None) }
    }

    /// Frames in the first `messages` messages.
    #[inline]
    fn done_with(&self, messages: usize) -> usize {
        messages.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// The kernel takes nothing; returns how many of the `left` frames are lost by that: none, the `first` ones, which are a
    /// message, or all.
    #[cold]
    fn refused(&self, error: &io::Error, first: usize, left: usize) -> usize {
        match error.raw_os_error() {
            // The socket's frames are still under way.
            Some(libc::EAGAIN | libc::EINTR) => 0,
            // The interface dropped it, and counts it.
            Some(libc::ENOBUFS) => first,
            Some(libc::EMSGSIZE) => {
                self.shared.too_long_to_send.fetch_add(first as u64, Ordering::Relaxed);
                first
            }
            // Down, or gone.
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                self.shared.link_down.fetch_add(left as u64, Ordering::Relaxed);
                left
            }
            // The first message was refused for what it is, or for who sends it: the others may pass.
            _ => {
                self.shared.refused.fetch_add(first as u64, Ordering::Relaxed);
                first
            }
        }
    }
}

impl TxQueue for PacketTx {
    #[inline]
    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize {
        self.free.take(burst, n)
    }

    #[inline]
    fn send(&mut self, burst: &mut Burst) -> usize {
        let n = self.hand_over(burst);
        self.free.give_front(burst, n);
        n
    }

    fn free(&mut self, burst: &mut Burst) {
        let n = burst.len();
        self.free.give_front(burst, n);
    }
}

/// A joined packet that is being cut into datagrams.
struct Cutting {
    /// A loose frame with the packet.
    head: *mut FrameHead,
    joined: Joined,
    next: usize,
}

/// A queue to receive from.
pub(crate) struct PacketRx {
    ring: Ring,
    loose: Loose,
    /// Loose frames in bursts and in `cutting`.
    loose_taken: usize,
    cutting: Option<Cutting>,
    /// Which of the sockets is its own.
    socket: usize,
    shared: Arc<Shared>,
}

// SAFETY: ring, heads and loose frames are used by the owner of the queue alone, and by bursts that own their frames.
unsafe impl Send for PacketRx {}

impl PacketRx {
    pub(crate) fn new(ring: Ring, socket: usize, shared: Arc<Shared>) -> Self {
        Self { ring, loose: Loose::default(), loose_taken: 0, cutting: None, socket, shared }
    }

    #[inline(always)]
    fn pool(&self) -> PoolId {
        PoolId::of(self.ring.identity())
    }

    #[cold]
    fn count_too_long(&self) {
        self.shared.too_long.fetch_add(1, Ordering::Relaxed);
    }

    fn take_loose(&mut self) -> Option<(*mut FrameHead, *mut u8)> {
        let taken = self.loose.take();
        self.loose_taken += usize::from(taken.is_some());
        taken
    }

    /// Returns a loose frame without other users.
    fn give_loose(&mut self, head: *mut FrameHead) {
        self.loose_taken -= 1;
        // SAFETY: all heads that are not the ring's are from `take_loose`, and the caller has it no more.
        unsafe { self.loose.give_back(head) };
    }

    /// A frame that is longer than a slot, out of the socket's queue. `None` if there is nothing to deliver now.
    #[cold]
    fn long(&mut self, queued: bool, tag: Option<Tag>, outgoing: bool) -> Option<*mut FrameHead> {
        if !queued {
            if !outgoing {
                self.count_too_long();
            }
            return None;
        }
        let Some((head, buffer)) = self.take_loose() else {
            let mut nothing = [0; VIRTIO];
            // SAFETY: the bytes are this function's. What does not fit is gone, which is the purpose.
            let _ = unsafe { self.shared.sockets[self.socket].receive(nothing.as_mut_ptr(), VIRTIO) };
            self.count_too_long();
            return None;
        };
        let before = BEFORE - VIRTIO;
        let room = loose::ROOM - before;
        // SAFETY: the buffer is `ROOM` bytes long, and ours.
        let receive = || unsafe { self.shared.sockets[self.socket].receive(buffer.add(before), room) };
        // The first may only tell that the interface was down meanwhile.
        let got = receive().or_else(|_| receive()).unwrap_or(usize::MAX);
        if outgoing || got > room || got < VIRTIO + 14 {
            if !outgoing {
                self.count_too_long();
            }
            self.give_loose(head);
            return None;
        }
        let (mut start, mut len) = (BEFORE, got - VIRTIO);
        // SAFETY: `got` bytes are there from `before` on: first the header, then the frame. A tag goes where the header was.
        let header = unsafe {
            let header = buffer.add(before).cast::<[u8; VIRTIO]>().read();
            if let Some(tag) = tag {
                tag.put_back(buffer.add(BEFORE));
                (start, len) = (start - 4, len + 4);
            }
            Loose::set(head, start, len, flags(&header));
            header
        };
        match udp_part(&header) {
            0 => Some(head),
            part => self.begin_cutting(head, part),
        }
    }

    /// A joined packet in a slot: it moves to a loose frame.
    #[cold]
    fn move_out(&mut self, slot: usize, part: u16) -> Option<*mut FrameHead> {
        let Some((head, buffer)) = self.take_loose() else {
            self.ring.pass(slot);
            self.count_too_long();
            return None;
        };
        let frame = self.ring.frame(slot);
        // SAFETY: a slot is shorter than a loose frame's buffer, which is ours.
        unsafe {
            std::ptr::copy_nonoverlapping(frame.as_ptr(), buffer.add(BEFORE), frame.len());
            Loose::set(head, BEFORE, frame.len(), RX_FLAG_CHECKSUM_UNFINISHED);
        }
        self.ring.pass(slot);
        self.begin_cutting(head, part)
    }

    /// Begins to cut the packet in a loose frame; returns it if there is nothing to cut.
    fn begin_cutting(&mut self, head: *mut FrameHead, part: u16) -> Option<*mut FrameHead> {
        match Joined::read(bytes(&head), part) {
            Some(joined) if joined.longest() <= loose::ROOM - BEFORE => {
                self.cutting = Some(Cutting { head, joined, next: 0 });
                None
            }
            _ => Some(head),
        }
    }

    /// The next datagram of the packet that is being cut.
    #[cold]
    fn cut(&mut self) -> Option<*mut FrameHead> {
        let mut cutting = self.cutting.take()?;
        if cutting.next == cutting.joined.parts() {
            self.give_loose(cutting.head);
            return None;
        }
        let one = self.take_loose();
        if let Some((head, buffer)) = one {
            // SAFETY: the buffer is `ROOM` bytes long and ours; the bytes may be anything.
            unsafe {
                buffer.add(BEFORE).write_bytes(0, cutting.joined.longest());
                let out = std::slice::from_raw_parts_mut(buffer.add(BEFORE), cutting.joined.longest());
                let len = cutting.joined.write(bytes(&cutting.head), cutting.next, out);
                Loose::set(head, BEFORE, len, RX_FLAG_CHECKSUM_UNFINISHED);
            }
        } else {
            self.count_too_long();
        }
        cutting.next += 1;
        self.cutting = Some(cutting);
        one.map(|(head, _)| head)
    }
}

/// The bytes of a loose frame.
fn bytes(head: &*mut FrameHead) -> &[u8] {
    // SAFETY: loose heads say which bytes of their buffers are written, and whoever has the pointer has the frame.
    unsafe {
        let head = &**head;
        std::slice::from_raw_parts(head.buf.add(usize::from(head.data_off)), head.len as usize)
    }
}

impl RxQueue for PacketRx {
    fn stamp(&mut self, by: Stamps) -> Result<KernelClock, String> {
        let socket = &self.shared.sockets[self.socket];
        let clock = match by {
            // The kernel writes it into each slot.
            Stamps::Kernel => KernelClock::REALTIME,
            Stamps::Hardware => {
                if self.shared.card.get().is_none() {
                    let card = CardStamps::start(socket.as_fd(), &self.shared.interface)?;
                    let _ = self.shared.card.set(card);
                }
                socket.stamp_by_card().map_err(|error| format!("no arrival times by its card: {error}"))?;
                self.shared.card.get().map_or(KernelClock::REALTIME, CardStamps::clock)
            }
        };
        self.ring.stamp(by);
        Ok(clock)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.shared.sockets[self.socket].as_fd())
    }

    #[inline]
    fn recv(&mut self, burst: &mut Burst) -> usize {
        assert!(burst.is_of(self.pool()), "frames of two queues in one burst");
        let spare = burst.spare();
        let mut n = 0;
        while n < spare.len() {
            let found = if self.cutting.is_some() {
                self.cut()
            } else {
                match self.ring.look() {
                    Next::Frame { slot, udp_part: 0, .. } => Some(self.ring.take(slot)),
                    Next::Frame { slot, udp_part, .. } => self.move_out(slot, udp_part),
                    Next::Part { slot, queued, tag, outgoing } => {
                        self.ring.pass(slot);
                        self.long(queued, tag, outgoing)
                    }
                    Next::Outgoing { slot } => {
                        self.ring.pass(slot);
                        None
                    }
                    Next::Empty => break,
                }
            };
            if let Some(head) = found {
                if let Some(arrived_ns) = self.ring.arrived_ns() {
                    // SAFETY: the head is the queue's until it is part of the burst.
                    unsafe { (*head).arrived_ns = arrived_ns };
                }
                spare[n] = head;
                n += 1;
            }
        }
        // SAFETY: all heads are the ring's or loose ones, with their frames, and in no other burst.
        unsafe { burst.grow(n, self.pool()) };
        n
    }

    #[inline]
    fn free(&mut self, burst: &mut Burst) {
        assert!(burst.is_of(self.pool()), "frames of another queue are given back");
        // SAFETY: all are forgotten below.
        let heads = unsafe { burst.heads() };
        let n = heads.len();
        for &mut head in heads {
            if !self.ring.give_back(head) {
                self.give_loose(head);
            }
        }
        burst.forget_front(n);
    }
}

impl Drop for PacketRx {
    fn drop(&mut self) {
        if let Some(cutting) = self.cutting.take() {
            self.give_loose(cutting.head);
        }
        // A frame in a burst keeps the ring's memory.
        if self.ring.taken() == 0 {
            let (base, bytes) = self.ring.bytes();
            // SAFETY: mapped in `open`, and nobody reads it any more.
            let _ = unsafe { munmap(base.as_ptr().cast(), bytes) };
        }
    }
}
