//! Sends queries, several at a time, and reads the responses.

use super::connection::{Connection, Event};
use super::{QuicLink, broken, code};
use crate::counts::Reason;
use crate::dns::client::Queries;
use crate::dns::plan::DnsPlan;
use crate::dns::wire;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow, elapsed, tick};
use crate::quic::link::{self, Link, give_up, state};
use crate::quic::{Due, QuicEnd, failure};
use crate::vary::Delay;
use std::sync::Arc;
use tcp::End;
use units::Nanos;

/// Additional state of a client's connection.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    /// Queries may be sent, although the handshake is not done.
    early: bool,
    /// Time of the last check for a query without a response.
    checked: u32,
}

/// A query without a response.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    number: u32,
    started: u32,
    /// Something of the response has come.
    first: bool,
}

/// A client made ready. A flow's `sent` is the number of its next query.
#[derive(Debug)]
pub(crate) struct Client {
    plan: Arc<DnsPlan>,
    queries: Queries,
    /// Whether queries are sent in early data where it is allowed: all may be repeated (RFC 9250 section 4.5).
    early_data: bool,
}

type Asks = Connection<Asked>;

/// Does something with a flow's connection.
fn with(
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Asks, &mut Asking),
) {
    link::with(ctx, flow, |ctx, flow, link| {
        if let Link::Dns(QuicLink::Client(connection, asking)) = link {
            work(ctx, flow, connection, asking);
            if !flow.has(Flag::Failed) {
                flow.waiting = connection.streams().min(255) as u8;
            }
        }
    });
}

impl Client {
    pub(crate) fn new(plan: Arc<DnsPlan>, early_data: bool) -> Self {
        Self { queries: Queries::new(&plan), plan, early_data }
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == state::PATH {
            return link::keep_path(ctx, flow);
        }
        let Some(quic) = link::connect(ctx, flow) else { return };
        let early = self.early_data && quic.has_early_keys();
        let connection = Box::new(Connection::new(true, quic, ctx.now, 0));
        let link = QuicLink::Client(connection, Asking { early, ..Asking::default() });
        ctx.extras.of(flow).quic = Some(Box::new(Link::Dns(link)));
        link::await_handshake(ctx, flow);
        if early {
            with(ctx, flow, |ctx, flow, connection, asking| self.pump(ctx, flow, connection, asking, false));
        }
    }

    /// Sends what may be sent. `has_turn`: the turn it waited for has come.
    fn pump(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Asks,
        asking: &Asking,
        has_turn: bool,
    ) {
        loop {
            let may_send = flow.state == state::OPEN || flow.state == state::CONNECTING && asking.early;
            if flow.has(Flag::Failed) || flow.has(Flag::Paused) || !may_send {
                break;
            }
            let waits = flow.has(Flag::Turn) && !has_turn;
            let all_sent = self.plan.per_session.is_some_and(|all| flow.sent >= all);
            let is_over = !all_sent && ctx.shall_end(flow);
            let shall_end = is_over || !all_sent && ctx.has_asked_all();
            if asking.early && (all_sent || shall_end) {
                break;
            }
            if all_sent || shall_end && (!waits || flow.has(Flag::Stopping)) {
                if connection.streams() == 0 {
                    if is_over {
                        flow.set(Flag::Stopped);
                    }
                    Self::end(ctx, flow);
                }
                break;
            }
            if waits || connection.streams() >= usize::from(self.plan.streams.max(1)) {
                break;
            }
            if !connection.may_open() || !ctx.may_request(flow) {
                break;
            }
            let asked = Asked { number: flow.sent, started: tick(ctx.now), first: false };
            self.send(ctx, flow, connection, asked);
            flow.sent = flow.sent.wrapping_add(1);
            ctx.counts.requests += 1;
            ctx.counts.quic.early_requests += u64::from(asking.early);
        }
    }

    fn send(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, asked: Asked) {
        let Some(stream) = connection.open(asked) else { return };
        let query = self.queries.query(flow.number, asked.number, 0, true);
        connection.send(ctx, stream, query.as_slice());
        ctx.arm(flow, ctx.common.patience.response);
    }

