//! State shared by the thread and its owner.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// Reports of the thread, and requests to it.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) ends: AtomicBool,
    /// Frames of the namespace that found the ring to the port full.
    pub(super) full: AtomicU64,
    /// Frames to the namespace that the kernel did not take.
    pub(super) refused: AtomicU64,
}
