//! Segments going out: which is next, and how it looks.

use super::recovery::Repair;
use super::timers::TimerKind;
use super::{Endpoint, Env, Outgoing, State, UNSENT_MAX, bit};
use crate::segment::{Flags, SackBlocks, SegmentHeader, Timestamps};

/// Next segment that takes up sequence numbers after the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// This number of bytes of new data; none: the FIN alone.
    New(u32),
    /// These sequence numbers once more.
    Again { from: u32, to: u32, rescue: bool },
    /// A reset for a stray segment.
    Stray,
}

impl Endpoint {
    /// The next segment to send now. Called until there is none, or no room for one. A returned segment counts as sent.
    #[inline]
    pub fn transmit(&mut self, env: &mut Env<'_>) -> Option<Outgoing> {
        if !self.owes() {
            return None;
        }
        env.counts.segments_out += 1;
        if !self.is_boxed() && !self.has(bit::SYN | bit::RESET | bit::PROBE) {
            return Some(self.transmit_plain(env));
        }
        let out = self.compose(env);
        if self.state != State::Closed {
            self.settle(env);
        }
        Some(out)
    }

    /// New data or an acknowledgement of a flow without a box. The segment is assembled last and in one place: copying
    /// what was just written piece by piece would cost more than all the rest.
    #[inline(always)]
    fn transmit_plain(&mut self, env: &mut Env<'_>) -> Outgoing {
        let (flight, seq) = (self.flight(), self.snd_nxt);
        let ready = if self.has(bit::READY) { self.new_data(env, flight) } else { None };
        let (len, flags) = match ready {
            Some(len) => (len, self.take_new(env, len)),
            None => (0, Flags::ACK),
        };
        let offset = if len > 0 { self.offset_of(env, seq) } else { 0 };
        if self.state != State::Closed {
            self.settle(env);
        }
        Outgoing {
            header: self.plain_header(env, seq, flags),
            offset,
            len: len as u16,
            ecn_capable: len > 0 && self.has(bit::ECN),
        }
    }

    #[inline(always)]
    fn compose(&mut self, env: &mut Env<'_>) -> Outgoing {
        if self.has(bit::READY)
            && let Some(next) = self.next(env)
        {
            return match next {
                Next::New(len) => self.compose_new(env, len),
                Next::Again { from, to, rescue } => self.compose_again(env, from, to, rescue),
                Next::Stray => self.compose_stray(env),
            };
        }
        if self.has(bit::SYN) {
            self.compose_syn(env)
        } else if self.has(bit::RESET) {
            env.counts.resets_out += 1;
            self.clear(bit::OWED);
            self.plain(env, self.snd_nxt, Flags::RST | Flags::ACK)
        } else if self.has(bit::PROBE) {
            self.compose_probe(env)
        } else {
            self.plain(env, self.snd_nxt, Flags::ACK)
        }
    }

    /// The next segment that may be sent now. Evaluated at the end of every call, so that [`bit::READY`] reflects it.
    #[inline(always)]
    pub(super) fn next(&self, env: &Env<'_>) -> Option<Next> {
        if self.is_boxed() {
            return self.next_of_busy(env);
        }
        self.new_data(env, self.flight()).map(Next::New)
    }

    #[cold]
    fn next_of_busy(&self, env: &Env<'_>) -> Option<Next> {
        let work = env.busy.work(self.box_id());
        if work.stray_reset.is_some() {
            return Some(Next::Stray);
        }
        if let Some(probe) = self.owed_probe(work) {
            return Some(probe);
        }
        let pipe = self.pipe(work);
        let Some(repair) = &work.recovery else { return self.new_data(env, pipe).map(Next::New) };
        match self.next_repair(env, work, repair, pipe) {
            Repair::Again { from, to, rescue } => Some(Next::Again { from, to, rescue }),
            Repair::New => self.new_data(env, pipe).map(Next::New),
            Repair::Wait => None,
        }
    }

