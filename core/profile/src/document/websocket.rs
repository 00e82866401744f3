//! WebSocket of sessions, as written.

use crate::document::app::once;
use crate::document::content::{SizeDoc, TextDoc, TimesDoc};
use crate::document::quantity::{Bytes, DelayText, Duration};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// WebSocket (RFC 6455): a connection is upgraded from HTTP/1.1, carries messages, and is closed by Close frames. Each message of a
/// client is a request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Websocket")]
pub struct WebsocketDoc {
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
    /// Maximum size of a received message; a longer one is refused with code 1009. Default: 1MiB.
    pub message_max: Option<Bytes>,
}

impl WebsocketDoc {
    /// Messages of a client on a connection; `None` is without end.
    pub fn times(&self) -> Option<u32> {
        self.requests.unwrap_or_else(once).times()
    }
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
