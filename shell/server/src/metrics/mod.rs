//! `/metrics`: figures of the server and of what runs on it, for Prometheus.
//!
//! They are taken from the looks that runs publish anyway, so a scrape costs the data plane nothing. A run is seen while it
//! runs and for [`AFTERGLOW`] after it, so that its last figures are scraped; then its series end.
//!
//! Not here: rates. Prometheus makes them of counters.

mod families;
mod samples;

use crate::access::Caller;
use crate::campaigns::CampaignJob;
use crate::jobs::Job;
use crate::routes::{Asked, Known, blocking};
use crate::runs::RunJob;
use crate::service::{Service, Work};
use api::{LiveSessions, State, Totals};
use axum::extract::State as Part;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use samples::Samples;
use serde::Deserialize;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// How long an ended run is still seen: longer than usual from one scrape to the next.
const AFTERGLOW: Duration = Duration::from_secs(300);
/// Streams of a run that are listed one by one, if nobody asks for more.
const STREAMS: usize = 1_000;
/// The streams beyond that.
const OTHERS: &str = "(others)";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";
const STATES: [(State, &str); 7] = [
    (State::Starting, "starting"),
    (State::Running, "running"),
    (State::Draining, "draining"),
    (State::Done, "done"),
    (State::Failed, "failed"),
    (State::Stopped, "stopped"),
    (State::Interrupted, "interrupted"),
];
/// Statistics of a latency, by their names in result documents.
const STATISTICS: [&str; 7] = ["min", "mean", "p50", "p90", "p99", "p99_9", "max"];

/// What may be asked.
#[derive(Debug, Deserialize)]
pub(crate) struct Query {
    /// Streams of a run that are listed one by one; the others are summed.
    streams: Option<usize>,
}

/// `GET /metrics`.
pub(crate) async fn scrape(
    Part(service): Known,
    caller: Caller,
    Asked(query): Asked<Query>,
    headers: HeaderMap,
) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let open = accepted.contains("application/openmetrics-text");
    let streams = query.streams.unwrap_or(STREAMS);
    let text = blocking(service, move |service| {
        let text = gather(service, &caller, streams).open_metrics();
        text.map_err(|_| crate::Fault::machine("the metrics could not be written".to_owned()))
    });
    match text.await {
        Ok(text) if open => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Ok(text) => ([(header::CONTENT_TYPE, PLAIN)], samples::plain(&text)).into_response(),
        Err(fault) => fault.into_response(),
    }
}

fn gather(service: &Service, caller: &Caller, streams: usize) -> Samples {
    let mut samples = Samples::default();
    let version = [("version", env!("CARGO_PKG_VERSION")), ("dpdk", &engine::dpdk_version())];
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
    for work in works.iter().filter(|work| is_seen(work.job())) {
        job(work.job(), &mut samples);
        match work {
            Work::Run(run) => of_run(run, streams, &mut samples),
            Work::Campaign(campaign) => of_campaign(campaign, streams, &mut samples),
        }
    }
    samples
}

fn is_run(work: &Work) -> bool {
    matches!(work, Work::Run(_))
}

