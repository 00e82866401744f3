//! The seam to QUIC: a session's interface to a connection, for any implementation; and how a connection uses a UDP
//! flow.
//!
//! It is a seam because QUIC encrypts, which draws randomness and reads certificates, and no core room does. Source: RFC 9000.
//!
//! Invariants: a connection's datagrams leave in the order in which they were made; they are kept until the stack has
//! sent them. For any request of an application to the carrier, the connection closes first ([`Carried::settle`]).

pub(crate) mod link;
mod outbox;
#[cfg(test)]
pub(crate) mod plain;
#[cfg(test)]
mod tests;

use crate::counts::{QuicCounts, Reason};
use crate::flow::{Ask, Ctx, Flag, Flow};
use crate::secure::{Agreed, SecureError};
use outbox::Outbox;
use units::Nanos;

/// Bytes of datagrams that wait for the stack at which no more are made.
const AHEAD_MAX: u64 = 64 << 10;
/// Room of a new buffer for datagrams made together.
const BUFFER: usize = 16 << 10;
/// When it is looked again whether they have left.
const LOOK_AGAIN: Nanos = Nanos::from_micros(100);

/// Unidirectional streams that are read of a connection at a time.
pub const UNIDIRECTIONAL: u32 = http3::limits::UNIDIRECTIONAL;

/// Events of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuicEvent {
    /// The handshake is done.
    Connected,
    /// There is something to read on a stream, or its end; or the other end has just opened it.
    Readable(u64),
    /// A stream takes more, or the other end wants no more of it.
    Writable(u64),
    /// All of a stream was acknowledged.
    Delivered(u64),
    /// The other end requests that no more is sent on a stream, with this code.
    Stopped(u64, u64),
    /// More streams may be opened.
    Available,
    /// DATAGRAM frames came ([`Quic::read_datagram`]).
    Datagram,
    /// The connection is over.
    Lost(QuicEnd),
}

/// Why a connection is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuicEnd {
    /// The application at the other end closed it, by this code.
    Application(u64),
    /// The other end closed it with a QUIC error: its name, and its reason phrase.
    Transport(String),
    /// The other end does not want the connection (CONNECTION_REFUSED).
    Refused,
    /// The other end sent invalid QUIC, or violated the protocol: the reason.
    Protocol(String),
    /// The handshake failed.
    Tls(SecureError),
    /// There is no application protocol, or version of QUIC, that both ends support.
    NothingCommon(&'static str),
    /// The other end has lost its state (stateless reset).
    Reset,
    /// Nothing came for too long.
    TimedOut,
}

/// Why a DATAGRAM frame was not sent (RFC 9221).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicUnsent {
    /// The other end takes none, or this one has none.
    Unsupported,
    /// It is longer than this number of bytes, which the path and the other end take.
    TooLong(usize),
}

/// Result of reading a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuicRead {
    /// Nothing more for now.
    Blocked,
    /// It has ended.
    Finished,
    /// The other end gave it up, by this code.
    Reset(u64),
    /// It is no stream that can be read, any more.
    Closed,
}

/// Counters of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuicStats {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Times the congestion window was reduced.
    pub congestion_events: u64,
    /// Smoothed round-trip time.
    pub rtt: Nanos,
    /// Updates of the keys, by either end.
    pub key_updates: u64,
    /// Datagrams sent with ECT(0).
    pub ecn_sent: u64,
    /// The path, or the other end, was found not to support congestion marks.
    pub ecn_failed: bool,
    /// The server announced a preferred address (RFC 9000 section 9.6).
    pub preferred_address: bool,
}

/// One connection. Datagrams in, datagrams out; no socket, no waiting. Streams are named by their identifiers (RFC 9000 section 2.1).
pub trait Quic: Send {
    /// Takes a datagram, with its ECN bits.
    fn receive(&mut self, now: Nanos, datagram: &[u8], ecn: u8);

    /// The next event since the last call.
    fn poll(&mut self) -> Option<QuicEvent>;

    /// Opens a stream; none if the other end takes no more for now.
    fn open(&mut self, bidirectional: bool) -> Option<u64>;

    /// Sends bytes on a stream; returns how many it accepted. A stream that accepted none signals when it accepts more
    /// ([`QuicEvent::Writable`]). `None`: it accepts no more, ever.
    fn send(&mut self, stream: u64, bytes: &[u8]) -> Option<usize>;

