//! HTTP/2, both ends: the same requests, rules and checks as HTTP/1.1, over `http2`. Source: RFC 9113.
//!
//! Bodies are the same as in HTTP/1.1: the message of stream 2n + 1 is the connection's n-th, so both ends know its
//! bytes.
//!
//! Invariant: a flow whose `state` is one of [`state`]'s has a link in its extra.

mod client;
mod server;

pub(crate) use client::Client;
pub(crate) use server::Server;

use super::agent::is_of_body;
use super::plan::HttpVersion;
use crate::counts::Reason;
use crate::flow::{Ctx, Flag, Flow, instant_near};
use crate::message::{Message, Vars, pieces};
use crate::pattern;
use crate::vary::Content;
use http2::hpack::{Encoder, Field, Fields};
use http2::{Announced, Body, Code, Connection};

/// The name of HTTP/2 in ALPN (RFC 9113 section 3.1).
pub(crate) const ALPN: &str = "h2";

/// Of which kind the bytes of bodies are: generated, or request `n - 1`'s text.
const GENERATED: u16 = 0;

/// States of a flow; see `parse::state` for HTTP/1.1.
pub(crate) mod state {
    /// Uses HTTP/2.
    pub(crate) const OPEN: u8 = 11;
    /// Has sent everything.
    pub(crate) const END: u8 = 12;
    /// A server does not know its client's version yet.
    pub(crate) const UNKNOWN: u8 = 13;
    /// A client's session waits to continue on another connection.
    pub(crate) const LEAVING: u8 = 17;
    /// It does so.
    pub(crate) const LEFT: u8 = 18;
}

/// Number of consecutive requests that a server may refuse before it responds to one.
pub(crate) const REFUSED_MAX: u32 = 1_000;

/// A flow's connection.
pub(crate) enum Link {
    Client(client::Asking),
    Server(server::Serving),
}

/// Whether a flow uses HTTP/2.
#[inline]
pub(crate) fn speaks(flow: &Flow) -> bool {
    matches!(flow.state, state::OPEN | state::END | state::LEAVING | state::LEFT)
}

/// Whether a client uses HTTP/2 on a flow that was just opened; a reason if it can't.
pub(crate) fn is_chosen(version: HttpVersion, ctx: &mut Ctx<'_>) -> Result<bool, Reason> {
    match version {
        HttpVersion::One | HttpVersion::Three => Ok(false),
        HttpVersion::Auto => Ok(ctx.common.secured && ctx.alpn == ALPN),
        HttpVersion::Two if !ctx.common.secured || ctx.alpn == ALPN => Ok(true),
        HttpVersion::Two => {
            let agreed = if ctx.alpn.is_empty() { "nothing" } else { ctx.alpn };
            ctx.counts.detail(&format!("ALPN: the server agreed to {agreed}, not to h2"));
            Err(Reason::NoHttp2)
        }
    }
}

/// Announced settings: windows large enough not to limit any rate.
pub(crate) fn announced() -> Announced {
    Announced::default()
}

/// Number of the message of a stream.
pub(crate) fn number(stream: u32) -> u32 {
    stream >> 1
}

/// Sends what a connection has to send.
pub(crate) fn hand_over<T: Default>(ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<T>) {
    let bytes = connection.asked();
    ctx.ask.send += bytes;
    ctx.counts.bytes_sent += bytes;
    flow.unacked = u16::from(!connection.is_delivered());
    if !flow.has(Flag::Failed) {
        flow.waiting = connection.streams().min(255) as u8;
    }
}

/// Whether a server that processed none of the last `forgotten` requests has processed none of all `sent`: the session
/// was in vain.
pub(crate) fn is_in_vain(sent: u32, forgotten: usize) -> bool {
    forgotten > 0 && sent as usize == forgotten
}

