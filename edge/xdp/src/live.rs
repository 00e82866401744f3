//! Frames that a program sends: the shared array, the program, and the calls that run it.

use crate::bpf;
use crate::program::{
    FRAME_BYTES_MAX, FRAME_BYTES_MIN, GIVEN, HEADER_BYTES, LENGTH_BYTES, NEXT, REFUSED, SLOT_BYTES, SLOTS,
    program,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;

/// Frames handed to the interface at a time, as many as the kernel does by itself: a veth has room for 256.
const BATCH: u32 = 64;
/// The loopback interface of a network namespace is its first.
const LOOPBACK: u32 = 1;

/// Sends frames out of one interface. For one thread at a time.
#[derive(Debug)]
pub struct LiveFrames {
    program: OwnedFd,
    /// Keeps the kernel from taking the program in and out of its dispatcher at every call, which takes milliseconds.
    _parked: OwnedFd,
    /// Where it is parked.
    _namespace: File,
    _map: OwnedFd,
    memory: *mut u8,
    bytes: usize,
    /// Frames written since the last call.
    written: u32,
    /// Slots used so far.
    next: u64,
}

// SAFETY: the mapping belongs to this value alone; the kernel writes to it only while a call of this value's runs.
unsafe impl Send for LiveFrames {}

impl LiveFrames {
    /// Loads the program that sends out of the interface `index` of the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel is older than 5.18, the process may not load programs, or no memory is left.
    pub fn new(index: u32) -> io::Result<Self> {
        let bytes = (HEADER_BYTES + SLOTS * SLOT_BYTES) as usize;
        let map = bpf::array("eagre_frames", bytes as u32, 1)?;
        let program = bpf::load("eagre_live", &program(map.as_raw_fd(), index))?;
        let (_parked, _namespace) = parked(&program)?;
        // SAFETY: a fresh mapping, wherever there is room.
        let memory = unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, &map, 0)?
        };
        Ok(Self {
            program,
            _parked,
            _namespace,
            _map: map,
            memory: memory.cast(),
            bytes,
            written: 0,
            next: 0,
        })
    }

    /// Frames that fit before the next call.
    #[inline]
    pub fn room(&self) -> u32 {
        SLOTS - self.written
    }

    /// Whether a frame of this number of bytes without FCS can be sent.
    #[inline]
    pub fn takes(bytes: usize) -> bool {
        (FRAME_BYTES_MIN as usize..=FRAME_BYTES_MAX as usize).contains(&bytes)
    }

    fn word(&mut self, at: u32) -> *mut u64 {
        debug_assert!(at + 8 <= HEADER_BYTES);
        // SAFETY: inside the header; mappings begin at a page, so it is aligned.
        unsafe { self.memory.add(at as usize).cast() }
    }

    /// Adds a frame, which leaves with the next call.
    ///
    /// # Panics
    /// There is no room, or it is too short or too long.
    #[inline]
    pub fn push(&mut self, frame: &[u8]) {
        assert!(self.room() > 0 && Self::takes(frame.len()));
        let slot = (self.next + u64::from(self.written)) as u32 % SLOTS;
        let at = (HEADER_BYTES + slot * SLOT_BYTES) as usize;
        // SAFETY: the slot is inside the mapping and has room for the length and the longest frame.
        unsafe {
            let slot = self.memory.add(at);
            slot.cast::<u64>().write(frame.len() as u64);
            std::ptr::copy_nonoverlapping(frame.as_ptr(), slot.add(LENGTH_BYTES as usize), frame.len());
        }
        self.written += 1;
    }

    /// Sends what was added. Returns how many frames the kernel took; it never takes part of one, and those it did not take
    /// are forgotten.
    ///
    /// # Errors
    /// The kernel refuses the call: then nothing left.
    pub fn send(&mut self) -> io::Result<u32> {
        let frames = std::mem::take(&mut self.written);
        if frames == 0 {
            return Ok(0);
        }
        let first = (HEADER_BYTES + self.next as u32 % SLOTS * SLOT_BYTES) as usize;
        // SAFETY: the slot that was written first; its length was checked when it was.
        let first = unsafe {
            let slot = self.memory.add(first);
            std::slice::from_raw_parts(slot.add(LENGTH_BYTES as usize), slot.cast::<u64>().read() as usize)
        };
        let given = first.len() as u64;
        // SAFETY: words of the header. The program runs only inside the call.
        unsafe {
            self.word(GIVEN).write_volatile(given);
            self.word(NEXT).write_volatile(self.next);
        }
        let outcome = bpf::run_live(self.program.as_fd(), first, frames, frames.min(BATCH));
        // SAFETY: as above.
        let next = unsafe { self.word(NEXT).read_volatile() };
        let done = next.wrapping_sub(self.next).min(u64::from(frames)) as u32;
        self.next = next % u64::from(SLOTS);
        match outcome {
            Err(error) if done == 0 => Err(error),
            _ => Ok(done),
        }
    }

    /// Frames the kernel could not make since the last look. Zero, unless it has no memory for them.
    pub fn take_refused(&mut self) -> u64 {
        let word = self.word(REFUSED);
        // SAFETY: a word of the header. The program runs only inside `send`.
        unsafe { word.replace(0) }
    }
}