    /// The same for bytes that are there for ever, which need not be copied until they are in packets.
    fn send_lasting(&mut self, stream: u64, bytes: &'static [u8]) -> Option<usize> {
        self.send(stream, bytes)
    }

    /// Nothing more is sent on a stream.
    fn finish(&mut self, stream: u64);

    /// Gives up what is sent on a stream.
    fn reset(&mut self, stream: u64, code: u64);

    /// Wants no more of what is received on a stream.
    fn stop(&mut self, stream: u64, code: u64);

    /// Hands out what came on a stream, in order.
    fn read(&mut self, stream: u64, take: &mut dyn FnMut(&[u8])) -> QuicRead;

    /// Sends bytes in one DATAGRAM frame, which is not sent again if it is lost.
    ///
    /// # Errors
    /// It is too long, or there are none on this connection.
    fn send_datagram(&mut self, _bytes: &[u8]) -> Result<(), QuicUnsent> {
        Err(QuicUnsent::Unsupported)
    }

    /// The bytes of the next DATAGRAM frame that came.
    fn read_datagram(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// Bytes of DATAGRAM frames that have not left.
    fn datagrams_left(&mut self) -> usize {
        0
    }

    /// Ends the connection, by a code of the application.
    fn close(&mut self, now: Nanos, code: u64);

    /// Appends some datagrams that are to be sent now to `out`, and their lengths to `lengths`. Returns whether there were any.
    fn transmit(&mut self, now: Nanos, out: &mut Vec<u8>, lengths: &mut Vec<u64>) -> bool;

    /// Whether its datagrams are to carry ECT(0): it uses congestion marks, and the path has not removed them so far (RFC 9000 section
    /// 13.4.2).
    fn marks(&self) -> bool;

    /// When it is to be woken.
    fn timeout(&mut self) -> Option<Nanos>;

    /// It may be time for something.
    fn wake(&mut self, now: Nanos);

    /// Whether there are keys of early data: at a client, to send before the handshake is done; at a server, because it accepts what
    /// came before.
    fn has_early_keys(&self) -> bool;

    /// Whether the server has accepted early data, once the handshake is done. Rejected data is lost, and all streams with it:
    /// they begin anew.
    fn is_early_accepted(&self) -> bool;

    /// Updates a client's keys, if the handshake is confirmed and the last update is complete.
    fn update_keys(&mut self);

    /// Negotiated parameters, once the handshake is done.
    fn agreed(&self) -> Option<Agreed>;

    /// The number of the flow over whose path the connection continues, if the other end has moved there since the last call: the
    /// connection's flow must exchange addresses with it.
    fn moved_to(&mut self) -> Option<u32>;

    /// The number of another flow to be woken: something has come for its connection, or waits for it to be sent
    /// ([`QuicSide::off_path`]).
    fn rouses(&mut self) -> Option<u32>;

    /// This end sends from another address or port from now on. `knows`: it does so itself; otherwise a NAT does, and it can't know.
    fn moved(&mut self, knows: bool);

    /// Its counters.
    fn stats(&self) -> QuicStats;

    /// Whether it is over, and nothing need be sent to the other end any more.
    fn is_drained(&self) -> bool;
}

/// Makes the connections of one side of one session entry.
pub trait QuicSide: Send {
    /// A client's. `number` counts the side's flows: what varies from flow to flow (the server name) follows it. `flow` is the
    /// flow's number in its stack.
    fn connect(&mut self, now: Nanos, number: u64, flow: u32) -> Result<Box<dyn Quic>, SecureError>;

    /// Handles a datagram on a flow without a connection, with its ECN bits.
    fn accept(&mut self, now: Nanos, flow: u32, datagram: &[u8], ecn: u8) -> QuicAccepted;

    /// Takes the datagrams that a flow is to send for a connection whose path leads over another flow.
    fn off_path(&mut self, flow: u32) -> Vec<Vec<u8>>;

    /// A flow is over.
    fn closed(&mut self, flow: u32);
}

/// Result of the first datagram of a flow.
pub enum QuicAccepted {
    /// A connection.
    Connection(Box<dyn Quic>),
    /// None, but this reply must be sent.
    Reply(Vec<u8>),
    /// None before the client proves its address: this Retry must be sent.
    Retry(Vec<u8>),
    /// It is of the connection of this flow, which must be woken: its client has moved, or tries to.
    Of(u32),
    /// None.
    Nothing,
}

impl std::fmt::Debug for QuicAccepted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connection(_) => "Connection",
            Self::Reply(_) => "Reply",
            Self::Retry(_) => "Retry",
            Self::Of(_) => "Of",
            Self::Nothing => "Nothing",
        })
    }
}

