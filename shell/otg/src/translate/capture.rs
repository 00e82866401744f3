//! Captures and their filters, in libpcap syntax.

use super::CapturePlan;
use crate::node::Node;
use profile::document::{Bytes, CaptureDoc};

/// Fields of a header: name, first bit, bits.
type Fields = &'static [(&'static str, u32, u32)];

const ETHERNET: Fields = &[("dst", 0, 48), ("src", 48, 48), ("ether_type", 96, 16)];
const VLAN: Fields = &[("priority", 112, 3), ("cfi", 115, 1), ("id", 116, 12), ("protocol", 128, 16)];
const IPV4: Fields = &[
    ("version", 112, 4),
    ("header_length", 116, 4),
    ("priority", 120, 8),
    ("total_length", 128, 16),
    ("identification", 144, 16),
    ("reserved", 160, 1),
    ("dont_fragment", 161, 1),
    ("more_fragments", 162, 1),
    ("fragment_offset", 163, 13),
    ("time_to_live", 176, 8),
    ("protocol", 184, 8),
    ("header_checksum", 192, 16),
    ("src", 208, 32),
    ("dst", 240, 32),
];
const IPV6: Fields = &[
    ("version", 112, 4),
    ("traffic_class", 116, 8),
    ("flow_label", 124, 20),
    ("payload_length", 144, 16),
    ("next_header", 160, 8),
    ("hop_limit", 168, 8),
    ("src", 176, 128),
    ("dst", 304, 128),
];

/// Reads a capture for the port `key` of the profile, which also names the file.
pub(super) fn capture(node: &Node<'_>, key: &str) -> (CapturePlan, CaptureDoc) {
    let name = node.text("name").to_owned();
    let pcapng = node.text("format") == "pcapng";
    // It goes on until it is stopped, and its file has all: nothing is overwritten, whether it may be or not.
    node.flag("overwrite");
    let size = node.has("packet_size").then(|| node.whole("packet_size"));
    let filters: Vec<String> = node.items("filters").iter().filter_map(filter).collect();
    let document = CaptureDoc {
        snap: size.map(|size| Bytes(size.max(1))),
        filter: (!filters.is_empty()).then(|| filters.join(" and ")),
        ..CaptureDoc::new(format!("{key}.pcapng"))
    };
    (CapturePlan { name, pcapng, snap: size.map(|size| size as usize) }, document)
}

fn filter(node: &Node<'_>) -> Option<String> {
    let choice = node.choice();
    let inner = node.child(choice);
    let (fields, before): (Fields, &[&str]) = match choice {
        "ethernet" => (ETHERNET, &[]),
        "vlan" => (VLAN, &["ether[12:2] = 0x8100"]),
        "ipv4" => (IPV4, &["ether[12:2] = 0x0800"]),
        "ipv6" => (IPV6, &["ether[12:2] = 0x86dd"]),
        _ => return Some(custom(&inner)),
    };
    let given = fields.iter().filter(|(name, ..)| inner.has(name));
    let conditions: Vec<String> = given
        .filter_map(|(name, first, bits)| {
            let field = inner.child(name);
            let (compared, negate) = (compared(&field, *bits), field.flag("negate"));
            compared.and_then(|(value, mask)| condition(*first, *bits, value, mask, negate))
        })
        .collect();
    if conditions.is_empty() && before.is_empty() {
        return None;
    }
    let all = before.iter().map(|text| (*text).to_owned()).chain(conditions);
    Some(all.collect::<Vec<_>>().join(" and "))
}

fn custom(node: &Node<'_>) -> String {
    let (offset, length) = (node.whole("offset") as u32 * 8, node.whole("bit_length") as u32);
    if length == 0 || length > 128 {
        node.fail_at("bit_length", "must be from 1 to 128");
        return String::new();
    }
    let (compared, negate) = (compared(node, length), node.flag("negate"));
    let condition = compared.and_then(|(value, mask)| condition(offset, length, value, mask, negate));
    condition.unwrap_or_else(|| "ether[0] >= 0".to_owned())
}

/// The value of a field of this number of bits and the mask of significant bits: without a mask, or with one of zero,
/// which is the model's default, all of it. None without a value.
fn compared(field: &Node<'_>, bits: u32) -> Option<(u128, u128)> {
    let (value, mask) = (field.bits("value"), field.bits("mask"));
    let all = u128::MAX >> (128 - bits);
    field.has("value").then_some((value, if mask == 0 { all } else { mask }))
}

/// A filter for bits of the frame that equal `value`, or do not, where `mask` is set; none for an empty mask.
fn condition(first: u32, bits: u32, value: u128, mask: u128, negate: bool) -> Option<String> {
    let mut bytes: Vec<String> = Vec::new();
    for byte in first / 8..(first + bits).div_ceil(8) {
        let (mut wanted, mut counts) = (0u8, 0u8);
        for bit in 0..8 {
            let at = byte * 8 + bit;
            if (first..first + bits).contains(&at) {
                let shift = first + bits - 1 - at;
                wanted |= ((value & mask) >> shift & 1) as u8 * (0x80 >> bit);
                counts |= (mask >> shift & 1) as u8 * (0x80 >> bit);
            }
        }
        if counts != 0 {
            bytes.push(format!("ether[{byte}] & {counts} = {wanted}"));
        }
    }
    let all = bytes.join(" and ");
    match (bytes.is_empty(), negate) {
        (true, _) => None,
        (_, true) => Some(format!("not ({all})")),
        (_, false) => Some(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_byte_by_byte() {
        let text = condition(240, 32, 0x0a00_0001, 0xffff_ff00, false).unwrap();
        assert_eq!(text, "ether[30] & 255 = 10 and ether[31] & 255 = 0 and ether[32] & 255 = 0");
        let text = condition(116, 12, 0x123, 0xfff, true).unwrap();
        assert_eq!(text, "not (ether[14] & 15 = 1 and ether[15] & 255 = 35)");
        assert_eq!(condition(0, 48, 1, 0, false), None);
    }
}
