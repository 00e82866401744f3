//! Between which bounds a finding lies, by the trials of all methods that ran on one configuration of a device.
//!
//! A search trusts each trial. Where the same load, or a lower one, does worse in another trial, the finding is not
//! certain: its bounds move apart until every trial agrees with them, and the finding lists the contradicting trials
//! and whether the tester was disturbed.
//!
//! Invariant: no trial that counts lost more than the finding allows at a load up to `lower`, and none less from `upper` on,
//! unless the finding's own rule allows for repeats that disagree.

use crate::agreement;
use crate::finding::Finding;
use crate::mlr::{Durations, Goal, LoadClass, Threshold};
use crate::result::{MethodResult, Standing, TrialNote, ordinal};
use crate::testbed::Frames;
use crate::text::percent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Shares of the line rate nearer to each other than this are one load.
const SAME_LOAD: f64 = 1e-9;
/// Additional loss allowed in another method's trial by a goal that allows for lossy trials.
const SLACK: f64 = 1e-4;

/// Trials that support a finding and trials that contradict it.
#[derive(Debug, Clone, PartialEq)]
pub enum Criterion {
    /// A load passes with at most this loss ratio in a trial of full length; it fails if this number of trials lost
    /// more.
    Loss {
        /// Loss ratio that still passes.
        ratio: f64,
        /// Length of a trial that passes.
        trial: Nanos,
        /// Trials that must fail.
        failures: u32,
    },
    /// A goal of MLRsearch.
    Goal(Goal),
    /// The value is a loss ratio at this share of the line rate: a higher load loses no less, a lower one no more.
    Curve {
        /// Of the line rate.
        share: f64,
    },
}

/// Where a finding lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Frames, or the application of sessions.
    pub frame: String,
    /// The finding's goal.
    pub goal: String,
    /// Unit of the values.
    pub unit: String,
    /// The finding's value.
    pub value: Option<f64>,
    /// Largest value known to be reached: no trial contradicts it.
    pub lower: Option<f64>,
    /// Smallest value known not to be reached: no trial contradicts it.
    pub upper: Option<f64>,
    /// Maximum distance of the bounds where trials agree.
    pub resolution: Option<f64>,
    /// Why the value is not certain: trials that contradict it, with figures, and whether the tester was disturbed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub doubt: Option<String>,
}

/// Results with the intervals of their findings by all of them, what is in doubt among the sentences, and a remark on
/// trials that disagree. `results` are as the methods made them.
pub fn reconciled(results: &[MethodResult]) -> Vec<MethodResult> {
    let mut all = results.to_vec();
    for (number, result) in all.iter_mut().enumerate() {
        result.intervals = of(&results[number], number, results);
        result.summary.extend(result.intervals.iter().filter_map(Interval::sentence));
    }
    if let Some(newest) = all.last_mut() {
        newest.remarks.extend(agreement::disagreements(results));
    }
    all
}

/// The intervals of `result`, which is the `number`-th of `all`.
pub(crate) fn of(result: &MethodResult, number: usize, all: &[MethodResult]) -> Vec<Interval> {
    let findings = result.findings.values().unwrap_or_default();
    let bounded =
        findings.into_iter().filter(|f| f.criterion.is_some() || f.lower.is_some() || f.upper.is_some());
    bounded.map(|finding| Interval::of(finding, number, all)).collect()
}

impl MethodResult {
    /// Its findings, with the bounds that all trials of the campaign agree with.
    ///
    /// # Errors
    /// A row can't be written as JSON.
    pub fn values(&self) -> Result<Vec<Finding>, serde_json::Error> {
        let mut findings = self.findings.values()?;
        for finding in &mut findings {
            let mut own = self.intervals.iter();
            if let Some(own) = own.find(|own| own.frame == finding.frame && own.goal == finding.goal) {
                (finding.lower, finding.upper) = (own.lower, own.upper);
                finding.doubt.clone_from(&own.doubt);
            }
        }
        Ok(findings)
    }
}

impl Interval {
    fn of(finding: Finding, number: usize, all: &[MethodResult]) -> Self {
        let mut interval = Self {
            frame: finding.frame,
            goal: finding.goal,
            unit: finding.unit,
            value: finding.value,
            lower: finding.lower,
            upper: finding.upper,
            resolution: finding.resolution,
            doubt: finding.doubt,
        };
        match finding.criterion {
            Some(Criterion::Curve { share }) => interval.on_curve(share, number, all),
            Some(criterion) => interval.of_load(&criterion, finding.line, number, all),
            None => {}
        }
        interval
    }

