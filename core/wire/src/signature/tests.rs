use super::*;
use crate::testing::{Author, any_spec, headers};
use crate::{Header, PacketSpec, protocol};
use proptest::prelude::*;
use units::FrameLen;

/// Of stream 1, lane 2, sequence 3, time 4 in the run with seed 0.
const CHECK_OF_KNOWN: u16 = 0x23c4;

fn mark() -> Mark {
    Mark::of_run(0xea67_e001)
}

fn built(names: &[&str], extra: usize) -> Packet {
    let spec = PacketSpec { headers: headers(names), ..PacketSpec::default() };
    spec.build(spec.shortest(extra)).unwrap()
}

#[test]
fn fills_the_payload_of_a_minimum_udp_frame() {
    let mut packet = built(&["ethernet", "ipv4", "udp"], LEN);
    assert_eq!((packet.bytes.len(), packet.payload), (60, 42));
    let lane = mark().lane(0x0a_0b0c, 7);
    let stamp = Stamp::prepare(&mut packet, &lane).unwrap();
    stamp.write(&mut packet.bytes, &lane.at(0x0011_2233_4455_6677), 0x0102_0304);
    let [a, b, c, ..] = mark().bits.to_le_bytes();
    let found = Signature { stream: 0x0a_0b0c, lane: 7, sequence: 0x0102_0304, time: 0x33_4455_6677 };
    assert_eq!(packet.bytes[42..48], [a, b, c, 0x0c, 0x0b, 0x0a]);
    assert_eq!(packet.bytes[50..], [4, 3, 2, 1, 0x77, 0x66, 0x55, 0x44, 0x33, 7]);
    assert_eq!(packet.bytes[42..], found.bytes(&mark()));
    assert_eq!(read_at_end(&packet.bytes, &mark()), Ok(found));
    assert_eq!(read_at_end(&packet.bytes, &Mark::of_run(1)), Err(NoSignature::Foreign));
    assert_eq!(read_at_end(&packet.bytes[43..], &mark()), Err(NoSignature::Foreign), "cut short");
}

#[test]
fn streams_of_an_instant_differ_by_their_number() {
    for (stream, time) in
        [(0, 0), (5, 1), (0x0a_0b0c, 0x0011_2233_4455_6677), (STREAMS_MAX as u32 - 1, u64::MAX)]
    {
        assert_eq!(mark().lane(0, 7).at(time).of_stream(stream), mark().lane(stream, 7).at(time));
    }
}

/// The key is the run's, so its check is another in each; the layout is what other programs read.
#[test]
fn the_check_of_a_known_signature() {
    let known = Signature { stream: 1, lane: 2, sequence: 3, time: 4 };
    let bytes = known.bytes(&Mark::of_run(0));
    assert_eq!(bytes[6..8], CHECK_OF_KNOWN.to_le_bytes());
    let [k, l] = [1, 2].map(|n| random::word(random::key(0), n));
    let first = u64::from(Mark::of_run(0).bits) | 1 << 24 | 2 << 56;
    let product = u128::from(k ^ (3 | 4 << 32)) * u128::from(l ^ first);
    assert_eq!(u64::from(CHECK_OF_KNOWN), ((product >> 64) as u64 ^ product as u64) >> 48);
}

#[test]
fn a_flipped_bit_is_noticed() {
    let (mut passed, mut foreign) = (0, 0);
    for n in 0..500u32 {
        let signature = Signature { stream: n % 7, lane: 0, sequence: n * 1_000, time: u64::from(n) << 20 };
        for bit in 0..LEN * 8 {
            let mut bytes = signature.bytes(&mark());
            bytes[bit / 8] ^= 1 << (bit % 8);
            match read_at_end(&bytes, &mark()) {
                Ok(_) => passed += 1,
                Err(NoSignature::Foreign) => foreign += 1,
                Err(NoSignature::Damaged) => {}
            }
        }
    }
    assert_eq!(foreign, 500 * 24, "only a flipped bit of the mark makes it foreign");
    assert!(passed <= 8, "{passed} of 60,000 passed; by chance it is one in 65,536");
}

#[test]
fn what_is_made_without_the_key_does_not_pass() {
    let mut passed = 0;
    for n in 0..50_000u64 {
        let mut bytes = Signature { stream: 0, lane: 0, sequence: 5, time: n }.bytes(&Mark::of_run(n + 1));
        bytes[..3].copy_from_slice(&mark().bits.to_le_bytes()[..3]);
        passed += u32::from(read_at_end(&bytes, &mark()).is_ok());
    }
    assert!(passed <= 8, "{passed} of 50,000 passed; by chance it is one in 65,536");
}

