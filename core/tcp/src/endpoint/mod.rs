//! One TCP connection's control block (RFC 9293 section 3.3.1), without addresses, clock, buffers, or neighbours.
//!
//! Segments and timers are input as calls, segments to send are fetched by [`Endpoint::transmit`]. Payload is named by
//! its stream offset; the sender of a segment fetches the bytes from the application, again if it must be repeated.
//!
//! An endpoint is 68 bytes. State of only some flows lies in a box of [`BoxPool`]: the scoreboard and state of a
//! repair, bytes ahead of a gap, bytes not consumed by a paused application, CUBIC's curve, stream offsets above 4 GiB.
//!
//! Not here: the urgent mechanism (RFC 9293 section 3.8.5 advises against it; URG is ignored), data on SYN segments
//! (never sent; on a SYN that opens a flow not taken, so the peer repeats it), IP options, path MTU probing.
//!
//! Invariants: SND.UNA ≤ SND.NXT; data in between were sent and are not acknowledged. A flow without a box is in no
//! special state. [`Endpoint::owes`] is true exactly if [`Endpoint::transmit`] yields something.

mod congestion;
mod express;
mod handshake;
mod rack;
mod reassembly;
mod receive;
mod recovery;
mod sequence;
mod timers;
mod transmit;
mod undo;

#[cfg(test)]
mod tests;

pub(crate) use congestion::Cubic;
pub(crate) use express::Express;
pub(crate) use rack::Rack;
pub(crate) use reassembly::Reassembly;
pub(crate) use recovery::{Recovery, Scoreboard};
pub use timers::Tick;
pub(crate) use undo::Undo;

use crate::app::End;
use crate::box_pool::{BoxId, BoxPool, Work};
use crate::counts::TcpCounts;
use crate::options::{TcpOptions, TimeWait};
use crate::segment::SegmentHeader;
use timers::{ShortTick, Timer, Variation};
use units::Nanos;

/// Context of every call.
#[derive(Debug)]
pub struct Env<'a> {
    /// The time.
    pub now: Nanos,
    /// Options of the flow's group.
    pub options: &'a TcpOptions,
    /// Largest payload the MTU allows without TCP options: MTU - 40 for IPv4, MTU - 60 for IPv6.
    pub mss_limit: u16,
    /// Payload of the largest segment to a peer that offers no MSS (RFC 9293 section 3.7.1, MUST-15).
    pub mss_unsaid: u16,
    /// Boxes for flows that need more.
    pub busy: &'a mut BoxPool,
    /// Counters of the flow's group.
    pub counts: &'a mut TcpCounts,
}

/// Receiver of a flow's events, in order.
pub trait Events {
    /// The flow is established.
    fn opened(&mut self);
    /// Bytes arrived: in order, each once. After [`Endpoint::pause`] none are delivered until [`Endpoint::resume`].
    fn data(&mut self, bytes: &[u8]);
    /// The peer sends nothing more.
    fn finished(&mut self);
    /// All bytes before this stream offset (0 is the first byte sent) are acknowledged.
    fn acknowledged(&mut self, offset: u64);
}

/// States of a connection (RFC 9293 section 3.3.2). LISTEN has no endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// A SYN was sent or is owed.
    SynSent,
    /// A SYN was received, and one sent or owed.
    SynReceived,
    /// Both SYNs were acknowledged.
    Established,
    /// A FIN was sent.
    FinWait1,
    /// It was acknowledged.
    FinWait2,
    /// A FIN was received.
    CloseWait,
    /// A FIN was sent, then one received; ours is not acknowledged.
    Closing,
    /// A FIN was received, then one sent.
    LastAck,
    /// Both FINs were acknowledged; old segments may still arrive.
    TimeWait,
    /// It is over.
    Closed,
}

