//! Sends queries, several at a time, and reads the responses.

use super::Link;
use crate::counts::Reason;
use crate::dns::https::client::{ACCEPT, Requests, end};
use crate::dns::https::{FIELDS, MESSAGE, MESSAGE_MAX, TYPE_FIELD};
use crate::flow::{Ctx, Flag, Flow, elapsed, tick};
use crate::http::h2::{REFUSED_MAX, is_in_vain};
use crate::http::h3::connection::{Body, Connection, Handler, Nothing, Source};
use crate::http::h3::{Items, TOO_EARLY, note_goaways};
use crate::quic::link::{self, Link as AnyLink, give_up, state};
use crate::quic::{Due, QuicEnd, failure};
use http3::qpack::{self, Field};
use http3::{Code, Fault, Role};
use units::Nanos;

/// Additional state of a client's connection.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    /// Queries that the server refused, and those in a row.
    again: u32,
    refused: u32,
    /// Time of the last check for a query without a response.
    checked: u32,
    goaways: u64,
    /// Queries may be sent, although the handshake is not done.
    early: bool,
}

/// A query without a complete response.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    number: u32,
    started: u32,
    /// Something of the response has come.
    first: bool,
    /// It was sent before the handshake was done.
    early: bool,
    /// The response so far.
    response: Vec<u8>,
}

type Asks = Connection<Asked>;

/// A client made ready.
#[derive(Debug)]
pub(in crate::dns::https) struct Client {
    requests: Requests,
    /// Whether queries are sent in early data where it is allowed: those by GET, which may be repeated (RFC 8470 section 3).
    early_data: bool,
    method: Field,
    scheme: Field,
    host: Items,
    path: Field,
    accept: Field,
    content_type: Field,
    length: Field,
    value: Vec<u8>,
    block: Vec<u8>,
}

/// A client's operations on one connection.
struct With<'a> {
    requests: &'a Requests,
    asking: &'a mut Asking,
}

/// Does something with a flow's connection.
fn with(
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Asks, &mut Asking),
) {
    link::with(ctx, flow, |ctx, flow, link| {
        if let AnyLink::Doh(Link::Client(connection, asking)) = link {
            work(ctx, flow, connection, asking);
            if !flow.has(Flag::Failed) {
                flow.waiting = connection.streams().min(255) as u8;
            }
        }
    });
}

/// A query that the server did not process: it counts as not sent, and is repeated.
fn ask_elsewhere(ctx: &mut Ctx<'_>) {
    ctx.counts.http3.unprocessed += 1;
    if let Some(left) = &mut ctx.pacers.left {
        *left += 1;
    }
}

impl Client {
    pub(in crate::dns::https) fn new(requests: Requests, early_data: bool) -> Self {
        let https = &requests.https;
        let mut host = Items::default();
        host.content(":authority", &https.host);
        Self {
            method: Field::always(":method", https.method.name().as_bytes()),
            scheme: Field::always(":scheme", b"https"),
            host,
            path: Field::named(":path"),
            accept: Field::always(ACCEPT.0, ACCEPT.1.as_bytes()),
            content_type: Field::always(TYPE_FIELD, MESSAGE.as_bytes()),
            length: Field::named("content-length"),
            value: Vec::new(),
            block: Vec::new(),
            early_data: early_data && requests.is_get,
            requests,
        }
    }

