//! A frame as named headers: what people would write, and what Eagre can measure.
//!
//! Only for streams of which the result is byte for byte the same, but for the checksums of those that are measured.

use crate::document::{Instruction, Op, Vm};
use crate::stream::header_sum;
use crate::yaml::Node;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// Offset of the header after Ethernet.
const L3: usize = 14;

/// Style of MAC addresses and checksums of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// The frame's source address is kept.
    pub keeps_source: bool,
    /// The frame's destination address is kept.
    pub keeps_destination: bool,
    /// UDP's checksum is that of the frame, right or wrong.
    pub keeps_sums: bool,
    /// Bytes at the frame's end that the signature takes.
    pub signature: usize,
}

/// The elements of `packet` for a frame.
pub(crate) fn packet(frame: &[u8], style: Style) -> Node {
    let mut out = Vec::new();
    let mut ethernet = Vec::new();
    if style.keeps_source {
        ethernet.push(pair("src", mac(&frame[6..12])));
    }
    if style.keeps_destination {
        ethernet.push(pair("dst", mac(&frame[0..6])));
    }
    let kind = word(frame, 12);
    let rest = if style.signature > 0 { unpadded(kind, &frame[L3..]) } else { &frame[L3..] };
    let left = match kind {
        0x0800 => ipv4(rest, style.keeps_sums, &mut out),
        0x86dd => ipv6(rest, style.keeps_sums, &mut out),
        _ => rest,
    };
    if out.is_empty() {
        ethernet.push(pair("type", format!("0x{kind:04x}")));
    }
    out.insert(0, header("ethernet", ethernet));
    let left = if is_filled(left) { left } else { &left[..left.len().saturating_sub(style.signature)] };
    if !left.is_empty() {
        out.push(payload(left));
    }
    Node::Items(out)
}

/// An IPv4 packet without the zeros after it: a measured frame is padded by its signature.
fn unpadded(kind: u16, bytes: &[u8]) -> &[u8] {
    let length = if bytes.len() < 20 { 0 } else { usize::from(word(bytes, 2)) };
    let is_padded = kind == 0x0800
        && (20..bytes.len()).contains(&length)
        && bytes[length..].iter().all(|byte| *byte == 0);
    if is_padded { &bytes[..length] } else { bytes }
}

/// Whether a payload is one letter again and again.
fn is_filled(bytes: &[u8]) -> bool {
    bytes.len() > 8 && bytes.iter().all(|byte| *byte == bytes[0] && byte.is_ascii_alphabetic())
}

/// The payload: a letter again and again, or all of it.
fn payload(bytes: &[u8]) -> Node {
    if is_filled(bytes) {
        let repeat = vec![pair("repeat", char::from(bytes[0]))];
        return Node::Line(vec![("fill".to_owned(), Node::Line(repeat))]);
    }
    let mut hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if hex.bytes().all(|digit| digit.is_ascii_digit() || digit == b'e') {
        // A blank makes it a text, which YAML would read as a number.
        hex.push(' ');
    }
    Node::Line(vec![pair("hex", hex)])
}

fn pair(name: &str, value: impl ToString) -> (String, Node) {
    (name.to_owned(), Node::text(value))
}

fn header(name: &str, fields: Vec<(String, Node)>) -> Node {
    if fields.is_empty() { Node::text(name) } else { Node::Line(vec![(name.to_owned(), Node::Line(fields))]) }
}

fn mac(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Whether an IPv4 header is plain: no options, no fragment, the length of all that is left, the right checksum.
fn is_plain_ipv4(bytes: &[u8]) -> bool {
    bytes.len() >= 20
        && bytes[0] == 0x45
        && word(bytes, 6) & 0xbfff == 0
        && usize::from(word(bytes, 2)) == bytes.len()
        && header_sum(&bytes[..20]) == 0
}

fn ipv4<'a>(bytes: &'a [u8], keeps_sums: bool, out: &mut Vec<Node>) -> &'a [u8] {
    if !is_plain_ipv4(bytes) {
        return bytes;
    }
    let address = |at: usize| Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
    let mut fields = vec![pair("src", address(12)), pair("dst", address(16))];
    fields.extend((bytes[1] >> 2 != 0).then(|| pair("dscp", bytes[1] >> 2)));
    fields.extend((bytes[1] & 3 != 0).then(|| pair("ecn", bytes[1] & 3)));
    fields.extend((word(bytes, 4) != 0).then(|| pair("id", word(bytes, 4))));
    fields.extend((bytes[6] & 0x40 != 0).then(|| pair("flags", "0x2")));
    fields.extend((bytes[8] != 64).then(|| pair("ttl", bytes[8])));
    let is_udp = is_udp(bytes[9], &bytes[20..]);
    if !is_udp {
        fields.push(pair("protocol", bytes[9]));
    }
    out.push(header("ipv4", fields));
    if is_udp { udp(&bytes[20..], keeps_sums, out) } else { &bytes[20..] }
}

/// Whether an IPv6 header is plain and UDP follows it.
fn is_plain_ipv6(kind: u16, bytes: &[u8]) -> bool {
    kind == 0x86dd
        && bytes.len() >= 40
        && usize::from(word(bytes, 4)) + 40 == bytes.len()
        && bytes[..4] == [0x60, 0, 0, 0]
        && is_udp(bytes[6], &bytes[40..])
}

