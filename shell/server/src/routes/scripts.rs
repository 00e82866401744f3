//! Scripts.

use super::body::Body;
use super::described::{Routes, routes};
use super::guard::Noted;
use super::runs::{Growing, json_text};
use super::{Known, blocking, reading};
use crate::access::Caller;
use crate::fault::Fault;
use crate::scripts::ScriptJob;
use crate::service::{Service, Work};
use crate::texts::Text;
use api::{NewScript, Problem, Script};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use std::sync::Arc;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(scripts, start_script))
        .routes(routes!(script, forget_script))
        .routes(routes!(stop_script))
        .routes(routes!(script_result))
        .routes(routes!(script_file))
}

/// Scripts since the server started, newest first
#[utoipa::path(get, path = "/api/v1/scripts", tag = "scripts",
    responses((status = 200, body = Vec<Script>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn scripts(State(service): Known) -> Json<Vec<Script>> {
    Json(service.scripts().iter().map(|script| script.document(false)).collect())
}

/// Start a Lua script. Only for admins, on servers with --allow-scripts
#[utoipa::path(post, path = "/api/v1/scripts", tag = "scripts", request_body = NewScript,
    responses((status = 201, body = Script), (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json")))]
async fn start_script(
    State(service): Known,
    caller: Caller,
    Body(new): Body<NewScript>,
) -> Result<Response, Fault> {
    let script = blocking(service, move |service| service.start_script(&new, &caller)).await?;
    let about = &script.job.about;
    let noted = Noted(format!("script {} '{}' on {}", about.id, about.name, about.ports.join(", ")));
    Ok((StatusCode::CREATED, Extension(noted), Json(script.document(true))).into_response())
}

/// A script, with what it printed
#[utoipa::path(get, path = "/api/v1/scripts/{id}", tag = "scripts", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = Script), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn script(State(service): Known, Path(id): Path<String>) -> Result<Json<Script>, Fault> {
    reading(service, move |service| Ok(Json(service.script(&id)?.document(true)))).await
}

/// A script that `caller` may stop.
fn own(service: &Service, id: &str, caller: &Caller) -> Result<Arc<ScriptJob>, Fault> {
    let script = service.script(id)?;
    match caller.may_end(&script.job.about.holder) {
        true => Ok(script),
        false => Err(Fault::forbidden(format!(
            "the script belongs to '{}'; only an admin can change it",
            script.job.about.holder
        ))),
    }
}

/// Stop a script. It is killed if it has not ended after 5 s
#[utoipa::path(post, path = "/api/v1/scripts/{id}/stop", tag = "scripts", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = Script), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn stop_script(
    State(service): Known,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Script>, Fault> {
    let script = own(&service, &id, &caller)?;
    script.job.stop(&format!("stopped by {}", caller.name));
    Ok(Json(script.document(false)))
}

/// Remove an ended script, with its files
#[utoipa::path(delete, path = "/api/v1/scripts/{id}", tag = "scripts", params(("id" = String, Path, description = "Id")),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn forget_script(
    State(service): Known,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Fault> {
    let script = own(&service, &id, &caller)?;
    blocking(service, move |service| service.forget(&Work::Script(script)).map(|()| StatusCode::NO_CONTENT))
        .await
}

/// Result of a script, eagre.script/1
#[utoipa::path(get, path = "/api/v1/scripts/{id}/result", tag = "scripts", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, content_type = "application/json", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn script_result(State(service): Known, Path(id): Path<String>) -> Result<Response, Fault> {
    let script = service.script(&id)?;
    let text = script.result().ok_or_else(|| script.job.no_result("script"))?;
    Ok(json_text(Text::new(text).bytes()))
}

/// A file that a script wrote, streamed as it grows
#[utoipa::path(get, path = "/api/v1/scripts/{id}/files/{name}", tag = "scripts",
    params(("id" = String, Path, description = "Id, or 'latest'"), ("name" = String, Path, description = "The file's name")),
    responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn script_file(
    State(service): Known,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Fault> {
    let script = service.script(&id)?;
    let found = script.clone();
    let path = reading(service, move |_| found.file(&name)).await?;
    let body = Growing::body(Work::Script(script), path);
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))], body).into_response())
}
