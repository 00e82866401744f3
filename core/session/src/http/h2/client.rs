//! Asks, several requests at a time, and reads what comes back.

use super::{
    GENERATED, Items, Link, REFUSED_MAX, announced, ask_elsewhere, ended_by, hand_over, is_in_vain, number,
    put_number, state, write_generated,
};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow, elapsed, tick};
use crate::http::agent::{self, Again, Aim, Made, Outcome, Planned, Response, Settings, Trip};
use crate::http::alternative::{self, AltSvc};
use crate::http::plan::{HttpClose, HttpPlan, HttpRequest, Method, RequestBody};
use crate::message::Vars;
use crate::pattern;
use crate::turns::Turns;
use crate::vary::{Delay, Size, turn};
use http2::hpack::{Field, Fields};
use http2::{Body, Code, Connection, Event, Fault, Role};
use std::sync::Arc;
use units::Nanos;

/// A connection of a client.
pub(crate) struct Asking {
    connection: Connection<Asked>,
    /// Requests that the server refused, and those in a row.
    again: u32,
    refused: u32,
    /// Requests of the plan above the last that the server processes: the session sends them on its next connection, if it has one.
    above: u32,
    /// There was a response.
    answered: bool,
    /// Time of the last check for a stalled stream.
    checked: u32,
    /// The maximum of requests was in flight.
    full: bool,
    /// The server's settings have been counted.
    noted: bool,
}

/// A request without a complete response.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    number: u32,
    /// The number of the plan's request that led to it.
    original: u32,
    started: u32,
    /// When it was due, where requests may be sent late.
    due: u32,
    /// When it was sent, or something of its response came.
    touched: u32,
    /// Bytes of the response's body so far, modulo 2^32.
    got: u32,
    first: bool,
    /// It is HEAD, whose response has no body.
    is_head: bool,
    /// Nothing is expected of the body: it is an error's, or there is none.
    any_body: bool,
}

/// A client made ready.
#[derive(Debug)]
pub(crate) struct Client {
    plan: Arc<HttpPlan>,
    requests: Vec<Ready>,
    turns: Turns,
    /// Treatment of redirects, cookies and logs; `None` without any.
    agent: Option<Settings>,
    schemes: [Field; 2],
    /// Fields of requests that differ from the plan's.
    methods: [Field; Method::ALL.len()],
    path: Field,
    cookie: Field,
    length: Field,
    padding: Field,
    value: Vec<u8>,
    block: Vec<u8>,
}

/// A request made ready.
#[derive(Debug)]
struct Ready {
    method: Method,
    /// `:method`, and what comes after `:scheme`.
    method_field: Field,
    items: Items,
    body: Size,
    text: Option<Arc<[u8]>>,
    has_body: bool,
    /// Whether the body's length is known; if it is always the same, `items` has it.
    says_length: bool,
    head_bytes: u32,
    status: Option<u16>,
    response_bytes: Option<u64>,
    aim: Option<Box<Aim>>,
}

impl Ready {
    fn new(request: &HttpRequest, fields: &mut Fields, is_agent: bool) -> Self {
        let mut items = Items::default();
        items.content(fields, ":authority", &request.host);
        // A method of `eagre bench` has put its sizes in the path already.
        let path = request.response_bytes.and_then(|bytes| request.path.sized(bytes));
        items.content(fields, ":path", path.as_ref().unwrap_or(&request.path));
        let mut text = None;
        let (body, says_length) = match &request.body {
            RequestBody::None => (Size::Fixed(0), false),
            RequestBody::Text(body) => {
                text = Some(Arc::from(body.as_bytes()));
                (Size::Fixed(body.len() as u64), true)
            }
            RequestBody::Length(size) => (size.clone(), true),
            RequestBody::Chunked { size, .. } => (size.clone(), false),
        };
        request.fields.iter().for_each(|(name, value)| items.content(fields, name, value));
        let says_length = match body {
            Size::Fixed(bytes) if says_length => {
                items.always(fields, "content-length", bytes.to_string().as_bytes());
                false
            }
            _ => says_length,
        };
        Self {
            method: request.method,
            method_field: fields.always(":method", request.method.name().as_bytes()),
            items,
            body,
            text,
            has_body: request.body != RequestBody::None,
            says_length,
            head_bytes: request.head_bytes,
            status: request.status,
            response_bytes: request.response_bytes,
            aim: is_agent.then(|| Aim::new(request).into()),
        }
    }
}

