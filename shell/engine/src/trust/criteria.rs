//! The profile's criteria, judged on the figures that hold.

use profile::plan::{Comparison, Criterion};
use result::{CriterionResult, Numbers, Outcome, ResultDocument, Standing};

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
    // A share of nothing is none, whatever the document has in its place.
    let standing = match standing {
        Standing::Holds { .. } if is_of_nothing(document, &criterion.path) => {
            Standing::Holds { value: None, undisturbed: None }
        }
        other => other,
    };
    let value = match standing {
        Standing::Holds { value, .. } => value,
        _ => document.number(&criterion.path).or(criterion.absent),
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

/// Shares, and the counts of what each is a share of.
const SHARES: [(&str, [&str; 2]); 3] = [
    ("loss_ratio", ["tx", "rx"]),
    ("failed_ratio", ["attempted", "open_at_clear"]),
    ("failed_requests_ratio", ["requests", "transactions"]),
];

/// Whether a figure is a share of packets, sessions or requests of which there were none.
fn is_of_nothing(document: &ResultDocument, path: &str) -> bool {
    let Some((row, figure)) = path.rsplit_once('.') else { return false };
    let Some((_, counts)) = SHARES.iter().find(|(share, _)| *share == figure) else { return false };
    let mut known = counts.iter().filter_map(|count| document.number(&format!("{row}.{count}"))).peekable();
    // Applications have shares of their own counts, and none of nothing.
    known.peek().is_some() && known.all(|number| number == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{HoldsResult, Named, SessionResult, StreamResult};

    fn criterion(path: &str, comparison: Comparison, bound: f64) -> Criterion {
        Criterion { path: path.to_owned(), absent: None, comparison, bound, text: String::new() }
    }

    fn document() -> ResultDocument {
        let stream =
            |loss_ratio| StreamResult { tx: 100, loss_ratio: Some(loss_ratio), ..StreamResult::default() };
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
    fn a_share_of_nothing_meets_no_criterion() {
        let none = StreamResult { loss_ratio: Some(0.0), ..StreamResult::default() };
        let sessions = [("s".to_owned(), SessionResult::default())];
        let document = ResultDocument {
            streams: Named::from([("a".to_owned(), none)]),
            sessions: Named::from(sessions),
            ..ResultDocument::default()
        };
        for path in ["streams.a.loss_ratio", "sessions.s.failed_ratio", "sessions.s.failed_requests_ratio"] {
            let judged = judge(&criterion(path, Comparison::Less, 0.5), &document);
            assert_eq!((judged.value, judged.outcome()), (None, Outcome::NotMet), "{path}");
        }
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
