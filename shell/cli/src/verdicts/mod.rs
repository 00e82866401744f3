//! Verdicts for machines: the criteria of runs and methods, case by case, as JUnit, CTRF, Markdown and annotations.
//!
//! A case is a criterion, a finding or a comparison. A case that can't be judged is neither passed nor failed: JUnit has it as
//! skipped, CTRF as `other`.
//!
//! Invariant: names of suites are distinct, because readers of JUnit join suites of one name.

mod ctrf;
mod github;
mod junit;
mod markdown;
mod of_methods;
mod of_run;

pub(crate) use github::annotate;
pub(crate) use of_methods::suite_of_methods;
pub(crate) use of_run::suite_of_run;

use crate::exit::{Exit, Failure};
use clap::Args;
use os::Draft;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files of verdicts.
#[derive(Clone, Default, Args)]
pub(crate) struct VerdictArgs {
    /// Write the verdicts as JUnit XML: a test case for each criterion or finding
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the verdicts as CTRF JSON (Common Test Report Format)
    #[arg(long, value_name = "FILE")]
    pub ctrf: Option<PathBuf>,
    /// Write a summary in Markdown; $GITHUB_STEP_SUMMARY is appended to
    #[arg(long, value_name = "FILE")]
    pub summary_md: Option<PathBuf>,
}

/// Outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    /// The tester was disturbed where it matters.
    CannotJudge,
    /// A method found no value.
    NothingFound,
}

impl Outcome {
    /// The outcome's name in documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::CannotJudge => "cannot_be_judged",
            Self::NothingFound => "nothing_found",
        }
    }

    /// The outcome in words, with a sign.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Passed => "✓ passed",
            Self::Failed => "✕ failed",
            Self::CannotJudge => "? can't be judged here",
            Self::NothingFound => "∅ nothing found",
        }
    }

    /// The exit code of a command with this outcome.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Passed => Exit::Done,
            Self::Failed => Exit::Failed,
            Self::CannotJudge => Exit::CannotJudge,
            Self::NothingFound => Exit::NothingFound,
        }
    }
}

/// A number of a case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    pub name: String,
    pub value: f64,
}

impl Number {
    pub(crate) fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value }
    }
}

/// A requested property.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub name: String,
    pub outcome: Outcome,
    /// Cause and remedy, unless it passed.
    pub message: Option<String>,
    /// Value in words, for tables.
    pub value: String,
    /// Unit of the numbers: `pps`, `ns` …; empty where the name has it.
    pub unit: String,
    pub numbers: Vec<Number>,
}

/// A run, or a campaign.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Suite {
    pub name: String,
    /// Time of traffic, s.
    pub duration_s: f64,
    /// Facts about the run: seed, version, verdict …
    pub properties: Vec<(String, String)>,
    /// The summary's sentences.
    pub sentences: Vec<String>,
    pub cases: Vec<Case>,
}

impl Suite {
    fn count(&self, outcome: Outcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }

    /// The suite's outcome: that of its gravest case.
    pub(crate) fn outcome(&self) -> Outcome {
        let gravest = [Outcome::Failed, Outcome::CannotJudge, Outcome::NothingFound];
        gravest.into_iter().find(|outcome| self.count(*outcome) > 0).unwrap_or(Outcome::Passed)
    }
}

/// Writer of suites to a file.
type Writer = fn(&[Suite], SystemTime, &mut dyn Write) -> std::io::Result<()>;

/// Files of verdicts, drafted before traffic starts so that a bad path is reported first.
pub(crate) struct VerdictFiles {
    files: Vec<(PathBuf, Draft, Writer)>,
    /// A file of GitHub's that other steps of the job write to as well.
    appended: Option<PathBuf>,
    began: SystemTime,
}