impl State {
    /// Whether new data may be sent.
    #[inline(always)]
    fn sends(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait)
    }

    /// Whether new data may be received.
    #[inline(always)]
    fn receives(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Whether a FIN was sent and is not acknowledged.
    #[inline(always)]
    fn fin_in_flight(self) -> bool {
        matches!(self, Self::FinWait1 | Self::Closing | Self::LastAck)
    }
}

/// State and pending output of an endpoint, one bit each.
mod bit {
    /// An acknowledgement is owed now.
    pub(super) const ACK_NOW: u16 = 1 << 0;
    /// An acknowledgement is owed by `ack_due`.
    pub(super) const ACK_LATER: u16 = 1 << 1;
    /// Timestamps: offered while in SYN-SENT, agreed on afterwards. So the next three.
    pub(super) const TIMESTAMPS: u16 = 1 << 2;
    pub(super) const SACK: u16 = 1 << 3;
    pub(super) const SCALING: u16 = 1 << 4;
    pub(super) const ECN: u16 = 1 << 5;
    /// A mark is echoed until the peer announces that it has reduced its window (RFC 3168 section 6.1.3).
    pub(super) const ECE: u16 = 1 << 6;
    /// The next new data announce that the window was reduced (RFC 3168 section 6.1.2).
    pub(super) const CWR: u16 = 1 << 7;
    /// The application sends nothing more.
    pub(super) const CLOSE: u16 = 1 << 8;
    /// The application reads no more for now.
    pub(super) const PAUSED: u16 = 1 << 9;
    /// The round trip of `timed_seq` is being measured.
    pub(super) const TIMING: u16 = 1 << 10;
    /// A SYN or SYN-ACK is owed.
    pub(super) const SYN: u16 = 1 << 11;
    /// A window probe or keep-alive is owed.
    pub(super) const PROBE: u16 = 1 << 12;
    /// A reset is owed.
    pub(super) const RESET: u16 = 1 << 13;
    /// Opened from here.
    pub(super) const ACTIVE: u16 = 1 << 14;
    /// Data, a FIN, or a repeated segment may go out.
    pub(super) const READY: u16 = 1 << 15;

    /// Bits for which `transmit` yields something.
    pub(super) const OWED: u16 = ACK_NOW | SYN | PROBE | RESET | READY;
}

/// A segment to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// Its header.
    pub header: SegmentHeader,
    /// Stream offset of the payload's first byte.
    pub offset: u64,
    /// Bytes of payload.
    pub len: u16,
    /// Whether its packet is to be marked ECT(0) (RFC 3168 section 6.1: new data alone).
    pub ecn_capable: bool,
}

/// A TCP connection. See the module.
#[derive(Debug)]
pub struct Endpoint {
    iss: u32,
    snd_una: u32,
    snd_nxt: u32,
    /// Bytes to send after SND.NXT; with [`BOXED`] if the flow has a box.
    unsent_and_boxed: u32,
    rcv_nxt: u32,
    /// RFC 7323: Last.ACK.sent.
    last_ack: u32,
    /// RFC 7323: TS.Recent.
    ts_recent: u32,
    /// The segment being timed ends here; in a flow with a box, which one it is: the box has the end then.
    timed_seq_or_box: u32,
    /// When it was sent; 64 ns.
    timed_at: u32,
    cwnd: u32,
    /// Eight times the smoothed round-trip time, 64 ns; zero before the first measurement.
    srtt: u32,
    /// Four times its variation, 64 ns; before the first measurement the time-out itself.
    due: Tick,
    rttvar: Variation,
    ack_due: ShortTick,
    /// Window announced by the peer, and the largest so far; not scaled.
    snd_wnd: u16,
    max_wnd: u16,
    /// Window announced last, not scaled.
    rcv_wnd: u16,
    /// Largest segment to send, options included (RFC 6691).
    mss: u16,
    /// In segments.
    ssthresh: u16,
    /// Times in a row that what is due now was repeated.
    retries: u8,
    /// Shift of the peer's window; above it our own shift.
    scales: u8,
    state: State,
    timer: Timer,
    bits: u16,
}

