//! Departures of flows that overlap: [`Pace::Flows`].
//!
//! Flow *f* begins *f* periods after the stream, and its packet *k* follows it by the offset of *k*: a period times `q`, and
//! a rest. So in every period there is one packet of each offset, in the order of their rests, and the one of *k* is of the
//! flow that began `q` periods before; it is missing if there was none, or none any more. Counting those that are not
//! missing numbers all departures in the order of time. A loop begins when the one before is over, so its departures follow.
//!
//! [`Pace::Flows`]: crate::Pace::Flows

use crate::exact::{GAP_SCALE, mul_div, mul_div_ceil, narrow};
use crate::{FlowLoops, FlowTurns};
use std::sync::Arc;
use units::{Nanos, Pps};

/// A packet of every flow, by its position in a period.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Which of a flow's packets.
    packet: u32,
    /// Periods from its flow's begin to the period it is in.
    behind: u64,
    /// From the period's begin: whole nanoseconds, and a part of one in units of 1/den.
    rest: u64,
    part: u64,
}

/// Precomputed values.
#[derive(Debug)]
struct Shape {
    /// A period is num/den ns; den is 0 if no flow ever begins.
    num: u128,
    den: u64,
    /// Flows of a loop.
    flows: u64,
    loops: FlowLoops,
    /// Which of them depart.
    take: FlowTurns,
    /// In the order of time.
    places: Vec<Place>,
    /// `behind` of all places in ascending order, and the sum of those before each.
    sorted: Vec<u64>,
    sums: Vec<u128>,
    offsets: Arc<[Nanos]>,
}

/// The departures of flows; one is the current.
#[derive(Debug, Clone)]
pub(crate) struct FlowTrain {
    shape: Arc<Shape>,
    /// The current event: its loop, when that begins, and its number in it.
    round: u64,
    begin: u64,
    event: u64,
    /// The current period of the loop and place in it.
    period: u64,
    place: usize,
    /// When the period begins: ns, and a part of one in units of 1/den.
    base: u64,
    part: u64,
}

impl Shape {
    fn new(
        offsets: &Arc<[Nanos]>,
        rate: Pps,
        flows: Option<u64>,
        (loops, take): (FlowLoops, FlowTurns),
    ) -> Self {
        let den = if offsets.is_empty() || flows == Some(0) { 0 } else { rate.micro() };
        let whole_den = u128::from(den.max(1));
        let place = |(packet, offset): (u32, &Nanos)| {
            let ticks = u128::from(offset.0) * whole_den;
            let rest = ticks % GAP_SCALE;
            Place {
                packet,
                behind: narrow(ticks / GAP_SCALE),
                rest: narrow(rest / whole_den),
                part: (rest % whole_den) as u64,
            }
        };
        let mut places: Vec<Place> = (0..).zip(offsets.iter()).map(place).collect();
        places.sort_by_key(|place| (place.rest, place.part, place.packet));
        let mut sorted: Vec<u64> = places.iter().map(|place| place.behind).collect();
        sorted.sort_unstable();
        let sums = sorted.iter().scan(0, |sum, behind| {
            let before = *sum;
            *sum += u128::from(*behind);
            Some(before)
        });
        let mut sums: Vec<u128> = sums.collect();
        sums.push(sorted.iter().map(|behind| u128::from(*behind)).sum());
        // Flows without end are not followed by a loop.
        let loops = if flows.is_some() { loops } else { FlowLoops::ONCE };
        let flows = flows.unwrap_or(u64::MAX);
        Self { num: GAP_SCALE, den, flows, loops, take, places, sorted, sums, offsets: offsets.clone() }
    }

    /// Events of a loop before `period`.
    fn until(&self, period: u64) -> u128 {
        if self.take != FlowTurns::ALL {
            let begun = |behind: &u64| self.take.taken(period.saturating_sub(*behind).min(self.flows));
            return self.sorted.iter().map(|behind| u128::from(begun(behind))).sum();
        }
        let begun = self.sorted.partition_point(|behind| *behind < period);
        let over = self.sorted.partition_point(|behind| behind.saturating_add(self.flows) < period);
        let sum = |count: usize, from: u64| u128::from(from) * count as u128 - self.sums[count];
        sum(begun, period) - if over > 0 { sum(over, period - self.flows) } else { 0 }
    }

    fn exists(&self, period: u64, place: usize) -> bool {
        let behind = self.places[place].behind;
        period >= behind && period - behind < self.flows && self.take.take(period - behind)
    }

    /// Events of a loop.
    fn events(&self) -> u64 {
        match self.den {
            0 => 0,
            _ => self.take.taken(self.flows).saturating_mul(self.places.len() as u64),
        }
    }
}

