//! Departures of every pace against times worked out by hand.

mod common;

use common::{counted, departures, load};
use sched::{CurvePoint, CurveShape, GapOrder, Pace, Schedule, Share, Slot, StreamLoad};
use std::sync::Arc;
use units::{Nanos, Pps};

const ENDLESS: Nanos = Nanos(u64::MAX - 1_000_000);

fn list(times: &[u64]) -> Arc<[Nanos]> {
    times.iter().map(|t| Nanos(*t)).collect()
}

fn curve(points: &[(u64, u64)], shape: CurveShape, repeat: bool) -> Pace {
    let points = points.iter().map(|(at, pps)| CurvePoint { at: Nanos(*at), rate: Pps::new(*pps) });
    Pace::Curve { points: points.collect(), shape, repeat }
}

#[test]
fn a_ramp_leaves_where_its_area_reaches_the_packets_number() {
    // N(t) = t²/2 · 10^6 pps/ms: packet j at sqrt(2j) ms · sqrt(1/1000), rounded down.
    let ramp = curve(&[(0, 0), (1_000_000, 1_000_000)], CurveShape::Linear, false);
    let times = departures(load(ramp.clone()), Nanos(1_100_000));
    assert_eq!(times[..6], [0, 44_721, 63_245, 77_459, 89_442, 100_000]);
    for (j, t) in (0u64..500).zip(&times) {
        assert_eq!(*t, (2 * j * 1_000_000_000).isqrt(), "packet {j}");
    }
    // 500 packets by the end of the ramp; from there on one a microsecond.
    assert_eq!(times[500..503], [1_000_000, 1_001_000, 1_002_000]);
    assert_eq!(times.len(), 600);
    let groups = StreamLoad { group: 2, ..load(ramp) };
    assert_eq!(departures(groups, Nanos(100_000))[..6], [0, 0, 63_245, 63_245, 89_442, 89_442]);
}

#[test]
fn a_falling_ramp_mirrors_a_rising_one_and_ends() {
    let times =
        departures(load(curve(&[(0, 1_000_000), (1_000_000, 0)], CurveShape::Linear, false)), ENDLESS);
    assert_eq!(times.len(), 500, "the area of the triangle");
    // Packet j leaves when 500 − j are left: sqrt(2(500 − j) · 10^9) ns before the end, rounded down.
    for (j, t) in (0u64..).zip(&times) {
        let before_end = 2 * (500 - j) * 1_000_000_000;
        let exact = before_end.isqrt() + u64::from(before_end.isqrt().pow(2) < before_end);
        assert_eq!(*t, 1_000_000 - exact, "packet {j}");
    }
}

#[test]
fn a_ramp_of_an_hour_to_a_hundred_million_is_exact() {
    let hour = 3_600_000_000_000u64;
    let ramp = curve(&[(0, 0), (hour, 100_000_000)], CurveShape::Linear, false);
    // N(t) = 10^8 · t² / (2 · 3600 s): packet 1 after sqrt(72 us·s) ns.
    let start = departures(load(ramp.clone()), Nanos(20_000_000));
    assert_eq!(start[1], (72_000_000_000_000u64).isqrt());
    assert_eq!(ramp.packets_in(Nanos(hour)), Some(180_000_000_000));
}

#[test]
fn steps_hold_their_rate_until_the_next() {
    let points = [(1_000, 10_000_000), (2_000, 0), (3_000, 100_000_000)];
    // 10 packets by 1000 (the first rate holds before it), 20 by 2000, silence, then one each 10 ns.
    let times = departures(load(curve(&points, CurveShape::Step, false)), Nanos(3_050));
    let wanted: Vec<u64> = (0..20).map(|j| j * 100).chain((0..5).map(|j| 3_000 + j * 10)).collect();
    assert_eq!(times, wanted);
    // Again from the beginning: 3000 ns a round with 20 packets.
    let times = departures(load(curve(&points, CurveShape::Step, true)), Nanos(7_000));
    assert_eq!(times.len(), 50);
    assert_eq!(times[20..23], [3_000, 3_100, 3_200]);
    assert_eq!((times[39], times[40]), (4_900, 6_000));
}

#[test]
fn a_curve_carries_parts_of_packets_over() {
    // 2.5 packets, silence, and again: packet 3 comes half a gap into the second round's first gap.
    let points = [(0, 1_000_000), (2_500, 0), (10_000, 0)];
    let times = departures(load(curve(&points, CurveShape::Step, true)), Nanos(30_000));
    assert_eq!(times, [0, 1_000, 2_000, 10_500, 11_500, 20_000, 21_000, 22_000]);
}