/// Reason why a connection was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing of its session.
    Nothing,
    /// The time of the handshake is over.
    Handshake,
    /// The application wanted to be woken.
    Wake,
}

/// A connection on its flow.
pub(crate) struct Carried {
    pub(crate) quic: Box<dyn Quic>,
    /// Datagrams that the stack has not sent.
    out: Outbox,
    /// When the application wants to be woken.
    wake: Option<Nanos>,
    /// When the handshake must be done. Applications have other wake-ups meanwhile: they send and respond in early data.
    deadline: Option<Nanos>,
    /// By which code it is to be closed.
    code: u64,
    /// It was requested to close.
    closed: bool,
    /// The session is over; the connection stays until the other end can no longer need it.
    over: bool,
    since: Nanos,
    /// Of the first packet that has one: the version.
    seen: bool,
    /// Datagrams were received whose events are left to the end of the burst.
    unheard: bool,
    /// When a client takes another port.
    moves: Option<Nanos>,
    /// Something was received since it last did, or since the handshake.
    heard: bool,
    /// Packets sent when a client last updated its keys.
    renewed: u64,
}

impl Carried {
    /// On a flow that has sent `base` bytes of datagrams.
    pub(crate) fn new(quic: Box<dyn Quic>, now: Nanos, base: u64) -> Self {
        Self {
            quic,
            out: Outbox::new(base),
            wake: None,
            deadline: None,
            code: 0,
            closed: false,
            over: false,
            since: now,
            seen: false,
            unheard: false,
            moves: None,
            heard: false,
            renewed: 0,
        }
    }

    /// Takes a datagram.
    #[inline]
    pub(crate) fn receive(&mut self, ctx: &mut Ctx<'_>, datagram: &[u8]) {
        if !self.seen {
            self.look(ctx, datagram);
        }
        note_mark(ctx);
        self.heard = true;
        self.quic.receive(ctx.now, datagram, ctx.ecn);
    }

    /// The same on a flow whose session is open, and no event urgent: returns whether they are left to the end of the burst, of whose
    /// datagrams more may be its own. So what came on a stream with several is read in one go. Data that came before RESET_STREAM in the same
    /// burst is discarded unread (RFC 9000 section 3.2).
    #[inline]
    pub(crate) fn receive_some(&mut self, ctx: &mut Ctx<'_>, flow: &Flow, datagram: &[u8]) -> bool {
        self.receive(ctx, datagram);
        // Only then is it told of that end.
        self.unheard =
            self.seen && !self.closed && flow.state == link::state::OPEN && !flow.has(Flag::Stopping);
        self.unheard
    }

    /// Whether events were left to the end of the burst.
    #[inline]
    pub(crate) fn is_unheard(&mut self) -> bool {
        std::mem::take(&mut self.unheard)
    }

    /// Detects packets that a server sends before the handshake (RFC 9000 sections 17.2.1 and 17.2.5).
    #[cold]
    fn look(&mut self, ctx: &mut Ctx<'_>, datagram: &[u8]) {
        let [first, a, b, c, d, ..] = *datagram else { return };
        if first & 0x80 == 0 {
            return self.seen = true;
        }
        match (u32::from_be_bytes([a, b, c, d]), first & 0x30) {
            (0, _) => ctx.counts.quic.version_negotiations += 1,
            (1, 0x30) => ctx.counts.quic.retries += 1,
            _ => {}
        }
    }

    /// The handshake is done.
    pub(crate) fn connected(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        self.seen = true;
        (self.moves, self.heard) = (ctx.common.moves(ctx.now), false);
        let took = ctx.now.since(self.since);
        ctx.counts.handshake.record(took.0);
        // A session that continues here was established when it began.
        let is_new = !ctx.is_client() || !flow.has(Flag::ARRIVES);
        ctx.counts.established += u64::from(is_new);
        if ctx.is_client() && is_new {
            ctx.counts.setup.record(took.0);
            if let Some(up) = ctx.common.up {
                flow.set_up_end(ctx.now.saturating_add(up.value(u64::from(flow.number), 0)));
            }
        }
        ctx.counts.quic.connections += 1;
        ctx.counts.quic.preferred_addresses += u64::from(self.quic.stats().preferred_address);
        if let Some(agreed) = self.quic.agreed() {
            ctx.alpn = agreed.alpn;
            *ctx.counts.tls.entry(agreed).or_default() += 1;
        }
        self.deadline = None;
    }

