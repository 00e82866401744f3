//! The express lane of an endpoint: segments that need nothing out of the ordinary, in and out, each in one go.
//!
//! Not here: everything out of the ordinary, which goes the long way, `receive` and `transmit`, with the same effect. Each part names the
//! functions of the long way that it replaces.
//!
//! Invariant: after a call the endpoint, its counters and its events are what the long way leaves.

use super::receive::Taken;
use super::sequence::{after, before};
use super::timers::{Timer, TimerKind};
use super::{Endpoint, Env, Events, State, bit};
use crate::app::End;
use crate::lane::{Short, ShortSegment, SynKind};
use crate::segment::{Flags, Segment, Timestamps};

/// A segment the lane can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Express {
    /// The first SYN or SYN-ACK.
    Syn,
    /// This number of new bytes, and the FIN if it is next; or an acknowledgement.
    New(u16),
}

impl Endpoint {
    /// The next segment, if the lane can send it: `transmit` of a flow without a box that yields the first SYN, an acknowledgement
    /// alone, or new data.
    #[inline(always)]
    pub(crate) fn express_next(&self, env: &Env<'_>) -> Option<Express> {
        if self.is_boxed() || self.has(bit::RESET | bit::PROBE | bit::ECE | bit::CWR) {
            return None;
        }
        if self.has(bit::SYN) {
            let is_first =
                self.snd_nxt == self.iss && !self.has(bit::READY | bit::ECN) && self.timer == Timer::OFF;
            return is_first.then_some(Express::Syn);
        }
        if !self.has(bit::READY) {
            let is_quiet = self.unsent_and_boxed == 0
                && !self.has(bit::CLOSE)
                && self.timer.kind() != TimerKind::Persist
                && env.options.keep_alive.is_none();
            return (self.has(bit::ACK_NOW) && is_quiet && self.state != State::Closed)
                .then_some(Express::New(0));
        }
        self.new_data(env, self.flight()).map(|len| Express::New(len as u16))
    }

    /// Whether a FIN is not what ends it.
    #[inline(always)]
    fn ends_by_reset(&self, env: &Env<'_>) -> bool {
        env.options.close_by_reset && self.state == State::Established
    }

    /// Whether its segments have timestamps.
    #[inline(always)]
    pub(crate) fn has_timestamps(&self) -> bool {
        self.has(bit::TIMESTAMPS)
    }

    /// Whether its packets with new data are marked.
    #[inline(always)]
    pub(crate) fn has_ecn(&self) -> bool {
        self.has(bit::ECN)
    }

    /// Options that its SYN offers.
    #[inline(always)]
    pub(crate) fn syn_kind(&self) -> SynKind {
        SynKind {
            timestamps: self.has(bit::TIMESTAMPS),
            sack: self.has(bit::SACK),
            scaling: self.has(bit::SCALING),
        }
    }

    /// Sends `bytes` more: `send`, which is left to do if more than one segment is to go, or anything waits.
    #[inline(always)]
    pub(crate) fn express_send(&mut self, env: &mut Env<'_>, bytes: u64) {
        // A flow with a box seems to have more to send than fits any window.
        let unsent = u64::from(self.unsent_and_boxed).saturating_add(bytes);
        let usable = u32::from(self.snd_wnd) << (self.scales & 15);
        let is_usual = self.state.sends()
            && unsent <= u64::from(self.room_for_payload().min(usable))
            && self.flight() == 0
            && !self.has(bit::CLOSE)
            && self.timer.kind() == TimerKind::Off
            && env.options.keep_alive.is_none();
        if !is_usual {
            return self.send(env, bytes);
        }
        self.unsent_and_boxed = unsent as u32;
        self.set(bit::READY);
    }

    /// Takes the first SYN or SYN-ACK: `compose_syn`.
    #[inline(always)]
    pub(crate) fn express_syn(&mut self, env: &mut Env<'_>) -> Short {
        env.counts.segments_out += 1;
        let answers = self.state == State::SynReceived;
        self.clear(bit::SYN);
        let mut segment =
            self.express_header(env, self.iss, if answers { Flags::SYN | Flags::ACK } else { Flags::SYN });
        // RFC 7323 section 2.2: the window of a SYN is not scaled.
        segment.window = self.full_window(env).min(u32::from(u16::MAX)) as u16;
        self.rcv_wnd = segment.window >> (self.scales >> 4);
        if !answers {
            segment.ack = 0;
            segment.times = segment.times.map(|times| Timestamps { echo: 0, ..times });
        }
        self.snd_nxt = self.iss.wrapping_add(1);
        self.set(bit::TIMING);
        self.timed_at = self.clock(env);
        self.start_for_one(env);
        self.settle(env);
        segment
    }

