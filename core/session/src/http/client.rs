//! Asks, and reads what comes back.

use super::parse::{self, Framing, Remembered, ResponseHead, Step, state};
use super::plan::{HttpClose, HttpPlan, HttpRequest, HttpVersion, Method, RequestBody};
use super::{h2, h3};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow, tick};
use crate::input;
use crate::message::{Message, Piece, Vars, pieces};
use crate::pattern;
use crate::quic::link;
use crate::turns::Turns;
use crate::vary::{Content, Delay, Size, turn};
use std::sync::Arc;
use tcp::End;
use units::Nanos;

/// Most bytes of the interim responses (1xx) to a request.
const HINTS_MAX: u64 = 64 << 10;

/// Fault of a response that its request can't have caused.
const UNASKED: parse::Wrong = "a response before its request";

/// A client made ready.
#[derive(Debug)]
pub(crate) struct Client {
    plan: Arc<HttpPlan>,
    requests: Vec<Ready>,
    turns: Turns,
    remembered: Remembered<ResponseHead>,
    /// The HTTP/2 client, if used.
    h2: Option<Box<h2::Client>>,
    /// The HTTP/3 client, if used.
    h3: Option<Box<h3::Client>>,
    /// Whether any request has a body.
    has_bodies: bool,
}

/// A request made ready.
#[derive(Debug)]
struct Ready {
    message: Message,
    /// The same with `Connection: close`.
    last: Message,
    body: Size,
    method: Method,
    status: Option<u16>,
    response_bytes: Option<u64>,
}

impl Ready {
    fn new(request: &HttpRequest) -> Self {
        let body = match &request.body {
            RequestBody::None | RequestBody::Text(_) => Size::Fixed(0),
            RequestBody::Length(size) | RequestBody::Chunked { size, .. } => size.clone(),
        };
        Self {
            message: message(request, false),
            last: message(request, true),
            body,
            method: request.method,
            status: request.status,
            response_bytes: request.response_bytes,
        }
    }
}

/// The whole request.
fn message(request: &HttpRequest, last: bool) -> Message {
    let mut head = vec![Piece::text(request.method.name()), Piece::text(" ")];
    // A method of `eagre bench` has put its sizes in the path already.
    let path = request.response_bytes.and_then(|bytes| request.path.sized(bytes));
    head.extend(pieces(path.as_ref().unwrap_or(&request.path)));
    head.push(Piece::text(" HTTP/1.1\r\nHost: "));
    head.extend(pieces(&request.host));
    let own = |name: &str, text: &str| (name.to_owned(), Content::bytes(text));
    let connection = last.then(|| own("Connection", "close"));
    for (name, value) in connection.iter().chain(&request.fields) {
        head.push(Piece::text(format!("\r\n{name}: ")));
        head.extend(pieces(value));
    }
    let mut body = Vec::new();
    match &request.body {
        RequestBody::None => {}
        RequestBody::Length(_) => {
            head.extend([Piece::text("\r\nContent-Length: "), Piece::BodyLength]);
            body.push(Piece::Body);
        }
        RequestBody::Text(text) => {
            head.push(Piece::text(format!("\r\nContent-Length: {}", text.len())));
            body.push(Piece::text(text.as_bytes()));
        }
        RequestBody::Chunked { chunk, .. } => {
            head.push(Piece::text("\r\nTransfer-Encoding: chunked"));
            body.push(Piece::Chunks(*chunk));
        }
    }
    head.push(Piece::text("\r\n"));
    if request.head_bytes > 0 {
        head.push(Piece::Padding { head: Message::new(head.clone()).into(), to: request.head_bytes });
    }
    head.push(Piece::text("\r\n"));
    Message::new(head.into_iter().chain(body))
}

