//! Parameters of the method, with the document's defaults.

use serde::Serialize;

/// Octets that a probe on a separate connection takes, and one on a load-generating connection.
const FOREIGN_PROBE: f64 = 5000.0;
const LOADED_PROBE: f64 = 1000.0;
/// Least pairs of probes per second, however slow the path.
const LEAST_PAIRS: f64 = 0.5;

/// Parameters of a test. In the document they are in the section "Test Parameters".
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parameters {
    /// MAD: intervals of a moving average.
    pub average_intervals: usize,
    /// ID: length of an interval, s.
    pub interval_s: f64,
    /// TMP: share of the probes that remains after the slowest are left out.
    pub trimmed_mean: f64,
    /// SDT: share of the current value below which a standard deviation is stable.
    pub tolerance: f64,
    /// INP: connections at the beginning.
    pub initial_connections: usize,
    /// INC: connections added in each interval.
    pub added_connections: usize,
    /// MNP: most connections in a direction.
    pub most_connections: usize,
    /// MPS: most probes per second, of both kinds together.
    pub probes_per_second: f64,
    /// PTC: largest share of the goodput that probes take.
    pub probe_share: f64,
    /// Longest test, s.
    pub time_s: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            average_intervals: 4,
            interval_s: 5.0,
            trimmed_mean: 0.95,
            tolerance: 0.05,
            initial_connections: 1,
            added_connections: 1,
            most_connections: 16,
            probes_per_second: 100.0,
            probe_share: 0.05,
            time_s: 60.0,
        }
    }
}

impl Parameters {
    /// With intervals of 1 s, as in the document's revisions up to 08, and a test of 20 s at most.
    pub fn quick() -> Self {
        Self { interval_s: 1.0, time_s: 20.0, ..Self::default() }
    }

    /// Pairs of probes – one on a separate, one on a load-generating connection – per second at a goodput, bits/s.
    pub fn pairs_per_second(&self, goodput_bps: f64) -> f64 {
        let affordable = goodput_bps / 8.0 * self.probe_share / (FOREIGN_PROBE + LOADED_PROBE);
        affordable.min(self.probes_per_second / 2.0).max(LEAST_PAIRS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_take_a_twentieth_at_most() {
        let parameters = Parameters::default();
        // 20 Mbit/s: 125,000 octets/s for pairs of 6,000.
        assert!((parameters.pairs_per_second(20e6) - 125_000.0 / 6000.0).abs() < 1e-9);
        // 100 probes per second are 300 KB/s, as the document says.
        assert_eq!(parameters.pairs_per_second(1e9), 50.0);
        assert_eq!(parameters.pairs_per_second(0.0), LEAST_PAIRS);
    }
}
