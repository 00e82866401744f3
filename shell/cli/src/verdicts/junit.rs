//! JUnit XML, as Jenkins, GitLab and `junitparser` read it.
//!
//! `skipped` stands for what can't be judged: readers count `error` as failed, which would blame the device.

use super::{Case, Outcome, Suite};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// Writes suites as JUnit XML.
pub(super) fn write(suites: &[Suite], _: SystemTime, out: &mut dyn Write) -> io::Result<()> {
    let mut report = Report::new("eagre");
    report.set_time(seconds(suites.iter().map(|suite| suite.duration_s).sum()));
    report.add_test_suites(suites.iter().map(suite));
    report.serialize(out).map_err(io::Error::other)
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn suite(suite: &Suite) -> TestSuite {
    let mut all = TestSuite::new(suite.name.as_str());
    all.set_time(seconds(suite.duration_s));
    let property = |(name, value): &(String, String)| Property::new(name.as_str(), value.as_str());
    all.add_properties(suite.properties.iter().map(property));
    all.add_test_cases(suite.cases.iter().map(|case| test_case(suite, case)));
    all.set_system_out(suite.sentences.join("\n"));
    all
}

fn test_case(suite: &Suite, case: &Case) -> TestCase {
    let mut status = match case.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Failed | Outcome::NothingFound => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::CannotJudge => TestCaseStatus::skipped(),
    };
    if let Some(message) = &case.message {
        status.set_message(message.as_str());
    }
    if case.outcome != Outcome::Passed {
        status.set_type(case.outcome.name());
    }
    let mut test = TestCase::new(case.name.as_str(), status);
    test.set_classname(suite.name.as_str());
    // The cases of a run are measured at the same time.
    test.set_time(seconds(suite.duration_s));
    let numbers =
        case.numbers.iter().map(|number| Property::new(number.name.as_str(), number.value.to_string()));
    test.add_properties(numbers);
    if !case.unit.is_empty() {
        test.add_property(Property::new("unit", case.unit.as_str()));
    }
    test
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_their_outcomes_and_numbers() {
        let mut text = Vec::new();
        write(&[super::super::example()], SystemTime::UNIX_EPOCH, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for part in [
            r#"<testsuite name="demo" tests="4" skipped="1" errors="0" failures="2" time="2.500">"#,
            r#"<failure message="1.5 ms &amp; &lt;more&gt;" type="failed"/>"#,
            r#"<skipped message="the tester was disturbed" type="cannot_be_judged"/>"#,
            r#"<property name="value" value="1500000"/>"#,
            r#"<property name="seed" value="7"/>"#,
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}
