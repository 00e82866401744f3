//! Properties of every load, share and change of speed.

mod common;

use common::{RateChange, packets, run};
use proptest::prelude::*;
use sched::{Chain, CurvePoint, CurveShape, Factor, GapOrder, Link, Pace, Schedule, Share, Slot, StreamLoad};
use units::{Nanos, Pps};

const SPAN: u64 = 50_000;

fn rate() -> impl Strategy<Value = Pps> {
    (1u64..5_000_000_000).prop_map(|micro_kpps| Pps::from_micro(micro_kpps * 1_000))
}

fn times(most: u64) -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(0..most, 0..6)
}

fn pace() -> impl Strategy<Value = Pace> {
    let nanos = |times: Vec<u64>| times.into_iter().map(Nanos).collect();
    let curve = (
        proptest::collection::vec((0u64..9_000, prop_oneof![Just(Pps::ZERO), rate()]), 0..5),
        any::<bool>(),
        any::<bool>(),
    );
    prop_oneof![
        3 => rate().prop_map(Pace::Even),
        2 => (rate(), any::<u64>()).prop_map(|(rate, seed)| Pace::Poisson { rate, seed }),
        1 => (times(9_000), proptest::option::of(any::<u64>())).prop_map(move |(mut times, seed)| {
            times.extend(times.last().map(|_| 500));
            let order = seed.map_or(GapOrder::Sequential, |seed| GapOrder::Random { seed });
            Pace::Gaps { gaps: nanos(times), order }
        }),
        2 => curve.prop_map(|(gaps, step, repeat)| {
            let mut at = 0;
            let points = gaps.into_iter().map(|(gap, rate)| { at += gap; CurvePoint { at: Nanos(at), rate } });
            let shape = if step { CurveShape::Step } else { CurveShape::Linear };
            Pace::Curve { points: points.collect(), shape, repeat }
        }),
        1 => (rate(), 0u64..9_000, 0u64..9_000)
            .prop_map(|(rate, on, off)| Pace::OnOff { rate, on: Nanos(on), off: Nanos(off) }),
        2 => (1u32..200, proptest::option::of(rate()), 1_000u64..20_000, proptest::option::of(0u64..4)).prop_map(
            |(packets, rate, every, bursts)| Pace::Bursts { packets, rate, every: Nanos(every), bursts }
        ),
        1 => (times(9_000), 500u64..9_000).prop_map(move |(mut times, period)| {
            times.sort_unstable();
            Pace::Trace { times: nanos(times), period: Nanos(period) }
        }),
    ]
}

fn load(count: impl Strategy<Value = Option<u64>>) -> impl Strategy<Value = StreamLoad> {
    (pace(), 1u32..5, count, 0u64..3).prop_map(|(pace, group, count, delay)| StreamLoad {
        pace,
        group,
        count,
        start_delay: Nanos::from_micros(delay),
    })
}

/// Streams 0, 1, …, some of equal loads, and chains of streams 100, 101, ….
fn loads() -> impl Strategy<Value = (Vec<(u32, StreamLoad)>, Vec<Chain>)> {
    let streams = proptest::collection::vec((load(proptest::option::of(1u64..20)), 1usize..25), 0..4);
    let link = (load((0u64..20).prop_map(Some)), 0u32..3, 100u64..2_000, any::<bool>());
    let end = (proptest::option::of(0u64..5), 0usize..5, proptest::option::of(0usize..4));
    let chain = (proptest::collection::vec(link, 0..4), end, 0u64..3_000);
    (streams, proptest::collection::vec(chain, 0..3)).prop_map(|(streams, chains)| {
        let streams = streams.iter().flat_map(|(load, copies)| vec![load.clone(); *copies]);
        let chains = (1u32..).zip(chains).map(|(number, (links, (loops, repeat_from, last), delay))| Chain {
            links: links
                .into_iter()
                .map(|(load, stream, gap, ends_at_last)| Link {
                    stream: 100 * number + stream,
                    load,
                    gap: Nanos(gap),
                    ends_at_last,
                })
                .collect(),
            loops,
            repeat_from,
            last,
            start_delay: Nanos(delay),
        });
        ((0..).zip(streams).collect(), chains.collect())
    })
}

