//! Counters of workers, and their sums.

pub(crate) mod interval;
pub(crate) mod sessions;
