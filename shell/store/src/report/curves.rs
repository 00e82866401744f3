//! The charts of a report. Each is left out if there is nothing to draw.

use super::words;
use crate::chart::{
    Axis, Band, Bar, Mark, Panel, SERIES_MAX, Scale, Series, bars, lines, lines_over, panels,
};
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

/// Rates found, compared with the line rate.
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

/// Offered load of a trial: as a share of the line rate if `share`, or in packets/s.
pub(super) fn load(trial: &TrialRow, share: bool) -> Option<f64> {
    let offered = trial.figures.offered_pps?;
    if share { Some(offered / trial.line_pps.filter(|line| *line > 0.0)?) } else { Some(offered) }
}

/// Loads nearer to each other than this share of them are one: the same load is never sent twice to the last packet.
const SAME_LOAD: f64 = 2e-4;

/// A figure over the load: a line through the medians, and the single trials where several had the same load. Trials in
/// which the tester was disturbed are marked; invalid ones do not count for the line.
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

/// Trials whose figures are evidence about the device at a load, and the ones that would be if the tester had not been
/// disturbed. Bursts are not. Trials that narrow a search give way to trials that count.
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

/// A plot of a chart with several; its axis suits its series.
fn panel(y: &str, format: fn(f64) -> String, look: usize, height: f64, series: Vec<Series>) -> Panel {
    let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
    Panel { y: Axis::suited(y, format, values), series, look, height }
}

/// Trials over their load, by frame length.
struct OverLoad<'a> {
    trials: Vec<&'a TrialRow>,
    frames: Vec<&'a str>,
    /// Loads are shares of the line rate.
    share: bool,
}

impl<'a> OverLoad<'a> {
    fn new(loaded: &'a Loaded) -> Self {
        let trials = meaningful(loaded);
        Self { frames: frames(&trials), share: all_have_lines(&trials), trials }
    }

    /// A figure, a series for each frame length that has more than one load.
    fn series(&self, of: Of) -> Vec<Series> {
        let one = |frame: &&str| {
            let own: Vec<&TrialRow> = self.trials.iter().copied().filter(|t| t.frame == *frame).collect();
            Series { name: (*frame).to_owned(), ..curve(&own, |trial| load(trial, self.share), of) }
        };
        self.frames.iter().map(one).filter(is_curve).collect()
    }

