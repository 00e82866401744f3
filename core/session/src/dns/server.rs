//! Answers by rules.

use super::plan::{DnsAnswer, DnsPlan, DnsRule};
use super::wire::{self, NoQuestion, Question, Reply};
use crate::counts::Reason;
use crate::extra::{Extras, Made};
use crate::flow::{Ctx, Flag, Flow};
use crate::input;
use std::net::IpAddr;
use std::sync::Arc;
use tcp::End;
use units::Nanos;

const OPEN: u8 = 1;
const DELAY: u8 = 2;
const END: u8 = 3;

/// Answers on their way at most; no query is read then.
const MADE_MAX: usize = 64;
/// No such name.
const NO_NAME: u8 = 3;

/// Rules made ready, over whatever queries come.
#[derive(Debug)]
pub(super) struct Responder {
    plan: Arc<DnsPlan>,
    /// Of each rule: its suffix in lower case.
    suffixes: Vec<Vec<u8>>,
}

/// Outcome of a message for a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is no query.
    NoQuery,
    /// A query that gets no response.
    Silence,
    /// The response, and when it is due.
    Reply(Vec<u8>, Nanos),
}

impl Responder {
    pub(super) fn new(plan: Arc<DnsPlan>) -> Self {
        let lower = |rule: &DnsRule| rule.suffix.trim_end_matches('.').to_ascii_lowercase().into_bytes();
        Self { suffixes: plan.rules.iter().map(lower).collect(), plan }
    }

    /// Outcome of message `number` of a session. `udp_room`: bytes that a datagram has room for; without it the length of the
    /// response comes first.
    pub(super) fn outcome(
        &self,
        session: u32,
        number: u64,
        message: &[u8],
        udp_room: Option<usize>,
    ) -> Outcome {
        let question = match wire::question(message) {
            Ok(question) => question,
            Err(NoQuestion::Nothing) => return Outcome::NoQuery,
            Err(NoQuestion::Code(code)) => {
                return Outcome::Reply(wire::no_answer(message, code, udp_room.is_none()), Nanos::ZERO);
            }
        };
        let rule = self.rule(&question);
        let turn = u64::from(session).wrapping_add(number);
        let delay = rule.map_or(Nanos::ZERO, |rule| rule.delay.value(u64::from(session), number));
        let reply = Self::reply(&question, rule, turn, udp_room);
        reply.map_or(Outcome::Silence, |reply| Outcome::Reply(reply, delay))
    }

    fn rule(&self, question: &Question<'_>) -> Option<&DnsRule> {
        let name = question.name();
        let fits = |suffix: &[u8]| {
            suffix.is_empty()
                || name.strip_suffix(suffix).is_some_and(|before| before.is_empty() || before.ends_with(b"."))
        };
        let mut rules = self.plan.rules.iter().zip(&self.suffixes);
        let takes = |rule: &DnsRule| rule.kinds.is_empty() || rule.kinds.contains(&question.kind);
        rules.find(|(rule, suffix)| takes(rule) && fits(suffix)).map(|(rule, _)| rule)
    }

    /// The response; `None` is no response.
    fn reply(
        question: &Question<'_>,
        rule: Option<&DnsRule>,
        turn: u64,
        udp_room: Option<usize>,
    ) -> Option<Vec<u8>> {
        if rule.is_some_and(|rule| rule.silent) {
            return None;
        }
        let sized = udp_room.is_none();
        let room = udp_room.map_or(usize::from(u16::MAX), |room| question.room.min(room));
        if question.version != 0 {
            return Some(Reply::new(question, wire::BAD_VERSION, sized).finish(question, room));
        }
        let code = rule.map_or(NO_NAME, |rule| rule.code & 15);
        let mut reply = Reply::new(question, code.into(), sized);
        for answer in rule.map_or(&[][..], |rule| &rule.answers[..]) {
            let ttl = rule.map_or(0, |rule| rule.ttl);
            let asked = |kind| question.kind == kind || question.kind == wire::ANY;
            match answer {
                DnsAnswer::Address { first, count } => {
                    if asked(if first.is_ipv4() { 1 } else { 28 }) {
                        reply.address(ttl, plus(*first, turn % (*count).max(1)));
                    }
                }
                DnsAnswer::Data { kind, data } if asked(*kind) => reply.record(*kind, ttl, data),
                DnsAnswer::Data { .. } => {}
            }
        }
        Some(reply.finish(question, room))
    }
}

/// A server made ready.
#[derive(Debug)]
pub(crate) struct Server {
    responder: Responder,
}

impl Server {
    pub(crate) fn new(plan: Arc<DnsPlan>) -> Self {
        Self { responder: Responder::new(plan) }
    }

    pub(crate) fn opened(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = OPEN;
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
    }

    pub(crate) fn received(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        if ctx.is_udp() {
            match flow.state {
                OPEN => self.query(ctx, flow, data),
                DELAY => ctx.keep_datagram(flow, data),
                _ => {}
            }
            return;
        }
        input::feed(ctx, flow, data, |ctx, flow, data| self.process(ctx, flow, data));
    }

