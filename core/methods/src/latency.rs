//! Latency at the throughput (RFC 2544 section 26.2), or at shares of a rate that a search found.

use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::LatencySummary;
use crate::rates::{AtRate, FindThen, RateSource};
use crate::result::{FoundRate, Spread};
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsNanos, AsText, percent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps, quantity};

/// Settings of the latency measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LatencyConfig {
    /// The rates, one for each frame length.
    pub rates: RateSource,
    /// Shares of the rate at which latency is measured: 1 by the RFC; 0.9, 0.5 and 0.1 are customary as well.
    pub shares: Vec<f64>,
    /// Trials of each; at least 20 by the RFC.
    pub repeats: u32,
    /// Length of a trial; at least 120 s by the RFC.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for LatencyConfig {
    fn default() -> Self {
        Self { rates: RateSource::default(), shares: vec![1.0], repeats: 20, duration: Nanos::from_secs(120) }
    }
}

impl LatencyConfig {
    pub(crate) const ABOUT: About = About {
        name: "latency",
        about: "latency at the throughput (RFC 2544 section 26.2)",
        result_names: &["rfc2544-latency"],
        makes_curves: true,
        goals: &[
            GoalMeaning {
                goal: "latency_mean",
                name: "Mean latency",
                definition: "one-way delay (RFC 2544 section 26.2); mean over repeated trials",
            },
            GoalMeaning {
                goal: "latency_p50",
                name: "Typical latency",
                definition: "one-way delay that half of the packets do not exceed",
            },
            GoalMeaning {
                goal: "latency_p99",
                name: "Latency, 99%",
                definition: "one-way delay that 99% of the packets do not exceed",
            },
            GoalMeaning {
                goal: "latency_p99_9",
                name: "Latency, 99.9%",
                definition: "one-way delay that 99.9% of the packets do not exceed: the worst case of RFC 8219",
            },
            GoalMeaning {
                goal: "latency_max",
                name: "Longest latency",
                definition: "one-way delay of the slowest packet",
            },
            GoalMeaning {
                goal: "pdv",
                name: "Packet delay variation",
                definition: "99.9th percentile of the one-way delay less the shortest (RFC 8219 section 7.3.1); median of the trials",
            },
            GoalMeaning {
                goal: "ipdv",
                name: "Inter-packet delay variation",
                definition: "mean absolute difference of the delays of consecutive packets (RFC 8219 section 7.3.2, \
                             RFC 4689 section 3.2.5); median of the trials",
            },
        ],
    };
}

impl Settings for LatencyConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        if self.shares.is_empty() || self.shares.iter().any(|share| !(*share > 0.0 && *share <= 1.0)) {
            return Err(ConfigError::new("shares", "must be above 0 and at most 1"));
        }
        if self.repeats == 0 || self.duration == Nanos::ZERO {
            return Err(ConfigError::new("repeats", "repeats must be at least 1, duration longer than 0"));
        }
        self.rates.check(testbed)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Latency::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.rates.quicken();
        self.repeats = self.repeats.min(3);
        self.duration = Nanos::from_secs(2);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.rates.set_trial(trial);
        self.duration = trial;
    }

    fn sizes(&self) -> Vec<Frames> {
        self.rates.sizes()
    }

    fn set_sizes(&mut self, sizes: &[Frames]) {
        self.rates.set_sizes(sizes);
    }

    fn rates(&mut self) -> Option<&mut RateSource> {
        Some(&mut self.rates)
    }
}

/// Latency at one frame length and load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRow {
    /// The frames.
    pub frames: Frames,
    /// Share of the rate found.
    pub share_of_rate: f64,
    /// The load.
    pub load: FoundRate,
    /// Trials that counted.
    pub trials: u32,
    /// Trials in which the tester was the limit.
    pub limited: u32,
    /// Length of a trial.
    #[serde(rename = "duration_ns", with = "AsNanos")]
    pub duration: Nanos,
    /// The trials' mean latencies, ns: the RFC's figure is their mean.
    #[serde(rename = "mean_ns")]
    pub mean: Option<Spread>,
    /// One for each group.
    pub groups: Vec<GroupLatency>,
    /// Frames lost ÷ sent in these trials.
    pub loss_ratio: f64,
}

/// Latency of one group, ns: medians over the trials (RFC 8219 section 7.2), extremes over all.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GroupLatency {
    /// The group.
    pub group: String,
    /// Smallest.
    pub min_ns: f64,
    /// Mean of the means.
    pub mean_ns: f64,
    /// Typical latency: the median of the trials' medians.
    pub p50_ns: f64,
    /// Median of the trials' 99th percentiles.
    pub p99_ns: f64,
    /// Worst case: the median of the trials' 99.9th percentiles.
    pub p99_9_ns: f64,
    /// Largest.
    pub max_ns: f64,
    /// Median of the trials' delay variations, 99.9th percentile less minimum.
    pub pdv_ns: f64,
    /// Median of the trials' mean differences between delays of consecutive packets; absent: not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv_ns: Option<f64>,
}

