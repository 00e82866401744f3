//! Reads queries, several at a time, and responds.

use super::Link;
use crate::counts::Reason;
use crate::dns::https::server::{CODE, LENGTH, REFUSED, asked, max_age};
use crate::dns::https::{FIELDS, MESSAGE, MESSAGE_MAX, TYPE_FIELD};
use crate::dns::plan::{DnsHttps, DnsPlan};
use crate::dns::server::{Outcome, Responder};
use crate::dns::wire;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::h3::connection::{Body, Connection, Handler, Nothing, Source};
use crate::http::h3::note_goaways;
use crate::quic::link::{self, Link as AnyLink, give_up, state};
use crate::quic::{Due, QuicEnd, failure};
use http3::qpack::{self, Field};
use http3::{Code, Fault, Role};
use std::sync::Arc;
use units::Nanos;

/// Time for a client to close a connection whose server reads no more queries.
const PARTING: Nanos = Nanos::from_secs(1);

/// Bytes of a query that any may have, and of all of a connection at which none may have more.
const SMALL: usize = 4 << 10;
const HELD_MAX: usize = 1 << 20;

/// Additional state of a server's connection.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    /// Responses that wait: when they are due, their streams, and what they are.
    delayed: Vec<(Nanos, u64, Vec<u8>)>,
    /// When it is closed if the client does not close it.
    parts: Option<Nanos>,
    goaways: u64,
}

/// A query without a response.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// So far.
    query: Vec<u8>,
    /// The response was sent: its tag. Nothing more of the request matters.
    tag: Option<u8>,
}

type Serves = Connection<Asked>;

/// Bytes of queries that are not whole.
fn held(connection: &Serves) -> usize {
    connection.each().map(|(_, asked)| asked.query.len()).sum()
}

/// A server made ready.
#[derive(Debug)]
pub(in crate::dns::https) struct Server {
    responder: Responder,
    path: Vec<u8>,
    ok: Field,
    refusal: Field,
    allow: Field,
    content_type: Field,
    length: Field,
    freshness: Field,
    go_on: Field,
}

/// A server's operations on one connection.
struct With<'a> {
    server: &'a Server,
    serving: &'a mut Serving,
}

/// Does something with a flow's connection.
fn with(
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Serves, &mut Serving),
) {
    link::with(ctx, flow, |ctx, flow, link| {
        if let AnyLink::Doh(Link::Server(connection, serving)) = link {
            work(ctx, flow, connection, serving);
            if !flow.has(Flag::Failed) {
                flow.waiting = connection.streams().min(255) as u8;
            }
        }
    });
}

impl Server {
    pub(in crate::dns::https) fn new(plan: Arc<DnsPlan>, https: &DnsHttps) -> Self {
        Self {
            responder: Responder::new(plan),
            path: https.path.clone().into_bytes(),
            ok: Field::always(":status", b"200"),
            refusal: Field::named(":status"),
            allow: Field::always("allow", b"GET, POST"),
            content_type: Field::always(TYPE_FIELD, MESSAGE.as_bytes()),
            length: Field::named("content-length"),
            freshness: Field::named("cache-control"),
            go_on: Field::always(":status", b"100"),
        }
    }

