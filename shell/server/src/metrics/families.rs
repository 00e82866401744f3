//! Names, types, units and meanings of all metrics: queries depend on them. A test compares `docs/metrics.md`.
//!
//! Base units: packets, bytes, seconds, ratios from 0 to 1. A field of a result is marked as exported in its
//! definition. Not here: where the figures come from.

use result::{Numbers, PortResult, Segment, Series, SessionResult, StreamResult, Unit, fields};
use std::sync::LazyLock;

/// Base units, as the last part of a name.
const UNITS: [&str; 4] = ["packets", "bytes", "seconds", "ratio"];

/// Type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// Only grows, until the run ends.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts of values by size, which only grow until the run ends.
    Histogram,
}

/// Metrics of one name.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    /// Without the prefix `eagre_`, the unit and, for counters, `_total`.
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    /// The name's last part, or nothing.
    pub(crate) unit: &'static str,
    pub(crate) help: &'static str,
}

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: MetricKind::Counter, unit, help }
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: MetricKind::Gauge, unit, help }
}

const fn histogram(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: MetricKind::Histogram, unit, help }
}

/// Families of the server, its jobs and what it derives.
const OWN: &[Family] = &[
    gauge("build_info", "", "Always 1; labels give the versions. `dpdk` is empty until a port opens DPDK."),
    gauge("runs", "", "Listed runs, by state."),
    gauge("campaigns", "", "Listed campaigns, by state."),
    gauge("leases", "", "Active leases."),
    gauge("lease_remaining", "seconds", "Time until the lease of a port expires, unless it is renewed."),
    gauge("agent_up", "", "1 while an agent of a fleet is connected, 0 once it is lost."),
    gauge(
        "agent_info",
        "",
        "Always 1; labels give the version of a connected agent and the source of its clock.",
    ),
    gauge("agent_ports", "", "Ports that a connected agent lends."),
    gauge("agent_runs", "", "Active runs on a connected agent, of all controllers."),
    gauge("run_info", "", "Always 1; labels give the run's name, holder and, for a campaign, method."),
    gauge("run_state", "", "1 for the current state of a run, 0 for the others."),
    gauge("run_elapsed", "seconds", "Time since traffic started; for a campaign, of the running trial."),
    gauge("run_duration", "seconds", "Planned duration of a run's traffic."),
    gauge("run_valid", "", "1 if the result of an ended run is valid, else 0."),
    gauge("run_latency", "seconds", "Latency of all streams in the last 0.1 s, by statistic."),
    histogram("latency", "seconds", "Latency of all streams since traffic started."),
    gauge("campaign_progress", "ratio", "Completed share of the running part of a campaign."),
    counter("campaign_trials", "", "Completed trials of a campaign."),
    gauge("worker_busy", "ratio", "Busy share of a worker in the last 0.1 s."),
    gauge("streams_summed", "", "Streams of a run that are summed as stream=\"(others)\"."),
    gauge("sessions_active", "", "Open sessions."),
    counter("sessions_failed", "", "Failed sessions."),
];

/// All families, in the order of the output: the server's own families, then the families of ports, streams and
/// sessions, which the results' fields define.
pub(crate) static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let of_results = [series::<PortResult>(), series::<StreamResult>(), series::<SessionResult>()];
    let mut all = OWN.to_vec();
    for one in of_results.iter().flatten() {
        let family = one.family();
        if !all.iter().any(|known| known.name == family.name && known.unit == family.unit) {
            all.push(family);
        }
    }
    all
});

/// A number of a result that is exported.
#[derive(Debug, Clone)]
pub(crate) struct Exported {
    /// Its path below the port, stream or entry; of counters by name, that of them all.
    pub(crate) path: String,
    /// Whether it is counters by name.
    pub(crate) by_reason: bool,
    /// Value of the label `statistic`, if it is one of several.
    pub(crate) statistic: Option<&'static str>,
    /// Divisor that converts its samples to the base unit.
    pub(crate) divisor: f64,
    series: Series,
    about: &'static str,
}

impl Exported {
    fn family(&self) -> Family {
        let (name, unit) = match self.series.name.rsplit_once('_') {
            Some((name, unit)) if UNITS.contains(&unit) => (name, unit),
            _ => (self.series.name, ""),
        };
        let kind = if self.series.grows { MetricKind::Counter } else { MetricKind::Gauge };
        Family { name, kind, unit, help: self.about.trim() }
    }

    pub(crate) fn full_name(&self) -> String {
        self.family().full_name()
    }

    pub(crate) fn grows(&self) -> bool {
        self.series.grows
    }
}

/// Exported numbers of a part of a result. The numbers of its details, which belong to the same series, are left out.
pub(crate) fn series<T: Numbers>() -> Vec<Exported> {
    let mut all: Vec<Exported> = Vec::new();
    for field in fields::<T>() {
        let Some(series) = field.series else { continue };
        let by_reason = matches!(field.segments.last(), Some(Segment::Key(_)));
        let is_statistic = field.about != field.series_about;
        let statistic = match field.segments.last() {
            Some(Segment::Name(name)) if is_statistic => Some(*name),
            _ => None,
        };
        if is_statistic && field.unit != Unit::Nanos
            || all.iter().any(|one| (one.series, one.statistic) == (series, statistic))
        {
            continue;
        }
        let path = field.below(0);
        let path = match path.rsplit_once('.') {
            Some((counters, _)) if by_reason => counters.to_owned(),
            _ => path,
        };
        let divisor = if field.unit == Unit::Nanos { 1e9 } else { 1.0 };
        all.push(Exported { path, by_reason, statistic, divisor, series, about: field.series_about });
    }
    all
}

impl Family {
    /// Name of the samples.
    pub(crate) fn full_name(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!("_{}", self.unit) };
        let total = if self.kind == MetricKind::Counter { "_total" } else { "" };
        format!("eagre_{}{unit}{total}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different_and_of_base_units() {
        let mut names: Vec<String> = FAMILIES.iter().map(Family::full_name).collect();
        assert!(names.contains(&"eagre_port_tx_packets_total".to_owned()));
        assert!(names.contains(&"eagre_stream_latency_seconds".to_owned()));
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        for family in FAMILIES.iter() {
            assert!(family.unit.is_empty() || UNITS.contains(&family.unit), "{}", family.name);
            assert!(family.help.ends_with('.'), "{}", family.name);
        }
    }

    #[test]
    fn what_a_field_says_is_exported() {
        let of_streams = series::<StreamResult>();
        let p99 = of_streams.iter().find(|one| one.statistic == Some("p99")).unwrap();
        assert_eq!(
            (p99.full_name().as_str(), p99.path.as_str()),
            ("eagre_stream_latency_seconds", "latency_ns.p99")
        );
        assert!(of_streams.iter().all(|one| one.statistic != Some("samples")));
        let of_sessions = series::<SessionResult>();
        let failures: Vec<_> = of_sessions.iter().filter(|one| one.by_reason).map(|one| &one.path).collect();
        assert_eq!(failures, ["failed"]);
        for one in [series::<PortResult>(), of_streams, of_sessions].iter().flatten() {
            assert_eq!(one.divisor > 1.0, one.family().unit == "seconds", "{}", one.path);
        }
    }
}
