//! Even loads and streams without a rate.

mod common;

use common::{counted, even, load, sent};
use sched::{Pace, Schedule, Share, Slot, StreamLoad};
use units::Nanos;

#[test]
fn departures_are_arithmetic_to_the_nanosecond() {
    let slots = sent(&[(0, even(3_000_000))], &[], Nanos::from_millis(1), Share::WHOLE);
    assert_eq!(slots.len(), 3_000);
    for (j, slot) in slots.iter().enumerate() {
        assert_eq!(
            *slot,
            Slot { stream: 0, run: 1, number: j as u64, due: Nanos(1_000 + j as u64 * 1_000 / 3) }
        );
    }
}

#[test]
fn a_thousand_streams_leave_as_one_even_train() {
    let streams: Vec<_> = (0..1_000).map(|i| (i, even(1_000))).collect();
    let slots = sent(&streams, &[], Nanos::from_millis(10), Share::WHOLE);
    assert_eq!(slots.len(), 10_000);
    assert!(slots.windows(2).all(|w| w[1].due.0 - w[0].due.0 == 1_000));
    assert!(
        slots.iter().enumerate().all(|(j, s)| (s.stream, s.number) == (j as u32 % 1_000, j as u64 / 1_000))
    );
}

#[test]
fn groups_keep_the_mean_rate() {
    let burst = StreamLoad { group: 16, ..even(1_000_000) };
    let slots = sent(&[(0, burst)], &[], Nanos::from_millis(1), Share::WHOLE);
    assert_eq!(slots.len(), 1_008, "a group begun before the end is finished");
    assert!(slots.iter().enumerate().all(|(j, s)| s.due.0 == 1_000 + (j as u64 / 16) * 16_000));
}

#[test]
fn streams_without_a_rate_take_turns_in_the_room_left() {
    let greedy = load(Pace::Max);
    let mut schedule = Schedule::new(
        &[(0, greedy.clone()), (1, greedy), (2, even(1_000))],
        &[],
        Nanos(0),
        Nanos::from_secs(1),
        Share::WHOLE,
    );
    let mut out = [Slot::default(); 8];
    assert_eq!(schedule.poll(Nanos(0), &mut out, 20), 4);
    assert_eq!(out.map(|s| (s.stream, s.run))[..4], [(2, 1), (0, 8), (1, 8), (0, 3)]);
    assert_eq!(schedule.poll(Nanos::from_secs(1), &mut out, 8), 8, "late slots are still owed after the end");
    assert!(out.iter().all(|s| s.stream == 2));
    assert_eq!(schedule.owed(), 1_000 - 9);
}

#[test]
fn a_stream_alone_without_a_rate_fills_the_room_in_one_slot() {
    let alone = counted(Pace::Max, 100);
    let mut schedule = Schedule::new(&[(3, alone)], &[], Nanos(0), Nanos::from_secs(1), Share::WHOLE);
    let mut out = [Slot::default(); 8];
    for (number, run) in [(0, 64), (64, 36)] {
        assert_eq!(schedule.poll(Nanos(7), &mut out, 64), 1);
        assert_eq!(out[0], Slot { stream: 3, run, number, due: Nanos(7) });
    }
    assert_eq!(schedule.poll(Nanos(8), &mut out, 64), 0);
    assert!(!schedule.is_greedy());
}

#[test]
fn a_count_ends_a_stream_and_a_delay_starts_it_late() {
    let some = StreamLoad { count: Some(5), start_delay: Nanos(500), ..even(1_000_000_000) };
    let slots = sent(&[(0, some.clone()), (1, some)], &[], Nanos::MAX, Share::WHOLE);
    assert_eq!(slots.len(), 10);
    assert_eq!(
        (slots[0].due, slots[9]),
        (Nanos(1_500), Slot { stream: 1, run: 1, number: 4, due: Nanos(1_504) })
    );
}

#[test]
fn a_stream_alone_without_a_rate_takes_long_turns_on_a_shared_port() {
    let turns = |streams: &[(u32, StreamLoad)], index| {
        let share = Share { index, of: 2 };
        let mut schedule = Schedule::new(streams, &[], Nanos(0), Nanos::from_secs(1), share);
        let mut out = [Slot::default(); 3];
        let n = schedule.poll(Nanos(7), &mut out, 130);
        out[..n].iter().map(|s| (s.stream, s.number, s.run)).collect::<Vec<_>>()
    };
    let alone = [(0, counted(Pace::Max, 200)), (1, even(1))];
    assert_eq!(turns(&alone, 0), [(1, 0, 1), (0, 0, 64), (0, 128, 64)]);
    assert_eq!(turns(&alone, 1), [(0, 64, 64), (0, 192, 8)]);
    let two = [(0, load(Pace::Max)), (1, counted(Pace::Max, 99))];
    assert_eq!(turns(&two, 0), [(0, 0, 8), (1, 0, 8), (0, 16, 8)]);
}

#[test]
fn a_stream_without_a_rate_has_nothing_due_after_the_end() {
    let mut schedule = Schedule::new(&[(0, load(Pace::Max))], &[], Nanos::ZERO, Nanos(1_000), Share::WHOLE);
    let mut out = [Slot::default(); 8];
    assert!(schedule.poll(Nanos(999), &mut out, 64) > 0);
    assert!(schedule.next_due() <= Nanos(999) && !schedule.is_finished() && schedule.is_greedy());
    assert_eq!(schedule.next_paced_due(), Nanos::MAX, "a stream without a rate is never late");
    assert_eq!(schedule.poll(Nanos(1_000), &mut out, 64), 0);
    // Virtual time jumps to what is due next; something in the past would hold it for ever.
    assert_eq!(schedule.next_due(), Nanos::MAX);
    assert!(schedule.is_finished() && !schedule.is_greedy());
}