impl FlowTrain {
    pub(crate) fn new(
        offsets: &Arc<[Nanos]>,
        rate: Pps,
        flows: Option<u64>,
        which: (FlowLoops, FlowTurns),
    ) -> Self {
        let shape = Arc::new(Shape::new(offsets, rate, flows, which));
        let mut train = Self { shape, round: 0, begin: 0, event: 0, period: 0, place: 0, base: 0, part: 0 };
        train.set(0, 0);
        train
    }

    /// When the current event is due, ns from the stream's start; `u64::MAX` if there is none.
    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        let Some(place) = self.shape.places.get(self.place).filter(|_| self.period != u64::MAX) else {
            return u64::MAX;
        };
        let carry = u64::from(u128::from(self.part) + u128::from(place.part) >= u128::from(self.shape.den));
        self.begin.saturating_add(self.base).saturating_add(place.rest).saturating_add(carry)
    }

    /// The current event's packet among the packets of a loop's flows, flow by flow.
    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        let Some(place) = self.shape.places.get(self.place) else { return 0 };
        let flow = self.period.saturating_sub(place.behind);
        flow.wrapping_mul(self.shape.places.len() as u64).wrapping_add(place.packet.into())
    }

    /// Goes `by` events on.
    #[inline]
    pub(crate) fn jump(&mut self, by: u64) {
        let to = self.event.saturating_add(by);
        let places = self.shape.places.len();
        // Beyond two periods finding the place costs less than going there.
        let mut steps = 2 * places;
        while self.event < to && steps > 0 && self.period != u64::MAX {
            self.place += 1;
            if self.place == places {
                (self.place, self.period) = (0, self.period + 1);
                self.begin_period();
            }
            self.event += u64::from(self.shape.exists(self.period, self.place));
            steps -= 1;
        }
        if self.event < to || self.event >= self.shape.events() {
            self.set(self.round, to);
        }
    }

    /// Makes event `index`, counted from the first of loop `round`, the current one.
    fn set(&mut self, round: u64, index: u64) {
        let events = self.shape.events().max(1);
        (self.round, self.event) = (round.saturating_add(index / events), index % events);
        self.begin = self.round.saturating_mul(self.shape.loops.period.0);
        let index = self.event;
        if self.round >= self.shape.loops.times || self.shape.events() == 0 {
            (self.period, self.place) = (u64::MAX, 0);
            return;
        }
        let each = self.shape.places.len() as u64;
        let last = self.shape.sorted.last().copied().unwrap_or(0);
        let mut low = 0;
        // The period of the event is below this one.
        let take = self.shape.take;
        let groups = take.round.saturating_mul(take.each).max(1);
        // At least one flow of every round departs.
        let begun = (index / each + 1).saturating_mul(groups);
        let mut high = last.saturating_add(self.shape.flows.min(begun)).saturating_add(1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.shape.until(middle) <= index.into() { low = middle } else { high = middle }
        }
        (self.period, self.place) = (low, 0);
        let mut before = narrow(u128::from(index) - self.shape.until(low));
        while self.place < self.shape.places.len() {
            if self.shape.exists(low, self.place) {
                if before == 0 {
                    break;
                }
                before -= 1;
            }
            self.place += 1;
        }
        let (base, part) = mul_div(self.shape.num, low.into(), self.shape.den.into());
        (self.base, self.part) = (narrow(base), part as u64);
    }

    /// Continues with the start of the next period.
    #[inline]
    fn begin_period(&mut self) {
        let den = u128::from(self.shape.den);
        self.base = self.base.saturating_add(narrow(self.shape.num / den));
        let part = u128::from(self.part) + self.shape.num % den;
        self.base = self.base.saturating_add(u64::from(part >= den));
        self.part = (part % den) as u64;
    }

    /// Events before `span` ns.
    pub(crate) fn before(&self, span: u64) -> u64 {
        let shape = &*self.shape;
        if shape.den == 0 {
            return 0;
        }
        let rounds = (span / shape.loops.period.0.max(1)).min(shape.loops.times.saturating_sub(1));
        let span = span - rounds * shape.loops.period.0;
        let begun = |offset: &Nanos| match span.checked_sub(offset.0) {
            Some(rest) => {
                let begun = mul_div_ceil(rest.into(), shape.den.into(), shape.num).min(shape.flows.into());
                shape.take.taken(narrow(begun)).into()
            }
            None => 0,
        };
        let of_round = narrow(shape.offsets.iter().map(begun).fold(0, u128::saturating_add));
        rounds.saturating_mul(shape.events()).saturating_add(of_round)
    }
}
