//! Frame loss rate over load: from full load down in steps (RFC 2544 section 26.3).

use crate::draft::{Draft, InTurn, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::interval::Criterion;
use crate::list::Findings;
use crate::method::Method;
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, percent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Nanos, Pps, quantity};

/// Margin above the tester's maximum offered load up to which individually requested loads are still tried.
const MARGIN: f64 = 1.25;
/// The share of what the tester offered at best that it surely can offer again.
const HEADROOM: f64 = 0.9;
/// Where the tester can't send the line rate, few steps may lie where a device begins to lose: a curve with loss
/// continues to this number of known points.
const KNOWN_LEAST: usize = 6;
/// Steps are placed anew no later than this.
const POINTS_MAX: usize = 100;

/// Settings of the loss curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LossConfig {
    /// One curve for each, in this order.
    pub sizes: Vec<Frames>,
    /// Steps down, percent of the line rate; at most 10 by the RFC.
    pub step_percent: u32,
    /// Steps to each tenth of the load instead of equal ones: logarithmic, down to a thousandth. 0: equal steps.
    pub per_decade: u32,
    /// These loads instead of steps, such as `10kpps`: rates of the first group.
    pub rates: Vec<String>,
    /// Length of a trial; at least 60 s by the RFC.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for LossConfig {
    fn default() -> Self {
        Self {
            sizes: Frames::rfc2544(),
            step_percent: 10,
            per_decade: 0,
            rates: Vec::new(),
            duration: Nanos::from_secs(60),
        }
    }
}

impl LossConfig {
    pub(crate) const ABOUT: About = About {
        name: "frame-loss",
        about: "loss over load from the line rate down (RFC 2544 section 26.3)",
        result_names: &["rfc2544-frame-loss"],
        makes_curves: true,
        goals: &[GoalMeaning {
            goal: "loss",
            name: "Frame loss rate",
            definition: "share of the frames offered that were not forwarded (RFC 1242 section 3.6, RFC 2544 section 26.3)",
        }],
    };
}

impl LossConfig {
    /// Steps from 1 down, shares of the highest load.
    fn shares(&self) -> impl Iterator<Item = f64> {
        let (step, decade) = (self.step_percent, f64::from(self.per_decade));
        let count = match self.per_decade {
            0 => 100u32.div_ceil(step),
            steps => 3 * steps + 1,
        };
        (0..count).map(move |n| match decade {
            0.0 => f64::from(100 - n * step) / 100.0,
            decade => 10f64.powf(-f64::from(n) / decade),
        })
    }

    /// The individually requested loads, the highest first.
    fn absolute(&self) -> Result<Vec<Pps>, ConfigError> {
        let rates: Result<Vec<Pps>, _> = self.rates.iter().map(|text| text.parse::<Pps>()).collect();
        let mut rates = rates.map_err(|error| ConfigError::new("rates", error.to_string()))?;
        if rates.contains(&Pps::ZERO) {
            return Err(ConfigError::new("rates", "must be above 0"));
        }
        rates.sort_unstable_by_key(|rate| std::cmp::Reverse(rate.micro()));
        Ok(rates)
    }
}

impl Settings for LossConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        if self.sizes.is_empty() {
            return Err(ConfigError::new("sizes", "needs a frame length"));
        }
        if !(1..=10).contains(&self.step_percent) {
            return Err(ConfigError::new("step_percent", "must be 1 to 10 (RFC 2544 section 26.3)"));
        }
        if self.per_decade > 100 {
            return Err(ConfigError::new("per_decade", "must be at most 100"));
        }
        self.absolute().map(drop)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(FrameLoss::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.duration = Nanos::from_secs(2);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    fn sizes(&self) -> Vec<Frames> {
        self.sizes.clone()
    }

    fn set_sizes(&mut self, sizes: &[Frames]) {
        self.sizes = sizes.to_vec();
    }
}

/// The curve at one frame length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossRow {
    /// The frames.
    pub frames: Frames,
    /// From the highest load down.
    pub points: Vec<LossPoint>,
    /// Two loss-free trials in a row ended it, so below them nothing is lost.
    pub ended_loss_free: bool,
    /// Where the steps begin because the tester can send no more, percent of the line rate; absent: at the line rate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tester_most_percent: Option<f64>,
    /// Loads that were left out, percent of the line rate: the tester had fallen far short of more.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out_percent: Vec<f64>,
}

/// A point of the curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossPoint {
    /// Offered load, percent of the line rate: the abscissa, 0 to 100.
    pub load_percent: f64,
    /// The same in frames per second of the first group, where steps are not shares of the line rate: they were given as
    /// rates, or begin at what the tester can send.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load_pps: Option<f64>,
    /// Lost frames, percent of those sent: the ordinate, 0 to 100; absent if the tester was the limit or disturbed.
    pub loss_percent: Option<f64>,
    /// Bounds of it where the tester was disturbed, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bounds_percent: Option<(f64, f64)>,
    /// The same by group.
    pub groups_percent: Vec<f64>,
    /// Load actually offered by the tester, percent of the line rate.
    pub achieved_percent: f64,
}

