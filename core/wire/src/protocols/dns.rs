//! Domain Name System: the header, question and answer records. Source: RFC 1035 section 4.1; RFC 3596 section 2.2 for
//! AAAA.
//!
//! The name in a question is written out. The name of an answer record is a pointer to one written before, as all
//! servers compress it: unless set, to the first question's. Records of the other two sections are not counted
//! automatically.

use crate::catalogue::{Auto, Field, Found, Length, Part, Protocol, hex, in_order, ipv4, ipv6, number};
use crate::variable::{Variable, VariableKind};

/// DNS.
pub static DNS: Protocol = Protocol {
    name: "dns",
    title: "Domain Name System",
    source: "RFC 1035",
    len: 12,
    fields: &in_order([
        hex("id", 16, "Names the query"),
        number("response", 1, "1 in a response"),
        number("opcode", 4, "0: a standard query"),
        number("authoritative", 1, "The server is the name's authority"),
        number("truncated", 1, "The message was cut"),
        number("recursion_desired", 1, "Recursion desired").default(1),
        number("recursion_available", 1, "Recursion available"),
        number("reserved", 1, "Zero"),
        number("authentic", 1, "All data is authentic (RFC 4035)"),
        number("checking_disabled", 1, "Data need not be authentic (RFC 4035)"),
        number("code", 4, "0 no error, 2 server failure, 3 no such name"),
        number("questions", 16, "Number of questions")
            .auto(Auto::Count { parts: &["dns_question"], less: 0 }),
        number("answers", 16, "Number of answer records")
            .auto(Auto::Count { parts: &["dns_a", "dns_aaaa", "dns_record"], less: 0 }),
        number("authorities", 16, "Number of records about authorities"),
        number("additional", 16, "Number of additional records"),
    ]),
    follows: &[("udp", 53)],
    ..Protocol::PLAIN
};

/// A question.
pub static DNS_QUESTION: Protocol = Protocol {
    name: "dns_question",
    title: "Question of a DNS message",
    source: "RFC 1035 section 4.1.2",
    len: 4,
    fields: &in_order([
        number("type", 16, "Queried type: 1 IPv4 address, 28 IPv6 address, 255 everything").default(1),
        number("class", 16, "1: the Internet").default(1),
    ]),
    variable: Some(Variable {
        name: "name",
        at: 0,
        kind: VariableKind::Name,
        default: b"\x07example\x03com\0",
        doc: "Queried name",
    }),
    part: Some(Part { of: &["dns"], found: Found::ByCount { field: "questions", more: 0 } }),
    ..Protocol::PLAIN
};

const ANSWER: Option<Part> = Some(Part { of: &["dns"], found: Found::ByCount { field: "answers", more: 0 } });
const LENGTH: Option<Length> = Some(Length { field: "length", unit: 1, beyond: 12 });
/// A pointer to the byte after the DNS header.
const FIRST_QUESTION: u128 = 0xc00c;

const NAME: Field =
    hex("name", 16, "Pointer to the name: 0xc000 and its offset in the message").default(FIRST_QUESTION);
const CLASS: Field = number("class", 16, "1: the Internet").default(1);
const TTL: Field = number("ttl", 32, "Seconds to remember it").default(60);

/// An IPv4 address.
pub static DNS_A: Protocol = Protocol {
    name: "dns_a",
    title: "DNS record: IPv4 address",
    source: "RFC 1035 section 3.4.1",
    len: 16,
    fields: &in_order([
        NAME,
        number("type", 16, "1").default(1),
        CLASS,
        TTL,
        number("length", 16, "Bytes of the address").default(4),
        ipv4("address", "The address").default(0xc612_0001),
    ]),
    recognise: Some(("type", &[1])),
    real_length: LENGTH,
    part: ANSWER,
    ..Protocol::PLAIN
};

/// An IPv6 address.
pub static DNS_AAAA: Protocol = Protocol {
    name: "dns_aaaa",
    title: "DNS record: IPv6 address",
    source: "RFC 3596 section 2.2",
    len: 28,
    fields: &in_order([
        NAME,
        number("type", 16, "28").default(28),
        CLASS,
        TTL,
        number("length", 16, "Bytes of the address").default(16),
        ipv6("address", "The address").default(0x2001_0002 << 96 | 1),
    ]),
    recognise: Some(("type", &[28])),
    real_length: LENGTH,
    part: ANSWER,
    ..Protocol::PLAIN
};

/// Any other record.
pub static DNS_RECORD: Protocol = Protocol {
    name: "dns_record",
    title: "DNS record of any type",
    source: "RFC 1035 section 4.1.3",
    len: 12,
    fields: &in_order([
        NAME,
        number("type", 16, "Type; 16 is a text").default(16),
        CLASS,
        TTL,
        number("length", 16, "Bytes of the data").default(6),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 12,
        kind: VariableKind::Bytes,
        default: b"\x05eagre",
        doc: "Data of the record, in hexadecimal",
    }),
    real_length: LENGTH,
    part: ANSWER,
    ..Protocol::PLAIN
};
