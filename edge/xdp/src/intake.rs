//! Test packets that the kernel takes in: the rings, the program that fills them, and its place on the interface.
//!
//! The program is on the interface from the time the port opens until it closes, and goes with the process however that ends.
//! Whether it records test packets or passes all frames on is a word in memory, so switching loses no frame, and counts none
//! twice.

use crate::bpf;
use crate::intake_program::{
    AT, FIRST, FULL, HEADER_BYTES, INSTANT_SHIFT, KEYS, LENGTH_SHIFT, LENGTHS_BYTES, MARK, MIDDLE, Maps,
    PACKED, READ, RING_BYTES, SHARED, SHARED_MAX, SLOT_BYTES, SLOTS, STREAMS, STREAMS_MAX, TAIL_SHIFT,
    WRITTEN, program,
};
use port::{Recorded, TestPackets};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::signature::{STREAM_BITS, Signature};

/// Takes in the test packets of one interface.
#[derive(Debug)]
pub struct Intake {
    program: OwnedFd,
    rings: Arc<Rings>,
    queues: u32,
    /// Keeps the program on the interface.
    link: Option<OwnedFd>,
}

impl Intake {
    /// Loads the program for `queues` queues from `first` on. Frames it does not record go to the AF_XDP sockets in
    /// `sockets`.
    ///
    /// # Errors
    /// The kernel is older than 5.12, the process may not load programs, or no memory is left.
    pub fn new(sockets: BorrowedFd<'_>, first: u32, queues: u32) -> io::Result<Self> {
        let rings = bpf::array("eagre_rings", RING_BYTES, queues)?;
        let lengths = bpf::array("eagre_lengths", STREAMS_MAX * LENGTHS_BYTES, 1)?;
        let maps = Maps {
            rings: rings.as_raw_fd(),
            queues,
            lengths: lengths.as_raw_fd(),
            sockets: sockets.as_raw_fd(),
        };
        let program = bpf::load("eagre_intake", &program(&maps, first))?;
        let rings = Rings {
            rings: Mapping::new(&rings, RING_BYTES as usize * queues as usize)?,
            lengths: Mapping::new(&lengths, (STREAMS_MAX * LENGTHS_BYTES) as usize)?,
        };
        Ok(Self { program, rings: Arc::new(rings), queues, link: None })
    }

    /// Puts the program on the interface `index` of the calling thread's network namespace, in its driver.
    ///
    /// # Errors
    /// There is a program already, or the driver takes none.
    pub fn attach(&mut self, index: u32) -> io::Result<()> {
        self.link = Some(bpf::attach(self.program.as_fd(), index, bpf::Mode::Driver)?);
        Ok(())
    }

    /// Records of each queue, for its receiver.
    pub fn records(&self) -> impl Iterator<Item = Records> {
        (0..self.queues).map(|queue| Records { rings: self.rings.clone(), queue: queue as usize, read: 0 })
    }

    /// Test packets so far that found no room, on all queues, which are lost.
    pub fn refused(&self) -> u64 {
        let of = |queue| self.rings.word(queue as usize, FULL).load(Ordering::Relaxed);
        (0..self.queues).map(of).sum()
    }
}

/// Records of one queue.
#[derive(Debug)]
pub struct Records {
    rings: Arc<Rings>,
    queue: usize,
    /// Slots read, as in the ring.
    read: u64,
}

impl Records {
    /// Makes the program record these packets, or pass all frames on.
    ///
    /// # Errors
    /// There are too many streams.
    pub fn record(&mut self, packets: Option<&TestPackets>) -> Result<(), String> {
        let word = |at| self.rings.word(self.queue, at);
        word(MARK).store(0, Ordering::Release);
        let Some(packets) = packets else { return Ok(()) };
        if packets.lengths.len() > STREAMS_MAX as usize {
            return Err(format!("there are more than {STREAMS_MAX} streams"));
        }
        self.rings.set_lengths(&packets.lengths);
        self.read = word(WRITTEN).load(Ordering::Acquire);
        word(READ).store(self.read, Ordering::Relaxed);
        word(SHARED).store(u64::from(SHARED_MAX), Ordering::Relaxed);
        word(KEYS).store(packets.keys[0], Ordering::Relaxed);
        word(KEYS + 8).store(packets.keys[1], Ordering::Relaxed);
        word(STREAMS).store(packets.lengths.len() as u64, Ordering::Relaxed);
        word(MARK).store(u64::from(packets.mark), Ordering::Release);
        Ok(())
    }

