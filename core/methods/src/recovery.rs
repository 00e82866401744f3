//! System recovery (RFC 2544 section 26.5) and reset (section 26.6, RFC 6201).

use crate::ConfigError;
use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage};
use crate::rates::{AtRate, FindThen, RateSource};
use crate::result::{Findings, FoundRate, Spread};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsNanos, AsText};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// How recovery is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryConfig {
    /// The throughput, one for each frame length.
    pub rates: RateSource,
    /// Overload lasts so long; at least 60 s by the RFC.
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
    pub(crate) fn check(&self, bed: &Testbed) -> Result<(), ConfigError> {
        if self.repeats == 0 || self.overload == Nanos::ZERO {
            return Err(ConfigError::new("repeats", "there must be a trial, and it must take time"));
        }
        self.rates.check(bed)
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

/// The share the load drops to.
const DROP: f64 = 0.5;

#[derive(Debug, Clone)]
struct Overload {
    frames: Frames,
    line: Pps,
    bed: Testbed,
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
            overload: self.rate.map(|rate| FoundRate::new(&self.bed, &self.frames, self.load(rate))),
            recovery: Spread::of(&self.times),
            not_recovered: self.not_recovered,
            tester_limited: self.limited,
        }
    }

    fn sentence(&self) -> String {
        let what = format!("System recovery at {}", self.frames);
        match (Spread::of(&self.times), self.rate) {
            (_, None) => format!("{what}: no throughput is known to begin with."),
            _ if self.not_recovered > 0 => {
                format!(
                    "{what}: the DUT was still losing frames at the end of {} trials.",
                    self.not_recovered
                )
            }
            (Some(time), _) => {
                format!("{what}: {:.3} ms on average over {} trials.", time.mean / 1e6, time.samples)
            }
            (None, _) => format!("{what}: not measured."),
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
    pub(crate) fn new(config: &RecoveryConfig, bed: &Testbed) -> Self {
        let then = |frames: Frames| Overload {
            line: bed.line_rate(&frames),
            frames,
            bed: bed.clone(),
            duration: config.overload,
            repeats: config.repeats,
            rate: None,
            done: 0,
            times: Vec::new(),
            not_recovered: 0,
            limited: 0,
        };
        let finders = config.rates.finders(bed).into_iter();
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
}

impl Procedure for SystemRecovery {
    fn name(&self) -> &'static str {
        "rfc2544-recovery"
    }

    fn findings(&self) -> Findings {
        Findings::Recovery(self.sizes.stages.iter().map(|stage| stage.then.row()).collect())
    }

    fn summary(&self) -> Vec<String> {
        self.sizes.stages.iter().map(|stage| stage.then.sentence()).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.config.overload < Nanos::from_secs(60) {
            let overload = self.config.overload;
            remarks
                .push(format!("Overload lasted {overload}; RFC 2544 section 26.5 asks for at least 60 s."));
        }
        let at_line =
            |stage: &&FindThen<Overload>| stage.then.rate.is_some_and(|rate| rate >= stage.then.line);
        for stage in self.sizes.stages.iter().filter(at_line) {
            let frames = &stage.then.frames;
            remarks.push(format!("At {frames} the throughput is the line rate, so there was no overload."));
        }
        remarks
    }
}

/// How outages after a reset are measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResetConfig {
    /// The throughput; the first frame length is used, the smallest by the RFC.
    pub rates: RateSource,
    /// The kinds of reset, in the words of whoever does them.
    pub resets: Vec<String>,
    /// Trials of each kind.
    pub repeats: u32,
    /// Length of a trial: the reset and the return of the DUT must fit.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for ResetConfig {
    fn default() -> Self {
        Self {
            rates: RateSource::default(),
            resets: ["hardware", "software", "power"].map(String::from).to_vec(),
            repeats: 1,
            duration: Nanos::from_secs(600),
        }
    }
}

impl ResetConfig {
    pub(crate) fn check(&self, bed: &Testbed) -> Result<(), ConfigError> {
        if self.resets.is_empty() || self.repeats == 0 || self.duration == Nanos::ZERO {
            return Err(ConfigError::new(
                "resets",
                "there must be a kind of reset and a trial that takes time",
            ));
        }
        self.rates.check(bed)
    }
}

