//! Reads requests, and responds by rules.

mod express;

use super::parse::{self, Framing, Remembered, RequestHead, Step, state};
use super::plan::{HttpBody, HttpPath, HttpPlan, HttpRule, HttpServer, HttpVersion, Method, RequestBody};
use super::{h2, h3};
use crate::counts::Reason;
use crate::extra::{Extras, Pending, Response};
use crate::flow::{Ctx, Flag, Flow, instant, tick};
use crate::input;
use crate::message::{Message, Piece, Vars};
use crate::quic::link;
use crate::vary::{Delay, Size};
use http2::PREFACE;
use std::sync::Arc;
use tcp::End;
use units::Nanos;

/// The status that lets a client send its body.
const CONTINUE: u16 = 100;
/// Responses on their way at most; no request is read then.
const UNACKED_MAX: u16 = 256;

/// Fields that only HTTP/1 has (RFC 9113 section 8.2.2, RFC 9114 section 4.2).
pub(crate) const IS_OF_CONNECTION: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// A server made ready.
#[derive(Debug)]
pub(crate) struct Server {
    plan: Arc<HttpPlan>,
    /// For rule `i`, then for each refusal, [`VARIANTS`]: with and without body, to keep open and to close, for
    /// HTTP/1.1 and 1.0.
    templates: Vec<Template>,
    /// Response to clients that wait before they send a body (100); its number follows all templates.
    go_on: Template,
    remembered: Remembered<Asked>,
    rules: Arc<Rules>,
    /// The HTTP/2 server, if used.
    h2: Option<Box<h2::Server>>,
    /// The HTTP/3 server, if used.
    h3: Option<Box<h3::Server>>,
    /// Wall-clock time, since 1970-01-01 UTC, at instant zero.
    wall_zero: Nanos,
    /// The last instant seen.
    seen: Nanos,
    written: express::Written,
}

/// A response made ready.
#[derive(Debug)]
struct Template {
    message: Message,
    status: u16,
    /// Whether the server closes after it.
    close: bool,
}

/// Result of reading a request.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// Index of the rule, or after all rules of the refusal.
    answer: u32,
    /// Size in the path.
    size: u64,
    head_only: bool,
    framing: Framing,
    close: bool,
    is_old: bool,
    waits: bool,
}

/// Forms of a response: the sum of the next three.
const VARIANTS: u32 = 8;
const HEAD_ONLY: u32 = 1;
const CLOSE: u32 = 2;
const OLD: u32 = 4;

/// Responses if no rule applies.
const REFUSALS: [(u16, bool); 8] = [
    (404, false),
    (405, false),
    (501, true),
    (400, true),
    (431, true),
    (505, true),
    (200, false),
    (425, false),
];
const NOT_FOUND: u32 = 0;
const NOT_ALLOWED: u32 = 1;
const NOT_IMPLEMENTED: u32 = 2;
const BAD: u32 = 3;
const TOO_LONG: u32 = 4;
const VERSION: u32 = 5;
const FINE: u32 = 6;
const TOO_EARLY: u32 = 7;

/// The words after a status.
fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        425 => "Too Early",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

