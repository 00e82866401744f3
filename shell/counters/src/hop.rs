//! What a poller needs of a hop, whatever its counters are read by.

use crate::reading::Reading;

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// All there is.
    Full,
    /// What is cheap, while traffic runs.
    Light,
}

/// Reads a hop's counters.
pub(crate) trait Reader: Send {
    /// Reads now; the reading's instant is the caller's to fill in. The error says what the hop said.
    fn read(&mut self, depth: Depth) -> Result<Reading, String>;

    /// Whether what is read may be older than the question.
    fn is_late(&self) -> bool;

    /// Requests sent over the network so far.
    fn asked(&self) -> u64;
}