    /// Trials that contradict a highest load.
    fn of_load(&mut self, criterion: &Criterion, line: Option<f64>, number: usize, all: &[MethodResult]) {
        let line = if self.unit == "ratio" { Some(1.0) } else { line };
        let Some(scale) = line.filter(|line| *line > 0.0) else { return };
        let loads = Load::of_all(&self.frame, criterion, number, all);
        let failed = || loads.iter().filter(|load| load.passes == Some(false));
        let passed = || loads.iter().filter(|load| load.passes == Some(true));
        let share = |value: f64| value / scale;
        let found = self.value.map(share).unwrap_or(0.0);
        let too_much = self.upper.map_or(f64::INFINITY, share);
        let contradicts = failed().any(|load| load.share <= found + SAME_LOAD)
            || passed().any(|load| load.share >= too_much - SAME_LOAD);
        // A single trial of another method never narrows what a search has found.
        if !contradicts {
            return;
        }
        let lowest_failed = failed().map(|load| load.share).fold(f64::INFINITY, f64::min);
        let highest_passed = passed().map(|load| load.share).fold(found, f64::max);
        let upper = failed().map(|load| load.share).filter(|at| *at > highest_passed + SAME_LOAD);
        self.upper = upper.reduce(f64::min).map(|share| share * scale);
        let agreed = passed().map(|load| load.share).filter(|at| *at < lowest_failed - SAME_LOAD);
        self.lower = agreed.reduce(f64::max).map(|share| share.min(found) * scale);
        let pairs = failed().flat_map(|bad| passed().map(move |good| (bad, good)));
        let disagree = pairs.filter(|(bad, good)| bad.share <= good.share + SAME_LOAD);
        let worst = disagree.max_by(|a, b| (a.0.loss - a.1.loss).total_cmp(&(b.0.loss - b.1.loss)));
        let Some((bad, good)) = worst else { return };
        self.doubt = Some(format!(
            "{} was lost {}, but {} {}; {}",
            percent(bad.loss),
            bad.place(all),
            percent(good.loss),
            good.place(all),
            disturbance(all)
        ));
    }

    /// Trials that contradict a loss ratio at a load.
    fn on_curve(&mut self, share: f64, number: usize, all: &[MethodResult]) {
        let Some(value) = self.value else { return };
        let own = Criterion::Curve { share };
        let loads = Load::of_all(&self.frame, &own, number, all);
        let above = loads.iter().filter(|load| load.share >= share - SAME_LOAD && load.loss < value);
        let below = loads.iter().filter(|load| load.share <= share + SAME_LOAD && load.loss > value);
        let [less, more] =
            [above.min_by(|a, b| a.loss.total_cmp(&b.loss)), below.max_by(|a, b| a.loss.total_cmp(&b.loss))];
        self.lower = Some(less.map_or(value, |load| load.loss));
        self.upper = Some(more.map_or(value, |load| load.loss));
        let told: Vec<String> = [less, more]
            .into_iter()
            .flatten()
            .filter(|load| agreement::differ(load.loss, value))
            .map(|load| format!("{} was lost {}", percent(load.loss), load.place(all)))
            .collect();
        if !told.is_empty() {
            self.doubt = Some(format!("{}; {}", told.join(", "), disturbance(all)));
        }
    }

    /// Description of the doubt.
    fn sentence(&self) -> Option<String> {
        let doubt = self.doubt.as_ref()?;
        // A curve has its points, and the remark on trials that disagree.
        if self.goal.starts_with("loss at") {
            return None;
        }
        let at = |value: f64| match self.unit.as_str() {
            "ratio" => percent(value),
            "pps" => format!("{} frames/s", crate::text::grouped(value as u64)),
            unit => format!("{} {unit}", crate::text::grouped(value as u64)),
        };
        let between = match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => format!("lies between {} and {}", at(lower), at(upper)),
            (Some(lower), None) => format!("is at least {}", at(lower)),
            (None, Some(upper)) => format!("is below {}", at(upper)),
            (None, None) => "is not known".to_owned(),
        };
        let name = crate::list::meaning(&self.goal).map_or(self.goal.as_str(), |meaning| meaning.name);
        let goal = self
            .goal
            .split_once(' ')
            .filter(|_| self.unit == "pps")
            .map_or(String::new(), |(_, rest)| format!(" {rest}"));
        Some(format!("{name}{goal} at {} {between}, because trials disagree: {doubt}.", self.frame))
    }
}

/// A load, by the trials of one method.
struct Load<'a> {
    share: f64,
    /// The trial that shows it best.
    note: &'a TrialNote,
    method: &'a str,
    loss: f64,
    /// Absent: too little is known.
    passes: Option<bool>,
}

impl<'a> Load<'a> {
    /// The loads of all methods at these frames.
    fn of_all(frame: &str, criterion: &Criterion, number: usize, all: &'a [MethodResult]) -> Vec<Self> {
        let of = |(index, result): (usize, &'a MethodResult)| {
            let counts = |note: &&TrialNote| {
                note.counts()
                    && note.sent > 0
                    && note.frames.as_ref().map(Frames::to_string).as_deref() == Some(frame)
            };
            let mut notes: Vec<&TrialNote> = result.trials.iter().filter(counts).collect();
            notes.sort_by(|a, b| a.magnitude.total_cmp(&b.magnitude));
            let loads = notes.chunk_by(|a, b| b.magnitude - a.magnitude <= SAME_LOAD);
            let loads = loads.map(|notes| Self::new(notes, criterion, index == number, &result.method));
            loads.collect::<Vec<_>>()
        };
        all.iter().enumerate().flat_map(of).collect()
    }

