//! Maximum receive rate: rate received at full load, regardless of loss (FD.io CSIT's MRR).

use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage, UNJUDGED_MAX, Verdict};
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
            definition: "the rate forwarded when the line is filled, regardless of loss",
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

/// Received rates at one frame length.
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
    /// Trials in which the tester could not send the line rate. They count only if none did better.
    pub tester_limited: u32,
    /// Trials that can't be judged, because the tester was disturbed. They do not count.
    #[serde(default)]
    pub disturbed: u32,
    /// The most that arrived in one of them, frames/s of all groups.
    #[serde(rename = "indicative_pps", default, skip_serializing_if = "Option::is_none")]
    pub indicative: Option<f64>,
    /// Limit of the value from above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

impl Row for MrrRow {
    fn findings(&self) -> Vec<Finding> {
        let found = Finding::at(&self.frames, "mrr", "pps").repeats(self.received.as_ref());
        let note = self.limit.and_then(|limit| limit.note_of(found.value));
        let left_out = (self.disturbed > 0)
            .then(|| format!("{} trials can't be judged: the tester was disturbed", self.disturbed));
        let note = note.map(str::to_owned).or(left_out);
        let found = Finding { line: Some(self.line_rate_pps), ..found.note(note) };
        vec![found.indicating(self.indicative)]
    }

    fn limits(&self) -> Vec<Limit> {
        self.limit.into_iter().collect()
    }
}

impl MrrRow {
    fn sentence(&self) -> String {
        let what = format!("Maximum receive rate at {}", self.frames);
        let indicative = self.indicative.map_or_else(String::new, |most| {
            format!(" Indicative: at least {} frames/s arrived in one of them.", grouped(most as u64))
        });
        let left_out = match self.disturbed {
            0 => String::new(),
            n => format!(" {n} trials can't be judged, because the tester was disturbed.{indicative}"),
        };
        match (&self.received, &self.offered) {
            (Some(received), Some(offered)) => format!(
                "{what}: {} frames/s of {} offered (standard deviation {}, {} trials){}.{left_out}",
                grouped(received.mean as u64),
                grouped(offered.mean as u64),
                grouped(received.stddev as u64),
                received.samples,
                if self.limit == Some(Limit::Tester) {
                    "; the tester did not reach the line rate"
                } else {
                    ""
                }
            ),
            _ if self.disturbed > 0 => format!("{what}: can't be judged here.{left_out}"),
            _ => format!("{what}: not yet known."),
        }
    }
}

#[derive(Debug, Clone)]
struct FullLoad {
    frames: Frames,
    line: Pps,
    config: MrrConfig,
    /// Received and offered rates at the line rate, frames/s.
    full: Vec<(f64, f64)>,
    /// The same where the tester could not send the line rate.
    short: Vec<(f64, f64)>,
    disturbed: u32,
    indicative: Option<f64>,
    given_up: bool,
}

impl FullLoad {
    fn row(&self) -> MrrRow {
        let counted = if self.full.is_empty() { &self.short } else { &self.full };
        let spread = |of: fn(&(f64, f64)) -> f64| Spread::of(&counted.iter().map(of).collect::<Vec<_>>());
        MrrRow {
            frames: self.frames.clone(),
            line_rate_pps: self.line.as_f64(),
            received: spread(|trial| trial.0),
            offered: spread(|trial| trial.1),
            tester_limited: self.short.len() as u32,
            disturbed: self.disturbed,
            indicative: self.indicative.filter(|_| counted.is_empty()),
            limit: match () {
                () if !self.full.is_empty() => Some(Limit::Dut),
                () if !self.short.is_empty() => Some(Limit::Tester),
                () if self.disturbed > 0 => Some(Limit::Disturbed),
                () => None,
            },
        }
    }
}

impl Stage for FullLoad {
    fn next(&mut self) -> Option<Draft> {
        let done = (self.full.len() + self.short.len()) as u32;
        let label = format!("{}: full load, {} of {}", self.frames, done + 1, self.config.repeats);
        let draft = Draft::load(&self.frames, self.line, self.config.duration);
        // Trials that can't be judged are made up for, as often as there are trials.
        let is_due = done < self.config.repeats && self.disturbed <= self.config.repeats && !self.given_up;
        is_due.then(|| draft.label(label).once())
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        let offered = seen.outcome.groups.iter().map(|group| group.achieved.as_f64()).sum();
        let trial = (seen.outcome.forwarding_rate(), offered);
        match () {
            () if !seen.limited || is_whole(seen) => self.full.push(trial),
            // Another process had its core: how much the tester can send is another matter.
            () if seen.outcome.disturbed || !seen.outcome.generator_limited => {
                self.disturbed += 1;
                self.indicative = Some(self.indicative.map_or(trial.0, |most| most.max(trial.0)));
                self.given_up |= seen.last || self.disturbed >= UNJUDGED_MAX && self.full.is_empty();
            }
            () => self.short.push(trial),
        }
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        is_whole(seen)
    }
}

/// Whether all of the line rate was forwarded; this holds even if the tester was disturbed, as no device can do more.
fn is_whole(seen: &Seen<'_>) -> bool {
    seen.verdict(0.0) == Verdict::Pass
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
            full: Vec::new(),
            short: Vec::new(),
            disturbed: 0,
            indicative: None,
            given_up: false,
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

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.sizes.decides(draft, seen)
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
        self.sizes.stages.iter().map(|stage| stage.row().sentence()).collect()
    }
}
