//! WebSocket of sessions, as written.

use crate::document::app::once;
use crate::document::content::{SizeDoc, TextDoc, TimesDoc};
use crate::document::quantity::{Bytes, DelayText, Duration, HttpVersionText};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::plan::HttpVersion;

/// WebSocket (RFC 6455): a connection is upgraded from HTTP/1.1, or a stream of HTTP/2 or HTTP/3 opened for it; it carries messages, and is closed by Close frames. Each message of a
/// client is a request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Websocket")]
pub struct WebsocketDoc {
    /// Version of HTTP of the upgrade: '1.1'; '2' (RFC 8441): with 'tls' negotiated in the handshake (ALPN), otherwise from the
    /// first byte; or '3' (RFC 9220): over QUIC. A connection of HTTP/2 or HTTP/3 carries one WebSocket. Default: 1.1.
    pub version: Option<HttpVersionText>,
    /// Path and query of the upgrade. Default: '/'.
    pub path: Option<TextDoc>,
    /// Host field. Default: 'eagre.test' with emulated servers, otherwise the first server's address.
    pub host: Option<TextDoc>,
    /// More header fields of the upgrade, in this order.
    #[serde(default)]
    pub headers: IndexMap<String, TextDoc>,
    /// Subprotocols that clients offer. Emulated servers choose the first of a client's that is in this list.
    #[serde(default)]
    pub subprotocols: Vec<String>,
    /// Type of messages. Default: binary, with 'text' text.
    pub kind: Option<WebsocketKindDoc>,
    /// Size of a client's message. Default: 64B.
    pub request: Option<SizeDoc>,
    /// Text that is the message, instead of 'request'.
    pub text: Option<TextDoc>,
    /// Number of messages that a client sends on a connection. Default: 1.
    pub requests: Option<TimesDoc>,
    /// Expected reaction to a message, which is also that of emulated servers.
    #[serde(default)]
    pub expect: WebsocketExpectDoc,
    /// Size of an emulated server's messages, with 'expect: reply' or 'push'; clients of a reply count any other length as the
    /// failure 'wrong_content'. Default: any size, 64B of emulated servers.
    pub response: Option<SizeDoc>,
    /// Number of messages of a client in flight on a connection. Default: 1.
    #[schemars(range(min = 1, max = 255))]
    pub pipeline: Option<u8>,
    /// Think time: from a reply to the next message; with 'expect: nothing' from a message to the next.
    pub think: Option<DelayText>,
    /// Maximum size of a fragment of messages. Default: no fragments.
    pub fragment: Option<Bytes>,
    /// Interval at which emulated ends send a Ping. One without a Pong when the next is due is the failure 'response_timeout'. Default:
    /// no Pings.
    pub ping: Option<Duration>,
    /// Interval at which emulated servers send a message of 'response' by themselves; with 'expect: nothing' only. Default: they do not.
    pub push: Option<Duration>,
    /// Maximum size of a received message, decompressed; a longer one is refused with code 1009. Default: 1MiB.
    pub message_max: Option<Bytes>,
    /// Compression of messages (RFC 7692, permessage-deflate), which clients offer and emulated servers accept. Default: neither.
    pub compression: Option<CompressionForm>,
}

impl WebsocketDoc {
    /// Version of HTTP it goes over.
    pub fn version(&self) -> HttpVersion {
        self.version.as_ref().map_or(HttpVersion::One, |version| version.0)
    }

    /// Messages of a client on a connection; `None` is without end.
    pub fn times(&self) -> Option<u32> {
        self.requests.unwrap_or_else(once).times()
    }
}

/// `true`, or more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum CompressionForm {
    Default(bool),
    Full(CompressionDoc),
}

impl CompressionForm {
    /// The settings with defaults applied; `None` is no compression.
    pub fn resolved(&self) -> Option<CompressionDoc> {
        match self {
            Self::Default(yes) => yes.then(CompressionDoc::default),
            Self::Full(doc) => Some(doc.clone()),
        }
    }
}

/// Compression of WebSocket's messages, with the names of RFC 7692 section 7.1: of clients what they offer, of emulated servers their limits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Compression")]
pub struct CompressionDoc {
    /// Whether clients compress each message by itself, without reference to those before.
    #[serde(default)]
    pub client_no_context_takeover: bool,
    /// Whether servers compress each message by itself.
    #[serde(default)]
    pub server_no_context_takeover: bool,
    /// Base-2 logarithm of the window that clients compress with, in bytes. With 8 they send messages uncompressed. Default: 15.
    #[schemars(range(min = 8, max = 15))]
    pub client_max_window_bits: Option<u8>,
    /// That of servers. Default: 15.
    #[schemars(range(min = 8, max = 15))]
    pub server_max_window_bits: Option<u8>,
    /// Effort of both ends: from 1, fast, to 9. Default: 6.
    #[schemars(range(min = 1, max = 9))]
    pub level: Option<u8>,
    /// Minimum size of messages that are compressed; shorter ones are sent as they are. Default: 0B.
    pub threshold: Option<Bytes>,
}

/// Type of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum WebsocketKindDoc {
    /// Text: with 'request' letters, digits and signs.
    Text,
    /// Bytes.
    Binary,
}

/// Expected reaction to a message.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum WebsocketExpectDoc {
    /// The same message. Clients compare every byte, with or without 'verify'.
    #[default]
    Echo,
    /// A message.
    Reply,
    /// Nothing. Clients count what comes nevertheless.
    Nothing,
}
