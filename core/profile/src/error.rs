//! Errors in a profile, with their places.

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
    /// The error and the expected value.
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
