//! The departures of one stream, numbered, in the stream's own time.
//!
//! An *event* is what leaves at once and by one worker: a packet, a group, or a chunk of a burst.

use crate::curve::{Curve, Shape};
use crate::cyclic::{CHUNK, Cycle, Trace};
use crate::exact::{GAP_SCALE, Ticks};
use crate::flows::FlowTrain;
use crate::load::{CurvePoint, CurveShape, Pace, StreamLoad};
use crate::random::{Gaps, Poisson};
use std::collections::HashMap;
use std::sync::Arc;

/// Curves made so far: streams of one list of points share what is computed from it. The list is kept, so that its place
/// in memory stays its own.
pub(crate) type Curves = HashMap<(usize, usize, CurveShape, bool), (Arc<[CurvePoint]>, Arc<Shape>)>;

/// When the events of a stream are due. One is the current.
#[derive(Debug, Clone)]
pub(crate) enum Train {
    Even(Ticks),
    Poisson(Poisson),
    Gaps(Gaps),
    Curve(Curve),
    OnOff(Cycle),
    Bursts(Cycle),
    Trace(Trace),
    Flows(FlowTrain),
}

/// Which packets an event has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Events {
    /// This many each.
    Groups(u32),
    /// Bursts of this many, in chunks.
    Chunks(u32),
}

impl Train {
    /// The departures of `load`, of which there are `total`, and the packets of each.
    pub(crate) fn new(load: &StreamLoad, total: u64, curves: &mut Curves) -> (Self, Events) {
        let group = load.group.max(1);
        let one = Events::Groups(1);
        match &load.pace {
            Pace::Even(rate) => {
                let ticks = Ticks::new(GAP_SCALE * u128::from(group), rate.micro().max(1).into());
                (Train::Even(ticks), Events::Groups(group))
            }
            Pace::Poisson { rate, seed } => {
                (Train::Poisson(Poisson::new(*rate, group, *seed)), Events::Groups(group))
            }
            Pace::Gaps { gaps, order } => (Train::Gaps(Gaps::new(gaps, *order)), one),
            Pace::Curve { points, shape, repeat } => {
                let key = (points.as_ptr() as usize, points.len(), *shape, *repeat);
                let (_, made) = curves
                    .entry(key)
                    .or_insert_with(|| (points.clone(), Arc::new(Shape::new(points, *shape, *repeat))));
                (Train::Curve(Curve::new(made.clone(), group)), Events::Groups(group))
            }
            Pace::OnOff { rate, on, off } => (Train::OnOff(Cycle::on_off(*rate, *on, *off)), one),
            Pace::Bursts { packets, rate, every, .. } => {
                let events = if rate.is_some() { one } else { Events::Chunks((*packets).max(1)) };
                (Train::Bursts(Cycle::bursts(*packets, *rate, *every)), events)
            }
            Pace::Trace { times, period } => (Train::Trace(Trace::new(times, *period)), one),
            Pace::Flows { offsets, rate, flows, loops, take } => {
                (Train::Flows(FlowTrain::new(offsets, *rate, *flows, (*loops, *take))), one)
            }
            Pace::Max => {
                let packets = u32::try_from(total).unwrap_or(u32::MAX).max(1);
                (Train::Bursts(Cycle::bursts(packets, None, units::Nanos(1))), Events::Chunks(packets))
            }
        }
    }

    /// The same departures from their first, in loop `round` of a chain.
    pub(crate) fn begun(&self, round: u64) -> Self {
        match self {
            Train::Poisson(poisson) => Train::Poisson(poisson.begun(round)),
            Train::Gaps(gaps) => Train::Gaps(gaps.begun(round)),
            fixed => fixed.clone(),
        }
    }

