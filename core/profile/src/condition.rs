//! Conditions on the result: the fields they can name, and how they are written.

use crate::document::session_text::session_rate;
use crate::plan::Comparison;
use std::str::FromStr;
use units::{BitRate, Nanos, Pps};

/// What a number of the result document counts, and so which units its bound may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Things.
    Count,
    /// A share, 0 to 1: `0.1%` or `0.001`.
    Ratio,
    /// Nanoseconds: `50us` or `50000`.
    Nanos,
    /// Packets per second: `1Mpps` or `1000000`.
    PacketRate,
    /// Bits per second: `1Gbps` or `1000000000`.
    BitRate,
    /// Sessions or transactions per second: `1000/s` or `1000`.
    SessionRate,
}

/// A number of the result document.
pub(crate) struct ResultField {
    /// Its path below the port, stream or sessions.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// Whether it is there for a stream without signature, or sessions whose clients are someone else's, too.
    pub(crate) unmeasured: bool,
}

const fn always(name: &'static str, unit: Unit) -> ResultField {
    ResultField { name, unit, unmeasured: true }
}

const fn measured(name: &'static str, unit: Unit) -> ResultField {
    ResultField { name, unit, unmeasured: false }
}

/// The numbers under `streams.<name>` in the result document.
pub(crate) const STREAM_FIELDS: &[ResultField] = &[
    always("requested_pps", Unit::PacketRate),
    always("offered_pps", Unit::PacketRate),
    always("tx", Unit::Count),
    measured("rx", Unit::Count),
    measured("lost", Unit::Count),
    measured("loss_ratio", Unit::Ratio),
    measured("duplicates", Unit::Count),
    measured("reordered", Unit::Count),
    measured("reorder_distance_max", Unit::Count),
    measured("stale", Unit::Count),
    measured("latency_ns.min", Unit::Nanos),
    measured("latency_ns.mean", Unit::Nanos),
    measured("latency_ns.stddev", Unit::Nanos),
    measured("latency_ns.p50", Unit::Nanos),
    measured("latency_ns.p90", Unit::Nanos),
    measured("latency_ns.p99", Unit::Nanos),
    measured("latency_ns.p99_9", Unit::Nanos),
    measured("latency_ns.p99_99", Unit::Nanos),
    measured("latency_ns.max", Unit::Nanos),
    measured("latency_ns.samples", Unit::Count),
    measured("jitter_ns.rfc3550", Unit::Nanos),
    measured("jitter_ns.rfc4689_mean", Unit::Nanos),
    measured("jitter_ns.rfc4689_max", Unit::Nanos),
    measured("interarrival_ns.min", Unit::Nanos),
    measured("interarrival_ns.mean", Unit::Nanos),
    measured("interarrival_ns.stddev", Unit::Nanos),
    measured("interarrival_ns.max", Unit::Nanos),
    always("pacing_ns.error_p50", Unit::Nanos),
    always("pacing_ns.error_p99", Unit::Nanos),
    always("pacing_ns.error_p99_9", Unit::Nanos),
    always("pacing_ns.back_to_back_ratio", Unit::Ratio),
    always("pacing_ns.late_max", Unit::Nanos),
];

/// The numbers under `sessions.<name>` in the result document. Measured ones are the clients'.
pub(crate) const SESSION_FIELDS: &[ResultField] = &[
    measured("attempted", Unit::Count),
    always("established", Unit::Count),
    always("completed", Unit::Count),
    always("failed_ratio", Unit::Ratio),
    always("active", Unit::Count),
    always("active_max", Unit::Count),
    measured("open_per_s", Unit::SessionRate),
    always("transactions", Unit::Count),
    always("transactions_per_s", Unit::SessionRate),
    always("rx_bps_goodput", Unit::BitRate),
    always("tx_bps_goodput", Unit::BitRate),
    always("retransmitted_segments", Unit::Count),
    measured("setup_ns.min", Unit::Nanos),
    measured("setup_ns.mean", Unit::Nanos),
    measured("setup_ns.stddev", Unit::Nanos),
    measured("setup_ns.p50", Unit::Nanos),
    measured("setup_ns.p90", Unit::Nanos),
    measured("setup_ns.p99", Unit::Nanos),
    measured("setup_ns.p99_9", Unit::Nanos),
    measured("setup_ns.p99_99", Unit::Nanos),
    measured("setup_ns.max", Unit::Nanos),
    measured("setup_ns.samples", Unit::Count),
    measured("ttfb_ns.min", Unit::Nanos),
    measured("ttfb_ns.mean", Unit::Nanos),
    measured("ttfb_ns.stddev", Unit::Nanos),
    measured("ttfb_ns.p50", Unit::Nanos),
    measured("ttfb_ns.p90", Unit::Nanos),
    measured("ttfb_ns.p99", Unit::Nanos),
    measured("ttfb_ns.p99_9", Unit::Nanos),
    measured("ttfb_ns.p99_99", Unit::Nanos),
    measured("ttfb_ns.max", Unit::Nanos),
    measured("ttfb_ns.samples", Unit::Count),
    measured("ttlb_ns.min", Unit::Nanos),
    measured("ttlb_ns.mean", Unit::Nanos),
    measured("ttlb_ns.stddev", Unit::Nanos),
    measured("ttlb_ns.p50", Unit::Nanos),
    measured("ttlb_ns.p90", Unit::Nanos),
    measured("ttlb_ns.p99", Unit::Nanos),
    measured("ttlb_ns.p99_9", Unit::Nanos),
    measured("ttlb_ns.p99_99", Unit::Nanos),
    measured("ttlb_ns.max", Unit::Nanos),
    measured("ttlb_ns.samples", Unit::Count),
];

