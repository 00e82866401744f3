//! HTTP/3, both ends: the same requests, rules and checks as HTTP/1.1, over `http3` and a connection of QUIC. Source: RFC 9114.
//!
//! Bodies are the same as in HTTP/1.1: the message of stream 4n is the connection's n-th, so both ends know its bytes.
//!
//! How a flow begins and ends is that of every session over QUIC: see [`link`](crate::quic::link).

mod client;
pub(crate) mod connection;
mod server;

pub(crate) use client::Client;
pub(crate) use server::Server;

use super::h2::{Kind, LeftOut};
use crate::counts::Counts;
use crate::message::{Message, Vars, pieces};
use crate::quic::Carried;
use crate::vary::Content;
use connection::Connection;
use http3::qpack::{Field, OVERHEAD};

/// Of which kind the bytes of bodies are: generated, or request `n - 1`'s text.
const GENERATED: u16 = 0;

/// States of a flow, beside the states of every session over QUIC.
pub(crate) mod state {
    /// A client's session waits to continue on another connection.
    pub(crate) const LEAVING: u8 = 27;
    /// It does so.
    pub(crate) const LEFT: u8 = 28;
}

/// A flow's connection.
pub(crate) enum Link {
    Client(Box<Connection<client::Asked>>, client::Asking),
    Server(Box<Connection<server::Asked>>, server::Serving),
}

impl Link {
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

/// The status of a request that the server does not want in early data (RFC 8470 section 5.2).
pub(crate) const TOO_EARLY: u16 = 425;

/// Counts the GOAWAYs that have come since `before`.
pub(crate) fn note_goaways(counts: &mut Counts, before: &mut u64, now: u64) {
    counts.http3.goaways += now - *before;
    *before = now;
}

/// A field of a head.
#[derive(Debug)]
enum Item {
    Always(Field),
    /// The field, and its value.
    Value(Field, Message),
}

/// Fields in order, and their size (RFC 9114 section 4.2.2) without values that vary.
#[derive(Debug, Default)]
pub(crate) struct Items {
    items: Vec<(Kind, Item)>,
    size: u32,
}

impl Items {
    fn always(&mut self, name: &str, value: &[u8]) {
        self.size += (name.len() + value.len()) as u32 + OVERHEAD;
        self.items.push((Kind::of(name), Item::Always(Field::always(name, value))));
    }

    pub(crate) fn content(&mut self, name: &str, content: &Content) {
        let message = Message::new(pieces(content));
        let name = name.to_ascii_lowercase();
        match message.text() {
            Some(text) => self.always(&name, &text),
            None => {
                self.size += name.len() as u32 + OVERHEAD;
                self.items.push((Kind::of(&name), Item::Value(Field::named(&name), message)));
            }
        }
    }

    /// Writes them; returns the size of the values that vary.
    pub(crate) fn put(&self, vars: &Vars, value: &mut Vec<u8>, out: &mut Vec<u8>) -> u32 {
        self.put_but(LeftOut::default(), vars, value, out)
    }

    /// Writes them, except those left out; returns the size of the values that vary.
    fn put_but(&self, left_out: LeftOut, vars: &Vars, value: &mut Vec<u8>, out: &mut Vec<u8>) -> u32 {
        let mut varied = 0;
        for (kind, item) in &self.items {
            if left_out.has(*kind) {
                continue;
            }
            match item {
                Item::Always(field) => field.put(out),
                Item::Value(field, message) => {
                    value.clear();
                    value.resize(message.len(vars) as usize, 0);
                    message.write(vars, 0, value);
                    varied += value.len() as u32;
                    field.put_value(value, out);
                }
            }
        }
        varied
    }
}