impl Template {
    fn new(rule: &HttpRule, server: &HttpServer, variant: u32) -> Self {
        let (head_only, is_old) = (variant & HEAD_ONLY != 0, variant & OLD != 0);
        // HTTP/1.0 knows no chunks.
        let unchunked = is_old && matches!(rule.body, HttpBody::Chunked { .. });
        let until_close = unchunked || matches!(rule.body, HttpBody::UntilClose(_));
        let close = variant & CLOSE != 0 || rule.close || until_close;
        let mut head = format!("HTTP/1.1 {} {}\r\n", rule.status, phrase(rule.status));
        let mut add = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
        if !server.name.is_empty() {
            add("Server", &server.name);
        }
        if let Some(value) = &server.alt_svc {
            add("Alt-Svc", value);
        }
        rule.fields.iter().for_each(|(name, value)| add(name, value));
        if close {
            add("Connection", "close");
        } else if is_old {
            add("Connection", "keep-alive");
        }
        let mut pieces = vec![Piece::text(head)];
        if server.date {
            pieces.extend([Piece::text("Date: "), Piece::Date, Piece::text("\r\n")]);
        }
        let bodiless = matches!(rule.status, 204 | 304);
        let body = match rule.body {
            _ if bodiless => Piece::text(""),
            HttpBody::Length(_) | HttpBody::FromPath => {
                pieces.extend([Piece::text("Content-Length: "), Piece::BodyLength, Piece::text("\r\n")]);
                Piece::Body
            }
            HttpBody::Chunked { chunk, .. } if !unchunked => {
                pieces.push(Piece::text("Transfer-Encoding: chunked\r\n"));
                Piece::Chunks(chunk)
            }
            HttpBody::Chunked { .. } | HttpBody::UntilClose(_) => Piece::Body,
        };
        pieces.push(Piece::text("\r\n"));
        if !head_only {
            pieces.push(body);
        }
        let message = Message::new(pieces);
        let message = match rule.body {
            HttpBody::Length(Size::Fixed(bytes)) => message.with_body(bytes),
            _ => message,
        };
        Self { message, status: rule.status, close }
    }
}

/// The rule of a refusal.
fn refusal(status: u16) -> HttpRule {
    HttpRule {
        methods: Vec::new(),
        path: HttpPath::Any,
        status,
        body: HttpBody::Length(Size::Fixed(0)),
        fields: Vec::new(),
        close: false,
        delay: Delay::NONE,
    }
}

impl HttpPath {
    fn fits(&self, path: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(text) => text.as_bytes() == path,
            Self::Prefix(text) => path.starts_with(text.as_bytes()),
            Self::Number => path.strip_prefix(b"/").and_then(parse::number).is_some(),
        }
    }
}

/// Rules of responses, for any version.
#[derive(Debug)]
pub(crate) struct Rules {
    plan: Arc<HttpPlan>,
    /// Whether bodies of requests are patterns, which can be compared. A text is not known here.
    knows_bodies: bool,
}

impl Rules {
    fn new(plan: Arc<HttpPlan>) -> Self {
        let knows_bodies =
            !plan.requests.iter().any(|(request, _)| matches!(request.body, RequestBody::Text(_)));
        Self { plan, knows_bodies }
    }

    pub(crate) fn knows_bodies(&self) -> bool {
        self.knows_bodies
    }

    /// All rules, then the responses if none fits: response numbers are positions in it.
    pub(crate) fn all(&self) -> impl Iterator<Item = HttpRule> {
        let refusals = REFUSALS.map(|(status, close)| HttpRule { close, ..refusal(status) });
        self.plan.server.rules.iter().cloned().chain(refusals)
    }

    /// Whether a response does not come from a rule.
    pub(crate) fn is_refusal(&self, answer: usize) -> bool {
        answer >= self.plan.server.rules.len()
    }

    fn refuse(&self, which: u32) -> u32 {
        self.plan.server.rules.len() as u32 + which
    }

    /// The response to a head that is too long.
    pub(crate) fn too_long(&self) -> u32 {
        self.refuse(TOO_LONG)
    }

    /// The response to a request in early data that is wanted after the handshake.
    pub(crate) fn too_early(&self) -> u32 {
        self.refuse(TOO_EARLY)
    }

