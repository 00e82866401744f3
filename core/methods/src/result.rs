//! Results of methods.

use crate::draft::Limit;
use crate::fault::Fault;
use crate::interval::Interval;
use crate::list::Findings;
use crate::outcome::TrialOutcome;
use crate::testbed::{Frames, OfferedLoad, Testbed};
use crate::text::{AsNanos, grouped, percent};
use crate::trial::{Phase, TrialKind, TrialRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Layer, Nanos, Pps};

/// The result of a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MethodResult {
    /// The method.
    pub method: String,
    /// Status at the end.
    pub status: Status,
    /// Findings, in sentences.
    pub summary: Vec<String>,
    /// Caveats: settings below what the RFC requires, limits of the tester, invalid trials.
    pub remarks: Vec<String>,
    /// The testbed.
    pub testbed: Testbed,
    /// Findings, by type.
    pub findings: Findings,
    /// Between which bounds each finding lies, by the trials of all methods of the campaign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Interval>,
    /// Seconds of traffic.
    pub traffic_s: f64,
    /// All trials, in order.
    pub trials: Vec<TrialNote>,
}

/// Status of a method at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It runs.
    Running,
    /// All its trials have run.
    Complete,
    /// It stopped because of a fault.
    Failed(Fault),
}

/// A trial in a method's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialNote {
    /// Its number.
    pub number: u64,
    /// Its key.
    pub key: String,
    /// Its phase.
    pub phase: Phase,
    /// Its label.
    pub label: String,
    /// The frames; absent unless the trial is an even load.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frames: Option<Frames>,
    /// Variable of the trial: share of the line rate, or number of frames, addresses or sessions.
    pub magnitude: f64,
    /// Its length.
    #[serde(rename = "duration_ns", with = "AsNanos")]
    pub duration: Nanos,
    /// Frames sent.
    pub sent: u64,
    /// Frames lost.
    pub lost: u64,
    /// Frames that the DUT lost at least, if the tester may have lost the others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_least: Option<u64>,
    /// Whether it counts, and for what.
    pub standing: Standing,
    /// Reasons why it does not count.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reasons: Vec<String>,
}

/// Whether a trial counts, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It counts for the DUT.
    Counted,
    /// Counts although the tester was disturbed: whatever the tester lost, the DUT passed or failed.
    Bounded,
    /// The tester was the limit: it does not count for the DUT.
    TesterLimited,
    /// It can't be judged, most often because the tester was disturbed: it does not count.
    Invalid,
    /// Stopped early: it does not count.
    Interrupted,
    /// Warm-up or probe: never counts.
    Aside,
}

/// The number of a trial in its campaign, from 1, as reports have it. `all` are the results of the campaign's methods in
/// their order.
pub(crate) fn ordinal(all: &[MethodResult], note: &TrialNote) -> u64 {
    let mut notes = all.iter().flat_map(|result| &result.trials);
    notes.position(|one| std::ptr::eq(one, note)).map_or(note.number, |before| before as u64) + 1
}

impl TrialNote {
    /// Lost ÷ sent.
    pub(crate) fn loss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }

    /// Minimum loss of the DUT ÷ sent.
    pub(crate) fn loss_ratio_least(&self) -> f64 {
        let least = self.lost_least.map_or(self.lost, |least| least.min(self.lost));
        if self.sent == 0 { 0.0 } else { least as f64 / self.sent as f64 }
    }

    /// Whether it is evidence about the DUT.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.standing, Standing::Counted | Standing::Bounded)
    }

    pub(crate) fn new(request: &TrialRequest, outcome: &TrialOutcome, standing: Standing) -> Self {
        Self {
            number: request.number,
            key: request.key.clone(),
            phase: request.phase,
            label: request.label.clone(),
            frames: (request.kind == TrialKind::Load).then(|| request.frames.clone()),
            magnitude: request.magnitude(),
            duration: request.duration,
            sent: outcome.sent(),
            lost: outcome.lost(),
            lost_least: (standing == Standing::Bounded).then(|| {
                outcome.groups.iter().map(|group| group.lost_least.unwrap_or(0).min(group.lost)).sum()
            }),
            standing,
            reasons: outcome.reasons.clone(),
        }
    }
}

