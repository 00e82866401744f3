use super::*;
use crate::{Egress, Paths, Samples, Spans, Totals};
use proptest::prelude::*;

/// From here on a recorder looks ahead before it counts.
const MANY: usize = WARM_FROM;
const LANES: usize = 2;

/// Packets that come in together, as a step from what the lane expects.
#[derive(Debug, Clone)]
struct Step {
    stream: u32,
    lane: u8,
    packets: u16,
    ahead: u32,
    latency: u64,
    bytes: u16,
    egress: u32,
    /// Time since the burst before; zero: it belongs to that burst. Goes back by this many ns if the queue is another.
    passes: i64,
    /// A pause that touched packets sent before this time, ns before now; the largest: it still does.
    touched: Option<u64>,
    swaps: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let whom = (
        prop_oneof![20 => 0u32..3, 1 => Just(MANY as u32)],
        prop_oneof![20 => 0u8..2, 1 => Just(LANES as u8)],
        prop_oneof![2 => Just(1u16), 4 => 1u16..70, 1 => 1u16..=300],
        prop_oneof![9 => Just(0u32), 2 => 1u32..6, 2 => Just(u32::MAX), 1 => (0u32..9_000).prop_map(u32::wrapping_neg), 1 => any::<u32>()],
    );
    let what = (
        prop_oneof![Just(500u64), 0u64..3_000, 0u64..1 << 40],
        60u16..1_500,
        0u32..4,
        prop_oneof![2 => Just(0i64), 3 => 0i64..5_000, 1 => -500i64..0, 1 => Just(1 << 38)],
        prop_oneof![6 => Just(None), 1 => (0u64..5_000).prop_map(Some), 1 => Just(Some(u64::MAX))],
        prop::bool::weighted(0.05),
    );
    (whom, what).prop_map(
        |((stream, lane, packets, ahead), (latency, bytes, egress, passes, touched, swaps))| Step {
            stream,
            lane,
            packets,
            ahead,
            latency,
            bytes,
            egress,
            passes,
            touched,
            swaps,
        },
    )
}

/// Everything that counts arrivals.
struct Counters {
    recorder: Recorder,
    table: Table,
    totals: Totals,
    spans: Spans,
    paths: Paths,
    samples: Samples,
    egress: Egress,
    unknown: u64,
}

impl Counters {
    fn new(streams: usize, lanes: usize, scale: Option<Scale>) -> Self {
        let table = Table::new(streams, scale);
        Self {
            recorder: Recorder::new(table.clone(), lanes),
            table,
            totals: Totals::new(streams, scale),
            spans: Spans::new(streams, 1),
            paths: Paths::new(streams, 2),
            samples: Samples::new(3),
            egress: Egress::new(3),
            unknown: 0,
        }
    }

    fn record(&mut self, arrivals: &[Arrival], now: Nanos) {
        self.unknown += self.recorder.record(arrivals, now);
        self.record_beside(arrivals, now);
    }

    /// The same, packet by packet.
    fn record_singly(&mut self, arrivals: &[Arrival], now: Nanos) {
        let each: Vec<_> = arrivals.iter().flat_map(|arrival| arrival.each()).collect();
        self.unknown += self.recorder.record_each(&each, &vec![now; each.len()]);
        self.record_beside(&each, now);
    }

    fn record_beside(&mut self, arrivals: &[Arrival], now: Nanos) {
        self.paths.record(1, arrivals, now);
        self.samples.received(arrivals, now, &[2]);
        self.egress.record(arrivals, now);
    }

    fn swap(&mut self) {
        self.recorder.swap(&mut self.table);
        self.totals.add(&self.table);
        self.spans.add(0, &self.table);
        self.table.clear();
    }

