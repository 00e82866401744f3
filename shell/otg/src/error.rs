//! What is wrong with a request, in the model's words: all of it at once, each with its JSON path.

use serde_json::{Value, json};
use std::fmt;

/// Everything wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors {
    /// Whether the request is wrong, or we are.
    pub kind: Kind,
    /// Sentences: `flows[0].packet[1].tcp.src_port: reason`.
    pub errors: Vec<String>,
}

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request's: status 400.
    Validation,
    /// The generator's, or its machine's: status 500.
    Internal,
}

impl Errors {
    /// One error of the request.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self { kind: Kind::Validation, errors: vec![reason.into()] }
    }

    /// One error of ours.
    pub fn internal(reason: impl Into<String>) -> Self {
        Self { kind: Kind::Internal, errors: vec![reason.into()] }
    }

    /// The HTTP status it is sent with.
    pub fn status(&self) -> u16 {
        match self.kind {
            Kind::Validation => 400,
            Kind::Internal => 500,
        }
    }

    /// The model's `Error`.
    pub fn json(&self) -> Value {
        let kind = match self.kind {
            Kind::Validation => "validation",
            Kind::Internal => "internal",
        };
        json!({"code": self.status(), "kind": kind, "errors": self.errors})
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.errors.join("; "))
    }
}

impl std::error::Error for Errors {}
