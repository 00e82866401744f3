//! Applications of sessions, as written.

use crate::document::content::{ContentDoc, SizeDoc, TimesDoc};
use crate::document::dns::DnsDoc;
use crate::document::grpc::GrpcDoc;
use crate::document::http::HttpDoc;
use crate::document::quantity::{Bytes, DelayText, Duration, Name, PortRange};
use crate::document::stamp::StampDoc;
use crate::document::vary::Weight;
use crate::document::websocket::WebsocketDoc;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Application on the sessions: its name for the defaults, or a mapping with one application and its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "App")]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum AppDoc {
    Word(AppWord),
    Full(Box<AppKeys>),
}

/// Applications that need no more than their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AppWord {
    /// The server returns what it receives.
    Echo,
    /// The server discards what it receives.
    Discard,
    /// The server sends as long as the session lasts.
    Chargen,
    /// HTTP/1.1.
    Http,
    /// WebSocket: the server returns each message.
    Websocket,
    /// gRPC: unary calls.
    Grpc,
    /// STAMP: test packets, which the server reflects.
    Stamp,
}

/// One application.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, extend("minProperties" = 1, "maxProperties" = 1, "x-noun" = "application"))]
pub struct AppKeys {
    /// Requests and responses of given sizes.
    pub raw: Option<RawDoc>,
    /// The server returns what it receives.
    pub echo: Option<EchoDoc>,
    /// HTTP/1.1 and HTTP/2.
    pub http: Option<HttpDoc>,
    /// DNS, over UDP or TCP.
    pub dns: Option<DnsDoc>,
    /// WebSocket.
    pub websocket: Option<WebsocketDoc>,
    /// gRPC.
    pub grpc: Option<GrpcDoc>,
    /// STAMP: delay, jitter and loss by test packets, over UDP.
    pub stamp: Option<StampDoc>,
    /// Bulk transfer in one direction, for goodput; TCP only.
    pub bulk: Option<BulkDoc>,
    /// A program for each end.
    pub program: Option<ProgramDoc>,
    /// A conversation from a capture file.
    pub pcap: Option<ConversationDoc>,
    /// Several applications by weight.
    #[schemars(length(min = 1))]
    pub mix: Option<Vec<MemberDoc>>,
}

/// Requests and responses of given sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Raw")]
pub struct RawDoc {
    /// Size of a request.
    pub request: SizeDoc,
    /// Size of a response. Default: that of the request.
    pub response: Option<SizeDoc>,
    /// Number of requests in a session, sent in sequence.
    #[serde(default = "once")]
    pub requests: TimesDoc,
    /// Think time: from a response to the next request.
    pub think: Option<DelayText>,
}

pub(crate) fn once() -> TimesDoc {
    TimesDoc::Number(1)
}

/// The server returns what it receives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Echo")]
pub struct EchoDoc {
    /// Size of a request. Default: 64B.
    pub request: Option<SizeDoc>,
    /// Number of requests in a session, sent in sequence.
    #[serde(default = "once")]
    pub requests: TimesDoc,
    /// Think time: from a response to the next request.
    pub think: Option<DelayText>,
}

/// Bulk transfer in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Bulk")]
pub struct BulkDoc {
    /// End that sends.
    #[serde(default)]
    pub from: SideDoc,
    /// Amount of data to send before closing. Default: as long as the session lasts.
    pub bytes: Option<Bytes>,
}

/// The ends of a session.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SideDoc {
    /// The end that opens it.
    #[default]
    Client,
    /// The end that accepts it.
    Server,
}

/// A program for each end: steps that send, expect and wait, in order. The client closes after its last step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Program")]
pub struct ProgramDoc {
    /// Steps of the client. Required if clients are emulated.
    #[serde(default)]
    pub client: Vec<OpDoc>,
    /// Steps of the server. Required if servers are emulated.
    #[serde(default)]
    pub server: Vec<OpDoc>,
}

/// A step of a program: a word, or a mapping with one of the keys below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Step")]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum OpDoc {
    Word(OpWord),
    Full(Box<OpKeys>),
}

