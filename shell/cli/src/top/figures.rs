//! Figures as text and table rows, for the live view and for `--once`.

use super::model::{Model, Subject};
use api::{Campaign, Latency, Live, Port, State, WorkerLoad};
use std::collections::BTreeMap;
use units::{count, percent, quantity, rough_time};

/// Headings of `stream`.
pub(crate) const STREAMS: [&str; 9] =
    ["stream", "tx rate", "rx rate", "sent", "lost", "ratio", "p50", "p99", "max"];
/// Headings of `sessions`.
pub(crate) const SESSIONS: [&str; 6] = ["sessions", "open", "opened", "responses", "goodput", "failed"];
/// Headings of `ports`.
pub(crate) const PORTS: [&str; 5] = ["port", "tx rate", "tx L1", "rx rate", "rx L1"];
/// Headings of `agents`.
pub(crate) const AGENTS: [&str; 5] = ["agent", "ports", "links up", "leased", "ports of this run"];
/// Most agents shown.
const AGENTS_MAX: usize = 12;
/// Width of a progress bar, in cells.
const BAR: usize = 20;
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The shown subject: `demo (20261121-…): running`.
pub(crate) fn subject(model: &Model) -> String {
    if let Some(run) = model.run() {
        let paused = if model.paused && !run.state.has_ended() { ", paused" } else { "" };
        return format!("{} ({}): {}{paused}", run.name, run.id, state(run.state));
    }
    if let Some(campaign) = model.campaign() {
        return format!("{} {} ({}): {}", campaign.method, campaign.name, campaign.id, state(campaign.state));
    }
    "no runs".to_owned()
}

fn state(state: State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Running => "running",
        State::Draining => "waiting for late packets",
        State::Done => "done",
        State::Failed => "failed",
        State::Stopped => "stopped",
        State::Interrupted => "interrupted",
    }
}

/// Progress of a run.
pub(crate) fn progress(model: &Model) -> String {
    let Some(run) = model.run() else { return String::new() };
    let at_s = model.live.as_ref().map_or(run.at_s, |live| live.at_s);
    let share = if run.duration_s > 0.0 { at_s / run.duration_s } else { 0.0 };
    let others = model.subjects().len().saturating_sub(1);
    let more = if others > 0 { format!("   {others} more: ← →") } else { String::new() };
    format!(
        "{}  {at_s:.1} s of {:.1} s   by {}   seed {}{more}",
        bar(share),
        run.duration_s,
        run.holder,
        run.seed
    )
}

/// The most important warning: failure, invalid result, other warnings.
pub(crate) fn warning(model: &Model) -> Option<String> {
    if let Some(campaign) = model.campaign() {
        return campaign.reason.clone().or_else(|| campaign.warnings.first().cloned());
    }
    let run = model.run()?;
    if let Some(reason) = &run.reason {
        return Some(reason.clone());
    }
    if let Some(verdict) = run.verdict.as_ref().filter(|verdict| !verdict.valid) {
        return Some(format!("invalid: {}", verdict.reasons.join("; ")));
    }
    if let Some(achieved) = run.achieved.as_ref().filter(|achieved| !achieved.success) {
        return Some(achieved.summary.clone());
    }
    run.refused_changes.last().or(run.warnings.first()).cloned()
}

/// A campaign in a few lines.
pub(crate) fn campaign(campaign: &Campaign) -> Vec<String> {
    let mut lines = vec![format!(
        "  {}  {:.0}%   {} trials done, {} left, about {}",
        bar(campaign.fraction),
        campaign.fraction * 100.0,
        campaign.trials_done,
        campaign.trials_left,
        rough_time(campaign.left_s)
    )];
    let now: Vec<&str> =
        [&campaign.part, &campaign.label].into_iter().flatten().map(String::as_str).collect();
    if !now.is_empty() {
        lines.push(format!("  now: {}", now.join(": ")));
    }
    if let Some(found) = campaign.found.last() {
        lines.push(format!("  found: {found}"));
    }
    lines
}

/// A progress bar for a share from 0 to 1.
fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR - full))
}

