//! Reads queries, and responds by the rules of the other carriers' server.

use super::connection::{Connection, Event};
use super::{QuicLink, broken, code};
use crate::counts::Reason;
use crate::dns::plan::DnsPlan;
use crate::dns::server::{Outcome, Responder};
use crate::dns::wire;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::quic::link::{self, Link, give_up, state};
use crate::quic::{Due, QuicEnd, failure};
use std::sync::Arc;
use tcp::End;
use units::Nanos;

/// Additional state of a server's connection.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    /// Responses that wait: when they are due, their streams, and what they are.
    delayed: Vec<(Nanos, u64, Vec<u8>)>,
}

/// A query without a response, or with one that has not arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    /// The response's code; `None`: there is none yet.
    code: Option<u8>,
}

/// A server made ready. A flow's `sent` is the number of queries so far.
#[derive(Debug)]
pub(crate) struct Server {
    responder: Responder,
}

type Serves = Connection<Asked>;

/// Does something with a flow's connection.
fn with(
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Serves, &mut Serving),
) {
    link::with(ctx, flow, |ctx, flow, link| {
        if let Link::Dns(QuicLink::Server(connection, serving)) = link {
            work(ctx, flow, connection, serving);
            if !flow.has(Flag::Failed) {
                flow.waiting = connection.streams().min(255) as u8;
            }
        }
    });
}

impl Server {
    pub(crate) fn new(plan: Arc<DnsPlan>) -> Self {
        Self { responder: Responder::new(plan) }
    }

    pub(crate) fn opened(&self, _: &mut Ctx<'_>, _: &mut Flow) {}

    #[inline]
    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
        flow.set(Flag::Progress);
        if link::is_to_accept(flow) {
            let Some((quic, base)) = link::accept(ctx, flow, datagram) else { return };
            let connection = Box::new(Connection::new(false, quic, ctx.now, base));
            let link = QuicLink::Server(connection, Serving::default());
            ctx.extras.of(flow).quic = Some(Box::new(Link::Dns(link)));
            link::await_handshake(ctx, flow);
        } else {
            with(ctx, flow, |ctx, _, connection, _| connection.carried.receive(ctx, datagram));
        }
        with(ctx, flow, |ctx, flow, connection, serving| self.go_on(ctx, flow, connection, serving));
    }

    /// Handles events, and acts on them.
    fn go_on(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Serves, serving: &mut Serving) {
        while let Some(event) = connection.next(ctx, flow) {
            match event {
                Event::Connected => {
                    flow.state = state::OPEN;
                    let early = connection.carried.quic.has_early_keys();
                    ctx.counts.quic.early_data_accepted += u64::from(early);
                }
                Event::Begun(_) => ctx.arm(flow, ctx.common.patience.idle),
                Event::Message(stream, message) => {
                    self.query(ctx, flow, connection, serving, stream, &message);
                }
                Event::Delivered(stream) => Self::delivered(ctx, connection, stream),
                Event::GivenUp { stream, .. } => {
                    ctx.counts.dns_cancelled += 1;
                    connection.cancel(stream);
                }
                Event::Broken(why) => broken(ctx, flow, connection, why),
                Event::Lost(end) => Self::lost(ctx, flow, connection, &end),
            }
        }
        let is_idle = connection.streams() == 0 && flow.state == state::OPEN;
        if flow.has(Flag::Stopping) && is_idle && !connection.carried.is_over() && !flow.has(Flag::Failed) {
            Self::leave(ctx, flow);
        }
    }