/// Operates on a flow's connection, and sends its output.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Asking)) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.link.take()) else { return };
    if let Link::Client(asking) = &mut *link {
        work(ctx, flow, asking);
        if ctx.ask.close && !ctx.ask.abort {
            asking.connection.go_away(Code::NO_ERROR);
        }
        hand_over(ctx, flow, &mut asking.connection);
    }
    ctx.extras.of(flow).link = Some(link);
}

impl Client {
    pub(crate) fn new(plan: Arc<HttpPlan>) -> Self {
        let mut fields = Fields::default();
        let agent = Settings::new(&plan.agent);
        let ready = |(request, _): &(HttpRequest, u32)| Ready::new(request, &mut fields, agent.is_some());
        let requests = plan.requests.iter().map(ready).collect();
        let weights: Vec<u32> = plan.requests.iter().map(|(_, weight)| *weight).collect();
        let schemes = ["http", "https"].map(|scheme| fields.always(":scheme", scheme.as_bytes()));
        Self {
            requests,
            turns: Turns::new(&weights, plan.order),
            agent,
            plan,
            schemes,
            methods: Method::ALL.map(|method| fields.always(":method", method.name().as_bytes())),
            path: Fields::named(":path"),
            cookie: Fields::named("cookie"),
            length: Fields::named("content-length"),
            padding: Fields::named("x-padding"),
            value: Vec::new(),
            block: Vec::new(),
        }
    }

    /// Sets the wall clock's time, since 1970-01-01 UTC, at instant zero.
    pub(crate) fn set_clock(&mut self, wall_zero: Nanos) {
        if let Some(agent) = &mut self.agent {
            agent.wall_zero = wall_zero;
        }
    }

    #[inline]
    fn turn(&self, flow: &Flow, number: u32) -> u64 {
        turn(flow.number.into(), number.into(), self.plan.per_connection.map(u64::from))
    }

    #[inline]
    fn ready(&self, flow: &Flow, number: u32) -> &Ready {
        &self.requests[self.turns.pick(self.turn(flow, number))]
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::OPEN;
        let mut connection = Connection::new(Role::Client, &announced());
        if self.agent.is_some() {
            connection.keep(agent::FIELDS);
        } else if ctx.common.follows {
            connection.keep(alternative::FIELDS);
        }
        let checked = tick(ctx.now);
        let asking = Asking {
            connection,
            again: 0,
            refused: 0,
            above: 0,
            answered: false,
            checked,
            full: false,
            noted: false,
        };
        ctx.counts.http2.connections += 1;
        ctx.extras.of(flow).link = Some(Box::new(Link::Client(asking)));
        with(ctx, flow, |ctx, flow, asking| self.pump(ctx, flow, asking, false));
    }

    /// Sends what may be sent. `has_turn`: the turn it waited for has come.
    fn pump(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, has_turn: bool) {
        loop {
            if flow.has(Flag::Failed) || flow.has(Flag::Paused) || flow.state != state::OPEN {
                break;
            }
            let open = asking.connection.streams();
            if agent::has_next(self.agent.as_ref(), ctx.extras, flow) {
                if self.follow(ctx, flow, asking) {
                    continue;
                }
                break;
            }
            let sent = self.sent(ctx, flow, asking);
            let waits = flow.has(Flag::Turn) && !has_turn;
            let all_sent = self.plan.per_connection.is_some_and(|all| sent >= all);
            let is_over = !all_sent && ctx.shall_end(flow);
            let shall_end = is_over || !all_sent && ctx.has_asked_all();
            let left = asking.connection.left().is_some() || flow.has(Flag::PeerClosed);
            if all_sent || left || shall_end && (!waits || flow.has(Flag::Stopping)) {
                if open == 0 {
                    if is_over {
                        flow.set(Flag::Stopped);
                    } else if !all_sent && !shall_end {
                        let all = self.plan.per_connection.unwrap_or(sent);
                        ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                    }
                    self.end(ctx, flow);
                }
                break;
            }
            asking.full = asking.connection.is_full();
            if waits || asking.full || open >= usize::from(self.plan.streams.max(1)) {
                break;
            }
            if !asking.connection.may_open() || !ctx.may_request(flow) {
                break;
            }
            self.send(ctx, flow, asking, None);
        }
        asking.connection.flush();
    }

