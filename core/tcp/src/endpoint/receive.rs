//! Segments coming in (RFC 9293 section 3.10.7.4): the common case first, then everything else in the RFC's order.

use super::sequence::{after, before, earlier};
use super::timers::{ShortTick, TimerKind};
use super::{Endpoint, Env, Events, State, bit};
use crate::app::End;
use crate::segment::{Flags, Segment, SegmentHeader};

impl Endpoint {
    /// Takes in a segment.
    ///
    /// Some: the flow is over and has no box any more. [`Endpoint::transmit`] may yield one last segment (a reset, or
    /// the acknowledgement of a FIN); then forget it. [`End::Closed`] for a segment with SYN set means that TIME-WAIT
    /// was cut short (RFC 9293 section 3.6.1): pass the SYN to the listener.
    #[inline]
    pub fn on_segment(
        &mut self,
        env: &mut Env<'_>,
        segment: &Segment<'_>,
        events: &mut impl Events,
    ) -> Option<End> {
        env.counts.segments_in += 1;
        if self.is_plain(env, segment) {
            self.take_plain(env, segment, events);
        } else if let Some(end) = self.take_any(env, segment, events) {
            if end == End::Closed {
                self.deliver_held(env, events);
            }
            return self.over(env, end);
        }
        if self.has(bit::CLOSE) && self.closes_by_reset(env) {
            return self.over(env, End::Closed);
        }
        self.settle(env);
        None
    }

    /// Whether nothing about the segment is out of the ordinary: the next bytes, or an acknowledgement, of an
    /// established flow that loses nothing.
    #[inline(always)]
    fn is_plain(&self, env: &Env<'_>, segment: &Segment<'_>) -> bool {
        let header = &segment.header;
        let times = match header.timestamps {
            Some(times) => self.has(bit::TIMESTAMPS) && !before(times.value, self.ts_recent),
            None => !self.has(bit::TIMESTAMPS),
        };
        let acked = header.ack.wrapping_sub(self.snd_una);
        let repeats = acked == 0 && segment.payload.is_empty() && self.flight() > 0;
        self.state == State::Established
            && header.seq == self.rcv_nxt
            && header.flags.without(Flags::PSH) == Flags::ACK
            && times
            && acked <= self.flight()
            && !repeats
            && !self.is_boxed()
            && !self.has(bit::PAUSED | bit::ECE)
            && self.retries == 0
            && segment.payload.len() <= env.options.window as usize
            && header.sack.is_empty()
            && header.window != 0
            && !segment.congestion_experienced
    }

    #[inline(always)]
    fn take_plain(&mut self, env: &mut Env<'_>, segment: &Segment<'_>, events: &mut impl Events) {
        let header = &segment.header;
        let echo = self.take_timestamps(header);
        self.snd_wnd = header.window;
        self.max_wnd = self.max_wnd.max(header.window);
        self.heard(env);
        if header.ack != self.snd_una {
            self.advance(env, header.ack, echo, events);
        }
        if !segment.payload.is_empty() {
            self.deliver(env, segment.payload, events);
            self.owe_ack_later(env);
        }
    }

    /// RFC 7323 section 4.3: stores the timestamp of a segment that contains Last.ACK.sent. Returns the echo, for data
    /// acknowledged after a repair.
    #[inline(always)]
    fn take_timestamps(&mut self, header: &SegmentHeader) -> Option<u32> {
        let times = header.timestamps?;
        if !after(header.seq, self.last_ack) && !before(times.value, self.ts_recent) {
            self.ts_recent = times.value;
        }
        (self.is_boxed() || self.timer.doublings() > 0).then_some(times.echo)
    }

    /// Every second segment is acknowledged at once, the first one later (RFC 9293 section 3.8.6.3).
    #[inline(always)]
    pub(super) fn owe_ack_later(&mut self, env: &Env<'_>) {
        if self.has(bit::ACK_LATER) || env.options.ack_delay.0 == 0 {
            self.clear(bit::ACK_LATER);
            self.set(bit::ACK_NOW);
        } else {
            self.set(bit::ACK_LATER);
            self.ack_due = ShortTick::at_or_after(env.now.saturating_add(env.options.ack_delay));
        }
    }

