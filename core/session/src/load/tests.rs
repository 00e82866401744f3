//! Numbers worked out by hand.

use super::*;
use proptest::prelude::*;

fn at(open: OpenRate) -> LoadPlan {
    LoadPlan::at(open)
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn constant(rate: u64) -> LoadPlan {
    at(OpenRate::Constant(Pps::new(rate)))
}

/// Sessions opened at each of these times, in ms.
fn opened(plan: &LoadPlan, times: &[u64]) -> Vec<u64> {
    let mut opener = Opener::new(plan, 0, 1);
    times.iter().map(|time| opener.poll(ms(*time), 0, u64::MAX).count).collect()
}

#[test]
fn a_rate_is_kept_exactly() {
    assert_eq!(opened(&constant(10), &[0, 99, 100, 100, 1_000, 1_099, 10_000]), [1, 0, 1, 0, 9, 0, 90]);
    let mut opener = Opener::new(&constant(3), 0, 1);
    assert_eq!(opener.poll(Nanos(0), 0, u64::MAX), Opening { first: 0, step: 1, count: 1 });
    assert_eq!(opener.deadline(0), Nanos(333_333_333));
    assert_eq!(opener.poll(Nanos(333_333_332), 0, u64::MAX).count, 0);
    assert_eq!(opener.poll(Nanos(333_333_333), 0, u64::MAX), Opening { first: 1, step: 1, count: 1 });
    assert_eq!(opener.deadline(0), Nanos(666_666_666));
    // A day of a million a second.
    let mut opener = Opener::new(&constant(1_000_000), 0, 1);
    assert_eq!(opener.poll(Nanos::from_secs(86_400), 0, u64::MAX).count, 86_400_000_001);
    assert_eq!(opener.totals().late_max, Nanos::from_secs(86_400));
}

#[test]
fn lateness_is_made_up_and_counted() {
    let mut opener = Opener::new(&constant(1_000), 0, 1);
    assert_eq!(opener.poll(ms(0), 0, u64::MAX).count, 1);
    // Due at 1, 2, … 10 ms: those until 8 ms are more than a millisecond late.
    assert_eq!(opener.poll(ms(10), 0, u64::MAX).count, 10);
    let totals = opener.totals();
    assert_eq!((totals.due, totals.opened, totals.withheld, totals.late), (11, 11, 0, 8));
    assert_eq!(totals.late_max, ms(9));
}

#[test]
fn ramps_open_the_area_under_them() {
    // 0 to 100/s in 2 s: 100; 100/s for 3 s: 300; back to 0 in 1 s: 50.
    let curve = RateCurve::ramp(Pps::new(100), ms(2_000), ms(3_000), ms(1_000));
    let plan = at(OpenRate::Curve(curve));
    let mut opener = Opener::new(&plan, 0, 1);
    let all: Vec<u64> = [1_000, 2_000, 5_000, 6_000, 60_000]
        .map(|time| {
            opener.poll(ms(time) - Nanos(1), 0, u64::MAX);
            opener.totals().opened
        })
        .to_vec();
    assert_eq!(all, [25, 100, 400, 450, 450]);
    assert_eq!(opener.deadline(0), Nanos::MAX);
    // Session n of the ramp is due when 25·t² = n: the last nanosecond at which it is not more.
    let rate = Rate::new(&plan.open);
    assert_eq!(rate.when(25), ms(1_000));
    assert_eq!(rate.when(36), ms(1_200));
    assert_eq!(rate.when(200), ms(3_000));
}

#[test]
fn steps_and_delays_and_limits() {
    let points = vec![(ms(0), Pps::new(10)), (ms(1_000), Pps::new(10)), (ms(1_000), Pps::new(100))];
    assert_eq!(opened(&at(OpenRate::Curve(RateCurve { points })), &[999, 1_999, 2_000]), [10, 100, 1]);
    let plan = LoadPlan { start_delay: ms(500), count: Some(3), ..constant(10) };
    assert_eq!(opened(&plan, &[0, 499, 500, 600, 10_000]), [0, 0, 1, 1, 1]);
    let plan = LoadPlan { time: Some(ms(1_000)), start_delay: ms(500), ..constant(10) };
    let mut opener = Opener::new(&plan, 0, 1);
    assert_eq!(
        (opener.poll(ms(5_000), 0, u64::MAX).count, opener.is_done(ms(1_499)), opener.is_done(ms(1_500))),
        (10, false, true)
    );
    let none = at(OpenRate::Curve(RateCurve { points: Vec::new() }));
    assert_eq!(opened(&none, &[0, 1_000_000]), [0, 0]);
}

#[test]
fn a_ceiling_withholds_and_says_so() {
    let plan = LoadPlan { concurrent: Some(5), ..constant(1_000) };
    let mut opener = Opener::new(&plan, 0, 1);
    assert_eq!(opener.poll(ms(9), 3, u64::MAX).count, 2);
    let totals = opener.totals();
    assert_eq!((totals.due, totals.opened, totals.withheld), (10, 2, 8));
    // What was withheld does not come back, and numbers go on with the turns.
    assert_eq!(opener.poll(ms(10), 0, u64::MAX), Opening { first: 10, step: 1, count: 1 });
}

#[test]
fn a_target_is_reached_at_once_and_held() {
    let plan = LoadPlan { concurrent: Some(100), count: Some(250), ..at(OpenRate::Max) };
    let mut opener = Opener::new(&plan, 0, 1);
    assert_eq!(opener.poll(ms(0), 0, u64::MAX).count, 100);
    assert_eq!((opener.poll(ms(1), 100, u64::MAX).count, opener.deadline(100)), (0, Nanos::MAX));
    assert_eq!(
        opener.poll(ms(2), 60, u64::MAX).numbers().collect::<Vec<_>>(),
        (100..140).collect::<Vec<_>>()
    );
    assert_eq!(opener.poll(ms(3), 0, u64::MAX).count, 100);
    assert_eq!((opener.poll(ms(4), 0, u64::MAX).count, opener.is_done(ms(4))), (10, true));
    assert_eq!(opener.poll(ms(5), 0, u64::MAX).count, 0);
    let default = LoadPlan { count: Some(7), ..at(OpenRate::Max) };
    assert_eq!(opened(&default, &[0]), [7]);
    assert_eq!(opened(&at(OpenRate::Max), &[0]), [1_000]);
}

#[test]
fn places_stay_empty_for_the_down_time() {
    let down = Delay::Constant(ms(100));
    let plan = LoadPlan { concurrent: Some(10), down, ..at(OpenRate::Max) };
    let mut opener = Opener::new(&plan, 0, 1);
    assert_eq!(opener.poll(ms(0), 0, u64::MAX).count, 10);
    opener.ended(ms(5), 4);
    assert_eq!((opener.poll(ms(5), 6, u64::MAX).count, opener.deadline(6)), (0, ms(105)));
    assert_eq!(opener.poll(ms(104), 6, u64::MAX).count, 0);
    assert_eq!(opener.poll(ms(105), 6, u64::MAX).count, 4);
}

/// Sessions opened until `end` if each fails after 1 ms, in a place of `concurrent`.
fn opened_in_vain(plan: &LoadPlan, end: u64) -> (u64, Vec<u64>) {
    let mut opener = Opener::new(plan, 0, 1);
    let (mut active, mut all, mut times) = (0, 0, Vec::new());
    for time in 0..end {
        opener.ended(ms(time), active);
        opener.tried(ms(time), active, 7);
        let opening = opener.poll(ms(time), 0, u64::MAX);
        active = opening.count;
        all += active;
        if active > 0 {
            times.push(time);
        } else {
            assert!(opener.deadline(0) > ms(time), "{time}");
        }
    }
    (all, times)
}

#[test]
fn sessions_that_all_fail_are_replaced_after_pauses() {
    let plan = LoadPlan { concurrent: Some(10), ..at(OpenRate::Max) };
    let (all, times) = opened_in_vain(&plan, 10_000);
    assert_eq!(times[..7], [0, 10, 30, 70, 150, 310, 630]);
    assert!(times.windows(2).rev().take(5).all(|pair| pair[1] - pair[0] == 1_000), "{times:?}");
    assert_eq!(all, 10 * times.len() as u64);
    // Places that are free only after a while do not wake it in a pause.
    let idle = LoadPlan { down: Delay::Constant(ms(5)), ..plan.clone() };
    assert!((100..200).contains(&opened_in_vain(&idle, 10_000).0));
    // A rate, and a number of sessions, are asked for.
    let rate = LoadPlan { concurrent: Some(10), ..constant(1_000) };
    assert_eq!(opened_in_vain(&rate, 1_000).0, 1_000);
    let count = LoadPlan { count: Some(2_000), ..plan };
    assert_eq!(opened_in_vain(&count, 1_000).0, 2_000);
}

#[test]
fn progress_ends_the_pauses() {
    let plan = LoadPlan { concurrent: Some(10), ..at(OpenRate::Max) };
    let mut opener = Opener::new(&plan, 0, 1);
    for time in [0, 10, 30, 70] {
        assert_eq!(opener.poll(ms(time), 0, u64::MAX).count, 10, "{time}");
        opener.tried(ms(time), 10, 0);
        assert_eq!(opener.poll(ms(time), 0, u64::MAX).count, 0);
        assert!(opener.deadline(0) > ms(time));
    }
    assert_eq!(opener.poll(ms(200), 0, u64::MAX).count, 10);
    // One of ten came through.
    opener.tried(ms(201), 10, 1);
    assert_eq!(opener.poll(ms(201), 0, u64::MAX).count, 10);
    // A session that fails beside others that live changes nothing.
    opener.tried(ms(202), 1, 1);
    assert_eq!(opener.poll(ms(202), 9, u64::MAX).count, 1);
}

#[test]
fn the_most_at_a_time_leaves_the_others_due() {
    let plan = LoadPlan { concurrent: Some(7), count: Some(9), ..constant(1_000) };
    let mut opener = Opener::new(&plan, 0, 1);
    assert_eq!(
        (opener.poll(ms(4), 0, 3), opener.missed(ms(4))),
        (Opening { first: 0, step: 1, count: 3 }, 2)
    );
    assert_eq!((opener.poll(ms(4), 3, 0).count, opener.totals().withheld), (0, 0));
    assert_eq!(
        (opener.poll(ms(4), 3, 3), opener.missed(ms(4))),
        (Opening { first: 3, step: 1, count: 2 }, 0)
    );
    // Only turns that it looked at can be withheld.
    assert_eq!((opener.poll(ms(7), 6, 2).count, opener.totals().withheld, opener.missed(ms(7))), (1, 1, 1));
    // Not more than are left.
    assert_eq!(opener.missed(ms(500)), 3);
    let fast = LoadPlan { concurrent: Some(7), ..at(OpenRate::Max) };
    let mut opener = Opener::new(&fast, 0, 1);
    assert_eq!((opener.poll(ms(0), 0, 3).count, opener.poll(ms(0), 3, 9).count), (3, 4));
    assert_eq!(opener.missed(ms(1)), 0);
}

#[test]
fn what_was_due_and_not_opened_is_missed() {
    let plan = LoadPlan { start_delay: ms(10), time: Some(ms(5)), ..constant(1_000) };
    let mut opener = Opener::new(&plan, 0, 1);
    assert_eq!([9, 10, 12, 15, 1_000].map(|time| opener.missed(ms(time))), [0, 1, 3, 5, 5]);
    assert_eq!((opener.poll(ms(12), 0, u64::MAX).count, opener.missed(ms(1_000))), (3, 2));
    opener.stop();
    assert_eq!(opener.missed(ms(1_000)), 2);
    // Of two workers each misses its own.
    assert_eq!([0, 1].map(|worker| Opener::new(&plan, worker, 2).missed(ms(20))), [3, 2]);
}

#[test]
fn nothing_is_due_behind_a_limit() {
    let mut opener = Opener::new(&constant(1_000), 0, 1);
    assert_eq!(opener.poll(ms(3), 0, 2).count, 2);
    opener.stop_at(ms(5));
    opener.stop_at(ms(9));
    assert_eq!((opener.poll(ms(9), 0, u64::MAX).count, opener.missed(ms(1_000))), (0, 3));
    assert!(opener.is_done(ms(5)));
    assert_eq!(opener.deadline(0), Nanos::MAX);
}

proptest! {
    /// For any number of workers and polls: the same sessions at the same times.
    #[test]
    fn workers_open_what_one_would(
        rates in proptest::collection::vec((0u64..2_000, 0u64..5_000), 1..5), workers in 1u64..5,
        mut times in proptest::collection::vec(0u64..10_000_000_000, 1..20), count in proptest::option::of(0u64..5_000),
    ) {
        let mut time = 0;
        let points = rates.iter().map(|(gap, rate)| { time += gap; (ms(time), Pps::from_micro(rate * 999_999)) }).collect();
        let plan = LoadPlan { count, ..at(OpenRate::Curve(RateCurve { points })) };
        times.sort_unstable();
        let mut one = Opener::new(&plan, 0, 1);
        let mut many: Vec<_> = (0..workers).map(|worker| Opener::new(&plan, worker, workers)).collect();
        let mut expected = Vec::new();
        for time in &times {
            let alone: Vec<u64> = one.poll(Nanos(*time), 0, u64::MAX).numbers().collect();
            let mut together: Vec<u64> = many.iter_mut().flat_map(|opener| opener.poll(Nanos(*time), 0, u64::MAX).numbers()).collect();
            together.sort_unstable();
            prop_assert_eq!(&alone, &together);
            expected.extend(alone);
        }
        // Asked once, at the end: the same again.
        let last = times[times.len() - 1];
        let at_once: Vec<u64> = Opener::new(&plan, 0, 1).poll(Nanos(last), 0, u64::MAX).numbers().collect();
        prop_assert_eq!(at_once, expected);
        prop_assert_eq!(one.totals().withheld, 0);
    }

    /// A session is due at its time and not a nanosecond before.
    #[test]
    fn when_and_due_agree(rates in proptest::collection::vec((0u64..3_000_000_000, 0u64..1 << 40), 1..6), number in 0u64..100_000) {
        let mut time = 0;
        let points = rates.iter().map(|(gap, rate)| { time += gap; (Nanos(time), Pps::from_micro(*rate)) }).collect();
        let rate = Rate::new(&OpenRate::Curve(RateCurve { points }));
        let when = rate.when(number);
        if when < Nanos::MAX {
            prop_assert!(rate.due(when) > number);
            prop_assert!(when.0 == 0 || rate.due(Nanos(when.0 - 1)) <= number);
        } else {
            prop_assert!(rate.due(Nanos(u64::MAX / 4)) <= number);
        }
    }
}

#[test]
fn a_changed_rate_is_kept_exactly_by_all_workers_together() {
    let mut openers = [0, 1, 2].map(|worker| Opener::new(&constant(1_000), worker, 3));
    // A second of all, one of nothing but what is due at its beginning, one of a quarter, and some of twice the rate; told some time before.
    for (at, scale) in [(1_000, Scale::new(0, 1)), (2_000, Scale::new(1, 4)), (3_000, Scale::new(2, 1))] {
        openers.iter_mut().for_each(|opener| opener.scale(ms(at), scale));
    }
    let mut opened = |time| -> u64 {
        openers.iter_mut().map(|opener| opener.poll(ms(time) - Nanos(1), 0, u64::MAX).count).sum()
    };
    assert_eq!([1_000, 2_000, 3_000, 3_500, 4_000].map(&mut opened), [1_000, 1, 249, 1_000, 1_000]);
    assert!(openers.iter().all(|opener| opener.totals().withheld == 0));
    // The next one is due when the plan's 3,250th millisecond is there.
    assert_eq!(openers.iter().map(|opener| opener.deadline(0)).min(), Some(ms(4_000)));
}

#[test]
fn without_a_rate_the_number_at_a_time_is_scaled() {
    let plan = LoadPlan { concurrent: Some(10), ..at(OpenRate::Max) };
    let mut openers = [0, 1].map(|worker| Opener::new(&plan, worker, 2));
    for (at, scale) in [(100, Scale::new(0, 1)), (200, Scale::new(3, 2))] {
        openers.iter_mut().for_each(|opener| opener.scale(ms(at), scale));
    }
    let mut opened =
        |time| -> u64 { openers.iter_mut().map(|opener| opener.poll(ms(time), 0, u64::MAX).count).sum() };
    assert_eq!([99, 100, 199, 200].map(&mut opened), [10, 0, 0, 15]);
}
