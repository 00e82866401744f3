//! The machine and who uses it: version, doctor, audit log.

use super::{Known, blocking};
use crate::access::Caller;
use crate::fault::Fault;
use crate::service::Service;
use api::{AuditEntry, Problem, Role, Version, Whoami};
use axum::Json;
use axum::extract::State;
use serde_json::Value;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(version))
        .routes(routes!(whoami))
        .routes(routes!(doctor))
        .routes(routes!(audit))
}

/// What answers
#[utoipa::path(get, path = "/api/v1/version", tag = "machine",
    responses((status = 200, body = Version), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn version() -> Json<Version> {
    Json(Version {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: "1".to_owned(),
        dpdk: engine::dpdk_version(),
    })
}

/// Who asks
#[utoipa::path(get, path = "/api/v1/whoami", tag = "machine",
    responses((status = 200, body = Whoami), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn whoami(caller: Caller) -> Json<Whoami> {
    Json(Whoami { name: caller.name, role: caller.role })
}

/// What about this machine spoils measurements
#[utoipa::path(get, path = "/api/v1/doctor", tag = "machine",
    responses((status = 200, body = Vec<Object>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn doctor(State(service): Known) -> Result<Json<Value>, Fault> {
    blocking(service, |_| Ok(Json(campaign::findings()))).await
}

/// Who did what, newest first
#[utoipa::path(get, path = "/api/v1/audit", tag = "machine",
    responses((status = 200, body = Vec<AuditEntry>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn audit(State(service): Known, caller: Caller) -> Result<Json<Vec<AuditEntry>>, Fault> {
    caller.must_be(Role::Admin)?;
    Ok(Json(service.audit.recent()))
}
