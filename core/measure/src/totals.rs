//! Sums over workers and intervals.

use crate::counts::Counts;
use crate::recorder::Table;
use histogram::{Scale, SparseHistogram};

/// RFC 3550's interarrival jitter of one stream, from one or more receivers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Jitter {
    weighted_ns: f64,
    packets: u64,
}

impl Jitter {
    /// An estimate of `ns` after `packets` packets.
    pub fn new(ns: f64, packets: u64) -> Self {
        Self { weighted_ns: ns * packets as f64, packets }
    }

    /// Adds another receiver's estimate, weighted by its packets.
    pub fn merge(&mut self, other: Self) {
        self.weighted_ns += other.weighted_ns;
        self.packets += other.packets;
    }

    /// The estimate; `None` of fewer than two packets.
    pub fn ns(self) -> Option<f64> {
        (self.packets > 1).then(|| self.weighted_ns / self.packets as f64)
    }
}

/// One stream's totals.
#[derive(Debug, Clone)]
pub struct StreamTotals {
    /// Counts and moments.
    pub counts: Counts,
    /// Latency, ns; `None` if no histogram is kept.
    pub latency: Option<SparseHistogram>,
    /// The same without packets that pauses of the tester touched; `None` if they touched none, or are not kept apart.
    pub undisturbed: Option<Box<Undisturbed>>,
}

/// Counts of packets that no pause of the tester touched.
#[derive(Debug, Clone)]
pub struct Undisturbed {
    /// Counts and moments. Duplicates and the like cover all packets.
    pub counts: Counts,
    /// Latency, ns; `None` if no histogram is kept.
    pub latency: Option<SparseHistogram>,
}

impl StreamTotals {
    /// Keeps the undisturbed packets apart from now on: until now all were.
    fn split(&mut self) {
        if self.undisturbed.is_none() {
            let apart = Undisturbed { counts: self.counts, latency: self.latency.clone() };
            self.undisturbed = Some(Box::new(apart));
        }
    }
}

/// All streams' totals.
#[derive(Debug, Clone)]
pub struct Totals {
    /// One for each stream.
    pub streams: Vec<StreamTotals>,
}

impl Totals {
    /// Nothing counted yet.
    pub fn new(streams: usize, scale: Option<Scale>) -> Self {
        let mut totals = Self { streams: Vec::new() };
        totals.grow(streams, scale);
        totals
    }

    /// Has rows for `streams` streams, at least as many as before.
    pub fn grow(&mut self, streams: usize, scale: Option<Scale>) {
        let empty = StreamTotals {
            counts: Counts::default(),
            latency: scale.map(SparseHistogram::new),
            undisturbed: None,
        };
        self.streams.resize(streams, empty);
    }

    /// Forgets everything counted.
    pub fn clear(&mut self) {
        for stream in &mut self.streams {
            stream.counts = Counts::default();
            stream.undisturbed = None;
            if let Some(latency) = &mut stream.latency {
                latency.clear();
            }
        }
    }

    /// Adds a table of as many rows, or of fewer if streams were added since.
    pub fn add(&mut self, table: &Table) {
        if !table.is_used || self.streams.is_empty() {
            return;
        }
        for (i, total) in self.streams.iter_mut().take(table.rows.len()).enumerate() {
            if table.is_idle(i) {
                continue;
            }
            let counts = table.counts(i);
            if table.is_touched(i) {
                total.split();
            }
            total.counts.merge(&counts);
            if let Some(apart) = &mut total.undisturbed {
                apart.counts.merge(&table.undisturbed(i));
            }
        }
        table.latencies.add_to(self.streams.iter_mut().map(|total| total.latency.as_mut()));
        let Some(touched) = &table.touched else { return };
        touched.latencies.add_to(self.streams.iter_mut().map(|total| total.latency.as_mut()));
        if self.streams.iter().any(|total| total.undisturbed.is_some()) {
            table
                .latencies
                .add_to(self.streams.iter_mut().map(|total| total.undisturbed.as_mut()?.latency.as_mut()));
        }
    }

