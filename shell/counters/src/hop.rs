//! The interface between a poller and a hop's counters.

use crate::reading::Reading;

/// Depth of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// All counters.
    Full,
    /// Only cheap counters, while traffic runs.
    Light,
}

/// Reads a hop's counters.
pub(crate) trait Reader: Send {
    /// Reads the counters; the caller sets the reading's time. The error is the hop's message.
    fn read(&mut self, depth: Depth) -> Result<Reading, String>;

    /// Whether the hop caches values, so that a reading can be old.
    fn is_cached(&self) -> bool;

    /// Number of network requests sent so far.
    fn requests_sent(&self) -> u64;
}
