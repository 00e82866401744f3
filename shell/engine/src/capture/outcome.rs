//! Counters, files and errors of a capture.

use filter::FilterError;
use std::io;
use std::path::PathBuf;

/// Counters so far. Packets of the other direction are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CaptureCounts {
    /// Packets that went past.
    pub seen: u64,
    /// Those that the filter let through.
    pub matched: u64,
    /// Those of them that were taken.
    pub captured: u64,
    /// Those of them for which the ring or the disk had no room.
    pub dropped: u64,
}

/// Outcome of a capture.
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
        match self {
            Self::Filter(error) => error.is_bad_input,
            Self::File { .. } => true,
            Self::Thread(_) => false,
        }
    }
}
