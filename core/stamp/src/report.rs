//! The result of a session: losses, delays and their variation in both directions, and how far the clocks are apart.

use crate::session::Plan;
use crate::time::Format;
use clocks::{ErrorRange, Shortest};
use serde::Serialize;
use std::collections::BTreeMap;
use units::Nanos;

/// How a reflector numbers its replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It copies the sender's numbers.
    Stateless,
    /// It counts its replies.
    Stateful,
    /// It is not known.
    #[default]
    Unknown,
}

/// A reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Number of the request.
    pub(crate) number: u32,
    /// Number of the reply.
    pub(crate) reply: u32,
    /// T1 to T4, each by its own clock; none if they contradict each other.
    pub(crate) times: Option<[Nanos; 4]>,
    /// Hops left at the reflector, and here.
    pub(crate) hops: [Option<u8>; 2],
}

impl Sample {
    /// Delay to the reflector as measured, delay from it, round trip without the reflector's time, and that time, ns.
    pub(crate) fn delays(&self) -> Option<[i64; 4]> {
        let [t1, t2, t3, t4] = self.times?.map(|time| time.0.cast_signed());
        Some([t2 - t1, t4 - t3, (t4 - t1) - (t3 - t2), t3 - t2])
    }
}

/// All that a result is made of.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) sent: u64,
    /// In the order of their arrival.
    pub(crate) replies: &'a [Sample],
    pub(crate) dropped_duplicates: u64,
    pub(crate) unfit: u64,
    pub(crate) has_ssid: bool,
    pub(crate) error_here: Option<u64>,
    pub(crate) error_there: Option<u64>,
    pub(crate) format_there: Format,
}

/// Delays of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Delays {
    /// Number of delays.
    pub samples: u64,
    /// Shortest, ns.
    pub min_ns: i64,
    /// Mean, ns.
    pub mean_ns: f64,
    /// Half of the delays are at most this, ns.
    pub p50_ns: i64,
    /// 90% are at most this, ns.
    pub p90_ns: i64,
    /// 99% are at most this, ns.
    pub p99_ns: i64,
    /// 99.9% are at most this, ns.
    pub p999_ns: i64,
    /// Longest, ns.
    pub max_ns: i64,
    /// Mean difference of the delays of two packets sent one after the other (RFC 3393), ns. An offset of clocks does not change it.
    pub jitter_ns: f64,
}

impl Delays {
    /// Of delays in the order of sending, with the packet's number.
    fn of(delays: &[(u32, i64)]) -> Option<Self> {
        let mut sorted: Vec<i64> = delays.iter().map(|(_, ns)| *ns).collect();
        sorted.sort_unstable();
        let (min_ns, max_ns) = (*sorted.first()?, *sorted.last()?);
        let rank = |share: f64| {
            let rank = (share * sorted.len() as f64).ceil() as usize;
            sorted[rank.clamp(1, sorted.len()) - 1]
        };
        let mean = |sum: i128, number: usize| sum as f64 / number.max(1) as f64;
        let neighbours: Vec<i128> = delays
            .windows(2)
            .filter(|pair| pair[1].0 == pair[0].0 + 1)
            .map(|pair| (i128::from(pair[1].1) - i128::from(pair[0].1)).abs())
            .collect();
        Some(Self {
            samples: sorted.len() as u64,
            min_ns,
            mean_ns: mean(sorted.iter().map(|ns| i128::from(*ns)).sum(), sorted.len()),
            p50_ns: rank(0.5),
            p90_ns: rank(0.9),
            p99_ns: rank(0.99),
            p999_ns: rank(0.999),
            max_ns,
            jitter_ns: mean(neighbours.iter().sum(), neighbours.len()),
        })
    }

    /// The same delays with `ns` added.
    fn shifted(self, ns: i64) -> Self {
        Self {
            min_ns: self.min_ns + ns,
            mean_ns: self.mean_ns + ns as f64,
            p50_ns: self.p50_ns + ns,
            p90_ns: self.p90_ns + ns,
            p99_ns: self.p99_ns + ns,
            p999_ns: self.p999_ns + ns,
            max_ns: self.max_ns + ns,
            ..self
        }
    }
}