/// The flow has a box. Beside it, [`UNSENT_MAX`] bytes are what an endpoint can count.
const BOXED: u32 = 1 << 31;
const UNSENT_MAX: u32 = BOXED - 1;

const _: () = assert!(size_of::<Endpoint>() == 68 && align_of::<Endpoint>() == 4);

/// The parts of an endpoint that others use.
impl Endpoint {
    /// The state it is in.
    pub fn state(&self) -> State {
        self.state
    }

    /// The initial sequence number of what it sends.
    pub fn iss(&self) -> u32 {
        self.iss
    }

    /// The smoothed round-trip time (RFC 6298), once measured.
    pub fn smoothed_rtt(&self) -> Option<Nanos> {
        (self.srtt != 0).then(|| Nanos(u64::from(self.srtt) << 3))
    }

    /// The congestion window, bytes.
    pub fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// Sequence numbers sent and not acknowledged.
    #[inline(always)]
    pub fn flight(&self) -> u32 {
        self.snd_nxt.wrapping_sub(self.snd_una)
    }

    /// Whether it has a box of [`BoxPool`].
    pub fn is_busy(&self) -> bool {
        self.is_boxed()
    }

    /// Whether bytes or a FIN arrived that were not delivered to a paused application yet.
    pub fn holds(&self, busy: &BoxPool) -> bool {
        self.is_boxed() && busy.work(self.box_id()).holds()
    }

    /// The earliest instant at which [`Endpoint::on_timer`] wants to be called, as seen from `now`.
    #[inline]
    pub fn deadline(&self, now: Nanos) -> Option<Tick> {
        let ack = self.has(bit::ACK_LATER).then_some(self.ack_due.near(now));
        let other = (self.timer.kind() != timers::TimerKind::Off).then_some(self.due);
        match (ack, other) {
            (Some(ack), Some(other)) => Some(if ack.before(other) { ack } else { other }),
            (one, None) | (None, one) => one,
        }
    }

    /// Whether [`Endpoint::transmit`] yields something now.
    #[inline(always)]
    pub fn owes(&self) -> bool {
        self.bits & bit::OWED != 0
    }

    /// Whether nothing is left to send, or the peer's window takes none of it and no acknowledgement is under way that could open
    /// it.
    pub fn is_flushed(&self) -> bool {
        !self.has(bit::READY | bit::SYN) && (self.unsent() == 0 || self.flight() == 0 || !self.state.sends())
    }

    /// Sends `bytes` more, after all passed before. Without effect once closed.
    #[inline]
    pub fn send(&mut self, env: &mut Env<'_>, bytes: u64) {
        use State::{CloseWait, Established, SynReceived, SynSent};
        if self.has(bit::CLOSE) || !matches!(self.state, SynSent | SynReceived | Established | CloseWait) {
            return;
        }
        match u32::try_from(bytes).ok().and_then(|bytes| self.unsent().checked_add(bytes)) {
            Some(unsent) if unsent <= UNSENT_MAX => self.set_unsent(unsent),
            _ => {
                self.work(env).beyond += bytes;
                self.refill(env);
            }
        }
        self.settle(env);
    }

    /// Sends a FIN after the last byte; incoming data are still delivered. Some: the flow is over immediately (not
    /// established yet, or [`TcpOptions::close_by_reset`] with nothing unacknowledged), and [`Endpoint::transmit`] may
    /// owe a reset.
    pub fn close(&mut self, env: &mut Env<'_>) -> Option<End> {
        match self.state {
            // RFC 9293 section 3.10.4: nothing to tell the peer yet.
            State::SynSent => return self.over(env, End::Closed),
            State::SynReceived | State::Established | State::CloseWait => self.set(bit::CLOSE),
            _ => return None,
        }
        if self.closes_by_reset(env) {
            return self.over(env, End::Closed);
        }
        self.settle(env);
        None
    }