#[test]
fn needs_room_in_the_payload() {
    let mut packet = built(&["ethernet", "ipv6", "udp"], LEN - 1);
    let before = packet.clone();
    assert_eq!(Stamp::prepare(&mut packet, &mark().lane(0, 0)), None);
    assert_eq!(Stamp::prepare_offload(&mut packet, &mark().lane(0, 0)), None);
    assert_eq!(packet, before);
}

#[test]
fn marks_differ_and_are_never_zero() {
    let marks: std::collections::HashSet<u32> = (0..10_000).map(|seed| Mark::of_run(seed).bits).collect();
    assert!(marks.len() > 9_980 && !marks.contains(&0));
    assert!(marks.iter().all(|mark| *mark < 1 << 24));
}

#[test]
fn finds_it_in_frames_the_device_padded() {
    for names in [
        &["ethernet", "ipv4", "udp"][..],
        &["ethernet", "ipv6", "tcp"],
        &["ethernet", "vlan", "ipv4", "icmp"],
        &["ethernet", "vlan", "vlan", "ipv6", "udp"],
    ] {
        let mut packet = built(names, LEN);
        let lane = mark().lane(5, 1);
        Stamp::prepare(&mut packet, &lane).unwrap().write(&mut packet.bytes, &lane.at(11), 9);
        let wanted = Ok(Signature { stream: 5, lane: 1, sequence: 9, time: 11 });
        assert_eq!(find(&packet.bytes, &mark()), wanted);
        packet.bytes.extend([0; 7]);
        assert_eq!(read_at_end(&packet.bytes, &mark()), Err(NoSignature::Foreign));
        assert_eq!(find(&packet.bytes, &mark()), wanted, "{names:?}");
        assert_eq!(find(&packet.bytes, &Mark::of_run(1)), Err(NoSignature::Foreign));
        let sequence_at = packet.bytes.len() - 7 - 10;
        packet.bytes[sequence_at] ^= 1;
        assert_eq!(find(&packet.bytes, &mark()), Err(NoSignature::Damaged), "{names:?}");
    }
}

#[test]
fn unwraps_times_around_now() {
    let turn = 1u64 << 40;
    for (instant, now) in [
        (0, 0),
        (5, 1_000),
        (turn - 1, turn + 5),
        (turn + 5, turn - 1),
        (3 * turn, 3 * turn + turn / 2),
        (3 * turn + turn / 2, 3 * turn + 1),
        (u64::MAX, u64::MAX),
        (u64::MAX - 9, u64::MAX),
    ] {
        assert_eq!(unwrap_time(instant & TIME_MASK, Nanos(now)), Nanos(instant), "{instant} at {now}");
    }
    assert_eq!(unwrap_time(TIME_MASK, Nanos(1)), Nanos(TIME_MASK), "nothing is before the clock's beginning");
    assert_eq!(unwrap_time(4, Nanos(u64::MAX)), Nanos(u64::MAX - TIME_MASK + 4), "nor behind its end");
}

#[test]
fn leaves_the_pseudo_header_to_a_port_that_sums() {
    for (names, l2, l3) in
        [(&["ethernet", "ipv4", "udp"][..], 14, 20), (&["ethernet", "vlan", "vlan", "ipv6", "tcp"], 22, 40)]
    {
        let mut packet = built(names, LEN + 3);
        let lane = mark().lane(3, 2);
        let (stamp, l2_len, l3_len) = Stamp::prepare_offload(&mut packet, &lane).unwrap();
        assert_eq!((l2_len, l3_len), (l2, l3));
        stamp.write(&mut packet.bytes, &lane.at(88), 77);
        let checksum = packet.payload_checksum().unwrap().clone();
        // What the port does: sum all that is covered, the field included, and put the complement there.
        let port = checksum::finish(checksum::sum(&packet.bytes[checksum.start..], 0));
        let mut whole = packet.bytes.clone();
        checksum.write(&mut whole);
        assert_eq!(whole[checksum.offset..][..2], port.to_be_bytes());
        assert_eq!(read_at_end(&packet.bytes, &mark()).unwrap().sequence, 77);
    }
}

