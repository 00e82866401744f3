//! Reads requests, and responds by the rules of HTTP/1.1's server.

use super::{GENERATED, Items, Link, announced, hand_over, number, put_number, state, write_generated};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::date;
use crate::http::plan::{HttpBody, HttpRule, HttpServer, Method};
use crate::http::server::{IS_OF_CONNECTION, Rules};
use crate::message::Vars;
use crate::pattern;
use crate::vary::{Delay, Size};
use http2::hpack::{Field, Fields};
use http2::{Body, Code, Connection, Event, Fault, Role};
use std::sync::Arc;
use units::Nanos;

/// A connection of a server.
pub(crate) struct Serving {
    connection: Connection<Asked>,
    /// Responses that wait: when they are due, and their streams.
    delayed: Vec<(Nanos, u32)>,
}

/// A request without a response.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    answer: u32,
    /// Size in the path.
    size: u64,
    head_only: bool,
    /// Bytes of the request's body so far, modulo 2^32.
    got: u32,
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
    fn new(rule: &HttpRule, server: &HttpServer, fields: &mut Fields) -> Self {
        let mut items = Items::default();
        items.always(fields, ":status", rule.status.to_string().as_bytes());
        if !server.name.is_empty() {
            items.always(fields, "server", server.name.as_bytes());
        }
        if let Some(value) = &server.alt_svc {
            items.always(fields, "alt-svc", value.as_bytes());
        }
        let more =
            rule.fields.iter().filter(|(name, _)| !IS_OF_CONNECTION.contains(&&*name.to_ascii_lowercase()));
        more.for_each(|(name, value)| items.always(fields, &name.to_ascii_lowercase(), value.as_bytes()));
        let bodiless = matches!(rule.status, 204 | 304);
        let mut says_length = !bodiless && matches!(rule.body, HttpBody::Length(_) | HttpBody::FromPath);
        if let (true, HttpBody::Length(Size::Fixed(bytes))) = (says_length, &rule.body) {
            items.always(fields, "content-length", bytes.to_string().as_bytes());
            says_length = false;
        }
        let (body, close) = (rule.body.clone(), rule.close || matches!(rule.body, HttpBody::UntilClose(_)));
        Self { items, status: rule.status, body, bodiless, says_length, close, delay: rule.delay }
    }
}

/// Operates on a flow's connection, and sends its output.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Serving)) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.link.take()) else { return };
    if let Link::Server(serving) = &mut *link {
        work(ctx, flow, serving);
        serving.connection.flush();
        let is_done = serving.connection.is_leaving() && serving.connection.streams() == 0;
        if is_done && flow.state == state::OPEN && !flow.has(Flag::Failed) {
            flow.state = state::END;
            ctx.close(flow);
        }
        hand_over(ctx, flow, &mut serving.connection);
    }
    ctx.extras.of(flow).link = Some(link);
}

