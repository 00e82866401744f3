//! Sends queries, and reads the responses.

use super::plan::{DnsPlan, DnsQuery};
use super::wire::{self, Form, Query};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::input;
use crate::message::{Message, Vars};
use crate::plan::Carrier;
use crate::turns::Turns;
use crate::vary::{Delay, turn};
use std::sync::Arc;
use tcp::End;
use units::Nanos;

const ASKED: u8 = 1;
const THINK: u8 = 2;
const TURN: u8 = 3;
const END: u8 = 4;
/// Waiting to continue on a flow of the other carrier.
const LEAVING: u8 = 5;
/// It has come from a flow of the other carrier.
const ARRIVING: u8 = 6;
/// The session continues elsewhere; the rest of the flow is ignored.
const GONE: u8 = 7;

/// Names longer than this are no names.
const TEXT_MAX: usize = 256;

/// Queries made ready, over whatever they go.
#[derive(Debug)]
pub(super) struct Queries {
    plan: Arc<DnsPlan>,
    names: Vec<Message>,
    turns: Turns,
}

impl Queries {
    pub(super) fn new(plan: &Arc<DnsPlan>) -> Self {
        let names = plan.queries.iter().map(|(query, _)| Message::of(&query.name)).collect();
        let weights: Vec<u32> = plan.queries.iter().map(|(_, weight)| *weight).collect();
        Self { names, turns: Turns::new(&weights, plan.order), plan: plan.clone() }
    }

    /// Query `number` of a session, with an identifier; `sized`: its length comes first.
    pub(super) fn query(&self, session: u32, number: u32, id: u16, sized: bool) -> Query {
        let (session, request) = (u64::from(session), u64::from(number));
        let turn = turn(session, request, self.plan.per_session.map(u64::from));
        let index = self.turns.pick(turn);
        let vars = Vars { session, request, turn, body: 0, seconds: 0 };
        let mut name = [0; TEXT_MAX];
        let len = self.names[index].write(&vars, 0, &mut name);
        let DnsQuery { kind, recursion, edns_bytes, .. } = self.plan.queries[index].0;
        let form = Form { sized, padded: self.plan.padding };
        Query::new(id, &name[..len], kind, recursion, edns_bytes, form)
    }
}

/// A client made ready. A flow's `step` is the number of its query, `waiting` how often it was sent again.
#[derive(Debug)]
pub(crate) struct Client {
    plan: Arc<DnsPlan>,
    queries: Queries,
    tcp: bool,
}

impl Client {
    pub(crate) fn new(plan: Arc<DnsPlan>, tcp: bool) -> Self {
        Self { queries: Queries::new(&plan), plan, tcp }
    }

    /// Whether a flow is TCP's: all are, or this one is, because a response was truncated.
    fn is_tcp(&self, flow: &Flow) -> bool {
        self.tcp || Self::is_by_tcp(flow)
    }

    /// Whether a session that began over UDP is on TCP for now.
    pub(crate) fn is_by_tcp(flow: &Flow) -> bool {
        flow.has(Flag::BY_TCP)
    }

    /// Whether a flow takes up a session that began on another.
    pub(crate) fn is_arriving(flow: &Flow) -> bool {
        flow.state == ARRIVING
    }

    /// Whether the session of a flow continues on another.
    pub(crate) fn is_gone(flow: &Flow) -> bool {
        flow.state == GONE
    }

    /// State that a session takes to a flow of the other carrier, if it waits for that.
    pub(crate) fn leave(flow: &mut Flow) -> Option<Flow> {
        if flow.state != LEAVING {
            return None;
        }
        let mut next = flow.successor();
        next.state = ARRIVING;
        if !Self::is_by_tcp(flow) {
            next.set(Flag::BY_TCP);
        }
        flow.state = GONE;
        flow.set(Flag::Done);
        flow.set(Flag::Closing);
        Some(next)
    }

    fn query(&self, flow: &Flow, tcp: bool) -> Query {
        let id = random::word(random::key(u64::from(flow.number)), u64::from(flow.step)) as u16;
        self.queries.query(flow.number, flow.step, id, tcp)
    }

    pub(crate) fn opened(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        match flow.state {
            ARRIVING if Self::is_by_tcp(flow) => {
                flow.state = ASKED;
                ctx.counts.dns_over_tcp += 1;
                self.ask(ctx, flow);
                ctx.arm(flow, Some(self.patience(ctx, flow)));
            }
            ARRIVING => self.go_on(ctx, flow),
            _ => self.pump(ctx, flow),
        }
    }

    fn all_asked(&self, flow: &Flow) -> bool {
        self.plan.per_session.is_some_and(|all| flow.step >= all)
    }

    fn pump(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let all = self.all_asked(flow);
        if all || ctx.shall_end(flow) || flow.has(Flag::PeerClosed) {
            if !all {
                flow.set(Flag::Stopped);
            }
            flow.state = END;
            return ctx.end_client(flow);
        }
        if !ctx.may_request(flow) {
            flow.state = TURN;
            return;
        }
        flow.state = ASKED;
        flow.waiting = 0;
        flow.mark(ctx.now);
        ctx.counts.requests += 1;
        self.ask(ctx, flow);
        ctx.arm(flow, Some(self.patience(ctx, flow)));
    }

    /// Sends the query, for the first time or again.
    fn ask(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let len = self.query(flow, self.is_tcp(flow)).len;
        ctx.send(flow, len as u64);
    }

