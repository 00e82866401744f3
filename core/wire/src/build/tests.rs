use super::*;
use crate::Algorithm;
use crate::catalogue::{hex, in_order};
use crate::signature::{Mark, Stamp};
use crate::testing::{Author, any_spec, headers};
use proptest::prelude::*;

const MIN: FrameLen = FrameLen::MIN;

fn header(name: &str) -> Header {
    Header::new(protocol(name).unwrap())
}

fn frame(bytes: u32) -> FrameLen {
    FrameLen::new(bytes).unwrap()
}

fn spec(names: &[&str]) -> PacketSpec {
    PacketSpec { headers: headers(names), ..PacketSpec::default() }
}

fn ipv4_between_two_hosts() -> Header {
    header("ipv4").with("src", 0x0a00_0001).with("dst", 0x0a00_0002)
}

/// The field `path` (`ipv4.src`) of the outermost such header.
fn field(spec: &PacketSpec, packet: &Packet, path: &str) -> u128 {
    let (name, field) = path.split_once('.').unwrap();
    let index = spec.headers.iter().position(|h| h.protocol.name == name).unwrap();
    let field = spec.headers[index].protocol.field(field).unwrap();
    field.get(&packet.bytes[packet.offsets[index]..]).unwrap()
}

fn assert_golden(packet: &Packet, hex: &str) {
    let golden = hex.split_whitespace().collect::<String>();
    let built = packet.bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    assert_eq!(built, golden);
}

#[test]
fn golden_icmp_echo() {
    let icmp = header("icmp").with("id", 0x1234).with("seq", 1);
    let headers = vec![header("ethernet"), ipv4_between_two_hosts(), icmp];
    let packet =
        PacketSpec { headers, payload: b"eagre".to_vec(), ..PacketSpec::default() }.build(MIN).unwrap();
    assert_golden(
        &packet,
        "020000000002 020000000001 0800
         4500 002e 0000 0000 4001 66cd 0a000001 0a000002
         0800 b3f6 1234 0001
         6561 6772 6500 0000 0000 0000 0000 0000 0000",
    );
    assert_eq!((packet.offsets, packet.payload), (vec![0, 14, 34], 42));
}

#[test]
fn golden_udp_over_ipv4() {
    let udp = header("udp").with("src", 1024);
    let headers = vec![header("ethernet"), ipv4_between_two_hosts(), udp];
    let packet = PacketSpec { headers, ..PacketSpec::default() }.build(MIN).unwrap();
    assert_golden(
        &packet,
        "020000000002 020000000001 0800
         4500 002e 0000 0000 4011 66bd 0a000001 0a000002
         0400 0009 001a e7ae
         0000 0000 0000 0000 0000 0000 0000 0000 0000",
    );
    let checksum = packet.payload_checksum().unwrap();
    let algorithm = Algorithm::Internet { zero_as_ones: true };
    assert_eq!((checksum.offset, checksum.start, checksum.end, checksum.algorithm), (40, 34, 60, algorithm));
    let offsets: Vec<usize> = packet.checksums.iter().map(|c| c.offset).collect();
    assert_eq!(offsets, [40, 24], "innermost first");
}

#[test]
fn golden_udp_over_ipv6() {
    let udp = header("udp").with("src", 1024);
    let headers = vec![header("ethernet"), header("ipv6"), udp];
    let packet =
        PacketSpec { headers, payload: b"tide".to_vec(), ..PacketSpec::default() }.build(frame(70)).unwrap();
    assert_golden(
        &packet,
        "020000000002 020000000001 86dd
         60000000 000c 11 40
         20010002000000000000000000000001
         20010002000000010000000000000001
         0400 0009 000c e2f5
         7469 6465",
    );
}

#[test]
fn golden_arp_request() {
    let arp = header("arp").with("sender_ip", 0x0a00_0001).with("target_ip", 0x0a00_0002);
    let spec = PacketSpec { headers: vec![header("ethernet"), arp], ..PacketSpec::default() };
    let golden = "ffffffffffff 020000000001 0806
                  0001 0800 06 04 0001
                  020000000001 0a000001
                  000000000000 0a000002";
    assert_golden(&spec.build_unpadded().unwrap(), golden);
    let padded = spec.build(MIN).unwrap();
    assert_golden(&padded, &[golden, &"00".repeat(18)].concat());
    assert_eq!((padded.payload, padded.payload_checksum()), (42, None));
}