/// One direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
pub struct Direction {
    /// Packets lost. Absent if it is not known in which direction they were.
    pub lost: Option<u64>,
    /// Packets that came after one sent later. Absent in stateless mode, where only the round trip shows it.
    pub reordered: Option<u64>,
    /// Packets that came again. Absent in stateless mode.
    pub duplicates: Option<u64>,
    /// Delays, with the offset of the clocks taken out: true ones are within [`ClockError::uncertainty_ns`] of these.
    pub delay_ns: Option<Delays>,
}

/// Offset of the reflector's clock from this host's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockError {
    /// `packets`: from the shortest delays in both directions; `error_estimate`: both hosts state that their clocks are synchronized.
    pub method: &'static str,
    /// The reflector's clock minus this host's, ns, which is taken out of the delays.
    pub offset_ns: i64,
    /// Bound on the error of that, ns.
    pub uncertainty_ns: u64,
}

/// Clock of a host, as it states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ClockState {
    /// Format of its timestamps: `ntp` or `ptp`.
    pub format: &'static str,
    /// Bound on its error, ns, if it is synchronized with UTC.
    pub error_max_ns: Option<u64>,
}

/// Hops left when packets came: TTL, or hop limit, lowest and highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Hops {
    /// At the reflector.
    pub at_reflector: Option<[u8; 2]>,
    /// Here.
    pub here: Option<[u8; 2]>,
}

/// Result of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Mode of the reflector.
    pub mode: Mode,
    /// Packets sent.
    pub sent: u64,
    /// Packets with a reply.
    pub received: u64,
    /// Packets without a reply.
    pub lost: u64,
    /// Their share of the packets sent.
    pub loss_ratio: f64,
    /// Lost packets of which the direction is not known.
    pub lost_unknown: u64,
    /// Replies to a packet that had one.
    pub duplicates: u64,
    /// Replies that came after the reply to a packet sent later.
    pub reordered: u64,
    /// Packets that came and are no replies of this session.
    pub unfit: u64,
    /// Round trips without the reflector's own time: T4 − T1 − (T3 − T2). No offset of clocks changes it.
    pub round_trip_ns: Option<Delays>,
    /// Times from a packet's arrival at the reflector to its reply: T3 − T2.
    pub reflector_time_ns: Option<Delays>,
    /// From this host to the reflector.
    pub to_reflector: Direction,
    /// From the reflector to this host.
    pub from_reflector: Direction,
    /// Offset of the clocks; absent if no straight line fits the delays.
    pub clock: Option<ClockError>,
    /// This host's clock.
    pub clock_here: ClockState,
    /// The reflector's clock.
    pub clock_there: ClockState,
    /// Hops left.
    pub hops: Option<Hops>,
    /// Limits of these figures.
    pub notes: Vec<String>,
}

impl Report {
    pub(crate) fn of(measured: &Measured<'_>) -> Self {
        let first = first_replies(measured.replies);
        let received = first.len() as u64;
        let lost = measured.sent - received;
        let ways = Ways::of(measured, &first, lost);
        let [to_ns, from_ns, trip_ns, own_ns] = delays(&first);
        let mut notes = ways.notes;
        let clock = clock(measured, &first, &mut notes);
        let one_way =
            |delays: &[(u32, i64)], sign: i64| Some(Delays::of(delays)?.shifted(sign * clock?.offset_ns));
        let state = |format: Format, error_max_ns| ClockState { format: format.name(), error_max_ns };
        notes.extend(other_notes(measured, received, trip_ns.len() as u64));
        Self {
            mode: measured.plan.mode,
            sent: measured.sent,
            received,
            lost,
            loss_ratio: lost as f64 / measured.sent.max(1) as f64,
            lost_unknown: ways.lost_unknown,
            duplicates: measured.replies.len() as u64 - received + measured.dropped_duplicates,
            reordered: behind(arrivals(measured.replies).map(|sample| sample.number)),
            unfit: measured.unfit,
            round_trip_ns: Delays::of(&trip_ns),
            reflector_time_ns: Delays::of(&own_ns),
            to_reflector: Direction { delay_ns: one_way(&to_ns, -1), ..ways.to },
            from_reflector: Direction { delay_ns: one_way(&from_ns, 1), ..ways.from },
            clock,
            clock_here: state(measured.plan.format, measured.error_here),
            clock_there: state(measured.format_there, measured.error_there),
            hops: hops(measured.replies),
            notes,
        }
    }
}

