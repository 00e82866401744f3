//! Asks, several requests at a time, and reads what comes back.

use super::connection::{Body, Connection, Handler, Source, lasting_generated, number, write_generated};
use super::state::{LEAVING, LEFT};
use super::{GENERATED, Items, Link, TOO_EARLY, note_goaways};
use crate::counts::Reason;
use crate::flow::{Ctx, Flag, Flow, elapsed, instant_near, tick};
use crate::http::agent::{self, Again, Aim, Made, Outcome, Planned, Response, Settings, Trip};
use crate::http::alternative::{self, AltSvc};
use crate::http::h2::is_in_vain;
use crate::http::plan::{HttpPlan, HttpRequest, Method, RequestBody};
use crate::message::Vars;
use crate::pattern;
use crate::quic::link::{self, Link as AnyLink, give_up, state};
use crate::quic::{Due, QuicEnd, failure};
use crate::turns::Turns;
use crate::vary::{Delay, Size, turn};
use http3::qpack::{self, Field};
use http3::{Code, Fault, Role};
use std::sync::Arc;
use units::Nanos;

/// Number of consecutive requests that a server may refuse before it responds to one.
const REFUSED_MAX: u32 = 1_000;
/// Bytes of a field that fills a head up, without its value.
const PADDING: u32 = 41;

/// Additional state of a client's connection.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    /// Requests that the server refused, and those in a row.
    again: u32,
    refused: u32,
    /// Requests of the plan above the last that the server processes: the session sends them on its next connection, if it has one.
    above: u32,
    /// There was a response.
    answered: bool,
    /// Time of the last check for a stalled stream.
    checked: u32,
    goaways: u64,
    /// Requests may be sent, although the handshake is not done.
    early: bool,
}

/// A request without a complete response.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
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
    /// It was sent before the handshake was done.
    early: bool,
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
    /// Fields of requests that differ from the plan's.
    methods: [Field; Method::ALL.len()],
    path: Field,
    cookie: Field,
    scheme: Field,
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
    fn new(request: &HttpRequest, is_agent: bool) -> Self {
        let mut items = Items::default();
        items.content(":authority", &request.host);
        // A method of `eagre bench` has put its sizes in the path already.
        let path = request.response_bytes.and_then(|bytes| request.path.sized(bytes));
        items.content(":path", path.as_ref().unwrap_or(&request.path));
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
        request.fields.iter().for_each(|(name, value)| items.content(name, value));
        let says_length = match body {
            Size::Fixed(bytes) if says_length => {
                items.always("content-length", bytes.to_string().as_bytes());
                false
            }
            _ => says_length,
        };
        Self {
            method: request.method,
            method_field: Field::always(":method", request.method.name().as_bytes()),
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

type Asks = Connection<Asked>;

/// A client's operations on one connection.
struct With<'a> {
    client: &'a mut Client,
    asking: &'a mut Asking,
}

/// Does something with a flow's connection.
fn with(
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Asks, &mut Asking),
) {
    link::with(ctx, flow, |ctx, flow, link| {
        if let AnyLink::Http(Link::Client(connection, asking)) = link {
            work(ctx, flow, connection, asking);
            if !flow.has(Flag::Failed) {
                flow.waiting = connection.streams().min(255) as u8;
            }
        }
    });
}

