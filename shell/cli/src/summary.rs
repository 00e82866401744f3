//! The summary of a result, as text.

use crate::table::table;
use crate::trust;
use result::{LatencyResult, Outcome, Overall, ResultDocument, SessionResult, StreamResult, WorkerResult};
use std::fmt::Write;
use units::{count, percent, quantity, whole};

/// Maximum number of streams, sessions and criteria to list.
const ROWS_MAX: usize = 20;

fn cell<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// One figure of a distribution, if it was measured.
fn latency(of: Option<&LatencyResult>, figure: impl Fn(&LatencyResult) -> Option<u64>) -> String {
    cell(of.and_then(figure), |ns| quantity(ns as f64, "ns"))
}

/// A latency of a stream. Between two clocks, below their uncertainty only the sum of both is a bound.
fn latency_of(stream: &StreamResult, figure: impl Fn(&LatencyResult) -> Option<u64>) -> String {
    let delay = stream.latency_ns.as_ref();
    let bound = stream.latency_uncertainty_ns.zip(delay.and_then(&figure));
    match bound.filter(|(uncertainty, ns)| ns < uncertainty) {
        Some((uncertainty, ns)) => format!("≤ {}", quantity((ns + uncertainty) as f64, "ns")),
        None => latency(delay, figure),
    }
}

/// The summary of a result.
pub(crate) fn render(document: &ResultDocument) -> String {
    tables(document) + &criteria(document) + &trust::verdict(document) + &overall(document)
}

/// The summary of a demo, which shows that traffic flows and what of it can be believed.
pub(crate) fn render_demo(document: &ResultDocument) -> String {
    tables(document) + &trust::demo_verdict(document)
}

/// The last lines: the outcome, unless there is nothing to report.
fn overall(document: &ResultDocument) -> String {
    let Some(overall) = &document.overall else { return String::new() };
    let reason = overall.reason.as_deref().unwrap_or_default();
    let mut text = match overall.overall() {
        Overall::Passed if document.criteria.is_empty() => String::new(),
        Overall::Passed => "  passed\n".to_owned(),
        Overall::Failed => format!("  FAILED: {reason}\n"),
        Overall::CannotJudge => format!("  CAN'T BE JUDGED HERE: {reason}\n"),
    };
    if let Some(remedy) = &overall.remedy {
        let _ = writeln!(text, "    to judge it: {remedy}");
    }
    if let Some(runs) = overall.runs {
        let _ = writeln!(text, "  the last of {runs} runs");
    }
    text
}

fn tables(document: &ResultDocument) -> String {
    let mut text = achieved(document);
    let ports = document.ports.iter().map(|(name, port)| {
        vec![
            name.clone(),
            count(port.tx_packets),
            quantity(port.tx_pps, "pps"),
            quantity(port.tx_bps_l1, "bps"),
            count(port.rx_packets),
            quantity(port.rx_pps, "pps"),
            cell(port.tx_unsent, count),
        ]
    });
    text += &table(&["port", "sent", "rate", "L1 rate", "received", "rate", "unsent"], ports.collect());
    text += &clients(document);
    text.push('\n');
    for (group, rows) in &document.groups {
        let rows = rows.iter().take(ROWS_MAX).flat_map(|(name, row)| stream_rows(name, row)).collect();
        text += &table(&stream_columns(group), rows);
        text.push('\n');
    }
    if !document.streams.is_empty() {
        text += &table(
            &stream_columns("stream"),
            document.streams.iter().take(ROWS_MAX).flat_map(|(name, s)| stream_rows(name, s)).collect(),
        );
    }
    text += &outages(document);
    text += &sessions(document);
    if document.streams.len() > ROWS_MAX {
        let _ =
            writeln!(text, "  … and {} more streams in the JSON result", document.streams.len() - ROWS_MAX);
    }
    let workers: Vec<_> = document.workers.iter().map(busy).collect();
    let _ = writeln!(
        text,
        "\n  {:.3} s, {} clock ({}), workers busy {}, seed {}",
        document.duration_s,
        document.clock.source,
        document.timestamp_class,
        workers.join(" "),
        document.seed
    );
    if let Some(cleared) = &document.cleared {
        let times = match cleared.times {
            1 => String::new(),
            times => format!(" {} times,", count(times)),
        };
        let last = if times.is_empty() { "" } else { " last" };
        let _ = writeln!(
            text,
            "  counters were set to zero{times}{last} at {:.3} s: figures are of the {:.3} s since then",
            cleared.at_s, cleared.counted_s
        );
    }
    text += &machine(document);
    if let Some(own) = document.self_latency_ns.as_ref().filter(|_| !document.streams.is_empty()) {
        let _ = writeln!(text, "  generator latency: {} (p50)", latency(Some(own), |own| own.p50));
    }
    for (port, c) in &document.captures {
        let _ = writeln!(
            text,
            "  capture on {port}: {} of {} packets in {}; {} dropped, {} replaced by newer ones",
            count(c.captured),
            count(c.seen),
            c.files.join(", "),
            count(c.dropped),
            count(c.displaced)
        );
        if let Some(error) = &c.error {
            let _ = writeln!(text, "  capture on {port} failed: {error}");
        }
    }
    text
}

