//! Sends test packets, and reads the replies.

use super::plan::StampPlan;
use super::{State, buffer, fill, send};
use crate::counts::{Reason, StampCounts, StampDrop};
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use stamp::{ErrorEstimate, Reply, Request};
use std::collections::VecDeque;
use std::sync::Arc;
use tcp::End;
use units::Nanos;

const SENDING: u8 = 1;
const TURN: u8 = 2;
/// All packets are sent, and some have no reply.
const WAITING: u8 = 3;
const END: u8 = 4;

/// Packets of a session that leave at one event at most.
const AT_ONCE: u32 = 32;
const RENUMBERED: &str =
    "replies have other numbers than their packets: the reflector counts; set 'reflector: stateful'";
const AHEAD: &str =
    "the reflector has counted more packets than were sent: in which direction packets are lost is unknown";

/// A packet that may still get a reply in time.
#[derive(Debug)]
struct Sent {
    /// Time of departure, as it is on the wire.
    wire: u64,
    at: Nanos,
    /// Number of its first reply.
    reply: Option<u32>,
}

/// Delays of a packet, ns. Of one direction they are off by what the clocks differ.
#[derive(Debug, Clone, Copy)]
struct Delays {
    number: u32,
    round_trip: i64,
    to_reflector: i64,
    from_reflector: i64,
}

/// A session's packets under way, and what their replies have shown.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    began: Nanos,
    /// The packets that may still get a reply in time, the oldest first, and the number of that one.
    under_way: VecDeque<Sent>,
    first: u32,
    /// Of these, the ones without a reply.
    open: u32,
    /// Packets with a reply in time.
    received: u64,
    /// Packets that got another reply with another number: they came to the reflector twice.
    doubled: u64,
    /// Packets sent up to the last one with a reply, and replies sent up to the last one received.
    packets_known: u64,
    replies_known: u64,
    last: Option<Delays>,
}

impl Sender {
    /// Forgets the packets whose time is over; counts the lost ones.
    fn expire(&mut self, now: Nanos, wait: Nanos, counts: &mut StampCounts) {
        while let Some(sent) = self.under_way.front()
            && sent.at.saturating_add(wait) <= now
        {
            if sent.reply.is_none() {
                self.open -= 1;
                counts.lost += 1;
            }
            self.under_way.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Packets lost on their way to a reflector that counts, and on their way back; behind the last reply nothing shows it. `None` if the
    /// numbers can't be.
    fn lost(&self) -> Option<(u64, u64)> {
        let arrived = self.replies_known.checked_sub(self.doubled)?;
        let to_reflector = self.packets_known.checked_sub(arrived)?;
        Some((to_reflector, arrived.checked_sub(self.received)?))
    }
}

/// A client made ready. A flow's `step` is the number of its next packet.
#[derive(Debug)]
pub(crate) struct Client {
    plan: Arc<StampPlan>,
    /// The wall clock's time at instant zero.
    wall_zero: Nanos,
}

impl Client {
    pub(crate) fn new(plan: Arc<StampPlan>) -> Self {
        Self { plan, wall_zero: Nanos::ZERO }
    }

    pub(crate) fn set_clock(&mut self, wall_zero: Nanos) {
        self.wall_zero = wall_zero;
    }

    fn wall(&self, at: Nanos) -> Nanos {
        self.wall_zero.saturating_add(at)
    }

    /// Identifier of a session (RFC 8972 section 3): not 0, which is none.
    fn ssid(flow: &Flow) -> u16 {
        (flow.number % u32::from(u16::MAX)) as u16 + 1
    }

    /// State of a session, made if there is none.
    fn sender<'a>(extras: &'a mut Extras, flow: &mut Flow, now: Nanos) -> &'a mut Sender {
        let new = || Box::new(State::Sender(Sender { began: now, ..Sender::default() }));
        match &mut **extras.of(flow).stamp.get_or_insert_with(new) {
            State::Sender(sender) => sender,
            State::Reflector(_) => unreachable!("a client's session has no reflector"),
        }
    }

    pub(crate) fn opened(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = SENDING;
        self.pump(ctx, flow);
    }

    fn all_sent(&self, flow: &Flow) -> bool {
        // Their numbers have 32 bits (RFC 8762 section 4.2.1).
        flow.step >= self.plan.packets.unwrap_or(u32::MAX)
    }