    /// Takes `len` new bytes, and the FIN if it is next; or an acknowledgement. Returns the segment and the stream offset of its payload:
    /// `transmit_plain`.
    #[inline(always)]
    pub(crate) fn express_new(&mut self, env: &mut Env<'_>, len: u16) -> (Short, u64) {
        env.counts.segments_out += 1;
        let seq = self.snd_nxt;
        if self.is_alone(env, len) {
            return self.express_alone(env, len);
        }
        if !self.has(bit::READY) {
            return (self.express_header(env, seq, Flags::ACK), 0);
        }
        if self.flight() == 0 {
            self.restart_after_idle(env);
        }
        let offset = if len > 0 { self.offset_of(env, seq) } else { 0 };
        let (mut flags, mut span) = (Flags::ACK, u32::from(len));
        self.unsent_and_boxed -= u32::from(len);
        if self.unsent_and_boxed == 0 {
            if len > 0 {
                flags |= Flags::PSH;
            }
            if self.has(bit::CLOSE) && !self.ends_by_reset(env) {
                flags |= Flags::FIN;
                span += 1;
                self.state = if self.state == State::CloseWait { State::LastAck } else { State::FinWait1 };
            }
        }
        self.snd_nxt = seq.wrapping_add(span);
        if !self.has(bit::TIMING) {
            self.set(bit::TIMING);
            self.timed_seq_or_box = self.snd_nxt;
            self.timed_at = self.clock(env);
        }
        if self.timer.kind().is_for_flight() {
            self.note_tail(env);
        } else {
            self.leave_idle_timer();
            self.start_for_one(env);
        }
        env.counts.bytes_out += u64::from(len);
        if self.unsent_and_boxed == 0 || self.new_data(env, self.flight()).is_none() {
            self.clear(bit::READY);
        }
        (self.express_header(env, seq, flags), offset)
    }

    /// Whether new bytes are all that a flow has to send, nothing is in flight, and no timer runs.
    #[inline(always)]
    fn is_alone(&self, env: &Env<'_>, len: u16) -> bool {
        len > 0
            && self.unsent_and_boxed == u32::from(len)
            && self.snd_nxt == self.snd_una
            && self.bits & (bit::READY | bit::CLOSE | bit::TIMING) == bit::READY
            && self.timer == Timer::OFF
            && u32::from(len) <= u32::from(self.mss)
            && self.cwnd <= u32::from(env.options.initial_window) * self.room_for_payload()
    }

    /// Takes such bytes: `express_new`.
    #[inline(always)]
    fn express_alone(&mut self, env: &mut Env<'_>, len: u16) -> (Short, u64) {
        let seq = self.snd_nxt;
        let next = seq.wrapping_add(u32::from(len));
        self.unsent_and_boxed = 0;
        (self.snd_nxt, self.timed_seq_or_box) = (next, next);
        self.timed_at = self.clock(env);
        self.start(TimerKind::Retransmit, env.now, self.first_time_out(env));
        env.counts.bytes_out += u64::from(len);
        self.bits = self.bits & !bit::READY | bit::TIMING;
        let offset = u64::from(seq.wrapping_sub(self.iss).wrapping_sub(1));
        (self.express_header(env, seq, Flags::ACK | Flags::PSH), offset)
    }

    /// The last segment of a flow that is over, if that is a reset or an acknowledgement: `compose`.
    #[inline(always)]
    pub(crate) fn express_last(&mut self, env: &mut Env<'_>) -> Option<Short> {
        if self.state != State::Closed || self.is_boxed() || self.has(bit::SYN | bit::READY | bit::PROBE) {
            return None;
        }
        env.counts.segments_out += 1;
        let is_reset = self.has(bit::RESET);
        let flags = if is_reset { Flags::RST | Flags::ACK } else { Flags::ACK };
        env.counts.resets_out += u64::from(is_reset);
        let segment = self.express_header(env, self.snd_nxt, flags);
        self.clear(bit::OWED);
        Some(segment)
    }

