//! A flow of QUIC from its first datagram to its last, whatever runs on its connection.
//!
//! A session is over when its connection is closed, at either end. The connection itself stays some round-trip times
//! longer, to respond to packets still in flight (RFC 9000 section 10.2); it is not counted then, and its flow is in
//! [`state::GONE`].
//!
//! Not here: streams, and their data.

use super::{Carried, Quic, QuicAccepted, note_mark};
use crate::counts::{Counts, Reason};
use crate::dns;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::h3;
use crate::program::Channel;
use crate::secure::SecureError;
use crate::websocket;
use units::Nanos;

/// States of a flow. Those of HTTP/1.1 (`parse::state`) and HTTP/2 have other numbers.
pub(crate) mod state {
    /// It shakes hands.
    pub(crate) const CONNECTING: u8 = 21;
    /// Requests and responses go to and fro.
    pub(crate) const OPEN: u8 = 22;
    /// Has sent everything.
    pub(crate) const END: u8 = 23;
    /// The session is over, and only its connection is left; or there was no session.
    pub(crate) const GONE: u8 = 24;
    /// A server has sent a Retry, and waits for its client to prove its address: there is no session.
    pub(crate) const RETRY: u8 = 25;
    /// It carries datagrams of a connection on another flow: of an address that its client has left, or tries.
    pub(crate) const PATH: u8 = 26;
}

/// Time that a flow is kept for datagrams of a connection on another one: longer than a path is tried (RFC 9000 section 8.2.4).
const PATH_KEPT: Nanos = Nanos::from_secs(10);
/// Bytes sent on such a flow at most.
const PATH_MAX: usize = 64 << 10;
/// Time that a client that was sent a Retry has to prove its address.
const RETRY_WAIT: Nanos = Nanos::from_secs(10);
/// Bytes of Retry packets on a flow at most: one follows each datagram without a token.
const RETRIES_MAX: u64 = 2_000;

/// A flow's connection, and what runs on it.
pub(crate) enum Link {
    Http(h3::Link),
    Dns(dns::QuicLink),
    Doh(dns::Https3Link),
    Program(Box<Channel>),
    Websocket(Box<websocket::QuicLink>),
}

impl Link {
    fn carried(&self) -> &Carried {
        match self {
            Self::Http(link) => link.carried(),
            Self::Dns(link) => link.carried(),
            Self::Doh(link) => link.carried(),
            Self::Program(channel) => &channel.carried,
            Self::Websocket(link) => link.carried(),
        }
    }

    fn carried_mut(&mut self) -> &mut Carried {
        match self {
            Self::Http(link) => link.carried_mut(),
            Self::Dns(link) => link.carried_mut(),
            Self::Doh(link) => link.carried_mut(),
            Self::Program(channel) => &mut channel.carried,
            Self::Websocket(link) => link.carried_mut(),
        }
    }
}

impl Link {
    /// The flows of programs that run on it beside each other.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Flow> {
        let channel = match self {
            Self::Program(channel) => Some(channel),
            _ => None,
        };
        channel.into_iter().flat_map(|channel| channel.flows())
    }

    /// The same, each with its additional state.
    pub(crate) fn into_flows(self) -> impl Iterator<Item = Flow> {
        let channel = match self {
            Self::Program(channel) => Some(channel),
            _ => None,
        };
        channel.into_iter().flat_map(|channel| channel.into_flows())
    }
}

/// Whether a session shakes hands, or has not begun to.
pub(crate) fn is_opening(flow: &Flow) -> bool {
    matches!(flow.state, 0 | state::CONNECTING)
}

/// Whether the session of a flow is over, or has not begun although datagrams were exchanged.
#[inline]
pub(crate) fn is_gone(flow: &Flow) -> bool {
    matches!(flow.state, state::GONE | state::RETRY | state::PATH)
}

/// Does something with a flow's connection, if it has one.
#[inline]
pub(crate) fn with(
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Link),
) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.quic.take()) else { return };
    work(ctx, flow, &mut link);
    ctx.extras.of(flow).quic = Some(link);
}

/// Carries out the requests of a flow's session to its carrier, and sends its connection's output.
#[inline]
pub(crate) fn settle(ctx: &mut Ctx<'_>, flow: &mut Flow) {
    with(ctx, flow, |ctx, flow, link| ctx.ask.over = link.carried_mut().settle(ctx, flow));
}

/// Leaves the output of a flow's connection to the end of the burst, if nothing is urgent.
#[inline]
pub(crate) fn hold(ctx: &mut Ctx<'_>, flow: &mut Flow) {
    let link = ctx.extras.find_mut(flow).and_then(|extra| extra.quic.as_deref_mut());
    if let Some(link) = link {
        link.carried_mut().hold(&mut ctx.ask);
    }
}

/// The flow of a client has another port.
#[cold]
pub(crate) fn moved(ctx: &mut Ctx<'_>, flow: &mut Flow) {
    let knows = ctx.common.migrate.is_some_and(|migrate| migrate.knows);
    with(ctx, flow, |ctx, _, link| link.carried_mut().moved(ctx, knows));
}

/// A client's connection begins; if there can be none, the session fails.
pub(crate) fn connect(ctx: &mut Ctx<'_>, flow: &mut Flow) -> Option<Box<dyn Quic>> {
    flow.state = state::CONNECTING;
    match ctx.quic.as_mut().map(|side| side.connect(ctx.now, u64::from(flow.number), ctx.number)) {
        Some(Ok(quic)) => Some(quic),
        Some(Err(error)) => {
            let why = match &error {
                SecureError::AlertReceived(why) | SecureError::NothingCommon(why) => why,
                SecureError::Certificate(why) | SecureError::Protocol(why) => &**why,
            };
            ctx.counts.detail(why);
            ctx.fail(flow, Reason::TlsProtocol);
            None
        }
        None => {
            ctx.fail(flow, Reason::TlsProtocol);
            None
        }
    }
}