    fn new(notes: &[&'a TrialNote], criterion: &Criterion, is_own: bool, method: &'a str) -> Self {
        let passes = criterion.passes(notes, is_own);
        let worse = |a: &&&TrialNote, b: &&&TrialNote| a.loss_ratio().total_cmp(&b.loss_ratio());
        let shown = match passes {
            // Of the trials of full length that did well, the worst is told.
            Some(true) => {
                let (ratio, trial) = criterion.asks();
                let good =
                    notes.iter().filter(|note| note.duration >= trial && note.loss_ratio() <= ratio + SLACK);
                good.max_by(worse)
            }
            _ => notes.iter().max_by(worse),
        };
        let note = shown.or(notes.first()).expect("a load has a trial");
        Self { share: note.magnitude, note, method, loss: note.loss_ratio(), passes }
    }

    /// `at 90% of the line rate (rfc2544-frame-loss, trial 1)`.
    fn place(&self, all: &[MethodResult]) -> String {
        let number = ordinal(all, self.note);
        let which = match all.len() {
            1 => format!("trial {number}"),
            _ => format!("{}, trial {number}", self.method),
        };
        format!("at {} of the line rate ({which})", percent(self.share))
    }
}

impl Criterion {
    /// The loss ratio that passes, and the length of a trial that counts.
    fn asks(&self) -> (f64, Nanos) {
        match self {
            Self::Loss { ratio, trial, .. } => (*ratio, *trial),
            Self::Goal(goal) => (goal.loss_ratio, goal.final_trial),
            Self::Curve { .. } => (0.0, Nanos::ZERO),
        }
    }

    /// Verdict of the trials at one load. A method's own rule judges its own trials; another method's are judged
    /// singly.
    fn passes(&self, notes: &[&TrialNote], is_own: bool) -> Option<bool> {
        let (ratio, trial) = self.asks();
        let lossy = |note: &&&TrialNote| note.loss_ratio_least() > ratio;
        let passed = notes.iter().any(|note| note.duration >= trial && note.loss_ratio() <= ratio);
        match (self, is_own) {
            (Self::Curve { .. }, _) => None,
            (Self::Loss { failures, .. }, true) => match (passed, notes.iter().filter(lossy).count()) {
                (true, n) if n < *failures as usize => Some(true),
                (_, n) if n >= *failures as usize => Some(false),
                _ => None,
            },
            (Self::Goal(goal), true) => {
                let threshold = Threshold {
                    exceed_ratio: goal.exceed_ratio,
                    duration_sum: goal.duration_sum.as_secs_f64(),
                };
                match threshold.classify(durations(notes, goal)) {
                    LoadClass::Lower => Some(true),
                    LoadClass::Upper => Some(false),
                    LoadClass::Undecided => None,
                }
            }
            (criterion, false) => {
                let slack = match criterion {
                    Self::Goal(goal) if goal.exceed_ratio > 0.0 => SLACK,
                    _ => 0.0,
                };
                match notes.iter().any(|note| note.loss_ratio_least() > ratio + slack) {
                    true => Some(false),
                    false => {
                        let passes =
                            |note: &&TrialNote| note.duration >= trial && note.loss_ratio() <= ratio + slack;
                        notes.iter().any(passes).then_some(true)
                    }
                }
            }
        }
    }
}

/// The trials at a load as MLRsearch adds them up.
fn durations(notes: &[&TrialNote], goal: &Goal) -> Durations {
    let mut sums = [0u64; 4];
    for note in notes {
        // Of a trial within bounds nothing is known if the goal lies between them.
        let high = note.loss_ratio_least() > goal.loss_ratio;
        if !high && note.loss_ratio() > goal.loss_ratio {
            continue;
        }
        let short = note.duration < goal.final_trial;
        sums[usize::from(short) * 2 + usize::from(high)] += note.duration.0;
    }
    let [full_low, full_high, short_low, short_high] = sums.map(|ns| Nanos(ns).as_secs_f64());
    Durations { full_low, full_high, short_low, short_high }
}

/// Whether the tester may be why trials disagree.
fn disturbance(all: &[MethodResult]) -> String {
    let notes = || all.iter().flat_map(|result| &result.trials);
    let total = notes().count();
    match notes().filter(|note| note.standing == Standing::Invalid).count() {
        0 => "the tester was not disturbed, so the device, or the machine it shares, does not do the same each time".to_owned(),
        n => format!("the tester was disturbed in {n} of {total} trials"),
    }
}
