//! IPv4 with its options, IPv6 with its segment routing header, Ethernet.

use super::header::{Header, Part};
use crate::node::Node;
use crate::pattern::{Absent, Values, ones};
use Part::{Computed, Fixed, Pattern};

const ETHERNET: &[Part] = &[Computed("ether_type", 16)];
const IPV4: &[Part] = &[
    Computed("total_length", 16),
    Pattern("identification", 16),
    Pattern("reserved", 1),
    Pattern("dont_fragment", 1),
    Pattern("more_fragments", 1),
    Pattern("fragment_offset", 13),
    Pattern("time_to_live", 8),
    Computed("protocol", 8),
    Computed("header_checksum", 16),
    Pattern("src", 32),
    Pattern("dst", 32),
];
const TOS: &[Part] = &[
    Pattern("precedence", 3),
    Pattern("delay", 1),
    Pattern("throughput", 1),
    Pattern("reliability", 1),
    Pattern("monetary", 1),
    Pattern("unused", 1),
];
const IPV6: &[Part] = &[
    Pattern("version", 4),
    Pattern("traffic_class", 8),
    Pattern("flow_label", 20),
    Computed("payload_length", 16),
    Computed("next_header", 8),
    Pattern("hop_limit", 8),
    Pattern("src", 128),
];
/// The model's fallback values of next-header fields.
const NO_TYPE: u128 = 0xffff;
const ANY_HOST: u128 = 61;
const NO_NEXT_HEADER: u128 = 59;
/// Of RFC 8754.
const SEGMENT_ROUTING: u128 = 4;

/// Ethernet. The destination is resolved with `auto`, or if absent in a flow between devices; then an absent source is the
/// device's.
pub(super) fn ethernet(node: &Node<'_>, between_devices: bool) -> Vec<Header> {
    let mut header = Header::native("ethernet", node);
    let dst = node.child("dst");
    let absent = if dst.is_given() || between_devices { Absent::Computed } else { Absent::Default };
    header.pattern(&dst, 48, absent);
    let src = node.child("src");
    let is_absent = between_devices && !src.is_given();
    header.pattern(&src, 48, if is_absent { Absent::Computed } else { Absent::Default });
    header.unknown_next = Some(NO_TYPE);
    vec![header.parts(node, ETHERNET)]
}

/// IPv4 and its options.
pub(super) fn ipv4(node: &Node<'_>) -> Vec<Header> {
    let mut header = Header::native("ipv4", node);
    header = header.parts(node, &[Pattern("version", 4), Computed("header_length", 4)]);
    let priority = node.child("priority");
    header = match priority.choice() {
        "raw" => header.parts(&priority, &[Pattern("raw", 8)]),
        "tos" => header.parts(&priority.child("tos"), TOS),
        _ => header.parts(&priority.child("dscp"), &[Pattern("phb", 6), Pattern("ecn", 2)]),
    };
    header.unknown_next = Some(ANY_HOST);
    let mut headers = vec![header.parts(node, IPV4)];
    headers.extend(node.items("options").iter().map(option));
    headers
}

fn option(node: &Node<'_>) -> Header {
    match node.choice() {
        "router_alert" => Header::native("ipv4_router_alert", node),
        // One byte of zero, as a no-operation of another type.
        "end_of_options" => Header::native("ipv4_nop", node).parts(node, &[Fixed(0, 8)]),
        "timestamp" => timestamp(&node.child("timestamp")),
        _ => custom_option(&node.child("custom")),
    }
}

fn custom_option(node: &Node<'_>) -> Header {
    let parts = [Pattern("copied_flag", 1), Pattern("option_class", 2), Pattern("option_number", 5)];
    let mut header = Header::native("ipv4_option", node).parts(&node.child("type"), &parts);
    let length = node.child("length");
    match length.choice() {
        "value" => header.number(u128::from(length.whole("value")), 8),
        _ => {
            length.value("auto");
            header.computed(8);
        }
    }
    header.variable = Some(node.bytes("value"));
    header
}