/// Handles the first datagram of a server's flow, and those before its client has proved its address: a connection begins, on a
/// flow that has sent a number of bytes, or nothing does.
pub(crate) fn accept(ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) -> Option<(Box<dyn Quic>, u64)> {
    note_mark(ctx);
    let base = ctx.extras.find(flow).map_or(0, |extra| extra.echo.len() as u64);
    let number = ctx.number;
    let accepted = ctx.quic.as_mut().map(|side| side.accept(ctx.now, number, datagram, ctx.ecn));
    match accepted {
        Some(QuicAccepted::Connection(quic)) => {
            flow.state = state::CONNECTING;
            flow.mark(ctx.now);
            ctx.ask.begun = true;
            return Some((quic, base));
        }
        Some(QuicAccepted::Of(owner)) => {
            ctx.ask.rouse = Some(owner);
            keep_path(ctx, flow);
        }
        Some(QuicAccepted::Retry(_)) if base > RETRIES_MAX => {}
        Some(QuicAccepted::Retry(bytes)) => {
            flow.state = state::RETRY;
            ctx.counts.quic.retries_sent += 1;
            ctx.ask.datagrams.push(bytes.len() as u64);
            ctx.extras.of(flow).echo.extend(bytes);
            ctx.ask.wake = Some(ctx.now.saturating_add(RETRY_WAIT));
        }
        Some(QuicAccepted::Reply(bytes)) => {
            flow.state = state::GONE;
            ctx.ask.datagrams.push(bytes.len() as u64);
            ctx.extras.of(flow).echo.extend(bytes);
            ctx.ask.close = true;
        }
        Some(QuicAccepted::Nothing) | None => {
            flow.state = state::GONE;
            ctx.ask.close = true;
        }
    }
    None
}

/// Whether a server's flow has no connection, and the next datagram goes to [`accept`].
#[inline]
pub(crate) fn is_to_accept(flow: &Flow) -> bool {
    matches!(flow.state, 0 | state::RETRY | state::PATH)
}

/// Handles the wake-up of a flow that has no connection; returns whether it is one.
#[inline]
pub(crate) fn woke_without(ctx: &mut Ctx<'_>, flow: &mut Flow) -> bool {
    match flow.state {
        state::PATH => woke_path(ctx, flow),
        state::RETRY => {
            flow.state = state::GONE;
            ctx.ask.close = true;
        }
        _ => return false,
    }
    true
}

/// A flow carries datagrams of a connection on another one from now on, or still.
#[cold]
pub(crate) fn keep_path(ctx: &mut Ctx<'_>, flow: &mut Flow) {
    flow.state = state::PATH;
    let until = ctx.now.saturating_add(PATH_KEPT);
    ctx.extras.of(flow).kept_until = until;
    ctx.ask.wake = Some(until);
}

/// Sends what the connection on another flow has to send here, or ends the flow if its time has come.
#[cold]
fn woke_path(ctx: &mut Ctx<'_>, flow: &mut Flow) {
    let datagrams = ctx.quic.as_mut().map(|side| side.off_path(ctx.number)).unwrap_or_default();
    let extra = ctx.extras.of(flow);
    for bytes in datagrams {
        if extra.echo.len() + bytes.len() <= PATH_MAX {
            ctx.ask.datagrams.push(bytes.len() as u64);
            extra.echo.extend(bytes);
        }
    }
    if extra.kept_until <= ctx.now {
        flow.state = state::GONE;
        ctx.ask.close = true;
    } else {
        ctx.ask.wake = Some(extra.kept_until);
    }
}

/// A datagram of a connection on another flow, at a client.
#[cold]
pub(crate) fn received_path(ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
    let number = ctx.number;
    let accepted = ctx.quic.as_mut().map(|side| side.accept(ctx.now, number, datagram, ctx.ecn));
    if let Some(QuicAccepted::Of(owner)) = accepted {
        ctx.ask.rouse = Some(owner);
    }
    keep_path(ctx, flow);
}

/// The handshake of a flow's connection must be done in time.
pub(crate) fn await_handshake(ctx: &mut Ctx<'_>, flow: &mut Flow) {
    with(ctx, flow, |ctx, _, link| link.carried_mut().await_handshake(ctx));
}

/// The handshake took longer than a client waits for it.
#[cold]
pub(crate) fn no_handshake(ctx: &mut Ctx<'_>, flow: &mut Flow) {
    ctx.counts.detail("QUIC: the handshake had no response");
    give_up(ctx, flow, Reason::SetupTimeout);
}

/// Fails, and closes in good order.
#[cold]
pub(crate) fn give_up(ctx: &mut Ctx<'_>, flow: &mut Flow, reason: Reason) {
    ctx.fail_softly(flow, reason);
    flow.set(Flag::Closing);
    ctx.ask.close = true;
}

/// Counts what a connection has counted whose flow ends before it does.
#[cold]
pub(crate) fn note_lost(extras: &Extras, flow: &Flow, counts: &mut Counts) {
    if let Some(link) = extras.find(flow).and_then(|extra| extra.quic.as_deref()) {
        counts.quic.add(&link.carried().quic.stats());
    }
}

/// Writes datagrams.
pub(crate) fn fill(flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
    let Some(extra) = extras.find(flow) else { return };
    match extra.quic.as_deref() {
        Some(link) => link.carried().fill(offset, out),
        // The answer to a datagram that began nothing.
        None => crate::echo::copy(&extra.echo, offset as usize, out),
    }
}
