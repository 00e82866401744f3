//! Deadlines and what happens at them: retransmission (RFC 6298), window probes, keep-alive, delayed acknowledgement,
//! FIN-WAIT-2, TIME-WAIT; and the round-trip times after them.

use super::{Endpoint, Env, Events, State, bit};
use crate::app::End;
use units::Nanos;

/// An instant in steps of 65,536 ns. Wraps after 78 hours; only instants less than 39 hours apart can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tick(pub u32);

/// After this number of consecutive time-outs, the longest payload of segments.
const BLACK_HOLE: [(u8, u16); 2] = [(3, 1_024), (5, 512)];

impl Tick {
    /// Nanoseconds in a step, as a power of two.
    pub const SHIFT: u32 = 16;

    /// The last one not after `instant`.
    #[inline(always)]
    pub const fn before_or_at(instant: Nanos) -> Self {
        Self((instant.0 >> Self::SHIFT) as u32)
    }

    /// The first one not before `instant`.
    #[inline(always)]
    pub const fn at_or_after(instant: Nanos) -> Self {
        Self((instant.0.saturating_add((1 << Self::SHIFT) - 1) >> Self::SHIFT) as u32)
    }

    /// Whether this one comes first.
    #[inline(always)]
    pub const fn before(self, other: Self) -> bool {
        super::sequence::before(self.0, other.0)
    }

    /// Whether this instant has come.
    #[inline(always)]
    pub const fn is_due(self, now: Nanos) -> bool {
        !Self::before_or_at(now).before(self)
    }

    /// The instant, seen from `now`: the one of all that wrap to this that is nearest.
    pub const fn nanos(self, now: Nanos) -> Nanos {
        let ahead = self.0.wrapping_sub((now.0 >> Self::SHIFT) as u32) as i32 as i64;
        let step = (now.0 >> Self::SHIFT) as i64 + ahead;
        Nanos(if step < 0 { 0 } else { (step as u64) << Self::SHIFT })
    }
}

/// An instant less than two seconds away: the lower half of a [`Tick`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShortTick(pub u16);

impl ShortTick {
    /// The first one not before `instant`.
    #[inline(always)]
    pub(super) fn at_or_after(instant: Nanos) -> Self {
        Self(Tick::at_or_after(instant).0 as u16)
    }

    /// The nearest of all instants that it may be.
    #[inline(always)]
    pub(super) fn near(self, now: Nanos) -> Tick {
        let now = Tick::before_or_at(now).0;
        Tick(now.wrapping_add_signed(i32::from(self.0.wrapping_sub(now as u16) as i16)))
    }
}

/// Four times the variation of the round-trip time, 64 ns, right to a two-thousandth: a floating-point number of 12 bits, the
/// first of which is not stored, and 5 of an exponent. Small ones are stored as they are. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Variation(u16);

impl Variation {
    const BITS: u32 = 11;

    /// The smallest one not below `value`: a time-out is never early.
    #[inline(always)]
    pub(super) fn of(value: u32) -> Self {
        let value = value.max(1);
        let Some(shift) = (u32::BITS - value.leading_zeros()).checked_sub(Self::BITS + 1) else {
            return Self(value as u16);
        };
        let above = value & ((1 << shift) - 1) != 0;
        // What is carried goes to the exponent.
        Self((((shift << Self::BITS) + (value >> shift)) as u16).saturating_add(u16::from(above)))
    }

    #[inline(always)]
    pub(super) fn value(self) -> u32 {
        let (exponent, rest) = (u32::from(self.0 >> Self::BITS), u32::from(self.0) & ((1 << Self::BITS) - 1));
        match exponent.checked_sub(1) {
            None => rest,
            Some(shift) => (u64::from(rest | 1 << Self::BITS) << shift).min(u64::from(u32::MAX)) as u32,
        }
    }
}

/// Purpose of the timer; the acknowledgement has a separate one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum TimerKind {
    Off,
    Retransmit,
    Persist,
    KeepAlive,
    FinWait2,
    TimeWait,
    /// The tail is to be probed (RFC 8985 section 7).
    TailProbe,
    /// Missing data are overdue (RFC 8985 section 6.3).
    Reorder,
}

impl TimerKind {
    /// Whether it is for data in flight.
    #[inline(always)]
    pub(super) fn is_for_flight(self) -> bool {
        matches!(self, Self::Retransmit | Self::TailProbe | Self::Reorder)
    }
}

/// Purpose of the timer, and how often its time was doubled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timer(u8);

impl Timer {
    pub(super) const OFF: Self = Self(0);
    const KIND: u8 = 0b111;

