//! Annotations of GitHub Actions: workflow commands on standard error, which runners read like standard output.

use super::{Outcome, Suite};

/// Annotations at most: GitHub shows ten of a kind.
const SHOWN_MAX: usize = 10;

/// Prints an annotation for each case that did not pass, if this runs in GitHub Actions.
pub(crate) fn annotate(suites: &[Suite]) {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return;
    }
    lines(suites).iter().for_each(|line| eprintln!("{line}"));
}

fn lines(suites: &[Suite]) -> Vec<String> {
    let mut lines = Vec::new();
    for (outcome, command) in
        [(Outcome::Failed, "error"), (Outcome::NothingFound, "error"), (Outcome::CannotJudge, "warning")]
    {
        let cases = suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)));
        let cases = cases.filter(|(_, case)| case.outcome == outcome).take(SHOWN_MAX);
        lines.extend(cases.map(|(suite, case)| {
            let title = format!("{}: {}", suite.name, case.name);
            let message = case.message.as_deref().unwrap_or(&case.value);
            format!("::{command} title={}::{}", property(&title), data(message))
        }));
    }
    lines
}

/// A message, escaped for the runner.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property, likewise.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_escaped() {
        let lines = lines(&[super::super::example()]);
        assert_eq!(lines[0], "::error title=demo%3A streams.a.latency_ns.p99 < 1ms::1.5 ms & <more>");
        assert_eq!(lines[1], "::error title=demo%3A 64B throughput::not found | at all%0Anowhere");
        assert!(lines[2].starts_with("::warning title=demo%3A "), "{lines:?}");
    }
}
