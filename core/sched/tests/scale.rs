//! Changes of speed, against times worked out by hand.

mod common;

use common::{counted, even, load, run};
use sched::{Chain, CurvePoint, CurveShape, Factor, Link, Pace, Schedule, Share, Slot, StreamLoad};
use units::{Nanos, Pps};

fn schedule(streams: &[(u32, StreamLoad)], duration: u64) -> Schedule {
    Schedule::new(streams, &[], Nanos(0), Nanos(duration), Share::WHOLE)
}

fn dues(slots: &[Slot], stream: u32) -> Vec<u64> {
    slots.iter().filter(|s| s.stream == stream).map(|s| s.due.0).collect()
}

#[test]
fn an_even_stream_goes_on_exactly_at_its_new_rate() {
    // 1 Mpps until 2500, then 3 Mpps: half a gap is left, that is 500/3 ns, then 1000/3 each.
    let mut schedule = schedule(&[(0, even(1_000_000))], 5_000);
    schedule.scale(None, Factor::new(3, 1), Nanos(2_500));
    assert_eq!(schedule.owed(), 3 + 7);
    let slots = run(&mut schedule);
    assert_eq!(dues(&slots, 0), [0, 1_000, 2_000, 2_666, 3_000, 3_333, 3_666, 4_000, 4_333, 4_666]);
}

#[test]
fn factors_are_of_the_load_and_one_brings_it_back() {
    let mut schedule = schedule(&[(0, even(1_000_000))], 6_000);
    schedule.scale(None, Factor::new(1, 2), Nanos(1_000));
    schedule.scale(None, Factor::ONE, Nanos(3_000));
    // Half as fast from 1000 to 3000: packet 1 at 1000, packet 2 at 3000, then each microsecond.
    assert_eq!(dues(&run(&mut schedule), 0), [0, 1_000, 3_000, 4_000, 5_000]);
}

#[test]
fn what_is_due_before_stays_due_however_late_it_is_taken() {
    let mut schedule = schedule(&[(0, even(1_000_000))], 10_000);
    schedule.scale(None, Factor::ZERO, Nanos(5_500));
    schedule.scale(None, Factor::ONE, Nanos(8_500));
    let mut out = [Slot::default(); 4];
    let mut all = Vec::new();
    for room in [4, 1, 4, 4] {
        let n = schedule.poll(Nanos(9_999), &mut out, room);
        all.extend(out[..n].iter().map(|s| s.due.0));
    }
    assert_eq!(all, [0, 1_000, 2_000, 3_000, 4_000, 5_000, 9_000]);
}

#[test]
fn a_held_stream_is_not_finished_and_loses_nothing() {
    for pace in [
        Pace::Even(Pps::new(1_000_000)),
        Pace::Poisson { rate: Pps::new(1_000_000), seed: 3 },
        Pace::Bursts { packets: 4, rate: None, every: Nanos(3_000), bursts: None },
        Pace::OnOff { rate: Pps::new(1_000_000), on: Nanos(3_000), off: Nanos(100) },
        Pace::Trace { times: [5, 900].map(Nanos).into(), period: Nanos(1_000) },
    ] {
        let load = counted(pace, 10);
        let plain = run(&mut schedule(&[(0, load.clone())], 1_000_000));
        let mut held = schedule(&[(0, load)], 1_000_000);
        held.scale(None, Factor::ZERO, Nanos(2_500));
        let mut slots = run(&mut held);
        let before = plain.iter().filter(|s| s.due.0 < 2_500).count();
        assert_eq!(slots, plain[..before]);
        assert_eq!((held.next_due(), held.owed(), held.is_finished()), (Nanos::MAX, 0, false));
        held.scale(None, Factor::ONE, Nanos(102_500));
        assert_eq!(held.owed(), 10 - before as u64);
        slots.extend(run(&mut held));
        assert!(held.is_finished());
        let moved = |s: &Slot| Slot { due: Nanos(s.due.0 + if s.due.0 < 2_500 { 0 } else { 100_000 }), ..*s };
        assert_eq!(slots, plain.iter().map(moved).collect::<Vec<_>>());
    }
}

#[test]
fn streams_without_a_rate_are_only_held() {
    let mut schedule = schedule(&[(0, load(Pace::Max)), (1, load(Pace::Max))], 10_000);
    let mut out = [Slot::default(); 2];
    schedule.scale(Some(&[1]), Factor::ZERO, Nanos(100));
    schedule.scale(None, Factor::ZERO, Nanos(200));
    schedule.scale(None, Factor::new(1, 3), Nanos(300));
    let mut polled = |now| {
        let n = schedule.poll(Nanos(now), &mut out, 16);
        (
            out[..n].iter().map(|s| (s.stream, s.number, s.run)).collect::<Vec<_>>(),
            schedule.is_greedy(),
            schedule.is_finished(),
        )
    };
    assert_eq!(polled(50), (vec![(0, 0, 8), (1, 0, 8)], true, false));
    assert_eq!(polled(150), (vec![(0, 8, 8), (0, 16, 8)], true, false));
    assert_eq!(polled(250), (vec![], false, false));
    assert_eq!(polled(350).0.len(), 2);
}

