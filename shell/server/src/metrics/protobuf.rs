//! Samples as messages of Prometheus (`io.prometheus.client`, metrics.proto of client_model), each after its length. In text,
//! native histograms have no spelling that all readers know.
//!
//! Not here: what is measured, and how values are put into buckets.

use super::families::{FAMILIES, MetricKind};
use super::histogram::{self, SCHEMA};
use super::samples::{Figure, Samples};
use engine::Distribution;
use prost::Message;

/// `MetricType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum Kind {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    #[prost(enumeration = "Kind", optional, tag = "3")]
    kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Value>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Value>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// `Gauge` and `Counter`.
#[derive(Clone, Copy, PartialEq, Message)]
struct Value {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

/// Values up to this count as zero, as in Prometheus's own libraries: 2^-128 s.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

/// All families that have samples.
pub(super) fn encode(samples: &Samples) -> Vec<u8> {
    let mut bytes = Vec::new();
    for family in FAMILIES.iter() {
        let name = family.full_name();
        let metric: Vec<Metric> =
            samples.of(&name).map(|(labels, figure)| metric(labels, figure, family.kind)).collect();
        if metric.is_empty() {
            continue;
        }
        let kind = match family.kind {
            MetricKind::Counter => Kind::Counter,
            MetricKind::Gauge => Kind::Gauge,
            MetricKind::Histogram => Kind::Histogram,
        };
        let family = MetricFamily { name, help: family.help.to_owned(), kind: Some(kind.into()), metric };
        bytes.extend_from_slice(&family.encode_length_delimited_to_vec());
    }
    bytes
}

fn metric(labels: &[(&'static str, String)], figure: &Figure, kind: MetricKind) -> Metric {
    let pair =
        |(name, value): &(&'static str, String)| LabelPair { name: (*name).to_owned(), value: value.clone() };
    let one = Metric { label: labels.iter().map(pair).collect(), ..Metric::default() };
    let value = |value| Some(Value { value: Some(value) });
    match (figure, kind) {
        (Figure::Buckets(latency), _) => Metric { histogram: Some(of_latency(latency)), ..one },
        (Figure::Count(count), _) => Metric { counter: value(*count as f64), ..one },
        (Figure::Value(number), MetricKind::Counter) => Metric { counter: value(*number), ..one },
        (Figure::Value(number), _) => Metric { gauge: value(*number), ..one },
    }
}

/// With classic and native buckets: a reader takes those it knows.
fn of_latency(latency: &Distribution) -> Histogram {
    let mut all = 0;
    let classic = histogram::classic(latency).into_iter().filter(|(bound, _)| bound.is_finite());
    let bucket = classic.map(|(bound, count)| {
        all += count;
        Bucket { cumulative_count: Some(all), upper_bound: Some(bound) }
    });
    let bucket = bucket.collect();
    let native = histogram::native(latency);
    let (mut spans, mut deltas): (Vec<BucketSpan>, Vec<i64>) = (Vec::new(), Vec::new());
    let (mut next, mut last) = (0, 0);
    for (index, count) in native.buckets {
        match spans.last_mut() {
            Some(span) if index == next => span.length = span.length.map(|length| length + 1),
            // The first offset is an index, the others are gaps.
            _ => spans.push(BucketSpan { offset: Some(index - next), length: Some(1) }),
        }
        deltas.push(count as i64 - last);
        (next, last) = (index + 1, count as i64);
    }
    Histogram {
        sample_count: Some(latency.count),
        sample_sum: Some(latency.sum_ns / 1e9),
        bucket,
        schema: Some(SCHEMA),
        zero_threshold: Some(ZERO_THRESHOLD),
        zero_count: Some(native.zeros),
        positive_span: spans,
        positive_delta: deltas,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_follow_each_other_with_their_lengths() {
        let mut samples = Samples::default();
        samples.count("eagre_port_tx_packets_total", &[("run", "a"), ("port", "west")], 7);
        samples.value("eagre_leases", &[], 2.0);
        let buckets = vec![(0, 0, 1), (1_000, 1_003, 4), (1_004, 1_007, 1), (40_000, 40_100, 2)];
        samples.histogram(
            "eagre_latency_seconds",
            &[("run", "a")],
            Distribution { count: 8, sum_ns: 85e3, buckets },
        );
        let bytes = encode(&samples);
        let mut rest = bytes.as_slice();
        let mut families = Vec::new();
        while !rest.is_empty() {
            families.push(MetricFamily::decode_length_delimited(&mut rest).unwrap());
        }
        let one = |name: &str| families.iter().find(|family| family.name == name).unwrap();
        assert_eq!(families.len(), 3);
        assert_eq!(one("eagre_port_tx_packets_total").metric[0].counter.unwrap().value, Some(7.0));
        assert_eq!(one("eagre_leases").kind(), Kind::Gauge);
        let histogram = one("eagre_latency_seconds").metric[0].histogram.clone().unwrap();
        assert_eq!((histogram.sample_count, histogram.zero_count), (Some(8), Some(1)));
        // 1 µs is in bucket ceil(8 log2 1e-6) = -159, 40 µs in -116, 42 buckets further.
        let spans: Vec<_> =
            histogram.positive_span.iter().map(|span| (span.offset(), span.length())).collect();
        assert_eq!((spans, histogram.positive_delta), (vec![(-159, 1), (42, 1)], vec![5, -3]));
        let counts: Vec<u64> = histogram.bucket.iter().map(Bucket::cumulative_count).collect();
        assert_eq!((counts[0], counts[1], *counts.last().unwrap()), (5, 6, 8));
    }
}
