//! Names, types, units and meanings of all metrics: queries depend on them. A test compares `docs/metrics.md`.
//!
//! Base units: packets, bytes, seconds, ratios from 0 to 1. Not here: where the figures come from.

/// Type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// Only grows, until the run ends.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// Metrics of one name.
#[derive(Debug)]
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

/// All families, in the order of the output.
pub(crate) const FAMILIES: &[Family] = &[
    gauge("build_info", "", "Always 1; labels give the versions."),
    gauge("runs", "", "Listed runs, by state."),
    gauge("campaigns", "", "Listed campaigns, by state."),
    gauge("leases", "", "Active leases."),
    gauge("lease_remaining", "seconds", "Time until the lease of a port expires, unless it is renewed."),
    gauge("run_info", "", "Always 1; labels give the run's name, holder and, for a campaign, method."),
    gauge("run_state", "", "1 for the current state of a run, 0 for the others."),
    gauge("run_elapsed", "seconds", "Time since traffic started; for a campaign, of the running trial."),
    gauge("run_duration", "seconds", "Planned duration of a run's traffic."),
    gauge("run_valid", "", "1 if the result of an ended run is valid, else 0."),
    gauge("run_latency", "seconds", "Latency of all streams in the last 0.1 s, by statistic."),
    gauge("campaign_progress", "ratio", "Completed share of the running part of a campaign."),
    counter("campaign_trials", "", "Completed trials of a campaign."),
    counter("port_tx", "packets", "Packets sent on a port."),
    counter("port_tx", "bytes", "Bytes sent on a port, with FCS."),
    counter("port_rx", "packets", "Packets received on a port."),
    counter("port_rx", "bytes", "Bytes received on a port, with FCS."),
    counter(
        "port_rx_other",
        "packets",
        "Packets received on a port that belong to no stream or session of the run.",
    ),
    counter("port_tx_unsent", "packets", "Packets that were due on a port and not sent."),
    counter("port_tx_errors", "", "Frames that the driver of a port accepted and did not send, by reason."),
    counter("port_rx_errors", "", "Received frames that were dropped or not counted, by reason."),
    counter("stream_tx", "packets", "Packets sent by a stream."),
    counter("stream_rx", "packets", "Packets received of a stream."),
    gauge(
        "stream_lost",
        "packets",
        "Packets of a stream sent and not received; those on the way count until they arrive.",
    ),
    counter("stream_duplicate", "packets", "Duplicate packets received of a stream."),
    counter("stream_reordered", "packets", "Packets of a stream received after one sent later."),
    gauge("stream_latency", "seconds", "Latency of a stream since the start of traffic, by statistic."),
    gauge("streams_summed", "", "Streams of a run that are summed as stream=\"(others)\"."),
    gauge("sessions_active", "", "Open sessions."),
    counter("sessions_established", "", "Established sessions."),
    counter("sessions_completed", "", "Completed sessions."),
    counter("sessions_failed", "", "Failed sessions."),
    counter("sessions_failures", "", "Failed sessions, by reason."),
    counter(
        "sessions_transactions",
        "",
        "Responses that sessions received; for external clients, responses sent.",
    ),
    gauge("worker_busy", "ratio", "Busy share of a worker in the last 0.1 s."),
];

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
        for family in FAMILIES {
            assert!(["", "packets", "bytes", "seconds", "ratio"].contains(&family.unit), "{}", family.name);
            assert!(family.help.ends_with('.'), "{}", family.name);
        }
    }
}
