//! Runs.

use super::body::{Body, QueryOf};
use super::described::{Routes, routes};
use super::guard::Noted;
use super::{Known, blocking, reading};
use crate::access::Caller;
use crate::events::{self, Form};
use crate::fault::Fault;
use crate::runs::{RunJob, RunMode};
use crate::service::{Service, Work};
use crate::texts::Text;
use api::{
    Accepted, Described, NewPing, NewProtocolChange, NewRate, NewRun, NewStreams, PingResult, Problem,
    ProtocolChange, RemovedStreams, Run, Snapshot,
};
use axum::body::Body as Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::stream;
use serde::Deserialize;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

type StatesBody = Described<result::ProtocolStates>;
type ChangeBody = Accepted<NewProtocolChange>;
type ResultBody = Described<result::ResultDocument>;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(runs, start))
        .routes(routes!(run, forget))
        .routes(routes!(stop))
        .routes(routes!(rate))
        .routes(routes!(add_streams, remove_streams))
        .routes(routes!(clear_counters))
        .routes(routes!(ping))
        .routes(routes!(protocols, change_protocols))
        .routes(routes!(snapshot))
        .routes(routes!(run_events))
        .routes(routes!(result))
        .routes(routes!(capture))
}

/// Runs, newest first
#[utoipa::path(get, path = "/api/v1/runs", tag = "runs",
    responses((status = 200, body = Vec<Run>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn runs(State(service): Known) -> Result<Response, Fault> {
    // Runs of many streams have many names.
    let listed = reading(service, |service| {
        let own = service.runs();
        let all = own.iter().map(|run| run.document()).chain(service.unfinished().iter().cloned());
        let text = serde_json::to_vec(&all.collect::<Vec<Run>>());
        text.map_err(|error| Fault::machine(error.to_string()))
    });
    Ok(json_text(listed.await?))
}

/// Start a run. Answers once its ports are open
#[utoipa::path(post, path = "/api/v1/runs", tag = "runs", request_body = NewRun,
    responses((status = 201, body = Run), (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json")))]
async fn start(State(service): Known, caller: Caller, Body(new): Body<NewRun>) -> Result<Response, Fault> {
    let run = service.start(new, RunMode::default(), caller).await?;
    let noted = Noted(format!(
        "run {} '{}' on {}",
        run.job.about.id,
        run.job.about.name,
        run.job.about.ports.join(", ")
    ));
    Ok((StatusCode::CREATED, Extension(noted), Json(run.document())).into_response())
}

/// A run
#[utoipa::path(get, path = "/api/v1/runs/{id}", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn run(State(service): Known, Path(id): Path<String>) -> Result<Json<Run>, Fault> {
    match service.run(&id) {
        Ok(run) => Ok(Json(run.document())),
        Err(fault) => service.unfinished().iter().find(|run| run.id == id).cloned().map(Json).ok_or(fault),
    }
}

/// Remove an ended run from the list. Its result stays in the store
#[utoipa::path(delete, path = "/api/v1/runs/{id}", tag = "runs", params(("id" = String, Path, description = "Id")),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn forget(State(service): Known, caller: Caller, Path(id): Path<String>) -> Result<StatusCode, Fault> {
    let run = own(&service, &id, &caller)?;
    blocking(service, move |service| service.forget(&Work::Run(run)).map(|()| StatusCode::NO_CONTENT)).await
}

/// A run that `caller` may stop.
fn own(service: &Service, id: &str, caller: &Caller) -> Result<Arc<RunJob>, Fault> {
    let run = service.run(id)?;
    match caller.may_end(&run.job.about.holder) {
        true => Ok(run),
        false => Err(Fault::forbidden(format!(
            "the run belongs to '{}'; only an admin can change it",
            run.job.about.holder
        ))),
    }
}

/// Stop a run. It still waits for late packets and has a result
#[utoipa::path(post, path = "/api/v1/runs/{id}/stop", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn stop(State(service): Known, caller: Caller, Path(id): Path<String>) -> Result<Json<Run>, Fault> {
    let run = own(&service, &id, &caller)?;
    run.job.stop(&format!("stopped by {}", caller.name));
    Ok(Json(run.document()))
}

/// Change rates: of all streams or one; pause; resume
#[utoipa::path(post, path = "/api/v1/runs/{id}/rate", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")), request_body = NewRate,
    responses((status = 200, body = Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn rate(
    State(service): Known,
    caller: Caller,
    Path(id): Path<String>,
    Body(change): Body<NewRate>,
) -> Result<Json<Run>, Fault> {
    let run = own(&service, &id, &caller)?;
    run.change(&change, &service.limits).await?;
    Ok(Json(run.document()))
}

/// Add streams to a run. Returns once the streams are sending; running streams are not affected
#[utoipa::path(post, path = "/api/v1/runs/{id}/streams", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")), request_body = NewStreams,
    responses((status = 200, body = Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn add_streams(
    State(service): Known,
    caller: Caller,
    Path(id): Path<String>,
    Body(new): Body<NewStreams>,
) -> Result<Json<Run>, Fault> {
    let run = own(&service, &id, &caller)?;
    service.add_streams(&run, &new).await?;
    Ok(Json(run.document()))
}

/// Remove streams from a run. Their counters stay
#[utoipa::path(delete, path = "/api/v1/runs/{id}/streams", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")), request_body = RemovedStreams,
    responses((status = 200, body = Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn remove_streams(
    State(service): Known,
    caller: Caller,
    Path(id): Path<String>,
    Body(removed): Body<RemovedStreams>,
) -> Result<Json<Run>, Fault> {
    let run = own(&service, &id, &caller)?;
    run.remove_streams(removed).await?;
    Ok(Json(run.document()))
}

/// Set the counters of a run to zero: snapshots and the result count from then on
#[utoipa::path(post, path = "/api/v1/runs/{id}/clear", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn clear_counters(
    State(service): Known,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Run>, Fault> {
    let run = own(&service, &id, &caller)?;
    run.clear().await?;
    Ok(Json(run.document()))
}

/// Send a ping from a port of a run. Answers with its outcome
#[utoipa::path(post, path = "/api/v1/runs/{id}/pings", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")), request_body = NewPing,
    responses((status = 200, body = PingResult), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn ping(
    State(service): Known,
    caller: Caller,
    Path(id): Path<String>,
    Body(new): Body<NewPing>,
) -> Result<Json<PingResult>, Fault> {
    Ok(Json(own(&service, &id, &caller)?.ping(&new).await?))
}

/// Query of the state of protocols.
#[derive(Deserialize)]
struct RoutesQuery {
    #[serde(default)]
    routes: bool,
    limit: Option<usize>,
}

/// State of a run's control protocols
#[utoipa::path(get, path = "/api/v1/runs/{id}/protocols", tag = "runs",
    params(("id" = String, Path, description = "Id, or 'latest'"),
        ("routes" = Option<bool>, Query, description = "With the routes and link states of neighbours that are kept"),
        ("limit" = Option<usize>, Query, description = "Maximum number of entries of each kind; 'counts' cover all")),
    responses((status = 200, body = StatesBody), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn protocols(
    State(service): Known,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<RoutesQuery>,
) -> Result<Response, Fault> {
    let states = service.run(&id)?.protocols(query.routes, query.limit).await?;
    Ok(Json(states).into_response())
}

/// Change a run's control protocols: advertise or withdraw routes, take sessions, adjacencies and virtual routers up or down, renew or release leases and sessions of clients, enable or disable agents and ports of lags, set priorities
#[utoipa::path(post, path = "/api/v1/runs/{id}/protocols", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")), request_body = ChangeBody,
    responses((status = 200, body = ProtocolChange), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn change_protocols(
    State(service): Known,
    caller: Caller,
    Path(id): Path<String>,
    Body(change): Body<NewProtocolChange>,
) -> Result<Json<ProtocolChange>, Fault> {
    Ok(Json(own(&service, &id, &caller)?.change_protocols(&change).await?))
}

/// The last interval and the totals of a run
#[utoipa::path(get, path = "/api/v1/runs/{id}/snapshot", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = Snapshot), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn snapshot(State(service): Known, Path(id): Path<String>) -> Result<Response, Fault> {
    let text = service.run(&id)?.full_text().await;
    Ok(json_text(text.ok_or_else(|| Fault::machine("the snapshot's thread failed"))?.bytes()))
}

/// Query of a run's events.
#[derive(Debug, Deserialize)]
struct EventQuery {
    every_s: Option<f64>,
    form: Option<String>,
}

/// Time between events.
pub(super) fn every(seconds: Option<f64>) -> Result<Duration, Fault> {
    match seconds.unwrap_or(0.1) {
        seconds if (0.02..=3_600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(Fault::value("every_s", "expected 0.02 to 3600")),
    }
}

/// Follow a run: server-sent events 'run', 'live' or 'full', 'result'
#[utoipa::path(get, path = "/api/v1/runs/{id}/events", tag = "runs",
    params(("id" = String, Path, description = "Id, or 'latest'"),
        ("every_s" = Option<f64>, Query, description = "Time between events, s", minimum = 0.02, maximum = 3600.0),
        ("form" = Option<String>, Query, description = "'live': columns (default); 'full': snapshots")),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn run_events(
    State(service): Known,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<EventQuery>,
) -> Result<Response, Fault> {
    let form = match query.form.as_deref() {
        None | Some("live") => Form::Live,
        Some("full") => Form::Full,
        Some(other) => return Err(Fault::value("form", format!("'{other}' is neither 'live' nor 'full'"))),
    };
    Ok(events::of_run(service.run(&id)?, form, every(query.every_s)?))
}

/// Result of a run, eagre.result/1
#[utoipa::path(get, path = "/api/v1/runs/{id}/result", tag = "runs", params(("id" = String, Path, description = "Id, or 'latest'")),
    responses((status = 200, body = ResultBody), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn result(State(service): Known, Path(id): Path<String>) -> Result<Response, Fault> {
    let run = service.run(&id)?;
    let text = run.result().ok_or_else(|| run.job.no_result("run"))?;
    Ok(json_text(Text::new(text).bytes()))
}

/// A response of JSON text.
pub(super) fn json_text(text: impl Into<Bytes>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text.into()).into_response()
}

/// Capture of a port, pcapng, streamed as it grows
#[utoipa::path(get, path = "/api/v1/runs/{id}/captures/{port}", tag = "runs",
    params(("id" = String, Path, description = "Id, or 'latest'"), ("port" = String, Path, description = "The port's name in the profile")),
    responses((status = 200, content_type = "application/x-pcapng", body = Vec<u8>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn capture(State(service): Known, Path((id, port)): Path<(String, String)>) -> Result<Response, Fault> {
    let run = service.run(&id)?;
    let Some(path) = run.captures.get(&port).cloned() else {
        return Err(Fault::not_found(format!("this run has no capture on port '{port}'")));
    };
    let body = Growing::body(Work::Run(run), path);
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/x-pcapng"))], body).into_response())
}

/// Bytes per read.
const CHUNK: usize = 256 << 10;
/// Time between reads at the end of a growing file.
const PATIENCE: Duration = Duration::from_millis(100);
/// Reads at a time, of all clients; the others wait for their turn. So other requests always find a thread.
static READS: Semaphore = Semaphore::const_new(4);

/// A file that may still grow, until what writes it has ended. While it waits for that, or for its client, it holds no thread and
/// no open file.
pub(super) struct Growing {
    work: Work,
    path: PathBuf,
    at: u64,
    over: bool,
}

impl Growing {
    /// The body of a response that has the file at `path`, which `work` may still write.
    pub(super) fn body(work: Work, path: PathBuf) -> Bytes {
        Bytes::from_stream(stream::unfold(Self { work, path, at: 0, over: false }, Self::next))
    }

    /// The next bytes; none at the end.
    async fn next(mut self) -> Option<(std::io::Result<Vec<u8>>, Self)> {
        while !self.over {
            // Asked before reading: what was written before the end is read after it.
            let ended = self.work.job().has_ended();
            match self.read().await {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => {
                    self.at += bytes.len() as u64;
                    return Some((Ok(bytes), self));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && !ended => {}
                Err(error) => {
                    self.over = true;
                    return Some((Err(error), self));
                }
            }
            self.over = ended;
            if !ended {
                tokio::time::sleep(PATIENCE).await;
            }
        }
        None
    }

    async fn read(&self) -> std::io::Result<Vec<u8>> {
        let turn = READS.acquire().await.map_err(std::io::Error::other)?;
        let (path, at) = (self.path.clone(), self.at);
        let read = tokio::task::spawn_blocking(move || {
            // Released by the thread: a client that leaves does not end its read.
            let _turn = turn;
            let mut file = std::fs::File::open(path)?;
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = Vec::new();
            file.take(CHUNK as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        read.await.map_err(std::io::Error::other)?
    }
}
