//! Bytes as a list of operations on a recorder, whose counts must equal a model's that remembers everything.
//!
//! The first byte of an input gives the size of the recorder; then each operation takes four bytes: the action, its
//! stream and lane, and two bytes of number.

use histogram::Scale;
use measure::{Arrival, RESYNC, Recorder, Table, Totals, WINDOW};
use std::collections::HashSet;
use units::Nanos;

const OPERATIONS_MAX: usize = 128;
/// Streams and lanes that operations name; the first that is not there is one of them.
const STREAMS: usize = 3;
const LANES: usize = 2;
/// From this many streams on a recorder looks ahead before it counts.
const MANY: usize = 2048;
/// The first byte of an input that selects this size.
const LARGE: u8 = 0xff;
const LATENCY_BITS: u32 = 47;

const NEXT: u8 = 0;
const AHEAD: u8 = 1;
const BEHIND: u8 = 2;
const FAR: u8 = 3;
const RUN: u8 = 4;
/// With this bit of its number, a run arrives as one, with one latency.
const TOGETHER: u16 = 0x8000;
const LATER: u8 = 5;
const SWAP: u8 = 6;
const STRANGER: u8 = 7;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    if let Some((size, operations)) = data.split_first() {
        let mut pair = Pair::new(*size);
        let (operations, _) = operations.as_chunks::<4>();
        for [what, whom, high, low] in operations.iter().take(OPERATIONS_MAX) {
            pair.operate(*what, *whom, u16::from_be_bytes([*high, *low]));
        }
        pair.check();
    }
}

/// A recorder and its model.
struct Pair {
    recorder: Recorder,
    totals: Totals,
    table: Table,
    burst: Vec<Arrival>,
    now: Nanos,
    strangers: u64,
    model: [Stream; STREAMS],
}

#[derive(Default)]
struct Stream {
    lanes: [Lane; LANES],
    received: u64,
    duplicates: u64,
    reordered: u64,
    stale: u64,
    rejected: u64,
    distance_max: u64,
    latencies: Vec<u64>,
    arrivals: Vec<u64>,
}

#[derive(Default)]
struct Lane {
    next: u64,
    seen: HashSet<u64>,
    /// A number far ahead, its latency and arrival.
    held: Option<(u64, u64, u64)>,
    /// Stale numbers in a row, each above the last.
    stale: Vec<u32>,
    /// Of what is below nothing is missing: the lane was moved back to here.
    floor: u64,
}

impl Pair {
    fn new(size: u8) -> Self {
        // A large recorder takes long to make, one with histograms too long.
        let (streams, scale) = match size {
            LARGE => (MANY, None),
            _ if size & 1 == 0 => (STREAMS, None),
            _ => (STREAMS, Some(Scale::COARSE)),
        };
        let table = Table::new(streams, scale);
        Self {
            recorder: Recorder::new(table.clone(), LANES),
            totals: Totals::new(streams, scale),
            table,
            burst: Vec::new(),
            now: Nanos(1),
            strangers: 0,
            model: Default::default(),
        }
    }

    fn operate(&mut self, what: u8, whom: u8, number: u16) {
        let (stream, lane) = (usize::from(whom & 0x0f) % STREAMS, usize::from(whom >> 4) % LANES);
        let (next, n) = (self.model[stream].lanes[lane].next, u64::from(number));
        match what % 8 {
            NEXT => self.arrive(stream, lane, next, n),
            AHEAD => self.arrive(stream, lane, next + n % (2 * WINDOW), n),
            BEHIND => self.arrive(stream, lane, next.wrapping_sub(n % (2 * WINDOW)), n),
            // So far ahead that 32 bits come round, but not so far that it could as well be behind.
            FAR => self.arrive(stream, lane, next + (n << 15), n << 30),
            RUN if number & TOGETHER != 0 => self.arrive_together(stream, lane, next, n, n % 32),
            RUN => (0..n % 32).for_each(|i| self.arrive(stream, lane, next + i, n + i)),
            LATER => {
                self.flush();
                self.now += Nanos(n * n);
            }
            SWAP => self.swap(),
            STRANGER => {
                let stranger = match lane {
                    0 => Arrival { stream: MANY as u32 + u32::from(number), ..Arrival::default() },
                    _ => Arrival { lane: (LANES + usize::from(number & 0x7f)) as u8, ..Arrival::default() },
                };
                self.burst.push(stranger);
                self.strangers += 1;
            }
            _ => unreachable!("eight operations"),
        }
    }

