//! Reads queries, and responds by the rules of the other carriers' server.

use crate::counts::Reason;
use crate::dns::https::server::{CODE, LENGTH, REFUSED, asked, max_age};
use crate::dns::https::{FIELDS, HttpsLink, MESSAGE, MESSAGE_MAX, TYPE_FIELD};
use crate::dns::plan::{DnsHttps, DnsPlan};
use crate::dns::server::{Outcome, Responder};
use crate::dns::wire;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::h2::{announced, hand_over, put_number, state};
use http2::hpack::{Field, Fields};
use http2::{Code, Connection, Event, Fault, Role};
use std::sync::Arc;
use units::Nanos;

/// A connection of a server.
pub(crate) struct Serving {
    connection: Connection<Asked>,
    /// Responses that wait: when they are due, their streams, and what they are.
    delayed: Vec<(Nanos, u32, Vec<u8>)>,
}

/// A query without a response.
#[derive(Debug, Default)]
struct Asked {
    /// So far.
    query: Vec<u8>,
    /// It is whole.
    ended: bool,
}

/// A server made ready. A flow's `sent` is the number of requests so far.
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
    block: Vec<u8>,
}

/// Operates on a flow's connection, and sends its output.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Serving)) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.doh.take()) else { return };
    if let HttpsLink::Server(serving) = &mut *link {
        work(ctx, flow, serving);
        serving.connection.flush();
        let is_done = serving.connection.is_leaving() && serving.connection.streams() == 0;
        if is_done && flow.state == state::OPEN && !flow.has(Flag::Failed) {
            flow.state = state::END;
            ctx.close(flow);
        }
        hand_over(ctx, flow, &mut serving.connection);
    }
    ctx.extras.of(flow).doh = Some(link);
}

impl Server {
    pub(in crate::dns::https) fn new(plan: Arc<DnsPlan>, https: &DnsHttps) -> Self {
        let mut fields = Fields::default();
        Self {
            responder: Responder::new(plan),
            path: https.path.clone().into_bytes(),
            ok: fields.always(":status", b"200"),
            refusal: Fields::named(":status"),
            allow: fields.always("allow", b"GET, POST"),
            content_type: fields.always(TYPE_FIELD, MESSAGE.as_bytes()),
            length: Fields::named("content-length"),
            freshness: Fields::named("cache-control"),
            go_on: fields.always(":status", b"100"),
            block: Vec::new(),
        }
    }

    pub(in crate::dns::https) fn opened(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::OPEN;
        flow.mark(ctx.now);
        let mut connection = Connection::new(Role::Server, &announced());
        connection.keep(FIELDS);
        ctx.counts.http2.connections += 1;
        let serving = Serving { connection, delayed: Vec::new() };
        ctx.extras.of(flow).doh = Some(Box::new(HttpsLink::Server(serving)));
        with(ctx, flow, |_, _, _| {});
        ctx.arm(flow, ctx.common.patience.idle);
    }