    /// Number of new bytes that may be sent in one segment while `pipe` bytes are in the network; zero for the FIN
    /// alone.
    #[inline(always)]
    pub(super) fn new_data(&self, env: &Env<'_>, pipe: u32) -> Option<u32> {
        if !self.state.sends() {
            return None;
        }
        if self.unsent() == 0 {
            let resets = env.options.close_by_reset && self.state == State::Established;
            return (self.has(bit::CLOSE) && !resets).then_some(0);
        }
        let full = self.room_for_payload();
        let want = self.unsent().min(full);
        if pipe > 0 && pipe.saturating_add(want) > self.congestion_window(env) {
            return None;
        }
        let usable = (u32::from(self.snd_wnd) << (self.scales & 15)).saturating_sub(self.flight());
        if want <= usable {
            // RFC 9293 section 3.7.4 (Nagle): a short segment waits for acknowledgements, unless it is the last.
            let waits = want < full && self.flight() > 0 && !env.options.no_delay && !self.has(bit::CLOSE);
            return (!waits).then_some(want);
        }
        // RFC 9293 section 3.8.6.2.1: the window allows only a part; worth it if that is half of the largest window.
        let half = (u32::from(self.max_wnd) << (self.scales & 15)).div_ceil(2);
        (usable > 0 && usable >= half).then_some(usable)
    }

    /// A header with what every segment of the flow has. The acknowledgement it carries is no longer owed.
    #[inline(always)]
    fn header(&mut self, env: &mut Env<'_>, seq: u32, flags: Flags) -> SegmentHeader {
        let mut header = self.plain_header(env, seq, flags);
        if self.is_boxed() && self.has(bit::SACK) {
            header.sack = self.sack_blocks(env);
        }
        header
    }

    /// Data that the flow holds ahead of a gap, or received twice.
    #[inline(never)]
    fn sack_blocks(&mut self, env: &mut Env<'_>) -> SackBlocks {
        let most = if self.has(bit::TIMESTAMPS) { 3 } else { 4 };
        let work = env.busy.work_mut(self.box_id());
        let Some((from, to)) = work.twice.take() else { return work.reassembly.blocks(most) };
        // RFC 2883 section 4: what came twice first.
        let mut blocks = SackBlocks::default();
        blocks.push(from, to);
        for (from, to) in work.reassembly.blocks(most - 1).as_slice() {
            blocks.push(*from, *to);
        }
        blocks
    }

    /// The same without SACK.
    #[inline(always)]
    fn plain_header(&mut self, env: &mut Env<'_>, seq: u32, flags: Flags) -> SegmentHeader {
        let window = (self.receive_room(env) >> (self.scales >> 4)).min(u32::from(u16::MAX)) as u16;
        if window == 0 && self.rcv_wnd != 0 {
            env.counts.zero_windows_sent += 1;
        }
        self.rcv_wnd = window;
        self.last_ack = self.rcv_nxt;
        self.clear(bit::ACK_NOW | bit::ACK_LATER);
        let times = Timestamps { value: Self::timestamp(env), echo: self.ts_recent };
        SegmentHeader {
            seq,
            ack: self.rcv_nxt,
            flags: if self.has(bit::ECE) { flags | Flags::ECE } else { flags },
            window,
            mss: None,
            window_scale: None,
            sack_permitted: false,
            timestamps: if self.has(bit::TIMESTAMPS) { Some(times) } else { None },
            sack: SackBlocks::default(),
        }
    }

    /// A segment without payload.
    #[inline(always)]
    fn plain(&mut self, env: &mut Env<'_>, seq: u32, flags: Flags) -> Outgoing {
        Outgoing { header: self.header(env, seq, flags), offset: 0, len: 0, ecn_capable: false }
    }

    fn compose_new(&mut self, env: &mut Env<'_>, len: u32) -> Outgoing {
        let seq = self.snd_nxt;
        let mut header = self.header(env, seq, Flags::ACK);
        let len = self.fit(&header, len);
        let offset = if len > 0 { self.offset_of(env, seq) } else { 0 };
        header.flags |= self.take_new(env, len);
        if self.is_boxed() {
            self.probe_sent(env);
        }
        Outgoing { header, offset, len: len as u16, ecn_capable: len > 0 && self.has(bit::ECN) }
    }

