//! A result for people.

use result::{Numbers, ResultDocument, SessionResult, StreamResult};
use std::fmt::Write;

/// Streams shown one by one; more are summed up.
const ROWS_MAX: usize = 20;

/// A number with a decimal prefix and four figures: `1.488 M`.
pub(crate) fn si(value: f64) -> String {
    let (scaled, prefix) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.3}");
    format!("{} {prefix}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Nanoseconds for people.
pub(crate) fn time(ns: f64) -> String {
    match ns {
        v if v >= 1e9 => format!("{:.2} s", v / 1e9),
        v if v >= 1e6 => format!("{:.2} ms", v / 1e6),
        v if v >= 1e3 => format!("{:.2} us", v / 1e3),
        v => format!("{v:.0} ns"),
    }
}

/// Columns, the first to the left, the others to the right.
pub(crate) fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut all = vec![head.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>()];
    all.extend(rows);
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in &all {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let _ = if column == 0 { write!(text, "  {cell}{pad}") } else { write!(text, "   {pad}{cell}") };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn cell(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// The whole result.
pub(crate) fn render(document: &ResultDocument) -> String {
    let mut text = String::new();
    let plain = |v: f64| si(v).trim_end().to_owned();
    let ports = document.ports.iter().map(|(name, port)| {
        let sum = |v: Option<f64>| cell(v, plain);
        vec![
            name.clone(),
            sum(Some(port.tx_packets as f64)),
            cell(Some(port.tx_pps), |v| si(v) + "pps"),
            cell(Some(port.tx_bps_l1), |v| si(v) + "bps"),
            sum(Some(port.rx_packets as f64)),
            cell(Some(port.rx_pps), |v| si(v) + "pps"),
            sum(port.tx_unsent.map(|n| n as f64)),
        ]
    });
    text += &table(&["port", "sent", "rate", "layer 1", "received", "rate", "unsent"], ports.collect());
    text.push('\n');
    for (group, rows) in &document.groups {
        let rows = rows.iter().take(ROWS_MAX).map(|(name, row)| stream_row(name, row)).collect();
        text += &table(
            &[group, "offered", "lost", "ratio", "p50", "p99", "p99.9", "max", "jitter", "reordered", "dup"],
            rows,
        );
        text.push('\n');
    }
    if !document.streams.is_empty() || document.sessions.is_empty() {
        text += &table(
            &[
                "stream",
                "offered",
                "lost",
                "ratio",
                "p50",
                "p99",
                "p99.9",
                "max",
                "jitter",
                "reordered",
                "dup",
            ],
            document.streams.iter().take(ROWS_MAX).map(|(name, s)| stream_row(name, s)).collect(),
        );
    }
    text += &sessions(document);
    if document.streams.len() > ROWS_MAX {
        let _ = writeln!(text, "  … and {} more, all in the JSON result", document.streams.len() - ROWS_MAX);
    }
    let workers: Vec<_> = document.workers.iter().map(|w| format!("{:.0}%", w.busy_ratio * 100.0)).collect();
    let _ = writeln!(
        text,
        "\n  {:.3} s, {} clock ({}), workers busy {}, seed {}",
        document.duration_s,
        document.clock.source,
        document.timestamp_class,
        workers.join(" "),
        document.seed
    );
    if let Some(own) = &document.self_latency_ns {
        let _ = writeln!(text, "  the tester's own latency: {} (p50)", cell(own.p50.map(|v| v as f64), time));
    }
    for (port, c) in &document.captures {
        let _ = writeln!(
            text,
            "  capture on {port}: {} of {} packets in {}; {} dropped, {} displaced",
            c.captured,
            c.seen,
            c.files.join(", "),
            c.dropped,
            c.displaced
        );
        if let Some(error) = &c.error {
            let _ = writeln!(text, "  capture on {port} ended early: {error}");
        }
    }
    let (met, failed): (Vec<_>, Vec<_>) = document.criteria.iter().partition(|c| c.passed);
    let shown = failed.iter().chain(&met).take(ROWS_MAX);
    for criterion in shown {
        let word = if criterion.passed { "met" } else { "NOT MET" };
        let value = cell(criterion.value, |v| v.to_string());
        let _ = writeln!(text, "  criterion {} {}: {word} ({value})", criterion.path, criterion.bound);
    }
    if document.criteria.len() > ROWS_MAX {
        let _ = writeln!(text, "  of {} criteria, {} were not met", document.criteria.len(), failed.len());
    }
    text + &verdict(document)
}

/// What came of sessions.
fn sessions(document: &ResultDocument) -> String {
    if document.sessions.is_empty() {
        return String::new();
    }
    let shown = || document.sessions.iter().take(ROWS_MAX);
    let head = [
        "sessions",
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
        "ttlb p99",
    ];
    let mut text = table(&head, shown().map(|(name, s)| session_row(name, s)).collect());
    for (name, session) in shown() {
        let reasons = session.seen.failed.iter();
        let reasons: Vec<_> =
            reasons.map(|(reason, n)| format!("{n} {}", reason.replace('_', " "))).collect();
        if !reasons.is_empty() {
            let _ = writeln!(text, "  {name} failed: {}", reasons.join(", "));
        }
    }
    text
}

fn session_row(name: &str, s: &SessionResult) -> Vec<String> {
    let count = |key: &str| cell(s.number(key), |v| si(v).trim_end().to_owned());
    let rate = |key: &str| cell(s.number(key), |v| si(v) + "/s");
    // Both directions: which one counts is for the application to know.
    let goodput = Some(s.seen.rx_bps_goodput + s.seen.tx_bps_goodput);
    let failed = s.seen.failed.values().sum::<u64>() as f64;
    vec![
        name.to_owned(),
        count("established"),
        count("completed"),
        si(failed).trim_end().to_owned(),
        count("active"),
        count("active_max"),
        rate("open_per_s"),
        rate("transactions_per_s"),
        cell(goodput, |v| si(v) + "bps"),
        cell(s.number("setup_ns.p50"), time),
        cell(s.number("ttfb_ns.p99"), time),
        cell(s.number("ttlb_ns.p99"), time),
    ]
}

fn stream_row(name: &str, s: &StreamResult) -> Vec<String> {
    let latency = |key: &str| cell(s.number(&format!("latency_ns.{key}")), time);
    let count = |key: &str| cell(s.number(key), |v| si(v).trim_end().to_owned());
    vec![
        name.to_owned(),
        cell(Some(s.offered_pps), |v| si(v) + "pps"),
        count("lost"),
        cell(s.loss_ratio, |v| format!("{:.4}%", v * 100.0)),
        latency("p50"),
        latency("p99"),
        latency("p99_9"),
        latency("max"),
        cell(s.number("jitter_ns.rfc3550"), time),
        count("reordered"),
        count("duplicates"),
    ]
}

fn verdict(document: &ResultDocument) -> String {
    let verdict = &document.verdict;
    let mut text = match (verdict.valid, verdict.generator_limited) {
        (true, false) => "  valid\n".to_owned(),
        (true, true) => "  valid, but the tester was the limit\n".to_owned(),
        (false, _) => "  INVALID\n".to_owned(),
    };
    if document.interrupted {
        text += "  interrupted before its end\n";
    }
    for reason in &verdict.reasons {
        let _ = writeln!(text, "    - {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([si(14_880_952.0), si(1_000.0), si(12.0), si(0.0)], ["14.881 M", "1 k", "12 ", "0 "]);
        assert_eq!([time(850.0), time(1_500.0), time(2e6)], ["850 ns", "1.50 us", "2.00 ms"]);
    }
}
