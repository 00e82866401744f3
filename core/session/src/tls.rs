//! A layer of encryption between a carrier and an application, through [`Secure`].
//!
//! The application's bytes are requested once, encrypted, and kept as ciphertext until they are acknowledged; for the
//! application they are acknowledged as soon as they are encrypted.

use crate::app::AnyApp;
use crate::counts::{Reason, Responses};
use crate::echo;
use crate::flow::{Ask, Ctx, Flag, Flow};
use crate::secure::{Secure, SecureError, SecureSide};
use std::collections::VecDeque;
use units::Nanos;

/// Ciphertext on its way at which nothing more is encrypted.
const AHEAD_MAX: usize = 256 << 10;
/// Bytes encrypted at a time: a record's most (RFC 8446 section 5.1).
const RECORD: usize = 16 << 10;

/// A flow's encryption.
pub(crate) struct TlsFlow {
    secure: Box<dyn Secure>,
    /// Ciphertext that is not acknowledged, and the offset of its first byte.
    out: VecDeque<u8>,
    out_base: u64,
    /// Bytes the application wants to send that are not encrypted yet, and those that are.
    owed: u64,
    taken: u64,
    /// Where the ciphertext of pieces ends that are not acknowledged whole, and their bytes.
    pieces: VecDeque<(u64, u64)>,
    /// Responses of a server, with the end of the ciphertext they are in.
    responses: VecDeque<(u64, Responses)>,
    /// The application knows that the session is open.
    open: bool,
    /// The application has closed; once nothing is owed so does the carrier.
    closing: bool,
    closed: bool,
    /// The application knows that the other end has closed.
    finished: bool,
    since: Nanos,
}

impl TlsFlow {
    fn new(secure: Box<dyn Secure>, since: Nanos) -> Self {
        Self {
            secure,
            out: VecDeque::new(),
            out_base: 0,
            owed: 0,
            taken: 0,
            pieces: VecDeque::new(),
            responses: VecDeque::new(),
            open: false,
            closing: false,
            closed: false,
            finished: false,
            since,
        }
    }

    /// Whether the handshake is through.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Whether everything the application passed for sending was acknowledged.
    pub(crate) fn is_delivered(&self) -> bool {
        self.open && self.owed == 0 && self.pieces.is_empty()
    }

    /// Asks the carrier to send what is owed.
    fn flush(&mut self, ask: &mut Ask, scratch: &mut Vec<u8>) {
        scratch.clear();
        self.secure.take_output(scratch);
        self.out.extend(&*scratch);
        ask.send += scratch.len() as u64;
    }
}

/// The carrier is established: shakes hands.
pub(crate) fn opened(side: &mut dyn SecureSide, ctx: &mut Ctx<'_>, flow: &mut Flow) -> Box<TlsFlow> {
    let secure = side.start(ctx.now, u64::from(flow.number));
    let mut tls = Box::new(TlsFlow::new(secure, ctx.now));
    tls.flush(&mut ctx.ask, &mut Vec::new());
    if let Some(patience) = ctx.common.patience.response {
        ctx.wake_at(flow, ctx.now.saturating_add(patience));
    }
    tls
}

pub(crate) fn received(app: &mut AnyApp, tls: &mut TlsFlow, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
    let mut plain = Vec::new();
    let heard = tls.secure.receive(ctx.now, data, &mut plain);
    tls.flush(&mut ctx.ask, &mut Vec::new());
    if !tls.open
        && !flow.has(Flag::Failed)
        && let Some(agreed) = tls.secure.agreed()
    {
        ctx.counts.handshake.record(ctx.now.since(tls.since).0);
        *ctx.counts.tls.entry(agreed).or_default() += 1;
        ctx.alpn = agreed.alpn;
        tls.open = true;
        // The time of the handshake is over; whoever wants to be woken says so.
        flow.unset(Flag::Armed);
        with(app, tls, ctx, flow, |app, ctx, flow| app.opened(ctx, flow));
    }
    if tls.open && !plain.is_empty() {
        ctx.counts.bytes_received += plain.len() as u64;
        with(app, tls, ctx, flow, |app, ctx, flow| app.received(ctx, flow, &plain));
    }
    match heard {
        Err(error) => wrong(app, ctx, flow, &error),
        Ok(()) if tls.open && tls.secure.peer_closed() => finish(app, tls, ctx, flow),
        Ok(()) => {}
    }
}

/// Fails with what is wrong; the alert goes out first.
#[cold]
fn wrong(app: &AnyApp, ctx: &mut Ctx<'_>, flow: &mut Flow, error: &SecureError) {
    let (reason, detail) = match error {
        SecureError::AlertReceived(name) => (Reason::TlsAlert, *name),
        SecureError::NothingCommon(why) => (app.nothing_common(), *why),
        SecureError::Certificate(why) => (Reason::TlsCertificate, &**why),
        SecureError::Protocol(why) => (Reason::TlsProtocol, &**why),
    };
    if !flow.has(Flag::Failed) && !flow.has(Flag::Done) {
        ctx.counts.detail(detail);
        ctx.fail_softly(flow, reason);
    }
    ctx.ask.close = true;
}