#[test]
fn golden_tcp_syn() {
    let tcp = header("tcp").with("seq", 1);
    let headers = vec![header("ethernet"), ipv4_between_two_hosts(), tcp];
    let packet = PacketSpec { headers, ..PacketSpec::default() }.build(MIN).unwrap();
    assert_golden(
        &packet,
        "020000000002 020000000001 0800
         4500 002e 0000 0000 4006 66c8 0a000001 0a000002
         c000 0050 00000001 00000000 5002 ffff db88 0000
         0000 0000 0000",
    );
}

#[test]
fn the_frame_decides_the_lengths() {
    for (names, bytes, lengths) in [
        (&["ethernet", "ipv4", "udp"][..], 64, &[("ipv4.total_length", 46), ("udp.length", 26)][..]),
        (&["ethernet", "ipv4", "udp"], 1518, &[("ipv4.total_length", 1500), ("udp.length", 1480)]),
        (&["ethernet", "vlan", "ipv6", "udp"], 1522, &[("ipv6.payload_length", 1460), ("udp.length", 1460)]),
    ] {
        let spec = spec(names);
        let packet = spec.build(frame(bytes)).unwrap();
        assert_eq!(packet.bytes.len() as u32, bytes - 4);
        for (path, length) in lengths {
            assert_eq!(field(&spec, &packet, path), *length, "{path} in {bytes} bytes");
        }
    }
}

#[test]
fn padding_an_unpadded_frame_changes_no_length() {
    let spec = PacketSpec { payload: b"tide".to_vec(), ..spec(&["ethernet", "ipv4", "udp"]) };
    let packet = spec.build_unpadded().unwrap();
    assert_eq!(packet.bytes.len(), 46);
    assert_eq!(field(&spec, &packet, "ipv4.total_length"), 32);
}

#[test]
fn tags_are_named_as_802_1ad_says() {
    for (names, types) in [
        (&["ethernet", "vlan"][..], &[0x8100, 0x88b5][..]),
        (&["ethernet", "vlan", "ipv4"], &[0x8100, 0x0800]),
        (&["ethernet", "vlan", "vlan", "ipv4"], &[0x88a8, 0x8100, 0x0800]),
        (&["ethernet", "vlan", "vlan", "vlan", "ipv6"], &[0x88a8, 0x8100, 0x8100, 0x86dd]),
    ] {
        let packet = spec(names).build(frame(128)).unwrap();
        for (n, wanted) in types.iter().enumerate() {
            let at = 12 + 4 * n;
            assert_eq!(packet.bytes[at..at + 2], u16::to_be_bytes(*wanted), "{names:?} type {n}");
        }
    }
}

#[test]
fn what_is_set_is_never_computed() {
    let mut spec = spec(&["ethernet", "ipv4", "udp"]);
    spec.headers[1] = header("ipv4").with("total_length", 7).with("checksum", 0xdead).with("protocol", 99);
    spec.headers[2] = header("udp").with("checksum", 0).with("length", 0xffff);
    let packet = spec.build(MIN).unwrap();
    for (path, value) in [
        ("ipv4.total_length", 7),
        ("ipv4.checksum", 0xdead),
        ("ipv4.protocol", 99),
        ("udp.checksum", 0),
        ("udp.length", 0xffff),
    ] {
        assert_eq!(field(&spec, &packet, path), value, "{path}");
    }
    assert_eq!(packet.payload_checksum(), None);
}

#[test]
fn neighbour_discovery_gets_the_hop_limit_it_needs() {
    let mut spec = spec(&["ethernet", "ipv6", "nd_solicit"]);
    let packet = spec.build(frame(90)).unwrap();
    assert_eq!(field(&spec, &packet, "ipv6.hop_limit"), 255);
    spec.headers[1] = header("ipv6").with("hop_limit", 3);
    let packet = spec.build(frame(90)).unwrap();
    assert_eq!(field(&spec, &packet, "ipv6.hop_limit"), 3);
}

#[test]
fn a_longer_header_has_room_for_options() {
    let mut spec = spec(&["ethernet", "ipv4", "tcp"]);
    spec.headers[1] = header("ipv4").with("header_length", 6);
    spec.headers[2] = header("tcp").with("data_offset", 8);
    let packet = spec.build(MIN.max(spec.shortest(0))).unwrap();
    assert_eq!((packet.offsets, packet.payload), (vec![0, 14, 38], 70));
    spec.headers[1] = header("ipv4").with("header_length", 2);
    assert_eq!(spec.build(frame(100)).unwrap().offsets, [0, 14, 34], "the fields are still there");
}

