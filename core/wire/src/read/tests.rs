use super::*;
use crate::testing::{Author, any_spec, headers};
use crate::{Header, PacketSpec, protocol};
use proptest::prelude::*;

fn names(frame: &[u8]) -> Vec<&'static str> {
    read(frame).0.iter().map(|h| h.protocol.name).collect()
}

fn built(names: &[&str]) -> Vec<u8> {
    let spec = PacketSpec { headers: headers(names), payload: Vec::new() };
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
    let mut spec = PacketSpec { headers: headers(&["ethernet", "ipv4", "tcp"]), payload: b"tide".to_vec() };
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
    let mut spec = PacketSpec { headers: headers(&["ethernet", "ipv4", "udp"]), payload: Vec::new() };
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

proptest! {
    #[test]
    fn reads_what_was_built(spec in any_spec(Author::Careless), extra in 0usize..40) {
        let packet = spec.build(spec.shortest(extra)).unwrap();
        let (found, behind) = read(&packet.bytes);
        prop_assert_eq!(behind, packet.payload);
        prop_assert_eq!(found.len(), spec.headers.len());
        for ((found, header), offset) in found.iter().zip(&spec.headers).zip(&packet.offsets) {
            prop_assert_eq!(found.protocol.name, header.protocol.name);
            prop_assert_eq!(found.offset, *offset);
            prop_assert_eq!(found.fields.len(), header.protocol.fields.len());
            for (field, value) in &header.set {
                prop_assert_eq!(found.value(field.name), Some(*value), "{}.{}", header.protocol.name, field.name);
            }
        }
    }

    /// Everything read, set by hand, builds the same bytes again.
    #[test]
    fn builds_what_was_read(spec in any_spec(Author::Careless)) {
        let packet = spec.build(spec.shortest(0)).unwrap();
        let (found, behind) = read(&packet.bytes);
        let headers = found.iter().map(|h| Header { protocol: h.protocol, set: h.fields.clone() }).collect();
        let again = PacketSpec { headers, payload: packet.bytes[behind..].to_vec() };
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