    /// Counts `len` bytes of new data as sent, and the FIN if it goes with them. Returns the segment's flags.
    #[inline(always)]
    fn take_new(&mut self, env: &mut Env<'_>, len: u32) -> Flags {
        if self.snd_una == self.snd_nxt {
            self.restart_after_idle(env);
        }
        let (mut flags, mut span) = (Flags::ACK, len);
        self.set_unsent(self.unsent() - len);
        if self.is_boxed() {
            self.refill(env);
        }
        if self.unsent() == 0 {
            // RFC 9293 section 3.9.1.2 (MUST-61): the last of what was asked for is pushed.
            if len > 0 {
                flags |= Flags::PSH;
            }
            if self.has(bit::CLOSE) && !(env.options.close_by_reset && self.state == State::Established) {
                flags |= Flags::FIN;
                span += 1;
                self.state = if self.state == State::CloseWait { State::LastAck } else { State::FinWait1 };
            }
        }
        if len > 0 && self.has(bit::CWR) {
            self.clear(bit::CWR);
            flags |= Flags::CWR;
        }
        self.snd_nxt = self.snd_nxt.wrapping_add(span);
        if !self.has(bit::TIMING) {
            self.set(bit::TIMING);
            self.set_timed_seq(env.busy, self.snd_nxt);
            self.timed_at = self.clock(env);
        }
        if self.timer.kind().is_for_flight() {
            self.note_tail(env);
        } else {
            self.leave_idle_timer();
            self.start_retransmit(env);
        }
        env.counts.bytes_out += u64::from(len);
        flags
    }

    /// Something is in flight now: what waited for it no longer does.
    #[inline]
    pub(super) fn leave_idle_timer(&mut self) {
        if matches!(self.timer.kind(), TimerKind::Persist | TimerKind::KeepAlive) {
            self.clear(bit::PROBE);
            self.retries = 0;
            self.timer.forget_doublings();
        }
    }

    /// Part of `len` that fits next to the header's options (RFC 6691).
    #[inline(always)]
    fn fit(&self, header: &SegmentHeader, len: u32) -> u32 {
        if header.sack.is_empty() {
            return len;
        }
        len.min(u32::from(self.mss).saturating_sub(header.len() as u32 - 20))
    }

    /// Moves bytes that the endpoint itself could not count.
    pub(super) fn refill(&mut self, env: &mut Env<'_>) {
        let work = env.busy.work_mut(self.box_id());
        let more = work.beyond.min(u64::from(UNSENT_MAX - self.unsent()));
        work.beyond -= more;
        self.set_unsent(self.unsent() + more as u32);
    }

    /// Repeats as much of a hole as fits a segment.
    #[cold]
    fn compose_again(&mut self, env: &mut Env<'_>, from: u32, to: u32, rescue: bool) -> Outgoing {
        let mut header = self.header(env, from, Flags::ACK);
        let span = to.wrapping_sub(from);
        let fin = self.state.fin_in_flight() && to == self.snd_nxt;
        let bytes = span - u32::from(fin);
        let len = self.fit(&header, bytes.min(self.room_for_payload()));
        let with_fin = fin && len == bytes;
        if with_fin {
            header.flags |= Flags::FIN;
        }
        if from.wrapping_add(len + u32::from(with_fin)) == self.snd_nxt && self.unsent() == 0 && len > 0 {
            header.flags |= Flags::PSH;
        }
        self.note_repeated(env, from, len, u32::from(with_fin), rescue);
        self.clear(bit::TIMING);
        let offset = if len > 0 { self.offset_of(env, from) } else { 0 };
        // RFC 3168 section 6.1.5: what is sent again is not ECN-capable.
        Outgoing { header, offset, len: len as u16, ecn_capable: false }
    }

