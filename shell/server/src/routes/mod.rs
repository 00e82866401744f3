//! Routes of the native API: each calls the service and converts its result to HTTP. The OpenAPI document is generated
//! from them.

mod body;
mod campaigns;
mod described;
mod guard;
mod machine;
mod ports;
mod profiles;
mod results;
mod runs;
mod scripts;

pub(crate) use body::{QueryOf, Whole};

use self::described::Routes;
use crate::access::Door;
use crate::assets;
use crate::fault::Fault;
use crate::otg::{self, Otg};
use crate::service::Service;
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Maximum length of a request's body, bytes.
const BODY_MAX: usize = 16 << 20;

/// State of handlers.
pub(crate) type Known = State<Arc<Service>>;

/// Runs blocking work: files, the store, opening ports.
pub(crate) async fn blocking<T: Send + 'static>(
    service: Arc<Service>,
    work: impl FnOnce(&Arc<Service>) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(move || work(&service)).await;
    done.unwrap_or_else(|_| {
        Err(Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal error, please report it: the request's thread panicked",
        ))
    })
}

/// Concurrent reads of all clients: the others wait, so that requests to start or stop something find a thread.
static READS: Semaphore = Semaphore::const_new(8);

/// Runs blocking work that only reads.
pub(crate) async fn reading<T: Send + 'static>(
    service: Arc<Service>,
    work: impl FnOnce(&Arc<Service>) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let turn = READS.acquire().await;
    blocking(service, move |service| {
        // A client that leaves does not end its read.
        let _turn = turn;
        work(service)
    })
    .await
}

fn api_routes() -> Routes {
    Routes::new()
        .merge(machine::routes())
        .merge(ports::routes())
        .merge(profiles::routes())
        .merge(runs::routes())
        .merge(campaigns::routes())
        .merge(scripts::routes())
        .merge(results::routes())
}

/// The OpenAPI 3.1 document of the native API, as JSON. A test keeps it equal to the routes.
pub const OPENAPI: &str = include_str!("../../../../docs/openapi.json");

/// All routes of the server.
pub(crate) fn router(service: Arc<Service>, door: Arc<Door>, otg: &Arc<Otg>) -> Router {
    let api = api_routes().served();
    let openapi = get(|| async { ([(CONTENT_TYPE, "application/json")], OPENAPI) });
    let schema = get(|| async { axum::Json(profile::schema()) });
    let guarded = api
        .merge(otg::routes::routes(otg))
        .route("/api/v1/openapi.json", openapi)
        .route("/api/v1/profile.schema.json", schema)
        .route("/metrics", get(crate::metrics::scrape))
        .layer(axum::middleware::from_fn_with_state((service.clone(), door), guard::guard));
    guarded
        .route("/healthz", get(|| async { axum::Json(json!({"status": "ok"})) }))
        .method_not_allowed_fallback(not_allowed)
        .fallback(elsewhere)
        .layer(axum::middleware::from_fn(otg::routes::errors))
        .layer(axum::middleware::from_fn(guard::headers))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(service)
}

async fn not_allowed(method: Method, uri: Uri) -> Response {
    Fault::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not support {method}", uri.path()))
        .into_response()
}

/// Files of the dashboard and the documentation. They need no token; the data they show does.
async fn elsewhere(State(service): Known, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return Fault::not_found(format!("no such path: {}", uri.path())).into_response();
    }
    if uri.path() == "/docs" {
        return Redirect::permanent("/docs/").into_response();
    }
    if let Some(name) = uri.path().strip_prefix("/docs/").map(str::to_owned) {
        let read = reading(service, move |service| service.pages.serve(&name, &headers)).await;
        return read.unwrap_or_else(IntoResponse::into_response);
    }
    assets::serve(uri.path(), &headers).unwrap_or_else(IntoResponse::into_response)
}
