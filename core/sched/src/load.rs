//! Loads of streams for the schedule: paces, counts, and streams that follow each other.

use crate::exact::{GAP_SCALE, Ticks, narrow};
use crate::schedule::{Schedule, Share};
use std::sync::Arc;
use units::{Nanos, Pps};

/// Load of one stream for the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StreamLoad {
    /// When its packets leave.
    pub pace: Pace,
    /// Packets back to back at a time (1: each by itself). The rate is kept on average: the pace spaces groups at `rate
    /// / group`. Combines with [`Pace::Even`], [`Pace::Poisson`] and [`Pace::Curve`]; the other paces define themselves
    /// what leaves together. Streams of [`Pace::Max`] take turns of at least 8 packets.
    pub group: u32,
    /// Packets in all; `None` is until the end.
    pub count: Option<u64>,
    /// From the start of traffic to the beginning of the stream's own time.
    pub start_delay: Nanos,
}

/// When the packets of a stream leave, from the stream's start (time 0 below).
///
/// Every departure is rounded down to the nanosecond from its exact time, never summed up from rounded gaps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pace {
    /// Whenever there is room.
    Max,
    /// Evenly spaced, the first at 0.
    Even(Pps),
    /// Gaps drawn from an exponential distribution with mean `1/rate`: a Poisson process. The first packet leaves one
    /// gap after 0. The seed alone decides the gaps: streams of equal rate and seed leave together.
    Poisson {
        /// Mean rate.
        rate: Pps,
        /// Decides the gaps.
        seed: u64,
    },
    /// Gaps taken from a list: any distribution. The first packet leaves at 0; an empty list, or one without any time
    /// in it, has no second.
    Gaps {
        /// From one departure to the next.
        gaps: Arc<[Nanos]>,
        /// Which gap is next.
        order: GapOrder,
    },
    /// A rate that changes over time: a load curve.
    ///
    /// With N(t) the area under the curve up to t, in packets, packet *j* leaves at the last nanosecond at which
    /// N(t) ≤ *j*: as for [`Pace::Even`] the exact time rounded down, and never while the rate is zero.
    Curve {
        /// The rate at times that increase. Before the first its rate holds; no points, no packets.
        points: Arc<[CurvePoint]>,
        /// Shape between two points.
        shape: CurveShape,
        /// Whether the curve begins again at its last point, whose rate otherwise holds for ever. The fraction of a
        /// packet at the end of one round is carried into the next.
        repeat: bool,
    },
    /// Evenly spaced at `rate` for `on`, silent for `off`, and again. Each `on` begins with a packet.
    OnOff {
        /// Rate while on.
        rate: Pps,
        /// Time in which it sends.
        on: Nanos,
        /// Time in which it is silent.
        off: Nanos,
    },
    /// Bursts of `packets`.
    Bursts {
        /// Packets in a burst.
        packets: u32,
        /// Rate inside a burst; `None` is back to back.
        rate: Option<Pps>,
        /// From the start of one burst to the start of the next, at least 1 ns. A burst that takes longer is followed by
        /// the next without a pause.
        every: Nanos,
        /// Number of bursts; `None` is until the end.
        bursts: Option<u64>,
    },
    /// Departures at given times, then again from the beginning each `period`.
    Trace {
        /// In ascending order.
        times: Arc<[Nanos]>,
        /// From the beginning of one round to that of the next; not before the last time, and at least 1 ns.
        period: Nanos,
    },
    /// Flows that begin evenly spaced, each with a departure at every offset from its begin. The packets of one flow
    /// have successive numbers, so that the numbers of flow *f* begin with *f* times the number of offsets; departures
    /// are in the order of time.
    Flows {
        /// From a flow's begin to each of its departures.
        offsets: Arc<[Nanos]>,
        /// Flows begun in a second.
        rate: Pps,
        /// Number of flows; `None` is until the end.
        flows: Option<u64>,
        /// The same flows again, with the same numbers; only if their number is given.
        loops: FlowLoops,
        /// Which of the flows depart here; the others, and their packets' numbers, are left out.
        take: FlowTurns,
    },
}

