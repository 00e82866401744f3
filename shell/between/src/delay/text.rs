//! Progress and the result in lines for people.

use super::Progress;
use stamp::{ClockError, Delays, Direction, Mode, Report};
use units::{count, percent, quantity};

/// Column titles of [`progress_line`].
pub fn progress_head() -> String {
    format!("{:>8} {:>9} {:>9} {:>9}  round trip: least, mean, most", "time", "sent", "received", "missing")
}

/// The time since the last line.
pub fn progress_line(progress: &Progress) -> String {
    let trips = match progress.round_trip_ns {
        Some(trips) => trips.map(|ns| quantity(ns, "ns")).join(", "),
        None => "–".to_owned(),
    };
    format!(
        "{:>6.1} s {:>9} {:>9} {:>9}  {trips}",
        progress.at_s,
        count(progress.sent),
        count(progress.received),
        count(progress.sent - progress.received),
    )
}

/// Mode of a reflector, in words.
pub fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Stateless => "stateless: the direction of a loss is not known",
        Mode::Stateful => "stateful",
        Mode::Unknown => "its mode is not known",
    }
}

/// The end.
pub fn summary_lines(report: &Report) -> Vec<String> {
    let mut lines = vec![losses(report)];
    if let Some(trip) = &report.round_trip_ns {
        lines.push(format!("round trip: {}", delays(trip)));
    }
    for (name, direction) in
        [("to the reflector", &report.to_reflector), ("from the reflector", &report.from_reflector)]
    {
        lines.extend(one_way(name, direction, report.clock.as_ref()));
    }
    lines.extend(report.clock.as_ref().map(offset));
    lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
    lines
}

fn losses(report: &Report) -> String {
    let mut line = format!(
        "{} of {} packets lost ({})",
        count(report.lost),
        count(report.sent),
        percent(report.loss_ratio)
    );
    if report.lost > 0
        && let (Some(to), Some(from)) = (report.to_reflector.lost, report.from_reflector.lost)
    {
        line.push_str(&format!(": {} to the reflector, {} from it", count(to), count(from)));
        if report.lost_unknown > 0 {
            line.push_str(&format!(", {} after the last reply", count(report.lost_unknown)));
        }
    }
    let more = [
        (report.duplicates, "duplicates"),
        (report.reordered, "reordered"),
        (report.unfit, "foreign packets"),
    ];
    for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
        line.push_str(&format!(", {} {what}", count(number)));
    }
    line
}

fn ns(value: f64) -> String {
    quantity(value, "ns")
}

fn delays(delays: &Delays) -> String {
    let [min, p50, p99, max] =
        [delays.min_ns, delays.p50_ns, delays.p99_ns, delays.max_ns].map(|value| ns(value as f64));
    format!("min {min}, p50 {p50}, p99 {p99}, max {max}, jitter {}", ns(delays.jitter_ns))
}

/// Delays of a direction. One that is smaller than its uncertainty has only an upper bound.
fn one_way(name: &str, direction: &Direction, clock: Option<&ClockError>) -> Option<String> {
    let (delay, clock) = (direction.delay_ns.as_ref()?, clock?);
    let bound = clock.uncertainty_ns as f64;
    let shown = |value: i64| match value as f64 {
        value if value < bound => format!("≤ {}", ns(value + bound)),
        value => ns(value),
    };
    let [min, p50, p99, max] = [delay.min_ns, delay.p50_ns, delay.p99_ns, delay.max_ns].map(shown);
    Some(format!(
        "{name}: min {min}, p50 {p50}, p99 {p99}, max {max} (each ± {}), jitter {}",
        ns(bound),
        ns(delay.jitter_ns)
    ))
}

fn offset(clock: &ClockError) -> String {
    let by = match clock.method {
        "packets" => "by the shortest delays both ways",
        _ => "as both hosts state",
    };
    format!(
        "the reflector's clock is {} ahead ± {}, {by}",
        ns(clock.offset_ns as f64),
        ns(clock.uncertainty_ns as f64)
    )
}
