//! Frames of any bytes under rewriting: every rule takes them, and setting a field back undoes setting it.
//!
//! The first byte of an input selects the field to set, the next four its value; the rest is the frame, padded with
//! zeros to a trace's length.

use replay::{Rewrite, Trace, TracePacket, rewrite};
use units::Nanos;
use wire::{Auto, Header, PacketSpec, protocol, read_first};

/// Fields that do not decide what follows their header.
const FIELDS: [&str; 12] = [
    "ethernet.dst",
    "vlan.id",
    "ipv4.src",
    "ipv4.ttl",
    "ipv6.dst",
    "ipv6.flow_label",
    "udp.src",
    "tcp.seq",
    "icmp.id",
    "icmpv6.seq",
    "arp.sender_ip",
    "nd_solicit.target",
];

const SHORTEST: usize = 60;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    if let Some(([which, value @ ..], frame)) = data.split_first_chunk::<5>() {
        let mut frame = frame.to_vec();
        frame.resize(frame.len().max(SHORTEST), 0);
        check_set_back(FIELDS[usize::from(*which) % FIELDS.len()], u32::from_be_bytes(*value), &frame);
        check_any_rule(&frame);
    }
}

fn trace(frame: &[u8]) -> Trace {
    let packet = TracePacket {
        at: Nanos::ZERO,
        bytes: frame.to_vec(),
        original_len: frame.len() as u32,
        is_filled: false,
        place: 0,
    };
    Trace { packets: vec![packet], ..Trace::default() }
}

fn check_set_back(path: &str, value: u32, frame: &[u8]) {
    let (header, name) = path.split_once('.').expect("a path");
    let field = protocol(header).and_then(|p| p.field(name)).expect("a field of the catalogue");
    let found = read_first(frame).0.into_iter().find(|h| h.protocol.name == header);
    let set = |value: u128| Rewrite::Set { path: path.to_owned(), value: field.print(value) };
    let new = u128::from(value) & field.max();
    let mut there = trace(frame);
    let report = rewrite(&mut there, &[set(new)]).expect("a field has room").rules[0];
    let Some(old) = found.and_then(|h| h.value(name)) else {
        assert_eq!(report.without, 1);
        return;
    };
    assert_eq!((report.changed, report.unchanged), if old == new { (0, 1) } else { (1, 0) });
    rewrite(&mut there, &[set(old)]).expect("a field has room");
    let back = &there.packets[0].bytes;
    assert_eq!(one_zero(back), one_zero(frame), "{path} set to {new} and back");
}

/// The frame with checksums of all ones made zeros: both are zero to a checksum.
fn one_zero(frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    for header in read_first(frame).0 {
        let sums = header.protocol.fields.iter().filter(|field| {
            matches!(
                field.auto,
                Auto::HeaderChecksum | Auto::PlainChecksum | Auto::PseudoHeaderChecksum { .. }
            )
        });
        for field in sums.filter(|field| header.value(field.name) == Some(0xffff)) {
            field.set(&mut bytes[header.offset..], 0);
        }
    }
    bytes
}

fn check_any_rule(frame: &[u8]) {
    let set = |path: &str, value: &str| Rewrite::Set { path: path.into(), value: value.into() };
    let rules = [
        set("ethernet.type", "0x8100"),
        set("ipv4.header_length", "15"),
        set("tcp.data_offset", "0"),
        set("ipv6.next_header", "58"),
        set("udp.checksum", "0"),
        Rewrite::MapNetwork { from: "0.0.0.0/0".into(), to: "0.0.0.0/0".into() },
        Rewrite::MapNetwork { from: "2001::/16".into(), to: "2002::/16".into() },
        Rewrite::MapPort { from: 9, to: 10 },
        Rewrite::PushVlan { id: 1, pcp: 1 },
        Rewrite::PopVlan,
        Rewrite::PopVlan,
    ];
    let mut there = trace(frame);
    let report = rewrite(&mut there, &rules).expect("a short frame has room for a tag");
    assert!(report.rules.iter().all(|rule| rule.changed + rule.unchanged + rule.without == 1));
    assert!(there.packets[0].bytes.len() >= SHORTEST);
}

/// A packet for each field.
pub fn seeds() -> Vec<Vec<u8>> {
    let below = |name: &str| match name {
        "ethernet" => vec!["ethernet"],
        "vlan" | "ipv4" | "ipv6" | "arp" => vec!["ethernet", name.to_owned().leak()],
        "icmp" | "udp" => vec!["ethernet", "ipv4", name.to_owned().leak()],
        _ => vec!["ethernet", "vlan", "ipv6", name.to_owned().leak()],
    };
    let seed = |(index, path): (usize, &&str)| {
        let names = below(path.split_once('.').map_or("", |(header, _)| header));
        let headers = names.iter().filter_map(|name| protocol(name)).map(Header::new).collect();
        let packet =
            PacketSpec { headers, payload: b"payload".to_vec(), ..PacketSpec::default() }.build_unpadded();
        packet.map(|p| [&[index as u8, 1, 2, 3, 4], &p.bytes[..]].concat()).unwrap_or_default()
    };
    FIELDS.iter().enumerate().map(seed).collect()
}