    /// Whether nothing about a segment is out of the ordinary: `is_plain`. Its packet is not marked.
    #[inline(always)]
    pub(crate) fn expects(&self, env: &Env<'_>, segment: &ShortSegment<'_>) -> bool {
        let Short { seq, ack, flags, window, times } = segment.header;
        let acked = ack.wrapping_sub(self.snd_una);
        self.state == State::Established
            && seq == self.rcv_nxt
            && flags.without(Flags::PSH) == Flags::ACK
            && acked <= self.flight()
            && (acked != 0 || !segment.payload.is_empty() || self.flight() == 0)
            && !self.is_boxed()
            && !self.has(bit::PAUSED | bit::ECE)
            && self.retries == 0
            && segment.payload.len() <= env.options.window as usize
            && window != 0
            && match times {
                Some(times) => self.has(bit::TIMESTAMPS) && !before(times.value, self.ts_recent),
                None => !self.has(bit::TIMESTAMPS),
            }
    }

    /// Takes in a segment that it expects: `on_segment` of a plain one.
    #[inline(always)]
    pub(crate) fn express_segment(
        &mut self,
        env: &mut Env<'_>,
        segment: &ShortSegment<'_>,
        events: &mut impl Events,
    ) -> Option<End> {
        env.counts.segments_in += 1;
        let Short { seq, ack, window, times, .. } = segment.header;
        let mut echo = None;
        if let Some(times) = times {
            if !after(seq, self.last_ack) {
                self.ts_recent = times.value;
            }
            echo = (self.timer.doublings() > 0).then_some(times.echo);
        }
        self.snd_wnd = window;
        self.max_wnd = self.max_wnd.max(window);
        self.heard(env);
        if ack != self.snd_una {
            self.advance(env, ack, echo, events);
        }
        if !segment.payload.is_empty() {
            self.deliver(env, segment.payload, events);
            self.owe_ack_later(env);
        }
        if self.has(bit::CLOSE) && self.closes_by_reset(env) {
            return self.over(env, End::Closed);
        }
        self.settle(env);
        None
    }

    /// Whether a segment completes the handshake of a flow that a peer began, and is nothing else out of the ordinary. Its packet is
    /// not marked.
    #[inline(always)]
    pub(crate) fn is_completed_by(&self, env: &Env<'_>, segment: &ShortSegment<'_>) -> bool {
        let Short { seq, ack, flags, times, .. } = segment.header;
        self.state == State::SynReceived
            && seq == self.rcv_nxt
            && ack == self.snd_nxt
            && self.snd_nxt != self.iss
            && flags.without(Flags::PSH) == Flags::ACK
            && !self.is_boxed()
            && !self.has(bit::PAUSED | bit::ECE | bit::ACK_NOW)
            && segment.payload.len() <= self.full_window(env) as usize
            && match times {
                Some(times) => self.has(bit::TIMESTAMPS) && !before(times.value, self.ts_recent),
                None => !self.has(bit::TIMESTAMPS),
            }
    }

    /// Takes in a segment that completes the handshake: `on_segment`, and `take_any` with `in_syn_received` and `take_payload`.
    #[inline(always)]
    pub(crate) fn express_completion(
        &mut self,
        env: &mut Env<'_>,
        segment: &ShortSegment<'_>,
        events: &mut impl Events,
    ) -> Option<End> {
        env.counts.segments_in += 1;
        let Short { seq, ack, window, times, .. } = segment.header;
        if let Some(times) = times
            && !after(seq, self.last_ack)
        {
            self.ts_recent = times.value;
        }
        self.snd_wnd = window;
        self.max_wnd = self.max_wnd.max(window);
        self.establish(env, ack, events);
        if !segment.payload.is_empty() {
            self.deliver(env, segment.payload, events);
            self.owe_ack_later(env);
        }
        if self.has(bit::CLOSE) && self.closes_by_reset(env) {
            return self.over(env, End::Closed);
        }
        self.settle(env);
        None
    }

    /// Whether a segment is a reset in order of an established flow.
    #[inline(always)]
    pub(crate) fn is_reset_by(&self, segment: &ShortSegment<'_>) -> bool {
        let Short { seq, flags, .. } = segment.header;
        flags.has(Flags::RST)
            && seq == self.rcv_nxt
            && segment.payload.is_empty()
            && !self.is_boxed()
            && !matches!(self.state, State::SynSent | State::SynReceived | State::TimeWait | State::Closed)
    }

    /// Takes in such a reset: `on_segment`, and `take_any` with `take_reset`.
    #[inline(always)]
    pub(crate) fn express_reset(
        &mut self,
        env: &mut Env<'_>,
        segment: &ShortSegment<'_>,
        events: &mut impl Events,
    ) -> Option<End> {
        env.counts.segments_in += 1;
        let Short { seq, ack, flags, .. } = segment.header;
        let end = self.take_reset(env, (seq, ack), flags, events)?;
        self.over(env, end)
    }

