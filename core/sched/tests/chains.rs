//! Streams that follow each other, against times worked out by hand.

mod common;

use common::{counted, load, sent};
use sched::{Chain, CurvePoint, CurveShape, GapOrder, Link, Pace, Share, StreamLoad};
use units::{Nanos, Pps};

const ENDLESS: Nanos = Nanos(u64::MAX - 1_000_000);

fn link(stream: u32, load: StreamLoad, gap: u64) -> Link {
    Link { stream, load, gap: Nanos(gap), ends_at_last: false }
}

fn even(mpps: u64, count: u64) -> StreamLoad {
    counted(Pace::Even(Pps::new(mpps * 1_000_000)), count)
}

/// Stream, packet number and time from the start of everything a chain sends.
fn of(chain: Chain, duration: Nanos) -> Vec<(u32, u64, u64)> {
    let expected = chain.packets_in(duration);
    let slots = sent(&[], &[chain], duration, Share::WHOLE);
    assert_eq!(slots.len() as u64, expected);
    slots.iter().map(|s| (s.stream, s.number, s.due.0 - 1_000)).collect()
}

#[test]
fn links_follow_each_other_one_gap_behind_and_loop() {
    // Stream 7: 0, 333, 666; its third gap ends at 1000. 50 ns later stream 8: 1050, 1150; ends at 1250. Then again.
    let chain = Chain {
        links: vec![link(7, even(3, 3), 50), link(8, even(10, 2), 0)],
        loops: Some(2),
        start_delay: Nanos(10),
        ..Chain::default()
    };
    let loop_of = |begin: u64, round: u64| {
        [
            (7, 3 * round, begin),
            (7, 3 * round + 1, begin + 333),
            (7, 3 * round + 2, begin + 666),
            (8, 2 * round, begin + 1_050),
            (8, 2 * round + 1, begin + 1_150),
        ]
    };
    let wanted: Vec<_> = [loop_of(10, 0), loop_of(1_260, 1)].concat();
    assert_eq!(of(chain.clone(), ENDLESS), wanted);
    let for_ever = Chain { loops: None, ..chain };
    assert_eq!(of(for_ever, Nanos(12_510)).len(), 50, "ten loops of 1250 ns");
}

#[test]
fn every_pace_ends_a_link_as_it_says() {
    let trace = Pace::Trace { times: [3, 9].map(Nanos).into(), period: Nanos(20) };
    let bursts = |rate| Pace::Bursts { packets: 2, rate, every: Nanos(1_000), bursts: None };
    let points =
        [(0, 1), (2_000_000_000, 0)].map(|(at, rate)| CurvePoint { at: Nanos(at), rate: Pps::new(rate) });
    let triangle = Pace::Curve { points: points.into(), shape: CurveShape::Linear, repeat: false };
    let on_off = Pace::OnOff { rate: Pps::new(10_000_000), on: Nanos(200), off: Nanos(800) };
    let gaps = Pace::Gaps { gaps: [10, 20, 40].map(Nanos).into(), order: GapOrder::Sequential };
    let groups = StreamLoad { group: 4, ..even(10, 6) };
    for (load, end) in [
        (counted(trace.clone(), 2), 20),
        (counted(trace, 3), 40),
        (counted(bursts(None), 4), 2_000),
        (counted(bursts(Some(Pps::new(10_000_000))), 3), 2_000),
        (counted(triangle, 1), 2_000_000_000),
        (counted(on_off.clone(), 2), 200),
        (counted(on_off, 3), 1_100),
        (counted(gaps, 2), 30),
        (groups, 800),
        (StreamLoad { start_delay: Nanos(5), ..even(10, 1) }, 105),
        (counted(Pace::Max, 200), 1),
    ] {
        let links = vec![link(0, load.clone(), 7), link(1, even(1, 1), 0)];
        let all = of(Chain { links, loops: Some(1), start_delay: Nanos(0), ..Chain::default() }, ENDLESS);
        assert_eq!(all.last(), Some(&(1, 0, end + 7)), "{load:?}");
        assert_eq!(all.len() as u64, load.count.unwrap_or(0) + 1, "{load:?}");
    }
}

#[test]
fn a_link_may_end_with_its_last_departure() {
    // Stream 7: 0, 333, 666; 50 ns later stream 8.
    let ended = |load| Link { ends_at_last: true, ..link(7, load, 50) };
    let bursts =
        Pace::Bursts { packets: 2, rate: Some(Pps::new(10_000_000)), every: Nanos(1_000), bursts: None };
    let trace = Pace::Trace { times: [3, 9].map(Nanos).into(), period: Nanos(20) };
    for (load, end) in [
        (even(3, 3), 666),
        (counted(bursts, 4), 1_100),
        (counted(trace, 3), 23),
        (counted(Pace::Max, 200), 0),
        (StreamLoad { start_delay: Nanos(5), ..even(10, 1) }, 5),
    ] {
        let links = vec![ended(load.clone()), link(8, even(10, 1), 0)];
        for of_workers in [1, 3] {
            let chain = Chain { links: links.clone(), loops: Some(1), ..Chain::default() };
            let shares = (0..of_workers).map(|index| Share { index, of: of_workers });
            let last = shares.flat_map(|share| sent(&[], std::slice::from_ref(&chain), ENDLESS, share));
            let last = last.filter(|slot| slot.stream == 8).map(|slot| slot.due.0 - 1_000);
            assert_eq!(last.collect::<Vec<_>>(), [end + 50], "{load:?}");
        }
    }
}

