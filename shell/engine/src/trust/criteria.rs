//! The profile's criteria, judged on the figures that hold.

use profile::plan::{Comparison, Criterion};
use result::{CriterionResult, Outcome, ResultDocument, Standing};

/// Compares the profile's criteria with a finished document.
pub(crate) fn judge_criteria(criteria: &[Criterion], document: &ResultDocument) -> Vec<CriterionResult> {
    criteria.iter().map(|criterion| judge(criterion, document)).collect()
}

fn judge(criterion: &Criterion, document: &ResultDocument) -> CriterionResult {
    let bound = criterion.bound;
    let is_met = |value: f64| match criterion.comparison {
        Comparison::Less => value < bound,
        Comparison::AtMost => value <= bound,
        Comparison::Greater => value > bound,
        Comparison::AtLeast => value >= bound,
        Comparison::Equal => value == bound,
    };
    let standing = match document.standing(&criterion.path) {
        Standing::Holds { value, undisturbed } => {
            Standing::Holds { value: value.or(criterion.absent), undisturbed }
        }
        other => other,
    };
    let value = match standing {
        Standing::Holds { value, .. } => value,
        _ => result::Numbers::number(document, &criterion.path).or(criterion.absent),
    };
    let outcome = match standing.decide(bound, is_met) {
        Some(true) => Outcome::Met,
        Some(false) => Outcome::NotMet,
        None => Outcome::CannotJudge,
    };
    let doubt = standing.doubt().filter(|_| outcome == Outcome::CannotJudge);
    CriterionResult {
        path: criterion.path.clone(),
        bound: criterion.text.clone(),
        value,
        passed: outcome == Outcome::Met,
        outcome: outcome.name().into(),
        reason: doubt.map(|doubt| format!("{}; {}", doubt.reason, doubt.remedy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{HoldsResult, Named, StreamResult};

    fn criterion(path: &str, comparison: Comparison, bound: f64) -> Criterion {
        Criterion { path: path.to_owned(), absent: None, comparison, bound, text: String::new() }
    }

    fn document() -> ResultDocument {
        let stream = |loss_ratio| StreamResult { loss_ratio: Some(loss_ratio), ..StreamResult::default() };
        let streams = [("a", 0.5), ("a.b", 0.25)].map(|(name, ratio)| (name.to_owned(), stream(ratio)));
        ResultDocument { streams: Named::from(streams), ..ResultDocument::default() }
    }

    #[test]
    fn criteria_are_held_against_the_document() {
        let document = document();
        let passed = |path, comparison, bound| judge(&criterion(path, comparison, bound), &document).passed;
        assert!(passed("streams.a.loss_ratio", Comparison::Equal, 0.5));
        assert!(passed("streams.a.b.loss_ratio", Comparison::Less, 0.3));
        assert!(!passed("streams.a.b.loss_ratio", Comparison::Greater, 0.3));
        assert!(
            !passed("streams.c.loss_ratio", Comparison::AtMost, 1.0),
            "what was not measured did not hold"
        );
    }

    #[test]
    fn bounds_decide_only_if_they_agree() {
        let mut document = document();
        let entry = HoldsResult { lower: Some(0.1), upper: Some(0.5), ..HoldsResult::default() };
        document.verdict.holds.insert("streams.a.loss_ratio".to_owned(), entry);
        let judged = |comparison, bound| {
            let judged = judge(&criterion("streams.a.loss_ratio", comparison, bound), &document);
            assert_eq!(judged.reason.is_some(), judged.outcome() == Outcome::CannotJudge);
            judged.outcome()
        };
        assert_eq!(judged(Comparison::Less, 0.6), Outcome::Met);
        assert_eq!(judged(Comparison::Less, 0.1), Outcome::NotMet);
        assert_eq!(judged(Comparison::Less, 0.3), Outcome::CannotJudge);
        assert_eq!(judged(Comparison::Greater, 0.0), Outcome::Met);
        assert_eq!(judged(Comparison::Equal, 0.2), Outcome::CannotJudge);
    }
}