impl Row for LatencyRow {
    fn findings(&self) -> Vec<Finding> {
        let at = |goal: &str, unit: &str| {
            let share = match self.share_of_rate {
                1.0 => String::new(),
                share => format!(" at {}", percent(share)),
            };
            Finding::at(&self.frames, format!("{goal}{share}"), unit)
        };
        // Of several directions the slowest.
        let slowest = |of: fn(&GroupLatency) -> f64| self.groups.iter().map(of).reduce(f64::max);
        let quantiles = [
            ("latency_p50", slowest(|group| group.p50_ns)),
            ("latency_p99", slowest(|group| group.p99_ns)),
            ("latency_p99_9", slowest(|group| group.p99_9_ns)),
            ("latency_max", slowest(|group| group.max_ns)),
            ("pdv", slowest(|group| group.pdv_ns)),
            ("ipdv", self.groups.iter().filter_map(|group| group.ipdv_ns).reduce(f64::max)),
        ];
        let quantiles = quantiles.into_iter().filter_map(|(goal, ns)| Some(at(goal, "ns").value(ns?)));
        let mean = at("latency_mean", "ns").repeats(self.mean.as_ref());
        std::iter::once(mean)
            .chain(quantiles)
            .chain([at("loss", "ratio").value(Some(self.loss_ratio).filter(|_| self.trials > 0))])
            .collect()
    }

    fn is_unjudged(&self) -> bool {
        self.trials == 0 && self.limited > 0
    }
}

/// The trials of one load.
#[derive(Debug, Clone, Default)]
struct Point {
    share: f64,
    done: u32,
    limited: u32,
    given_up: bool,
    groups: Vec<(String, Vec<LatencySummary>)>,
    /// Of each of `groups` that has some, the trials' mean differences between consecutive delays, ns.
    differences: Vec<(String, Vec<f64>)>,
    sent: u64,
    lost: u64,
}

impl Point {
    fn take(&mut self, seen: &Seen<'_>) {
        self.done += 1;
        if seen.limited {
            self.limited += 1;
            return;
        }
        self.sent += seen.outcome.sent();
        self.lost += seen.outcome.lost();
        for group in &seen.outcome.groups {
            let Some(latency) = &group.latency else { continue };
            match self.groups.iter_mut().find(|(name, _)| *name == group.group) {
                Some((_, seen)) => seen.push(latency.clone()),
                None => self.groups.push((group.group.clone(), vec![latency.clone()])),
            }
            let Some(jitter) = &group.jitter else { continue };
            match self.differences.iter_mut().find(|(name, _)| *name == group.group) {
                Some((_, seen)) => seen.push(jitter.rfc4689_mean),
                None => self.differences.push((group.group.clone(), vec![jitter.rfc4689_mean])),
            }
        }
    }
}

/// Latency at one frame length.
#[derive(Debug, Clone)]
struct Points {
    frames: Frames,
    testbed: Testbed,
    rate: Option<Pps>,
    points: Vec<Point>,
    repeats: u32,
    duration: Nanos,
}

impl Points {
    fn new(frames: &Frames, config: &LatencyConfig, testbed: &Testbed) -> Self {
        let point = |share: &f64| Point { share: *share, ..Point::default() };
        Self {
            frames: frames.clone(),
            testbed: testbed.clone(),
            rate: None,
            points: config.shares.iter().map(point).collect(),
            repeats: config.repeats,
            duration: config.duration,
        }
    }

    fn at(rate: Pps, share: f64) -> Pps {
        if share >= 1.0 { rate } else { Pps::from_micro((rate.micro() as f64 * share) as u64) }
    }

    fn rows(&self) -> Vec<LatencyRow> {
        let Some(rate) = self.rate else { return Vec::new() };
        self.points.iter().map(|point| self.row(point, rate)).collect()
    }

