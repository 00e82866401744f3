//! What a result document says, in columns: sums over streams, ports and sessions.
//!
//! Each column is defined once, below: the struct, the table in SQLite, CSV, Parquet and the documentation follow.
//!
//! Percentiles can't be added up: of several streams the column has the largest, an upper bound for all of them.

use rusqlite::types::Value as Sql;
use serde::Serialize;
use serde_json::Value;

/// How a column's numbers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// Whole.
    Integer,
    /// Any.
    Real,
    /// Yes or no.
    Boolean,
}

/// A column of the trials' table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name, with the unit as suffix.
    pub name: &'static str,
    /// How its values are kept.
    pub kind: Kind,
    /// What it means.
    pub about: &'static str,
}

macro_rules! figures {
    ($($name:ident: $kind:ident = $of:expr, $about:literal;)*) => {
        /// What a result document says, summed up. Absent means not measured.
        #[derive(Debug, Clone, Default, PartialEq, Serialize)]
        pub struct Figures {
            $(#[doc = $about] #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<f64>,)*
        }

        impl Figures {
            /// The columns, in the order of the fields.
            pub const COLUMNS: &[Column] =
                &[$(Column { name: stringify!($name), kind: Kind::$kind, about: $about }),*];

            /// From a result document.
            pub fn new(result: &Value) -> Self {
                Self { $($name: $of(result)),* }
            }

            /// The values, in the order of [`Figures::COLUMNS`].
            pub fn values(&self) -> Vec<Option<f64>> {
                vec![$(self.$name),*]
            }

            pub(crate) fn from_values(mut next: impl FnMut() -> Option<f64>) -> Self {
                Self { $($name: next()),* }
            }
        }
    };
}

figures! {
    duration_s: Real = |r: &Value| r["duration_s"].as_f64(), "how long traffic was sent, s";
    requested_pps: Real = |r| every(r, "streams", "requested_pps"), "load asked for, packets/s; absent if a stream has none";
    offered_pps: Real = |r| sum(r, "streams", "offered_pps"), "load sent, packets/s";
    rx_pps: Real = received_pps, "test packets received, packets/s";
    tx: Integer = |r| sum(r, "streams", "tx"), "test packets sent";
    rx: Integer = |r| sum(r, "streams", "rx"), "test packets received, each once";
    lost: Integer = |r| sum(r, "streams", "lost"), "test packets sent and not received";
    loss_ratio: Real = loss_ratio, "lost / sent, over the streams whose arrivals were counted";
    duplicates: Integer = |r| sum(r, "streams", "duplicates"), "packets received again";
    reordered: Integer = |r| sum(r, "streams", "reordered"), "packets received after one sent later (RFC 4737)";
    tx_unsent: Integer = |r| sum(r, "ports", "tx_unsent"), "packets that were due and not sent";
    tx_bps_l1: Real = |r| sum(r, "ports", "tx_bps_l1"), "bits/s sent, layer 1, all ports";
    rx_bps_l1: Real = |r| sum(r, "ports", "rx_bps_l1"), "bits/s received, layer 1, all ports";
    latency_min_ns: Real = |r| least(r, "streams", "latency_ns.min"), "one-way delay, smallest, ns";
    latency_mean_ns: Real = mean_latency, "one-way delay, mean of all packets, ns";
    latency_p50_ns: Real = |r| most(r, "streams", "latency_ns.p50"), "one-way delay, median, ns; largest of the streams";
    latency_p90_ns: Real = |r| most(r, "streams", "latency_ns.p90"), "one-way delay, 90%, ns; largest of the streams";
    latency_p99_ns: Real = |r| most(r, "streams", "latency_ns.p99"), "one-way delay, 99%, ns; largest of the streams";
    latency_p99_9_ns: Real = |r| most(r, "streams", "latency_ns.p99_9"), "one-way delay, 99.9%, ns; largest of the streams";
    latency_p99_99_ns: Real = |r| most(r, "streams", "latency_ns.p99_99"), "one-way delay, 99.99%, ns; largest of the streams";
    latency_max_ns: Real = |r| most(r, "streams", "latency_ns.max"), "one-way delay, largest, ns";
    jitter_mean_ns: Real = |r| most(r, "streams", "jitter_ns.rfc4689_mean"), "mean jitter (RFC 4689), ns; largest of the streams";
    sessions_attempted: Integer = |r| sum(r, "sessions", "attempted"), "sessions attempted";
    sessions_established: Integer = |r| sum(r, "sessions", "established"), "sessions established";
    sessions_completed: Integer = |r| sum(r, "sessions", "completed"), "sessions completed";
    sessions_failed: Integer = sessions_failed, "sessions failed, for any reason";
    sessions_active_max: Integer = |r| sum(r, "sessions", "active_max"), "most sessions open at once";
    open_per_s: Real = |r| sum(r, "sessions", "open_per_s"), "sessions opened per second";
    transactions_per_s: Real = |r| sum(r, "sessions", "transactions_per_s"), "transactions per second";
    goodput_bps: Real = |r| sum(r, "sessions", "rx_bps_goodput"), "application bits/s received";
    setup_p50_ns: Real = |r| most(r, "sessions", "setup_ns.p50"), "connection set-up, median, ns";
    setup_p99_ns: Real = |r| most(r, "sessions", "setup_ns.p99"), "connection set-up, 99%, ns";
    ttfb_p50_ns: Real = |r| most(r, "sessions", "ttfb_ns.p50"), "time to first byte, median, ns";
    ttfb_p99_ns: Real = |r| most(r, "sessions", "ttfb_ns.p99"), "time to first byte, 99%, ns";
    ttlb_p50_ns: Real = |r| most(r, "sessions", "ttlb_ns.p50"), "time to last byte, median, ns";
    ttlb_p99_ns: Real = |r| most(r, "sessions", "ttlb_ns.p99"), "time to last byte, 99%, ns";
}

impl Column {
    /// The value as SQLite keeps it.
    pub(crate) fn sql(&self, value: Option<f64>) -> Sql {
        match value {
            None => Sql::Null,
            Some(value) if self.kind == Kind::Integer => Sql::Integer(value as i64),
            Some(value) => Sql::Real(value),
        }
    }
}

/// A number at a path like `latency_ns.p50`.
pub(crate) fn number(value: &Value, path: &str) -> Option<f64> {
    path.split('.').try_fold(value, |value, key| value.get(key))?.as_f64()
}

/// The members of a part of the document.
pub(crate) fn members<'a>(
    result: &'a Value,
    part: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    result.get(part).and_then(Value::as_object).into_iter().flatten()
}

