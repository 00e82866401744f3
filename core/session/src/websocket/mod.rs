//! WebSocket, both ends: an upgrade from HTTP/1.1 or a stream of HTTP/2 ([`http2`]) or HTTP/3 ([`http3`]), messages, and the close
//! handshake. Source: RFC 6455, RFC 8441, RFC 9220.
//!
//! Messages of clients, masks included, follow from numbers, and are written again from them. Data that depends on the peer – the
//! server's response to the upgrade, echoes, Pong and Close frames – and compressed messages are kept until they are acknowledged, in a bounded amount: an end
//! that holds too much of it reads no more.
//!
//! Not here: frames themselves (`websocket`, the crate), other extensions than permessage-deflate ([`deflate`]).

mod carried;
mod client;
mod deflate;
mod framer;
mod handshake;
mod http2;
mod http3;
mod link;
mod plan;
mod server;
mod translate;

pub use deflate::WebsocketCompression;
pub(crate) use http2::Stream;
pub(crate) use http3::QuicLink;
pub(crate) use link::Link;
pub use plan::{WebsocketExpect, WebsocketPlan};

use crate::counts::{Counts, Reason};
use ::websocket::code;
use carried::Carried;

/// A client, and a server.
pub(crate) type Client = Carried<client::Client>;
pub(crate) type Server = Carried<server::Server>;

/// States of a connection.
pub(crate) mod state {
    /// Waits for the upgrade.
    pub(crate) const UPGRADE: u8 = 1;
    /// Messages go.
    pub(crate) const OPEN: u8 = 2;
    /// A client has done all, and stays for its time or its turn to close.
    pub(crate) const STAYING: u8 = 3;
    /// This end has sent Close and waits for the other's.
    pub(crate) const CLOSING: u8 = 4;
    /// Both have; a client waits for the server to end the connection (RFC 6455 section 7.1.1).
    pub(crate) const CLOSED: u8 = 5;
    /// Nothing more.
    pub(crate) const END: u8 = 6;
}

/// Whether the other end closed for no failure.
fn is_good(code: u16) -> bool {
    matches!(code, code::NORMAL | code::GOING_AWAY | code::NONE)
}

/// Counts a Close frame; returns the reason if its code is a failure.
fn note_close(counts: &mut Counts, code: u16) -> Option<Reason> {
    *counts.websocket.closes.entry(code).or_default() += 1;
    if is_good(code) {
        return None;
    }
    counts.detail(&format!("closed with code {code}"));
    Some(Reason::WebsocketClosed)
}

/// Counts a connection that ended without a Close frame.
fn note_abnormal(counts: &mut Counts) {
    *counts.websocket.closes.entry(code::ABNORMAL).or_default() += 1;
    counts.detail("the connection ended without a Close frame");
}

#[cfg(test)]
mod tests;