    /// Figures of the only frame length, under their own names.
    fn named(&self, all: &[(&'static str, Of)]) -> Vec<Series> {
        let named = |(name, of): &(&'static str, Of)| {
            self.series(*of)
                .into_iter()
                .map(|one| Series { name: (*name).to_owned(), ..one })
                .collect::<Vec<_>>()
        };
        all.iter().flat_map(named).collect()
    }

    /// The knee of each frame length: the highest load without loss, where a higher one lost packets.
    fn knees(&self) -> Vec<Mark> {
        let format = load_axis(self.share).format;
        let knee = |one: Series| {
            let first = one.points.iter().position(|(_, loss)| *loss > 0.0)?;
            let (at, _) = *one.points.get(first.checked_sub(1)?)?;
            let of = if self.frames.len() == 1 { String::new() } else { format!("{}: ", one.name) };
            Some(Mark { at, about: format!("{of}no loss up to {}", format(at)) })
        };
        self.series(|f| f.loss_ratio).into_iter().filter_map(knee).take(SERIES_MAX).collect()
    }
}

const LATENCIES: [(&str, Of); 4] = [
    ("median", |f| f.latency_p50_ns),
    ("99%", |f| f.latency_p99_ns),
    ("99.9%", |f| f.latency_p99_9_ns),
    ("longest", |f| f.latency_max_ns),
];

/// Loss and latency over the same load, with the knee marked (RFC 2544 section 26.3).
pub(super) fn over_load(loaded: &Loaded) -> Option<Markup> {
    let over = OverLoad::new(loaded);
    let (loss, latency) = match over.frames.len() {
        1 => {
            let loss = over.named(&[("loss", |f| f.loss_ratio)]);
            (
                panel("frame loss", percent, 4, 110.0, loss),
                panel("one-way delay", ns, 0, 150.0, over.named(&LATENCIES)),
            )
        }
        _ => {
            let delay = over.series(|f| f.latency_p99_ns);
            let loss = over.series(|f| f.loss_ratio);
            (panel("frame loss", percent, 0, 130.0, loss), panel("one-way delay, 99%", ns, 0, 130.0, delay))
        }
    };
    let title = "Frame loss and latency over offered load";
    panels("c-load", title, &load_axis(over.share), vec![loss, latency], &[], &over.knees())
}

/// The other figures over load.
pub(super) fn variation_over_load(loaded: &Loaded) -> Option<Markup> {
    let over = OverLoad::new(loaded);
    let x = load_axis(over.share);
    let chart = |id: &str, title: &str, y: &str, series: Vec<Series>| {
        let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
        lines(id, title, &x, &Axis::suited(y, ns, values), &series)
    };
    if over.frames.len() == 1 {
        let variations: [(&'static str, Of); 3] = [
            ("standard deviation of latency", |f| f.latency_stddev_ns),
            ("jitter, mean", |f| f.jitter_mean_ns),
            ("standard deviation between arrivals", |f| f.interarrival_stddev_ns),
        ];
        return chart(
            "c-variation",
            "Delay variation over offered load",
            "delay variation",
            over.named(&variations),
        );
    }
    let median = over.series(|f| f.latency_p50_ns);
    let spread = over.series(|f| f.latency_stddev_ns);
    all([
        chart("c-p50", "Median latency over offered load", "one-way delay, median", median),
        chart("c-stddev", "Standard deviation of latency over offered load", "standard deviation", spread),
    ])
}

/// Trials of sessions whose load has one unit, failed trials too: where a device gives up is what they are for.
struct SessionLoad<'a> {
    unit: &'a str,
    trials: Vec<&'a TrialRow>,
    frames: Vec<&'a str>,
    /// Name and format of the load.
    what: &'static str,
    format: fn(f64) -> String,
}

impl<'a> SessionLoad<'a> {
    fn all(loaded: &'a Loaded) -> Vec<Self> {
        let trials = loaded.trials.iter().filter(|t| t.load.is_some() && t.counts() && !t.interrupted);
        let trials: Vec<&TrialRow> = trials.collect();
        let mut units: Vec<&str> = Vec::new();
        for unit in trials.iter().filter_map(|trial| trial.load_unit.as_deref()) {
            if !units.contains(&unit) {
                units.push(unit);
            }
        }
        let of_unit = |unit: &&'a str| {
            let own = trials.iter().copied().filter(|trial| trial.load_unit.as_deref() == Some(*unit));
            let own: Vec<&TrialRow> = own.collect();
            let (what, format): (_, fn(f64) -> String) = match *unit {
                "times" => ("multiple of the profile's load", |value| quantity(value, "")),
                "connections" => ("connections held at the same time", count),
                "bits/s" => ("application data", |value| quantity(value, "bps")),
                "transactions/s" => ("transactions per second", |value| quantity(value, "/s")),
                _ => ("connections opened per second", |value| quantity(value, "/s")),
            };
            Self { unit, frames: frames(&own), trials: own, what, format }
        };
        units.iter().map(of_unit).collect()
    }

    fn axis(&self) -> Axis {
        Axis { title: format!("requested load: {}", self.what), scale: Scale::Linear, format: self.format }
    }

    fn series(&self, names: &[(&str, Of)]) -> Vec<Series> {
        let mut all = Vec::new();
        for frame in &self.frames {
            let own =
                self.trials.iter().copied().filter(|trial| trial.frame == *frame && !trial.generator_limited);
            let own: Vec<&TrialRow> = own.collect();
            for (name, of) in names {
                let name: Vec<&str> = [if self.frames.len() > 1 { frame } else { "" }, name]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect();
                all.push(Series { name: name.join(": "), ..curve(&own, |trial| trial.load, *of) });
            }
        }
        all.retain(is_curve);
        all
    }

    /// Reached value of the load, and its format.
    fn reached(&self) -> (Of, fn(f64) -> String) {
        match self.unit {
            "times" => (|f| f.goodput_bps, |value| quantity(value, "bps")),
            "connections" => (|f| f.sessions_active_max, self.format),
            "bits/s" => (|f| f.goodput_bps, self.format),
            "transactions/s" => (|f| f.transactions_per_s, self.format),
            _ => (|f| f.open_per_s, self.format),
        }
    }
}

/// Failures, reached values and times, over the requested load of session trials.
pub(super) fn sessions_over_load(loaded: &Loaded) -> Option<Markup> {
    let of_unit = |(number, load): (usize, &SessionLoad<'_>)| {
        let (reached, format) = load.reached();
        let single = load.frames.len() == 1;
        let name = |text| if single { text } else { "" };
        let times: &[(&str, Of)] = match single {
            true => &[
                ("set-up", |f| f.setup_p99_ns),
                ("first byte", |f| f.ttfb_p99_ns),
                ("last byte", |f| f.ttlb_p99_ns),
            ],
            false => &[("", |f| f.ttlb_p99_ns)],
        };
        let (failures, rest) = if single { (4, 3) } else { (0, 0) };
        let failed = load.series(&[(name("failed"), failed_ratio)]);
        let plots = vec![
            panel("failed, share of attempted", percent, failures, 100.0, failed),
            panel(
                "reached, as a mean with ramps",
                format,
                rest,
                100.0,
                load.series(&[(name("reached"), reached)]),
            ),
            panel(
                if single { "99% of the times" } else { "time to the last byte, 99%" },
                ns,
                0,
                110.0,
                load.series(times),
            ),
        ];
        let title = format!("Failures, load reached and times over load, {}", load.what);
        panels(&format!("c-session-load-{number}"), &title, &load.axis(), plots, &[], &[])
    };
    all(SessionLoad::all(loaded).iter().enumerate().map(of_unit))
}

/// The other figures over the load of sessions.
pub(super) fn more_over_session_load(loaded: &Loaded) -> Option<Markup> {
    let of_unit = |(number, load): (usize, &SessionLoad<'_>)| {
        let x = load.axis();
        let chart = |id: &str, title: &str, y: &str, format, names: &[(&str, Of)]| {
            let series = load.series(names);
            let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
            let title = format!("{title} over load, {}", load.what);
            lines(&format!("c-{id}-{number}"), &title, &x, &Axis::suited(y, format, values), &series)
        };
        let opened: [(&str, Of); 2] =
            [("attempted", |f| f.sessions_attempted), ("established", |f| f.sessions_established)];
        let opened = chart("s-opened", "Sessions attempted and established", "sessions", count, &opened);
        if load.frames.len() == 1 {
            return opened;
        }
        all([
            opened,
            chart("s-setup", "Time to set up", "99%", ns, &[("", |f| f.setup_p99_ns)]),
            chart("s-response", "Time to the first byte", "99%", ns, &[("", |f| f.ttfb_p99_ns)]),
        ])
    };
    all(SessionLoad::all(loaded).iter().enumerate().map(of_unit))
}

/// Packets received and sent by devices along the path, by their counters, while trials ran; the last trials first.
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

/// Packets received and sent by the devices of a path, and below them their drops.
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

/// Input of a percentile plot.
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