/// A CRC is not left right by what leaves the Internet checksum around it right; both are stamped.
#[test]
fn stamps_a_crc_and_the_checksum_around_it() {
    for (names, extra) in [
        (&["ethernet", "ipv4", "sctp", "sctp_data"][..], 18),
        (&["ethernet", "ipv4", "udp", "vxlan", "ethernet", "ipv6", "sctp", "sctp_data"], 20),
        (&["ethernet", "ipv6", "udp", "dns", "dns_question", "bytes", "ipv4", "sctp"], 21),
        (&["ethernet", "ipv4", "gre", "gre_checksum", "ipv4", "udp", "gtpu", "ipv4", "sctp"], 31),
    ] {
        let mut packet = built(names, extra);
        let lane = mark().lane(1, 2);
        let stamp = Stamp::prepare(&mut packet, &lane).unwrap();
        for (sequence, time) in [(0, 0), (1, 2), (0xdead_beef, 0x1234_5678_9abc)] {
            stamp.write(&mut packet.bytes, &lane.at(time), sequence);
            let mut whole = packet.bytes.clone();
            packet.checksums.iter().for_each(|checksum| checksum.write(&mut whole));
            assert_eq!(packet.bytes, whole, "{names:?}");
        }
    }
}

/// Options and known payload are nothing to a port; a second packet inside is.
#[test]
fn leaves_options_to_the_port_but_no_tunnel() {
    for (names, lengths) in [
        (&["ethernet", "ipv4", "udp", "dns", "dns_question"][..], Some((14, 20))),
        (&["ethernet", "vlan", "ipv4", "ipv4_router_alert", "tcp", "tcp_mss"], Some((18, 24))),
        (&["ethernet", "ipv6", "ipv6_hop_by_hop", "udp"], None),
        (&["ethernet", "ipv4", "udp", "vxlan", "ethernet", "ipv4"], None),
        (&["ethernet", "ipv4", "gre", "ipv4", "udp"], None),
    ] {
        let offload = Stamp::prepare_offload(&mut built(names, LEN), &mark().lane(0, 0));
        assert_eq!(offload.map(|(_, l2, l3)| (l2, l3)), lengths, "{names:?}");
    }
}

#[test]
fn leaves_to_the_port_only_what_ports_can() {
    for names in [
        &["ethernet", "arp"][..],
        &["ethernet", "ipv4", "icmp"],
        &["ethernet", "ipv6", "icmpv6"],
        &["ethernet", "ipv4"],
        &["ethernet"],
    ] {
        assert_eq!(Stamp::prepare_offload(&mut built(names, LEN), &mark().lane(0, 0)), None, "{names:?}");
    }
    let mut set = PacketSpec { headers: headers(&["ethernet", "ipv4", "udp"]), ..PacketSpec::default() };
    set.headers[2] = Header::new(protocol("udp").unwrap()).with("checksum", 0);
    assert_eq!(Stamp::prepare_offload(&mut set.build(FrameLen::MIN).unwrap(), &mark().lane(0, 0)), None);
}