    #[inline(always)]
    pub(super) fn kind(self) -> TimerKind {
        match self.0 & Self::KIND {
            1 => TimerKind::Retransmit,
            2 => TimerKind::Persist,
            3 => TimerKind::KeepAlive,
            4 => TimerKind::FinWait2,
            5 => TimerKind::TimeWait,
            6 => TimerKind::TailProbe,
            7 => TimerKind::Reorder,
            _ => TimerKind::Off,
        }
    }

    #[inline(always)]
    pub(super) fn set_kind(&mut self, kind: TimerKind) {
        self.0 = self.0 & !Self::KIND | kind as u8;
    }

    #[inline(always)]
    pub(super) fn stop(&mut self) {
        self.set_kind(TimerKind::Off);
    }

    #[inline(always)]
    pub(super) fn doublings(self) -> u32 {
        u32::from(self.0 >> 3)
    }

    pub(super) fn double(&mut self) {
        if self.doublings() < 31 {
            self.0 += 1 << 3;
        }
    }

    #[inline(always)]
    pub(super) fn forget_doublings(&mut self) {
        self.0 &= Self::KIND;
    }
}

/// Longest round trip that counts, in 64 ns: 8 times it fits 32 bits.
const LONGEST_RTT: u32 = u32::MAX >> 3;
/// RFC 6298 section 5.7: least time-out for data after a SYN was repeated.
pub(super) const AFTER_SYN_TIMEOUT: Nanos = Nanos::from_secs(3);
/// Longest time between two unanswered keep-alives.
const KEEP_ALIVE_INTERVAL: Nanos = Nanos::from_secs(75);

/// In 64 ns, at most what fits.
#[inline(always)]
pub(super) fn coarse(time: Nanos) -> u32 {
    u32::try_from(time.0 >> 6).unwrap_or(u32::MAX)
}

impl Endpoint {
    /// The clock of round-trip times: 64 ns.
    #[inline(always)]
    pub(super) fn clock(&self, env: &Env<'_>) -> u32 {
        (env.now.0 >> 6) as u32
    }

    /// The clock of timestamps (RFC 7323 section 5.4).
    #[inline(always)]
    pub(super) fn timestamp(env: &Env<'_>) -> u32 {
        match env.options.timestamp_step.0 {
            // Unless said otherwise, about a millisecond: no division for every segment.
            0x10_0000 => (env.now.0 >> 20) as u32,
            step => (env.now.0 / step.max(1)) as u32,
        }
    }

    #[inline(always)]
    pub(super) fn start(&mut self, kind: TimerKind, now: Nanos, time: Nanos) {
        self.timer.set_kind(kind);
        self.due = Tick::at_or_after(now.saturating_add(time));
    }

    /// The retransmission time-out (RFC 6298 section 2).
    #[inline(always)]
    pub(super) fn first_time_out(&self, env: &Env<'_>) -> Nanos {
        let measured = u64::from((self.srtt >> 3).saturating_add(self.rttvar.value())) << 6;
        let time = if self.srtt == 0 { measured } else { measured.max(env.options.rto_min.0) };
        Nanos(time.min(env.options.rto_max.0))
    }

    /// The retransmission time-out, doubled as often as it expired (section 5.5).
    #[inline]
    pub(super) fn time_out(&self, env: &Env<'_>) -> Nanos {
        let time = self.first_time_out(env).0.saturating_mul(1 << self.timer.doublings());
        Nanos(time.min(env.options.rto_max.0))
    }

    /// Starts the timer for what is in flight: for what is overdue first, or the tail, or all (RFC 8985 section 7.2).
    #[inline]
    pub(super) fn start_retransmit(&mut self, env: &Env<'_>) {
        if self.is_boxed()
            && let Some(due) = self.overdue_at(env)
        {
            self.timer.set_kind(TimerKind::Reorder);
            self.due = due;
            return;
        }
        let time_out = self.time_out(env);
        match self.probe_after(env, time_out) {
            Some(time) => self.start(TimerKind::TailProbe, env.now, time),
            None => self.start(TimerKind::Retransmit, env.now, time_out),
        }
    }

    /// The same for a first transmission, in the usual case: at most one segment is in flight, and nothing was lost.
    #[inline(always)]
    pub(super) fn start_for_one(&mut self, env: &Env<'_>) {
        if self.is_boxed() || self.flight() > u32::from(self.mss) || self.timer.doublings() > 0 {
            return self.start_retransmit(env);
        }
        self.start(TimerKind::Retransmit, env.now, self.first_time_out(env));
    }

    /// More was sent: the timer that runs for the first segment alone gives way to that of a tail.
    #[inline]
    pub(super) fn note_tail(&mut self, env: &Env<'_>) {
        if self.timer.kind() == TimerKind::Retransmit
            && !self.is_boxed()
            && self.flight() > u32::from(self.mss)
            && let Some(time) = self.probe_after(env, self.time_out(env))
        {
            self.start(TimerKind::TailProbe, env.now, time);
        }
    }

