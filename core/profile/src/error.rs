//! Errors in a profile, with their places.

use std::fmt;

/// Longest path and longest reason, in characters: what a text of any length quotes must fit a terminal and a log.
const LONGEST: usize = 2_000;

/// A place in the profile's text, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    /// The first character.
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

/// One thing wrong with a profile.
///
/// Displayed as `line 12: streams[0].rate: '10' is not a rate such as 1Mpps, …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileError {
    /// Path of the value in the document: `streams[0].packet[1].ipv4.src`; empty for the document itself.
    pub path: String,
    /// Line in the text, counted from 1.
    pub line: usize,
    /// Column in the line, in characters, counted from 1.
    pub column: usize,
    /// The error and the expected value.
    pub reason: String,
    /// Whether a larger machine would take it: nothing is wrong with the profile.
    pub is_of_machine: bool,
}

impl ProfileError {
    pub(crate) fn new(at: Position, path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: one_line(path.into()),
            line: at.line,
            column: at.column,
            reason: one_line(reason.into()),
            is_of_machine: false,
        }
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ProfileError {}

/// A text that quotes a profile, as a line of bounded length: control characters are escaped, the middle of a long text is
/// left out. Its end has the remedy.
fn one_line(text: String) -> String {
    let is_odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let plain = match text.contains(is_odd) {
        true => text.chars().fold(String::new(), |line, c| match is_odd(c) {
            true => line + &c.escape_default().to_string(),
            false => line + c.encode_utf8(&mut [0; 4]),
        }),
        false => text,
    };
    let length = plain.chars().count();
    if length <= LONGEST {
        return plain;
    }
    let start = plain.chars().take(LONGEST / 2);
    let end = plain.chars().skip(length - LONGEST / 2);
    start.chain(" … ".chars()).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(reason: &str) -> String {
        ProfileError::new(Position::START, "a", reason).to_string()
    }

    #[test]
    fn a_quoted_text_stays_in_its_line() {
        assert_eq!(shown("'a\r\nX: y' is not a mapping"), r"line 1: a: 'a\r\nX: y' is not a mapping");
        assert_eq!(shown("'\u{1b}[2J\u{9b}31m'"), r"line 1: a: '\u{1b}[2J\u{9b}31m'");
        assert_eq!(shown("'\u{202e}kcab' é 😀"), r"line 1: a: '\u{202e}kcab' é 😀");
    }

    #[test]
    fn a_long_text_loses_its_middle_and_keeps_the_remedy() {
        let told = shown(&format!("'{}' is not a mapping", "é".repeat(100_000)));
        assert!(told.chars().count() < LONGEST + 100, "{}", told.len());
        assert!(
            told.starts_with("line 1: a: 'éé")
                && told.contains("é … é")
                && told.ends_with("' is not a mapping")
        );
        let path = ProfileError::new(Position::START, "b".repeat(100_000), "no").path;
        assert!(path.len() < LONGEST + 100);
    }
}
