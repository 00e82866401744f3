//! How well the clocks of two machines are compared: by messages there and back, and by their kernels' states. The third method, by the
//! test packets themselves, is in the crate `clocks`.
//!
//! Not here: reading clocks.

use serde::{Deserialize, Serialize};

/// How a clock was compared with the controller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// `shared`, `exchange` or `kernel`.
    pub method: &'static str,
    /// The clock minus the controller's, ns.
    pub offset_ns: i64,
    /// Bound on the error of that, ns.
    pub uncertainty_ns: u64,
    /// Shortest round trip of messages, ns.
    pub round_trip_ns: u64,
}

impl Comparison {
    /// Of a process on the controller's machine.
    pub const SHARED: Self = Self { method: "shared", offset_ns: 0, uncertainty_ns: 0, round_trip_ns: 0 };
    /// Name of the method of test packets.
    pub(crate) const PACKETS: &'static str = "packets";

    /// The better of two. Messages bound the offset whatever the network does; what a kernel states counts if it agrees.
    #[must_use]
    pub fn or(self, kernel: Option<Self>) -> Self {
        let agrees = |kernel: &Self| {
            self.offset_ns.abs_diff(kernel.offset_ns)
                <= self.uncertainty_ns.saturating_add(kernel.uncertainty_ns)
        };
        let better = kernel.filter(|kernel| kernel.uncertainty_ns < self.uncertainty_ns && agrees(kernel));
        better.map_or(self, |kernel| Self { round_trip_ns: self.round_trip_ns, ..kernel })
    }
}

/// A machine's monotonic clock beside its time of day, and how far the kernel states that this is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTime {
    /// CLOCK_MONOTONIC, ns.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME at the same instant, ns since 1970.
    pub real_ns: u64,
    /// Time between the readings around it, ns.
    pub window_ns: u64,
    /// Largest error of CLOCK_REALTIME, ns: `maxerror` of adjtimex(2), which a daemon of NTP or PTP maintains.
    pub error_max_ns: u64,
}

impl KernelTime {
    /// The clock of `other` against this one, both being synchronized with the same time.
    pub fn compare(&self, other: &Self) -> Comparison {
        let ahead = |time: &Self| i128::from(time.monotonic_ns) - i128::from(time.real_ns);
        Comparison {
            method: "kernel",
            offset_ns: i64::try_from(ahead(other) - ahead(self)).unwrap_or(i64::MAX),
            uncertainty_ns: [self.window_ns, other.window_ns, self.error_max_ns, other.error_max_ns]
                .iter()
                .fold(0, |sum, ns| sum.saturating_add(*ns)),
            round_trip_ns: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sequence of numbers from 0 to 1 that a seed gives.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }

        fn between(&mut self, least: f64, most: f64) -> f64 {
            least + (most - least) * self.next()
        }
    }

    #[test]
    fn kernels_count_if_they_agree_and_are_better() {
        let exchange =
            Comparison { method: "exchange", offset_ns: 1_000, uncertainty_ns: 500, round_trip_ns: 1_000 };
        let kernel = |offset_ns, uncertainty_ns| {
            Some(Comparison { method: "kernel", offset_ns, uncertainty_ns, round_trip_ns: 0 })
        };
        assert_eq!(exchange.or(None), exchange);
        assert_eq!(exchange.or(kernel(1_200, 600)), exchange);
        let better = exchange.or(kernel(1_200, 100));
        assert_eq!((better.method, better.offset_ns, better.round_trip_ns), ("kernel", 1_200, 1_000));
        // A daemon that is wrong about itself.
        assert_eq!(exchange.or(kernel(2_000, 100)), exchange);
    }

    #[test]
    fn kernels_of_synchronized_machines_bound_the_offset() {
        let mut numbers = Numbers(3);
        for _ in 0..1_000 {
            let (offset, now) = (numbers.between(-1e12, 1e12) as i64, 1_800_000_000_000_000_000u64);
            let mut machine = |monotonic: i64| {
                let error_max_ns = numbers.between(1.0, 1e6) as u64;
                let error = numbers.between(-1.0, 1.0) * error_max_ns as f64;
                let real_ns = now.saturating_add_signed(error as i64);
                KernelTime { monotonic_ns: monotonic as u64, real_ns, window_ns: 50, error_max_ns }
            };
            let (own, other) = (machine(5_000_000_000_000), machine(5_000_000_000_000 + offset));
            let found = own.compare(&other);
            assert!(found.offset_ns.abs_diff(offset) <= found.uncertainty_ns, "{found:?} {offset}");
        }
    }
}
