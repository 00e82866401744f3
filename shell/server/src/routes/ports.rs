//! Ports and leases.

use super::body::{Body, MaybeBody};
use super::described::{Routes, routes};
use super::{Known, blocking, reading};
use crate::access::Caller;
use crate::fault::Fault;
use crate::service::Service;
use api::{Lease, NewLease, Port, PortKind, Problem, Renewal};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use os::link::LinkFacts;

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(ports))
        .routes(routes!(leases, lease))
        .routes(routes!(renew))
        .routes(routes!(release))
}

/// Ports of this machine and their leases
#[utoipa::path(get, path = "/api/v1/ports", tag = "ports",
    responses((status = 200, body = Vec<Port>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn ports(State(service): Known) -> Result<Json<Vec<Port>>, Fault> {
    reading(service, |service| Ok(Json(all_ports(service)?))).await
}

fn all_ports(service: &Service) -> Result<Vec<Port>, Fault> {
    let links = os::link::list();
    let links = links.map_err(|error| Fault::machine(format!("cannot list the kernel's links: {error}")))?;
    let routes = os::default_route::interfaces().unwrap_or_default();
    let interfaces = links.iter().filter(|link| !link.loopback).map(|link| interface(link, &routes));
    let cards = os::doctor::network_cards();
    let cards = cards.iter().map(|card| Port {
        name: card.address.clone(),
        device: card.address.clone(),
        kind: PortKind::Pci,
        up: card.is_bypass(),
        driver: card.driver.clone(),
        note: (!card.is_bypass()).then(|| "owned by the kernel".to_owned()),
        ..port("")
    });
    let inside = ["ring:a", "ring:b", "null"].into_iter().map(port);
    let remote = service.fleet.as_ref().map(|fleet| fleet.ports()).unwrap_or_default();
    let mut all: Vec<Port> = interfaces.chain(cards).chain(inside).chain(remote).collect();
    for port in &mut all {
        port.allowed = service.admission.admits(&port.device);
        port.lease = service.lease_of(&port.name);
    }
    Ok(all)
}

fn port(device: &str) -> Port {
    Port {
        name: device.to_owned(),
        device: device.to_owned(),
        kind: PortKind::InProcess,
        up: true,
        speed_bps: None,
        mtu: None,
        driver: None,
        allowed: true,
        note: None,
        lease: None,
    }
}

fn interface(link: &LinkFacts, routes: &[String]) -> Port {
    let note = match (routes.contains(&link.name), link.up, link.running) {
        (true, _, _) => Some("default route: refused unless a profile allows it"),
        (_, false, _) => Some("down"),
        (_, _, false) => Some("no carrier"),
        _ => None,
    };
    Port {
        name: link.name.clone(),
        device: format!("afxdp:{}", link.name),
        kind: PortKind::Interface,
        up: link.up,
        speed_bps: link.speed_bps,
        mtu: Some(link.mtu),
        driver: link.driver.clone().or_else(|| link.kind.clone()),
        note: note.map(str::to_owned),
        ..port("")
    }
}

/// Leases
#[utoipa::path(get, path = "/api/v1/leases", tag = "ports",
    responses((status = 200, body = Vec<Lease>), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn leases(State(service): Known, caller: Caller) -> Json<Vec<Lease>> {
    Json(service.leases(&caller))
}

/// Lease ports, all or none
#[utoipa::path(post, path = "/api/v1/leases", tag = "ports", request_body = NewLease,
    responses((status = 201, body = Lease), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn lease(
    State(service): Known,
    caller: Caller,
    Body(new): Body<NewLease>,
) -> Result<(StatusCode, Json<Lease>), Fault> {
    let lease = blocking(service, move |service| service.lease(&new, &caller)).await?;
    Ok((StatusCode::CREATED, Json(lease)))
}

/// Renew a lease
#[utoipa::path(post, path = "/api/v1/leases/{id}/renew", tag = "ports", params(("id" = String, Path, description = "Id of the lease")), request_body = Option<Renewal>,
    responses((status = 200, body = Lease), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn renew(
    State(service): Known,
    Path(id): Path<String>,
    MaybeBody(renewal): MaybeBody<Renewal>,
) -> Result<Json<Lease>, Fault> {
    Ok(Json(service.renew(&id, renewal.ttl_s)?))
}

/// Release a lease. Runs and campaigns that use it are stopped
#[utoipa::path(delete, path = "/api/v1/leases/{id}", tag = "ports", params(("id" = String, Path, description = "Id of the lease")),
    responses((status = 204), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
async fn release(State(service): Known, Path(id): Path<String>) -> Result<StatusCode, Fault> {
    service.release(&id)?;
    Ok(StatusCode::NO_CONTENT)
}