impl Client {
    pub(crate) fn new(plan: Arc<HttpPlan>) -> Self {
        let agent = Settings::new(&plan.agent);
        let ready = |(request, _): &(HttpRequest, u32)| Ready::new(request, agent.is_some());
        let requests = plan.requests.iter().map(ready).collect();
        let weights: Vec<u32> = plan.requests.iter().map(|(_, weight)| *weight).collect();
        Self {
            requests,
            turns: Turns::new(&weights, plan.order),
            agent,
            methods: Method::ALL.map(|method| Field::always(":method", method.name().as_bytes())),
            path: Field::named(":path"),
            cookie: Field::named("cookie"),
            plan,
            scheme: Field::always(":scheme", b"https"),
            length: Field::named("content-length"),
            padding: Field::named("x-padding"),
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
        if flow.state == state::PATH {
            return link::keep_path(ctx, flow);
        }
        let Some(quic) = link::connect(ctx, flow) else { return };
        // A redirect that a session continues with need not be one that may be repeated.
        let early = self.plan.quic.early_data && quic.has_early_keys() && !flow.has(Flag::ARRIVES);
        let mut connection = Box::new(Connection::new(Role::Client, quic, ctx.now, 0));
        if self.agent.is_some() {
            connection.head.keep(agent::FIELDS);
        } else if ctx.common.follows {
            connection.head.keep(alternative::FIELDS);
        }
        let asking = Asking { early, ..Asking::default() };
        ctx.extras.of(flow).quic = Some(Box::new(AnyLink::Http(Link::Client(connection, asking))));
        link::await_handshake(ctx, flow);
        if early {
            with(ctx, flow, |ctx, flow, connection, asking| {
                connection.write_control();
                self.pump(ctx, flow, connection, asking, false);
            });
        }
    }

    /// Sends what may be sent. `has_turn`: the turn it waited for has come.
    fn pump(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Asks,
        asking: &mut Asking,
        has_turn: bool,
    ) {
        loop {
            if flow.has(Flag::Failed) || flow.has(Flag::Paused) || !asking.may_send(flow) {
                break;
            }
            let open = connection.streams();
            if agent::has_next(self.agent.as_ref(), ctx.extras, flow) {
                if self.follow(ctx, flow, connection, asking) {
                    continue;
                }
                break;
            }
            let sent = self.sent(ctx, flow, asking);
            let waits = flow.has(Flag::Turn) && !has_turn;
            let all_sent = self.plan.per_connection.is_some_and(|all| sent >= all);
            let is_over = !all_sent && ctx.shall_end(flow);
            let shall_end = is_over || !all_sent && ctx.has_asked_all();
            let left = connection.goaway().0.is_some();
            if asking.early && (all_sent || shall_end || !self.may_be_early(flow)) {
                break;
            }
            if all_sent || left || shall_end && (!waits || flow.has(Flag::Stopping)) {
                if open == 0 {
                    if is_over {
                        flow.set(Flag::Stopped);
                    } else if !all_sent && !shall_end {
                        let all = self.plan.per_connection.unwrap_or(sent);
                        ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                    }
                    Self::end(ctx, flow);
                }
                break;
            }
            if waits || open >= usize::from(self.plan.streams.max(1)) {
                break;
            }
            if !connection.may_open() || !ctx.may_request(flow) {
                break;
            }
            self.send(ctx, flow, connection, asking.early, None);
        }
    }

    /// Requests of the plan that were sent, without those that the server refused.
    #[inline]
    fn sent(&self, ctx: &Ctx<'_>, flow: &Flow, asking: &Asking) -> u32 {
        agent::originals(self.agent.as_ref(), ctx.extras, flow).wrapping_sub(asking.again)
    }

    /// Follows a redirect that waits; returns whether it did. Where the connection takes no more requests, the session leaves it once all
    /// responses are there.
    #[cold]
    fn follow(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Asks,
        asking: &mut Asking,
    ) -> bool {
        if connection.goaway().0.is_some() {
            if connection.streams() == 0 && ctx.shall_end(flow) {
                flow.set(Flag::Stopped);
                Self::end(ctx, flow);
            } else if connection.streams() == 0 && asking.refused > 0 && !asking.answered {
                // None of its requests was processed, and another connection's would be refused as well.
                ctx.counts.detail("GOAWAY: every request was refused");
                give_up(ctx, flow, Reason::GoAway);
            } else if connection.streams() == 0 {
                asking.depart(ctx, flow);
            }
            return false;
        }
        if connection.streams() >= usize::from(self.plan.streams.max(1)) || !connection.may_open() {
            return false;
        }
        let trip = agent::agent(ctx.extras, flow).take_next();
        self.send(ctx, flow, connection, false, trip);
        true
    }

    /// Whether the next request may be sent in early data, which can be replayed: a safe method, without a body (RFC 8470 section 3).
    fn may_be_early(&self, flow: &Flow) -> bool {
        let ready = self.ready(flow, flow.sent);
        // A log's methods are known only once a request has its turn.
        self.plan.agent.log.is_none()
            && matches!(ready.method, Method::Get | Method::Head | Method::Options)
            && !ready.has_body
    }

    /// The handshake is done: early data was accepted, or must be sent again.
    #[cold]
    fn end_early(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks) {
        if connection.carried.quic.is_early_accepted() {
            ctx.counts.quic.early_data_accepted += 1;
            return;
        }
        ctx.counts.quic.early_data_rejected += 1;
        for asked in connection.begin_anew() {
            self.not_processed(ctx, flow, &asked);
        }
        flow.sent = 0;
        if self.agent.is_some() {
            agent::agent(ctx.extras, flow).begin_anew();
        }
        connection.write_control();
    }

    /// Sends the next request, of the plan or after a redirect.
    #[inline]
    fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Asks,
        early: bool,
        hop: Option<Trip>,
    ) {
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
        let asked =
            Asked { number, original, is_head, started: now, due, touched: now, early, ..Asked::default() };
        let Some(stream) = connection.open(asked, is_head) else { return };
        debug_assert_eq!(super::connection::number(stream), number, "streams are opened in order");
        let block = &mut self.block;
        block.clear();
        qpack::begin(block);
        made.method.map_or(&ready.method_field, |method| &self.methods[method as usize]).put(block);
        self.scheme.put(block);
        let mut size = ready.items.size + 96;
        if let Some(target) = &made.target {
            self.path.put_value(target, block);
            size += target.len() as u32;
        }
        size += ready.items.put_but(made.left_out(), &vars, &mut self.value, block);
        if !made.cookie.is_empty() {
            self.cookie.put_value(&made.cookie, block);
            size += made.cookie.len() as u32 + 38;
        }
        if ready.says_length && !made.is_bare {
            self.length.put_value(bytes.to_string().as_bytes(), block);
            size += 54;
        }
        if ready.head_bytes > size + PADDING {
            self.value.clear();
            self.value.resize((ready.head_bytes - size - PADDING) as usize, b'x');
            self.padding.put_value(&self.value, block);
            size = ready.head_bytes;
        }
        if u64::from(size) > connection.peer_list() {
            ctx.counts
                .detail("the request's fields are more than the server's SETTINGS_MAX_FIELD_SECTION_SIZE");
            return give_up(ctx, flow, Reason::Http3Protocol);
        }
        let body = match ready.has_body && !made.is_bare {
            false => Body::default(),
            true => Body {
                source: ready.text.as_ref().map_or(GENERATED, |_| self.turns.pick(turn) as u16 + 1),
                number,
                len: bytes,
            },
        };
        connection.send(ctx, stream, block, (body, true), &Bodies(&self.requests));
        flow.sent = flow.sent.wrapping_add(1);
        ctx.counts.requests += 1;
        ctx.counts.http3.streams += 1;
        ctx.counts.quic.early_requests += u64::from(early);
        ctx.arm(flow, ctx.common.patience.response);
    }

