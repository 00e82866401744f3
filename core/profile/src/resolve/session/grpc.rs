//! gRPC: calls of clients, and responses of emulated servers.

use super::app::{Resolved, Surroundings};
use super::content::largest;
use super::http::default_host;
use crate::document::content::SizeDoc;
use crate::document::grpc::{GrpcDoc, GrpcExpectDoc, GrpcKindDoc, MessageDoc};
use crate::document::quantity::BytesRange;
use crate::document::session::SessionDoc;
use crate::resolve::Resolver;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use session::plan::{AppPlan, Content, GrpcExpect, GrpcKind, GrpcPlan, GrpcServer, GrpcStatus, Part, Size};
use std::sync::Arc;

/// Default method.
const METHOD: &str = "eagre.Test/Call";
/// Default size of a message, bytes.
const MESSAGE: u64 = 64;
/// Default number of messages of a stream.
const MESSAGES: u32 = 10;
/// Default maximum size of a received message, bytes: that of gRPC.
const MESSAGE_MAX: u64 = 4 << 20;

impl Resolver<'_> {
    pub(super) fn grpc(
        &mut self,
        path: &str,
        doc: &GrpcDoc,
        entry: &SessionDoc,
        around: &Surroundings,
    ) -> Resolved {
        self.check_grpc(path, doc, around);
        let most = doc.message_max.as_ref().map_or(MESSAGE_MAX, |bytes| bytes.0);
        let kind = match doc.kind {
            GrpcKindDoc::Unary => GrpcKind::Unary,
            GrpcKindDoc::ClientStreaming => GrpcKind::ClientStreaming,
            GrpcKindDoc::ServerStreaming => GrpcKind::ServerStreaming,
            GrpcKindDoc::Bidirectional => GrpcKind::Bidirectional,
        };
        let usual = SizeDoc::Range(BytesRange((MESSAGE, MESSAGE)));
        let message = match &doc.message {
            Some(message) => self.message_bytes(&format!("{path}.message"), message, most),
            None => Content::generated(self.amount(doc.request.as_ref().unwrap_or(&usual))),
        };
        let expect = match doc.expect {
            GrpcExpectDoc::Reply => GrpcExpect::Reply,
            GrpcExpectDoc::Echo => GrpcExpect::Echo,
        };
        let reply = match (&doc.reply, &doc.response) {
            _ if expect == GrpcExpect::Echo => None,
            (Some(reply), _) => Some(self.message_bytes(&format!("{path}.reply"), reply, most)),
            (None, Some(size)) => Some(Content::generated(self.amount(size))),
            (None, None) => around.server.then(|| Content::generated(Size::Fixed(MESSAGE))),
        };
        if reply.as_ref().is_some_and(Content::follows_session) {
            let reason =
                "servers do not know a session's number; use a text without it, or a list by request";
            self.reading.fail(format!("{path}.reply"), reason);
        }
        let streams = matches!(kind, GrpcKind::ClientStreaming | GrpcKind::Bidirectional);
        let plan = GrpcPlan {
            path: self.grpc_method(&format!("{path}.method"), doc.method.as_deref()),
            host: match &doc.host {
                Some(host) => self.field_text(&format!("{path}.host"), host),
                None => Content::bytes(default_host(around)),
            },
            metadata: self.metadata(&format!("{path}.metadata"), doc),
            kind,
            message,
            messages: if streams { doc.messages.unwrap_or(MESSAGES).max(1) } else { 1 },
            reply,
            responses: doc.responses.or(around.server.then_some(MESSAGES)),
            expect,
            interval: self.interval(&format!("{path}.interval"), doc.interval.as_ref()),
            per_connection: doc.times(),
            streams: doc.streams_per_connection.unwrap_or(1),
            think: self.delay(&format!("{path}.think"), doc.think.as_ref()),
            deadline: self.interval(&format!("{path}.deadline"), doc.deadline.as_ref()),
            errors_fail: doc.errors_fail.unwrap_or(true),
            status: doc.status.map(|status| status.status()),
            most: u32::try_from(most).unwrap_or(u32::MAX),
            server: GrpcServer {
                text: doc.status_message.clone().unwrap_or_default(),
                delay: self.delay(&format!("{path}.delay"), doc.delay.as_ref()),
            },
        };
        let tls = entry.tls.as_ref().is_some_and(|tls| tls.resolved().is_some());
        Resolved { app: AppPlan::Grpc(Arc::new(plan)), port: Some(if tls { 443 } else { 80 }) }
    }

    /// That keys do not contradict each other.
    fn check_grpc(&mut self, path: &str, doc: &GrpcDoc, around: &Surroundings) {
        let mut wrong = |key: &str, reason: &str| self.reading.fail(format!("{path}.{key}"), reason);
        if doc.message.is_some() && doc.request.is_some() {
            wrong("message", "does not go with 'request'; remove one of them");
        }
        if doc.reply.is_some() && doc.response.is_some() {
            wrong("reply", "does not go with 'response'; remove one of them");
        }
        let client_streams = matches!(doc.kind, GrpcKindDoc::ClientStreaming | GrpcKindDoc::Bidirectional);
        if doc.messages == Some(0) {
            wrong("messages", "must be at least 1");
        } else if doc.messages.is_some() && !client_streams {
            wrong("messages", "clients send one message; set 'kind: client_streaming' or 'bidirectional'");
        }
        if doc.responses.is_some() && doc.kind != GrpcKindDoc::ServerStreaming {
            wrong("responses", "their number follows from the kind of call; set 'kind: server_streaming'");
        }
        if doc.interval.is_some() && doc.kind == GrpcKindDoc::Unary {
            wrong("interval", "there is no stream of messages; set another 'kind'");
        }
        if doc.expect == GrpcExpectDoc::Echo {
            if !matches!(doc.kind, GrpcKindDoc::Unary | GrpcKindDoc::Bidirectional) {
                wrong("expect", "an echo needs a response to each message: 'kind: unary' or 'bidirectional'");
            }
            for (key, _) in [("response", doc.response.is_some()), ("reply", doc.reply.is_some())]
                .into_iter()
                .filter(|(_, given)| *given)
            {
                wrong(key, "an echo is the client's message; remove one of them");
            }
        }
        if let Some(status) =
            doc.status.map(|status| status.status()).filter(|status| *status != GrpcStatus::Ok)
        {
            let keys = [
                ("response", doc.response.is_some()),
                ("reply", doc.reply.is_some()),
                ("responses", doc.responses.is_some()),
            ];
            for (key, _) in keys.into_iter().filter(|(_, given)| *given && around.server) {
                let name = status.name();
                wrong(key, &format!("with 'status: {name}' servers send no message; remove one of them"));
            }
        }
        if !around.server {
            for (key, _) in [("status_message", doc.status_message.is_some()), ("delay", doc.delay.is_some())]
                .into_iter()
                .filter(|(_, given)| *given)
            {
                wrong(key, "applies to emulated servers only: 'server' has no 'port'");
            }
        }
        let most = doc.message_max.as_ref().map_or(MESSAGE_MAX, |bytes| bytes.0);
        if most == 0 || most > u64::from(u32::MAX) {
            wrong("message_max", "must be from 1B to 4294967295B");
        }
        let too_long = |size: &Option<SizeDoc>| size.as_ref().is_some_and(|size| largest(size) > most);
        for (key, _) in
            [("request", too_long(&doc.request) && around.server), ("response", too_long(&doc.response))]
                .into_iter()
                .filter(|(_, is_too_long)| *is_too_long)
        {
            wrong(key, &format!("a message of more than {most}B is refused; raise 'message_max'"));
        }
    }

    /// The path of a method.
    fn grpc_method(&mut self, path: &str, method: Option<&str>) -> String {
        let method = method.unwrap_or(METHOD);
        let is_name = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        if !method.rsplit_once('/').is_some_and(|(service, method)| is_name(service) && is_name(method)) {
            let reason =
                "a service and a method, such as 'helloworld.Greeter/SayHello', without '/' before it";
            self.reading.fail(path, reason);
        }
        format!("/{method}")
    }

    fn metadata(&mut self, path: &str, doc: &GrpcDoc) -> Vec<(String, Content)> {
        for (name, value) in &doc.metadata {
            let lower = name.to_ascii_lowercase();
            let path = format!("{path}.{name}");
            let is_own = lower.starts_with("grpc-")
                || matches!(&*lower, "te" | "content-type" | "keep-alive" | "proxy-connection" | "upgrade");
            if is_own {
                let instead = if lower == "grpc-timeout" { "; set 'deadline'" } else { "" };
                self.reading
                    .fail(path, format!("the field '{name}' is sent automatically, or not allowed{instead}"));
            } else if lower.ends_with("-bin")
                && let crate::document::content::TextDoc::One(text) = value
                && !text.contains(['{', '}'])
                && decoded(text).is_none()
            {
                self.reading.fail(path, "a value of a name that ends with '-bin' is base64");
            } else if matches!(value, crate::document::content::TextDoc::One(text) if !text.is_ascii()) {
                let reason = "must be ASCII; a name that ends with '-bin' takes any bytes, as base64";
                self.reading.fail(path, reason);
            }
        }
        let fields = self.headers(path, &doc.metadata);
        fields.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect()
    }

    /// Bytes of a message.
    fn message_bytes(&mut self, path: &str, doc: &MessageDoc, most: u64) -> Content {
        let content = match doc {
            MessageDoc { hex: Some(hex), .. } => Content::bytes(&hex.0),
            MessageDoc { base64: Some(text), .. } => match decoded(text) {
                Some(bytes) => Content::bytes(bytes),
                None => {
                    self.reading.fail(format!("{path}.base64"), "is not base64 (RFC 4648 section 4)");
                    Content::default()
                }
            },
            MessageDoc { file: Some(name), .. } => {
                Content::bytes(self.file(&format!("{path}.file"), name).unwrap_or_default())
            }
            MessageDoc { text: Some(text), .. } => self.text(&format!("{path}.text"), text),
            _ => Content::default(),
        };
        let bytes: u64 = content
            .parts
            .iter()
            .map(|part| match part {
                Part::Bytes(bytes) => bytes.len() as u64,
                _ => 0,
            })
            .sum();
        if bytes > most {
            self.reading
                .fail(path, format!("a message of more than {most}B is refused; raise 'message_max'"));
        }
        content
    }
}

/// Bytes of base64, with or without padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_with_and_without_padding() {
        assert_eq!(decoded("aGk="), Some(b"hi".to_vec()));
        assert_eq!(decoded("aGk"), Some(b"hi".to_vec()));
        assert_eq!(decoded("a"), None);
    }
}
