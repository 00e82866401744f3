//! Samples by family, and their text in OpenMetrics or the older text format.
//!
//! Not here: what is measured.

use super::families::{FAMILIES, Family, MetricKind};
use super::histogram::classic;
use engine::Distribution;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::NoLabelSet;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Names and values.
type Labels = Vec<(&'static str, String)>;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Figure {
    Count(u64),
    Value(f64),
    Buckets(Distribution),
}

/// All samples of a scrape, by full name.
#[derive(Debug, Default)]
pub(crate) struct Samples(BTreeMap<String, Vec<(Labels, Figure)>>);

impl Samples {
    /// A sample of a counter; `name` is a full one.
    pub(crate) fn count(&mut self, name: &str, labels: &[(&'static str, &str)], count: u64) {
        self.put(name, labels, Figure::Count(count));
    }

    /// A sample of a gauge; `name` is a full one.
    pub(crate) fn value(&mut self, name: &str, labels: &[(&'static str, &str)], value: f64) {
        self.put(name, labels, Figure::Value(value));
    }

    /// A sample of a histogram of times; `name` is a full one, in seconds.
    pub(crate) fn histogram(&mut self, name: &str, labels: &[(&'static str, &str)], times: Distribution) {
        self.put(name, labels, Figure::Buckets(times));
    }

    /// Samples of a family, by its full name.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = (&[(&'static str, String)], &Figure)> {
        self.0.get(name).into_iter().flatten().map(|(labels, figure)| (labels.as_slice(), figure))
    }

    fn put(&mut self, name: &str, labels: &[(&'static str, &str)], figure: Figure) {
        debug_assert!(FAMILIES.iter().any(|family| family.full_name() == name), "{name} is not a family");
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.0.entry(name.to_owned()).or_default().push((labels, figure));
    }

    /// OpenMetrics 1.0.
    pub(crate) fn open_metrics(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("eagre");
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

impl Collector for Samples {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in FAMILIES.iter() {
            self.encode_family(family, &mut encoder)?;
        }
        Ok(())
    }
}

impl Samples {
    fn encode_family(&self, family: &Family, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let unit = Some(family.unit).filter(|unit| !unit.is_empty()).map(|unit| Unit::Other(unit.to_owned()));
        let kind = match family.kind {
            MetricKind::Counter => ConstCounter::new(0_u64).metric_type(),
            MetricKind::Gauge => ConstGauge::new(0.0_f64).metric_type(),
            MetricKind::Histogram => MetricType::Histogram,
        };
        let mut encoder = encoder.encode_descriptor(family.name, family.help, unit.as_ref(), kind)?;
        for (labels, figure) in self.0.get(&family.full_name()).into_iter().flatten() {
            match (figure, labels.is_empty()) {
                (Figure::Buckets(times), _) => {
                    let mut encoder = encoder.encode_family(labels)?;
                    let (sum, buckets) = (times.sum_ns / 1e9, classic(times));
                    encoder.encode_histogram::<NoLabelSet>(sum, times.count, &buckets, None)?;
                }
                (Figure::Count(count), false) => {
                    ConstCounter::new(*count).encode(encoder.encode_family(labels)?)?;
                }
                (Figure::Value(value), false) => {
                    ConstGauge::new(*value).encode(encoder.encode_family(labels)?)?
                }
                // Families without labels have one sample.
                (Figure::Value(value), true) => return ConstGauge::new(*value).encode(encoder),
                (Figure::Count(count), true) => return ConstCounter::new(*count).encode(encoder),
            }
        }
        Ok(())
    }
}

/// The text format 0.0.4: a counter's family has the name of its samples; there are no units and no end marker.
pub(crate) fn plain(open_metrics: &str) -> String {
    let mut counters = Vec::new();
    for line in open_metrics.lines() {
        if let Some(name) = line.strip_prefix("# TYPE ").and_then(|rest| rest.strip_suffix(" counter")) {
            counters.push(name);
        }
    }
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
        let described = line.strip_prefix("# HELP ").or(line.strip_prefix("# TYPE "));
        let name = described.and_then(|rest| rest.split(' ').next()).filter(|name| counters.contains(name));
        // Writing to a String does not fail.
        let _ = match name {
            Some(name) => writeln!(text, "{}", line.replacen(name, &format!("{name}_total"), 1)),
            None => writeln!(text, "{line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples {
        let mut samples = Samples::default();
        samples.count("eagre_port_tx_packets_total", &[("run", "a\"b"), ("port", "west")], 7);
        samples.value("eagre_leases", &[], 2.0);
        samples.value(
            "eagre_stream_latency_seconds",
            &[("run", "a"), ("stream", "s"), ("statistic", "p50")],
            1.5e-6,
        );
        samples
    }

    #[test]
    fn open_metrics_is_written() {
        let text = samples().open_metrics().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.contains(&"# TYPE eagre_port_tx_packets counter"), "{text}");
        assert!(lines.contains(&"eagre_port_tx_packets_total{run=\"a\\\"b\",port=\"west\"} 7"), "{text}");
        assert!(lines.contains(&"eagre_leases 2.0"), "{text}");
        assert!(lines.contains(&"# UNIT eagre_stream_latency_seconds seconds"), "{text}");
        assert_eq!(lines.last(), Some(&"# EOF"));
    }

    #[test]
    fn the_older_format_names_counters_like_their_samples() {
        let text = plain(&samples().open_metrics().unwrap());
        assert!(text.contains("# TYPE eagre_port_tx_packets_total counter\n"), "{text}");
        assert!(text.contains("# TYPE eagre_leases gauge\n"), "{text}");
        assert!(!text.contains("# UNIT") && !text.contains("# EOF"), "{text}");
    }
}
