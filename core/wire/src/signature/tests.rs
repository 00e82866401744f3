use super::*;
use crate::testing::{Author, any_spec, headers};
use crate::{Header, PacketSpec, protocol};
use proptest::prelude::*;
use units::FrameLen;

const MARK: u32 = 0xea67_e001;

fn built(names: &[&str], extra: usize) -> Packet {
    let spec = PacketSpec { headers: headers(names), ..PacketSpec::default() };
    spec.build(spec.shortest(extra)).unwrap()
}

#[test]
fn fills_the_payload_of_a_minimum_udp_frame() {
    let mut packet = built(&["ethernet", "ipv4", "udp"], LEN);
    assert_eq!((packet.bytes.len(), packet.payload), (60, 42));
    let stamp = Stamp::prepare(&mut packet, MARK, 0x0a_0b0c, 7).unwrap();
    stamp.write(&mut packet.bytes, 0x0102_0304, 0x0011_2233_4455_6677);
    assert_eq!(
        packet.bytes[42..],
        [
            0x01, 0xe0, 0x67, 0xea, 0x0c, 0x0b, 0x0a, 7, 0x04, 0x03, 0x02, 0x01, 0x77, 0x66, 0x55, 0x44,
            0x33, 0x22
        ]
    );
    let found = Signature { stream: 0x0a_0b0c, lane: 7, sequence: 0x0102_0304, time: 0x2233_4455_6677 };
    assert_eq!(read_at_end(&packet.bytes, MARK), Some(found));
    assert_eq!(read_at_end(&packet.bytes, MARK + 1), None);
    assert_eq!(read_at_end(&packet.bytes[43..], MARK), None, "cut short");
}

#[test]
fn needs_room_in_the_payload() {
    let mut packet = built(&["ethernet", "ipv6", "udp"], LEN - 1);
    let before = packet.clone();
    assert_eq!(Stamp::prepare(&mut packet, MARK, 0, 0), None);
    assert_eq!(Stamp::prepare_offload(&mut packet, MARK, 0, 0), None);
    assert_eq!(packet, before);
}

#[test]
fn marks_differ_and_are_never_zero() {
    let marks: std::collections::HashSet<u32> = (0..10_000).map(run_mark).collect();
    assert!(marks.len() > 9_990 && !marks.contains(&0));
    assert_eq!(run_mark(0), 0xe220_a839, "the upper half of SplitMix64's first number");
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
        Stamp::prepare(&mut packet, MARK, 5, 1).unwrap().write(&mut packet.bytes, 9, 11);
        let wanted = Some(Signature { stream: 5, lane: 1, sequence: 9, time: 11 });
        assert_eq!(find(&packet.bytes, MARK), wanted);
        packet.bytes.extend([0; 7]);
        assert_eq!(read_at_end(&packet.bytes, MARK), None);
        assert_eq!(find(&packet.bytes, MARK), wanted, "{names:?}");
        assert_eq!(find(&packet.bytes, MARK ^ 1), None);
    }
}

#[test]
fn unwraps_times_around_now() {
    let turn = 1u64 << 48;
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
        let (stamp, l2_len, l3_len) = Stamp::prepare_offload(&mut packet, MARK, 3, 2).unwrap();
        assert_eq!((l2_len, l3_len), (l2, l3));
        stamp.write(&mut packet.bytes, 77, 88);
        let checksum = packet.payload_checksum().unwrap().clone();
        // What the port does: sum all that is covered, the field included, and put the complement there.
        let port = checksum::finish(checksum::sum(&packet.bytes[checksum.start..], 0));
        let mut whole = packet.bytes.clone();
        checksum.write(&mut whole);
        assert_eq!(whole[checksum.offset..][..2], port.to_be_bytes());
        assert_eq!(read_at_end(&packet.bytes, MARK).unwrap().sequence, 77);
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
        let stamp = Stamp::prepare(&mut packet, MARK, 1, 2).unwrap();
        for (sequence, time) in [(0, 0), (1, 2), (0xdead_beef, 0x1234_5678_9abc)] {
            stamp.write(&mut packet.bytes, sequence, time);
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
        let offload = Stamp::prepare_offload(&mut built(names, LEN), MARK, 0, 0);
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
        assert_eq!(Stamp::prepare_offload(&mut built(names, LEN), MARK, 0, 0), None, "{names:?}");
    }
    let mut set = PacketSpec { headers: headers(&["ethernet", "ipv4", "udp"]), ..PacketSpec::default() };
    set.headers[2] = Header::new(protocol("udp").unwrap()).with("checksum", 0);
    assert_eq!(Stamp::prepare_offload(&mut set.build(FrameLen::MIN).unwrap(), MARK, 0, 0), None);
}

proptest! {
    /// Incremental equals full, wherever the signature begins and whatever is around it.
    #[test]
    fn stamps_the_right_checksum(
        spec in any_spec(Author::Honest),
        extra in 0usize..20,
        mark: u32,
        stream in 0u32..1 << 24,
        lane: u8,
        packets in prop::collection::vec((any::<u32>(), any::<u64>()), 1..6),
    ) {
        let mut packet = spec.build(spec.shortest(LEN + extra)).unwrap();
        let stamp = Stamp::prepare(&mut packet, mark, stream, lane).unwrap();
        for (sequence, time) in [(0, 0)].into_iter().chain(packets) {
            let mut frame = packet.bytes.clone();
            stamp.write(&mut frame, sequence, time);
            let mut whole = packet.bytes.clone();
            let len = whole.len();
            whole[len - 10..len - 6].copy_from_slice(&sequence.to_le_bytes());
            whole[len - 6..].copy_from_slice(&time.to_le_bytes()[..6]);
            packet.checksums.iter().for_each(|checksum| checksum.write(&mut whole));
            prop_assert_eq!(&frame, &whole);
            if (sequence, time) == (0, 0) {
                prop_assert_eq!(&frame, &packet.bytes, "the template is right as it is");
            }
            let found = Signature { stream, lane, sequence, time: time & TIME_MASK };
            prop_assert_eq!(read_at_end(&frame, mark), Some(found));
        }
    }

    /// A checksum of zero comes up once in 65,536 packets; here the time makes it.
    #[test]
    fn stamps_a_checksum_of_zero_as_its_protocol_says(
        names in prop::sample::select(vec!["udp", "tcp", "icmp"]),
        extra in 19usize..40,
        stream in 0u32..1 << 24,
    ) {
        let mut packet = built(&["ethernet", "ipv4", names], extra);
        let stamp = Stamp::prepare(&mut packet, MARK, stream, 0).unwrap();
        let checksum = packet.payload_checksum().unwrap().clone();
        let missing = u16::from_be_bytes([packet.bytes[checksum.offset], packet.bytes[checksum.offset + 1]]);
        // The number whose bytes, where they stand, add what the sum lacks to all ones.
        let odd = (packet.bytes.len() - VARYING - checksum.start) % 2 == 1;
        let sequence = u32::from(if odd { missing } else { missing.swap_bytes() });
        stamp.write(&mut packet.bytes, sequence, 0);
        let wanted = if names == "udp" { [0xff, 0xff] } else { [0, 0] };
        prop_assert_eq!(&packet.bytes[checksum.offset..][..2], &wanted);
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
        let _ = find(&frame, MARK);
    }

    #[test]
    fn unwraps_what_was_wrapped(now: u64, ahead in -(1i64 << 47) + 1..1i64 << 47) {
        if let Some(instant) = now.checked_add_signed(ahead) {
            prop_assert_eq!(unwrap_time(instant & TIME_MASK, Nanos(now)), Nanos(instant));
        }
    }
}
