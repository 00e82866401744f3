//! When sessions are opened.
//!
//! Session `n` (from 0) is due at the last nanosecond at which the area under the rate curve is not more than `n`, as
//! packets of a stream are: exact integers decide, and the number due by an instant does not depend on how often it is
//! polled. A late caller gets all that are due. Of several workers, worker `k` of `W` opens the sessions `k`, `k + W`,
//! …: together they open what one would.

use crate::plan::{LoadPlan, OpenRate, RateCurve};
use crate::scale::{Scale, Warp};
use crate::vary::Delay;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Nanos, Pps};

/// Area of one session: 10^-6 sessions per second times a nanosecond, halves of it.
const SESSION: u128 = 2_000_000_000_000_000;
/// Delay of a poll from which on an opener was late.
const LATE: Nanos = Nanos::from_millis(1);
/// From when sessions began that all failed to when others take their place: at first, doubled each time, and at most.
const RETRY_FIRST: Nanos = Nanos::from_millis(10);
const RETRY_MAX: Nanos = Nanos::from_secs(1);

/// The sessions to open now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Number of the first.
    pub first: u64,
    /// From one number to the next.
    pub step: u64,
    /// Number of them.
    pub count: u64,
}

impl Opening {
    /// Their numbers.
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |index| self.first + index * self.step)
    }
}

/// Opens one worker's share of the sessions of one entry.
#[derive(Debug)]
pub struct Opener {
    rate: Rate,
    worker: u64,
    workers: u64,
    start_delay: Nanos,
    /// Of all workers.
    concurrent: Option<u64>,
    /// From the time since `start_delay` to that of the rate.
    warp: Warp,
    /// Time of the last poll.
    asked: Nanos,
    count: Option<u64>,
    time: Nanos,
    down: Delay,
    /// Turns that are over: opened or withheld.
    turns: u64,
    /// When the next turn comes, as far as it is known: not later.
    next: Nanos,
    opened: u64,
    ended: u64,
    /// When places of sessions that are over are free again.
    down_until: BinaryHeap<Reverse<u64>>,
    retries: Retries,
    stopped: bool,
    totals: OpenerTotals,
}

/// Pauses of an entry without a rate and without a number of sessions, while all of them fail. Otherwise a server that is
/// down gets as many requests for connections as the machine can send.
#[derive(Debug, Default)]
struct Retries {
    /// Progress at the last look.
    progress: u64,
    /// Sessions that failed since the last pause.
    failed: u64,
    /// Pauses since there was progress.
    pauses: u32,
    /// When the sessions began that were opened after the last pause.
    begun: Nanos,
    /// Nothing is opened before.
    until: Nanos,
}

impl Retries {
    /// Of `round` sessions and more that ended by `now`, none has made progress: others begin after a pause.
    fn pause(&mut self, now: Nanos) {
        let wait = RETRY_FIRST.0.checked_shl(self.pauses).unwrap_or(u64::MAX);
        self.until = self.begun.saturating_add(Nanos(wait).min(RETRY_MAX));
        self.begun = self.until.max(now);
        self.pauses = (self.pauses + 1).min(RETRY_PAUSES_MAX);
        self.failed = 0;
    }
}

/// Pauses after which they do not get longer.
const RETRY_PAUSES_MAX: u32 = 10;

/// Totals of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenerTotals {
    /// Sessions that were due.
    pub due: u64,
    /// Sessions that were opened, or at least tried.
    pub opened: u64,
    /// Sessions that were due and not opened because there were as many as there may be.
    pub withheld: u64,
    /// Sessions that were opened more than a millisecond after they were due.
    pub late: u64,
    /// The longest time from due to opened.
    pub late_max: Nanos,
}

impl OpenerTotals {
    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        self.due += other.due;
        self.opened += other.opened;
        self.withheld += other.withheld;
        self.late += other.late;
        self.late_max = self.late_max.max(other.late_max);
    }
}

/// Worker `k`'s number of `all`: 0 and every `workers`-th from `worker` on.
fn share(all: u64, worker: u64, workers: u64) -> u64 {
    (all + workers - 1 - worker) / workers
}

