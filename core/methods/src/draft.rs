//! Between a method and the machinery that runs it: a trial before it has a number, and an outcome with its judgement.

use crate::list::Findings;
use crate::outcome::TrialOutcome;
use crate::testbed::{Around, Frames, Testbed};
use crate::trial::{Phase, TrialKind, TrialRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FrameLen, Nanos, Pps};

/// A trial that a method wants.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) phase: Phase,
    pub(crate) label: String,
    pub(crate) kind: TrialKind,
    pub(crate) frames: Frames,
    /// Load of the first group; the others follow by share. `None`: the kind determines it.
    pub(crate) rate: Option<Pps>,
    pub(crate) duration: Nanos,
    /// Rest of the device before it.
    pub(crate) rest: Nanos,
    /// Rest of the device before the trial is run again.
    pub(crate) rest_again: Nanos,
    /// Number of times that it is run again if the tester was the limit or the outcome invalid.
    pub(crate) retries: u32,
}

impl Draft {
    /// An even load of `rate` for `duration`.
    pub(crate) fn load(frames: &Frames, rate: Pps, duration: Nanos) -> Self {
        Self {
            phase: Phase::Measure,
            label: String::new(),
            kind: TrialKind::Load,
            frames: frames.clone(),
            rate: Some(rate),
            duration,
            rest: Nanos::ZERO,
            rest_again: Nanos::ZERO,
            retries: 1,
        }
    }

    /// A trial whose load the kind describes.
    pub(crate) fn special(kind: TrialKind, duration: Nanos) -> Self {
        Self { kind, rate: None, ..Self::load(&Frames::of(FrameLen::MIN), Pps::ZERO, duration) }
    }

    pub(crate) fn phase(self, phase: Phase) -> Self {
        Self { phase, ..self }
    }

    pub(crate) fn label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    pub(crate) fn kind(self, kind: TrialKind) -> Self {
        Self { kind, ..self }
    }

    /// After the device has rested.
    pub(crate) fn after(self, rest: Nanos) -> Self {
        Self { rest, ..self }
    }

    /// If it is run again, after the device has rested for so long: what was left over would spoil the repeat.
    pub(crate) fn again_after(self, rest_again: Nanos) -> Self {
        Self { rest_again, ..self }
    }

    /// The trial as it is run again.
    pub(crate) fn again(self) -> Self {
        Self { rest: self.rest.max(self.rest_again), ..self }
    }

    /// Never run again.
    pub(crate) fn once(self) -> Self {
        Self { retries: 0, ..self }
    }

    /// The request for this draft.
    pub(crate) fn request(&self, testbed: &Testbed, method: &str, number: u64) -> TrialRequest {
        let mut request = TrialRequest {
            number,
            key: String::new(),
            method: method.into(),
            phase: self.phase,
            label: self.label.clone(),
            kind: self.kind.clone(),
            frames: self.frames.clone(),
            offered: self.rate.map_or_else(Vec::new, |rate| testbed.offered(&self.frames, rate)),
            duration: self.duration,
            around: Around { rest: self.rest, ..testbed.timing.into() },
            attributes: testbed.attributes,
        };
        request.key = request.fingerprint();
        request
    }
}

/// An outcome and whether it is evidence about the DUT.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) outcome: &'a TrialOutcome,
    /// The tester was the limit, or the figures are not to be trusted. Bounds of its loss may still decide.
    pub(crate) limited: bool,
    /// It is at least the third trial in a row that can't be judged: a search ends with what it knows.
    pub(crate) last: bool,
}

/// Trials in a row that can't be judged, after which a search ends. Disturbances of the tester by other processes do
/// not depend on the load, so lower loads would not help.
pub(crate) const UNJUDGED_MAX: u32 = 3;