/// Which of numbered flows are taken: they come in groups of `each`, and groups in rounds of `round`; of a round every `every`-th group
/// from `first` on is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowTurns {
    /// Flows of a group, at least 1.
    pub each: u64,
    /// Groups of a round, at least 1.
    pub round: u64,
    /// Every so-many-th group, at least 1.
    pub every: u64,
    /// The first that is taken.
    pub first: u64,
}

impl FlowTurns {
    /// All flows.
    pub const ALL: Self = Self { each: 1, round: 1, every: 1, first: 0 };

    /// Whether flow `number` is taken.
    #[inline]
    pub fn take(&self, number: u64) -> bool {
        let group = number / self.each.max(1) % self.round.max(1);
        group >= self.first && (group - self.first).is_multiple_of(self.every.max(1))
    }

    /// Number of those taken of the first `count` flows.
    pub fn taken(&self, count: u64) -> u64 {
        let (each, every) = (self.each.max(1), self.every.max(1));
        let groups = |groups: u64| groups.saturating_sub(self.first).div_ceil(every);
        let (whole, rest) = (count / each, count % each);
        let (rounds, behind) = (whole / self.round.max(1), whole % self.round.max(1));
        let taken = rounds.saturating_mul(groups(self.round.max(1))).saturating_add(groups(behind));
        let last = if self.take(whole.saturating_mul(each)) { rest } else { 0 };
        taken.saturating_mul(each).saturating_add(last)
    }
}

/// Repetition of a known number of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowLoops {
    /// Number of times, at least one.
    pub times: u64,
    /// From the first flow of a loop to that of the next; after the last departure of the loop.
    pub period: Nanos,
}

impl FlowLoops {
    /// No loop.
    pub const ONCE: Self = Self { times: 1, period: Nanos::MAX };
}

/// Which of the gaps of [`Pace::Gaps`] is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GapOrder {
    /// One after the other, and again from the first.
    Sequential,
    /// Any of them, each as likely as the others.
    Random {
        /// Decides which.
        seed: u64,
    },
}

/// A point of [`Pace::Curve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CurvePoint {
    /// From the stream's start.
    pub at: Nanos,
    /// The rate at this time.
    pub rate: Pps,
}

/// Shape between two points of [`Pace::Curve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CurveShape {
    /// The rate goes straight from the one to the other.
    Linear,
    /// The rate of the first until the second.
    Step,
}

/// Streams that follow each other: when one link has sent its count, the next begins, and after the last again the first.
///
/// A stream may be in several links; its packet numbers continue over links and loops. No stream may be in two chains,
/// or in a chain and by itself.
///
/// The workers of a port share the departures of all links in turn. A random link draws other gaps in each loop. A loop
/// that takes no time at all is made to take 1 ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Chain {
    /// In their order.
    pub links: Vec<Link>,
    /// Number of times that all of them are sent; `None` is for ever.
    pub loops: Option<u64>,
    /// Index of the link that follows the last one: those before it come once. After the last link there is none.
    pub repeat_from: usize,
    /// Index of the link that ends the last loop; `None` is the last.
    pub last: Option<usize>,
    /// From the start of traffic to the first link's begin.
    pub start_delay: Nanos,
}

/// One stream's turn in a [`Chain`].
///
/// It ends one gap after its last departure: when the packet (or group) after its last would be due. For
/// [`Pace::OnOff`] that gap is `1/rate` even where `off` begins; a [`Pace::Curve`] ends when the area under it reaches
/// the count (in whole groups), [`Pace::Bursts`] one `every` after the start of the last burst it began,
/// [`Pace::Trace`] at the end of the `period` it is in. Ends are rounded down to the nanosecond.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    /// Index of the stream.
    pub stream: u32,
    /// Its load. `start_delay` counts from the link's begin. Without a count the link never ends; [`Pace::Max`] is taken as
    /// one burst of the whole count.
    pub load: StreamLoad,
    /// From the end of this link to the next one's begin.
    pub gap: Nanos,
    /// Whether the link ends with its last departure instead of one gap after it. Of random paces it never does.
    pub ends_at_last: bool,
}