    /// Acknowledges at once what was to wait.
    pub fn acknowledge(&mut self) {
        if self.has(bit::ACK_LATER) {
            self.clear(bit::ACK_LATER);
            self.set(bit::ACK_NOW);
        }
    }

    /// Acknowledges at once: a gap, a duplicate, or a segment out of the window (RFC 5681 section 4.2).
    fn owe_ack_now(&mut self, env: &mut Env<'_>) {
        env.counts.immediate_acks += 1;
        self.clear(bit::ACK_LATER);
        self.set(bit::ACK_NOW);
    }

    /// An acknowledgement that shows a genuine peer the state of the flow (RFC 5961), limited per second.
    fn challenge(&mut self, env: &mut Env<'_>) {
        if env.busy.may_challenge(env.now) {
            env.counts.challenge_acks += 1;
            self.set(bit::ACK_NOW);
        } else {
            env.counts.challenge_acks_suppressed += 1;
        }
    }

    /// Segments of every kind, in the order of RFC 9293 section 3.10.7.4.
    fn take_any(
        &mut self,
        env: &mut Env<'_>,
        segment: &Segment<'_>,
        events: &mut impl Events,
    ) -> Option<End> {
        let header = &segment.header;
        match self.state {
            State::Closed => return None,
            State::SynSent => return self.in_syn_sent(env, segment, events),
            State::TimeWait if self.is_reopened_by(header) => return self.reopen(),
            _ => {}
        }
        let answers_syn = self.answers_own_syn(segment);
        if !answers_syn {
            if !self.passes_paws(env, segment) || !self.passes_window(env, segment) {
                return None;
            }
            if header.flags.has(Flags::RST) {
                return self.take_reset(env, (header.seq, header.ack), header.flags, events);
            }
            if header.flags.has(Flags::SYN) {
                // RFC 5961 section 4: whatever its sequence number.
                env.counts.bad_reset_or_syn += 1;
                self.challenge(env);
                return None;
            }
        }
        if !header.flags.has(Flags::ACK) {
            env.counts.bad_flags += 1;
            return None;
        }
        let echo = self.take_timestamps(header);
        if self.state == State::SynReceived {
            if !self.in_syn_received(env, header, events) {
                return None;
            }
        } else {
            self.heard(env);
            match self.take_ack(env, segment, echo, events) {
                Taken::Dropped => return None,
                Taken::Over(end) => return Some(end),
                Taken::On => {}
            }
        }
        self.take_marks(env, segment);
        let seq = header.seq.wrapping_add(u32::from(answers_syn));
        self.take_payload(env, seq, segment.payload, header.flags.has(Flags::FIN), events)
    }

    /// A SYN-ACK in SYN-RECEIVED: both sides opened at once, and the peer acknowledges (RFC 9293 section 3.5).
    fn answers_own_syn(&self, segment: &Segment<'_>) -> bool {
        let header = &segment.header;
        self.state == State::SynReceived
            && header.flags.without(Flags::ECE | Flags::CWR | Flags::PSH) == Flags::SYN | Flags::ACK
            && header.seq == self.rcv_nxt.wrapping_sub(1)
            && header.ack == self.snd_nxt
            && self.snd_nxt != self.iss
    }

    /// A SYN of a new connection in TIME-WAIT (RFC 9293 section 3.10.7.4; RFC 6191).
    fn is_reopened_by(&self, header: &SegmentHeader) -> bool {
        let syn = header.flags.without(Flags::ECE | Flags::CWR) == Flags::SYN;
        let newer = match header.timestamps.filter(|_| self.has(bit::TIMESTAMPS)) {
            Some(times) if times.value != self.ts_recent => after(times.value, self.ts_recent),
            _ => !before(header.seq, self.rcv_nxt),
        };
        syn && newer
    }

    fn reopen(&mut self) -> Option<End> {
        self.clear(bit::ACK_NOW);
        Some(End::Closed)
    }

