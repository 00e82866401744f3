use super::*;
use crate::testing::{Author, any_spec, headers, may_come};
use crate::{Header, PacketSpec, protocol};
use proptest::prelude::*;
use std::collections::{HashSet, VecDeque};

fn names(frame: &[u8]) -> Vec<&'static str> {
    read(frame).0.iter().map(|h| h.protocol.name).collect()
}

fn built(names: &[&str]) -> Vec<u8> {
    let spec = PacketSpec { headers: headers(names), ..PacketSpec::default() };
    spec.build(spec.shortest(18)).unwrap().bytes
}

#[test]
fn tells_the_types_of_icmpv6_apart() {
    for name in ["icmpv6", "nd_solicit", "nd_advert"] {
        assert_eq!(names(&built(&["ethernet", "ipv6", name])), ["ethernet", "ipv6", name]);
    }
    let without_option = &built(&["ethernet", "ipv6", "nd_solicit"])[..14 + 40 + 24];
    assert_eq!(names(without_option), ["ethernet", "ipv6", "icmpv6"]);
}

#[test]
fn goes_over_options() {
    let mut spec = PacketSpec {
        headers: headers(&["ethernet", "ipv4", "tcp"]),
        payload: b"tide".to_vec(),
        ..PacketSpec::default()
    };
    spec.headers[1] = Header::new(protocol("ipv4").unwrap()).with("header_length", 15);
    spec.headers[2] = Header::new(protocol("tcp").unwrap()).with("data_offset", 8);
    let packet = spec.build(spec.shortest(0)).unwrap();
    let (found, behind) = read(&packet.bytes);
    assert_eq!(found.iter().map(|h| h.offset).collect::<Vec<_>>(), [0, 14, 74]);
    assert_eq!(&packet.bytes[behind..], b"tide");
}

#[test]
fn ends_where_the_frame_does() {
    let frame = built(&["ethernet", "vlan", "ipv4", "udp"]);
    for (len, wanted) in [(0, 0), (13, 0), (14, 1), (17, 1), (18, 2), (37, 2), (38, 3), (45, 3), (46, 4)] {
        let (found, behind) = read(&frame[..len]);
        assert_eq!(found.len(), wanted, "of {len} bytes");
        assert!(behind <= len);
    }
    let mut lying = frame;
    lying[18] = 0x4f;
    assert_eq!(
        names(&lying[..50]),
        ["ethernet", "vlan", "ipv4"],
        "options up to the end leave no room for UDP"
    );
    assert_eq!(read(&lying[..50]).1, 50);
}

#[test]
fn finds_no_header_in_a_later_fragment() {
    let mut spec = PacketSpec { headers: headers(&["ethernet", "ipv4", "udp"]), ..PacketSpec::default() };
    spec.headers[1] = Header::new(protocol("ipv4").unwrap()).with("fragment_offset", 185);
    let packet = spec.build(spec.shortest(0)).unwrap();
    assert_eq!(names(&packet.bytes), ["ethernet", "ipv4"]);
}

#[test]
fn knows_an_outer_tag_alone() {
    let mut frame = built(&["ethernet", "vlan", "ipv4"]);
    frame[12..14].copy_from_slice(&[0x88, 0xa8]);
    assert_eq!(names(&frame), ["ethernet", "vlan", "ipv4"]);
}

/// For every protocol the shortest way to it through the catalogue.
#[test]
fn reads_every_protocol() {
    let mut stacks = VecDeque::from([headers(&["ethernet"])]);
    let mut seen = HashSet::from(["ethernet"]);
    while let Some(stack) = stacks.pop_front() {
        let built: Vec<_> = stack.iter().map(|header| header.protocol.name).collect();
        let spec = PacketSpec { headers: stack.clone(), ..PacketSpec::default() };
        assert_eq!(names(&spec.build_unpadded().unwrap().bytes), built);
        for p in ALL.iter().filter(|p| !p.only_built && may_come(p, &stack)) {
            if seen.insert(p.name) {
                stacks.push_back([&stack[..], &[Header::new(p)]].concat());
            }
        }
    }
    let missing: Vec<_> =
        ALL.iter().filter(|p| !p.only_built && !seen.contains(p.name)).map(|p| p.name).collect();
    assert!(missing.is_empty(), "no way leads to {missing:?}");
}

#[test]
fn knows_what_a_tunnel_carries() {
    for stack in [
        &["ethernet", "ipv4", "udp", "vxlan", "ethernet", "vlan", "ipv6", "tcp"][..],
        &["ethernet", "ipv6", "udp", "geneve", "geneve_option", "ethernet", "ipv4", "udp"],
        &["ethernet", "ipv4", "udp", "geneve", "ipv6", "udp"],
        &["ethernet", "ipv4", "udp", "gtpu", "gtpu_options", "gtpu_pdu_session", "ipv6", "udp"],
        &["ethernet", "ipv4", "gre", "gre_checksum", "gre_key", "ethernet", "ipv4"],
        &["ethernet", "vlan", "mpls", "mpls", "mpls", "ipv4", "udp"],
        &["ethernet", "mpls", "mpls_control_word", "ethernet", "arp"],
        &["ethernet", "ipv6", "ipv6_hop_by_hop", "ipv6_router_alert", "srh", "srh_segment", "ipv4", "udp"],
        &["ethernet", "ipv4", "ipv6", "ipv4", "ah", "udp"],
        &["ethernet", "llc", "snap", "arp"],
    ] {
        assert_eq!(names(&built(stack)), stack);
    }
}