    pub(in crate::dns::https) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == state::PATH {
            return link::keep_path(ctx, flow);
        }
        let Some(quic) = link::connect(ctx, flow) else { return };
        let early = self.early_data && quic.has_early_keys();
        let mut connection = Box::new(Connection::new(Role::Client, quic, ctx.now, 0));
        connection.head.keep(FIELDS);
        let link = Link::Client(connection, Asking { early, ..Asking::default() });
        ctx.extras.of(flow).quic = Some(Box::new(AnyLink::Doh(link)));
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
            let may_send = flow.state == state::OPEN || flow.state == state::CONNECTING && asking.early;
            if flow.has(Flag::Failed) || flow.has(Flag::Paused) || !may_send {
                break;
            }
            let open = connection.streams();
            let sent = flow.sent.wrapping_sub(asking.again);
            let waits = flow.has(Flag::Turn) && !has_turn;
            let all_sent = self.requests.plan.per_session.is_some_and(|all| sent >= all);
            let is_over = !all_sent && ctx.shall_end(flow);
            let shall_end = is_over || !all_sent && ctx.has_asked_all();
            let left = connection.goaway().0.is_some();
            if asking.early && (all_sent || shall_end) {
                break;
            }
            if all_sent || left || shall_end && (!waits || flow.has(Flag::Stopping)) {
                if open == 0 {
                    if is_over {
                        flow.set(Flag::Stopped);
                    } else if !all_sent && !shall_end {
                        let all = self.requests.plan.per_session.unwrap_or(sent);
                        ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                    }
                    end(ctx, flow, state::END);
                }
                break;
            }
            if waits || open >= usize::from(self.requests.plan.streams.max(1)) {
                break;
            }
            if !connection.may_open() || !ctx.may_request(flow) {
                break;
            }
            self.send(ctx, flow, connection, asking.early);
        }
    }

    fn send(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, early: bool) {
        let number = flow.sent;
        let query = self.requests.query(flow, number);
        let asked = Asked { number, started: tick(ctx.now), early, ..Asked::default() };
        let Some(stream) = connection.open(asked, false) else { return };
        let (block, value, vars) = (&mut self.block, &mut self.value, self.requests.vars(flow, number));
        block.clear();
        qpack::begin(block);
        self.method.put(block);
        self.scheme.put(block);
        self.host.put(&vars, value, block);
        self.requests.path(&query, value);
        self.path.put_value(value, block);
        self.accept.put(block);
        if !self.requests.is_get {
            self.content_type.put(block);
            self.length.put_value(query.len.to_string().as_bytes(), block);
        }
        // Fields written out have an overhead beside their bytes (RFC 9114 section 4.2.2).
        if block.len() as u64 + 8 * u64::from(qpack::OVERHEAD) > connection.peer_list() {
            ctx.counts
                .detail("the request's fields are more than the server's SETTINGS_MAX_FIELD_SECTION_SIZE");
            return give_up(ctx, flow, Reason::Http3Protocol);
        }
        connection.put(stream, block, (Body::default(), false));
        if !self.requests.is_get {
            connection.push(stream, query.as_slice());
        }
        connection.end_with(stream);
        connection.write(ctx, stream, &Nothing);
        ctx.counts.http3.streams += 1;
        ctx.counts.quic.early_requests += u64::from(early);
        Requests::sent(ctx, flow);
    }

    #[inline]
    pub(in crate::dns::https) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
        if flow.state == state::PATH {
            return link::received_path(ctx, flow, datagram);
        }
        flow.set(Flag::Progress);
        with(ctx, flow, |ctx, flow, connection, asking| {
            connection.carried.receive(ctx, datagram);
            self.go_on(ctx, flow, connection, asking, false);
        });
    }

    /// Handles events, and acts on them.
    fn go_on(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Asks,
        asking: &mut Asking,
        has_turn: bool,
    ) {
        connection.listen(ctx, flow, &mut With { requests: &self.requests, asking });
        if connection.carried.is_over() {
            return;
        }
        if heed_goaway(ctx, flow, connection, asking) {
            return give_up(ctx, flow, Reason::GoAway);
        }
        self.pump(ctx, flow, connection, asking, has_turn);
    }

    /// A connection ends by itself, not by its flow.
    pub(in crate::dns::https) fn finished(&self, _: &mut Ctx<'_>, _: &mut Flow) {}

    /// Datagrams are not acknowledged.
    pub(in crate::dns::https) fn acknowledged(&self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) {}

    pub(in crate::dns::https) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
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
            // With a rate it is woken for each query, and does not look at all of them each time.
            let was_checked = Nanos(elapsed(asking.checked, ctx.now).0 * 4);
            let has_turn = flow.has(Flag::Turn);
            let is_late = patience.is_some_and(|patience| {
                (!has_turn || was_checked >= patience)
                    && oldest(connection, asking, ctx.now) >= Some(patience)
            });
            if is_late {
                return give_up(ctx, flow, Reason::ResponseTimeout);
            }
            flow.unset(Flag::Paused);
            self.go_on(ctx, flow, connection, asking, has_turn);
            if let (Some(patience), false) = (patience, flow.has(Flag::Armed))
                && let Some(oldest) = oldest(connection, asking, ctx.now)
            {
                let rest = patience.since(oldest).0.max(1 << 10);
                ctx.wake_at(flow, ctx.now.saturating_add(Nanos(rest)));
            }
        });
    }

    pub(in crate::dns::https) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, connection, _| {
            if flow.state == state::OPEN && connection.streams() == 0 {
                flow.set(Flag::Stopped);
                flow.state = state::END;
                ctx.close(flow);
            }
        });
    }
}

impl With<'_> {
    /// The server wants a query again after the handshake (RFC 8470 section 5.2).
    #[cold]
    fn repeat(&mut self, ctx: &mut Ctx<'_>, connection: &mut Asks, stream: u64) {
        ctx.counts.http[usize::from(TOO_EARLY / 100) - 1] += 1;
        ctx.counts.quic.too_early += 1;
        connection.refuse(stream, Code::REQUEST_CANCELLED);
        self.asking.again += 1;
        ask_elsewhere(ctx);
    }
}

/// Time for which the oldest query has had no response; none if there is no such query.
fn oldest(connection: &Asks, asking: &mut Asking, now: Nanos) -> Option<Nanos> {
    asking.checked = tick(now);
    connection.each().map(|(_, asked)| elapsed(asked.started, now)).max()
}