/// Outage after one kind of reset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResetRow {
    /// How the DUT was reset.
    pub how: String,
    /// The frames.
    pub frames: Frames,
    /// Length of a trial.
    #[serde(rename = "duration_ns", with = "AsNanos")]
    pub duration: Nanos,
    /// Lost frames ÷ offered rate, s (RFC 6201 section 4.1).
    #[serde(rename = "by_loss_s")]
    pub by_loss: Option<Spread>,
    /// Last arrival before to first arrival after, s (RFC 6201 section 4.2).
    #[serde(rename = "by_arrivals_s")]
    pub by_arrivals: Option<Spread>,
    /// Trials at whose end the DUT was still away.
    pub not_back: u32,
}

#[derive(Debug, Clone, Default)]
struct ResetKind {
    how: String,
    done: u32,
    by_loss: Vec<f64>,
    by_arrivals: Vec<f64>,
    not_back: u32,
}

#[derive(Debug, Clone)]
struct Resets {
    frames: Frames,
    rate: Option<Pps>,
    duration: Nanos,
    repeats: u32,
    kinds: Vec<ResetKind>,
}

impl Stage for Resets {
    fn next(&mut self) -> Option<Draft> {
        let rate = self.rate?;
        let kind = self.kinds.iter().find(|kind| kind.done < self.repeats)?;
        let label = format!("{}: {} reset, {} of {}", self.frames, kind.how, kind.done + 1, self.repeats);
        let trial = TrialKind::Reset { how: kind.how.clone() };
        Some(Draft::load(&self.frames, rate, self.duration).kind(trial).label(label))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        let Some(kind) = self.kinds.iter_mut().find(|kind| kind.done < self.repeats) else { return };
        kind.done += 1;
        let Some(outage) = seen.outcome.outage.filter(|_| !seen.limited) else { return };
        if !outage.came_back {
            kind.not_back += 1;
            return;
        }
        let offered: f64 = seen.outcome.groups.iter().map(|group| group.achieved.as_f64()).sum();
        kind.by_loss.push(seen.outcome.lost() as f64 / offered.max(1e-9));
        kind.by_arrivals.extend(outage.between_arrivals_ns.map(|ns| ns as f64 / 1e9));
    }
}

impl AtRate for Resets {
    fn begin(&mut self, rate: Pps, _: Limit) {
        self.rate = Some(rate);
    }
}

/// Outages after all kinds of reset.
#[derive(Debug, Clone)]
pub(crate) struct Reset {
    sizes: InTurn<FindThen<Resets>>,
}

impl Reset {
    pub(crate) fn new(config: &ResetConfig, bed: &Testbed) -> Self {
        let kind = |how: &String| ResetKind { how: how.clone(), ..ResetKind::default() };
        let then = |frames| Resets {
            frames,
            rate: None,
            duration: config.duration,
            repeats: config.repeats,
            kinds: config.resets.iter().map(kind).collect(),
        };
        let first = config.rates.finders(bed).into_iter().take(1);
        Self { sizes: InTurn::new(first.map(|(frames, finder)| FindThen::new(finder, then(frames)))) }
    }

    fn rows(&self) -> Vec<ResetRow> {
        let of = |resets: &Resets| {
            let row = |kind: &ResetKind| ResetRow {
                how: kind.how.clone(),
                frames: resets.frames.clone(),
                duration: resets.duration,
                by_loss: Spread::of(&kind.by_loss),
                by_arrivals: Spread::of(&kind.by_arrivals),
                not_back: kind.not_back,
            };
            resets.kinds.iter().map(row).collect::<Vec<_>>()
        };
        self.sizes.stages.iter().flat_map(|stage| of(&stage.then)).collect()
    }
}

impl Stage for Reset {
    fn next(&mut self) -> Option<Draft> {
        self.sizes.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.sizes.take(draft, seen);
    }
}

impl Procedure for Reset {
    fn name(&self) -> &'static str {
        "rfc6201-reset"
    }

    fn findings(&self) -> Findings {
        Findings::Reset(self.rows())
    }

    /// One statement for each kind of reset (RFC 2544 section 26.6).
    fn summary(&self) -> Vec<String> {
        let sentence = |row: &ResetRow| match &row.by_loss {
            Some(outage) => format!(
                "After a {} reset the DUT was away for {:.3} s (lost frames ÷ offered rate, {}).",
                row.how, outage.mean, row.frames
            ),
            None if row.not_back > 0 => {
                let (how, duration) = (&row.how, row.duration);
                format!("After a {how} reset the DUT did not come back within a trial of {duration}.")
            }
            None => format!("After a {} reset: not measured.", row.how),
        };
        self.rows().iter().map(sentence).collect()
    }
}
