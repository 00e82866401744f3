use super::*;
use proptest::prelude::*;
use wire::{Header, PacketSpec, protocol};

fn header(name: &str) -> Header {
    Header::new(protocol(name).unwrap())
}

fn build(headers: Vec<Header>, payload: &[u8], padding: usize) -> Vec<u8> {
    let spec = PacketSpec { headers, payload: payload.to_vec(), ..PacketSpec::default() };
    let mut bytes = spec.build_unpadded().unwrap().bytes;
    bytes.resize(bytes.len() + padding, 0xee);
    bytes
}

/// Headers around a transport protocol: VLANs, addresses from numbers.
fn outer(tags: &[u16], is_v6: bool, from: u128, to: u128) -> Vec<Header> {
    let mut headers = vec![header("ethernet")];
    headers.extend(tags.iter().map(|id| header("vlan").with("id", (*id).into())));
    headers.push(match is_v6 {
        false => header("ipv4").with("src", from as u32 as u128).with("dst", to as u32 as u128),
        true => header("ipv6").with("src", from).with("dst", to),
    });
    headers
}

proptest! {
    #[test]
    fn reads_what_others_build(
        tags in prop::collection::vec(1u16..4_095, 0..3),
        is_v6: bool,
        is_udp: bool,
        from: u128,
        to: u128,
        payload in prop::collection::vec(any::<u8>(), 0..200),
        padding in 0usize..60,
    ) {
        let mut headers = outer(&tags, is_v6, from, to);
        headers.push(header(if is_udp { "udp" } else { "tcp" }).with("src", 7).with("dst", 80));
        let bytes = build(headers, &payload, padding);
        let packet = read(&bytes).unwrap();
        let addresses = match is_v6 {
            false => Addresses::V4 { from: from as u32, to: to as u32 },
            true => Addresses::V6 { from, to },
        };
        prop_assert_eq!(packet.addresses, addresses);
        prop_assert_eq!(packet.tags, tags.iter().fold(Tags::default(), |tags, id| tags.with(*id)));
        prop_assert_eq!((packet.protocol, packet.is_fragment), (if is_udp { UDP } else { TCP }, false));
        let transport = packet.transport(&bytes);
        prop_assert_eq!(transport.len(), if is_udp { 8 } else { 20 } + payload.len());
        prop_assert_eq!(u32_at(transport, 0), Some(7 << 16 | 80));
        prop_assert!(is_sum_right(&packet.addresses, packet.protocol, transport));
        let mut wrong = transport.to_vec();
        let last = wrong.len() - 1;
        wrong[last] ^= 0x40;
        prop_assert!(!is_sum_right(&packet.addresses, packet.protocol, &wrong));
    }

    #[test]
    fn takes_any_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0usize..4) {
        let kinds: [&[u8]; 4] = [&[8, 0, 0x45], &[0x86, 0xdd, 0x60], &[0x81, 0, 0, 1, 0x86, 0xdd, 0x60], &[]];
        for (at, byte) in kinds[kind].iter().enumerate() {
            if let Some(place) = bytes.get_mut(12 + at) { *place = *byte }
        }
        if let Ok(packet) = read(&bytes) {
            prop_assert!(packet.transport(&bytes).len() <= bytes.len());
        }
    }
}

#[test]
fn skips_options_and_extensions() {
    let mut headers = outer(&[], true, 1, 2);
    headers.extend([header("ipv6_hop_by_hop"), header("ipv6_destination"), header("tcp")]);
    let bytes = build(headers, b"hello", 0);
    let packet = read(&bytes).unwrap();
    assert_eq!((packet.protocol, packet.transport(&bytes).len()), (TCP, 25));
    assert!(is_sum_right(&packet.addresses, packet.protocol, packet.transport(&bytes)));

    let mut bytes = build([outer(&[], false, 1, 2), vec![header("udp")]].concat(), b"hello", 0);
    bytes.splice(34..34, [1, 1, 1, 1]);
    bytes[14] = 0x46;
    bytes[17] += 4;
    bytes[24..26].fill(0);
    let sum = checksum::finish(checksum::sum(&bytes[14..38], 0));
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(read(&bytes).unwrap().transport(&bytes).len(), 13);
}