    /// The response to a request, and the size in its path.
    pub(crate) fn answer(&self, method: Option<Method>, target: &[u8]) -> (u32, u64) {
        let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
        let rules = &self.plan.server.rules;
        let takes = |rule: &HttpRule, method| rule.methods.is_empty() || rule.methods.contains(&method);
        let answer = match method {
            None => self.refuse(NOT_IMPLEMENTED),
            // About the server itself (RFC 9110 section 9.3.7).
            Some(Method::Options) if path == b"*" => self.refuse(FINE),
            Some(method) => {
                let fits = |rule: &HttpRule| rule.path.fits(path);
                match rules.iter().position(|rule| fits(rule) && takes(rule, method)) {
                    Some(index) => index as u32,
                    None if rules.iter().any(fits) => self.refuse(NOT_ALLOWED),
                    None => self.refuse(NOT_FOUND),
                }
            }
        };
        let size = path.rsplit(|byte| *byte == b'/').next().and_then(parse::number).unwrap_or(0);
        (answer, size)
    }
}

impl Server {
    pub(crate) fn new(plan: Arc<HttpPlan>) -> Self {
        let rules = Arc::new(Rules::new(plan.clone()));
        let server = &*plan.server;
        let of = |rule: HttpRule| (0..VARIANTS).map(move |variant| Template::new(&rule, server, variant));
        let templates = rules.all().flat_map(of).collect();
        let message = Message::new([Piece::text("HTTP/1.1 100 Continue\r\n\r\n")]);
        let go_on = Template { message, status: CONTINUE, close: false };
        let has_h2 = matches!(plan.version, HttpVersion::Two | HttpVersion::Auto);
        let h2 = has_h2.then(|| h2::Server::new(rules.clone(), server).into());
        let h3 = (plan.version == HttpVersion::Three).then(|| h3::Server::new(rules.clone(), server).into());
        let remembered = Remembered::default();
        let written = express::Written::default();
        let zero = Nanos::ZERO;
        Self { templates, go_on, remembered, rules, h2, h3, wall_zero: zero, seen: zero, written, plan }
    }

    /// Says what time it is: the wall clock's, since 1970-01-01 UTC, at instant zero.
    pub(crate) fn set_clock(&mut self, wall_zero: Nanos) {
        self.wall_zero = wall_zero;
        if let Some(h2) = &mut self.h2 {
            h2.set_clock(wall_zero);
        }
        if let Some(h3) = &mut self.h3 {
            h3.set_clock(wall_zero);
        }
    }

    #[inline]
    fn template(&self, index: u32) -> &Template {
        self.templates.get(index as usize).unwrap_or(&self.go_on)
    }

    /// Whether it goes over HTTP/2 and nothing else.
    pub(crate) fn needs_http2(&self) -> bool {
        self.plan.version == HttpVersion::Two
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if self.h3.is_some() {
            // It begins with the first datagram.
            return;
        }
        flow.state = state::HEAD;
        if let Some(h2) = &self.h2 {
            match self.plan.version {
                HttpVersion::Auto if !ctx.common.secured => flow.state = h2::state::UNKNOWN,
                HttpVersion::Auto if ctx.alpn != h2::ALPN => {}
                _ => return h2.opened(ctx, flow),
            }
        }
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
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
        if let Some(h3) = &mut self.h3 {
            return h3.received(ctx, flow, data);
        }
        if let Some(h2) = &mut self.h2 {
            if h2::speaks(flow) {
                return h2.received(ctx, flow, data);
            }
            if flow.state == h2::state::UNKNOWN {
                return self.received_first(ctx, flow, data);
            }
        }
        flow.set(Flag::Progress);
        self.seen = ctx.now;
        input::feed(ctx, flow, data, |ctx, flow, data| self.process(ctx, flow, data));
    }

    /// Determines a client's version from its first bytes.
    #[cold]
    fn received_first(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        let mut all = ctx.extras.unstash(flow);
        all.extend_from_slice(data);
        let known = all.len().min(PREFACE.len());
        if all[..known] != PREFACE[..known] {
            flow.state = state::HEAD;
        } else if known < PREFACE.len() {
            flow.set(Flag::Progress);
            return ctx.extras.stash(flow, &all);
        } else if let Some(h2) = &self.h2 {
            h2.opened(ctx, flow);
        }
        self.received(ctx, flow, &all);
    }

