//! The model over HTTP, as its clients call it.

use super::{Answer, Method, Otg};
use crate::access::Caller;
use crate::service::Service;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use otg::Errors;
use serde_json::Value;
use std::sync::Arc;

/// The routes.
pub(crate) fn routes(otg: &Arc<Otg>) -> Router<Arc<Service>> {
    let with = |method: Method| {
        let otg = otg.clone();
        move |caller: Caller, body: Bytes| answer(otg, method, caller, body)
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
