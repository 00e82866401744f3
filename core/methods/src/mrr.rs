//! Maximum receive rate: what arrives at full load, whatever is lost (FD.io CSIT's MRR).

use crate::draft::{Draft, InTurn, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::result::Spread;
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, grouped};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Settings of MRR.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MrrConfig {
    /// One row for each, in this order.
    pub sizes: Vec<Frames>,
    /// Trials of each.
    pub repeats: u32,
    /// Length of a trial.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for MrrConfig {
    fn default() -> Self {
        Self { sizes: Frames::rfc2544(), repeats: 10, duration: Nanos::from_secs(1) }
    }
}

impl MrrConfig {
    pub(crate) const ABOUT: About = About {
        name: "mrr",
        about: "rate received at the line rate (maximum receive rate of FD.io CSIT)",
        result_names: &["mrr"],
        makes_curves: true,
        goals: &[GoalMeaning {
            goal: "mrr",
            name: "Maximum receive rate",
            definition: "the rate forwarded when the line is filled, whatever is lost",
        }],
    };
}

impl Settings for MrrConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        if self.sizes.is_empty() || self.repeats == 0 || self.duration == Nanos::ZERO {
            let reason = "needs a frame length; repeats must be at least 1, duration longer than 0";
            return Err(ConfigError::new("sizes", reason));
        }
        Ok(())
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Mrr::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.repeats = 3;
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

/// What arrived at one frame length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MrrRow {
    /// The frames.
    pub frames: Frames,
    /// Frames/s that fill the link of the first group.
    pub line_rate_pps: f64,
    /// Frames/s that arrived, all groups.
    #[serde(rename = "received_pps")]
    pub received: Option<Spread>,
    /// Frames/s that were offered, all groups.
    #[serde(rename = "offered_pps")]
    pub offered: Option<Spread>,
    /// Trials that the tester limited: there the offered load was below the line rate.
    pub tester_limited: u32,
}

impl Row for MrrRow {
    fn findings(&self) -> Vec<Finding> {
        let found = Finding::at(&self.frames, "mrr", "pps").repeats(self.received.as_ref());
        vec![Finding { line: Some(self.line_rate_pps), ..found }]
    }
}

#[derive(Debug, Clone)]
struct FullLoad {
    frames: Frames,
    line: Pps,
    config: MrrConfig,
    received: Vec<f64>,
    offered: Vec<f64>,
    limited: u32,
}

impl FullLoad {
    fn row(&self) -> MrrRow {
        MrrRow {
            frames: self.frames.clone(),
            line_rate_pps: self.line.as_f64(),
            received: Spread::of(&self.received),
            offered: Spread::of(&self.offered),
            tester_limited: self.limited,
        }
    }
}

impl Stage for FullLoad {
    fn next(&mut self) -> Option<Draft> {
        let done = self.received.len() as u32;
        let label = format!("{}: full load, {} of {}", self.frames, done + 1, self.config.repeats);
        let draft = Draft::load(&self.frames, self.line, self.config.duration);
        (done < self.config.repeats).then(|| draft.label(label).once())
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        self.limited += u32::from(seen.limited);
        self.received.push(seen.outcome.forwarding_rate());
        self.offered.push(seen.outcome.groups.iter().map(|group| group.achieved.as_f64()).sum());
    }
}

/// All frame lengths.
#[derive(Debug, Clone)]
pub(crate) struct Mrr {
    sizes: InTurn<FullLoad>,
}

impl Mrr {
    pub(crate) fn new(config: &MrrConfig, testbed: &Testbed) -> Self {
        let stage = |frames: &Frames| FullLoad {
            frames: frames.clone(),
            line: testbed.line_rate(frames),
            config: config.clone(),
            received: Vec::new(),
            offered: Vec::new(),
            limited: 0,
        };
        Self { sizes: InTurn::new(config.sizes.iter().map(stage)) }
    }
}

impl Stage for Mrr {
    fn next(&mut self) -> Option<Draft> {
        self.sizes.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.sizes.take(draft, seen);
    }
}

impl Procedure for Mrr {
    fn name(&self) -> &'static str {
        "mrr"
    }

    fn findings(&self) -> Findings {
        Findings::Mrr(self.sizes.stages.iter().map(FullLoad::row).collect())
    }

    fn summary(&self) -> Vec<String> {
        let sentence = |row: MrrRow| match (&row.received, &row.offered) {
            (Some(received), Some(offered)) => format!(
                "Maximum receive rate at {}: {} frames/s of {} offered (standard deviation {}){}.",
                row.frames,
                grouped(received.mean as u64),
                grouped(offered.mean as u64),
                grouped(received.stddev as u64),
                if row.tester_limited > 0 { "; the tester did not reach the line rate" } else { "" }
            ),
            _ => format!("Maximum receive rate at {}: not yet known.", row.frames),
        };
        self.sizes.stages.iter().map(|stage| sentence(stage.row())).collect()
    }
}
