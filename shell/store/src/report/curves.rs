//! The charts of a report. Each is left out if there is nothing to draw.

use super::words;
use crate::chart::{Axis, Band, Bar, SERIES_MAX, Scale, Series, bars, lines, lines_over};
use crate::compare::answers;
use crate::{Figures, Finding, Loaded, TrialRow, percent, quantity};
use maud::{Markup, html};
use methods::makes_curves;
use result::{IntervalDocument, LatencyResult, ResultDocument};
use serde::Deserialize;
use serde_json::Value;
use units::whole as count;

/// Trials whose intervals are drawn.
const TIMELINES_MAX: usize = 4;
/// Bars more than these are in the table only.
const BARS_MAX: usize = 30;

/// A figure of a trial.
pub(super) type Of = fn(&Figures) -> Option<f64>;

fn pps(value: f64) -> String {
    quantity(value, "pps")
}

fn ns(value: f64) -> String {
    quantity(value, "ns")
}

fn seconds(value: f64) -> String {
    quantity(value, "s")
}

/// Quantiles with their nines: `99.99%`.
fn quantile(value: f64) -> String {
    let text = format!("{:.8}", value * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Charts one after the other; `None` if there is none.
fn all(charts: impl IntoIterator<Item = Option<Markup>>) -> Option<Markup> {
    let charts: Vec<Markup> = charts.into_iter().flatten().collect();
    (!charts.is_empty()).then(|| html! { @for chart in &charts { (chart) } })
}

/// Rates found, beside the line rate.
pub(super) fn throughput(loaded: &Loaded) -> Option<Markup> {
    let rates: Vec<&Finding> =
        loaded.findings.iter().filter(|f| f.unit == "pps" && f.value.is_some() && f.line.is_some()).collect();
    let mut goals: Vec<&str> = Vec::new();
    for rate in &rates {
        if !goals.contains(&rate.goal.as_str()) && goals.len() < SERIES_MAX {
            goals.push(&rate.goal);
        }
    }
    let bar = |f: &&Finding| {
        let (value, line) = (f.value?, f.line?);
        let share = if line > 0.0 { format!(" ({})", percent(value / line)) } else { String::new() };
        Some(Bar {
            name: f.frame.clone(),
            value,
            limit: Some(line),
            interval: f.lower.zip(f.upper).filter(|(lower, upper)| lower < upper),
            text: format!("{}{share}", pps(value)),
            series: goals.iter().position(|goal| *goal == f.goal)?,
        })
    };
    let drawn: Vec<Bar> = rates.iter().filter_map(bar).take(BARS_MAX).collect();
    let names: Vec<String> = goals.iter().map(|goal| words::name(goal)).collect();
    bars("c-throughput", "Rates found and the theoretical maximum", &drawn, &names)
}

/// What a trial was offered: as a share of the line rate if `share`, or in packets/s.
pub(super) fn load(trial: &TrialRow, share: bool) -> Option<f64> {
    let offered = trial.figures.offered_pps?;
    if share { Some(offered / trial.line_pps.filter(|line| *line > 0.0)?) } else { Some(offered) }
}

/// Loads nearer to each other than this share of them are one: the same load is never sent twice to the last packet.
const SAME_LOAD: f64 = 2e-4;

/// A figure over the load: a line through the medians, and the single trials where several had the same load. Trials in
/// which the tester was disturbed are marked; those of them that are not valid do not count for the line.
pub(super) fn curve(trials: &[&TrialRow], load: impl Fn(&TrialRow) -> Option<f64>, of: Of) -> Series {
    let point = |trial: &TrialRow| Some((load(trial)?, of(&trial.figures)?));
    let mut all: Vec<(f64, f64)> =
        trials.iter().filter(|t| t.valid).filter_map(|trial| point(trial)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let same = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0).abs() <= SAME_LOAD * a.0.abs().max(b.0.abs());
    let median = |values: &mut dyn Iterator<Item = f64>| {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        if values.len() % 2 == 1 { values[middle] } else { values[middle - 1].midpoint(values[middle]) }
    };
    let chunks: Vec<&[(f64, f64)]> = all.chunk_by(same).collect();
    let points = chunks
        .iter()
        .map(|chunk| (median(&mut chunk.iter().map(|p| p.0)), median(&mut chunk.iter().map(|p| p.1))))
        .collect();
    let singles =
        chunks.iter().filter(|chunk| chunk.len() > 1).flat_map(|chunk| chunk.iter().copied()).collect();
    let disturbed = trials.iter().filter(|trial| trial.disturbed).filter_map(|trial| {
        let (x, y) = point(trial)?;
        let valid = if trial.valid { "" } else { ", not valid" };
        Some((x, y, format!("trial {}{valid}: {}", trial.ordinal, trial.reasons.join("; "))))
    });
    Series { points, singles, disturbed: disturbed.collect(), ..Series::default() }
}

/// Whether there is more to see than a single load.
pub(super) fn is_curve(series: &Series) -> bool {
    series.points.len() > 1 || series.points.len() + series.disturbed.len() > 2
}

/// Trials whose figures say something about the device at a load, and those that would if the tester had not been
/// disturbed. Bursts do not. Trials that narrow a search give way to those that count.
pub(super) fn meaningful(loaded: &Loaded) -> Vec<&TrialRow> {
    let usable = |t: &&TrialRow| {
        t.counts()
            && (t.valid || t.disturbed)
            && !t.interrupted
            && !t.generator_limited
            && makes_curves(&t.part)
    };
    let all: Vec<&TrialRow> = loaded.trials.iter().filter(usable).collect();
    let measured: Vec<&TrialRow> = all.iter().copied().filter(|t| t.phase != "explore").collect();
    if measured.len() > 1 { measured } else { all }
}

/// Frame lengths in order of appearance.
pub(super) fn frames<'a>(trials: &[&'a TrialRow]) -> Vec<&'a str> {
    let mut frames: Vec<&str> = Vec::new();
    for trial in trials {
        if !frames.contains(&trial.frame.as_str()) {
            frames.push(&trial.frame);
        }
    }
    frames
}