impl VerdictFiles {
    /// Drafts the files.
    ///
    /// # Errors
    /// A path that can't be written.
    pub(crate) fn open(args: &VerdictArgs) -> Result<Self, Failure> {
        let wanted: [(&Option<PathBuf>, Writer); 3] =
            [(&args.junit, junit::write), (&args.ctrf, ctrf::write), (&args.summary_md, markdown::write)];
        let mut all = Self { files: Vec::new(), appended: None, began: SystemTime::now() };
        for (path, writer) in wanted {
            let Some(path) = path else { continue };
            if Some(path.as_os_str()) == std::env::var_os("GITHUB_STEP_SUMMARY").as_deref() {
                all.appended = Some(path.clone());
                continue;
            }
            let draft = Draft::create(path);
            let draft = draft.map_err(|e| Failure::bad_input(format!("{}: {e}", path.display())))?;
            all.files.push((path.clone(), draft, writer));
        }
        Ok(all)
    }

    /// Writes the files, each whatever becomes of the others.
    ///
    /// # Errors
    /// A file that can't be written: the first.
    pub(crate) fn write(self, suites: Vec<Suite>) -> Result<(), Failure> {
        let suites = distinct(suites);
        let lost =
            |path: &Path, e: &dyn std::fmt::Display| Failure::refused(format!("{}: {e}", path.display()));
        let mut ended = Vec::new();
        for (path, mut draft, writer) in self.files {
            let mut text = Vec::new();
            let written = writer(&suites, self.began, &mut text).and_then(|()| draft.write_all(&text));
            ended.push(written.and_then(|()| draft.commit()).map_err(|e| lost(&path, &e)));
        }
        if let Some(path) = self.appended {
            let mut text = Vec::new();
            let written = markdown::write(&suites, self.began, &mut text);
            let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
            let appended = written.and_then(|()| file?.write_all(&text));
            ended.push(appended.map_err(|e| lost(&path, &e)));
        }
        annotate(&suites);
        ended.into_iter().collect()
    }
}

/// Gives suites of one name a number.
fn distinct(mut suites: Vec<Suite>) -> Vec<Suite> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for suite in &mut suites {
        let number = seen.entry(suite.name.clone()).or_default();
        *number += 1;
        if *number > 1 {
            suite.name = format!("{} ({number})", suite.name);
        }
    }
    suites
}

/// A suite with a case of each outcome, for tests.
#[cfg(test)]
fn example() -> Suite {
    let case = |name: &str, outcome, message: Option<&str>| Case {
        name: name.to_owned(),
        outcome,
        message: message.map(str::to_owned),
        value: "1.5 ms".to_owned(),
        unit: "ns".to_owned(),
        numbers: vec![Number::new("value", 1.5e6)],
    };
    Suite {
        name: "demo".to_owned(),
        duration_s: 2.5,
        properties: vec![("seed".to_owned(), "7".to_owned())],
        sentences: vec!["10 of 10 packets received (100%)".to_owned()],
        cases: vec![
            case("streams.a.lost == 0", Outcome::Passed, None),
            case("streams.a.latency_ns.p99 < 1ms", Outcome::Failed, Some("1.5 ms & <more>")),
            case("streams.a.jitter_ns.rfc3550 < 1us", Outcome::CannotJudge, Some("the tester was disturbed")),
            case("64B throughput", Outcome::NothingFound, Some("not found | at all\nnowhere")),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_of_one_name_get_numbers() {
        let names: Vec<String> =
            distinct(vec![example(), example(), example()]).into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["demo", "demo (2)", "demo (3)"]);
    }

    #[test]
    fn the_gravest_case_decides() {
        let mut suite = example();
        assert_eq!(suite.outcome(), Outcome::Failed);
        suite.cases.remove(1);
        assert_eq!(suite.outcome(), Outcome::CannotJudge);
        suite.cases.remove(1);
        assert_eq!(suite.outcome(), Outcome::NothingFound);
        suite.cases.remove(1);
        assert_eq!(suite.outcome(), Outcome::Passed);
    }
}
