//! When blocks are due.

use units::Nanos;

/// A rate of blocks.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Nanoseconds from a burst to the next one.
    interval: f64,
    burst: u64,
}

impl Pace {
    /// This number of bits per second in blocks of this number of octets, `burst` together.
    pub fn new(bits_per_second: u64, block: u32, burst: u32) -> Self {
        let burst = u64::from(burst.max(1));
        let interval = burst as f64 * f64::from(block) * 8e9 / bits_per_second.max(1) as f64;
        Self { interval, burst }
    }

    /// Blocks that should have left by now.
    pub fn due(&self, elapsed: Nanos) -> u64 {
        // Casts of floats to integers saturate.
        ((elapsed.0 as f64 / self.interval) as u64).saturating_add(1).saturating_mul(self.burst)
    }

    /// When the block after this many is due.
    pub fn at(&self, sent: u64) -> Nanos {
        Nanos(((sent / self.burst) as f64 * self.interval).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_due_at_their_rate() {
        let pace = Pace::new(8_000_000, 1000, 1);
        assert_eq!((pace.due(Nanos(0)), pace.due(Nanos(999_999)), pace.due(Nanos(1_000_000))), (1, 1, 2));
        assert_eq!(
            (pace.at(0), pace.at(1), pace.at(1000)),
            (Nanos(0), Nanos(1_000_000), Nanos(1_000_000_000))
        );
        let bursts = Pace::new(8_000_000, 1000, 10);
        assert_eq!((bursts.due(Nanos(0)), bursts.at(9), bursts.at(10)), (10, Nanos(0), Nanos(10_000_000)));
        for sent in (0..5_000).step_by(7) {
            assert!(pace.due(pace.at(sent)) > sent);
        }
    }
}
