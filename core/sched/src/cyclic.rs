//! Departures that repeat: [`Pace::OnOff`], [`Pace::Bursts`] and [`Pace::Trace`].
//!
//! [`Pace::OnOff`]: crate::Pace::OnOff
//! [`Pace::Bursts`]: crate::Pace::Bursts
//! [`Pace::Trace`]: crate::Pace::Trace

use crate::exact::{GAP_SCALE, Ticks};
use std::sync::Arc;
use units::{Nanos, Pps};

/// Packets of a burst without a rate that one worker sends in a row: as many as a port takes at once.
pub(crate) const CHUNK: u32 = 64;

/// Evenly spaced events at the beginning of every period.
#[derive(Debug, Clone)]
pub(crate) struct Cycle {
    ticks: Ticks,
    /// Events in a period; with none there are none at all.
    events: u64,
    period: u64,
    place: u64,
    /// Start of the current period.
    base: u64,
}

/// Time a rate leaves between packets, ns: as a fraction.
fn gap(rate: Pps) -> (u128, u128) {
    (GAP_SCALE, u128::from(rate.micro().max(1)))
}

/// From one burst's start to the next one's.
pub(crate) fn burst_period(packets: u32, rate: Option<Pps>, every: Nanos) -> u64 {
    let every = every.0.max(1);
    let Some(rate) = rate else { return every };
    let (num, den) = gap(rate);
    let packets = u128::from(packets);
    let last = packets.saturating_sub(1) * num / den;
    if last < u128::from(every) { every } else { crate::exact::narrow((packets * num).div_ceil(den)) }
}

/// From one round's begin to the next one's.
pub(crate) fn trace_period(times: &[Nanos], period: Nanos) -> u64 {
    times.last().map_or(0, |last| last.0).max(period.0).max(1)
}

/// End of the period of event `events - 1`, of `each` in a period; `u64::MAX` if there is no such event.
fn behind(events: u64, each: u64, period: u64) -> u64 {
    match each {
        0 => u64::MAX,
        each => events.div_ceil(each).saturating_mul(period),
    }
}

impl Cycle {
    pub(crate) fn on_off(rate: Pps, on: Nanos, off: Nanos) -> Self {
        let (num, den) = gap(rate);
        let ticks = Ticks::new(num, den);
        let events = ticks.before(on.0);
        Self { ticks, events, period: on.0.saturating_add(off.0), place: 0, base: 0 }
    }

    pub(crate) fn bursts(packets: u32, rate: Option<Pps>, every: Nanos) -> Self {
        let (num, den) = rate.map_or((0, 1), gap);
        let events = if rate.is_some() { packets } else { packets.div_ceil(CHUNK) };
        let period = burst_period(packets, rate, every);
        Self { ticks: Ticks::new(num, den), events: events.into(), period, place: 0, base: 0 }
    }

    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        if self.events == 0 { u64::MAX } else { self.base.saturating_add(self.ticks.time()) }
    }

    #[inline]
    pub(crate) fn jump(&mut self, by: u64) {
        if self.events == 0 {
            return;
        }
        self.place = self.place.saturating_add(by);
        if self.place < self.events {
            self.ticks.jump(by);
            return;
        }
        let periods = self.place / self.events;
        self.place %= self.events;
        self.base = self.base.saturating_add(periods.saturating_mul(self.period));
        self.ticks.set(self.place);
    }

    /// Events before `span`.
    pub(crate) fn before(&self, span: u64) -> u64 {
        if self.events == 0 {
            return 0;
        }
        let here = self.ticks.before(span % self.period).min(self.events);
        (span / self.period).saturating_mul(self.events).saturating_add(here)
    }

    /// One gap inside a period after event `events - 1`.
    pub(crate) fn gap_behind(&self, events: u64) -> u64 {
        let Some(last) = events.checked_sub(1).filter(|_| self.events > 0) else { return u64::MAX };
        let base = (last / self.events).saturating_mul(self.period);
        base.saturating_add(self.ticks.at(last % self.events + 1))
    }

    /// End of the period of event `events - 1`.
    pub(crate) fn period_behind(&self, events: u64) -> u64 {
        behind(events, self.events, self.period)
    }
}

/// Events at given times.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    times: Arc<[Nanos]>,
    period: u64,
    place: u64,
    base: u64,
}

impl Trace {
    pub(crate) fn new(times: &Arc<[Nanos]>, period: Nanos) -> Self {
        Self { times: times.clone(), period: trace_period(times, period), place: 0, base: 0 }
    }

    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        self.times.get(self.place as usize).map_or(u64::MAX, |time| self.base.saturating_add(time.0))
    }

    #[inline]
    pub(crate) fn jump(&mut self, by: u64) {
        let len = self.times.len() as u64;
        self.place = self.place.saturating_add(by);
        if self.place >= len && len > 0 {
            self.base = self.base.saturating_add((self.place / len).saturating_mul(self.period));
            self.place %= len;
        }
    }

    /// Events before `span`.
    pub(crate) fn before(&self, span: u64) -> u64 {
        let (rounds, rest, len) = (span / self.period, span % self.period, self.times.len() as u64);
        let until = |time: u64| self.times.partition_point(|t| t.0 < time) as u64;
        // The last of a round may be due together with the first of the next.
        let still = if rounds > 0 { len - until(self.period.saturating_add(rest)) } else { 0 };
        rounds.saturating_mul(len).saturating_add(until(rest)) - still
    }

    /// End of the round of event `events - 1`.
    pub(crate) fn period_behind(&self, events: u64) -> u64 {
        behind(events, self.times.len() as u64, self.period)
    }
}
