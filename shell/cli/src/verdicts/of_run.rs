//! The cases of a run: achieved load, each criterion; without criteria, whether losses and failures are known.

use super::{Case, Number, Outcome, Suite};
use result::{CriterionResult, Overall, ResultDocument, Standing};

impl From<Overall> for Outcome {
    fn from(overall: Overall) -> Self {
        match overall {
            Overall::Passed => Self::Passed,
            Overall::Failed => Self::Failed,
            Overall::CannotJudge => Self::CannotJudge,
        }
    }
}

/// The suite of a run.
pub(crate) fn suite_of_run(name: &str, document: &ResultDocument) -> Suite {
    let mut cases: Vec<Case> =
        document.criteria.iter().map(|criterion| of_criterion(criterion, document)).collect();
    let overall = document.overall.clone().unwrap_or_else(|| document.decide());
    // What no criterion says: less than half succeeded, the test did not come about, or the losses are in doubt.
    let outcome = Outcome::from(overall.overall());
    let is_said = cases.iter().any(|case| case.outcome == outcome) && !cases.is_empty();
    let is_whole = outcome == Outcome::Passed || is_said;
    let message =
        [overall.reason.clone(), overall.remedy.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let achieved = document.achieved.as_ref();
    cases.insert(
        0,
        Case {
            name: "requested load succeeded".to_owned(),
            outcome: if is_whole { Outcome::Passed } else { outcome },
            message: (!is_whole).then_some(message),
            value: achieved.map_or_else(String::new, |achieved| achieved.summary.clone()),
            unit: String::new(),
            numbers: succeeded(document),
        },
    );
    let mut properties = vec![
        ("eagre.version".to_owned(), document.version.to_string()),
        ("seed".to_owned(), document.seed.to_string()),
        ("profile_sha256".to_owned(), document.profile_sha256.clone()),
        ("valid".to_owned(), document.verdict.valid.to_string()),
        ("disturbed".to_owned(), document.verdict.disturbed.to_string()),
    ];
    properties.extend(document.started.iter().map(|started| ("started".to_owned(), started.clone())));
    properties.extend(overall.runs.map(|runs| ("runs".to_owned(), runs.to_string())));
    let sentences = achieved.map(|achieved| achieved.summary.clone()).into_iter();
    Suite {
        name: name.to_owned(),
        duration_s: document.duration_s,
        properties,
        sentences: sentences.chain(document.verdict.reasons.iter().cloned()).collect(),
        cases,
    }
}

fn succeeded(document: &ResultDocument) -> Vec<Number> {
    let Some(achieved) = &document.achieved else { return Vec::new() };
    let parts = [("packets", &achieved.packets), ("sessions", &achieved.sessions)];
    let parts = parts.into_iter().filter_map(|(name, part)| Some((name, part.as_ref()?)));
    let numbers = parts.flat_map(|(name, part)| {
        [("asked", part.asked), ("succeeded", part.succeeded)]
            .map(|(what, count)| Number::new(format!("{name}.{what}"), count as f64))
    });
    numbers.collect()
}

fn of_criterion(criterion: &CriterionResult, document: &ResultDocument) -> Case {
    let outcome = match criterion.outcome() {
        result::Outcome::Met => Outcome::Passed,
        result::Outcome::NotMet => Outcome::Failed,
        result::Outcome::CannotJudge => Outcome::CannotJudge,
    };
    let standing = document.standing(&criterion.path);
    let value = match criterion.value {
        Some(value) => store::report::measured(&criterion.path, value),
        None => "not measured".to_owned(),
    };
    let mut numbers: Vec<Number> =
        criterion.value.map(|value| Number::new("value", value)).into_iter().collect();
    if let Standing::Bounds { lower, upper, .. } = standing {
        let bounds = [("lower", lower), ("upper", upper)];
        numbers.extend(bounds.into_iter().filter_map(|(name, value)| Some(Number::new(name, value?))));
    }
    if let Standing::Holds { undisturbed: Some(ratio), .. } = standing {
        numbers.push(Number::new("undisturbed_ratio", ratio));
    }
    let message = match outcome {
        Outcome::Passed => None,
        Outcome::CannotJudge => {
            let doubt = standing.doubt().map(|doubt| format!("{}; {}", doubt.reason, doubt.remedy));
            doubt.or_else(|| criterion.reason.clone())
        }
        _ => Some(format!("{value}, not {}", criterion.bound)),
    };
    let name = format!("{} {}", criterion.path, criterion.bound);
    Case { name, outcome, message, value, unit: String::new(), numbers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_criterion_says_is_a_case_of_its_own() {
        let mut document = ResultDocument::default();
        document.verdict.lack("no client got an address".to_owned());
        let suite = suite_of_run("x", &document);
        assert_eq!(suite.outcome(), Outcome::Failed);
        assert_eq!(suite.cases[0].message.as_deref(), Some("no client got an address"));
        let not_met = CriterionResult {
            path: "duration_s".to_owned(),
            bound: "> 1".to_owned(),
            value: Some(0.5),
            outcome: "not_met".into(),
            ..CriterionResult::default()
        };
        let suite = suite_of_run("x", &ResultDocument { criteria: vec![not_met], ..document });
        let outcomes: Vec<Outcome> = suite.cases.iter().map(|case| case.outcome).collect();
        assert_eq!(outcomes, [Outcome::Passed, Outcome::Failed], "told once");
        assert_eq!(suite.cases[1].name, "duration_s > 1");
    }
}
