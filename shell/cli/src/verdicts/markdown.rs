//! A summary in Markdown, as GitHub shows it below a job.

use super::{Case, Outcome, Suite};
use std::io::{self, Write};
use std::time::SystemTime;

/// Cases shown of a suite: those that did not pass come first.
const CASES_MAX: usize = 100;

/// Writes suites as headings with tables.
pub(super) fn write(suites: &[Suite], _: SystemTime, out: &mut dyn Write) -> io::Result<()> {
    for suite in suites {
        let counts = [Outcome::Failed, Outcome::CannotJudge, Outcome::NothingFound, Outcome::Passed]
            .map(|outcome| (outcome, suite.count(outcome)));
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(outcome, n)| {
                format!("{n} {}", &outcome.words()[outcome.words().find(' ').map_or(0, |at| at + 1)..])
            })
            .collect();
        writeln!(out, "### {}: {}\n", escaped(&suite.name), suite.outcome().words())?;
        for sentence in &suite.sentences {
            writeln!(out, "{}\n", escaped(sentence))?;
        }
        writeln!(out, "{}\n", counts.join(", "))?;
        let (passed, others): (Vec<&Case>, Vec<&Case>) =
            suite.cases.iter().partition(|case| case.outcome == Outcome::Passed);
        writeln!(out, "| | asked | value | |\n|---|---|---|---|")?;
        for case in others.into_iter().chain(passed).take(CASES_MAX) {
            let message = case.message.as_deref().unwrap_or_default();
            let cells = [case.outcome.words(), &case.name, &case.value, message].map(escaped);
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
        if suite.cases.len() > CASES_MAX {
            writeln!(out, "\n… and {} more", suite.cases.len() - CASES_MAX)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Text that stays text in a cell of a table.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("<br>"),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_pass_comes_first() {
        let mut text = Vec::new();
        write(&[super::super::example()], SystemTime::UNIX_EPOCH, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).skip(2).collect();
        assert_eq!(
            rows[0],
            r"| ✕ failed | streams.a.latency\_ns.p99 &lt; 1ms | 1.5 ms | 1.5 ms &amp; &lt;more> |"
        );
        assert_eq!(
            rows[2],
            r"| ∅ nothing found | 64B throughput | 1.5 ms | not found \| at all<br>nowhere |"
        );
        assert!(
            text.starts_with("### demo: ✕ failed\n") && text.contains("2 failed") | text.contains("1 failed")
        );
    }
}