#[test]
fn the_shortest_frame_holds_everything() {
    let udp = spec(&["ethernet", "ipv6", "udp"]);
    assert_eq!(udp.shortest(0).bytes(), 66);
    assert_eq!(udp.shortest(18).bytes(), 84);
    assert_eq!(spec(&["ethernet", "ipv4", "udp"]).shortest(18), MIN);
    assert_eq!(spec(&["ethernet", "arp"]).shortest(0), MIN);
    let with_payload = PacketSpec { payload: vec![0; 100], ..udp };
    assert_eq!(with_payload.shortest(1).bytes(), 167);
}

#[test]
fn says_why_a_packet_cannot_be_built() {
    for (names, reason) in [
        (
            &["ethernet", "ipv6", "udp"][..],
            "headers and payload need 66 bytes with FCS, but the frame has only 64",
        ),
        (&["ipv4", "udp"], "ipv4 cannot begin a frame: put ethernet before it"),
        (
            &["ethernet", "udp"],
            "header 2 (udp) cannot follow ethernet: put ipv4 or ipv6 before it, or set ethernet.type by hand",
        ),
        (
            &["ethernet", "arp", "ipv4"],
            "header 3 (ipv4) cannot follow arp: put ethernet or ipv4 or ipv6 or others before it",
        ),
        (
            &["ethernet", "llc", "udp"],
            "header 3 (udp) cannot follow llc: put ipv4 or ipv6 before it, or set llc.dsap by hand",
        ),
        (&["ethernet", "ipv4", "udp", "tcp_mss"], "header 4 (tcp_mss) cannot follow udp: put tcp before it"),
        (&["ethernet", "arp", "lacp"], "header 3 (lacp) cannot follow arp: put ethernet before it"),
    ] {
        let length = if names.contains(&"arp") { frame(256) } else { MIN };
        assert_eq!(spec(names).build(length).unwrap_err().to_string(), reason);
    }
}

#[test]
fn says_when_options_are_too_long() {
    let mut spec = spec(&["ethernet", "ipv4", "tcp"]);
    spec.headers.extend(headers(&["tcp_timestamps"; 5]));
    let error = spec.build(frame(200)).unwrap_err().to_string();
    assert_eq!(error, "header 3 (tcp) and its parts need 72 bytes, but it can have only 60");
    spec.headers[2] = header("tcp").with("data_offset", 15);
    assert!(spec.build(frame(200)).is_ok(), "what is set is never computed");
}

#[test]
fn what_a_header_needs_is_for_the_nearest_one_before_it() {
    let names = ["ethernet", "ipv4", "gre", "ethernet", "ipv4", "gre", "gre_key", "ethernet", "arp"];
    let packet = spec(&names).build(frame(200)).unwrap();
    let byte = |header: usize, at: usize| packet.bytes[packet.offsets[header] + at];
    assert_eq!((byte(2, 0), byte(5, 0)), (0x00, 0x20), "only the inner GRE has a key");
    assert_eq!(
        (byte(0, 0), byte(3, 0), byte(7, 0)),
        (0x02, 0x02, 0xff),
        "only the innermost frame is broadcast"
    );
}

#[test]
fn a_flag_set_by_hand_stays() {
    let mut spec = spec(&["ethernet", "ipv4", "gre", "gre_key"]);
    spec.headers[2] = header("gre").with("key_present", 0);
    let packet = spec.build(frame(100)).unwrap();
    assert_eq!(packet.bytes[packet.offsets[2]], 0);
}

#[test]
fn fills_the_payload_behind_its_first_bytes() {
    let fill = Fill::Counter;
    let spec = PacketSpec { payload: b"tide".to_vec(), fill, ..spec(&["ethernet", "ipv4", "udp"]) };
    let packet = spec.build(MIN).unwrap();
    assert_eq!(packet.bytes[42..], *b"tide\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d");
    assert_eq!(word_sum(&pseudo(&packet.bytes, (14, "ipv4"), 34, 17)), 0xffff);
}

#[test]
fn a_place_is_where_its_field_is() {
    let mut spec = spec(&["ethernet", "ipv4", "udp", "dns", "dns_question"]);
    spec.headers[4] = header("dns_question").with("type", 0x1234);
    let packet = spec.build(frame(100)).unwrap();
    let place = crate::path::resolve("dns_question.type", &spec.headers).unwrap();
    let (bit, width) = place.position(&spec.headers, &packet);
    let at = bit as usize / 8;
    assert_eq!((width, &packet.bytes[at..at + 2]), (16, &[0x12, 0x34][..]), "the name stands before it");
    let payload = crate::path::resolve("payload[1]", &spec.headers).unwrap();
    assert_eq!(payload.position(&spec.headers, &packet), (packet.payload as u32 * 8 + 8, 8));
}

