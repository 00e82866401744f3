//! The cases of a campaign: one for each requested finding.

use super::{Case, Number, Outcome, Suite};
use campaign::Ended;
use methods::{Finding, MethodResult, RowAnswer, Standing};
use units::quantity;

/// The suite of a campaign.
pub(crate) fn suite_of_methods(name: &str, results: &[MethodResult], ended: &Ended) -> Suite {
    let mut cases: Vec<Case> = results.iter().flat_map(cases_of).collect();
    let stopped = match ended {
        Ended::Done => None,
        Ended::Failed(reason) => Some(reason.clone()),
        Ended::Interrupted => Some("interrupted".to_owned()),
    };
    cases.extend(stopped.map(|reason| Case {
        name: "campaign completes".to_owned(),
        outcome: Outcome::Failed,
        message: Some(reason),
        value: String::new(),
        unit: String::new(),
        numbers: Vec::new(),
    }));
    Suite {
        name: name.to_owned(),
        duration_s: results.iter().map(|result| result.traffic_s).sum(),
        properties: vec![("eagre.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())],
        sentences: results.iter().flat_map(|result| result.summary.iter().cloned()).collect(),
        cases,
    }
}

fn cases_of(result: &MethodResult) -> Vec<Case> {
    let answers = result.findings.answers();
    if answers.is_empty() {
        return vec![without_value(result, RowAnswer::Nothing, &Finding::default())];
    }
    let mut cases = Vec::new();
    for (answer, findings) in &answers {
        let known = findings.iter().filter(|finding| finding.value.is_some());
        match answer {
            RowAnswer::Found => {
                cases.extend(known.map(|finding| with_value(result, finding, Outcome::Passed)))
            }
            RowAnswer::Failed => {
                let mut outcomes = std::iter::once(Outcome::Failed).chain(std::iter::repeat(Outcome::Passed));
                let before = cases.len();
                cases.extend(
                    known.zip(&mut outcomes).map(|(finding, outcome)| with_value(result, finding, outcome)),
                );
                if cases.len() == before {
                    cases.extend(findings.first().map(|finding| without_value(result, *answer, finding)));
                }
            }
            RowAnswer::NotNeeded => {
                cases.extend(findings.first().map(|finding| with_value(result, finding, Outcome::Passed)))
            }
            // One case says it of a row; its other values are missing for the same reason.
            _ => cases.extend(findings.first().map(|finding| without_value(result, *answer, finding))),
        }
    }
    cases
}

fn name(result: &MethodResult, finding: &Finding) -> String {
    let parts = [result.method.as_str(), &finding.frame, &finding.goal];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn with_value(result: &MethodResult, finding: &Finding, outcome: Outcome) -> Case {
    let value = finding.value.map_or_else(String::new, |value| quantity(value, &finding.unit));
    let failed = || finding.note.clone().unwrap_or_else(|| "the device failed".to_owned());
    Case {
        name: name(result, finding),
        outcome,
        message: (outcome != Outcome::Passed).then(failed),
        value,
        unit: finding.unit.clone(),
        numbers: numbers(finding),
    }
}

/// A row without a value: nothing was found, or every trial was the tester's.
fn without_value(result: &MethodResult, answer: RowAnswer, finding: &Finding) -> Case {
    let counted = result.trials.iter().any(|trial| trial.standing == Standing::Counted);
    let unjudged = result
        .trials
        .iter()
        .any(|trial| matches!(trial.standing, Standing::Invalid | Standing::TesterLimited));
    let outcome = match answer {
        RowAnswer::Failed => Outcome::Failed,
        RowAnswer::CannotJudge => Outcome::CannotJudge,
        _ if unjudged && !counted => Outcome::CannotJudge,
        _ => Outcome::NothingFound,
    };
    let about = |sentence: &&String| finding.frame.is_empty() || sentence.contains(&finding.frame);
    let message = finding.note.clone().or_else(|| result.summary.iter().find(about).cloned());
    Case {
        name: name(result, finding),
        outcome,
        message,
        value: "none".to_owned(),
        unit: finding.unit.clone(),
        numbers: numbers(finding),
    }
}

fn numbers(finding: &Finding) -> Vec<Number> {
    let all = [
        ("value", finding.value),
        ("lower", finding.lower),
        ("upper", finding.upper),
        ("resolution", finding.resolution),
        ("spread", finding.spread),
        ("line", finding.line),
    ];
    all.into_iter().filter_map(|(name, value)| Some(Number::new(name, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use methods::{MethodConfig, Testbed};

    /// A search on a device that loses half of everything, or nothing, above a share of the line.
    fn searched(disturbed: bool) -> MethodResult {
        let testbed = Testbed::one_way(1_000_000_000);
        let mut config =
            MethodConfig::all().into_iter().find(|config| config.about().name == "throughput").unwrap();
        config.quicken();
        config.set_sizes(&[methods::Frames::bytes(64).unwrap()]);
        let mut method = config.build(&testbed).unwrap();
        while let Some(request) = method.next_trial().trial() {
            let mut outcome = methods::TrialOutcome {
                valid: !disturbed,
                disturbed,
                duration: request.duration,
                ..methods::TrialOutcome::default()
            };
            let lost = |load: &methods::OfferedLoad| methods::GroupOutcome {
                group: load.group.clone(),
                requested: load.rate,
                achieved: load.rate,
                sent: 1_000,
                received: 500,
                lost: 500,
                ..methods::GroupOutcome::default()
            };
            outcome.groups = request.offered.iter().map(lost).collect();
            method.record(&outcome);
        }
        method.result()
    }

    #[test]
    fn a_search_without_a_value_is_not_green() {
        let outcome = |disturbed| suite_of_methods("", &[searched(disturbed)], &Ended::Done).outcome();
        assert_eq!(outcome(true), Outcome::CannotJudge);
        assert_eq!(
            outcome(false),
            Outcome::Failed,
            "at the smallest load already: {:?}",
            searched(false).findings
        );
    }
}