    fn arrive(&mut self, stream: usize, lane: usize, sequence: u64, latency: u64) {
        self.arrive_together(stream, lane, sequence, latency, 1);
    }

    fn arrive_together(&mut self, stream: usize, lane: usize, sequence: u64, latency: u64, packets: u64) {
        if packets == 0 {
            return;
        }
        let latency = latency & ((1 << LATENCY_BITS) - 1);
        self.burst.push(Arrival {
            stream: stream as u32,
            lane: lane as u8,
            packets: packets as u16,
            sequence: sequence as u32,
            latency,
            ..Arrival::default()
        });
        for n in 0..packets {
            self.model[stream].arrive(lane, (sequence + n) as u32, latency, self.now.0);
        }
        if self.burst.len() == 64 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let strangers = self.recorder.record(&self.burst, self.now);
        assert_eq!(strangers, self.strangers);
        self.burst.clear();
        self.strangers = 0;
    }

    fn swap(&mut self) {
        self.flush();
        self.recorder.swap(&mut self.table);
        self.totals.add(&self.table);
        self.table.clear();
    }

    fn check(mut self) {
        self.flush();
        self.recorder.settle();
        self.model.iter_mut().for_each(Stream::settle);
        self.swap();
        let jitters: Vec<_> = self.recorder.jitter().collect();
        for (index, model) in self.model.iter().enumerate() {
            let total = &self.totals.streams[index];
            let counts = &total.counts;
            assert_eq!(
                (counts.received, counts.duplicates, counts.reordered, counts.stale, counts.rejected),
                (model.received, model.duplicates, model.reordered, model.stale, model.rejected),
                "received, duplicates, reordered, stale, rejected of stream {index}"
            );
            assert_eq!(counts.reorder_distance_max, model.distance_max);
            let expected: u64 = model.lanes.iter().map(|lane| lane.next).sum();
            assert_eq!(self.recorder.expected(index), expected);

            let latency = model.latencies.iter();
            assert_eq!(counts.latency.samples, model.received);
            assert_eq!(counts.latency.min, latency.clone().copied().min().unwrap_or(u64::MAX));
            assert_eq!(counts.latency.max, latency.clone().copied().max().unwrap_or(0));
            assert!(total.latency.as_ref().is_none_or(|histogram| histogram.total() == model.received));
            let changes: Vec<u64> = model.latencies.windows(2).map(|w| w[0].abs_diff(w[1])).collect();
            assert_eq!(counts.delay_change.samples, changes.len() as u64);
            assert_eq!(counts.delay_change.max, changes.iter().copied().max().unwrap_or(0));
            let apart: Vec<u64> = model.arrivals.windows(2).map(|w| w[1].saturating_sub(w[0])).collect();
            assert_eq!(counts.interarrival.samples, apart.len() as u64);
            assert_eq!(counts.interarrival.max, apart.iter().copied().max().unwrap_or(0));
            assert_eq!(counts.interarrival.mean(), mean(&apart));
            assert_eq!(counts.latency.mean(), mean(&model.latencies));
            assert_eq!(counts.delay_change.mean(), mean(&changes));
            check_jitter(jitters[index].ns(), &changes);
        }
    }
}

impl Stream {
    fn arrive(&mut self, lane: usize, low: u32, latency: u64, now: u64) {
        if let Some((sequence, its_latency, at)) = self.lanes[lane].held.take() {
            if i64::from(low.wrapping_sub(sequence as u32) as i32) < -(WINDOW as i64) {
                self.rejected += 1;
            } else {
                self.receive(lane, sequence, its_latency, at);
            }
        }
        let Lane { next, seen, held, stale, floor } = &mut self.lanes[lane];
        // The number of these 32 bits that is nearest to the expected one.
        let ahead = i64::from(low.wrapping_sub(*next as u32) as i32);
        let behind = ahead.min(0).unsigned_abs();
        if behind > WINDOW || behind > *next {
            if stale.last().is_some_and(|last| low.wrapping_sub(*last) as i32 <= 0) {
                stale.clear();
            }
            stale.push(low);
            if stale.len() <= RESYNC as usize {
                self.stale += 1;
                return;
            }
            // What came before is forgotten.
            stale.clear();
            let sequence = if behind > *next { u64::from(low) } else { *next - behind };
            seen.clear();
            (*next, *floor) = (sequence, sequence);
            return self.receive(lane, sequence, latency, now);
        }
        stale.clear();
        if ahead > WINDOW as i64 {
            *held = Some((next.wrapping_add_signed(ahead), latency, now));
            return;
        }
        let sequence = next.wrapping_add_signed(ahead);
        if seen.contains(&sequence) || sequence < *floor {
            self.duplicates += 1;
            return;
        }
        if behind > 0 {
            self.reordered += 1;
            self.distance_max = self.distance_max.max(behind);
        }
        self.receive(lane, sequence, latency, now);
    }