impl Client {
    pub(crate) fn new(plan: Arc<HttpPlan>) -> Self {
        let requests = plan.requests.iter().map(|(request, _)| Ready::new(request)).collect();
        let weights: Vec<u32> = plan.requests.iter().map(|(_, weight)| *weight).collect();
        let turns = Turns::new(&weights, plan.order);
        let has_h2 = matches!(plan.version, HttpVersion::Two | HttpVersion::Auto);
        let h2 = has_h2.then(|| h2::Client::new(plan.clone()).into());
        let h3 = (plan.version == HttpVersion::Three).then(|| h3::Client::new(plan.clone()).into());
        let has_bodies = plan.requests.iter().any(|(request, _)| request.body != RequestBody::None);
        Self { requests, turns, plan, remembered: Remembered::default(), h2, h3, has_bodies }
    }

    /// Request `number` of a session.
    #[inline]
    fn request(&self, flow: &Flow, number: u32) -> &Ready {
        &self.requests[self.turns.pick(self.turn(flow, number))]
    }

    #[inline]
    fn turn(&self, flow: &Flow, number: u32) -> u64 {
        turn(flow.number.into(), number.into(), self.plan.per_connection.map(u64::from))
    }

    #[inline]
    fn vars(&self, flow: &Flow, ready: &Ready, number: u32) -> Vars {
        let (request, turn) = (u64::from(number), self.turn(flow, number));
        Vars { session: u64::from(flow.number), request, turn, body: ready.body.value(request), seconds: 0 }
    }

