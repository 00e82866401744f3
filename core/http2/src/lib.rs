//! HTTP/2 connections, both ends, sans-IO. Source: RFC 9113, header compression: RFC 7541.
//!
//! A [`Connection`] reads its peer's data and returns their meaning ([`Event`]); its output is bytes that can be
//! written as often as a carrier needs them, until they are acknowledged ([`Connection::fill`]). Bodies are not stored:
//! their source writes them.
//!
//! ```text
//! let mut connection = Connection::new(Role::Client, &Announced::default());
//! let stream = connection.open(data, false);               // a request: its head, and its body if it has one
//! connection.send_head(stream, &block, true);
//! let bytes = connection.asked();                          // so many bytes more are to be sent
//! while let Some(event) = connection.read(second, &mut input)? { … }
//! connection.fill(offset, &mut out, |body, offset, out| …);
//! connection.acknowledged(offset, |tag| …);
//! ```
//!
//! Not here: what requests and responses mean, TLS, TCP, any clock. Pushed responses are refused (RFC 9113 section 8.4);
//! priorities are read and ignored (section 5.3).
//!
//! Separate because it is a protocol with its own tables and rules, and knows neither requests of profiles nor flows.
//!
//! Invariants: no peer makes a connection hold more than the limits in [`limits`]; any input from a peer ends in an
//! event or in a [`Fault`] with a reason.

#![forbid(unsafe_code)]

mod connection;
mod fault;
mod frame;
mod head;
pub mod hpack;
pub mod limits;
mod output;
mod streams;

pub use connection::{Announced, Connection, Event, Role};
pub use fault::{Code, Fault};
pub use frame::PREFACE;
pub use head::Head;
pub use output::Body;
pub use streams::Streams;

#[cfg(test)]
mod tests;
