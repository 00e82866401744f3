//! MLRsearch: several rates at different loss ratios from one search (RFC 9971, Multiple Loss Ratio Search).
//!
//! Here is what users see: goals, configuration, results. [`classify`] judges a load, [`grid`] cuts loads into steps,
//! [`search`] decides which load is next.
//!
//! Invariant: a result depends on the trials at its bounds alone, not on the way that led to them.

mod classify;
mod grid;
mod search;

pub use classify::{Durations, LoadClass, Threshold};
pub(crate) use search::MlrSearch;

use crate::MethodConfig;
use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::interval::Criterion;
use crate::latency::LatencyConfig;
use crate::list::Findings;
use crate::method::Method;
use crate::rates::KnownRate;
use crate::result::{FoundRate, bounded_by};
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, AsTextOrNone, percent};
use crate::throughput::UnjudgedLoad;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// A goal of the search: a rate at which few enough trials lose too much.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Goal {
    /// A trial that loses more than this is a high-loss trial; 0 up to, not including, 1.
    pub loss_ratio: f64,
    /// A load may have this share of high-loss trials, by duration, and still be a lower bound; 0 up to, not including, 1.
    pub exceed_ratio: f64,
    /// Upper and lower bound end at most this far apart, relative to the upper bound.
    pub width: f64,
    /// Length of the first trials.
    #[serde(with = "AsText")]
    pub initial_trial: Nanos,
    /// Length of a full-length trial.
    #[serde(with = "AsText")]
    pub final_trial: Nanos,
    /// Sum of full-length trials that decides about a load.
    #[serde(with = "AsText")]
    pub duration_sum: Nanos,
    /// Number of looser targets on the way.
    pub preceding: u32,
    /// Factor by which the step beyond a bound grows each time.
    pub expansion: u32,
}

/// FD.io CSIT's NDR.
impl Default for Goal {
    fn default() -> Self {
        Self {
            loss_ratio: 0.0,
            exceed_ratio: 0.5,
            width: 0.005,
            initial_trial: Nanos::from_secs(1),
            final_trial: Nanos::from_secs(1),
            duration_sum: Nanos::from_secs(21),
            preceding: 2,
            expansion: 2,
        }
    }
}

impl Goal {
    /// No-drop rate with CSIT's durations.
    pub fn ndr() -> Self {
        Self::default()
    }

    /// Partial-drop rate with CSIT's durations: at most `loss_ratio` is lost, such as 0.005.
    pub fn pdr(loss_ratio: f64) -> Self {
        Self { loss_ratio, ..Self::default() }
    }

    /// Every result is a throughput in the sense of RFC 2544: 60 s without any loss.
    pub fn rfc2544() -> Self {
        let full = Nanos::from_secs(60);
        Self { exceed_ratio: 0.0, final_trial: full, duration_sum: full, ..Self::default() }
    }

    /// ETSI GS NFV-TST 009, binary search with loss verification, two trials at most.
    pub fn tst009() -> Self {
        let full = Nanos::from_secs(60);
        Self { exceed_ratio: 0.5, final_trial: full, duration_sum: full + full, ..Self::default() }
    }

    /// `NDR`, or `PDR 0.5%`.
    pub fn name(&self) -> String {
        if self.loss_ratio == 0.0 { "NDR".into() } else { format!("PDR {}", percent(self.loss_ratio)) }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let bad = |what: &str, why: &str| Err(ConfigError::new(what, why));
        if !(0.0..1.0).contains(&self.loss_ratio) || !(0.0..1.0).contains(&self.exceed_ratio) {
            return bad("goals", "loss_ratio and exceed_ratio must be at least 0 and below 1");
        }
        if !(self.width > 0.0 && self.width < 1.0) {
            return bad("goals.width", "must be between 0 and 1");
        }
        let ordered = Nanos::ZERO < self.initial_trial
            && self.initial_trial <= self.final_trial
            && self.final_trial <= self.duration_sum;
        if !ordered {
            return bad("goals", "0 < initial_trial ≤ final_trial ≤ duration_sum must hold");
        }
        if self.expansion < 2 || self.preceding > 16 {
            return bad("goals", "expansion must be at least 2, preceding at most 16");
        }
        Ok(())
    }
}

