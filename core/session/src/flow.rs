//! State of a flow, and an application's view of the flow it handles.

use crate::counts::{Counts, Reason};
use crate::extra::Extras;
use crate::http::Alternative;
use crate::pace::{Pacer, Turn};
use crate::plan::{Carrier, Migrate, Patience, Side};
use crate::quic::QuicSide;
use crate::vary::Delay;
use tcp::{End, FlowId, Io};
use units::Nanos;

/// Datagrams that wait in a flow at most.
const DATAGRAMS_KEPT_MAX: usize = 256;

/// State of a flow. Each application has its own interpretation of the fields below the line.
#[derive(Debug, Clone, Default)]
pub struct Flow {
    /// The session's number, modulo 2^32.
    pub(crate) number: u32,
    /// Remaining bytes of the message being read, below [`EXTRA`]; or the position of the flow's additional state,
    /// which has it then. See [`Extras::left`].
    pub(crate) left_or_extra: u32,
    /// When it was opened, or its last request sent: ticks of [`TICK_BITS`].
    pub(crate) at: u32,
    /// When its time is up: ticks of [`UP_TICK_BITS`]. Servers: the oldest response that is not acknowledged.
    pub(crate) until: u32,
    /// Messages sent so far.
    pub(crate) sent: u32,
    // ----
    pub(crate) step: u32,
    /// Offset of the oldest message that is not acknowledged whole, modulo 2^40: the lower bits, and the upper.
    base: u32,
    base_high: u8,
    /// Messages sent that are not acknowledged whole.
    pub(crate) unacked: u16,
    pub(crate) waiting: u8,
    pub(crate) state: u8,
    flags: u16,
}

const _: () = assert!(size_of::<Flow>() == 36 && align_of::<Flow>() == 4);

/// Distinguishes the position of a flow's entry in [`Extras`] from a number of bytes.
pub(crate) const EXTRA: u32 = 1 << 31;

/// A segment that may be the last for which a peer with Nagle's algorithm has room: full ones are longer, over IPv6 too.
const SHORT: usize = 1_220;

/// Ticks of 256 ns: differences are right up to 18 minutes.
const TICK_BITS: u32 = 8;
/// Ticks of 65,536 ns: differences are right up to 39 hours.
const UP_TICK_BITS: u32 = 16;
/// Offsets are kept modulo 2^40.
const OFFSET_MASK: u64 = (1 << 40) - 1;

/// Properties of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Flag {
    /// It was counted as attempted.
    Counted = 1,
    /// Something came since it was woken last.
    Progress = 1 << 1,
    /// It has done what it should.
    Done = 1 << 2,
    /// It failed; `waiting` is the reason.
    Failed = 1 << 3,
    /// It must end after its transaction.
    Stopping = 1 << 4,
    /// It was requested to close.
    Closing = 1 << 5,
    /// The other end has closed.
    PeerClosed = 1 << 6,
    /// A wake-up is on its way.
    Armed = 1 << 7,
    /// The response's first byte has come.
    FirstByte = 1 << 8,
    /// It does not read.
    Paused = 1 << 9,
    /// It has a turn: to send a request, or to close once it is done.
    Turn = 1 << 10,
    /// It was ended by its time or the run's.
    Stopped = 1 << 11,
    /// HTTP: no further response comes, or may go, on this connection.
    Last = 1 << 12,
    /// HTTP: the server is to close.
    Head = 1 << 13,
    /// Input is first stored in `extra`.
    Stashed = 1 << 14,
    /// HTTP: responses that are not acknowledged are in `extra`.
    Queued = 1 << 15,
}

impl Flag {
    /// HTTP: nothing is expected of the body that is read now; it is an error's, or there is none. Clients have it in
    /// place of a flag that only servers have.
    pub(crate) const ANY_BODY: Self = Self::Queued;
    /// HTTP: it takes up a session that began on another flow, and is not open yet. Has the place of a flag that is set later.
    pub(crate) const ARRIVES: Self = Self::Head;
    /// DNS: a session that began over UDP is on TCP. Has the place of a flag of HTTP.
    pub(crate) const BY_TCP: Self = Self::Last;
}

impl Flow {
    pub(crate) fn new(number: u64, now: Nanos) -> Self {
        Self { number: number as u32, at: (now.0 >> TICK_BITS) as u32, ..Self::default() }
    }