/// Whether every trial knows its line rate.
pub(super) fn all_have_lines(trials: &[&TrialRow]) -> bool {
    trials.iter().all(|trial| trial.line_pps.is_some_and(|line| line > 0.0))
}

pub(super) fn load_axis(share: bool) -> Axis {
    let (title, format): (_, fn(f64) -> String) =
        if share { ("offered load, share of the line rate", percent) } else { ("offered load", pps) };
    Axis { title: title.to_owned(), scale: Scale::Linear, format }
}

/// Loss and latency over load, by frame length (RFC 2544 section 26.3).
pub(super) fn over_load(loaded: &Loaded) -> Option<Markup> {
    let trials = meaningful(loaded);
    let (share, frames) = (all_have_lines(&trials), frames(&trials));
    let x = load_axis(share);
    let series = |of: Of| -> Vec<Series> {
        let one = |frame: &&str| {
            let own: Vec<&TrialRow> = trials.iter().copied().filter(|trial| trial.frame == *frame).collect();
            Series { name: (*frame).to_owned(), ..curve(&own, |trial| load(trial, share), of) }
        };
        // One load is no curve.
        frames.iter().map(one).filter(is_curve).collect()
    };
    let chart = |id: &str, title: &str, y: &str, format, series: Vec<Series>| {
        let values = || series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
        lines(id, title, &x, &Axis::suited(y, format, values()), &series)
    };
    let latencies: [(&'static str, Of); 4] = [
        ("median", |f| f.latency_p50_ns),
        ("99%", |f| f.latency_p99_ns),
        ("99.9%", |f| f.latency_p99_9_ns),
        ("longest", |f| f.latency_max_ns),
    ];
    let variations: [(&'static str, Of); 3] = [
        ("standard deviation of latency", |f| f.latency_stddev_ns),
        ("jitter, mean", |f| f.jitter_mean_ns),
        ("standard deviation between arrivals", |f| f.interarrival_stddev_ns),
    ];
    let named = |(name, of): (&'static str, Of)| {
        series(of).into_iter().map(move |one| Series { name: name.to_owned(), ..one })
    };
    let loss =
        chart("c-loss", "Frame loss over offered load", "frame loss", percent, series(|f| f.loss_ratio));
    if frames.len() == 1 {
        let own = latencies.into_iter().flat_map(named).collect();
        let variation = variations.into_iter().flat_map(named).collect();
        return all([
            loss,
            chart("c-latency", "Latency over offered load", "one-way delay", ns, own),
            chart("c-variation", "Delay variation over offered load", "delay variation", ns, variation),
        ]);
    }
    all([
        loss,
        chart(
            "c-p50",
            "Median latency over offered load",
            "one-way delay, median",
            ns,
            series(latencies[0].1),
        ),
        chart(
            "c-p99",
            "Latency of 99% of the packets over offered load",
            "one-way delay, 99%",
            ns,
            series(latencies[1].1),
        ),
        chart(
            "c-stddev",
            "Standard deviation of latency over offered load",
            "standard deviation",
            ns,
            series(variations[0].1),
        ),
    ])
}

/// Failures, set-up and response times over the load that trials of sessions asked for, failed trials too: where a device
/// gives up is what they are for.
pub(super) fn sessions_over_load(loaded: &Loaded) -> Option<Markup> {
    let trials: Vec<&TrialRow> =
        loaded.trials.iter().filter(|t| t.load.is_some() && t.counts() && !t.interrupted).collect();
    let mut units: Vec<&str> = Vec::new();
    for unit in trials.iter().filter_map(|trial| trial.load_unit.as_deref()) {
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    let of_unit = |(number, unit): (usize, &&str)| {
        let own: Vec<&TrialRow> =
            trials.iter().copied().filter(|trial| trial.load_unit.as_deref() == Some(*unit)).collect();
        sessions_over(number, unit, &own)
    };
    all(units.iter().enumerate().map(of_unit))
}

/// The charts of trials whose load has one unit.
fn sessions_over(number: usize, unit: &str, trials: &[&TrialRow]) -> Option<Markup> {
    let (what, format): (&str, fn(f64) -> String) = match unit {
        "times" => ("multiple of the profile's load", |value| quantity(value, "")),
        "connections" => ("connections held at the same time", count),
        "bits/s" => ("application data", |value| quantity(value, "bps")),
        "transactions/s" => ("transactions per second", |value| quantity(value, "/s")),
        _ => ("connections opened per second", |value| quantity(value, "/s")),
    };
    let x = Axis { title: format!("load asked for: {what}"), scale: Scale::Linear, format };
    let frames = frames(trials);
    let series = |names: &[(&str, Of)]| -> Vec<Series> {
        let mut all = Vec::new();
        for frame in &frames {
            let own: Vec<&TrialRow> = trials
                .iter()
                .copied()
                .filter(|trial| trial.frame == *frame && !trial.generator_limited)
                .collect();
            for (name, of) in names {
                let name: Vec<&str> = [if frames.len() > 1 { frame } else { "" }, name]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect();
                all.push(Series { name: name.join(": "), ..curve(&own, |trial| trial.load, *of) });
            }
        }
        all.retain(is_curve);
        all
    };
    let chart = |id: &str, title: &str, y: &str, format, names: &[(&str, Of)]| {
        let series = series(names);
        let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
        let title = format!("{title} over load, {what}");
        lines(&format!("c-{id}-{number}"), &title, &x, &Axis::suited(y, format, values), &series)
    };
    let (reached, of_what): (Of, fn(f64) -> String) = match unit {
        "times" => (|f| f.goodput_bps, |value| quantity(value, "bps")),
        "connections" => (|f| f.sessions_active_max, format),
        "bits/s" => (|f| f.goodput_bps, format),
        "transactions/s" => (|f| f.transactions_per_s, format),
        _ => (|f| f.open_per_s, format),
    };
    all([
        chart("s-failed", "Failed sessions", "failed, share of attempted", percent, &[("", failed_ratio)]),
        chart(
            "s-opened",
            "Sessions attempted and established",
            "sessions",
            count,
            &[("attempted", |f| f.sessions_attempted), ("established", |f| f.sessions_established)],
        ),
        chart("s-reached", "Reached, as a mean with ramps,", "reached", of_what, &[("", reached)]),
        chart("s-setup", "Time to set up", "99%", ns, &[("", |f| f.setup_p99_ns)]),
        chart(
            "s-response",
            "Time to the first and to the last byte",
            "99%",
            ns,
            &[("first byte", |f| f.ttfb_p99_ns), ("last byte", |f| f.ttlb_p99_ns)],
        ),
    ])
}

/// What devices along the path received and sent, by their counters, while trials ran; the last trials first.
pub(super) fn path_over_time(loaded: &Loaded) -> Option<Markup> {
    let trials = loaded.trials.iter().zip(&loaded.results).rev();
    let charts: Vec<Markup> = trials
        .filter_map(|(trial, result)| path_rates(loaded, trial, &result["path"]))
        .take(TIMELINES_MAX)
        .collect();
    all(charts.into_iter().map(Some))
}

/// A sample of a device's counters, as `eagre.path/1` has it.
#[derive(Deserialize)]
struct Sample {
    hop: String,
    at_s: f64,
    in_packets: Option<f64>,
    out_packets: Option<f64>,
    drops: Option<f64>,
}

fn path_rates(loaded: &Loaded, trial: &TrialRow, path: &Value) -> Option<Markup> {
    let chart = packets_of_hops(&format!("c-path-{}", trial.ordinal), path)?;
    Some(html! {
        @if loaded.trials.len() > 1 { h3 { (trial.title()) } }
        (chart)
    })
}

/// What the devices of a path received and sent, and below it what they dropped.
pub(super) fn packets_of_hops(id: &str, path: &Value) -> Option<Markup> {
    let samples = Vec::<Sample>::deserialize(path.get("samples")?).ok()?;
    let mut hops: Vec<&str> = Vec::new();
    for sample in &samples {
        if !hops.contains(&sample.hop.as_str()) {
            hops.push(&sample.hop);
        }
    }
    let rates = |hop: &str, of: &dyn Fn(&Sample) -> Option<f64>| -> Vec<(f64, f64)> {
        let own: Vec<(f64, f64)> =
            samples.iter().filter(|s| s.hop == hop).filter_map(|s| Some((s.at_s, of(s)?))).collect();
        // The counters begin at zero, with the traffic.
        let from = std::iter::once((0.0, 0.0)).chain(own.iter().copied());
        let steps = from.zip(own.iter().copied()).filter(|(before, now)| now.0 > before.0);
        steps.map(|(before, now)| (now.0, (now.1 - before.1).max(0.0) / (now.0 - before.0))).collect()
    };
    let one = |hop: &&str| {
        let name = |what: &str| format!("{hop}: {what}");
        let received =
            Series { name: name("in"), points: rates(hop, &|s| s.in_packets), ..Series::default() };
        [received, Series { name: name("out"), points: rates(hop, &|s| s.out_packets), ..Series::default() }]
    };
    let dropped = |hop: &&str| Series {
        name: (*hop).to_owned(),
        points: rates(hop, &|s| s.drops),
        ..Series::default()
    };
    let series: Vec<Series> = hops.iter().flat_map(one).collect();
    if series.iter().all(|one| one.points.len() < 2) {
        return None;
    }
    let drops: Vec<Series> =
        hops.iter().map(dropped).filter(|one| one.points.iter().any(|(_, rate)| *rate > 0.0)).collect();
    let over_time = |id: &str, title: &str, series: &[Series]| {
        let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
        let x =
            Axis { title: "time since traffic started".to_owned(), scale: Scale::Linear, format: seconds };
        let y = Axis::suited("packets per second", pps, values);
        lines(id, title, &x, &y, series)
    };
    let chart = over_time(id, "Packets per second into and out of each device, by its counters", &series)?;
    let below = over_time(&format!("{id}-drops"), "Packets per second dropped, by the drop counters", &drops);
    Some(html! { (chart) @if let Some(below) = below { (below) } })
}

fn failed_ratio(f: &Figures) -> Option<f64> {
    Some(f.sessions_failed? / f.sessions_attempted.filter(|n| *n > 0.0)?)
}

/// What a percentile plot is drawn from.
pub(super) struct Quantiles {
    /// Shares of the packets and their delays, from the fastest packet on.
    known: [(f64, Option<f64>); 7],
    max: Option<f64>,
    samples: Option<f64>,
}

impl Quantiles {
    pub(super) fn of_times(times: &LatencyResult) -> Self {
        let ns = |ns: Option<u64>| ns.map(|ns| ns as f64);
        let known =
            [Some(times.min), times.p50, times.p90, times.p95, times.p99, times.p99_9, times.p99_99].map(ns);
        Self::new(known, Some(times.max as f64), Some(times.samples as f64))
    }

    /// Of a trial: the largest of its streams'.
    pub(super) fn of_trial(f: &Figures) -> Self {
        let known = [
            f.latency_min_ns,
            f.latency_p50_ns,
            f.latency_p90_ns,
            f.latency_p95_ns,
            f.latency_p99_ns,
            f.latency_p99_9_ns,
            f.latency_p99_99_ns,
        ];
        Self::new(known, f.latency_max_ns, f.rx)
    }

    fn new(known: [Option<f64>; 7], max: Option<f64>, samples: Option<f64>) -> Self {
        const SHARES: [f64; 7] = [0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];
        Self { known: std::array::from_fn(|index| (SHARES[index], known[index])), max, samples }
    }

    /// The points of the plot: quantiles that enough samples stand behind.
    pub(super) fn points(&self) -> Vec<(f64, f64)> {
        let samples = self.samples.unwrap_or(f64::INFINITY);
        let has = |q: f64| q < 0.9 || (1.0 - q) * samples >= 1.0 - 1e-9;
        let known = self.known.iter().filter(|(q, _)| has(*q));
        let mut points: Vec<(f64, f64)> = known.filter_map(|(q, ns)| Some((*q, (*ns)?))).collect();
        if points.iter().all(|(q, _)| *q < 0.5) {
            return Vec::new();
        }
        // The largest of n is the quantile 1 − 1/n.
        let top = Some(1.0 - 1.0 / samples).filter(|top| points.last().is_some_and(|last| *top > last.0));
        points.extend(top.filter(|top| *top < 1.0).zip(self.max));
        points
    }
}

/// A percentile plot.
pub(super) fn percentile_chart(id: &str, title: &str, series: &[Series]) -> Option<Markup> {
    let x = Axis { title: "share of the packets".to_owned(), scale: Scale::Percentile, format: quantile };
    let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
    let y = Axis::suited("not slower than", ns, values);
    lines(id, title, &x, &y, series)
}

/// Latency by percentile: by stream of a single trial, or by frame length of a campaign.
pub(super) fn percentiles(loaded: &Loaded) -> Option<Markup> {
    let (series, about) = match loaded.only() {
        Some(document) => (of_streams(&document), "by stream"),
        None => (of_frames(loaded), "of the trial with the highest load and the least loss"),
    };
    let more = series.len().saturating_sub(SERIES_MAX);
    let chart = percentile_chart("c-percentiles", &format!("Latency percentiles {about}"), &series)?;
    Some(html! {
        (chart)
        @if more > 0 { p.soft { "The first " (SERIES_MAX) " are drawn; " (more) " more are in the tables." } }
    })
}

fn of_streams(document: &ResultDocument) -> Vec<Series> {
    let measured =
        document.streams.iter().filter_map(|(name, stream)| Some((name, stream.latency_ns.as_ref()?)));
    measured
        .map(|(name, times)| Series {
            name: name.clone(),
            points: Quantiles::of_times(times).points(),
            ..Series::default()
        })
        .filter(|series| !series.points.is_empty())
        .collect()
}

fn of_frames(loaded: &Loaded) -> Vec<Series> {
    let trials = meaningful(loaded);
    let one = |frame: &str| {
        let own = trials.iter().filter(|t| t.valid && t.frame == frame && t.figures.latency_p50_ns.is_some());
        let best = own.min_by(|a, b| {
            let key =
                |t: &TrialRow| (t.figures.loss_ratio.unwrap_or(1.0), -t.figures.offered_pps.unwrap_or(0.0));
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        })?;
        let offered = best.figures.offered_pps.map_or_else(String::new, |load| format!(" at {}", pps(load)));
        let name = format!("{frame}{offered}");
        Some(Series {
            name: name.trim().to_owned(),
            points: Quantiles::of_trial(&best.figures).points(),
            ..Series::default()
        })
    };
    frames(&trials).into_iter().filter_map(one).filter(|series| !series.points.is_empty()).collect()
}

/// Rates and latency while trials ran, the last trials first.
pub(super) fn over_time(loaded: &Loaded) -> Option<Markup> {
    let drawn = loaded.intervals.iter().rev().take(TIMELINES_MAX);
    let charts = all(drawn.map(|(number, intervals)| timeline(loaded, *number, intervals)))?;
    let left_out = loaded.intervals.len().saturating_sub(TIMELINES_MAX);
    Some(html! {
        (charts)
        @if left_out > 0 {
            p.soft { "The last " (TIMELINES_MAX) " trials with intervals are drawn; the export has " (left_out) " more." }
        }
    })
}

/// Disturbances listed beside the charts.
const DISTURBANCES_MAX: usize = 20;

fn timeline(loaded: &Loaded, trial: u32, intervals: &[Value]) -> Option<Markup> {
    let read = intervals.iter().filter_map(|interval| IntervalDocument::deserialize(interval).ok());
    let read: Vec<IntervalDocument> = read.filter(|interval| !interval.draining).collect();
    let bands: Vec<Band> = read
        .iter()
        .filter(|interval| !interval.disturbances.is_empty())
        .map(|interval| Band {
            from: (interval.at_s - interval.interval_s).max(0.0),
            to: interval.at_s,
            about: interval.disturbances.join("; "),
        })
        .collect();
    let sending: Vec<(f64, Figures)> = read.into_iter().map(figures).collect();
    let series = |name: &str, of: Of| Series {
        name: name.to_owned(),
        points: sending.iter().filter_map(|(at_s, figures)| Some((*at_s, of(figures)?))).collect(),
        ..Series::default()
    };
    let x = Axis { title: "time since traffic started".to_owned(), scale: Scale::Linear, format: seconds };
    let chart = |id: String, title: &str, y: &str, format, series: &[Series]| {
        if series.iter().all(|one| one.points.len() < 2) {
            return None;
        }
        let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
        lines_over(&id, title, &x, &Axis::suited(y, format, values), series, &bands)
    };
    let rates = [series("sent", |f| f.offered_pps), series("received", |f| f.rx_pps)];
    let delays = [
        series("median", |f| f.latency_p50_ns),
        series("99%", |f| f.latency_p99_ns),
        series("longest", |f| f.latency_max_ns),
    ];
    let variations = [
        series("standard deviation of latency", |f| f.latency_stddev_ns),
        series("jitter, mean", |f| f.jitter_mean_ns),
        series("standard deviation between arrivals", |f| f.interarrival_stddev_ns),
    ];
    let pacing =
        [series("gap error, 99%", |f| f.gap_error_p99_ns), series("latest departure", |f| f.late_max_ns)];
    let sessions = [
        series("opened per second", |f| f.open_per_s),
        series("transactions per second", |f| f.transactions_per_s),
    ];
    let started = [
        series("attempted", |f| f.sessions_attempted),
        series("established", |f| f.sessions_established),
        series("failed", |f| f.sessions_failed),
    ];
    let times = [
        series("set-up", |f| f.setup_p99_ns),
        series("first byte", |f| f.ttfb_p99_ns),
        series("last byte", |f| f.ttlb_p99_ns),
    ];
    let row = loaded.trials.iter().find(|row| row.number == trial);
    // Of several trials only a disturbed one needs to show how it was sent.
    let is_close = loaded.trials.len() == 1 || row.is_some_and(|row| row.disturbed) || !bands.is_empty();
    let close = |series: &[Series], chart: Option<Markup>| {
        let is_flat = series.iter().flat_map(|one| &one.points).all(|point| point.1 == 0.0);
        chart.filter(|_| is_close && !is_flat)
    };
    let charts = all([
        chart(format!("c-rate-{trial}"), "Packets per second", "packets per second", pps, &rates),
        chart(format!("c-delay-{trial}"), "Latency in each interval", "one-way delay", ns, &delays),
        close(
            &variations,
            chart(
                format!("c-variation-{trial}"),
                "Delay variation in each interval",
                "time",
                ns,
                &variations,
            ),
        ),
        close(
            &pacing,
            chart(
                format!("c-pacing-{trial}"),
                "Pacing: departures compared with the schedule",
                "time",
                ns,
                &pacing,
            ),
        ),
        chart(format!("c-sessions-{trial}"), "Sessions", "per second", count, &sessions),
        chart(format!("c-outcomes-{trial}"), "Sessions in each interval", "sessions", count, &started),
        chart(format!("c-times-{trial}"), "Times of sessions, 99%, in each interval", "99%", ns, &times),
    ])?;
    Some(html! {
        @if let Some(row) = row.filter(|_| loaded.trials.len() > 1) { h3 { (row.title()) } }
        (charts)
        @if !bands.is_empty() {
            p { "The tester was disturbed in " (bands.len()) " of " (sending.len()) " intervals, shaded above:" }
            ul {
                @for band in bands.iter().take(DISTURBANCES_MAX) {
                    li { "until " (seconds(band.to)) ": " (band.about) }
                }
                @if bands.len() > DISTURBANCES_MAX { li { "and " (bands.len() - DISTURBANCES_MAX) " more" } }
            }
        }
    })
}

/// The end of an interval, and its figures: rates are over its length.
fn figures(interval: IntervalDocument) -> (f64, Figures) {
    let IntervalDocument { at_s, interval_s, ports, streams, groups, sessions, .. } = interval;
    let rows = ResultDocument {
        duration_s: interval_s,
        ports,
        streams,
        groups,
        sessions,
        ..ResultDocument::default()
    };
    (at_s, Figures::new(&rows))
}

/// What a campaign found in a unit, by frame and goal.
pub(super) fn rates_found(loaded: &Loaded) -> Vec<Finding> {
    answers(&loaded.findings, &loaded.trials).into_iter().filter(|finding| finding.unit == "pps").collect()
}
