//! When too few of a stream's packets arrived: outages, from samples of all workers.
//!
//! Packets are evaluated by sampling intervals (RFC 6412 section 3.7): of those sent in one, a share arrived. An outage
//! begins with the first interval whose share is below a threshold, and is over with the first one after it whose share
//! is not. If an outage begins or ends within an interval, the share shows where: for a link that is cut, the packets
//! sent before the cut arrived.
//!
//! Invariant: an interval is judged once, after all that may still arrive of it has.

use crate::samples::{SAMPLE, Sample};
use std::collections::{BTreeMap, VecDeque};
use units::Nanos;

/// Outages that are kept of a stream.
const KEPT: usize = 100;

/// Packets of a stream without loss that an interval has at least: then one of them is no more than this part of it.
const INTERVAL_PACKETS: u64 = 20;

/// Definition of an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutageRule {
    /// Share of packets, in millionths, below which there is an outage.
    pub threshold_ppm: u32,
    /// Samples that make a sampling interval.
    pub samples: u64,
}

impl OutageRule {
    /// A rule for a stream of this rate, packets per second: intervals have [`INTERVAL_PACKETS`] packets, or are one sample. Without a
    /// rate, they are one sample.
    pub fn new(threshold_ppm: u32, rate: Option<f64>) -> Self {
        let rate = rate.filter(|pps| *pps > 0.0);
        let samples = rate.map_or(1.0, |pps| (INTERVAL_PACKETS as f64 * 1e9 / pps / SAMPLE.0 as f64).ceil());
        Self { threshold_ppm, samples: (samples as u64).clamp(1, 100_000) }
    }

    /// Length of a sampling interval.
    pub fn interval(&self) -> Nanos {
        Nanos(SAMPLE.0 * self.samples)
    }
}

/// A time in which too few packets arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When it began, on the workers' clock.
    pub from: Nanos,
    /// When it was over; `None` if it was not when the last interval was judged.
    pub until: Option<Nanos>,
    /// Packets sent meanwhile that did not arrive.
    pub lost: u64,
}

/// A sampling interval that was judged.
#[derive(Debug, Clone, Copy)]
struct Judged {
    number: u64,
    sent: u64,
    received: u64,
}

impl Judged {
    fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// So much of `interval` as packets of this one arrived.
    fn received_part(&self, interval: Nanos) -> u64 {
        part(interval, self.received.min(self.sent), self.sent)
    }

    fn lost_part(&self, interval: Nanos) -> u64 {
        part(interval, self.lost(), self.sent)
    }
}

fn part(interval: Nanos, some: u64, all: u64) -> u64 {
    (u128::from(interval.0) * u128::from(some) / u128::from(all.max(1))) as u64
}

/// An outage that is not over.
#[derive(Debug, Clone, Copy)]
struct Current {
    from: Nanos,
    lost: u64,
    first: u64,
    last: Judged,
}

/// Outages of one stream.
#[derive(Debug, Clone)]
pub struct Outages {
    rule: OutageRule,
    /// Intervals that are not judged, with packets sent and received.
    open: BTreeMap<u64, (u64, u64)>,
    /// The first interval that may still be judged.
    next: u64,
    /// The interval judged last, if it was no outage.
    before: Option<Judged>,
    current: Option<Current>,
    count: u64,
    total: Nanos,
    longest: Nanos,
    last: VecDeque<Outage>,
}

impl Outages {
    /// Nothing sent yet.
    pub fn new(rule: OutageRule) -> Self {
        Self {
            rule,
            open: BTreeMap::new(),
            next: 0,
            before: None,
            current: None,
            count: 0,
            total: Nanos::ZERO,
            longest: Nanos::ZERO,
            last: VecDeque::new(),
        }
    }

    /// Leaves out packets sent before `at`, and the sampling interval that includes it.
    pub fn begin(&mut self, at: Nanos) {
        self.next = at.0.div_ceil(self.rule.interval().0);
        self.open.retain(|number, _| *number >= self.next);
    }

    /// Its definition.
    pub fn rule(&self) -> OutageRule {
        self.rule
    }

