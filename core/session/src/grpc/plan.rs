//! Calls of clients and responses of servers. Pure data.

use crate::vary::{Content, Delay};
use ::grpc::Status;
use units::Nanos;

/// gRPC, both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrpcPlan {
    /// Path of the method: `/`, the service, `/`, the method.
    pub path: String,
    /// `:authority`.
    pub host: Content,
    /// Metadata of calls, in order: names and values, by session and call. Names are in lower case.
    pub metadata: Vec<(String, Content)>,
    /// Kind of calls.
    pub kind: GrpcKind,
    /// A client's message. Messages are numbered over their connection: of call *c* message *i* it is *c* · `messages` + *i*.
    pub message: Content,
    /// Messages of a client in a call, at least 1; 1 unless clients stream.
    pub messages: u32,
    /// A server's message, which clients expect; `None` takes any, and then no server sends one. Its number counts likewise. Its bytes do
    /// not follow the session.
    pub reply: Option<Content>,
    /// Messages of a server in a call in which servers alone stream. Clients expect as many; `None` takes any number.
    pub responses: Option<u32>,
    /// Responses of servers.
    pub expect: GrpcExpect,
    /// From a message of a stream to the next, counted from when the call was due; `None` sends as fast as windows allow, and in calls
    /// in which both stream each message once the one before has its reply.
    pub interval: Option<Nanos>,
    /// Calls on a connection; `None`: until it is closed from outside.
    pub per_connection: Option<u32>,
    /// Calls in flight on a connection, at least 1; no more than the server announces.
    pub streams: u16,
    /// From a call's end to the next call, if no other is in flight.
    pub think: Delay,
    /// Time after which a client cancels a call, and of which it informs the server.
    pub deadline: Option<Nanos>,
    /// Whether a status other than OK fails the session (`grpc_status`); it is counted in any case.
    pub errors_fail: bool,
    /// Status of servers, which clients expect; `None`: OK, and clients take any (but see [`GrpcPlan::errors_fail`]).
    pub status: Option<Status>,
    /// Bytes of a received message at most.
    pub most: u32,
    /// Servers.
    pub server: GrpcServer,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrpcServer {
    /// Its status message; empty sends none.
    pub text: String,
    /// From a call's last request, or in calls in which both stream from each message, to the response.
    pub delay: Delay,
}

/// Kind of a call: who sends a stream of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrpcKind {
    /// Nobody: a message, and its reply.
    #[default]
    Unary,
    /// The client.
    ClientStreaming,
    /// The server.
    ServerStreaming,
    /// Both.
    Bidirectional,
}

/// Responses of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrpcExpect {
    /// Messages of the plan's `reply`.
    #[default]
    Reply,
    /// The client's message. Every byte is compared. In unary and bidirectional calls.
    Echo,
}

impl GrpcPlan {
    /// Number of message `index` of call `call`, of `each` messages a call.
    pub(crate) fn number(call: u32, each: u32, index: u32) -> u32 {
        call.wrapping_mul(each).wrapping_add(index)
    }

    /// Messages of a server in a call of one that streams alone.
    pub(crate) fn owed(&self) -> u32 {
        self.responses.unwrap_or(1)
    }

    /// Messages of a server in a call, by which they are numbered.
    pub(crate) fn replies(&self) -> u32 {
        match self.kind {
            GrpcKind::Unary | GrpcKind::ClientStreaming => 1,
            GrpcKind::ServerStreaming => self.owed(),
            GrpcKind::Bidirectional => self.messages,
        }
    }
}
