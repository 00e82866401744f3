//! Refusals of requests, as problem documents.

use api::{Problem, ProblemPlace};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use campaign::CampaignError;
use engine::EngineError;
use profile::ProfileError;
use store::StoreError;

/// The refusal of a request.
#[derive(Debug, Clone)]
pub struct Fault(Problem);

impl Fault {
    /// A status and a sentence.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self(Problem {
            kind: "about:blank".to_owned(),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            errors: Vec::new(),
        })
    }

    /// The request is malformed.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Not allowed for this caller or on this server.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// Not found.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// In use, or in the wrong state.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// A well-formed document with errors.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// A wrong value in the request.
    pub fn value(path: &str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        let mut fault = Self::unprocessable(format!("{path}: {reason}"));
        fault.0.errors.push(ProblemPlace { path: path.to_owned(), line: None, reason });
        fault
    }

    /// The machine refuses: port, memory, privilege.
    pub fn machine(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// A profile with errors.
    pub fn profile(errors: &[ProfileError]) -> Self {
        let first = errors.first().map(ToString::to_string).unwrap_or_default();
        let more = match errors.len() {
            0 | 1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        let mut fault = Self::unprocessable(format!("the profile has errors: {first}{more}"));
        fault.0.errors = places(errors);
        fault
    }

    /// The document.
    pub fn problem(&self) -> &Problem {
        &self.0
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// Errors of a profile with their places.
pub(crate) fn places(errors: &[ProfileError]) -> Vec<ProblemPlace> {
    let place = |error: &ProfileError| ProblemPlace {
        path: error.path.clone(),
        line: Some(error.line),
        reason: error.reason.clone(),
    };
    errors.iter().map(place).collect()
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        if error.is_bad_input() {
            Self::unprocessable(error.to_string())
        } else {
            Self::machine(error.to_string())
        }
    }
}

impl From<CampaignError> for Fault {
    fn from(error: CampaignError) -> Self {
        if error.is_bad_input() {
            Self::unprocessable(error.to_string())
        } else {
            Self::machine(error.to_string())
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoCampaign { .. } | StoreError::Missing(_) => Self::not_found(error.to_string()),
            StoreError::Ambiguous { .. } => Self::conflict(error.to_string()),
            error if error.is_bad_input() => Self::unprocessable(error.to_string()),
            error => Self::machine(format!("results store: {error}")),
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = serde_json::to_string(&self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"eagre\""));
        }
        if status == StatusCode::REQUEST_TIMEOUT {
            // RFC 9110 section 15.5.9: what is left of the request is not waited for.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response.extensions_mut().insert(self);
        response
    }
}
