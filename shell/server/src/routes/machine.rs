//! The machine and its users: versions, doctor, audit log.

use super::described::{Routes, routes};
use super::{Known, reading};
use crate::access::Caller;
use crate::fault::Fault;
use api::{AuditEntry, CheckStatus, DoctorCheck, Problem, Role, Version, Whoami};
use axum::Json;
use axum::extract::State;
use os::doctor::{self, Status};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(version))
        .routes(routes!(whoami))
        .routes(routes!(doctor))
        .routes(routes!(audit))
}

/// Versions
#[utoipa::path(get, path = "/api/v1/version", tag = "machine",
    responses((status = 200, body = Version), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn version() -> Json<Version> {
    Json(Version {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: "1".to_owned(),
        dpdk: engine::dpdk_version(),
    })
}

/// The caller's name and role
#[utoipa::path(get, path = "/api/v1/whoami", tag = "machine",
    responses((status = 200, body = Whoami), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn whoami(caller: Caller) -> Json<Whoami> {
    Json(Whoami { name: caller.name, role: caller.role })
}

/// System checks that affect measurement quality
#[utoipa::path(get, path = "/api/v1/doctor", tag = "machine",
    responses((status = 200, body = Vec<DoctorCheck>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn doctor(State(service): Known) -> Result<Json<Vec<DoctorCheck>>, Fault> {
    let check = |finding: doctor::Finding| DoctorCheck {
        check: finding.check.to_owned(),
        status: match finding.status {
            Status::Good => CheckStatus::Good,
            Status::Note => CheckStatus::Note,
            Status::Bad => CheckStatus::Bad,
        },
        found: finding.found,
        why: finding.why,
        remedy: finding.remedy,
    };
    reading(service, move |_| {
        Ok(Json(doctor::examine(&engine::dpdk_abis()).into_iter().map(check).collect()))
    })
    .await
}

/// The latest 200 changes and the latest 200 refusals, newest first
#[utoipa::path(get, path = "/api/v1/audit", tag = "machine",
    responses((status = 200, body = Vec<AuditEntry>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn audit(State(service): Known, caller: Caller) -> Result<Json<Vec<AuditEntry>>, Fault> {
    caller.must_be(Role::Admin)?;
    Ok(Json(service.audit.recent()))
}
