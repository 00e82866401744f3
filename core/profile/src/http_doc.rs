//! HTTP/1.1 of sessions, as written.

use crate::app_doc::{once, weight_one};
use crate::content_doc::{SizeDoc, TextDoc, TimesDoc};
use crate::quantity::{Bytes, DelayText};
use crate::vary_doc::{OrderDoc, Weight};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// HTTP/1.1.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Http", extend("x-renamed" = {"close": "close_by"}))]
pub(crate) struct HttpDoc {
    /// Bytes of a request's head: it is filled up by a field 'X-Padding'. Without it: as long as it is.
    pub(crate) request: Option<Bytes>,
    /// Bytes of a response's body: 1KB unless given. Servers played here answer so; clients take any other length for
    /// the failure 'wrong_content', but for 4xx and 5xx that 'status' does not ask for. Sizes that differ are asked for
    /// by paths: '/1000', '/64000'.
    pub(crate) response: Option<SizeDoc>,
    /// Requests on a connection.
    pub(crate) requests: Option<TimesDoc>,
    /// The method: GET unless given.
    pub(crate) method: Option<MethodDoc>,
    /// Path and query: '/' unless given.
    pub(crate) path: Option<TextDoc>,
    /// The Host field. Without it: 'eagre.test' if servers are played here, else the first server's address.
    pub(crate) host: Option<TextDoc>,
    /// More fields of requests, by name, in this order.
    #[serde(default)]
    pub(crate) headers: IndexMap<String, TextDoc>,
    /// Bytes of a request's body.
    pub(crate) body: Option<SizeDoc>,
    /// Send bodies, of requests and of responses, in chunks of at most so many bytes.
    pub(crate) chunked: Option<Bytes>,
    /// Status that must come back; any other is the failure 'http_status'.
    #[schemars(range(min = 100, max = 599))]
    pub(crate) status: Option<u16>,
    /// Several requests instead of one, by weight. What is said above holds for those that say nothing else.
    #[schemars(length(min = 1))]
    pub(crate) objects: Option<Vec<ObjectDoc>>,
    /// In which order objects, or sizes of responses, come.
    #[serde(default)]
    pub(crate) order: OrderDoc,
    /// Requests sent before their responses have come: 1 unless given.
    #[schemars(range(min = 1, max = 255))]
    pub(crate) pipeline: Option<u8>,
    /// From a response to the next request.
    pub(crate) think: Option<DelayText>,
    /// How a connection ends.
    #[serde(default)]
    pub(crate) close_by: HttpCloseDoc,
    /// Whether a status of 4xx or 5xx fails the session: yes unless given. It is counted in any case.
    pub(crate) errors_fail: Option<bool>,
    /// What servers answer, if not 'response' to everything.
    pub(crate) server: Option<HttpServerDoc>,
}

impl HttpDoc {
    /// Requests on a connection; `None` is without end.
    pub(crate) fn times(&self) -> Option<u32> {
        self.requests.unwrap_or_else(once).times()
    }
}

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub(crate) enum MethodDoc {
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
}

/// How a connection ends after its last response.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum HttpCloseDoc {
    /// The client sends a FIN.
    #[default]
    Fin,
    /// The client sends a reset.
    Reset,
    /// The last request says 'Connection: close', and the server closes.
    Server,
}

/// One of several requests.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Object")]
pub(crate) struct ObjectDoc {
    /// How often it comes in relation to the others.
    #[serde(default = "weight_one")]
    pub(crate) weight: Weight,
    /// The method.
    pub(crate) method: Option<MethodDoc>,
    /// Path and query. Without it, and with 'response': the path that asks servers played here for so many bytes.
    pub(crate) path: Option<TextDoc>,
    /// The Host field.
    pub(crate) host: Option<TextDoc>,
    /// More fields, in place of those of all requests.
    pub(crate) headers: Option<IndexMap<String, TextDoc>>,
    /// Bytes of the request's head.
    pub(crate) request: Option<Bytes>,
    /// Bytes of the response's body.
    pub(crate) response: Option<Bytes>,
    /// Bytes of the request's body.
    pub(crate) body: Option<SizeDoc>,
    /// Status that must come back.
    #[schemars(range(min = 100, max = 599))]
    pub(crate) status: Option<u16>,
}

/// A server of HTTP.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HttpServer")]
pub(crate) struct HttpServerDoc {
    /// The first rule that fits answers. What none fits is answered as without rules: a path that is a number by so
    /// many bytes, any other by 'response'.
    #[serde(default)]
    pub(crate) rules: Vec<HttpRuleDoc>,
    /// Requests answered on a connection before it is closed. Without it: no limit.
    #[schemars(range(min = 1))]
    pub(crate) keep_alive: Option<u32>,
    /// The Server field: 'eagre' unless given; an empty text leaves it out.
    pub(crate) name: Option<String>,
}

/// A rule of a server.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HttpRule")]
pub(crate) struct HttpRuleDoc {
    /// Paths it answers: '/a' is this one, '/a*' all that begin so. Without it: all.
    pub(crate) path: Option<String>,
    /// Methods it answers. Without it: all.
    #[serde(default)]
    pub(crate) methods: Vec<MethodDoc>,
    /// Status: 200 unless given.
    #[schemars(range(min = 200, max = 599))]
    pub(crate) status: Option<u16>,
    /// Bytes of the body: none unless given.
    pub(crate) response: Option<SizeDoc>,
    /// Send the body in chunks of at most so many bytes.
    pub(crate) chunked: Option<Bytes>,
    /// Send no length: the body ends with the connection.
    #[serde(default)]
    pub(crate) until_close: bool,
    /// More fields, by name, in this order.
    #[serde(default)]
    pub(crate) headers: IndexMap<String, String>,
    /// Close the connection after the response.
    #[serde(default)]
    pub(crate) close: bool,
    /// From the request to the response.
    pub(crate) delay: Option<DelayText>,
}