fn all<'a>(result: &'a Value, part: &str, path: &'a str) -> impl Iterator<Item = f64> + 'a {
    members(result, part).filter_map(move |(_, member)| number(member, path))
}

fn sum(result: &Value, part: &str, path: &str) -> Option<f64> {
    all(result, part, path).reduce(|a, b| a + b)
}

fn most(result: &Value, part: &str, path: &str) -> Option<f64> {
    all(result, part, path).reduce(f64::max)
}

fn least(result: &Value, part: &str, path: &str) -> Option<f64> {
    all(result, part, path).reduce(f64::min)
}

/// The sum, if every member has the value.
fn every(result: &Value, part: &str, path: &str) -> Option<f64> {
    members(result, part).map(|(_, member)| number(member, path)).reduce(|a, b| Some(a? + b?))?
}

fn received_pps(result: &Value) -> Option<f64> {
    let seconds = result["duration_s"].as_f64().filter(|s| *s > 0.0)?;
    Some(sum(result, "streams", "rx")? / seconds)
}

fn loss_ratio(result: &Value) -> Option<f64> {
    let counted = members(result, "streams")
        .filter_map(|(_, s)| Some((number(s, "lost")?, number(s, "tx")?)))
        .reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    Some(if counted.1 > 0.0 { counted.0 / counted.1 } else { 0.0 })
}

fn mean_latency(result: &Value) -> Option<f64> {
    let weighted = members(result, "streams").filter_map(|(_, s)| {
        let samples = number(s, "latency_ns.samples")?;
        Some((number(s, "latency_ns.mean")? * samples, samples))
    });
    let (total, samples) = weighted.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    (samples > 0.0).then(|| total / samples)
}

fn sessions_failed(result: &Value) -> Option<f64> {
    let failed = members(result, "sessions").filter_map(|(_, s)| {
        let failed = s.get("failed")?;
        let reasons = || failed.as_object().map(|all| all.values().filter_map(Value::as_f64).sum());
        failed.as_f64().or_else(reasons)
    });
    failed.reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn streams_are_added_up() {
        let result = json!({"duration_s": 2.0, "streams": {
            "a": {"requested_pps": 10.0, "offered_pps": 9.0, "tx": 18, "rx": 9, "lost": 9,
                  "latency_ns": {"min": 5, "mean": 10.0, "p99": 30, "max": 40, "samples": 9}},
            "b": {"offered_pps": 1.0, "tx": 2, "rx": 1, "lost": 1,
                  "latency_ns": {"min": 4, "mean": 20.0, "p99": 25, "max": 60, "samples": 1}},
            "sent away": {"offered_pps": 50.0, "tx": 100}}});
        let figures = Figures::new(&result);
        assert_eq!((figures.offered_pps, figures.rx_pps), (Some(60.0), Some(5.0)));
        assert_eq!((figures.tx, figures.lost, figures.loss_ratio), (Some(120.0), Some(10.0), Some(0.5)));
        assert_eq!((figures.latency_min_ns, figures.latency_mean_ns), (Some(4.0), Some(11.0)));
        assert_eq!((figures.latency_p99_ns, figures.latency_max_ns), (Some(30.0), Some(60.0)));
        assert_eq!((figures.requested_pps, figures.latency_p50_ns, figures.reordered), (None, None, None));
    }

    #[test]
    fn failed_sessions_are_counted_over_all_reasons() {
        let result = json!({"sessions": {"web": {"attempted": 10, "failed": {"reset": 1, "timeout": 2}}}});
        let figures = Figures::new(&result);
        assert_eq!((figures.sessions_attempted, figures.sessions_failed), (Some(10.0), Some(3.0)));
    }

    #[test]
    fn what_is_no_result_has_no_figures() {
        for nothing in [json!(null), json!([]), json!({"streams": []}), json!({"streams": {"a": 7}})] {
            assert!(Figures::new(&nothing).values().iter().all(Option::is_none), "{nothing}");
        }
    }
}
