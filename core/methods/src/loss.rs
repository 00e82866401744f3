//! Frame loss rate over load: from full load down in steps (RFC 2544 section 26.3).

use crate::draft::{Draft, InTurn, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, percent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// How far above what the tester offered at best loads still are tried.
const MARGIN: f64 = 1.25;

/// Settings of the loss curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LossConfig {
    /// One curve for each, in this order.
    pub sizes: Vec<Frames>,
    /// Steps down, percent of the line rate; at most 10 by the RFC.
    pub step_percent: u32,
    /// Length of a trial; at least 60 s by the RFC.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for LossConfig {
    fn default() -> Self {
        Self { sizes: Frames::rfc2544(), step_percent: 10, duration: Nanos::from_secs(60) }
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

impl Settings for LossConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        if self.sizes.is_empty() {
            return Err(ConfigError::new("sizes", "needs a frame length"));
        }
        if !(1..=10).contains(&self.step_percent) {
            return Err(ConfigError::new("step_percent", "must be 1 to 10 (RFC 2544 section 26.3)"));
        }
        Ok(())
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
    /// Loads that were left out, percent of the line rate: the tester had fallen far short of more.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out_percent: Vec<f64>,
}

/// A point of the curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossPoint {
    /// Offered load, percent of the line rate: the abscissa, 0 to 100.
    pub load_percent: f64,
    /// Lost frames, percent of those sent: the ordinate, 0 to 100; absent if the tester was the limit.
    pub loss_percent: Option<f64>,
    /// The same by group.
    pub groups_percent: Vec<f64>,
    /// What the tester really offered, percent of the line rate.
    pub achieved_percent: f64,
}

impl Row for LossRow {
    fn findings(&self) -> Vec<Finding> {
        let of = |point: &LossPoint| {
            let goal = format!("loss at {}% of line rate", point.load_percent);
            let ratio = point.loss_percent.map(|percent| percent / 100.0);
            Finding::at(&self.frames, goal, "ratio").value(ratio)
        };
        self.points.iter().map(of).collect()
    }
}

/// The curve at one frame length, as it grows.
#[derive(Debug, Clone)]
struct Curve {
    row: LossRow,
    line: Pps,
    step: u32,
    duration: Nanos,
    percent: u32,
}

impl Curve {
    fn ended(&self) -> bool {
        let loss_free = |point: &LossPoint| point.loss_percent == Some(0.0);
        self.row.points.len() >= 2 && self.row.points.iter().rev().take(2).all(loss_free)
    }
}

/// A trial's load, percent of the line rate.
fn draft_percent(draft: &Draft, line: Pps) -> f64 {
    draft.rate.map_or(100.0, |rate| rate.as_f64() / line.as_f64() * 100.0)
}

impl Stage for Curve {
    fn next(&mut self) -> Option<Draft> {
        if self.percent == 0 || self.ended() {
            return None;
        }
        let micro = u128::from(self.line.micro()) * u128::from(self.percent) / 100;
        let label = format!("{}: loss at {}% of the line rate", self.row.frames, self.percent);
        Some(Draft::load(&self.row.frames, Pps::from_micro(micro as u64), self.duration).label(label))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let achieved = seen.outcome.groups.first().map_or(0.0, |group| group.achieved.as_f64());
        self.row.points.push(LossPoint {
            load_percent: f64::from(self.percent),
            loss_percent: (!seen.limited).then(|| seen.loss_ratio() * 100.0),
            groups_percent: seen.outcome.groups.iter().map(|group| group.loss_ratio() * 100.0).collect(),
            achieved_percent: achieved / self.line.as_f64() * 100.0,
        });
        self.percent = self.percent.saturating_sub(self.step);
        // Loads far above what the tester could offer say no more than this one.
        let most = match seen.outcome.share_achieved().filter(|_| seen.outcome.generator_limited) {
            Some(share) => draft_percent(draft, self.line) * share * MARGIN,
            None => 100.0,
        };
        while self.percent > 0 && f64::from(self.percent) > most {
            self.row.left_out_percent.push(f64::from(self.percent));
            self.percent = self.percent.saturating_sub(self.step);
        }
        self.row.ended_loss_free = self.ended();
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
        let curve = |frames: &Frames| Curve {
            row: LossRow {
                frames: frames.clone(),
                points: Vec::new(),
                ended_loss_free: false,
                left_out_percent: Vec::new(),
            },
            line: testbed.line_rate(frames),
            step: config.step_percent,
            duration: config.duration,
            percent: 100,
        };
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
            let point = |point: &LossPoint| match point.loss_percent {
                Some(loss) => format!("{} at {}%", percent(loss / 100.0), point.load_percent),
                None => format!("not known at {}% (the tester was the limit)", point.load_percent),
            };
            let points: Vec<_> = curve.row.points.iter().map(point).collect();
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
