//! Capture files of any bytes: they are read or refused, and what was read can be written and sent.

use pcap::{Capture, Direction, ETHERNET, NewInterface, Packet, PcapWriter, PcapngWriter, Statistics, read};
use replay::{CaptureOptions, Frames, SplitBy, Trace, speed_up, split};
use std::num::NonZeroU64;
use units::Nanos;

/// Range of times of a file with nanoseconds and 32 bits of seconds.
const CLASSIC_MAX: u64 = (u32::MAX as u64 + 1) * 1_000_000_000;

/// Kinds of warnings: packets without time, with a time that can't be, and of no interface, and a file that is cut short.
const WARNINGS: usize = 4;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    match read(data) {
        Ok(capture) => {
            check_size(&capture, data.len());
            check_written(&capture);
            check_sent(&capture);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check_size(capture: &Capture, len: usize) {
    let held: usize = capture.records.iter().map(|record| record.bytes.len()).sum();
    // A record takes 16 bytes at least, an interface 20.
    assert!(held + 16 * capture.records.len() <= len && 20 * capture.interfaces.len() <= len + 20);
    // One of each kind, however many packets it is about.
    let mut kinds = capture.warnings.clone();
    kinds.sort_unstable();
    kinds.dedup();
    assert!(kinds.len() == capture.warnings.len() && kinds.len() <= WARNINGS, "{:?}", capture.warnings);
    for record in &capture.records {
        assert!(capture.link_type(record).is_some());
        assert!(record.original_len as usize >= record.bytes.len());
    }
}

fn check_written(capture: &Capture) {
    let mut ng = PcapngWriter::new(Vec::new(), "fuzz", None).expect("memory takes everything");
    for interface in &capture.interfaces {
        let name = interface.name.as_deref().unwrap_or_default();
        let (link_type, snap_len) = (interface.link_type, interface.snap_len);
        let interface = NewInterface { name, link_type, snap_len, filter: None, comment: None };
        ng.add_interface(&interface).expect("memory takes everything");
    }
    let mut classic = PcapWriter::new(Vec::new(), 0).expect("memory takes everything");
    let mut in_classic = true;
    for record in &capture.records {
        let packet = Packet {
            at: record.at,
            interface: record.interface,
            direction: Some(Direction::Received),
            original_len: record.original_len,
            bytes: &record.bytes,
        };
        ng.write(&packet).expect("memory takes everything");
        assert_eq!(classic.write(&packet).is_ok(), record.at.0 < CLASSIC_MAX);
        in_classic &= record.at.0 < CLASSIC_MAX;
    }
    let again = read(&ng.into_inner()[..]).expect("what was written can be read");
    assert_eq!(again.records, capture.records);
    assert_eq!(again.interfaces.len(), capture.interfaces.len());
    if in_classic {
        let again = read(&classic.into_inner()[..]).expect("what was written can be read").records;
        assert!(again.iter().map(|r| (r.at, &r.bytes)).eq(capture.records.iter().map(|r| (r.at, &r.bytes))));
    }
}

fn check_sent(capture: &Capture) {
    let Ok(frames) = Frames::new(capture, &CaptureOptions::default()) else { return };
    assert_eq!(frames.len() as u64 + frames.report.left_out(), capture.records.len() as u64);
    let mut trace = Trace::of(frames.clone());
    assert!(trace.packets.is_sorted_by_key(|packet| packet.at) && trace.packets[0].at == Nanos::ZERO);
    let sides = split(frames, &SplitBy::FirstSource).expect("the first packet is a client's");
    assert_eq!(sides[0].packets.len() + sides[1].packets.len(), trace.packets.len());
    assert_eq!(sides[0].span, trace.span);
    let [num, den] = [3, 7].map(|n| NonZeroU64::new(n).expect("not zero"));
    speed_up(std::slice::from_mut(&mut trace), num, den);
    assert!(trace.packets.is_sorted_by_key(|packet| packet.at));
}

/// Files of both formats, with several interfaces, statistics, one that is cut short, and one with all that can be wrong with a file
/// that is read nevertheless.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut ng = PcapngWriter::new(Vec::new(), "fuzz", Some("a comment")).expect("memory");
    for name in ["west", "east"] {
        let filter = Some("udp");
        let interface = NewInterface { name, link_type: ETHERNET, snap_len: 64, filter, comment: filter };
        ng.add_interface(&interface).expect("memory");
    }
    let mut classic = PcapWriter::new(Vec::new(), 64).expect("memory");
    for number in 0..3u8 {
        let packet = Packet {
            at: Nanos(u64::from(number) * 1_000_000_007),
            interface: u32::from(number % 2),
            direction: (number > 0).then_some(Direction::Sent),
            original_len: 60 + u32::from(number),
            bytes: &[number; 60],
        };
        ng.write(&packet).expect("memory");
        classic.write(&packet).expect("memory");
    }
    ng.statistics(1, &Statistics::default()).expect("memory");
    let (ng, classic) = (ng.into_inner(), classic.into_inner());
    // The other byte order and unit: all that is needed to begin with.
    let mut big = vec![0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4];
    big.extend([0; 15]);
    big.push(1);
    let simple = [&ng[..], &block(3, &[4, 0, 0, 0, 1, 2, 3, 4])].concat();
    // An interface that counts microseconds, a packet of no interface, one in the year 500,000, one that ends too soon.
    let packet = |interface: u8, time: u8| {
        let mut fields = [0; 20];
        (fields[0], fields[7]) = (interface, time);
        block(6, &fields)
    };
    let microseconds = block(1, &[1, 0, 0, 0, 0, 0, 0, 0]);
    let odd = [&simple[..], &microseconds, &packet(9, 0), &packet(2, 0xff), &packet(0, 0)[..20]].concat();
    vec![ng[..ng.len() - 5].to_vec(), ng, classic, big, simple, odd]
}

/// A block of a pcapng file: its type, its length before and after, and what is between.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, body, &len].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_have_all_warnings() {
        let seeds = seeds();
        assert!(seeds.iter().all(|seed| read(&seed[..]).is_ok()));
        assert_eq!(read(&seeds[5][..]).expect("it can be read").warnings.len(), WARNINGS);
    }
}
