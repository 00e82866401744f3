//! HTTP/3, both ends: the same requests, rules and checks as HTTP/1.1, over `http3` and a connection of QUIC. Source: RFC 9114.
//!
//! Bodies are the same as in HTTP/1.1: the message of stream 4n is the connection's n-th, so both ends know its bytes.
//!
//! A session is over when its connection is closed, at either end. The connection itself stays some round-trip times
//! longer, to respond to packets still in flight (RFC 9000 section 10.2); it is not counted then, and its flow is in
//! [`state::GONE`].

mod client;
mod connection;
mod server;

pub(crate) use client::Client;
pub(crate) use server::Server;

use crate::counts::Counts;
use crate::extra::Extras;
use crate::flow::{Ctx, Flow};
use crate::message::{Message, Vars, pieces};
use crate::vary::Content;
use connection::Connection;
use http3::qpack::{Field, OVERHEAD};

/// Of which kind the bytes of bodies are: generated, or request `n - 1`'s text.
const GENERATED: u16 = 0;

/// States of a flow; see `parse::state` for HTTP/1.1.
pub(crate) mod state {
    /// It shakes hands.
    pub(crate) const CONNECTING: u8 = 21;
    /// Requests and responses go to and fro.
    pub(crate) const OPEN: u8 = 22;
    /// Has sent everything.
    pub(crate) const END: u8 = 23;
    /// The session is over, and only its connection is left; or there was no session.
    pub(crate) const GONE: u8 = 24;
    /// A server has sent a Retry, and waits for its client to prove its address: there is no session.
    pub(crate) const RETRY: u8 = 25;
}

/// A flow's connection.
pub(crate) enum Link {
    Client(Box<Connection<client::Asked>>, client::Asking),
    Server(Box<Connection<server::Asked>>, server::Serving),
}

impl Link {
    fn carried(&mut self) -> &mut crate::quic::Carried {
        match self {
            Self::Client(connection, _) => &mut connection.carried,
            Self::Server(connection, _) => &mut connection.carried,
        }
    }
}

/// Whether a session shakes hands, or has not begun to.
pub(crate) fn is_opening(flow: &Flow) -> bool {
    matches!(flow.state, 0 | state::CONNECTING)
}

/// Whether the session of a flow is over, or has not begun although datagrams were exchanged.
#[inline]
pub(crate) fn is_gone(flow: &Flow) -> bool {
    matches!(flow.state, state::GONE | state::RETRY)
}

/// Carries out the requests of a flow's session to its carrier, and sends its connection's output.
#[inline]
pub(crate) fn settle(ctx: &mut Ctx<'_>, flow: &mut Flow) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.quic.take()) else { return };
    ctx.ask.over = link.carried().settle(ctx, flow);
    ctx.extras.of(flow).quic = Some(link);
}

/// Counts what a connection has counted whose flow ends before it does.
#[cold]
pub(crate) fn note_lost(extras: &Extras, flow: &Flow, counts: &mut Counts) {
    let quic = match extras.find(flow).and_then(|extra| extra.quic.as_deref()) {
        Some(Link::Client(connection, _)) => &connection.carried.quic,
        Some(Link::Server(connection, _)) => &connection.carried.quic,
        None => return,
    };
    counts.quic.add(&quic.stats());
}

/// Writes datagrams.
pub(crate) fn fill(flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
    let Some(extra) = extras.find(flow) else { return };
    match extra.quic.as_deref() {
        Some(Link::Client(connection, _)) => connection.carried.fill(offset, out),
        Some(Link::Server(connection, _)) => connection.carried.fill(offset, out),
        // The answer to a datagram that began nothing.
        None => crate::echo::copy(&extra.echo, offset as usize, out),
    }
}

/// Counts the GOAWAYs that have come since `before`.
fn note_goaways(counts: &mut Counts, before: &mut u64, now: u64) {
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
struct Items {
    items: Vec<Item>,
    size: u32,
}

impl Items {
    fn always(&mut self, name: &str, value: &[u8]) {
        self.size += (name.len() + value.len()) as u32 + OVERHEAD;
        self.items.push(Item::Always(Field::always(name, value)));
    }

    fn content(&mut self, name: &str, content: &Content) {
        let message = Message::new(pieces(content));
        let name = name.to_ascii_lowercase();
        match message.text() {
            Some(text) => self.always(&name, &text),
            None => {
                self.size += name.len() as u32 + OVERHEAD;
                self.items.push(Item::Value(Field::named(&name), message));
            }
        }
    }

    /// Writes them; returns the size of the values that vary.
    fn put(&self, vars: &Vars, value: &mut Vec<u8>, out: &mut Vec<u8>) -> u32 {
        let mut varied = 0;
        for item in &self.items {
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