    /// State that a session takes to another flow: identity, progress, and times.
    pub(crate) fn successor(&self) -> Self {
        let flags = self.flags & (Flag::Counted as u16 | Flag::Stopping as u16);
        Self {
            number: self.number,
            at: self.at,
            until: self.until,
            step: self.step,
            flags,
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn has(&self, flag: Flag) -> bool {
        self.flags & flag as u16 != 0
    }

    /// Whether one of several flags is set.
    #[inline(always)]
    pub(crate) fn has_any(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }

    #[inline]
    pub(crate) fn set(&mut self, flag: Flag) {
        self.flags |= flag as u16;
    }

    #[inline]
    pub(crate) fn unset(&mut self, flag: Flag) {
        self.flags &= !(flag as u16);
    }

    /// Takes a flag away; returns whether it was there.
    #[inline]
    pub(crate) fn take(&mut self, flag: Flag) -> bool {
        let had = self.has(flag);
        self.unset(flag);
        had
    }

    /// The place of its entry in [`Extras`], if it has one.
    #[inline]
    pub(crate) fn extra(&self) -> Option<usize> {
        self.left_or_extra.checked_sub(EXTRA).map(|place| place as usize)
    }

    #[inline(always)]
    fn base(&self) -> u64 {
        u64::from(self.base) | u64::from(self.base_high) << 32
    }

    /// Bytes from the oldest message's start to `offset`.
    #[inline]
    pub(crate) fn since_base(&self, offset: u64) -> u64 {
        offset.wrapping_sub(self.base()) & OFFSET_MASK
    }

    /// Advances to the message after the oldest, which has this number of bytes.
    #[inline]
    pub(crate) fn drop_oldest(&mut self, bytes: u64) {
        let base = self.base().wrapping_add(bytes);
        (self.base, self.base_high) = (base as u32, (base >> 32) as u8);
        self.unacked = self.unacked.saturating_sub(1);
    }

    /// Number of the oldest message that is not acknowledged whole.
    #[inline]
    pub(crate) fn oldest(&self) -> u32 {
        self.sent.wrapping_sub(u32::from(self.unacked))
    }

    /// Time since `at`.
    #[inline]
    pub(crate) fn elapsed(&self, now: Nanos) -> Nanos {
        elapsed(self.at, now)
    }

    /// Sets `at`.
    #[inline]
    pub(crate) fn mark(&mut self, now: Nanos) {
        self.at = tick(now);
    }

    /// When its time is up, as seen from `now`.
    pub(crate) fn up_end(&self, now: Nanos) -> Nanos {
        let ahead = self.until.wrapping_sub((now.0 >> UP_TICK_BITS) as u32) as i32;
        let at = ((now.0 >> UP_TICK_BITS) as i64 + i64::from(ahead)).max(0) as u64;
        Nanos(at << UP_TICK_BITS)
    }

    pub(crate) fn set_up_end(&mut self, at: Nanos) {
        self.until = (at.0 >> UP_TICK_BITS) as u32;
    }

    pub(crate) fn reason(&self) -> Reason {
        Reason::from_number(self.waiting)
    }
}

/// The tick of an instant.
#[inline]
pub(crate) fn tick(now: Nanos) -> u32 {
    (now.0 >> TICK_BITS) as u32
}

/// The instant of a tick, as seen from `now`, at most 18 minutes later.
#[inline]
pub(crate) fn instant(tick_at: u32, now: Nanos) -> Nanos {
    Nanos(((now.0 >> TICK_BITS).saturating_sub(u64::from(tick(now).wrapping_sub(tick_at)))) << TICK_BITS)
}

/// The instant of a tick, as seen from `now`, at most 9 minutes earlier or later.
pub(crate) fn instant_near(tick_at: u32, now: Nanos) -> Nanos {
    let ahead = tick_at.wrapping_sub(tick(now)) as i32;
    let at = ((now.0 >> TICK_BITS) as i64 + i64::from(ahead)).max(0) as u64;
    Nanos(at << TICK_BITS)
}

/// Time since a tick.
#[inline]
pub(crate) fn elapsed(since: u32, now: Nanos) -> Nanos {
    Nanos(u64::from(tick(now).wrapping_sub(since)) << TICK_BITS)
}

/// State common to all flows of a group.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub side: Side,
    pub carrier: Carrier,
    pub patience: Patience,
    pub up: Option<Delay>,
    pub verify: bool,
    pub secured: bool,
    /// Whether both sides take turns: HTTP.
    pub takes_turns: bool,
    /// Sessions go over QUIC.
    pub quic: bool,
    /// Interval at which clients of QUIC take another port.
    pub migrate: Option<Migrate>,
    /// After how many packets they update their keys.
    pub key_update: Option<u64>,
    /// Whether there is a rate of requests to keep, or a number of them.
    pub paced: bool,
    /// Whether requests whose turn has passed are sent late, and their times counted from when they were due, too.
    pub late: bool,
    /// Whether clients go where their servers announce to be reached by HTTP/3, too.
    pub follows: bool,
}

impl Common {
    #[inline(always)]
    pub(crate) fn is_client(&self) -> bool {
        self.side == Side::Client
    }

