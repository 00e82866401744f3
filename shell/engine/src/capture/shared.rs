//! State shared by the taps and the writer of a capture.

use super::outcome::CaptureCounts;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use units::Nanos;

/// Packets are taken.
const TAKING: u8 = 0;
/// They are not, for now.
const OFF: u8 = 1;
/// Nobody takes packets any more.
const ENDED: u8 = 2;

/// State shared by taps and writer.
pub(super) struct Shared {
    /// Mode: [`TAKING`], [`OFF`] or [`ENDED`].
    state: AtomicU8,
    /// Packets that are where they belong, stored by the thread that writes.
    pub(super) written: AtomicU64,
    /// One for each tap.
    pub(super) tallies: Vec<Tally>,
}

/// A tap's counts, which only its worker stores.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Tally {
    pub(super) seen: AtomicU64,
    pub(super) matched: AtomicU64,
    pub(super) dropped: AtomicU64,
    /// Instant of the last packet that was offered, ns.
    pub(super) latest: AtomicU64,
}

impl Shared {
    pub(super) fn new(taps: usize) -> Self {
        Self {
            state: AtomicU8::new(TAKING),
            written: AtomicU64::new(0),
            tallies: (0..taps).map(|_| Tally::default()).collect(),
        }
    }

    pub(super) fn is_taking(&self) -> bool {
        self.state.load(Ordering::Relaxed) == TAKING
    }

    /// Takes packets from now on, or takes none; what has ended stays so.
    pub(super) fn switch(&self, on: bool) {
        let (from, to) = if on { (OFF, TAKING) } else { (TAKING, OFF) };
        let _ = self.state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.state.store(ENDED, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> CaptureCounts {
        let sum = |number: fn(&Tally) -> &AtomicU64| -> u64 {
            self.tallies.iter().map(|tally| number(tally).load(Ordering::Relaxed)).sum()
        };
        // In this order no sum is less than its parts, even while traffic runs.
        let dropped = sum(|tally| &tally.dropped);
        let matched = sum(|tally| &tally.matched).max(dropped);
        let seen = sum(|tally| &tally.seen).max(matched);
        CaptureCounts { seen, matched, captured: matched - dropped, dropped }
    }

    pub(super) fn latest(&self) -> Nanos {
        let latest = self.tallies.iter().map(|tally| tally.latest.load(Ordering::Relaxed));
        Nanos(latest.max().unwrap_or(0))
    }
}
