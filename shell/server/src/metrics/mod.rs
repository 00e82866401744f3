//! `/metrics`: figures of the server, its runs and campaigns, for Prometheus.
//!
//! They come from the snapshots that runs publish anyway, so a scrape costs the data plane nothing. A run is exported while it
//! runs and for [`RETENTION`] after it, so that its last figures are scraped; then its series end.
//!
//! Not here: rates. Prometheus derives them from counters.

mod families;
mod histogram;
mod protobuf;
mod samples;

use crate::access::Caller;
use crate::campaigns::CampaignJob;
use crate::jobs::Job;
use crate::routes::{Known, QueryOf, blocking};
use crate::runs::RunJob;
use crate::service::{Service, Work};
use api::{LiveSessions, State};
use axum::extract::State as Part;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use families::{Exported, series};
use fleet::Fleet;
use result::{Numbers, PortResult, SessionResult, StreamResult, TotalDocument};
use samples::Samples;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Time for which an ended run is still exported: longer than usual scrape intervals.
const RETENTION: Duration = Duration::from_secs(300);
/// Streams of a run with their own series, unless the query sets another limit.
const STREAMS: usize = 1_000;
/// Label of the other streams' sum.
const OTHERS: &str = "(others)";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Messages of Prometheus, each after its length. Only in them, histograms have native buckets.
const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
const STATES: [(State, &str); 7] = [
    (State::Starting, "starting"),
    (State::Running, "running"),
    (State::Draining, "draining"),
    (State::Done, "done"),
    (State::Failed, "failed"),
    (State::Stopped, "stopped"),
    (State::Interrupted, "interrupted"),
];

/// Query of a scrape.
#[derive(Debug, Deserialize)]
pub(crate) struct Query {
    /// Streams of a run with their own series; the others are summed.
    streams: Option<usize>,
}

/// `GET /metrics`.
pub(crate) async fn scrape(
    Part(service): Known,
    caller: Caller,
    QueryOf(query): QueryOf<Query>,
    headers: HeaderMap,
) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let open = accepted.contains("application/openmetrics-text");
    let streams = query.streams.unwrap_or(STREAMS);
    // Who names it prefers it: Prometheus does if it keeps native histograms.
    if accepted.contains("application/vnd.google.protobuf")
        && accepted.contains("io.prometheus.client.MetricFamily")
    {
        let bytes =
            blocking(service, move |service| Ok(protobuf::encode(&gather(service, &caller, streams))));
        return match bytes.await {
            Ok(bytes) => ([(header::CONTENT_TYPE, PROTOBUF)], bytes).into_response(),
            Err(fault) => fault.into_response(),
        };
    }
    let text = blocking(service, move |service| {
        let text = gather(service, &caller, streams).open_metrics();
        text.map_err(|_| crate::Fault::machine("cannot write the metrics".to_owned()))
    });
    match text.await {
        Ok(text) if open => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Ok(text) => ([(header::CONTENT_TYPE, PLAIN)], samples::plain(&text)).into_response(),
        Err(fault) => fault.into_response(),
    }
}

fn gather(service: &Service, caller: &Caller, streams: usize) -> Samples {
    let mut samples = Samples::default();
    let dpdk = engine::dpdk_version().unwrap_or_default();
    let version = [("version", env!("CARGO_PKG_VERSION")), ("dpdk", &dpdk)];
    samples.value("eagre_build_info", &version, 1.0);
    let works = service.works();
    for (state, word) in STATES {
        let count = |runs| {
            works.iter().filter(|work| is_run(work) == runs && work.job().status().state == state).count()
        };
        samples.value("eagre_runs", &[("state", word)], count(true) as f64);
        samples.value("eagre_campaigns", &[("state", word)], count(false) as f64);
    }
    leases(service, caller, &mut samples);
    if let Some(fleet) = &service.fleet {
        agents(fleet, &mut samples);
    }
    for work in works.iter().filter(|work| is_exported(work.job())) {
        job(work.job(), &mut samples);
        match work {
            Work::Run(run) => of_run(run, streams, &mut samples),
            Work::Campaign(campaign) => of_campaign(campaign, streams, &mut samples),
            Work::Script(_) => {}
        }
    }
    samples
}

fn is_run(work: &Work) -> bool {
    matches!(work, Work::Run(_))
}

fn is_exported(job: &Job) -> bool {
    let Some(ended) = job.status().ended else { return true };
    let ended = humantime::parse_rfc3339(&ended).ok();
    // If the clock was set back since, the run counts as new.
    let age = ended.and_then(|ended| SystemTime::now().duration_since(ended).ok());
    age.is_none_or(|age| age < RETENTION)
}

fn leases(service: &Service, caller: &Caller, samples: &mut Samples) {
    let leases = service.leases(caller);
    samples.value("eagre_leases", &[], leases.len() as f64);
    for lease in &leases {
        for port in &lease.ports {
            let labels = [("port", port.as_str()), ("holder", lease.holder.as_str())];
            samples.value("eagre_lease_remaining_seconds", &labels, lease.seconds_left);
        }
    }
}

