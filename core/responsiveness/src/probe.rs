//! From probes to round trips per minute (section "Aggregating the Measurements").

use serde::Serialize;

/// Milliseconds in a minute.
const MINUTE_MS: f64 = 60_000.0;

/// A probe that has ended, ms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Probe {
    /// On a new connection.
    Foreign {
        /// TCP's handshake.
        tcp_ms: f64,
        /// A round trip of TLS's handshake; none without TLS.
        tls_ms: Option<f64>,
        /// From the request to the end of its response.
        http_ms: f64,
    },
    /// On a load-generating connection: from the request to the end of its response.
    Loaded {
        /// That time.
        http_ms: f64,
    },
}

/// Mean of the values without the largest ones: of 100 and `keep` 0.95 without five.
pub fn trimmed_mean(values: impl IntoIterator<Item = f64>, keep: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    // Half a value's rounding error is no value.
    let kept = ((values.len() as f64 * keep + 1e-9) as usize).max(1).min(values.len());
    let kept = &values[..kept];
    (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
}

/// Trimmed means of probes, ms, and the round trips per minute that follow from them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Latency {
    /// TCP handshakes of separate connections.
    pub tcp_ms: Option<f64>,
    /// Round trips of TLS handshakes of separate connections. Absent without TLS.
    pub tls_ms: Option<f64>,
    /// Requests on separate connections.
    pub http_ms: Option<f64>,
    /// Requests on load-generating connections.
    pub loaded_http_ms: Option<f64>,
    /// Round trips per minute on separate connections.
    pub foreign_rpm: Option<f64>,
    /// Round trips per minute on load-generating connections.
    pub loaded_rpm: Option<f64>,
    /// Responsiveness: the mean of both.
    pub rpm: Option<f64>,
}

impl Latency {
    /// Of probes.
    pub fn of(probes: &[Probe], keep: f64) -> Self {
        let foreign = |time: fn(f64, Option<f64>, f64) -> Option<f64>| {
            let times = probes.iter().filter_map(|probe| match *probe {
                Probe::Foreign { tcp_ms, tls_ms, http_ms } => time(tcp_ms, tls_ms, http_ms),
                Probe::Loaded { .. } => None,
            });
            trimmed_mean(times, keep)
        };
        let loaded = probes.iter().filter_map(|probe| match *probe {
            Probe::Loaded { http_ms } => Some(http_ms),
            Probe::Foreign { .. } => None,
        });
        let (tcp_ms, tls_ms) = (foreign(|tcp, _, _| Some(tcp)), foreign(|_, tls, _| tls));
        let (http_ms, loaded_http_ms) = (foreign(|_, _, http| Some(http)), trimmed_mean(loaded, keep));
        // Each part of a connection has the same weight; without TLS there are two.
        let parts: Vec<f64> = [tcp_ms, tls_ms, http_ms].into_iter().flatten().collect();
        let per_minute = |ms: f64| (ms > 0.0).then(|| MINUTE_MS / ms);
        let foreign_rpm =
            (!parts.is_empty()).then(|| parts.iter().sum::<f64>() / parts.len() as f64).and_then(per_minute);
        let loaded_rpm = loaded_http_ms.and_then(per_minute);
        let rpm = foreign_rpm.zip(loaded_rpm).map(|(foreign, loaded)| f64::midpoint(foreign, loaded));
        Self { tcp_ms, tls_ms, http_ms, loaded_http_ms, foreign_rpm, loaded_rpm, rpm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_left_out() {
        let values = (1..=20).map(f64::from);
        assert_eq!(trimmed_mean(values.clone(), 0.95), Some(10.0), "without 20");
        assert_eq!(trimmed_mean(values, 1.0), Some(10.5));
        assert_eq!(trimmed_mean([7.0], 0.95), Some(7.0));
        assert_eq!(trimmed_mean([], 0.95), None);
    }

    #[test]
    fn responsiveness_with_tls_is_the_documents_formula() {
        let probes = [
            Probe::Foreign { tcp_ms: 10.0, tls_ms: Some(20.0), http_ms: 30.0 },
            Probe::Loaded { http_ms: 60.0 },
        ];
        let latency = Latency::of(&probes, 0.95);
        assert_eq!((latency.foreign_rpm, latency.loaded_rpm), (Some(3000.0), Some(1000.0)));
        assert_eq!(latency.rpm, Some(2000.0));
    }

    #[test]
    fn without_tls_two_parts_have_half_the_weight_each() {
        let probes =
            [Probe::Foreign { tcp_ms: 10.0, tls_ms: None, http_ms: 30.0 }, Probe::Loaded { http_ms: 60.0 }];
        let latency = Latency::of(&probes, 0.95);
        assert_eq!((latency.tls_ms, latency.foreign_rpm, latency.rpm), (None, Some(3000.0), Some(2000.0)));
    }

    #[test]
    fn one_kind_of_probe_alone_is_no_responsiveness() {
        let latency = Latency::of(&[Probe::Loaded { http_ms: 60.0 }], 0.95);
        assert_eq!((latency.loaded_rpm, latency.foreign_rpm, latency.rpm), (Some(1000.0), None, None));
        assert_eq!(Latency::of(&[], 0.95), Latency::default());
    }
}