/// Settings of MLRsearch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MlrConfig {
    /// One search for each, in this order.
    pub sizes: Vec<Frames>,
    /// All searched at once.
    pub goals: Vec<Goal>,
    /// The smallest load, as a share of the line rate.
    pub minimum: f64,
    /// The largest load, as a share of the line rate.
    pub maximum: f64,
    /// Length of a first trial at the largest load, whose outcome is discarded.
    #[serde(with = "AsTextOrNone", skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Nanos>,
    /// Longest traffic time of a search, found or not.
    #[serde(with = "AsTextOrNone", skip_serializing_if = "Option::is_none")]
    pub traffic_max: Option<Nanos>,
}

/// NDR, PDR 0.1% and PDR 0.5% at all frame lengths of RFC 2544.
impl Default for MlrConfig {
    fn default() -> Self {
        Self {
            sizes: Frames::rfc2544(),
            goals: vec![Goal::ndr(), Goal::pdr(0.001), Goal::pdr(0.005)],
            minimum: 0.001,
            maximum: 1.0,
            warm_up: None,
            traffic_max: None,
        }
    }
}

impl MlrConfig {
    pub(crate) const ABOUT: About = About {
        name: "mlrsearch",
        about: "several loss goals at once: no drop, 0.1%, 0.5% (MLRsearch, RFC 9971); then latency at 90, 50 and 10% of the last",
        result_names: &["mlrsearch"],
        makes_curves: true,
        goals: &[
            GoalMeaning {
                goal: "ndr",
                name: "Non-drop rate",
                definition: "the highest load without loss that MLRsearch found",
            },
            GoalMeaning {
                goal: "pdr",
                name: "Partial drop rate",
                definition: "the highest load with a loss ratio within the goal's that MLRsearch found",
            },
        ],
    };
}

impl Settings for MlrConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        if self.sizes.is_empty() || self.goals.is_empty() {
            return Err(ConfigError::new("goals", "needs a frame length and a goal"));
        }
        if !(self.minimum > 0.0 && self.minimum < self.maximum && self.maximum <= 1.0) {
            return Err(ConfigError::new("minimum", "0 < minimum < maximum ≤ 1 must hold"));
        }
        let slowest = self.sizes.iter().map(|frames| testbed.line_rate(frames)).min();
        if slowest.is_some_and(|rate| rate.as_f64() * self.minimum < 1e-3) {
            return Err(ConfigError::new("minimum", "is less than one frame in 1,000 seconds"));
        }
        self.goals.iter().try_for_each(Goal::check)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Mlr::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        for goal in &mut self.goals {
            goal.initial_trial = Nanos::from_millis(200);
            goal.final_trial = Nanos::from_millis(500);
            goal.duration_sum = Nanos::from_secs(3);
            goal.width = goal.width.max(0.02);
        }
    }

    fn set_trial(&mut self, trial: Nanos) {
        for goal in &mut self.goals {
            goal.final_trial = trial;
            goal.initial_trial = goal.initial_trial.min(trial);
            goal.duration_sum = goal.duration_sum.max(trial);
        }
    }

    fn sizes(&self) -> Vec<Frames> {
        self.sizes.clone()
    }

    fn set_sizes(&mut self, sizes: &[Frames]) {
        self.sizes = sizes.to_vec();
    }

    /// Latency at shares of the last goal's rate, as CSIT measures it.
    fn followed_by(&self) -> Option<MethodConfig> {
        Some(MethodConfig::Latency(LatencyConfig {
            shares: vec![0.9, 0.5, 0.1],
            repeats: 1,
            duration: Nanos::from_secs(5),
            ..LatencyConfig::default()
        }))
    }
}

/// Findings at one frame length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MlrRow {
    /// The frames.
    pub frames: Frames,
    /// One for each goal.
    pub goals: Vec<GoalResult>,
    /// Seconds of traffic for all goals.
    pub traffic_s: f64,
}

impl Row for MlrRow {
    fn findings(&self) -> Vec<Finding> {
        self.goals.iter().map(|goal| goal.finding(&self.frames)).collect()
    }

    /// That of the last goal.
    fn known_rate(&self) -> Option<KnownRate> {
        let goal = self.goals.last()?;
        let rate = goal.lower.as_ref()?.load.first();
        Some(KnownRate { frames: self.frames.clone(), rate, limit: Some(goal.limit) })
    }

    fn limits(&self) -> Vec<Limit> {
        self.goals.iter().map(|goal| goal.limit).collect()
    }
}