/// Agents on other machines.
fn agents(fleet: &Fleet, samples: &mut Samples) {
    for name in fleet.lost() {
        samples.value("eagre_agent_up", &[("agent", name.as_str())], 0.0);
    }
    for card in fleet.agents() {
        let agent = ("agent", card.name.as_str());
        samples.value("eagre_agent_up", &[agent], 1.0);
        let info = [agent, ("version", card.version.as_str()), ("clock", card.clock.source.as_str())];
        samples.value("eagre_agent_info", &info, 1.0);
        samples.value("eagre_agent_ports", &[agent], card.ports.len() as f64);
        samples.value("eagre_agent_runs", &[agent], card.runs.len() as f64);
    }
}

/// Samples common to runs and campaigns.
fn job(job: &Job, samples: &mut Samples) {
    let (run, now) = (("run", job.about.id.as_str()), job.status().state);
    for (state, word) in STATES {
        samples.value("eagre_run_state", &[run, ("state", word)], f64::from(u8::from(state == now)));
    }
    let snapshot = job.snapshots.live();
    samples.value("eagre_run_elapsed_seconds", &[run], snapshot.live.at_s);
    if let Some(latency) = job.snapshots.full().and_then(|full| full.latency.distribution()) {
        samples.histogram("eagre_latency_seconds", &[run], latency);
    }
    if let Some(latency) = snapshot.live.latency.filter(|_| !now.has_ended()) {
        let statistics = [
            ("p50", latency.p50_ns),
            ("p90", latency.p90_ns),
            ("p95", latency.p95_ns),
            ("p99", latency.p99_ns),
            ("p99_9", latency.p99_9_ns),
            ("max", Some(latency.max_ns)),
        ];
        for (statistic, nanoseconds) in statistics {
            if let Some(nanoseconds) = nanoseconds {
                samples.value(
                    "eagre_run_latency_seconds",
                    &[run, ("statistic", statistic)],
                    nanoseconds as f64 / 1e9,
                );
            }
        }
    }
    for (number, worker) in snapshot.live.workers.iter().enumerate().filter(|_| !now.has_ended()) {
        let core = worker.core.map(|core| core.to_string()).unwrap_or_default();
        let labels = [run, ("worker", &number.to_string()), ("core", &core)];
        samples.value("eagre_worker_busy_ratio", &labels, worker.busy_ratio);
    }
}

fn of_run(run: &RunJob, streams: usize, samples: &mut Samples) {
    let document = run.document();
    let id = ("run", document.id.as_str());
    let info = [id, ("name", &document.name), ("holder", &document.holder), ("method", "")];
    samples.value("eagre_run_info", &info, 1.0);
    samples.value("eagre_run_duration_seconds", &[id], document.duration_s);
    if let Some(verdict) = &document.verdict {
        samples.value("eagre_run_valid", &[id], f64::from(u8::from(verdict.valid)));
    }
    let live = run.job.snapshots.live();
    let active = if document.state.has_ended() { &LiveSessions::default() } else { &live.live.sessions };
    totals(document.id.as_str(), &run.snapshot().total, &run.agents(), streams, samples);
    sessions_active(document.id.as_str(), &document.names.sessions, active, samples);
}

fn of_campaign(campaign: &CampaignJob, streams: usize, samples: &mut Samples) {
    let document = campaign.document(false);
    let id = ("run", document.id.as_str());
    let info = [id, ("name", &document.name), ("holder", &document.holder), ("method", &document.method)];
    samples.value("eagre_run_info", &info, 1.0);
    samples.value("eagre_campaign_progress_ratio", &[id], document.fraction);
    samples.count("eagre_campaign_trials_total", &[id], document.trials_done);
    if document.state.has_ended() {
        return;
    }
    if let Some(snapshot) = campaign.job.snapshots.full() {
        totals(&document.id, snapshot.total(), &BTreeMap::new(), streams, samples);
    }
    sessions_active(
        &document.id,
        &campaign.names().sessions,
        &campaign.job.snapshots.live().live.sessions,
        samples,
    );
}

fn sessions_active(run: &str, names: &[String], sessions: &LiveSessions, samples: &mut Samples) {
    for (index, name) in names.iter().enumerate() {
        let active = sessions.active.get(index).copied().unwrap_or(0);
        samples.value("eagre_sessions_active", &[("run", run), ("sessions", name)], active as f64);
    }
}

