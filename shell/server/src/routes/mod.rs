//! Routes of the native API: each calls the service and converts its result to HTTP. The OpenAPI document is generated
//! from them.

mod body;
mod campaigns;
mod guard;
mod machine;
mod ports;
mod profiles;
mod results;
mod runs;
mod scripts;

pub(crate) use body::{QueryOf, Whole};

use crate::access::Door;
use crate::assets;
use crate::fault::Fault;
use crate::otg::{self, Otg};
use crate::service::Service;
use api::{Live, Problem, Role};
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;

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

#[derive(OpenApi)]
#[openapi(
    info(title = "Eagre", description = "Network traffic generator and test system: ports, runs, methods, results.", license(name = "Apache-2.0")),
    components(schemas(Live, Problem, Role)),
    modifiers(&Bearer),
    security(("token" = []))
)]
struct Document;

/// Bearer tokens (RFC 6750).
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

fn api_routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(machine::routes())
        .merge(ports::routes())
        .merge(profiles::routes())
        .merge(runs::routes())
        .merge(campaigns::routes())
        .merge(scripts::routes())
        .merge(results::routes())
}

/// The OpenAPI 3.1 document of the native API.
pub fn openapi() -> Value {
    let (_, document) = api_routes().split_for_parts();
    // Made of strings, numbers and lists.
    serde_json::to_value(&document).unwrap_or_default()
}

/// All routes of the server.
pub(crate) fn router(service: Arc<Service>, door: Arc<Door>, otg: &Arc<Otg>) -> Router {
    let (api, _) = api_routes().split_for_parts();
    let document = Arc::new(openapi());
    let openapi = get(move || async move { axum::Json(document.as_ref().clone()) });
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