    fn process(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) -> usize {
        let mut used = 0;
        while flow.state == OPEN {
            let made = ctx.extras.find(flow).map_or(0, |extra| extra.made.len());
            if made >= MADE_MAX {
                break;
            }
            let Some((len, rest)) = data[used..].split_first_chunk::<2>() else { break };
            let len = usize::from(u16::from_be_bytes(*len));
            let Some(message) = rest.get(..len) else { break };
            self.query(ctx, flow, message);
            used += 2 + len;
        }
        if flow.state == END {
            return data.len();
        }
        if data.len() - used > usize::from(u16::MAX) + 2 && !flow.has(Flag::Paused) {
            flow.set(Flag::Paused);
            ctx.ask.read = Some(false);
        }
        used
    }

    fn query(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, bytes: &[u8]) {
        let room = ctx.is_udp().then_some(usize::from(self.responder.plan.udp_room));
        let outcome = self.responder.outcome(flow.number, u64::from(flow.step), bytes, room);
        if outcome == Outcome::NoQuery {
            ctx.counts.detail("no query");
            return ctx.fail(flow, Reason::BadRequest);
        }
        ctx.counts.requests += 1;
        flow.step = flow.step.wrapping_add(1);
        let Outcome::Reply(reply, delay) = outcome else {
            return if ctx.is_udp() {
                self.end(ctx, flow)
            };
        };
        Self::keep(ctx, flow, reply);
        if delay > Nanos::ZERO {
            flow.state = DELAY;
            return ctx.wake_at(flow, ctx.now.saturating_add(delay));
        }
        self.send(ctx, flow);
    }

    fn keep(ctx: &mut Ctx<'_>, flow: &mut Flow, reply: Vec<u8>) {
        let extra = ctx.extras.of(flow);
        extra.made.push_back(Made { offset: extra.echo_base, bytes: reply });
    }

    /// Sends the last response made.
    fn send(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let extra = ctx.extras.of(flow);
        let Some(made) = extra.made.back() else { return };
        let (bytes, code) = (made.bytes.len() as u64, wire::code(&made.bytes, !ctx.udp));
        extra.echo_base += bytes;
        ctx.send(flow, bytes);
        if ctx.is_udp() {
            ctx.counts.sent_answer(code);
            self.end(ctx, flow);
        } else {
            flow.mark(ctx.now);
            ctx.arm(flow, ctx.common.patience.idle);
        }
    }

    fn end(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = END;
        ctx.close(flow);
    }

    pub(crate) fn finished(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if flow.state == OPEN {
            if flow.has(Flag::Stashed) {
                ctx.fail_softly(flow, Reason::ClosedEarly);
            }
            self.end(ctx, flow);
        }
    }

    pub(crate) fn acknowledged(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        let Some(extra) = ctx.extras.find_mut(flow) else { return };
        let full = extra.made.len() >= MADE_MAX;
        while let Some(made) = extra.made.front()
            && made.offset + made.bytes.len() as u64 <= offset
        {
            ctx.counts.sent_answer(wire::code(&made.bytes, true));
            extra.made.pop_front();
        }
        if full && flow.state == OPEN {
            self.resume(ctx, flow);
        }
    }

    fn resume(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.take(Flag::Paused) {
            ctx.ask.read = Some(true);
        }
        if flow.has(Flag::Stashed) {
            self.received(ctx, flow, &[]);
        }
    }

    pub(crate) fn woke(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let state = flow.state;
        match state {
            DELAY => {
                flow.state = OPEN;
                self.send(ctx, flow);
                self.resume(ctx, flow);
                if flow.has(Flag::PeerClosed) && flow.state == OPEN {
                    self.finished(ctx, flow);
                }
            }
            OPEN if ctx.has_run_out(flow, ctx.common.patience.idle) => ctx.fail(flow, Reason::IdleTimeout),
            _ => {}
        }
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == OPEN && !flow.has(Flag::Stashed) {
            flow.set(Flag::Stopped);
            self.end(ctx, flow);
        }
    }

    pub(crate) fn is_complete(flow: &Flow, _: End) -> bool {
        flow.has(Flag::Done) || flow.state == OPEN && flow.step > 0 && !flow.has(Flag::Stashed)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, mut offset: u64, mut out: &mut [u8]) {
        let Some(extra) = extras.find(flow) else { return };
        for made in &extra.made {
            let Some(rest) = offset.checked_sub(made.offset).and_then(|skip| made.bytes.get(skip as usize..))
            else {
                continue;
            };
            let n = rest.len().min(out.len());
            out[..n].copy_from_slice(&rest[..n]);
            out = &mut out[n..];
            offset += n as u64;
        }
    }
}

/// The address this number after another.
fn plus(first: IpAddr, more: u64) -> IpAddr {
    match first {
        IpAddr::V4(ip) => IpAddr::V4(ip.to_bits().wrapping_add(more as u32).into()),
        IpAddr::V6(ip) => IpAddr::V6(ip.to_bits().wrapping_add(u128::from(more)).into()),
    }
}
