//! Test packets that the kernel took in and recorded, as arrivals. Where they are counted, and what is wrong about them, is no
//! different from packets that came as frames.
//!
//! A record has an instant of CLOCK_MONOTONIC, which a time daemon may steer; workers keep their own clock. So the two are
//! compared again and again.
//!
//! At high rates a few records share an instant, because reading the clock takes the kernel's program longer than all the rest.
//! They came between two known instants: those read before and after them, and when the worker looked. The distance of
//! these is part of the clock's error.

use super::arrivals::{ANY_PORT, Expected, FCS_BYTES, arrival_of};
use super::clocks::Clocks;
use super::counting::{Counting, leave_out};
use measure::Arrival;
use port::{Clock, KernelClock, Recorded, RxQueue, TestPackets};
use std::cell::Cell;
use units::Nanos;
use wire::signature::{self, Mark, Signature};

/// Records that are taken at a time.
const TAKEN: usize = 256;
/// Interval of polls for records. They have arrival times; the kernel's program and the worker use the same memory, so
/// taking each as soon as it is there would cost both more.
const LOOK_EVERY: Nanos = Nanos::from_micros(20);
/// Time between two packets of those that share an instant, at most: more of them share none.
const SPACING_MAX_NS: u64 = 500;
/// Data on the trial for the port's program.
pub(super) fn packets(mark: &Mark, port: usize, expected: &[Expected]) -> TestPackets {
    let (mark, keys) = mark.parts();
    let lengths = |expected: &Expected| match expected.port == ANY_PORT || usize::from(expected.port) == port
    {
        true => [expected.shortest, expected.longest],
        false => [u16::MAX, 0],
    };
    TestPackets { mark, keys, lengths: expected.iter().map(lengths).collect() }
}

/// One queue's records.
pub(super) struct Records {
    taken: [Recorded; TAKEN],
    /// The taken records, as arrivals, and their arrival times.
    arrivals: [Arrival; TAKEN],
    instants: [Nanos; TAKEN],
    /// When to look again.
    next_look: Nanos,
    clocks: Clocks,
    shared: SharedInstants,
}

impl Default for Records {
    fn default() -> Self {
        Self {
            taken: [Recorded::default(); TAKEN],
            arrivals: [Arrival::default(); TAKEN],
            instants: [Nanos::ZERO; TAKEN],
            next_look: Nanos::ZERO,
            clocks: Clocks::default(),
            shared: SharedInstants::default(),
        }
    }
}

impl Records {
    /// Counts what was recorded; returns whether there was anything. Streams that are `stale` are not sampled.
    pub(super) fn turn<C: Clock>(
        &mut self,
        clock: &C,
        counting: Counting<'_>,
        queue: &mut dyn RxQueue,
        port: usize,
        expected: &[Expected],
        stale: &[u32],
    ) -> bool {
        let Counting { watch, recorder, interval } = counting;
        let now = clock.now();
        if now < self.next_look {
            return false;
        }
        let taken = queue.recorded(&mut self.taken);
        if taken < TAKEN {
            self.next_look = now.saturating_add(LOOK_EVERY);
        }
        if taken == 0 {
            self.shared.looked = now;
            return false;
        }
        self.clocks.compare(clock, KernelClock::MONOTONIC);
        let until = clock.now();
        self.shared.spread(&mut self.taken[..taken], &self.clocks, until);
        // What is there at the next look, if this one left nothing, was not there now.
        self.shared.looked = if taken < TAKEN { now } else { self.shared.looked };
        let counts = &mut interval.ports[port];
        let error_ns = self.clocks.error_ns + std::mem::take(&mut self.shared.error_ns);
        counts.rx_clock_error_ns = counts.rx_clock_error_ns.max(error_ns);
        counts.rx_packets += taken as u64;
        counts.rx_recorded += taken as u64;
        let (arrivals, instants) = (&mut self.arrivals[..taken], &mut self.instants[..taken]);
        for ((record, arrival), at) in self.taken.iter().zip(&mut *arrivals).zip(&mut *instants) {
            let Recorded { time, stream, sequence, lane, .. } = *record;
            let (found, bytes) = (Signature { stream, lane, sequence, time }, usize::from(record.bytes));
            *at = Nanos(record.monotonic_ns);
            *arrival = arrival_of(port, found, bytes, *at, expected, counts);
            counts.rx_bytes += (bytes + FCS_BYTES) as u64;
        }
        watch.at(until);
        recorder.touch_until(watch.touched_until(until));
        if watch.recovers() {
            let sent =
                arrivals.iter().zip(&*instants).map(|(arrival, at)| at.since(Nanos(arrival.latency))).max();
            sent.into_iter().for_each(|sent| watch.came_back(sent, until));
        }
        let (arrivals, instants) = match recorder.passes_some() {
            true => {
                let at = Cell::from_mut(&mut *instants).as_slice_of_cells();
                let place = |from: usize, to: usize| at[to].set(at[from].get());
                let left = leave_out(recorder, &mut interval.passed, arrivals, |i| at[i].get(), place);
                (&mut arrivals[..left], &mut instants[..left])
            }
            false => (arrivals, instants),
        };
        interval.ports[port].rx_unknown_stream += recorder.record_each(arrivals, instants);
        if interval.paths.is_counting() || interval.samples.is_counting() {
            for (arrival, at) in arrivals.iter().zip(&*instants) {
                interval.paths.record(port, std::slice::from_ref(arrival), *at);
                interval.samples.received(std::slice::from_ref(arrival), *at, stale);
            }
        }
        true
    }
}

