//! Reflects test packets.

use super::plan::StampPlan;
use super::{State, buffer, fill, send};
use crate::counts::{Reason, StampDrop};
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use stamp::{Drop, Reflected, Reflector, ReflectorOptions};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tcp::End;
use units::Nanos;

const OPEN: u8 = 1;
const END: u8 = 2;

/// Session identifiers (RFC 8972 section 3) that a reflector counts apart for one sender.
const IDENTIFIERS_MAX: usize = 64;
/// A flow has the packets of one sender, so a reflector need not distinguish senders.
const SENDER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// A server made ready.
#[derive(Debug)]
pub(crate) struct Server {
    options: ReflectorOptions,
    /// The wall clock's time at instant zero.
    wall_zero: Nanos,
}

impl Server {
    pub(crate) fn new(plan: Arc<StampPlan>) -> Self {
        let options = ReflectorOptions {
            form: plan.form.clone(),
            is_stateful: plan.is_stateful,
            format: plan.format,
            allows_short: false,
            // Traffic here has the limits of its profile and port.
            rate_max: u32::MAX,
            sessions_max: IDENTIFIERS_MAX,
        };
        Self { options, wall_zero: Nanos::ZERO }
    }

    pub(crate) fn set_clock(&mut self, wall_zero: Nanos) {
        self.wall_zero = wall_zero;
    }

    pub(crate) fn opened(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = OPEN;
        flow.mark(ctx.now);
        let reflector = Reflector::new(self.options.clone(), ctx.now);
        ctx.extras.of(flow).stamp = Some(Box::new(State::Reflector(reflector)));
    }

    pub(crate) fn received(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        let sent = ctx.sent;
        let extra = ctx.extras.of(flow);
        let mut packet = buffer(extra, sent);
        let Some(State::Reflector(reflector)) = extra.stamp.as_deref_mut().filter(|_| flow.state == OPEN)
        else {
            return;
        };
        packet.extend_from_slice(data);
        let at = self.wall_zero.saturating_add(ctx.now);
        let came = Reflected { peer: SENDER, at, hops: Some(ctx.hops), error_max_ns: None, tai_ahead_s: 0 };
        let result = reflector.reply(&mut packet, &came, ctx.now);
        if result.is_ok() {
            reflector.depart(&mut packet, at, 0);
        }
        let counts = ctx.counts.stamp();
        match result {
            Ok(()) => (counts.received, counts.sent) = (counts.received + 1, counts.sent + 1),
            Err(Drop::Malformed) => return counts.refuse(StampDrop::Malformed),
            Err(Drop::Short) => return counts.refuse(StampDrop::Short),
            Err(Drop::Unauthentic) => return counts.refuse(StampDrop::Unauthentic),
            Err(Drop::Reflected) => return counts.refuse(StampDrop::Reflected),
            Err(Drop::Sessions | Drop::Rate) => return counts.refuse(StampDrop::Sessions),
        }
        ctx.counts.requests += 1;
        ctx.counts.transactions += 1;
        // The sender may be silent from here on.
        flow.set(Flag::Done);
        flow.mark(ctx.now);
        send(ctx, flow, packet);
    }

    pub(crate) fn finished(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        self.stop(ctx, flow);
    }

    pub(crate) fn acknowledged(&self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) {}

    pub(crate) fn woke(&self, _: &mut Ctx<'_>, _: &mut Flow) {}

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state != OPEN {
            return;
        }
        flow.state = END;
        if flow.has(Flag::Done) {
            flow.set(Flag::Stopped);
            return ctx.close(flow);
        }
        // Nothing that came was a packet of the protocol.
        ctx.fail(flow, Reason::BadRequest);
    }

    pub(crate) fn is_complete(flow: &Flow, _: End) -> bool {
        flow.has(Flag::Done)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        fill(flow, extras, offset, out);
    }
}