    /// Whether a segment closes a flow or a direction of it, in order: a FIN with its data, or what acknowledges the own one without
    /// data. Its packet is not marked.
    #[inline(always)]
    pub(crate) fn is_closed_by(&self, env: &Env<'_>, segment: &ShortSegment<'_>) -> bool {
        let Short { seq, ack, flags, window, times } = segment.header;
        let acked = ack.wrapping_sub(self.snd_una);
        let passed = |seq: u32| seq.wrapping_sub(self.iss).wrapping_sub(1);
        let is_due = if flags.has(Flags::FIN) {
            self.state.receives() && segment.payload.len() <= self.full_window(env) as usize
        } else {
            acked > 0 && self.state.fin_in_flight() && segment.payload.is_empty()
        };
        is_due
            && seq == self.rcv_nxt
            && flags.without(Flags::PSH | Flags::FIN) == Flags::ACK
            && acked <= self.flight()
            && passed(ack) >= passed(self.snd_una)
            && !self.is_boxed()
            && !self.has(bit::PAUSED | bit::ECE)
            && window != 0
            && match times {
                Some(times) => self.has(bit::TIMESTAMPS) && !before(times.value, self.ts_recent),
                None => !self.has(bit::TIMESTAMPS),
            }
    }

    /// Takes in such a segment: `on_segment`, and `take_any` with `take_ack` and `take_payload`.
    #[inline]
    pub(crate) fn express_close(
        &mut self,
        env: &mut Env<'_>,
        segment: &ShortSegment<'_>,
        events: &mut impl Events,
    ) -> Option<End> {
        env.counts.segments_in += 1;
        let Short { seq, ack, flags, window, times } = segment.header;
        let mut echo = None;
        if let Some(times) = times {
            if !after(seq, self.last_ack) {
                self.ts_recent = times.value;
            }
            echo = (self.timer.doublings() > 0).then_some(times.echo);
        }
        self.heard(env);
        self.snd_wnd = window;
        self.max_wnd = self.max_wnd.max(window);
        let mut end = None;
        if ack != self.snd_una {
            self.advance(env, ack, echo, events);
            if let Taken::Over(over) = self.after_own_fin(env) {
                end = Some(over);
            }
        }
        if end.is_none() && flags.has(Flags::FIN) {
            if !segment.payload.is_empty() {
                self.deliver(env, segment.payload, events);
            }
            end = self.take_fin(env, events);
        }
        if let Some(end) = end {
            return self.over(env, end);
        }
        if self.has(bit::CLOSE) && self.closes_by_reset(env) {
            return self.over(env, End::Closed);
        }
        self.settle(env);
        None
    }

    /// Whether a SYN-ACK is in order, and nothing else is out of the ordinary. Its packet is not marked.
    #[inline(always)]
    pub(crate) fn is_answered_by(&self, segment: &Segment<'_>) -> bool {
        self.state == State::SynSent
            && segment.header.flags == Flags::SYN | Flags::ACK
            && segment.header.ack == self.snd_nxt
            && self.snd_nxt != self.iss
            && segment.payload.is_empty()
            && !self.is_boxed()
            && !self.has(bit::ECN)
    }

    /// Takes in such a SYN-ACK: `on_segment`, and `take_any` with `in_syn_sent`.
    #[inline(always)]
    pub(crate) fn express_syn_ack(
        &mut self,
        env: &mut Env<'_>,
        segment: &Segment<'_>,
        events: &mut impl Events,
    ) -> Option<End> {
        env.counts.segments_in += 1;
        self.agree(env, &segment.header, false);
        self.establish(env, segment.header.ack, events);
        self.set(bit::ACK_NOW);
        if self.has(bit::CLOSE) && self.closes_by_reset(env) {
            return self.over(env, End::Closed);
        }
        self.settle(env);
        None
    }

    /// `plain_header` of a flow without a box.
    #[inline(always)]
    fn express_header(&mut self, env: &mut Env<'_>, seq: u32, flags: Flags) -> Short {
        let window = (self.full_window(env) >> (self.scales >> 4)).min(u32::from(u16::MAX)) as u16;
        if window == 0 && self.rcv_wnd != 0 {
            env.counts.zero_windows_sent += 1;
        }
        self.rcv_wnd = window;
        self.last_ack = self.rcv_nxt;
        self.clear(bit::ACK_NOW | bit::ACK_LATER);
        let times = self
            .has(bit::TIMESTAMPS)
            .then(|| Timestamps { value: Self::timestamp(env), echo: self.ts_recent });
        Short { seq, ack: self.rcv_nxt, flags, window, times }
    }
}
