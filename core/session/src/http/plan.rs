//! Requests of clients and responses of servers, for any version. Pure data.

use crate::counts::Reason;
use crate::vary::{Content, Delay, SelectionOrder, Size};
use std::sync::Arc;
use units::Nanos;

/// HTTP, both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpPlan {
    /// Version.
    pub version: HttpVersion,
    /// Requests of clients, with their relative weights (not zero).
    pub requests: Vec<(HttpRequest, u32)>,
    /// In which order requests come: by turns, spread out exactly by weight, or by chance. Each session begins one
    /// further than the one before.
    pub order: SelectionOrder,
    /// Requests on a connection; `None`: until it is closed from outside.
    pub per_connection: Option<u32>,
    /// Requests sent before their responses have come, 1 to 255, with HTTP/1.1.
    pub pipeline: u8,
    /// The same with HTTP/2 and HTTP/3, at least 1; no more than the server announces.
    pub streams: u16,
    /// From a response's end to the next request.
    pub think: Delay,
    /// Way in which a client ends a connection.
    pub close: HttpClose,
    /// Whether a status of 4xx or 5xx fails the session (`http_4xx`, `http_5xx`); it is counted in any case.
    pub errors_fail: bool,
    /// How clients of HTTP/3 use QUIC.
    pub quic: QuicPlan,
    /// Whether clients open their next connections by HTTP/3 where a response announces it (RFC 7838).
    pub alt_svc: bool,
    /// Redirects and cookies.
    pub agent: AgentPlan,
    /// Responses of servers.
    pub server: Arc<HttpServer>,
}

/// How clients treat redirects and cookies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentPlan {
    /// Most redirects in a row that are followed; `None`: a redirect is a response like others.
    pub redirects: Option<u16>,
    /// Whether a session keeps cookies, and sends them.
    pub cookies: bool,
    /// The requests to send, and when, in place of the plan's targets and methods.
    pub log: Option<Arc<RequestLog>>,
}

/// Requests at given instants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLog {
    /// When each is due, since the start of traffic, in order.
    pub times: Arc<[Nanos]>,
    /// Each of them.
    pub requests: Arc<[LoggedRequest]>,
}

/// A request of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRequest {
    /// Method.
    pub method: Method,
    /// Path and query.
    pub target: Arc<[u8]>,
}

/// How clients use QUIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuicPlan {
    /// Interval at which they take another port; `None` is never.
    pub migrate: Option<Migrate>,
    /// Whether they send requests in 0-RTT packets where a session is resumed: those that may be repeated (RFC 8470).
    pub early_data: bool,
    /// Packets after which they update their keys (RFC 9001 section 6); `None` is never.
    pub key_update: Option<u64>,
    /// Whether the messages of programs go in DATAGRAM frames (RFC 9221), and not on a stream. Of both ends.
    pub datagrams: bool,
    /// Streams on which clients run their programs beside each other; 0 is 1.
    pub streams: u16,
    /// Whether each end of a program sends on its own unidirectional stream. Of both ends.
    pub unidirectional: bool,
}

/// Changes of the port of a client of QUIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrate {
    /// From the handshake, and from one change to the next.
    pub every: Nanos,
    /// Whether the client itself migrates, with another connection identifier (RFC 9000 section 9.2); otherwise its port changes as
    /// behind a NAT that rebinds, without its knowledge.
    pub knows: bool,
}

/// Response of a server of HTTP/3 to requests in 0-RTT packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EarlyData {
    /// It offers none.
    #[default]
    Off,
    /// It responds to them.
    Accepted,
    /// It responds by 425 (RFC 8470 section 5.2).
    TooEarly,
}

impl HttpPlan {
    /// Why a session fails because of a response's status, if it does; `wanted` is the one that must come back.
    #[inline]
    pub(crate) fn status_failure(&self, wanted: Option<u16>, status: u16) -> Option<Reason> {
        match (wanted, status) {
            (Some(wanted), status) if wanted == status => None,
            (Some(_), _) => Some(Reason::HttpStatus),
            (None, 400..=499) if self.errors_fail => Some(Reason::Http4xx),
            (None, 500..=599) if self.errors_fail => Some(Reason::Http5xx),
            _ => None,
        }
    }
}

/// Version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[default]
    One,
    /// HTTP/2: in the clear with prior knowledge (RFC 9113 section 3.3), with TLS if the other end agrees.
    Two,
    /// HTTP/3: over QUIC, which has its own carrier and handshake.
    Three,
    /// Clients use the version that the server chooses in the handshake of TLS, and HTTP/1.1 in the clear; servers what
    /// their clients begin with.
    Auto,
}

