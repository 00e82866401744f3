//! Options of IPv4. Source: RFC 791 section 3.1; RFC 2113 for the router alert.
//!
//! They follow `ipv4` and count to its `header_length`; zeros pad them to a multiple of four bytes.

use crate::catalogue::{Found, Length, Part, Protocol, hex, in_order, number};
use crate::variable::{Variable, VariableKind};

const PART: Option<Part> = Some(Part { of: &["ipv4"], found: Found::ByKind });
const LENGTH: Option<Length> = Some(Length { field: "length", unit: 1, beyond: 0 });

/// No operation: one byte between options.
pub static IPV4_NOP: Protocol = Protocol {
    name: "ipv4_nop",
    title: "IPv4 option: no operation",
    source: "RFC 791 section 3.1",
    len: 1,
    fields: &in_order([number("type", 8, "1").default(1)]),
    recognise: Some(("type", &[1])),
    part: PART,
    ..Protocol::PLAIN
};

/// Router alert.
pub static IPV4_ROUTER_ALERT: Protocol = Protocol {
    name: "ipv4_router_alert",
    title: "IPv4 option: router alert",
    source: "RFC 2113",
    len: 4,
    fields: &in_order([
        number("type", 8, "148").default(148),
        number("length", 8, "Bytes of the option").default(4),
        number("value", 16, "0: every router must examine the packet"),
    ]),
    recognise: Some(("type", &[148])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Record route.
pub static IPV4_RECORD_ROUTE: Protocol = Protocol {
    name: "ipv4_record_route",
    title: "IPv4 option: record route",
    source: "RFC 791 section 3.1",
    len: 3,
    fields: &in_order([
        number("type", 8, "7").default(7),
        number("length", 8, "Bytes of the option").default(15),
        number("pointer", 8, "Where in the option the next address goes, counted from 1").default(4),
    ]),
    variable: Some(Variable {
        name: "route",
        at: 3,
        kind: VariableKind::Bytes,
        default: &[0; 12],
        doc: "Room for addresses, in hexadecimal; for three if not set",
    }),
    recognise: Some(("type", &[7])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Timestamp.
pub static IPV4_TIMESTAMP: Protocol = Protocol {
    name: "ipv4_timestamp",
    title: "IPv4 option: timestamps",
    source: "RFC 791 section 3.1",
    len: 4,
    fields: &in_order([
        number("type", 8, "68").default(68),
        number("length", 8, "Bytes of the option").default(16),
        number("pointer", 8, "Where in the option the next timestamp goes, counted from 1").default(5),
        number("overflow", 4, "Hosts that found no room"),
        number("flag", 4, "0 timestamps only, 1 with addresses, 3 addresses given"),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 4,
        kind: VariableKind::Bytes,
        default: &[0; 12],
        doc: "Room for timestamps, in hexadecimal; for three if not set",
    }),
    recognise: Some(("type", &[68])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Any other option.
pub static IPV4_OPTION: Protocol = Protocol {
    name: "ipv4_option",
    title: "IPv4 option of any type",
    source: "RFC 791 section 3.1",
    len: 2,
    fields: &in_order([
        hex("type", 8, "Type; 0x5e is for experiments (RFC 4727 section 3.2.1)").default(0x5e),
        number("length", 8, "Bytes of the option").default(4),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 2,
        kind: VariableKind::Bytes,
        default: &[0; 2],
        doc: "Value of the option, in hexadecimal",
    }),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};