impl Server {
    pub(crate) fn new(rules: Arc<Rules>, server: &HttpServer) -> Self {
        let mut fields = Fields::default();
        Self {
            answers: rules
                .all()
                .enumerate()
                .map(|(index, rule)| {
                    // A stream that is refused leaves the others.
                    let close = rule.close && !rules.is_refusal(index);
                    Answer::new(&HttpRule { close, ..rule }, server, &mut fields)
                })
                .collect(),
            go_on: fields.always(":status", b"100"),
            length: Fields::named("content-length"),
            date: server.date.then(|| Fields::named("date")),
            keep_alive: server.keep_alive,
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

    pub(crate) fn opened(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::OPEN;
        flow.mark(ctx.now);
        let serving =
            Serving { connection: Connection::new(Role::Server, &announced()), delayed: Vec::new() };
        ctx.counts.http2.connections += 1;
        ctx.extras.of(flow).link = Some(Box::new(Link::Server(serving)));
        with(ctx, flow, |_, _, _| {});
        ctx.arm(flow, ctx.common.patience.idle);
    }

    #[inline]
    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        let mut input = data;
        with(ctx, flow, |ctx, flow, serving| {
            while !flow.has(Flag::Failed) {
                match serving.connection.read((ctx.now.0 / 1_000_000_000) as u32, &mut input) {
                    Ok(None) => break,
                    Ok(Some(event)) => self.heard(ctx, flow, serving, event),
                    Err(fault) => Self::broken(ctx, flow, fault),
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

    #[inline]
    fn heard(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, event: Event<'_, Asked>) {
        match event {
            Event::Head { stream, end } => self.head(ctx, flow, serving, stream, end),
            Event::Data { stream, bytes, end } => {
                let Some(asked) = serving.connection.data(stream) else { return };
                let verify = ctx.common.verify && self.rules.knows_bodies();
                if verify && !pattern::matches(u64::from(number(stream)), u64::from(asked.got), bytes) {
                    return ctx.fail(flow, Reason::WrongContent);
                }
                asked.got = asked.got.wrapping_add(bytes.len() as u32);
                if end {
                    self.asked(ctx, flow, serving, stream);
                }
            }
            Event::Trailers { stream } => self.asked(ctx, flow, serving, stream),
            Event::Reset { .. } => ctx.counts.http2.resets += 1,
            Event::Broken { why, .. } => {
                ctx.counts.http2.resets_sent += 1;
                ctx.counts.detail(why);
            }
            Event::Refused => ctx.counts.http2.resets_sent += 1,
            Event::GoAway { .. } => ctx.counts.http2.goaways += 1,
            Event::Room => {}
        }
    }

    #[inline]
    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, stream: u32, end: bool) {
        let head = serving.connection.head();
        let (answer, size) = if head.is_too_large {
            (self.rules.too_long(), 0)
        } else {
            self.rules.answer(Method::read(&head.method), &head.path)
        };
        let (head_only, waits) = (head.method == b"HEAD", head.waits && !end);
        ctx.counts.requests += 1;
        ctx.counts.http2.streams += 1;
        if let Some(asked) = serving.connection.data(stream) {
            *asked = Asked { answer, size, head_only, got: 0 };
        }
        if end {
            return self.asked(ctx, flow, serving, stream);
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

    /// A request is whole.
    #[inline]
    fn asked(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, stream: u32) {
        let Some(asked) = serving.connection.data(stream).copied() else { return };
        let delay = self.answers.get(asked.answer as usize).map_or(Delay::NONE, |answer| answer.delay);
        if delay != Delay::NONE {
            let time = delay.value(u64::from(flow.number), u64::from(number(stream)));
            if time.0 > 0 {
                let at = ctx.now.saturating_add(time);
                serving.delayed.push((at, stream));
                return Self::wake(ctx, flow, serving);
            }
        }
        self.respond(ctx, flow, serving, stream, asked);
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
        serving: &mut Serving,
        stream: u32,
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
        let (block, connection) = (&mut self.block, &mut serving.connection);
        let vars = Vars {
            session: u64::from(flow.number),
            request: u64::from(number),
            turn: u64::from(number),
            body: size,
            seconds: 0,
        };
        block.clear();
        let encoder = connection.encoder();
        encoder.begin(block);
        answer.items.put(encoder, &vars, &mut self.value, block);
        if answer.says_length {
            put_number(encoder, &self.length, size, block);
        }
        if let Some(field) = &self.date {
            let seconds = self.wall_zero.saturating_add(ctx.now).0 / 1_000_000_000;
            encoder.put_value(field, &date::imf(seconds), block);
        }
        let has_body = size > 0 && !asked.head_only && !answer.bodiless;
        let tag = (answer.status / 100).clamp(1, 5) as u8;
        connection.send_head(stream, block, !has_body, tag);
        if has_body {
            connection.send_body(stream, Body { source: GENERATED, number }, size, tag);
            connection.flush();
        }
        flow.sent = flow.sent.wrapping_add(1);
        flow.mark(ctx.now);
        let last = self.keep_alive.is_some_and(|all| flow.sent >= all);
        if answer.close || last || flow.has(Flag::Stopping) {
            connection.go_away(Code::NO_ERROR);
        }
        ctx.arm(flow, ctx.common.patience.idle);
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        with(ctx, flow, |ctx, flow, serving| {
            let counts = &mut ctx.counts;
            serving.connection.acknowledged(offset, |class| {
                counts.http[usize::from(class) - 1] += 1;
                counts.transactions += 1;
            });
            if flow.has(Flag::Paused) && !serving.connection.is_held() {
                flow.unset(Flag::Paused);
                ctx.ask.read = Some(true);
            }
        });
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
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

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state != state::OPEN {
            return;
        }
        with(ctx, flow, |ctx, flow, serving| {
            let had = !serving.delayed.is_empty();
            let (due, later): (Vec<_>, Vec<_>) = serving.delayed.iter().partition(|(at, _)| *at <= ctx.now);
            serving.delayed = later;
            for (_, stream) in due {
                if let Some(asked) = serving.connection.data(stream).copied() {
                    self.respond(ctx, flow, serving, stream, asked);
                }
            }
            if had {
                Self::wake(ctx, flow, serving);
            } else if ctx.has_run_out(flow, ctx.common.patience.idle) {
                ctx.fail(flow, Reason::IdleTimeout);
            }
        });
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |_, flow, serving| {
            if serving.connection.streams() == 0 {
                flow.set(Flag::Stopped);
            }
            serving.connection.go_away(Code::NO_ERROR);
        });
    }

    pub(crate) fn fill(flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        match extras.find(flow).and_then(|extra| extra.link.as_deref()) {
            Some(Link::Server(serving)) => serving.connection.fill(offset, out, write_generated),
            _ => out.fill(0),
        }
    }
}