/// Steps without options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum OpWord {
    /// Send without end. Last step of a program.
    Stream,
    /// Close the sending direction and continue.
    HalfClose,
    /// Close. Last step of a program.
    Close,
    /// Reset. Last step of a program.
    Reset,
    /// Wait until the peer has closed.
    ExpectEnd,
    /// Stop reading, so that the window shrinks.
    Pause,
    /// Resume reading.
    Resume,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, extend("minProperties" = 1, "maxProperties" = 1, "x-noun" = "step"))]
pub struct OpKeys {
    /// Data to send; over UDP one datagram.
    pub send: Option<ContentDoc>,
    /// Data to wait for: as many bytes, over UDP a datagram. Texts and 'hex' must be equal, up to the first number that
    /// follows the session; arbitrary bytes with 'verify'.
    pub expect: Option<ContentDoc>,
    /// Text to wait for, with everything before it.
    pub expect_until: Option<ContentDoc>,
    /// Time to wait.
    pub wait: Option<DelayText>,
    /// Steps to repeat.
    pub repeat: Option<RepeatDoc>,
    /// A place that 'goto' leads to, in the same list of steps.
    pub label: Option<Name>,
    /// Label to continue at, always or on a condition.
    pub goto: Option<GotoDoc>,
    /// Variables, each with the number it gets.
    #[schemars(extend("minProperties" = 1, "x-noun" = "variable"))]
    pub set: Option<IndexMap<String, i64>>,
    /// Variables, each with the number that is added.
    #[schemars(extend("minProperties" = 1, "x-noun" = "variable"))]
    pub add: Option<IndexMap<String, i64>>,
}

/// Label to continue at: a label, or a mapping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Goto")]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum GotoDoc {
    Word(Name),
    Full(Box<GotoKeys>),
}

/// Label to continue at, on a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, extend("x-noun" = "jump"))]
pub struct GotoKeys {
    /// The label.
    pub label: Name,
    /// When: a variable, one of '==', '!=', '<', '<=', '>', '>=', and a number, such as 'n > 0'.
    #[serde(rename = "if")]
    pub condition: String,
}

/// Steps to repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Repeat")]
pub struct RepeatDoc {
    /// Number of times, or 'endless' until the session is closed from outside.
    pub times: Option<TimesDoc>,
    /// Instead of a number: the duration. After the last of the steps, once more if the time is not over. Not within
    /// 'repeat'.
    #[serde(rename = "for")]
    pub time: Option<Duration>,
    /// Steps.
    #[serde(rename = "do")]
    #[schemars(length(min = 1))]
    pub steps: Vec<OpDoc>,
}

/// A conversation from a capture file: its application data in new sessions, with the addresses and ports of the
/// entry. Segments, acknowledgements and retransmissions are new.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Conversation")]
pub struct ConversationDoc {
    /// Capture file, pcap or pcapng, relative to the profile.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Number of the conversation, from 1 in the order of first packets. Default: 1.
    #[schemars(range(min = 1))]
    pub conversation: Option<u32>,
    /// Timing of the ends.
    #[serde(default)]
    pub timing: TimingDoc,
    /// Time that the server waits before each of its responses, besides the pauses of the capture.
    pub answer_delay: Option<DelayText>,
    /// Longest payload of a datagram; longer ones are cut. Default: as captured.
    pub datagram_max: Option<Bytes>,
    /// End of a conversation that a reset ended in the capture.
    #[serde(default)]
    pub reset: ResetDoc,
}

/// End of a conversation that was reset.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ResetDoc {
    /// By the reset of the end that sent it.
    #[default]
    Keep,
    /// The client closes it.
    Close,
}

/// Timing of a captured conversation.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TimingDoc {
    /// As fast as possible.
    #[default]
    Fast,
    /// With the pauses of the capture.
    AsCaptured,
}

/// An application of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Member")]
pub struct MemberDoc {
    /// Name in the result.
    pub name: Name,
    /// Share of sessions relative to the other members.
    #[serde(default = "weight_one")]
    pub weight: Weight,
    /// Application.
    pub app: AppDoc,
    /// Server ports of this application, by which servers distinguish applications. Default: the ports of 'server', or
    /// the application's own.
    pub ports: Option<PortRange>,
}

pub(crate) fn weight_one() -> Weight {
    Weight(1)
}
