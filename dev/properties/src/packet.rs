//! Frames of any bytes: reading them never fails, and its results match the bytes: headers, checksums, and places by
//! their names.
//!
//! The first byte of an input selects whether the last bytes of the frame are made a signature of the run (bit 0) and
//! the amount of padding after them (the other bits); the rest is the frame.

use std::collections::{HashSet, VecDeque};
use units::Nanos;
use wire::protocols::ALL;
use wire::signature::{self, Mark, STREAMS_MAX, Signature, Stamp};
use wire::{Header, PacketSpec, Place, Protocol, ReadHeader, checksums, path, read};

const SEED: u64 = 0xea67_e001;
const MARKED: u8 = 1;
const PADDING: [u8; 3] = [0, 4, 40];
const TIME_MASK: u64 = (1 << 40) - 1;
/// Half of the time a signature's clock takes to come round.
const NEAR: u64 = 1 << 39;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    if let Some((how, bytes)) = data.split_first() {
        let mut frame = bytes.to_vec();
        if how & MARKED != 0
            && let Some(end) = frame.last_chunk_mut::<{ signature::LEN }>()
        {
            *end = signature_of(end).bytes(&Mark::of_run(SEED));
        }
        frame.resize(frame.len() + usize::from(how >> 1), 0);
        check_signatures(&frame);
        check_headers(&frame);
        check_checksums(&frame);
        check_paths(&frame);
    }
}

fn check_signatures(frame: &[u8]) {
    let mark = Mark::of_run(SEED);
    let (at_end, found) = (signature::read_at_end(frame, &mark), signature::find(frame, &mark));
    if let Ok(at_end) = at_end {
        assert_eq!(found, Ok(at_end), "the frame's end is looked at first");
        assert!(frame.ends_with(&at_end.bytes(&mark)), "{at_end:?} is not what the frame ends with");
    }
    if let Some(end) = ip_end(frame) {
        let in_ip = frame.get(..end).and_then(|packet| signature::read_at_end(packet, &mark).ok());
        assert_eq!(found.ok(), at_end.ok().or(in_ip), "the IP packet ends at {end}");
    }
    if let Ok(found) = found {
        let bytes = found.bytes(&mark);
        assert!(frame.windows(bytes.len()).any(|window| window == bytes), "{found:?} is not in the frame");
        assert!((found.stream as usize) < STREAMS_MAX && found.time <= TIME_MASK);
        if let Some(now) = frame.first_chunk() {
            check_time(found.time, u64::from_le_bytes(*now));
        }
    }
}

/// Where the IP packet after Ethernet and any VLAN tags ends, in the words of the catalogue.
fn ip_end(frame: &[u8]) -> Option<usize> {
    let (headers, _) = read(frame);
    let ip = headers.iter().find(|header| !["ethernet", "vlan"].contains(&header.protocol.name))?;
    let length = |header: usize, name| Some(ip.offset + header + ip.value(name)? as usize);
    length(0, "total_length").or_else(|| length(ip.protocol.len, "payload_length"))
}

/// A signature whose numbers are taken from `bytes`, at their positions.
fn signature_of(bytes: &[u8; signature::LEN]) -> Signature {
    let number =
        |range: std::ops::Range<usize>| bytes[range].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
    Signature {
        stream: number(3..6) as u32,
        lane: bytes[17],
        sequence: number(8..12) as u32,
        time: number(12..17),
    }
}

fn check_time(time: u64, now: u64) {
    let instant = signature::unwrap_time(time, Nanos(now)).0;
    assert_eq!(instant & TIME_MASK, time, "another instant at {now}");
    let at_the_clocks_end = !(NEAR..=u64::MAX - NEAR).contains(&now);
    assert!(at_the_clocks_end || instant.abs_diff(now) <= NEAR, "{instant} is not the nearest to {now}");
}

fn check_headers(frame: &[u8]) {
    let (headers, behind) = read(frame);
    assert!(behind <= frame.len());
    assert!(headers.is_empty() == (frame.len() < 14), "every frame begins with Ethernet");
    let mut end = 0;
    for (index, header) in headers.iter().enumerate() {
        assert_eq!(header.offset, end, "{} does not begin where the one before ends", header.protocol.name);
        end = headers.get(index + 1).map_or(behind, |next| next.offset);
        assert!(end <= frame.len() && end - header.offset >= header.protocol.len, "{}", header.protocol.name);
        check_fields(header, &frame[header.offset..end]);
    }
    assert_eq!(end, behind);
    check_rebuilt(frame, &headers, behind);
}