    fn row(&self, point: &Point, rate: Pps) -> LatencyRow {
        let trials = point.done - point.limited;
        let means: Vec<f64> = (0..trials as usize)
            .filter_map(|i| {
                let of_trial: Vec<_> = point.groups.iter().filter_map(|(_, seen)| seen.get(i)).collect();
                let samples: u64 = of_trial.iter().map(|latency| latency.samples).sum();
                let sum: f64 = of_trial.iter().map(|latency| latency.mean * latency.samples as f64).sum();
                (samples > 0).then(|| sum / samples as f64)
            })
            .collect();
        LatencyRow {
            frames: self.frames.clone(),
            share_of_rate: point.share,
            load: FoundRate::new(&self.testbed, &self.frames, Self::at(rate, point.share)),
            trials,
            limited: point.limited,
            duration: self.duration,
            mean: Spread::of(&means),
            groups: point.groups.iter().map(|(name, seen)| group_latency(name, seen, point)).collect(),
            loss_ratio: if point.sent > 0 { point.lost as f64 / point.sent as f64 } else { 0.0 },
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => 0.0,
        _ if n.is_multiple_of(2) => (values[n / 2 - 1] + values[n / 2]) / 2.0,
        _ => values[n / 2],
    }
}

fn group_latency(name: &str, seen: &[LatencySummary], point: &Point) -> GroupLatency {
    let differences = point.differences.iter().find(|(group, _)| group == name);
    let all = |of: fn(&LatencySummary) -> f64| seen.iter().map(of).collect::<Vec<_>>();
    let means = all(|latency| latency.mean);
    GroupLatency {
        group: name.into(),
        min_ns: all(|latency| latency.min).into_iter().fold(f64::INFINITY, f64::min),
        mean_ns: means.iter().sum::<f64>() / means.len().max(1) as f64,
        p50_ns: median(all(|latency| latency.p50)),
        p99_ns: median(all(|latency| latency.p99)),
        p99_9_ns: median(all(|latency| latency.p99_9)),
        max_ns: all(|latency| latency.max).into_iter().fold(0.0, f64::max),
        pdv_ns: median(all(LatencySummary::pdv)),
        ipdv_ns: differences.map(|(_, differences)| median(differences.clone())),
    }
}

impl Stage for Points {
    fn next(&mut self) -> Option<Draft> {
        let rate = self.rate?;
        let point = self.points.iter().find(|point| point.done < self.repeats && !point.given_up)?;
        let label = format!(
            "{}: latency at {} of the rate, {} of {}",
            self.frames,
            percent(point.share),
            point.done + 1,
            self.repeats
        );
        Some(Draft::load(&self.frames, Self::at(rate, point.share), self.duration).label(label))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        if let Some(point) = self.points.iter_mut().find(|point| point.done < self.repeats) {
            point.take(seen);
        }
        if seen.last {
            // Other loads can't be judged either.
            self.points.iter_mut().for_each(|point| point.given_up = true);
        }
    }
}

impl AtRate for Points {
    fn begin(&mut self, rate: Pps, _: Limit) {
        self.rate = Some(rate);
    }
}

/// Latency at all frame lengths.
#[derive(Debug, Clone)]
pub(crate) struct Latency {
    config: LatencyConfig,
    sizes: InTurn<FindThen<Points>>,
}

impl Latency {
    pub(crate) fn new(config: &LatencyConfig, testbed: &Testbed) -> Self {
        let finders = config.rates.finders(testbed);
        let stage = |(frames, finder)| FindThen::new(finder, Points::new(&frames, config, testbed));
        Self { config: config.clone(), sizes: InTurn::new(finders.into_iter().map(stage)) }
    }

    fn rows(&self) -> Vec<LatencyRow> {
        self.sizes.stages.iter().flat_map(|stage| stage.then.rows()).collect()
    }
}

impl Stage for Latency {
    fn next(&mut self) -> Option<Draft> {
        self.sizes.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.sizes.take(draft, seen);
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.sizes.decides(draft, seen)
    }
}

impl Procedure for Latency {
    fn name(&self) -> &'static str {
        "rfc2544-latency"
    }

    fn findings(&self) -> Findings {
        Findings::Latency(self.rows())
    }

    fn summary(&self) -> Vec<String> {
        let noun = self.config.rates.noun();
        let none = self.sizes.stages.iter().filter(|stage| stage.then.rate.is_none());
        let none = none.map(|stage| format!("Latency at {}: {}.", stage.then.frames, stage.why_not()));
        let rows = self.rows();
        let some = rows.iter().map(|row| {
            let (frames, share, load) = (&row.frames, percent(row.share_of_rate), &row.load);
            match &row.mean {
                Some(mean) => format!(
                    "Latency at {frames}, {share} of {noun} ({load}): mean {} over {} trial{}.",
                    quantity(mean.mean, "ns"),
                    row.trials,
                    if row.trials == 1 { "" } else { "s" }
                ),
                None if row.limited > 0 => format!(
                    "Latency at {frames}, {share} of {noun} ({load}): can't be judged here; in all {} trials the tester was the \
                     limit or disturbed.",
                    row.limited
                ),
                None => format!("Latency at {frames}, {share} of {noun} ({load}): not measured."),
            }
        });
        some.chain(none).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.config.repeats < 20 || self.config.duration < Nanos::from_secs(120) {
            remarks.push(format!(
                "{} trials of {} each; RFC 2544 section 26.2 requires at least 20 of at least 120 s.",
                self.config.repeats, self.config.duration
            ));
        }
        remarks.extend(self.sizes.stages.iter().filter_map(|stage| stage.caveat(&stage.then.frames)));
        remarks.push("Every frame is measured, not one tagged frame per trial.".into());
        remarks
    }
}
