//! WebSocket over HTTP/2 (RFC 8441): a stream in place of the carrier. A connection has one, and ends with it.
//!
//! Either end sees the upgrade of HTTP/1.1, which is translated ([`translate`]); all that follows is the stream's data. An end's bytes are
//! fetched once, and kept by the connection until they are acknowledged; for the end they are acknowledged as soon as the stream's
//! windows have taken those before. So an end that sends more than its peer reads waits.
//!
//! Not here: messages, and when they are sent.

use super::carried::Ending;
use super::translate::{self, PASSED_ON};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::h2::ALPN;
use ::http2::hpack::Fields;
use ::http2::{Announced, Code, Connection, Event, Role};

/// Bytes handed to the connection at a time.
const PIECE: u64 = 64 << 10;

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

    /// Sends a client's upgrade as an extended CONNECT (RFC 8441 section 4).
    fn ask(&mut self, scheme: &str) {
        let (head, mut block) = (std::mem::take(&mut self.head), Vec::new());
        let encoder = self.connection.encoder();
        self.key = translate::request(&head, scheme, |name, value| {
            encoder.put_value(&Fields::named(name), value, &mut block);
        });
        let id = self.connection.open((), false);
        self.connection.send_head(id, &block, false, 0);
        (self.id, self.begun) = (Some(id), true);
    }

    /// Sends a server's response.
    fn answer(&mut self) {
        let (head, mut block) = (std::mem::take(&mut self.head), Vec::new());
        let encoder = self.connection.encoder();
        let refuses = translate::response(&head, |name, value| {
            encoder.put_value(&Fields::named(name), value, &mut block);
        });
        if let Some(id) = self.id {
            self.connection.send_head(id, &block, refuses, 0);
        }
        self.begun = true;
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

pub(super) fn opened<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    if ctx.common.secured && ctx.alpn != ALPN {
        let agreed = if ctx.alpn.is_empty() { "nothing" } else { ctx.alpn };
        ctx.counts.detail(&format!("ALPN: agreed on {agreed}, not on h2"));
        return ctx.fail(flow, Reason::NoHttp2);
    }
    ctx.counts.http2.connections += 1;
    ctx.extras.of(flow).stream = Some(Box::new(Stream::new(A::ROLE)));
    with(app, ctx, flow, |end, _, ctx, flow| end.opened(ctx, flow));
}

pub(super) fn received<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow, mut data: &[u8]) {
    flow.set(Flag::Progress);
    let second = (ctx.now.0 / 1_000_000_000) as u32;
    while let Some(stream) = ctx.extras.find_mut(flow).and_then(|extra| extra.stream.as_mut()) {
        match stream.connection.read(second, &mut data) {
            Ok(None) => break,
            Ok(Some(event)) => happened(app, ctx, flow, event),
            Err(fault) => {
                let (why, code) = (fault.why, fault.code);
                with(app, ctx, flow, |_, _, ctx, flow| wrong(ctx, flow, why, code));
                break;
            }
        }
    }
    with(app, ctx, flow, |_, _, _, _| {});
}

fn happened<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow, event: Event<'_, ()>) {
    match event {
        Event::Head { stream: id, end } => with(app, ctx, flow, |own, stream, ctx, flow| {
            let head = stream.connection.head();
            if A::ROLE == Role::Client && head.status < 200 {
                return;
            }
            ctx.counts.http2.streams += u64::from(A::ROLE == Role::Server);
            stream.id = Some(id);
            let head = stream.connection.head();
            let text = if A::ROLE == Role::Client {
                translate::response_seen(head, &stream.key)
            } else {
                translate::request_seen(head, "h2")
            };
            own.received(ctx, flow, &text);
            if end && A::ROLE == Role::Client {
                finish(own, stream, ctx, flow);
            }
        }),
        Event::Data { bytes, end, .. } => with(app, ctx, flow, |own, stream, ctx, flow| {
            if !bytes.is_empty() {
                own.received(ctx, flow, bytes);
            }
            if end {
                finish(own, stream, ctx, flow);
            }
        }),
        Event::Trailers { .. } => with(app, ctx, flow, finish),
        Event::Reset { code, .. } => with(app, ctx, flow, |own, stream, ctx, flow| {
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
            with(app, ctx, flow, |_, _, ctx, flow| wrong(ctx, flow, why, Code::PROTOCOL_ERROR));
        }
        Event::GoAway { code, last } => with(app, ctx, flow, |_, stream, ctx, flow| {
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

pub(super) fn finished<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    with(app, ctx, flow, |own, stream, ctx, flow| {
        finish(own, stream, ctx, flow);
        ctx.ask.close = true;
    });
}

pub(super) fn acknowledged<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
    with(app, ctx, flow, |_, stream, _, _| stream.connection.acknowledged(offset, |_| {}));
}

pub(super) fn woke<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    with(app, ctx, flow, |own, _, ctx, flow| own.woke(ctx, flow));
}

pub(super) fn stop<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    with(app, ctx, flow, |own, _, ctx, flow| own.stop(ctx, flow));
}

pub(super) fn fill(flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
    if let Some(stream) = extras.find(flow).and_then(|extra| extra.stream.as_deref()) {
        // All bytes are the connection's own.
        stream.connection.fill(offset, out, |_, _, _| {});
    }
}

/// Lets the end see the flow, and carries out what it requests on the stream.
fn with<A: Ending>(
    app: &mut A,
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    tell: impl FnOnce(&mut A, &mut Stream, &mut Ctx<'_>, &mut Flow),
) {
    let Some(mut stream) = ctx.extras.find_mut(flow).and_then(|extra| extra.stream.take()) else {
        return;
    };
    let mut outer = std::mem::take(&mut ctx.ask);
    tell(app, &mut stream, ctx, flow);
    stream.flush();
    loop {
        stream.owed += std::mem::take(&mut ctx.ask.send);
        if !pass(app, &mut stream, ctx, flow) {
            break;
        }
        app.acknowledged(ctx, flow, stream.taken);
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
fn pass<A: Ending>(app: &mut A, stream: &mut Stream, ctx: &mut Ctx<'_>, flow: &mut Flow) -> bool {
    if !stream.begun && stream.head.ends_with(b"\r\n\r\n") {
        translate_if_due::<A>(stream, ctx, flow);
    }
    let is_in_vain = A::ROLE == Role::Client && flow.has(Flag::Failed) && !stream.begun;
    if stream.owed == 0 || stream.waits || is_in_vain {
        return false;
    }
    let mut piece = stream.owed.min(PIECE);
    let mut bytes = vec![0; piece as usize];
    app.fill(flow, ctx.extras, stream.taken, &mut bytes);
    if stream.begun {
        let Some(id) = stream.id else { return false };
        stream.connection.send_copy(id, bytes);
        stream.waits = true;
        stream.flush();
    } else {
        // What follows the upgrade is the stream's.
        piece -= translate::take_head(&mut stream.head, &bytes) as u64;
    }
    stream.owed -= piece;
    stream.taken += piece;
    true
}

/// Sends the upgrade of this end, if it may be sent.
fn translate_if_due<A: Ending>(stream: &mut Stream, ctx: &mut Ctx<'_>, flow: &mut Flow) {
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
