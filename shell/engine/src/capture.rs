//! Writes packets of a port to files while traffic runs, without getting in its way.
//!
//! Each worker has a [`Tap`] for the port: it copies what the filter lets through into a ring of its own, and counts
//! what finds no room there. A thread on the control side merges the rings by time into pcapng files
//! ([`CaptureWriter`]). A slow or full disk costs captured packets, never traffic.
//!
//! Not here: which ports are captured and when. A tap reads no clock. A capture that is switched off sees nothing.
//!
//! Invariant: every packet seen is captured, dropped or was not let through by the filter, and counted as such.

mod sink;
mod tap;
mod writer;

pub use pcap::Direction;
pub use tap::Tap;
pub use writer::CaptureWriter;

use filter::{Filter, FilterError};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use units::Nanos;

/// What to capture of a port, and where to.
#[derive(Debug, Clone)]
pub struct CaptureOptions {
    /// The port's name, as files show it.
    pub interface: String,
    /// The file. A file that is there is written over.
    pub path: PathBuf,
    /// How much of the packets is kept.
    pub keep: Keep,
    /// Which packets, in libpcap's words; all without it.
    pub filter: Option<String>,
    /// Most bytes kept of a packet.
    pub snap_len: u32,
    /// Which way packets go.
    pub directions: Directions,
    /// Bytes of each worker's ring: what it holds until the control side comes by, every millisecond or so.
    pub ring_bytes: usize,
    /// The wall-clock time, since 1970-01-01 UTC, at instant zero of the workers' clock.
    pub wall_zero: Nanos,
    /// Anything, for people: goes into the files.
    pub comment: Option<String>,
}

impl CaptureOptions {
    /// Whole packets of both directions into one file, 16 MiB for each ring, instants as the workers tell them.
    pub fn new(interface: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            interface: interface.into(),
            path: path.into(),
            keep: Keep::All,
            filter: None,
            snap_len: 262_144,
            directions: Directions::Both,
            ring_bytes: 16 << 20,
            wall_zero: Nanos::ZERO,
            comment: None,
        }
    }
}

/// How much of the packets is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All, in one file.
    All,
    /// All in one file after the other: `name_00001.pcapng`, …
    Rotate {
        /// What fills a file.
        every: Every,
        /// How many files are left at the end: the last ones. `None` is all of them.
        files_max: Option<u32>,
    },
    /// The last packets, in memory, written at the end. Whichever limit is reached first counts.
    Last {
        /// Most bytes of memory.
        bytes: u64,
        /// Most packets.
        packets: u64,
    },
}

/// What fills a file. A file has one packet at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Every {
    /// Its size, bytes, without the statistics at its end.
    Bytes(u64),
    /// The time from its first packet on.
    Time(Nanos),
}

/// Which way packets go that are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directions {
    /// What the port receives.
    Received,
    /// What it sends.
    Sent,
    /// Both.
    Both,
}

impl Directions {
    fn include(self, direction: Direction) -> bool {
        match self {
            Self::Received => direction == Direction::Received,
            Self::Sent => direction == Direction::Sent,
            Self::Both => true,
        }
    }
}

/// What was counted so far. Packets that go the other way are not even seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaptureCounts {
    /// Packets that went past.
    pub seen: u64,
    /// Those that the filter let through.
    pub matched: u64,
    /// Those of them that were taken.
    pub captured: u64,
    /// Those of them for which the ring or the disk had no room.
    pub dropped: u64,
}

/// What came of a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureOutcome {
    /// The files that are left, oldest first.
    pub files: Vec<PathBuf>,
    /// Packets that went past.
    pub seen: u64,
    /// Those that the filter let through: `captured + dropped`.
    pub matched: u64,
    /// Those of them that were taken.
    pub captured: u64,
    /// Those of them for which the ring or the disk had no room.
    pub dropped: u64,
    /// Those captured that newer ones have displaced, and that are in no file any more.
    pub displaced: u64,
    /// Why the capture ended early, if it did.
    pub error: Option<String>,
}

/// Why a capture did not begin.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The filter is none.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The file can't be written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The thread that writes can't be started.
    #[error("the capture's thread can't be started: {0}")]
    Thread(io::Error),
}