/// The first reply to each packet, in the order of sending.
fn first_replies(replies: &[Sample]) -> Vec<Sample> {
    let mut first: BTreeMap<u32, Sample> = BTreeMap::new();
    for sample in replies {
        first.entry(sample.number).or_insert(*sample);
    }
    first.into_values().collect()
}

/// The first reply to each packet, in the order of arrival.
fn arrivals(replies: &[Sample]) -> impl Iterator<Item = &Sample> {
    let mut seen = std::collections::BTreeSet::new();
    replies.iter().filter(move |sample| seen.insert(sample.number))
}

/// Numbers that come after a higher one.
fn behind(numbers: impl Iterator<Item = u32>) -> u64 {
    let mut highest = 0;
    let is_behind = |number: &u32| {
        let is_behind = *number < highest;
        highest = highest.max(*number);
        is_behind
    };
    numbers.filter(is_behind).count() as u64
}

/// Delays to the reflector and from it as measured, round trips, and times at the reflector, with the packet's number.
fn delays(first: &[Sample]) -> [Vec<(u32, i64)>; 4] {
    let mut all = <[Vec<(u32, i64)>; 4]>::default();
    for sample in first {
        let Some(delays) = sample.delays() else { continue };
        for (list, ns) in all.iter_mut().zip(delays) {
            list.push((sample.number, ns));
        }
    }
    all
}

/// Losses, order and duplicates by direction.
struct Ways {
    to: Direction,
    from: Direction,
    lost_unknown: u64,
    notes: Vec<String>,
}

impl Ways {
    fn of(measured: &Measured<'_>, first: &[Sample], lost: u64) -> Self {
        let counted = (measured.plan.mode == Mode::Stateful).then(|| Self::counted(measured, first, lost));
        match counted {
            Some(Some(ways)) => ways,
            Some(None) => {
                let note =
                    "the reflector's numbers do not fit the session: its losses have no direction".to_owned();
                Self { notes: vec![note], ..Self::not_counted(lost) }
            }
            None => Self::not_counted(lost),
        }
    }

    /// Without numbers of the reflector, only no loss at all has a direction.
    fn not_counted(lost: u64) -> Self {
        let none = Direction { lost: (lost == 0).then_some(0), ..Direction::default() };
        Self { to: none, from: none, lost_unknown: lost, notes: Vec::new() }
    }

    /// By the reflector's numbers; `None` if they are higher than a count of its replies can be.
    fn counted(measured: &Measured<'_>, first: &[Sample], lost: u64) -> Option<Self> {
        let replies = measured.replies;
        let number = |sample: &Sample| sample.reply.wrapping_sub(measured.plan.first_number);
        let mut by_reply: BTreeMap<u32, u32> = BTreeMap::new();
        let mut order = Vec::new();
        for sample in replies {
            if by_reply.insert(number(sample), sample.number).is_none() {
                order.push(number(sample));
            }
        }
        let Some((highest, _)) = by_reply.last_key_value() else { return Some(Self::not_counted(lost)) };
        let (sent_there, distinct) = (u64::from(*highest) + 1, by_reply.len() as u64);
        // As many as were sent, and every one of them twice.
        if sent_there > 2 * measured.sent {
            return None;
        }
        let last = first.last().map_or(0, |sample| u64::from(sample.number) + 1);
        // Behind the last reply nothing shows how far a packet came.
        let lost_unknown = (measured.sent - last).min(lost);
        let lost_from = (sent_there - distinct).min(lost - lost_unknown);
        let to = Direction {
            lost: Some(lost - lost_unknown - lost_from),
            reordered: Some(behind(by_reply.values().copied())),
            duplicates: Some(distinct.saturating_sub(first.len() as u64)),
            delay_ns: None,
        };
        let from = Direction {
            lost: Some(lost_from),
            reordered: Some(behind(order.into_iter())),
            duplicates: Some(replies.len() as u64 - distinct + measured.dropped_duplicates),
            delay_ns: None,
        };
        Some(Self { to, from, lost_unknown, notes: Vec::new() })
    }
}