impl Pace {
    /// Mean packets per second over the long run, rounded down; `None` for [`Pace::Max`].
    ///
    /// Of a curve that does not repeat that is the last rate, of bursts the rate while there are any.
    pub fn mean_rate(&self) -> Option<Pps> {
        let mean = |packets: u128, span: u128| match span {
            0 => Pps::ZERO,
            span => Pps::from_micro(narrow(packets * GAP_SCALE / span)),
        };
        Some(match self {
            Pace::Max => return None,
            Pace::Even(rate) | Pace::Poisson { rate, .. } => *rate,
            Pace::Gaps { gaps, .. } => mean(gaps.len() as u128, gaps.iter().map(|g| u128::from(g.0)).sum()),
            Pace::Curve { points, shape, repeat } => crate::curve::mean_rate(points, *shape, *repeat),
            Pace::OnOff { rate, on, off } => {
                let packets = Ticks::new(GAP_SCALE, u128::from(rate.micro().max(1))).before(on.0);
                mean(packets.into(), u128::from(on.0) + u128::from(off.0))
            }
            Pace::Bursts { packets, rate, every, .. } => {
                mean((*packets).into(), crate::cyclic::burst_period(*packets, *rate, *every).into())
            }
            Pace::Trace { times, period } => {
                mean(times.len() as u128, crate::cyclic::trace_period(times, *period).into())
            }
            Pace::Flows { offsets, flows: Some(flows), loops, take, .. } if loops.times > 1 => {
                mean(u128::from(take.taken(*flows)) * offsets.len() as u128, loops.period.0.into())
            }
            Pace::Flows { offsets, rate, take, .. } => {
                let all = u128::from(rate.micro()) * offsets.len() as u128;
                let round = take.round.saturating_mul(take.each).max(1);
                Pps::from_micro(narrow(all * u128::from(take.taken(round)) / u128::from(round)))
            }
        })
    }

    /// Whether packets are due at set times, rather than whenever there is room.
    pub fn is_paced(&self) -> bool {
        !matches!(self, Pace::Max)
    }

    /// Packets due within `duration`; `None` for [`Pace::Max`]. See [`StreamLoad::packets_in`].
    pub fn packets_in(&self, duration: Nanos) -> Option<u64> {
        let load = StreamLoad { pace: self.clone(), group: 1, count: None, start_delay: Nanos::ZERO };
        load.packets_in(duration)
    }
}

impl StreamLoad {
    /// Packets a schedule of this stream alone has due from its start until just before `duration`, exactly; `None` for
    /// [`Pace::Max`].
    ///
    /// Beside streams of other loads an [`Pace::Even`] stream begins up to one gap, at most 1 ms, later;
    /// [`Schedule::owed`] of a new schedule counts that too. Takes a few ns per packet for random paces.
    pub fn packets_in(&self, duration: Nanos) -> Option<u64> {
        if !self.pace.is_paced() {
            return None;
        }
        Some(Schedule::new(&[(0, self.clone())], &[], Nanos::ZERO, duration, Share::WHOLE).owed())
    }

    /// Total number of packets, if the load defines it.
    pub(crate) fn total(&self) -> u64 {
        let count = self.count.unwrap_or(u64::MAX);
        match &self.pace {
            Pace::Bursts { packets, bursts: Some(bursts), .. } => {
                count.min(bursts.saturating_mul(u64::from(*packets)))
            }
            Pace::Flows { offsets, flows: Some(flows), loops, take, .. } => {
                count.min(take.taken(*flows).saturating_mul(offsets.len() as u64).saturating_mul(loops.times))
            }
            _ => count,
        }
    }
}

impl Chain {
    /// Packets a schedule of this chain has due from its start until just before `duration`, all its streams together.
    pub fn packets_in(&self, duration: Nanos) -> u64 {
        Schedule::new(&[], std::slice::from_ref(self), Nanos::ZERO, duration, Share::WHOLE).owed()
    }
}
