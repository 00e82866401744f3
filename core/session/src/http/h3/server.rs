//! Reads requests, and responds by the rules of HTTP/1.1's server.

use super::connection::{Body, Connection, Handler, Source, lasting_generated, number, write_generated};
use super::{GENERATED, Items, Link, note_goaways};
use crate::counts::Reason;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::date;
use crate::http::plan::{EarlyData, HttpBody, HttpRule, HttpServer, Method};
use crate::http::server::{IS_OF_CONNECTION, Rules};
use crate::message::Vars;
use crate::pattern;
use crate::quic::link::{self, Link as AnyLink, give_up, state};
use crate::quic::{Due, QuicEnd, failure};
use crate::vary::{Delay, Size};
use http3::qpack::{self, Field};
use http3::{Code, Fault, Role};
use std::sync::Arc;
use units::Nanos;

/// Time for a client to close a connection whose server reads no more requests.
const PARTING: Nanos = Nanos::from_secs(1);

/// Additional state of a server's connection.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    /// Responses that wait: when they are due, and their streams.
    delayed: Vec<(Nanos, u64)>,
    /// When it is closed if the client does not close it.
    parts: Option<Nanos>,
    goaways: u64,
}

/// A request without a response.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    answer: u32,
    /// Size in the path.
    size: u64,
    head_only: bool,
    /// Bytes of the request's body so far, modulo 2^32.
    got: u32,
    /// The request is whole.
    whole: bool,
    /// The class of the response's status.
    class: u8,
}

/// A server made ready.
#[derive(Debug)]
pub(crate) struct Server {
    rules: Arc<Rules>,
    /// Of each rule, then of each refusal.
    answers: Vec<Answer>,
    go_on: Field,
    length: Field,
    date: Option<Field>,
    keep_alive: Option<u32>,
    /// Requests that come before the handshake is done are to be sent again.
    refuses_early: bool,
    wall_zero: Nanos,
    value: Vec<u8>,
    block: Vec<u8>,
}

/// A response made ready.
#[derive(Debug)]
struct Answer {
    items: Items,
    status: u16,
    body: HttpBody,
    bodiless: bool,
    says_length: bool,
    /// Whether the connection ends with it.
    close: bool,
    delay: Delay,
}

impl Answer {
    fn new(rule: &HttpRule, server: &HttpServer) -> Self {
        let mut items = Items::default();
        items.always(":status", rule.status.to_string().as_bytes());
        if !server.name.is_empty() {
            items.always("server", server.name.as_bytes());
        }
        let more =
            rule.fields.iter().filter(|(name, _)| !IS_OF_CONNECTION.contains(&&*name.to_ascii_lowercase()));
        more.for_each(|(name, value)| items.always(&name.to_ascii_lowercase(), value.as_bytes()));
        let bodiless = matches!(rule.status, 204 | 304);
        let mut says_length = !bodiless && matches!(rule.body, HttpBody::Length(_) | HttpBody::FromPath);
        if let (true, HttpBody::Length(Size::Fixed(bytes))) = (says_length, &rule.body) {
            items.always("content-length", bytes.to_string().as_bytes());
            says_length = false;
        }
        let (body, close) = (rule.body.clone(), rule.close || matches!(rule.body, HttpBody::UntilClose(_)));
        Self { items, status: rule.status, body, bodiless, says_length, close, delay: rule.delay }
    }
}

type Serves = Connection<Asked>;

/// A server's operations on one connection.
struct With<'a> {
    server: &'a mut Server,
    serving: &'a mut Serving,
}

/// Does something with a flow's connection.
fn with(
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Serves, &mut Serving),
) {
    link::with(ctx, flow, |ctx, flow, link| {
        if let AnyLink::Http(Link::Server(connection, serving)) = link {
            work(ctx, flow, connection, serving);
            if !flow.has(Flag::Failed) {
                flow.waiting = connection.streams().min(255) as u8;
            }
        }
    });
}