    /// Requests of the plan that were sent, without those that the server refused.
    #[inline]
    fn sent(&self, ctx: &Ctx<'_>, flow: &Flow, asking: &Asking) -> u32 {
        agent::originals(self.agent.as_ref(), ctx.extras, flow).wrapping_sub(asking.again)
    }

    /// Follows a redirect that waits; returns whether it did. Where the connection takes no more requests, the session leaves it once all
    /// responses are there.
    #[cold]
    fn follow(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking) -> bool {
        if asking.connection.left().is_some() || flow.has(Flag::PeerClosed) {
            if asking.connection.streams() == 0 && ctx.shall_end(flow) {
                flow.set(Flag::Stopped);
                self.end(ctx, flow);
            } else if asking.connection.streams() == 0 && asking.refused > 0 && !asking.answered {
                // None of its requests was processed, and another connection's would be refused as well.
                ctx.counts.detail("GOAWAY: every request was refused");
                Self::give_up(ctx, flow, Reason::GoAway);
            } else if asking.connection.streams() == 0 {
                let again = std::mem::take(&mut asking.again) + std::mem::take(&mut asking.above);
                agent::agent(ctx.extras, flow).take_back(again);
                agent::depart(ctx, flow, state::LEAVING);
            }
            return false;
        }
        let connection = &asking.connection;
        asking.full = connection.is_full();
        let open = connection.streams();
        if asking.full || open >= usize::from(self.plan.streams.max(1)) || !connection.may_open() {
            return false;
        }
        let trip = agent::agent(ctx.extras, flow).take_next();
        self.send(ctx, flow, asking, trip);
        true
    }

    /// Sends the next request, of the plan or after a redirect.
    #[inline]
    fn send(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, hop: Option<Trip>) {
        let now = tick(ctx.now);
        let due = if ctx.common.late && hop.is_none() {
            ctx.extras.find_mut(flow).and_then(|extra| extra.dues.pop_front())
        } else {
            None
        };
        let number = flow.sent;
        let next = || agent::originals(self.agent.as_ref(), ctx.extras, flow);
        let original = hop.as_ref().map_or_else(next, |trip| trip.original);
        let turn = self.turn(flow, original);
        let ready = &self.requests[self.turns.pick(turn)];
        let request = u64::from(number);
        let bytes = ready.body.value(request);
        let vars = Vars { session: u64::from(flow.number), request, turn, body: bytes, seconds: 0 };
        let made = match (&self.agent, &ready.aim) {
            (Some(settings), Some(aim)) => {
                let planned = Planned { original, method: ready.method, has_body: ready.has_body, aim };
                settings.make(ctx, flow, hop, planned, &vars)
            }
            _ => Made::default(),
        };
        let due = due.unwrap_or(now);
        let is_head = made.method.unwrap_or(ready.method) == Method::Head;
        let asked = Asked { number, original, is_head, started: now, due, touched: now, ..Asked::default() };
        let connection = &mut asking.connection;
        let stream = connection.open(asked, is_head);
        let (block, encoder) = (&mut self.block, connection.encoder());
        block.clear();
        encoder.begin(block);
        let method = made.method.map_or(&ready.method_field, |method| &self.methods[method as usize]);
        encoder.put(method, block);
        encoder.put(&self.schemes[usize::from(ctx.common.secured)], block);
        let mut size = ready.items.size + 96;
        if let Some(target) = &made.target {
            encoder.put_value(&self.path, target, block);
            size += target.len() as u32;
        }
        size += ready.items.put_but(made.left_out(), encoder, &vars, &mut self.value, block);
        if !made.cookie.is_empty() {
            encoder.put_value(&self.cookie, &made.cookie, block);
            size += made.cookie.len() as u32 + 38;
        }
        if ready.says_length && !made.is_bare {
            put_number(encoder, &self.length, bytes, block);
            size += 54;
        }
        if ready.head_bytes > size + 41 {
            self.value.clear();
            self.value.resize((ready.head_bytes - size - 41) as usize, b'x');
            encoder.put_value(&self.padding, &self.value, block);
            size = ready.head_bytes;
        }
        if size > connection.peer_list() {
            ctx.counts
                .detail("the request's fields are more than the server's SETTINGS_MAX_HEADER_LIST_SIZE");
            return ctx.fail(flow, Reason::Http2Protocol);
        }
        let has_body = ready.has_body && !made.is_bare && bytes > 0;
        connection.send_head(stream, block, !has_body, 0);
        if has_body {
            let source = match ready.text {
                Some(_) => self.turns.pick(turn) as u16 + 1,
                None => GENERATED,
            };
            connection.send_body(stream, Body { source, number }, bytes, 0);
        }
        flow.sent = flow.sent.wrapping_add(1);
        ctx.counts.requests += 1;
        ctx.counts.http2.streams += 1;
        ctx.arm(flow, ctx.common.patience.response);
    }