#[test]
fn says_what_it_does_not_read() {
    let good = build([outer(&[], false, 1, 2), vec![header("tcp")]].concat(), &[], 0);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes[24..26].fill(0);
        let sum = checksum::finish(checksum::sum(&bytes[14..34], 0));
        bytes[24..26].copy_from_slice(&sum.to_be_bytes());
        bytes
    };
    assert!(read(&with(20, 0x20)).unwrap().is_fragment);
    assert!(read(&with(21, 1)).unwrap().is_fragment);
    for wrong in [with(14, 0x55), with(14, 0x44), with(17, 19), with(17, 200)] {
        assert_eq!(read(&wrong), Err(Unread::Malformed));
    }
    let mut wrong = good.clone();
    wrong[30] ^= 1;
    assert_eq!(read(&wrong), Err(Unread::Malformed));
    assert_eq!(read(&good[..13]), Err(Unread::Foreign));
    assert_eq!(read(&build(vec![header("ethernet"), header("arp")], &[], 18)), Err(Unread::Foreign));
    let fragment = header("ipv6_fragment").with("fragment_offset", 1);
    let bytes = build([outer(&[], true, 1, 2), vec![fragment]].concat(), &[0; 30], 0);
    assert!(read(&bytes).unwrap().is_fragment);
}

#[test]
fn tags_tell_networks_apart() {
    let tags = |ids: &[u16]| ids.iter().fold(Tags::default(), |tags, id| tags.with(*id));
    let all = [tags(&[]), tags(&[1]), tags(&[2]), tags(&[1, 2]), tags(&[2, 1]), tags(&[1, 1])];
    for (index, one) in all.iter().enumerate() {
        assert!(all[index + 1..].iter().all(|other| other != one));
    }
    assert_eq!(tags(&[0, 7, 0]), tags(&[7]));
}

/// RFC 8200 section 4, RFC 4443 section 3.4: what a host does about headers it does not understand.
#[test]
fn headers_nobody_understands_are_refused() {
    let packet = |next: u8, rest: &[u8]| {
        let mut bytes = vec![0x60, 0, 0, 0, 0, rest.len() as u8, next, 64];
        bytes.extend([0x20; 32]);
        bytes.extend(rest);
        let frame = [&[0; 12][..], &[0x86, 0xdd], &bytes].concat();
        (read(&frame).unwrap().protocol, problem_v6(&bytes))
    };
    let option = |kind: u8| [[TCP, 0, kind, 4, 0, 0, 0, 0], [0; 8], [0; 8]].concat();
    let problem = |code, at| Some(Problem::Header { code, at });
    // No protocol of ours, then behind an extension.
    assert_eq!(packet(253, &[0; 8]), (253, problem(1, 6)));
    assert_eq!(packet(DESTINATION, &[253, 0, 1, 4, 0, 0, 0, 0, 9]), (253, problem(1, 40)));
    assert_eq!(packet(NOTHING, &[]), (NOTHING, None));
    // Options by the two highest bits of their type.
    assert_eq!(packet(DESTINATION, &option(0x1e)).0, TCP);
    assert_eq!(packet(DESTINATION, &option(0x5e)), (REFUSED, None));
    assert_eq!(packet(DESTINATION, &option(0x9e)), (REFUSED, problem(2, 42)));
    assert_eq!(packet(HOP_BY_HOP, &option(0xde)), (REFUSED, problem(2, 42)));
    // A routing header of a type that is not known, on its way and at its end.
    assert_eq!(packet(ROUTING, &[TCP, 0, 99, 1, 0, 0, 0, 0]), (REFUSED, problem(0, 42)));
    assert_eq!(packet(ROUTING, &[TCP, 0, 99, 0, 0, 0, 0, 0]).0, TCP);
    // Hop-by-hop options behind something else.
    let late = [[HOP_BY_HOP, 0, 1, 4, 0, 0, 0, 0], [TCP, 0, 1, 4, 0, 0, 0, 0]].concat();
    assert_eq!(packet(DESTINATION, &late), (REFUSED, problem(1, 40)));
}

#[test]
fn only_hosts_are_answered() {
    let v4 = |to: [u8; 4]| Addresses::V4 { from: 1, to: u32::from_be_bytes(to) }.is_to_host();
    assert!(v4([10, 0, 0, 1]) && v4([223, 1, 1, 1]));
    for to in [[0, 0, 0, 0], [127, 0, 0, 1], [224, 0, 0, 1], [255, 255, 255, 255]] {
        assert!(!v4(to), "{to:?}");
    }
    let v6 = |to: u128| Addresses::V6 { from: 1, to }.is_to_host();
    assert!(v6(0x2001 << 112 | 1) && !v6(0) && !v6(1) && !v6(0xff02 << 112 | 1));
}