    fn process(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) -> usize {
        let mut used = 0;
        loop {
            let rest = &data[used..];
            let step = match flow.state {
                _ if flow.has(Flag::Failed) => return data.len(),
                state::END => return data.len(),
                state::DELAY => return Self::hold(ctx, flow, used, data.len()),
                state::HEAD if rest.is_empty() => return used,
                state::HEAD if flow.unacked >= UNACKED_MAX => return Self::hold(ctx, flow, used, data.len()),
                state::HEAD => self.head(ctx, flow, rest),
                state::COMPLETE => {
                    self.asked(ctx, flow);
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
                Err(wrong) => {
                    // One with a malformed body has been counted.
                    ctx.counts.requests += u64::from(flow.state == state::HEAD);
                    self.bad(ctx, flow, wrong);
                    return data.len();
                }
            }
        }
    }

    /// Reads no more for now.
    fn hold(ctx: &mut Ctx<'_>, flow: &mut Flow, used: usize, all: usize) -> usize {
        if all - used > parse::HEAD_MAX && !flow.has(Flag::Paused) {
            flow.set(Flag::Paused);
            ctx.ask.read = Some(false);
        }
        used
    }

    /// Reads on with what was held.
    fn resume(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.take(Flag::Paused) {
            ctx.ask.read = Some(true);
        }
        if flow.has(Flag::Stashed) {
            self.received(ctx, flow, &[]);
        }
        if flow.has(Flag::PeerClosed) && !flow.has(Flag::Failed) {
            self.finished(ctx, flow);
        }
    }

    /// Answers a request that is none, and closes.
    #[cold]
    fn bad(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, wrong: &str) {
        ctx.counts.detail(wrong);
        let which = match wrong {
            "the head is too long" => TOO_LONG,
            "not HTTP/1" => VERSION,
            _ => BAD,
        };
        let answer = self.rules.refuse(which);
        self.respond(ctx, flow, answer * VARIANTS + CLOSE, 0);
        ctx.fail_softly(flow, Reason::BadRequest);
    }

    #[inline]
    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) -> Result<Step, parse::Wrong> {
        let (asked, len) = match self.remembered.find(data) {
            Some(found) => found,
            None if self.remembered.begins_with(data) => return Ok(Step::More),
            None => {
                let Some((head, len)) = parse::request_head(data)? else { return Ok(Step::More) };
                let asked = self.decide(&head);
                self.remembered.keep(&data[..len], asked);
                (asked, len)
            }
        };
        ctx.counts.requests += 1;
        let (template, size) = self.choose(flow, &asked);
        let delay = self.delay(flow, asked.answer);
        parse::begin(ctx.extras, flow, asked.framing);
        // Whoever has sent some of the body does not wait.
        if asked.waits && data.len() == len {
            self.say_go_on(ctx, flow);
        }
        if flow.state == state::COMPLETE && delay == Delay::NONE {
            flow.state = state::HEAD;
            self.respond(ctx, flow, template, size);
        } else {
            ctx.extras.of(flow).pending = Pending { template, size, got: 0 };
        }
        Ok(Step::Around(len))
    }

    /// The response by the rules.
    fn decide(&self, head: &RequestHead<'_>) -> Asked {
        let (answer, size) = self.rules.answer(head.method, head.target);
        let head_only = head.method == Some(Method::Head);
        let RequestHead { framing, close, is_old, waits, .. } = *head;
        Asked { answer, size, head_only, framing, close, is_old, waits }
    }

    /// Template and size of the response.
    #[inline]
    fn choose(&self, flow: &Flow, asked: &Asked) -> (u32, u64) {
        let rule = self.plan.server.rules.get(asked.answer as usize);
        let size = match rule.map(|rule| &rule.body) {
            None => 0,
            Some(HttpBody::FromPath) => asked.size,
            Some(HttpBody::Length(size) | HttpBody::Chunked { size, .. } | HttpBody::UntilClose(size)) => {
                size.value(u64::from(flow.sent))
            }
        };
        let last = self.plan.server.keep_alive.is_some_and(|all| flow.sent.wrapping_add(1) >= all);
        let close = asked.close || last || flow.has(Flag::Stopping);
        let variant = |is: bool, which| if is { which } else { 0 };
        let variant =
            variant(close, CLOSE) + variant(asked.head_only, HEAD_ONLY) + variant(asked.is_old, OLD);
        (asked.answer * VARIANTS + variant, size)
    }

