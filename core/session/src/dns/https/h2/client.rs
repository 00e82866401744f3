//! Sends queries, several at a time, and reads the responses.

use crate::counts::Reason;
use crate::dns::https::client::{ACCEPT, Requests, end, give_up};
use crate::dns::https::{FIELDS, HttpsLink, MESSAGE, MESSAGE_MAX, TYPE_FIELD};
use crate::flow::{Ctx, Flag, Flow, elapsed, tick};
use crate::http::h2::{
    Items, REFUSED_MAX, announced, ask_elsewhere, ended_by, hand_over, is_in_vain, put_number, state,
};
use http2::hpack::{Field, Fields};
use http2::{Body, Code, Connection, Event, Fault, Role};
use units::Nanos;

/// Bytes of a request's fields but the path and the host (RFC 7541 section 4.1), at most.
const OTHER_FIELDS: usize = 300;

/// A connection of a client.
pub(crate) struct Asking {
    connection: Connection<Asked>,
    /// Queries that the server refused, and those in a row.
    again: u32,
    refused: u32,
    /// Time of the last check for a query without a response.
    checked: u32,
    /// The most that may be on its way was.
    full: bool,
    /// The server's settings have been counted.
    noted: bool,
}

/// A query without a complete response.
#[derive(Debug, Default)]
struct Asked {
    number: u32,
    started: u32,
    /// Something of the response has come.
    first: bool,
    /// The response so far.
    response: Vec<u8>,
}

/// A client made ready.
#[derive(Debug)]
pub(in crate::dns::https) struct Client {
    requests: Requests,
    method: Field,
    schemes: [Field; 2],
    host: Items,
    /// The path of a POST, and of a GET.
    path: Field,
    get_path: Field,
    accept: Field,
    content_type: Field,
    length: Field,
    value: Vec<u8>,
    block: Vec<u8>,
}

/// Operates on a flow's connection, and sends its output.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Asking)) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.doh.take()) else { return };
    if let HttpsLink::Client(asking) = &mut *link {
        work(ctx, flow, asking);
        if ctx.ask.close && !ctx.ask.abort {
            asking.connection.go_away(Code::NO_ERROR);
        }
        hand_over(ctx, flow, &mut asking.connection);
    }
    ctx.extras.of(flow).doh = Some(link);
}

impl Client {
    pub(in crate::dns::https) fn new(requests: Requests) -> Self {
        let https = &requests.https;
        let mut fields = Fields::default();
        let mut host = Items::default();
        host.content(&mut fields, ":authority", &https.host);
        Self {
            method: fields.always(":method", https.method.name().as_bytes()),
            schemes: ["http", "https"].map(|scheme| fields.always(":scheme", scheme.as_bytes())),
            host,
            path: fields.always(":path", https.path.as_bytes()),
            get_path: Fields::named(":path"),
            accept: fields.always(ACCEPT.0, ACCEPT.1.as_bytes()),
            content_type: fields.always(TYPE_FIELD, MESSAGE.as_bytes()),
            length: Fields::named("content-length"),
            value: Vec::new(),
            block: Vec::new(),
            requests,
        }
    }

