//! Baselines: figures of earlier runs in a file, and the comparison with them.
//!
//! A figure is worse only if its interval lies beyond the baseline's: overlapping intervals do not distinguish two
//! devices.

use super::figures::{Better, Figure, Interval};
use crate::Failure;
use crate::text;
use crate::verdicts::{Case, Number, Outcome};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use store::report::measured;
use units::signed_percent;

const SCHEMA: &str = "eagre.baseline/1";

/// Figures of profiles, as `eagre ci --baseline` keeps them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    schema: String,
    /// Version of Eagre that measured last.
    version: String,
    /// By name of the profile.
    profiles: BTreeMap<String, ProfileBaseline>,
}

/// Figures of a profile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileBaseline {
    /// SHA-256 of the profile's text.
    pub(super) profile_sha256: String,
    /// Time of measurement (RFC 3339).
    pub(super) recorded: String,
    /// By path.
    pub(super) figures: BTreeMap<String, Interval>,
}

impl Baseline {
    /// Reads a baseline; `None` if there is none yet.
    ///
    /// # Errors
    /// The file can't be read, or is no baseline of this version.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let wrong =
            |reason: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {reason}", path.display()));
        let text = match text::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|e| wrong(&e))?,
        };
        let baseline: Self =
            serde_json::from_str(&text).map_err(|e| wrong(&format!("not a baseline: {e}")))?;
        if baseline.schema != SCHEMA {
            return Err(wrong(&format!(
                "not a baseline of this version: its schema is '{}', not '{SCHEMA}'",
                baseline.schema
            )));
        }
        Ok(Some(baseline))
    }

    /// The figures of a profile, however its path was spelt.
    pub(super) fn profile(&self, name: &str) -> Option<&ProfileBaseline> {
        let path = plain(name);
        let mut all = self.profiles.iter();
        self.profiles.get(name).or_else(|| all.find(|(known, _)| plain(known) == path).map(|(_, of)| of))
    }

    /// Takes new figures of a profile. One that can't be judged keeps its old interval.
    pub(super) fn take(&mut self, name: &str, profile_sha256: &str, recorded: &str, figures: &[Figure]) {
        let path = plain(name);
        let mut old = ProfileBaseline::default();
        self.profiles.retain(|known, of| {
            let is_it = plain(known) == path;
            if is_it {
                old = std::mem::take(of);
            }
            !is_it
        });
        if old.profile_sha256 != profile_sha256 {
            old.figures.clear();
        }
        let known = |figure: &Figure| {
            let kept = old.figures.get(&figure.path).copied();
            Some((figure.path.clone(), figure.interval.as_ref().ok().copied().or(kept)?))
        };
        let new = ProfileBaseline {
            profile_sha256: profile_sha256.to_owned(),
            recorded: recorded.to_owned(),
            figures: figures.iter().filter_map(known).collect(),
        };
        self.profiles.insert(path.display().to_string(), new);
    }

    /// Writes the file.
    pub(super) fn write(&mut self, path: &Path) -> Result<(), Failure> {
        SCHEMA.clone_into(&mut self.schema);
        env!("CARGO_PKG_VERSION").clone_into(&mut self.version);
        let text = serde_json::to_string_pretty(self).map_err(|e| Failure::refused(e.to_string()))? + "\n";
        os::draft::replace(path, text).map_err(|e| Failure::refused(format!("{}: {e}", path.display())))
    }
}

/// A path without `.` and `..`, and relative to the working directory if it is below it: `./a.yaml` is `a.yaml`.
fn plain(path: &str) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    let here = std::env::current_dir().unwrap_or_default();
    plain.strip_prefix(&here).map(Path::to_path_buf).unwrap_or(plain)
}

/// The cases of a comparison: one for each figure now or in the baseline.
pub(super) fn compare(before: &ProfileBaseline, now: &[Figure]) -> Vec<Case> {
    let mut cases: Vec<Case> =
        now.iter().map(|figure| of_figure(before.figures.get(&figure.path), figure)).collect();
    let gone = before.figures.iter().filter(|(path, _)| now.iter().all(|figure| figure.path != **path));
    cases.extend(gone.map(|(path, interval)| Case {
        name: name(path),
        outcome: Outcome::CannotJudge,
        message: Some(format!("not measured now; the baseline has {}", shown(path, interval))),
        value: "-".to_owned(),
        unit: String::new(),
        numbers: numbers("baseline_", interval),
    }));
    cases
}

fn name(path: &str) -> String {
    format!("{path} against the baseline")
}