    /// All queries have responses.
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
            connection.carried.receive(ctx, datagram);
            self.go_on(ctx, flow, connection, asking, false);
        });
    }

    /// Handles events, and acts on them.
    fn go_on(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Asks,
        asking: &mut Asking,
        has_turn: bool,
    ) {
        while let Some(event) = connection.next(ctx, flow) {
            match event {
                Event::Connected => self.connected(ctx, flow, connection, asking),
                Event::Begun(stream) => Self::begun(ctx, connection, stream),
                Event::Message(stream, message) => self.answer(ctx, flow, connection, stream, &message),
                Event::Delivered(_) => {}
                Event::GivenUp { stops: true, .. } => {
                    broken(ctx, flow, connection, "STOP_SENDING: a query was not wanted");
                }
                Event::GivenUp { stream, code, .. } => {
                    connection.cancel(stream);
                    ctx.counts.detail(&format!("RESET_STREAM: {}", code::name(code)));
                    give_up(ctx, flow, Reason::StreamReset);
                }
                Event::Broken(why) => broken(ctx, flow, connection, why),
                Event::Lost(end) => self.lost(ctx, flow, connection, &end),
            }
        }
        if !connection.carried.is_over() {
            self.pump(ctx, flow, connection, asking, has_turn);
        }
    }

    fn connected(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, asking: &mut Asking) {
        flow.state = state::OPEN;
        asking.checked = tick(ctx.now);
        if !std::mem::take(&mut asking.early) {
            return;
        }
        if connection.carried.quic.is_early_accepted() {
            ctx.counts.quic.early_data_accepted += 1;
            return;
        }
        ctx.counts.quic.early_data_rejected += 1;
        for asked in connection.begin_anew() {
            ctx.counts.dns_retries += 1;
            self.send(ctx, flow, connection, asked);
        }
    }

    /// The first bytes of a response.
    fn begun(ctx: &mut Ctx<'_>, connection: &mut Asks, stream: u64) {
        if let Some(asked) = connection.data(stream)
            && !std::mem::replace(&mut asked.first, true)
        {
            ctx.counts.ttfb.record(elapsed(asked.started, ctx.now).0);
        }
    }

    fn answer(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, stream: u64, message: &[u8]) {
        Self::begun(ctx, connection, stream);
        let Some(asked) = connection.take(ctx, stream) else { return };
        let query = self.queries.query(flow.number, asked.number, 0, false);
        let answer = match wire::answer(message, query.as_slice()) {
            Ok(answer) => answer,
            Err(wrong) => {
                ctx.counts.detail(wrong);
                return give_up(ctx, flow, Reason::BadResponse);
            }
        };
        if answer.id != 0 {
            return broken(ctx, flow, connection, "a response with an identifier other than 0");
        }
        if wire::has_keepalive(message) {
            return broken(ctx, flow, connection, "a response with the option edns-tcp-keepalive");
        }
        ctx.counts.dns_truncated += u64::from(answer.truncated);
        ctx.counts.ttlb.record(elapsed(asked.started, ctx.now).0);
        ctx.counts.transactions += 1;
        ctx.counts.dns[usize::from(answer.code & 15)] += 1;
        if answer.code != 0 && self.plan.errors_fail {
            return give_up(ctx, flow, Reason::DnsCode);
        }
        let done = self.plan.per_session.is_some_and(|all| flow.sent >= all);
        if connection.streams() == 0 && self.plan.think != Delay::NONE && !done {
            let think = self.plan.think.value(u64::from(flow.number), u64::from(flow.sent));
            let mut end = ctx.now.saturating_add(think);
            if ctx.common.up.is_some() {
                end = end.min(flow.up_end(ctx.now));
            }
            flow.set(Flag::Paused);
            ctx.wake_at(flow, end);
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
            self.due(ctx, flow, connection, asking);
        });
    }

    /// The client wanted to be woken now.
    fn due(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, asking: &mut Asking) {
        let patience = ctx.common.patience.response;
        let has_turn = flow.has(Flag::Turn);
        // With a rate it is woken for each query, and does not look at all of them each time.
        let was_checked = Nanos(elapsed(asking.checked, ctx.now).0 * 4);
        if let Some(patience) = patience.filter(|patience| !has_turn || was_checked >= *patience) {
            asking.checked = tick(ctx.now);
            let late = connection.each().find(|(_, asked, _)| elapsed(asked.started, ctx.now) >= patience);
            if let Some((_, _, is_whole)) = late {
                if is_whole {
                    return broken(ctx, flow, connection, "a response without the end of its stream");
                }
                return give_up(ctx, flow, Reason::ResponseTimeout);
            }
        }
        flow.unset(Flag::Paused);
        self.go_on(ctx, flow, connection, asking, has_turn);
        if let Some(patience) = patience
            && connection.streams() > 0
            && !flow.has(Flag::Armed)
        {
            let oldest = connection.each().map(|(_, asked, _)| elapsed(asked.started, ctx.now)).max();
            let rest = patience.since(oldest.unwrap_or(Nanos::ZERO)).0.max(1 << 10);
            ctx.wake_at(flow, ctx.now.saturating_add(Nanos(rest)));
        }
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

    #[cold]
    fn lost(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Asks, end: &QuicEnd) {
        flow.set(Flag::PeerClosed);
        let open = flow.state != state::CONNECTING;
        let between = open && connection.streams() == 0 && flow.sent > 0;
        match failure(end, open, code::NO_ERROR, Reason::NoDoq, code::name) {
            _ if flow.has(Flag::Done) || flow.state == state::END => {}
            // Whoever says nothing for long has gone, too, in good order: every query has its response.
            None | Some((Reason::IdleTimeout, _)) if between => {
                if let Some(all) = self.plan.per_session {
                    ctx.counts.unasked += u64::from(all.saturating_sub(flow.sent));
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

    /// A connection ends by itself, not by its flow.
    pub(crate) fn finished(&self, _: &mut Ctx<'_>, _: &mut Flow) {}

    /// Datagrams are not acknowledged.
    pub(crate) fn acknowledged(&self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) {}

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        flow.waiting > 0
    }

    pub(crate) fn is_complete(flow: &Flow, _: End) -> bool {
        flow.has(Flag::Done)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        link::fill(flow, extras, offset, out);
    }
}
