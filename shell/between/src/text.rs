//! Intervals and the end in lines for people.

use crate::limit::segments;
use iperf::report::{Figures, Interval, Report};
use iperf::{Test, Transport};
use units as text;

/// Column titles of [`interval_lines`].
pub fn interval_head(test: &Test) -> String {
    let what = match test.transport {
        Transport::Tcp => "retransmitted  window     RTT",
        Transport::Udp => "lost/packets         jitter",
    };
    format!("{:>5}  {:<5}{:<15} {:>12} {:>12}  {what}", "ID", "", "time", "transferred", "rate")
}

/// An interval: a line for each stream, and one for all where there are several.
pub fn interval_lines(interval: &Interval) -> Vec<String> {
    let mut lines: Vec<_> = interval.streams.iter().map(line).collect();
    if interval.streams.len() > 1 {
        lines.push(line(&interval.sum));
        lines.extend(interval.sum_bidir_reverse.as_ref().map(line));
    }
    lines
}

fn line(figures: &Figures) -> String {
    let id = figures.socket.map_or_else(|| "all".to_owned(), |id| id.to_string());
    let way = if figures.sender { "sent" } else { "rcvd" };
    let time = format!("{:.2}–{:.2} s", figures.start, figures.end);
    let mut line = format!(
        "{id:>5}  {way:<5}{time:<15} {:>12} {:>12}",
        text::quantity(figures.bytes as f64, "B"),
        text::quantity(figures.bits_per_second, "bps"),
    );
    match (figures.retransmits, figures.lost_packets, figures.packets) {
        (Some(again), _, _) => {
            line.push_str(&format!("  {:>13}", text::count(again)));
            if let (Some(window), Some(rtt)) = (figures.snd_cwnd, figures.rtt) {
                let rtt = text::quantity(rtt as f64 * 1e3, "ns");
                line.push_str(&format!("  {:<9}  {rtt}", text::quantity(window as f64, "B")));
            }
        }
        (_, Some(lost), Some(packets)) => {
            let lost = format!("{}/{}", text::count(lost), text::count(packets));
            let share = text::percent(figures.lost_percent.unwrap_or(0.0) / 100.0);
            let jitter = text::quantity(figures.jitter_ms.unwrap_or(0.0) * 1e6, "ns");
            line.push_str(&format!("  {:<20} {jitter}", format!("{lost} ({share})")));
        }
        (_, _, Some(packets)) => line.push_str(&format!("  {}", text::count(packets))),
        _ => {}
    }
    if figures.omitted == Some(true) {
        line.push_str("  does not count");
    }
    line
}

/// The end: what was sent and received, and what limited it.
pub fn summary_lines(report: &Report) -> Vec<String> {
    let end = &report.end;
    let mut lines = Vec::new();
    let ways =
        [(&end.sum_sent, &end.sum_received), (&end.sum_sent_bidir_reverse, &end.sum_received_bidir_reverse)];
    let client = report.start.accepted_connection.is_none();
    for (sent, received) in ways {
        let (Some(sent), Some(received)) = (sent, received) else { continue };
        let way = if sent.sender == client { "to the server" } else { "to the client" };
        let mut line = format!(
            "{way}: sent {} in {:.2} s, received {}, {}",
            text::quantity(sent.bytes as f64, "B"),
            sent.seconds,
            text::quantity(received.bytes as f64, "B"),
            text::quantity(received.bits_per_second, "bps"),
        );
        match (sent.retransmits, received.lost_packets, received.packets) {
            (Some(again), _, _) => line.push_str(&format!("; {} sent again", segments(again))),
            (_, Some(lost), Some(packets)) => {
                line.push_str(&format!(
                    "; {} of {} packets lost ({}), jitter {}",
                    text::count(lost),
                    text::count(packets),
                    text::percent(received.lost_percent.unwrap_or(0.0) / 100.0),
                    text::quantity(received.jitter_ms.unwrap_or(0.0) * 1e6, "ns"),
                ));
                if let Some(copies @ 1..) = received.duplicates {
                    line.push_str(&format!("; bytes include {} duplicates", text::count(copies)));
                }
            }
            _ => {}
        }
        lines.push(line);
    }
    lines.extend(end.limited_by.iter().map(|by| format!("limited by {by}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_explain_more_bytes_than_packets() {
        let mut report = Report::default();
        report.end.sum_sent =
            Some(Figures { bytes: 376_000, seconds: 1.0, sender: true, ..Figures::default() });
        let received = |duplicates| Figures {
            bytes: 375_000,
            lost_packets: Some(38),
            packets: Some(376),
            lost_percent: Some(10.1),
            duplicates: Some(duplicates),
            ..Figures::default()
        };
        report.end.sum_received = Some(received(37));
        let line = &summary_lines(&report)[0];
        assert!(line.contains("received 375 kB") && line.contains("38 of 376 packets lost"), "{line}");
        assert!(line.ends_with("; bytes include 37 duplicates"), "{line}");
        report.end.sum_received = Some(received(0));
        assert!(!summary_lines(&report)[0].contains("duplicates"));
    }
}
