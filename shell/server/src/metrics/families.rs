//! Names, types, units and meanings of all metrics: a promise to whoever wrote queries. `docs/metrics.md` is compared to it.
//!
//! Base units throughout: packets, bytes, seconds, ratios from 0 to 1. Not here: where the figures come from.

/// What a family's samples do over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only grow, until the run ends.
    Counter,
    /// Go up and down.
    Gauge,
}

/// Metrics of one name.
#[derive(Debug)]
pub(crate) struct Family {
    /// Without the prefix `eagre_`, the unit and, for counters, `_total`.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The name's last part, or nothing.
    pub(crate) unit: &'static str,
    pub(crate) help: &'static str,
}

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Counter, unit, help }
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Gauge, unit, help }
}

/// All of them, in the order they are written.
pub(crate) const FAMILIES: &[Family] = &[
    gauge("build_info", "", "1; which version this is."),
    gauge("runs", "", "Runs this server remembers, by state."),
    gauge("campaigns", "", "Campaigns this server remembers, by state."),
    gauge("leases", "", "Leases of ports."),
    gauge("lease_remaining", "seconds", "Time until a port's lease ends unless it is renewed."),
    gauge("run_info", "", "1; what a run is called, who started it, and the method if it is a campaign."),
    gauge("run_state", "", "1 for the state a run is in, 0 for the others."),
    gauge("run_elapsed", "seconds", "Time since traffic started; of a campaign, of its trial."),
    gauge("run_duration", "seconds", "How long a run is to send."),
    gauge("run_valid", "", "1 if an ended run's result is valid, 0 if it is not."),
    gauge("run_latency", "seconds", "Latency of all streams in the latest tenth of a second, by statistic."),
    gauge("campaign_progress", "ratio", "How much of the running part of a campaign is done."),
    counter("campaign_trials", "", "Trials of a campaign that have ended."),
    counter("port_tx", "packets", "Packets a port sent."),
    counter("port_tx", "bytes", "Bytes a port sent, with FCS."),
    counter("port_rx", "packets", "Packets a port received."),
    counter("port_rx", "bytes", "Bytes a port received, with FCS."),
    counter(
        "port_rx_other",
        "packets",
        "Packets a port received that belong to no stream or session of the run.",
    ),
    counter("port_tx_unsent", "packets", "Packets that were due on a port and not sent."),
    counter("port_tx_errors", "", "Frames a port's driver took and did not send, by reason."),
    counter(
        "port_rx_errors",
        "",
        "Frames a port received or lost that do not count as they should, by reason.",
    ),
    counter("stream_tx", "packets", "Packets a stream sent."),
    counter("stream_rx", "packets", "Packets of a stream that arrived."),
    gauge(
        "stream_lost",
        "packets",
        "Packets of a stream sent and not received; those under way count until they arrive.",
    ),
    counter("stream_duplicate", "packets", "Packets of a stream that arrived more than once."),
    counter("stream_reordered", "packets", "Packets of a stream that arrived after a later one."),
    gauge("stream_latency", "seconds", "Latency of a stream since the run's start, by statistic."),
    gauge(
        "streams_summed",
        "",
        "Streams of a run that are not listed alone, but summed as stream=\"(others)\".",
    ),
    gauge("sessions_active", "", "Sessions that are open."),
    counter("sessions_established", "", "Sessions that were established."),
    counter("sessions_completed", "", "Sessions that ended as they should."),
    counter("sessions_failed", "", "Sessions that failed."),
    counter("sessions_failures", "", "Sessions that failed, by reason."),
    counter(
        "sessions_transactions",
        "",
        "Responses that sessions got, or gave where the clients are somebody else's.",
    ),
    gauge("worker_busy", "ratio", "The share of its time a worker was busy in the latest tenth of a second."),
];

impl Family {
    /// What a sample is called.
    pub(crate) fn full_name(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!("_{}", self.unit) };
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
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
