//! Errors, for programs and people (RFC 9457).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A refused request (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Problem type: `about:blank`, as the status code identifies the problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// Reason phrase of the status.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// Description of the problem, one sentence.
    pub detail: String,
    /// The wrong places of the document, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ProblemPlace>,
}

/// A place in a document and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemPlace {
    /// Path of the value: `streams[0].rate`; empty for the document itself.
    pub path: String,
    /// Line in the text, from 1; absent if there is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Description of the error and the expected value.
    pub reason: String,
}
