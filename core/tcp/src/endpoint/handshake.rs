//! From closed to established: opening, listening, simultaneous opening (RFC 9293 sections 3.5 and 3.10.7.3).

use super::sequence::{after, before};
use super::timers::{AFTER_SYN_TIMEOUT, ShortTick, Timer, Variation, coarse};
use super::{Endpoint, Env, Events, State, Tick, bit, congestion};
use crate::app::End;
use crate::segment::{Flags, Segment, SegmentHeader};
use units::Nanos;

/// A segment must hold some payload in addition to 40 bytes of options.
pub(super) const SMALLEST_MSS: u16 = 64;
/// Largest receive window (RFC 7323 section 2.3).
const LARGEST_WINDOW: u32 = 1 << 30;

/// The time-out before the first measurement, of flows with the usual one.
const USUAL_TIMEOUT: Nanos = Nanos::from_secs(1);

impl Endpoint {
    #[inline(always)]
    fn new(env: &Env<'_>, iss: u32, state: State) -> Self {
        Self {
            iss,
            snd_una: iss,
            snd_nxt: iss,
            unsent_and_boxed: 0,
            rcv_nxt: 0,
            last_ack: 0,
            ts_recent: 0,
            timed_seq_or_box: iss.wrapping_add(1),
            timed_at: 0,
            cwnd: 0,
            srtt: 0,
            due: Tick(0),
            rttvar: match env.options.rto_initial {
                // Known when this is compiled.
                USUAL_TIMEOUT => Variation::of(coarse(USUAL_TIMEOUT)),
                time => Variation::of(coarse(time)),
            },
            ack_due: ShortTick(0),
            snd_wnd: 0,
            max_wnd: 0,
            rcv_wnd: 0,
            mss: env.mss_limit.min(env.options.mss.unwrap_or(u16::MAX)).max(SMALLEST_MSS),
            ssthresh: congestion::UNLIMITED,
            retries: 0,
            scales: 0,
            state,
            timer: Timer::OFF,
            bits: bit::SYN,
        }
    }

    /// A flow opened from here: a SYN is owed. `iss` is the initial sequence number (RFC 9293 section 3.4.1).
    #[inline(always)]
    pub fn connect(env: &mut Env<'_>, iss: u32) -> Self {
        let mut new = Self::new(env, iss, State::SynSent);
        let options = env.options;
        let offered = [
            (options.timestamps, bit::TIMESTAMPS),
            (options.sack, bit::SACK),
            (options.window_scaling, bit::SCALING),
            (options.ecn, bit::ECN),
        ];
        new.bits |= bit::ACTIVE;
        new.bits |= offered.iter().filter(|(is, _)| *is).fold(0, |bits, (_, bit)| bits | bit);
        env.counts.opened_active += 1;
        new
    }

    /// A flow that begins with a peer's SYN: a SYN-ACK is owed. `syn` has SYN set, and neither ACK nor RST.
    #[inline(always)]
    pub fn accept(env: &mut Env<'_>, iss: u32, syn: &Segment<'_>) -> Self {
        let mut new = Self::new(env, iss, State::SynReceived);
        env.counts.segments_in += 1;
        env.counts.opened_passive += 1;
        // RFC 3168 section 6.1.1: a SYN offers with both bits, a SYN-ACK agrees with one.
        new.agree(env, &syn.header, syn.header.flags.has(Flags::ECE | Flags::CWR));
        new
    }

    /// Takes in a peer's SYN or SYN-ACK: what holds for the flow is what both sides offer.
    #[inline(always)]
    pub(super) fn agree(&mut self, env: &Env<'_>, syn: &SegmentHeader, ecn: bool) {
        let options = env.options;
        self.clear(bit::TIMESTAMPS | bit::SACK | bit::SCALING | bit::ECN);
        self.rcv_nxt = syn.seq.wrapping_add(1);
        self.last_ack = self.rcv_nxt;
        self.mss = self.mss.min(syn.mss.unwrap_or(env.mss_unsaid)).max(SMALLEST_MSS);
        if let Some(times) = syn.timestamps.filter(|_| options.timestamps) {
            self.set(bit::TIMESTAMPS);
            self.ts_recent = times.value;
        }
        if options.sack && syn.sack_permitted {
            self.set(bit::SACK);
        }
        if options.ecn && ecn {
            self.set(bit::ECN);
        }
        self.scales = 0;
        if let Some(scale) = syn.window_scale.filter(|_| options.window_scaling) {
            self.set(bit::SCALING);
            self.scales = scale | Self::own_scale(options.window) << 4;
        }
        // RFC 7323 section 2.2: the window of a SYN is not scaled.
        self.snd_wnd = syn.window >> (self.scales & 15);
        self.max_wnd = self.snd_wnd;
    }