/// Finding for one goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalResult {
    /// `NDR`, `PDR 0.5%`.
    pub name: String,
    /// The goal.
    pub goal: Goal,
    /// Both relevant bounds were found, and they are no further apart than the goal's width.
    pub regular: bool,
    /// The relevant lower bound.
    pub lower: Option<MlrBound>,
    /// The relevant upper bound.
    pub upper: Option<MlrBound>,
    /// The forwarding rate at the relevant lower bound, without the trials that may be exceeded.
    pub conditional_throughput: Option<FoundRate>,
    /// The load at which trials can't be judged, where the search ended; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<UnjudgedLoad>,
    /// Limit of the value from above.
    pub limit: Limit,
}

/// A load that was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MlrBound {
    /// The load.
    pub load: FoundRate,
    /// On which trials it was judged, s.
    pub durations: Durations,
}

impl GoalResult {
    /// The relevant lower bound, between the bounds.
    fn finding(&self, frames: &Frames) -> Finding {
        let [lower, upper] = [&self.lower, &self.upper].map(|bound| bound.as_ref().map(|bound| &bound.load));
        let irregular = (!self.regular).then_some("the bounds are farther apart than the goal's width");
        let value = lower.map(|load| load.total_pps);
        let finding = Finding {
            value,
            lower: value,
            upper: upper.map(|load| load.total_pps),
            line: lower.and_then(FoundRate::line_pps).or_else(|| upper.and_then(FoundRate::line_pps)),
            resolution: upper.or(lower).map(|load| load.total_pps * self.goal.width),
            criterion: Some(Criterion::Goal(self.goal.clone())),
            // Not the row, which has the other goals as well.
            document: serde_json::to_value(self).unwrap_or_default(),
            ..Finding::at(frames, self.name.to_lowercase(), "pps")
                .note(self.limit.note_of(value).or(irregular))
        };
        finding.indicating(self.unjudged.as_ref().map(|unjudged| unjudged.load.total_pps))
    }

    /// Indication from trials that can't be judged.
    fn indication(&self) -> String {
        self.unjudged.as_ref().map_or_else(String::new, UnjudgedLoad::sentence)
    }

    fn sentence(&self, frames: &Frames) -> String {
        let what = format!("{} at {frames}", self.name);
        match (&self.conditional_throughput, self.limit) {
            (_, Limit::Open) => format!("{what}: not yet known."),
            (Some(rate), limit) => {
                let failed = self.upper.as_ref().map(|bound| percent(bound.load.share));
                let bound = match (&failed, limit) {
                    (Some(at), Limit::Dut) => format!("; {at} is too much"),
                    _ => bounded_by(limit, failed),
                };
                format!("{what}: {rate}{bound}.{}", self.indication())
            }
            (None, Limit::Tester) => format!("{what}: not found; the tester was the limit at every load."),
            (None, Limit::Disturbed) => {
                let failed = self.upper.as_ref().map_or_else(String::new, |bound| {
                    format!(" {} of the line rate is too much.", percent(bound.load.share))
                });
                format!(
                    "{what}: can't be judged here; the tester was disturbed.{failed}{}",
                    self.indication()
                )
            }
            (None, _) => format!("{what}: none; the smallest load already loses more."),
        }
    }
}

/// One search for each frame length.
#[derive(Debug, Clone)]
pub(crate) struct Mlr {
    config: MlrConfig,
    searches: InTurn<MlrSearch>,
}

impl Mlr {
    pub(crate) fn new(config: &MlrConfig, testbed: &Testbed) -> Self {
        let searches = config.sizes.iter().map(|frames| MlrSearch::new(frames, config, testbed));
        Self { config: config.clone(), searches: InTurn::new(searches) }
    }
}

impl Stage for Mlr {
    fn next(&mut self) -> Option<Draft> {
        self.searches.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.searches.take(draft, seen);
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.searches.decides(draft, seen)
    }
}

impl Procedure for Mlr {
    fn name(&self) -> &'static str {
        "mlrsearch"
    }

    fn findings(&self) -> Findings {
        Findings::Mlr(self.searches.stages.iter().map(MlrSearch::row).collect())
    }

    fn summary(&self) -> Vec<String> {
        let rows = self.searches.stages.iter().map(MlrSearch::row);
        rows.flat_map(|row| row.goals.iter().map(|goal| goal.sentence(&row.frames)).collect::<Vec<_>>())
            .collect()
    }

    fn remarks(&self) -> Vec<String> {
        let late = self.searches.stages.iter().filter(|search| search.out_of_time());
        let late = late.map(|search| {
            format!(
                "The search at {} ended after {} of traffic, before all goals were reached.",
                search.frames(),
                self.config.traffic_max.unwrap_or_default()
            )
        });
        late.collect()
    }
}