    fn note_repeated(&mut self, env: &mut Env<'_>, from: u32, len: u32, fin: u32, rescue: bool) {
        self.probe_sent(env);
        let nxt = self.snd_nxt;
        let work = env.busy.work_mut(self.box_id());
        if let Some(undo) = &mut work.undo {
            undo.repeated(from);
        }
        let mut restart = false;
        let mut cause = &mut env.counts.retransmitted_other;
        if let Some(repair) = &mut work.recovery {
            restart = std::mem::take(&mut repair.head);
            if restart {
                repair.beyond = nxt;
            }
            repair.rescued |= rescue;
            if !rescue {
                repair.resent = super::sequence::later(repair.resent, from.wrapping_add(len + fin));
            }
            if !rescue && !repair.too_big {
                cause = if repair.timeout {
                    &mut env.counts.retransmitted_timeout
                } else {
                    &mut env.counts.retransmitted_fast
                };
            }
        }
        if len == 0 {
            cause = &mut env.counts.retransmitted_fin;
        }
        *cause += 1;
        env.counts.bytes_retransmitted += u64::from(len);
        if restart {
            self.start_retransmit(env);
        }
    }

    fn compose_stray(&mut self, env: &mut Env<'_>) -> Outgoing {
        let seq = env.busy.work_mut(self.box_id()).stray_reset.take().unwrap_or_default();
        env.counts.resets_out += 1;
        // RFC 9293 section 3.10.7.1: the number the segment acknowledged, and no acknowledgement.
        let header = SegmentHeader { seq, flags: Flags::RST, ..SegmentHeader::default() };
        Outgoing { header, offset: 0, len: 0, ecn_capable: false }
    }

    fn compose_syn(&mut self, env: &mut Env<'_>) -> Outgoing {
        self.clear(bit::SYN);
        let answer = self.state == State::SynReceived;
        let mut header =
            self.header(env, self.iss, if answer { Flags::SYN | Flags::ACK } else { Flags::SYN });
        if !answer {
            header.ack = 0;
            if let Some(times) = &mut header.timestamps {
                times.echo = 0;
            }
        }
        // RFC 7323 section 2.2: the window of a SYN is not scaled.
        self.rcv_wnd = self.receive_room(env).min(u32::from(u16::MAX)) as u16;
        header.window = self.rcv_wnd;
        self.rcv_wnd >>= self.scales >> 4;
        header.mss = Some(env.mss_limit.min(env.options.mss.unwrap_or(u16::MAX)));
        header.window_scale = self.has(bit::SCALING).then(|| Self::own_scale(env.options.window));
        header.sack_permitted = self.has(bit::SACK);
        if self.has(bit::ECN) {
            // RFC 3168 section 6.1.1.
            header.flags |= if answer { Flags::ECE } else { Flags::ECE | Flags::CWR };
        }
        if self.snd_nxt == self.iss {
            self.snd_nxt = self.iss.wrapping_add(1);
            self.set(bit::TIMING);
            self.timed_at = self.clock(env);
        } else {
            self.clear(bit::TIMING);
            env.counts.retransmitted_syn += 1;
        }
        if !self.timer.kind().is_for_flight() {
            self.start_retransmit(env);
        }
        Outgoing { header, offset: 0, len: 0, ecn_capable: false }
    }

    /// A byte beyond a closed window (RFC 9293 section 3.8.6.1), a part of what a small one lets through
    /// (section 3.8.6.2.1), or a keep-alive (section 3.8.4).
    fn compose_probe(&mut self, env: &mut Env<'_>) -> Outgoing {
        self.clear(bit::PROBE);
        if self.timer.kind() == TimerKind::KeepAlive {
            env.counts.keep_alives += 1;
            return self.plain(env, self.snd_nxt.wrapping_sub(1), Flags::ACK);
        }
        let usable = u32::from(self.snd_wnd) << (self.scales & 15);
        let part = usable.min(self.unsent()).min(self.room_for_payload());
        if part > 0 {
            return self.compose_new(env, part);
        }
        env.counts.window_probes += 1;
        // The byte counts as sent only once it is acknowledged.
        let seq = self.snd_nxt;
        let header = self.header(env, seq, Flags::ACK | Flags::PSH);
        Outgoing { header, offset: self.offset_of(env, seq), len: 1, ecn_capable: false }
    }
}
