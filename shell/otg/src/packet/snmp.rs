//! SNMP version 2c, as bytes: the catalogue has no nested lengths. Source: RFC 3416; X.690 for the encoding.
//!
//! A varying number has the same length in every packet, which decoders accept, instead of the shortest form.

use super::header::Header;
use crate::node::Node;
use crate::pattern::{Absent, Values};

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const ADDRESS: u8 = 0x40;
const COUNTER: u8 = 0x41;
const UNSIGNED: u8 = 0x42;
const TIME: u8 = 0x43;
const ARBITRARY: u8 = 0x44;
const BIG_COUNTER: u8 = 0x46;
/// In the order of their numbers (RFC 3416 section 3).
const ERRORS: [&str; 19] = [
    "no_error",
    "too_big",
    "no_such_name",
    "bad_value",
    "read_only",
    "gen_err",
    "no_access",
    "wrong_type",
    "wrong_length",
    "wrong_encoding",
    "wrong_value",
    "no_creation",
    "inconsistent_value",
    "resource_unavailable",
    "commit_failed",
    "undo_failed",
    "authorization_error",
    "not_writable",
    "inconsistent_name",
];

/// A message.
pub(super) fn header(node: &Node<'_>) -> Vec<Header> {
    let data = node.child("data");
    let choice = data.choice();
    let pdu = data.child(choice);
    let tag = match choice {
        "get_request" => 0xa0,
        "get_next_request" => 0xa1,
        "response" => 0xa2,
        "set_request" => 0xa3,
        "get_bulk_request" => 0xa5,
        "inform_request" => 0xa6,
        "snmpv2_trap" => 0xa7,
        _ => 0xa8,
    };
    let mut inside = number(&node.child("version"), INTEGER, 1, false);
    inside.append(octets(node, OCTETS, node.text("community").as_bytes()));
    inside.append(wrap(node, tag, request(&pdu, choice == "get_bulk_request")));
    vec![wrap(node, SEQUENCE, inside)]
}

fn request(node: &Node<'_>, bulk: bool) -> Header {
    let mut inside = number(&node.child("request_id"), INTEGER, 4, true);
    if bulk {
        inside.append(number(&node.child("non_repeaters"), INTEGER, 4, false));
        inside.append(number(&node.child("max_repetitions"), INTEGER, 4, false));
    } else {
        let status = node.text("error_status");
        let status = ERRORS.iter().position(|error| *error == status).unwrap_or_default();
        inside.append(octets(node, INTEGER, &[status as u8]));
        inside.append(number(&node.child("error_index"), INTEGER, 4, false));
    }
    let mut bindings = Header::plain(node);
    node.items("variable_bindings").iter().for_each(|item| bindings.append(binding(item)));
    inside.append(wrap(node, SEQUENCE, bindings));
    inside
}

fn binding(node: &Node<'_>) -> Header {
    let mut inside = object(node, "object_identifier");
    let value = node.child("value");
    inside.append(match value.choice() {
        "integer_value" => number(&value.child("integer_value"), INTEGER, 4, true),
        "string_value" => {
            let text = value.child("string_value");
            match text.choice() {
                "raw" => octets(&text, OCTETS, &text.bytes("raw")),
                _ => octets(&text, OCTETS, text.text("ascii").as_bytes()),
            }
        }
        "object_identifier_value" => object(&value, "object_identifier_value"),
        "ip_address_value" => {
            let mut address = Header::plain(&value);
            address.pattern(&value.child("ip_address_value"), 32, Absent::Default);
            wrap(&value, ADDRESS, address)
        }
        "counter_value" => number(&value.child("counter_value"), COUNTER, 4, false),
        "timeticks_value" => number(&value.child("timeticks_value"), TIME, 4, false),
        "arbitrary_value" => octets(&value, ARBITRARY, &value.bytes("arbitrary_value")),
        "big_counter_value" => number(&value.child("big_counter_value"), BIG_COUNTER, 8, false),
        "unsigned_integer_value" => number(&value.child("unsigned_integer_value"), UNSIGNED, 4, false),
        _ => octets(&value, NULL, &[]),
    });
    wrap(node, SEQUENCE, inside)
}

