//! The charts of a report. Each is left out if there is nothing to draw.

use super::words;
use crate::chart::{Axis, Bar, SERIES_MAX, Scale, Series, bars, lines};
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
            text: format!("{}{share}", pps(value)),
            series: goals.iter().position(|goal| *goal == f.goal)?,
        })
    };
    let drawn: Vec<Bar> = rates.iter().filter_map(bar).take(BARS_MAX).collect();
    let names: Vec<String> = goals.iter().map(|goal| words::name(goal)).collect();
    bars("c-throughput", "Rates found and the theoretical maximum", &drawn, &names)
}

/// What a trial was offered: as a share of the line rate if `share`, or in packets/s.
fn load(trial: &TrialRow, share: bool) -> Option<f64> {
    let offered = trial.figures.offered_pps?;
    if share { Some(offered / trial.line_pps.filter(|line| *line > 0.0)?) } else { Some(offered) }
}

/// A figure over the load: a line for each frame length, the mean where several trials had the same load.
pub(super) fn curve(trials: &[&TrialRow], share: bool, of: Of) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        trials.iter().filter_map(|trial| Some((load(trial, share)?, of(&trial.figures)?))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let same = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0).abs() <= 1e-6 * a.0.abs().max(b.0.abs());
    points
        .chunk_by(same)
        .map(|chunk| (chunk[0].0, chunk.iter().map(|p| p.1).sum::<f64>() / chunk.len() as f64))
        .collect()
}

/// Trials whose figures say something about the device at a load. Bursts do not. Trials
/// that narrow a search give way to those that count.
pub(super) fn meaningful(loaded: &Loaded) -> Vec<&TrialRow> {
    let usable = |t: &&TrialRow| {
        t.counts() && t.valid && !t.interrupted && !t.generator_limited && makes_curves(&t.part)
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
            Series { name: (*frame).to_owned(), points: curve(&own, share, of) }
        };
        // One load is no curve.
        frames.iter().map(one).filter(|series| series.points.len() > 1).collect()
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
    let named = |(name, of): (&'static str, Of)| {
        series(of).into_iter().map(move |one| Series { name: name.to_owned(), ..one })
    };
    let loss =
        chart("c-loss", "Frame loss over offered load", "frame loss", percent, series(|f| f.loss_ratio));
    let failed = chart(
        "c-failed",
        "Failed sessions over offered load",
        "failed sessions",
        percent,
        series(failed_ratio),
    );
    if frames.len() == 1 {
        let own = latencies.into_iter().flat_map(named).collect();
        return all([
            loss,
            chart("c-latency", "Latency over offered load", "one-way delay", ns, own),
            failed,
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
        failed,
    ])
}

fn failed_ratio(f: &Figures) -> Option<f64> {
    Some(f.sessions_failed? / f.sessions_attempted.filter(|n| *n > 0.0)?)
}

/// What a percentile plot is drawn from.
pub(super) struct Quantiles {
    /// Shares of the packets and their delays, from the fastest packet on.
    known: [(f64, Option<f64>); 6],
    max: Option<f64>,
    samples: Option<f64>,
}

impl Quantiles {
    pub(super) fn of_times(times: &LatencyResult) -> Self {
        let ns = |ns: Option<u64>| ns.map(|ns| ns as f64);
        let known = [Some(times.min), times.p50, times.p90, times.p99, times.p99_9, times.p99_99].map(ns);
        Self::new(known, Some(times.max as f64), Some(times.samples as f64))
    }

    /// Of a trial: the largest of its streams'.
    pub(super) fn of_trial(f: &Figures) -> Self {
        let known = [
            f.latency_min_ns,
            f.latency_p50_ns,
            f.latency_p90_ns,
            f.latency_p99_ns,
            f.latency_p99_9_ns,
            f.latency_p99_99_ns,
        ];
        Self::new(known, f.latency_max_ns, f.rx)
    }

    fn new(known: [Option<f64>; 6], max: Option<f64>, samples: Option<f64>) -> Self {
        const SHARES: [f64; 6] = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999];
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
        .map(|(name, times)| Series { name: name.clone(), points: Quantiles::of_times(times).points() })
        .filter(|series| !series.points.is_empty())
        .collect()
}

fn of_frames(loaded: &Loaded) -> Vec<Series> {
    let trials = meaningful(loaded);
    let one = |frame: &str| {
        let own =
            trials.iter().filter(|trial| trial.frame == frame && trial.figures.latency_p50_ns.is_some());
        let best = own.min_by(|a, b| {
            let key =
                |t: &TrialRow| (t.figures.loss_ratio.unwrap_or(1.0), -t.figures.offered_pps.unwrap_or(0.0));
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        })?;
        let offered = best.figures.offered_pps.map_or_else(String::new, |load| format!(" at {}", pps(load)));
        let name = format!("{frame}{offered}");
        Some(Series { name: name.trim().to_owned(), points: Quantiles::of_trial(&best.figures).points() })
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

fn timeline(loaded: &Loaded, trial: u32, intervals: &[Value]) -> Option<Markup> {
    let read = intervals.iter().filter_map(|interval| IntervalDocument::deserialize(interval).ok());
    let sending: Vec<(f64, Figures)> = read.filter(|interval| !interval.draining).map(figures).collect();
    let series = |name: &str, of: Of| Series {
        name: name.to_owned(),
        points: sending.iter().filter_map(|(at_s, figures)| Some((*at_s, of(figures)?))).collect(),
    };
    let x = Axis { title: "time since traffic started".to_owned(), scale: Scale::Linear, format: seconds };
    let chart = |id: String, title: &str, y: &str, format, series: &[Series]| {
        if series.iter().all(|one| one.points.len() < 2) {
            return None;
        }
        let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
        lines(&id, title, &x, &Axis::suited(y, format, values), series)
    };
    let rates = [series("sent", |f| f.offered_pps), series("received", |f| f.rx_pps)];
    let delays = [
        series("median", |f| f.latency_p50_ns),
        series("99%", |f| f.latency_p99_ns),
        series("longest", |f| f.latency_max_ns),
    ];
    let sessions = [
        series("opened per second", |f| f.open_per_s),
        series("transactions per second", |f| f.transactions_per_s),
    ];
    let charts = all([
        chart(format!("c-rate-{trial}"), "Packets per second", "packets per second", pps, &rates),
        chart(format!("c-delay-{trial}"), "Latency in each interval", "one-way delay", ns, &delays),
        chart(format!("c-sessions-{trial}"), "Sessions", "per second", count, &sessions),
    ])?;
    let row = loaded.trials.iter().find(|row| row.number == trial);
    Some(html! {
        @if loaded.trials.len() > 1 {
            h3 { "Trial " (trial) @if let Some(row) = row.filter(|row| !row.name().is_empty()) { ": " (row.name()) } }
        }
        (charts)
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