    fn delay(&self, flow: &Flow, answer: u32) -> Delay {
        match self.plan.server.rules.get(answer as usize).map(|rule| rule.delay) {
            None | Some(Delay::NONE) => Delay::NONE,
            Some(delay) => Delay::Constant(delay.value(u64::from(flow.number), u64::from(flow.sent))),
        }
    }

    fn body(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        let verify = ctx.common.verify && self.rules.knows_bodies;
        let number = u64::from(flow.sent);
        let pending = &mut ctx.extras.of(flow).pending;
        let offset = u64::from(pending.got);
        pending.got = pending.got.wrapping_add(data.len() as u32);
        if verify && !crate::pattern::matches(number, offset, data) {
            ctx.fail(flow, Reason::WrongContent);
        }
    }

    /// A request that had to be waited for is whole.
    fn asked(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let Pending { template, size, .. } = ctx.extras.of(flow).pending;
        match self.delay(flow, template / VARIANTS) {
            Delay::Constant(time) if time.0 > 0 => {
                flow.state = state::DELAY;
                ctx.wake_at(flow, ctx.now.saturating_add(time));
            }
            _ => {
                flow.state = state::HEAD;
                self.respond(ctx, flow, template, size);
            }
        }
    }

    /// Tells a client that waits to send the body (RFC 9110 section 10.1.1).
    #[cold]
    fn say_go_on(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let before = (!flow.has(Flag::Queued) && flow.unacked > 0).then(|| Self::inline(flow));
        let responses = &mut ctx.extras.of(flow).responses;
        responses.extend(before);
        responses.push_back(Response {
            template: self.templates.len() as u32,
            number: flow.sent,
            body: 0,
            at: tick(ctx.now),
        });
        flow.set(Flag::Queued);
        // It is no response: those are counted.
        ctx.send(
            flow,
            self.go_on.message.len(&Vars { session: 0, request: 0, turn: 0, body: 0, seconds: 0 }),
        );
        flow.sent = flow.sent.wrapping_sub(1);
    }

    #[inline]
    fn respond(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, template: u32, size: u64) {
        let number = flow.sent;
        let response = Response { template, number, body: size, at: tick(ctx.now) };
        if flow.unacked == 0 && size <= u64::from(u32::MAX) {
            flow.until = template;
            flow.step = size as u32;
        } else {
            let before = (!flow.has(Flag::Queued) && flow.unacked > 0).then(|| Self::inline(flow));
            let responses = &mut ctx.extras.of(flow).responses;
            responses.extend(before);
            responses.push_back(response);
            flow.set(Flag::Queued);
        }
        flow.mark(ctx.now);
        let template = self.template(template);
        let vars = self.vars(flow, &response);
        ctx.send(flow, template.message.len(&vars));
        if template.close {
            flow.state = state::END;
            ctx.close(flow);
        } else if ctx.common.patience.idle.is_some() {
            ctx.arm(flow, ctx.common.patience.idle);
        }
    }

    /// The response that is not acknowledged, if it is the only one.
    fn inline(flow: &Flow) -> Response {
        Response { template: flow.until, number: flow.oldest(), body: u64::from(flow.step), at: flow.at }
    }

    fn vars(&self, flow: &Flow, response: &Response) -> Vars {
        let request = u64::from(response.number);
        let seconds = if self.plan.server.date { self.seconds(response.at) } else { 0 };
        Vars { session: u64::from(flow.number), request, turn: request, body: response.body, seconds }
    }