    /// The handshake must be done in time, from now on.
    pub(crate) fn await_handshake(&mut self, ctx: &Ctx<'_>) {
        let patience = ctx.common.patience;
        let patience = if ctx.is_client() { patience.response } else { patience.idle };
        self.deadline = patience.map(|patience| ctx.now.saturating_add(patience));
    }

    /// The time of a server's handshake is over: it fails, unless something has come meanwhile.
    pub(crate) fn outlast(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.take(Flag::Progress) {
            self.await_handshake(ctx);
        } else {
            link::give_up(ctx, flow, Reason::IdleTimeout);
        }
    }

    /// By which code the connection is closed, once it is.
    pub(crate) fn close_by(&mut self, code: u64) {
        self.code = code;
    }

    /// Wakes the connection; returns what else it was woken for.
    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) -> Due {
        self.quic.wake(ctx.now);
        let is_past = |at: &mut Option<Nanos>| at.take_if(|at| *at <= ctx.now).is_some();
        let due = if is_past(&mut self.deadline) {
            Due::Handshake
        } else if is_past(&mut self.wake) {
            Due::Wake
        } else {
            Due::Nothing
        };
        if self.wake.is_some() {
            flow.set(Flag::Armed);
        }
        due
    }

    /// Whether the session is over, and only the connection is left.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Leaves the connection's output to the end of the burst, of whose datagrams more may be its own: unless it shakes hands, or ends.
    #[inline]
    pub(crate) fn hold(&mut self, ask: &mut Ask) {
        if !self.seen || self.closed || ask.close || ask.abort || ask.reset {
            return;
        }
        if let Some(at) = ask.wake.take() {
            self.wake = (at != Nanos::MAX).then_some(at);
        }
        ask.rouse = self.quic.rouses();
        ask.tend = true;
    }

    /// Carries out the requests of this call, and sends the connection's output. `sent`: bytes of datagrams that the
    /// stack has sent so far. Returns whether the session is over with it.
    #[inline]
    pub(crate) fn settle(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) -> bool {
        self.move_on(ctx);
        let ask = &mut ctx.ask;
        if let Some(at) = ask.wake.take() {
            self.wake = (at != Nanos::MAX).then_some(at);
        }
        let mut ends = false;
        if std::mem::take(&mut ask.close) | std::mem::take(&mut ask.abort) | std::mem::take(&mut ask.reset)
            && !self.closed
        {
            self.closed = true;
            self.quic.close(ctx.now, self.code);
        }
        self.renew(ctx);
        if self.closed && !self.over {
            (self.over, ends) = (true, true);
            (self.wake, self.deadline) = (None, None);
            flow.unset(Flag::Armed);
            ctx.counts.quic.add(&self.quic.stats());
        }
        self.flush(ctx);
        ctx.ask.rouse = self.quic.rouses();
        ctx.ask.marks = Some(self.quic.marks());
        if self.over && self.quic.is_drained() {
            ctx.ask.close = true;
            return ends;
        }
        let waits = self.out.ahead() >= AHEAD_MAX;
        let again = waits.then(|| ctx.now.saturating_add(LOOK_AGAIN));
        ctx.ask.wake =
            [self.wake, self.deadline, self.quic.timeout(), again, self.moves].into_iter().flatten().min();
        ends
    }

    /// Follows the other end to another path, or has this one take another port.
    #[inline]
    fn move_on(&mut self, ctx: &mut Ctx<'_>) {
        ctx.ask.exchange = self.quic.moved_to();
        ctx.counts.quic.migrated += u64::from(ctx.ask.exchange.is_some());
        if self.moves.is_some_and(|at| at <= ctx.now) {
            self.moves = if self.closed { None } else { ctx.common.moves(ctx.now) };
            // A client that migrates has one path at a time that is not validated: each takes another connection identifier of
            // both ends. And it does so only once the handshake is confirmed (RFC 9000 section 9).
            let waits = !self.heard && ctx.common.migrate.is_some_and(|migrate| migrate.knows);
            ctx.ask.moves = self.moves.is_some() && !waits;
            self.heard &= !ctx.ask.moves;
        }
    }

    /// Updates a client's keys after a number of packets.
    #[inline]
    fn renew(&mut self, ctx: &Ctx<'_>) {
        let Some(packets) = ctx.common.key_update.filter(|_| self.seen && !self.closed) else { return };
        let sent = self.quic.stats().packets_sent;
        if sent.saturating_sub(self.renewed) >= packets {
            self.renewed = sent;
            self.quic.update_keys();
        }
    }

    /// The client has another port.
    #[cold]
    pub(crate) fn moved(&mut self, ctx: &mut Ctx<'_>, knows: bool) {
        ctx.counts.quic.migrated += 1;
        self.quic.moved(knows);
    }

    #[inline]
    fn flush(&mut self, ctx: &mut Ctx<'_>) {
        self.out.note_sent(ctx.sent, ctx.extras);
        while self.out.ahead() < AHEAD_MAX {
            let (mut bytes, before) = (ctx.extras.spare(BUFFER), ctx.ask.datagrams.len());
            if !self.quic.transmit(ctx.now, &mut bytes, &mut ctx.ask.datagrams) {
                ctx.extras.keep_spare(bytes);
                break;
            }
            self.out.push(bytes, ctx.ask.datagrams.len() > before + 1, ctx.extras);
        }
    }

    /// Writes datagrams.
    pub(crate) fn fill(&self, offset: u64, out: &mut [u8]) {
        self.out.fill(offset, out);
    }
}

