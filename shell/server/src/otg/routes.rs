//! The model over HTTP, as its clients call it.

use super::{Answer, Method, Otg};
use crate::access::Caller;
use crate::fault::Fault;
use crate::routes::Whole;
use crate::service::Service;
use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use otg::Errors;
use serde_json::{Value, json};
use std::sync::Arc;

/// Beginnings of the model's paths.
const PATHS: [&str; 4] = ["/config/", "/control/", "/monitor/", "/capabilities/"];
/// Bytes of a refusal that is not a document.
const REASON_MAX: usize = 4096;

/// The routes.
pub(crate) fn routes(otg: &Arc<Otg>) -> Router<Arc<Service>> {
    let with = |method: Method| {
        let otg = otg.clone();
        move |caller: Caller, Whole(body): Whole| answer(otg, method, caller, body)
    };
    Router::new()
        .route(
            "/config",
            post(with(Method::SetConfig)).get(with(Method::GetConfig)).patch(with(Method::UpdateConfig)),
        )
        .route("/config/append", patch(with(Method::AppendConfig)))
        .route("/config/delete", patch(with(Method::DeleteConfig)))
        .route("/control/state", post(with(Method::SetControlState)))
        .route("/control/action", post(with(Method::SetControlAction)))
        .route("/monitor/metrics", post(with(Method::GetMetrics)))
        .route("/monitor/states", post(with(Method::GetStates)))
        .route("/monitor/capture", post(with(Method::GetCapture)))
        .route("/capabilities/version", get(with(Method::GetVersion)))
}

/// Translates errors on the model's paths into its format, regardless of their origin.
pub(crate) async fn errors(request: Request, next: Next) -> Response {
    let is_own = {
        let path = request.uri().path();
        path == "/config" || PATHS.iter().any(|own| path.starts_with(own))
    };
    let response = next.run(request).await;
    let status = response.status();
    let is_told = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !is_own || !(status.is_client_error() || status.is_server_error()) || is_told {
        return response;
    }
    let known = response.extensions().get::<Fault>().cloned();
    let (mut head, body) = response.into_parts();
    let reason = match &known {
        Some(fault) => fault.problem().detail.clone(),
        None => {
            let text = axum::body::to_bytes(body, REASON_MAX).await.unwrap_or_default();
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            if text.is_empty() { status.canonical_reason().unwrap_or("error").to_owned() } else { text }
        }
    };
    let kind = if status.is_client_error() { "validation" } else { "internal" };
    let told = json!({"code": status.as_u16(), "kind": kind, "errors": [reason]});
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(head, told.to_string().into())
}

async fn answer(otg: Arc<Otg>, method: Method, caller: Caller, body: Bytes) -> Response {
    let request = match body.is_empty() {
        true => Ok(Value::Object(serde_json::Map::new())),
        false => serde_json::from_slice(&body).map_err(|error| Errors::invalid(format!("no JSON: {error}"))),
    };
    let answered = match request {
        Ok(request) => otg.call(method, request, &caller).await,
        Err(errors) => Err(errors),
    };
    match answered {
        Ok(Answer::Document(document)) => typed("application/json", StatusCode::OK, document.to_string()),
        Ok(Answer::Bytes(bytes)) => typed("application/octet-stream", StatusCode::OK, bytes),
        Err(errors) => {
            let status = StatusCode::from_u16(errors.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            typed("application/json", status, errors.json().to_string())
        }
    }
}

fn typed(kind: &'static str, status: StatusCode, body: impl IntoResponse) -> Response {
    let mut response = (status, body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
