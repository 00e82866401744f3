//! The results store: list, show, compare, report, export.

use super::body::Asked;
use super::runs::json_text;
use super::{Known, blocking};
use crate::access::Caller;
use crate::fault::Fault;
use crate::service::Service;
use api::{Problem, Role};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{Filter, Loaded, Store, export, report};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Results that are listed at most.
const LIST_MAX: u32 = 1_000;
/// Results that are put side by side at most.
const COMPARE_MAX: usize = 20;
/// Reports have their styles in them, and run no script.
const REPORT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(results))
        .routes(routes!(stored, remove))
        .routes(routes!(stored_report))
        .routes(routes!(exported))
        .routes(routes!(compare))
        .routes(routes!(compare_report))
}

fn json(value: &impl Serialize) -> Result<Response, Fault> {
    let text = serde_json::to_string(value);
    Ok(json_text(text.map_err(|error| Fault::machine(error.to_string()))?))
}

fn html(page: String) -> Response {
    let mut response = page.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY));
    response
}

fn loaded(store: &Store, reference: &str) -> Result<Loaded, Fault> {
    Ok(store.load(&store.find(reference)?)?)
}

/// Which results.
#[derive(Debug, Deserialize)]
struct ListQuery {
    method: Option<String>,
    name: Option<String>,
    tag: Option<String>,
    since: Option<String>,
    limit: Option<u32>,
}

/// Results, newest first
#[utoipa::path(get, path = "/api/v1/results", tag = "results",
    params(("method" = Option<String>, Query, description = "Only this method"), ("name" = Option<String>, Query, description = "Only this name"),
        ("tag" = Option<String>, Query, description = "Only with these tags, a comma between them"), ("since" = Option<String>, Query, description = "Only begun then or later"),
        ("limit" = Option<u32>, Query, description = "At most so many; 50 if left out", maximum = 1000)),
    responses((status = 200, body = Vec<Object>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn results(State(service): Known, Asked(query): Asked<ListQuery>) -> Result<Response, Fault> {
    let limit = query.limit.unwrap_or(50);
    if limit > LIST_MAX {
        return Err(Fault::value("limit", format!("at most {LIST_MAX} are listed")));
    }
    let tags = query.tag.as_deref().unwrap_or_default().split(',').filter(|tag| !tag.is_empty());
    let filter = Filter {
        method: query.method,
        name: query.name,
        tags: tags.map(str::to_owned).collect(),
        since: query.since,
        limit: Some(limit),
    };
    blocking(service, move |service| json(&Store::open(&service.store)?.list(&filter)?)).await
}

/// A result with everything
#[utoipa::path(get, path = "/api/v1/results/{id}", tag = "results", params(("id" = String, Path, description = "Its id, its beginning, or 'latest'")),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn stored(State(service): Known, Path(id): Path<String>) -> Result<Response, Fault> {
    blocking(service, move |service| {
        let store = Store::open(&service.store)?;
        json(&export::json(&store, &store.find(&id)?)?)
    })
    .await
}

/// Delete a result
#[utoipa::path(delete, path = "/api/v1/results/{id}", tag = "results", params(("id" = String, Path, description = "Its id")),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn remove(State(service): Known, caller: Caller, Path(id): Path<String>) -> Result<StatusCode, Fault> {
    caller.must_be(Role::Admin)?;
    blocking(service, move |service| {
        let mut store = Store::open(&service.store)?;
        let id = store.find(&id)?;
        if service.works().iter().any(|work| work.job().about.id == id.as_str() && !work.job().has_ended()) {
            return Err(Fault::conflict("it has not ended; stop it first"));
        }
        store.delete(&id)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// A result's report, one HTML page
#[utoipa::path(get, path = "/api/v1/results/{id}/report", tag = "results", params(("id" = String, Path, description = "Its id, its beginning, or 'latest'")),
    responses((status = 200, content_type = "text/html", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn stored_report(State(service): Known, Path(id): Path<String>) -> Result<Response, Fault> {
    blocking(service, move |service| Ok(html(report::campaign(&loaded(&Store::open(&service.store)?, &id)?))))
        .await
}

/// In which form.
#[derive(Debug, Deserialize)]
struct ExportQuery {
    format: Option<String>,
}

/// A result for other programs
#[utoipa::path(get, path = "/api/v1/results/{id}/export", tag = "results",
    params(("id" = String, Path, description = "Its id, its beginning, or 'latest'"), ("format" = Option<String>, Query, description = "csv, json or trending")),
    responses((status = 200, body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn exported(
    State(service): Known,
    Path(id): Path<String>,
    Asked(query): Asked<ExportQuery>,
) -> Result<Response, Fault> {
    blocking(service, move |service| {
        let store = Store::open(&service.store)?;
        let id = store.find(&id)?;
        match query.format.as_deref().unwrap_or("csv") {
            "json" => json(&export::json(&store, &id)?),
            "trending" => json(&export::trending(&store.load(&id)?)),
            "csv" => {
                let mut text = Vec::new();
                export::csv(&[store.load(&id)?], &mut text)?;
                let kind = HeaderValue::from_static("text/csv; charset=utf-8");
                Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
            }
            other => Err(Fault::value("format", format!("'{other}' is none of csv, json, trending"))),
        }
    })
    .await
}

/// Which results side by side.
#[derive(Debug, Deserialize)]
struct CompareQuery {
    ids: String,
    rows: Option<String>,
    columns: Option<String>,
}

impl CompareQuery {
    fn loaded(&self, service: &Service) -> Result<Vec<Loaded>, Fault> {
        let ids: Vec<&str> = self.ids.split(',').filter(|id| !id.is_empty()).collect();
        if !(2..=COMPARE_MAX).contains(&ids.len()) {
            return Err(Fault::value(
                "ids",
                format!("from 2 to {COMPARE_MAX} ids, a comma between them, are expected"),
            ));
        }
        let store = Store::open(&service.store)?;
        ids.into_iter().map(|id| loaded(&store, id)).collect()
    }
}

/// Results side by side; differences are from the first
#[utoipa::path(get, path = "/api/v1/compare", tag = "results",
    params(("ids" = String, Query, description = "Two ids or more, a comma between them")),
    responses((status = 200, body = Object), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn compare(State(service): Known, Asked(query): Asked<CompareQuery>) -> Result<Response, Fault> {
    blocking(service, move |service| json(&store::compare(&query.loaded(service)?))).await
}

/// Results side by side, one HTML page
#[utoipa::path(get, path = "/api/v1/compare/report", tag = "results",
    params(("ids" = String, Query, description = "Two ids or more, a comma between them"),
        ("rows" = Option<String>, Query, description = "Tag whose values are the rows of tables"), ("columns" = Option<String>, Query, description = "and of their columns")),
    responses((status = 200, content_type = "text/html", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn compare_report(State(service): Known, Asked(query): Asked<CompareQuery>) -> Result<Response, Fault> {
    blocking(service, move |service| {
        let (rows, columns) =
            (query.rows.as_deref().unwrap_or("dut"), query.columns.as_deref().unwrap_or("config"));
        Ok(html(report::comparison(&query.loaded(service)?, rows, columns)))
    })
    .await
}
