//! Options of TCP. Source: RFC 9293 section 3.2; RFC 7323 for window scale and timestamps; RFC 2018 for selective
//! acknowledgement; RFC 7413 for fast open.
//!
//! They follow `tcp` and count to its `data_offset`; zeros pad them to a multiple of four bytes.

use crate::catalogue::{Found, Length, Part, Protocol, in_order, number};
use crate::variable::{Variable, VariableKind};

const PART: Option<Part> = Some(Part { of: &["tcp"], found: Found::ByKind });
const LENGTH: Option<Length> = Some(Length { field: "length", unit: 1, beyond: 0 });

/// No operation: one byte between options.
pub static TCP_NOP: Protocol = Protocol {
    name: "tcp_nop",
    title: "TCP option: no operation",
    source: "RFC 9293 section 3.2",
    len: 1,
    fields: &in_order([number("kind", 8, "1").default(1)]),
    recognise: Some(("kind", &[1])),
    part: PART,
    ..Protocol::PLAIN
};

/// Maximum segment size.
pub static TCP_MSS: Protocol = Protocol {
    name: "tcp_mss",
    title: "TCP option: maximum segment size",
    source: "RFC 9293 section 3.2",
    len: 4,
    fields: &in_order([
        number("kind", 8, "2").default(2),
        number("length", 8, "Bytes of the option").default(4),
        number("mss", 16, "Bytes of data the sender takes in one segment").default(1460),
    ]),
    recognise: Some(("kind", &[2])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Window scale.
pub static TCP_WSCALE: Protocol = Protocol {
    name: "tcp_wscale",
    title: "TCP option: window scale",
    source: "RFC 7323 section 2.2",
    len: 3,
    fields: &in_order([
        number("kind", 8, "3").default(3),
        number("length", 8, "Bytes of the option").default(3),
        number("shift", 8, "The sender's windows count in 2 to this power bytes").default(7),
    ]),
    recognise: Some(("kind", &[3])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Selective acknowledgement permitted.
pub static TCP_SACK_PERMITTED: Protocol = Protocol {
    name: "tcp_sack_permitted",
    title: "TCP option: selective acknowledgement permitted",
    source: "RFC 2018 section 2",
    len: 2,
    fields: &in_order([
        number("kind", 8, "4").default(4),
        number("length", 8, "Bytes of the option").default(2),
    ]),
    recognise: Some(("kind", &[4])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Selective acknowledgement; its blocks follow.
pub static TCP_SACK: Protocol = Protocol {
    name: "tcp_sack",
    title: "TCP option: selective acknowledgement, followed by blocks",
    source: "RFC 2018 section 3",
    len: 2,
    fields: &in_order([
        number("kind", 8, "5").default(5),
        number("length", 8, "Bytes of the option, its blocks included").default(2),
    ]),
    recognise: Some(("kind", &[5])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// A block of received data.
pub static TCP_SACK_BLOCK: Protocol = Protocol {
    name: "tcp_sack_block",
    title: "Block of a TCP selective acknowledgement",
    source: "RFC 2018 section 3",
    len: 8,
    fields: &in_order([
        number("left", 32, "Number of the first byte received").default(1),
        number("right", 32, "Number after the last byte received").default(2),
    ]),
    part: Some(Part { of: &["tcp_sack"], found: Found::ByKind }),
    ..Protocol::PLAIN
};

/// Timestamps.
pub static TCP_TIMESTAMPS: Protocol = Protocol {
    name: "tcp_timestamps",
    title: "TCP option: timestamps",
    source: "RFC 7323 section 3.2",
    len: 10,
    fields: &in_order([
        number("kind", 8, "8").default(8),
        number("length", 8, "Bytes of the option").default(10),
        number("value", 32, "The sender's clock").default(1),
        number("echo", 32, "The last value received, if ACK is set"),
    ]),
    recognise: Some(("kind", &[8])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Fast open.
pub static TCP_FAST_OPEN: Protocol = Protocol {
    name: "tcp_fast_open",
    title: "TCP option: fast open",
    source: "RFC 7413 section 4.1.1",
    len: 2,
    fields: &in_order([
        number("kind", 8, "34").default(34),
        number("length", 8, "Bytes of the option").default(2),
    ]),
    variable: Some(Variable {
        name: "cookie",
        at: 2,
        kind: VariableKind::Bytes,
        default: &[],
        doc: "The cookie, in hexadecimal; an empty one requests one",
    }),
    recognise: Some(("kind", &[34])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Any other option.
pub static TCP_OPTION: Protocol = Protocol {
    name: "tcp_option",
    title: "TCP option of any kind",
    source: "RFC 9293 section 3.1",
    len: 2,
    fields: &in_order([
        number("kind", 8, "Kind; 253 is for experiments (RFC 6994)").default(253),
        number("length", 8, "Bytes of the option").default(4),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 2,
        kind: VariableKind::Bytes,
        default: &[0xea, 0x67],
        doc: "Value of the option, in hexadecimal",
    }),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};
