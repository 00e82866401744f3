//! Streams that follow each other, against times worked out by hand.

mod common;

use common::{counted, load, sent};
use sched::{Chain, CurvePoint, CurveShape, GapOrder, Link, Pace, Share, StreamLoad};
use units::{Nanos, Pps};

const ENDLESS: Nanos = Nanos(u64::MAX - 1_000_000);

fn link(stream: u32, load: StreamLoad, gap: u64) -> Link {
    Link { stream, load, gap: Nanos(gap) }
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
        let all = of(Chain { links, loops: Some(1), start_delay: Nanos(0) }, ENDLESS);
        assert_eq!(all.last(), Some(&(1, 0, end + 7)), "{load:?}");
        assert_eq!(all.len() as u64, load.count.unwrap_or(0) + 1, "{load:?}");
    }
}

#[test]
fn a_stream_in_two_links_goes_on_counting() {
    let links = vec![link(0, even(10, 2), 0), link(1, even(10, 1), 0), link(0, even(10, 1), 0)];
    let all = of(Chain { links, loops: Some(2), start_delay: Nanos(0) }, ENDLESS);
    let numbers = |stream| all.iter().filter(|s| s.0 == stream).map(|s| s.1).collect::<Vec<_>>();
    assert_eq!((numbers(0), numbers(1)), (vec![0, 1, 2, 3, 4, 5], vec![0, 1]));
    assert!(all.iter().zip(0..).all(|(s, j)| s.2 == 100 * j), "one even train");
}

#[test]
fn random_links_draw_anew_in_each_loop() {
    let poisson = Pace::Poisson { rate: Pps::new(1_000_000), seed: 4 };
    let links = vec![link(0, counted(poisson, 3), 0)];
    let all = of(Chain { links, loops: Some(2), start_delay: Nanos(0) }, ENDLESS);
    let times: Vec<u64> = all.iter().map(|s| s.2).collect();
    assert_ne!(times[1] - times[0], times[4] - times[3]);
}

#[test]
fn a_chain_without_packets_or_without_an_end_of_a_link_is_no_trap() {
    let chain = |links, loops| Chain { links, loops, start_delay: Nanos(0) };
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
