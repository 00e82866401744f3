//! What the thread and its owner share.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// What the thread has to say, and is told.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) ends: AtomicBool,
    /// Frames of the namespace that found the ring to the port full.
    pub(super) full: AtomicU64,
    /// Frames to the namespace that the kernel did not take.
    pub(super) refused: AtomicU64,
}