impl CaptureError {
    /// Whether the user's input was at fault, and not the machine.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Thread(_))
    }
}

/// Begins to capture: opens the file and starts the thread that writes it. Returns a tap for each of `workers` workers.
pub fn start(options: &CaptureOptions, workers: usize) -> Result<(Vec<Tap>, CaptureWriter), CaptureError> {
    let compile = |text: &String| Filter::compile(text, options.snap_len).map(Arc::new);
    let filter = options.filter.as_ref().map(compile).transpose()?;
    let shared = Arc::new(Shared {
        state: AtomicU8::new(TAKING),
        written: AtomicU64::new(0),
        tallies: (0..workers).map(|_| Tally::default()).collect(),
    });
    let mut taps = Vec::new();
    let mut rings = Vec::new();
    for worker in 0..workers {
        let (sender, receiver) = port::bytes::byte_ring(options.ring_bytes);
        taps.push(Tap::new(sender, filter.clone(), options, shared.clone(), worker));
        rings.push(receiver);
    }
    Ok((taps, CaptureWriter::start(options, rings, shared)?))
}

/// Packets are taken.
const TAKING: u8 = 0;
/// They are not, for now.
const OFF: u8 = 1;
/// Nobody takes packets any more.
const ENDED: u8 = 2;

/// What taps and writer share.
struct Shared {
    /// What becomes of packets: [`TAKING`], [`OFF`] or [`ENDED`].
    state: AtomicU8,
    /// Packets that are where they belong, stored by the thread that writes.
    written: AtomicU64,
    /// One for each tap.
    tallies: Vec<Tally>,
}

/// A tap's counts, which only its worker stores.
#[derive(Default)]
#[repr(align(128))]
struct Tally {
    seen: AtomicU64,
    matched: AtomicU64,
    dropped: AtomicU64,
    /// Instant of the last packet that was offered, ns.
    latest: AtomicU64,
}

impl Shared {
    fn is_taking(&self) -> bool {
        self.state.load(Ordering::Relaxed) == TAKING
    }

    /// Takes packets from now on, or takes none; what has ended stays so.
    fn switch(&self, on: bool) {
        let (from, to) = if on { (OFF, TAKING) } else { (TAKING, OFF) };
        let _ = self.state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn end(&self) {
        self.state.store(ENDED, Ordering::Relaxed);
    }

    fn counts(&self) -> CaptureCounts {
        let sum = |number: fn(&Tally) -> &AtomicU64| -> u64 {
            self.tallies.iter().map(|tally| number(tally).load(Ordering::Relaxed)).sum()
        };
        // In this order no sum is less than its parts, even while traffic runs.
        let dropped = sum(|tally| &tally.dropped);
        let matched = sum(|tally| &tally.matched).max(dropped);
        let seen = sum(|tally| &tally.seen).max(matched);
        CaptureCounts { seen, matched, captured: matched - dropped, dropped }
    }

    fn latest(&self) -> Nanos {
        let latest = self.tallies.iter().map(|tally| tally.latest.load(Ordering::Relaxed));
        Nanos(latest.max().unwrap_or(0))
    }
}

/// What stands before a packet in a ring.
struct Head {
    at: Nanos,
    direction: Direction,
    original_len: u32,
    captured_len: u32,
}

impl Head {
    const LEN: usize = 16;
    /// In the captured length: the packet was sent.
    const SENT: u32 = 1 << 31;

    #[inline(always)]
    fn to_bytes(&self) -> [u8; Self::LEN] {
        let sent = if self.direction == Direction::Sent { Self::SENT } else { 0 };
        let numbers = u128::from(self.at.0)
            | u128::from(self.original_len) << 64
            | u128::from(self.captured_len | sent) << 96;
        numbers.to_ne_bytes()
    }

    #[inline(always)]
    fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let numbers = u128::from_ne_bytes(bytes);
        let len = (numbers >> 96) as u32;
        Self {
            at: Nanos(numbers as u64),
            direction: if len & Self::SENT != 0 { Direction::Sent } else { Direction::Received },
            original_len: (numbers >> 64) as u32,
            captured_len: len & !Self::SENT,
        }
    }
}

#[cfg(test)]
mod tests;
