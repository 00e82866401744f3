//! HTTP: requests of clients, and responses of emulated servers.

use super::access_log;
use super::app::{Resolved, Surroundings};
use super::content::{fixed, weights};
use crate::document::content::{SizeDoc, TextDoc};
use crate::document::http::{
    EarlyAnswerDoc, EarlyDataDoc, HttpCloseDoc, HttpDoc, HttpRuleDoc, HttpServerDoc, MethodDoc, ObjectDoc,
};
use crate::document::options::QuicDoc;
use crate::document::quantity::Bytes;
use crate::document::session::{SessionDoc, TunnelDoc};
use crate::resolve::Resolver;
use indexmap::IndexMap;
use session::plan::{
    AgentPlan, AppPlan, By, Content, EarlyData, HttpBody, HttpClose, HttpPath, HttpPlan, HttpRequest,
    HttpRule, HttpServer, HttpVersion, Method, Part, QuicPlan, RequestBody, RequestLog, Size, TunnelPlan,
    Values,
};
use std::net::IpAddr;
use std::sync::Arc;

/// Name of emulated servers.
pub(super) const OUR_NAME: &str = "eagre.test";
/// Default length of a response's body, bytes.
const BODY: u64 = 1_000;
/// Fields that are written automatically.
const WRITTEN: [&str; 4] = ["host", "connection", "content-length", "transfer-encoding"];
/// Fields that HTTP/2 and HTTP/3 do not have.
const NOT_IN_HTTP2: [&str; 4] = ["keep-alive", "proxy-connection", "te", "upgrade"];
/// Longest head of a request.
const HEAD_MAX: u64 = 65_535;

/// Settings of the application for all requests.
struct Common<'a> {
    doc: &'a HttpDoc,
    host: Content,
    chunk: Option<u32>,
    /// Whether servers are emulated.
    server: bool,
}

