//! Flows that overlap, against a list of all their departures.

mod common;

use common::{counted, load, packets, run, sent};
use proptest::prelude::*;
use sched::{Factor, FlowLoops, FlowTurns, Pace, Schedule, Share, StreamLoad};
use std::sync::Arc;
use units::{Nanos, Pps};

/// Packets per second, millionths of them in a departure's exact time.
const MICRO: u128 = 1_000_000_000_000_000;

fn flows(offsets: &[u64], micro: u64, flows: Option<u64>) -> Pace {
    let offsets: Arc<[Nanos]> = offsets.iter().map(|offset| Nanos(*offset)).collect();
    Pace::Flows { offsets, rate: Pps::from_micro(micro), flows, loops: FlowLoops::ONCE, take: FlowTurns::ALL }
}

fn looped(pace: Pace, times: u64, period: u64) -> Pace {
    let Pace::Flows { offsets, rate, flows, take, .. } = pace else { return pace };
    Pace::Flows { offsets, rate, flows, loops: FlowLoops { times, period: Nanos(period) }, take }
}

fn offsets_len(load: &StreamLoad) -> u64 {
    let Pace::Flows { offsets, .. } = &load.pace else { return 1 };
    offsets.len() as u64
}

/// Time and number of every packet before `span`, by what a flow is.
fn all(offsets: &[u64], micro: u64, flows: Option<u64>, span: u64) -> Vec<(u64, u64)> {
    let mut list = Vec::new();
    for flow in 0..flows.unwrap_or(u64::MAX) {
        let begin = (u128::from(flow) * MICRO / u128::from(micro)) as u64;
        if begin >= span {
            break;
        }
        let own =
            offsets.iter().zip(0..).map(|(offset, k)| (begin + offset, flow * offsets.len() as u64 + k));
        list.extend(own.filter(|(due, _)| *due < span));
    }
    list.sort_unstable();
    list
}

#[test]
fn each_flow_has_all_its_packets_in_the_order_of_time() {
    // A flow every 100 ns whose third packet comes when the third flow has begun.
    let pace = flows(&[0, 30, 250], 10_000_000_000_000, Some(3));
    let slots = sent(&[(4, load(pace.clone()))], &[], Nanos(1_000_000), Share::WHOLE);
    let list: Vec<_> = slots.iter().map(|slot| (slot.due.0 - 1_000, slot.number)).collect();
    let wanted = [(0, 0), (30, 1), (100, 3), (130, 4), (200, 6), (230, 7), (250, 2), (350, 5), (450, 8)];
    assert_eq!(list, wanted);
    assert_eq!(pace.mean_rate(), Some(Pps::new(30_000_000)));
    assert_eq!(counted(pace.clone(), 4).packets_in(Nanos(1_000_000)), Some(4));
    assert_eq!(load(pace).packets_in(Nanos(101)), Some(3));
}

#[test]
fn loops_send_the_same_flows_again() {
    let pace = looped(flows(&[0, 30, 250], 10_000_000_000_000, Some(2)), 3, 400);
    let slots = sent(&[(4, load(pace.clone()))], &[], Nanos(1_000_000), Share::WHOLE);
    let list: Vec<_> = slots.iter().map(|slot| (slot.due.0 - 1_000, slot.number)).collect();
    let one = [(0, 0), (30, 1), (100, 3), (130, 4), (250, 2), (350, 5)];
    let wanted: Vec<_> =
        (0..3).flat_map(|round| one.map(|(at, number)| (round * 400 + at, number))).collect();
    assert_eq!(list, wanted);
    assert_eq!(pace.mean_rate(), Some(Pps::new(15_000_000)));
    assert_eq!(load(pace.clone()).packets_in(Nanos(501)), Some(9));
    assert_eq!(counted(pace, 7).packets_in(Nanos(1_000_000)), Some(7));
}

#[test]
fn flows_far_apart_from_their_last_packet_are_found_at_once() {
    // A million flows a second and a packet an hour later: 3.6 billion periods between the two.
    let hour = 3_600_000_000_000;
    let slots =
        sent(&[(0, load(flows(&[0, hour], 1_000_000_000_000, Some(2))))], &[], Nanos(2 * hour), Share::WHOLE);
    let list: Vec<_> = slots.iter().map(|slot| (slot.due.0 - 1_000, slot.number)).collect();
    assert_eq!(list, [(0, 0), (1_000, 2), (hour, 1), (hour + 1_000, 3)]);
    let endless = load(flows(&[hour, 3 * hour], 1_000_000_000_000, None));
    assert_eq!(endless.packets_in(Nanos(hour + 5_000)), Some(5));
}

#[test]
fn without_packets_or_flows_there_are_no_departures() {
    for pace in [flows(&[], 1_000_000, None), flows(&[5], 0, None), flows(&[5], 1_000_000, Some(0))] {
        assert_eq!(load(pace.clone()).packets_in(Nanos::MAX), Some(0), "{pace:?}");
        assert!(sent(&[(0, load(pace))], &[], Nanos(u64::MAX - 1_000_000), Share::WHOLE).is_empty());
    }
}

