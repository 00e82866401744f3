//! DNS over QUIC, both ends: a stream for each query and its response, by the plan of the other carriers. Source: RFC 9250.
//!
//! Not here: messages (`wire`), rules of servers (`server`), zone transfers.
//!
//! Invariants: a stream has one query, and one response, each with its length before it, the identifier 0, and the end of the
//! stream behind it. Whatever breaks that ends the connection (section 4.3.3).

mod client;
mod connection;
mod server;

pub(crate) use client::Client;
pub(crate) use server::Server;

use crate::flow::{Ctx, Flow};
use crate::quic::{Carried, link};
use connection::Connection;

/// Error codes (RFC 9250 section 8.4).
mod code {
    pub(super) const NO_ERROR: u64 = 0;
    pub(super) const PROTOCOL_ERROR: u64 = 2;
    pub(super) const REQUEST_CANCELLED: u64 = 3;

    /// Its name.
    pub(super) fn name(code: u64) -> String {
        const NAMES: [&str; 6] = [
            "DOQ_NO_ERROR",
            "DOQ_INTERNAL_ERROR",
            "DOQ_PROTOCOL_ERROR",
            "DOQ_REQUEST_CANCELLED",
            "DOQ_EXCESSIVE_LOAD",
            "DOQ_UNSPECIFIED_ERROR",
        ];
        let known = usize::try_from(code).ok().and_then(|code| NAMES.get(code));
        known.map_or_else(|| format!("code {code:#x}"), |name| (*name).to_owned())
    }
}

/// A flow's connection.
pub(crate) enum QuicLink {
    Client(Box<Connection<client::Asked>>, client::Asking),
    Server(Box<Connection<server::Asked>>, server::Serving),
}

impl QuicLink {
    pub(crate) fn carried(&self) -> &Carried {
        match self {
            Self::Client(connection, _) => &connection.carried,
            Self::Server(connection, _) => &connection.carried,
        }
    }

    pub(crate) fn carried_mut(&mut self) -> &mut Carried {
        match self {
            Self::Client(connection, _) => &mut connection.carried,
            Self::Server(connection, _) => &mut connection.carried,
        }
    }
}

/// The other end has broken a rule: it gets an error code, and the session has failed.
#[cold]
fn broken<T>(ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<T>, why: &str) {
    ctx.counts.detail(why);
    connection.carried.close_by(code::PROTOCOL_ERROR);
    link::give_up(ctx, flow, crate::counts::Reason::DoqProtocol);
}

#[cfg(test)]
mod tests;