    pub(in crate::dns::https) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
        flow.set(Flag::Progress);
        if link::is_to_accept(flow) {
            let Some((quic, base)) = link::accept(ctx, flow, datagram) else { return };
            let mut connection = Box::new(Connection::new(Role::Server, quic, ctx.now, base));
            connection.head.keep(FIELDS);
            let link = Link::Server(connection, Serving::default());
            ctx.extras.of(flow).quic = Some(Box::new(AnyLink::Doh(link)));
            link::await_handshake(ctx, flow);
        } else {
            with(ctx, flow, |ctx, _, connection, _| connection.carried.receive(ctx, datagram));
        }
        self.go_on(ctx, flow);
    }

    /// Handles events, and acts on them.
    fn go_on(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, connection, serving| {
            connection.listen(ctx, flow, &mut With { server: self, serving });
            if connection.carried.is_over() || flow.has(Flag::Failed) {
                return;
            }
            note_goaways(ctx.counts, &mut serving.goaways, connection.goaway().1);
            Self::part(ctx, flow, connection, serving);
            connection.write_control();
        });
    }

    /// Ends a connection after the response to its last query. Its client must close, and has some time for that: queries it sent
    /// meanwhile would otherwise be lost silently.
    fn part(ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &Serves, serving: &mut Serving) {
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

    /// A connection ends by itself, not by its flow.
    pub(in crate::dns::https) fn finished(&self, _: &mut Ctx<'_>, _: &mut Flow) {}

    /// Datagrams are not acknowledged.
    pub(in crate::dns::https) fn acknowledged(&self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) {}

    pub(in crate::dns::https) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
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
                let (had, now) = (!serving.delayed.is_empty(), ctx.now);
                let due: Vec<_> = serving.delayed.extract_if(.., |(at, ..)| *at <= now).collect();
                for (_, stream, reply) in due {
                    self.respond(ctx, flow, connection, stream, Ok(&reply));
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
        match serving.delayed.iter().map(|(at, ..)| *at).min() {
            Some(at) => ctx.wake_at(flow, at),
            None => ctx.arm(flow, ctx.common.patience.idle),
        }
    }

    /// Sends a response: a message, which has its length before it, or the status of a request that is no query.
    fn respond(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Serves,
        stream: u64,
        reply: Result<&[u8], &'static str>,
    ) {
        let Some(asked) = connection.data(stream).filter(|asked| asked.tag.is_none()) else { return };
        let message = reply.map_or(&[][..], |reply| reply.get(LENGTH..).unwrap_or_default());
        asked.query = Vec::new();
        asked.tag = Some(if reply.is_ok() { wire::code(message, false) + CODE } else { REFUSED });
        let mut block = Vec::new();
        qpack::begin(&mut block);
        match reply {
            Ok(_) => {
                self.ok.put(&mut block);
                self.content_type.put(&mut block);
                self.length.put_value(message.len().to_string().as_bytes(), &mut block);
                self.freshness.put_value(max_age(message).as_bytes(), &mut block);
            }
            Err(status) => {
                ctx.counts.detail(&format!("a request that is no query: status {status}"));
                self.refusal.put_value(status.as_bytes(), &mut block);
                if status == "405" {
                    self.allow.put(&mut block);
                }
            }
        }
        connection.put(stream, &block, (Body::default(), false));
        if reply.is_ok() {
            connection.push(stream, message);
        }
        connection.end_with(stream);
        connection.write(ctx, stream, &Nothing);
        if reply.is_err() {
            connection.discard(stream);
        }
        flow.mark(ctx.now);
        if flow.has(Flag::Stopping) {
            connection.leave();
        }
        ctx.arm(flow, ctx.common.patience.idle);
    }

    pub(in crate::dns::https) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, connection, _| {
            if connection.streams() == 0 && !link::is_gone(flow) {
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

impl Source for With<'_> {
    fn fill(&self, body: Body, offset: u64, out: &mut [u8]) {
        Nothing.fill(body, offset, out);
    }
}

impl With<'_> {
    /// A query is whole.
    fn query(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Serves, stream: u64) {
        let Some(asked) = connection.data(stream) else { return };
        let query = std::mem::take(&mut asked.query);
        // The number is that of the request, from 0.
        let number = u64::from(flow.sent.wrapping_sub(1));
        match self.server.responder.outcome(flow.number, number, &query, None) {
            Outcome::NoQuery => self.server.respond(ctx, flow, connection, stream, Err("400")),
            Outcome::Silence => {}
            Outcome::Reply(reply, delay) if delay > Nanos::ZERO => {
                self.serving.delayed.push((ctx.now.saturating_add(delay), stream, reply));
                Server::wake(ctx, flow, self.serving);
            }
            Outcome::Reply(reply, _) => self.server.respond(ctx, flow, connection, stream, Ok(&reply)),
        }
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

    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Serves, stream: u64) {
        let head = &connection.head;
        let query = match head.is_too_large {
            true => Err("431"),
            false => asked(&head.method, &head.path, head.value(TYPE_FIELD), &self.server.path),
        };
        let waits = head.waits;
        ctx.counts.requests += 1;
        ctx.counts.quic.early_requests += u64::from(flow.state == state::CONNECTING);
        ctx.counts.http3.streams += 1;
        flow.sent = flow.sent.wrapping_add(1);
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
        match query {
            Err(status) => self.server.respond(ctx, flow, connection, stream, Err(status)),
            Ok(query) => {
                if let Some(asked) = connection.data(stream) {
                    asked.query = query;
                }
                if waits {
                    let mut block = Vec::new();
                    qpack::begin(&mut block);
                    self.server.go_on.put(&mut block);
                    connection.put(stream, &block, (Body::default(), false));
                    connection.write(ctx, stream, &Nothing);
                    ctx.counts.http[0] += 1;
                }
            }
        }
    }

    fn data(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Serves,
        stream: u64,
        bytes: &[u8],
    ) {
        let Some(asked) = connection.data(stream).filter(|asked| asked.tag.is_none()) else { return };
        let len = asked.query.len() + bytes.len();
        if len > MESSAGE_MAX || len > SMALL && held(connection) > HELD_MAX {
            return self.server.respond(ctx, flow, connection, stream, Err("413"));
        }
        if let Some(asked) = connection.data(stream) {
            asked.query.extend_from_slice(bytes);
        }
    }

    /// A request is whole.
    fn end(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Serves, stream: u64) {
        if connection.data(stream).is_some_and(|asked| asked.tag.is_none()) {
            self.query(ctx, flow, connection, stream);
        }
    }

    fn delivered(&mut self, ctx: &mut Ctx<'_>, _: &mut Flow, connection: &mut Serves, stream: u64) {
        let Some(asked) = connection.take(ctx, stream) else { return };
        match asked.tag {
            Some(REFUSED) => {
                ctx.counts.http[3] += 1;
                ctx.counts.transactions += 1;
            }
            Some(tag) => {
                ctx.counts.http[1] += 1;
                ctx.counts.sent_answer(tag - CODE);
            }
            None => {}
        }
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
        ctx.counts.dns_cancelled += 1;
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
            None if connection.owes() => ctx.fail_softly(flow, Reason::ClosedEarly),
            // What was sent has come, if nobody complains: the acknowledgement may be lost, or never be sent.
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