impl Drop for LiveFrames {
    fn drop(&mut self) {
        // SAFETY: what was mapped, and nobody uses it any more.
        let _ = unsafe { munmap(self.memory.cast::<c_void>(), self.bytes) };
    }
}

/// Attaches the program in a separate network namespace without any frames. The namespace lasts as long as the file.
fn parked(program: &OwnedFd) -> io::Result<(OwnedFd, File)> {
    let park = || {
        // SAFETY: only this thread, which ends here, gets another network namespace.
        unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET)? };
        let namespace = File::open("/proc/thread-self/ns/net")?;
        Ok((bpf::attach(program.as_fd(), LOOPBACK, bpf::Mode::Stack)?, namespace))
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("park".to_owned()).spawn_scoped(scope, park)?;
        thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const XDP_DROP: u32 = 1;
    const XDP_REDIRECT: u32 = 4;

    /// `None` without the privilege.
    fn live() -> Option<LiveFrames> {
        match LiveFrames::new(1) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("skipped: it needs root");
                None
            }
            live => Some(live.unwrap()),
        }
    }

    #[test]
    fn the_kernel_makes_the_frames_that_were_written() {
        let Some(mut live) = live() else { return };
        let lengths: Vec<usize> =
            [14, 60, 61, 64, 1514, 2040].into_iter().chain((14..2041).step_by(97)).collect();
        let frames: Vec<Vec<u8>> =
            lengths.iter().map(|len| (0..*len).map(|at| (at * 7 + len) as u8).collect()).collect();
        frames.iter().for_each(|frame| live.push(frame));
        let given = vec![0xee; 60];
        // SAFETY: words of the header; no program runs.
        unsafe { live.word(GIVEN).write_volatile(given.len() as u64) };
        for frame in &frames {
            let (returned, made) = bpf::run_once(live.program.as_fd(), &given).unwrap();
            assert_eq!((returned, made.len()), (XDP_REDIRECT, frame.len()));
            assert!(made == *frame, "{} bytes", frame.len());
        }
        assert_eq!(live.take_refused(), 0);
        // A slot that nobody wrote has no length.
        let (returned, _) = bpf::run_once(live.program.as_fd(), &given).unwrap();
        assert_eq!((returned, live.take_refused()), (XDP_DROP, 1));
    }

    #[test]
    fn slots_go_round() {
        let Some(mut live) = live() else { return };
        live.next = u64::from(SLOTS) - 2;
        (0..4u8).for_each(|number| live.push(&[number; 60]));
        assert_eq!(live.room(), SLOTS - 4);
        // SAFETY: words of the header; no program runs.
        unsafe {
            live.word(GIVEN).write_volatile(60);
            live.word(NEXT).write_volatile(live.next);
        }
        for number in 0..4 {
            assert_eq!(bpf::run_once(live.program.as_fd(), &[9; 60]).unwrap().1, [number; 60]);
        }
    }
}