    /// All that can be found out, floating-point numbers to the last bit.
    fn found(mut self) -> Vec<String> {
        let states = format!("{:?}", &self.recorder.states[..3 * self.recorder.lanes]);
        self.recorder.settle();
        self.swap();
        let recorder = &self.recorder;
        let mut all =
            vec![states, format!("{} {:?} {:?}", self.unknown, self.egress, self.totals.streams.len())];
        for (stream, (jitter, undisturbed)) in
            recorder.jitter().zip(recorder.undisturbed_jitter()).take(3).enumerate()
        {
            all.push(format!(
                "{:?} {jitter:?} {undisturbed:?} {} {} {:?} {:?}",
                self.totals.streams[stream],
                recorder.is_quiet_since(stream),
                recorder.expected(stream),
                recorder.progress(stream),
                self.spans.of(stream),
            ));
            all.push(format!("{:?}", self.paths.of(stream).collect::<Vec<_>>()));
            all.push(format!("{:?}", self.samples.of(stream).collect::<Vec<_>>()));
        }
        all.push(format!("{:?}", recorder.excess.get(..3)));
        all
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Packets that count together count as they would one by one: every figure is the same, to the bit.
    #[test]
    fn together_is_one_by_one(
        steps in prop::collection::vec(step(), 1..60),
        is_large in prop::bool::weighted(0.1),
        lanes in 1..=LANES,
        keeps_histograms: bool,
    ) {
        let (streams, scale) = match (is_large, keeps_histograms) {
            (true, _) => (MANY, None),
            (false, true) => (3, Some(Scale::COARSE)),
            (false, false) => (3, None),
        };
        let [mut together, mut one_by_one] = [0, 1].map(|_| Counters::new(streams, lanes, scale));
        let (mut next, mut now) = ([[0u32; LANES + 1]; 4], Nanos(1 << 41));
        let mut burst: Vec<Arrival> = Vec::new();
        for step in steps {
            if step.passes != 0 || step.swaps || step.touched.is_some() {
                together.record(&burst, now);
                one_by_one.record_singly(&burst, now);
                burst.clear();
                now = Nanos(now.0.saturating_add_signed(step.passes));
            }
            if let Some(before) = step.touched {
                let until = if before == u64::MAX { Nanos::MAX } else { now.since(Nanos(before)) };
                [&mut together, &mut one_by_one].into_iter().for_each(|one| one.recorder.touch_until(until));
            }
            if step.swaps {
                [&mut together, &mut one_by_one].into_iter().for_each(Counters::swap);
            }
            let Step { stream, lane, packets, latency, bytes, egress, .. } = step;
            let expected = &mut next[stream.min(3) as usize][usize::from(lane)];
            let sequence = expected.wrapping_add(step.ahead);
            *expected = sequence.wrapping_add(packets.into());
            burst.push(Arrival { stream, lane, packets, sequence, bytes, egress, latency });
        }
        together.record(&burst, now);
        one_by_one.record_singly(&burst, now);
        for (together, one_by_one) in together.found().into_iter().zip(one_by_one.found()) {
            prop_assert_eq!(together, one_by_one);
        }
    }

    /// Remaining jitter after packets with constant delay.
    #[test]
    fn jitter_fades_as_packet_by_packet(jitter_16 in prop_oneof![0u64..200, 0u64..1 << 40], packets in 0u16..200) {
        let each = (0..packets).fold(jitter_16, |jitter_16, _| next_jitter(jitter_16, 0));
        prop_assert_eq!(still_jitter(jitter_16, packets), each);
    }

    /// Sums that reach their end stay there, and squares are exact.
    #[test]
    fn sums_of_many_are_sums_of_each(values in prop::collection::vec((any::<u32>(), 0u32..33, 1u64..300), 0..20)) {
        let (mut together, mut one_by_one) = (crate::counts::Compact::default(), crate::counts::Compact::default());
        for (value, shift, times) in values {
            let value = u64::from(value) << shift;
            // Squares of all of them fit 128 bits.
            let value = value >> 8;
            together.add_times(value, times);
            (0..times).for_each(|_| one_by_one.add(value));
        }
        prop_assert_eq!(format!("{together:?}"), format!("{one_by_one:?}"));
    }
}

/// Counters are set to zero while packets are under way: they do not count, and none is missing.
#[test]
fn packets_sent_before_counters_were_set_to_zero_are_passed() {
    let mut recorder = Recorder::new(Table::new(1, Some(Scale::FINE)), 1);
    let one = |sequence, latency| Arrival { sequence, latency, bytes: 64, ..Arrival::default() };
    // Sent at 10, 20, ... and 30 ns under way.
    for n in 0..5u32 {
        recorder.record(&[one(n, 30)], Nanos(40 + 10 * u64::from(n)));
    }
    let mut before = Table::new(1, Some(Scale::FINE));
    recorder.swap(&mut before);
    recorder.begin_anew(Nanos(80));
    assert_eq!(before.counts(0).received, 5);
    // 5 and 6 were sent at 60 and 70, before; 6 is lost, 7 was sent at 80. 5 comes after it.
    assert!(!recorder.is_before(&one(7, 30), Nanos(110)) && recorder.is_before(&one(5, 60), Nanos(120)));
    recorder.record(&[one(7, 30)], Nanos(110));
    recorder.pass(&one(5, 60), Nanos(120));
    recorder.pass(&one(5, 60), Nanos(120));
    recorder.record(&[one(8, 40)], Nanos(130));
    let mut after = Table::new(1, Some(Scale::FINE));
    recorder.swap(&mut after);
    let counts = after.counts(0);
    assert_eq!((counts.received, counts.duplicates, counts.reordered, counts.missed), (2, 0, 0, 0));
    assert_eq!((counts.latency.samples, counts.latency.min, counts.latency.max), (2, 30, 40));
    assert_eq!((counts.delay_change.samples, counts.interarrival.samples), (1, 1));
    assert_eq!(counts.interarrival.mean(), Some(20.0), "from the first that counts");
    assert_eq!(recorder.expected(0), 9, "numbers continue");
    let mut spans = Spans::new(1, 1);
    spans.add(0, &after);
    assert_eq!(spans.of(0).map(|span| (span.first, span.last)), Some((Nanos(110), Nanos(130))));
}

/// Tables and rows without counts are skipped, and none besides: of each of these, a table has nothing else.
#[test]
fn duplicates_and_mere_counts_are_not_skipped() {
    let scale = Some(Scale::COARSE);
    let mut recorder = Recorder::new(Table::new(4, scale), 1);
    let (mut table, mut totals) = (Table::new(4, scale), Totals::new(4, scale));
    let one = |stream, sequence| Arrival { stream, sequence, bytes: 64, latency: 100, ..Arrival::default() };
    let mut used = |recorder: &mut Recorder| {
        recorder.swap(&mut table);
        let used: Vec<usize> = (0..4).filter(|stream| !table.is_idle(*stream)).collect();
        assert_eq!(table.is_used, !used.is_empty());
        totals.add(&table);
        table.clear();
        assert!(!table.is_used && (0..4).all(|stream| table.is_idle(stream)));
        let of = |n: usize| totals.streams[n].counts;
        (used, [1, 2, 3].map(|n| of(n).received), of(1).duplicates)
    };
    recorder.record(&[one(1, 0), one(3, 0)], Nanos(1_000));
    assert_eq!(used(&mut recorder), (vec![1, 3], [1, 0, 1], 0));
    recorder.record(&[one(1, 0)], Nanos(2_000));
    assert_eq!(used(&mut recorder), (vec![1], [1, 0, 1], 1));
    recorder.count(2, 60);
    assert_eq!(used(&mut recorder), (vec![2], [1, 1, 1], 1));
    assert_eq!(used(&mut recorder), (vec![], [1, 1, 1], 1));
    recorder.settle();
    assert_eq!(used(&mut recorder), (vec![], [1, 1, 1], 1), "nothing was in doubt");
}

/// A number far ahead is in doubt until nothing comes any more.
#[test]
fn what_settles_last_is_in_its_table() {
    let mut recorder = Recorder::new(Table::new(2, None), 1);
    let (mut table, mut totals) = (Table::new(2, None), Totals::new(2, None));
    let far = Arrival { stream: 1, sequence: 100_000, bytes: 64, latency: 100, ..Arrival::default() };
    recorder.record(&[far], Nanos(1_000));
    recorder.swap(&mut table);
    totals.add(&table);
    assert!(table.is_idle(1) && totals.streams[1].counts.received == 0);
    table.clear();
    recorder.settle();
    recorder.swap(&mut table);
    totals.add(&table);
    assert!(table.is_used && table.is_idle(0) && !table.is_idle(1));
    assert_eq!((totals.streams[1].counts.received, totals.streams[1].counts.bytes), (1, 64));
}