/// The offset of the clocks by the better method.
fn clock(measured: &Measured<'_>, first: &[Sample], notes: &mut Vec<String>) -> Option<ClockError> {
    let packets = by_packets(first);
    let errors = measured.error_here.zip(measured.error_there);
    let stated = errors.map(|(here, there)| here.saturating_add(there));
    let error = |method, offset: f64, uncertainty: f64| ClockError {
        method,
        offset_ns: offset as i64,
        uncertainty_ns: uncertainty.ceil() as u64,
    };
    let by_packets = packets.map(|(range, rough)| {
        (error("packets", range.middle_ns() + rough as f64, range.uncertainty_ns() + 1.0), range, rough)
    });
    let Some((packets, range, rough)) = by_packets else {
        if first.iter().any(|sample| sample.times.is_some()) {
            notes.push("no clocks that run evenly fit the delays: one was set during the test".to_owned());
        }
        return None;
    };
    let Some(stated) = stated else { return Some(packets) };
    let both =
        ErrorRange { least_ns: -(stated as f64) - rough as f64, most_ns: stated as f64 - rough as f64 };
    if range.within(both).is_none() {
        notes.push(
            "the clocks are further apart than both error estimates state: these do not count".to_owned(),
        );
        return Some(packets);
    }
    let estimate = error("error_estimate", 0.0, stated as f64);
    Some(if stated < packets.uncertainty_ns { estimate } else { packets })
}

/// Range of the offset by the delays of all packets, without a rough offset, which is the second value, ns: so small numbers stay exact.
fn by_packets(first: &[Sample]) -> Option<(ErrorRange, i64)> {
    let [to, from, ..] = first.iter().find_map(Sample::delays)?;
    let rough = to.midpoint(-from);
    let start = first.iter().find_map(|sample| sample.times)?[0];
    let (mut there, mut back) = (Shortest::default(), Shortest::default());
    for sample in first {
        let (Some(times), Some([to, from, ..])) = (sample.times, sample.delays()) else { continue };
        let at = |time: Nanos| (time.0.cast_signed() - start.0.cast_signed()) as f64 / 1e9;
        there.add(at(times[0]), 0.0, (to - rough) as f64);
        back.add(at(times[3]), 0.0, (from + rough) as f64);
    }
    Some((ErrorRange::of(&there, &back)?, rough))
}

fn hops(replies: &[Sample]) -> Option<Hops> {
    let range = |which: usize| {
        let all = || replies.iter().filter_map(|sample| sample.hops[which]);
        Some([all().min()?, all().max()?])
    };
    let hops = Hops { at_reflector: range(0), here: range(1) };
    (hops.at_reflector.is_some() || hops.here.is_some()).then_some(hops)
}

fn other_notes(measured: &Measured<'_>, received: u64, timed: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if received > timed {
        let replies = if received - timed == 1 { "1 reply has" } else { "replies have" };
        let number = if received - timed == 1 { String::new() } else { format!("{} ", received - timed) };
        notes.push(format!("{number}{replies} times that contradict each other, and no delays"));
    }
    if !measured.has_ssid {
        notes.push(
            "the reflector does not return the session's identifier (RFC 8972): TWAMP Light".to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_delays_that_were_measured() {
        let delays: Vec<_> = (0..1_000).map(|n| (n, i64::from(n) - 10)).collect();
        let all = Delays::of(&delays).unwrap();
        assert_eq!((all.min_ns, all.p50_ns, all.p90_ns, all.p99_ns), (-10, 489, 889, 979));
        assert_eq!((all.p999_ns, all.max_ns, all.mean_ns, all.jitter_ns), (988, 989, 489.5, 1.0));
        assert_eq!(all.shifted(10).min_ns, 0);
        assert_eq!(Delays::of(&[]), None);
        // A packet that is missing separates its neighbours.
        assert_eq!(Delays::of(&[(0, 5), (2, 50), (3, 40)]).unwrap().jitter_ns, 10.0);
    }
}
