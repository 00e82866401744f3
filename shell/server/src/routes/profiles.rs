//! Profiles: check them, keep them.

use super::body::Body;
use super::{Known, blocking};
use crate::fault::Fault;
use crate::profiles::{check as checked, text};
use crate::service::Service;
use api::{Check, NewCheck, NewProfile, Problem, ProfileEntry, StoredProfile};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use profile::Overrides;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(check)).routes(routes!(profiles)).routes(routes!(
        profile,
        put_profile,
        remove_profile
    ))
}

/// Check a profile: every error at once
#[utoipa::path(post, path = "/api/v1/profiles/check", tag = "profiles", request_body = NewCheck,
    responses((status = 200, body = Check), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn check(State(service): Known, Body(new): Body<NewCheck>) -> Result<Json<Check>, Fault> {
    let text = text(&new.profile)?;
    blocking(service, move |service| Ok(Json(checked(&text, &service.shelf)))).await
}

/// Profiles that are kept, and those that came with the program
#[utoipa::path(get, path = "/api/v1/profiles", tag = "profiles",
    responses((status = 200, body = Vec<ProfileEntry>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn profiles(State(service): Known) -> Result<Json<Vec<ProfileEntry>>, Fault> {
    blocking(service, |service| Ok(Json(service.shelf.list()?))).await
}

/// A profile's text
#[utoipa::path(get, path = "/api/v1/profiles/{name}", tag = "profiles", params(("name" = String, Path, description = "Its name")),
    responses((status = 200, body = StoredProfile), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn profile(State(service): Known, Path(name): Path<String>) -> Result<Json<StoredProfile>, Fault> {
    blocking(service, move |service| {
        let profile = service.shelf.text(&name)?;
        Ok(Json(StoredProfile { name, profile }))
    })
    .await
}

/// Keep a profile
#[utoipa::path(put, path = "/api/v1/profiles/{name}", tag = "profiles", params(("name" = String, Path, description = "Its name")), request_body = NewProfile,
    responses((status = 200, body = StoredProfile), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn put_profile(
    State(service): Known,
    Path(name): Path<String>,
    Body(new): Body<NewProfile>,
) -> Result<Json<StoredProfile>, Fault> {
    let profile = text(&new.profile)?;
    blocking(service, move |service| {
        let overrides = Overrides { default_seed: 1, ..Overrides::default() };
        crate::profiles::plan(&profile, &overrides, &service.shelf)
            .map_err(|errors| Fault::profile(&errors))?;
        service.shelf.put(&name, &profile)?;
        Ok(Json(StoredProfile { name, profile }))
    })
    .await
}

/// Forget a profile
#[utoipa::path(delete, path = "/api/v1/profiles/{name}", tag = "profiles", params(("name" = String, Path, description = "Its name")),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn remove_profile(State(service): Known, Path(name): Path<String>) -> Result<StatusCode, Fault> {
    blocking(service, move |service| service.shelf.remove(&name).map(|()| StatusCode::NO_CONTENT)).await
}
