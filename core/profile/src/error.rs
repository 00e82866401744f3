//! What is wrong with a profile, and where.

use std::fmt;

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
    /// What is wrong and what was expected.
    pub reason: String,
    /// Whether a larger machine would take it: nothing is wrong with the profile.
    pub is_of_machine: bool,
}

impl ProfileError {
    pub(crate) fn new(at: Position, path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: at.line,
            column: at.column,
            reason: reason.into(),
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

/// Words of a list that are all told.
const LISTED_MAX: usize = 40;
/// Words that are told of a longer one.
const LISTED_OF_MANY: usize = 8;

/// "unknown header 'ipv5'; did you mean 'ipv4'? Allowed: …"
pub(crate) fn unknown(noun: &str, given: &str, allowed: &[&str]) -> String {
    let nearest = nearest(given, allowed).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    let stop = if nearest.is_empty() { "." } else { "" };
    if allowed.len() <= LISTED_MAX {
        return format!("unknown {noun} '{given}'{nearest}{stop} Allowed: {}", allowed.join(", "));
    }
    let mut likely = allowed.to_vec();
    likely.sort_by_key(|word| distance(given, word));
    likely.truncate(LISTED_OF_MANY);
    format!("unknown {noun} '{given}'{nearest}{stop} Allowed, among others: {}", likely.join(", "))
}

/// How many typing mistakes are between two words, however their letters are written.
fn distance(given: &str, word: &str) -> usize {
    strsim::damerau_levenshtein(&given.to_lowercase(), &word.to_lowercase())
}

/// The allowed word a typing mistake away from `given`.
fn nearest<'a>(given: &str, allowed: &[&'a str]) -> Option<&'a str> {
    let (far, word) =
        allowed.iter().map(|word| (distance(given, word), *word)).min_by_key(|(far, _)| *far)?;
    let length = given.chars().count();
    (far <= (length / 3).max(1) && far < length).then_some(word)
}