    /// Request `number`'s message, of `ready`.
    #[inline]
    fn message_of<'a>(&self, ready: &'a Ready, number: u32) -> &'a Message {
        let last =
            self.plan.close == HttpClose::Server && self.plan.per_connection == Some(number.wrapping_add(1));
        if last { &ready.last } else { &ready.message }
    }

    /// Request `number` and what it is made for.
    fn message(&self, flow: &Flow, number: u32) -> (&Message, Vars) {
        let ready = self.request(flow, number);
        (self.message_of(ready, number), self.vars(flow, ready, number))
    }

    /// Bytes of request `number`.
    #[inline]
    fn message_len(&self, flow: &Flow, number: u32) -> u64 {
        let ready = self.request(flow, number);
        let message = self.message_of(ready, number);
        message.fixed_len().unwrap_or_else(|| message.len(&self.vars(flow, ready, number)))
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if let Some(h3) = &mut self.h3 {
            return h3.opened(ctx, flow);
        }
        flow.state = state::HEAD;
        if let Some(h2) = &mut self.h2 {
            match h2::is_chosen(self.plan.version, ctx) {
                Ok(true) => return h2.opened(ctx, flow),
                Ok(false) => {}
                Err(reason) => return ctx.fail(flow, reason),
            }
        }
        self.pump(ctx, flow);
    }

    /// Sends what may be sent.
    fn pump(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        loop {
            if flow.has(Flag::Failed) || flow.has(Flag::Paused) || flow.state == state::END {
                return;
            }
            let all_sent = self.plan.per_connection.is_some_and(|all| flow.sent >= all);
            let is_over = !all_sent && ctx.shall_end(flow);
            let shall_end = is_over || !all_sent && ctx.has_asked_all();
            if all_sent || shall_end || flow.has(Flag::Last) || flow.has(Flag::PeerClosed) {
                if flow.waiting == 0 {
                    if is_over {
                        flow.set(Flag::Stopped);
                    } else if !all_sent && !shall_end {
                        let all = self.plan.per_connection.unwrap_or(flow.sent);
                        ctx.counts.unasked += u64::from(all.saturating_sub(flow.sent));
                    }
                    self.end(ctx, flow, all_sent);
                }
                return;
            }
            if flow.waiting >= self.plan.pipeline.max(1) || !ctx.may_request(flow) {
                return;
            }
            self.send(ctx, flow);
        }
    }

    #[inline(never)]
    fn send(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let len = self.message_len(flow, flow.sent);
        ctx.send(flow, len);
        ctx.counts.requests += 1;
        flow.waiting += 1;
        if self.plan.pipeline > 1 {
            ctx.extras.of(flow).starts.push_back(tick(ctx.now));
        }
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.response);
    }

    /// All requests have responses.
    fn end(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, all_sent: bool) {
        flow.state = state::END;
        match self.plan.close {
            HttpClose::Server if all_sent && !flow.has(Flag::PeerClosed) => {
                flow.set(Flag::Done);
                flow.set(Flag::Head);
                flow.mark(ctx.now);
                ctx.arm(flow, ctx.common.patience.response);
            }
            HttpClose::Reset if !flow.has(Flag::PeerClosed) => {
                flow.set(Flag::Done);
                ctx.ask.abort = true;
            }
            _ => ctx.end_client(flow),
        }
    }

    #[inline]
    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        if let Some(h2) = &mut self.h2
            && h2::speaks(flow)
        {
            return h2.received(ctx, flow, data);
        }
        if let Some(h3) = &mut self.h3 {
            return h3.received(ctx, flow, data);
        }
        flow.set(Flag::Progress);
        input::feed(ctx, flow, data, |ctx, flow, data| self.process(ctx, flow, data));
    }

    /// Reads as far as it goes; returns how many bytes are used up.
    fn process(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) -> usize {
        let (mut used, mut early) = (0, false);
        loop {
            if flow.has(Flag::Failed) || flow.state == state::END {
                return data.len();
            }
            let rest = &data[used..];
            let step = match flow.state {
                state::HEAD if rest.is_empty() => return used,
                state::HEAD if early || self.is_early(flow, rest) => Self::unasked(flow, rest),
                state::EARLY => Self::unasked(flow, rest),
                state::HEAD => self.head(ctx, flow, rest),
                state::COMPLETE => {
                    early = flow.waiting == 1;
                    self.complete(ctx, flow);
                    Ok(Step::Around(0))
                }
                _ => parse::body(ctx.extras, flow, rest),
            };
            match step {
                Ok(Step::More) => return used,
                Ok(Step::Around(bytes)) => used += bytes,
                Ok(Step::Data(bytes)) => {
                    self.body(ctx, flow, &rest[..bytes]);
                    used += bytes;
                }
                Err(wrong) => return self.bad(ctx, flow, wrong, data.len()),
            }
        }
    }

    /// Whether a response came before its request could: requests in flight are acknowledged before their responses come. A
    /// server may respond to one with a body before it has all of that, and refuse any while it still comes. Under TLS
    /// requests count as acknowledged once they are encrypted, so there only a response beside the one before is early.
    #[inline]
    fn is_early(&self, flow: &Flow, data: &[u8]) -> bool {
        let waiting = u16::from(flow.waiting);
        flow.unacked >= waiting && (waiting == 0 || !self.has_bodies && !Self::refuses(data))
    }

    #[cold]
    fn refuses(data: &[u8]) -> bool {
        matches!(parse::response_head(data), Ok(Some((head, _))) if head.status >= 400)
    }

    #[cold]
    fn bad(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, wrong: &str, all: usize) -> usize {
        ctx.counts.detail(wrong);
        ctx.fail(flow, if wrong == UNASKED { Reason::UnaskedResponse } else { Reason::BadResponse });
        all
    }

    /// A response comes that its request can't have caused: another would be taken for it (RFC 9112 section 9.2).
    #[cold]
    fn unasked(flow: &mut Flow, data: &[u8]) -> Result<Step, parse::Wrong> {
        let is_head = flow.waiting == 0 || parse::response_head(data)?.is_some();
        flow.state = state::EARLY;
        if is_head { Err(UNASKED) } else { Ok(Step::More) }
    }

    /// Departure time of the request whose response is being received.
    #[inline]
    fn started(&self, ctx: &Ctx<'_>, flow: &Flow) -> u32 {
        if self.plan.pipeline <= 1 {
            return flow.at;
        }
        ctx.extras.find(flow).and_then(|extra| extra.starts.front().copied()).unwrap_or(flow.at)
    }

    /// Number of the request whose response is being received.
    #[inline]
    fn answered(flow: &Flow) -> u32 {
        flow.sent.wrapping_sub(u32::from(flow.waiting))
    }

    #[inline]
    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) -> Result<Step, parse::Wrong> {
        let started = self.started(ctx, flow);
        ctx.first_byte(flow, started);
        let (head, len) = match self.remembered.find(data) {
            Some(found) => found,
            None if self.remembered.begins_with(data) => return Ok(Step::More),
            None => {
                let Some((head, len)) = parse::response_head(data)? else { return Ok(Step::More) };
                self.remembered.keep(&data[..len], head);
                (head, len)
            }
        };
        let class = usize::from(head.status / 100);
        *ctx.counts.http.get_mut(class - 1).ok_or("a status of 600 or more")? += 1;
        if class == 1 {
            // Only a hint, unless it changes protocols, which nobody asked for (RFC 9110 section 15.2).
            if head.status == 101 {
                return Err("a change of protocols");
            }
            // A server may repeat hints, but not for ever.
            let hints = ctx.extras.left(flow) + len as u64;
            if hints > HINTS_MAX {
                return Err("interim responses without end");
            }
            ctx.extras.set_left(flow, hints);
            return Ok(Step::Around(len));
        }
        if ctx.extras.left(flow) > 0 {
            ctx.extras.set_left(flow, 0);
        }
        self.begin(ctx, flow, &head)?;
        Ok(Step::Around(len))
    }

    #[inline]
    fn begin(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, head: &ResponseHead) -> Result<(), parse::Wrong> {
        let ready = self.request(flow, Self::answered(flow));
        if head.close {
            flow.set(Flag::Last);
        } else if let Some(seconds) = head.kept_s
            && self.think(flow) > Nanos::from_secs(seconds.into())
            && self.plan.per_connection.is_none_or(|all| flow.sent < all)
        {
            ctx.counts.keep_shorter_than_think(seconds);
        }
        if ctx.common.follows
            && let Some(what) = head.alt_svc
        {
            ctx.pacers.alternative.learn(ctx.now, what, &mut ctx.counts.alt_svc);
        }
        flow.step = 0;
        let reason = self.plan.status_failure(ready.status, head.status);
        if let Some(reason) = reason {
            ctx.fail_softly(flow, reason);
            flow.set(Flag::Closing);
            ctx.ask.close = true;
            return Ok(());
        }
        ctx.counts.error_responses += u64::from(ready.status.is_none() && head.status >= 400);
        let bodiless = ready.method == Method::Head || matches!(head.status, 204 | 304);
        flow.unset(Flag::ANY_BODY);
        if bodiless || ready.status.is_none() && head.status >= 400 {
            flow.set(Flag::ANY_BODY);
        } else if let (Framing::Length(length), Some(expected)) = (head.framing, ready.response_bytes)
            && length != expected
        {
            ctx.fail(flow, Reason::WrongContent);
            return Ok(());
        }
        parse::begin(ctx.extras, flow, if bodiless { Framing::Length(0) } else { head.framing });
        Ok(())
    }

    #[inline]
    fn body(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        if ctx.common.verify && !flow.has(Flag::ANY_BODY) {
            let ready = self.request(flow, Self::answered(flow));
            let number = u64::from(Self::answered(flow));
            if ready.response_bytes.is_some() && !pattern::matches(number, u64::from(flow.step), data) {
                return ctx.fail(flow, Reason::WrongContent);
            }
        }
        flow.step = flow.step.wrapping_add(data.len() as u32);
    }

    /// A response is whole.
    #[inline]
    fn complete(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let ready = self.request(flow, Self::answered(flow));
        if let Some(bytes) = ready.response_bytes
            && !flow.has(Flag::ANY_BODY)
            && bytes as u32 != flow.step
        {
            return ctx.fail(flow, Reason::WrongContent);
        }
        let started = self.started(ctx, flow);
        ctx.last_byte(flow, started);
        if self.plan.pipeline > 1
            && let Some(extra) = ctx.extras.find_mut(flow)
        {
            extra.starts.pop_front();
        }
        flow.waiting -= 1;
        flow.state = state::HEAD;
        let done = self.plan.per_connection.is_some_and(|all| flow.sent >= all);
        if flow.waiting == 0 && self.plan.think != Delay::NONE && !done && !flow.has(Flag::Last) {
            let mut end = ctx.now.saturating_add(self.think(flow));
            if ctx.common.up.is_some() {
                end = end.min(flow.up_end(ctx.now));
            }
            flow.set(Flag::Paused);
            return ctx.wake_at(flow, end);
        }
        if !flow.has(Flag::Turn) {
            self.pump(ctx, flow);
        }
    }

    /// The pause before the next request.
    fn think(&self, flow: &Flow) -> Nanos {
        self.plan.think.value(u64::from(flow.number), u64::from(flow.sent))
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if let Some(h2) = &mut self.h2
            && h2::speaks(flow)
        {
            return h2.finished(ctx, flow);
        }
        flow.set(Flag::PeerClosed);
        if flow.has(Flag::Failed) {
            return;
        }
        if flow.state == state::UNTIL_CLOSE {
            flow.set(Flag::Last);
            self.complete(ctx, flow);
            if flow.has(Flag::Failed) {
                return;
            }
        }
        if flow.state != state::END {
            if flow.waiting > 0 || flow.sent == 0 {
                ctx.fail_softly(flow, Reason::ClosedEarly);
            } else if let Some(all) = self.plan.per_connection {
                ctx.counts.unasked += u64::from(all.saturating_sub(flow.sent));
            }
        }
        flow.state = state::END;
        ctx.close(flow);
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        if let Some(h2) = &mut self.h2
            && h2::speaks(flow)
        {
            return h2.acknowledged(ctx, flow, offset);
        }
        while flow.unacked > 0 {
            let len = self.message_len(flow, flow.oldest());
            if flow.since_base(offset) < len {
                return;
            }
            flow.drop_oldest(len);
        }
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if let Some(h2) = &mut self.h2
            && h2::speaks(flow)
        {
            return h2.woke(ctx, flow);
        }
        if let Some(h3) = &mut self.h3 {
            return h3.woke(ctx, flow);
        }
        if flow.state == state::END && flow.has(Flag::Head) {
            // The server was to close, and did not.
            if ctx.has_run_out(flow, ctx.common.patience.response) {
                ctx.fail_softly(flow, Reason::IdleTimeout);
                ctx.close(flow);
            }
        } else if flow.state == state::END {
            ctx.end_client(flow);
        } else if flow.take(Flag::Paused) || flow.has(Flag::Turn) || flow.waiting == 0 {
            self.pump(ctx, flow);
        } else if ctx.has_run_out(flow, ctx.common.patience.response) {
            ctx.fail(flow, Reason::ResponseTimeout);
        }
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if let Some(h2) = &mut self.h2
            && h2::speaks(flow)
        {
            return h2.stop(ctx, flow);
        }
        if let Some(h3) = &mut self.h3 {
            return h3.stop(ctx, flow);
        }
        if flow.state != 0 && flow.waiting == 0 {
            flow.set(Flag::Stopped);
            flow.state = state::END;
            ctx.close(flow);
        }
    }

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        flow.waiting > 0
    }

    pub(crate) fn is_complete(flow: &Flow, _: End) -> bool {
        flow.has(Flag::Done)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        if let Some(h2) = &self.h2
            && h2::speaks(flow)
        {
            return h2.fill(flow, extras, offset, out);
        }
        if self.h3.is_some() {
            return link::fill(flow, extras, offset, out);
        }
        let mut number = flow.oldest();
        input::fill(flow.since_base(offset), out, || {
            let found = (number != flow.sent).then(|| self.message(flow, number));
            number = number.wrapping_add(1);
            found
        });
    }
}