    /// Gives the flow up: a reset is owed unless the peer knows of nothing (RFC 9293 section 3.10.5). The flow is over;
    /// [`Endpoint::transmit`] once, then forget it.
    pub fn abort(&mut self, env: &mut Env<'_>) {
        use State::{CloseWait, Established, FinWait1, FinWait2, SynReceived};
        if matches!(self.state, SynReceived | Established | FinWait1 | FinWait2 | CloseWait) {
            self.set(bit::RESET);
        }
        self.over(env, End::Aborted);
    }

    /// Keeps what comes in from now on, and lets the window shrink to nothing.
    pub fn pause(&mut self, _env: &mut Env<'_>) {
        self.set(bit::PAUSED);
    }

    /// Tells what was kept, and opens the window again.
    pub fn resume(&mut self, env: &mut Env<'_>, events: &mut impl Events) {
        self.clear(bit::PAUSED);
        self.deliver_held(env, events);
        if self.state.receives() && self.window_grew(env) {
            self.set(bit::ACK_NOW);
        }
        self.settle(env);
    }

    /// ICMP reported that segments were too big: `mss` is the largest payload without TCP options (RFC 1191, RFC 8201).
    pub fn path_mtu(&mut self, env: &mut Env<'_>, mss: u16) {
        let mss = mss.max(handshake::SMALLEST_MSS);
        if mss >= self.mss {
            return;
        }
        let big = self.flight() > u32::from(mss);
        self.mss = mss;
        if big && self.state != State::SynSent && self.state != State::SynReceived {
            self.begin_resegmenting(env);
        }
        self.settle(env);
    }

    /// Whether a segment that begins at `seq` was sent and is not acknowledged: ICMP errors about others are forged or
    /// old (RFC 5927 section 4.1).
    pub fn has_in_flight(&self, seq: u32) -> bool {
        seq.wrapping_sub(self.snd_una) < self.flight()
    }

    /// ICMP reported that the peer cannot be reached: ends a flow that is being opened from here, else only a hint (RFC
    /// 9293 section 3.9.2.2).
    pub fn unreachable(&mut self, env: &mut Env<'_>) -> Option<End> {
        if self.state == State::SynSent { self.over(env, End::Unreachable) } else { None }
    }

    /// Returns the box. For an endpoint that is dropped before its end was delivered; one that ended has none.
    pub fn release(&mut self, busy: &mut BoxPool) {
        if self.is_boxed() {
            let id = self.box_id();
            self.timed_seq_or_box = busy.work(id).timed_seq;
            self.unsent_and_boxed &= UNSENT_MAX;
            busy.take_back(id);
        }
    }
}

/// Bits, boxes, and what ends every call.
impl Endpoint {
    #[inline(always)]
    fn has(&self, bits: u16) -> bool {
        self.bits & bits != 0
    }

    #[inline(always)]
    fn set(&mut self, bits: u16) {
        self.bits |= bits;
    }

    #[inline(always)]
    fn clear(&mut self, bits: u16) {
        self.bits &= !bits;
    }

    /// The flow's box; it gets one if it has none.
    fn work<'e>(&mut self, env: &'e mut Env<'_>) -> &'e mut Work {
        if !self.is_boxed() {
            let id = env.busy.lend();
            env.busy.work_mut(id).timed_seq = self.timed_seq_or_box;
            self.timed_seq_or_box = id.number();
            self.unsent_and_boxed |= BOXED;
        }
        env.busy.work_mut(self.box_id())
    }

    /// Whether the flow has a box of [`BoxPool`].
    #[inline(always)]
    fn is_boxed(&self) -> bool {
        self.unsent_and_boxed & BOXED != 0
    }

    /// The box of a flow that has one.
    #[inline(always)]
    fn box_id(&self) -> BoxId {
        debug_assert!(self.is_boxed());
        BoxId::from_number(self.timed_seq_or_box)
    }

