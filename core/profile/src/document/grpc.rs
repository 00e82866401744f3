//! gRPC of sessions, as written.

use crate::document::app::once;
use crate::document::content::{SizeDoc, TextDoc, TimesDoc};
use crate::document::quantity::{Bytes, DelayText, Duration, Hex};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::plan::GrpcStatus;

/// gRPC over HTTP/2: each call is a request, and a stream of its connection. With 'tls' HTTP/2 is negotiated in the handshake (ALPN),
/// otherwise it begins with the first byte (prior knowledge).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Grpc")]
pub struct GrpcDoc {
    /// Service and method, such as 'helloworld.Greeter/SayHello'. Emulated servers respond to any other method with the status
    /// UNIMPLEMENTED. Default: 'eagre.Test/Call'.
    pub method: Option<String>,
    /// Kind of calls.
    #[serde(default)]
    pub kind: GrpcKindDoc,
    /// ':authority' of calls. Default: 'eagre.test' with emulated servers, otherwise the first server's address.
    pub host: Option<TextDoc>,
    /// Metadata of calls, in this order. Values of names that end with '-bin' are written in base64.
    #[serde(default)]
    pub metadata: IndexMap<String, TextDoc>,
    /// Size of a client's message. Default: 64B.
    pub request: Option<SizeDoc>,
    /// Bytes that are a client's message, instead of 'request'. Emulated servers compare them.
    pub message: Option<MessageDoc>,
    /// Number of messages of a client in a call, with 'client_streaming' and 'bidirectional'. Default: 10.
    #[schemars(range(min = 1))]
    pub messages: Option<u32>,
    /// Size of a message of emulated servers; clients count any other length as the failure 'wrong_content'. Default: any size, 64B of
    /// emulated servers.
    pub response: Option<SizeDoc>,
    /// Bytes that are a server's message, instead of 'response'. Clients compare them.
    pub reply: Option<MessageDoc>,
    /// Number of messages of emulated servers in a call, with 'server_streaming'; clients count any other number as the failure
    /// 'wrong_content'. Default: any number, 10 of emulated servers.
    pub responses: Option<u32>,
    /// Messages of servers. With 'echo' no 'response', and only for unary and bidirectional calls.
    #[serde(default)]
    pub expect: GrpcExpectDoc,
    /// Interval between the messages of a stream, from when the call was due. Default: as fast as possible; in bidirectional calls each
    /// message once the one before has its response.
    pub interval: Option<Duration>,
    /// Number of calls on a connection. Default: 1.
    pub requests: Option<TimesDoc>,
    /// Number of calls in flight on a connection, or fewer if the server announces less. Default: 1.
    #[schemars(range(min = 1, max = 10_000))]
    pub streams_per_connection: Option<u16>,
    /// Think time: from a call's end to the next call.
    pub think: Option<DelayText>,
    /// Deadline of calls: clients cancel a call after this time, and inform the server ('grpc-timeout'). The status is then
    /// DEADLINE_EXCEEDED. Default: none.
    pub deadline: Option<Duration>,
    /// Status of emulated servers, which clients expect; any other is the failure 'grpc_status'. With a status other than OK servers send
    /// no message. Default: OK, and clients take any status.
    pub status: Option<GrpcStatusDoc>,
    /// Status message of emulated servers. Default: none.
    pub status_message: Option<String>,
    /// Fail the session on a status other than OK, which is counted in any case. Default: true.
    pub errors_fail: Option<bool>,
    /// Delay of emulated servers: from a call's last request, or with 'bidirectional' from each, to the response.
    pub delay: Option<DelayText>,
    /// Maximum size of a received message; a longer one ends its call with the status RESOURCE_EXHAUSTED. Default: 4MiB.
    pub message_max: Option<Bytes>,
}

impl GrpcDoc {
    /// Calls on a connection; `None` is without end.
    pub fn times(&self) -> Option<u32> {
        self.requests.unwrap_or_else(once).times()
    }
}

/// Kind of a call: who sends several messages.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum GrpcKindDoc {
    /// One message, and one in response.
    #[default]
    Unary,
    /// Several messages, and one in response.
    ClientStreaming,
    /// One message, and several in response.
    ServerStreaming,
    /// Several messages, and one in response to each.
    Bidirectional,
}

/// Messages of servers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum GrpcExpectDoc {
    /// Messages of 'response' or 'reply'.
    #[default]
    Reply,
    /// The client's messages. Clients compare every byte, with or without 'verify'.
    Echo,
}

/// Bytes of a message: a mapping with one of these keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Message", extend("minProperties" = 1, "maxProperties" = 1, "x-noun" = "message"))]
pub struct MessageDoc {
    /// Hexadecimal digits.
    pub hex: Option<Hex>,
    /// Base64.
    pub base64: Option<String>,
    /// File with the bytes, relative to the profile.
    #[schemars(length(min = 1))]
    pub file: Option<String>,
    /// Text. Of a client it may differ from session to session; servers do not compare it then.
    pub text: Option<TextDoc>,
}

/// A status of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
#[expect(missing_docs, reason = "gRPC's own names")]
pub enum GrpcStatusDoc {
    Ok,
    Cancelled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    OutOfRange,
    Unimplemented,
    Internal,
    Unavailable,
    DataLoss,
    Unauthenticated,
}

impl GrpcStatusDoc {
    /// The status.
    pub fn status(self) -> GrpcStatus {
        GrpcStatus::ALL[self as usize]
    }
}