    /// All requests have responses.
    fn end(ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::END;
        if flow.has(Flag::Turn) {
            // The turn it waits for is another session's.
            ctx.close(flow);
        } else {
            ctx.end_client(flow);
        }
    }

    #[inline]
    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
        if flow.state == state::PATH {
            return link::received_path(ctx, flow, datagram);
        }
        flow.set(Flag::Progress);
        with(ctx, flow, |ctx, flow, connection, asking| {
            if !connection.carried.receive_some(ctx, flow, datagram) {
                self.go_on(ctx, flow, connection, asking, false);
            }
        });
    }

    #[inline]
    pub(crate) fn tended(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, connection, asking| {
            if connection.carried.is_unheard() {
                self.go_on(ctx, flow, connection, asking, false);
            }
        });
    }

    /// Handles events, and acts on them.
    #[inline]
    fn go_on(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Asks,
        asking: &mut Asking,
        has_turn: bool,
    ) {
        connection.listen(ctx, flow, &mut With { client: self, asking });
        if connection.carried.is_over() {
            return;
        }
        if self.heed_goaway(ctx, flow, connection, asking) {
            return give_up(ctx, flow, Reason::GoAway);
        }
        self.pump(ctx, flow, connection, asking, has_turn);
    }

    /// Takes requests back that a server does not process which ends the connection; returns whether the session was in vain.
    #[inline]
    fn heed_goaway(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Asks,
        asking: &mut Asking,
    ) -> bool {
        let (first, goaways) = connection.goaway();
        if goaways == asking.goaways {
            return false;
        }
        note_goaways(ctx.counts, &mut asking.goaways, goaways);
        let above = connection.forget_from(first.unwrap_or(u64::MAX));
        let in_vain = is_in_vain(flow.sent.wrapping_sub(asking.again), above.len());
        for asked in above {
            asking.above += u32::from(!self.not_processed(ctx, flow, &asked));
        }
        if in_vain && !flow.has(Flag::Done) {
            ctx.counts.detail("GOAWAY: no request was processed");
        }
        in_vain && !flow.has(Flag::Done)
    }

    /// A request that the server did not process: it counts as not sent, and is repeated.
    #[cold]
    fn ask_elsewhere(ctx: &mut Ctx<'_>, asked: &Asked, entry: u64) {
        ctx.counts.http3.unprocessed += 1;
        if let Some(left) = &mut ctx.pacers.left {
            *left += 1;
        }
        if ctx.common.late
            && let Some(pacer) = &mut ctx.pacers.requests
        {
            pacer.give_back(instant_near(asked.due, ctx.now), entry);
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
            Again::Here => ctx.counts.http3.unprocessed += 1,
            Again::Elsewhere(entry) => Self::ask_elsewhere(ctx, asked, entry),
        }
        again == Again::Here
    }

    /// A request has its response, or will not get one.
    #[inline]
    fn forget(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, asked: &Asked) {
        if self.agent.is_some() {
            agent::agent(ctx.extras, flow).trips.remove(&asked.number);
        }
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if link::woke_without(ctx, flow) {
            return;
        }
        with(ctx, flow, |ctx, flow, connection, asking| {
            match connection.carried.woke(ctx, flow) {
                Due::Handshake => return link::no_handshake(ctx, flow),
                Due::Wake if !connection.carried.is_over() => {}
                _ => return self.go_on(ctx, flow, connection, asking, false),
            }
            if flow.state == state::END {
                return ctx.end_client(flow);
            }
            let patience = ctx.common.patience.response;
            // With a rate it is woken for each request, and does not look at all of them each time.
            let was_checked = Nanos(elapsed(asking.checked, ctx.now).0 * 4);
            let has_turn = flow.has(Flag::Turn);
            let stalled = patience.is_some_and(|patience| {
                (!has_turn || was_checked >= patience) && asking.stands_still(connection, ctx.now, patience)
            });
            if stalled {
                return give_up(ctx, flow, Reason::ResponseTimeout);
            }
            flow.unset(Flag::Paused);
            self.go_on(ctx, flow, connection, asking, has_turn);
            if let Some(patience) = patience
                && connection.streams() > 0
                && !flow.has(Flag::Armed)
            {
                let oldest = connection.each().map(|(_, asked)| elapsed(asked.touched, ctx.now)).max();
                let rest = patience.since(oldest.unwrap_or(Nanos::ZERO)).0.max(1 << 10);
                ctx.wake_at(flow, ctx.now.saturating_add(Nanos(rest)));
            }
        });
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, connection, _| {
            if flow.state == state::OPEN && connection.streams() == 0 {
                flow.set(Flag::Stopped);
                flow.state = state::END;
                ctx.close(flow);
            }
        });
    }
}