/// Why a session fails whose server ended the connection by GOAWAY, or `None` if it has done its share.
pub(crate) fn ended_by(code: Code, in_vain: bool) -> Option<String> {
    if code != Code::NO_ERROR {
        return Some(format!("GOAWAY: {}", code.name()));
    }
    in_vain.then(|| "GOAWAY: no request was processed".to_owned())
}

/// A request, due at this tick, that the server did not process: it counts as not sent, and is repeated. `entry`: its place in a log.
#[cold]
pub(crate) fn ask_elsewhere(ctx: &mut Ctx<'_>, due: u32, entry: u64) {
    ctx.counts.http2.unprocessed += 1;
    if let Some(left) = &mut ctx.pacers.left {
        *left += 1;
    }
    if ctx.common.late
        && let Some(pacer) = &mut ctx.pacers.requests
    {
        pacer.give_back(instant_near(due, ctx.now), entry);
    }
}

/// A field of a head.
#[derive(Debug)]
enum Item {
    Always(Field),
    /// The field, and its value.
    Value(Field, Message),
}

/// Fields of a head that others take the place of.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeftOut {
    /// `:path`.
    pub path: bool,
    /// Those about the body.
    pub body: bool,
}

impl LeftOut {
    /// Whether a field is left out.
    pub(super) fn has(self, kind: Kind) -> bool {
        self.path && kind == Kind::Path || self.body && kind == Kind::Body
    }
}

/// Kind of a field, as far as it may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Path,
    Body,
    Other,
}

impl Kind {
    pub(super) fn of(name: &str) -> Self {
        match name {
            ":path" => Self::Path,
            _ if is_of_body(name) => Self::Body,
            _ => Self::Other,
        }
    }
}

/// Fields in order, and their size (RFC 7541 section 4.1) without values that vary.
#[derive(Debug, Default)]
pub(crate) struct Items {
    items: Vec<(Kind, Item)>,
    pub(crate) size: u32,
}

impl Items {
    pub(crate) fn always(&mut self, fields: &mut Fields, name: &str, value: &[u8]) {
        self.size += (name.len() + value.len()) as u32 + 32;
        self.items.push((Kind::of(name), Item::Always(fields.always(name, value))));
    }

    pub(crate) fn content(&mut self, fields: &mut Fields, name: &str, content: &Content) {
        let message = Message::new(pieces(content));
        let name = name.to_ascii_lowercase();
        match message.text() {
            Some(text) => self.always(fields, &name, &text),
            None => {
                self.size += name.len() as u32 + 32;
                self.items.push((Kind::of(&name), Item::Value(Fields::named(&name), message)));
            }
        }
    }

    /// Writes them; returns the size of the values that vary.
    #[inline]
    pub(crate) fn put(
        &self,
        encoder: &mut Encoder,
        vars: &Vars,
        value: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> u32 {
        self.put_but(LeftOut::default(), encoder, vars, value, out)
    }

    /// Writes them, except those left out; returns the size of the values that vary.
    pub(super) fn put_but(
        &self,
        left_out: LeftOut,
        encoder: &mut Encoder,
        vars: &Vars,
        value: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> u32 {
        let mut varied = 0;
        for (kind, item) in &self.items {
            if left_out.has(*kind) {
                continue;
            }
            match item {
                Item::Always(field) => encoder.put(field, out),
                Item::Value(field, message) => {
                    value.clear();
                    value.resize(message.len(vars) as usize, 0);
                    message.write(vars, 0, value);
                    varied += value.len() as u32;
                    encoder.put_value(field, value, out);
                }
            }
        }
        varied
    }
}

/// Writes a decimal number as a field's value.
pub(crate) fn put_number(encoder: &mut Encoder, field: &Field, number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    encoder.put_value(field, &digits[at..], out);
}

/// Writes generated bytes of a body.
fn write_generated(body: Body, offset: u64, out: &mut [u8]) {
    pattern::write(u64::from(body.number), offset, out);
}

#[cfg(test)]
mod tests;