/// A line for each of the first criteria, those not met first.
fn criteria(document: &ResultDocument) -> String {
    let mut text = String::new();
    let of = |outcome| document.criteria.iter().filter(move |criterion| criterion.outcome() == outcome);
    let (failed, unjudged) = (of(Outcome::NotMet), of(Outcome::CannotJudge));
    let (failures, doubts) = (failed.clone().count(), unjudged.clone().count());
    for criterion in failed.chain(unjudged).chain(of(Outcome::Met)).take(ROWS_MAX) {
        let outcome = match criterion.outcome() {
            Outcome::Met => "passed",
            Outcome::NotMet => "FAILED",
            Outcome::CannotJudge => "can't be judged here",
        };
        let value = cell(criterion.value, |value| store::report::measured(&criterion.path, value));
        let _ = writeln!(text, "  criterion {} {}: {outcome} ({value})", criterion.path, criterion.bound);
    }
    if document.criteria.len() > ROWS_MAX {
        let doubts = if doubts > 0 { format!(", {doubts} can't be judged here") } else { String::new() };
        let _ = writeln!(text, "  {} criteria, {failures} failed{doubts}", document.criteria.len());
    }
    text
}

/// Load of a worker, and the time in which it had no core although it had work: then it had no room either.
fn busy(worker: &WorkerResult) -> String {
    let busy = format!("{:.0}%", worker.busy_ratio * 100.0);
    let wanted = worker.cpu_s.unwrap_or(0.0) + worker.waited_s.unwrap_or(0.0) + worker.slept_s.unwrap_or(0.0);
    match worker.waited_s.unwrap_or(0.0) / wanted.max(1e-9) {
        share if share >= 0.01 => format!("{busy} (without a core {:.0}%)", share * 100.0),
        _ => busy,
    }
}

/// Names of other processes in the summary.
const NAMES_MAX: usize = 3;

/// A line about what else the machine did.
fn machine(document: &ResultDocument) -> String {
    let Some(machine) = &document.machine else { return String::new() };
    let load = cell(machine.load_after.or(machine.load_before), |load| format!("{load:.2}"));
    let busy = cell(machine.others_cores, |cores| format!("{cores:.2}"));
    let name = |usage: &result::ProcessUsage| format!("{} {:.1} s", usage.name, usage.cpu_s);
    let names: Vec<String> = machine.others.iter().take(NAMES_MAX).map(name).collect();
    let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    format!(
        "  machine: other processes kept {busy} of {} cores busy{names}; load average {load}\n",
        machine.cores
    )
}

/// The first line: the share of the requested load that succeeded.
fn achieved(document: &ResultDocument) -> String {
    document.achieved.as_ref().map_or_else(String::new, |achieved| format!("  {}\n\n", achieved.summary))
}

/// Lines for the control protocols of each port's hosts.
fn clients(document: &ResultDocument) -> String {
    let lines = document
        .ports
        .iter()
        .flat_map(|(name, port)| port.sentences().map(move |sentence| format!("  {name}: {sentence}\n")));
    lines.collect()
}

/// Tables of sessions, with failure reasons.
fn sessions(document: &ResultDocument) -> String {
    if document.sessions.is_empty() {
        return String::new();
    }
    let shown = || document.sessions.iter().take(ROWS_MAX);
    let head = [
        "sessions",
        "attempted",
        "opened",
        "completed",
        "failed",
        "open",
        "most",
        "opened/s",
        "responses/s",
        "goodput",
        "set-up p50",
        "ttfb p99",
        "ttlb p95",
        "ttlb p99",
    ];
    let mut text = table(&head, shown().map(|(name, s)| session_row(name, s)).collect());
    text += &session_times(document);
    for (name, session) in shown() {
        let reasons = session.seen.failed.iter();
        let reasons: Vec<_> =
            reasons.map(|(reason, n)| format!("{} {}", count(*n), reason.replace('_', " "))).collect();
        if !reasons.is_empty() {
            let _ = writeln!(text, "  {name} failed: {}", reasons.join(", "));
        }
    }
    text
}