    /// When a client of QUIC takes another port, as seen from `now`.
    pub(crate) fn moves(&self, now: Nanos) -> Option<Nanos> {
        self.migrate.map(|migrate| now.saturating_add(migrate.every))
    }
}

/// Requests of an application: [`Io`], as a layer can see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ask {
    pub send: u64,
    /// Lengths of datagrams, each sent for itself.
    pub datagrams: Vec<u64>,
    pub close: bool,
    pub abort: bool,
    /// A reset after what was sent.
    pub reset: bool,
    pub wake: Option<Nanos>,
    pub read: Option<bool>,
    /// Acknowledge received data immediately.
    pub acknowledge: bool,
    /// Continue the session on a flow of this carrier.
    pub go_on: Option<Carrier>,
    /// A session has begun on a flow that had none.
    pub begun: bool,
    /// The session is over, and its flow continues without it.
    pub over: bool,
    /// Number of another flow to be woken, and of one to exchange addresses with.
    pub rouse: Option<u32>,
    pub exchange: Option<u32>,
    /// The flow is to have another port.
    pub moves: bool,
    /// The flow is to be tended after the burst.
    pub tend: bool,
    /// Whether datagrams are marked from now on.
    pub marks: Option<bool>,
}

impl Ask {
    /// Asks for the same of the stack.
    #[inline]
    pub(crate) fn hand_to(&self, io: &mut Io) {
        self.datagrams.iter().for_each(|bytes| io.send(*bytes));
        if self.send > 0 {
            io.send(self.send);
        }
        if self.close {
            io.close();
        }
        if self.abort {
            io.abort();
        }
        if self.reset {
            io.reset();
        }
        if let Some(at) = self.wake {
            io.wake_at(at);
        }
        match self.read {
            Some(true) => io.resume(),
            Some(false) => io.pause(),
            None => {}
        }
        if self.acknowledge {
            io.acknowledge();
        }
        if let Some(on) = self.marks {
            io.mark(on);
        }
        if let Some(other) = self.exchange {
            io.exchange_with(FlowId(other));
        }
        if let Some(other) = self.rouse {
            io.rouse(FlowId(other));
        }
        if self.tend {
            io.tend_later();
        }
    }
}

/// Turns of a group's clients.
#[derive(Debug, Default)]
pub(crate) struct Pacers {
    pub requests: Option<Pacer>,
    pub closes: Option<Pacer>,
    /// Requests left to send; `None` is without end.
    pub left: Option<u64>,
    /// Another way to their servers.
    pub alternative: Alternative,
}

impl Pacers {
    /// The turn to send a request that a client has waited for, and does not any more.
    fn awaited(&mut self, number: u32, flow: &Flow, extras: &mut Extras) -> Option<Turn> {
        let own = extras.find_mut(flow).and_then(|extra| extra.turn.take_if(|turn| !turn.is_to_close()));
        self.requests.as_mut()?.awaited(number).or(own)
    }

    /// The turn to close that a client has waited for, and does not any more.
    fn awaited_to_close(&mut self, number: u32, flow: &Flow, extras: &mut Extras) -> Option<Turn> {
        let own = extras.find_mut(flow).and_then(|extra| extra.turn.take_if(|turn| turn.is_to_close()));
        self.closes.as_mut()?.awaited(number).or(own)
    }

