//! HTTP of sessions, as written.

use crate::document::app::{once, weight_one};
use crate::document::content::{SizeDoc, TextDoc, TimesDoc};
use crate::document::quantity::{Bytes, DelayText, Duration, HttpVersionText, Speedup};
use crate::document::vary::{OrderDoc, Weight};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::plan::HttpVersion;

/// HTTP/1.1, HTTP/2 and HTTP/3.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Http", extend("x-renamed" = {"close": "close_by"}))]
pub struct HttpDoc {
    /// Version of HTTP. '2' is HTTP/2: with 'tls' negotiated in the handshake (ALPN), otherwise from the first byte
    /// (prior knowledge). '3' is HTTP/3 over QUIC: UDP, always encrypted, with or without 'tls'. 'auto': with 'tls'
    /// clients offer both and follow the server's choice, without it they use 1.1; emulated servers respond in the
    /// version of each client. Default: 1.1.
    pub version: Option<HttpVersionText>,
    /// Number of requests in flight on a connection with HTTP/2 or HTTP/3, or fewer if the server announces less. Default: 1.
    #[schemars(range(min = 1, max = 10_000))]
    pub streams_per_connection: Option<u16>,
    /// Have clients open their next connections by HTTP/3 where a response announces it (Alt-Svc, RFC 7838). With 'version: auto' and
    /// 'tls'. Default: false.
    pub alt_svc: Option<bool>,
    /// Maximum number of redirects in a row that clients follow: 301, 302, 303, 307 and 308 to the same server, on the same connection, or
    /// on a new one if the server closes it.
    /// The request of a redirect that can't be followed fails; 'redirects' of the result counts it by reason. Default: a redirect is a
    /// response like others.
    #[schemars(range(min = 1, max = 1_000))]
    pub redirects: Option<u16>,
    /// Have each session keep the cookies that servers set, and send them (RFC 6265). Default: false.
    pub cookies: Option<bool>,
    /// Access log of a web server: its requests are sent at its times, from the start of traffic on, late where no session is free. In the Common
    /// Log Format, or lines of a time and a path. In place of 'path', 'method', 'objects', and 'request_rate' of the entry.
    pub access_log: Option<AccessLogForm>,
    /// Have clients of HTTP/3 change their UDP port while connections last. Default: never.
    pub migrate: Option<MigrateDoc>,
    /// Clients of HTTP/3 that resume a session ('tls: {resumption: …}') send requests in their first packets (0-RTT), where the
    /// server has allowed it: GET, HEAD and OPTIONS, which may be repeated. Default: false.
    pub early_data: Option<bool>,
    /// Number of packets after which clients of HTTP/3 update their keys (RFC 9001 section 6). Default: never.
    #[schemars(range(min = 1))]
    pub key_update: Option<u64>,
    /// Size of a request's head, padded with a field 'X-Padding'. Default: no padding.
    pub request: Option<Bytes>,
    /// Size of a response's body. Emulated servers send it; clients count any other length as the failure
    /// 'wrong_content', except with 4xx and 5xx that 'status' does not require. Varying sizes are requested by paths:
    /// '/1000', '/64000'. Default: 1KB.
    pub response: Option<SizeDoc>,
    /// Number of requests on a connection. Default: 1.
    pub requests: Option<TimesDoc>,
    /// Method. Default: GET.
    pub method: Option<MethodDoc>,
    /// Path and query, or a whole URI for an explicit proxy. Default: '/'.
    pub path: Option<TextDoc>,
    /// Host field. Default: 'eagre.test' with emulated servers, otherwise the first server's address.
    pub host: Option<TextDoc>,
    /// More header fields of requests, in this order.
    #[serde(default)]
    pub headers: IndexMap<String, TextDoc>,
    /// Size of a request's body.
    pub body: Option<SizeDoc>,
    /// Text that is the body of every request, instead of 'body'. 'verify' does not compare it.
    pub body_text: Option<String>,
    /// Maximum chunk size for bodies of requests and responses. With HTTP/2 and HTTP/3: send no length. Default: not chunked.
    pub chunked: Option<Bytes>,
    /// Expected status; any other is the failure 'http_status'.
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// Several requests by weight, instead of one. The keys above are their defaults.
    #[schemars(length(min = 1))]
    pub objects: Option<Vec<ObjectDoc>>,
    /// Order of objects, or of response sizes.
    #[serde(default)]
    pub order: OrderDoc,
    /// Number of requests in flight on a connection with HTTP/1.1. Default: 1.
    #[schemars(range(min = 1, max = 255))]
    pub pipeline: Option<u8>,
    /// Think time: from a response to the next request.
    pub think: Option<DelayText>,
    /// Way to close a connection.
    #[serde(default)]
    pub close_by: HttpCloseDoc,
    /// Fail the session on a status of 4xx or 5xx, which is counted in any case. Default: true.
    pub errors_fail: Option<bool>,
    /// Behavior of servers. Default: send 'response' for every request.
    pub server: Option<HttpServerDoc>,
}

impl HttpDoc {
    /// Version of HTTP.
    pub fn version(&self) -> HttpVersion {
        self.version.as_ref().map_or(HttpVersion::One, |version| version.0)
    }

    /// Whether clients go to alternatives, and whether servers announce them.
    pub fn alternatives(&self) -> (bool, bool) {
        let server = self.server.as_ref().and_then(|server| server.alt_svc.as_ref());
        (self.alt_svc.unwrap_or(false), server.is_some_and(|form| *form != AltSvcForm::Default(false)))
    }

