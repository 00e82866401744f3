//! The result: what a path carried, in words and numbers of RFC 9097.

use crate::packet::{NONE, SubInterval};
use serde::Serialize;

/// Octets of the headers of UDP and IP.
fn headers(is_v6: bool) -> u64 {
    if is_v6 { 48 } else { 28 }
}

/// A part of a test, as its receiver counted it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interval {
    /// Its end, s since the first packet came.
    pub at_s: f64,
    /// Its length, s.
    pub interval_s: f64,
    /// Bits per second that came, at the IP layer.
    pub bps_ip: f64,
    /// Packets of load that came.
    pub received: u64,
    /// Packets that are missing.
    pub lost: u64,
    /// The share of packets sent that is missing.
    pub loss_ratio: f64,
    /// Packets that came after later ones.
    pub reordered: u64,
    /// Packets that came again.
    pub duplicates: u64,
    /// Rise of the one-way delay over the shortest, ms: least, mean, most.
    pub delay_rise_ms: [f64; 3],
    /// Rise of the round trip over the shortest, ms: least, most.
    pub round_trip_rise_ms: [f64; 2],
}

impl Interval {
    /// Sub-interval of a status.
    pub fn of(counts: &SubInterval, is_v6: bool) -> Self {
        let seconds = f64::from(counts.micros) / 1e6;
        let bytes = counts.bytes + u64::from(counts.datagrams) * headers(is_v6);
        let sent = u64::from(counts.datagrams) + u64::from(counts.lost);
        let (least, most, sum, number) = counts.rise;
        let known = |value: u32| if value == NONE { 0.0 } else { f64::from(value) };
        Self {
            at_s: f64::from(counts.at_ms) / 1e3,
            interval_s: seconds,
            bps_ip: bytes as f64 * 8.0 / seconds.max(1e-6),
            received: counts.datagrams.into(),
            lost: counts.lost.into(),
            loss_ratio: f64::from(counts.lost) / sent.max(1) as f64,
            reordered: counts.reordered.into(),
            duplicates: counts.duplicates.into(),
            delay_rise_ms: [known(least), f64::from(sum) / f64::from(number.max(1)), known(most)],
            round_trip_rise_ms: [known(counts.round_trip.0), known(counts.round_trip.1)],
        }
    }
}

/// Capacity of a path in one direction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capacity {
    /// `to_server` or `from_server`.
    pub direction: &'static str,
    /// Maximum IP-layer capacity (RFC 9097 section 5): the most that came in an interval, bits per second at the IP layer.
    /// Absent if no interval was whole.
    pub capacity_bps_ip: Option<f64>,
    /// When that was: the end of the interval, s.
    pub at_s: Option<f64>,
    /// Share of packets lost in that interval.
    pub loss_ratio: Option<f64>,
    /// The mean of all intervals, bits per second at the IP layer.
    pub mean_bps_ip: Option<f64>,
    /// Shortest round trip that the receiver saw, ms.
    pub round_trip_min_ms: Option<f64>,
    /// Limit of the capacity, if known.
    pub limited_by: Option<String>,
    /// The intervals.
    pub intervals: Vec<Interval>,
}

impl Capacity {
    /// Of its intervals.
    pub fn of(upwards: bool, intervals: Vec<Interval>) -> Self {
        let most = intervals.iter().max_by(|a, b| a.bps_ip.total_cmp(&b.bps_ip));
        let time: f64 = intervals.iter().map(|interval| interval.interval_s).sum();
        let bits: f64 = intervals.iter().map(|interval| interval.bps_ip * interval.interval_s).sum();
        Self {
            direction: if upwards { "to_server" } else { "from_server" },
            capacity_bps_ip: most.map(|interval| interval.bps_ip),
            at_s: most.map(|interval| interval.at_s),
            loss_ratio: most.map(|interval| interval.loss_ratio),
            mean_bps_ip: (time > 0.0).then_some(bits / time),
            round_trip_min_ms: None,
            limited_by: None,
            intervals,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_is_that_of_the_best_interval() {
        let counts =
            SubInterval { datagrams: 1000, bytes: 1_222_000, micros: 500_000, ..SubInterval::default() };
        let one = Interval::of(&counts, false);
        assert_eq!((one.bps_ip, one.loss_ratio), (20_000_000.0, 0.0));
        let more = SubInterval { lost: 1000, micros: 250_000, at_ms: 750, ..counts };
        let two = Interval::of(&more, false);
        assert_eq!((two.bps_ip, two.loss_ratio), (40_000_000.0, 0.5));
        let capacity = Capacity::of(true, vec![one, two]);
        assert_eq!((capacity.capacity_bps_ip, capacity.at_s), (Some(40_000_000.0), Some(0.75)));
        assert!((capacity.mean_bps_ip.unwrap() - 80_000_000.0 / 3.0).abs() < 1.0);
        assert_eq!(Capacity::of(false, Vec::new()).capacity_bps_ip, None);
        // IPv6's headers are 20 octets longer.
        assert_eq!(Interval::of(&counts, true).bps_ip, 20_320_000.0);
    }
}
