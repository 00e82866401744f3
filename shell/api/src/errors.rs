//! What is wrong, for programs and people (RFC 9457).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A problem document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// `about:blank`: the status says what kind of problem it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong here, a sentence.
    pub detail: String,
    /// The places that are wrong, where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Place>,
}

/// A place in a document and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Place {
    /// The value's path: `streams[0].rate`; empty for the document itself.
    pub path: String,
    /// Line in the text, counted from 1, if there is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong and what was expected.
    pub reason: String,
}