/// The newest values as a curve of this width; `top` fills a cell.
pub(crate) fn curve(values: &[f64], top: f64, cells: usize) -> String {
    let shown = &values[values.len().saturating_sub(cells)..];
    let cell = |value: &f64| match value {
        v if *v <= 0.0 || top <= 0.0 => ' ',
        v => EIGHTHS[((v / top * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    let drawn: String = shown.iter().map(cell).collect();
    format!("{drawn:>cells$}")
}

fn rate(column: &[f64], n: usize, unit: &str) -> String {
    column.get(n).map_or_else(|| "-".to_owned(), |value| quantity(*value, unit))
}

fn nanoseconds(value: u64) -> String {
    quantity(value as f64, "ns")
}

/// One row per port.
pub(crate) fn ports(model: &Model, live: &Live) -> Vec<Vec<String>> {
    let ports = &live.ports;
    let row = |(n, name): (usize, &String)| {
        vec![
            name.clone(),
            rate(&ports.tx_pps, n, "pps"),
            rate(&ports.tx_bps_l1, n, "bps"),
            rate(&ports.rx_pps, n, "pps"),
            rate(&ports.rx_bps_l1, n, "bps"),
        ]
    };
    model.names.ports.iter().enumerate().map(row).collect()
}

/// One row per agent, the agents of the run shown first.
pub(crate) fn agents(model: &Model) -> Vec<Vec<String>> {
    let mut agents: BTreeMap<&str, Vec<&Port>> = BTreeMap::new();
    for port in &model.ports {
        if let Some((agent, _)) = fleet_name(&port.name) {
            agents.entry(agent).or_default().push(port);
        }
    }
    let mut used: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let active = model.run().filter(|run| !run.state.has_ended());
    for (agent, port) in active.iter().flat_map(|run| &run.ports).filter_map(|port| fleet_name(port)) {
        used.entry(agent).or_default().push(port);
    }
    let row = |agent: &str| {
        let of_run = used.get(agent).map(|ports| ports.join(", ")).unwrap_or_default();
        let Some(ports) = agents.get(agent) else {
            return vec![agent.to_owned(), "lost".to_owned(), String::new(), String::new(), of_run];
        };
        let number = |is_it: fn(&Port) -> bool| ports.iter().filter(|port| is_it(port)).count().to_string();
        let (up, leased) = (number(|port| port.up), number(|port| port.lease.is_some()));
        vec![agent.to_owned(), ports.len().to_string(), up, leased, of_run]
    };
    let idle = agents.keys().filter(|agent| !used.contains_key(*agent));
    let mut rows: Vec<_> = used.keys().chain(idle).map(|agent| row(agent)).collect();
    if rows.len() > AGENTS_MAX {
        let more = rows.len() - AGENTS_MAX + 1;
        rows.truncate(AGENTS_MAX - 1);
        rows.push(vec![format!("… and {more} more")]);
    }
    rows
}

/// Agent and port of `agent/port`; none for a port of the server's machine.
fn fleet_name(name: &str) -> Option<(&str, &str)> {
    name.split_once('/').filter(|(agent, _)| !agent.is_empty() && !agent.contains(':'))
}

/// The row of a stream.
pub(crate) fn stream(model: &Model, live: &Live, n: usize) -> Vec<String> {
    let streams = &live.streams;
    let some = |column: &[Option<u64>]| column.get(n).copied().flatten();
    let lost = some(&streams.lost);
    let sent = streams.tx.get(n).copied().unwrap_or(0);
    let ratio = lost.map(|lost| if sent == 0 { 0.0 } else { lost as f64 / sent as f64 });
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let latency = |column: &[Option<u64>]| or_dash(some(column).map(nanoseconds));
    vec![
        model.names.streams[n].clone(),
        rate(&streams.tx_pps, n, "pps"),
        rate(&streams.rx_pps, n, "pps"),
        count(sent),
        or_dash(lost.map(count)),
        or_dash(ratio.map(percent)),
        latency(&streams.latency_p50_ns),
        latency(&streams.latency_p99_ns),
        latency(&streams.latency_max_ns),
    ]
}

/// One row per session entry.
pub(crate) fn sessions(model: &Model, live: &Live) -> Vec<Vec<String>> {
    let sessions = &live.sessions;
    let row = |(n, name): (usize, &String)| {
        vec![
            name.clone(),
            sessions.active.get(n).map_or_else(|| "-".to_owned(), i64::to_string),
            rate(&sessions.open_per_s, n, "/s"),
            rate(&sessions.transactions_per_s, n, "/s"),
            rate(&sessions.rx_bps_goodput, n, "bps"),
            sessions.failed.get(n).map_or_else(|| "-".to_owned(), |failed| count(*failed)),
        ]
    };
    model.names.sessions.iter().enumerate().map(row).collect()
}

/// Latency percentiles over all streams.
pub(crate) fn latency(latency: &Latency) -> String {
    let shown = |name: &str, value: Option<u64>| {
        format!("{name} {}", value.map_or_else(|| "-".to_owned(), nanoseconds))
    };
    let percentiles = [
        shown("p50", latency.p50_ns),
        shown("p90", latency.p90_ns),
        shown("p95", latency.p95_ns),
        shown("p99", latency.p99_ns),
        shown("p99.9", latency.p99_9_ns),
        shown("max", Some(latency.max_ns)),
    ];
    format!("latency   {}", percentiles.join("   "))
}

/// Load of each worker.
pub(crate) fn workers(workers: &[WorkerLoad]) -> String {
    let shown = workers.iter().map(|worker| {
        let core = worker.core.map_or_else(String::new, |core| format!(" on core {core}"));
        format!("worker{core} {:.0}% busy", worker.busy_ratio * 100.0)
    });
    shown.collect::<Vec<_>>().join("   ")
}

/// Everything as text, with at most `streams_max` streams.
pub(crate) fn snapshot(model: &Model, streams_max: usize) -> String {
    use crate::table::table;
    let mut text = format!("{}: {}\n", model.server, subject(model));
    let mut line = |line: String| text.push_str(&(line.trim_end().to_owned() + "\n"));
    if matches!(model.shown, Some(Subject::Run(_))) {
        line(progress(model));
    }
    warning(model).into_iter().for_each(&mut line);
    model.campaign().map(campaign).into_iter().flatten().for_each(&mut line);
    let agents = agents(model);
    if !agents.is_empty() {
        line(table(&AGENTS, agents));
    }
    let Some(live) = &model.live else { return text };
    line(table(&PORTS, ports(model, live)));
    live.latency.as_ref().map(latency).into_iter().for_each(&mut line);
    line(workers(&live.workers));
    let order = model.sorted_streams();
    let rows = order.iter().take(streams_max).map(|n| stream(model, live, *n));
    line(table(&STREAMS, rows.collect()));
    if order.len() > streams_max {
        line(format!("  … and {} more streams", order.len() - streams_max));
    }
    if !model.names.sessions.is_empty() {
        line(table(&SESSIONS, sessions(model, live)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::model::tests::showing;

    #[test]
    fn curves_show_the_newest_values() {
        assert_eq!(curve(&[0.0, 1.0, 4.0, 8.0], 8.0, 6), "   ▁▄█");
        assert_eq!(curve(&[1.0, 8.0, 8.0], 8.0, 2), "██");
        assert_eq!(curve(&[0.0], 0.0, 1), " ");
    }

    #[test]
    fn agents_have_rows_and_lost_ones_are_named() {
        let mut model = showing(3);
        assert_eq!(agents(&model), Vec::<Vec<String>>::new());
        let port = |name: &str, up: bool| {
            serde_json::from_value::<Port>(serde_json::json!({
                "name": name, "device": name, "kind": "interface", "up": up, "speed_bps": null, "mtu": null, "driver": null,
                "allowed": true, "note": null,
                "lease": up.then_some(serde_json::json!({"holder": "ci", "expires": "", "seconds_left": 9.0}))
            }))
            .unwrap()
        };
        let ports = [
            ("veth9", true),
            ("pcap:in/a.pcap", true),
            ("a2/veth0", true),
            ("a2/veth1", false),
            ("b/eth0", false),
        ];
        model.ports = ports.map(|(name, up)| port(name, up)).to_vec();
        model.runs[0].ports = vec!["a2/veth0".to_owned(), "a3/veth0".to_owned(), "ring:a".to_owned()];
        assert_eq!(
            agents(&model),
            [["a2", "2", "1", "1", "veth0"], ["a3", "lost", "", "", "veth0"], ["b", "1", "0", "0", ""]]
        );
        model.ports = (0..100).map(|n| port(&format!("z{n}/eth0"), true)).collect();
        let rows = agents(&model);
        assert_eq!((rows.len(), rows[0][1].as_str(), rows[11][0].as_str()), (12, "lost", "… and 91 more"));
        assert!(snapshot(&model, 1).contains("ports of this run"));
    }

    #[test]
    fn a_snapshot_counts_omitted_streams() {
        let text = snapshot(&showing(30), 20);
        assert!(text.contains("demo (a): running"), "{text}");
        assert!(text.contains("… and 10 more streams"), "{text}");
        assert!(
            text.contains("web") && text.contains("p99.9 12 µs") && text.contains("core 1 42% busy"),
            "{text}"
        );
        assert!(text.contains("west") && text.contains("1.2 k"), "{text}");
    }
}
