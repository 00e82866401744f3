//! WebSocket: the upgrade, messages of clients, and what emulated servers send.

use super::app::{Resolved, Surroundings};
use super::content::largest;
use super::http::{default_host, pieces};
use crate::document::content::{SizeDoc, TextDoc};
use crate::document::quantity::{Bytes, BytesRange, Duration};
use crate::document::session::SessionDoc;
use crate::document::websocket::{
    CompressionDoc, CompressionForm, WebsocketDoc, WebsocketExpectDoc, WebsocketKindDoc,
};
use crate::resolve::Resolver;
use session::plan::{
    AppPlan, Content, Deflate, HttpVersion, Part, Size, WebsocketCompression, WebsocketExpect, WebsocketKind,
    WebsocketPlan,
};
use std::sync::Arc;
use units::Nanos;

/// Default size of a message, bytes.
const MESSAGE: u64 = 64;
/// Default maximum size of a received message, bytes.
const MESSAGE_MAX: u64 = 1 << 20;

impl Resolver<'_> {
    pub(super) fn websocket(
        &mut self,
        path: &str,
        doc: &WebsocketDoc,
        entry: &SessionDoc,
        around: &Surroundings,
    ) -> Resolved {
        let expect = match doc.expect {
            WebsocketExpectDoc::Echo => WebsocketExpect::Echo,
            WebsocketExpectDoc::Reply => WebsocketExpect::Reply,
            WebsocketExpectDoc::Nothing => WebsocketExpect::Nothing,
        };
        let push = self.interval(&format!("{path}.push"), doc.push.as_ref());
        self.check_websocket(path, doc, around);
        let kind = match (doc.kind, &doc.text) {
            (Some(WebsocketKindDoc::Text), _) | (None, Some(_)) => WebsocketKind::Text,
            _ => WebsocketKind::Binary,
        };
        let plan = WebsocketPlan {
            path: self.websocket_path(&format!("{path}.path"), doc.path.as_ref()),
            host: match &doc.host {
                Some(host) => self.field_text(&format!("{path}.host"), host),
                None => Content::bytes(default_host(around)),
            },
            fields: self.websocket_fields(&format!("{path}.headers"), doc),
            subprotocols: doc.subprotocols.clone(),
            kind,
            message: match &doc.text {
                Some(text) => self.text(&format!("{path}.text"), text),
                None => Content::generated(self.amount(doc.request.as_ref().unwrap_or(&usual()))),
            },
            response: self.websocket_response(doc, around),
            per_connection: doc.times(),
            pipeline: doc.pipeline.unwrap_or(1),
            fragment: self.at_least_one(&format!("{path}.fragment"), doc.fragment.as_ref()),
            think: self.delay(&format!("{path}.think"), doc.think.as_ref()),
            expect,
            push,
            ping: self.interval(&format!("{path}.ping"), doc.ping.as_ref()),
            most: self
                .at_least_one(&format!("{path}.message_max"), doc.message_max.as_ref())
                .unwrap_or(MESSAGE_MAX),
            seed: self.seed_of(path, "masks"),
            version: doc.version(),
            compression: doc.compression.as_ref().and_then(CompressionForm::resolved).map(compression),
        };
        let tls = entry.tls.as_ref().is_some_and(|tls| tls.resolved().is_some())
            || doc.version() == HttpVersion::Three;
        Resolved { app: AppPlan::Websocket(Arc::new(plan)), port: Some(if tls { 443 } else { 80 }) }
    }

    /// Messages of servers; unknown for external servers unless 'response' is set.
    fn websocket_response(&mut self, doc: &WebsocketDoc, around: &Surroundings) -> Option<Size> {
        let sends = doc.expect == WebsocketExpectDoc::Reply || doc.push.is_some();
        match &doc.response {
            Some(size) => Some(self.amount(size)),
            None => (sends && around.server).then_some(Size::Fixed(MESSAGE)),
        }
    }

    /// That keys do not contradict each other.
    fn check_websocket(&mut self, path: &str, doc: &WebsocketDoc, around: &Surroundings) {
        let mut wrong = |key: &str, reason: &str| self.reading.fail(format!("{path}.{key}"), reason);
        if doc.version() == HttpVersion::Auto {
            wrong("version", "the version of WebSocket is not negotiated; set '1.1', '2' or '3'");
        }
        if doc.text.is_some() && doc.request.is_some() {
            wrong("text", "does not go with 'request'; remove one of them");
        }
        if doc.push.is_some() && doc.expect != WebsocketExpectDoc::Nothing {
            wrong("push", "clients take every message for a reply; set 'expect: nothing'");
        }
        if doc.push.is_some() && !around.server {
            wrong("push", "applies to emulated servers only: 'server' has no 'port'");
        }
        match doc.expect {
            _ if doc.response.is_none() => {}
            WebsocketExpectDoc::Echo => {
                wrong("response", "an echo has the size of its request; set 'expect: reply'")
            }
            WebsocketExpectDoc::Nothing if doc.push.is_none() => {
                wrong("response", "nothing is sent; set 'expect: reply' or 'push'")
            }
            _ => {}
        }
        if doc.expect == WebsocketExpectDoc::Nothing && doc.pipeline.is_some() {
            wrong("pipeline", "has no effect without replies; remove it");
        }
        let most = doc.message_max.as_ref().map_or(MESSAGE_MAX, |bytes| bytes.0);
        let too_long = |size: &Option<SizeDoc>| size.as_ref().is_some_and(|size| largest(size) > most);
        let echoed = doc.expect == WebsocketExpectDoc::Echo || around.server;
        for (key, _) in [("request", too_long(&doc.request) && echoed), ("response", too_long(&doc.response))]
            .into_iter()
            .filter(|(_, is_too_long)| *is_too_long)
        {
            wrong(key, &format!("a message of more than {most}B is refused; raise 'message_max'"));
        }
        for (index, name) in doc.subprotocols.iter().enumerate() {
            if !is_token(name) || doc.subprotocols[..index].contains(name) {
                wrong(
                    &format!("subprotocols[{index}]"),
                    "a name of letters, digits and signs without spaces, each once",
                );
            }
        }
    }

    fn websocket_path(&mut self, path: &str, doc: Option<&TextDoc>) -> Content {
        let Some(doc) = doc else { return Content::bytes("/") };
        let content = self.text(path, doc);
        let begins = match content.parts.first() {
            Some(Part::Bytes(bytes)) => bytes.starts_with(b"/"),
            Some(Part::List { items, .. }) => items.iter().all(|item| item.starts_with(b"/")),
            _ => false,
        };
        if !begins && !self.reading.is_broken(path) {
            self.reading.fail(path, "a path begins with '/'");
        } else if pieces(&content).any(|bytes| bytes.iter().any(|b| *b <= b' ' || *b == 0x7f)) {
            self.reading.fail(path, "a path has no spaces; write %20");
        }
        content
    }

    fn websocket_fields(&mut self, path: &str, doc: &WebsocketDoc) -> Vec<(String, Content)> {
        for name in doc.headers.keys() {
            let lower = name.to_ascii_lowercase();
            if lower == "upgrade" || lower.starts_with("sec-websocket-") {
                let instead = match &*lower {
                    "sec-websocket-protocol" => "; set it in 'subprotocols'",
                    "sec-websocket-extensions" => "; set it in 'compression'",
                    _ => "",
                };
                self.reading.fail(
                    format!("{path}.{name}"),
                    format!("the field '{name}' is sent automatically{instead}"),
                );
            }
        }
        self.headers(path, &doc.headers)
    }

    /// A time that must be longer than 0.
    pub(super) fn interval(&mut self, path: &str, time: Option<&Duration>) -> Option<Nanos> {
        let time = time?.0;
        if time == Nanos::ZERO {
            self.reading.fail(path, "must be longer than 0");
        }
        Some(time)
    }

    fn at_least_one(&mut self, path: &str, bytes: Option<&Bytes>) -> Option<u64> {
        let bytes = bytes?.0;
        if bytes == 0 {
            self.reading.fail(path, "must be at least 1B");
        }
        Some(bytes.max(1))
    }
}

fn compression(doc: CompressionDoc) -> WebsocketCompression {
    let usual = Deflate::default();
    WebsocketCompression {
        parameters: Deflate {
            client_no_context_takeover: doc.client_no_context_takeover,
            server_no_context_takeover: doc.server_no_context_takeover,
            client_max_window_bits: doc.client_max_window_bits.unwrap_or(usual.client_max_window_bits),
            server_max_window_bits: doc.server_max_window_bits.unwrap_or(usual.server_max_window_bits),
        },
        level: doc.level,
        threshold: doc.threshold.map_or(0, |bytes| bytes.0),
    }
}

fn usual() -> SizeDoc {
    SizeDoc::Range(BytesRange((MESSAGE, MESSAGE)))
}

/// RFC 9110 section 5.6.2.
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}