fn changes() -> impl Strategy<Value = Vec<RateChange>> {
    let factor = prop_oneof![
        Just(Factor::ZERO),
        Just(Factor::ONE),
        (0u64..5, 1u64..5).prop_map(|(num, den)| Factor::new(num, den)),
        (any::<u64>(), 1u64..).prop_map(|(num, den)| Factor::new(num % (den.saturating_mul(4).max(1)), den)),
    ];
    let some = proptest::collection::vec(prop_oneof![0u32..30, 100u32..103], 0..20);
    let change = (proptest::option::of(some), factor, 0u64..SPAN / 4);
    proptest::collection::vec(change, 0..5).prop_map(|changes| {
        let mut at = 0;
        changes
            .into_iter()
            .map(|(streams, factor, after)| {
                at += after;
                RateChange { streams, factor, at: Nanos(at + 1) }
            })
            .collect()
    })
}

fn scale(schedule: &mut Schedule, change: &RateChange) {
    schedule.scale(change.streams.as_deref(), change.factor, change.at);
}

/// All slots if each change is announced `notice` before it is made, as far as `next_due` allows.
fn sent(schedule: &mut Schedule, changes: &[RateChange], notice: u64) -> Vec<Slot> {
    let (mut slots, mut out) = (Vec::new(), [Slot::default(); 7]);
    let mut changes = changes.iter().peekable();
    loop {
        let due = schedule.next_due();
        while let Some(change) = changes.next_if(|c| c.at.0.saturating_sub(notice) <= due.0) {
            scale(schedule, change);
        }
        let due = schedule.next_due();
        if due == Nanos::MAX && changes.peek().is_none() {
            return slots;
        }
        let n = schedule.poll(due, &mut out, 5);
        slots.extend(out[..n].iter().flat_map(packets));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn workers_together_send_what_one_would(
        (streams, chains) in loads(), changes in changes(), workers in 1u16..7, notice in proptest::collection::vec(1u64..9_000, 7),
    ) {
        let of = |share: Share, notice| {
            let mut schedule = Schedule::new(&streams, &chains, Nanos(0), Nanos(SPAN), share);
            sent(&mut schedule, &changes, notice)
        };
        let key = |s: &Slot| (s.due, s.stream, s.number);
        let mut one = of(Share::WHOLE, u64::MAX);
        let mut many: Vec<_> =
            (0..workers).flat_map(|index| of(Share { index, of: workers }, notice[usize::from(index)])).collect();
        one.sort_by_key(key);
        many.sort_by_key(key);
        prop_assert_eq!(one, many);
    }

    #[test]
    fn slots_come_in_order_and_what_is_owed_is_what_would_come(
        (streams, chains) in loads(), changes in changes(), stop in 0u64..60_000, room in 1u32..100,
    ) {
        for share in [Share::WHOLE, Share { index: 1, of: 3 }] {
            let mut schedule = Schedule::new(&streams, &chains, Nanos(0), Nanos(SPAN), share);
            changes.iter().for_each(|change| scale(&mut schedule, change));
            let mut out = [Slot::default(); 5];
            let (mut last, mut now) = (Nanos::ZERO, Nanos(stop));
            let mut owed = schedule.owed();
            for polls in 0.. {
                let n = schedule.poll(now, &mut out, room);
                let sent = out[..n].iter().map(|s| u64::from(s.run)).sum::<u64>();
                prop_assert!(sent <= u64::from(room));
                if polls < 30 || n == 0 {
                    prop_assert_eq!(schedule.owed(), owed - sent);
                }
                for slot in &out[..n] {
                    prop_assert!(slot.run > 0 && last <= slot.due && slot.due <= now);
                    last = slot.due;
                }
                owed -= sent;
                if n == 0 && now == Nanos::MAX { break }
                now = if n == 0 { Nanos::MAX } else { now };
            }
            prop_assert_eq!((owed, schedule.next_due()), (0, Nanos::MAX));
        }
    }

    #[test]
    fn streams_that_join_and_leave_disturb_no_other(
        (streams, chains) in loads(), (more, more_chains) in loads(), changes in changes(), at in 1u64..SPAN, leave in 1u64..SPAN,
        workers in 1u16..4,
    ) {
        const NEW: u32 = 1_000;
        let moved = |stream: u32| NEW + stream;
        let more: Vec<_> = more.into_iter().map(|(stream, load)| (moved(stream), load)).collect();
        let more_chains: Vec<Chain> = more_chains
            .into_iter()
            .map(|mut chain| {
                chain.links.iter_mut().for_each(|link| link.stream = moved(link.stream));
                chain
            })
            .collect();
        let (at, leave) = (Nanos(at), Nanos(at.max(leave)));
        for index in 0..workers {
            let share = Share { index, of: workers };
            let alone = sent(&mut Schedule::new(&streams, &chains, Nanos(0), Nanos(SPAN), share), &changes, 3_000);
            let new = || Schedule::new(&more, &more_chains, at, Nanos(SPAN) - at, share);
            let new_alone = run(&mut new());
            let mut schedule = Schedule::new(&streams, &chains, Nanos(0), Nanos(SPAN), share);
            // Changes told before are none of the new streams'; those of the others go on.
            changes.iter().for_each(|change| scale(&mut schedule, change));
            let (mut slots, mut out, mut joins) = (Vec::new(), [Slot::default(); 7], Some(new()));
            loop {
                let due = schedule.next_due();
                if due >= at && let Some(new) = joins.take() {
                    schedule.join(new);
                    let leaving: Vec<u32> = more.iter().map(|(stream, _)| *stream).take(5).collect();
                    if leave > at {
                        schedule.scale(Some(&leaving), Factor::ZERO, leave);
                    }
                    continue;
                }
                if due == Nanos::MAX {
                    break;
                }
                let n = schedule.poll(due, &mut out, 5);
                slots.extend(out[..n].iter().flat_map(packets));
            }
            let key = |s: &Slot| (s.due, s.stream, s.number);
            let sorted = |mut slots: Vec<Slot>| { slots.sort_by_key(key); slots };
            let of = |new: bool| slots.iter().copied().filter(|s| (s.stream >= NEW) == new).collect::<Vec<_>>();
            prop_assert_eq!(sorted(of(false)), sorted(alone));
            let leaves = |s: &Slot| leave > at && more.iter().take(5).any(|(stream, _)| *stream == s.stream);
            let stays = new_alone.into_iter().filter(|s| !leaves(s) || s.due < leave).collect();
            prop_assert_eq!(sorted(of(true)), sorted(stays));
        }
    }

    #[test]
    fn numbers_go_up_by_one_and_counts_end_exactly((streams, chains) in loads(), changes in changes()) {
        let mut schedule = Schedule::new(&streams, &chains, Nanos(0), Nanos(SPAN), Share::WHOLE);
        changes.iter().for_each(|change| scale(&mut schedule, change));
        // Nobody stays held.
        schedule.scale(None, Factor::ONE, Nanos(SPAN / 2));
        let slots = run(&mut schedule);
        let mut next = std::collections::HashMap::new();
        for slot in &slots {
            let number: &mut u64 = next.entry(slot.stream).or_default();
            prop_assert_eq!(slot.number, *number, "stream {}", slot.stream);
            *number += 1;
        }
        for (stream, load) in &streams {
            let sent = next.get(stream).copied().unwrap_or(0);
            prop_assert!(load.count.is_none_or(|count| sent <= count));
        }
    }

    #[test]
    fn a_pause_moves_what_comes_behind_it(pace in pace(), at in 1u64..SPAN, pause in 1u64..SPAN) {
        let load = StreamLoad { pace, group: 1, count: Some(50), start_delay: Nanos::ZERO };
        let made = |duration| Schedule::new(&[(0, load.clone())], &[], Nanos(0), Nanos(duration), Share::WHOLE);
        let plain = run(&mut made(SPAN));
        let mut held = made(SPAN + pause);
        held.scale(None, Factor::ZERO, Nanos(at));
        held.scale(None, Factor::ONE, Nanos(at + pause));
        let late = |s: &Slot| Slot { due: Nanos(s.due.0 + if s.due.0 < at { 0 } else { pause }), ..*s };
        let wanted: Vec<_> = plain.iter().map(late).collect();
        let slots = run(&mut held);
        // A pause that begins when the traffic ends makes it end before.
        if at + pause < SPAN + pause {
            prop_assert_eq!(slots, wanted);
        }
    }
}