    /// Adds other totals of the same shape.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.streams.iter_mut().zip(&other.streams) {
            if theirs.undisturbed.is_some() {
                mine.split();
            }
            if let Some(apart) = &mut mine.undisturbed {
                let (counts, latency) = match &theirs.undisturbed {
                    Some(theirs) => (&theirs.counts, &theirs.latency),
                    None => (&theirs.counts, &theirs.latency),
                };
                apart.counts.merge(counts);
                if let (Some(mine), Some(theirs)) = (&mut apart.latency, latency) {
                    mine.merge(theirs);
                }
            }
            mine.counts.merge(&theirs.counts);
            if let (Some(mine), Some(theirs)) = (&mut mine.latency, &theirs.latency) {
                mine.merge(theirs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Counts;
    use crate::recorder::{Arrival, Recorder};
    use proptest::prelude::*;
    use std::collections::HashSet;
    use units::Nanos;

    fn arrival(sequence: u32, latency: u64) -> Arrival {
        Arrival { sequence, bytes: 60, latency, ..Arrival::default() }
    }

    /// So the mean is that of packets whose delay is known.
    #[test]
    fn packets_without_a_time_are_no_samples_of_latency() {
        let mut recorder = Recorder::new(Table::new(1, None), 1);
        let arrival = Arrival { bytes: 64, latency: 100, ..Arrival::default() };
        recorder.record(&[arrival], Nanos(1_000));
        recorder.count(0, 60);
        let mut table = Table::new(1, None);
        recorder.swap(&mut table);
        let counts = table.counts(0);
        assert_eq!((counts.received, counts.bytes), (2, 124));
        assert_eq!((counts.latency.samples, counts.latency.mean()), (1, Some(100.0)));
    }

    #[test]
    fn jitter_of_a_known_series() {
        let mut recorder = Recorder::new(Table::new(1, Some(Scale::FINE)), 1);
        for (i, latency) in [100, 116, 100, 100].into_iter().enumerate() {
            recorder.record(&[arrival(i as u32, latency)], Nanos(i as u64 * 1_000));
        }
        let mut table = Table::new(1, Some(Scale::FINE));
        recorder.swap(&mut table);
        let row = table.counts(0);
        assert_eq!((row.delay_change.samples, row.delay_change.max), (3, 16));
        assert_eq!(row.delay_change.mean(), Some(32.0 / 3.0));
        assert_eq!((row.interarrival.min, row.interarrival.max), (1_000, 1_000));
        // 16·J: 0 → 16 → 16 + 16 − 1 = 31 → 31 + 0 − 2 = 29.
        assert_eq!(recorder.jitter().next().unwrap().ns(), Some(29.0 / 16.0));
    }

    #[test]
    fn strangers_are_told() {
        let mut recorder = Recorder::new(Table::new(2, None), 1);
        let strange =
            [Arrival { stream: 2, ..arrival(0, 1) }, Arrival { lane: 1, ..arrival(0, 1) }, arrival(0, 1)];
        assert_eq!(recorder.record(&strange, Nanos(0)), 2);
    }

    /// Two recorders of the same packets, one of which is notified of pauses; the results of both.
    fn with_pauses(packets: &[(u32, u64, u64)], pauses: &[(usize, u64)]) -> (Recorder, [StreamTotals; 2]) {
        let scale = Some(Scale::FINE);
        let mut recorders = [0, 1].map(|_| Recorder::new(Table::new(1, scale), 1));
        for (i, (sequence, latency, at)) in packets.iter().enumerate() {
            if let Some((_, until)) = pauses.iter().find(|(place, _)| *place == i) {
                recorders[1].touch_until(Nanos(*until));
            }
            recorders.iter_mut().for_each(|r| _ = r.record(&[arrival(*sequence, *latency)], Nanos(*at)));
        }
        let totals = recorders.each_mut().map(|recorder| {
            let (mut table, mut totals) = (Table::new(1, scale), Totals::new(1, scale));
            recorder.swap(&mut table);
            totals.add(&table);
            totals.streams.remove(0)
        });
        let [_, told] = recorders;
        (told, totals)
    }

    #[test]
    fn packets_that_a_pause_touched_are_kept_apart() {
        // One each microsecond, 500 ns on the way; a pause holds up the fourth and the fifth, which left before its end.
        let quiet = |n: u32| (n, 500, 10_000 + 1_000 * u64::from(n));
        let late = |n: u32, at: u64| (n, at - (9_500 + 1_000 * u64::from(n)), at);
        let packets: Vec<_> =
            (0..3).map(quiet).chain([late(3, 20_000), late(4, 20_000)]).chain((11..200).map(quiet)).collect();
        let (recorder, [plain, told]) = with_pauses(&packets, &[(3, 20_400)]);
        assert_eq!((plain.counts.received, plain.undisturbed.is_none()), (194, true));
        assert_eq!(
            (told.counts.latency, told.counts.interarrival),
            (plain.counts.latency, plain.counts.interarrival)
        );
        assert_eq!((told.counts.delay_change, &told.latency), (plain.counts.delay_change, &plain.latency));
        let apart = told.undisturbed.unwrap();
        assert_eq!((apart.counts.received, apart.counts.latency.max), (192, 500));
        // The pair before the pause, and those after the first packet behind it.
        assert_eq!((apart.counts.interarrival.samples, apart.counts.interarrival.max), (2 + 188, 1_000));
        assert_eq!(apart.counts.delay_change.max, 0);
        assert_eq!(apart.latency.unwrap().total(), 192);
        let jitters = [recorder.jitter().next(), recorder.undisturbed_jitter().next()];
        let [all, undisturbed] = jitters.map(|jitter| jitter.unwrap().ns().unwrap());
        // Half a nanosecond is left of any jitter: the estimate is rounded.
        assert!(undisturbed < 0.5 && all >= undisturbed, "{all} {undisturbed}");
    }

    #[test]
    fn jitter_without_pauses_is_that_of_the_other_packets() {
        let steady = |n: u64| (n as u32, 500 + 100 * (n % 2), 10_000 + 1_000 * n);
        let mut packets: Vec<_> = (0..400).map(steady).collect();
        packets[380] = (380, 50_500, 10_000 + 380_000 + 50_000);
        packets.iter_mut().skip(381).for_each(|packet| packet.2 += 60_000);
        let (told, [..]) = with_pauses(&packets, &[(380, 400_000)]);
        let [all, undisturbed] = [told.jitter().next(), told.undisturbed_jitter().next()]
            .map(|jitter| jitter.unwrap().ns().unwrap());
        assert!(all > 500.0 && (undisturbed - 100.0).abs() < 2.0, "{all} {undisturbed}");
    }

    #[test]
    fn numbers_missing_away_from_pauses_are_nobody_elses_fault() {
        let quiet = |n: u32| (n, 500, 10_000 + 1_000 * u64::from(n));
        // Three are missing in a pause, two elsewhere; one of the two comes late.
        let numbers = (0..3).chain(6..10).chain([12, 13, 10]).chain(14..20);
        let packets: Vec<_> = numbers.enumerate().map(|(i, n)| (n, 500, quiet(i as u32).2)).collect();
        let (recorder, [plain, told]) = with_pauses(&packets, &[(3, 12_600)]);
        assert_eq!((plain.counts.missed, told.counts.missed), (4, 1));
        assert!(recorder.is_quiet_since(0));
    }

    proptest! {
        /// The counts of all packets together are the same, regardless of which packets the pauses touch.
        #[test]
        fn pauses_change_nothing_of_all_packets(
            packets in proptest::collection::vec((0u32..300, 0u64..5_000), 1..200),
            pauses in proptest::collection::vec((0usize..200, 0u64..300_000), 0..4),
        ) {
            let packets: Vec<_> =
                (0u64..).zip(&packets).map(|(i, (n, latency))| (*n, *latency, 10_000 + 1_000 * i)).collect();
            let (_, [plain, told]) = with_pauses(&packets, &pauses);
            prop_assert_eq!(Counts { missed: plain.counts.missed, ..told.counts }, plain.counts);
            prop_assert_eq!(&told.latency, &plain.latency);
            prop_assert!(told.counts.missed <= plain.counts.missed);
            if let Some(apart) = told.undisturbed {
                prop_assert!(apart.counts.received <= told.counts.received);
            }
        }

        /// Each stream has the histogram of its packets, for any number of them and over several tables.
        #[test]
        fn streams_keep_their_latencies_apart(
            packets in proptest::collection::vec((0u32..3_000, 0u64..1 << 40), 0..300),
            split in 0usize..300,
        ) {
            let (streams, scale) = (3_000, Scale::COARSE);
            let mut recorder = Recorder::new(Table::new(streams, Some(scale)), 1);
            let (mut totals, mut table) = (Totals::new(streams, Some(scale)), Table::new(streams, Some(scale)));
            let mut expected = vec![SparseHistogram::new(scale); streams];
            for (i, (stream, latency)) in packets.iter().enumerate() {
                let index = *stream as usize;
                let sequence = expected[index].total() as u32;
                recorder.record(&[Arrival { stream: *stream, ..arrival(sequence, *latency) }], Nanos(i as u64));
                expected[index].add(scale.index(*latency), 1);
                if i == split {
                    recorder.swap(&mut table);
                    totals.add(&table);
                    table.clear();
                }
            }
            recorder.swap(&mut table);
            totals.add(&table);
            let found = totals.streams.iter().map(|stream| stream.latency.as_ref());
            prop_assert!(found.eq(expected.iter().map(Some)));
        }

        /// Against a model that remembers everything: any mix of loss, reordering and duplication.
        #[test]
        fn counts_agree_with_a_model(
            sequences in proptest::collection::vec((0u32..200, 0u64..10_000), 0..400),
            split in 0usize..400,
        ) {
            let scale = Some(Scale::MEDIUM);
            let mut recorder = Recorder::new(Table::new(1, scale), 1);
            let (mut totals, mut table) = (Totals::new(1, scale), Table::new(1, scale));
            let (mut seen, mut next, mut duplicates, mut reordered) = (HashSet::new(), 0, 0, 0);
            for (i, (sequence, latency)) in sequences.iter().enumerate() {
                recorder.record(&[arrival(*sequence, *latency)], Nanos(i as u64));
                if !seen.insert(*sequence) {
                    duplicates += 1;
                } else if *sequence < next {
                    reordered += 1;
                }
                next = next.max(sequence + 1);
                if i == split {
                    recorder.swap(&mut table);
                    totals.add(&table);
                    table.clear();
                }
            }
            recorder.swap(&mut table);
            totals.add(&table);
            let counts = totals.streams[0].counts;
            prop_assert_eq!(counts.received, seen.len() as u64);
            prop_assert_eq!((counts.duplicates, counts.reordered, counts.stale), (duplicates, reordered, 0));
            prop_assert_eq!(recorder.expected(0), u64::from(next));
            prop_assert_eq!(totals.streams[0].latency.as_ref().unwrap().total(), counts.received);
        }

        #[test]
        fn merging_is_associative(parts in proptest::collection::vec(
            proptest::collection::vec(0u64..1 << 40, 0..20), 3)) {
            let scale = Some(Scale::COARSE);
            let totals: Vec<Totals> = parts.iter().map(|latencies| {
                let mut recorder = Recorder::new(Table::new(1, scale), 1);
                for (i, latency) in latencies.iter().enumerate() {
                    recorder.record(&[arrival(i as u32, *latency)], Nanos(i as u64 * 7));
                }
                let (mut totals, mut table) = (Totals::new(1, scale), Table::new(1, scale));
                recorder.swap(&mut table);
                totals.add(&table);
                totals
            }).collect();
            let join = |a: &Totals, b: &Totals| { let mut sum = a.clone(); sum.merge(b); sum };
            let left = join(&join(&totals[0], &totals[1]), &totals[2]);
            let right = join(&totals[0], &join(&totals[1], &totals[2]));
            prop_assert_eq!(left.streams[0].counts, right.streams[0].counts);
            prop_assert_eq!(&left.streams[0].latency, &right.streams[0].latency);
        }
    }
}
