//! WebSocket over HTTP/2 (RFC 8441): a stream in place of the carrier. A connection has one, and ends with it.
//!
//! Either end sees the upgrade of HTTP/1.1. It is translated to an extended CONNECT and its response, and back; all that follows is
//! the stream's data. An end's bytes are fetched once, and kept by the connection until they are acknowledged; for the end they are
//! acknowledged as soon as the stream's windows have taken those before. So an end that sends more than its peer reads waits.
//!
//! Not here: messages, and when they are sent.

use super::client;
use super::plan::WebsocketPlan;
use super::server;
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::fields;
use crate::http::h2::ALPN;
use ::http2::hpack::Fields;
use ::http2::{Announced, Code, Connection, Event, Role};
use ::websocket::accept;
use std::sync::Arc;
use tcp::End;

/// Bytes handed to the connection at a time.
const PIECE: u64 = 64 << 10;
/// Most bytes of an upgrade that is translated.
const HEAD_MAX: usize = 64 << 10;
/// A key for servers, of which HTTP/2 has none (RFC 8441 section 5): that of RFC 6455's example.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// Fields of an upgrade that HTTP/2 has no place for, or another one.
const LEFT_OUT: [&[u8]; 6] =
    [b"host", b"connection", b"upgrade", b"sec-websocket-key", b"sec-websocket-accept", b"content-length"];
/// Fields of heads that are passed on.
const PASSED_ON: &[&str] = &["sec-websocket-protocol", "sec-websocket-version", "sec-websocket-extensions"];

/// One end, as the stream sees it.
pub(crate) trait Ending {
    /// Which end of the connection.
    const ROLE: Role;
    fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow);
    fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]);
    fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow);
    fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64);
    fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow);
    fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow);
    fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]);
}

/// Passes all on to the methods of the same names.
macro_rules! ending {
    ($end:ty, $role:expr) => {
        impl Ending for $end {
            const ROLE: Role = $role;

            fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
                self.opened(ctx, flow);
            }

            fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
                self.received(ctx, flow, data);
            }

            fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
                self.finished(ctx, flow);
            }

            fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
                self.acknowledged(ctx, flow, offset);
            }

            fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
                self.woke(ctx, flow);
            }

            fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
                self.stop(ctx, flow);
            }

            fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
                self.fill(flow, extras, offset, out);
            }
        }
    };
}

ending!(client::Client, Role::Client);
ending!(server::Server, Role::Server);

/// A connection and its stream.
#[derive(Debug)]
pub(crate) struct Stream {
    connection: Connection<()>,
    /// The stream's number, once there is one.
    id: Option<u32>,
    /// The end's upgrade, until it is whole and was translated.
    head: Vec<u8>,
    begun: bool,
    /// The client's key, which the response to it must fit.
    key: Vec<u8>,
    /// Bytes that the end wants to send and that were not taken, and those that were.
    owed: u64,
    taken: u64,
    /// Something waits for the stream's windows.
    waits: bool,
    /// The end reads nothing for now, so its peer may send no more than its windows allow.
    paused: bool,
    /// Too much is on its way for anything to be read.
    held: bool,
    /// The end has closed, and the connection with it; the end knows that the other one has.
    closing: bool,
    closed: bool,
    finished: bool,
}

impl Stream {
    fn new(role: Role) -> Self {
        let announced = Announced { streams: 1, connect: true, ..Announced::default() };
        let mut connection = Connection::new(role, &announced);
        connection.keep(PASSED_ON);
        Self {
            connection,
            id: None,
            head: Vec::new(),
            begun: false,
            key: Vec::new(),
            owed: 0,
            taken: 0,
            waits: false,
            paused: false,
            held: false,
            closing: false,
            closed: false,
            finished: false,
        }
    }

    /// The fields of the upgrade that HTTP/2 has a place for.
    fn put_fields(&mut self, head: &[u8], block: &mut Vec<u8>) {
        for (name, value) in fields(head) {
            let name = name.to_ascii_lowercase();
            if LEFT_OUT.contains(&&*name) {
                continue;
            }
            if let Ok(name) = std::str::from_utf8(&name) {
                self.connection.encoder().put_value(&Fields::named(name), value, block);
            }
        }
    }

    fn put(&mut self, name: &str, value: &[u8], block: &mut Vec<u8>) {
        self.connection.encoder().put_value(&Fields::named(name), value, block);
    }