    /// When the current event is due, ns from the stream's start; `u64::MAX` if never.
    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        match self {
            Train::Even(ticks) => ticks.time(),
            Train::Poisson(poisson) => poisson.time(),
            Train::Gaps(gaps) => gaps.time(),
            Train::Curve(curve) => curve.time(),
            Train::OnOff(cycle) | Train::Bursts(cycle) => cycle.time(),
            Train::Trace(trace) => trace.time(),
            Train::Flows(flows) => flows.time(),
        }
    }

    /// Goes `by` events on.
    #[inline(always)]
    pub(crate) fn jump(&mut self, by: u64) {
        match self {
            Train::Even(ticks) => ticks.jump(by),
            Train::Poisson(poisson) => poisson.jump(by),
            Train::Gaps(gaps) => gaps.jump(by),
            Train::Curve(curve) => curve.jump(by),
            Train::OnOff(cycle) | Train::Bursts(cycle) => cycle.jump(by),
            Train::Trace(trace) => trace.jump(by),
            Train::Flows(flows) => flows.jump(by),
        }
    }

    /// Number of the current event's packet, where that is not its place in the order of time.
    #[inline(always)]
    pub(crate) fn number(&self) -> Option<u64> {
        if let Train::Flows(flows) = self { Some(flows.number()) } else { None }
    }

    /// Events due before `span` ns; `None` if they have to be counted one by one.
    pub(crate) fn before(&self, span: u64) -> Option<u64> {
        Some(match self {
            Train::Even(ticks) => ticks.before(span),
            Train::Poisson(_) | Train::Gaps(_) => return None,
            Train::Curve(curve) => curve.before(span),
            Train::OnOff(cycle) | Train::Bursts(cycle) => cycle.before(span),
            Train::Trace(trace) => trace.before(span),
            Train::Flows(flows) => flows.before(span),
        })
    }

    /// When a link that ends with `events` events ends; `None` if it is the time of the next event.
    pub(crate) fn end(&self, events: u64) -> Option<u64> {
        Some(match self {
            _ if events == 0 => 0,
            Train::Even(ticks) => ticks.at(events),
            Train::Poisson(_) | Train::Gaps(_) | Train::Flows(_) => return None,
            Train::Curve(curve) => curve.reaches(events),
            Train::OnOff(cycle) => cycle.gap_behind(events),
            Train::Bursts(cycle) => cycle.period_behind(events),
            Train::Trace(trace) => trace.period_behind(events),
        })
    }

    /// When the last of `events` events is due; of random departures, when they end.
    pub(crate) fn last(&self, events: u64) -> Option<u64> {
        match self {
            Train::Poisson(_) | Train::Gaps(_) => self.end(events),
            _ if events == 0 || events == u64::MAX => self.end(events),
            fixed => {
                let mut train = fixed.clone();
                train.jump(events - 1);
                Some(train.time())
            }
        }
    }
}

impl Events {
    /// Number of the first packet of event `index`.
    #[inline(always)]
    pub(crate) fn first(self, index: u64) -> u64 {
        match self {
            Events::Groups(1) => index,
            Events::Groups(group) => index.saturating_mul(group.into()),
            Events::Chunks(packets) => {
                let chunks = u64::from(packets.div_ceil(CHUNK));
                let burst = (index / chunks).saturating_mul(packets.into());
                burst.saturating_add(index % chunks * u64::from(CHUNK))
            }
        }
    }

    /// Packets of event `index`.
    #[inline(always)]
    pub(crate) fn size(self, index: u64) -> u32 {
        match self {
            Events::Groups(group) => group,
            Events::Chunks(packets) => {
                let place = index % u64::from(packets.div_ceil(CHUNK));
                (packets - place as u32 * CHUNK).min(CHUNK)
            }
        }
    }

    /// Events until `total` packets.
    pub(crate) fn until(self, total: u64) -> u64 {
        match self {
            Events::Groups(group) => total.div_ceil(group.into()),
            Events::Chunks(packets) => {
                let (packets, chunks) = (u64::from(packets), u64::from(packets.div_ceil(CHUNK)));
                (total / packets).saturating_mul(chunks) + (total % packets).div_ceil(CHUNK.into())
            }
        }
    }

    /// Packets of every `stride`-th event from `first` on and before `end`, of `total` packets in all.
    pub(crate) fn packets(self, first: u64, stride: u64, end: u64, total: u64) -> u128 {
        let end = end.min(self.until(total));
        if first >= end {
            return 0;
        }
        match self {
            Events::Groups(group) => {
                let events = (end - first).div_ceil(stride);
                let last = first + (events - 1) * stride;
                let missing = self.first(last).saturating_add(group.into()).saturating_sub(total);
                u128::from(events) * u128::from(group) - u128::from(missing)
            }
            Events::Chunks(_) if stride == 1 => {
                u128::from(self.first(end).min(total)) - u128::from(self.first(first))
            }
            Events::Chunks(_) => {
                let events = (first..end).step_by(stride as usize);
                events.map(|i| u128::from(u64::from(self.size(i)).min(total - self.first(i)))).sum()
            }
        }
    }
}