impl Server {
    pub(crate) fn new(rules: Arc<Rules>, server: &HttpServer) -> Self {
        Self {
            answers: rules
                .all()
                .enumerate()
                .map(|(index, rule)| {
                    // A stream that is refused leaves the others.
                    let close = rule.close && !rules.is_refusal(index);
                    Answer::new(&HttpRule { close, ..rule }, server)
                })
                .collect(),
            go_on: Field::always(":status", b"100"),
            length: Field::named("content-length"),
            date: server.date.then(|| Field::named("date")),
            keep_alive: server.keep_alive,
            refuses_early: server.early_data == EarlyData::TooEarly,
            wall_zero: Nanos::ZERO,
            value: Vec::new(),
            block: Vec::new(),
            rules,
        }
    }

    /// Says what time it is: the wall clock's, since 1970-01-01 UTC, at instant zero.
    pub(crate) fn set_clock(&mut self, wall_zero: Nanos) {
        self.wall_zero = wall_zero;
    }

    /// The first datagram of a flow: a connection begins, or nothing does.
    fn begin(ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
        let Some((quic, base)) = link::accept(ctx, flow, datagram) else { return };
        let connection = Box::new(Connection::new(Role::Server, quic, ctx.now, base));
        let link = Link::Server(connection, Serving::default());
        ctx.extras.of(flow).quic = Some(Box::new(AnyLink::Http(link)));
        link::await_handshake(ctx, flow);
    }

    #[inline]
    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
        flow.set(Flag::Progress);
        if link::is_to_accept(flow) {
            Self::begin(ctx, flow, datagram);
            return self.go_on(ctx, flow);
        }
        let mut waits = false;
        with(ctx, flow, |ctx, flow, connection, _| {
            waits = connection.carried.receive_some(ctx, flow, datagram);
        });
        if !waits {
            self.go_on(ctx, flow);
        }
    }

    #[inline]
    pub(crate) fn tended(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let mut waits = false;
        with(ctx, flow, |_, _, connection, _| waits = connection.carried.is_unheard());
        if waits {
            self.go_on(ctx, flow);
        }
    }

    /// Handles events, and acts on them.
    #[inline]
    fn go_on(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, connection, serving| {
            connection.listen(ctx, flow, &mut With { server: self, serving });
            if connection.carried.is_over() || flow.has(Flag::Failed) {
                return;
            }
            note_goaways(ctx.counts, &mut serving.goaways, connection.goaway().1);
            self.part(ctx, flow, connection, serving);
            connection.write_control();
        });
    }

    /// Ends a connection after the response to its last request. Its client must close, and has some time for that:
    /// requests it sent meanwhile would otherwise be lost silently.
    fn part(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &Serves, serving: &mut Serving) {
        if !connection.is_leaving() || connection.streams() > 0 || flow.state != state::OPEN {
            return;
        }
        let at = *serving.parts.get_or_insert_with(|| ctx.now.saturating_add(PARTING));
        if at <= ctx.now {
            flow.state = state::END;
            ctx.close(flow);
        } else {
            ctx.wake_at(flow, at);
        }
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if link::woke_without(ctx, flow) {
            return;
        }
        let mut due = Due::Nothing;
        with(ctx, flow, |ctx, flow, connection, _| {
            due = connection.carried.woke(ctx, flow);
            if due == Due::Handshake {
                connection.carried.outlast(ctx, flow);
            }
        });
        if due == Due::Wake && matches!(flow.state, state::OPEN | state::CONNECTING) {
            with(ctx, flow, |ctx, flow, connection, serving| {
                let had = !serving.delayed.is_empty();
                let (due, later): (Vec<_>, Vec<_>) =
                    serving.delayed.iter().partition(|(at, _)| *at <= ctx.now);
                serving.delayed = later;
                for (_, stream) in due {
                    if let Some(asked) = connection.data(stream).copied() {
                        self.respond(ctx, flow, connection, stream, asked);
                    }
                }
                if had {
                    Self::wake(ctx, flow, serving);
                } else if serving.parts.is_none() && ctx.has_run_out(flow, ctx.common.patience.idle) {
                    give_up(ctx, flow, Reason::IdleTimeout);
                }
            });
        }
        self.go_on(ctx, flow);
    }

    /// Sees to it that the flow is woken when the next response is due.
    fn wake(ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &Serving) {
        match serving.delayed.iter().map(|(at, _)| *at).min() {
            Some(at) => ctx.wake_at(flow, at),
            None => ctx.arm(flow, ctx.common.patience.idle),
        }
    }

    #[inline]
    fn respond(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Serves,
        stream: u64,
        asked: Asked,
    ) {
        let Some(answer) = self.answers.get(asked.answer as usize) else { return };
        let number = number(stream);
        let size = match &answer.body {
            HttpBody::FromPath => asked.size,
            HttpBody::Length(size) | HttpBody::Chunked { size, .. } | HttpBody::UntilClose(size) => {
                size.value(u64::from(number))
            }
        };
        let block = &mut self.block;
        let vars = Vars {
            session: u64::from(flow.number),
            request: u64::from(number),
            turn: u64::from(number),
            body: size,
            seconds: 0,
        };
        block.clear();
        qpack::begin(block);
        answer.items.put(&vars, &mut self.value, block);
        if answer.says_length {
            self.length.put_value(size.to_string().as_bytes(), block);
        }
        if let Some(field) = &self.date {
            let seconds = self.wall_zero.saturating_add(ctx.now).0 / 1_000_000_000;
            field.put_value(&date::imf(seconds), block);
        }
        let len = if asked.head_only || answer.bodiless { 0 } else { size };
        let close = answer.close;
        if let Some(asked) = connection.data(stream) {
            asked.class = (answer.status / 100).clamp(1, 5) as u8;
        }
        let body = Body { source: GENERATED, number, len };
        connection.send(ctx, stream, block, (body, true), &Generated);
        flow.sent = flow.sent.wrapping_add(1);
        flow.mark(ctx.now);
        let last = self.keep_alive.is_some_and(|all| flow.sent >= all);
        if close || last || flow.has(Flag::Stopping) {
            connection.leave();
        }
        ctx.arm(flow, ctx.common.patience.idle);
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, connection, _| {
            if connection.streams() == 0 && flow.state != state::GONE {
                // Whoever shook hands and asked nothing is left, too.
                flow.set(Flag::Stopped);
                flow.state = state::END;
                ctx.close(flow);
            } else {
                connection.leave();
                connection.write_control();
            }
        });
    }
}