#[test]
fn a_curve_without_any_rate_sends_nothing() {
    for points in [&[][..], &[(0, 0)], &[(0, 0), (1_000, 0)]] {
        for repeat in [false, true] {
            assert!(departures(load(curve(points, CurveShape::Linear, repeat)), ENDLESS).is_empty());
        }
    }
    // Silent at first: the first packet begins what follows.
    let late = curve(&[(0, 0), (5_000, 1_000_000)], CurveShape::Step, false);
    assert_eq!(departures(load(late), Nanos(7_000)), [5_000, 6_000]);
}

#[test]
fn on_off_begins_each_on_with_a_packet() {
    // 3 Mpps for 1 us is 3 packets: 0, 333, 666.
    let pace = Pace::OnOff { rate: Pps::new(3_000_000), on: Nanos(1_000), off: Nanos(500) };
    assert_eq!(
        departures(load(pace.clone()), Nanos(3_334)),
        [0, 333, 666, 1_500, 1_833, 2_166, 3_000, 3_333]
    );
    assert_eq!(pace.mean_rate(), Some(Pps::new(2_000_000)));
    assert_eq!(departures(counted(pace, 4), ENDLESS), [0, 333, 666, 1_500]);
    let never = Pace::OnOff { rate: Pps::new(1), on: Nanos(0), off: Nanos(500) };
    assert!(departures(load(never), ENDLESS).is_empty());
}

#[test]
fn bursts_with_a_rate_inside() {
    let pace =
        Pace::Bursts { packets: 3, rate: Some(Pps::new(10_000_000)), every: Nanos(10_000), bursts: Some(2) };
    assert_eq!(departures(load(pace.clone()), ENDLESS), [0, 100, 200, 10_000, 10_100, 10_200]);
    assert_eq!(pace.mean_rate(), Some(Pps::new(300_000)));
    assert_eq!(departures(counted(pace, 5), ENDLESS).len(), 5);
}

#[test]
fn bursts_longer_than_their_interval_follow_without_a_pause() {
    let pace = Pace::Bursts { packets: 4, rate: Some(Pps::new(10_000_000)), every: Nanos(300), bursts: None };
    assert_eq!(departures(load(pace), Nanos(800)), [0, 100, 200, 300, 400, 500, 600, 700]);
}

#[test]
fn bursts_back_to_back_come_as_runs() {
    let pace = Pace::Bursts { packets: 100, rate: None, every: Nanos(5_000), bursts: Some(2) };
    let mut schedule = Schedule::new(&[(4, load(pace))], &[], Nanos(0), ENDLESS, Share::WHOLE);
    let mut out = [Slot::default(); 4];
    let slot = |run, number, due| Slot { stream: 4, run, number, due: Nanos(due) };
    assert_eq!(schedule.poll(Nanos(10), &mut out, 80), 1);
    assert_eq!(out[0], slot(80, 0, 0));
    assert_eq!(schedule.owed(), 120);
    assert_eq!(schedule.poll(Nanos(5_000), &mut out, 200), 2);
    assert_eq!(out[..2], [slot(20, 80, 0), slot(100, 100, 5_000)]);
    assert!(schedule.is_finished());
}

#[test]
fn workers_share_a_burst_in_chunks() {
    let pace = Pace::Bursts { packets: 150, rate: None, every: Nanos(5_000), bursts: Some(2) };
    let runs = |index| {
        let share = Share { index, of: 2 };
        let mut schedule = Schedule::new(&[(0, load(pace.clone()))], &[], Nanos(0), ENDLESS, share);
        let mut out = [Slot::default(); 8];
        let n = schedule.poll(ENDLESS, &mut out, 1_000);
        out[..n].iter().map(|s| (s.number, s.run)).collect::<Vec<_>>()
    };
    assert_eq!(runs(0), [(0, 64), (128, 22), (214, 64)]);
    assert_eq!(runs(1), [(64, 64), (150, 64), (278, 22)]);
}

#[test]
fn a_trace_repeats_each_period() {
    let pace = Pace::Trace { times: list(&[10, 10, 70]), period: Nanos(100) };
    assert_eq!(departures(load(pace.clone()), Nanos(300)), [10, 10, 70, 110, 110, 170, 210, 210, 270]);
    assert_eq!(departures(counted(pace.clone(), 4), ENDLESS), [10, 10, 70, 110]);
    assert_eq!(pace.mean_rate(), Some(Pps::new(30_000_000)));
    // The end of one round and the beginning of the next at the same time.
    let touching = Pace::Trace { times: list(&[0, 50]), period: Nanos(50) };
    assert_eq!(departures(load(touching), Nanos(101)), [0, 50, 50, 100, 100]);
    assert!(departures(load(Pace::Trace { times: list(&[]), period: Nanos(1) }), ENDLESS).is_empty());
}