    /// Adds a worker's sample. Samples after the verdict on their interval are too late.
    pub fn add(&mut self, sample: Sample) {
        let number = sample.number / self.rule.samples;
        if number >= self.next {
            let (sent, received) = self.open.entry(number).or_default();
            *sent += u64::from(sample.sent);
            *received += u64::from(sample.received);
        }
    }

    /// Judges the intervals that were over at `until`.
    pub fn judge(&mut self, until: Nanos) {
        let end = until.0 / self.rule.interval().0;
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() < end) {
            let (number, (sent, received)) = entry.remove_entry();
            self.next = number + 1;
            if sent > 0 {
                self.take(Judged { number, sent, received });
            }
        }
        self.next = self.next.max(end);
    }

    fn take(&mut self, judged: Judged) {
        let interval = self.rule.interval();
        let start = |number: u64| Nanos(interval.0.saturating_mul(number));
        let threshold = u128::from(self.rule.threshold_ppm) * u128::from(judged.sent);
        let is_below = u128::from(judged.received) * 1_000_000 < threshold;
        match (&mut self.current, is_below) {
            (None, false) => self.before = Some(judged),
            (None, true) => {
                let begun = start(judged.number);
                let before = self.before.take().filter(|before| {
                    before.number + 1 == judged.number && judged.received == 0 && before.lost() > 0
                });
                let (from, lost) = match before {
                    Some(before) => (begun.since(Nanos(before.lost_part(interval))), before.lost()),
                    None => (Nanos(begun.0 + judged.received_part(interval)), 0),
                };
                let lost = lost + judged.lost();
                self.current = Some(Current { from, lost, first: judged.number, last: judged });
            }
            (Some(current), true) => {
                current.lost += judged.lost();
                current.last = judged;
            }
            (Some(current), false) => {
                let Current { from, mut lost, first, last } = *current;
                let until = if last.number + 1 == judged.number && last.received == 0 {
                    lost += judged.lost();
                    Nanos(start(judged.number).0 + judged.lost_part(interval))
                } else if last.number == first {
                    start(last.number + 1)
                } else {
                    start(last.number + 1).since(Nanos(last.received_part(interval)))
                };
                let until = until.max(from);
                (self.current, self.before) = (None, Some(judged));
                self.keep(Outage { from, until: Some(until), lost });
            }
        }
    }

    fn keep(&mut self, outage: Outage) {
        let time = outage.until.map_or(Nanos::ZERO, |until| until.since(outage.from));
        self.count += 1;
        self.total = self.total.saturating_add(time);
        self.longest = self.longest.max(time);
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(outage);
    }

    /// The outage that is not over, with the end of the last interval that was judged.
    fn lasting(&self) -> Option<(Outage, Nanos)> {
        let Current { from, lost, last, .. } = self.current?;
        let seen = Nanos(self.rule.interval().0.saturating_mul(last.number + 1));
        Some((Outage { from, until: None, lost }, seen.max(from)))
    }

    /// Number of them, including one that is not over.
    pub fn count(&self) -> u64 {
        self.count + u64::from(self.current.is_some())
    }

    /// The time of all together, and of the longest. One that is not over counts until the last interval that was judged.
    pub fn times(&self) -> (Nanos, Nanos) {
        let lasting = self.lasting().map_or(Nanos::ZERO, |(outage, seen)| seen.since(outage.from));
        (self.total.saturating_add(lasting), self.longest.max(lasting))
    }

    /// The last 100 that are over, and one that is not.
    pub fn last(&self) -> impl Iterator<Item = Outage> {
        self.last.iter().copied().chain(self.lasting().map(|(outage, _)| outage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: OutageRule = OutageRule { threshold_ppm: 950_000, samples: 1 };

    /// Outages of a stream of which `arrived` gives the number of received packets in 100, millisecond by millisecond.
    fn outages(arrived: &[u32]) -> Outages {
        let mut outages = Outages::new(RULE);
        for (number, received) in (0..).zip(arrived) {
            outages.add(Sample { number, sent: 100, received: 0 });
            outages.add(Sample { number, sent: 0, received: *received });
        }
        outages.judge(Nanos::from_millis(arrived.len() as u64));
        outages
    }

    fn found(arrived: &[u32]) -> Vec<(u64, Option<u64>, u64)> {
        let row = |outage: Outage| (outage.from.0, outage.until.map(|until| until.0), outage.lost);
        outages(arrived).last().map(row).collect()
    }

    #[test]
    fn a_cut_is_placed_within_its_interval() {
        assert_eq!(found(&[100, 100, 40, 0, 0, 75, 100]), [(2_400_000, Some(5_250_000), 285)]);
        // So near to the edge that the interval itself is no outage.
        assert_eq!(found(&[100, 97, 0, 0, 98, 100]), [(1_970_000, Some(4_020_000), 205)]);
        assert_eq!(found(&[100, 100, 0, 0, 100]), [(2_000_000, Some(4_000_000), 200)]);
    }

    #[test]
    fn a_short_one_has_the_length_of_its_loss() {
        let short = outages(&[100, 70, 100, 94, 95, 100]);
        let last: Vec<_> =
            short.last().map(|outage| (outage.until.unwrap().0 - outage.from.0, outage.lost)).collect();
        assert_eq!(last, [(300_000, 30), (60_000, 6)]);
        assert_eq!((short.count(), short.times()), (2, (Nanos(360_000), Nanos(300_000))));
    }

    #[test]
    fn one_that_is_not_over_counts_until_now() {
        let lasting = outages(&[100, 0, 0]);
        assert_eq!(lasting.last().collect::<Vec<_>>(), [Outage { from: SAMPLE, until: None, lost: 200 }]);
        assert_eq!((lasting.count(), lasting.times().0), (1, Nanos(2 * SAMPLE.0)));
        assert_eq!(found(&[0, 0, 100]), [(0, Some(2_000_000), 200)], "from the first packet on");
    }

    #[test]
    fn what_may_still_arrive_is_not_judged() {
        let mut outages = Outages::new(RULE);
        let sample = |number, sent, received| Sample { number, sent, received };
        outages.add(sample(5, 10, 10));
        outages.add(sample(6, 10, 0));
        outages.judge(Nanos::from_millis(6));
        assert_eq!(outages.count(), 0);
        outages.add(sample(6, 0, 10));
        outages.judge(Nanos::from_millis(7));
        assert_eq!(outages.count(), 0, "the rest came in time");
        outages.add(sample(7, 10, 0));
        outages.judge(Nanos::from_millis(8));
        outages.add(sample(7, 0, 10));
        assert_eq!(outages.count(), 1, "too late");
    }

    #[test]
    fn what_was_sent_before_the_beginning_is_left_out() {
        let mut outages = Outages::new(RULE);
        outages.add(Sample { number: 2, sent: 100, received: 0 });
        outages.begin(Nanos(2_500_000));
        for number in 1..6 {
            outages.add(Sample { number, sent: 100, received: if number < 4 { 0 } else { 100 } });
        }
        outages.judge(Nanos::MAX);
        let found: Vec<_> = outages.last().map(|outage| (outage.from.0, outage.lost)).collect();
        assert_eq!(found, [(3_000_000, 100)], "from the first whole interval on");
    }

    #[test]
    fn a_pause_of_the_sender_is_none() {
        let mut outages = Outages::new(RULE);
        for number in [0, 1, 40, 41] {
            outages.add(Sample { number, sent: 3, received: 3 });
        }
        outages.judge(Nanos::MAX);
        assert_eq!(outages.count(), 0);
    }

    #[test]
    fn only_the_last_are_kept() {
        let arrived: Vec<u32> = (0..600).map(|n| if n % 2 == 0 { 100 } else { 0 }).chain([100]).collect();
        let many = outages(&arrived);
        assert_eq!((many.count(), many.last().count()), (300, KEPT));
        assert_eq!(many.last().last().unwrap().from, Nanos::from_millis(599));
    }

    #[test]
    fn slow_streams_have_long_intervals() {
        let samples = |rate| OutageRule::new(950_000, rate).samples;
        assert_eq!(
            [samples(None), samples(Some(1e6)), samples(Some(1e3)), samples(Some(0.0))],
            [1, 1, 20, 1]
        );
        assert_eq!(samples(Some(1e-6)), 100_000);
        assert_eq!(OutageRule::new(1, Some(300.0)).interval(), Nanos::from_millis(67));
    }
}