    /// The points of the plot: quantiles with enough samples.
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

/// A percentile plot of packets or of sessions: `of` selects which.
pub(super) fn percentile_chart(id: &str, title: &str, of: &str, series: &[Series]) -> Option<Markup> {
    let x = Axis { title: format!("share of the {of}"), scale: Scale::Percentile, format: quantile };
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
    let chart =
        percentile_chart("c-percentiles", &format!("Latency percentiles {about}"), "packets", &series)?;
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

/// Maximum number of disturbances listed with the charts.
const DISTURBANCES_MAX: usize = 20;

/// The intervals of a trial in which it sent.
struct Timeline {
    trial: u32,
    sending: Vec<(f64, Figures)>,
    /// When the tester was disturbed.
    bands: Vec<Band>,
}

impl Timeline {
    fn new(trial: u32, intervals: &[Value]) -> Self {
        let read = intervals.iter().filter_map(|interval| result::read(interval).ok());
        let read: Vec<IntervalDocument> =
            read.filter(|interval: &IntervalDocument| !interval.draining).collect();
        let disturbed = read.iter().filter(|interval| !interval.disturbances.is_empty());
        let bands = disturbed.map(|interval| Band {
            from: (interval.at_s - interval.interval_s).max(0.0),
            to: interval.at_s,
            about: interval.disturbances.join("; "),
        });
        Self { trial, bands: bands.collect(), sending: read.into_iter().map(figures).collect() }
    }

    fn series(&self, all: &[(&str, Of)]) -> Vec<Series> {
        let one = |(name, of): &(&str, Of)| Series {
            name: (*name).to_owned(),
            points: self.sending.iter().filter_map(|(at_s, figures)| Some((*at_s, of(figures)?))).collect(),
            ..Series::default()
        };
        let all: Vec<Series> = all.iter().map(one).collect();
        if all.iter().any(|one| one.points.len() > 1) { all } else { Vec::new() }
    }

    fn axis() -> Axis {
        Axis { title: "time since traffic started".to_owned(), scale: Scale::Linear, format: seconds }
    }

    /// Rates and times of packets and of sessions over one axis, with the disturbances below it.
    fn overview(&self) -> Option<Markup> {
        let rates = self.series(&[("sent", |f| f.offered_pps), ("received", |f| f.rx_pps)]);
        let delays = self.series(&[
            ("median", |f| f.latency_p50_ns),
            ("99%", |f| f.latency_p99_ns),
            ("longest", |f| f.latency_max_ns),
        ]);
        let sessions = self.series(&[
            ("opened per second", |f| f.open_per_s),
            ("transactions per second", |f| f.transactions_per_s),
        ]);
        let times = self.series(&[
            ("set-up", |f| f.setup_p99_ns),
            ("first byte", |f| f.ttfb_p99_ns),
            ("last byte", |f| f.ttlb_p99_ns),
        ]);
        let plots = vec![
            panel("packets per second", pps, 0, 110.0, rates),
            panel("one-way delay", ns, 2, 130.0, delays),
            panel("sessions per second", |value| quantity(value, "/s"), 0, 110.0, sessions),
            panel("times of sessions, 99%", ns, 5, 130.0, times),
        ];
        panels(
            &format!("c-time-{}", self.trial),
            "Rates and times over time",
            &Self::axis(),
            plots,
            &self.bands,
            &[],
        )
    }

    /// Outcomes of sessions, and if `close` how evenly packets left and arrived.
    fn rest(&self, close: bool) -> Option<Markup> {
        let chart = |id: &str, title: &str, y: &str, format, series: Vec<Series>| {
            let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
            let y = Axis::suited(y, format, values);
            lines_over(&format!("c-{id}-{}", self.trial), title, &Self::axis(), &y, &series, &self.bands)
        };
        let variations = self.series(&[
            ("standard deviation of latency", |f| f.latency_stddev_ns),
            ("jitter, mean", |f| f.jitter_mean_ns),
            ("standard deviation between arrivals", |f| f.interarrival_stddev_ns),
        ]);
        let pacing = self
            .series(&[("gap error, 99%", |f| f.gap_error_p99_ns), ("latest departure", |f| f.late_max_ns)]);
        let outcomes = self.series(&[
            ("attempted", |f| f.sessions_attempted),
            ("established", |f| f.sessions_established),
            ("failed", |f| f.sessions_failed),
        ]);
        let rises =
            |series: &[Series]| close && series.iter().flat_map(|one| &one.points).any(|p| p.1 != 0.0);
        let (varies, paced) = (rises(&variations), rises(&pacing));
        all([
            chart("outcomes", "Sessions in each interval", "sessions", count, outcomes),
            chart("variation", "Delay variation in each interval", "time", ns, variations).filter(|_| varies),
            chart("pacing", "Pacing: departures compared with the schedule", "time", ns, pacing)
                .filter(|_| paced),
        ])
    }

    /// When the tester was disturbed, and by what.
    fn disturbances(&self) -> Option<Markup> {
        let (bands, intervals) = (&self.bands, self.sending.len());
        let word = if intervals == 1 { "interval" } else { "intervals" };
        (!bands.is_empty()).then(|| {
            html! {
                details {
                    summary { "The tester was disturbed in " (bands.len()) " of " (intervals) " " (word) ", marked below the axis" }
                    ul {
                        @for band in bands.iter().take(DISTURBANCES_MAX) {
                            li { "until " (seconds(band.to)) ": " (band.about) }
                        }
                        @if bands.len() > DISTURBANCES_MAX { li { "and " (bands.len() - DISTURBANCES_MAX) " more" } }
                    }
                }
            }
        })
    }
}

/// A single run over time: rates, times, and when the tester was disturbed.
pub(super) fn run_over_time(loaded: &Loaded) -> Option<Markup> {
    let [(trial, intervals)] = &loaded.intervals[..] else { return None };
    let line = Timeline::new(*trial, intervals);
    let chart = line.overview().filter(|_| loaded.trials.len() == 1)?;
    Some(html! { (chart) @if let Some(list) = line.disturbances() { (list) } })
}

fn timeline(loaded: &Loaded, trial: u32, intervals: &[Value]) -> Option<Markup> {
    let line = Timeline::new(trial, intervals);
    let single = loaded.trials.len() == 1;
    let row = loaded.trials.iter().find(|row| row.number == trial);
    // Of several trials only a disturbed one needs to show how it was sent.
    let is_close = single || row.is_some_and(|row| row.disturbed) || !line.bands.is_empty();
    let overview = line.overview().filter(|_| !single);
    let list = line.disturbances().filter(|_| !single);
    let charts = all([overview, line.rest(is_close), list])?;
    Some(html! {
        @if let Some(row) = row.filter(|_| !single) { h3 { (row.title()) } }
        (charts)
    })
}

/// The end of an interval, and its figures: rates are over its length.
fn figures(interval: IntervalDocument) -> (f64, Figures) {
    let IntervalDocument { at_s, interval_s, ports, mut streams, all_streams, groups, sessions, .. } =
        interval;
    streams.extend(all_streams.map(|sum| ("all streams".to_owned(), sum)));
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

/// Findings of a campaign in a unit, by frame and goal.
pub(super) fn rates_found(loaded: &Loaded) -> Vec<Finding> {
    answers(&loaded.findings, &loaded.trials).into_iter().filter(|finding| finding.unit == "pps").collect()
}