impl Seen<'_> {
    /// Lost ÷ sent, all groups.
    pub(crate) fn loss_ratio(&self) -> f64 {
        self.outcome.loss_ratio()
    }

    /// Bounds of the share of frames that the DUT lost; `None`: nothing is known.
    pub(crate) fn loss_bounds(&self) -> Option<(f64, f64)> {
        if !self.limited {
            return Some((self.loss_ratio(), self.loss_ratio()));
        }
        self.outcome.loss_bounds().filter(|_| !self.outcome.generator_limited)
    }

    /// Whether the DUT passes at a loss ratio, as far as the bounds of its loss decide.
    pub(crate) fn verdict(&self, loss_ratio: f64) -> Verdict {
        match self.loss_bounds() {
            Some((_, most)) if most <= loss_ratio => Verdict::Pass,
            Some((least, _)) if least > loss_ratio => Verdict::Fail,
            _ => self.unknown(),
        }
    }

    /// Whether the DUT passes, where a disturbance of the tester can only make a trial worse: then a pass holds.
    pub(crate) fn verdict_if(&self, passed: bool) -> Verdict {
        match () {
            () if !self.limited && passed => Verdict::Pass,
            () if !self.limited => Verdict::Fail,
            () if passed && self.outcome.only_worse && !self.outcome.generator_limited => Verdict::Pass,
            () => self.unknown(),
        }
    }

    /// Whether the DUT passes, where a pause of the tester makes a trial easier, as it does a burst.
    pub(crate) fn verdict_if_valid(&self, passed: bool) -> Verdict {
        match () {
            () if self.limited => self.unknown(),
            () if passed => Verdict::Pass,
            () => Verdict::Fail,
        }
    }

    /// Why the trial is inconclusive.
    fn unknown(&self) -> Verdict {
        match () {
            () if self.outcome.generator_limited => Verdict::Tester,
            () if self.last => Verdict::GivenUp,
            () => Verdict::Disturbed,
        }
    }
}

/// Result of a trial at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Fail,
    /// The tester could not offer the requested load.
    Tester,
    /// The tester was kept from its work: another trial may well do better.
    Disturbed,
    /// The same for the third time in a row: the search ends.
    GivenUp,
}

impl Verdict {
    /// Whether the trial decides about the DUT.
    pub(crate) fn is_known(self) -> bool {
        matches!(self, Self::Pass | Self::Fail)
    }
}

/// Limit of a figure from above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The DUT failed above it.
    Dut,
    /// It is the highest value tried: the line rate, or the configured maximum.
    Maximum,
    /// The tester could not do more; the DUT may well.
    Tester,
    /// Trials above it, up to the lowest load at which the DUT failed, can't be judged: the tester was disturbed.
    Disturbed,
    /// The DUT failed at the smallest value already.
    Impossible,
    /// The search has not ended.
    Open,
}

impl Limit {
    /// Whether the DUT failed above.
    pub(crate) fn is_dut(self) -> bool {
        matches!(self, Self::Dut | Self::Impossible)
    }

    /// Whether the tester is why nothing more is known.
    pub(crate) fn is_testers(self) -> bool {
        matches!(self, Self::Tester | Self::Disturbed)
    }

    /// Remark of tables next to a value, or in place of one.
    pub(crate) fn note_of(self, value: Option<f64>) -> Option<&'static str> {
        match (self, value) {
            (Self::Disturbed, None) => Some("can't be judged: the tester was disturbed"),
            (Self::Tester, None) => Some("the tester was the limit at every load"),
            _ => self.note(),
        }
    }

    /// Remark of tables, unless the DUT is the limit.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Self::Dut => None,
            Self::Maximum => Some("the largest value tried"),
            Self::Tester => Some("the tester was the limit; the device may do more"),
            Self::Disturbed => Some("trials above it can't be judged: the tester was disturbed"),
            Self::Impossible => Some("the device failed at the smallest value"),
            Self::Open => Some("the search has not ended"),
        }
    }
}

/// A part of a method that requests trials in turn.
pub(crate) trait Stage: Clone + Send {
    /// The next trial; called once for each. `None`: no more trials.
    fn next(&mut self) -> Option<Draft>;
    /// Processes the outcome of the last requested trial.
    fn take(&mut self, draft: &Draft, seen: &Seen<'_>);
    /// Whether an outcome that is not valid still decides the question of the trial; by default, it does not.
    fn decides(&self, _: &Draft, _: &Seen<'_>) -> bool {
        false
    }
}

/// A whole method.
pub(crate) trait Procedure: Stage {
    fn name(&self) -> &'static str;
    fn findings(&self) -> Findings;
    /// Findings in sentences, one for each row.
    fn summary(&self) -> Vec<String>;
    /// Choices and caveats the reader must know.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// One stage after another.
#[derive(Debug, Clone)]
pub(crate) struct InTurn<S> {
    pub(crate) stages: Vec<S>,
    at: usize,
}

impl<S: Stage> InTurn<S> {
    pub(crate) fn new(stages: impl IntoIterator<Item = S>) -> Self {
        Self { stages: stages.into_iter().collect(), at: 0 }
    }
}

impl<S: Stage> Stage for InTurn<S> {
    fn next(&mut self) -> Option<Draft> {
        while let Some(stage) = self.stages.get_mut(self.at) {
            if let Some(draft) = stage.next() {
                return Some(draft);
            }
            self.at += 1;
        }
        None
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        if let Some(stage) = self.stages.get_mut(self.at) {
            stage.take(draft, seen);
        }
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.stages.get(self.at).is_some_and(|stage| stage.decides(draft, seen))
    }
}
