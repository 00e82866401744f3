//! Programs over QUIC: messages on the first bidirectional stream of a connection, which its client opens, or each in a DATAGRAM frame.
//! Source: RFC 9000, RFC 9221.
//!
//! A program sees the stream as it sees a connection of TCP: its close is the stream's end (FIN), its reset RESET_STREAM. Frames of datagrams it sees
//! as it sees datagrams of UDP. Bytes count as acknowledged once QUIC has taken them, which keeps them until they are. A connection is closed
//! by code 0 once its program is over: by its client when both ends of the stream have come, by its server if the client leaves it open.
//!
//! Not here: what programs are (`machine`), other streams: they are refused.
//!
//! Invariant: `flow.state` and `flow.waiting` are the program's while it runs, and the connection's at all other times.

use super::{Machine, Program};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ask, Ctx, Flag, Flow};
use crate::quic::link::{self, Link, give_up, state};
use crate::quic::{Carried, Quic, QuicEnd, QuicEvent, QuicRead, QuicUnsent, failure};
use tcp::End;
use units::Nanos;

/// The client's first bidirectional stream (RFC 9000 section 2.1).
const STREAM: u64 = 0;
/// Codes by which a connection is closed: its program is over, or has failed.
const OVER: u64 = 0;
const FAILED: u64 = 1;
/// Bytes of a message passed to QUIC at a time.
const PIECE: u64 = 16 << 10;
/// Time for which an end that is over waits for the other one to be over, too.
const PARTING: Nanos = Nanos::from_secs(1);
/// When it is looked again whether the last datagrams have left.
const LOOK_AGAIN: Nanos = Nanos::from_micros(100);

/// A program made ready.
#[derive(Debug)]
pub(crate) struct OverQuic {
    machine: Machine,
    /// Each message goes in a DATAGRAM frame.
    datagrams: bool,
}

/// A flow's connection.
pub(crate) struct Channel {
    pub(crate) carried: Carried,
    /// `state` and `waiting` of the flow while the program does not run.
    state: u8,
    waiting: u8,
    /// The program runs.
    runs: bool,
    /// Bytes that it passed for sending, and how many of them QUIC has taken.
    asked: u64,
    taken: u64,
    /// It sends nothing more; QUIC knows, and all has arrived.
    ends: bool,
    ended: bool,
    delivered: bool,
    /// It reads; the other end's last byte has come, and the program knows.
    reads: bool,
    heard: bool,
    /// When it wants to be woken, and when the connection is closed at the latest.
    wake: Option<Nanos>,
    parts: Option<Nanos>,
}

impl Channel {
    fn new(quic: Box<dyn Quic>, now: Nanos, base: u64) -> Self {
        let mut carried = Carried::new(quic, now, base);
        carried.close_by(OVER);
        Self {
            carried,
            state: 0,
            waiting: 0,
            runs: false,
            asked: 0,
            taken: 0,
            ends: false,
            ended: false,
            delivered: false,
            reads: true,
            heard: false,
            wake: None,
            parts: None,
        }
    }

    /// Gives the program its part of the flow, or takes it back.
    fn exchange(&mut self, flow: &mut Flow) {
        std::mem::swap(&mut self.state, &mut flow.state);
        std::mem::swap(&mut self.waiting, &mut flow.waiting);
    }
}

/// Does something with a flow's connection.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Channel)) {
    link::with(ctx, flow, |ctx, flow, link| {
        if let Link::Program(channel) = link {
            work(ctx, flow, channel);
        }
    });
}

