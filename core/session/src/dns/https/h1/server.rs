//! Reads requests one after the other, and responds. Source: RFC 9112.

use super::Kept;
use crate::counts::Reason;
use crate::dns::https::server::{CODE, LENGTH, REFUSED, asked, max_age};
use crate::dns::https::{HttpsLink, MESSAGE, MESSAGE_MAX, TYPE_FIELD};
use crate::dns::plan::{DnsHttps, DnsPlan};
use crate::dns::server::{Outcome, Responder};
use crate::dns::wire;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::parse::{self, Step, state};
use crate::http::{Method, fields, request_head};
use crate::input;
use std::collections::VecDeque;
use std::sync::Arc;
use units::Nanos;

/// Waits for a request, or reads its head.
pub(in crate::dns::https) const HEAD: u8 = state::HEAD;
/// Bytes of responses on their way at which no request is read.
const KEPT_MAX: usize = 256 << 10;

/// A connection of a server.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    kept: Kept,
    /// Where responses on their way end, and their tags.
    ends: VecDeque<(u64, u8)>,
    /// The query that is read, or the status of a request that is none.
    query: Vec<u8>,
    refusal: Option<&'static str>,
    /// The connection ends with the response; and its client is one of HTTP/1.0, which needs a field for it if it does not.
    close: bool,
    is_old: bool,
    /// A response that waits, and until when.
    delayed: Option<(Nanos, Vec<u8>)>,
}

impl Serving {
    pub(in crate::dns::https) fn fill(&self, offset: u64, out: &mut [u8]) {
        self.kept.fill(offset, out);
    }

    fn is_full(&self) -> bool {
        self.kept.bytes.len() >= KEPT_MAX
    }
}

/// A server made ready.
#[derive(Debug)]
pub(in crate::dns::https) struct Server {
    responder: Responder,
    path: Vec<u8>,
}

/// Does something with a flow's connection.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Serving)) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.doh.take()) else { return };
    if let HttpsLink::Server1(serving) = &mut *link {
        work(ctx, flow, serving);
        flow.unacked = serving.ends.len().min(usize::from(u16::MAX)) as u16;
    }
    ctx.extras.of(flow).doh = Some(link);
}

/// A status with its name.
fn named(status: &str) -> &str {
    match status {
        "400" => "400 Bad Request",
        "404" => "404 Not Found",
        "405" => "405 Method Not Allowed",
        "413" => "413 Content Too Large",
        "415" => "415 Unsupported Media Type",
        other => other,
    }
}

impl Server {
    pub(in crate::dns::https) fn new(plan: Arc<DnsPlan>, https: &DnsHttps) -> Self {
        Self { responder: Responder::new(plan), path: https.path.clone().into_bytes() }
    }

    pub(in crate::dns::https) fn opened(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = HEAD;
        flow.mark(ctx.now);
        ctx.extras.of(flow).doh = Some(Box::new(HttpsLink::Server1(Serving::default())));
        ctx.arm(flow, ctx.common.patience.idle);
    }