fn ipv6<'a>(bytes: &'a [u8], keeps_sums: bool, out: &mut Vec<Node>) -> &'a [u8] {
    if !is_plain_ipv6(0x86dd, bytes) {
        return bytes;
    }
    let address = |at: usize| {
        let mut own = [0; 16];
        own.copy_from_slice(&bytes[at..at + 16]);
        Ipv6Addr::from(own)
    };
    let mut fields = vec![pair("src", address(8)), pair("dst", address(24))];
    fields.extend((bytes[7] != 64).then(|| pair("hop_limit", bytes[7])));
    out.push(header("ipv6", fields));
    udp(&bytes[40..], keeps_sums, out)
}

/// Whether UDP follows, with the length of all that is left.
fn is_udp(protocol: u8, bytes: &[u8]) -> bool {
    protocol == 17 && bytes.len() >= 8 && usize::from(word(bytes, 4)) == bytes.len()
}

fn udp<'a>(bytes: &'a [u8], keeps_sums: bool, out: &mut Vec<Node>) -> &'a [u8] {
    let mut fields = vec![pair("src", word(bytes, 0)), pair("dst", word(bytes, 2))];
    if keeps_sums {
        fields.push(pair("checksum", format!("0x{:04x}", word(bytes, 6))));
    }
    out.push(header("udp", fields));
    &bytes[8..]
}

/// A program as fields that vary by themselves, each where it is written; `None` if it takes more than that.
pub(crate) fn fields(vm: &Vm, frame: &[u8]) -> Option<Vec<(String, Node)>> {
    if word(frame, 12) != 0x0800 || !is_plain_ipv4(&frame[L3..]) {
        // Without a header that says where to, only a raw frame can ask for the gateway's address.
        return (vm.instructions.is_empty() && is_plain_ipv6(word(frame, 12), &frame[L3..])).then(Vec::new);
    }
    let fixed = vm.instructions.iter().any(|i| matches!(i, Instruction::FixChecksumIpv4 { pkt_offset: 14 }));
    let mut out: Vec<(String, Node)> = Vec::new();
    let mut written: Vec<Range<usize>> = Vec::new();
    for instruction in &vm.instructions {
        match instruction {
            Instruction::FlowVar { next_var: None, op: Op::Inc | Op::Dec, value_list: None, .. } => {}
            Instruction::FixChecksumIpv4 { pkt_offset: 14 } => {}
            Instruction::WriteFlowVar { name, pkt_offset, add_value: 0, is_big_endian: true } => {
                let (var, size) = counter(vm, name)?;
                let place = usize::from(*pkt_offset)..usize::from(*pkt_offset) + size;
                let in_header = place.start < L3 + 20 && place.end > L3;
                // Lengths and sums are the headers' own; Ethernet's type says what follows.
                let reserved = [12..18, 24..26, 38..42].iter().any(|own: &Range<usize>| overlap(own, &place));
                if reserved
                    || in_header && !fixed
                    || place.end > frame.len()
                    || written.iter().any(|w| overlap(w, &place))
                {
                    return None;
                }
                let key = field_name(&place, frame);
                let node = match first_place(&out, name, vm, frame) {
                    Some(first) => Node::Line(vec![pair("same_as", first)]),
                    None => var(key.starts_with("ipv4.")),
                };
                written.push(place);
                out.push((key, node));
            }
            _ => return None,
        }
    }
    Some(out)
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The key under which a variable is written first, if that came before.
fn first_place(out: &[(String, Node)], name: &str, vm: &Vm, frame: &[u8]) -> Option<String> {
    let first = vm.instructions.iter().find_map(|instruction| match instruction {
        Instruction::WriteFlowVar { name: own, pkt_offset, .. } if own == name => {
            Some(usize::from(*pkt_offset))
        }
        _ => None,
    })?;
    let (_, size) = counter(vm, name)?;
    let key = field_name(&(first..first + size), frame);
    out.iter().any(|(have, _)| *have == key).then_some(key)
}

/// A variable that counts evenly from its first value, with or without dots, and its bytes.
fn counter<'a>(vm: &'a Vm, name: &str) -> Option<(impl Fn(bool) -> Node + 'a, usize)> {
    vm.instructions.iter().find_map(|instruction| match instruction {
        Instruction::FlowVar { name: own, size, op, init_value, min_value, max_value, step, .. }
            if own == name =>
        {
            let (from, to) = if *op == Op::Inc { (min_value, max_value) } else { (max_value, min_value) };
            let step = (*step).max(1);
            let even = (max_value - min_value + 1) % step == 0;
            if init_value != from || !even {
                return None;
            }
            let node = move |dotted: bool| {
                let mut pairs = vec![pair("from", value(*from, dotted)), pair("to", value(*to, dotted))];
                if step > 1 {
                    pairs.push(pair("step", step));
                }
                Node::Line(pairs)
            };
            Some((node, usize::from(*size)))
        }
        _ => None,
    })
}

fn value(value: u64, dotted: bool) -> String {
    match u32::try_from(value) {
        Ok(address) if dotted => Ipv4Addr::from(address).to_string(),
        _ => value.to_string(),
    }
}

/// The field at a place, by its name if it is a whole one.
fn field_name(place: &Range<usize>, frame: &[u8]) -> String {
    let udp = is_udp(frame[L3 + 9], &frame[L3 + 20..]);
    match (place.start, place.end) {
        (26, 30) => "ipv4.src".to_owned(),
        (30, 34) => "ipv4.dst".to_owned(),
        (34, 36) if udp => "udp.src".to_owned(),
        (36, 38) if udp => "udp.dst".to_owned(),
        (from, to) => format!("bytes[{from}..{to}]"),
    }
}