#[test]
fn lets_anything_follow_a_type_set_by_hand() {
    let mut spec = spec(&["ethernet", "udp"]);
    spec.headers[0] = header("ethernet").with("type", 0x1234);
    let error = spec.build(MIN).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the checksum of header 2 (udp) covers IP addresses: put ipv4 or ipv6 before it, or set udp.checksum by hand"
    );
    spec.headers[1] = header("udp").with("checksum", 0);
    let packet = spec.build(MIN).unwrap();
    assert_eq!(packet.bytes[12..16], [0x12, 0x34, 0xc0, 0x00]);
}

/// An ICMPv6 echo over IPv4 has no matching protocol: the number set by its author is used.
#[test]
fn takes_the_number_of_a_pseudo_header_from_the_author_at_need() {
    let mut spec = spec(&["ethernet", "ipv4", "icmpv6"]);
    spec.headers[1] = header("ipv4").with("protocol", 58);
    let packet = spec.build(MIN).unwrap();
    assert_eq!(word_sum(&pseudo(&packet.bytes, (14, "ipv4"), 34, 58)), 0xffff);
}

#[test]
fn a_udp_checksum_of_zero_is_sent_as_ones() {
    let plain = spec(&["ethernet", "ipv4", "udp"]);
    let checksum = field(&plain, &plain.build(MIN).unwrap(), "udp.checksum");
    // The payload adds what the sum lacks.
    let payload = (checksum as u16).to_be_bytes().to_vec();
    let adjusted = PacketSpec { payload, ..plain };
    assert_eq!(field(&adjusted, &adjusted.build(MIN).unwrap(), "udp.checksum"), 0xffff);
}

/// A tunnel whose checksum covers the inner packet, as UDP around a tunnel does. Its author names the inner header.
static TUNNEL: Protocol = Protocol {
    name: "tunnel",
    len: 4,
    fields: &in_order([
        hex("next", 16, "What follows").auto(Auto::NextProtocol),
        hex("checksum", 16, "Of everything").auto(Auto::PlainChecksum),
    ]),
    follows: &[("ipv4", 99)],
    ..Protocol::PLAIN
};

/// With the inner checksum right, what it covers has a constant sum: an outer checksum stays right by itself.
#[test]
fn the_innermost_checksum_keeps_the_outer_ones_right() {
    let tunnel = Header::new(&TUNNEL).with("next", 0x0800);
    let mut spec = spec(&["ethernet", "ipv4", "ipv4", "udp"]);
    spec.headers.insert(2, tunnel);
    let mut packet = spec.build(frame(101)).unwrap();
    let inner = packet.payload_checksum().unwrap().clone();
    assert_eq!(inner.start, packet.offsets[4]);
    let lane = Mark::of_run(1).lane(2, 3);
    let stamp = Stamp::prepare(&mut packet, &lane).unwrap();
    for (sequence, time) in [(0, 0), (1, 2), (0xdead_beef, 0x1234_5678_9abc)] {
        stamp.write(&mut packet.bytes, &lane.at(time), sequence);
        assert_eq!(word_sum(&packet.bytes[packet.offsets[2]..]), 0xffff);
        assert_eq!(word_sum(&pseudo(&packet.bytes, (packet.offsets[3], "ipv4"), inner.start, 17)), 0xffff);
    }
}

/// The ones' complement sum, one word and one carry at a time.
fn word_sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).fold(0, |sum, pair| {
        let sum = sum + (u32::from(pair[0]) << 8) + u32::from(*pair.get(1).unwrap_or(&0));
        if sum > 0xffff { sum - 0xffff } else { sum }
    })
}

/// Bit by bit, as RFC 9260 appendix A divides polynomials.
fn plain_crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for bit in bytes.iter().flat_map(|byte| (0..8).map(move |n| u32::from(byte >> n & 1))) {
        crc = if (crc ^ bit) & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    }
    !crc
}

/// The pseudo-header as the RFCs draw it, and what follows it.
fn pseudo(frame: &[u8], ip: (usize, &str), transport: usize, number: u8) -> Vec<u8> {
    let length = (frame.len() - transport) as u32;
    let (ip, family) = ip;
    let mut bytes = Vec::new();
    if family == "ipv4" {
        bytes.extend(&frame[ip + 12..ip + 20]);
        bytes.extend([0, number]);
        bytes.extend((length as u16).to_be_bytes());
    } else {
        bytes.extend(&frame[ip + 8..ip + 24]);
        bytes.extend(final_destination(frame, ip));
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, 0, 0, number]);
    }
    bytes.extend(&frame[transport..]);
    bytes
}