    #[inline]
    pub(in crate::dns::https) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        let mut input = data;
        with(ctx, flow, |ctx, flow, serving| {
            while !flow.has(Flag::Failed) {
                match serving.connection.read((ctx.now.0 / 1_000_000_000) as u32, &mut input) {
                    Ok(None) => break,
                    Ok(Some(event)) => self.heard(ctx, flow, serving, event),
                    Err(fault) => {
                        Self::broken(ctx, flow, fault);
                        break;
                    }
                }
            }
            if serving.connection.is_held() && !flow.has(Flag::Paused) {
                flow.set(Flag::Paused);
                ctx.ask.read = Some(false);
            }
        });
    }

    #[cold]
    fn broken(ctx: &mut Ctx<'_>, flow: &mut Flow, fault: Fault) {
        ctx.counts.detail(fault.why);
        let reason = if fault.why == Fault::NO_PREFACE { Reason::BadRequest } else { Reason::Http2Protocol };
        if flow.state == state::OPEN {
            ctx.fail_softly(flow, reason);
        }
        flow.state = state::END;
        flow.set(Flag::Closing);
        ctx.ask.close = true;
    }

    fn heard(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, event: Event<'_, Asked>) {
        match event {
            Event::Head { stream, end } => self.head(ctx, flow, serving, stream, end),
            Event::Data { stream, bytes, end } => {
                let Some(asked) = serving.connection.data(stream) else { return };
                asked.ended = end;
                if asked.query.len() + bytes.len() > MESSAGE_MAX {
                    return self.refuse(ctx, flow, serving, stream, "413");
                }
                asked.query.extend_from_slice(bytes);
                if end {
                    self.query(ctx, flow, serving, stream);
                }
            }
            Event::Trailers { stream } => {
                if let Some(asked) = serving.connection.data(stream) {
                    asked.ended = true;
                    self.query(ctx, flow, serving, stream);
                }
            }
            Event::Reset { .. } => {
                ctx.counts.http2.resets += 1;
                ctx.counts.dns_cancelled += 1;
            }
            Event::Broken { why, .. } => {
                ctx.counts.http2.resets_sent += 1;
                ctx.counts.detail(why);
            }
            Event::Refused => ctx.counts.http2.resets_sent += 1,
            Event::GoAway { .. } => ctx.counts.http2.goaways += 1,
            Event::Room => {}
        }
    }

    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, stream: u32, end: bool) {
        let head = serving.connection.head();
        let query = match head.is_too_large {
            true => Err("431"),
            false => asked(&head.method, &head.path, head.value(TYPE_FIELD), &self.path),
        };
        let (is_get, waits) = (head.method == b"GET", head.waits && !end);
        ctx.counts.requests += 1;
        ctx.counts.http2.streams += 1;
        flow.sent = flow.sent.wrapping_add(1);
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
        let query = match query {
            Ok(query) => query,
            Err(status) => {
                if let Some(asked) = serving.connection.data(stream) {
                    asked.ended = end;
                }
                return self.refuse(ctx, flow, serving, stream, status);
            }
        };
        if let Some(asked) = serving.connection.data(stream) {
            *asked = Asked { query, ended: end };
        }
        if end {
            return self.query(ctx, flow, serving, stream);
        }
        if is_get {
            // Content of a GET has no meaning (RFC 9110 section 9.3.1).
            return self.refuse(ctx, flow, serving, stream, "400");
        }
        if waits {
            self.block.clear();
            let encoder = serving.connection.encoder();
            encoder.begin(&mut self.block);
            encoder.put(&self.go_on, &mut self.block);
            serving.connection.send_head(stream, &self.block, false, 0);
            ctx.counts.http[0] += 1;
        }
    }

    /// A query is whole.
    fn query(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, stream: u32) {
        let Some(asked) = serving.connection.data(stream) else { return };
        let query = std::mem::take(&mut asked.query);
        // The number is that of the request, from 0.
        let number = u64::from(flow.sent.wrapping_sub(1));
        match self.responder.outcome(flow.number, number, &query, None) {
            Outcome::NoQuery => self.refuse(ctx, flow, serving, stream, "400"),
            Outcome::Silence => {}
            Outcome::Reply(reply, delay) if delay > Nanos::ZERO => {
                serving.delayed.push((ctx.now.saturating_add(delay), stream, reply));
                Self::wake(ctx, flow, serving);
            }
            Outcome::Reply(reply, _) => self.respond(ctx, flow, serving, stream, &reply),
        }
    }

    /// Sees to it that the flow is woken when the next response is due.
    fn wake(ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &Serving) {
        match serving.delayed.iter().map(|(at, ..)| *at).min() {
            Some(at) => ctx.wake_at(flow, at),
            None => ctx.arm(flow, ctx.common.patience.idle),
        }
    }

    /// Sends a response, which has its length before it.
    fn respond(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        serving: &mut Serving,
        stream: u32,
        reply: &[u8],
    ) {
        if serving.connection.data(stream).is_none() {
            // Its client gave it up.
            return;
        }
        let message = reply.get(LENGTH..).unwrap_or_default();
        let code = wire::code(message, false);
        let (block, connection) = (&mut self.block, &mut serving.connection);
        block.clear();
        let encoder = connection.encoder();
        encoder.begin(block);
        encoder.put(&self.ok, block);
        encoder.put(&self.content_type, block);
        put_number(encoder, &self.length, message.len() as u64, block);
        encoder.put_value(&self.freshness, max_age(message).as_bytes(), block);
        connection.send_head(stream, block, false, 0);
        connection.send_last_copy(stream, message.to_vec(), code + CODE);
        connection.flush();
        flow.mark(ctx.now);
        Self::leave(flow, serving);
        ctx.arm(flow, ctx.common.patience.idle);
    }

    /// Responds to a request that is no query.
    #[cold]
    fn refuse(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        serving: &mut Serving,
        stream: u32,
        status: &'static str,
    ) {
        ctx.counts.detail(&format!("a request that is no query: status {status}"));
        let ended = serving.connection.data(stream).is_some_and(|asked| asked.ended);
        let (block, connection) = (&mut self.block, &mut serving.connection);
        block.clear();
        let encoder = connection.encoder();
        encoder.begin(block);
        encoder.put_value(&self.refusal, status.as_bytes(), block);
        if status == "405" {
            encoder.put(&self.allow, block);
        }
        connection.send_head(stream, block, true, REFUSED);
        if !ended {
            // RFC 9113 section 8.1.
            connection.reset(stream, Code::NO_ERROR);
            ctx.counts.http2.resets_sent += 1;
        }
        Self::leave(flow, serving);
    }

    /// Once the run is over no more queries are taken.
    fn leave(flow: &Flow, serving: &mut Serving) {
        if flow.has(Flag::Stopping) {
            serving.connection.go_away(Code::NO_ERROR);
        }
    }

    #[inline]
    pub(in crate::dns::https) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        with(ctx, flow, |ctx, flow, serving| {
            let counts = &mut ctx.counts;
            serving.connection.acknowledged(offset, |tag| match tag {
                REFUSED => {
                    counts.http[3] += 1;
                    counts.transactions += 1;
                }
                tag => {
                    counts.http[1] += 1;
                    counts.sent_answer(tag - CODE);
                }
            });
            if flow.has(Flag::Paused) && !serving.connection.is_held() {
                flow.unset(Flag::Paused);
                ctx.ask.read = Some(true);
            }
        });
    }

    pub(in crate::dns::https) fn finished(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if flow.has(Flag::Failed) {
            return;
        }
        with(ctx, flow, |ctx, flow, serving| {
            if flow.state != state::END && serving.connection.streams() > 0 {
                ctx.fail_softly(flow, Reason::ClosedEarly);
            }
            flow.state = state::END;
            ctx.close(flow);
        });
    }

    pub(in crate::dns::https) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state != state::OPEN {
            return;
        }
        with(ctx, flow, |ctx, flow, serving| {
            let now = ctx.now;
            let had = !serving.delayed.is_empty();
            let due: Vec<_> = serving.delayed.extract_if(.., |(at, ..)| *at <= now).collect();
            for (_, stream, reply) in due {
                self.respond(ctx, flow, serving, stream, &reply);
            }
            if had {
                Self::wake(ctx, flow, serving);
            } else if ctx.has_run_out(flow, ctx.common.patience.idle) {
                ctx.fail(flow, Reason::IdleTimeout);
            }
        });
    }

    pub(in crate::dns::https) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |_, flow, serving| {
            if serving.connection.streams() == 0 {
                flow.set(Flag::Stopped);
            }
            serving.connection.go_away(Code::NO_ERROR);
        });
    }
}

impl Serving {
    pub(in crate::dns::https) fn fill(&self, offset: u64, out: &mut [u8]) {
        // All bodies are kept by the connection.
        self.connection.fill(offset, out, |_, _, out| out.fill(0));
    }
}