    /// Time from the first transmission of the query to the end of the wait for its response, for the current number of
    /// transmissions.
    fn patience(&self, ctx: &Ctx<'_>, flow: &Flow) -> Nanos {
        let whole = ctx.common.patience.response.unwrap_or(Nanos::MAX);
        if self.is_tcp(flow) || self.plan.retries == 0 {
            return whole;
        }
        Nanos(self.plan.retry_after.0.saturating_mul(u64::from(flow.waiting) + 1)).min(whole)
    }

    pub(crate) fn received(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        if !self.is_tcp(flow) {
            return self.answer(ctx, flow, data);
        }
        input::feed(ctx, flow, data, |ctx, flow, data| {
            let mut used = 0;
            while let Some((len, rest)) = data[used..].split_first_chunk::<2>() {
                let len = usize::from(u16::from_be_bytes(*len));
                let Some(message) = rest.get(..len) else { break };
                self.answer(ctx, flow, message);
                used += 2 + len;
            }
            used
        });
    }

    fn answer(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, bytes: &[u8]) {
        if flow.has(Flag::Failed) || flow.state != ASKED {
            return;
        }
        let query = self.query(flow, false);
        let answer = match wire::answer(bytes, query.as_slice()) {
            Ok(answer) => answer,
            Err(wrong) => {
                ctx.counts.detail(wrong);
                return ctx.fail(flow, Reason::BadResponse);
            }
        };
        if answer.id.to_be_bytes() != query.bytes[..2] {
            // To a query of before that was sent twice, or to nobody's.
            return ctx.counts.detail("a response to no query");
        }
        ctx.counts.dns_truncated += u64::from(answer.truncated);
        if answer.truncated && self.plan.tcp_fallback && !self.is_tcp(flow) {
            // What was cut short is no answer yet (RFC 7766 section 5).
            flow.state = LEAVING;
            ctx.ask.go_on = Some(Carrier::Tcp);
            return;
        }
        let since = flow.at;
        ctx.first_byte(flow, since);
        ctx.last_byte(flow, since);
        ctx.counts.dns[usize::from(answer.code & 15)] += 1;
        if answer.code != 0 && self.plan.errors_fail {
            ctx.fail_softly(flow, Reason::DnsCode);
            flow.state = END;
            flow.set(Flag::Closing);
            ctx.ask.close = true;
            return;
        }
        // The next query's bytes begin behind those of this one, however often it was sent.
        let len = self.query(flow, self.is_tcp(flow)).len as u64;
        while flow.unacked > 0 {
            flow.drop_oldest(len);
        }
        flow.step = flow.step.wrapping_add(1);
        if Self::is_by_tcp(flow) && !self.all_asked(flow) && !ctx.shall_end(flow) {
            // Only what was cut short is asked over TCP.
            flow.state = LEAVING;
            ctx.ask.go_on = Some(Carrier::Udp);
            return;
        }
        self.go_on(ctx, flow);
    }

    /// To the next query, at once or after a pause.
    fn go_on(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let think = self.plan.think.value(u64::from(flow.number), u64::from(flow.step));
        if self.plan.think != Delay::NONE && !self.all_asked(flow) {
            flow.state = THINK;
            return ctx.wake_at(flow, ctx.now.saturating_add(think));
        }
        self.pump(ctx, flow);
    }

    pub(crate) fn finished(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if matches!(flow.state, LEAVING | GONE) {
            return;
        }
        match flow.state {
            END => {}
            THINK | TURN if flow.step > 0 => {
                let all = self.plan.per_session.unwrap_or(flow.step);
                ctx.counts.unasked += u64::from(all.saturating_sub(flow.step));
            }
            _ => ctx.fail_softly(flow, Reason::ClosedEarly),
        }
        flow.state = END;
        ctx.close(flow);
    }

    /// Queries get responses only if they arrived, so acknowledgements carry no information.
    pub(crate) fn acknowledged(&self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) {}

    pub(crate) fn woke(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        match flow.state {
            THINK | TURN => self.pump(ctx, flow),
            END => ctx.end_client(flow),
            ASKED => self.waited(ctx, flow),
            _ => {}
        }
    }

    fn waited(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let patience = self.patience(ctx, flow);
        if patience == Nanos::MAX || !ctx.has_run_out(flow, Some(patience)) {
            return;
        }
        let whole = ctx.common.patience.response.unwrap_or(Nanos::MAX);
        if self.is_tcp(flow) || flow.waiting >= self.plan.retries || flow.elapsed(ctx.now) >= whole {
            return ctx.fail(flow, Reason::ResponseTimeout);
        }
        flow.waiting += 1;
        ctx.counts.dns_retries += 1;
        self.ask(ctx, flow);
        let rest = self.patience(ctx, flow).since(flow.elapsed(ctx.now));
        ctx.wake_at(flow, ctx.now.saturating_add(rest));
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if matches!(flow.state, THINK | TURN | END) {
            flow.set(Flag::Stopped);
            flow.state = END;
            ctx.close(flow);
        }
    }

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        matches!(flow.state, ASKED | LEAVING | ARRIVING)
    }

    pub(crate) fn is_complete(flow: &Flow, _: End) -> bool {
        flow.has(Flag::Done)
    }

    pub(crate) fn fill(&self, flow: &Flow, _: &Extras, offset: u64, out: &mut [u8]) {
        let query = self.query(flow, self.is_tcp(flow));
        // Each time it was sent it had the same bytes.
        let mut at = (flow.since_base(offset) % query.len as u64) as usize;
        for byte in out {
            *byte = query.bytes[at];
            at = (at + 1) % query.len;
        }
    }
}
