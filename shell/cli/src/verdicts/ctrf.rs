//! CTRF JSON (Common Test Report Format, ctrf.io), version 0.0.

use super::{Case, Outcome, Suite};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

const SPEC_VERSION: &str = "0.0.0";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    report_format: &'static str,
    spec_version: &'static str,
    generated_by: &'static str,
    results: Results<'a>,
}

#[derive(Serialize)]
struct Results<'a> {
    tool: Tool,
    summary: Summary,
    tests: Vec<Test<'a>>,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

/// Counts by status; times in ms since 1970.
#[derive(Serialize)]
struct Summary {
    tests: usize,
    passed: usize,
    failed: usize,
    pending: usize,
    skipped: usize,
    other: usize,
    suites: usize,
    start: u64,
    stop: u64,
    duration: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Test<'a> {
    name: &'a str,
    status: &'static str,
    /// In ms.
    duration: u64,
    suite: [&'a str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    raw_status: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    extra: Extra<'a>,
}

#[derive(Serialize)]
struct Extra<'a> {
    #[serde(flatten)]
    numbers: BTreeMap<&'a str, f64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    unit: &'a str,
}

/// Writes suites as CTRF.
pub(super) fn write(suites: &[Suite], began: SystemTime, out: &mut dyn Write) -> io::Result<()> {
    let tests: Vec<Test<'_>> =
        suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| test(suite, case))).collect();
    let with = |status: &str| tests.iter().filter(|test| test.status == status).count();
    let [start, stop] = [began, SystemTime::now()].map(milliseconds);
    let summary = Summary {
        tests: tests.len(),
        passed: with("passed"),
        failed: with("failed"),
        pending: 0,
        skipped: 0,
        other: with("other"),
        suites: suites.len(),
        start,
        stop,
        duration: stop.saturating_sub(start),
    };
    let tool = Tool { name: "eagre", version: env!("CARGO_PKG_VERSION") };
    let report = Report {
        report_format: "CTRF",
        spec_version: SPEC_VERSION,
        generated_by: "eagre",
        results: Results { tool, summary, tests },
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}

fn milliseconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn test<'a>(suite: &'a Suite, case: &'a Case) -> Test<'a> {
    let status = match case.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed | Outcome::NothingFound => "failed",
        Outcome::CannotJudge => "other",
    };
    let finite = case.numbers.iter().filter(|number| number.value.is_finite());
    Test {
        name: &case.name,
        status,
        duration: (suite.duration_s * 1e3) as u64,
        suite: [&suite.name],
        message: case.message.as_deref(),
        raw_status: case.outcome.name(),
        kind: "performance",
        extra: Extra {
            numbers: finite.map(|number| (number.name.as_str(), number.value)).collect(),
            unit: &case.unit,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_cannot_be_judged_is_neither_passed_nor_failed() {
        let mut text = Vec::new();
        write(&[super::super::example()], SystemTime::UNIX_EPOCH, &mut text).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let summary = &report["results"]["summary"];
        let counts = ["tests", "passed", "failed", "other", "skipped"].map(|name| summary[name].as_u64());
        assert_eq!(counts, [4, 1, 2, 1, 0].map(Some));
        assert_eq!(report["results"]["tests"][2]["rawStatus"], "cannot_be_judged");
        assert_eq!(report["results"]["tests"][0]["extra"]["value"], 1.5e6);
    }
}
