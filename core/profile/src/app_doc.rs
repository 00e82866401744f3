//! Applications of sessions, as written.

use crate::content_doc::{ContentDoc, SizeDoc, TimesDoc};
use crate::dns_doc::DnsDoc;
use crate::http_doc::HttpDoc;
use crate::quantity::{Bytes, DelayText, Name, PortRange};
use crate::vary_doc::Weight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is said on sessions: a word for an application with nothing set, or a mapping with one application and what is
/// set of it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "App")]
pub(crate) enum AppDoc {
    Word(AppWord),
    Full(Box<AppKeys>),
}

/// Applications that need no more than their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum AppWord {
    /// The server sends back what it gets.
    Echo,
    /// The server throws away what it gets.
    Discard,
    /// The server sends as long as the session lasts.
    Chargen,
    /// HTTP/1.1.
    Http,
}

/// One application.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, extend("minProperties" = 1, "maxProperties" = 1, "x-noun" = "application"))]
pub(crate) struct AppKeys {
    /// Requests and responses of so many bytes.
    pub(crate) raw: Option<RawDoc>,
    /// The server sends back what it gets.
    pub(crate) echo: Option<EchoDoc>,
    /// HTTP/1.1.
    pub(crate) http: Option<HttpDoc>,
    /// DNS, over UDP or TCP.
    pub(crate) dns: Option<DnsDoc>,
    /// One end sends, the other throws away: for goodput. TCP only.
    pub(crate) bulk: Option<BulkDoc>,
    /// A program for each end.
    pub(crate) program: Option<ProgramDoc>,
    /// A conversation from a capture file.
    pub(crate) pcap: Option<ConversationDoc>,
    /// Several applications by weight.
    #[schemars(length(min = 1))]
    pub(crate) mix: Option<Vec<MemberDoc>>,
}

/// Requests and responses without meaning.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Raw")]
pub(crate) struct RawDoc {
    /// Bytes of a request.
    pub(crate) request: SizeDoc,
    /// Bytes of a response. Without it: as many as the request.
    pub(crate) response: Option<SizeDoc>,
    /// Requests of a session, one after the other.
    #[serde(default = "once")]
    pub(crate) requests: TimesDoc,
    /// From a response to the next request.
    pub(crate) think: Option<DelayText>,
}

pub(crate) fn once() -> TimesDoc {
    TimesDoc::Number(1)
}

/// The server sends back what it gets.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Echo")]
pub(crate) struct EchoDoc {
    /// Bytes of a request: 64B unless given.
    pub(crate) request: Option<SizeDoc>,
    /// Requests of a session, one after the other.
    #[serde(default = "once")]
    pub(crate) requests: TimesDoc,
    /// From a response to the next request.
    pub(crate) think: Option<DelayText>,
}

/// One end sends, the other throws away.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Bulk")]
pub(crate) struct BulkDoc {
    /// Which end sends.
    #[serde(default)]
    pub(crate) from: SideDoc,
    /// How much; then it closes. Without it: as long as the session lasts.
    pub(crate) bytes: Option<Bytes>,
}

/// The ends of a session.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum SideDoc {
    /// The end that opens it.
    #[default]
    Client,
    /// The end that waits for it.
    Server,
}

/// A program for each end: what it sends, expects and waits for, in order. When a client's is through, it closes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Program")]
pub(crate) struct ProgramDoc {
    /// The client's. Needed if clients are played here.
    #[serde(default)]
    pub(crate) client: Vec<OpDoc>,
    /// The server's. Needed if servers are played here.
    #[serde(default)]
    pub(crate) server: Vec<OpDoc>,
}

/// A step of a program: a word, or a mapping with one of the keys below.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Step")]
pub(crate) enum OpDoc {
    Word(OpWord),
    Full(Box<OpKeys>),
}

/// Steps that need no more than their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum OpWord {
    /// Sends without end. The last step of a program.
    Stream,
    /// Closes the sending direction and goes on.
    HalfClose,
    /// Closes. The last step of a program.
    Close,
    /// Resets. The last step of a program.
    Reset,
    /// Waits until the other end has closed.
    ExpectEnd,
    /// Reads no more, so that the window shrinks.
    Pause,
    /// Reads on.
    Resume,
}

/// One step.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, extend("minProperties" = 1, "maxProperties" = 1, "x-noun" = "step"))]
pub(crate) struct OpKeys {
    /// Send this. Over UDP it is one datagram.
    pub(crate) send: Option<ContentDoc>,
    /// Wait for as many bytes as this has. With 'verify' they must be these and no others. Over UDP: for a datagram.
    pub(crate) expect: Option<ContentDoc>,
    /// Wait for everything until and with this text.
    pub(crate) expect_until: Option<ContentDoc>,
    /// Wait for so long.
    pub(crate) wait: Option<DelayText>,
    /// Do something several times.
    pub(crate) repeat: Option<RepeatDoc>,
}

/// Something that is done several times.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Repeat")]
pub(crate) struct RepeatDoc {
    /// How often: a number, or 'endless' until the session is closed from outside.
    pub(crate) times: TimesDoc,
    /// What is done.
    #[serde(rename = "do")]
    #[schemars(length(min = 1))]
    pub(crate) steps: Vec<OpDoc>,
}

/// A conversation from a capture file: what its ends sent each other, in new sessions, with addresses and ports of the
/// entry. Segments, acknowledgements and retransmissions are not those of the capture.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Conversation")]
pub(crate) struct ConversationDoc {
    /// The file: pcap or pcapng. Relative to the profile.
    #[schemars(length(min = 1))]
    pub(crate) file: String,
    /// Which of the file's conversations, counted from 1 in the order of their first packets: the first unless given.
    #[schemars(range(min = 1))]
    pub(crate) conversation: Option<u32>,
    /// Whether an end waits as long as it did in the capture before it answers.
    #[serde(default)]
    pub(crate) timing: TimingDoc,
}

/// When the ends of a captured conversation speak.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum TimingDoc {
    /// As soon as it is their turn.
    #[default]
    Fast,
    /// With the pauses of the capture.
    AsCaptured,
}

/// An application of a mix.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Member")]
pub(crate) struct MemberDoc {
    /// Its name in the result.
    pub(crate) name: Name,
    /// Its sessions in relation to those of the others.
    #[serde(default = "weight_one")]
    pub(crate) weight: Weight,
    /// What is said.
    pub(crate) app: AppDoc,
    /// The servers' ports for this application. Servers tell applications apart by them. Without them: those of
    /// 'server', or the application's own.
    pub(crate) ports: Option<PortRange>,
}

pub(crate) fn weight_one() -> Weight {
    Weight(1)
}