    /// Takes records out, oldest first; returns how many.
    #[inline]
    pub fn take(&mut self, records: &mut [Recorded]) -> usize {
        let written = self.rings.word(self.queue, WRITTEN).load(Ordering::Acquire);
        let waiting = written.wrapping_sub(self.read).min(u64::from(SLOTS));
        if waiting == 0 {
            return 0;
        }
        // The program changes it while the ring is empty alone.
        let first = self.rings.word(self.queue, FIRST).load(Ordering::Relaxed);
        let from = self.read.wrapping_sub(first);
        let (mut slot, end) = (from, from.wrapping_add(waiting));
        let mut taken = 0;
        for record in records {
            if slot == end {
                break;
            }
            let (found, has_instant) = self.rings.record(self.queue, slot);
            *record = found;
            slot = slot.wrapping_add(1);
            if has_instant {
                record.monotonic_ns = self.rings.instant(self.queue, slot);
                slot = slot.wrapping_add(1);
            }
            taken += 1;
        }
        self.read = first.wrapping_add(slot);
        self.rings.word(self.queue, READ).store(self.read, Ordering::Release);
        taken
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        self.rings.word(self.queue, MARK).store(0, Ordering::Release);
    }
}

/// The memory that the program and the process share.
#[derive(Debug)]
struct Rings {
    rings: Mapping,
    lengths: Mapping,
}

impl Rings {
    /// A word of a queue's header.
    #[inline(always)]
    fn word(&self, queue: usize, at: u32) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(8) && at + 8 <= HEADER_BYTES);
        let at = queue * RING_BYTES as usize + at as usize;
        assert!(at + 8 <= self.rings.bytes);
        // SAFETY: inside the mapping and aligned; the program and all threads use it as a whole word.
        unsafe { AtomicU64::from_ptr(self.rings.memory.add(at).cast()) }
    }

    /// A record that the program has written and does not write again before it is read, still without an instant, and
    /// whether the slot after it has that. `number` counts from the slot in the first place.
    #[inline(always)]
    fn record(&self, queue: usize, number: u64) -> (Recorded, bool) {
        let packed = self.slot(queue, number, PACKED);
        let stream = packed as u32 & ((1 << STREAM_BITS) - 1);
        let middle = self.slot(queue, number, MIDDLE);
        let said = Signature::from_words(stream, middle, (packed >> TAIL_SHIFT) as u16);
        let record = Recorded {
            monotonic_ns: 0,
            time: said.time,
            stream,
            sequence: said.sequence,
            lane: said.lane,
            bytes: (packed >> LENGTH_SHIFT) as u16,
        };
        (record, packed >> INSTANT_SHIFT & 1 != 0)
    }

    /// The instant in the slot after a record.
    #[inline(always)]
    fn instant(&self, queue: usize, number: u64) -> u64 {
        self.slot(queue, number, AT)
    }

    /// A word of a slot.
    #[inline(always)]
    fn slot(&self, queue: usize, number: u64, offset: u32) -> u64 {
        let place = number as u32 % SLOTS * SLOT_BYTES + offset;
        let at = queue * RING_BYTES as usize + (HEADER_BYTES + place) as usize;
        assert!(at + 8 <= self.rings.bytes);
        // SAFETY: inside the mapping and aligned.
        unsafe { self.rings.memory.add(at).cast::<u64>().read_volatile() }
    }

    /// All queues of a port share them, and get the same values.
    fn set_lengths(&self, lengths: &[[u16; 2]]) {
        for (stream, [shortest, longest]) in lengths.iter().enumerate() {
            let at = stream * LENGTHS_BYTES as usize;
            assert!(at + LENGTHS_BYTES as usize <= self.lengths.bytes);
            // SAFETY: inside the mapping; a program that runs meanwhile reads old lengths or new ones.
            unsafe {
                let place = self.lengths.memory.add(at).cast::<u16>();
                place.write_volatile(*shortest);
                place.add(1).write_volatile(*longest);
            }
        }
    }
}

/// An array's values, mapped.
#[derive(Debug)]
struct Mapping {
    memory: *mut u8,
    bytes: usize,
}

// SAFETY: it is memory of this process until it is dropped; whoever uses it says how.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(map: &OwnedFd, bytes: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping, wherever there is room.
        let memory = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, map, 0)? };
        Ok(Self { memory: memory.cast(), bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: what was mapped, and nobody uses it any more.
        let _ = unsafe { munmap(self.memory.cast::<c_void>(), self.bytes) };
    }
}

#[cfg(test)]
mod tests;
