//! Profiles: check, store, list.

use super::body::Body;
use super::described::{Routes, routes};
use super::{Known, blocking, reading};
use crate::fault::Fault;
use crate::profiles::{check as checked, refuse_broken, text};
use api::{Check, NewCheck, NewProfile, Problem, ProfileEntry, ProfileKind, StoredProfile};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(check)).routes(routes!(profiles)).routes(routes!(kinds)).routes(routes!(
        profile,
        put_profile,
        remove_profile
    ))
}

/// Check a profile: all errors at once
#[utoipa::path(post, path = "/api/v1/profiles/check", tag = "profiles", request_body = NewCheck,
    responses((status = 200, body = Check), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn check(State(service): Known, Body(new): Body<NewCheck>) -> Result<Json<Check>, Fault> {
    let text = text(&new.profile)?;
    reading(service, move |service| Ok(Json(checked(&text, &service.profiles, &service.budget)))).await
}

/// Stored profiles and built-in examples
#[utoipa::path(get, path = "/api/v1/profiles", tag = "profiles",
    responses((status = 200, body = Vec<ProfileEntry>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn profiles(State(service): Known) -> Result<Json<Vec<ProfileEntry>>, Fault> {
    blocking(service, |service| Ok(Json(service.profiles.list()?))).await
}

/// Profiles to start common tests from, as `eagre init` writes them
#[utoipa::path(get, path = "/api/v1/kinds", tag = "profiles",
    responses((status = 200, body = Vec<ProfileKind>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn kinds() -> Json<Vec<ProfileKind>> {
    let kind = |kind: &crate::Kind| ProfileKind {
        name: kind.name.to_owned(),
        about: kind.about.to_owned(),
        profile: kind.text.to_owned(),
        method: kind.method.map(str::to_owned),
    };
    Json(crate::KINDS.iter().map(kind).collect())
}

/// Text of a profile
#[utoipa::path(get, path = "/api/v1/profiles/{name}", tag = "profiles", params(("name" = String, Path, description = "Name")),
    responses((status = 200, body = StoredProfile), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn profile(State(service): Known, Path(name): Path<String>) -> Result<Json<StoredProfile>, Fault> {
    blocking(service, move |service| {
        let profile = service.profiles.text(&name)?;
        Ok(Json(StoredProfile { name, profile }))
    })
    .await
}

/// Store a profile
#[utoipa::path(put, path = "/api/v1/profiles/{name}", tag = "profiles", params(("name" = String, Path, description = "Name")), request_body = NewProfile,
    responses((status = 200, body = StoredProfile), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn put_profile(
    State(service): Known,
    Path(name): Path<String>,
    Body(new): Body<NewProfile>,
) -> Result<Json<StoredProfile>, Fault> {
    let profile = text(&new.profile)?;
    blocking(service, move |service| {
        refuse_broken(&profile, &service.profiles, &service.budget)?;
        service.profiles.put(&name, &profile)?;
        Ok(Json(StoredProfile { name, profile }))
    })
    .await
}

/// Delete a profile
#[utoipa::path(delete, path = "/api/v1/profiles/{name}", tag = "profiles", params(("name" = String, Path, description = "Name")),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn remove_profile(State(service): Known, Path(name): Path<String>) -> Result<StatusCode, Fault> {
    blocking(service, move |service| service.profiles.remove(&name).map(|()| StatusCode::NO_CONTENT)).await
}
