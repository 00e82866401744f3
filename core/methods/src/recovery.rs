//! System recovery: how soon the DUT stops losing frames after an overload (RFC 2544 section 26.5).

use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::rates::{AtRate, FindThen, RateSource};
use crate::result::{FoundRate, Spread};
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::AsText;
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Settings of the recovery measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryConfig {
    /// The throughput, one for each frame length.
    pub rates: RateSource,
    /// Length of the overload; at least 60 s by the RFC.
    #[serde(with = "AsText")]
    pub overload: Nanos,
    /// Trials at each frame length.
    pub repeats: u32,
}

impl Default for RecoveryConfig {
    fn default() -> Self {
        Self { rates: RateSource::default(), overload: Nanos::from_secs(60), repeats: 5 }
    }
}

impl RecoveryConfig {
    pub(crate) const ABOUT: About = About {
        name: "recovery",
        about: "time to recover from overload (RFC 2544 section 26.5)",
        result_names: &["rfc2544-recovery"],
        makes_curves: false,
        goals: &[GoalMeaning {
            goal: "recovery",
            name: "System recovery",
            definition: "time from the end of the overload to the last lost frame (RFC 2544 section 26.5)",
        }],
    };
}

impl Settings for RecoveryConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        if self.repeats == 0 || self.overload == Nanos::ZERO {
            return Err(ConfigError::new("repeats", "repeats must be at least 1, overload longer than 0"));
        }
        self.rates.check(testbed)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(SystemRecovery::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.rates.quicken();
        self.overload = Nanos::from_secs(2);
        self.repeats = 2;
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.rates.set_trial(trial);
        self.overload = trial;
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

/// Recovery at one frame length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryRow {
    /// The frames.
    pub frames: Frames,
    /// The throughput, frames/s of the first group; absent: none was found.
    pub throughput_pps: Option<f64>,
    /// 110% of it, or the line rate if that is less.
    pub overload: Option<FoundRate>,
    /// From the drop of the load (A) to the last lost frame (B): B − A, ns. The RFC prints A − B, which is negative.
    #[serde(rename = "recovery_ns")]
    pub recovery: Option<Spread>,
    /// Trials after which frames were still lost at the very end: the DUT did not recover.
    pub not_recovered: u32,
    /// Trials that the tester limited.
    pub tester_limited: u32,
}

impl Row for RecoveryRow {
    fn findings(&self) -> Vec<Finding> {
        let never =
            (self.not_recovered > 0).then(|| format!("did not recover in {} trials", self.not_recovered));
        let limited = (self.tester_limited > 0).then(|| {
            format!("{} trials in which the tester was the limit or disturbed", self.tester_limited)
        });
        let note = never.or(limited);
        vec![Finding::at(&self.frames, "recovery", "ns").repeats(self.recovery.as_ref()).note(note)]
    }

    fn is_unjudged(&self) -> bool {
        self.recovery.is_none() && self.not_recovered == 0 && self.tester_limited > 0
    }
}

/// The share the load drops to.
const DROP: f64 = 0.5;

#[derive(Debug, Clone)]
struct Overload {
    frames: Frames,
    line: Pps,
    testbed: Testbed,
    duration: Nanos,
    repeats: u32,
    rate: Option<Pps>,
    done: u32,
    times: Vec<f64>,
    not_recovered: u32,
    limited: u32,
}

impl Overload {
    /// 110% of the throughput, at most the line rate.
    fn load(&self, rate: Pps) -> Pps {
        Pps::from_micro((u128::from(rate.micro()) * 11 / 10).min(u128::from(self.line.micro())) as u64)
    }

    fn row(&self) -> RecoveryRow {
        RecoveryRow {
            frames: self.frames.clone(),
            throughput_pps: self.rate.map(Pps::as_f64),
            overload: self.rate.map(|rate| FoundRate::new(&self.testbed, &self.frames, self.load(rate))),
            recovery: Spread::of(&self.times),
            not_recovered: self.not_recovered,
            tester_limited: self.limited,
        }
    }

