//! gRPC as bytes: length-prefixed messages, status codes, status messages, deadlines. Source: "gRPC over HTTP2" (PROTOCOL-HTTP2.md)
//! and "HTTP to gRPC Status Code Mapping" of the project gRPC.
//!
//! Sans-IO: [`Reader`] takes bytes and returns events, [`prefix`] writes what precedes a message. Streams and headers belong to HTTP/2
//! (`http2`), calls to `session`.
//!
//! Not here: compression. A compressed message is a [`Violation`]; no encoding is offered or agreed to.
//!
//! Separate because it is fuzzed alone, and knows nothing of HTTP/2.
//!
//! Invariants: a message's length is checked before any byte of it is read, and no message is stored here; the events of a [`Reader`] do
//! not depend on how the bytes are cut.

#![forbid(unsafe_code)]

mod deadline;
mod reader;
mod status;
mod text;

pub use deadline::{deadline, timeout};
pub use reader::{Event, PREFIX, Reader, Violation, prefix};
pub use status::Status;
pub use text::{decode, encode};