/// Bodies of servers.
struct Generated;

impl Source for Generated {
    fn fill(&self, body: Body, offset: u64, out: &mut [u8]) {
        write_generated(body, offset, out);
    }

    fn lasting(&self, body: Body, offset: u64) -> &'static [u8] {
        lasting_generated(body, offset)
    }
}

impl Source for With<'_> {
    fn fill(&self, body: Body, offset: u64, out: &mut [u8]) {
        write_generated(body, offset, out);
    }

    fn lasting(&self, body: Body, offset: u64) -> &'static [u8] {
        lasting_generated(body, offset)
    }
}

impl Handler<Asked> for With<'_> {
    fn connected(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Serves) {
        flow.state = state::OPEN;
        ctx.counts.quic.early_data_accepted += u64::from(connection.carried.quic.has_early_keys());
    }

    fn begun(&mut self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) -> Option<Asked> {
        Some(Asked::default())
    }

    #[inline]
    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Serves, stream: u64) {
        let head = &connection.head;
        let rules = &self.server.rules;
        let is_early = flow.state == state::CONNECTING;
        ctx.counts.quic.early_requests += u64::from(is_early);
        let (answer, size) = if is_early && self.server.refuses_early {
            (rules.too_early(), 0)
        } else if head.is_too_large {
            (rules.too_long(), 0)
        } else {
            rules.answer(Method::read(&head.method), &head.path)
        };
        let (head_only, waits) = (head.method == b"HEAD", head.waits);
        ctx.counts.requests += 1;
        ctx.counts.http3.streams += 1;
        if let Some(asked) = connection.data(stream) {
            *asked = Asked { answer, size, head_only, ..Asked::default() };
        }
        if waits {
            let block = &mut self.server.block;
            block.clear();
            qpack::begin(block);
            self.server.go_on.put(block);
            connection.send(ctx, stream, block, (Body::default(), false), &Generated);
            ctx.counts.http[0] += 1;
        }
        ctx.arm(flow, ctx.common.patience.idle);
    }

    #[inline]
    fn data(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Serves,
        stream: u64,
        bytes: &[u8],
    ) {
        let Some(asked) = connection.data(stream) else { return };
        let verify = ctx.common.verify && self.server.rules.knows_bodies();
        if verify && !pattern::matches(u64::from(number(stream)), u64::from(asked.got), bytes) {
            return give_up(ctx, flow, Reason::WrongContent);
        }
        asked.got = asked.got.wrapping_add(bytes.len() as u32);
    }

    /// A request is whole.
    #[inline]
    fn end(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Serves, stream: u64) {
        let Some(asked) = connection.data(stream) else { return };
        asked.whole = true;
        let asked = *asked;
        let answers = &self.server.answers;
        let delay = answers.get(asked.answer as usize).map_or(Delay::NONE, |answer| answer.delay);
        if delay != Delay::NONE {
            let time = delay.value(u64::from(flow.number), u64::from(number(stream)));
            if time.0 > 0 {
                self.serving.delayed.push((ctx.now.saturating_add(time), stream));
                return Server::wake(ctx, flow, self.serving);
            }
        }
        self.server.respond(ctx, flow, connection, stream, asked);
    }

    #[inline]
    fn delivered(&mut self, ctx: &mut Ctx<'_>, _: &mut Flow, connection: &mut Serves, stream: u64) {
        let Some(asked) = connection.take(ctx, stream) else { return };
        ctx.counts.transactions += 1;
        ctx.counts.http[usize::from(asked.class.clamp(1, 5)) - 1] += 1;
    }

    #[cold]
    fn given_up(
        &mut self,
        ctx: &mut Ctx<'_>,
        _: &mut Flow,
        connection: &mut Serves,
        stream: u64,
        _: Code,
        _: bool,
    ) {
        ctx.counts.http3.resets += 1;
        connection.refuse(stream, Code::REQUEST_CANCELLED);
    }

    #[cold]
    fn malformed(
        &mut self,
        ctx: &mut Ctx<'_>,
        _: &mut Flow,
        connection: &mut Serves,
        stream: u64,
        fault: Fault,
    ) {
        ctx.counts.http3.resets_sent += 1;
        ctx.counts.detail(fault.why);
        connection.refuse(stream, fault.code);
    }

    #[cold]
    fn broken(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, fault: Fault) {
        ctx.counts.detail(fault.why);
        give_up(ctx, flow, Reason::Http3Protocol);
    }

    #[cold]
    fn lost(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Serves, end: &QuicEnd) {
        flow.set(Flag::PeerClosed);
        let open = flow.state != state::CONNECTING;
        let code_name = |code| Code(code).text();
        match failure(end, open, Code::NO_ERROR.0, Reason::NoHttp3, code_name) {
            _ if flow.has(Flag::Done) => {}
            // What was sent has come, if nobody complains: the acknowledgement may be lost, or never be sent.
            None if connection.owes() => ctx.fail_softly(flow, Reason::ClosedEarly),
            None => {
                let answered: Vec<u64> = connection.each().map(|(stream, _)| stream).collect();
                answered.into_iter().for_each(|stream| self.delivered(ctx, flow, connection, stream));
            }
            // A client that says nothing more has gone.
            Some((Reason::IdleTimeout, _)) if connection.streams() == 0 && flow.sent > 0 => {}
            Some((reason, why)) => {
                ctx.counts.detail(&why);
                ctx.fail_softly(flow, reason);
            }
        }
        flow.state = state::END;
        ctx.close(flow);
    }
}