    /// All requests have responses.
    fn end(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::END;
        if self.plan.close == HttpClose::Reset && !flow.has(Flag::PeerClosed) {
            flow.set(Flag::Done);
            ctx.ask.abort = true;
        } else if flow.has(Flag::Turn) {
            // The turn it waits for is another session's.
            ctx.close(flow);
        } else {
            ctx.end_client(flow);
        }
    }

    #[inline]
    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        let mut input = data;
        with(ctx, flow, |ctx, flow, asking| {
            loop {
                match asking.connection.read((ctx.now.0 / 1_000_000_000) as u32, &mut input) {
                    Ok(None) => break,
                    Ok(Some(event)) => self.heard(ctx, flow, asking, event),
                    Err(fault) => {
                        Self::broken(ctx, flow, fault);
                        break;
                    }
                }
                if flow.has(Flag::Failed) {
                    break;
                }
            }
            if !asking.noted && asking.connection.is_settled() {
                asking.noted = true;
                ctx.counts.http2.note_streams(asking.connection.peer_streams());
            }
            self.pump(ctx, flow, asking, false);
            if asking.connection.is_held() && !flow.has(Flag::Failed) {
                ctx.ask.read = Some(false);
            }
        });
    }

    #[cold]
    fn broken(ctx: &mut Ctx<'_>, flow: &mut Flow, fault: Fault) {
        if flow.has(Flag::Done) {
            return;
        }
        ctx.counts.detail(fault.why);
        let reason = if fault.why == Fault::NO_SETTINGS { Reason::NoHttp2 } else { Reason::Http2Protocol };
        Self::give_up(ctx, flow, reason);
    }

    /// Fails, and closes in good order.
    fn give_up(ctx: &mut Ctx<'_>, flow: &mut Flow, reason: Reason) {
        ctx.fail_softly(flow, reason);
        flow.set(Flag::Closing);
        ctx.ask.close = true;
    }

    #[inline]
    fn heard(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, event: Event<'_, Asked>) {
        match event {
            Event::Head { stream, end } => self.head(ctx, flow, asking, stream, end),
            Event::Data { stream, bytes, end } => {
                let Some(asked) = asking.connection.data(stream) else { return };
                asked.touched = tick(ctx.now);
                if ctx.common.verify && !asked.any_body {
                    let (number, got) = (u64::from(asked.number), u64::from(asked.got));
                    let knows = self.ready(flow, asked.original).response_bytes.is_some();
                    if knows && !pattern::matches(number, got, bytes) {
                        return ctx.fail(flow, Reason::WrongContent);
                    }
                }
                asked.got = asked.got.wrapping_add(bytes.len() as u32);
                if end {
                    self.complete(ctx, flow, asking, stream);
                }
            }
            Event::Trailers { stream } => self.complete(ctx, flow, asking, stream),
            Event::Reset { code, data } => self.reset(ctx, flow, asking, code, data),
            Event::Broken { why, .. } => {
                ctx.counts.detail(why);
                Self::give_up(ctx, flow, Reason::BadResponse);
            }
            Event::GoAway { last, code } => {
                ctx.counts.http2.goaways += 1;
                let above = asking.connection.forget_above(last);
                let in_vain = is_in_vain(flow.sent.wrapping_sub(asking.again), above.len());
                for asked in above {
                    asking.above += u32::from(!self.not_processed(ctx, flow, &asked));
                }
                if let Some(why) = ended_by(code, in_vain).filter(|_| !flow.has(Flag::Done)) {
                    ctx.counts.detail(&why);
                    Self::give_up(ctx, flow, Reason::GoAway);
                }
            }
            Event::Refused | Event::Room => {}
        }
    }

    /// The server has not processed a request: it is sent again, here if it came after a redirect. Returns whether it did.
    #[cold]
    fn not_processed(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, asked: &Asked) -> bool {
        let again = match self.agent {
            Some(_) => agent::agent(ctx.extras, flow).refused(asked.number),
            None => Again::Elsewhere(0),
        };
        match again {
            Again::Here => ctx.counts.http2.unprocessed += 1,
            Again::Elsewhere(entry) => ask_elsewhere(ctx, asked.due, entry),
        }
        again == Again::Here
    }

    #[cold]
    fn reset(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, code: Code, asked: Asked) {
        ctx.counts.http2.resets += 1;
        asking.refused += 1;
        if code == Code::REFUSED_STREAM && asking.refused <= REFUSED_MAX {
            asking.again += u32::from(!self.not_processed(ctx, flow, &asked));
            return;
        }
        ctx.counts.detail(&format!("RST_STREAM: {}", code.name()));
        self.forget(ctx, flow, &asked);
        if self.plan.errors_fail || asking.refused > REFUSED_MAX {
            Self::give_up(ctx, flow, Reason::StreamReset);
        }
    }

    #[inline]
    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, stream: u32, end: bool) {
        let (status, length) = {
            let head = asking.connection.head();
            if ctx.common.follows
                && let Some(what) = head.value(alternative::FIELD).and_then(AltSvc::read)
            {
                ctx.pacers.alternative.learn(ctx.now, what, &mut ctx.counts.alt_svc);
            }
            (head.status, head.length)
        };
        let Some(asked) = asking.connection.data(stream) else { return };
        asked.touched = tick(ctx.now);
        if !std::mem::replace(&mut asked.first, true) {
            ctx.counts.ttfb.record(elapsed(asked.started, ctx.now).0);
            if ctx.common.late {
                ctx.counts.ttfb_due.record(elapsed(asked.due, ctx.now).0);
            }
        }
        let Some(class) = ctx.counts.http.get_mut(usize::from(status / 100) - 1) else {
            ctx.counts.detail("a status of 600 or more");
            return Self::give_up(ctx, flow, Reason::BadResponse);
        };
        *class += 1;
        if status < 200 {
            return;
        }
        (asking.refused, asking.answered) = (0, true);
        let ready = self.ready(flow, asked.original);
        let (number, wanted) = (asked.number, ready.status);
        let outcome = self.agent.as_ref().map_or(Outcome::Final, |settings| {
            let head = asking.connection.head();
            let cookies = head.values(agent::SET_COOKIE);
            ctx.counts.cookies.rejected += u64::from(head.values_dropped());
            let response = Response { status, location: head.value(agent::LOCATION), cookies };
            settings.note(ctx, flow, number, wanted, response)
        });
        let reason = match outcome {
            Outcome::Followed => None,
            Outcome::Stuck if self.plan.errors_fail => Some(Reason::Redirect),
            _ => self.plan.status_failure(wanted, status),
        };
        if let Some(reason) = reason {
            return Self::give_up(ctx, flow, reason);
        }
        let is_error = outcome == Outcome::Stuck || wanted.is_none() && status >= 400;
        ctx.counts.error_responses += u64::from(is_error);
        let Some(asked) = asking.connection.data(stream) else { return };
        asked.any_body =
            outcome == Outcome::Followed || is_error || asked.is_head || matches!(status, 204 | 304);
        if !asked.any_body
            && let (Some(length), Some(expected)) = (length, ready.response_bytes)
            && length != expected
        {
            return ctx.fail(flow, Reason::WrongContent);
        }
        if end {
            self.complete(ctx, flow, asking, stream);
        }
    }

    /// A response is whole.
    #[inline]
    fn complete(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, stream: u32) {
        let Some(asked) = asking.connection.take(stream) else { return };
        self.forget(ctx, flow, &asked);
        if let Some(bytes) = self.ready(flow, asked.original).response_bytes
            && !asked.any_body
            && bytes as u32 != asked.got
        {
            return ctx.fail(flow, Reason::WrongContent);
        }
        ctx.counts.ttlb.record(elapsed(asked.started, ctx.now).0);
        if ctx.common.late {
            ctx.counts.ttlb_due.record(elapsed(asked.due, ctx.now).0);
        }
        ctx.counts.transactions += 1;
        let sent = self.sent(ctx, flow, asking);
        let follows = agent::has_next(self.agent.as_ref(), ctx.extras, flow);
        let done = follows || self.plan.per_connection.is_some_and(|all| sent >= all);
        let connection = &asking.connection;
        if connection.streams() == 0 && self.plan.think != Delay::NONE && !done && connection.left().is_none()
        {
            let think = self.plan.think.value(u64::from(flow.number), u64::from(flow.sent));
            let mut end = ctx.now.saturating_add(think);
            if ctx.common.up.is_some() {
                end = end.min(flow.up_end(ctx.now));
            }
            flow.set(Flag::Paused);
            ctx.wake_at(flow, end);
        }
    }

    /// A request has its response, or will not get one.
    #[inline]
    fn forget(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, asked: &Asked) {
        if self.agent.is_some() {
            agent::agent(ctx.extras, flow).trips.remove(&asked.number);
        }
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if flow.has(Flag::Failed) || matches!(flow.state, state::LEAVING | state::LEFT) {
            return;
        }
        with(ctx, flow, |ctx, flow, asking| {
            if agent::has_next(self.agent.as_ref(), ctx.extras, flow) {
                self.pump(ctx, flow, asking, false);
                if flow.state == state::LEAVING {
                    return;
                }
            }
            if flow.state != state::END {
                let sent = self.sent(ctx, flow, asking);
                if asking.connection.streams() > 0 || flow.sent == 0 {
                    ctx.fail_softly(flow, Reason::ClosedEarly);
                } else if let Some(all) = self.plan.per_connection {
                    ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                }
            }
            flow.state = state::END;
            ctx.close(flow);
        });
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        with(ctx, flow, |ctx, flow, asking| {
            let was_held = asking.connection.is_held();
            asking.connection.acknowledged(offset, |_| {});
            if was_held && !asking.connection.is_held() {
                ctx.ask.read = Some(true);
            }
            if asking.full && !asking.connection.is_full() {
                self.pump(ctx, flow, asking, false);
            } else {
                asking.connection.flush();
            }
        });
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, asking| {
            match flow.state {
                state::OPEN => {}
                state::END => return ctx.end_client(flow),
                _ => return,
            }
            let patience = ctx.common.patience.response;
            // With a rate it is woken for each request, and does not look at all of them each time.
            let was_checked = Nanos(elapsed(asking.checked, ctx.now).0 * 4);
            let has_turn = flow.has(Flag::Turn);
            let stalled = patience.is_some_and(|patience| {
                (!has_turn || was_checked >= patience) && asking.stands_still(ctx.now, patience)
            });
            if stalled {
                return ctx.fail(flow, Reason::ResponseTimeout);
            }
            flow.unset(Flag::Paused);
            self.pump(ctx, flow, asking, has_turn);
            if let Some(patience) = patience
                && asking.connection.streams() > 0
                && !flow.has(Flag::Armed)
            {
                let oldest =
                    asking.connection.open_streams().map(|(_, asked)| elapsed(asked.touched, ctx.now)).max();
                let rest = patience.since(oldest.unwrap_or(Nanos::ZERO)).0.max(1 << 10);
                ctx.wake_at(flow, ctx.now.saturating_add(Nanos(rest)));
            }
        });
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, asking| {
            if asking.connection.streams() == 0 {
                flow.set(Flag::Stopped);
                flow.state = state::END;
                ctx.close(flow);
            }
        });
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        let Some(Link::Client(asking)) = extras.find(flow).and_then(|extra| extra.link.as_deref()) else {
            return out.fill(0);
        };
        asking.connection.fill(offset, out, |body, offset, out| {
            let text = body
                .source
                .checked_sub(1)
                .and_then(|index| self.requests.get(usize::from(index))?.text.as_ref());
            match text {
                Some(text) => out.copy_from_slice(&text[offset as usize..][..out.len()]),
                None => write_generated(body, offset, out),
            }
        });
    }
}

impl Asking {
    /// Whether a response has received no data for this long.
    fn stands_still(&mut self, now: Nanos, patience: Nanos) -> bool {
        self.checked = tick(now);
        self.connection.open_streams().any(|(stream, asked)| {
            debug_assert_eq!(number(stream), asked.number);
            elapsed(asked.touched, now) >= patience
        })
    }
}