    /// A client does not need the turn that it waits for to send a request: another takes it if it has not come, or is sent `late`, unless the
    /// rate has changed since. Returns whether it waits for one.
    #[cold]
    pub(crate) fn give_back(
        &mut self,
        now: Nanos,
        number: u32,
        flow: &Flow,
        extras: &mut Extras,
        late: bool,
    ) -> bool {
        let Some(turn) = self.awaited(number, flow, extras) else { return false };
        let mut entry = None;
        if late && let Some(extra) = extras.find_mut(flow) {
            extra.dues.pop_back();
            entry = extra.entries.pop_back();
        }
        let Some(pacer) = self.requests.as_mut().filter(|_| self.left != Some(0)) else { return true };
        let Some(at) = pacer.comes(turn) else { return true };
        if late {
            pacer.give_back(at, entry.unwrap_or_default());
        } else if flow.has(Flag::Stopping) {
            // After the end none is missed.
        } else if at > now {
            // A number is what a list's turns have, and those are kept.
            pacer.give_back(at, 0);
        } else {
            pacer.lose();
        }
        true
    }
}

/// Context of an application while it handles an event.
pub(crate) struct Ctx<'a> {
    pub now: Nanos,
    /// The flow's number in its stack.
    pub number: u32,
    /// The congestion mark of the datagram that is received.
    pub ecn: u8,
    /// The TTL, or hop limit, with which it came.
    pub hops: u8,
    pub common: &'a Common,
    pub counts: &'a mut Counts,
    pub pacers: &'a mut Pacers,
    pub extras: &'a mut Extras,
    pub udp: bool,
    /// The application protocol that TLS has agreed on; empty without.
    pub alpn: &'static str,
    /// Factory of QUIC connections, if sessions use QUIC.
    pub quic: Option<&'a mut Box<dyn QuicSide>>,
    /// Bytes of datagrams that the flow has sent.
    pub sent: u64,
    /// Memory to work in.
    pub scratch: &'a mut Vec<u8>,
    pub ask: Ask,
}