    /// Takes in a round-trip time in 64 ns (RFC 6298 section 2).
    #[inline]
    pub(super) fn measured(&mut self, rtt: u32) {
        let rtt = rtt.clamp(1, LONGEST_RTT);
        if self.srtt == 0 {
            self.srtt = rtt << 3;
            self.rttvar = Variation::of(rtt << 1);
        } else {
            let old = self.srtt >> 3;
            let before = self.rttvar.value();
            self.rttvar = Variation::of((before - (before >> 2)).saturating_add(rtt.abs_diff(old)));
            self.srtt = (self.srtt - old + rtt).max(8);
        }
    }

    /// Measures what is being timed, if `ack` acknowledges it. Segments sent twice are not timed (Karn).
    #[inline]
    pub(super) fn measure(&mut self, env: &mut Env<'_>, ack: u32, echo: Option<u32>) {
        if self.has(bit::TIMING) {
            if super::sequence::before(ack, self.timed_seq(env.busy)) {
                return;
            }
            self.clear(bit::TIMING);
            let rtt = self.clock(env).wrapping_sub(self.timed_at);
            env.counts.rtt.record(u64::from(rtt) << 6);
            self.measured(rtt);
            self.timer.forget_doublings();
        } else if let Some(echo) = echo.filter(|echo| *echo != 0) {
            // RFC 7323 section 4: the echo says which transmission is acknowledged, if coarsely.
            let steps = Self::timestamp(env).wrapping_sub(echo).min(1 << 15);
            let step = coarse(env.options.timestamp_step);
            self.measured(steps.saturating_mul(step).max(step / 2));
            self.timer.forget_doublings();
        }
    }

    /// Does what is due. To be called when the instant of [`Endpoint::deadline`] has come; harmless before.
    ///
    /// Some: the flow is over; see [`Endpoint::on_segment`].
    pub fn on_timer(&mut self, env: &mut Env<'_>, events: &mut impl Events) -> Option<End> {
        if self.has(bit::ACK_LATER) && self.ack_due.near(env.now).is_due(env.now) {
            self.clear(bit::ACK_LATER);
            self.set(bit::ACK_NOW);
        }
        if self.timer.kind() != TimerKind::Off
            && self.due.is_due(env.now)
            && let Some(end) = self.expired(env)
        {
            if end == End::Closed {
                self.deliver_held(env, events);
            }
            return self.over(env, end);
        }
        self.settle(env);
        None
    }

    fn expired(&mut self, env: &mut Env<'_>) -> Option<End> {
        match self.timer.kind() {
            TimerKind::Off => {}
            TimerKind::TimeWait => return Some(End::Closed),
            TimerKind::FinWait2 => return Some(End::IdleTimeout),
            TimerKind::Retransmit => return self.retransmit_expired(env),
            TimerKind::TailProbe => self.probe_expired(env),
            TimerKind::Reorder => self.reorder_expired(env),
            TimerKind::Persist => {
                if self.tried_enough(env.options.data_retries) {
                    return Some(End::Timeout);
                }
                self.set(bit::PROBE);
                self.start(TimerKind::Persist, env.now, self.time_out(env));
            }
            TimerKind::KeepAlive => {
                if self.tried_enough(env.options.data_retries) {
                    return Some(End::Timeout);
                }
                self.set(bit::PROBE);
                let interval = env.options.keep_alive.unwrap_or(KEEP_ALIVE_INTERVAL).min(KEEP_ALIVE_INTERVAL);
                self.start(TimerKind::KeepAlive, env.now, interval);
            }
        }
        None
    }

    fn retransmit_expired(&mut self, env: &mut Env<'_>) -> Option<End> {
        let options = env.options;
        match self.state {
            State::SynSent | State::SynReceived => {
                let limit =
                    if self.state == State::SynSent { options.syn_retries } else { options.syn_ack_retries };
                if self.tried_enough(limit) {
                    return Some(End::SetupTimeout);
                }
                self.set(bit::SYN);
                self.clear(bit::TIMING);
            }
            _ => {
                if self.tried_enough(options.data_retries) {
                    return Some(End::Timeout);
                }
                self.begin_repair(env, true);
                self.suspect_black_hole(env);
            }
        }
        self.start_retransmit(env);
        None
    }

    /// Full segments that time out again and again may be too long for a path whose routers do not report it: shorter
    /// ones are tried (RFC 4821 section 7.7), as Linux does with `tcp_mtu_probing`.
    fn suspect_black_hole(&mut self, env: &mut Env<'_>) {
        if let Some((_, mss)) = BLACK_HOLE.into_iter().find(|(tries, _)| self.retries == *tries)
            && self.flight() >= u32::from(mss)
            && self.mss > mss
        {
            env.counts.black_holes += 1;
            self.path_mtu(env, mss);
        }
    }

