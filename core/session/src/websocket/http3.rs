//! WebSocket over HTTP/3 (RFC 9220): the first stream of requests of a connection of QUIC in place of the carrier. A connection has one,
//! and ends with it.
//!
//! Either end sees the upgrade of HTTP/1.1, which is translated ([`translate`]); all that follows goes in DATA frames. An end's bytes are
//! fetched once; for the end they are acknowledged as soon as the stream has taken those before. A stream that the end does not read is
//! not read from QUIC, whose windows then hold its sender back.
//!
//! A connection is closed once its stream is over: by its client when both Close frames have come, or what it sent has arrived; by its
//! server if the client leaves it open. So is that of a session that has failed: a Close frame with the reason has to arrive.
//!
//! Not here: messages, and when they are sent.

use super::carried::Ending;
use super::state as step;
use super::translate::{self, PASSED_ON};
use crate::counts::Reason;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::h3::connection::{Body, Connection, Handler, Nothing, Source};
use crate::http::h3::note_goaways;
use crate::quic::link::{self, Link, state};
use crate::quic::{Carried, Due, Quic, QuicEnd, failure};
use ::http3::qpack::{self, Field};
use ::http3::{Code, Fault, Role};
use units::Nanos;

/// Bytes handed to the stream at a time.
const PIECE: u64 = 64 << 10;
/// Time for which an end that is over waits for the other one to be over, too.
const PARTING: Nanos = Nanos::from_secs(1);

/// A connection and its stream.
pub(crate) struct QuicLink {
    connection: Connection<()>,
    line: Line,
}

impl QuicLink {
    fn new(role: Role, quic: Box<dyn Quic>, now: Nanos, base: u64) -> Self {
        let mut connection = Connection::new(role, quic, now, base);
        connection.carry_websocket(PASSED_ON);
        Self { connection, line: Line::default() }
    }

    pub(crate) fn carried(&self) -> &Carried {
        &self.connection.carried
    }

    pub(crate) fn carried_mut(&mut self) -> &mut Carried {
        &mut self.connection.carried
    }
}

/// The stream, as its end sees it.
#[derive(Debug, Default)]
struct Line {
    /// Its number, once there is one.
    id: Option<u64>,
    /// The end's upgrade, until it is whole and was translated.
    head: Vec<u8>,
    begun: bool,
    /// The client's key, which the response to it must fit.
    key: Vec<u8>,
    /// Bytes that the end wants to send and that were not taken, and those that were.
    owed: u64,
    taken: u64,
    /// The end reads nothing for now; or it does again, and the stream must be read.
    paused: bool,
    resumes: bool,
    /// The end has closed; the stream was ended; all that was sent has arrived, or need not.
    closing: bool,
    ended: bool,
    delivered: bool,
    /// The end knows that the other one has closed.
    finished: bool,
    /// When the connection is closed at the latest.
    parts: Option<Nanos>,
    goaways: u64,
}

/// An end at work on its connection.
struct With<'a, A> {
    end: &'a mut A,
    line: &'a mut Line,
}

/// Does something with a flow's connection.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut QuicLink)) {
    link::with(ctx, flow, |ctx, flow, link| {
        if let Link::Websocket(own) = link {
            work(ctx, flow, own);
        }
    });
}

/// A connection begins on a flow that has sent `base` bytes of datagrams.
fn begin<A: Ending>(ctx: &mut Ctx<'_>, flow: &mut Flow, quic: Box<dyn Quic>, base: u64) {
    let own = Box::new(QuicLink::new(A::ROLE, quic, ctx.now, base));
    ctx.extras.of(flow).quic = Some(Box::new(Link::Websocket(own)));
}

pub(super) fn opened<A: Ending>(_: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    if !ctx.is_client() {
        return;
    }
    if flow.state == state::PATH {
        return link::keep_path(ctx, flow);
    }
    let Some(quic) = link::connect(ctx, flow) else { return };
    begin::<A>(ctx, flow, quic, 0);
    link::await_handshake(ctx, flow);
}

