//! The results store: list, show, compare, report, export.

use super::body::QueryOf;
use super::described::{Routes, routes};
use super::runs::json_text;
use super::{Known, blocking, reading};
use crate::access::Caller;
use crate::fault::Fault;
use crate::service::Service;
use api::{Described, Problem, Role};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use store::{Filter, Loaded, Store, export, report};

/// Longest list.
const LIST_MAX: u32 = 1_000;
/// Most results in a comparison.
const COMPARE_MAX: usize = 20;
/// Reports contain their styles and run no scripts.
const REPORT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

type ArchiveBody = Described<store::Archive>;
type SummaryBody = Described<store::Summary>;
type ComparisonBody = Described<store::Comparison>;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(results))
        .routes(routes!(stored, remove))
        .routes(routes!(stored_report))
        .routes(routes!(exported))
        .routes(routes!(compare))
        .routes(routes!(compare_report))
}

fn csv(text: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"))], text).into_response()
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

/// Query of the list.
#[derive(Debug, Deserialize)]
struct ListQuery {
    method: Option<String>,
    name: Option<String>,
    tag: Option<String>,
    since: Option<String>,
    limit: Option<u32>,
}

/// Stored results, newest first
#[utoipa::path(get, path = "/api/v1/results", tag = "results",
    params(("method" = Option<String>, Query, description = "Method"), ("name" = Option<String>, Query, description = "Name"),
        ("tag" = Option<String>, Query, description = "Tags, separated by commas; all of them must match"), ("since" = Option<String>, Query, description = "Earliest start: RFC 3339 in UTC, or a date"),
        ("limit" = Option<u32>, Query, description = "Maximum number of results; default 50", maximum = 1000)),
    responses((status = 200, body = Vec<SummaryBody>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn results(State(service): Known, QueryOf(query): QueryOf<ListQuery>) -> Result<Response, Fault> {
    let limit = query.limit.unwrap_or(50);
    if limit > LIST_MAX {
        return Err(Fault::value("limit", format!("expected at most {LIST_MAX}")));
    }
    let tags = query.tag.as_deref().unwrap_or_default().split(',').filter(|tag| !tag.is_empty());
    let filter = Filter {
        method: query.method,
        name: query.name,
        tags: tags.map(str::to_owned).collect(),
        since: query.since,
        limit: Some(limit),
    };
    reading(service, move |service| json(&Store::open(&service.store)?.list(&filter)?)).await
}

/// A stored result with all its trials, eagre.archive/1
#[utoipa::path(get, path = "/api/v1/results/{id}", tag = "results", params(("id" = String, Path, description = "Id, its beginning, or 'latest'")),
    responses((status = 200, body = ArchiveBody), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn stored(State(service): Known, Path(id): Path<String>) -> Result<Response, Fault> {
    reading(service, move |service| {
        let store = Store::open(&service.store)?;
        json(&export::archive(&store, &store.find(&id)?)?)
    })
    .await
}

/// Delete a stored result
#[utoipa::path(delete, path = "/api/v1/results/{id}", tag = "results", params(("id" = String, Path, description = "Id")),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn remove(State(service): Known, caller: Caller, Path(id): Path<String>) -> Result<StatusCode, Fault> {
    caller.must_be(Role::Admin)?;
    blocking(service, move |service| {
        let mut store = Store::open(&service.store)?;
        let id = store.find(&id)?;
        if service.works().iter().any(|work| work.job().about.id == id.as_str() && !work.job().has_ended()) {
            return Err(Fault::conflict("it is still running; stop it first"));
        }
        store.delete(&id)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Report on a stored result, one HTML page
#[utoipa::path(get, path = "/api/v1/results/{id}/report", tag = "results", params(("id" = String, Path, description = "Id, its beginning, or 'latest'")),
    responses((status = 200, content_type = "text/html", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn stored_report(State(service): Known, Path(id): Path<String>) -> Result<Response, Fault> {
    reading(service, move |service| Ok(html(report::campaign(&loaded(&Store::open(&service.store)?, &id)?))))
        .await
}

/// Query of an export.
#[derive(Debug, Deserialize)]
struct ExportQuery {
    format: Option<String>,
}

/// Export a stored result
#[utoipa::path(get, path = "/api/v1/results/{id}/export", tag = "results",
    params(("id" = String, Path, description = "Id, its beginning, or 'latest'"), ("format" = Option<String>, Query, description = "csv (default), findings, json or trending")),
    responses((status = 200, body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn exported(
    State(service): Known,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<ExportQuery>,
) -> Result<Response, Fault> {
    reading(service, move |service| {
        let store = Store::open(&service.store)?;
        let id = store.find(&id)?;
        match query.format.as_deref().unwrap_or("csv") {
            "json" => json(&export::archive(&store, &id)?),
            "trending" => json(&export::trending(&store.load(&id)?)),
            "csv" => {
                let mut text = Vec::new();
                export::csv(&[store.load(&id)?], &mut text)?;
                Ok(csv(text))
            }
            "findings" => {
                let mut text = Vec::new();
                export::findings(&[store.load(&id)?], &mut text)?;
                Ok(csv(text))
            }
            other => Err(Fault::value("format", format!("'{other}' is not csv, findings, json or trending"))),
        }
    })
    .await
}

/// Query of a comparison.
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
            return Err(Fault::value("ids", format!("expected 2 to {COMPARE_MAX} ids, separated by commas")));
        }
        let store = Store::open(&service.store)?;
        ids.into_iter().map(|id| loaded(&store, id)).collect()
    }
}

/// Compare stored results with the first one
#[utoipa::path(get, path = "/api/v1/compare", tag = "results",
    params(("ids" = String, Query, description = "Two or more ids, separated by commas")),
    responses((status = 200, body = ComparisonBody), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn compare(State(service): Known, QueryOf(query): QueryOf<CompareQuery>) -> Result<Response, Fault> {
    reading(service, move |service| json(&store::compare(&query.loaded(service)?))).await
}

/// Report on a comparison, one HTML page
#[utoipa::path(get, path = "/api/v1/compare/report", tag = "results",
    params(("ids" = String, Query, description = "Two or more ids, separated by commas"),
        ("rows" = Option<String>, Query, description = "Tag whose values are the rows of tables; default dut"), ("columns" = Option<String>, Query, description = "Tag whose values are their columns; default config")),
    responses((status = 200, content_type = "text/html", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn compare_report(
    State(service): Known,
    QueryOf(query): QueryOf<CompareQuery>,
) -> Result<Response, Fault> {
    reading(service, move |service| {
        let (rows, columns) =
            (query.rows.as_deref().unwrap_or("dut"), query.columns.as_deref().unwrap_or("config"));
        Ok(html(report::comparison(&query.loaded(service)?, rows, columns)))
    })
    .await
}