impl Opener {
    /// For worker `worker` of `workers`.
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn new(plan: &LoadPlan, worker: u64, workers: u64) -> Self {
        assert!(worker < workers, "worker {worker} of {workers}");
        let mine = |all| share(all, worker, workers);
        let rate = Rate::new(&plan.open);
        let concurrent = match (plan.concurrent, &rate) {
            (None, Rate::Max) => Some(plan.count.unwrap_or(u64::MAX).min(LoadPlan::MAX_CONCURRENT)),
            (concurrent, _) => concurrent,
        };
        Self {
            rate,
            worker,
            workers,
            start_delay: plan.start_delay,
            concurrent,
            warp: Warp::default(),
            asked: Nanos::ZERO,
            count: plan.count.map(mine),
            time: plan.time.unwrap_or(Nanos::MAX),
            down: plan.down,
            turns: 0,
            next: Nanos::ZERO,
            opened: 0,
            ended: 0,
            down_until: BinaryHeap::new(),
            retries: Retries::default(),
            stopped: false,
            totals: OpenerTotals::default(),
        }
    }

    /// The sessions to open at `now`, counted from the start of traffic, if there are `active` of this worker's.
    /// They count as opened. No more than `most` are returned at a time; the others stay due.
    pub fn poll(&mut self, now: Nanos, active: u64, most: u64) -> Opening {
        let left = self.count.map_or(u64::MAX, |all| all - self.opened.min(all));
        self.asked = now;
        if self.stopped || left == 0 {
            return self.none();
        }
        if matches!(self.rate, Rate::Max) {
            let open =
                now >= self.start_delay.max(self.retries.until) && now.since(self.start_delay) < self.time;
            let count = if open { self.free(now, active).min(left).min(most) } else { 0 };
            self.totals.due += count;
            return self.take(count);
        }
        // Asked far more often than there is something to open.
        if now < self.next {
            return self.none();
        }
        let free = self.free(now, active);
        let turns = self.due(now).saturating_sub(self.turns).min(left).min(most);
        let count = turns.min(free);
        self.totals.due += turns;
        self.totals.withheld += turns - count;
        if count > 0 {
            self.lateness(now, count);
        }
        let opening = self.take(count);
        // Turns that were withheld are over; those opened were the first.
        self.turns += turns - count;
        self.next = self.next_turn();
        opening
    }

    /// Nothing to open.
    pub fn none(&self) -> Opening {
        Opening { first: 0, step: self.workers, count: 0 }
    }

    /// Whether there is a rate.
    pub fn has_rate(&self) -> bool {
        !matches!(self.rate, Rate::Max)
    }

    /// When the next turn comes by the rate.
    fn next_turn(&self) -> Nanos {
        self.turn_at(self.turns)
    }

    /// When a turn of this worker comes.
    fn turn_at(&self, turn: u64) -> Nanos {
        let own = self.rate.when(self.worker + turn * self.workers);
        self.start_delay.saturating_add(self.warp.when(own))
    }

    /// Scales the rate relative to the plan, from `at` on, or without a rate the number of concurrent sessions. Zero
    /// opens nothing.
    pub fn scale(&mut self, at: Nanos, scale: Scale) {
        self.warp.change(at.since(self.start_delay), scale);
        self.next = self.next_turn();
    }

    fn take(&mut self, count: u64) -> Opening {
        let first = self.worker + self.turns * self.workers;
        self.turns += count;
        self.opened += count;
        self.totals.opened += count;
        Opening { first, step: self.workers, count }
    }

    /// Sessions of this worker due by `now`.
    fn due(&self, now: Nanos) -> u64 {
        if now < self.start_delay {
            return 0;
        }
        let elapsed = now.since(self.start_delay).min(Nanos(self.time.0.saturating_sub(1)));
        if self.time == Nanos::ZERO {
            return 0;
        }
        share(self.rate.due(self.warp.own(elapsed)), self.worker, self.workers)
    }

    /// Sessions of this worker that there may be at a time.
    fn ceiling(&self, now: Nanos) -> Option<u64> {
        let all = match self.rate {
            Rate::Max => self.warp.scale(now.since(self.start_delay)).of(self.concurrent?),
            Rate::Lines(_) => self.concurrent?,
        };
        Some(share(all, self.worker, self.workers))
    }