fn timestamp(node: &Node<'_>) -> Header {
    let format = node.child("format");
    let (flag, entries) = match format.choice() {
        "address_and_timestamps" => (1, format.items("address_and_timestamps")),
        "prespecified_address_and_timestamps" => (3, format.items("prespecified_address_and_timestamps")),
        _ => (0, format.items("timestamps")),
    };
    let mut data = Header::plain(node);
    for entry in &entries {
        if flag != 0 {
            data.pattern(&entry.child("address"), 32, Absent::Default);
        }
        data.pattern(&entry.child("timestamp"), 32, Absent::Default);
    }
    if !data.varied.is_empty() || !data.tags.is_empty() {
        node.fail("addresses and timestamps of the option must be fixed values without tags");
    }
    let pointer = node.child("pointer");
    let pointer = if pointer.choice() == "value" { pointer.bits("value") } else { 5 };
    let mut header = Header::native("ipv4_timestamp", node).parts(node, &[Fixed(68, 8)]);
    header.computed(8);
    header.number(pointer, 8);
    header = header.parts(node, &[Pattern("overflow", 4), Fixed(flag, 4)]);
    header.variable = Some(data.to_bytes());
    header
}

/// IPv6.
pub(super) fn ipv6(node: &Node<'_>) -> Vec<Header> {
    let mut header = Header::native("ipv6", node).parts(node, IPV6);
    header.unknown_next = Some(NO_NEXT_HEADER);
    if node.has("dst_usids") {
        header.number(micro_segments(&node.child("dst_usids")), 128);
    } else {
        header.pattern(&node.child("dst"), 128, Absent::Default);
    }
    vec![header]
}

/// A locator followed by micro-segments (RFC 9800), as one address.
fn micro_segments(node: &Node<'_>) -> u128 {
    let fixed = |name: &str, width| {
        let value = Values::read(&node.child(name), width, Absent::Default).one();
        value.unwrap_or_else(|| {
            node.fail_at(name, "must be a fixed value");
            0
        })
    };
    let (locator, length) = (fixed("locator", 128), fixed("locator_length", 8).min(128) as u16);
    let (mut address, mut at) = (locator & !ones(128 - length), u32::from(length));
    for usid in node.texts("usids") {
        let digits = crate::check::hex_digits(usid).unwrap_or_default();
        let width = digits.len() as u32 * 4;
        if at + width > 128 {
            node.fail_at("usids", "do not fit after the locator");
            break;
        }
        at += width;
        address |=
            u128::from_str_radix(&digits, 16).unwrap_or_default().checked_shl(128 - at).unwrap_or_default();
    }
    address
}

/// A routing header: segment routing, with addresses or micro-segments.
pub(super) fn extension(node: &Node<'_>) -> Vec<Header> {
    let routing = node.child("routing");
    let micro = routing.choice() == "segment_routing_usid";
    let inner = routing.child(if micro { "segment_routing_usid" } else { "segment_routing" });
    let mut header =
        Header::native("srh", node).parts(node, &[Computed("next_header", 8), Computed("hdr_ext_len", 8)]);
    header = header
        .parts(&inner, &[Fixed(SEGMENT_ROUTING, 8), Computed("segments_left", 8), Computed("last_entry", 8)]);
    let flags = inner.child("flags");
    header = match micro {
        true => header.parts(&flags, &[Fixed(0, 2), Pattern("oam", 1), Fixed(0, 5)]),
        false => {
            let parts =
                [Fixed(0, 1), Pattern("protected", 1), Pattern("oam", 1), Pattern("alert", 1), Fixed(0, 4)];
            header.parts(&flags, &parts)
        }
    };
    header.unknown_next = Some(NO_NEXT_HEADER);
    let mut headers = vec![header.parts(&inner, &[Pattern("tag", 16)])];
    for segment in inner.items("segment_list") {
        let mut header = Header::native("srh_segment", &segment);
        match micro {
            true => header.number(micro_segments(&segment), 128),
            false => header.pattern(&segment.child("segment"), 128, Absent::Default),
        }
        headers.push(header);
    }
    if inner.has("pad_tlv") {
        headers.push(padding(&inner.child("pad_tlv")));
    }
    headers
}

/// A padding TLV with its length in zeros.
fn padding(node: &Node<'_>) -> Header {
    let mut header = Header::native("srh_tlv", node).parts(node, &[Pattern("type", 8)]);
    let length = Values::read(&node.child("length"), 8, Absent::Default);
    header.variable = Some(vec![0; length.one().unwrap_or_default() as usize]);
    header.values(length, 8);
    header
}
