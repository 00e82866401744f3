//! Methods and campaigns.

use super::body::{Body, QueryOf};
use super::described::{Routes, routes};
use super::guard::Noted;
use super::runs::{every, json_text};
use super::{Known, blocking};
use crate::access::Caller;
use crate::events;
use crate::fault::Fault;
use crate::texts::Text;
use api::{Campaign, Described, Method, MethodPart, NewCampaign, Problem};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use campaign::{CampaignDocument, Settings, choices};
use serde::Deserialize;

type ResultBody = Described<CampaignDocument<'static>>;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(methods))
        .routes(routes!(campaigns, start_campaign))
        .routes(routes!(campaign))
        .routes(routes!(stop_campaign))
        .routes(routes!(campaign_events))
        .routes(routes!(campaign_result))
}

/// Test methods and their settings
#[utoipa::path(get, path = "/api/v1/methods", tag = "campaigns",
    responses((status = 200, body = Vec<Method>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn methods() -> Result<Json<Vec<Method>>, Fault> {
    let method = |choice: &campaign::Choice| {
        let parts = choice.parts(&Settings::default())?.into_iter();
        let parts =
            parts.map(|part| MethodPart { settings: part.settings().into_iter().collect(), name: part.name });
        let (name, about, parts) = (choice.name.to_owned(), choice.about.to_owned(), parts.collect());
        Ok(Method { name, about, parts })
    };
    Ok(Json(choices().iter().map(method).collect::<Result<_, Fault>>()?))
}

/// Campaigns since the server started, newest first
#[utoipa::path(get, path = "/api/v1/campaigns", tag = "campaigns",
    responses((status = 200, body = Vec<Campaign>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn campaigns(State(service): Known) -> Json<Vec<Campaign>> {
    Json(service.campaigns().iter().map(|campaign| campaign.document(false)).collect())
}

/// Start a campaign: a test method on a profile
#[utoipa::path(post, path = "/api/v1/campaigns", tag = "campaigns", request_body = NewCampaign,
    responses((status = 201, body = Campaign), (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json")))]
async fn start_campaign(
    State(service): Known,
    caller: Caller,
    Body(new): Body<NewCampaign>,
) -> Result<Response, Fault> {
    let campaign = blocking(service, move |service| service.start_campaign(&new, &caller)).await?;
    let job = &campaign.job;
    let noted =
        Noted(format!("campaign {} '{}' on {}", job.about.id, job.about.name, job.about.ports.join(", ")));
    Ok((StatusCode::CREATED, Extension(noted), Json(campaign.document(true))).into_response())
}

/// A campaign with its completed trials
#[utoipa::path(get, path = "/api/v1/campaigns/{id}", tag = "campaigns", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = Campaign), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn campaign(State(service): Known, Path(id): Path<String>) -> Result<Json<Campaign>, Fault> {
    Ok(Json(service.campaign(&id)?.document(true)))
}

/// Stop a campaign
#[utoipa::path(post, path = "/api/v1/campaigns/{id}/stop", tag = "campaigns", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = Campaign), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn stop_campaign(
    State(service): Known,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Campaign>, Fault> {
    let campaign = service.campaign(&id)?;
    if !caller.may_end(&campaign.job.about.holder) {
        return Err(Fault::forbidden(format!(
            "the campaign belongs to '{}'; only an admin can stop it",
            campaign.job.about.holder
        )));
    }
    campaign.job.stop(&format!("stopped by {}", caller.name));
    Ok(Json(campaign.document(true)))
}

/// Query of a campaign's events.
#[derive(Debug, Deserialize)]
struct EventQuery {
    every_s: Option<f64>,
}

/// Follow a campaign: server-sent events 'campaign', 'point', 'live'
#[utoipa::path(get, path = "/api/v1/campaigns/{id}/events", tag = "campaigns",
    params(("id" = String, Path, description = "Id, or 'latest'"),
        ("every_s" = Option<f64>, Query, description = "Time between events, s", minimum = 0.02, maximum = 3600.0)),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn campaign_events(
    State(service): Known,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<EventQuery>,
) -> Result<Response, Fault> {
    Ok(events::of_campaign(service.campaign(&id)?, every(query.every_s)?))
}

/// Result of a campaign, eagre.campaign/1
#[utoipa::path(get, path = "/api/v1/campaigns/{id}/result", tag = "campaigns", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = ResultBody), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn campaign_result(State(service): Known, Path(id): Path<String>) -> Result<Response, Fault> {
    let campaign = service.campaign(&id)?;
    let text = campaign.result().ok_or_else(|| campaign.job.no_result("campaign"))?;
    Ok(json_text(Text::new(text).bytes()))
}
