//! Number of packets of a stream sent in each millisecond, and number of those that have arrived.
//!
//! Beside the recorder, which knows no departures. Whether too few arrived, and for how long, is found out where the counts of all
//! workers come together ([`Outages`](crate::Outages)).
//!
//! A packet counts in the millisecond in which it was sent, also when it arrives: neither a pause of the sender nor one of the
//! receiver looks like loss.

use crate::recorder::Arrival;
use units::Nanos;

/// The time that a sample is about.
pub const SAMPLE: Nanos = Nanos::from_millis(1);

/// Number of a stream's samples with separate places: a quarter of a second.
const PLACES: usize = 256;

/// Packets of a stream that were sent in one millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// Which millisecond of the workers' clock.
    pub number: u64,
    /// Packets sent in it.
    pub sent: u32,
    /// Packets sent in it that have arrived, duplicates included.
    pub received: u32,
}

impl Sample {
    fn is_empty(&self) -> bool {
        self.sent == 0 && self.received == 0
    }
}

/// Samples of all streams. Empty, it counts nothing.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// By stream, [`PLACES`] each, then by number.
    rows: Vec<Sample>,
    /// Those whose place was taken, with their streams.
    others: Vec<(u32, Sample)>,
}

impl Samples {
    /// Bytes that the samples of one stream take.
    pub const STREAM_BYTES: u64 = (PLACES * size_of::<Sample>()) as u64;

    /// Nothing sent yet of `streams` streams.
    pub fn new(streams: usize) -> Self {
        Self { rows: vec![Sample::default(); streams * PLACES], others: Vec::new() }
    }

    /// Whether there are streams to count.
    #[inline]
    pub fn is_counting(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Counts packets of a stream that were sent at `departure`.
    pub fn sent(&mut self, stream: u32, departure: Nanos, packets: u32) {
        if let Some(sample) = self.at(stream, departure) {
            sample.sent = sample.sent.saturating_add(packets);
        }
    }

    /// Counts a burst that arrived at `now`; arrivals of the streams `but`, and of streams there are not, are left out.
    #[inline]
    pub fn received(&mut self, arrivals: &[Arrival], now: Nanos, but: &[u32]) {
        if self.is_counting() {
            let counted = arrivals.iter().filter(|arrival| !but.contains(&arrival.stream));
            counted.for_each(|arrival| self.take(arrival, now));
        }
    }

    fn take(&mut self, arrival: &Arrival, now: Nanos) {
        if let Some(sample) = self.at(arrival.stream, now.since(Nanos(arrival.latency))) {
            sample.received = sample.received.saturating_add(arrival.packets.into());
        }
    }

    fn at(&mut self, stream: u32, departure: Nanos) -> Option<&mut Sample> {
        let number = departure.0 / SAMPLE.0;
        let row = self.rows.get_mut(stream as usize * PLACES + number as usize % PLACES)?;
        if row.is_empty() {
            row.number = number;
        }
        if row.number == number {
            return Some(row);
        }
        let is_it = |(own, sample): &(u32, Sample)| *own == stream && sample.number == number;
        let place = self.others.iter().rposition(is_it).unwrap_or_else(|| {
            self.others.push((stream, Sample { number, ..Sample::default() }));
            self.others.len() - 1
        });
        self.others.get_mut(place).map(|(_, sample)| sample)
    }

    /// Forgets everything counted.
    pub fn clear(&mut self) {
        self.rows.fill(Sample::default());
        self.others.clear();
    }

    /// The samples of a stream, in no order; samples of one millisecond may come in parts.
    pub fn of(&self, stream: usize) -> impl Iterator<Item = Sample> {
        let rows = self.rows.iter().skip(stream * PLACES).take(PLACES).filter(|sample| !sample.is_empty());
        let others = self.others.iter().filter(move |(own, _)| *own as usize == stream);
        rows.chain(others.map(|(_, sample)| sample)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(stream: u32, latency_ms: u64) -> Arrival {
        Arrival { stream, latency: latency_ms * 1_000_000, ..Arrival::default() }
    }

    fn of(samples: &Samples, stream: usize) -> Vec<(u64, u32, u32)> {
        let mut all: Vec<_> =
            samples.of(stream).map(|sample| (sample.number, sample.sent, sample.received)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn packets_count_when_they_were_sent() {
        let mut samples = Samples::new(2);
        samples.sent(0, Nanos(5_999_999), 3);
        samples.sent(0, Nanos(6_000_000), 2);
        samples.sent(1, Nanos(6_000_001), 1);
        samples.sent(2, Nanos(6_000_001), 1);
        samples.received(
            &[arrival(0, 2), arrival(0, 1), arrival(0, 9), arrival(7, 1), arrival(1, 1)],
            Nanos(7_500_000),
            &[1],
        );
        assert_eq!(of(&samples, 0), [(0, 0, 1), (5, 3, 1), (6, 2, 1)], "one is said to be older than time");
        assert_eq!(of(&samples, 1), [(6, 1, 0)]);
        samples.clear();
        assert_eq!(of(&samples, 0), []);
        let mut none = Samples::default();
        none.sent(0, Nanos(1), 1);
        none.received(&[arrival(0, 1)], Nanos(1), &[]);
        assert!(!none.is_counting() && of(&none, 0).is_empty());
    }

    #[test]
    fn a_place_that_is_taken_is_no_loss() {
        let mut samples = Samples::new(1);
        for number in [3, 3 + PLACES as u64, 3 + 2 * PLACES as u64, 3 + PLACES as u64] {
            samples.sent(0, Nanos(number * SAMPLE.0), 5);
        }
        let more = PLACES as u64;
        assert_eq!(of(&samples, 0), [(3, 5, 0), (3 + more, 10, 0), (3 + 2 * more, 5, 0)]);
    }
}