impl Ctx<'_> {
    pub(crate) fn is_client(&self) -> bool {
        self.common.side == Side::Client
    }

    pub(crate) fn is_udp(&self) -> bool {
        self.udp
    }

    /// Sends a message of this number of bytes.
    #[inline]
    pub(crate) fn send(&mut self, flow: &mut Flow, bytes: u64) {
        self.ask.send += bytes;
        self.counts.bytes_sent += bytes;
        flow.sent = flow.sent.wrapping_add(1);
        flow.unacked = flow.unacked.saturating_add(1);
    }

    /// Keeps a datagram until the flow, or the one after it, can read it. If too many wait, it is dropped and counted.
    pub(crate) fn keep_datagram(&mut self, flow: &mut Flow, data: &[u8]) {
        let kept = &mut self.extras.of(flow).datagrams;
        if kept.len() < DATAGRAMS_KEPT_MAX {
            kept.push_back(data.to_vec());
        } else {
            self.counts.detail("a datagram was dropped: too many wait for their session");
        }
    }

    /// Wakes the flow at `at`, replacing any earlier request.
    #[inline]
    pub(crate) fn wake_at(&mut self, flow: &mut Flow, at: Nanos) {
        flow.set(Flag::Armed);
        self.ask.wake = Some(at);
    }

    /// Sees to it that the flow is woken before `patience` from now is over; one wake-up serves many requests.
    #[inline]
    pub(crate) fn arm(&mut self, flow: &mut Flow, patience: Option<Nanos>) {
        if let Some(patience) = patience
            && !flow.has(Flag::Armed)
        {
            self.wake_at(flow, self.now.saturating_add(patience));
        }
    }

    /// Acknowledges a short segment immediately if it is not the whole message that this side waits for, until this
    /// side has sent a response. A peer with Nagle's algorithm that writes a message piece by piece waits for that, and
    /// kernels are as quick while a connection is young.
    #[inline]
    pub(crate) fn acknowledge_early(&mut self, flow: &Flow, len: usize) {
        let turns = if self.common.side == Side::Client { 2 } else { 1 };
        let ask = &self.ask;
        let is_quiet = ask.send == 0 && !ask.close && !ask.abort && !ask.reset && ask.read.is_none();
        self.ask.acknowledge |= len < SHORT && flow.sent < turns && self.common.takes_turns && is_quiet;
    }

    /// For a flow that was woken while it waits: whether it has waited too long since `at`, and nothing came since it
    /// was woken last. If not it is woken again.
    pub(crate) fn has_run_out(&mut self, flow: &mut Flow, patience: Option<Nanos>) -> bool {
        let Some(patience) = patience else { return false };
        if flow.take(Flag::Progress) {
            self.wake_at(flow, self.now.saturating_add(patience));
            return false;
        }
        let waited = flow.elapsed(self.now);
        if waited >= patience {
            return true;
        }
        let rest = (patience - waited).0.max(1 << TICK_BITS);
        self.wake_at(flow, self.now.saturating_add(Nanos(rest)));
        false
    }

    /// Fails the session with a reset.
    #[cold]
    pub(crate) fn fail(&mut self, flow: &mut Flow, reason: Reason) {
        self.fail_softly(flow, reason);
        self.ask.abort = true;
    }

    /// Fails the session; the caller closes it.
    #[cold]
    pub(crate) fn fail_softly(&mut self, flow: &mut Flow, reason: Reason) {
        if !flow.has(Flag::Failed) {
            flow.set(Flag::Failed);
            flow.waiting = reason as u8;
        }
    }

    /// The session has completed: no later event fails it. Closes, if it may.
    #[inline]
    pub(crate) fn close(&mut self, flow: &mut Flow) {
        flow.set(Flag::Done);
        if !flow.has(Flag::Closing) {
            flow.set(Flag::Closing);
            self.ask.close = true;
        }
    }

    /// The first byte of a response.
    #[inline]
    pub(crate) fn first_byte(&mut self, flow: &mut Flow, since: u32) {
        if !flow.has(Flag::FirstByte) {
            flow.set(Flag::FirstByte);
            self.counts.ttfb.record(elapsed(since, self.now).0);
            if self.common.late
                && let Some(due) = self.extras.find(flow).and_then(|extra| extra.dues.front())
            {
                self.counts.ttfb_due.record(elapsed(*due, self.now).0);
            }
        }
    }

    /// The last byte of a response.
    #[inline]
    pub(crate) fn last_byte(&mut self, flow: &mut Flow, since: u32) {
        flow.unset(Flag::FirstByte);
        self.counts.ttlb.record(elapsed(since, self.now).0);
        self.counts.transactions += 1;
        if self.common.late
            && let Some(due) = self.extras.find_mut(flow).and_then(|extra| extra.dues.pop_front())
        {
            self.counts.ttlb_due.record(elapsed(due, self.now).0);
        }
    }

    /// Whether a client's session must end after its transaction: it was requested to stop, or its time is up.
    #[inline]
    pub(crate) fn shall_end(&self, flow: &Flow) -> bool {
        flow.has(Flag::Stopping)
            || self.common.up.is_some() && self.is_client() && flow.up_end(self.now) <= self.now
    }

    /// A client has nothing more to do: closes now, or later if its time is not up or its turn has not come.
    pub(crate) fn end_client(&mut self, flow: &mut Flow) {
        if self.may_close(flow) {
            self.close(flow);
        }
    }

    /// Whether a client that has nothing more to do may close now; if not, it is woken when it may.
    pub(crate) fn may_close(&mut self, flow: &mut Flow) -> bool {
        // A turn to ask is none to close.
        self.give_turn_back(flow);
        flow.set(Flag::Done);
        if flow.has(Flag::Closing) {
            return false;
        }
        let stopping = flow.has(Flag::Stopping);
        if self.common.up.is_some() && !stopping && !flow.has(Flag::PeerClosed) {
            let end = flow.up_end(self.now);
            if end > self.now {
                self.wake_at(flow, end);
                return false;
            }
        }
        if !stopping
            && let Some(at) = self.turn_to_close(flow)
            && at > self.now
        {
            flow.set(Flag::Turn);
            self.await_turn_to_close(flow, at);
            self.wake_at(flow, at);
            return false;
        }
        true
    }

    /// When a client's turn to close comes: the one that it has waited for, unless the rate has changed since, or its next. If the
    /// other end has closed meanwhile, the one that it has waited for is now. `None` if clients need none.
    fn turn_to_close(&mut self, flow: &mut Flow) -> Option<Nanos> {
        let own = match flow.take(Flag::Turn) {
            true => self.pacers.awaited_to_close(self.number, flow, self.extras),
            false => None,
        };
        let pacer = self.pacers.closes.as_mut()?;
        let own = own.and_then(|turn| pacer.comes(turn));
        match own {
            Some(_) if flow.has(Flag::PeerClosed) => Some(self.now),
            Some(at) => Some(at),
            None => Some(pacer.next(self.now)),
        }
    }

    /// Notes that a client waits for a turn to close that comes at `at`.
    fn await_turn_to_close(&mut self, flow: &mut Flow, at: Nanos) {
        let Some(pacer) = &mut self.pacers.closes else { return };
        if self.common.quic || flow.extra().is_some() {
            self.extras.of(flow).turn = Some(pacer.turn(at).to_close());
        } else {
            pacer.await_turn(self.number, at);
        }
    }

    /// Whether a client may send its next request now; if not, it is woken when it may, or when its time is up.
    #[inline]
    pub(crate) fn may_request(&mut self, flow: &mut Flow) -> bool {
        if !self.common.paced {
            return true;
        }
        if self.has_asked_all() {
            return false;
        }
        let may = self.take_own_turn(flow).is_some() || self.has_turn_now(flow);
        if let Some(left) = self.pacers.left.as_mut().filter(|_| may) {
            *left -= 1;
        }
        may
    }

    /// Takes the turn that a client has waited for, if it has one to send a request. One from before the rate changed is none.
    #[inline]
    fn take_own_turn(&mut self, flow: &mut Flow) -> Option<Nanos> {
        if !flow.take(Flag::Turn) {
            return None;
        }
        let turn = self.pacers.awaited(self.number, flow, self.extras);
        let at = turn.and_then(|turn| self.pacers.requests.as_ref()?.comes(turn));
        if at.is_none()
            && self.common.late
            && let Some(extra) = self.extras.find_mut(flow)
        {
            extra.dues.pop_back();
            extra.entries.pop_back();
        }
        at
    }

    /// A client sends no more requests: the turn that it waits for goes to another, if it has not come.
    #[inline]
    pub(crate) fn give_turn_back(&mut self, flow: &mut Flow) {
        if flow.has(Flag::Turn) {
            let was_given = self.pacers.give_back(self.now, self.number, flow, self.extras, self.common.late);
            // Whoever is done waits for a turn to close.
            if was_given || !flow.has(Flag::Done) {
                flow.unset(Flag::Turn);
            }
        }
    }

    /// Whether the last request of all clients together was sent.
    #[inline]
    pub(crate) fn has_asked_all(&self) -> bool {
        self.common.paced && self.pacers.left == Some(0)
    }

    /// Whether a client's next turn is now, or was before; if not, it waits for one.
    fn has_turn_now(&mut self, flow: &mut Flow) -> bool {
        // A client that has to go on although its time is up takes any turn.
        let end = self.common.up.map(|_| flow.up_end(self.now)).filter(|end| *end > self.now);
        let end = end.unwrap_or(Nanos::MAX);
        let Some(pacer) = &mut self.pacers.requests else { return true };
        let turn = pacer.next_before(self.now, end);
        // While the rate is zero it waits for a turn of its own: a change of the rate wakes it.
        let waits = turn.map_or(pacer.is_still(), |at| at > self.now);
        if waits {
            flow.set(Flag::Turn);
        }
        if self.common.late && (waits || turn.is_some()) {
            let extra = self.extras.of(flow);
            extra.dues.push_back(tick(turn.unwrap_or(self.now)));
            if pacer.is_listed() {
                extra.entries.push_back(pacer.last());
            }
        }
        if waits {
            self.await_turn(flow, turn.unwrap_or(Nanos::MAX));
        }
        let is_now = turn.is_some_and(|at| at <= self.now);
        if !is_now {
            self.wake_at(flow, turn.unwrap_or(end));
        }
        is_now
    }

    /// Notes that a client waits for a turn that comes at `at`.
    fn await_turn(&mut self, flow: &mut Flow, at: Nanos) {
        let Some(pacer) = &mut self.pacers.requests else { return };
        // Programs on streams of a connection have the flow's number in common.
        if self.common.quic || flow.extra().is_some() {
            self.extras.of(flow).turn = Some(pacer.turn(at));
        } else {
            pacer.await_turn(self.number, at);
        }
    }

    /// Takes a client's turn away, if it waits for one from before the rate changed; returns whether it did. One that it has got
    /// since is left to it.
    pub(crate) fn take_turn_away(&mut self, flow: &mut Flow) -> bool {
        if !flow.has(Flag::Turn) {
            return false;
        }
        if flow.has(Flag::Done)
            && let Some(turn) = self.pacers.awaited_to_close(self.number, flow, self.extras)
        {
            let at = self.pacers.closes.as_ref().and_then(|pacer| pacer.comes(turn));
            match at {
                Some(at) => self.await_turn_to_close(flow, at),
                None => flow.unset(Flag::Turn),
            }
            return at.is_none();
        }
        let Some(at) = self.take_own_turn(flow) else { return true };
        flow.set(Flag::Turn);
        self.await_turn(flow, at);
        false
    }
}