    /// RFC 7323 section 5: protection against segments of an earlier turn of the sequence numbers.
    fn passes_paws(&mut self, env: &mut Env<'_>, segment: &Segment<'_>) -> bool {
        let header = &segment.header;
        if !self.has(bit::TIMESTAMPS) || header.flags.has(Flags::RST) {
            return true;
        }
        match header.timestamps {
            // Agreed on, but missing: section 3.2. A SYN is answered whatever it has.
            None if header.flags.has(Flags::SYN) => true,
            None => {
                env.counts.bad_no_timestamp += 1;
                false
            }
            Some(times) if before(times.value, self.ts_recent) => {
                env.counts.bad_timestamp += 1;
                if segment.span() > 0 {
                    self.owe_ack_now(env)
                } else {
                    self.challenge(env)
                }
                false
            }
            Some(_) => true,
        }
    }

    /// RFC 9293 section 3.10.7.4, first step: whether any of the segment lies in the window.
    fn passes_window(&mut self, env: &mut Env<'_>, segment: &Segment<'_>) -> bool {
        let header = &segment.header;
        let (seq, span, room) = (header.seq, segment.span(), self.receive_room(env));
        let (next, edge) = (self.rcv_nxt, self.rcv_nxt.wrapping_add(room));
        let inside = if span == 0 {
            !before(seq, next) && !after(seq, edge)
        } else {
            // With the window closed, what acknowledges and a FIN without data still count.
            after(seq.wrapping_add(span), next) && (before(seq, edge) || seq == next)
        };
        if inside {
            return true;
        }
        if header.flags.has(Flags::RST) {
            env.counts.bad_sequence += 1;
            return false;
        }
        if header.flags.has(Flags::SYN) {
            self.take_old_syn(env, header);
            return false;
        }
        if span > 0 && !after(seq.wrapping_add(span), next) {
            env.counts.duplicates += 1;
            self.note_twice(env, seq, seq.wrapping_add(segment.payload.len() as u32));
        } else {
            env.counts.bad_sequence += 1;
        }
        if self.state == State::TimeWait && header.flags.has(Flags::FIN) {
            // RFC 9293 section 3.10.7.4: the last acknowledgement was lost; wait anew.
            let _ = self.enter_time_wait(env);
        }
        // A keep-alive is one before the window, data were sent again: both want an answer. Others get one as far as
        // RFC 5961 section 7 allows, so that two confused peers don't answer each other for ever.
        if span > 0 || seq == next.wrapping_sub(1) {
            self.heard(env);
            self.owe_ack_now(env);
        } else {
            self.challenge(env);
        }
        false
    }

    /// A SYN out of the window: the one that began the flow, sent again, or a stray.
    fn take_old_syn(&mut self, env: &mut Env<'_>, header: &SegmentHeader) {
        let repeated = header.seq == self.rcv_nxt.wrapping_sub(1) && !header.flags.has(Flags::ACK);
        if self.state == State::SynReceived && repeated {
            env.counts.duplicates += 1;
            self.set(bit::SYN);
        } else {
            env.counts.bad_reset_or_syn += 1;
            self.challenge(env);
        }
    }

    /// A reset in the window: accepted only at its very beginning (RFC 5961 section 3). Its acknowledgement shows how
    /// much the peer received.
    #[inline]
    pub(super) fn take_reset(
        &mut self,
        env: &mut Env<'_>,
        (seq, ack): (u32, u32),
        flags: Flags,
        events: &mut impl Events,
    ) -> Option<End> {
        if seq != self.rcv_nxt {
            env.counts.bad_reset_or_syn += 1;
            self.challenge(env);
            return None;
        }
        env.counts.resets_in += 1;
        let is_new = after(ack, self.snd_una) && !after(ack, self.snd_nxt);
        if flags.has(Flags::ACK) && is_new && self.state != State::SynReceived {
            self.advance(env, ack, None, events);
        }
        self.clear(bit::ACK_NOW | bit::RESET);
        let is_delivered = self.is_delivered(env);
        Some(match self.state {
            State::SynReceived if self.has(bit::ACTIVE) => End::Refused,
            State::TimeWait => End::Closed,
            // Only our FIN was missing its acknowledgement.
            State::Closing | State::LastAck if is_delivered => End::Closed,
            _ if is_delivered => End::ResetAcknowledged,
            _ => End::Reset,
        })
    }