pub(super) fn received<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
    if ctx.is_client() && flow.state == state::PATH {
        return link::received_path(ctx, flow, datagram);
    }
    flow.set(Flag::Progress);
    if !ctx.is_client() && link::is_to_accept(flow) {
        let Some((quic, base)) = link::accept(ctx, flow, datagram) else { return };
        begin::<A>(ctx, flow, quic, base);
        link::await_handshake(ctx, flow);
    } else {
        with(ctx, flow, |ctx, _, own| own.connection.carried.receive(ctx, datagram));
    }
    with(ctx, flow, |ctx, flow, own| go_on(app, ctx, flow, own));
}

/// Handles events, and acts on them.
fn go_on<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow, own: &mut QuicLink) {
    let QuicLink { connection, line } = own;
    let mut with = With { end: app, line };
    connection.listen(ctx, flow, &mut with);
    with.look_for_goaway(ctx, flow, connection);
    with.turn(ctx, flow, connection);
}

/// A connection ends by itself, not by its flow.
pub(super) fn finished<A: Ending>(_: &mut A, _: &mut Ctx<'_>, _: &mut Flow) {}

/// Datagrams are not acknowledged.
pub(super) fn acknowledged<A: Ending>(_: &mut A, _: &mut Ctx<'_>, _: &mut Flow, _: u64) {}

pub(super) fn woke<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    if link::woke_without(ctx, flow) {
        return;
    }
    with(ctx, flow, |ctx, flow, own| {
        let due = own.connection.carried.woke(ctx, flow);
        if due == Due::Handshake {
            return link::no_handshake(ctx, flow);
        }
        let is_due = due == Due::Wake;
        let QuicLink { connection, line } = own;
        if is_due && !line.closing {
            With { end: app, line }.tell(ctx, flow, connection, |end, ctx, flow| end.woke(ctx, flow));
        }
        go_on(app, ctx, flow, own);
    });
}

pub(super) fn stop<A: Ending>(app: &mut A, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    with(ctx, flow, |ctx, flow, QuicLink { connection, line }| {
        let mut with = With { end: app, line };
        with.tell(ctx, flow, connection, |end, ctx, flow| end.stop(ctx, flow));
        with.turn(ctx, flow, connection);
    });
}

impl<A: Ending> With<'_, A> {
    /// Lets the end see the flow, and carries out what it requests on the stream.
    fn tell(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Connection<()>,
        tell: impl FnOnce(&mut A, &mut Ctx<'_>, &mut Flow),
    ) {
        if connection.carried.is_over() || flow.state == state::CONNECTING {
            return;
        }
        let outer = std::mem::take(&mut ctx.ask);
        let was_closing = flow.state == step::CLOSING;
        tell(self.end, ctx, flow);
        loop {
            self.line.owed += std::mem::take(&mut ctx.ask.send);
            if !self.pass(ctx, flow, connection) {
                break;
            }
            self.end.acknowledged(ctx, flow, self.line.taken);
        }
        let ask = std::mem::replace(&mut ctx.ask, outer);
        ctx.ask.wake = ask.wake.or(ctx.ask.wake);
        if let (Some(reads), Some(id)) = (ask.read, self.line.id) {
            self.line.resumes |= reads && self.line.paused;
            self.line.paused = !reads;
            connection.withhold(id, !reads);
        }
        let is_done = A::ROLE == Role::Client && flow.state == step::CLOSED;
        // A client's Close frame that was answered has arrived, and all before it.
        self.line.delivered |= is_done && was_closing;
        self.line.closing |= ask.close || is_done;
        if ask.abort || ask.reset {
            if let Some(id) = self.line.id {
                connection.refuse(id, Code::REQUEST_CANCELLED);
            }
            (self.line.closing, self.line.ended, self.line.delivered) = (true, true, true);
            connection.carried.close_by(Code::REQUEST_CANCELLED.0);
            ctx.ask.close = true;
        }
    }

    /// Takes some of what the end wants to send; returns whether there was something, and room for it.
    fn pass(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<()>) -> bool {
        if !self.line.begun && self.line.head.ends_with(b"\r\n\r\n") {
            self.translate(ctx, flow, connection);
        }
        let line = &mut *self.line;
        let is_behind = line.id.is_some_and(|id| connection.is_behind(id));
        let is_in_vain = A::ROLE == Role::Client && flow.has(Flag::Failed) && !line.begun;
        if line.owed == 0 || line.ended || is_behind || is_in_vain {
            return false;
        }
        let mut piece = line.owed.min(PIECE);
        let mut bytes = vec![0; piece as usize];
        self.end.fill(flow, ctx.extras, line.taken, &mut bytes);
        match line.id.filter(|_| line.begun) {
            Some(id) => {
                connection.push(id, &bytes);
                connection.write(ctx, id, &Nothing);
            }
            None if line.begun => return false,
            // What follows the upgrade is the stream's.
            None => piece -= translate::take_head(&mut line.head, &bytes) as u64,
        }
        line.owed -= piece;
        line.taken += piece;
        piece > 0
    }

    /// Sends the upgrade of this end, if it may be sent.
    fn translate(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<()>) {
        let line = &mut *self.line;
        let mut block = Vec::new();
        qpack::begin(&mut block);
        let mut put = |name: &str, value: &[u8]| Field::named(name).put_value(value, &mut block);
        if A::ROLE == Role::Server {
            let Some(id) = line.id else { return };
            let refuses = translate::response(&std::mem::take(&mut line.head), put);
            line.begun = true;
            connection.send(ctx, id, &block, (Body::default(), refuses), &Nothing);
            return;
        }
        let (Some(connects), false) = (connection.peer_connects(), flow.has(Flag::Failed)) else { return };
        if !connects {
            ctx.counts.detail("the server takes no WebSocket over HTTP/3 (SETTINGS_ENABLE_CONNECT_PROTOCOL)");
            ctx.fail_softly(flow, Reason::NoHttp3);
            ctx.ask.close = true;
            return;
        }
        let Some(id) = connection.open((), false) else { return };
        line.key = translate::request(&std::mem::take(&mut line.head), "https", &mut put);
        (line.id, line.begun) = (Some(id), true);
        connection.send(ctx, id, &block, (Body::default(), false), &Nothing);
        ctx.counts.http3.streams += 1;
    }

    /// The server has announced that it processes no more requests: the stream, unless it began before.
    fn look_for_goaway(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<()>) {
        let (first, goaways) = connection.goaway();
        if goaways == self.line.goaways {
            return;
        }
        note_goaways(ctx.counts, &mut self.line.goaways, goaways);
        let is_left = self.line.id.is_some_and(|id| first.is_none_or(|first| id < first));
        if A::ROLE == Role::Client && !is_left && !flow.has(Flag::Done) && !flow.has(Flag::Failed) {
            ctx.counts.detail("GOAWAY: the request was not processed");
            ctx.fail_softly(flow, Reason::GoAway);
            (self.line.closing, self.line.delivered) = (true, true);
        }
    }

    /// Lets the end proceed, and closes the connection once it is time for that.
    fn turn(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<()>) {
        self.tell(ctx, flow, connection, |_, _, _| {});
        while std::mem::take(&mut self.line.resumes)
            && let Some(id) = self.line.id
        {
            connection.read(ctx, flow, id, self);
        }
        connection.write_control();
        let line = &mut *self.line;
        if !line.closing || connection.carried.is_over() || flow.state == state::CONNECTING {
            return;
        }
        let is_behind = line.id.is_some_and(|id| connection.is_behind(id));
        if line.owed == 0 && !is_behind && !std::mem::replace(&mut line.ended, true) {
            if let Some(id) = line.id.filter(|_| line.begun) {
                connection.end_with(id);
                connection.write(ctx, id, &Nothing);
            } else {
                line.delivered = true;
            }
        }
        let at = *line.parts.get_or_insert_with(|| ctx.now.saturating_add(PARTING));
        let closes_first = ctx.is_client() || flow.has(Flag::Failed) || !line.begun;
        if line.delivered && closes_first || at <= ctx.now {
            ctx.ask.close = true;
        } else {
            ctx.ask.wake = Some(at);
        }
    }

    /// The other end sends nothing more on the stream.
    fn finish(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<()>) {
        if !std::mem::replace(&mut self.line.finished, true) {
            self.tell(ctx, flow, connection, |end, ctx, flow| end.finished(ctx, flow));
        }
    }

    /// The other end broke a rule of HTTP/3.
    #[cold]
    fn wrong(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, fault: Fault) {
        if !flow.has(Flag::Done) && !flow.has(Flag::Failed) {
            ctx.counts.detail(&format!("{}: {}", fault.code.text(), fault.why));
            ctx.fail_softly(flow, Reason::Http3Protocol);
        }
        (self.line.closing, self.line.delivered) = (true, true);
        ctx.ask.close = true;
    }
}

impl<A: Ending> Handler<()> for With<'_, A> {
    fn connected(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<()>) {
        flow.state = state::OPEN;
        self.tell(ctx, flow, connection, |end, ctx, flow| end.opened(ctx, flow));
    }

    fn begun(&mut self, _: &mut Ctx<'_>, _: &mut Flow, stream: u64) -> Option<()> {
        // A connection carries one.
        (*self.line.id.get_or_insert(stream) == stream).then_some(())
    }

    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<()>, stream: u64) {
        let head = &connection.head;
        if A::ROLE == Role::Client && head.status < 200 {
            return;
        }
        ctx.counts.http3.streams += u64::from(A::ROLE == Role::Server);
        self.line.id = Some(stream);
        let text = if A::ROLE == Role::Client {
            translate::response_seen(head, &self.line.key)
        } else {
            translate::request_seen(head, "h3")
        };
        self.tell(ctx, flow, connection, |end, ctx, flow| end.received(ctx, flow, &text));
    }

    fn data(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Connection<()>,
        _: u64,
        bytes: &[u8],
    ) {
        self.tell(ctx, flow, connection, |end, ctx, flow| end.received(ctx, flow, bytes));
    }

    fn end(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<()>, _: u64) {
        self.finish(ctx, flow, connection);
    }

    fn delivered(&mut self, _: &mut Ctx<'_>, _: &mut Flow, _: &mut Connection<()>, _: u64) {
        self.line.delivered = true;
    }

    #[cold]
    fn given_up(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Connection<()>,
        _: u64,
        code: Code,
        stops: bool,
    ) {
        ctx.counts.http3.resets += 1;
        if !flow.has(Flag::Done) && !flow.has(Flag::Failed) {
            let frame = if stops { "STOP_SENDING" } else { "RESET_STREAM" };
            ctx.counts.detail(&format!("{frame}: {}", code.text()));
            ctx.fail_softly(flow, Reason::StreamReset);
        }
        self.finish(ctx, flow, connection);
        self.line.closing = true;
        self.line.delivered |= stops;
    }

    #[cold]
    fn malformed(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Connection<()>,
        _: u64,
        fault: Fault,
    ) {
        connection.carried.close_by(fault.code.0);
        self.wrong(ctx, flow, fault);
    }

    #[cold]
    fn broken(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, fault: Fault) {
        self.wrong(ctx, flow, fault);
    }

    fn lingers(&self) -> bool {
        true
    }

    #[cold]
    fn lost(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<()>, end: &QuicEnd) {
        flow.set(Flag::PeerClosed);
        let open = flow.state != state::CONNECTING;
        let code_name = |code| Code(code).text();
        match failure(end, open, Code::NO_ERROR.0, Reason::NoHttp3, code_name) {
            _ if flow.has(Flag::Done) || flow.has(Flag::Failed) => {}
            None if !open => ctx.fail_softly(flow, Reason::ClosedEarly),
            None => self.finish(ctx, flow, connection),
            Some((reason, why)) => {
                ctx.counts.detail(&why);
                ctx.fail_softly(flow, reason);
            }
        }
        (self.line.closing, self.line.delivered) = (true, true);
        flow.set(Flag::Closing);
        ctx.ask.close = true;
    }
}

impl<A> Source for With<'_, A> {
    fn fill(&self, body: Body, offset: u64, out: &mut [u8]) {
        Nothing.fill(body, offset, out);
    }
}