/// The other end sends nothing more.
fn finish(app: &mut AnyApp, tls: &mut TlsFlow, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    if !tls.finished {
        tls.finished = true;
        with(app, tls, ctx, flow, |app, ctx, flow| app.finished(ctx, flow));
    }
}

/// The carrier's other end has closed, with or without a TLS closure alert.
pub(crate) fn finished(app: &mut AnyApp, tls: &mut TlsFlow, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    if tls.open {
        return finish(app, tls, ctx, flow);
    }
    ctx.fail_softly(flow, Reason::ClosedEarly);
    ctx.ask.close = true;
}

pub(crate) fn acknowledged(
    app: &mut AnyApp,
    tls: &mut TlsFlow,
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    offset: u64,
) {
    let gone = offset.saturating_sub(tls.out_base).min(tls.out.len() as u64);
    tls.out.drain(..gone as usize);
    tls.out_base += gone;
    while let Some((_, bytes)) = tls.pieces.front().filter(|(end, _)| *end <= offset) {
        ctx.counts.bytes_delivered += bytes;
        tls.pieces.pop_front();
    }
    while let Some((_, responses)) = tls.responses.front().filter(|(end, _)| *end <= offset) {
        ctx.counts.add_responses(responses);
        tls.responses.pop_front();
    }
    if tls.owed > 0 {
        with(app, tls, ctx, flow, |_, _, _| {});
    }
}

pub(crate) fn woke(app: &mut AnyApp, tls: &mut TlsFlow, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    if tls.open {
        with(app, tls, ctx, flow, AnyApp::woke);
    } else {
        ctx.fail(flow, Reason::TlsTimeout);
    }
}

/// The session continues on another connection: closes this one, with its alert.
pub(crate) fn close(app: &mut AnyApp, tls: &mut TlsFlow, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    with(app, tls, ctx, flow, |_, ctx, _| ctx.ask.close = true);
}

/// The run is over.
pub(crate) fn stop(app: &mut AnyApp, tls: &mut TlsFlow, ctx: &mut Ctx<'_>, flow: &mut Flow) {
    if tls.open {
        with(app, tls, ctx, flow, |app, ctx, flow| app.stop(ctx, flow));
    }
}

/// Lets the application see the flow, and carries out its requests: encrypts data to send, as far as there is room.
fn with(
    app: &mut AnyApp,
    tls: &mut TlsFlow,
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    tell: impl FnOnce(&mut AnyApp, &mut Ctx<'_>, &mut Flow),
) {
    let mut outer = std::mem::take(&mut ctx.ask);
    let mut buffer = Vec::new();
    tell(app, ctx, flow);
    loop {
        tls.owed += std::mem::take(&mut ctx.ask.send);
        if tls.owed == 0 || tls.out.len() >= AHEAD_MAX {
            break;
        }
        while tls.owed > 0 && tls.out.len() < AHEAD_MAX {
            let piece = tls.owed.min(RECORD as u64);
            buffer.resize(piece as usize, 0);
            app.fill(flow, ctx.extras, tls.taken, &mut buffer);
            tls.secure.send(&buffer);
            tls.owed -= piece;
            tls.taken += piece;
            tls.flush(&mut outer, &mut buffer);
            tls.pieces.push_back((tls.out_base + tls.out.len() as u64, piece));
        }
        let before = ctx.counts.responses();
        app.acknowledged(ctx, flow, tls.taken);
        if !ctx.is_client() {
            // What is encrypted is not acknowledged yet.
            let responses = ctx.counts.take_responses(&before);
            if responses != Responses::default() {
                tls.responses.push_back((tls.out_base + tls.out.len() as u64, responses));
            }
        }
    }
    tls.closing |= std::mem::take(&mut ctx.ask.close);
    if tls.closing && tls.owed == 0 && !tls.closed {
        tls.closed = true;
        tls.secure.close();
        tls.flush(&mut outer, &mut buffer);
        outer.close = true;
    }
    outer.abort |= ctx.ask.abort;
    outer.reset |= ctx.ask.reset;
    outer.wake = ctx.ask.wake.or(outer.wake);
    outer.read = ctx.ask.read.or(outer.read);
    outer.go_on = ctx.ask.go_on.or(outer.go_on);
    ctx.ask = outer;
}

/// Writes ciphertext.
pub(crate) fn fill(tls: &TlsFlow, offset: u64, out: &mut [u8]) {
    if let Some(skip) = offset.checked_sub(tls.out_base) {
        echo::copy(&tls.out, skip as usize, out);
    }
}

#[cfg(test)]
mod tests;