    /// Sends the packets that are due.
    fn pump(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        for _ in 0..AT_ONCE {
            if self.all_sent(flow) || ctx.shall_end(flow) {
                return self.end_sending(ctx, flow);
            }
            flow.state = SENDING;
            let began = Self::sender(ctx.extras, flow, ctx.now).began;
            let interval = self.plan.interval.unwrap_or(Nanos::ZERO);
            let due = began.saturating_add(Nanos(interval.0.saturating_mul(flow.step.into())));
            if due > ctx.now {
                let end = ctx.common.up.map_or(Nanos::MAX, |_| flow.up_end(ctx.now));
                return ctx.wake_at(flow, due.min(end));
            }
            if !ctx.may_request(flow) {
                flow.state = TURN;
                return;
            }
            self.send(ctx, flow);
        }
        ctx.wake_at(flow, ctx.now);
    }

    fn send(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let StampPlan { form, format, length, wait, .. } = &*self.plan;
        let (number, now) = (flow.step, ctx.now);
        let sent = ctx.sent;
        let mut packet = buffer(ctx.extras.of(flow), sent);
        packet.resize(*length, 0);
        let wire = format.write(self.wall(now), 0);
        let error = ErrorEstimate::of(None, *format);
        Request { number, sent: wire, error, ssid: Self::ssid(flow) }.write(&mut packet, form);
        if let Some(rest) = packet.get_mut(form.base()..).filter(|rest| rest.len() >= stamp::HEADER) {
            stamp::padding(rest);
        }
        let sender = Self::sender(ctx.extras, flow, now);
        let counts = ctx.counts.stamp();
        sender.expire(now, *wait, counts);
        sender.under_way.push_back(Sent { wire, at: now, reply: None });
        sender.open += 1;
        counts.sent += 1;
        ctx.counts.requests += 1;
        flow.step = flow.step.wrapping_add(1);
        flow.mark(now);
        send(ctx, flow, packet);
    }

    /// No more packets: waits for the replies to those under way.
    fn end_sending(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if !self.all_sent(flow) {
            flow.set(Flag::Stopped);
        }
        ctx.give_turn_back(flow);
        flow.state = WAITING;
        self.wait(ctx, flow);
    }

    fn wait(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let sender = Self::sender(ctx.extras, flow, ctx.now);
        sender.expire(ctx.now, self.plan.wait, ctx.counts.stamp());
        let last = sender.under_way.back().filter(|_| sender.open > 0).map(|sent| sent.at);
        match last {
            Some(at) => ctx.wake_at(flow, at.saturating_add(self.plan.wait)),
            None => self.finish(ctx, flow),
        }
    }

    /// All packets have a reply or are lost.
    fn finish(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = END;
        if !flow.has(Flag::FirstByte) && flow.step > 0 {
            return ctx.fail(flow, Reason::ResponseTimeout);
        }
        self.count_directions(ctx, flow);
        ctx.end_client(flow);
    }

    fn count_directions(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if !self.plan.is_stateful {
            return;
        }
        match Self::sender(ctx.extras, flow, ctx.now).lost() {
            Some((to, from)) => ctx.counts.stamp().lost_on_the_way(to, from),
            None => ctx.counts.detail(AHEAD),
        }
    }

    pub(crate) fn received(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        if flow.has(Flag::Failed) || flow.state == END {
            return;
        }
        let reply = match Reply::read(data, &self.plan.form) {
            None => return ctx.counts.stamp().refuse(StampDrop::Malformed),
            Some(_) if !self.plan.form.is_authentic(data) => {
                return ctx.counts.stamp().refuse(StampDrop::Unauthentic);
            }
            Some(reply) => reply,
        };
        self.take(ctx, flow, &reply);
        if flow.state == WAITING && Self::sender(ctx.extras, flow, ctx.now).open == 0 {
            self.finish(ctx, flow);
        }
    }