impl Row for LossRow {
    fn findings(&self) -> Vec<Finding> {
        let of = |point: &LossPoint| {
            let goal = match point.load_pps {
                Some(rate) => format!("loss at {}", quantity(rate, "pps")),
                None => format!("loss at {}% of line rate", point.load_percent),
            };
            let ratio = point.loss_percent.map(|percent| percent / 100.0);
            let note = ratio.is_none().then_some("the tester was the limit, or disturbed");
            let bounds = point.bounds_percent.map(|(least, most)| (least / 100.0, most / 100.0));
            Finding {
                lower: bounds.map(|bounds| bounds.0),
                upper: bounds.map(|bounds| bounds.1),
                criterion: Some(Criterion::Curve { share: point.load_percent / 100.0 }),
                ..Finding::at(&self.frames, goal, "ratio").value(ratio).note(note)
            }
        };
        // That the tester did not reach a load is said once, where its steps begin lower.
        let scaled = self.tester_most_percent.is_some();
        self.points.iter().filter(|point| !scaled || point.loss_percent.is_some()).map(of).collect()
    }

    fn is_unjudged(&self) -> bool {
        !self.points.is_empty() && self.points.iter().all(|point| point.loss_percent.is_none())
    }
}

/// The curve at one frame length, as it grows.
#[derive(Debug, Clone)]
struct Curve {
    row: LossRow,
    line: Pps,
    config: LossConfig,
    /// Loads that are left, shares of the line rate, the next first.
    left: VecDeque<f64>,
    /// Maximum load of the tester, as a share of the line rate, if less than the line rate.
    most: Option<f64>,
    /// The load between two steps that runs, a share of the line rate.
    between: Option<f64>,
    /// Loads between two steps so far.
    added: usize,
}

impl Curve {
    fn new(frames: &Frames, config: &LossConfig, testbed: &Testbed) -> Self {
        let line = testbed.line_rate(frames);
        let row = LossRow {
            frames: frames.clone(),
            points: Vec::new(),
            ended_loss_free: false,
            tester_most_percent: None,
            left_out_percent: Vec::new(),
        };
        let left = match config.absolute() {
            Ok(rates) if !rates.is_empty() => {
                let share = |rate: &Pps| rate.as_f64() / line.as_f64();
                rates.iter().map(share).filter(|share| *share <= 1.0).collect()
            }
            _ => config.shares().collect(),
        };
        Self { row, line, config: config.clone(), left, most: None, between: None, added: 0 }
    }

    /// Halfway between the neighbours whose losses differ most, while a curve of scaled steps has few known points
    /// (RFC 2544 section 26.3: a finer granularity is encouraged).
    fn in_between(&self) -> Option<f64> {
        let points = || self.row.points.iter();
        let known: Vec<_> = points().filter_map(|p| Some((p.load_percent, p.loss_percent?))).collect();
        if self.most.is_none() || known.len() >= KNOWN_LEAST || self.added >= KNOWN_LEAST {
            return None;
        }
        let gap = |pair: &&[(f64, f64)]| (pair[0].1 - pair[1].1).abs();
        let widest =
            known.windows(2).max_by(|a, b| gap(a).total_cmp(&gap(b))).filter(|pair| gap(pair) > 0.0)?;
        Some((widest[0].0 + widest[1].0) / 200.0)
    }

    fn ended(&self) -> bool {
        let loss_free = |point: &LossPoint| point.loss_percent == Some(0.0);
        let steps = self.config.rates.is_empty();
        steps && self.row.points.len() >= 2 && self.row.points.iter().rev().take(2).all(loss_free)
    }

    /// The tester falls short of this load: the steps begin at what it sends.
    fn rescale(&mut self, achieved: f64, at: f64) {
        if !self.config.rates.is_empty() {
            let (known, beyond) = self.left.iter().partition(|share| **share <= achieved * MARGIN);
            self.left = known;
            self.leave_out(beyond);
            return;
        }
        // A tester that falls short a little falls short of the next step, too; the steps never grow.
        let most = (achieved * HEADROOM).min(at * HEADROOM);
        if self.most.is_none() || self.left.front().is_some_and(|next| *next > achieved) {
            self.most = Some(most);
            self.row.tester_most_percent = Some(most * 100.0);
            self.left = self.config.shares().map(|share| share * most).collect();
        }
    }

    fn leave_out(&mut self, shares: VecDeque<f64>) {
        self.row.left_out_percent.extend(shares.into_iter().map(|share| round(share * 100.0)));
    }
}