    fn receive(&mut self, lane: usize, sequence: u64, latency: u64, now: u64) {
        let Lane { next, seen, .. } = &mut self.lanes[lane];
        seen.insert(sequence);
        *next = (*next).max(sequence + 1);
        self.received += 1;
        self.latencies.push(latency);
        // One that was held is told of after those that came meanwhile: it is no step back in time.
        self.arrivals.push(self.arrivals.last().map_or(now, |last| now.max(*last)));
    }

    fn settle(&mut self) {
        for lane in 0..LANES {
            if let Some((sequence, latency, at)) = self.lanes[lane].held.take() {
                self.receive(lane, sequence, latency, at);
            }
        }
    }
}

fn mean(values: &[u64]) -> Option<f64> {
    let sum: u128 = values.iter().copied().map(u128::from).sum();
    (!values.is_empty()).then(|| sum as f64 / values.len() as f64)
}

/// RFC 3550 section 6.4.1 with real numbers; whole ones may differ by less than 1 for each step that is remembered.
fn check_jitter(found: Option<f64>, changes: &[u64]) {
    let jitter = changes.iter().fold(0.0, |jitter, change| jitter + (*change as f64 - jitter) / 16.0);
    match found {
        Some(found) => {
            assert!((found - jitter).abs() <= 1.0 + jitter * 1e-9, "a jitter of {found}, not {jitter}");
        }
        None => assert!(changes.is_empty()),
    }
}

/// Behaviours of networks: no fault, loss, reordering, duplication, long gaps, wrap-around.
pub fn seeds() -> Vec<Vec<u8>> {
    let scripts: [&[[u8; 4]]; 8] = [
        &[[RUN, 0, 0, 100], [SWAP, 0, 0, 0], [LATER, 0, 1, 0], [NEXT, 0, 0, 50]],
        // Together: in order, from a number that came already, and where one is missing.
        &[
            [RUN, 0, 0x80, 31],
            [BEHIND, 0, 0, 9],
            [AHEAD, 0, 0, 5],
            [LATER, 0, 0, 9],
            [RUN, 0, 0x90, 7],
            [FAR, 0, 0, 9],
            [RUN, 0, 0x80, 9],
        ],
        &[
            [RUN, 0, 0, 9],
            [AHEAD, 0, 0, 3],
            [BEHIND, 0, 0, 2],
            [BEHIND, 0, 0, 2],
            [SWAP, 0, 0, 0],
            [NEXT, 0, 0, 9],
        ],
        &[[NEXT, 0, 0, 1], [NEXT, 0x10, 0, 1], [NEXT, 1, 0, 2], [NEXT, 0x12, 0, 3], [AHEAD, 0x10, 0, 5]],
        &[
            [AHEAD, 0, 0x30, 0],
            [BEHIND, 0, 0x20, 0],
            [BEHIND, 0, 0x20, 1],
            [BEHIND, 0, 0, 1],
            [BEHIND, 0, 0, 1],
        ],
        &[
            [FAR, 0, 0xff, 0xff],
            [FAR, 0, 0xff, 0xff],
            [FAR, 0, 0x7f, 0xff],
            [BEHIND, 0, 0, 5],
            [RUN, 0, 0, 64],
        ],
        // A wrong number, two that confirm each other, and back.
        &[
            [RUN, 0, 0, 9],
            [FAR, 0, 0, 9],
            [NEXT, 0, 0, 1],
            [FAR, 0, 0, 9],
            [NEXT, 0, 0, 1],
            [BEHIND, 0, 0x3f, 0xff],
            [BEHIND, 0, 0x3f, 0xfe],
        ],
        &[[STRANGER, 0, 0, 0], [STRANGER, 0x10, 0, 0], [NEXT, 0, 0, 0], [BEHIND, 0, 0, 1], [LATER, 0, 0, 9]],
    ];
    let sized = |size: u8| scripts.iter().map(move |script| [&[size], script.as_flattened()].concat());
    sized(1).chain(sized(LARGE)).collect()
}