impl Resolver<'_> {
    pub(super) fn http(
        &mut self,
        path: &str,
        doc: &HttpDoc,
        entry: &SessionDoc,
        around: &Surroundings,
    ) -> Option<Resolved> {
        let chunk = doc.chunked.as_ref().and_then(|chunk| self.chunk(&format!("{path}.chunked"), chunk));
        let host = match &doc.host {
            Some(host) => self.field_text(&format!("{path}.host"), host),
            None => Content::bytes(default_host(around)),
        };
        let common = Common { doc, host, chunk, server: around.server };
        let mut rules = self.rules(path, doc.server.as_ref());
        let log = self.access_log(path, doc, entry);
        let requests = match &doc.objects {
            // Any response may come.
            _ if doc.access_log.is_some() => vec![(self.request(path, &common), 1)],
            Some(objects) => self.objects(path, objects, &common, &mut rules),
            None => self.sized_requests(path, &common, &mut rules),
        };
        rules.extend(self.last_rules(&common));
        self.check_version(path, doc, &requests);
        let close = match doc.close_by {
            HttpCloseDoc::Fin => HttpClose::Fin,
            HttpCloseDoc::Reset => HttpClose::Reset,
            HttpCloseDoc::Server => HttpClose::Server,
        };
        let server = HttpServer {
            rules,
            keep_alive: doc.server.as_ref().and_then(|server| server.keep_alive),
            date: doc.server.as_ref().is_some_and(|server| server.date),
            name: doc
                .server
                .as_ref()
                .and_then(|server| server.name.clone())
                .unwrap_or_else(|| "eagre".to_owned()),
            retry: doc.server.as_ref().is_some_and(|server| server.retry),
            early_data: doc
                .server
                .as_ref()
                .and_then(|server| server.early_data)
                .map_or(EarlyData::Off, early_data),
            // Once the port is known.
            alt_svc: None,
        };
        if server.retry && doc.version() != HttpVersion::Three {
            let reason = "Retry is QUIC's; set 'version: 3', or remove it";
            self.reading.fail(format!("{path}.server.retry"), reason);
        }
        let quic = self.quic_plan(path, doc, entry);
        let plan = HttpPlan {
            requests,
            order: self.session_order(&format!("{path}.order"), doc.order),
            per_connection: doc.times(),
            version: doc.version(),
            pipeline: doc.pipeline.unwrap_or(1),
            streams: doc.streams_per_connection.unwrap_or(1),
            think: self.delay(&format!("{path}.think"), doc.think.as_ref()),
            close,
            errors_fail: doc.errors_fail.unwrap_or(true),
            quic,
            alt_svc: doc.alternatives().0,
            agent: self.agent(path, doc, log),
            server: Arc::new(server),
        };
        let tls = entry.tls.as_ref().is_some_and(|tls| tls.resolved().is_some())
            || doc.version() == HttpVersion::Three;
        Some(Resolved { app: AppPlan::Http(Arc::new(plan)), port: Some(if tls { 443 } else { 80 }) })
    }

    /// The requests of an access log.
    fn access_log(&mut self, path: &str, doc: &HttpDoc, entry: &SessionDoc) -> Option<RequestLog> {
        let form = doc.access_log.as_ref()?.resolved();
        let log_path = format!("{path}.access_log");
        let varies = doc.response.as_ref().is_some_and(|size| fixed(size).is_none());
        let others = [
            ("path", doc.path.is_some()),
            ("method", doc.method.is_some()),
            ("objects", doc.objects.is_some()),
            ("response' of several sizes, '", varies),
            ("request_rate", entry.request_rate.is_some()),
            ("request_count", entry.request_count.is_some()),
        ];
        for (key, _) in others.into_iter().filter(|(_, is_given)| *is_given) {
            let reason = format!("the log has the requests and their times; remove '{key}'");
            self.reading.fail(&log_path, reason);
        }
        if path.contains(".mix[") {
            self.reading.fail(
                &log_path,
                "the requests of a log are an entry's only ones: give it an entry without 'mix'",
            );
        }
        let bytes = self.file(&log_path, &form.file)?;
        let speed = form.speed.map_or(1.0, |speed| speed.0.0.get() as f64 / speed.0.1.get() as f64);
        let read = match access_log::read(&bytes, speed) {
            Ok(read) => read,
            Err(reason) => {
                self.reading.fail(log_path, format!("{}: {reason}", form.file));
                return None;
            }
        };
        if read.left_out > 0 {
            let more = if read.left_out > read.first_left_out.len() { ", …" } else { "" };
            self.warnings.push(format!(
                "sessions {}: {} of {} have no request that can be sent, and are left out ({}{more})",
                entry.name.0,
                if read.left_out == 1 { "a line".to_owned() } else { format!("{} lines", read.left_out) },
                form.file,
                access_log::named(&read.first_left_out)
            ));
        }
        let delayed = read.log.times.iter().map(|at| at.saturating_add(entry.start_delay.0)).collect();
        Some(RequestLog { times: delayed, ..read.log })
    }

    /// How clients treat redirects and cookies.
    fn agent(&mut self, path: &str, doc: &HttpDoc, log: Option<RequestLog>) -> AgentPlan {
        if doc.redirects.is_some() && doc.close_by == HttpCloseDoc::Server {
            let reason = "the server closes after the last request, whose redirect could not be followed; remove it, or 'redirects'";
            self.reading.fail(format!("{path}.close_by"), reason);
        }
        AgentPlan { redirects: doc.redirects, cookies: doc.cookies.unwrap_or(false), log: log.map(Arc::new) }
    }

    /// How clients use QUIC.
    fn quic_plan(&mut self, path: &str, doc: &HttpDoc, entry: &SessionDoc) -> QuicPlan {
        let server_early = doc.server.as_ref().is_some_and(|server| server.early_data.is_some());
        let given = [
            ("migrate", doc.migrate.is_some()),
            ("early_data", doc.early_data.is_some()),
            ("key_update", doc.key_update.is_some()),
            ("server.early_data", server_early),
        ];
        if doc.version() != HttpVersion::Three {
            for (key, _) in given.into_iter().filter(|(_, is_there)| *is_there) {
                let reason = "is of QUIC; set 'version: 3', or remove it";
                self.reading.fail(format!("{path}.{key}"), reason);
            }
        }
        let own = QuicDoc {
            early_data: doc.early_data,
            retry: None,
            migrate: doc.migrate.clone(),
            key_update: doc.key_update,
            datagrams: None,
            streams: None,
            unidirectional: None,
        };
        self.quic_client(path, &own, entry)
    }

    /// Checks that no feature is used that the version lacks.
    fn check_version(&mut self, path: &str, doc: &HttpDoc, requests: &[(HttpRequest, u32)]) {
        let version = doc.version();
        if version == HttpVersion::One {
            if doc.streams_per_connection.is_some() {
                let reason = "HTTP/1.1 has no streams; set 'version: 2', '3' or 'auto', or use 'pipeline'";
                self.reading.fail(format!("{path}.streams_per_connection"), reason);
            }
            return;
        }
        let http = if version == HttpVersion::Three { "HTTP/3" } else { "HTTP/2" };
        if version != HttpVersion::Auto && doc.pipeline.is_some() {
            let reason = format!("{http} does not pipeline; use 'streams_per_connection'");
            self.reading.fail(format!("{path}.pipeline"), reason);
        }
        if version == HttpVersion::Three && doc.close_by != HttpCloseDoc::Fin {
            let reason = "HTTP/3 has one way to close a connection; remove 'close_by'";
            self.reading.fail(format!("{path}.close_by"), reason);
        } else if doc.close_by == HttpCloseDoc::Server {
            let reason = "HTTP/2 has no 'Connection: close'; use fin or reset, or 'version: 1.1'";
            self.reading.fail(format!("{path}.close_by"), reason);
        }
        let given = doc.objects.iter().flatten().filter_map(|object| object.headers.as_ref());
        for name in std::iter::once(&doc.headers).chain(given).flat_map(IndexMap::keys) {
            if NOT_IN_HTTP2.contains(&name.to_ascii_lowercase().as_str()) {
                let reason = format!("{http} has no field '{name}' (RFC 9110 section 7.6.1); remove it");
                self.reading.fail(format!("{path}.headers.{name}"), reason);
            }
        }
        let begins = |request: &HttpRequest| {
            let mut first = request.path.parts.first().into_iter().flat_map(|part| match part {
                Part::Bytes(bytes) => vec![bytes.clone()],
                Part::List { items, .. } => items.to_vec(),
                _ => Vec::new(),
            });
            first.any(|bytes| bytes.starts_with(b"http"))
        };
        if requests.iter().any(|(request, _)| begins(request)) {
            let reason = "a whole URI is for explicit proxies, which use HTTP/1.1: set 'version: 1.1'";
            self.reading.fail(format!("{path}.path"), reason);
        }
    }

    /// Requests where 'response' defines the length of the responses.
    fn sized_requests(
        &mut self,
        path: &str,
        common: &Common<'_>,
        rules: &mut Vec<HttpRule>,
    ) -> Vec<(HttpRequest, u32)> {
        let doc = common.doc;
        let one = doc.response.as_ref().is_none_or(|size| fixed(size).is_some());
        let base = self.request(path, common);
        let Some(size) = doc.response.as_ref().filter(|_| !one) else {
            let length = doc.response.as_ref().and_then(fixed);
            let expected = length.filter(|_| rules.is_empty() && base.method != Method::Head);
            return vec![(HttpRequest { response_bytes: expected, ..base }, 1)];
        };
        let response_path = format!("{path}.response");
        if doc.path.is_some() {
            let reason = "varying sizes need their own paths; remove 'path', or use 'objects'";
            self.reading.fail(response_path, reason);
            return vec![(base, 1)];
        }
        match size {
            SizeDoc::Range(range) => {
                if common.chunk.is_some() {
                    self.reading
                        .fail(format!("{path}.chunked"), "needs 'response' as a fixed size or with weights");
                }
                let (from, to) = range.0;
                let seed = self.seed_of(&response_path, "size");
                let number = Part::Decimal(Values::Random { from, to, seed, by: By::Each }, 0);
                let parts = vec![Part::Bytes(Arc::from(&b"/"[..])), number];
                vec![(HttpRequest { path: Content { parts }, ..base }, 1)]
            }
            SizeDoc::Weights(_) => weights(size)
                .into_iter()
                .map(|(bytes, weight)| {
                    rules.extend(chunked_path(bytes, common.chunk));
                    (sized(base.clone(), bytes), weight)
                })
                .collect(),
        }
    }

    /// The common request.
    fn request(&mut self, path: &str, common: &Common<'_>) -> HttpRequest {
        let doc = common.doc;
        let headers = self.headers(&format!("{path}.headers"), &doc.headers);
        HttpRequest {
            method: doc.method.map_or(Method::Get, method),
            path: match &doc.path {
                Some(text) => self.path_text(&format!("{path}.path"), text),
                None => Content::bytes("/"),
            },
            host: common.host.clone(),
            fields: headers,
            body: match &doc.body_text {
                Some(text) => self.body_text(path, doc, text),
                None => self.body(doc.body.as_ref(), common.chunk),
            },
            head_bytes: self.head(&format!("{path}.request"), doc.request.as_ref()),
            status: doc.status,
            response_bytes: None,
        }
    }

    /// Several requests, each with the common settings as defaults.
    fn objects(
        &mut self,
        path: &str,
        objects: &[ObjectDoc],
        common: &Common<'_>,
        rules: &mut Vec<HttpRule>,
    ) -> Vec<(HttpRequest, u32)> {
        let base = self.request(path, common);
        let ruled = !rules.is_empty();
        let mut requests = Vec::new();
        for (index, object) in objects.iter().enumerate() {
            let path = format!("{path}.objects[{index}]");
            let mut request = HttpRequest {
                method: object.method.map_or(base.method, method),
                status: object.status.or(base.status),
                ..base.clone()
            };
            if let Some(host) = &object.host {
                request.host = self.field_text(&format!("{path}.host"), host);
            }
            if let Some(headers) = &object.headers {
                request.fields = self.headers(&format!("{path}.headers"), headers);
            }
            if object.request.is_some() {
                request.head_bytes = self.head(&format!("{path}.request"), object.request.as_ref());
            }
            if object.body.is_some() {
                request.body = self.body(object.body.as_ref(), common.chunk);
            }
            let length = object.response.as_ref().map(|bytes| bytes.0);
            match (&object.path, length) {
                (None, None) => {}
                (None, Some(bytes)) => {
                    rules.extend(chunked_path(bytes, common.chunk));
                    request = sized(request, bytes);
                }
                (Some(text), length) => {
                    request.path = self.path_text(&format!("{path}.path"), text);
                    if let Some(bytes) = length {
                        request.response_bytes = (!ruled && request.method != Method::Head).then_some(bytes);
                        self.object_rule(&path, text, bytes, common, rules);
                    }
                }
            }
            requests.push((request, object.weight.0));
        }
        requests
    }

    /// The rule by which an emulated server responds to an object at its own path.
    fn object_rule(
        &mut self,
        path: &str,
        text: &TextDoc,
        bytes: u64,
        common: &Common<'_>,
        rules: &mut Vec<HttpRule>,
    ) {
        if !common.server {
            return;
        }
        match text {
            TextDoc::One(text) if !text.contains(['{', '}']) => {
                let exact = text.split('?').next().unwrap_or_default().to_owned();
                rules.push(HttpRule::ok(HttpPath::Exact(exact), body(Size::Fixed(bytes), common.chunk)));
            }
            _ => {
                let reason = "not allowed with a varying path; use rules of 'server'";
                self.reading.fail(format!("{path}.response"), reason);
            }
        }
    }

    fn rules(&mut self, path: &str, server: Option<&HttpServerDoc>) -> Vec<HttpRule> {
        let Some(server) = server else { return Vec::new() };
        let path = format!("{path}.server");
        if server.name.as_deref().is_some_and(|name| !is_field_value(name.as_bytes())) {
            self.reading.fail(format!("{path}.name"), "must be a single line");
        }
        let mut rules = Vec::new();
        for (index, doc) in server.rules.iter().enumerate() {
            let rule = self.rule(&format!("{path}.rules[{index}]"), doc);
            rules.push(rule);
        }
        rules
    }

    fn rule(&mut self, path: &str, doc: &HttpRuleDoc) -> HttpRule {
        let place = match doc.path.as_deref() {
            None => HttpPath::Any,
            Some(text) => {
                self.check_path(&format!("{path}.path"), text.as_bytes());
                match text.strip_suffix('*') {
                    Some(prefix) => HttpPath::Prefix(prefix.to_owned()),
                    None => HttpPath::Exact(text.to_owned()),
                }
            }
        };
        let size = doc.response.as_ref().map_or(Size::Fixed(0), |size| self.amount(size));
        let chunk = doc.chunked.as_ref().and_then(|chunk| self.chunk(&format!("{path}.chunked"), chunk));
        if chunk.is_some() && doc.until_close {
            self.reading.fail(format!("{path}.until_close"), "conflicts with 'chunked'; remove one of them");
        }
        for (name, value) in &doc.headers {
            self.check_field(&format!("{path}.headers.{name}"), name, value.as_bytes());
        }
        HttpRule {
            methods: doc.methods.iter().map(|m| method(*m)).collect(),
            path: place,
            status: doc.status.unwrap_or(200),
            body: if doc.until_close { HttpBody::UntilClose(size) } else { body(size, chunk) },
            fields: doc.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            close: doc.close || doc.until_close,
            delay: self.delay(&format!("{path}.delay"), doc.delay.as_ref()),
        }
    }

    /// Responses if no rule fits: paths that are a number get that many bytes, others 'response'.
    fn last_rules(&self, common: &Common<'_>) -> [HttpRule; 2] {
        let otherwise = match &common.doc.response {
            Some(size) => self.amount(size),
            None => Size::Fixed(BODY),
        };
        [
            HttpRule::ok(HttpPath::Number, HttpBody::FromPath),
            HttpRule::ok(HttpPath::Any, body(otherwise, common.chunk)),
        ]
    }

    fn chunk(&mut self, path: &str, chunk: &Bytes) -> Option<u32> {
        let bytes = u32::try_from(chunk.0).ok().filter(|bytes| *bytes > 0);
        if bytes.is_none() {
            self.reading.fail(path, "a chunk is from 1B to 4GB");
        }
        bytes
    }

    fn head(&mut self, path: &str, head: Option<&Bytes>) -> u32 {
        let bytes = head.map_or(0, |bytes| bytes.0);
        if bytes > HEAD_MAX {
            self.reading.fail(path, format!("must be at most {HEAD_MAX}B; use 'body' for more"));
        }
        bytes.min(HEAD_MAX) as u32
    }

    fn body(&self, size: Option<&SizeDoc>, chunk: Option<u32>) -> RequestBody {
        let Some(size) = size else { return RequestBody::None };
        let size = self.amount(size);
        match chunk {
            Some(chunk) => RequestBody::Chunked { size, chunk },
            None => RequestBody::Length(size),
        }
    }

    fn body_text(&mut self, path: &str, doc: &HttpDoc, text: &str) -> RequestBody {
        let others = [("body", doc.body.is_some()), ("chunked", doc.chunked.is_some())];
        if let Some((other, _)) = others.into_iter().find(|(_, is_there)| *is_there) {
            self.reading.fail(format!("{path}.body_text"), format!("does not go with '{other}'"));
        }
        RequestBody::Text(text.to_owned())
    }

    pub(super) fn headers(
        &mut self,
        path: &str,
        headers: &IndexMap<String, TextDoc>,
    ) -> Vec<(String, Content)> {
        let mut fields = Vec::new();
        for (name, value) in headers {
            let path = format!("{path}.{name}");
            self.check_field(&path, name, b"");
            let value = self.field_text(&path, value);
            fields.push((name.clone(), value));
        }
        fields
    }

    fn check_field(&mut self, path: &str, name: &str, value: &[u8]) {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(token) {
            self.reading.fail(path, format!("'{name}' is not a valid HTTP field name"));
        } else if WRITTEN.contains(&name.to_ascii_lowercase().as_str()) {
            let host = if name.eq_ignore_ascii_case("host") { "; set it in 'host'" } else { "" };
            self.reading.fail(path, format!("the field '{name}' is sent automatically{host}"));
        } else if !is_field_value(value) {
            self.reading.fail(path, "must be a single line");
        }
    }

    /// A text in a line of the head.
    pub(super) fn field_text(&mut self, path: &str, doc: &TextDoc) -> Content {
        let content = self.text(path, doc);
        if !pieces(&content).all(is_field_value) {
            self.reading.fail(path, "must be a single line");
        }
        content
    }

    fn path_text(&mut self, path: &str, doc: &TextDoc) -> Content {
        let content = self.text(path, doc);
        let is_target = |text: &[u8]| {
            text == b"*" || [&b"/"[..], b"http://", b"https://"].iter().any(|begin| text.starts_with(begin))
        };
        let begins = match content.parts.first() {
            Some(Part::Bytes(bytes)) => is_target(bytes),
            Some(Part::List { items, .. }) => items.iter().all(|item| is_target(item)),
            _ => false,
        };
        if !begins && !self.reading.is_broken(path) {
            let reason =
                "a path begins with '/', or with 'http://' for an explicit proxy; '*' is for OPTIONS";
            self.reading.fail(path, reason);
        } else if pieces(&content).any(|bytes| bytes.iter().any(|b| *b <= b' ' || *b == 0x7f)) {
            self.reading.fail(path, "a path has no spaces; write %20");
        }
        content
    }

    /// Tunnel request to an explicit proxy.
    pub(super) fn tunnel(&mut self, path: &str, doc: &TunnelDoc) -> TunnelPlan {
        let path = format!("{path}.tunnel");
        let to = self.text(&format!("{path}.to"), &doc.to);
        if !pieces(&to).all(|bytes| bytes.iter().all(u8::is_ascii_graphic)) {
            self.reading
                .fail(format!("{path}.to"), "a name or address and a port, such as www.example.com:443");
        }
        let fields = self.headers(&format!("{path}.headers"), &doc.headers);
        TunnelPlan { to, fields }
    }

    fn check_path(&mut self, path: &str, text: &[u8]) {
        if !text.starts_with(b"/") {
            self.reading.fail(path, "a path begins with '/'");
        }
    }
}