    /// Whether every byte the application passed was acknowledged.
    fn is_delivered(&self, env: &Env<'_>) -> bool {
        let beyond = if self.is_boxed() { env.busy.work(self.box_id()).beyond } else { 0 };
        self.unsent() == 0 && beyond == 0 && self.flight() <= u32::from(self.state.fin_in_flight())
    }

    /// RFC 9293 section 3.10.7.4, fifth step: the acknowledgement.
    fn take_ack(
        &mut self,
        env: &mut Env<'_>,
        segment: &Segment<'_>,
        echo: Option<u32>,
        events: &mut impl Events,
    ) -> Taken {
        let header = &segment.header;
        let ack = header.ack;
        if after(ack, self.snd_nxt) && !self.acknowledges_probe(env, ack) {
            env.counts.bad_ack += 1;
            self.challenge(env);
            return Taken::Dropped;
        }
        if before(ack, self.snd_una) {
            // RFC 5961 section 5: older than the largest window is not from this flow.
            if before(ack, self.snd_una.wrapping_sub(u32::from(self.max_wnd) << (self.scales & 15))) {
                env.counts.bad_ack += 1;
                self.challenge(env);
                return Taken::Dropped;
            }
            return Taken::On;
        }
        let held = self.note_sacks(env, header);
        let window_moved = self.take_window(env, header.window);
        if header.flags.has(Flags::ECE) && self.has(bit::ECN) && !header.flags.has(Flags::SYN) {
            self.echoed_mark(env);
        }
        if ack != self.snd_una {
            self.advance(env, ack, echo, events);
            self.take_times(env, header, true);
            return self.after_own_fin(env);
        }
        // RFC 5681 section 2; with SACK, RFC 6675 section 2.
        let plain = segment.payload.is_empty() && !header.flags.has(Flags::FIN) && !window_moved;
        if self.flight() > 0 && (held > 0 || plain && !self.has(bit::SACK)) {
            env.counts.duplicate_acks += 1;
            self.repair_on_repeat(env, held);
        }
        self.take_times(env, header, held > 0 || !plain);
        if self.snd_wnd == 0 {
            self.retries = 0;
        }
        Taken::On
    }

    /// Whether `ack` is for the byte a window probe carried, which then counts as sent.
    fn acknowledges_probe(&mut self, env: &mut Env<'_>, ack: u32) -> bool {
        let probed = self.timer.kind() == TimerKind::Persist
            && self.unsent() > 0
            && ack == self.snd_nxt.wrapping_add(1);
        if probed {
            self.snd_nxt = ack;
            self.set_unsent(self.unsent() - 1);
            env.counts.bytes_out += 1;
        }
        probed
    }

    /// Takes in the window of an acceptable segment. No older one gets here out of turn but on segments ahead of a gap,
    /// and those are newer than what filled the window before; so WL1 and WL2 need not be kept. Whether it changed.
    fn take_window(&mut self, env: &mut Env<'_>, window: u16) -> bool {
        let old = std::mem::replace(&mut self.snd_wnd, window);
        self.max_wnd = self.max_wnd.max(window);
        if window == 0 && old != 0 {
            env.counts.zero_windows_received += 1;
        }
        window != old
    }

    /// SND.UNA moves on to `ack`.
    #[inline]
    pub(super) fn advance(
        &mut self,
        env: &mut Env<'_>,
        ack: u32,
        echo: Option<u32>,
        events: &mut impl Events,
    ) {
        self.measure(env, ack, echo);
        let (flight, acked) = (self.flight(), ack.wrapping_sub(self.snd_una));
        let fin = u32::from(self.state.fin_in_flight() && ack == self.snd_nxt);
        let passed = |seq: u32| seq.wrapping_sub(self.iss).wrapping_sub(1);
        if passed(ack) < passed(self.snd_una) {
            self.work(env).offset_high += 1;
        }
        self.snd_una = ack;
        self.retries = 0;
        if self.is_boxed() {
            self.repair_on_advance(env, acked, flight);
        } else {
            self.grow(env, acked, flight);
        }
        if ack == self.snd_nxt {
            self.timer.stop();
            self.clear(bit::PROBE);
        } else {
            // RFC 6298 section 5.3.
            self.start_retransmit(env);
        }
        if acked > fin {
            env.counts.bytes_acknowledged += u64::from(acked - fin);
            events.acknowledged(self.offset_of(env, ack) - u64::from(fin));
        }
    }