/// The numbers under `ports.<name>` in the result document.
pub(crate) const PORT_FIELDS: &[ResultField] = &[
    always("tx_packets", Unit::Count),
    always("tx_bytes", Unit::Count),
    always("rx_packets", Unit::Count),
    always("rx_bytes", Unit::Count),
    always("tx_unsent", Unit::Count),
    always("tx_pps", Unit::PacketRate),
    always("rx_pps", Unit::PacketRate),
    always("tx_bps_l1", Unit::BitRate),
    always("rx_bps_l1", Unit::BitRate),
    always("rx_other", Unit::Count),
    always("tx_answers", Unit::Count),
    always("pacing_ns.error_p50", Unit::Nanos),
    always("pacing_ns.error_p99", Unit::Nanos),
    always("pacing_ns.error_p99_9", Unit::Nanos),
    always("pacing_ns.back_to_back_ratio", Unit::Ratio),
    always("pacing_ns.late_max", Unit::Nanos),
];

/// A comparison and its bound, as written: `< 0.1%`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    pub(crate) comparison: Comparison,
    bound: f64,
    /// The unit the author wrote; `None` for a plain number.
    unit: Option<Unit>,
    pub(crate) text: String,
}

impl Condition {
    /// The bound in the result document's own unit, if what was written fits a field of `unit`.
    pub(crate) fn bound_for(&self, unit: Unit) -> Result<f64, String> {
        let wanted = match unit {
            _ if self.unit.is_none_or(|written| written == unit) => return Ok(self.bound),
            Unit::Count => "a plain number such as '== 0'",
            Unit::Ratio => "a share such as '< 0.1%'",
            Unit::Nanos => "a duration such as '<= 50us'",
            Unit::PacketRate => "a packet rate such as '>= 1Mpps'",
            Unit::BitRate => "a bit rate such as '>= 1Gbps'",
            Unit::SessionRate => "a rate such as '>= 1000/s'",
        };
        Err(format!("'{}' does not fit this field; it is compared with {wanted}", self.text))
    }
}

impl FromStr for Condition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        const COMPARISONS: [(&str, Comparison); 5] = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("==", Comparison::Equal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let trimmed = text.trim();
        let (sign, comparison) = COMPARISONS.iter().find(|(sign, _)| trimmed.starts_with(sign)).ok_or(())?;
        let (bound, unit) = bound(trimmed[sign.len()..].trim()).ok_or(())?;
        Ok(Self { comparison: *comparison, bound, unit, text: text.to_owned() })
    }
}

fn bound(text: &str) -> Option<(f64, Option<Unit>)> {
    let percent = || text.strip_suffix('%').and_then(plain_number).map(|n| (n / 100.0, Some(Unit::Ratio)));
    let nanos = || text.parse::<Nanos>().ok().map(|ns| (ns.0 as f64, Some(Unit::Nanos)));
    let pps = || text.parse::<Pps>().ok().map(|pps| (pps.as_f64(), Some(Unit::PacketRate)));
    let bps = || text.parse::<BitRate>().ok().map(|rate| (rate.bps as f64, Some(Unit::BitRate)));
    let per_s = || session_rate(text).map(|rate| (rate.as_f64(), Some(Unit::SessionRate)));
    plain_number(text)
        .map(|n| (n, None))
        .or_else(percent)
        .or_else(nanos)
        .or_else(pps)
        .or_else(bps)
        .or_else(per_s)
}

/// A decimal such as `0.001`, `1e6` or `-2`; neither `inf` nor `nan`.
fn plain_number(text: &str) -> Option<f64> {
    let first = text.chars().next()?;
    if !(first.is_ascii_digit() || first == '-') {
        return None;
    }
    text.trim_end().parse().ok().filter(|n: &f64| n.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_comparison_and_unit() {
        for (text, comparison, unit, bound) in [
            ("< 0.1%", Comparison::Less, Unit::Ratio, 0.001),
            ("<0.001", Comparison::Less, Unit::Ratio, 0.001),
            ("<= 50us", Comparison::AtMost, Unit::Nanos, 50_000.0),
            (">= 1Mpps", Comparison::AtLeast, Unit::PacketRate, 1e6),
            ("> 2.5Gbps", Comparison::Greater, Unit::BitRate, 2.5e9),
            ("== 0", Comparison::Equal, Unit::Count, 0.0),
        ] {
            let condition: Condition = text.parse().unwrap();
            assert_eq!(condition.comparison, comparison, "{text}");
            assert!((condition.bound_for(unit).unwrap() - bound).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_condition_or_the_wrong_unit() {
        for text in ["0.1%", "< ", "= 3", "!= 0", "< inf", "< nan", "< 3 parsecs", ""] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
        assert!("< 5us".parse::<Condition>().unwrap().bound_for(Unit::Ratio).is_err());
    }
}