impl Source for With<'_> {
    fn fill(&self, body: Body, offset: u64, out: &mut [u8]) {
        Nothing.fill(body, offset, out);
    }
}

/// Takes queries back that a server does not process which ends the connection; returns whether the session was in vain.
fn heed_goaway(ctx: &mut Ctx<'_>, flow: &Flow, connection: &mut Asks, asking: &mut Asking) -> bool {
    let (first, goaways) = connection.goaway();
    if goaways == asking.goaways {
        return false;
    }
    note_goaways(ctx.counts, &mut asking.goaways, goaways);
    let above = connection.forget_from(first.unwrap_or(u64::MAX));
    let in_vain = is_in_vain(flow.sent.wrapping_sub(asking.again), above.len()) && !flow.has(Flag::Done);
    above.iter().for_each(|_| ask_elsewhere(ctx));
    if in_vain {
        ctx.counts.detail("GOAWAY: no request was processed");
    }
    in_vain
}

impl Handler<Asked> for With<'_> {
    fn connected(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks) {
        flow.state = state::OPEN;
        self.asking.checked = tick(ctx.now);
        if !std::mem::take(&mut self.asking.early) {
            return;
        }
        if connection.carried.quic.is_early_accepted() {
            ctx.counts.quic.early_data_accepted += 1;
            return;
        }
        // All that was sent is lost, and sent again.
        ctx.counts.quic.early_data_rejected += 1;
        connection.begin_anew().iter().for_each(|_| ask_elsewhere(ctx));
        flow.sent = 0;
        connection.write_control();
    }

    fn begun(&mut self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) -> Option<Asked> {
        None
    }

    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, stream: u64) {
        let head = &connection.head;
        if head.is_too_large {
            ctx.counts.detail("a header list that is too large");
            return give_up(ctx, flow, Reason::BadResponse);
        }
        if head.status == TOO_EARLY && connection.data(stream).is_some_and(|asked| asked.early) {
            return self.repeat(ctx, connection, stream);
        }
        let head = &connection.head;
        let checked = Requests::check_head(ctx, head.status, head.value(TYPE_FIELD));
        let Some(asked) = connection.data(stream) else { return };
        if !std::mem::replace(&mut asked.first, true) {
            ctx.counts.ttfb.record(elapsed(asked.started, ctx.now).0);
        }
        match checked {
            Err(reason) => give_up(ctx, flow, reason),
            Ok(false) => {}
            Ok(true) => self.asking.refused = 0,
        }
    }

    fn data(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, stream: u64, bytes: &[u8]) {
        let Some(asked) = connection.data(stream) else { return };
        if asked.response.len() + bytes.len() > MESSAGE_MAX {
            ctx.counts.detail("a response longer than a DNS message");
            return give_up(ctx, flow, Reason::BadResponse);
        }
        asked.response.extend_from_slice(bytes);
    }

    fn end(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, stream: u64) {
        let Some(asked) = connection.take(ctx, stream) else { return };
        let number = (asked.number, asked.started);
        if let Err(reason) = self.requests.check(ctx, flow, number, &asked.response) {
            return give_up(ctx, flow, reason);
        }
        if connection.streams() == 0 && connection.goaway().0.is_none() {
            self.requests.pause(ctx, flow, flow.sent.wrapping_sub(self.asking.again));
        }
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
            // The response may come nevertheless (RFC 9114 section 4.1).
            return;
        }
        connection.refuse(stream, Code::REQUEST_CANCELLED);
        ctx.counts.http3.resets += 1;
        self.asking.refused += 1;
        if code == Code::REQUEST_REJECTED && self.asking.refused <= REFUSED_MAX {
            self.asking.again += 1;
            return ask_elsewhere(ctx);
        }
        ctx.counts.detail(&format!("RESET_STREAM: {}", code.text()));
        give_up(ctx, flow, Reason::StreamReset);
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
        if open && heed_goaway(ctx, flow, connection, self.asking) {
            ctx.fail_softly(flow, Reason::GoAway);
        }
        let between = open && connection.streams() == 0 && flow.sent > 0;
        let code_name = |code| Code(code).text();
        match failure(end, open, Code::NO_ERROR.0, Reason::NoHttp3, code_name) {
            _ if flow.has(Flag::Done) || flow.has(Flag::Failed) || flow.state == state::END => {}
            // Whoever says nothing for long has gone, too, in good order: nothing was asked that was not answered.
            None | Some((Reason::IdleTimeout, _)) if between => {
                if let Some(all) = self.requests.plan.per_session {
                    let sent = flow.sent.wrapping_sub(self.asking.again);
                    ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                }
            }
            None => ctx.fail_softly(flow, Reason::ClosedEarly),
            Some((reason, why)) => {
                ctx.counts.detail(&why);
                ctx.fail_softly(flow, reason);
            }
        }
        flow.state = state::END;
        ctx.close(flow);
    }
}
