//! A verdict under construction: reasons, and notes, merged by kind.

use result::Verdict;
use std::fmt::Write as _;

/// Names listed in a sentence.
const NAMES_MAX: usize = 3;

/// A verdict in the making.
pub(super) struct Findings {
    verdict: Verdict,
    shared: Vec<Shared>,
}

/// A note or a limit that several entries or ports may have: their names, and the sums of their numbers.
struct Shared {
    kind: &'static str,
    is_limit: bool,
    /// `sessions` or `port`.
    what: &'static str,
    names: Vec<String>,
    numbers: [u64; 3],
    text: Box<dyn Fn([u64; 3]) -> String>,
}

impl Findings {
    pub(super) fn new() -> Self {
        Self { verdict: Verdict { valid: true, ..Verdict::default() }, shared: Vec::new() }
    }

    /// The test lacked something it needed.
    pub(super) fn lack(&mut self, reason: String) {
        self.verdict.lack(reason);
    }

    /// The figures can't be trusted, maybe because something disturbed the tester.
    pub(super) fn reject(&mut self, reason: String) {
        self.verdict.valid = false;
        self.verdict.reasons.push(reason);
    }

    /// Something is wrong that no disturbance explains.
    pub(super) fn fault(&mut self, reason: String) {
        self.verdict.faults.push(reason.clone());
        self.reject(reason);
    }

    /// Something disturbed the tester; `grave` if the figures may be wrong for it.
    pub(super) fn disturb(&mut self, grave: bool, reason: String) {
        self.verdict.valid &= !grave;
        self.verdict.disturbed = true;
        self.verdict.reasons.push(reason);
    }

    pub(super) fn note(&mut self, note: String) {
        self.verdict.notes.push(note);
    }

    pub(super) fn limit(&mut self, reason: String) {
        self.verdict.generator_limited = true;
        self.verdict.reasons.push(reason);
    }

    /// The tester was the limit, for a reason that is given elsewhere.
    pub(super) fn limit_silently(&mut self) {
        self.verdict.generator_limited = true;
    }

    /// A note of `kind` on the entry or port `name`. All of a kind make one, from the sums of their numbers.
    pub(super) fn note_of(
        &mut self,
        (what, name): (&'static str, &str),
        kind: &'static str,
        numbers: [u64; 3],
        text: impl Fn([u64; 3]) -> String + 'static,
    ) {
        self.share(false, (what, name), kind, numbers, text);
    }

    /// The same of a limit.
    pub(super) fn limit_of(
        &mut self,
        (what, name): (&'static str, &str),
        kind: &'static str,
        numbers: [u64; 3],
        text: impl Fn([u64; 3]) -> String + 'static,
    ) {
        self.verdict.generator_limited = true;
        self.share(true, (what, name), kind, numbers, text);
    }

    fn share(
        &mut self,
        is_limit: bool,
        (what, name): (&'static str, &str),
        kind: &'static str,
        numbers: [u64; 3],
        text: impl Fn([u64; 3]) -> String + 'static,
    ) {
        match self.shared.iter_mut().find(|shared| (shared.what, shared.kind) == (what, kind)) {
            Some(shared) => {
                shared.numbers = [0, 1, 2].map(|place: usize| shared.numbers[place] + numbers[place]);
                if !shared.names.iter().any(|known| known == name) {
                    shared.names.push(name.to_owned());
                }
            }
            None => {
                let (names, text) = (vec![name.to_owned()], Box::new(text));
                self.shared.push(Shared { kind, is_limit, what, names, numbers, text });
            }
        }
    }

    /// The verdict.
    pub(super) fn end(mut self) -> Verdict {
        for shared in self.shared {
            let text = format!("{} {}: {}", shared.what, list(&shared.names), (shared.text)(shared.numbers));
            let texts = if shared.is_limit { &mut self.verdict.reasons } else { &mut self.verdict.notes };
            texts.push(text);
        }
        self.verdict
    }
}

/// `a`, `a and b`, or `a, b, c and 23 more`.
fn list(names: &[String]) -> String {
    let (shown, rest) = names.split_at(names.len().min(NAMES_MAX));
    let mut text = match (shown, rest) {
        ([head @ .., last], []) if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => shown.join(", "),
    };
    if !rest.is_empty() {
        let _ = write!(text, " and {} more", rest.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_a_kind_are_one_note_with_a_count() {
        let mut findings = Findings::new();
        for entry in 0..26 {
            let name = format!("web{entry}");
            findings.note_of(("sessions", &name), "closed", [2, 0, 0], |[n, ..]| {
                format!("{n} requests were not sent")
            });
        }
        findings
            .note_of(("sessions", "web0"), "other", [1, 7, 0], |[n, of, _]| format!("{n} of {of} frames"));
        let verdict = findings.end();
        assert_eq!(
            verdict.notes,
            [
                "sessions web0, web1, web2 and 23 more: 52 requests were not sent",
                "sessions web0: 1 of 7 frames"
            ]
        );
        assert!(verdict.valid && verdict.reasons.is_empty());
    }

    #[test]
    fn few_names_are_all_listed() {
        let names = |n: usize| list(&["a", "b", "c", "d"].map(str::to_owned)[..n]);
        assert_eq!([1, 2, 3, 4].map(names), ["a", "a and b", "a, b and c", "a, b, c and 1 more"]);
    }
}