/// Way in which a client ends a connection after its last response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpClose {
    /// It sends a FIN.
    Fin,
    /// It sends a reset.
    Reset,
    /// Its last request has `Connection: close`, and the server closes first. HTTP/2 has no such request: it sends a
    /// FIN. HTTP/3 has neither: it closes the connection.
    Server,
}

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD: the response has no body regardless of its length field.
    Head,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// DELETE.
    Delete,
    /// OPTIONS.
    Options,
    /// PATCH.
    Patch,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// Method.
    pub method: Method,
    /// Path and query; begins with `/`.
    pub path: Content,
    /// The Host field's value.
    pub host: Content,
    /// More fields, in order: names and values. Host, Connection, Content-Length and Transfer-Encoding are written
    /// automatically.
    pub fields: Vec<(String, Content)>,
    /// Body after the head.
    pub body: RequestBody,
    /// Minimum size of the head, bytes, padded by a field `X-Padding`; 0 adds no padding. A longer head stays
    /// unchanged. With HTTP/2 the size is counted before compression (RFC 7541 section 4.1).
    pub head_bytes: u32,
    /// Status that must come back; `None`: any (but see [`HttpPlan::errors_fail`]).
    pub status: Option<u16>,
    /// Bytes the response's body must have; `None`: any. With `verify` of the session's plan its bytes too must be
    /// those servers of this project generate. Holds for the status that must come back; if any may, not for 4xx and 5xx.
    pub response_bytes: Option<u64>,
}

impl HttpRequest {
    /// GET of a path from a host, without expectations of the response.
    pub fn get(path: &str, host: &str) -> Self {
        Self {
            method: Method::Get,
            path: Content::bytes(path),
            host: Content::bytes(host),
            fields: Vec::new(),
            body: RequestBody::None,
            head_bytes: 0,
            status: None,
            response_bytes: None,
        }
    }
}

/// Body after a request's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestBody {
    /// Nothing.
    None,
    /// Generated bytes, with Content-Length.
    Length(Size),
    /// This text, with Content-Length.
    Text(String),
    /// Generated bytes in chunks of at most this size.
    Chunked {
        /// All of them.
        size: Size,
        /// A chunk's, at least 1.
        chunk: u32,
    },
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpServer {
    /// The first rule that fits determines the response; none: 404.
    pub rules: Vec<HttpRule>,
    /// Requests on a connection before it is closed; `None` is no limit.
    pub keep_alive: Option<u32>,
    /// Whether responses have a Date field (RFC 9110 section 6.6.1).
    pub date: bool,
    /// The Server field's value; empty leaves it out.
    pub name: String,
    /// Whether clients of HTTP/3 must prove their address first (RFC 9000 section 8.1.2).
    pub retry: bool,
    /// Response to requests in 0-RTT packets of HTTP/3.
    pub early_data: EarlyData,
    /// The Alt-Svc field's value, in responses of HTTP/1.1 and HTTP/2.
    pub alt_svc: Option<String>,
}

impl HttpRule {
    /// Answers every request of a path at once by 200 and `body`.
    pub fn ok(path: HttpPath, body: HttpBody) -> Self {
        Self {
            methods: Vec::new(),
            path,
            status: 200,
            body,
            fields: Vec::new(),
            close: false,
            delay: Delay::NONE,
        }
    }
}

impl HttpServer {
    /// Responds to a path that is a number, `/1048576`, with a body of that many bytes, and to every other path with
    /// `otherwise` bytes.
    pub fn sized(otherwise: Size) -> Self {
        let number = HttpRule::ok(HttpPath::Number, HttpBody::FromPath);
        let any = HttpRule::ok(HttpPath::Any, HttpBody::Length(otherwise));
        Self {
            rules: vec![number, any],
            keep_alive: None,
            date: false,
            name: "eagre".to_owned(),
            retry: false,
            early_data: EarlyData::Off,
            alt_svc: None,
        }
    }
}

/// A rule of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRule {
    /// Methods it applies to; empty is all. The response to a path that fits with another method is 405.
    pub methods: Vec<Method>,
    /// Paths it applies to.
    pub path: HttpPath,
    /// Status, 200 to 599. 204 and 304 have no body.
    pub status: u16,
    /// Body.
    pub body: HttpBody,
    /// More fields, in order.
    pub fields: Vec<(String, String)>,
    /// Whether the connection is closed after it, and the response announces that.
    pub close: bool,
    /// From the request's end to the response's first byte, by session and request.
    pub delay: Delay,
}

/// Paths, without what follows `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpPath {
    /// All.
    Any,
    /// This one.
    Exact(String),
    /// Those that begin so.
    Prefix(String),
    /// Those that are `/` and a decimal number.
    Number,
}

/// A response's body: generated bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpBody {
    /// This number of bytes, with Content-Length.
    Length(Size),
    /// The number of bytes in the path's last part, with Content-Length; none if it is not a number.
    FromPath,
    /// This number of bytes, in chunks.
    Chunked {
        /// All of them.
        size: Size,
        /// A chunk's, at least 1.
        chunk: u32,
    },
    /// This number of bytes, ended by closing the connection.
    UntilClose(Size),
}