#[test]
fn streams_leave_their_class_and_keep_their_times() {
    // Ten streams of 1 Mpps: stream i at 100·i + 1000·k. Streams 3 and 7 at double speed from 2000 on.
    let streams: Vec<_> = (0..10).map(|i| (i, even(1_000_000))).collect();
    for fast in [vec![3, 7], (0..10).filter(|i| *i != 4).collect(), vec![5], (0..10).collect()] {
        let mut schedule = schedule(&streams, 4_000);
        schedule.scale(Some(&fast), Factor::new(2, 1), Nanos(2_000));
        let owed = schedule.owed();
        let slots = run(&mut schedule);
        assert_eq!(slots.len() as u64, owed);
        for stream in 0..10 {
            let i = u64::from(stream);
            let slow = [0, 1_000, 2_000, 3_000].map(|t| t + 100 * i);
            let first = 2_000 + 50 * i;
            let wanted = if fast.contains(&stream) {
                vec![slow[0], slow[1], first, first + 500, first + 1_000, first + 1_500]
            } else {
                slow.to_vec()
            };
            assert_eq!(dues(&slots, stream), wanted, "stream {stream} of {fast:?}");
        }
        assert!(slots.windows(2).all(|w| w[0].due <= w[1].due));
    }
}

#[test]
fn many_streams_split_into_single_ones() {
    let streams: Vec<_> = (0..100).map(|i| (i, even(1_000_000))).collect();
    let mut schedule = schedule(&streams, 4_000);
    schedule.scale(Some(&[98, 3]), Factor::ZERO, Nanos(2_000));
    schedule.scale(Some(&[3, 5]), Factor::new(4, 1), Nanos(3_000));
    let owed = schedule.owed();
    let slots = run(&mut schedule);
    assert_eq!(slots.len() as u64, owed);
    // Stream 3: 30 ns into its gap when held; a quarter of that after 3000, then each 250.
    assert_eq!(dues(&slots, 3), [30, 1_030, 3_007, 3_257, 3_507, 3_757]);
    assert_eq!(dues(&slots, 5), [50, 1_050, 2_050, 3_012, 3_262, 3_512, 3_762]);
    assert_eq!(dues(&slots, 98), [980, 1_980]);
    assert_eq!(dues(&slots, 99), [990, 1_990, 2_990, 3_990]);
}

#[test]
fn curves_chains_and_delays_are_stretched() {
    let points = [(0, 10), (1_000, 20)]
        .map(|(at, rate)| CurvePoint { at: Nanos(at), rate: Pps::new(rate * 1_000_000) });
    let curve = Pace::Curve { points: points.into(), shape: CurveShape::Step, repeat: false };
    let delayed = StreamLoad { start_delay: Nanos(1_000), ..counted(curve, 13) };
    let mut stretched = schedule(&[(0, delayed)], 100_000);
    stretched.scale(None, Factor::new(1, 2), Nanos(0));
    let wanted: Vec<u64> = (0..10).map(|j| 2_000 + 200 * j).chain([4_000, 4_100, 4_200]).collect();
    assert_eq!(dues(&run(&mut stretched), 0), wanted);

    let link = |stream| Link {
        stream,
        load: counted(Pace::Even(Pps::new(1_000_000)), 1),
        gap: Nanos(500),
        ends_at_last: false,
    };
    let chain =
        Chain { links: vec![link(4), link(9)], loops: None, start_delay: Nanos(100), ..Chain::default() };
    let mut schedule = Schedule::new(&[], &[chain], Nanos(0), Nanos(4_000), Share::WHOLE);
    schedule.scale(Some(&[9]), Factor::new(3, 1), Nanos(1_000));
    let slots = run(&mut schedule);
    assert_eq!(
        (dues(&slots, 4), dues(&slots, 9)),
        (vec![100, 1_700, 2_700, 3_700], vec![1_200, 2_200, 3_200])
    );
}

#[test]
fn odd_factors_stay_exact_over_many_changes() {
    let mut schedule = schedule(&[(0, even(1_000_000))], 2_000_000);
    for k in 1..=1_000u64 {
        let factor = if k % 2 == 1 { Factor::new(1, 3) } else { Factor::new(5, 3) };
        schedule.scale(None, factor, Nanos(k * 1_000));
    }
    schedule.scale(None, Factor::ONE, Nanos(1_001_000));
    // 1000 ns at 1/3 and 1000 ns at 5/3 together are 2000 ns: what 1001 changes round stays below a nanosecond.
    let slots = run(&mut schedule);
    assert_eq!(slots.len(), 2_000);
    assert_eq!(slots.last().map(|s| s.due.0), Some(1_999_000));
}