impl OverQuic {
    pub(crate) fn new(program: &Program, datagrams: bool) -> Self {
        Self { machine: Machine::new(program), datagrams }
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if !ctx.is_client() {
            return;
        }
        if flow.state == state::PATH {
            return link::keep_path(ctx, flow);
        }
        let Some(quic) = link::connect(ctx, flow) else { return };
        let channel = Box::new(Channel::new(quic, ctx.now, 0));
        ctx.extras.of(flow).quic = Some(Box::new(Link::Program(channel)));
        ctx.arm(flow, ctx.common.patience.response);
    }

    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
        if ctx.is_client() && flow.state == state::PATH {
            return link::received_path(ctx, flow, datagram);
        }
        flow.set(Flag::Progress);
        if !ctx.is_client() && link::is_to_accept(flow) {
            let Some((quic, base)) = link::accept(ctx, flow, datagram) else { return };
            let channel = Box::new(Channel::new(quic, ctx.now, base));
            ctx.extras.of(flow).quic = Some(Box::new(Link::Program(channel)));
            ctx.arm(flow, ctx.common.patience.idle);
        } else {
            with(ctx, flow, |ctx, _, channel| channel.carried.receive(ctx, datagram));
        }
        with(ctx, flow, |ctx, flow, channel| self.go_on(ctx, flow, channel));
    }

    /// Handles events, and acts on them.
    fn go_on(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        while let Some(event) = channel.carried.quic.poll() {
            if flow.has(Flag::Failed) || channel.carried.is_over() {
                continue;
            }
            match event {
                QuicEvent::Connected => self.connected(ctx, flow, channel),
                QuicEvent::Readable(STREAM) if !self.datagrams => {
                    self.begin(ctx, flow, channel);
                    self.read(ctx, flow, channel);
                }
                QuicEvent::Readable(id) => {
                    ctx.counts.detail("a stream that the program has no use for was refused");
                    channel.carried.quic.stop(id, OVER);
                    if id & 2 == 0 {
                        channel.carried.quic.reset(id, OVER);
                    }
                }
                QuicEvent::Writable(STREAM) | QuicEvent::Available => {
                    self.begin_client(ctx, flow, channel);
                    self.tell(ctx, flow, channel, |_, _, _| {});
                }
                QuicEvent::Delivered(STREAM) => channel.delivered = true,
                QuicEvent::Stopped(STREAM, code) => {
                    Self::given_up(ctx, flow, channel, &format!("STOP_SENDING: code {code:#x}"));
                }
                QuicEvent::Datagram => self.read_datagrams(ctx, flow, channel),
                QuicEvent::Writable(_) | QuicEvent::Delivered(_) | QuicEvent::Stopped(..) => {}
                QuicEvent::Lost(end) => self.lost(ctx, flow, channel, &end),
            }
        }
        self.part(ctx, flow, channel);
    }

    fn connected(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        flow.state = state::OPEN;
        channel.carried.connected(ctx, flow);
        channel.wake = None;
        if self.datagrams {
            return self.begin(ctx, flow, channel);
        }
        self.begin_client(ctx, flow, channel);
        if !channel.runs {
            // A server waits for its client to open the stream, and a client for its server to take one.
            let patience = ctx.common.patience;
            ctx.arm(flow, if ctx.is_client() { patience.response } else { patience.idle });
        }
    }

    /// Opens the stream of a client's program, unless it is open, or the server takes none yet.
    fn begin_client(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        let may_open = ctx.is_client() && !self.datagrams && !channel.runs && flow.state == state::OPEN;
        if may_open && channel.carried.quic.open(true).is_some() {
            self.begin(ctx, flow, channel);
        }
    }

    /// The program begins.
    fn begin(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        if !std::mem::replace(&mut channel.runs, true) {
            flow.unset(Flag::Armed);
            self.tell(ctx, flow, channel, |machine, ctx, flow| machine.opened(ctx, flow));
        }
    }

    /// Has the program see the flow, and carries out its requests.
    fn tell(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        channel: &mut Channel,
        tell: impl FnOnce(&Machine, &mut Ctx<'_>, &mut Flow),
    ) {
        if !channel.runs || flow.has(Flag::Failed) || channel.carried.is_over() {
            return;
        }
        let outer = std::mem::take(&mut ctx.ask);
        let udp = std::mem::replace(&mut ctx.udp, self.datagrams);
        channel.exchange(flow);
        tell(&self.machine, ctx, flow);
        let wrong = self.send(ctx, flow, channel);
        channel.exchange(flow);
        let ask = std::mem::replace(&mut ctx.ask, outer);
        ctx.udp = udp;
        if flow.has(Flag::Failed) {
            // The reason is where the program has left it.
            flow.waiting = channel.waiting;
            return Self::fail(ctx, flow, channel);
        }
        if let Some(why) = wrong {
            ctx.counts.detail(&why);
            ctx.fail_softly(flow, Reason::QuicProtocol);
            return Self::fail(ctx, flow, channel);
        }
        flow.waiting = u8::from(self.awaits(flow, channel));
        self.obey(ctx, flow, channel, &ask);
    }

    /// Whether the program waits for something.
    fn awaits(&self, flow: &mut Flow, channel: &mut Channel) -> bool {
        channel.exchange(flow);
        let awaits = self.machine.awaits_reply(flow);
        channel.exchange(flow);
        awaits
    }

    /// Carries out the program's requests to its carrier, but for sending.
    fn obey(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel, ask: &Ask) {
        if let Some(at) = ask.wake {
            channel.wake = (at != Nanos::MAX).then_some(at);
        }
        if ask.reset {
            channel.carried.quic.reset(STREAM, OVER);
            (channel.ended, channel.delivered) = (true, true);
        }
        channel.ends |= ask.close;
        if channel.ends && channel.taken == channel.asked && !channel.ended {
            channel.ended = true;
            if self.datagrams {
                channel.delivered = true;
            } else {
                channel.carried.quic.finish(STREAM);
            }
        }
        if let Some(reads) = ask.read {
            let resumes = reads && !channel.reads;
            channel.reads = reads;
            if resumes {
                self.read(ctx, flow, channel);
            }
        }
    }

    /// Passes what the program has sent to QUIC, as far as that takes it. Returns what is wrong with it, if something is.
    fn send(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) -> Option<String> {
        loop {
            let asked = std::mem::take(&mut ctx.ask.send);
            channel.asked += asked;
            let left = channel.asked - channel.taken;
            if left == 0 && !(self.datagrams && asked > 0) {
                return None;
            }
            let mut bytes = std::mem::take(ctx.scratch);
            let piece = if self.datagrams { left } else { left.min(PIECE) };
            bytes.resize(piece as usize, 0);
            self.machine.fill(flow, ctx.extras, channel.taken, &mut bytes);
            let taken = if self.datagrams {
                match channel.carried.quic.send_datagram(&bytes) {
                    Ok(()) => ctx.counts.quic.datagram_frames_sent += 1,
                    Err(QuicUnsent::TooLong(most)) => {
                        return Some(format!("a message of {piece} B, and a DATAGRAM frame takes {most} B"));
                    }
                    Err(QuicUnsent::Unsupported) => {
                        return Some("the other end takes no DATAGRAM frames".to_owned());
                    }
                }
                bytes.len()
            } else {
                // Of a stream that is stopped or reset nothing more is wanted.
                channel.carried.quic.send(STREAM, &bytes).unwrap_or(bytes.len())
            };
            *ctx.scratch = bytes;
            channel.taken += taken as u64;
            ctx.counts.bytes_delivered += taken as u64;
            if !self.datagrams {
                if taken == 0 {
                    // It says when it takes more.
                    return None;
                }
                self.machine.acknowledged(ctx, flow, channel.taken);
            }
        }
    }

    /// Reads the stream, if the program does.
    fn read(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        while channel.reads && channel.runs && !channel.heard && !flow.has(Flag::Failed) {
            let mut bytes = Vec::new();
            let outcome = channel.carried.quic.read(STREAM, &mut |some| bytes.extend_from_slice(some));
            if !bytes.is_empty() {
                ctx.counts.bytes_received += bytes.len() as u64;
                self.tell(ctx, flow, channel, |machine, ctx, flow| machine.received(ctx, flow, &bytes));
            }
            match outcome {
                QuicRead::Finished => {
                    channel.heard = true;
                    self.tell(ctx, flow, channel, |machine, ctx, flow| machine.finished(ctx, flow));
                }
                QuicRead::Reset(code) => {
                    channel.heard = true;
                    Self::given_up(ctx, flow, channel, &format!("RESET_STREAM: code {code:#x}"));
                }
                QuicRead::Blocked | QuicRead::Closed => return,
            }
        }
    }

    fn read_datagrams(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        while let Some(datagram) = channel.carried.quic.read_datagram() {
            ctx.counts.quic.datagram_frames_received += 1;
            if !self.datagrams {
                ctx.counts.detail("a DATAGRAM frame that the program has no use for");
                continue;
            }
            ctx.counts.bytes_received += datagram.len() as u64;
            self.tell(ctx, flow, channel, |machine, ctx, flow| machine.received(ctx, flow, &datagram));
        }
    }

    /// The other end has given the stream up. One that is over has lost nothing.
    #[cold]
    fn given_up(ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel, why: &str) {
        if !flow.has(Flag::Done) {
            ctx.counts.detail(why);
            ctx.fail_softly(flow, Reason::StreamReset);
            Self::fail(ctx, flow, channel);
        }
        channel.delivered = true;
    }

    /// The program has failed: the other end gets a code.
    #[cold]
    fn fail(ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        channel.carried.close_by(FAILED);
        flow.set(Flag::Closing);
        ctx.ask.close = true;
    }

    /// Closes the connection of a program that is over, if it is time for that, and sees to it that the flow is woken.
    fn part(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        if !channel.runs || channel.carried.is_over() || flow.has(Flag::Failed) || flow.state != state::OPEN {
            return;
        }
        let mut parts = None;
        if flow.has(Flag::Done) && channel.ended && channel.delivered {
            let at = *channel.parts.get_or_insert_with(|| ctx.now.saturating_add(PARTING));
            // Frames of datagrams that have not left would not any more.
            let is_through =
                if self.datagrams { channel.carried.quic.datagrams_left() == 0 } else { channel.heard };
            if ctx.is_client() && is_through || at <= ctx.now {
                flow.state = state::END;
                ctx.ask.close = true;
                return;
            }
            parts = Some(if self.datagrams { at.min(ctx.now.saturating_add(LOOK_AGAIN)) } else { at });
        }
        ctx.ask.wake = Some([channel.wake, parts].into_iter().flatten().min().unwrap_or(Nanos::MAX));
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if link::woke_without(ctx, flow) {
            return;
        }
        with(ctx, flow, |ctx, flow, channel| {
            let is_due = channel.carried.woke(ctx, flow);
            if is_due && flow.state == state::CONNECTING {
                ctx.counts.detail("QUIC: the handshake had no response");
                return give_up(ctx, flow, Reason::SetupTimeout);
            }
            if is_due && flow.state == state::OPEN && !channel.runs {
                let reason = if ctx.is_client() { Reason::ResponseTimeout } else { Reason::IdleTimeout };
                return give_up(ctx, flow, reason);
            }
            if is_due && channel.wake.is_some_and(|at| at <= ctx.now) {
                channel.wake = None;
                self.tell(ctx, flow, channel, Machine::woke);
            }
            self.go_on(ctx, flow, channel);
        });
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, channel| {
            self.tell(ctx, flow, channel, Machine::stop);
            if !channel.runs && flow.state == state::OPEN {
                flow.set(Flag::Stopped);
                flow.state = state::END;
                return ctx.close(flow);
            }
            self.part(ctx, flow, channel);
        });
    }

    #[cold]
    fn lost(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel, end: &QuicEnd) {
        flow.set(Flag::PeerClosed);
        let open = flow.state != state::CONNECTING;
        match failure(end, open, OVER, Reason::NoAlpn, |code| format!("code {code:#x}")) {
            _ if flow.has(Flag::Done) => {}
            None => {
                if !std::mem::replace(&mut channel.heard, true) {
                    self.tell(ctx, flow, channel, |machine, ctx, flow| machine.finished(ctx, flow));
                }
                if !flow.has(Flag::Done) {
                    ctx.fail_softly(flow, Reason::ClosedEarly);
                }
            }
            Some((reason, why)) => {
                ctx.counts.detail(&why);
                ctx.fail_softly(flow, reason);
            }
        }
        flow.state = state::END;
        flow.set(Flag::Closing);
        ctx.ask.close = true;
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