    /// The wall clock's seconds at a tick.
    fn seconds(&self, at: u32) -> u64 {
        self.wall_zero.saturating_add(instant(at, self.seen)).0 / 1_000_000_000
    }

    /// Response `index` of those that are not acknowledged.
    #[inline]
    fn response(flow: &Flow, extras: &Extras, index: usize) -> Option<Response> {
        if index >= usize::from(flow.unacked) {
            None
        } else if flow.has(Flag::Queued) {
            extras.find(flow).and_then(|extra| extra.responses.get(index).copied())
        } else {
            Some(Self::inline(flow))
        }
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        if let Some(h2) = &mut self.h2
            && h2::speaks(flow)
        {
            return h2.acknowledged(ctx, flow, offset);
        }
        let held = flow.unacked >= UNACKED_MAX;
        while let Some(response) = Self::response(flow, ctx.extras, 0) {
            let template = self.template(response.template);
            let len = template.message.len(&self.vars(flow, &response));
            if flow.since_base(offset) < len {
                break;
            }
            ctx.counts.http[usize::from(template.status / 100).clamp(1, 5) - 1] += 1;
            // A 100 is no response: those are counted.
            ctx.counts.transactions += u64::from(template.status != CONTINUE);
            flow.drop_oldest(len);
            if flow.has(Flag::Queued)
                && let Some(extra) = ctx.extras.find_mut(flow)
            {
                extra.responses.pop_front();
                if extra.responses.is_empty() {
                    flow.unset(Flag::Queued);
                }
            }
        }
        if held && flow.unacked < UNACKED_MAX {
            self.resume(ctx, flow);
        }
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if let Some(h2) = &mut self.h2
            && h2::speaks(flow)
        {
            return h2.finished(ctx, flow);
        }
        flow.set(Flag::PeerClosed);
        let at_boundary = matches!(flow.state, state::HEAD | h2::state::UNKNOWN);
        let held = flow.state == state::DELAY || flow.state == state::HEAD && flow.unacked >= UNACKED_MAX;
        if flow.has(Flag::Failed) || held && (flow.has(Flag::Stashed) || flow.state == state::DELAY) {
            return;
        }
        if flow.state != state::END && (!at_boundary || flow.has(Flag::Stashed)) {
            ctx.fail_softly(flow, Reason::ClosedEarly);
        }
        flow.state = state::END;
        ctx.close(flow);
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
        let state = flow.state;
        self.seen = ctx.now;
        match state {
            state::DELAY => {
                flow.state = state::HEAD;
                let Pending { template, size, .. } = ctx.extras.of(flow).pending;
                self.respond(ctx, flow, template, size);
                self.resume(ctx, flow);
            }
            0 | state::END => {}
            _ if ctx.has_run_out(flow, ctx.common.patience.idle) => ctx.fail(flow, Reason::IdleTimeout),
            _ => {}
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
        let at_boundary = matches!(flow.state, state::HEAD | h2::state::UNKNOWN);
        if at_boundary && !flow.has(Flag::Stashed) {
            flow.set(Flag::Stopped);
            flow.state = state::END;
            ctx.close(flow);
        }
    }

    pub(crate) fn is_complete(flow: &Flow, end: End) -> bool {
        let at_boundary = match flow.state {
            h2::state::OPEN => flow.waiting == 0,
            _ => matches!(flow.state, state::HEAD | h2::state::UNKNOWN) && !flow.has(Flag::Stashed),
        };
        flow.has(Flag::Done) || at_boundary && (end == End::Closed || flow.sent > 0)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        if h2::speaks(flow) {
            return h2::Server::fill(flow, extras, offset, out);
        }
        if self.h3.is_some() {
            return link::fill(flow, extras, offset, out);
        }
        let mut index = 0;
        input::fill(flow.since_base(offset), out, || {
            let response = Self::response(flow, extras, index)?;
            index += 1;
            Some((&self.template(response.template).message, self.vars(flow, &response)))
        });
    }
}