/// Everything but the flow that a usual event on a flow of TCP can change: what is left of [`Ctx`] where usual events are handled in
/// one go.
pub(crate) struct Place<'a> {
    pub now: Nanos,
    pub common: &'a Common,
    pub counts: &'a mut Counts,
    pub io: &'a mut Io,
}

/// Flags of flows with unusual events.
const UNUSUAL: u16 = Flag::Failed as u16
    | Flag::Stopping as u16
    | Flag::Closing as u16
    | Flag::PeerClosed as u16
    | Flag::Paused as u16
    | Flag::Turn as u16
    | Flag::Stopped as u16
    | Flag::Stashed as u16;

/// Whether a flow is in nothing unusual.
#[inline(always)]
pub(crate) fn is_usual(flow: &Flow) -> bool {
    !flow.has_any(UNUSUAL) && flow.extra().is_none()
}

impl Place<'_> {
    /// Sends a message of this number of bytes: [`Ctx::send`].
    #[inline(always)]
    pub(crate) fn send(&mut self, flow: &mut Flow, bytes: u64) {
        self.io.send(bytes);
        self.counts.bytes_sent += bytes;
        flow.sent = flow.sent.wrapping_add(1);
        flow.unacked = flow.unacked.saturating_add(1);
    }

    /// [`Ctx::arm`].
    #[inline(always)]
    pub(crate) fn arm(&mut self, flow: &mut Flow, patience: Option<Nanos>) {
        if let Some(patience) = patience
            && !flow.has(Flag::Armed)
        {
            flow.set(Flag::Armed);
            self.io.wake_at(self.now.saturating_add(patience));
        }
    }

    /// [`Ctx::close`].
    #[inline(always)]
    pub(crate) fn close(&mut self, flow: &mut Flow) {
        flow.set(Flag::Done);
        if !flow.has(Flag::Closing) {
            flow.set(Flag::Closing);
            self.io.close();
        }
    }

    /// [`Ctx::acknowledge_early`] of a client that takes turns, where nothing was requested but to be woken.
    #[inline(always)]
    pub(crate) fn acknowledge_early(&mut self, flow: &Flow, len: usize) {
        if len < SHORT && flow.sent < 2 {
            self.io.acknowledge();
        }
    }
}

/// Reason of a flow's failure for an ending, if it is one; `complete` states whether nothing was missing.
pub(crate) fn failure(flow: &Flow, end: End, complete: bool, udp: bool) -> Option<Reason> {
    if flow.has(Flag::Failed) {
        return Some(flow.reason());
    }
    match end {
        End::Closed | End::Aborted if complete => None,
        End::ResetAcknowledged if complete => None,
        // Nothing says that a UDP session is over but silence.
        End::IdleTimeout if complete && udp => None,
        End::Closed => Some(Reason::ClosedEarly),
        End::Aborted => Some(Reason::Aborted),
        End::Reset | End::ResetAcknowledged => Some(Reason::Reset),
        End::Refused => Some(Reason::Refused),
        End::SetupTimeout => Some(Reason::SetupTimeout),
        End::Timeout => Some(Reason::Timeout),
        End::Unreachable => Some(Reason::Unreachable),
        End::IdleTimeout => Some(Reason::IdleTimeout),
    }
}