    /// Processes the acknowledgement of our FIN.
    pub(super) fn after_own_fin(&mut self, env: &mut Env<'_>) -> Taken {
        if !self.state.fin_in_flight() || self.flight() > 0 {
            return Taken::On;
        }
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.start(TimerKind::FinWait2, env.now, env.options.fin_timeout);
                Taken::On
            }
            State::Closing => self.enter_time_wait(env).map_or(Taken::On, Taken::Over),
            _ => {
                self.clear(bit::ACK_NOW);
                Taken::Over(End::Closed)
            }
        }
    }

    /// RFC 3168 section 6.1.3: echoes marks until the peer announces that it has slowed down.
    fn take_marks(&mut self, env: &mut Env<'_>, segment: &Segment<'_>) {
        if segment.congestion_experienced {
            env.counts.congestion_experienced += 1;
        }
        if !self.has(bit::ECN) || segment.payload.is_empty() {
            return;
        }
        if segment.header.flags.has(Flags::CWR) {
            self.clear(bit::ECE);
        }
        if segment.congestion_experienced {
            self.set(bit::ECE);
        }
    }

    /// RFC 9293 section 3.10.7.4, seventh and eighth step: payload and FIN.
    pub(super) fn take_payload(
        &mut self,
        env: &mut Env<'_>,
        seq: u32,
        payload: &[u8],
        fin: bool,
        events: &mut impl Events,
    ) -> Option<End> {
        if payload.is_empty() && !fin {
            return None;
        }
        if !self.state.receives() {
            // RFC 9293 section 3.10.7.4: after the peer's FIN there is nothing more to take.
            return None;
        }
        let end = seq.wrapping_add(payload.len() as u32);
        let edge = self.rcv_nxt.wrapping_add(self.receive_room(env));
        let fin = fin && (!after(end, edge));
        let known = if before(seq, self.rcv_nxt) { self.rcv_nxt.wrapping_sub(seq) as usize } else { 0 };
        let from = seq.wrapping_add(known as u32);
        let most = if before(from, edge) { edge.wrapping_sub(from) as usize } else { 0 };
        let new = payload.get(known..).unwrap_or_default();
        let new = &new[..new.len().min(most)];
        if known > 0 {
            self.note_twice(env, seq, earlier(self.rcv_nxt, end));
        }
        if new.is_empty() && !fin {
            env.counts.duplicates += u64::from(known > 0);
            self.owe_ack_now(env);
            return None;
        }
        if from != self.rcv_nxt {
            return self.keep_for_later(env, from, new, fin.then_some(end));
        }
        if known > 0 || new.len() < payload.len() {
            self.owe_ack_now(env);
        }
        if !new.is_empty() {
            self.deliver(env, new, events);
        }
        let filled = self.is_boxed() && self.deliver_kept(env, events);
        let fin_at = if self.is_boxed() { env.busy.work(self.box_id()).fin_at } else { None };
        if fin && end == self.rcv_nxt || fin_at == Some(self.rcv_nxt) {
            return self.take_fin(env, events);
        }
        if filled {
            // RFC 5681 section 4.2: at once, so that the sender leaves its repair.
            self.owe_ack_now(env);
        } else if !self.has(bit::ACK_NOW) {
            self.owe_ack_later(env);
        }
        None
    }

    /// Bytes, or a FIN, ahead of a gap.
    fn keep_for_later(
        &mut self,
        env: &mut Env<'_>,
        from: u32,
        bytes: &[u8],
        fin: Option<u32>,
    ) -> Option<End> {
        let work = self.work(env);
        let first_fin = work.fin_at.is_none() && fin.is_some();
        work.fin_at = work.fin_at.or(fin);
        // Nothing stands behind a FIN.
        let bytes = match work.fin_at {
            Some(end) if after(from, end) => &[],
            Some(end) => &bytes[..bytes.len().min(end.wrapping_sub(from) as usize)],
            None => bytes,
        };
        if work.reassembly.insert(from, bytes) || first_fin {
            env.counts.out_of_order += 1;
        } else {
            env.counts.duplicates += 1;
            let to = from.wrapping_add(bytes.len() as u32);
            self.note_twice(env, from, to);
        }
        self.owe_ack_now(env);
        None
    }

    /// The next acknowledgement reports that these arrived twice (RFC 2883), if the peer reads such reports.
    fn note_twice(&mut self, env: &mut Env<'_>, from: u32, to: u32) {
        if self.has(bit::SACK) && from != to {
            self.work(env).twice = Some((from, to));
        }
    }

    /// Hands on what was kept and now is in order. Whether a gap was filled, even if another one remains.
    fn deliver_kept(&mut self, env: &mut Env<'_>, events: &mut impl Events) -> bool {
        let gap = !env.busy.work(self.box_id()).reassembly.is_empty();
        while let Some((bytes, known)) = {
            let next = self.rcv_nxt;
            env.busy.work_mut(self.box_id()).reassembly.take(next)
        } {
            self.deliver(env, &bytes[known..], events);
        }
        gap
    }

    /// The next bytes in order, to the application or, if it is paused, to the box.
    #[inline(always)]
    pub(super) fn deliver(&mut self, env: &mut Env<'_>, bytes: &[u8], events: &mut impl Events) {
        self.rcv_nxt = self.rcv_nxt.wrapping_add(bytes.len() as u32);
        env.counts.bytes_in += bytes.len() as u64;
        if self.has(bit::PAUSED) {
            self.work(env).held.extend_from_slice(bytes);
        } else {
            events.data(bytes);
        }
    }

    /// The peer's FIN is next in order.
    pub(super) fn take_fin(&mut self, env: &mut Env<'_>, events: &mut impl Events) -> Option<End> {
        self.rcv_nxt = self.rcv_nxt.wrapping_add(1);
        self.clear(bit::ACK_LATER);
        self.set(bit::ACK_NOW);
        if self.is_boxed() {
            let work = env.busy.work_mut(self.box_id());
            work.fin_at = None;
            work.reassembly.clear();
        }
        if self.has(bit::PAUSED) {
            self.work(env).fin_held = true;
        } else {
            events.finished();
        }
        match self.state {
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => return self.enter_time_wait(env),
            _ => self.state = State::CloseWait,
        }
        None
    }

    /// Tells what was kept for a paused application.
    pub(super) fn deliver_held(&mut self, env: &mut Env<'_>, events: &mut impl Events) {
        if !self.is_boxed() {
            return;
        }
        let work = env.busy.work_mut(self.box_id());
        let mut held = std::mem::take(&mut work.held);
        if !held.is_empty() {
            events.data(&held);
        }
        held.clear();
        work.held = held;
        if std::mem::take(&mut work.fin_held) {
            events.finished();
        }
    }

    /// Number of bytes that may come: the window less what a paused application has not taken.
    #[inline(always)]
    pub(super) fn receive_room(&self, env: &Env<'_>) -> u32 {
        let full = self.full_window(env);
        if self.is_boxed() {
            full.saturating_sub(env.busy.work(self.box_id()).held.len() as u32)
        } else {
            full
        }
    }

    /// Whether the window has opened enough to announce it (RFC 9293 section 3.8.6.2.2: receiver's silly window
    /// avoidance).
    pub(super) fn window_grew(&self, env: &Env<'_>) -> bool {
        let told = self.last_ack.wrapping_add(u32::from(self.rcv_wnd) << (self.scales >> 4));
        let now = self.rcv_nxt.wrapping_add(self.receive_room(env));
        let step = (self.full_window(env) / 2).min(u32::from(self.mss));
        after(now, told) && now.wrapping_sub(told) >= step && earlier(now, told) == told
    }
}

/// Result of processing a segment's acknowledgement.
pub(super) enum Taken {
    /// The segment is dropped.
    Dropped,
    /// Its payload is next.
    On,
    /// The flow is over.
    Over(End),
}
