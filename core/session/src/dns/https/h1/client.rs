//! Sends queries one after the other, and reads the responses. Source: RFC 9112.

use super::Kept;
use crate::counts::Reason;
use crate::dns::https::client::{ACCEPT, Requests, end, give_up};
use crate::dns::https::{HttpsLink, MESSAGE, MESSAGE_MAX, TYPE_FIELD};
use crate::flow::{Ctx, Flag, Flow, elapsed, tick};
use crate::http::parse::{self, HINTS_MAX, Step, state};
use crate::http::{Framing, fields, response_head};
use crate::input;
use crate::message::{Message, pieces};

/// A connection of a client.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    kept: Kept,
    /// The query without a complete response: its number, and when it was sent.
    number: u32,
    started: u32,
    /// Something of its response has come; all of its body so far.
    first: bool,
    response: Vec<u8>,
    /// Bytes of interim responses to it.
    hints: u64,
    /// The server closes after the response.
    close: bool,
}

impl Asking {
    pub(in crate::dns::https) fn fill(&self, offset: u64, out: &mut [u8]) {
        self.kept.fill(offset, out);
    }
}

/// A client made ready.
#[derive(Debug)]
pub(in crate::dns::https) struct Client {
    requests: Requests,
    host: Message,
}

/// Does something with a flow's connection.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Asking)) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.doh.take()) else { return };
    if let HttpsLink::Client1(asking) = &mut *link {
        work(ctx, flow, asking);
    }
    ctx.extras.of(flow).doh = Some(link);
}

/// Whether a query has no complete response.
fn is_waiting(flow: &Flow) -> bool {
    flow.waiting > 0 && !flow.has(Flag::Failed)
}

impl Client {
    pub(in crate::dns::https) fn new(requests: Requests) -> Self {
        Self { host: Message::new(pieces(&requests.https.host)), requests }
    }