/// Distribution of the times of a single entry.
fn session_times(document: &ResultDocument) -> String {
    let Some((_, session)) = document.sessions.iter().next().filter(|_| document.sessions.len() == 1) else {
        return String::new();
    };
    let seen = &session.seen;
    let is_late = seen.ttlb_due_ns.is_some();
    let times = [
        ("set-up", &seen.setup_ns),
        ("TLS handshake", &seen.handshake_ns),
        (if is_late { "first byte, from when sent" } else { "first byte" }, &seen.ttfb_ns),
        (if is_late { "last byte, from when sent" } else { "last byte" }, &seen.ttlb_ns),
        ("first byte, from when due", &seen.ttfb_due_ns),
        ("last byte, from when due", &seen.ttlb_due_ns),
    ];
    let row = |(what, of): (&str, &Option<LatencyResult>)| {
        let of = of.as_ref()?;
        let figures = [Some(of.min), of.p50, of.p90, of.p95, of.p99, of.p99_9, Some(of.max)];
        let figures = figures.map(|figure| cell(figure, |ns| quantity(ns as f64, "ns")));
        Some([what.to_owned()].into_iter().chain(figures).collect())
    };
    let rows: Vec<Vec<String>> = times.into_iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("\n{}", table(&["times", "min", "p50", "p90", "p95", "p99", "p99.9", "max"], rows))
}

fn session_row(name: &str, session: &SessionResult) -> Vec<String> {
    let seen = &session.seen;
    vec![
        name.to_owned(),
        count(seen.attempted),
        count(seen.established),
        count(seen.completed),
        count(seen.failed.values().sum()),
        whole(seen.active as f64),
        count(seen.active_max),
        quantity(seen.open_per_s, "/s"),
        quantity(seen.transactions_per_s, "/s"),
        // Both directions: the application determines which one matters.
        quantity(seen.rx_bps_goodput + seen.tx_bps_goodput, "bps"),
        latency(seen.setup_ns.as_ref(), |setup| setup.p50),
        latency(seen.ttfb_ns.as_ref(), |ttfb| ttfb.p99),
        latency(seen.ttlb_ns.as_ref(), |ttlb| ttlb.p95),
        latency(seen.ttlb_ns.as_ref(), |ttlb| ttlb.p99),
    ]
}

/// Columns of a table of streams; the first names the kind of row.
fn stream_columns(first: &str) -> [&str; 12] {
    [first, "offered", "lost", "ratio", "p50", "p95", "p99", "p99.9", "max", "jitter", "reordered", "dup"]
}

/// A stream's row, and one of its packets that no pause touched where their times differ.
fn stream_rows(name: &str, stream: &StreamResult) -> Vec<Vec<String>> {
    let mut rows = vec![stream_row(name, stream)];
    let figures = |of: Option<&LatencyResult>| of.map(|of| [of.p50, of.p99, of.p99_9, Some(of.max)]);
    let apart = stream.undisturbed.as_ref();
    if let Some(apart) =
        apart.filter(|apart| figures(apart.latency_ns.as_ref()) != figures(stream.latency_ns.as_ref()))
    {
        let of = StreamResult {
            latency_ns: apart.latency_ns.clone(),
            jitter_ns: apart.jitter_ns.clone(),
            ..StreamResult::default()
        };
        let mut row = stream_row(&format!("  {} undisturbed", percent(apart.ratio)), &of);
        row[1].clear();
        rows.push(row);
    }
    rows
}

fn stream_row(name: &str, stream: &StreamResult) -> Vec<String> {
    let jitter = stream.jitter_ns.as_ref().and_then(|jitter| jitter.rfc3550);
    vec![
        name.to_owned(),
        quantity(stream.offered_pps, "pps"),
        cell(stream.lost, count),
        cell(stream.loss_ratio, percent),
        latency_of(stream, |delay| delay.p50),
        latency_of(stream, |delay| delay.p95),
        latency_of(stream, |delay| delay.p99),
        latency_of(stream, |delay| delay.p99_9),
        latency_of(stream, |delay| Some(delay.max)),
        cell(jitter, |ns| quantity(ns, "ns")),
        cell(stream.reordered, count),
        cell(stream.duplicates, count),
    ]
}

/// A line for each of the first streams that are watched for outages.
fn outages(document: &ResultDocument) -> String {
    let mut text = String::new();
    let watched = document.streams.iter().filter_map(|(name, stream)| Some((name, stream.outages.as_ref()?)));
    for (name, outages) in watched.take(ROWS_MAX) {
        let time = |ns: u64| quantity(ns as f64 / 1e9, "s");
        let _ = match (outages.count, &outages.last[..]) {
            (0, _) => writeln!(text, "  {name}: no outage"),
            (1, [one]) => {
                let lasts = if one.until_ns.is_none() { ", not over" } else { "" };
                let (from, length) = (time(one.from_ns), time(outages.total_ns));
                writeln!(
                    text,
                    "  {name}: an outage of {length} after {from}{lasts}, {} lost",
                    count(one.lost)
                )
            }
            (many, _) => {
                let (longest, total) = (time(outages.longest_ns), time(outages.total_ns));
                writeln!(text, "  {name}: {} outages, the longest {longest}, {total} in all", count(many))
            }
        };
    }
    text
}