/// The plain bytes in a content.
pub(super) fn pieces(content: &Content) -> impl Iterator<Item = &[u8]> {
    content.parts.iter().flat_map(|part| match part {
        Part::Bytes(bytes) => vec![&bytes[..]],
        Part::List { items, .. } => items.iter().map(|item| &item[..]).collect(),
        _ => Vec::new(),
    })
}

fn is_field_value(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| *b == b'\t' || (*b >= b' ' && *b != 0x7f))
}

/// The request for this number of bytes.
fn sized(request: HttpRequest, bytes: u64) -> HttpRequest {
    let response_bytes = (request.method != Method::Head).then_some(bytes);
    HttpRequest { path: Content::bytes(format!("/{bytes}")), response_bytes, ..request }
}

/// The rule for the path of this number of bytes in chunks, if chunks are enabled.
fn chunked_path(bytes: u64, chunk: Option<u32>) -> Option<HttpRule> {
    chunk.map(|chunk| {
        HttpRule::ok(HttpPath::Exact(format!("/{bytes}")), body(Size::Fixed(bytes), Some(chunk)))
    })
}

fn body(size: Size, chunk: Option<u32>) -> HttpBody {
    match chunk {
        Some(chunk) => HttpBody::Chunked { size, chunk },
        None => HttpBody::Length(size),
    }
}

fn early_data(doc: EarlyDataDoc) -> EarlyData {
    match doc {
        EarlyDataDoc::Accepted(false) => EarlyData::Off,
        EarlyDataDoc::Accepted(true) => EarlyData::Accepted,
        EarlyDataDoc::Answer(EarlyAnswerDoc::TooEarly) => EarlyData::TooEarly,
    }
}

/// The default Host field.
pub(super) fn default_host(around: &Surroundings) -> String {
    match around.first_server {
        Some(IpAddr::V4(ip)) if !around.server => ip.to_string(),
        Some(IpAddr::V6(ip)) if !around.server => format!("[{ip}]"),
        _ => OUR_NAME.to_owned(),
    }
}

fn method(doc: MethodDoc) -> Method {
    match doc {
        MethodDoc::Get => Method::Get,
        MethodDoc::Head => Method::Head,
        MethodDoc::Post => Method::Post,
        MethodDoc::Put => Method::Put,
        MethodDoc::Delete => Method::Delete,
        MethodDoc::Options => Method::Options,
        MethodDoc::Patch => Method::Patch,
    }
}
