//! Sending times and rates of streams: a multiplier applies to the peak of all, and determines the time for a number of
//! packets.

use crate::document::Mode;
use crate::stream::Sender;

/// Links of chains that are followed. A loop without end repeats by then.
const LINKS_MAX: usize = 10_000;
/// Longest time that is considered, seconds.
const TIME_MAX: f64 = 1e7;

/// A stream's time of sending.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// First packet, seconds from the start.
    from: f64,
    /// Last packet; `None` is without end.
    to: Option<f64>,
    /// Index of the stream.
    stream: usize,
}

/// Spans of all streams.
pub(crate) fn spans(senders: &[Sender], factor: f64) -> Vec<Span> {
    let mut out = Vec::new();
    for first in senders.iter().filter(|sender| sender.self_start) {
        let mut left: Vec<u64> = senders.iter().map(|sender| sender.ends).collect();
        let (mut at, mut now) = (first.index, 0.0);
        while out.len() < LINKS_MAX {
            let sender = &senders[at];
            let from = now + sender.isg_us / 1e6;
            let to = sender.mode.seconds(sender.pps_at(factor)).map(|seconds| from + seconds);
            out.push(Span { from, to, stream: at });
            let (Some(end), Some(next)) = (to, sender.next) else { break };
            if sender.ends > 0 {
                left[at] -= 1;
                if left[at] == 0 {
                    break;
                }
            }
            (at, now) = (next, end);
        }
    }
    out
}

/// The largest sum of what spans weigh at one time: for those that a multiplier changes, and for the others.
pub(crate) fn peak(spans: &[Span], senders: &[Sender], weight: impl Fn(&Sender) -> f64) -> (f64, f64) {
    let mut edges: Vec<(f64, bool, usize)> = Vec::new();
    for span in spans {
        edges.push((span.from, true, span.stream));
        if let Some(to) = span.to {
            edges.push((to, false, span.stream));
        }
    }
    // At one time ends come first: a stream that follows another does not add to it.
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut best) = ((0.0f64, 0.0f64), (0.0f64, 0.0f64));
    let mut active = vec![0i64; senders.len()];
    for (_, begins, stream) in edges {
        active[stream] += if begins { 1 } else { -1 };
        now = (0.0, 0.0);
        for (sender, count) in senders.iter().zip(&active) {
            // A burst that ends before it begins (one packet) is at least there.
            let weighs = weight(sender) * (*count).max(0) as f64;
            if sender.is_fixed { now.1 += weighs } else { now.0 += weighs }
        }
        if now.0 + now.1 > best.0 + best.1 {
            best = now;
        }
    }
    if best == (0.0, 0.0) { now } else { best }
}

/// Seconds until this number of packets has left; if there are fewer, until all have.
fn time_of(spans: &[Span], senders: &[Sender], factor: f64, packets: u64) -> f64 {
    let count = |until: f64| -> f64 {
        let of = |span: &Span| {
            let end = span.to.map_or(until, |to| to.min(until));
            if end < span.from {
                0.0
            } else {
                packets_in(&senders[span.stream], factor, end - span.from, span.to)
            }
        };
        spans.iter().map(of).sum()
    };
    let last = spans.iter().map(|span| span.to).try_fold(0.0f64, |last, to| to.map(|to| last.max(to)));
    let mut until = 1e-6;
    while count(until) < packets as f64 && last.is_none_or(|last| until < last) && until < TIME_MAX {
        until *= 1.5;
    }
    until
}

/// Packets of a span in its first seconds.
fn packets_in(sender: &Sender, factor: f64, seconds: f64, end: Option<f64>) -> f64 {
    let pps = sender.pps_at(factor);
    let evenly = |seconds: f64| (seconds * pps + 1e-9).floor() + 1.0;
    match (&sender.mode, end) {
        (Mode::MultiBurst { pkts_per_burst, ibg, count, .. }, Some(_)) => {
            let packets = *pkts_per_burst as f64;
            let period = (packets - 1.0) / pps + ibg / 1e6;
            if period <= 0.0 {
                return packets * *count as f64;
            }
            let whole = (seconds / period + 1e-9).floor().min(*count as f64);
            let last =
                if whole < *count as f64 { evenly(seconds - whole * period).min(packets) } else { 0.0 };
            whole * packets + last
        }
        (Mode::SingleBurst { total_pkts, .. }, Some(_)) => evenly(seconds).min(*total_pkts as f64),
        _ => evenly(seconds),
    }
}

/// Seconds until a conversion's streams have sent this number of packets; if there are fewer, until all have left.
pub fn time_of_packets(conversion: &crate::Conversion, packets: u64) -> Option<f64> {
    let times = conversion.ports.iter().filter(|(senders, _)| !senders.is_empty());
    times
        .map(|(senders, factor)| time_of(&spans(senders, *factor), senders, *factor, packets))
        .reduce(f64::max)
}