/// Counts the congestion mark of a datagram (RFC 3168 section 5).
#[inline]
pub(crate) fn note_mark(ctx: &mut Ctx<'_>) {
    ctx.counts.quic.ecn_ect += u64::from(matches!(ctx.ecn, 1 | 2));
    ctx.counts.quic.ecn_ce += u64::from(ctx.ecn == 3);
}

/// Reason of the failure of a session whose connection was lost, with details; `None` if the other end closed it
/// properly (`good`: the code for that). `nothing_common`: the reason if the ends have no protocol in common.
pub(crate) fn failure(
    end: &QuicEnd,
    is_open: bool,
    good: u64,
    nothing_common: Reason,
    name: impl Fn(u64) -> String,
) -> Option<(Reason, String)> {
    Some(match end {
        // An application that has no code for it says 0.
        QuicEnd::Application(code) if *code == good || *code == 0 && is_open => return None,
        QuicEnd::Application(code) => (Reason::QuicClosed, format!("CONNECTION_CLOSE: {}", name(*code))),
        QuicEnd::Transport(why) => (Reason::QuicClosed, format!("CONNECTION_CLOSE: {why}")),
        QuicEnd::Refused => (Reason::Refused, "CONNECTION_CLOSE: CONNECTION_REFUSED".to_owned()),
        QuicEnd::Protocol(why) => (Reason::QuicProtocol, why.clone()),
        QuicEnd::Tls(SecureError::AlertReceived(name)) => (Reason::TlsAlert, (*name).to_owned()),
        QuicEnd::Tls(SecureError::NothingCommon(why)) => (nothing_common, (*why).to_owned()),
        QuicEnd::Tls(SecureError::Certificate(why)) => (Reason::TlsCertificate, why.clone()),
        QuicEnd::Tls(SecureError::Protocol(why)) => (Reason::TlsProtocol, why.clone()),
        QuicEnd::NothingCommon(why) => (nothing_common, (*why).to_owned()),
        QuicEnd::Reset => {
            (Reason::Reset, "stateless reset: the other end has lost the connection".to_owned())
        }
        QuicEnd::TimedOut if is_open => {
            (Reason::IdleTimeout, "QUIC: nothing received for the idle timeout".to_owned())
        }
        QuicEnd::TimedOut => (Reason::SetupTimeout, "QUIC: the handshake had no response".to_owned()),
    })
}

impl QuicCounts {
    /// A connection is over.
    pub(crate) fn add(&mut self, stats: &QuicStats) {
        self.packets_sent += stats.packets_sent;
        self.packets_lost += stats.packets_lost;
        self.datagrams_received += stats.datagrams_received;
        self.congestion_events += stats.congestion_events;
        self.key_updates += stats.key_updates;
        self.ecn_sent += stats.ecn_sent;
        self.ecn_failed += u64::from(stats.ecn_failed);
    }
}