/// The texts of requests' bodies.
struct Bodies<'a>(&'a [Ready]);

impl Source for Bodies<'_> {
    fn fill(&self, body: Body, offset: u64, out: &mut [u8]) {
        let index = body.source.checked_sub(1).map(usize::from);
        match index.and_then(|index| self.0.get(index)?.text.as_ref()) {
            Some(text) => out.copy_from_slice(&text[offset as usize..][..out.len()]),
            None => write_generated(body, offset, out),
        }
    }

    fn lasting(&self, body: Body, offset: u64) -> &'static [u8] {
        let index = body.source.checked_sub(1).map(usize::from);
        match index.and_then(|index| self.0.get(index)?.text.as_ref()) {
            Some(_) => &[],
            None => lasting_generated(body, offset),
        }
    }
}

impl With<'_> {
    /// A response is whole.
    #[inline]
    fn complete(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, stream: u64) {
        let Some(asked) = connection.take(ctx, stream) else { return };
        self.client.forget(ctx, flow, &asked);
        if let Some(bytes) = self.client.ready(flow, asked.original).response_bytes
            && !asked.any_body
            && bytes as u32 != asked.got
        {
            return give_up(ctx, flow, Reason::WrongContent);
        }
        ctx.counts.ttlb.record(elapsed(asked.started, ctx.now).0);
        if ctx.common.late {
            ctx.counts.ttlb_due.record(elapsed(asked.due, ctx.now).0);
        }
        ctx.counts.transactions += 1;
        let plan = &self.client.plan;
        let sent = self.client.sent(ctx, flow, self.asking);
        let follows = agent::has_next(self.client.agent.as_ref(), ctx.extras, flow);
        let done = follows || plan.per_connection.is_some_and(|all| sent >= all);
        if connection.streams() == 0 && plan.think != Delay::NONE && !done && connection.goaway().0.is_none()
        {
            let think = plan.think.value(u64::from(flow.number), u64::from(flow.sent));
            let mut end = ctx.now.saturating_add(think);
            if ctx.common.up.is_some() {
                end = end.min(flow.up_end(ctx.now));
            }
            flow.set(Flag::Paused);
            ctx.wake_at(flow, end);
        }
    }
}