    /// The smallest scale that lets the window be announced whole.
    pub(crate) fn own_scale(window: u32) -> u8 {
        let bits = 32 - window.min(LARGEST_WINDOW).leading_zeros();
        bits.saturating_sub(16).min(14) as u8
    }

    /// The largest receive window this flow can announce.
    #[inline(always)]
    pub(super) fn full_window(&self, env: &Env<'_>) -> u32 {
        env.options.window.min(if self.has(bit::SCALING) { LARGEST_WINDOW } else { u32::from(u16::MAX) })
    }

    /// Both SYNs are acknowledged, the own one by `ack`.
    pub(super) fn establish(&mut self, env: &mut Env<'_>, ack: u32, events: &mut impl Events) {
        self.state = State::Established;
        self.snd_una = self.snd_nxt;
        self.cwnd = self.initial_window(env);
        if self.has(bit::ACTIVE) {
            env.counts.setup.record(u64::from(self.clock(env).wrapping_sub(self.timed_at)) << 6);
        }
        if self.retries == 0 {
            self.measure(env, ack, None);
        } else {
            // RFC 6298 section 5.7; RFC 5681 section 3.1: a lost SYN leaves one segment.
            let least = coarse(AFTER_SYN_TIMEOUT.min(env.options.rto_max));
            self.rttvar = Variation::of(self.rttvar.value().max(least));
            self.cwnd = self.room_for_payload();
        }
        self.clear(bit::SYN | bit::TIMING);
        self.timer = Timer::OFF;
        self.retries = 0;
        env.counts.established += 1;
        events.opened();
    }

    /// A segment in SYN-SENT (RFC 9293 section 3.10.7.3).
    pub(super) fn in_syn_sent(
        &mut self,
        env: &mut Env<'_>,
        segment: &Segment<'_>,
        events: &mut impl Events,
    ) -> Option<End> {
        let header = &segment.header;
        let flags = header.flags;
        let acks = flags.has(Flags::ACK);
        // First: it must acknowledge our SYN, if anything.
        if acks && (header.ack != self.snd_nxt || self.snd_nxt == self.iss) {
            env.counts.bad_ack += 1;
            if !flags.has(Flags::RST) {
                self.work(env).stray_reset = Some(header.ack);
            }
            return None;
        }
        // Second: a reset counts only if it does.
        if flags.has(Flags::RST) {
            if !acks {
                env.counts.bad_reset_or_syn += 1;
                return None;
            }
            env.counts.resets_in += 1;
            return Some(End::Refused);
        }
        if !flags.has(Flags::SYN) {
            env.counts.bad_flags += 1;
            return None;
        }
        let offered = self.has(bit::ECN);
        if !acks {
            // Both open at the same time: our SYN is sent again, with what is agreed on and an acknowledgement.
            self.agree(env, header, offered && flags.has(Flags::ECE | Flags::CWR));
            self.state = State::SynReceived;
            self.set(bit::SYN);
            self.snd_una = self.iss;
            return None;
        }
        self.agree(env, header, offered && flags.has(Flags::ECE) && !flags.has(Flags::CWR));
        self.establish(env, header.ack, events);
        self.set(bit::ACK_NOW);
        // Data or a FIN with it are taken as on any segment.
        let fin = flags.has(Flags::FIN);
        self.take_payload(env, self.rcv_nxt, segment.payload, fin, events)
    }

    /// Handles a segment in SYN-RECEIVED that is in the window or repeats the peer's SYN. Returns whether to continue
    /// with it.
    pub(super) fn in_syn_received(
        &mut self,
        env: &mut Env<'_>,
        header: &SegmentHeader,
        events: &mut impl Events,
    ) -> bool {
        if before(header.ack, self.snd_nxt) || after(header.ack, self.snd_nxt) || self.snd_nxt == self.iss {
            // RFC 9293 section 3.10.7.4: such an acknowledgement is answered with a reset.
            env.counts.bad_ack += 1;
            self.work(env).stray_reset = Some(header.ack);
            return false;
        }
        if !header.flags.has(Flags::SYN) {
            self.snd_wnd = header.window;
        }
        self.max_wnd = self.snd_wnd.max(self.max_wnd);
        self.establish(env, header.ack, events);
        true
    }
}