    #[inline]
    pub(in crate::dns::https) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        with(ctx, flow, |ctx, flow, serving| self.feed(ctx, flow, serving, data));
    }

    fn feed(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, data: &[u8]) {
        input::feed(ctx, flow, data, |ctx, flow, data| self.process(ctx, flow, serving, data));
        let holds = serving.is_full() || flow.state == state::DELAY && flow.has(Flag::Stashed);
        if holds && !flow.has(Flag::Paused) && flow.state != state::END {
            flow.set(Flag::Paused);
            ctx.ask.read = Some(false);
        }
    }

    /// Reads as far as it goes; returns how many bytes are used up.
    fn process(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, data: &[u8]) -> usize {
        let mut used = 0;
        loop {
            if flow.state == state::END || flow.has(Flag::Failed) {
                return data.len();
            }
            if flow.state == state::COMPLETE {
                self.complete(ctx, flow, serving);
                continue;
            }
            let rest = &data[used..];
            if rest.is_empty() || flow.state == state::DELAY || flow.state == HEAD && serving.is_full() {
                return used;
            }
            let step = match flow.state {
                HEAD => self.head(ctx, flow, serving, rest),
                _ => parse::body(ctx.extras, flow, rest).map(|step| match step {
                    Step::More => None,
                    Step::Around(bytes) => Some(bytes),
                    Step::Data(bytes) => {
                        if serving.refusal.is_none() {
                            serving.query.extend_from_slice(&rest[..bytes]);
                        }
                        Some(bytes)
                    }
                }),
            };
            match step {
                Ok(Some(bytes)) => used += bytes,
                Ok(None) => return used,
                Err(why) => {
                    // One with a malformed body has been counted.
                    ctx.counts.requests += u64::from(flow.state == HEAD);
                    ctx.counts.detail(why);
                    serving.close = true;
                    self.respond(ctx, flow, serving, Err("400"));
                    ctx.fail_softly(flow, Reason::BadRequest);
                }
            }
            if serving.query.len() > MESSAGE_MAX {
                serving.query = Vec::new();
                // What follows of it is not read.
                serving.close = true;
                self.respond(ctx, flow, serving, Err("413"));
            }
        }
    }

    /// Reads a head; returns its bytes once it is whole.
    fn head(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        serving: &mut Serving,
        data: &[u8],
    ) -> Result<Option<usize>, &'static str> {
        let Some((head, len)) = request_head(data)? else { return Ok(None) };
        ctx.counts.requests += 1;
        flow.sent = flow.sent.wrapping_add(1);
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
        let kind = fields(&data[..len]).find(|(name, _)| name.eq_ignore_ascii_case(TYPE_FIELD.as_bytes()));
        let method = head.method.map_or("", Method::name).as_bytes();
        let mut query = asked(method, head.target, kind.map(|(_, value)| value), &self.path);
        if method == b"GET" && head.framing != crate::http::Framing::Length(0) {
            // Content of a GET has no meaning (RFC 9110 section 9.3.1).
            query = query.and(Err("400"));
        }
        (serving.close, serving.is_old) = (head.close, head.is_old);
        (serving.query, serving.refusal) = match query {
            Ok(query) => (query, None),
            Err(status) => (Vec::new(), Some(status)),
        };
        parse::begin(ctx.extras, flow, head.framing);
        if let (true, Some(status)) = (head.waits, serving.refusal) {
            // Its body does not come, unless its client does not wait.
            serving.close = true;
            self.respond(ctx, flow, serving, Err(status));
        } else if head.waits {
            serving.kept.push(ctx, b"HTTP/1.1 100 Continue\r\n\r\n");
            ctx.counts.http[0] += 1;
        }
        Ok(Some(len))
    }

    /// A request is whole.
    fn complete(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving) {
        flow.state = HEAD;
        if let Some(status) = serving.refusal.take() {
            return self.respond(ctx, flow, serving, Err(status));
        }
        let query = std::mem::take(&mut serving.query);
        // The number is that of the request, from 0.
        let number = u64::from(flow.sent.wrapping_sub(1));
        match self.responder.outcome(flow.number, number, &query, None) {
            Outcome::NoQuery => self.respond(ctx, flow, serving, Err("400")),
            // Nothing follows it: responses come in the order of requests.
            Outcome::Silence => flow.state = state::DELAY,
            Outcome::Reply(reply, delay) if delay > Nanos::ZERO => {
                let at = ctx.now.saturating_add(delay);
                serving.delayed = Some((at, reply));
                flow.state = state::DELAY;
                ctx.wake_at(flow, at);
            }
            Outcome::Reply(reply, _) => self.respond(ctx, flow, serving, Ok(&reply)),
        }
    }

    /// Sends a response: a message, which has its length before it, or the status of a request that is no query.
    fn respond(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        serving: &mut Serving,
        reply: Result<&[u8], &'static str>,
    ) {
        serving.close |= flow.has(Flag::Stopping);
        let message = reply.map_or(&[][..], |reply| reply.get(LENGTH..).unwrap_or_default());
        let (status, more, tag) = match reply {
            Ok(_) => {
                let fields = format!("{TYPE_FIELD}: {MESSAGE}\r\ncache-control: {}\r\n", max_age(message));
                ("200 OK", fields, wire::code(message, false) + CODE)
            }
            Err(status) => {
                ctx.counts.detail(&format!("a request that is no query: status {status}"));
                let allow = if status == "405" { "allow: GET, POST\r\n" } else { "" };
                (named(status), allow.to_owned(), REFUSED)
            }
        };
        let connection = match (serving.close, serving.is_old) {
            (true, _) => "connection: close\r\n",
            (false, true) => "connection: keep-alive\r\n",
            (false, false) => "",
        };
        let length = message.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nserver: eagre\r\n{more}{connection}content-length: {length}\r\n\r\n"
        );
        let end = serving.kept.push(ctx, &[head.as_bytes(), message].concat());
        serving.ends.push_back((end, tag));
        flow.mark(ctx.now);
        flow.state = HEAD;
        if serving.close {
            flow.state = state::END;
            ctx.close(flow);
        } else {
            ctx.arm(flow, ctx.common.patience.idle);
        }
    }

    /// Reads on, if there is room for it.
    fn resume(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving) {
        if flow.state == state::DELAY || serving.is_full() {
            return;
        }
        if flow.take(Flag::Paused) {
            ctx.ask.read = Some(true);
        }
        if flow.has(Flag::Stashed) {
            self.feed(ctx, flow, serving, &[]);
        }
        let holds = serving.delayed.is_some() || flow.has(Flag::Paused);
        if flow.has(Flag::PeerClosed) && !holds && flow.state != state::END {
            Self::end(ctx, flow);
        }
    }

    #[inline]
    pub(in crate::dns::https) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        with(ctx, flow, |ctx, flow, serving| {
            serving.kept.acknowledged(offset);
            while let Some((_, tag)) = serving.ends.front().copied().filter(|(end, _)| *end <= offset) {
                serving.ends.pop_front();
                match tag {
                    REFUSED => {
                        ctx.counts.http[3] += 1;
                        ctx.counts.transactions += 1;
                    }
                    tag => {
                        ctx.counts.http[1] += 1;
                        ctx.counts.sent_answer(tag - CODE);
                    }
                }
            }
            self.resume(ctx, flow, serving);
        });
    }

    pub(in crate::dns::https) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if flow.has(Flag::Failed) {
            return;
        }
        with(ctx, flow, |ctx, flow, serving| {
            let waits = serving.delayed.is_some() || flow.has(Flag::Paused) && flow.state != state::DELAY;
            if !waits {
                Self::end(ctx, flow);
            }
        });
    }

    /// The client sends nothing more, and all that it has sent was read.
    fn end(ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state != state::END && (flow.state != HEAD || flow.has(Flag::Stashed)) {
            ctx.fail_softly(flow, Reason::ClosedEarly);
        }
        flow.state = state::END;
        ctx.close(flow);
    }

    pub(in crate::dns::https) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == state::END {
            return;
        }
        with(ctx, flow, |ctx, flow, serving| match serving.delayed.take() {
            Some((at, reply)) if at <= ctx.now => {
                self.respond(ctx, flow, serving, Ok(&reply));
                self.resume(ctx, flow, serving);
            }
            Some((at, reply)) => {
                serving.delayed = Some((at, reply));
                ctx.wake_at(flow, at);
            }
            None if ctx.has_run_out(flow, ctx.common.patience.idle) => ctx.fail(flow, Reason::IdleTimeout),
            None => {}
        });
    }

    pub(in crate::dns::https) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == HEAD && !flow.has(Flag::Stashed) {
            flow.set(Flag::Stopped);
            flow.state = state::END;
            ctx.close(flow);
        }
    }
}
