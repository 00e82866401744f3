//! Asks, and reads what comes back.

mod express;

use super::agent::{self, Agent, Aim, Outcome, Response, Settings, Trip};
use super::parse::{self, Framing, HINTS_MAX, Remembered, ResponseHead, Step, state};
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

/// Fault of a response that its request can't have caused.
const UNASKED: parse::Wrong = "a response before its request";

/// A client made ready.
#[derive(Debug)]
pub(crate) struct Client {
    plan: Arc<HttpPlan>,
    requests: Vec<Ready>,
    turns: Turns,
    /// Treatment of redirects, cookies and logs; `None` without any.
    agent: Option<Settings>,
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
    /// For requests made one by one.
    parts: Option<Box<Parts>>,
}

/// Parts of a request that follows redirects or has cookies.
#[derive(Debug)]
struct Parts {
    aim: Aim,
    fields: Vec<(String, Message)>,
    /// The fields about the body, and the body.
    body: [Message; 2],
    has_body: bool,
    head_bytes: u32,
}

impl Parts {
    fn new(request: &HttpRequest) -> Box<Self> {
        let (about, body) = framed(&request.body);
        Box::new(Self {
            aim: Aim::new(request),
            fields: request
                .fields
                .iter()
                .map(|(name, value)| (name.clone(), Message::new(pieces(value))))
                .collect(),
            body: [Message::new(about), Message::new(body)],
            has_body: request.body != RequestBody::None,
            head_bytes: request.head_bytes,
        })
    }

