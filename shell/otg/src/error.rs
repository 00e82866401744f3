//! Errors of a request as the model's `Error`: all at once, each with its JSON path.

use serde_json::{Value, json};
use std::fmt;

/// All errors of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors {
    /// Whether the request is invalid, or the generator failed.
    pub kind: ErrorKind,
    /// Messages: `flows[0].packet[1].tcp.src_port: reason`.
    pub errors: Vec<String>,
}

/// Kind of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is invalid: status 400.
    Validation,
    /// The generator or its machine failed: status 500.
    Internal,
}

impl Errors {
    /// One validation error.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Validation, errors: vec![reason.into()] }
    }

    /// One internal error.
    pub fn internal(reason: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Internal, errors: vec![reason.into()] }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self.kind {
            ErrorKind::Validation => 400,
            ErrorKind::Internal => 500,
        }
    }

    /// The model's `Error`.
    pub fn json(&self) -> Value {
        let kind = match self.kind {
            ErrorKind::Validation => "validation",
            ErrorKind::Internal => "internal",
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
