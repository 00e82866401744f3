//! A test in lines for people.

use super::Report;
use responsiveness::{Direction, Interval, Result};
use units::quantity;

fn rate(bps: Option<f64>) -> String {
    bps.map(|bps| quantity(bps, "bps")).unwrap_or_default()
}

fn rpm(rpm: Option<f64>) -> String {
    rpm.map(|rpm| format!("{rpm:.0}")).unwrap_or_default()
}

/// The server, and the latency without load.
pub fn idle_lines(report: &Report) -> Vec<String> {
    let protocols: Vec<&str> = report.protocol.into_iter().chain(report.tls).collect();
    let address = report.address.as_deref().unwrap_or_default();
    let mut lines = vec![format!("{} ({address}): {}", report.server, protocols.join(", "))];
    if let Some(idle) = &report.idle {
        let parts = parts(&[("TCP", idle.tcp_ms), ("TLS", idle.tls_ms), ("HTTP", idle.http_ms)]);
        lines.push(format!("without load: {} RPM ({parts})", rpm(idle.rpm)));
    }
    lines
}

fn parts(parts: &[(&str, Option<f64>)]) -> String {
    let known = parts.iter().filter_map(|(name, ms)| ms.map(|ms| format!("{name} {ms:.1} ms")));
    known.collect::<Vec<_>>().join(", ")
}

/// Which way a test goes, and the titles of [`interval_line`].
pub fn interval_head(direction: Direction) -> String {
    format!(
        "{}\n{:>8} {:>6} {:>14} {:>14} {:>8} {:>6}",
        direction.name(),
        "time",
        "conns",
        "from server",
        "to server",
        "probes",
        "RPM"
    )
}

/// An interval.
pub fn interval_line(interval: &Interval) -> String {
    format!(
        "{:>6.1} s {:>6} {:>14} {:>14} {:>8} {:>6}",
        interval.at_s,
        interval.connections,
        rate(interval.from_server_bps),
        rate(interval.to_server_bps),
        interval.foreign_probes + interval.loaded_probes,
        rpm(interval.rpm),
    )
}

/// The end of a test.
pub fn summary_lines(test: &Result) -> Vec<String> {
    let way = test.direction.name();
    let goodput = [("from", test.from_server_bps), ("to", test.to_server_bps)];
    let goodput: Vec<String> = match test.direction {
        Direction::Both => {
            goodput.iter().map(|(way, bps)| format!("{} {way} the server", rate(*bps))).collect()
        }
        _ => goodput.iter().filter_map(|(_, bps)| *bps).map(|bps| rate(Some(bps))).collect(),
    };
    let mut lines = match (test.latency.rpm, test.rating) {
        (Some(figure), Some(rating)) => vec![format!(
            "{way}: responsiveness {figure:.0} RPM, {} (confidence {}): {} on separate connections, {} on load-generating ones",
            rating.name(),
            test.responsiveness_confidence.name(),
            rpm(test.latency.foreign_rpm),
            rpm(test.latency.loaded_rpm),
        )],
        _ => vec![format!("{way}: no responsiveness: too few probes were successful")],
    };
    let latency = &test.latency;
    let times = parts(&[
        ("TCP", latency.tcp_ms),
        ("TLS", latency.tls_ms),
        ("HTTP", latency.http_ms),
        ("HTTP on a load-generating connection", latency.loaded_http_ms),
    ]);
    if !times.is_empty() {
        lines.push(format!("{way}: {times}"));
    }
    lines.push(format!(
        "{way}: goodput {} (confidence {}), {} connections, {} probes, {:.0} s",
        goodput.join(", "),
        test.goodput_confidence.name(),
        test.connections,
        test.foreign_probes + test.loaded_probes,
        test.seconds,
    ));
    if test.failed_probes > 0 {
        lines.push(format!("{way}: {} probes failed", test.failed_probes));
    }
    lines.extend(test.limited_by.iter().map(|by| format!("limited by {by}")));
    lines
}