    /// The head of a request, with this value of the Cookie field.
    fn head(&self, trip: &Trip, cookie: &[u8], last: bool, vars: &Vars) -> Vec<u8> {
        let mut head =
            [trip.method.name().as_bytes(), b" ", &trip.target, b" HTTP/1.1\r\nHost: ", &trip.host].concat();
        let mut add = |parts: [&[u8]; 2]| parts.iter().for_each(|part| head.extend_from_slice(part));
        if last {
            add([b"\r\nConnection: close", b""]);
        }
        // A request that lost its body has no fields about one (RFC 9110 section 15.4).
        let is_bare = self.has_body && !trip.has_body;
        let kept = |field: &&(String, Message)| !is_bare || !agent::is_of_body(&field.0);
        let mut is_written = cookie.is_empty();
        for (name, value) in self.fields.iter().filter(kept) {
            add([b"\r\n", name.as_bytes()]);
            add([b": ", &agent::text(value, vars)]);
            // A request has one Cookie field (RFC 6265 section 5.4).
            if !is_written && name.eq_ignore_ascii_case("cookie") {
                add([b"; ", cookie]);
                is_written = true;
            }
        }
        if !is_written {
            add([b"\r\nCookie: ", cookie]);
        }
        if trip.has_body {
            add([&agent::text(&self.body[0], vars), b""]);
        }
        head.extend_from_slice(b"\r\n");
        if self.head_bytes > 0 {
            let padding =
                Piece::Padding { head: Message::new([Piece::text(&head)]).into(), to: self.head_bytes };
            head.extend_from_slice(&agent::text(&Message::new([padding]), vars));
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

impl Ready {
    fn new(request: &HttpRequest, is_agent: bool) -> Self {
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
            parts: is_agent.then(|| Parts::new(request)),
        }
    }
}

/// Whether nothing more is sent or read on a flow.
#[inline]
fn has_ended(flow: &Flow) -> bool {
    flow.state == state::END || has_left(flow)
}

/// Whether the session of a flow continues, or will, on another connection.
#[inline]
fn has_left(flow: &Flow) -> bool {
    matches!(flow.state, agent::state::LEAVING | agent::state::LEFT)
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
    let (about, body) = framed(&request.body);
    head.extend(about);
    head.push(Piece::text("\r\n"));
    if request.head_bytes > 0 {
        head.push(Piece::Padding { head: Message::new(head.clone()).into(), to: request.head_bytes });
    }
    head.push(Piece::text("\r\n"));
    Message::new(head.into_iter().chain(body))
}

/// The fields about a body, and the body.
fn framed(body: &RequestBody) -> (Vec<Piece>, Vec<Piece>) {
    match body {
        RequestBody::None => (Vec::new(), Vec::new()),
        RequestBody::Length(_) => {
            (vec![Piece::text("\r\nContent-Length: "), Piece::BodyLength], vec![Piece::Body])
        }
        RequestBody::Text(text) => {
            let length = Piece::text(format!("\r\nContent-Length: {}", text.len()));
            (vec![length], vec![Piece::text(text.as_bytes())])
        }
        RequestBody::Chunked { chunk, .. } => {
            (vec![Piece::text("\r\nTransfer-Encoding: chunked")], vec![Piece::Chunks(*chunk)])
        }
    }
}

impl Client {
    pub(crate) fn new(plan: Arc<HttpPlan>) -> Self {
        let agent = Settings::new(&plan.agent);
        let ready = |(request, _): &(HttpRequest, u32)| Ready::new(request, agent.is_some());
        let requests = plan.requests.iter().map(ready).collect();
        let weights: Vec<u32> = plan.requests.iter().map(|(_, weight)| *weight).collect();
        let turns = Turns::new(&weights, plan.order);
        let has_h2 = matches!(plan.version, HttpVersion::Two | HttpVersion::Auto);
        let h2 = has_h2.then(|| h2::Client::new(plan.clone()).into());
        let h3 = (plan.version == HttpVersion::Three).then(|| h3::Client::new(plan.clone()).into());
        let has_bodies = plan.requests.iter().any(|(request, _)| request.body != RequestBody::None);
        Self { requests, turns, agent, plan, remembered: Remembered::default(), h2, h3, has_bodies }
    }

    /// Whether it goes over HTTP/2 and nothing else.
    pub(crate) fn needs_http2(&self) -> bool {
        self.plan.version == HttpVersion::Two
    }

    /// Sets the wall clock's time, since 1970-01-01 UTC, at instant zero.
    pub(crate) fn set_clock(&mut self, wall_zero: Nanos) {
        if let Some(agent) = &mut self.agent {
            agent.wall_zero = wall_zero;
        }
        if let Some(h2) = &mut self.h2 {
            h2.set_clock(wall_zero);
        }
        if let Some(h3) = &mut self.h3 {
            h3.set_clock(wall_zero);
        }
    }

    /// Request `number` of a session.
    #[inline]
    fn request(&self, flow: &Flow, number: u32) -> &Ready {
        match &self.requests[..] {
            [only] => only,
            all => &all[self.turns.pick(self.turn(flow, number))],
        }
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
        ctx.counts.redirects.new_connections += u64::from(flow.take(Flag::ARRIVES));
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
            if flow.has(Flag::Failed) || flow.has(Flag::Paused) || has_ended(flow) {
                return;
            }
            if self.follow(ctx, flow) {
                continue;
            }
            if has_ended(flow) {
                return;
            }
            let sent = agent::originals(self.agent.as_ref(), ctx.extras, flow);
            let all_sent = self.plan.per_connection.is_some_and(|all| sent >= all);
            let is_over = !all_sent && ctx.shall_end(flow);
            let shall_end = is_over || !all_sent && ctx.has_asked_all();
            if all_sent || shall_end || flow.has(Flag::Last) || flow.has(Flag::PeerClosed) {
                if flow.waiting == 0 {
                    if is_over {
                        flow.set(Flag::Stopped);
                    } else if !all_sent && !shall_end {
                        let all = self.plan.per_connection.unwrap_or(sent);
                        ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                    }
                    self.end(ctx, flow, all_sent);
                }
                return;
            }
            if flow.waiting >= self.plan.pipeline.max(1) || !ctx.may_request(flow) {
                return;
            }
            self.send(ctx, flow, None);
        }
    }

    /// Follows a redirect if one waits and another request may be sent; returns whether it did. Where the connection takes no more, the
    /// session leaves it once all responses are there.
    #[inline]
    fn follow(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) -> bool {
        if !agent::has_next(self.agent.as_ref(), ctx.extras, flow) {
            return false;
        }
        if flow.has(Flag::Last) || flow.has(Flag::PeerClosed) {
            if flow.waiting == 0 && !has_ended(flow) && !ctx.shall_end(flow) {
                agent::depart(ctx, flow, agent::state::LEAVING);
            }
            return false;
        }
        if flow.waiting >= self.plan.pipeline.max(1) {
            return false;
        }
        let trip = agent::agent(ctx.extras, flow).take_next();
        if ctx.common.late {
            // It is due now, before a request that waits for its turn.
            let at = usize::from(flow.waiting);
            ctx.extras.of(flow).dues.insert(at, tick(ctx.now));
        }
        self.send(ctx, flow, trip);
        true
    }

    /// Makes the next request, of the plan or after a redirect; returns its bytes.
    fn make(&self, settings: &Settings, ctx: &mut Ctx<'_>, flow: &mut Flow, hop: Option<Trip>) -> u64 {
        let sent = agent::agent(ctx.extras, flow).originals();
        let original = hop.as_ref().map_or(sent, |trip| trip.original);
        let ready = self.request(flow, original);
        let Some(parts) = &ready.parts else { return 0 };
        let request = u64::from(flow.sent);
        let (body, turn) = (ready.body.value(request), self.turn(flow, original));
        let vars = Vars { session: u64::from(flow.number), request, turn, body, seconds: 0 };
        let mut trip = match hop {
            Some(trip) => trip,
            None => {
                let new = Trip::new(original, ready.method, parts.has_body, &parts.aim, &vars);
                settings.logged(ctx, flow, new)
            }
        };
        let last = self.plan.close == HttpClose::Server
            && self.plan.agent.redirects.is_none()
            && self.plan.per_connection == Some(original.wrapping_add(1));
        let cookie = settings.cookie(ctx, flow, &trip);
        trip.head = parts.head(&trip, &cookie, last, &vars);
        trip.len = trip.head.len() as u64 + if trip.has_body { parts.body[1].len(&vars) } else { 0 };
        let len = trip.len;
        agent::agent(ctx.extras, flow).sent(flow.sent, trip, ctx.counts);
        len
    }

    #[inline(never)]
    fn send(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, hop: Option<Trip>) {
        let len = match &self.agent {
            Some(settings) => self.make(settings, ctx, flow, hop),
            None => self.message_len(flow, flow.sent),
        };
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

    /// The burst is over of which a flow of QUIC has received datagrams.
    #[inline]
    pub(crate) fn tended(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if let Some(h3) = &mut self.h3 {
            h3.tended(ctx, flow);
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
            if flow.has(Flag::Failed) || has_ended(flow) {
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
        let outcome = self.note(ctx, flow, head.status, &data[..len]);
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
        self.begin(ctx, flow, &head, outcome)?;
        Ok(Step::Around(len))
    }

    /// Notes redirects and cookies of a response's head.
    #[inline]
    fn note(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, status: u16, head: &[u8]) -> Outcome {
        let Some(settings) = self.agent.as_ref().filter(|_| status >= 200) else { return Outcome::Final };
        let value = |wanted: &'static str| {
            parse::fields(head)
                .filter(move |(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()))
                .map(|(_, value)| value)
        };
        let response =
            Response { status, location: value(agent::LOCATION).next(), cookies: value(agent::SET_COOKIE) };
        let number = Self::answered(flow);
        let wanted = self.answers(ctx.extras, flow).status;
        settings.note(ctx, flow, number, wanted, response)
    }

    /// The request of the plan whose response, or that of a redirect it led to, is being received.
    #[inline]
    fn answers(&self, extras: &Extras, flow: &Flow) -> &Ready {
        let number = agent::original(self.agent.as_ref(), extras, flow, Self::answered(flow));
        self.request(flow, number)
    }

    #[inline]
    fn begin(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        head: &ResponseHead,
        outcome: Outcome,
    ) -> Result<(), parse::Wrong> {
        let ready = self.answers(ctx.extras, flow);
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
        let reason = match outcome {
            Outcome::Followed => None,
            Outcome::Stuck if self.plan.errors_fail => Some(Reason::Redirect),
            _ => self.plan.status_failure(ready.status, head.status),
        };
        if let Some(reason) = reason {
            ctx.fail_softly(flow, reason);
            flow.set(Flag::Closing);
            ctx.ask.close = true;
            return Ok(());
        }
        let is_stuck = outcome == Outcome::Stuck;
        ctx.counts.error_responses += u64::from(is_stuck || ready.status.is_none() && head.status >= 400);
        let bodiless = self.is_head(ctx.extras, flow, ready) || matches!(head.status, 204 | 304);
        flow.unset(Flag::ANY_BODY);
        if bodiless || outcome != Outcome::Final || ready.status.is_none() && head.status >= 400 {
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

    /// Whether the response that is being received is to HEAD. `ready` is the request of the plan.
    #[inline]
    fn is_head(&self, extras: &Extras, flow: &Flow, ready: &Ready) -> bool {
        let made =
            self.agent.as_ref().and_then(|_| agent::find(extras, flow)?.trips.get(&Self::answered(flow)));
        made.map_or(ready.method, |trip| trip.method) == Method::Head
    }

    #[inline]
    fn body(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        if ctx.common.verify && !flow.has(Flag::ANY_BODY) {
            let ready = self.answers(ctx.extras, flow);
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
        let ready = self.answers(ctx.extras, flow);
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
        if self.agent.is_some() {
            Self::answer(ctx, flow);
        }
        flow.waiting -= 1;
        flow.state = state::HEAD;
        if agent::has_next(self.agent.as_ref(), ctx.extras, flow) && flow.has(Flag::Turn) {
            while self.follow(ctx, flow) {}
            return;
        }
        let sent = agent::originals(self.agent.as_ref(), ctx.extras, flow);
        let follows = agent::has_next(self.agent.as_ref(), ctx.extras, flow);
        let done = follows || self.plan.per_connection.is_some_and(|all| sent >= all);
        if flow.waiting == 0 && self.plan.think != Delay::NONE && !done && !flow.has(Flag::Last) {
            let mut end = ctx.now.saturating_add(self.think(flow));
            if ctx.common.up.is_some() {
                end = end.min(flow.up_end(ctx.now));
            }
            flow.set(Flag::Paused);
            return ctx.wake_at(flow, end);
        }
        // Who waits for a turn to ask needs none where the server takes no more.
        if !flow.has(Flag::Turn) || flow.has(Flag::Last) {
            self.pump(ctx, flow);
        }
    }

    /// The response to a request is whole: the request is kept until it is acknowledged.
    fn answer(ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let (number, oldest) = (Self::answered(flow), flow.oldest());
        let is_kept = number.wrapping_sub(oldest) < u32::from(flow.unacked);
        let trips = &mut agent::agent(ctx.extras, flow).trips;
        if is_kept && let Some(trip) = trips.get_mut(&number) {
            trip.answered = true;
        } else {
            trips.remove(&number);
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
        if flow.has(Flag::Failed) || has_left(flow) {
            return;
        }
        if flow.state == state::UNTIL_CLOSE {
            flow.set(Flag::Last);
            self.complete(ctx, flow);
            if flow.has(Flag::Failed) {
                return;
            }
        }
        self.repeat(ctx, flow);
        while self.follow(ctx, flow) {}
        if has_left(flow) {
            return;
        }
        if flow.state != state::END {
            if flow.waiting > 0 || flow.sent == 0 {
                ctx.fail_softly(flow, Reason::ClosedEarly);
            } else if let Some(all) = self.plan.per_connection {
                let sent = agent::originals(self.agent.as_ref(), ctx.extras, flow);
                ctx.counts.unasked += u64::from(all.saturating_sub(sent));
            }
        }
        flow.state = state::END;
        ctx.close(flow);
    }

    /// The server has closed. A request after a redirect to which nothing came crossed with that: it is to be sent again.
    #[cold]
    fn repeat(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let has_begun = flow.has(Flag::FirstByte) || flow.has(Flag::Stashed) || flow.state != state::HEAD;
        if self.agent.is_none() || flow.waiting != 1 || has_begun || ctx.shall_end(flow) {
            return;
        }
        if agent::agent(ctx.extras, flow).closed_on(Self::answered(flow)) {
            ctx.counts.redirects.repeated += 1;
            flow.waiting = 0;
        }
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        if let Some(h2) = &mut self.h2
            && h2::speaks(flow)
        {
            return h2.acknowledged(ctx, flow, offset);
        }
        while flow.unacked > 0 {
            let oldest = flow.oldest();
            let len = match &self.agent {
                None => self.message_len(flow, oldest),
                Some(_) => {
                    let trip = agent::find(ctx.extras, flow).and_then(|agent| agent.trips.get(&oldest));
                    trip.map_or(0, |trip| trip.len)
                }
            };
            if flow.since_base(offset) < len {
                return;
            }
            flow.drop_oldest(len);
            if self.agent.is_some() {
                let trips = &mut agent::agent(ctx.extras, flow).trips;
                if trips.get(&oldest).is_some_and(|trip| trip.answered) {
                    trips.remove(&oldest);
                }
            }
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
        if has_left(flow) {
            return;
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
        } else if ctx.common.paced && flow.waiting < self.plan.pipeline.max(1) {
            // Its turn was taken away while it waits for a response, too.
            self.pump(ctx, flow);
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

    /// Whether a flow takes up a session that began on another.
    #[inline]
    pub(crate) fn is_arriving(flow: &Flow) -> bool {
        flow.state == 0 && flow.has(Flag::ARRIVES)
    }

    /// Whether the session of a flow continues on another.
    #[inline]
    pub(crate) fn is_gone(flow: &Flow) -> bool {
        matches!(flow.state, agent::state::LEFT | h2::state::LEFT | h3::state::LEFT)
    }

    /// State that a session takes to another connection, if it waits for that.
    pub(crate) fn leave(extras: &mut Extras, flow: &mut Flow) -> Option<Flow> {
        match flow.state {
            agent::state::LEAVING => Some(agent::leave(extras, flow, agent::state::LEFT)),
            h2::state::LEAVING => Some(agent::leave(extras, flow, h2::state::LEFT)),
            h3::state::LEAVING => Some(agent::leave(extras, flow, h3::state::LEFT)),
            _ => None,
        }
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
        if self.agent.is_some() {
            return match agent::find(extras, flow) {
                Some(agent) => self.fill_made(flow, agent, offset, out),
                None => out.fill(0),
            };
        }
        let mut number = flow.oldest();
        input::fill(flow.since_base(offset), out, || {
            let found = (number != flow.sent).then(|| self.message(flow, number));
            number = number.wrapping_add(1);
            found
        });
    }

    /// Writes requests that were made one by one, from an offset on.
    fn fill_made(&self, flow: &Flow, agent: &Agent, offset: u64, mut out: &mut [u8]) {
        let (mut at, mut number) = (flow.since_base(offset), flow.oldest());
        while !out.is_empty()
            && number != flow.sent
            && let Some(trip) = agent.trips.get(&number)
        {
            let head = trip.head.get(at as usize..).unwrap_or_default();
            let copied = head.len().min(out.len());
            out[..copied].copy_from_slice(&head[..copied]);
            out = &mut out[copied..];
            at += copied as u64;
            if !out.is_empty() && at < trip.len {
                let ready = self.request(flow, trip.original);
                let vars = Vars { turn: self.turn(flow, trip.original), ..self.vars(flow, ready, number) };
                let body = ready.parts.as_ref().map(|parts| &parts.body[1]);
                let written = body.map_or(0, |body| body.write(&vars, at - trip.head.len() as u64, out));
                out = &mut out[written..];
                at += written as u64;
            }
            if at < trip.len {
                break;
            }
            at -= trip.len;
            number = number.wrapping_add(1);
        }
        out.fill(0);
    }
}