    /// Places that are free.
    fn free(&mut self, now: Nanos, active: u64) -> u64 {
        while self.down_until.peek().is_some_and(|Reverse(at)| *at <= now.0) {
            self.down_until.pop();
        }
        let Some(all) = self.ceiling(now) else { return u64::MAX };
        all.saturating_sub(active).saturating_sub(self.down_until.len() as u64)
    }

    fn lateness(&mut self, now: Nanos, count: u64) {
        let late = |turn: u64, opener: &Self| now.since(opener.turn_at(turn));
        let worst = late(self.turns, self);
        self.totals.late_max = self.totals.late_max.max(worst);
        if worst <= LATE {
            return;
        }
        // They get less late from one to the next.
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if late(self.turns + middle, self) > LATE { low = middle + 1 } else { high = middle }
        }
        self.totals.late += low;
    }

    /// Sessions of this entry and worker ended: their places are free after the plan's down time.
    pub fn ended(&mut self, now: Nanos, count: u64) {
        if self.down == Delay::NONE || self.concurrent.is_none() {
            return;
        }
        for _ in 0..count {
            let time = self.down.value(self.worker + self.ended * self.workers, 0);
            self.down_until.push(Reverse(now.saturating_add(time).0));
            self.ended += 1;
        }
    }

    /// Sessions of this entry and worker ended. `progress` grows when one completes or receives anything: while it
    /// does not, and sessions take each other's places as fast as they can, each round of them waits, longer than the one
    /// before.
    pub fn tried(&mut self, now: Nanos, ended: u64, progress: u64) {
        if self.has_rate() || self.count.is_some() {
            return;
        }
        if progress > self.retries.progress {
            self.retries = Retries { progress, begun: now, ..Retries::default() };
            return;
        }
        // Sessions that were opened before the pause may end in it.
        if now < self.retries.until {
            return;
        }
        self.retries.failed += ended;
        let round = self.ceiling(now).unwrap_or(LoadPlan::MAX_CONCURRENT).max(1);
        if self.retries.failed >= round {
            self.retries.pause(now);
        }
    }

    /// When [`Opener::poll`] has something to open next, as far as time alone decides: sessions that end may change it.
    /// [`Nanos::MAX`] if never.
    pub fn deadline(&self, active: u64) -> Nanos {
        if self.stopped || self.count.is_some_and(|all| self.opened >= all) {
            return Nanos::MAX;
        }
        let waiting = self.down_until.peek().map_or(Nanos::MAX, |Reverse(at)| Nanos(*at));
        let down = self.down_until.len() as u64;
        let full = self.ceiling(self.asked).is_some_and(|all| active.saturating_add(down) >= all);
        let change = self.warp.next_change(self.asked.since(self.start_delay));
        let at = match self.rate {
            Rate::Max if full => waiting.min(self.start_delay.saturating_add(change)).max(self.retries.until),
            Rate::Max => self.start_delay.max(self.retries.until),
            _ => self.next_turn(),
        };
        let end = self.start_delay.saturating_add(self.time);
        if at >= end { Nanos::MAX } else { at }
    }

    /// Sessions that were due by `now` and neither opened nor withheld yet. None if they are opened as fast as can be:
    /// nothing is due then.
    pub fn missed(&self, now: Nanos) -> u64 {
        let left = self.count.map_or(u64::MAX, |all| all.saturating_sub(self.opened));
        if matches!(self.rate, Rate::Max) { 0 } else { self.due(now).saturating_sub(self.turns).min(left) }
    }

    /// Opens nothing more: the run is over.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Opens nothing more, and nothing is due from `now` on: a limit is reached.
    pub fn stop_at(&mut self, now: Nanos) {
        if !self.stopped {
            self.stopped = true;
            self.time = self.time.min(now.since(self.start_delay));
        }
    }

    /// Whether nothing more will be opened in any case.
    pub fn is_done(&self, now: Nanos) -> bool {
        let over = now >= self.start_delay.saturating_add(self.time) && self.due(now) <= self.turns;
        self.stopped || over || self.count.is_some_and(|all| self.opened >= all)
    }

    /// Totals of the load so far.
    pub fn totals(&self) -> OpenerTotals {
        self.totals
    }
}

/// A rate, and what is due by it.
#[derive(Debug)]
enum Rate {
    Max,
    Lines(Vec<Line>),
}