proptest! {
    /// Incremental equals full, for any position and surroundings of the signature.
    #[test]
    fn stamps_the_right_checksum(
        spec in any_spec(Author::Honest),
        extra in 0usize..20,
        seed: u64,
        stream in 0u32..1 << 24,
        lane: u8,
        packets in prop::collection::vec((any::<u32>(), any::<u64>()), 1..6),
    ) {
        let mut packet = spec.build(spec.shortest(LEN + extra)).unwrap();
        let mark = Mark::of_run(seed);
        let lane_mark = mark.lane(stream, lane);
        let stamp = Stamp::prepare(&mut packet, &lane_mark).unwrap();
        for (sequence, time) in [(0, 0)].into_iter().chain(packets) {
            let mut frame = packet.bytes.clone();
            stamp.write(&mut frame, &lane_mark.at(time), sequence);
            let mut whole = packet.bytes.clone();
            let len = whole.len();
            let found = Signature { stream, lane, sequence, time: time & TIME_MASK };
            whole[len - LEN..].copy_from_slice(&found.bytes(&mark));
            packet.checksums.iter().for_each(|checksum| checksum.write(&mut whole));
            prop_assert_eq!(&frame, &whole);
            if (sequence, time) == (0, 0) {
                prop_assert_eq!(&frame, &packet.bytes, "the template is right as it is");
            }
            prop_assert_eq!(read_at_end(&frame, &mark), Ok(found));
        }
    }

    /// Writing to several frames equals writing to each.
    #[test]
    fn stamps_all_as_one_by_one(
        spec in any_spec(Author::Honest),
        extra in 0usize..20,
        lane: u8,
        time: u64,
        sequence in prop_oneof![any::<u32>(), u32::MAX - 3..=u32::MAX],
        frames in 0u32..5,
    ) {
        let mut packet = spec.build(spec.shortest(LEN + extra)).unwrap();
        let lane_mark = mark().lane(5, lane);
        let stamp = Stamp::prepare(&mut packet, &lane_mark).unwrap();
        let mut all = vec![packet.bytes.clone(); frames as usize];
        let mut each = all.clone();
        stamp.write_all(all.iter_mut().map(|frame| &mut frame[..]), &lane_mark.at(time), sequence);
        for (n, frame) in (0..).zip(&mut each) {
            stamp.write(frame, &lane_mark.at(time), sequence.wrapping_add(n));
        }
        prop_assert_eq!(all, each);
    }

    /// A follower is what a reader of each packet would take for it: the next number, all else the same, and a check that fits.
    #[test]
    fn followers_are_those_that_are_read_so(
        stream in 0u32..1 << 24,
        lane: u8,
        sequence in prop_oneof![any::<u32>(), u32::MAX - 3..=u32::MAX],
        time in 0u64..1 << TIME_BITS,
        changes in prop::collection::vec((0usize..8, any::<u8>(), 0usize..LEN * 8), 1..6),
    ) {
        let found = Signature { stream, lane, sequence, time };
        let (read, mut followers) = read_with_followers(&found.bytes(&mark()), &mark()).unwrap();
        prop_assert_eq!(read, found);
        let mut next = Signature { sequence: sequence.wrapping_add(1), ..found };
        for (what, by, bit) in changes {
            let changed = match what {
                0 => Signature { stream: (stream ^ u32::from(by)) & 0xff_ffff, ..next },
                1 => Signature { lane: lane ^ by, ..next },
                2 => Signature { sequence: next.sequence.wrapping_add(by.into()), ..next },
                3 => Signature { time: (time + u64::from(by)) & TIME_MASK, ..next },
                // The number's carry is nobody's.
                4 => Signature { time: (time + 1) & TIME_MASK, ..next },
                _ => next,
            };
            let mut bytes = changed.bytes(&mark());
            if what == 5 {
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            let is_next = read_at_end(&bytes, &mark()) == Ok(next);
            prop_assert_eq!(is_next, what > 5 || what < 5 && changed == next);
            prop_assert_eq!(followers.is_next(&bytes), is_next);
            if is_next {
                next.sequence = next.sequence.wrapping_add(1);
            }
        }
        prop_assert!(!followers.is_next(&next.bytes(&mark())[1..]), "cut short");
    }

    /// A checksum of zero comes up once in 65,536 packets.
    #[test]
    fn stamps_a_checksum_of_zero_as_its_protocol_says(
        names in prop::sample::select(vec!["udp", "tcp", "icmp"]),
        extra in 19usize..40,
        stream in 0u32..1 << 24,
    ) {
        let lane = mark().lane(stream, 0);
        let mut packet = built(&["ethernet", "ipv4", names], extra);
        let stamp = Stamp::prepare(&mut packet, &lane).unwrap();
        let checksum = packet.payload_checksum().unwrap().clone();
        let wanted: &[u8] = if names == "udp" { &[0xff, 0xff] } else { &[0, 0] };
        let is_zero = (0..20_000_000).any(|sequence| {
            stamp.write(&mut packet.bytes, &lane.at(0), sequence);
            &packet.bytes[checksum.offset..][..2] == wanted
        });
        prop_assert!(is_zero, "none of twenty million packets");
        let mut whole = packet.bytes.clone();
        checksum.write(&mut whole);
        prop_assert_eq!(whole, packet.bytes);
    }

    #[test]
    fn finds_nothing_in_noise_without_panic(mut frame in prop::collection::vec(any::<u8>(), 0..120), kind in 0usize..6) {
        let kinds: [u16; 6] = [0x0800, 0x86dd, 0x8100, 0x88a8, 0x9100, 0x1234];
        if frame.len() > 14 {
            frame[12..14].copy_from_slice(&kinds[kind].to_be_bytes());
        }
        let _ = find(&frame, &mark());
    }

    #[test]
    fn unwraps_what_was_wrapped(now: u64, ahead in -(1i64 << 39) + 1..1i64 << 39) {
        if let Some(instant) = now.checked_add_signed(ahead) {
            prop_assert_eq!(unwrap_time(instant & TIME_MASK, Nanos(now)), Nanos(instant));
        }
    }
}