/// A number of up to `bytes` bytes: in the shortest form, or in full with a zero before it if it varies.
fn number(node: &Node<'_>, tag: u8, bytes: u16, signed: bool) -> Header {
    let mut content = Header::plain(node);
    match Values::read(node, bytes * 8, Absent::Default) {
        Values::One(value) => content.bytes(&shortest(value, bytes, signed)),
        _ => {
            if !signed {
                content.number(0, 8);
            }
            content.pattern(node, bytes * 8, Absent::Default);
        }
    }
    wrap(node, tag, content)
}

/// The shortest two's complement of a number of `bytes` bytes.
fn shortest(value: u128, bytes: u16, signed: bool) -> Vec<u8> {
    let mut all = value.to_be_bytes()[16 - usize::from(bytes)..].to_vec();
    if !signed {
        all.insert(0, 0);
    }
    let spare = |all: &[u8]| {
        matches!(all, [0, next, ..] if *next < 0x80) || matches!(all, [0xff, next, ..] if *next >= 0x80)
    };
    while spare(&all) {
        all.remove(0);
    }
    all
}

fn octets(node: &Node<'_>, tag: u8, bytes: &[u8]) -> Header {
    let mut content = Header::plain(node);
    content.bytes(bytes);
    wrap(node, tag, content)
}

/// An object identifier: the first two numbers in one, all in seven bits a byte (X.690 section 8.19).
fn object(node: &Node<'_>, name: &str) -> Header {
    let text = node.text(name).trim_start_matches('.');
    let numbers: Option<Vec<u64>> = text.split('.').map(|number| number.parse().ok()).collect();
    let mut bytes = Vec::new();
    match numbers.as_deref() {
        Some([first @ 0..=2, second, rest @ ..]) if *second < 40 || *first == 2 => {
            base128(first * 40 + second, &mut bytes);
            rest.iter().for_each(|number| base128(*number, &mut bytes));
        }
        _ => node.fail_at(name, format!("'{text}' is not an object identifier such as 1.3.6.1")),
    }
    octets(node, OBJECT, &bytes)
}

fn base128(number: u64, bytes: &mut Vec<u8>) {
    let groups = (64 - number.leading_zeros()).div_ceil(7).max(1);
    bytes.extend((0..groups).rev().map(|group| {
        let more = if group > 0 { 0x80 } else { 0 };
        (number >> (7 * group)) as u8 & 0x7f | more
    }));
}

/// Tag, length, content.
fn wrap(node: &Node<'_>, tag: u8, content: Header) -> Header {
    let mut header = Header::plain(node);
    let length = content.len() / 8;
    match length {
        0..=0x7f => header.bytes(&[tag, length as u8]),
        0x80..=0xff => header.bytes(&[tag, 0x81, length as u8]),
        _ => header.bytes(&[tag, 0x82, (length >> 8) as u8, length as u8]),
    }
    header.append(content);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let hex = |value: i64, signed| shortest(value as u128, 4, signed);
        assert_eq!(hex(0, true), [0]);
        assert_eq!(hex(127, true), [0x7f]);
        assert_eq!(hex(128, true), [0, 0x80]);
        assert_eq!(hex(-1, true), [0xff]);
        assert_eq!(hex(-129, true), [0xff, 0x7f]);
        assert_eq!(hex(0xffff_ffff, false), [0, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn identifiers_are_in_sevens_of_bits() {
        let mut bytes = Vec::new();
        for number in [43, 6, 1, 4, 1, 311, 16384] {
            base128(number, &mut bytes);
        }
        assert_eq!(bytes, [0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x81, 0x80, 0]);
    }
}