/// Fragments of either version are opaque, the first one too, whose checksum is of more than it has.
#[test]
fn finds_no_header_in_a_fragment() {
    let mut spec = PacketSpec { headers: headers(&["ethernet", "ipv4", "udp"]), ..PacketSpec::default() };
    for (flags, found) in [(2, 3), (1, 2), (3, 2)] {
        spec.headers[1] = Header::new(protocol("ipv4").unwrap()).with("flags", flags);
        let frame = spec.build(spec.shortest(0)).unwrap().bytes;
        assert_eq!((read(&frame).0.len(), crate::checksums(&frame).len()), (found, found - 1));
    }
    let mut spec = PacketSpec { headers: headers(&["ethernet", "ipv6", "ipv6_fragment", "udp"]), ..spec };
    spec.headers[2] = Header::new(protocol("ipv6_fragment").unwrap()).with("more_fragments", 1);
    assert_eq!(names(&spec.build(spec.shortest(0)).unwrap().bytes), ["ethernet", "ipv6", "ipv6_fragment"]);
}

/// Ethernet's padding is in no checksum, and neither is a checksum in the frame that covers more than it has.
#[test]
fn covers_what_the_lengths_say() {
    let spec = PacketSpec {
        payload: b"tide".to_vec(),
        headers: headers(&["ethernet", "ipv4", "udp"]),
        ..PacketSpec::default()
    };
    let packet = spec.build_unpadded().unwrap();
    let padded = [&packet.bytes[..], &[0; 14]].concat();
    assert_eq!(crate::checksums(&padded), packet.checksums);
    assert_eq!(crate::checksums(&padded)[0].end, 46);
    assert_eq!(crate::checksums(&padded[..45]).len(), 1, "UDP's is cut");
    let mut none = padded.clone();
    none[40..42].fill(0);
    assert_eq!(crate::checksums(&none).len(), 1, "zero is no checksum");
    let mut lying = padded;
    lying[17] = 200;
    assert_eq!(crate::checksums(&lying).len(), 1, "the packet is longer than the frame");
}

/// A query of version 3 is longer; padding does not make one of a query of version 2 (RFC 3376 section 7.1).
#[test]
fn tells_queries_apart_by_their_length() {
    let igmp = Header::new(protocol("igmp").unwrap()).with("type", 0x11);
    let mut spec = PacketSpec { headers: headers(&["ethernet", "ipv4"]), ..PacketSpec::default() };
    spec.headers.push(igmp);
    let query = [&spec.build_unpadded().unwrap().bytes[..], &[0; 18]].concat();
    assert_eq!(names(&query), ["ethernet", "ipv4", "igmp"]);
    assert_eq!(names(&built(&["ethernet", "ipv4", "igmpv3_query"])), ["ethernet", "ipv4", "igmpv3_query"]);
}

proptest! {
    #[test]
    fn reads_what_was_built(spec in any_spec(Author::Careless), extra in 0usize..40) {
        let packet = spec.build(spec.shortest(extra)).unwrap();
        let (found, behind) = read(&packet.bytes);
        let built: Vec<_> = spec.headers.iter().map(|h| h.protocol.name).collect();
        prop_assert_eq!(found.iter().map(|h| h.protocol.name).collect::<Vec<_>>(), built);
        prop_assert_eq!(behind, packet.payload);
        for ((found, header), offset) in found.iter().zip(&spec.headers).zip(&packet.offsets) {
            prop_assert_eq!(found.offset, *offset);
            prop_assert_eq!(found.fields.len(), header.protocol.fields.len());
            for (field, value) in &header.set {
                prop_assert_eq!(found.value(field.name), Some(*value), "{}.{}", header.protocol.name, field.name);
            }
            if header.variable.is_some() {
                prop_assert_eq!(&found.variable, &header.variable, "{}", header.protocol.name);
            }
        }
    }

    /// Everything read, set by hand, builds the same bytes again.
    #[test]
    fn builds_what_was_read(spec in any_spec(Author::Careless)) {
        let packet = spec.build(spec.shortest(0)).unwrap();
        let (found, behind) = read(&packet.bytes);
        let headers = found.iter().map(Header::from).collect();
        let again =
            PacketSpec { headers, payload: packet.bytes[behind..].to_vec(), ..PacketSpec::default() };
        prop_assert_eq!(again.build_unpadded().unwrap().bytes, packet.bytes);
    }

    #[test]
    fn survives_any_bytes(frame in prop::collection::vec(any::<u8>(), 0..200)) {
        let (_, behind) = read(&frame);
        prop_assert!(behind <= frame.len());
    }

    #[test]
    fn survives_a_damaged_frame(
        spec in any_spec(Author::Careless),
        damage in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        cut: usize,
    ) {
        let mut frame = spec.build(spec.shortest(0)).unwrap().bytes;
        for (at, byte) in damage {
            let len = frame.len();
            frame[at % len] = byte;
        }
        frame.truncate(cut % (frame.len() + 1));
        let (found, behind) = read(&frame);
        prop_assert!(behind <= frame.len());
        prop_assert!(found.iter().all(|h| h.offset + h.protocol.len <= frame.len()));
    }
}