    /// Sends a client's upgrade as an extended CONNECT (RFC 8441 section 4).
    fn ask(&mut self, scheme: &str) {
        let head = std::mem::take(&mut self.head);
        let value = |wanted: &[u8]| {
            let mut all = fields(&head);
            all.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map_or(&b""[..], |(_, value)| value)
        };
        self.key = value(b"sec-websocket-key").to_vec();
        let path = head.split(|byte| *byte == b' ').nth(1).unwrap_or(b"/");
        let mut block = Vec::new();
        let pseudo: [(&str, &[u8]); 5] = [
            (":method", b"CONNECT"),
            (":protocol", b"websocket"),
            (":scheme", scheme.as_bytes()),
            (":path", path),
            (":authority", value(b"host")),
        ];
        for (name, value) in pseudo {
            self.put(name, value, &mut block);
        }
        self.put_fields(&head, &mut block);
        let id = self.connection.open((), false);
        self.connection.send_head(id, &block, false, 0);
        (self.id, self.begun) = (Some(id), true);
    }

    /// Sends a server's response.
    fn answer(&mut self) {
        let head = std::mem::take(&mut self.head);
        let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or(b"500").to_vec();
        let (status, refuses) = if status == b"101" { (b"200".to_vec(), false) } else { (status, true) };
        let mut block = Vec::new();
        self.put(":status", &status, &mut block);
        self.put_fields(&head, &mut block);
        if let Some(id) = self.id {
            self.connection.send_head(id, &block, refuses, 0);
        }
        self.begun = true;
    }

    /// The upgrade that a server sees in a request.
    fn request(&self) -> Vec<u8> {
        let head = self.connection.head();
        let is_upgrade = head.protocol == b"websocket";
        let method = if is_upgrade { &b"GET"[..] } else { &head.method };
        let path = if head.path.is_empty() { &b"/"[..] } else { &head.path };
        let mut text = [method, b" ", path, b" HTTP/1.1\r\nHost: h2\r\n"].concat();
        if is_upgrade {
            text.extend_from_slice(b"Upgrade: websocket\r\nConnection: Upgrade\r\n");
            text.extend_from_slice(format!("Sec-WebSocket-Key: {KEY}\r\n").as_bytes());
        }
        self.pass_on(&mut text);
        text
    }

    /// The response to the upgrade that a client sees.
    fn response(&self) -> Vec<u8> {
        let status = self.connection.head().status;
        let mut text = if (200..300).contains(&status) {
            format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {}\r\n",
                accept(&self.key)
            )
        } else {
            format!("HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\n")
        }
        .into_bytes();
        self.pass_on(&mut text);
        text
    }

    fn pass_on(&self, text: &mut Vec<u8>) {
        for name in PASSED_ON {
            if let Some(value) = self.connection.head().value(name) {
                text.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
            }
        }
        text.extend_from_slice(b"\r\n");
    }

    /// Ends the stream, and the connection with it.
    fn close(&mut self, is_sent: bool) {
        self.closed = true;
        match self.id.filter(|_| self.begun) {
            Some(id) if is_sent => self.connection.send_end(id, 0),
            Some(id) => drop(self.connection.reset(id, Code::CANCEL)),
            None => {}
        }
        self.connection.go_away(Code::NO_ERROR);
    }

    /// Lets the connection send what windows allow.
    fn flush(&mut self) {
        self.connection.flush();
        while self.connection.drained().is_some() {
            self.waits = false;
        }
    }
}

/// An end, over HTTP/1.1 or over HTTP/2.
#[derive(Debug)]
pub(crate) struct Carried<A> {
    end: A,
    http2: bool,
}

impl Carried<client::Client> {
    pub(crate) fn new(plan: Arc<WebsocketPlan>) -> Self {
        Self { http2: plan.http2, end: client::Client::new(plan) }
    }

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        client::Client::awaits_reply(flow)
    }

    pub(crate) fn is_complete(flow: &Flow) -> bool {
        client::Client::is_complete(flow)
    }
}

impl Carried<server::Server> {
    pub(crate) fn new(plan: Arc<WebsocketPlan>) -> Self {
        Self { http2: plan.http2, end: server::Server::new(plan) }
    }

    pub(crate) fn is_complete(flow: &Flow, extras: &Extras, end: End) -> bool {
        server::Server::is_complete(flow, extras, end)
    }
}

