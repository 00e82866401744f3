//! Figures of a result document, in columns: sums over streams, ports and sessions.
//!
//! Each column is defined once, below: the struct, the table in SQLite, CSV, Parquet and the documentation follow.
//!
//! Percentiles can't be added up: of several streams the column has the largest, an upper bound for all of them.

use result::{LatencyResult, Named, PacingResult, ResultDocument, SideResult};
use rusqlite::types::Value as Sql;
use schemars::JsonSchema;
use serde::Serialize;

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
    /// Description.
    pub about: &'static str,
}

macro_rules! figures {
    ($($name:ident: $kind:ident = $of:expr, $about:literal;)*) => {
        /// Summed-up figures of a result document. Absent means not measured.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
        pub struct Figures {
            $(#[doc = $about] #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<f64>,)*
        }

        impl Figures {
            /// The columns, in the order of the fields.
            pub const COLUMNS: &[Column] =
                &[$(Column { name: stringify!($name), kind: Kind::$kind, about: $about }),*];

            /// From a result document.
            pub fn new(result: &ResultDocument) -> Self {
                $(let $name: fn(&ResultDocument) -> Option<f64> = $of;)*
                Self { $($name: $name(result)),* }
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
    duration_s: Real = |r: &ResultDocument| Some(r.duration_s), "how long traffic was sent, s";
    requested_pps: Real = |r: &ResultDocument| every(&r.streams, |s| s.requested_pps), "requested load, packets/s; absent if a stream has none";
    offered_pps: Real = |r: &ResultDocument| sum(&r.streams, |s| Some(s.offered_pps)), "load sent, packets/s";
    rx_pps: Real = received_pps, "test packets received, packets/s";
    tx: Integer = |r: &ResultDocument| sum(&r.streams, |s| whole(s.tx)), "test packets sent";
    rx: Integer = |r: &ResultDocument| sum(&r.streams, |s| whole(s.rx?)), "test packets received, each once";
    lost: Integer = |r: &ResultDocument| sum(&r.streams, |s| whole(s.lost?)), "test packets sent and not received";
    loss_ratio: Real = loss_ratio, "lost / sent, over the streams whose arrivals were counted";
    duplicates: Integer = |r: &ResultDocument| sum(&r.streams, |s| whole(s.duplicates?)), "packets received again";
    reordered: Integer = |r: &ResultDocument| sum(&r.streams, |s| whole(s.reordered?)), "packets received after one sent later (RFC 4737)";
    tx_unsent: Integer = |r: &ResultDocument| sum(&r.ports, |p| whole(p.tx_unsent?)), "packets that were due and not sent";
    tx_bps_l1: Real = |r: &ResultDocument| sum(&r.ports, |p| Some(p.tx_bps_l1)), "bits/s sent, layer 1, all ports";
    rx_bps_l1: Real = |r: &ResultDocument| sum(&r.ports, |p| Some(p.rx_bps_l1)), "bits/s received, layer 1, all ports";
    latency_min_ns: Real = |r: &ResultDocument| least(&r.streams, |s| whole(s.latency_ns.as_ref()?.min)), "one-way delay, smallest, ns";
    latency_mean_ns: Real = mean_latency, "one-way delay, mean of all packets, ns";
    latency_p50_ns: Real = |r| latency(r, |l| l.p50), "one-way delay, median, ns; largest of the streams";
    latency_p90_ns: Real = |r| latency(r, |l| l.p90), "one-way delay, 90%, ns; largest of the streams";
    latency_p95_ns: Real = |r| latency(r, |l| l.p95), "one-way delay, 95%, ns; largest of the streams";
    latency_p99_ns: Real = |r| latency(r, |l| l.p99), "one-way delay, 99%, ns; largest of the streams";
    latency_p99_9_ns: Real = |r| latency(r, |l| l.p99_9), "one-way delay, 99.9%, ns; largest of the streams";
    latency_p99_99_ns: Real = |r| latency(r, |l| l.p99_99), "one-way delay, 99.99%, ns; largest of the streams";
    latency_max_ns: Real = |r| latency(r, |l| Some(l.max)), "one-way delay, largest, ns";
    latency_stddev_ns: Real = |r: &ResultDocument| most(&r.streams, |s| Some(s.latency_ns.as_ref()?.stddev)), "one-way delay, standard deviation, ns; largest of the streams";
    jitter_rfc3550_ns: Real = |r: &ResultDocument| most(&r.streams, |s| s.jitter_ns.as_ref()?.rfc3550), "smoothed jitter (RFC 3550), ns; largest of the streams";
    jitter_mean_ns: Real = |r: &ResultDocument| most(&r.streams, |s| Some(s.jitter_ns.as_ref()?.rfc4689_mean)), "mean jitter (RFC 4689), ns; largest of the streams";
    jitter_max_ns: Real = |r: &ResultDocument| most(&r.streams, |s| whole(s.jitter_ns.as_ref()?.rfc4689_max)), "largest jitter (RFC 4689), ns; largest of the streams";
    interarrival_mean_ns: Real = |r: &ResultDocument| most(&r.streams, |s| Some(s.interarrival_ns.as_ref()?.mean)), "time between arrivals, mean, ns; largest of the streams";
    interarrival_stddev_ns: Real = |r: &ResultDocument| most(&r.streams, |s| Some(s.interarrival_ns.as_ref()?.stddev)), "time between arrivals, standard deviation, ns; largest of the streams";
    interarrival_max_ns: Real = |r: &ResultDocument| most(&r.streams, |s| whole(s.interarrival_ns.as_ref()?.max)), "longest time between arrivals, ns; largest of the streams";
    gap_error_p99_ns: Real = |r| pacing(r, |p| p.error_p99 as f64), "error of the gaps between departures, 99%, ns; largest of the streams";
    back_to_back_ratio: Real = |r| pacing(r, |p| p.back_to_back_ratio), "share of packets that left back to back although a gap was scheduled; largest of the streams";
    late_max_ns: Real = |r| pacing(r, |p| p.late_max as f64), "longest delay of a departure behind its schedule, ns";
    sessions_attempted: Integer = |r: &ResultDocument| sum(&r.sessions, |s| whole(s.seen.attempted)), "sessions attempted";
    sessions_established: Integer = |r: &ResultDocument| sum(&r.sessions, |s| whole(s.seen.established)), "sessions established";
    sessions_completed: Integer = |r: &ResultDocument| sum(&r.sessions, |s| whole(s.seen.completed)), "sessions completed";
    sessions_failed: Integer = |r: &ResultDocument| sum(&r.sessions, |s| whole(s.seen.failed.values().sum())), "sessions failed, for any reason";
    sessions_active_max: Integer = |r: &ResultDocument| sum(&r.sessions, |s| whole(s.seen.active_max)), "most sessions open at once";
    open_per_s: Real = |r: &ResultDocument| sum(&r.sessions, |s| Some(s.seen.open_per_s)), "sessions opened per second";
    transactions_per_s: Real = |r: &ResultDocument| sum(&r.sessions, |s| Some(s.seen.transactions_per_s)), "transactions per second";
    goodput_bps: Real = |r: &ResultDocument| sum(&r.sessions, |s| Some(s.seen.rx_bps_goodput)), "application bits/s received";
    setup_p50_ns: Real = |r| times(r, |s| s.setup_ns.as_ref()?.p50), "connection set-up, median, ns";
    setup_p95_ns: Real = |r| times(r, |s| s.setup_ns.as_ref()?.p95), "connection set-up, 95%, ns";
    setup_p99_ns: Real = |r| times(r, |s| s.setup_ns.as_ref()?.p99), "connection set-up, 99%, ns";
    ttfb_p50_ns: Real = |r| times(r, |s| s.ttfb_ns.as_ref()?.p50), "time to first byte, median, ns";
    ttfb_p95_ns: Real = |r| times(r, |s| s.ttfb_ns.as_ref()?.p95), "time to first byte, 95%, ns";
    ttfb_p99_ns: Real = |r| times(r, |s| s.ttfb_ns.as_ref()?.p99), "time to first byte, 99%, ns";
    ttlb_p50_ns: Real = |r| times(r, |s| s.ttlb_ns.as_ref()?.p50), "time to last byte, median, ns";
    ttlb_p95_ns: Real = |r| times(r, |s| s.ttlb_ns.as_ref()?.p95), "time to last byte, 95%, ns";
    ttlb_p99_ns: Real = |r| times(r, |s| s.ttlb_ns.as_ref()?.p99), "time to last byte, 99%, ns";
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

fn whole(count: u64) -> Option<f64> {
    Some(count as f64)
}

fn sum<T>(rows: &Named<T>, of: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    rows.values().filter_map(of).reduce(|a, b| a + b)
}

fn most<T>(rows: &Named<T>, of: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    rows.values().filter_map(of).reduce(f64::max)
}

fn least<T>(rows: &Named<T>, of: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    rows.values().filter_map(of).reduce(f64::min)
}

/// The sum, if every row has the value.
fn every<T>(rows: &Named<T>, of: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    rows.values().map(of).reduce(|a, b| Some(a? + b?))?
}

fn latency(result: &ResultDocument, of: impl Fn(&LatencyResult) -> Option<u64>) -> Option<f64> {
    most(&result.streams, |stream| whole(of(stream.latency_ns.as_ref()?)?))
}

/// The largest of the streams'; with many streams only ports have it.
fn pacing(result: &ResultDocument, of: fn(&PacingResult) -> f64) -> Option<f64> {
    most(&result.streams, |stream| stream.pacing_ns.as_deref().map(of))
        .or_else(|| most(&result.ports, |port| port.pacing_ns.as_ref().map(of)))
}

fn times(result: &ResultDocument, of: impl Fn(&SideResult) -> Option<u64>) -> Option<f64> {
    most(&result.sessions, |entry| whole(of(&entry.seen)?))
}

fn received_pps(result: &ResultDocument) -> Option<f64> {
    let received = sum(&result.streams, |stream| whole(stream.rx?))?;
    (result.duration_s > 0.0).then(|| received / result.duration_s)
}

fn loss_ratio(result: &ResultDocument) -> Option<f64> {
    let counted = result.streams.values().filter_map(|stream| Some((stream.lost? as f64, stream.tx as f64)));
    let (lost, sent) = counted.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    Some(if sent > 0.0 { lost / sent } else { 0.0 })
}

fn mean_latency(result: &ResultDocument) -> Option<f64> {
    let latencies = result.streams.values().filter_map(|stream| stream.latency_ns.as_ref());
    let weighted = latencies.map(|latency| (latency.mean * latency.samples as f64, latency.samples as f64));
    let (total, samples) = weighted.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    (samples > 0.0).then(|| total / samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn figures(result: Value) -> Figures {
        Figures::new(&serde_json::from_value(result).unwrap())
    }

    #[test]
    fn streams_are_added_up() {
        let result = json!({"duration_s": 2.0, "streams": {
            "a": {"requested_pps": 10.0, "offered_pps": 9.0, "tx": 18, "rx": 9, "lost": 9,
                  "latency_ns": {"min": 5, "mean": 10.0, "p99": 30, "max": 40, "samples": 9}},
            "b": {"offered_pps": 1.0, "tx": 2, "rx": 1, "lost": 1,
                  "latency_ns": {"min": 4, "mean": 20.0, "p99": 25, "max": 60, "samples": 1}},
            "sent away": {"offered_pps": 50.0, "tx": 100}}});
        let figures = figures(result);
        assert_eq!((figures.offered_pps, figures.rx_pps), (Some(60.0), Some(5.0)));
        assert_eq!((figures.tx, figures.lost, figures.loss_ratio), (Some(120.0), Some(10.0), Some(0.5)));
        assert_eq!((figures.latency_min_ns, figures.latency_mean_ns), (Some(4.0), Some(11.0)));
        assert_eq!((figures.latency_p99_ns, figures.latency_max_ns), (Some(30.0), Some(60.0)));
        assert_eq!((figures.requested_pps, figures.latency_p50_ns, figures.reordered), (None, None, None));
    }

    #[test]
    fn failed_sessions_are_counted_over_all_reasons() {
        let result = json!({"sessions": {"web": {"attempted": 10, "failed": {"reset": 1, "timeout": 2}}}});
        let figures = figures(result);
        assert_eq!((figures.sessions_attempted, figures.sessions_failed), (Some(10.0), Some(3.0)));
    }

    #[test]
    fn nothing_measured_is_absent() {
        let figures = figures(json!({"duration_s": 1.0}));
        assert_eq!(figures.values().into_iter().flatten().collect::<Vec<_>>(), [1.0]);
    }
}