    /// A reply to some packet.
    fn take(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, reply: &Reply) {
        let (now, number) = (ctx.now, reply.request.number);
        let counts = ctx.counts.stamp.get_or_insert_default();
        let sender = Self::sender(ctx.extras, flow, now);
        sender.expire(now, self.plan.wait, counts);
        // Reflectors that know no identifiers leave it out.
        if number >= flow.step || reply.ssid != Self::ssid(flow) && reply.ssid != 0 {
            return counts.refuse(StampDrop::Foreign);
        }
        let Some(place) = number.checked_sub(sender.first) else {
            counts.late += 1;
            return;
        };
        let Some(sent) =
            sender.under_way.get_mut(place as usize).filter(|sent| sent.wire == reply.request.sent)
        else {
            return counts.refuse(StampDrop::Foreign);
        };
        sender.replies_known = sender.replies_known.max(u64::from(reply.number) + 1);
        if let Some(first) = sent.reply {
            counts.duplicates += 1;
            sender.doubled += u64::from(first != reply.number);
            return;
        }
        sent.reply = Some(reply.number);
        let at = sent.at;
        sender.open -= 1;
        sender.received += 1;
        counts.received += 1;
        counts.reordered += u64::from(sender.packets_known > u64::from(number));
        sender.packets_known = sender.packets_known.max(u64::from(number) + 1);
        flow.set(Flag::FirstByte);
        ctx.counts.transactions += 1;
        let away = now.since(at);
        ctx.counts.ttfb.record(away.0);
        ctx.counts.ttlb.record(away.0);
        if let Some(delays) = self.delays(reply, at, now) {
            self.time(&delays, sender.last.replace(delays), counts, away);
        } else {
            counts.untimed += 1;
        }
        if !self.plan.is_stateful && reply.number != number {
            ctx.counts.detail(RENUMBERED);
        }
    }

    /// Delays of a packet that left at `at` and whose reply came at `now`; `None` if the reflector's times can't be: it can't send before it
    /// has received, nor keep a packet for longer than it was away.
    fn delays(&self, reply: &Reply, at: Nanos, now: Nanos) -> Option<Delays> {
        let [left, back] = [at, now].map(|at| self.wall(at));
        let read = |wire| reply.error.format.read(wire, back, 0);
        let (came, sent) = (read(reply.came)?, read(reply.sent)?);
        let (away, kept) = (now.since(at), sent.since(came));
        if sent < came || kept > away {
            return None;
        }
        let between = |from: Nanos, to: Nanos| i64::try_from(i128::from(to.0) - i128::from(from.0)).ok();
        Some(Delays {
            number: reply.request.number,
            round_trip: i64::try_from(away.since(kept).0).ok()?,
            to_reflector: between(left, came)?,
            from_reflector: between(sent, back)?,
        })
    }

    fn time(&self, delays: &Delays, before: Option<Delays>, counts: &mut StampCounts, away: Nanos) {
        let record = |times: &mut histogram::Timing, ns: i64| times.record(ns.max(0).unsigned_abs());
        record(&mut counts.round_trip, delays.round_trip);
        counts.reflector.record(away.0.saturating_sub(delays.round_trip.unsigned_abs()));
        if self.plan.has_one_clock {
            record(&mut counts.to_reflector, delays.to_reflector);
            record(&mut counts.from_reflector, delays.from_reflector);
        }
        let Some(before) = before.filter(|before| before.number.wrapping_add(1) == delays.number) else {
            return;
        };
        // RFC 3393: the clocks' offset is the same in both delays, and goes.
        let differ = |times: &mut histogram::Timing, a: i64, b: i64| times.record(a.abs_diff(b));
        differ(&mut counts.round_trip_jitter, before.round_trip, delays.round_trip);
        differ(&mut counts.to_reflector_jitter, before.to_reflector, delays.to_reflector);
        differ(&mut counts.from_reflector_jitter, before.from_reflector, delays.from_reflector);
    }

    pub(crate) fn finished(&self, _: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
    }

    pub(crate) fn acknowledged(&self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) {}

    pub(crate) fn woke(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        match flow.state {
            SENDING | TURN => self.pump(ctx, flow),
            WAITING => self.wait(ctx, flow),
            END => ctx.end_client(flow),
            _ => {}
        }
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        match flow.state {
            SENDING | TURN => self.end_sending(ctx, flow),
            END => ctx.close(flow),
            _ => {}
        }
    }

    /// Whether a session has had replies, and waits only for some that may be lost.
    pub(crate) fn may_wait_in_vain(flow: &Flow) -> bool {
        flow.state == WAITING && flow.has(Flag::FirstByte) && !flow.has(Flag::Failed)
    }

    /// Ends a session that waits for replies.
    pub(crate) fn wait_no_longer(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = END;
        let sender = Self::sender(ctx.extras, flow, ctx.now);
        sender.expire(ctx.now, self.plan.wait, ctx.counts.stamp());
        // A packet whose time is not over is not lost, and what came shows no difference.
        if sender.open == 0 {
            self.count_directions(ctx, flow);
        }
        ctx.close(flow);
    }

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        matches!(flow.state, SENDING | TURN | WAITING)
    }

    pub(crate) fn is_complete(flow: &Flow, _: End) -> bool {
        flow.has(Flag::Done)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        fill(flow, extras, offset, out);
    }
}