    fn sentence(&self) -> String {
        let what = format!("System recovery at {}", self.frames);
        match Spread::of(&self.times) {
            _ if self.not_recovered > 0 => {
                format!(
                    "{what}: the DUT was still losing frames at the end of {} of {} trials.",
                    self.not_recovered,
                    self.not_recovered as usize + self.times.len()
                )
            }
            Some(time) => {
                format!("{what}: {:.3} ms on average over {} trials.", time.mean / 1e6, time.samples)
            }
            None if self.limited > 0 => {
                format!("{what}: can't be judged here; in all trials the tester was the limit or disturbed.")
            }
            None => format!("{what}: not yet measured."),
        }
    }
}

impl Stage for Overload {
    fn next(&mut self) -> Option<Draft> {
        let rate = self.rate?;
        let label = format!("{}: overload, {} of {}", self.frames, self.done + 1, self.repeats);
        let draft = Draft::load(&self.frames, self.load(rate), self.duration);
        (self.done < self.repeats).then(|| draft.kind(TrialKind::Overload { share: DROP }).label(label))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        self.done += 1;
        let Some(recovery) = seen.outcome.recovery.filter(|_| !seen.limited) else {
            self.limited += 1;
            self.done = if seen.last { self.repeats } else { self.done };
            return;
        };
        let time = recovery.last_loss_after_ns.unwrap_or(0);
        // Loss in the last hundredth of the time after the drop: it was not the last.
        if time as f64 >= self.duration.0 as f64 * 0.99 {
            self.not_recovered += 1;
        } else {
            self.times.push(time as f64);
        }
    }
}

impl AtRate for Overload {
    fn begin(&mut self, rate: Pps, _: Limit) {
        self.rate = Some(rate);
    }
}

/// Recovery at all frame lengths.
#[derive(Debug, Clone)]
pub(crate) struct SystemRecovery {
    config: RecoveryConfig,
    sizes: InTurn<FindThen<Overload>>,
}

impl SystemRecovery {
    pub(crate) fn new(config: &RecoveryConfig, testbed: &Testbed) -> Self {
        let then = |frames: Frames| Overload {
            line: testbed.line_rate(&frames),
            frames,
            testbed: testbed.clone(),
            duration: config.overload,
            repeats: config.repeats,
            rate: None,
            done: 0,
            times: Vec::new(),
            not_recovered: 0,
            limited: 0,
        };
        let finders = config.rates.finders(testbed).into_iter();
        let stages = finders.map(|(frames, finder)| FindThen::new(finder, then(frames)));
        Self { config: config.clone(), sizes: InTurn::new(stages) }
    }
}

impl Stage for SystemRecovery {
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

impl Procedure for SystemRecovery {
    fn name(&self) -> &'static str {
        "rfc2544-recovery"
    }

    fn findings(&self) -> Findings {
        Findings::Recovery(self.sizes.stages.iter().map(|stage| stage.then.row()).collect())
    }

    fn summary(&self) -> Vec<String> {
        let sentence = |stage: &FindThen<Overload>| match stage.then.rate {
            None => format!("System recovery at {}: {}.", stage.then.frames, stage.why_not()),
            Some(_) => stage.then.sentence(),
        };
        self.sizes.stages.iter().map(sentence).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.config.overload < Nanos::from_secs(60) {
            let overload = self.config.overload;
            remarks
                .push(format!("Overload lasted {overload}; RFC 2544 section 26.5 requires at least 60 s."));
        }
        let at_line =
            |stage: &&FindThen<Overload>| stage.then.rate.is_some_and(|rate| rate >= stage.then.line);
        remarks.extend(self.sizes.stages.iter().filter_map(|stage| stage.caveat(&stage.then.frames)));
        for stage in self.sizes.stages.iter().filter(at_line) {
            let frames = &stage.then.frames;
            remarks.push(format!("At {frames} the throughput is the line rate, so there was no overload."));
        }
        remarks
    }
}