    pub(in crate::dns::https) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::HEAD;
        ctx.extras.of(flow).doh = Some(Box::new(HttpsLink::Client1(Asking::default())));
        with(ctx, flow, |ctx, flow, asking| self.pump(ctx, flow, asking, false));
    }

    /// Sends what may be sent. `has_turn`: the turn it waited for has come.
    fn pump(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, has_turn: bool) {
        if flow.has(Flag::Failed) || flow.has(Flag::Paused) || flow.state == state::END || flow.waiting > 0 {
            return;
        }
        let waits = flow.has(Flag::Turn) && !has_turn;
        let all_sent = self.requests.plan.per_session.is_some_and(|all| flow.sent >= all);
        let is_over = !all_sent && ctx.shall_end(flow);
        let shall_end = is_over || !all_sent && ctx.has_asked_all();
        let left = asking.close || flow.has(Flag::PeerClosed);
        if all_sent || left || shall_end && (!waits || flow.has(Flag::Stopping)) {
            if is_over {
                flow.set(Flag::Stopped);
            } else if !all_sent && !shall_end {
                self.leave(ctx, flow);
            }
            return end(ctx, flow, state::END);
        }
        if !waits && ctx.may_request(flow) {
            self.send(ctx, flow, asking);
        }
    }

    /// The server ends the connection: queries that were not sent remain.
    fn leave(&self, ctx: &mut Ctx<'_>, flow: &Flow) {
        if let Some(all) = self.requests.plan.per_session {
            ctx.counts.unasked += u64::from(all.saturating_sub(flow.sent));
        }
    }

    fn send(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking) {
        let number = flow.sent;
        let query = self.requests.query(flow, number);
        let mut target = Vec::new();
        self.requests.path(&query, &mut target);
        let vars = self.requests.vars(flow, number);
        let mut host = vec![0; self.host.len(&vars) as usize];
        self.host.write(&vars, 0, &mut host);
        let method = self.requests.https.method.name().as_bytes();
        let (accept, kind) = ACCEPT;
        let mut request = [method, b" ", &target, b" HTTP/1.1\r\nHost: ", &host].concat();
        request.extend_from_slice(format!("\r\n{accept}: {kind}\r\n").as_bytes());
        if !self.requests.is_get {
            let about = format!("{TYPE_FIELD}: {MESSAGE}\r\ncontent-length: {}\r\n", query.len);
            request.extend_from_slice(about.as_bytes());
        }
        request.extend_from_slice(b"\r\n");
        if !self.requests.is_get {
            request.extend_from_slice(query.as_slice());
        }
        asking.kept.push(ctx, &request);
        (asking.number, asking.started, asking.first) = (number, tick(ctx.now), false);
        asking.hints = 0;
        asking.response.clear();
        flow.waiting = 1;
        flow.unacked = 1;
        flow.mark(ctx.now);
        Requests::sent(ctx, flow);
    }

    #[inline]
    pub(in crate::dns::https) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        with(ctx, flow, |ctx, flow, asking| {
            input::feed(ctx, flow, data, |ctx, flow, data| self.process(ctx, flow, asking, data));
        });
    }

    /// Reads as far as it goes; returns how many bytes are used up.
    fn process(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking, data: &[u8]) -> usize {
        let mut used = 0;
        while used < data.len() && flow.state != state::END && !flow.has(Flag::Failed) {
            let rest = &data[used..];
            if flow.waiting == 0 {
                ctx.fail(flow, Reason::UnaskedResponse);
                break;
            }
            let step = match flow.state {
                state::HEAD => self.head(ctx, flow, asking, rest),
                _ => parse::body(ctx.extras, flow, rest).map(|step| match step {
                    Step::More => None,
                    Step::Around(bytes) => Some(bytes),
                    Step::Data(bytes) => {
                        asking.response.extend_from_slice(&rest[..bytes]);
                        Some(bytes)
                    }
                }),
            };
            match step {
                Ok(Some(bytes)) => used += bytes,
                Ok(None) => return used,
                Err(why) => {
                    ctx.counts.detail(why);
                    ctx.fail(flow, Reason::BadResponse);
                    break;
                }
            }
            if asking.response.len() > MESSAGE_MAX {
                ctx.counts.detail("a response longer than a DNS message");
                give_up(ctx, flow, Reason::BadResponse);
            }
            if flow.state == state::COMPLETE && !flow.has(Flag::Failed) {
                self.complete(ctx, flow, asking);
                if used < data.len() && is_waiting(flow) {
                    // Its query has only just been sent.
                    ctx.fail(flow, Reason::UnaskedResponse);
                }
            }
        }
        data.len()
    }

    /// Reads a head; returns its bytes once it is whole.
    fn head(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        asking: &mut Asking,
        data: &[u8],
    ) -> Result<Option<usize>, &'static str> {
        let Some((head, len)) = response_head(data)? else { return Ok(None) };
        if !std::mem::replace(&mut asking.first, true) {
            ctx.counts.ttfb.record(elapsed(asking.started, ctx.now).0);
        }
        let kind = fields(&data[..len]).find(|(name, _)| name.eq_ignore_ascii_case(TYPE_FIELD.as_bytes()));
        match Requests::check_head(ctx, head.status, kind.map(|(_, value)| value)) {
            Err(reason) => give_up(ctx, flow, reason),
            Ok(false) => {
                asking.hints += len as u64;
                if asking.hints > HINTS_MAX {
                    return Err("interim responses without end");
                }
            }
            Ok(true) => {
                asking.close |= head.close || head.framing == Framing::UntilClose;
                let is_bare = matches!(head.status, 204 | 205);
                parse::begin(ctx.extras, flow, if is_bare { Framing::Length(0) } else { head.framing });
            }
        }
        Ok(Some(len))
    }

    /// A response is whole.
    fn complete(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, asking: &mut Asking) {
        let number = (asking.number, asking.started);
        if let Err(reason) = self.requests.check(ctx, flow, number, &asking.response) {
            return give_up(ctx, flow, reason);
        }
        flow.waiting = 0;
        flow.state = state::HEAD;
        if !asking.close {
            self.requests.pause(ctx, flow, flow.sent);
        }
        self.pump(ctx, flow, asking, false);
    }

    pub(in crate::dns::https) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if flow.has(Flag::Failed) {
            return;
        }
        with(ctx, flow, |ctx, flow, asking| {
            if flow.state == state::UNTIL_CLOSE {
                self.complete(ctx, flow, asking);
            }
            if flow.has(Flag::Failed) || flow.state == state::END && flow.has(Flag::Closing) {
                return;
            }
            if is_waiting(flow) || flow.sent == 0 {
                ctx.fail_softly(flow, Reason::ClosedEarly);
            } else if flow.state != state::END {
                self.leave(ctx, flow);
            }
            flow.state = state::END;
            ctx.close(flow);
        });
    }

    #[inline]
    pub(in crate::dns::https) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        with(ctx, flow, |_, flow, asking| {
            asking.kept.acknowledged(offset);
            flow.unacked = u16::from(!asking.kept.bytes.is_empty());
        });
    }

    pub(in crate::dns::https) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, asking| {
            if flow.state == state::END {
                return ctx.end_client(flow);
            }
            if is_waiting(flow) {
                if ctx.has_run_out(flow, ctx.common.patience.response) {
                    ctx.fail(flow, Reason::ResponseTimeout);
                }
                return;
            }
            let has_turn = flow.has(Flag::Turn);
            flow.unset(Flag::Paused);
            self.pump(ctx, flow, asking, has_turn);
        });
    }

    pub(in crate::dns::https) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.waiting == 0 && flow.state != state::END {
            flow.set(Flag::Stopped);
            flow.state = state::END;
            ctx.close(flow);
        }
    }
}
