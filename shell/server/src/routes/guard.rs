//! Middleware of every request: authentication, authorization, audit log.

use crate::access::{Caller, Door, role_for};
use crate::connections::ConnectionHandle;
use crate::fault::Fault;
use crate::jobs::now;
use crate::listen::From;
use crate::service::Service;
use api::AuditEntry;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument;

/// Detail of a request for the audit log: the run it started.
#[derive(Debug, Clone)]
pub(crate) struct Noted(pub(crate) String);

/// Authenticates and authorizes the caller; logs the request.
pub(crate) async fn guard(
    State((service, door)): State<(Arc<Service>, Arc<Door>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let from = request.extensions().get::<From>().copied();
    let from = from.unwrap_or(From { address: nowhere, welcome: false });
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let caller = door.caller(request.headers(), from);
    let changes = !matches!(method, Method::GET | Method::HEAD | Method::OPTIONS);
    // A check changes nothing.
    let changes = changes && !path.ends_with("/check") && !path.starts_with("/monitor/");
    let may = caller.clone().and_then(|caller| caller.must_be(role_for(&method)).map(|()| caller));
    // A change that nobody could look up later is refused. What ends traffic is not.
    let may = may.and_then(|caller| match service.audit.ready() {
        Err(reason) if changes && !path.ends_with("/stop") => {
            Err(Fault::new(StatusCode::SERVICE_UNAVAILABLE, reason))
        }
        _ => Ok(caller),
    });
    let response = match may.and_then(|caller| Ok((room(&request, &caller)?, caller))) {
        // The room is needed until the body is received and used.
        Ok((_room, caller)) => {
            request.extensions_mut().insert(caller);
            next.run(request).instrument(tracing::info_span!("request", %method, %path)).await
        }
        Err(fault) => fault.into_response(),
    };
    let status = response.status();
    let refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if refused || changes {
        service.audit.note(entry(caller.ok().as_ref(), from.address, &format!("{method} {path}"), &response));
    }
    tracing::debug!(%method, %path, status = status.as_u16(), "request");
    response
}

/// Room for the body of a caller's request, by its Content-Length, before it is received. A request without one may be
/// of maximum length.
fn room(request: &Request, caller: &Caller) -> Result<Option<OwnedSemaphorePermit>, Fault> {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length: u64 = length.or(request.body().size_hint().upper()).unwrap_or(super::BODY_MAX as u64);
    if length > super::BODY_MAX as u64 {
        return Err(super::body::too_long());
    }
    let Some(connection) = request.extensions().get::<ConnectionHandle>() else { return Ok(None) };
    connection.is_of(&caller.name);
    connection.body(&caller.name, length as usize)
}

/// The entry of the audit log for a request.
fn entry(caller: Option<&Caller>, from: SocketAddr, what: &str, response: &Response) -> AuditEntry {
    let fault = response.extensions().get::<Fault>().map(|fault| fault.problem().detail.clone());
    let noted = response.extensions().get::<Noted>().map(|noted| noted.0.clone());
    AuditEntry {
        at: now(),
        who: caller.map_or_else(|| "-".to_owned(), |caller| caller.name.clone()),
        role: caller.map(|caller| caller.role),
        from: from.to_string(),
        what: hide_lease(what),
        status: response.status().as_u16(),
        detail: fault.or(noted),
    }
}

/// A lease's id is a secret: the log has its beginning only.
fn hide_lease(what: &str) -> String {
    let Some((before, rest)) = what.split_once("/leases/") else { return what.to_owned() };
    let (id, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let shown: String = id.chars().take(6).collect();
    format!("{before}/leases/{shown}…{after}")
}

/// Security headers for browsers.
pub(crate) async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_not_written_down_whole() {
        assert_eq!(hide_lease("DELETE /api/v1/leases/0123456789abcdef"), "DELETE /api/v1/leases/012345…");
        assert_eq!(hide_lease("POST /api/v1/leases/0123456789/renew"), "POST /api/v1/leases/012345…/renew");
        assert_eq!(hide_lease("POST /api/v1/leases"), "POST /api/v1/leases");
    }
}