#[test]
fn packets_of_a_flow_due_at_once_are_one_run() {
    let mut schedule = Schedule::new(
        &[(0, load(flows(&[0, 0, 9], 1_000_000, Some(1))))],
        &[],
        Nanos(0),
        Nanos(100),
        Share::WHOLE,
    );
    let mut out = [Default::default(); 4];
    assert_eq!(schedule.poll(Nanos(99), &mut out, 64), 2);
    assert_eq!((out[0].run, out[1].run, out[1].number), (2, 1, 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn workers_send_exactly_the_packets_of_all_flows(
        mut offsets in proptest::collection::vec(prop_oneof![0u64..3_000, 0u64..60_000], 1..12),
        micro in 1_000_000_000u64..20_000_000_000_000,
        limit in proptest::option::of(1u64..40),
        span in 1u64..80_000,
        workers in 1u16..5,
        polled in 0u64..80_000,
    ) {
        offsets.sort_unstable();
        let wanted = all(&offsets, micro, limit, span);
        let streams = [(0, load(flows(&offsets, micro, limit)))];
        let mut slots = Vec::new();
        for index in 0..workers {
            let share = Share { index, of: workers };
            let mut schedule = Schedule::new(&streams, &[], Nanos(0), Nanos(span), share);
            // What is owed in the middle is what is still to come.
            let mut out = [Default::default(); 5];
            let n = schedule.poll(Nanos(polled), &mut out, 5);
            let own: Vec<_> = out[..n].iter().flat_map(packets).collect();
            let owed = schedule.owed();
            let rest = run(&mut schedule);
            prop_assert_eq!(rest.len() as u64, owed);
            let own: Vec<_> = own.into_iter().chain(rest).collect();
            prop_assert!(own.windows(2).all(|pair| pair[0].due <= pair[1].due));
            slots.extend(own.iter().map(|slot| (slot.due.0, slot.number)));
        }
        slots.sort_unstable();
        prop_assert_eq!(slots, wanted);
    }

    #[test]
    fn loops_are_the_flows_moved(
        mut offsets in proptest::collection::vec(0u64..6_000, 1..8),
        micro in 1_000_000_000_000u64..20_000_000_000_000,
        limit in 1u64..12,
        times in 1u64..5,
        more in 1u64..900,
        span in 1u64..80_000,
        workers in 1u16..4,
    ) {
        offsets.sort_unstable();
        let one = all(&offsets, micro, Some(limit), u64::MAX);
        let period = one.iter().map(|(due, _)| due + more).max().unwrap_or(1);
        let moved = (0..times).flat_map(|round| one.iter().map(move |(due, number)| (round * period + due, *number)));
        let mut wanted: Vec<_> = moved.filter(|(due, _)| *due < span).collect();
        wanted.sort_unstable();
        let stream = load(looped(flows(&offsets, micro, Some(limit)), times, period));
        prop_assert_eq!(stream.packets_in(Nanos(span)), Some(wanted.len() as u64));
        let mut slots = Vec::new();
        for index in 0..workers {
            let share = Share { index, of: workers };
            let mut schedule = Schedule::new(&[(0, stream.clone())], &[], Nanos(0), Nanos(span), share);
            slots.extend(run(&mut schedule).iter().map(|slot| (slot.due.0, slot.number)));
        }
        slots.sort_unstable();
        prop_assert_eq!(slots, wanted);
    }

    #[test]
    fn turns_count_what_they_take(
        each in 1u64..5, round in 1u64..8, every in 1u64..4, first in 0u64..4, count in 0u64..200,
    ) {
        let turns = FlowTurns { each, round, every, first };
        let one_by_one = (0..count).filter(|number| turns.take(*number)).count() as u64;
        prop_assert_eq!(turns.taken(count), one_by_one);
        prop_assert_eq!(FlowTurns::ALL.taken(u64::MAX - count), u64::MAX - count);
    }

    #[test]
    fn some_flows_leave_the_others_to_others(
        mut offsets in proptest::collection::vec(0u64..6_000, 1..8),
        micro in 1_000_000_000_000u64..20_000_000_000_000,
        limit in proptest::option::of(1u64..40),
        span in 1u64..60_000,
        (each, round, every) in (1u64..4, 1u64..7, 1u64..4),
        workers in 1u16..4,
    ) {
        offsets.sort_unstable();
        let mut slots = Vec::new();
        for first in 0..every.min(round) {
            let Pace::Flows { offsets, rate, flows, loops, .. } = flows(&offsets, micro, limit) else { unreachable!() };
            let take = FlowTurns { each, round, every, first };
            let stream = load(Pace::Flows { offsets, rate, flows, loops, take });
            let mut own = 0;
            for index in 0..workers {
                let share = Share { index, of: workers };
                let mut schedule = Schedule::new(&[(0, stream.clone())], &[], Nanos(0), Nanos(span), share);
                let sent = run(&mut schedule);
                prop_assert!(sent.iter().all(|slot| take.take(slot.number / offsets_len(&stream))));
                own += sent.len() as u64;
                slots.extend(sent.iter().map(|slot| (slot.due.0, slot.number)));
            }
            prop_assert_eq!(stream.packets_in(Nanos(span)), Some(own));
        }
        slots.sort_unstable();
        prop_assert_eq!(slots, all(&offsets, micro, limit, span));
    }

    #[test]
    fn a_pause_moves_what_comes_behind_it(
        mut offsets in proptest::collection::vec(0u64..9_000, 1..6), at in 1u64..20_000, pause in 1u64..20_000,
    ) {
        offsets.sort_unstable();
        let one = StreamLoad { count: Some(50), ..load(flows(&offsets, 3_000_000_000_000, None)) };
        let made = || Schedule::new(&[(0, one.clone())], &[], Nanos(0), Nanos(1 << 40), Share::WHOLE);
        let plain = run(&mut made());
        let mut held = made();
        held.scale(None, Factor::ZERO, Nanos(at));
        held.scale(None, Factor::ONE, Nanos(at + pause));
        let late = |due: u64| if due < at { due } else { due + pause };
        let wanted: Vec<_> = plain.iter().map(|slot| (late(slot.due.0), slot.number)).collect();
        let sent: Vec<_> = run(&mut held).iter().map(|slot| (slot.due.0, slot.number)).collect();
        prop_assert_eq!(sent, wanted);
    }
}
