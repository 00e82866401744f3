//! Errors of a translation: all at once, each with port and stream.

use std::fmt;

/// All errors of a document, as lines: `port 0, stream 'S1': reason`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors(pub Vec<String>);

impl Errors {
    /// One error.
    pub fn one(reason: impl Into<String>) -> Self {
        Self(vec![reason.into()])
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Errors {}