#[test]
fn what_is_before_a_circle_comes_once() {
    let links = || vec![link(0, even(10, 1), 0), link(1, even(10, 2), 0), link(2, even(10, 1), 0)];
    let streams = |chain: Chain, duration| of(chain, duration).iter().map(|s| (s.0, s.1)).collect::<Vec<_>>();
    let chain = Chain { links: links(), loops: None, repeat_from: 1, ..Chain::default() };
    let wanted = [(0, 0), (1, 0), (1, 1), (2, 0), (1, 2), (1, 3), (2, 1), (1, 4)];
    assert_eq!(streams(chain.clone(), Nanos(800)), wanted);
    // Ended in the middle of the third loop: by the first link of the circle.
    let ends = Chain { loops: Some(3), last: Some(1), ..chain.clone() };
    assert_eq!(streams(ends, ENDLESS), [&wanted[..], &[(1, 5)]].concat());
    let ends = Chain { loops: Some(1), last: Some(0), ..chain.clone() };
    assert_eq!(streams(ends, ENDLESS), wanted[..1]);
    // The last stream has no end.
    let mut open = links();
    open[2].load.count = None;
    let all = streams(Chain { links: open, loops: Some(1), ..Chain::default() }, Nanos(1_000));
    assert_eq!((all.len(), all[9]), (10, (2, 6)));
    // Several workers send what one sends.
    let mut shared: Vec<_> = (0..3)
        .flat_map(|index| sent(&[], std::slice::from_ref(&chain), Nanos(800), Share { index, of: 3 }))
        .map(|slot| (slot.due.0 - 1_000, slot.stream, slot.number))
        .collect();
    shared.sort_unstable();
    let alone: Vec<_> =
        of(chain, Nanos(800)).into_iter().map(|(stream, number, at)| (at, stream, number)).collect();
    assert_eq!(shared, alone);
}

#[test]
fn a_stream_in_two_links_goes_on_counting() {
    let links = vec![link(0, even(10, 2), 0), link(1, even(10, 1), 0), link(0, even(10, 1), 0)];
    let all = of(Chain { links, loops: Some(2), start_delay: Nanos(0), ..Chain::default() }, ENDLESS);
    let numbers = |stream| all.iter().filter(|s| s.0 == stream).map(|s| s.1).collect::<Vec<_>>();
    assert_eq!((numbers(0), numbers(1)), (vec![0, 1, 2, 3, 4, 5], vec![0, 1]));
    assert!(all.iter().zip(0..).all(|(s, j)| s.2 == 100 * j), "one even train");
}

#[test]
fn random_links_draw_anew_in_each_loop() {
    let poisson = Pace::Poisson { rate: Pps::new(1_000_000), seed: 4 };
    let links = vec![link(0, counted(poisson, 3), 0)];
    let all = of(Chain { links, loops: Some(2), start_delay: Nanos(0), ..Chain::default() }, ENDLESS);
    let times: Vec<u64> = all.iter().map(|s| s.2).collect();
    assert_ne!(times[1] - times[0], times[4] - times[3]);
}

#[test]
fn a_chain_without_packets_or_without_an_end_of_a_link_is_no_trap() {
    let chain = |links, loops| Chain { links, loops, start_delay: Nanos(0), ..Chain::default() };
    assert!(of(chain(vec![], None), ENDLESS).is_empty());
    assert!(of(chain(vec![link(0, even(1, 0), 0)], None), ENDLESS).is_empty());
    let uncounted = load(Pace::Even(Pps::new(1_000_000)));
    let all = of(chain(vec![link(0, uncounted, 0), link(1, even(1, 1), 0)], None), Nanos(10_000));
    assert_eq!((all.len(), all.iter().all(|s| s.0 == 0)), (10, true));
    let random = load(Pace::Poisson { rate: Pps::new(1_000_000), seed: 1 });
    assert!(of(chain(vec![link(0, random, 0)], None), Nanos(10_000)).iter().all(|s| s.0 == 0));
    let timeless = counted(Pace::Gaps { gaps: [0, 0, 1].map(Nanos).into(), order: GapOrder::Sequential }, 2);
    assert_eq!(of(chain(vec![link(0, timeless, 0)], None), Nanos(10)).len(), 20, "a loop takes 1 ns");
}
