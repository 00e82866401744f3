//! Confidence in a result, as text: the verdict, the figures that hold, and what to do about the others.

use result::{HoldsResult, ResultDocument};
use std::fmt::Write;
use units::{percent, quantity, whole};

/// Names listed in a line.
const NAMES_MAX: usize = 4;

/// The verdict, what holds, causes and notes.
pub(crate) fn verdict(document: &ResultDocument) -> String {
    let verdict = &document.verdict;
    let mut text = match (verdict.valid, verdict.generator_limited, verdict.disturbed) {
        (true, false, false) => "  valid\n".to_owned(),
        (true, false, true) => "  valid, but the tester was disturbed\n".to_owned(),
        (true, true, _) => "  valid, but the tester was the limit\n".to_owned(),
        (false, _, _) => "  INVALID\n".to_owned(),
    };
    if document.interrupted {
        text += "  interrupted\n";
    }
    for reason in &verdict.reasons {
        let _ = writeln!(text, "    - {reason}");
    }
    text += &figures(document);
    for remedy in remedies(document) {
        let _ = writeln!(text, "  to do: {remedy}");
    }
    text + &notes(document)
}

/// The same of a demo: what holds, and one line on what this machine disturbed.
pub(crate) fn demo_verdict(document: &ResultDocument) -> String {
    let verdict = &document.verdict;
    if verdict.valid && verdict.holds.values().all(|entry| entry.holds) {
        return self::verdict(document);
    }
    let mut text = "  it works\n".to_owned();
    text += &figures(document);
    let cause = verdict.holds.values().find_map(|entry| entry.reason.as_ref());
    if let Some(cause) = cause.or_else(|| verdict.reasons.first()) {
        let _ = writeln!(text, "  this machine disturbed the rest: {cause}");
    }
    text + &notes(document)
}

/// Notes on figures that are nevertheless right.
fn notes(document: &ResultDocument) -> String {
    document.verdict.notes.iter().map(|note| format!("  note: {note}\n")).collect()
}

/// Remedies for figures that do not hold, each once.
fn remedies(document: &ResultDocument) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for remedy in document.verdict.holds.values().filter_map(|entry| entry.remedy.as_deref()) {
        if !all.contains(&remedy) {
            all.push(remedy);
        }
    }
    all
}

/// Trustworthiness of figures of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Holds,
    Bounded,
    Undisturbed,
    AtMost,
    Unjudged,
}

impl Kind {
    fn of(entry: &HoldsResult) -> Self {
        match entry {
            HoldsResult { holds: true, .. } => Self::Holds,
            HoldsResult { undisturbed_ratio: Some(_), .. } => Self::Undisturbed,
            HoldsResult { at_most: true, .. } => Self::AtMost,
            HoldsResult { lower: None, upper: None, .. } => Self::Unjudged,
            _ => Self::Bounded,
        }
    }

    fn head(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Bounded => "has bounds",
            Self::Undisturbed => "holds for packets that no pause touched",
            Self::AtMost => "is at most what was measured",
            Self::Unjudged => "can't be judged here",
        }
    }
}

/// A line for each kind of standing: figures, and the number of rows of each.
fn figures(document: &ResultDocument) -> String {
    let mut text = String::new();
    for kind in [Kind::Holds, Kind::Bounded, Kind::Undisturbed, Kind::AtMost, Kind::Unjudged] {
        let mut found: Vec<(&str, Vec<&str>, &HoldsResult)> = Vec::new();
        for (path, entry) in document.verdict.holds.iter().filter(|(_, entry)| Kind::of(entry) == kind) {
            let (row, figure) = path.rsplit_once('.').unwrap_or(("", path));
            match found.iter_mut().find(|(known, ..)| *known == figure) {
                Some((_, rows, _)) => rows.push(row),
                None => found.push((figure, vec![row], entry)),
            }
        }
        let parts: Vec<String> =
            found.iter().map(|(figure, rows, entry)| part(kind, figure, rows, entry)).collect();
        if !parts.is_empty() {
            let _ = writeln!(text, "  {}: {}", kind.head(), parts.join("; "));
        }
    }
    text
}

/// `lost (4 rows)`, or `streams.a.lost 2 to 10`.
fn part(kind: Kind, figure: &str, rows: &[&str], entry: &HoldsResult) -> String {
    let name = figure.trim_end_matches("_ns").replace('_', " ");
    let of = match rows {
        rows if rows.len() > NAMES_MAX => format!("{} rows", rows.len()),
        rows => rows.join(", "),
    };
    match (kind, rows) {
        (Kind::Bounded, [_]) => format!("{name} of {of}{}", bounds(figure, entry)),
        (Kind::Undisturbed, [_]) => {
            format!("{name} of {of} ({} of them)", percent(entry.undisturbed_ratio.unwrap_or(0.0)))
        }
        _ => format!("{name} of {of}"),
    }
}

/// ` between 2 and 10`.
fn bounds(figure: &str, entry: &HoldsResult) -> String {
    let show = |value: f64| match figure {
        figure if figure.ends_with("ratio") => percent(value),
        figure if figure.ends_with("_ns") => quantity(value, "ns"),
        _ => whole(value),
    };
    match (entry.lower, entry.upper) {
        (Some(lower), Some(upper)) => format!(" between {} and {}", show(lower), show(upper)),
        (Some(lower), None) => format!(" at least {}", show(lower)),
        (None, Some(upper)) => format!(" at most {}", show(upper)),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::Verdict;

    #[test]
    fn figures_are_grouped_by_how_they_stand() {
        let entry = |lower, upper, undisturbed_ratio| HoldsResult {
            lower,
            upper,
            undisturbed_ratio,
            reason: Some("worker 0 waited 3 of 6 s for its core".to_owned()),
            remedy: Some("free a core".to_owned()),
            ..HoldsResult::default()
        };
        let holds = HoldsResult { holds: true, ..HoldsResult::default() };
        let mut verdict = Verdict { disturbed: true, ..Verdict::default() };
        for (path, entry) in [
            ("streams.a.lost", holds.clone()),
            ("streams.b.lost", entry(Some(2.0), Some(10.0), None)),
            ("streams.b.loss_ratio", entry(Some(0.002), Some(0.01), None)),
            ("streams.b.outages.longest_ns", entry(Some(7.1e8), Some(7.31e8), None)),
            ("streams.a.latency_ns", entry(None, None, Some(0.834))),
            ("sessions.web.ttfb_ns", entry(None, None, None)),
            ("sessions.web.ttlb_ns", HoldsResult { at_most: true, ..entry(None, None, None) }),
        ] {
            verdict.holds.insert(path.to_owned(), entry);
        }
        verdict.notes.push("a note".to_owned());
        let document = ResultDocument { verdict, ..ResultDocument::default() };
        let text = self::verdict(&document);
        assert_eq!(
            text,
            "  INVALID\n  holds: lost of streams.a\n  has bounds: lost of streams.b between 2 and 10; loss ratio of streams.b \
             between 0.2% and 1%; longest of streams.b.outages between 710 ms and 731 ms\n  holds for packets that no pause touched: latency of streams.a (83.4% of them)\n  is at most \
             what was measured: ttlb of sessions.web\n  can't be judged here: ttfb of sessions.web\n  to do: free a core\n  note: a note\n"
        );
        let demo = demo_verdict(&document);
        assert_eq!(demo.lines().filter(|line| line.contains("waited")).count(), 1);
        assert!(!demo.contains("INVALID"), "{demo}");
    }
}