/// Totals since the start. `agents`: of ports on other machines, by the profile's names.
fn totals(
    run: &str,
    totals: &TotalDocument,
    agents: &BTreeMap<String, String>,
    streams: usize,
    samples: &mut Samples,
) {
    let exported = series::<PortResult>();
    for (name, port) in &totals.ports {
        let agent = agents.get(name).map(|agent| ("agent", agent.as_str()));
        let labels: Vec<_> = [("run", run), ("port", name.as_str())].into_iter().chain(agent).collect();
        export(&exported, &labels, port, samples);
    }
    let exported = series::<StreamResult>();
    for (name, stream) in totals.streams.iter().take(streams) {
        export(&exported, &[("run", run), ("stream", name)], stream, samples);
    }
    let others: Vec<&StreamResult> = totals.streams.values().skip(streams).collect();
    samples.value("eagre_streams_summed", &[("run", run)], others.len() as f64);
    export_sum(&exported, &[("run", run), ("stream", OTHERS)], &others, samples);
    let exported = series::<SessionResult>();
    for (name, entry) in &totals.sessions {
        let labels = [("run", run), ("sessions", name.as_str())];
        export(&exported, &labels, entry, samples);
        samples.count("eagre_sessions_failed_total", &labels, entry.seen.failed.values().sum());
    }
}

type Labels<'a> = [(&'static str, &'a str)];

/// A sample of the series of `one`, unless it was not measured.
fn sample(one: &Exported, labels: &Labels<'_>, number: f64, samples: &mut Samples) {
    let statistic = one.statistic.map(|statistic| ("statistic", statistic));
    let labels: Vec<_> = labels.iter().copied().chain(statistic).collect();
    if one.grows() {
        samples.count(&one.full_name(), &labels, number as u64);
    } else {
        samples.value(&one.full_name(), &labels, number / one.divisor);
    }
}

/// Samples of a row of a result; of counters by name, a sample for each reason.
fn export(exported: &[Exported], labels: &Labels<'_>, row: &impl Numbers, samples: &mut Samples) {
    for one in exported {
        if one.by_reason {
            for (reason, count) in row.counters(&one.path).into_iter().flatten() {
                let labels: Vec<_> = labels.iter().copied().chain([("reason", reason.as_str())]).collect();
                sample(one, &labels, *count as f64, samples);
            }
        } else if let Some(number) = row.number(&one.path) {
            sample(one, labels, number, samples);
        }
    }
}

/// Rows as one. Latencies cannot be added.
fn export_sum(exported: &[Exported], labels: &Labels<'_>, rows: &[&StreamResult], samples: &mut Samples) {
    for one in exported.iter().filter(|one| one.statistic.is_none() && !one.by_reason) {
        if let Some(sum) = rows.iter().filter_map(|row| row.number(&one.path)).reduce(|a, b| a + b) {
            sample(one, labels, sum, samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{Counters, LatencyResult, SideResult};

    fn text(streams: usize) -> String {
        let latency_ns = Some(LatencyResult { p50: Some(2_000), mean: 2_500.5, ..LatencyResult::default() });
        let stream = |(name, tx): (&str, u64)| {
            let counts = StreamResult { tx, rx: Some(tx - 1), lost: Some(1), ..StreamResult::default() };
            (name.to_owned(), StreamResult { latency_ns: latency_ns.clone(), ..counts })
        };
        let reason = |reason: &str, count| Counters::from([(reason.to_owned(), count)]);
        let rx_errors = reason("short", 2);
        let port = PortResult { tx_packets: 60, tx_bytes: 6000, rx_errors, ..PortResult::default() };
        let seen = SideResult { established: 5, failed: reason("reset", 1), ..SideResult::default() };
        let document = TotalDocument {
            ports: [("west".to_owned(), port)].into_iter().collect(),
            streams: [("a", 10), ("b", 20), ("c", 30)].into_iter().map(stream).collect(),
            sessions: [("web".to_owned(), SessionResult { seen, ..SessionResult::default() })]
                .into_iter()
                .collect(),
            ..TotalDocument::default()
        };
        let mut samples = Samples::default();
        let agents = BTreeMap::from([("west".to_owned(), "a1".to_owned())]);
        totals("r", &document, &agents, streams, &mut samples);
        samples.open_metrics().unwrap()
    }

    #[test]
    fn totals_become_counters_in_base_units() {
        let text = text(10);
        for line in [
            "eagre_port_tx_bytes_total{run=\"r\",port=\"west\",agent=\"a1\"} 6000",
            "eagre_port_rx_errors_total{run=\"r\",port=\"west\",agent=\"a1\",reason=\"short\"} 2",
            "eagre_stream_rx_packets_total{run=\"r\",stream=\"b\"} 19",
            "eagre_stream_latency_seconds{run=\"r\",stream=\"a\",statistic=\"p50\"} 0.000002",
            "eagre_sessions_failures_total{run=\"r\",sessions=\"web\",reason=\"reset\"} 1",
            "eagre_streams_summed{run=\"r\"} 0.0",
        ] {
            assert!(text.lines().any(|found| found == line), "'{line}' is missing in\n{text}");
        }
    }

    #[test]
    fn streams_beyond_the_limit_are_summed() {
        let text = text(1);
        assert!(text.contains("eagre_stream_tx_packets_total{run=\"r\",stream=\"(others)\"} 50\n"), "{text}");
        assert!(text.contains("eagre_streams_summed{run=\"r\"} 2.0\n"), "{text}");
        assert!(!text.contains("stream=\"b\""), "{text}");
    }
}
