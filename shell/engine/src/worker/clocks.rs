//! The workers' clock beside one of the kernel's or of a card, which stamps arrivals and which a time daemon may steer or set.

use port::{Clock, KernelClock};
use units::Nanos;

/// Time for which a comparison of the clocks is good: a time daemon steers by 500 ppm at most, 50 ns in this time.
const COMPARE_EVERY: Nanos = Nanos::from_micros(100);
/// Comparisons take at most one part in this many of the time.
const COST_PER: u64 = 50;
/// Readings from which the tightest is taken, and a window that needs no other.
const READINGS: usize = 8;
const TIGHT_NS: u64 = 200;

/// The two clocks.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Lead of the workers' clock, ns.
    pub(super) ahead: i64,
    /// Maximum error of it since the previous comparison, ns.
    pub(super) error_ns: u64,
    /// When to compare them again; zero: they were not yet.
    pub(super) next: Nanos,
}

impl Clocks {
    /// Compares the two if that was some time ago.
    pub(super) fn compare<C: Clock>(&mut self, clock: &C, other: KernelClock) {
        let mut before = clock.now();
        let is_first = self.next == Nanos::ZERO;
        if before < self.next {
            return;
        }
        let mut best = None;
        for _ in 0..READINGS {
            let Some(read) = clock.kernel_ns(other) else { break };
            let after = clock.now();
            let window = after.since(before).0;
            if best.is_none_or(|(tightest, _)| window < tightest) {
                best = Some((window, (before.0 + window / 2).wrapping_sub(read) as i64));
            }
            before = after;
            if window <= TIGHT_NS {
                break;
            }
        }
        let Some((window, ahead)) = best else { return };
        // What lay between the comparisons was converted by the one before.
        let moved = if is_first { 0 } else { ahead.abs_diff(self.ahead) };
        // A card's clock takes some microseconds to read.
        let pause = COMPARE_EVERY.max(Nanos(window.saturating_mul(READINGS as u64 * COST_PER)));
        *self = Self { ahead, error_ns: window.div_ceil(2) + moved, next: before.saturating_add(pause) };
    }

    pub(super) fn convert(&self, read: u64) -> Nanos {
        Nanos(read.saturating_add_signed(self.ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A clock whose reading takes 40 ns, and another beside it.
    struct Pair {
        now: Cell<u64>,
        behind: Cell<u64>,
        /// Interruptions between two readings yet to come.
        interrupted: Cell<u32>,
    }

    impl Clock for Pair {
        fn now(&self) -> Nanos {
            self.now.set(self.now.get() + 40);
            Nanos(self.now.get())
        }

        fn kernel_ns(&self, _: KernelClock) -> Option<u64> {
            let lost = if self.interrupted.get() > 0 { 1_000_000 } else { 0 };
            self.interrupted.set(self.interrupted.get().saturating_sub(1));
            self.now.set(self.now.get() + lost + 40);
            Some(self.now.get() - self.behind.get())
        }
    }

    #[test]
    fn clocks_are_compared_again_and_again() {
        let pair = Pair { now: Cell::new(1_000_000), behind: Cell::new(5_000), interrupted: Cell::new(2) };
        let mut clocks = Clocks::default();
        clocks.compare(&pair, KernelClock::REALTIME);
        assert!(clocks.error_ns <= 100, "{clocks:?}");
        assert!(clocks.convert(2_000_000).0.abs_diff(2_005_000) <= clocks.error_ns);
        // Steered by 300 ns; seen once the comparison is old.
        pair.behind.set(5_300);
        clocks.compare(&pair, KernelClock::REALTIME);
        assert!(clocks.convert(2_000_000).0.abs_diff(2_005_000) <= 100);
        pair.now.set(pair.now.get() + 100_000);
        clocks.compare(&pair, KernelClock::REALTIME);
        assert!((300..=400).contains(&clocks.error_ns), "{clocks:?}");
        assert!(clocks.convert(2_000_000).0.abs_diff(2_005_300) <= 100);
    }
}