/// A part of a curve.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// When it begins, and the area before.
    start: u64,
    before: u128,
    /// Its length; `u64::MAX` if it does not end.
    span: u64,
    /// Rates at its ends, 10^-6 per second.
    from: u64,
    to: u64,
}

/// Rates beyond this (10^9 sessions a second) and spans beyond this (3 years) are taken for this: their product fits.
const RATE_MAX: u64 = 1_000_000_000_000_000;
const SPAN_MAX: u64 = 100_000_000_000_000_000;

impl Rate {
    fn new(open: &OpenRate) -> Self {
        match open {
            OpenRate::Max => Self::Max,
            OpenRate::Constant(rate) => Self::Lines(vec![Line::endless(0, 0, *rate)]),
            OpenRate::Curve(curve) => Self::Lines(lines(curve)),
        }
    }

    /// Sessions due by `at`, all workers together: one more than whole ones under the curve, unless the rate is zero.
    fn due(&self, at: Nanos) -> u64 {
        let Self::Lines(lines) = self else { return 0 };
        let area = area(lines, at.0.saturating_add(1));
        area.div_ceil(SESSION).min(u128::from(u64::MAX)) as u64
    }

    /// When session `number` is due; [`Nanos::MAX`] if never.
    fn when(&self, number: u64) -> Nanos {
        let Self::Lines(lines) = self else { return Nanos::ZERO };
        let goal = SESSION * u128::from(number);
        let past = |line: &&Line| line.before <= goal;
        // The last line that begins before the session is due; lines without a rate add nothing.
        let mut at = lines.iter().take_while(past).count();
        while at > 0 {
            let line = &lines[at - 1];
            if line.area(line.span) > goal - line.before || at == lines.len() {
                return line.when(goal - line.before);
            }
            at += 1;
        }
        Nanos::MAX
    }
}

impl Line {
    fn endless(start: u64, before: u128, rate: Pps) -> Self {
        let rate = rate.micro().min(RATE_MAX);
        Self { start, before, span: u64::MAX, from: rate, to: rate }
    }

    /// Twice the area until `t` after its start, rounded up.
    fn area(&self, t: u64) -> u128 {
        let t = t.min(self.span);
        let (from, to, t, span) =
            (u128::from(self.from), u128::from(self.to), u128::from(t), u128::from(self.span));
        if from == to {
            return 2 * from * t;
        }
        // 2·from·t + (to − from)·t²/span. Rates below 2^50 and spans below 2^57 leave no room for t² at once.
        let weighed = from * (2 * span - t) + to * t;
        let (whole, rest) = (weighed / span, weighed % span);
        whole * t + (rest * t).div_ceil(span)
    }

    /// The last instant at which the area is not more than `goal`.
    fn when(&self, goal: u128) -> Nanos {
        let (mut low, mut high) = (0, self.span);
        if self.from == self.to {
            if self.from == 0 {
                return Nanos::MAX;
            }
            let at = (goal / (2 * u128::from(self.from))).min(u128::from(self.span)) as u64;
            return Nanos(self.start.saturating_add(at));
        }
        if self.area(high) <= goal {
            return Nanos::MAX;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.area(middle) <= goal { low = middle } else { high = middle }
        }
        Nanos(self.start.saturating_add(low))
    }
}

fn lines(curve: &RateCurve) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut start, mut before) = (0, 0);
    let first = curve.points.first().copied().unwrap_or((Nanos::ZERO, Pps::ZERO));
    let points = std::iter::once((Nanos::ZERO, first.1)).chain(curve.points.iter().copied());
    let mut last = (Nanos::ZERO, first.1);
    for (at, rate) in points {
        let span = at.since(last.0).0.min(SPAN_MAX);
        if span > 0 {
            let micro = |rate: Pps| rate.micro().min(RATE_MAX);
            let line = Line { start, before, span, from: micro(last.1), to: micro(rate) };
            before += line.area(span);
            start += span;
            lines.push(line);
        }
        last = (at, rate);
    }
    lines.push(Line::endless(start, before, last.1));
    lines
}

/// The area until `t`.
fn area(lines: &[Line], t: u64) -> u128 {
    let after = lines.partition_point(|line| line.start < t);
    let Some(line) = lines.get(after.saturating_sub(1)) else { return 0 };
    line.before.saturating_add(line.area(t.saturating_sub(line.start)))
}

#[cfg(test)]
mod tests;