/// Loads of people have few digits.
fn round(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

impl Stage for Curve {
    fn next(&mut self) -> Option<Draft> {
        let share = if self.row.ended_loss_free || self.left.is_empty() {
            self.between = self.in_between();
            self.added += 1;
            self.between?
        } else {
            *self.left.front()?
        };
        let rate = Pps::from_micro((self.line.micro() as f64 * share).min(self.line.micro() as f64) as u64);
        let label = format!("{}: loss at {} of the line rate", self.row.frames, percent(share));
        Some(Draft::load(&self.row.frames, rate, self.config.duration).label(label))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let Some(share) = self.between.or_else(|| self.left.pop_front()) else { return };
        let achieved = seen.outcome.groups.first().map_or(0.0, |group| group.achieved.as_f64());
        let achieved = achieved / self.line.as_f64();
        let exact = self.decides(draft, seen);
        let bounds = seen.loss_bounds().filter(|_| !exact);
        let in_rates = self.most.is_some() || !self.config.rates.is_empty();
        self.row.points.push(LossPoint {
            load_percent: round(share * 100.0),
            load_pps: in_rates.then(|| round(self.line.as_f64() * share)),
            loss_percent: exact.then(|| seen.loss_ratio() * 100.0),
            bounds_percent: bounds.map(|(least, most)| (least * 100.0, most * 100.0)),
            groups_percent: seen.outcome.groups.iter().map(|group| group.loss_ratio() * 100.0).collect(),
            achieved_percent: achieved * 100.0,
        });
        if self.between.take().is_some() {
            self.row.points.sort_by(|a, b| b.load_percent.total_cmp(&a.load_percent));
            return;
        }
        if seen.limited
            && seen.outcome.generator_limited
            && achieved > 0.0
            && self.row.points.len() < POINTS_MAX
        {
            self.rescale(achieved, share);
        }
        self.row.ended_loss_free = self.ended();
        if seen.last {
            // Other loads can't be judged either.
            self.left.clear();
            self.added = KNOWN_LEAST;
        }
    }

    /// A point is a loss ratio: it is known where its bounds meet.
    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        seen.loss_bounds().is_some_and(|(least, most)| least >= most)
    }
}

/// Curves of all frame lengths.
#[derive(Debug, Clone)]
pub(crate) struct FrameLoss {
    config: LossConfig,
    curves: InTurn<Curve>,
}

impl FrameLoss {
    pub(crate) fn new(config: &LossConfig, testbed: &Testbed) -> Self {
        let curve = |frames: &Frames| Curve::new(frames, config, testbed);
        Self { config: config.clone(), curves: InTurn::new(config.sizes.iter().map(curve)) }
    }
}

impl Stage for FrameLoss {
    fn next(&mut self) -> Option<Draft> {
        self.curves.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.curves.take(draft, seen);
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.curves.decides(draft, seen)
    }
}

impl Procedure for FrameLoss {
    fn name(&self) -> &'static str {
        "rfc2544-frame-loss"
    }

    fn findings(&self) -> Findings {
        Findings::FrameLoss(self.curves.stages.iter().map(|curve| curve.row.clone()).collect())
    }

    fn summary(&self) -> Vec<String> {
        let sentence = |curve: &Curve| {
            // That the tester did not reach a load is said once, where its steps begin lower.
            let scaled = curve.row.tester_most_percent.is_some();
            let load = |point: &LossPoint| match point.load_pps {
                Some(rate) => quantity(rate, "pps"),
                None => percent(point.load_percent / 100.0),
            };
            let point = |point: &LossPoint| match point.loss_percent {
                Some(loss) => format!("{} at {}", percent(loss / 100.0), load(point)),
                None => match point.bounds_percent {
                    Some((least, most)) => format!(
                        "{} to {} at {} (the tester was disturbed)",
                        percent(least / 100.0),
                        percent(most / 100.0),
                        load(point)
                    ),
                    None => format!("not known at {} (the tester was the limit, or disturbed)", load(point)),
                },
            };
            let known = |point: &&LossPoint| !scaled || point.loss_percent.is_some();
            let points: Vec<_> = curve.row.points.iter().filter(known).map(point).collect();
            if points.is_empty() {
                let frames = &curve.row.frames;
                return format!(
                    "Frame loss rate at {frames}: not known; the tester was the limit, or disturbed, at every load."
                );
            }
            format!("Frame loss rate at {}: {}.", curve.row.frames, points.join(", "))
        };
        self.curves.stages.iter().map(sentence).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.config.duration < Nanos::from_secs(60) {
            let duration = self.config.duration;
            remarks.push(format!("Trials took {duration}; RFC 2544 section 24 requires at least 60 s."));
        }
        for row in self.curves.stages.iter().map(|curve| &curve.row) {
            if let Some(most) = row.tester_most_percent {
                remarks.push(format!(
                    "At {} the tester can't send the line rate: the steps begin at {} of it, which it can send.",
                    row.frames,
                    percent(most / 100.0)
                ));
            }
            if let (Some(most), Some(least)) = (row.left_out_percent.first(), row.left_out_percent.last()) {
                remarks.push(format!(
                    "At {} loads from {most}% to {least}% of the line rate were left out: the tester had fallen far short \
                     of a higher one.",
                    row.frames
                ));
            }
        }
        remarks
    }
}