/// The destination of the IPv6 header at `ip`, or, while its segment routing header has segments left, the last segment
/// (RFC 8754 section 4.3.1.1 and RFC 8200 section 8.1).
fn final_destination(frame: &[u8], ip: usize) -> &[u8] {
    let (mut at, mut next) = (ip + 40, frame[ip + 6]);
    while [0, 43, 44, 51, 60].contains(&next) {
        let len = match next {
            44 => 8,
            51 => 8 + 4 * usize::from(frame[at + 1]),
            _ => 8 + 8 * usize::from(frame[at + 1]),
        };
        if next == 43 && frame[at + 2] == 4 && frame[at + 3] > 0 && frame[at + 1] >= 2 {
            return &frame[at + 8..at + 24];
        }
        (at, next) = (at + len, frame[at]);
    }
    &frame[ip + 24..ip + 40]
}

proptest! {
    #[test]
    fn checksums_are_right(spec in any_spec(Author::Honest), extra in 0usize..100) {
        let packet = spec.build(spec.shortest(extra)).unwrap();
        let frame = &packet.bytes;
        let (mut ip, mut gre) = (None, 0);
        for (header, offset) in spec.headers.iter().zip(&packet.offsets) {
            let offset = *offset;
            match header.protocol.name {
                "ipv4" => {
                    let len = usize::from(frame[offset] & 15) * 4;
                    prop_assert_eq!(word_sum(&frame[offset..offset + len]), 0xffff);
                    ip = Some((offset, "ipv4"));
                }
                "ipv6" => ip = Some((offset, "ipv6")),
                "gre" => gre = offset,
                "gre_checksum" => prop_assert_eq!(word_sum(&frame[gre..]), 0xffff),
                "sctp" => {
                    let mut zeroed = frame[offset..].to_vec();
                    zeroed[8..12].fill(0);
                    prop_assert_eq!(&frame[offset + 8..offset + 12], &plain_crc32c(&zeroed).to_le_bytes());
                }
                name if name.starts_with("icmp") && !name.starts_with("icmpv6") || name.starts_with("igmp") => {
                    // Records and sources have no checksum of their own.
                    if header.protocol.field("checksum").is_some() {
                        prop_assert_eq!(word_sum(&frame[offset..]), 0xffff, "{}", name);
                    }
                }
                name => {
                    let number = match name {
                        "udp" => 17,
                        "tcp" => 6,
                        _ if header.protocol.field("checksum").is_some() => 58,
                        _ => continue,
                    };
                    prop_assert_eq!(word_sum(&pseudo(frame, ip.unwrap(), offset, number)), 0xffff, "{}", name);
                    prop_assert!(number != 17 || frame[offset + 6..offset + 8] != [0, 0]);
                }
            }
        }
    }

    /// The checksums found in a frame are the ones computed in it.
    #[test]
    fn finds_the_checksums_that_were_computed(spec in any_spec(Author::Honest), extra in 0usize..100, with: u8) {
        let packet = spec.build(spec.shortest(extra)).unwrap();
        let found = crate::checksums(&packet.bytes);
        prop_assert_eq!(&found, &packet.checksums);
        // They make a frame right that was rewritten.
        let mut frame = packet.bytes.clone();
        frame[packet.payload..].fill(with);
        found.iter().for_each(|checksum| checksum.write(&mut frame));
        let payload = vec![with; frame.len() - packet.payload];
        let given = PacketSpec { payload, ..spec };
        prop_assert_eq!(frame, given.build_unpadded().unwrap().bytes);
    }

    #[test]
    fn the_payload_checksum_covers_the_payload(spec in any_spec(Author::Honest), with: u8) {
        let mut packet = spec.build(spec.shortest(8)).unwrap();
        if let Some(checksum) = packet.payload_checksum().cloned() {
            // The same payload, given or written afterwards, makes the same packet.
            let end = packet.bytes.len();
            packet.bytes[end - 8..].fill(with);
            checksum.write(&mut packet.bytes);
            if checksum.algorithm == Algorithm::Crc32c {
                packet.checksums.iter().for_each(|around| around.write(&mut packet.bytes));
            }
            let len = end - packet.payload - 8;
            let mut payload = spec.payload.clone();
            payload.resize(len, 0);
            payload.extend([with; 8]);
            let given = PacketSpec { payload, ..spec };
            prop_assert_eq!(packet, given.build_unpadded().unwrap());
        }
    }
}
