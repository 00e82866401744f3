//! A finding: what a method found for one frame length and one goal, as a value with bounds.
//!
//! Tables, comparisons and trends read findings. A method's own rows have more detail, in their own types.

use crate::interval::Criterion;
use crate::outcome::LatencySummary;
use crate::result::Spread;
use crate::testbed::Frames;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use units::quantity;

/// Finding of a method for one frame length and one goal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Frame length or mix: `64B`, `imix`; of sessions, the application.
    pub frame: String,
    /// Frame length with FCS, bytes; absent for a mix.
    pub frame_bytes: Option<u32>,
    /// `throughput`, `ndr`, `pdr 0.5%`, `latency_p99`, `back_to_back`, `connections_per_s` …
    pub goal: String,
    /// `pps`, `bps`, `ns`, `s`, `frames`, `bytes`, `sessions`, `ratio`, `/s`, or empty.
    pub unit: String,
    /// The value. If absent, `note` gives the reason.
    pub value: Option<f64>,
    /// Largest value known to be reached, in `unit`.
    pub lower: Option<f64>,
    /// Smallest value known not to be reached, in `unit`.
    pub upper: Option<f64>,
    /// Indication from trials that can't be judged, in `unit`: the highest load at which the tester may have lost all
    /// lost packets.
    #[serde(default)]
    pub indicative: Option<f64>,
    /// Maximum distance of `lower` and `upper` where trials agree, in `unit`: where the search ends.
    #[serde(default)]
    pub resolution: Option<f64>,
    /// Why the value is not certain: trials that contradict it, with figures, and whether the tester was disturbed.
    #[serde(default)]
    pub doubt: Option<String>,
    /// Standard deviation of repeats, in `unit`.
    pub spread: Option<f64>,
    /// Theoretical maximum, in `unit`.
    pub line: Option<f64>,
    /// A reason or a warning.
    pub note: Option<String>,
    /// The row or goal it is from, in full.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub document: Value,
    /// Trials that support it and trials that contradict it.
    #[serde(skip)]
    #[schemars(skip)]
    pub criterion: Option<Criterion>,
}

impl Finding {
    /// Uncertainty of the value either way, in its unit: half the distance of the bounds, or two standard deviations,
    /// whichever is more. `None` if nothing is known.
    pub fn noise(&self) -> Option<f64> {
        let bounds = self.lower.zip(self.upper).filter(|(lower, upper)| lower != upper);
        let bounds = bounds.map(|(lower, upper)| (upper - lower).abs() / 2.0);
        let spread = self.spread.map(|spread| 2.0 * spread);
        bounds.into_iter().chain(spread).reduce(f64::max)
    }

    /// Without frames or value.
    pub(crate) fn new(goal: impl Into<String>, unit: &str) -> Self {
        Self { goal: goal.into(), unit: unit.into(), ..Self::default() }
    }

    /// At these frames, without a value.
    pub(crate) fn at(frames: &Frames, goal: impl Into<String>, unit: &str) -> Self {
        Self { frame: frames.to_string(), frame_bytes: frames.one_length(), ..Self::new(goal, unit) }
    }

    pub(crate) fn value(self, value: impl Into<Option<f64>>) -> Self {
        Self { value: value.into(), ..self }
    }

    /// Mean of repeats, and their standard deviation if there are two or more.
    pub(crate) fn repeats(self, spread: Option<&Spread>) -> Self {
        let stddev = spread.filter(|spread| spread.samples > 1).map(|spread| spread.stddev);
        Self { value: spread.map(|spread| spread.mean), spread: stddev, ..self }
    }

    pub(crate) fn note(self, note: Option<impl Into<String>>) -> Self {
        Self { note: note.map(Into::into), ..self }
    }

    /// Adds the indication from trials that can't be judged, also to the note.
    pub(crate) fn indicating(self, indicative: Option<f64>) -> Self {
        let Some(value) = indicative else { return self };
        let said = format!("indicative: {}", quantity(value, &self.unit));
        let note = self.note.map_or(said.clone(), |note| format!("{note}; {said}"));
        Self { indicative: Some(value), note: Some(note), ..self }
    }

    /// Two quantiles of a distribution of times.
    pub(crate) fn quantiles(goal: &str, times: Option<&LatencySummary>) -> Vec<Self> {
        let of = |times: &LatencySummary| {
            [("p50", times.p50), ("p99", times.p99)]
                .map(|(quantile, ns)| Self::new(format!("{goal}_{quantile}"), "ns").value(ns))
        };
        times.map(of).into_iter().flatten().collect()
    }
}

/// A goal's name for people and its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoalMeaning {
    /// [`Finding::goal`], without what follows a space.
    pub goal: &'static str,
    /// Name in reports.
    pub name: &'static str,
    /// Definition, in the words of the RFCs.
    pub definition: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_the_larger_of_bounds_and_spread() {
        let finding = Finding { lower: Some(90.0), upper: Some(100.0), ..Finding::default() };
        assert_eq!(finding.noise(), Some(5.0));
        assert_eq!(Finding { spread: Some(4.0), ..finding }.noise(), Some(8.0));
        assert_eq!(Finding::default().noise(), None);
    }
}