fn of_figure(before: Option<&Interval>, figure: &Figure) -> Case {
    let path = &figure.path;
    let baseline = before.map(|before| numbers("baseline_", before)).unwrap_or_default();
    let case = |outcome, message: Option<String>, value: String, now: Vec<Number>| Case {
        name: name(path),
        outcome,
        message,
        value,
        unit: String::new(),
        numbers: [now, baseline.clone()].concat(),
    };
    let now = match &figure.interval {
        Ok(now) => now,
        Err(doubt) => return case(Outcome::CannotJudge, Some(doubt.clone()), "-".to_owned(), Vec::new()),
    };
    let (value, all) = (shown(path, now), numbers("", now));
    let Some(before) = before else {
        return case(Outcome::Passed, None, format!("{value}, not in the baseline"), all);
    };
    let (value, is_worse) = match (now.lower > before.upper, now.upper < before.lower) {
        (false, false) => (format!("{value}, no difference"), false),
        (more, _) => {
            let worse = more == (Better::of(path) == Better::Less);
            let change = match before.mean {
                0.0 => String::new(),
                mean => format!(" ({})", signed_percent(now.mean / mean - 1.0)),
            };
            (format!("{value}, {}{change}", if worse { "worse" } else { "better" }), worse)
        }
    };
    if !is_worse {
        return case(Outcome::Passed, None, value, all);
    }
    let message = format!("{value}; the baseline has {}", shown(path, before));
    case(Outcome::Failed, Some(message), value, all)
}

fn numbers(prefix: &str, interval: &Interval) -> Vec<Number> {
    let all = [("mean", interval.mean), ("lower", interval.lower), ("upper", interval.upper)];
    all.map(|(name, value)| Number::new(format!("{prefix}{name}"), value)).into()
}

/// `1.2 ms (1.1 ms to 1.3 ms)`.
fn shown(path: &str, interval: &Interval) -> String {
    let [mean, lower, upper] =
        [interval.mean, interval.lower, interval.upper].map(|value| measured(path, value));
    if lower == upper { mean } else { format!("{mean} ({lower} to {upper})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(lower: f64, upper: f64) -> Interval {
        Interval { lower, upper, mean: (lower + upper) / 2.0, runs: 3 }
    }

    fn outcome(path: &str, before: (f64, f64), now: (f64, f64)) -> (Outcome, String) {
        let before = ProfileBaseline {
            figures: BTreeMap::from([(path.to_owned(), interval(before.0, before.1))]),
            ..ProfileBaseline::default()
        };
        let now = Figure { path: path.to_owned(), interval: Ok(interval(now.0, now.1)) };
        let case = compare(&before, &[now]).remove(0);
        (case.outcome, case.value)
    }

    #[test]
    fn intervals_that_overlap_are_no_difference() {
        let p99 = "streams.a.latency_ns.p99";
        assert_eq!(outcome(p99, (100.0, 200.0), (190.0, 300.0)).0, Outcome::Passed);
        let (worse, value) = outcome(p99, (100.0, 200.0), (201.0, 399.0));
        assert_eq!((worse, value.as_str()), (Outcome::Failed, "300 ns (201 ns to 399 ns), worse (+100%)"));
        let (better, value) = outcome(p99, (100.0, 200.0), (40.0, 50.0));
        assert!(better == Outcome::Passed && value.contains("better"), "{value}");
        assert_eq!(outcome("sessions.w.open_per_s", (100.0, 200.0), (40.0, 50.0)).0, Outcome::Failed);
        assert_eq!(outcome("streams.a.loss_ratio", (0.0, 0.0), (0.001, 0.001)).0, Outcome::Failed);
    }

    #[test]
    fn a_profile_is_known_however_its_path_is_spelt() {
        let figures = [Figure { path: "streams.a.lost".to_owned(), interval: Ok(interval(0.0, 0.0)) }];
        let here = std::env::current_dir().unwrap();
        let mut baseline = Baseline::default();
        baseline.take("./p/../p/a.yaml", "sha", "now", &figures);
        for path in ["p/a.yaml", "./p/a.yaml", "p/./a.yaml", &here.join("p/a.yaml").display().to_string()] {
            assert!(baseline.profile(path).is_some(), "{path}");
            baseline.take(path, "sha", "later", &figures);
        }
        assert_eq!(baseline.profiles.len(), 1);
        assert!(baseline.profile("a.yaml").is_none() && baseline.profile("../p/a.yaml").is_none());
    }

    #[test]
    fn figures_in_doubt_are_judged_neither_way_and_not_kept() {
        let (path, doubt) = ("streams.a.loss_ratio".to_owned(), "disturbed".to_owned());
        let figure = Figure { path: path.clone(), interval: Err(doubt) };
        let mut baseline = Baseline::default();
        baseline.take("p", "sha", "now", &[Figure { path: path.clone(), interval: Ok(interval(0.0, 0.0)) }]);
        baseline.take("p", "sha", "later", std::slice::from_ref(&figure));
        let kept = baseline.profile("p").unwrap();
        assert_eq!((kept.figures[&path], kept.recorded.as_str()), (interval(0.0, 0.0), "later"));
        assert_eq!(compare(kept, &[figure])[0].outcome, Outcome::CannotJudge);
        assert_eq!(compare(kept, &[])[0].outcome, Outcome::CannotJudge, "not measured now");
    }
}
