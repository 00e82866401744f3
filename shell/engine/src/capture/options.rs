//! Source and destination of a capture.

use pcap::Direction;
use std::path::PathBuf;
use units::Nanos;

/// Packets of a port to capture, and the destination.
#[derive(Debug, Clone)]
pub(crate) struct CaptureOptions {
    /// The port's name, as files show it.
    pub interface: String,
    /// The file. A file that is there is written over.
    pub path: PathBuf,
    /// Part of each packet that is kept.
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
    /// Whole packets of both directions into one file, 16 MiB for each ring, with the workers' timestamps.
    pub(crate) fn new(interface: impl Into<String>, path: impl Into<PathBuf>) -> Self {
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

/// Part of each packet that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All, in one file.
    All,
    /// All in one file after the other: `name_00001.pcapng`, …
    Rotate {
        /// Limit of a file.
        every: Every,
        /// Number of files that are left at the end: the last ones. `None` is all of them.
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

/// Limit of a file. A file has one packet at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Every {
    /// Its size, bytes, without the statistics at its end.
    Bytes(u64),
    /// The time from its first packet on.
    Time(Nanos),
}

/// Which way packets go that are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directions {
    /// Received packets.
    Received,
    /// Sent packets.
    Sent,
    /// Both.
    Both,
}

impl Directions {
    pub(super) fn include(self, direction: Direction) -> bool {
        match self {
            Self::Received => direction == Direction::Received,
            Self::Sent => direction == Direction::Sent,
            Self::Both => true,
        }
    }
}
