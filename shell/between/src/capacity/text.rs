//! Intervals and the end in lines for people.

use udpst::{Activation, Capacity, Interval};
use units::{percent, quantity};

/// Description of the measurement.
pub fn described(asked: &Activation) -> String {
    let way = if asked.upwards { "to the server" } else { "from the server" };
    let rate = match asked.rate_row {
        Activation::SEARCH => "searched from the lowest on".to_owned(),
        row if asked.modifiers & udpst::modifier::BEGINS == 0 => format!("row {row} of the table"),
        row => format!("searched from row {row} of the table on"),
    };
    format!("UDP {way} for {} s, rate {rate}", asked.seconds)
}

/// Column titles of [`interval_line`].
pub fn interval_head() -> String {
    format!(
        "{:>8} {:>12} {:>10}  {:<24} {}",
        "time", "IP layer", "lost", "late / again", "delay rose by, ms (mean, most)"
    )
}

/// An interval.
pub fn interval_line(interval: &Interval) -> String {
    let [_, mean, most] = interval.delay_rise_ms;
    format!(
        "{:>6.1} s {:>12} {:>10}  {:<24} {mean:.1}, {most:.0}",
        interval.at_s,
        quantity(interval.bps_ip, "bps"),
        percent(interval.loss_ratio),
        format!("{} / {}", interval.reordered, interval.duplicates),
    )
}

/// The end.
pub fn summary_lines(capacity: &Capacity) -> Vec<String> {
    let way = if capacity.direction == "to_server" { "to the server" } else { "from the server" };
    let (Some(most), Some(mean), Some(at)) = (capacity.capacity_bps_ip, capacity.mean_bps_ip, capacity.at_s)
    else {
        return vec![format!("{way}: nothing was measured: the test ended before an interval was whole")];
    };
    let round_trip =
        capacity.round_trip_min_ms.map(|ms| format!(", round trip {ms:.0} ms or more")).unwrap_or_default();
    let mut lines = vec![format!(
        "{way}: IP-layer capacity {} (the most in an interval: until {at:.1} s, {} lost), mean {}{round_trip}",
        quantity(most, "bps"),
        percent(capacity.loss_ratio.unwrap_or(0.0)),
        quantity(mean, "bps"),
    )];
    lines.extend(capacity.limited_by.iter().map(|by| format!("limited by {by}")));
    lines
}