impl<A: Ending> Carried<A> {
    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if !self.http2 {
            return self.end.opened(ctx, flow);
        }
        if ctx.common.secured && ctx.alpn != ALPN {
            let agreed = if ctx.alpn.is_empty() { "nothing" } else { ctx.alpn };
            ctx.counts.detail(&format!("ALPN: agreed on {agreed}, not on h2"));
            return ctx.fail(flow, Reason::NoHttp2);
        }
        ctx.counts.http2.connections += 1;
        ctx.extras.of(flow).stream = Some(Box::new(Stream::new(A::ROLE)));
        self.with(ctx, flow, |end, _, ctx, flow| end.opened(ctx, flow));
    }

    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, mut data: &[u8]) {
        if !self.http2 {
            return self.end.received(ctx, flow, data);
        }
        flow.set(Flag::Progress);
        let second = (ctx.now.0 / 1_000_000_000) as u32;
        while let Some(stream) = ctx.extras.find_mut(flow).and_then(|extra| extra.stream.as_mut()) {
            match stream.connection.read(second, &mut data) {
                Ok(None) => break,
                Ok(Some(event)) => self.happened(ctx, flow, event),
                Err(fault) => {
                    let (why, code) = (fault.why, fault.code);
                    self.with(ctx, flow, |_, _, ctx, flow| wrong(ctx, flow, why, code));
                    break;
                }
            }
        }
        self.with(ctx, flow, |_, _, _, _| {});
    }

    fn happened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, event: Event<'_, ()>) {
        match event {
            Event::Head { stream: id, end } => self.with(ctx, flow, |own, stream, ctx, flow| {
                let head = stream.connection.head();
                if A::ROLE == Role::Client && head.status < 200 {
                    return;
                }
                ctx.counts.http2.streams += u64::from(A::ROLE == Role::Server);
                stream.id = Some(id);
                let text = if A::ROLE == Role::Client { stream.response() } else { stream.request() };
                own.received(ctx, flow, &text);
                if end && A::ROLE == Role::Client {
                    finish(own, stream, ctx, flow);
                }
            }),
            Event::Data { bytes, end, .. } => self.with(ctx, flow, |own, stream, ctx, flow| {
                if !bytes.is_empty() {
                    own.received(ctx, flow, bytes);
                }
                if end {
                    finish(own, stream, ctx, flow);
                }
            }),
            Event::Trailers { .. } => self.with(ctx, flow, finish),
            Event::Reset { code, .. } => self.with(ctx, flow, |own, stream, ctx, flow| {
                ctx.counts.http2.resets += 1;
                stream.id = None;
                if !flow.has(Flag::Done) && !flow.has(Flag::Failed) {
                    ctx.counts.detail(&format!("RST_STREAM: {}", code.name()));
                    ctx.fail_softly(flow, Reason::StreamReset);
                }
                finish(own, stream, ctx, flow);
                ctx.ask.close = true;
            }),
            Event::Broken { why, .. } => {
                self.with(ctx, flow, |_, _, ctx, flow| wrong(ctx, flow, why, Code::PROTOCOL_ERROR));
            }
            Event::GoAway { code, last } => self.with(ctx, flow, |_, stream, ctx, flow| {
                ctx.counts.http2.goaways += 1;
                let is_left = stream.id.is_some_and(|id| id <= last) || flow.has(Flag::Done);
                if code != Code::NO_ERROR || A::ROLE == Role::Client && !is_left {
                    ctx.counts.detail(&format!("GOAWAY: {}", code.name()));
                    ctx.fail_softly(flow, Reason::GoAway);
                    ctx.ask.close = true;
                }
            }),
            Event::Refused | Event::Room => {}
        }
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if !self.http2 {
            return self.end.finished(ctx, flow);
        }
        self.with(ctx, flow, |own, stream, ctx, flow| {
            finish(own, stream, ctx, flow);
            ctx.ask.close = true;
        });
    }

    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        if !self.http2 {
            return self.end.acknowledged(ctx, flow, offset);
        }
        self.with(ctx, flow, |_, stream, _, _| stream.connection.acknowledged(offset, |_| {}));
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if !self.http2 {
            return self.end.woke(ctx, flow);
        }
        self.with(ctx, flow, |own, _, ctx, flow| own.woke(ctx, flow));
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if !self.http2 {
            return self.end.stop(ctx, flow);
        }
        self.with(ctx, flow, |own, _, ctx, flow| own.stop(ctx, flow));
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        if !self.http2 {
            return self.end.fill(flow, extras, offset, out);
        }
        if let Some(stream) = extras.find(flow).and_then(|extra| extra.stream.as_deref()) {
            // All bytes are the connection's own.
            stream.connection.fill(offset, out, |_, _, _| {});
        }
    }

    /// Lets the end see the flow, and carries out what it requests on the stream.
    fn with(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        tell: impl FnOnce(&mut A, &mut Stream, &mut Ctx<'_>, &mut Flow),
    ) {
        let Some(mut stream) = ctx.extras.find_mut(flow).and_then(|extra| extra.stream.take()) else {
            return;
        };
        let mut outer = std::mem::take(&mut ctx.ask);
        tell(&mut self.end, &mut stream, ctx, flow);
        stream.flush();
        loop {
            stream.owed += std::mem::take(&mut ctx.ask.send);
            if !self.pass(&mut stream, ctx, flow) {
                break;
            }
            self.end.acknowledged(ctx, flow, stream.taken);
        }
        // A client whose close handshake is done ends its stream: there is no connection that its server should end first (RFC 8441
        // section 5).
        let is_done = A::ROLE == Role::Client && flow.state == super::state::CLOSED;
        stream.closing |= std::mem::take(&mut ctx.ask.close) | is_done;
        let is_sent = stream.owed == 0 && !stream.waits;
        if stream.closing && !stream.closed && (is_sent || flow.has(Flag::Failed)) {
            stream.close(is_sent);
            outer.close = true;
        }
        stream.paused = ctx.ask.read.map_or(stream.paused, |reads| !reads);
        if let Some(id) = stream.id {
            stream.connection.withhold(id, stream.paused);
        }
        let read = !stream.connection.is_held();
        if read == stream.held {
            stream.held = !read;
            outer.read = Some(read);
        }
        outer.abort |= ctx.ask.abort;
        outer.reset |= ctx.ask.reset;
        outer.acknowledge |= ctx.ask.acknowledge;
        outer.wake = ctx.ask.wake.or(outer.wake);
        outer.send += stream.connection.asked();
        ctx.ask = outer;
        ctx.extras.of(flow).stream = Some(stream);
    }

    /// Takes some of what the end wants to send; returns whether there was something, and room for it.
    fn pass(&mut self, stream: &mut Stream, ctx: &mut Ctx<'_>, flow: &mut Flow) -> bool {
        if !stream.begun && stream.head.ends_with(b"\r\n\r\n") {
            self.translate(stream, ctx, flow);
        }
        if stream.owed == 0 || stream.waits || flow.has(Flag::Failed) && !stream.begun {
            return false;
        }
        let mut piece = stream.owed.min(PIECE);
        let mut bytes = vec![0; piece as usize];
        self.end.fill(flow, ctx.extras, stream.taken, &mut bytes);
        if stream.begun {
            let Some(id) = stream.id else { return false };
            stream.connection.send_copy(id, bytes);
            stream.waits = true;
            stream.flush();
        } else if stream.head.len() + bytes.len() <= HEAD_MAX {
            stream.head.extend(bytes);
            // What follows the upgrade is the stream's.
            let end = stream.head.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
            let excess = end.map_or(0, |end| stream.head.len() - end);
            stream.head.truncate(stream.head.len() - excess);
            piece -= excess as u64;
        }
        stream.owed -= piece;
        stream.taken += piece;
        true
    }

    /// Sends the upgrade of this end, if it may be sent.
    fn translate(&self, stream: &mut Stream, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if A::ROLE == Role::Server {
            return stream.answer();
        }
        if !stream.connection.is_settled() || flow.has(Flag::Failed) {
            return;
        }
        if !stream.connection.peer_connects() {
            ctx.counts.detail("the server takes no WebSocket over HTTP/2 (SETTINGS_ENABLE_CONNECT_PROTOCOL)");
            ctx.fail_softly(flow, Reason::NoHttp2);
            ctx.ask.close = true;
            return;
        }
        stream.ask(if ctx.common.secured { "https" } else { "http" });
        ctx.counts.http2.streams += 1;
    }
}

/// The other end sends nothing more on the stream.
fn finish<A: Ending>(end: &mut A, stream: &mut Stream, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    if !std::mem::replace(&mut stream.finished, true) {
        end.finished(ctx, flow);
    }
}

/// The other end broke a rule of HTTP/2.
#[cold]
fn wrong(ctx: &mut Ctx<'_>, flow: &mut Flow, why: &str, code: Code) {
    if !flow.has(Flag::Done) && !flow.has(Flag::Failed) {
        ctx.counts.detail(&format!("{}: {why}", code.name()));
        ctx.fail_softly(flow, Reason::Http2Protocol);
    }
    ctx.ask.close = true;
}