    pub(in crate::dns::https) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::OPEN;
        let mut connection = Connection::new(Role::Client, &announced());
        connection.keep(FIELDS);
        let checked = tick(ctx.now);
        let asking = Asking { connection, again: 0, refused: 0, checked, full: false, noted: false };
        ctx.counts.http2.connections += 1;
        ctx.extras.of(flow).doh = Some(Box::new(HttpsLink::Client(asking)));
        with(ctx, flow, |ctx, flow, asking| self.pump(ctx, flow, asking, false));
    }

    /// Sends what may be sent. `has_turn`: the turn it waited for has come.
    fn pump(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, has_turn: bool) {
        loop {
            if flow.has(Flag::Failed) || flow.has(Flag::Paused) || flow.state == state::END {
                break;
            }
            let open = asking.connection.streams();
            let sent = flow.sent.wrapping_sub(asking.again);
            let waits = flow.has(Flag::Turn) && !has_turn;
            let all_sent = self.requests.plan.per_session.is_some_and(|all| sent >= all);
            let is_over = !all_sent && ctx.shall_end(flow);
            let shall_end = is_over || !all_sent && ctx.has_asked_all();
            let left = asking.connection.left().is_some() || flow.has(Flag::PeerClosed);
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
            asking.full = asking.connection.is_full();
            if waits || asking.full || open >= usize::from(self.requests.plan.streams.max(1)) {
                break;
            }
            if !asking.connection.may_open() || !ctx.may_request(flow) {
                break;
            }
            self.send(ctx, flow, asking);
        }
        asking.connection.flush();
    }

    fn send(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking) {
        let number = flow.sent;
        let query = self.requests.query(flow, number);
        let connection = &mut asking.connection;
        let asked = Asked { number, started: tick(ctx.now), ..Asked::default() };
        let stream = connection.open(asked, false);
        let vars = self.requests.vars(flow, number);
        let (block, value, encoder) = (&mut self.block, &mut self.value, connection.encoder());
        block.clear();
        encoder.begin(block);
        encoder.put(&self.method, block);
        encoder.put(&self.schemes[usize::from(ctx.common.secured)], block);
        let mut size = (self.host.size + self.host.put(encoder, &vars, value, block)) as usize + OTHER_FIELDS;
        self.requests.path(&query, value);
        size += value.len();
        if self.requests.is_get {
            encoder.put_value(&self.get_path, value, block);
        } else {
            encoder.put(&self.path, block);
        }
        encoder.put(&self.accept, block);
        if !self.requests.is_get {
            encoder.put(&self.content_type, block);
            put_number(encoder, &self.length, query.len as u64, block);
        }
        if size > connection.peer_list() as usize {
            ctx.counts
                .detail("the request's fields are more than the server's SETTINGS_MAX_HEADER_LIST_SIZE");
            return ctx.fail(flow, Reason::Http2Protocol);
        }
        connection.send_head(stream, block, self.requests.is_get, 0);
        if !self.requests.is_get {
            connection.send_body(stream, Body { source: 0, number }, query.len as u64, 0);
        }
        Requests::sent(ctx, flow);
        ctx.counts.http2.streams += 1;
    }

    #[inline]
    pub(in crate::dns::https) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        let mut input = data;
        with(ctx, flow, |ctx, flow, asking| {
            while !flow.has(Flag::Failed) {
                match asking.connection.read((ctx.now.0 / 1_000_000_000) as u32, &mut input) {
                    Ok(None) => break,
                    Ok(Some(event)) => self.heard(ctx, flow, asking, event),
                    Err(fault) => {
                        Self::broken(ctx, flow, fault);
                        break;
                    }
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
        give_up(ctx, flow, reason);
    }

    fn heard(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, event: Event<'_, Asked>) {
        match event {
            Event::Head { stream, end } => self.head(ctx, flow, asking, stream, end),
            Event::Data { stream, bytes, end } => {
                let Some(asked) = asking.connection.data(stream) else { return };
                if asked.response.len() + bytes.len() > MESSAGE_MAX {
                    ctx.counts.detail("a response longer than a DNS message");
                    return give_up(ctx, flow, Reason::BadResponse);
                }
                asked.response.extend_from_slice(bytes);
                if end {
                    self.complete(ctx, flow, asking, stream);
                }
            }
            Event::Trailers { stream } => self.complete(ctx, flow, asking, stream),
            Event::Reset { code, data } => Self::reset(ctx, flow, asking, code, &data),
            Event::Broken { why, .. } => {
                ctx.counts.detail(why);
                give_up(ctx, flow, Reason::BadResponse);
            }
            Event::GoAway { last, code } => {
                ctx.counts.http2.goaways += 1;
                let above = asking.connection.forget_above(last);
                let in_vain = is_in_vain(flow.sent.wrapping_sub(asking.again), above.len());
                above.into_iter().for_each(|asked| ask_elsewhere(ctx, asked.started, 0));
                if let Some(why) = ended_by(code, in_vain).filter(|_| !flow.has(Flag::Done)) {
                    ctx.counts.detail(&why);
                    give_up(ctx, flow, Reason::GoAway);
                }
            }
            Event::Refused | Event::Room => {}
        }
    }

    #[cold]
    fn reset(ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, code: Code, asked: &Asked) {
        ctx.counts.http2.resets += 1;
        asking.refused += 1;
        if code == Code::REFUSED_STREAM && asking.refused <= REFUSED_MAX {
            asking.again += 1;
            return ask_elsewhere(ctx, asked.started, 0);
        }
        ctx.counts.detail(&format!("RST_STREAM: {}", code.name()));
        give_up(ctx, flow, Reason::StreamReset);
    }

    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, stream: u32, end: bool) {
        let head = asking.connection.head();
        let checked = Requests::check_head(ctx, head.status, head.value(TYPE_FIELD));
        let Some(asked) = asking.connection.data(stream) else { return };
        if !std::mem::replace(&mut asked.first, true) {
            ctx.counts.ttfb.record(elapsed(asked.started, ctx.now).0);
        }
        match checked {
            Err(reason) => return give_up(ctx, flow, reason),
            Ok(false) => return,
            Ok(true) => asking.refused = 0,
        }
        if end {
            self.complete(ctx, flow, asking, stream);
        }
    }

    /// A response is whole.
    fn complete(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, stream: u32) {
        let Some(asked) = asking.connection.take(stream) else { return };
        let number = (asked.number, asked.started);
        if let Err(reason) = self.requests.check(ctx, flow, number, &asked.response) {
            return give_up(ctx, flow, reason);
        }
        if asking.connection.streams() == 0 && asking.connection.left().is_none() {
            self.requests.pause(ctx, flow, flow.sent.wrapping_sub(asking.again));
        }
    }

    pub(in crate::dns::https) fn finished(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if flow.has(Flag::Failed) {
            return;
        }
        with(ctx, flow, |ctx, flow, asking| {
            if flow.state != state::END {
                let sent = flow.sent.wrapping_sub(asking.again);
                if asking.connection.streams() > 0 || flow.sent == 0 {
                    ctx.fail_softly(flow, Reason::ClosedEarly);
                } else if let Some(all) = self.requests.plan.per_session {
                    ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                }
            }
            flow.state = state::END;
            ctx.close(flow);
        });
    }

    #[inline]
    pub(in crate::dns::https) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
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

    pub(in crate::dns::https) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, asking| {
            if flow.state == state::END {
                return ctx.end_client(flow);
            }
            let patience = ctx.common.patience.response;
            // With a rate it is woken for each query, and does not look at all of them each time.
            let was_checked = Nanos(elapsed(asking.checked, ctx.now).0 * 4);
            let has_turn = flow.has(Flag::Turn);
            let is_late = patience.is_some_and(|patience| {
                (!has_turn || was_checked >= patience) && asking.oldest(ctx.now) >= Some(patience)
            });
            if is_late {
                return ctx.fail(flow, Reason::ResponseTimeout);
            }
            flow.unset(Flag::Paused);
            self.pump(ctx, flow, asking, has_turn);
            if let (Some(patience), false) = (patience, flow.has(Flag::Armed))
                && let Some(oldest) = asking.oldest(ctx.now)
            {
                let rest = patience.since(oldest).0.max(1 << 10);
                ctx.wake_at(flow, ctx.now.saturating_add(Nanos(rest)));
            }
        });
    }

    pub(in crate::dns::https) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, asking| {
            if asking.connection.streams() == 0 {
                flow.set(Flag::Stopped);
                flow.state = state::END;
                ctx.close(flow);
            }
        });
    }

    pub(in crate::dns::https) fn fill(&self, asking: &Asking, flow: &Flow, offset: u64, out: &mut [u8]) {
        asking.connection.fill(offset, out, |body, offset, out| {
            let query = self.requests.query(flow, body.number);
            out.copy_from_slice(&query.as_slice()[offset as usize..][..out.len()]);
        });
    }
}

impl Asking {
    /// Time for which the oldest query has had no response; none if there is no such query.
    fn oldest(&mut self, now: Nanos) -> Option<Nanos> {
        self.checked = tick(now);
        self.connection.open_streams().map(|(_, asked)| elapsed(asked.started, now)).max()
    }
}