impl Handler<Asked> for With<'_> {
    fn connected(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks) {
        flow.state = state::OPEN;
        ctx.counts.redirects.new_connections += u64::from(flow.take(Flag::ARRIVES));
        if std::mem::take(&mut self.asking.early) {
            self.client.end_early(ctx, flow, connection);
        }
        self.asking.checked = tick(ctx.now);
    }

    fn begun(&mut self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) -> Option<Asked> {
        None
    }

    #[inline]
    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, stream: u64) {
        if ctx.common.follows
            && let Some(what) = connection.head.value(alternative::FIELD).and_then(AltSvc::read)
        {
            ctx.pacers.alternative.learn(ctx.now, what, &mut ctx.counts.alt_svc);
        }
        let (status, length) = (connection.head.status, connection.head.length);
        if connection.head.is_too_large {
            ctx.counts.detail("a header list that is too large");
            return give_up(ctx, flow, Reason::BadResponse);
        }
        let Some(asked) = connection.data(stream) else { return };
        asked.touched = tick(ctx.now);
        if !std::mem::replace(&mut asked.first, true) {
            ctx.counts.ttfb.record(elapsed(asked.started, ctx.now).0);
            if ctx.common.late {
                ctx.counts.ttfb_due.record(elapsed(asked.due, ctx.now).0);
            }
        }
        let Some(class) = ctx.counts.http.get_mut(usize::from(status / 100) - 1) else {
            ctx.counts.detail("a status of 600 or more");
            return give_up(ctx, flow, Reason::BadResponse);
        };
        *class += 1;
        if status < 200 {
            return;
        }
        if status == TOO_EARLY && asked.early {
            // The server wants it again after the handshake (RFC 8470 section 5.2).
            let asked = *asked;
            connection.refuse(stream, Code::REQUEST_CANCELLED);
            ctx.counts.quic.too_early += 1;
            self.asking.again += u32::from(!self.client.not_processed(ctx, flow, &asked));
            return;
        }
        (self.asking.refused, self.asking.answered) = (0, true);
        let ready = self.client.ready(flow, asked.original);
        let (number, wanted) = (asked.number, ready.status);
        let outcome = self.client.agent.as_ref().map_or(Outcome::Final, |settings| {
            let head = &connection.head;
            let cookies = head.values(agent::SET_COOKIE);
            ctx.counts.cookies.rejected += u64::from(head.values_dropped());
            let response = Response { status, location: head.value(agent::LOCATION), cookies };
            settings.note(ctx, flow, number, wanted, response)
        });
        let reason = match outcome {
            Outcome::Followed => None,
            Outcome::Stuck if self.client.plan.errors_fail => Some(Reason::Redirect),
            _ => self.client.plan.status_failure(wanted, status),
        };
        if let Some(reason) = reason {
            return give_up(ctx, flow, reason);
        }
        let is_error = outcome == Outcome::Stuck || wanted.is_none() && status >= 400;
        ctx.counts.error_responses += u64::from(is_error);
        let Some(asked) = connection.data(stream) else { return };
        asked.any_body =
            outcome == Outcome::Followed || is_error || asked.is_head || matches!(status, 204 | 304);
        if !asked.any_body
            && let (Some(length), Some(expected)) = (length, ready.response_bytes)
            && length != expected
        {
            give_up(ctx, flow, Reason::WrongContent);
        }
    }

    #[inline]
    fn data(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, stream: u64, bytes: &[u8]) {
        let Some(asked) = connection.data(stream) else { return };
        asked.touched = tick(ctx.now);
        if ctx.common.verify && !asked.any_body {
            let (number, got) = (u64::from(asked.number), u64::from(asked.got));
            let knows = self.client.ready(flow, asked.original).response_bytes.is_some();
            if knows && !pattern::matches(number, got, bytes) {
                return give_up(ctx, flow, Reason::WrongContent);
            }
        }
        asked.got = asked.got.wrapping_add(bytes.len() as u32);
    }

    fn end(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, stream: u64) {
        self.complete(ctx, flow, connection, stream);
    }

    fn delivered(&mut self, _: &mut Ctx<'_>, _: &mut Flow, _: &mut Asks, _: u64) {}

    #[cold]
    fn given_up(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Asks,
        stream: u64,
        code: Code,
        stops: bool,
    ) {
        if stops {
            // Whatever its body was to be, the response may come (RFC 9114 section 4.1).
            return;
        }
        let Some(asked) = connection.data(stream).copied() else { return };
        connection.refuse(stream, Code::REQUEST_CANCELLED);
        ctx.counts.http3.resets += 1;
        self.asking.refused += 1;
        if code == Code::REQUEST_REJECTED && self.asking.refused <= REFUSED_MAX {
            self.asking.again += u32::from(!self.client.not_processed(ctx, flow, &asked));
            return;
        }
        self.client.forget(ctx, flow, &asked);
        ctx.counts.detail(&format!("RESET_STREAM: {}", code.text()));
        if self.client.plan.errors_fail || self.asking.refused > REFUSED_MAX {
            give_up(ctx, flow, Reason::StreamReset);
        }
    }

    #[cold]
    fn malformed(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, _: &mut Asks, _: u64, fault: Fault) {
        ctx.counts.detail(fault.why);
        give_up(ctx, flow, Reason::BadResponse);
    }

    #[cold]
    fn broken(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, fault: Fault) {
        if !flow.has(Flag::Done) {
            ctx.counts.detail(fault.why);
            give_up(ctx, flow, Reason::Http3Protocol);
        }
    }

    #[cold]
    fn lost(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, end: &QuicEnd) {
        flow.set(Flag::PeerClosed);
        let open = flow.state != state::CONNECTING;
        // It may have come with the end of the connection.
        if open && self.client.heed_goaway(ctx, flow, connection, self.asking) {
            ctx.fail_softly(flow, Reason::GoAway);
        }
        let between = open && connection.streams() == 0 && flow.sent > 0;
        let code_name = |code| Code(code).text();
        let follows = agent::has_next(self.client.agent.as_ref(), ctx.extras, flow);
        match failure(end, open, Code::NO_ERROR.0, Reason::NoHttp3, code_name) {
            _ if flow.has(Flag::Done) || flow.has(Flag::Failed) => {}
            _ if matches!(flow.state, state::END | LEAVING | LEFT) => {}
            // Whoever says nothing for long has gone, too, in good order: nothing was asked that was not answered.
            None | Some((Reason::IdleTimeout, _)) if between && follows && !ctx.shall_end(flow) => {
                self.asking.depart(ctx, flow);
            }
            None | Some((Reason::IdleTimeout, _)) if between => {
                if let Some(all) = self.client.plan.per_connection {
                    let sent = self.client.sent(ctx, flow, self.asking);
                    ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                }
            }
            None => ctx.fail_softly(flow, Reason::ClosedEarly),
            Some((reason, why)) => {
                ctx.counts.detail(&why);
                ctx.fail_softly(flow, reason);
            }
        }
        if matches!(flow.state, LEAVING | LEFT) {
            return;
        }
        if follows && agent::abandon(ctx, flow, self.client.plan.errors_fail) {
            ctx.fail_softly(flow, Reason::Redirect);
        }
        flow.state = state::END;
        ctx.close(flow);
    }
}

impl Source for With<'_> {
    fn fill(&self, body: Body, offset: u64, out: &mut [u8]) {
        Bodies(&self.client.requests).fill(body, offset, out);
    }

    fn lasting(&self, body: Body, offset: u64) -> &'static [u8] {
        Bodies(&self.client.requests).lasting(body, offset)
    }
}

impl Asking {
    /// Whether requests may be sent.
    fn may_send(&self, flow: &Flow) -> bool {
        flow.state == state::OPEN || flow.state == state::CONNECTING && self.early
    }

    /// The connection takes no more requests, and all responses are there: the session is to continue on another one.
    #[cold]
    fn depart(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let again = std::mem::take(&mut self.again) + std::mem::take(&mut self.above);
        agent::agent(ctx.extras, flow).take_back(again);
        agent::depart(ctx, flow, LEAVING);
    }

    /// Whether a response has received no data for this long.
    fn stands_still(&mut self, connection: &Asks, now: Nanos, patience: Nanos) -> bool {
        self.checked = tick(now);
        connection.each().any(|(stream, asked)| {
            debug_assert_eq!(number(stream), asked.number);
            elapsed(asked.touched, now) >= patience
        })
    }
}
