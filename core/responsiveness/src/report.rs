//! The result of a test, in words and numbers.

use crate::Latency;
use serde::Serialize;

/// Which way the load goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Downloads.
    FromServer,
    /// Uploads.
    ToServer,
    /// Both at the same time.
    Both,
}

impl Direction {
    /// In a few words.
    pub fn name(self) -> &'static str {
        match self {
            Self::FromServer => "from the server",
            Self::ToServer => "to the server",
            Self::Both => "both ways",
        }
    }
}

/// Confidence in a figure (section "Confidence of Test-Results").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The test ended before there were as many intervals as a moving average has.
    Low,
    /// There were enough, but the figure was not stable.
    Medium,
    /// It was stable.
    High,
}

impl Confidence {
    /// As a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    pub(crate) fn of(is_stable: bool, intervals: usize, needed: usize) -> Self {
        match (is_stable, intervals < needed) {
            (true, _) => Self::High,
            (false, true) => Self::Low,
            (false, false) => Self::Medium,
        }
    }
}

/// The document's four categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rating {
    /// 300 round trips per minute or fewer: 200 ms.
    Poor,
    /// Below 1,000: 60 ms.
    Fair,
    /// Below 6,000: 10 ms.
    Good,
    /// 6,000 or more.
    Excellent,
}

impl Rating {
    /// Of round trips per minute.
    pub fn of(rpm: f64) -> Self {
        match rpm {
            rpm if rpm <= 300.0 => Self::Poor,
            rpm if rpm < 1000.0 => Self::Fair,
            rpm if rpm < 6000.0 => Self::Good,
            _ => Self::Excellent,
        }
    }

    /// As a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Poor => "poor",
            Self::Fair => "fair",
            Self::Good => "good",
            Self::Excellent => "excellent",
        }
    }
}

/// Latency of the path without load, from probes on separate connections, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Idle {
    /// Number of probes.
    pub probes: usize,
    /// TCP handshake, ms.
    pub tcp_ms: Option<f64>,
    /// Round trip of the TLS handshake, ms. Absent without TLS.
    pub tls_ms: Option<f64>,
    /// Request, ms.
    pub http_ms: Option<f64>,
    /// Round trips per minute.
    pub rpm: Option<f64>,
}

/// An interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interval {
    /// Its end, s since the load began.
    pub at_s: f64,
    /// Connections from the server and to it.
    pub connections: usize,
    /// Goodput from the server, bits/s. Absent if nothing was loaded this way.
    pub from_server_bps: Option<f64>,
    /// Goodput to the server, bits/s. Absent if nothing was loaded this way.
    pub to_server_bps: Option<f64>,
    /// Probes on separate connections that ended.
    pub foreign_probes: usize,
    /// Probes on load-generating connections that ended.
    pub loaded_probes: usize,
    /// Responsiveness of the last intervals, round trips per minute: up to as many as a moving average has, none from
    /// before goodput was stable. Absent until then.
    pub rpm: Option<f64>,
}

/// Result of a test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Result {
    /// Which way the load went.
    pub direction: Direction,
    /// Responsiveness, and the times it consists of.
    #[serde(flatten)]
    pub latency: Latency,
    /// The category of the responsiveness.
    pub rating: Option<Rating>,
    /// Goodput from the server: moving average at the end, bits/s.
    pub from_server_bps: Option<f64>,
    /// Goodput to the server: moving average at the end, bits/s.
    pub to_server_bps: Option<f64>,
    /// Connections at the end.
    pub connections: usize,
    /// Confidence in the goodput.
    pub goodput_confidence: Confidence,
    /// Confidence in the responsiveness.
    pub responsiveness_confidence: Confidence,
    /// Length of the test, s.
    pub seconds: f64,
    /// Probes on separate connections that ended, in the whole test.
    pub foreign_probes: usize,
    /// Probes on load-generating connections that ended, in the whole test.
    pub loaded_probes: usize,
    /// Probes without a response when the test ended.
    pub unfinished_probes: usize,
    /// Probes that failed.
    pub failed_probes: usize,
    /// 95th percentile of the time by which this program came late to send a probe, ms.
    pub late_ms: f64,
    /// Limit of the result, if it was this host.
    pub limited_by: Option<String>,
    /// Why the test ended before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The intervals.
    pub intervals: Vec<Interval>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_begin_where_the_document_says() {
        let names = |rpm: &[f64]| rpm.iter().map(|rpm| Rating::of(*rpm).name()).collect::<Vec<_>>();
        assert_eq!(names(&[10.0, 300.0, 301.0, 999.0]), ["poor", "poor", "fair", "fair"]);
        assert_eq!(names(&[1000.0, 5999.0, 6000.0]), ["good", "good", "excellent"]);
    }
}