    /// Counts one more try; returns whether there were enough.
    fn tried_enough(&mut self, limit: u8) -> bool {
        if self.retries >= limit {
            return true;
        }
        self.retries += 1;
        self.timer.double();
        false
    }

    /// Nothing is in flight: probe a closed window, or watch a silent peer, or no timer at all.
    #[inline]
    pub(super) fn settle_quiet(&mut self, env: &Env<'_>) {
        if !self.state.sends() {
            return;
        }
        let kind = self.timer.kind();
        if self.unsent() > 0 && !self.has(bit::READY) {
            // RFC 9293 section 3.8.6.1.
            if kind != TimerKind::Persist {
                self.retries = 0;
                self.timer.forget_doublings();
                self.start(TimerKind::Persist, env.now, self.time_out(env));
            }
        } else if kind == TimerKind::Persist {
            self.clear(bit::PROBE);
            self.timer = Timer::OFF;
        } else if let Some(silence) = env.options.keep_alive
            && kind == TimerKind::Off
        {
            self.start(TimerKind::KeepAlive, env.now, silence);
        }
    }

    /// Something came from the peer: it is there.
    #[inline]
    pub(super) fn heard(&mut self, env: &Env<'_>) {
        match self.timer.kind() {
            TimerKind::KeepAlive => {
                self.retries = 0;
                self.timer.forget_doublings();
                self.clear(bit::PROBE);
                self.start(
                    TimerKind::KeepAlive,
                    env.now,
                    env.options.keep_alive.unwrap_or(KEEP_ALIVE_INTERVAL),
                );
            }
            TimerKind::FinWait2 => self.start(TimerKind::FinWait2, env.now, env.options.fin_timeout),
            // RFC 9293 section 3.8.6.1: a closed window may stay closed as long as probes are answered.
            TimerKind::Persist => self.retries = 0,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_never_early_and_wrap() {
        let step = 1 << Tick::SHIFT;
        assert_eq!((Tick::at_or_after(Nanos(step)), Tick::at_or_after(Nanos(step + 1))), (Tick(1), Tick(2)));
        assert_eq!(Tick::before_or_at(Nanos(2 * step - 1)), Tick(1));
        assert!(Tick(2).is_due(Nanos(2 * step)) && !Tick(2).is_due(Nanos(2 * step - 1)));
        assert!(Tick(u32::MAX).before(Tick(3)));
        // Seen from either side of the wrap it is the same instant.
        let late = Nanos(step << 32);
        for now in [Nanos(late.0 - 5 * step), late, Nanos(late.0 + 5 * step)] {
            assert_eq!(Tick::at_or_after(Nanos(late.0 + step)).nanos(now), Nanos(late.0 + step));
        }
    }

    #[test]
    fn short_ticks_are_found_again_from_near() {
        for at in [0, 5, 0x7fff, 0x8000, 0xffff, 0x1_0000, u64::from(u32::MAX), 1 << 32] {
            let instant = Nanos(at << Tick::SHIFT);
            for away in [Nanos::ZERO, Nanos(1), Nanos::from_secs(1), crate::options::ACK_DELAY_MAX] {
                let before = Nanos(instant.0.saturating_sub(away.0));
                for now in [before, instant.saturating_add(away)] {
                    assert_eq!(ShortTick::at_or_after(instant).near(now), Tick(at as u32), "{at} {away}");
                }
            }
        }
    }

    #[test]
    fn variations_are_right_to_a_two_thousandth() {
        for bit in 0..32 {
            for value in [1 << bit, (1 << bit) + 1, (1u32 << bit).saturating_mul(3), u32::MAX >> bit] {
                let kept = Variation::of(value).value();
                assert!(kept >= value && kept - value <= value / 2_000, "{value} {kept}");
                assert_eq!(Variation::of(kept).value(), kept);
            }
        }
        assert_eq!(Variation::of(0).value(), 1);
    }

    #[test]
    fn kinds_and_doublings_are_apart() {
        let mut timer = Timer::OFF;
        for kind in [
            TimerKind::Retransmit,
            TimerKind::Persist,
            TimerKind::KeepAlive,
            TimerKind::FinWait2,
            TimerKind::TimeWait,
            TimerKind::TailProbe,
            TimerKind::Reorder,
            TimerKind::Off,
        ] {
            timer.set_kind(kind);
            timer.double();
            assert_eq!(timer.kind(), kind);
        }
        assert_eq!(timer.doublings(), 8);
        (0..40).for_each(|_| timer.double());
        assert_eq!((timer.doublings(), timer.kind()), (31, TimerKind::Off));
        timer.forget_doublings();
        assert_eq!(timer, Timer::OFF);
    }
}