    /// The run is over, and every query has its response.
    fn leave(ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::Stopped);
        flow.state = state::END;
        ctx.close(flow);
    }

    fn query(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Serves,
        serving: &mut Serving,
        stream: u64,
        message: &[u8],
    ) {
        if message.first_chunk::<2>().is_some_and(|id| *id != [0; 2]) {
            return broken(ctx, flow, connection, "a query with an identifier other than 0");
        }
        if wire::has_keepalive(message) {
            return broken(ctx, flow, connection, "a query with the option edns-tcp-keepalive");
        }
        ctx.counts.quic.early_requests += u64::from(flow.state == state::CONNECTING);
        let number = u64::from(flow.sent);
        let outcome = self.responder.outcome(flow.number, number, message, None);
        if outcome == Outcome::NoQuery {
            return broken(ctx, flow, connection, "no query");
        }
        ctx.counts.requests += 1;
        flow.sent = flow.sent.wrapping_add(1);
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
        match outcome {
            Outcome::Reply(reply, delay) if delay > Nanos::ZERO => {
                serving.delayed.push((ctx.now.saturating_add(delay), stream, reply));
                Self::wake(ctx, flow, serving);
            }
            Outcome::Reply(reply, _) => Self::respond(ctx, connection, stream, &reply),
            Outcome::NoQuery | Outcome::Silence => {}
        }
    }

    fn respond(ctx: &mut Ctx<'_>, connection: &mut Serves, stream: u64, reply: &[u8]) {
        if let Some(asked) = connection.data(stream) {
            asked.code = Some(wire::code(reply, true));
        }
        connection.send(ctx, stream, reply);
    }

    fn delivered(ctx: &mut Ctx<'_>, connection: &mut Serves, stream: u64) {
        if let Some(code) = connection.take(ctx, stream).and_then(|asked| asked.code) {
            ctx.counts.sent_answer(code);
        }
    }

    /// Sees to it that the flow is woken when the next response is due.
    fn wake(ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &Serving) {
        match serving.delayed.iter().map(|(at, ..)| *at).min() {
            Some(at) => ctx.wake_at(flow, at),
            None => ctx.arm(flow, ctx.common.patience.idle),
        }
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if link::woke_without(ctx, flow) {
            return;
        }
        with(ctx, flow, |ctx, flow, connection, serving| {
            let due = connection.carried.woke(ctx, flow);
            if due == Due::Handshake {
                connection.carried.outlast(ctx, flow);
            }
            if due == Due::Wake && matches!(flow.state, state::OPEN | state::CONNECTING) {
                let now = ctx.now;
                let had = !serving.delayed.is_empty();
                for (_, stream, reply) in serving.delayed.extract_if(.., |(at, ..)| *at <= now) {
                    Self::respond(ctx, connection, stream, &reply);
                }
                if had {
                    Self::wake(ctx, flow, serving);
                } else if ctx.has_run_out(flow, ctx.common.patience.idle) {
                    give_up(ctx, flow, Reason::IdleTimeout);
                }
            }
            self.go_on(ctx, flow, connection, serving);
        });
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, connection, _| {
            if connection.streams() == 0 && flow.state != state::GONE {
                Self::leave(ctx, flow);
            }
        });
    }

    #[cold]
    fn lost(ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Serves, end: &QuicEnd) {
        flow.set(Flag::PeerClosed);
        let open = flow.state != state::CONNECTING;
        match failure(end, open, code::NO_ERROR, Reason::NoDoq, code::name) {
            _ if flow.has(Flag::Done) => {}
            // What was sent has come, if nobody complains: the acknowledgement may be lost, or never be sent.
            None if connection.owes() => ctx.fail_softly(flow, Reason::ClosedEarly),
            None => {
                let answered: Vec<u64> = connection.each().map(|(stream, ..)| stream).collect();
                answered.into_iter().for_each(|stream| Self::delivered(ctx, connection, stream));
            }
            // A client that says nothing more has gone.
            Some((Reason::IdleTimeout, _)) if connection.streams() == 0 && flow.sent > 0 => {}
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

    pub(crate) fn is_complete(flow: &Flow, end: End) -> bool {
        let at_boundary = flow.state == state::OPEN && flow.waiting == 0;
        flow.has(Flag::Done) || at_boundary && (end == End::Closed || flow.sent > 0)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        link::fill(flow, extras, offset, out);
    }
}