    /// Requests on a connection; `None` is without end, which is the default with a log.
    pub fn times(&self) -> Option<u32> {
        match self.requests {
            None if self.access_log.is_some() => None,
            requests => requests.unwrap_or_else(once).times(),
        }
    }
}

/// A file, or more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum AccessLogForm {
    File(#[schemars(length(min = 1))] String),
    Full(AccessLogDoc),
}

impl AccessLogForm {
    /// The settings.
    pub fn resolved(&self) -> AccessLogDoc {
        match self {
            Self::File(file) => AccessLogDoc { file: file.clone(), speed: None },
            Self::Full(full) => full.clone(),
        }
    }
}

/// An access log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AccessLog")]
pub struct AccessLogDoc {
    /// File, relative to the profile; at most 1,000,000 requests.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Speed relative to the log, such as '2x' or '0.5x'. Default: 1x.
    pub speed: Option<Speedup>,
}

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum MethodDoc {
    /// GET.
    Get,
    /// HEAD.
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

/// Way to close a connection after its last response.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum HttpCloseDoc {
    /// The client sends a FIN. With HTTP/3: it closes the connection.
    #[default]
    Fin,
    /// The client sends a reset. Not with HTTP/3.
    Reset,
    /// The last request has 'Connection: close', and the server closes. With HTTP/1.1 only.
    Server,
}

/// One of several requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Object")]
pub struct ObjectDoc {
    /// Share of requests relative to the others.
    #[serde(default = "weight_one")]
    pub weight: Weight,
    /// The method.
    pub method: Option<MethodDoc>,
    /// Path and query. Default with 'response': the path that requests that size from emulated servers.
    pub path: Option<TextDoc>,
    /// The Host field.
    pub host: Option<TextDoc>,
    /// Header fields, instead of the common ones of all requests.
    pub headers: Option<IndexMap<String, TextDoc>>,
    /// Size of the request's head.
    pub request: Option<Bytes>,
    /// Size of the response's body.
    pub response: Option<Bytes>,
    /// Size of the request's body.
    pub body: Option<SizeDoc>,
    /// Expected status.
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
}

/// A server of HTTP.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HttpServer")]
pub struct HttpServerDoc {
    /// Rules; the first match determines the response. Without a match a path that is a number gets a body of that
    /// size, any other gets 'response'.
    #[serde(default)]
    pub rules: Vec<HttpRuleDoc>,
    /// Number of requests on a connection before the server closes it, with HTTP/2 by GOAWAY. Default: no limit.
    #[schemars(range(min = 1))]
    pub keep_alive: Option<u32>,
    /// Send a Date field in every response.
    #[serde(default)]
    pub date: bool,
    /// Server field; an empty text omits it. Default: 'eagre'.
    pub name: Option<String>,
    /// Have clients of HTTP/3 prove their address with a Retry packet before anything else (RFC 9000 section 8.1.2).
    #[serde(default)]
    pub retry: bool,
    /// Let clients of HTTP/3 that resume a session send requests in their first packets (0-RTT). 'too_early' has them sent again after
    /// the handshake (status 425, RFC 8470). Default: false.
    pub early_data: Option<EarlyDataDoc>,
    /// Announce HTTP/3 on the same port in each response of HTTP/1.1 and HTTP/2 (Alt-Svc, RFC 7838), and serve it there. With 'version: auto'
    /// and 'tls'. Default: false.
    pub alt_svc: Option<AltSvcForm>,
}

/// `true`, or more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum AltSvcForm {
    Default(bool),
    Full(AltSvcDoc),
}

/// Announcement of HTTP/3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AltSvc")]
pub struct AltSvcDoc {
    /// Lifetime ('ma'), in whole seconds. Default with 'true': 24 hours.
    pub max_age: Duration,
}

/// Early data of HTTP/3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "EarlyData")]
pub enum EarlyDataDoc {
    /// Whether it is accepted.
    Accepted(bool),
    /// Another response than the usual one.
    Answer(EarlyAnswerDoc),
}

/// Response to early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EarlyAnswer")]
pub enum EarlyAnswerDoc {
    /// Status 425.
    TooEarly,
}

/// Changes of a client's UDP port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Migrate")]
pub struct MigrateDoc {
    /// Time from the handshake to the first change, and from each to the next.
    pub every: Duration,
    /// Cause of the change. Default: nat.
    #[serde(default)]
    pub by: MigrateByDoc,
}

/// Cause of a change of a client's port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MigrateBy")]
pub enum MigrateByDoc {
    /// As behind a NAT that rebinds: the client does not know, and keeps its connection identifier.
    #[default]
    Nat,
    /// The client itself: it takes another of the server's connection identifiers (RFC 9000 section 9.5).
    Client,
}

/// A rule of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HttpRule")]
pub struct HttpRuleDoc {
    /// Paths to match: '/a', or '/a*' for all that start with it. Default: all.
    pub path: Option<String>,
    /// Methods to match. Default: all.
    #[serde(default)]
    pub methods: Vec<MethodDoc>,
    /// Status. Default: 200.
    #[schemars(range(min = 200, max = 599))]
    pub status: Option<u16>,
    /// Size of the body. Default: no body.
    pub response: Option<SizeDoc>,
    /// Maximum chunk size for the body. Default: not chunked.
    pub chunked: Option<Bytes>,
    /// Send no length; the body ends with the connection.
    #[serde(default)]
    pub until_close: bool,
    /// More header fields, in this order.
    #[serde(default)]
    pub headers: IndexMap<String, String>,
    /// Close the connection after the response.
    #[serde(default)]
    pub close: bool,
    /// Delay from the request to the response.
    pub delay: Option<DelayText>,
}