/// Records that share the instant of one before them.
#[derive(Debug, Default)]
struct SharedInstants {
    /// The instant of the last record.
    last: Nanos,
    /// When there was nothing more to take.
    looked: Nanos,
    /// Maximum error of an instant for being shared, ns.
    error_ns: u64,
}

impl SharedInstants {
    /// Gives each record an instant of the workers' clock. All had come at `until`, and those that came since the last look not
    /// before that.
    fn spread(&mut self, records: &mut [Recorded], clocks: &Clocks, until: Nanos) {
        let mut from = 0;
        while from < records.len() {
            let own = records[from..].iter().position(|record| record.monotonic_ns != 0);
            let end = own.map_or(records.len(), |own| from + own);
            let upper = own.map_or(until, |_| clocks.convert(records[end].monotonic_ns));
            self.spread_between(&mut records[from..end], upper);
            if let Some(record) = records.get_mut(end) {
                self.last = upper;
                record.monotonic_ns = upper.0;
            }
            from = end + 1;
        }
    }

    /// Instants for records that have none, from the last one on and not after `upper`.
    fn spread_between(&mut self, records: &mut [Recorded], upper: Nanos) {
        if records.is_empty() {
            return;
        }
        let lower = self.last.max(self.looked).min(upper);
        let span = upper.since(lower).0;
        let spacing = (span / (records.len() as u64 + 1)).min(SPACING_MAX_NS);
        for (place, record) in (1..).zip(&mut *records) {
            let at = lower.saturating_add(Nanos(place * spacing));
            // Not before it was sent, by the same clock.
            let sent = signature::unwrap_time(record.time, upper);
            record.monotonic_ns = at.max(sent.min(upper)).0;
        }
        self.error_ns = self.error_ns.max(span);
        self.last = lower.saturating_add(Nanos(records.len() as u64 * spacing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_instants_lie_between_those_that_are_known() {
        let record = |monotonic_ns, time| Recorded { monotonic_ns, time, ..Recorded::default() };
        let instants = |records: &[Recorded]| records.iter().map(|one| one.monotonic_ns).collect::<Vec<_>>();
        let clocks = Clocks { ahead: 1_000, ..Clocks::default() };
        let mut shared = SharedInstants::default();
        // Two between two, and two at the end.
        let mut records = [
            record(5_000, 10),
            record(0, 10),
            record(0, 10),
            record(5_900, 10),
            record(0, 10),
            record(0, 10),
        ];
        shared.spread(&mut records, &clocks, Nanos(7_200));
        assert_eq!(instants(&records), [6_000, 6_300, 6_600, 6_900, 7_000, 7_100]);
        assert_eq!(std::mem::take(&mut shared.error_ns), 900);
        // The worker had looked meanwhile: so long was it not there, however soon after the one before it was sent.
        shared.looked = Nanos(20_000);
        let mut records = [record(0, 10), record(0, 20_800)];
        shared.spread(&mut records, &clocks, Nanos(50_000));
        assert_eq!(instants(&records), [20_500, 21_000]);
        assert_eq!(std::mem::take(&mut shared.error_ns), 30_000);
        // Nothing comes before it was sent.
        let mut records = [record(0, 21_300)];
        shared.spread(&mut records, &clocks, Nanos(21_400));
        assert_eq!(instants(&records), [21_300]);
    }

    #[test]
    fn a_program_knows_the_lengths_of_its_port_only() {
        let one = |port| Expected { port, shortest: 60, longest: 1514, egress: 0 };
        let packets = packets(&Mark::of_run(1), 1, &[one(0), one(1), one(ANY_PORT)]);
        assert_eq!(packets.lengths, [[u16::MAX, 0], [60, 1514], [60, 1514]]);
    }
}