fn is_seen(job: &Job) -> bool {
    let Some(ended) = job.status().ended else { return true };
    let ended = humantime::parse_rfc3339(&ended).ok();
    // If the clock was set back since, it is new enough.
    let age = ended.and_then(|ended| SystemTime::now().duration_since(ended).ok());
    age.is_none_or(|age| age < AFTERGLOW)
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

/// What runs and campaigns have in common.
fn job(job: &Job, samples: &mut Samples) {
    let (run, now) = (("run", job.about.id.as_str()), job.status().state);
    for (state, word) in STATES {
        samples.value("eagre_run_state", &[run, ("state", word)], f64::from(u8::from(state == now)));
    }
    let look = job.looks.live();
    samples.value("eagre_run_elapsed_seconds", &[run], look.live.at_s);
    if let Some(latency) = look.live.latency.filter(|_| !now.has_ended()) {
        let statistics = [
            ("p50", latency.p50_ns),
            ("p90", latency.p90_ns),
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
    for (number, worker) in look.live.workers.iter().enumerate().filter(|_| !now.has_ended()) {
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
    if let Some(valid) = document.verdict.as_ref().and_then(|verdict| verdict["valid"].as_bool()) {
        samples.value("eagre_run_valid", &[id], f64::from(u8::from(valid)));
    }
    let live = run.job.looks.live();
    let active = if document.state.has_ended() { &LiveSessions::default() } else { &live.live.sessions };
    totals(document.id.as_str(), &run.snapshot().total, streams, samples);
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
    if let Some(look) = campaign.job.looks.full() {
        totals(&document.id, &look.total, streams, samples);
    }
    sessions_active(
        &document.id,
        &campaign.names().sessions,
        &campaign.job.looks.live().live.sessions,
        samples,
    );
}

fn sessions_active(run: &str, names: &[String], sessions: &LiveSessions, samples: &mut Samples) {
    for (index, name) in names.iter().enumerate() {
        let active = sessions.active.get(index).copied().unwrap_or(0);
        samples.value("eagre_sessions_active", &[("run", run), ("sessions", name)], active as f64);
    }
}

/// What happened since the start.
fn totals(run: &str, totals: &Totals, streams: usize, samples: &mut Samples) {
    for (name, port) in &totals.ports {
        of_port(&[("run", run), ("port", name)], port, samples);
    }
    for (name, stream) in totals.streams.iter().take(streams) {
        of_stream(&[("run", run), ("stream", name)], stream, samples);
    }
    let others: Vec<&Value> = totals.streams.values().skip(streams).collect();
    samples.value("eagre_streams_summed", &[("run", run)], others.len() as f64);
    if !others.is_empty() {
        of_stream(&[("run", run), ("stream", OTHERS)], &sum(&others), samples);
    }
    for (name, entry) in &totals.sessions {
        of_sessions(&[("run", run), ("sessions", name)], entry, samples);
    }
}

/// Fields of result documents and the counters they are.
fn counts(labels: &[(&'static str, &str)], document: &Value, fields: &[(&str, &str)], samples: &mut Samples) {
    for (field, name) in fields {
        if let Some(count) = document[*field].as_u64() {
            samples.count(name, labels, count);
        }
    }
}

/// A field with a count for each reason.
fn reasons(labels: &[(&'static str, &str)], reasons: &Value, name: &str, samples: &mut Samples) {
    for (reason, count) in reasons.as_object().into_iter().flatten() {
        let labels: Vec<_> = labels.iter().copied().chain([("reason", reason.as_str())]).collect();
        samples.count(name, &labels, count.as_u64().unwrap_or(0));
    }
}

fn of_port(labels: &[(&'static str, &str)], port: &Value, samples: &mut Samples) {
    let fields = [
        ("tx_packets", "eagre_port_tx_packets_total"),
        ("tx_bytes", "eagre_port_tx_bytes_total"),
        ("rx_packets", "eagre_port_rx_packets_total"),
        ("rx_bytes", "eagre_port_rx_bytes_total"),
        ("rx_other", "eagre_port_rx_other_packets_total"),
        ("tx_unsent", "eagre_port_tx_unsent_packets_total"),
    ];
    counts(labels, port, &fields, samples);
    reasons(labels, &port["tx_errors"], "eagre_port_tx_errors_total", samples);
    reasons(labels, &port["rx_errors"], "eagre_port_rx_errors_total", samples);
}

fn of_stream(labels: &[(&'static str, &str)], stream: &Value, samples: &mut Samples) {
    let fields = [
        ("tx", "eagre_stream_tx_packets_total"),
        ("rx", "eagre_stream_rx_packets_total"),
        ("duplicates", "eagre_stream_duplicate_packets_total"),
        ("reordered", "eagre_stream_reordered_packets_total"),
    ];
    counts(labels, stream, &fields, samples);
    if let Some(lost) = stream["lost"].as_f64() {
        samples.value("eagre_stream_lost_packets", labels, lost);
    }
    for statistic in STATISTICS {
        if let Some(nanoseconds) = stream["latency_ns"][statistic].as_f64() {
            let labels: Vec<_> = labels.iter().copied().chain([("statistic", statistic)]).collect();
            samples.value("eagre_stream_latency_seconds", &labels, nanoseconds / 1e9);
        }
    }
}

/// Streams as one. Latencies of several are none of all.
fn sum(streams: &[&Value]) -> Value {
    let mut sum = serde_json::Map::new();
    for field in ["tx", "rx", "lost", "duplicates", "reordered"] {
        let counts: Vec<u64> = streams.iter().filter_map(|stream| stream[field].as_u64()).collect();
        if !counts.is_empty() {
            sum.insert(field.to_owned(), counts.iter().sum::<u64>().into());
        }
    }
    sum.into()
}

fn of_sessions(labels: &[(&'static str, &str)], entry: &Value, samples: &mut Samples) {
    let fields = [
        ("established", "eagre_sessions_established_total"),
        ("completed", "eagre_sessions_completed_total"),
        ("transactions", "eagre_sessions_transactions_total"),
    ];
    counts(labels, entry, &fields, samples);
    let failed =
        entry["failed"].as_object().into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum();
    samples.count("eagre_sessions_failed_total", labels, failed);
    reasons(labels, &entry["failed"], "eagre_sessions_failures_total", samples);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(streams: usize) -> String {
        let stream = |tx: u64| json!({"tx": tx, "rx": tx - 1, "lost": 1, "latency_ns": {"p50": 2_000, "mean": 2_500.5}});
        let all = json!({"a": stream(10), "b": stream(20), "c": stream(30)});
        let document = Totals {
            ports: json!({"west": {"tx_packets": 60, "tx_bytes": 6000, "rx_errors": {"short": 2}}})
                .as_object()
                .cloned()
                .unwrap_or_default(),
            streams: all.as_object().cloned().unwrap_or_default(),
            sessions: json!({"web": {"established": 5, "failed": {"reset": 1}}})
                .as_object()
                .cloned()
                .unwrap_or_default(),
            ..Totals::default()
        };
        let mut samples = Samples::default();
        totals("r", &document, streams, &mut samples);
        samples.open_metrics().unwrap()
    }

    #[test]
    fn totals_become_counters_in_base_units() {
        let text = text(10);
        for line in [
            "eagre_port_tx_bytes_total{run=\"r\",port=\"west\"} 6000",
            "eagre_port_rx_errors_total{run=\"r\",port=\"west\",reason=\"short\"} 2",
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