#[test]
fn packets_of_a_trace_due_at_once_are_one_run() {
    let pace = Pace::Trace { times: list(&[10, 10, 10, 70]), period: Nanos(100) };
    let mut schedule = Schedule::new(&[(0, load(pace))], &[], Nanos(0), Nanos(100), Share::WHOLE);
    let mut out = [Slot::default(); 4];
    assert_eq!(schedule.poll(Nanos(99), &mut out, 64), 2);
    assert_eq!((out[0].run, out[1].run, out[1].number), (3, 1, 3));
}

#[test]
fn gaps_come_in_turn() {
    let pace = Pace::Gaps { gaps: list(&[5, 0, 20]), order: GapOrder::Sequential };
    assert_eq!(departures(load(pace.clone()), Nanos(56)), [0, 5, 5, 25, 30, 30, 50, 55, 55]);
    assert_eq!(pace.mean_rate(), Some(Pps::new(120_000_000)));
    for none in [list(&[]), list(&[0, 0])] {
        let pace = Pace::Gaps { gaps: none, order: GapOrder::Random { seed: 1 } };
        assert_eq!(departures(load(pace), ENDLESS), [0]);
    }
}

#[test]
fn random_gaps_are_of_the_list_and_of_the_seed() {
    let times = |seed| {
        let pace = Pace::Gaps { gaps: list(&[100, 300]), order: GapOrder::Random { seed } };
        departures(load(pace), Nanos(1_000_000))
    };
    assert!(times(1).windows(2).all(|w| [100, 300].contains(&(w[1] - w[0]))));
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}

/// Pins the draws: another version must send the same packets for the same seed.
#[test]
fn a_poisson_process_is_of_its_seed_for_ever() {
    let poisson = |rate, seed| Pace::Poisson { rate: Pps::new(rate), seed };
    let times = departures(load(poisson(1_000_000, 1)), Nanos(1_000_000));
    assert_eq!(times[..4], POISSON_SEED_1);
    // Three standard deviations around the 1000 expected.
    assert!(times.len().abs_diff(1_000) < 95, "{}", times.len());
    // Nothing but the scale changes with the rate.
    let slower = departures(load(poisson(1_000, 1)), Nanos(1_000_000_000));
    assert_eq!(slower.len(), times.len());
    assert!(slower.iter().zip(&times).all(|(slow, fast)| slow / 1_000 == *fast));
    let groups = departures(StreamLoad { group: 3, ..load(poisson(3_000_000, 1)) }, Nanos(1_000_000));
    assert!(groups.iter().zip(0..).all(|(due, j)| *due == times[j / 3]));
}

const POISSON_SEED_1: [u64; 4] = [288, 1_275, 2_100, 2_147];

#[test]
fn a_delay_starts_every_pace_late_and_a_count_ends_it() {
    let paces = [
        Pace::Even(Pps::new(1_000_000)),
        Pace::Poisson { rate: Pps::new(1_000_000), seed: 9 },
        Pace::Gaps { gaps: list(&[700]), order: GapOrder::Sequential },
        curve(&[(0, 0), (1_000_000, 1_000_000)], CurveShape::Linear, true),
        Pace::OnOff { rate: Pps::new(1_000_000), on: Nanos(4_000), off: Nanos(9_000) },
        Pace::Bursts { packets: 3, rate: None, every: Nanos(5_000), bursts: None },
        Pace::Trace { times: list(&[0, 3, 9]), period: Nanos(1_000) },
    ];
    for pace in paces {
        let prompt = departures(counted(pace.clone(), 7), ENDLESS);
        assert_eq!(prompt.len(), 7, "{pace:?}");
        let late = departures(StreamLoad { start_delay: Nanos(12_345), ..counted(pace, 7) }, ENDLESS);
        assert!(prompt.iter().zip(&late).all(|(prompt, late)| prompt + 12_345 == *late));
    }
}

#[test]
fn mean_rates() {
    let rate = |pace: Pace| pace.mean_rate();
    assert_eq!(rate(Pace::Max), None);
    assert_eq!(rate(Pace::Even(Pps::new(7))), Some(Pps::new(7)));
    let points = [(0, 0), (1_000_000, 1_000_000)];
    assert_eq!(rate(curve(&points, CurveShape::Linear, true)), Some(Pps::new(500_000)));
    assert_eq!(rate(curve(&points, CurveShape::Linear, false)), Some(Pps::new(1_000_000)));
    assert_eq!(rate(curve(&points, CurveShape::Step, true)), Some(Pps::ZERO));
}
