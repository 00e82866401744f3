//! Cost of a slot: [`Schedule::poll`] in bursts of 64 that are always late, so that it never waits.
//!
//! `cargo bench -p sched`. Nanoseconds for one slot (for one packet where a slot is a run of them); the smallest of many
//! rounds, because others use the machine too.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use sched::{CurvePoint, CurveShape, Factor, Pace, Schedule, Share, Slot, StreamLoad};
use std::hint::black_box;
use std::time::Instant;
use units::{Nanos, Pps};

const BURST: usize = 64;
const BURSTS: u32 = 4_000;
const ROUNDS: usize = 100;

fn main() {
    let even = |rate| Pace::Even(Pps::new(rate));
    let two = Share { index: 1, of: 2 };
    report("one even stream", 1, |_| even(10_000_000), Share::WHOLE, None);
    report("1000 equal streams", 1_000, |_| even(10_000), Share::WHOLE, None);
    report("1000 equal streams, one of two workers", 1_000, |_| even(10_000), two, None);
    report(
        "1000 even streams of different rates",
        1_000,
        |i| even(10_000 + u64::from(i)),
        Share::WHOLE,
        None,
    );
    report("one greedy stream (per packet)", 1, |_| Pace::Max, Share::WHOLE, None);
    report("one greedy stream, one of two workers (per packet)", 1, |_| Pace::Max, two, None);
    report("1000 greedy streams (per packet)", 1_000, |_| Pace::Max, Share::WHOLE, None);
    let poisson = |i| Pace::Poisson { rate: Pps::new(10_000), seed: u64::from(i) };
    report("one Poisson stream", 1, poisson, Share::WHOLE, None);
    report("1000 Poisson streams", 1_000, poisson, Share::WHOLE, None);
    report("100000 Poisson streams", 100_000, poisson, Share::WHOLE, None);
    let points = [(0, 1_000_000), (1_000_000_000, 20_000_000), (3_000_000_000, 0)];
    let points = points.map(|(at, rate)| CurvePoint { at: Nanos(at), rate: Pps::new(rate) });
    let curve = |_| Pace::Curve { points: points.into(), shape: CurveShape::Linear, repeat: true };
    report("one ramp up and down", 1, curve, Share::WHOLE, None);
    let on_off = |_| Pace::OnOff { rate: Pps::new(10_000_000), on: Nanos(10_000), off: Nanos(5_000) };
    report("one on-off stream", 1, on_off, Share::WHOLE, None);
    let half = Some(Factor::new(1, 2));
    report("one even stream, at half speed", 1, |_| even(10_000_000), Share::WHOLE, half);
    report("one Poisson stream, at half speed", 1, poisson, Share::WHOLE, half);

    waiting("one even stream, polled each 10 ns", 1, |_| even(10_000_000));
    waiting("1000 equal streams, polled each 10 ns", 1_000, |_| even(10_000));

    let streams: Vec<_> = (0..1_000_000).map(|i| (i, load(even(10)))).collect();
    let start = Instant::now();
    black_box(Schedule::new(&streams, &[], Nanos::ZERO, Nanos::MAX, Share::WHOLE));
    println!("{:<55} {:8.1} ms", "a schedule of 1000000 equal streams", start.elapsed().as_secs_f64() * 1e3);
}

fn load(pace: Pace) -> StreamLoad {
    StreamLoad { pace, group: 1, count: None, start_delay: Nanos::ZERO }
}

fn report(what: &str, streams: u32, pace: impl Fn(u32) -> Pace, share: Share, factor: Option<Factor>) {
    let streams: Vec<_> = (0..streams).map(|i| (i, load(pace(i)))).collect();
    let mut schedule = Schedule::new(&streams, &[], Nanos::ZERO, Nanos::MAX, share);
    if let Some(factor) = factor {
        schedule.scale(None, factor, Nanos(1));
    }
    let mut slots = [Slot::default(); BURST];
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (start, mut packets) = (Instant::now(), 0);
        for _ in 0..BURSTS {
            let n = schedule.poll(black_box(Nanos(u64::MAX - 1)), &mut slots, BURST as u32);
            packets += slots[..n].iter().map(|slot| u64::from(slot.run)).sum::<u64>();
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / packets as f64);
    }
    println!("{what:<55} {best:8.2} ns");
}

/// Cost of a poll of which one in ten has a slot.
fn waiting(what: &str, streams: u32, pace: impl Fn(u32) -> Pace) {
    let streams: Vec<_> = (0..streams).map(|i| (i, load(pace(i)))).collect();
    let mut schedule = Schedule::new(&streams, &[], Nanos::ZERO, Nanos::MAX, Share::WHOLE);
    let (mut slots, mut best, mut now) = ([Slot::default(); BURST], f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..BURSTS * 10 {
            now += 10;
            black_box(schedule.poll(black_box(Nanos(now)), &mut slots, BURST as u32));
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e8 / f64::from(BURSTS));
    }
    println!("{what:<55} {best:8.2} ns");
}
