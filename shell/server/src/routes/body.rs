//! Bodies and queries of requests. Errors name the place.

use crate::access::Caller;
use crate::fault::Fault;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Time for a body to arrive. Processing the request is not limited: a client that receives a timeout assumes that
/// nothing was done.
const ARRIVES: Duration = Duration::from_secs(30);

/// A JSON document.
pub(crate) struct Body<T>(pub(crate) T);

/// A JSON document, or nothing.
pub(crate) struct MaybeBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind != "application/json" {
            return Err(Fault::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("expected 'Content-Type: application/json', found '{kind}'"),
            ));
        }
        let bytes = read(request, state, ARRIVES).await?;
        parse(&bytes).map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for MaybeBody<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let bytes = read(request, state, ARRIVES).await?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(T::default()));
        }
        parse(&bytes).map(Self)
    }
}

/// Arbitrary bytes.
pub(crate) struct Whole(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        read(request, state, ARRIVES).await.map(Self)
    }
}

/// The whole body, if it comes in time (RFC 9110 section 15.5.9).
async fn read<S: Send + Sync>(request: Request, state: &S, time: Duration) -> Result<Bytes, Fault> {
    let late = |_| {
        let detail = format!("the request was incomplete after {} s", time.as_secs());
        Fault::new(StatusCode::REQUEST_TIMEOUT, detail)
    };
    let read = tokio::time::timeout(time, Bytes::from_request(request, state));
    read.await.map_err(late)?.map_err(unread)
}

fn unread(rejection: BytesRejection) -> Fault {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_long(),
        status => Fault::new(status, "the request's body is incomplete"),
    }
}

/// Refusal of a body that is too long.
pub(super) fn too_long() -> Fault {
    let most = super::BODY_MAX >> 20;
    Fault::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!(
            "the request's body is longer than {most} MiB, the most that is accepted; replace lists of single values by ranges, or \
             send parts: more streams can be added to a run, and 'append_config' adds to a configuration of Open Traffic Generator"
        ),
    )
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    // A list would be taken for the values of an object in their order.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(Fault::unprocessable("expected a JSON object, found a list"));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        if inner.is_data() {
            Fault::value(if path == "." { "" } else { &path }, plain(&inner.to_string()))
        } else {
            Fault::bad_request(format!("the body is not valid JSON: {inner}"))
        }
    })?;
    reader.end().map_err(|error| Fault::bad_request(format!("the body is not valid JSON: {error}")))?;
    Ok(value)
}

/// The reason for which a value does not fit, in words of JSON instead of the program's types.
fn plain(reason: &str) -> String {
    let reason = reason.rsplit_once(" at line ").map_or(reason, |(reason, _)| reason);
    let kinds = [("invalid type: ", ", expected "), ("invalid value: ", ", expected ")];
    let parts = kinds.iter().find_map(|(start, middle)| reason.strip_prefix(start)?.split_once(middle));
    let Some((found, expected)) = parts else { return reason.to_owned() };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => {
            let bits = expected.trim_start_matches(char::is_alphabetic).parse::<u32>().unwrap_or(64);
            let most = u64::MAX >> (64 - bits);
            format!("a whole number from 0 to {most}")
        }
        "f32" | "f64" => "a number".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        other if other.starts_with("struct ") => "an object".to_owned(),
        other => other.to_owned(),
    };
    let found = match found.split_once(' ') {
        Some(("integer" | "boolean", value)) => value.trim_matches('`').to_owned(),
        Some(("floating", value)) => value.trim_start_matches("point ").trim_matches('`').to_owned(),
        _ if found == "sequence" => "a list".to_owned(),
        _ if found == "map" => "an object".to_owned(),
        _ => found.to_owned(),
    };
    format!("expected {expected}, found {found}")
}

/// A query string. Errors are problem documents.
pub(crate) struct QueryOf<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + 'static> FromRequestParts<S> for QueryOf<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let query = Query::from_request_parts(parts, state).await;
        let Query(value) = query.map_err(|rejection: QueryRejection| {
            let text = rejection.body_text();
            Fault::unprocessable(text.trim_start_matches("Failed to deserialize query string: "))
        })?;
        Ok(Self(value))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Fault::new(StatusCode::UNAUTHORIZED, "unknown caller"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;
    use futures_util::stream;
    use std::convert::Infallible;

    #[test]
    fn reasons_are_in_words_of_json() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct New {
            #[serde(default)]
            count: u16,
            #[serde(default)]
            names: Vec<String>,
            #[serde(default)]
            share: f64,
        }
        for (text, reason) in [
            (r#"{"count": 100000}"#, "count: expected a whole number from 0 to 65535, found 100000"),
            (r#"{"count": -1}"#, "count: expected a whole number from 0 to 65535, found -1"),
            (r#"{"names": "a"}"#, "names: expected a list, found string \"a\""),
            (r#"{"names": [7]}"#, "names[0]: expected a string, found 7"),
            (r#"{"share": "NaN"}"#, "share: expected a number, found string \"NaN\""),
            (r#"{"share": {}}"#, "share: expected a number, found an object"),
            (" [1, [], 2]", "expected a JSON object, found a list"),
        ] {
            assert_eq!(parse::<New>(text.as_bytes()).unwrap_err().problem().detail, reason);
        }
        let odd = parse::<New>(b"{\"cuont\": 1}").unwrap_err();
        assert!(odd.problem().detail.contains("unknown field `cuont`"));
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_is_waited_for_no_longer() {
        let begun = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"{"))]);
        let never = stream::StreamExt::chain(begun, stream::pending());
        let request = Request::new(axum::body::Body::from_stream(never));
        let fault = read(request, &(), Duration::from_millis(20)).await.unwrap_err();
        assert_eq!(fault.status(), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(fault.into_response().headers()[header::CONNECTION], "close");
    }
}