/// A load, in the units that reports use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundRate {
    /// Each group's.
    pub groups: Vec<OfferedLoad>,
    /// Share of the line rate, the same for all groups, 0 to 1.
    pub share: f64,
    /// Frames per second, all groups.
    pub total_pps: f64,
    /// Bits/s with preamble and gap, all groups.
    pub total_bps_l1: f64,
    /// Bits/s of frames with FCS, all groups.
    pub total_bps_l2: f64,
}

impl FoundRate {
    pub(crate) fn new(testbed: &Testbed, frames: &Frames, rate: Pps) -> Self {
        let groups = testbed.offered(frames, rate);
        let total: u64 = groups.iter().map(|load| load.rate.micro()).sum();
        let total = Pps::from_micro(total);
        Self {
            share: groups.first().map_or(0.0, |load| load.share),
            total_pps: total.as_f64(),
            total_bps_l1: frames.bit_rate(total, Layer::L1),
            total_bps_l2: frames.bit_rate(total, Layer::L2),
            groups,
        }
    }

    /// All groups in relation to the first.
    pub(crate) fn total_by_first(&self) -> Option<f64> {
        let first = self.first().as_f64();
        (first > 0.0).then(|| self.total_pps / first)
    }

    /// Frames per second that fill the links of all groups; `None` if a group offers nothing.
    pub(crate) fn line_pps(&self) -> Option<f64> {
        line_pps(&self.groups)
    }

    /// Frames per second of the first group.
    pub fn first(&self) -> Pps {
        self.groups.first().map_or(Pps::ZERO, |load| load.rate)
    }
}

/// `1,234,567 frames/s (83% of the line rate, 2 groups)`.
impl std::fmt::Display for FoundRate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} frames/s, {} of the line rate", grouped(self.total_pps as u64), percent(self.share))?;
        if self.groups.len() > 1 {
            let each: Vec<_> = self
                .groups
                .iter()
                .map(|g| format!("{} {}", g.group, grouped(g.rate.as_f64() as u64)))
                .collect();
            write!(f, " ({})", each.join(", "))?;
        }
        Ok(())
    }
}

/// Frames per second that fill the links of groups: each offers a rate that is a share of its line.
pub(crate) fn line_pps(groups: &[OfferedLoad]) -> Option<f64> {
    let line = |load: &OfferedLoad| (load.share > 0.0).then(|| load.rate.as_f64() / load.share);
    groups.iter().map(line).reduce(|sum, line| Some(sum? + line?))?
}

/// Text after a value: its limit from above. `failed` is the smallest value at which the DUT failed, if it did; where
/// the DUT is the limit, the method reports that with the reason.
pub(crate) fn bounded_by(limit: Limit, failed: Option<String>) -> String {
    match (limit, failed) {
        (Limit::Dut, _) => String::new(),
        (Limit::Maximum, _) => ", the highest value tried".into(),
        (Limit::Tester, None) => ", where the tester was the limit; the DUT may do more".into(),
        (Limit::Tester, Some(failed)) => {
            format!(", where the tester was the limit; the DUT failed at {failed}")
        }
        (Limit::Disturbed, None) => {
            "; higher values can't be judged, because the tester was disturbed; the DUT may do more".into()
        }
        (Limit::Disturbed, Some(failed)) => format!(
            "; the DUT failed at {failed}; values in between can't be judged, because the tester was disturbed"
        ),
        (Limit::Impossible, _) => ", impossible".into(),
        (Limit::Open, _) => ", so far".into(),
    }
}

/// Mean and standard deviation (n − 1), median, smallest and largest.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Number of values.
    pub samples: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample.
    pub stddev: f64,
    /// Median; of an even number of values, the mean of the middle two. Absent in results of versions that did not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// The median, or the mean where it is not known.
    pub(crate) fn middle(&self) -> f64 {
        self.median.unwrap_or(self.mean)
    }

    /// Of some values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let first = *values.first()?;
        let mean = values.iter().sum::<f64>() / n;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            samples: values.len() as u64,
            mean,
            stddev: if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
            median: Some((sorted[(sorted.len() - 1) / 2] + sorted[middle]) / 2.0),
            min: values.iter().copied().fold(first, f64::min),
            max: values.iter().copied().fold(first, f64::max),
        })
    }
}
