//! gRPC, both ends: calls over HTTP/2. Source: "gRPC over HTTP2" (PROTOCOL-HTTP2.md of the project gRPC), RFC 9113.
//!
//! A call is a stream of HTTP/2. Messages follow from numbers and are written again from them; only echoes of servers are kept, in a
//! bounded amount, until they are on their way.
//!
//! Not here: HTTP/2 itself (`http2`), the framing of messages (`grpc`, the crate), compression, retries
//! except of requests that a server has not processed.
//!
//! Invariants: each call ends with one status, counted once; no message is longer than the plan allows.

mod client;
mod framer;
mod plan;
mod server;
mod wakes;

pub(crate) use client::Client;
pub use plan::{GrpcExpect, GrpcKind, GrpcPlan, GrpcServer};
pub(crate) use server::Server;

/// States of a connection.
pub(crate) mod state {
    /// Calls go.
    pub(crate) const OPEN: u8 = 1;
    /// Nothing more.
    pub(crate) const END: u8 = 2;
}

/// A connection.
pub(crate) enum Link {
    Client(client::Calling),
    Server(server::Serving),
}

/// Type of the bodies (`content-type`); others begin so, and add `+` or `;`.
const CONTENT_TYPE: &str = "application/grpc";

/// Whether a `content-type` is one of gRPC.
fn is_grpc(content_type: Option<&[u8]>) -> bool {
    let rest = content_type.and_then(|text| text.strip_prefix(CONTENT_TYPE.as_bytes()));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

#[cfg(test)]
mod tests;
