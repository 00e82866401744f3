//! From the application of a trial to the application of the entry's two ends.

use super::entry::{app as own_app, is_ours, speaks_http};
use methods::Application;
use session::plan::{
    AgentPlan, AppPlan, Carrier, Content, Delay, EarlyData, HttpBody, HttpPath, HttpPlan, HttpRequest,
    HttpRule, HttpServer, HttpVersion, Method, Mix, QuicPlan, RequestBody, SessionPlan, Size,
};
use std::sync::Arc;

/// Requests up to this are as long as they are: no head of HTTP is shorter.
const HEAD_BYTES_LEAST: u64 = 100;

/// Sequence of a session's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    /// Number of transactions before it closes; `None`: until it is closed.
    pub(super) transactions: Option<u32>,
    /// From a response to the next request.
    pub(super) think: Delay,
}

/// Gives an entry the requested application. A name other than `raw`, `http` and `https` leaves the entry's own.
///
/// # Errors
/// The entry can't carry it, or an external server can't be requested to send the size.
pub(super) fn give(session: &mut SessionPlan, app: &Application, pace: Pace) -> Result<(), String> {
    let made = match app.name.as_str() {
        "raw" => raw(session, app, pace)?,
        "http" | "https" => http(session, app, pace)?,
        _ => return Ok(()),
    };
    let ports = session.mix.members.first().and_then(|member| member.server_ports.clone());
    session.mix = Mix::one(made);
    session.mix.members[0].server_ports = ports;
    Ok(())
}

/// Requests and responses of this number of bytes.
fn raw(session: &SessionPlan, app: &Application, pace: Pace) -> Result<AppPlan, String> {
    let name = &session.name;
    if app.request_bytes == 0 || app.response_bytes == 0 {
        return Err("'raw' needs requests and responses of at least one byte".to_owned());
    }
    if session.is_quic() {
        return Err(format!(
            "sessions {name}: its sessions are HTTP/3, which does not carry 'raw'; use 'https'"
        ));
    }
    if session.carrier == Carrier::Udp {
        let mtu = session.client.iter().chain(&session.server).map(|side| side.mtu).min().unwrap_or(1500);
        // Headers of IPv6 and UDP.
        let most = u64::from(mtu).saturating_sub(48);
        let bytes = app.request_bytes.max(app.response_bytes);
        if bytes > most {
            return Err(format!("sessions {name}: {bytes} B do not fit a datagram of at most {most} B"));
        }
    }
    if session.server.is_none() && speaks_http(session) {
        return Err(format!("sessions {name}: its external server uses HTTP, not 'raw'"));
    }
    let (request, response) = (Size::Fixed(app.request_bytes), Size::Fixed(app.response_bytes));
    Ok(AppPlan::raw(request, response, pace.transactions, pace.think))
}

/// GETs of an object of this number of bytes.
fn http(session: &SessionPlan, app: &Application, pace: Pace) -> Result<AppPlan, String> {
    let name = &session.name;
    if session.carrier != Carrier::Tcp && !session.is_quic() {
        return Err(format!("sessions {name}: HTTP needs TCP, and this entry is UDP"));
    }
    if app.name == "https" && session.tls.is_none() {
        return Err(format!("sessions {name}: HTTPS needs TLS: set 'tls: true'"));
    }
    let own = match own_app(session) {
        Some(AppPlan::Http(own)) => Some(own.as_ref()),
        _ => None,
    };
    let mut plan = match own {
        Some(own) if !is_ours(session) => asked_of_others(own, app, name)?,
        None if !is_ours(session) => {
            return Err(format!("sessions {name}: its external server does not speak HTTP: set 'app: http'"));
        }
        own => served_here(own, app),
    };
    for (request, _) in &mut plan.requests {
        if app.request_bytes > HEAD_BYTES_LEAST {
            request.head_bytes = u32::try_from(app.request_bytes)
                .map_err(|_| format!("a request of {} B is too long", app.request_bytes))?;
        }
    }
    plan.per_connection = pace.transactions;
    plan.think = pace.think;
    Ok(AppPlan::Http(Arc::new(plan)))
}

/// Clients request `/BYTES`, and the emulated server responds with this number of bytes.
fn served_here(own: Option<&HttpPlan>, app: &Application) -> HttpPlan {
    let base = own.and_then(|own| own.requests.first()).map(|(request, _)| request.clone());
    let base = base.unwrap_or_else(|| HttpRequest::get("/", "eagre.test"));
    let path = format!("/{}", app.response_bytes);
    let request = HttpRequest {
        method: Method::Get,
        path: Content::bytes(&path),
        body: RequestBody::None,
        status: Some(200),
        response_bytes: Some(app.response_bytes),
        ..base
    };
    let rule = HttpRule::ok(HttpPath::Exact(path), HttpBody::Length(Size::Fixed(app.response_bytes)));
    let named = own.map_or_else(|| "eagre".to_owned(), |own| own.server.name.clone());
    let server = HttpServer {
        rules: vec![rule],
        keep_alive: None,
        date: false,
        name: named,
        retry: false,
        early_data: EarlyData::Off,
        alt_svc: None,
    };
    HttpPlan {
        requests: vec![(request, 1)],
        order: own.map_or(session::plan::SelectionOrder::Sequential, |own| own.order),
        per_connection: Some(1),
        version: own.map_or(HttpVersion::One, |own| own.version),
        pipeline: own.map_or(1, |own| own.pipeline),
        streams: own.map_or(1, |own| own.streams),
        think: Delay::NONE,
        close: own.map_or(session::plan::HttpClose::Fin, |own| own.close),
        errors_fail: true,
        quic: QuicPlan::default(),
        alt_svc: false,
        agent: AgentPlan::default(),
        server: Arc::new(server),
    }
}

/// An external server gets requests for the profile's own objects: the ones whose path has a place for the size, or all
/// of them without a requested size.
fn asked_of_others(own: &HttpPlan, app: &Application, name: &str) -> Result<HttpPlan, String> {
    let mut plan = own.clone();
    if app.response_bytes == 0 {
        return Ok(plan);
    }
    let bytes = app.response_bytes;
    let sized = |(request, weight): &(HttpRequest, u32)| {
        let path = request.path.sized(bytes)?;
        let (status, response_bytes) = (request.status.or(Some(200)), Some(bytes));
        Some((HttpRequest { path, status, response_bytes, ..request.clone() }, *weight))
    };
    plan.requests = own.requests.iter().filter_map(sized).collect();
    if plan.requests.is_empty() {
        return Err(format!(
            "sessions {name}: objects of {bytes} B are requested from a server that is not ours, and no path has a \
             place for the size; give one that has, such as '/{{{{bytes}}}}', or set no size (response_bytes: 0)"
        ));
    }
    Ok(plan)
}