    /// Where the segment that is being timed ends.
    #[inline(always)]
    fn timed_seq(&self, busy: &BoxPool) -> u32 {
        if self.is_boxed() { busy.work(self.box_id()).timed_seq } else { self.timed_seq_or_box }
    }

    #[inline(always)]
    fn set_timed_seq(&mut self, busy: &mut BoxPool, seq: u32) {
        if self.is_boxed() {
            busy.work_mut(self.box_id()).timed_seq = seq;
        } else {
            self.timed_seq_or_box = seq;
        }
    }

    /// Bytes to send after SND.NXT.
    #[inline(always)]
    fn unsent(&self) -> u32 {
        self.unsent_and_boxed & UNSENT_MAX
    }

    #[inline(always)]
    fn set_unsent(&mut self, bytes: u32) {
        debug_assert!(bytes <= UNSENT_MAX);
        self.unsent_and_boxed = self.unsent_and_boxed & BOXED | bytes;
    }

    /// Largest payload of a segment that carries no SACK option.
    #[inline(always)]
    fn room_for_payload(&self) -> u32 {
        u32::from(self.mss) - if self.has(bit::TIMESTAMPS) { 12 } else { 0 }
    }

    /// Stream offset of a sequence number at or after SND.UNA.
    #[inline(always)]
    fn offset_of(&self, env: &Env<'_>, seq: u32) -> u64 {
        let high = if self.is_boxed() { env.busy.work(self.box_id()).offset_high } else { 0 };
        let una = u64::from(high) << 32 | u64::from(self.snd_una.wrapping_sub(self.iss).wrapping_sub(1));
        una + u64::from(seq.wrapping_sub(self.snd_una))
    }

    /// Whether the moment has come to reset instead of finishing.
    fn closes_by_reset(&mut self, env: &Env<'_>) -> bool {
        let quiet = self.unsent() == 0 && self.flight() == 0;
        let now =
            env.options.close_by_reset && self.has(bit::CLOSE) && self.state == State::Established && quiet;
        if now {
            self.set(bit::RESET);
        }
        now
    }

    /// Ends every call on a flow that lives on: determines what may be sent now, and maintains timers that depend on
    /// it.
    #[inline(always)]
    fn settle(&mut self, env: &mut Env<'_>) {
        if self.unsent_and_boxed == 0 && !self.has(bit::CLOSE) {
            // Nothing to send, nothing out of the ordinary.
            self.clear(bit::READY);
            if env.options.keep_alive.is_none() && self.timer.kind() != timers::TimerKind::Persist {
                return;
            }
        }
        self.settle_any(env);
    }

    fn settle_any(&mut self, env: &mut Env<'_>) {
        if self.is_boxed() {
            self.settle_busy(env);
        }
        if self.next(env).is_some() {
            self.set(bit::READY);
        } else {
            self.clear(bit::READY);
        }
        if self.snd_una == self.snd_nxt {
            self.settle_quiet(env);
        }
    }

    fn settle_busy(&mut self, env: &mut Env<'_>) {
        let quiet = self.snd_una == self.snd_nxt && self.unsent() == 0;
        if env.busy.work(self.box_id()).is_spare(quiet) {
            self.release(env.busy);
        }
    }

    /// The flow is over. The remaining output is a reset, or the acknowledgement of a FIN.
    fn over(&mut self, env: &mut Env<'_>, end: End) -> Option<End> {
        let owed = if self.state == State::TimeWait { bit::ACK_NOW } else { 0 };
        self.release(env.busy);
        self.state = State::Closed;
        self.timer.stop();
        self.bits &= bit::RESET | bit::TIMESTAMPS | bit::SCALING | owed;
        Some(end)
    }

    /// Both sides have closed.
    fn enter_time_wait(&mut self, env: &Env<'_>) -> Option<End> {
        self.state = State::TimeWait;
        match env.options.time_wait {
            TimeWait::Skip => Some(End::Closed),
            TimeWait::For(time) => {
                self.start(timers::TimerKind::TimeWait, env.now, time);
                None
            }
        }
    }
}