/// The fields of a header are its bytes, and their texts are the fields.
fn check_fields(header: &ReadHeader, bytes: &[u8]) {
    let at = header.protocol.variable.as_ref().map_or(0, |variable| variable.at);
    let variable = variable_of(header);
    assert_eq!(&bytes[at..at + variable.len()], variable);
    let behind = &bytes[at + variable.len()..header.protocol.len + variable.len()];
    let fixed = [&bytes[..at], behind].concat();
    let mut copy = vec![0; fixed.len()];
    for (field, value) in &header.fields {
        assert!(*value <= field.max(), "{}.{}", header.protocol.name, field.name);
        assert_eq!(header.value(field.name), Some(*value));
        assert_eq!(field.parse(&field.print(*value)), Ok(*value));
        field.set(&mut copy, *value);
    }
    assert_eq!(copy, fixed, "{} has bits in no field", header.protocol.name);
}

fn variable_of(header: &ReadHeader) -> &[u8] {
    header.variable.as_deref().unwrap_or_default()
}

/// Built with every field set as read, the frame is the same, except for padding and unknown options.
fn check_rebuilt(frame: &[u8], headers: &[ReadHeader], behind: usize) {
    let mut expected = frame.to_vec();
    for (index, header) in headers.iter().enumerate() {
        let end = headers.get(index + 1).map_or(behind, |next| next.offset);
        let own_end = header.offset + header.protocol.len + variable_of(header).len();
        expected[own_end..end].fill(0);
        if header.offset + header.protocol.length_in(&frame[header.offset..]) > frame.len() {
            return;
        }
    }
    let spec = PacketSpec {
        headers: headers.iter().map(Header::from).collect(),
        payload: frame[behind..].to_vec(),
        ..PacketSpec::default()
    };
    let packet = spec.build_unpadded().expect("what was read can be built");
    let offsets: Vec<usize> = headers.iter().map(|header| header.offset).collect();
    assert_eq!((packet.offsets, packet.payload), (offsets, behind));
    assert_eq!(packet.bytes, expected);
    assert_eq!(packet.checksums, [], "no checksum is computed that was set");
}

/// Checksums are in the frame, and once they are right they stay right.
fn check_checksums(frame: &[u8]) {
    let found = checksums(frame);
    for checksum in &found {
        let field = checksum.offset..checksum.offset + checksum.algorithm.bytes();
        assert!(checksum.start <= field.start && field.end <= checksum.end && checksum.end <= frame.len());
    }
    let mut right = frame.to_vec();
    found.iter().for_each(|checksum| checksum.write(&mut right));
    assert_eq!(checksums(&right), found, "what is found does not depend on what checksums hold");
    let mut again = right.clone();
    found.iter().for_each(|checksum| checksum.write(&mut again));
    assert_eq!(again, right, "a checksum covers one that was computed later");
}

/// Every field is found by its name, and no text is too much.
fn check_paths(frame: &[u8]) {
    let (headers, _) = read(frame);
    let protocols: Vec<&Protocol> = headers.iter().map(|header| header.protocol).collect();
    for (index, header) in protocols.iter().enumerate() {
        let nth = protocols[..index].iter().filter(|before| before.name == header.name).count();
        for field in header.fields {
            let path = format!("{}[{nth}].{}", header.name, field.name);
            match path::resolve_in(&path, &protocols) {
                Ok(Place::Field { header, field: found }) => {
                    assert_eq!((header, found.name), (index, field.name))
                }
                other => panic!("{path}: {other:?}"),
            }
        }
    }
    if let Err(error) = path::resolve_in(&String::from_utf8_lossy(frame), &protocols) {
        assert!(!error.to_string().is_empty());
    }
}

/// For every protocol a signed packet that ends in it, with different padding after them.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut stacks = VecDeque::from([vec![Header::new(ALL[0])]]);
    let (mut seen, mut seeds) = (HashSet::from([ALL[0].name]), Vec::new());
    while let Some(stack) = stacks.pop_front() {
        let spec =
            PacketSpec { headers: stack.clone(), payload: vec![0; signature::LEN], ..PacketSpec::default() };
        let Ok(mut packet) = spec.build_unpadded() else { continue };
        let lane = Mark::of_run(SEED).lane(7, 1);
        let stamp = Stamp::prepare(&mut packet, &lane).expect("there is room for a signature");
        stamp.write(&mut packet.bytes, &lane.at(123_456_789_012), 1_000_000);
        let how = PADDING[seeds.len() % PADDING.len()] << 1 | MARKED;
        seeds.push([&[how], &packet.bytes[..]].concat());
        for protocol in ALL {
            let headers = [&stack[..], &[Header::new(protocol)]].concat();
            let next = PacketSpec { headers: headers.clone(), ..PacketSpec::default() };
            if next.build_unpadded().is_ok() && seen.insert(protocol.name) {
                stacks.push_back(headers);
            }
        }
    }
    assert_eq!(seen.len(), ALL.len(), "a protocol follows no other");
    seeds
}
