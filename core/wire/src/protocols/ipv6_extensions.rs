//! Extension headers of IPv6 and their options. Source: RFC 8200 section 4; RFC 8754 for segment routing; RFC 2711 for
//! the router alert; RFC 2473 section 4.1.1 for the tunnel limit.
//!
//! Each names the next header. Options follow `ipv6_hop_by_hop` or `ipv6_destination` and segments follow `srh`; they
//! count to its length, and zeros (Pad1) pad them to a multiple of eight bytes.

use crate::catalogue::{Auto, Found, Length, Part, Protocol, hex, in_order, ipv6, number};
use crate::variable::{Variable, VariableKind};

/// "No next header" (RFC 8200 section 4.7), used where none follows.
const NO_NEXT_HEADER: u128 = 59;
/// Lengths of extension headers count in eight bytes and do not count the first eight.
const EIGHTS: Option<Length> = Some(Length { field: "length", unit: 8, beyond: 8 });

/// Hop-by-hop options.
pub static IPV6_HOP_BY_HOP: Protocol = Protocol {
    name: "ipv6_hop_by_hop",
    title: "IPv6 hop-by-hop options",
    source: "RFC 8200 section 4.3",
    len: 2,
    fields: &in_order([
        number("next_header", 8, "Protocol of what follows").auto(Auto::NextProtocol).default(NO_NEXT_HEADER),
        number("length", 8, "Length without the first 8 bytes, in units of 8 bytes"),
    ]),
    follows: &[("ipv6", 0)],
    names_like: Some("ipv6"),
    real_length: EIGHTS,
    ..Protocol::PLAIN
};

/// Destination options.
pub static IPV6_DESTINATION: Protocol = Protocol {
    name: "ipv6_destination",
    title: "IPv6 destination options",
    source: "RFC 8200 section 4.6",
    len: 2,
    fields: &in_order([
        number("next_header", 8, "Protocol of what follows").auto(Auto::NextProtocol).default(NO_NEXT_HEADER),
        number("length", 8, "Length without the first 8 bytes, in units of 8 bytes"),
    ]),
    follows: &[("ipv6", 60)],
    names_like: Some("ipv6"),
    real_length: EIGHTS,
    ..Protocol::PLAIN
};

const OPTION: Option<Part> =
    Some(Part { of: &["ipv6_hop_by_hop", "ipv6_destination"], found: Found::ByKind });
/// Lengths of options do not count type and length.
const OPTION_LENGTH: Option<Length> = Some(Length { field: "length", unit: 1, beyond: 2 });

/// Router alert.
pub static IPV6_ROUTER_ALERT: Protocol = Protocol {
    name: "ipv6_router_alert",
    title: "IPv6 option: router alert",
    source: "RFC 2711",
    len: 4,
    fields: &in_order([
        number("type", 8, "5").default(5),
        number("length", 8, "Bytes after this field").default(2),
        number("value", 16, "0 for MLD, 1 for RSVP"),
    ]),
    recognise: Some(("type", &[5])),
    real_length: OPTION_LENGTH,
    part: OPTION,
    ..Protocol::PLAIN
};

/// Tunnel encapsulation limit.
pub static IPV6_TUNNEL_LIMIT: Protocol = Protocol {
    name: "ipv6_tunnel_limit",
    title: "IPv6 option: tunnel encapsulation limit",
    source: "RFC 2473 section 4.1.1",
    len: 3,
    fields: &in_order([
        number("type", 8, "4").default(4),
        number("length", 8, "Bytes after this field").default(1),
        number("limit", 8, "Number of further encapsulations allowed").default(4),
    ]),
    recognise: Some(("type", &[4])),
    real_length: OPTION_LENGTH,
    part: OPTION,
    ..Protocol::PLAIN
};

/// Padding of two bytes and more.
pub static IPV6_PADN: Protocol = Protocol {
    name: "ipv6_padn",
    title: "IPv6 option: padding",
    source: "RFC 8200 section 4.2",
    len: 2,
    fields: &in_order([number("type", 8, "1").default(1), number("length", 8, "Bytes after this field")]),
    variable: Some(Variable {
        name: "data",
        at: 2,
        kind: VariableKind::Bytes,
        default: &[],
        doc: "Zeros, in hexadecimal",
    }),
    recognise: Some(("type", &[1])),
    real_length: OPTION_LENGTH,
    part: OPTION,
    ..Protocol::PLAIN
};

/// Any other option.
pub static IPV6_OPTION: Protocol = Protocol {
    name: "ipv6_option",
    title: "IPv6 option of any type",
    source: "RFC 8200 section 4.2",
    len: 2,
    fields: &in_order([
        hex("type", 8, "Type; 0x1e is for experiments (RFC 4727 section 3.3)").default(0x1e),
        number("length", 8, "Bytes after this field").default(4),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 2,
        kind: VariableKind::Bytes,
        default: &[0; 4],
        doc: "Value of the option, in hexadecimal",
    }),
    real_length: OPTION_LENGTH,
    part: OPTION,
    ..Protocol::PLAIN
};

/// Fragment header.
pub static IPV6_FRAGMENT: Protocol = Protocol {
    name: "ipv6_fragment",
    title: "IPv6 fragment header",
    source: "RFC 8200 section 4.5",
    len: 8,
    fields: &in_order([
        number("next_header", 8, "Protocol of what follows").auto(Auto::NextProtocol).default(NO_NEXT_HEADER),
        number("reserved", 8, "Zero"),
        number("fragment_offset", 13, "Where this fragment belongs, in units of 8 bytes"),
        number("reserved2", 2, "Zero"),
        number("more_fragments", 1, "1 in all fragments but the last"),
        hex("id", 32, "Names the packet its fragments belong to"),
    ]),
    follows: &[("ipv6", 44)],
    names_like: Some("ipv6"),
    fragment: &[("fragment_offset", u128::MAX), ("more_fragments", 1)],
    ..Protocol::PLAIN
};

/// Segment routing header. Its first segment is the last one visited; `ipv6.dst` should be the segment that is next.
pub static SRH: Protocol = Protocol {
    name: "srh",
    title: "IPv6 segment routing header (SRv6)",
    source: "RFC 8754",
    len: 8,
    fields: &in_order([
        number("next_header", 8, "Protocol of what follows").auto(Auto::NextProtocol).default(NO_NEXT_HEADER),
        number("length", 8, "Length without the first 8 bytes, in units of 8 bytes"),
        number("routing_type", 8, "4").default(4),
        number("segments_left", 8, "Segments still to visit: all but one unless set")
            .auto(Auto::Count { parts: &["srh_segment"], less: 1 }),
        number("last_entry", 8, "Index of the last segment")
            .auto(Auto::Count { parts: &["srh_segment"], less: 1 }),
        hex("flags", 8, "None is defined"),
        hex("tag", 16, "Class of packets"),
    ]),
    follows: &[("ipv6", 43)],
    names_like: Some("ipv6"),
    recognise: Some(("routing_type", &[4])),
    real_length: EIGHTS,
    final_destination: Some(("segments_left", 8..24)),
    ..Protocol::PLAIN
};

/// One segment.
pub static SRH_SEGMENT: Protocol = Protocol {
    name: "srh_segment",
    title: "Segment of an IPv6 segment routing header",
    source: "RFC 8754 section 2",
    len: 16,
    fields: &in_order([ipv6("address", "Address of the segment").default(0x2001_0002 << 96 | 1 << 64 | 1)]),
    part: Some(Part { of: &["srh"], found: Found::ByCount { field: "last_entry", more: 1 } }),
    ..Protocol::PLAIN
};

/// A TLV after the segments.
pub static SRH_TLV: Protocol = Protocol {
    name: "srh_tlv",
    title: "TLV of an IPv6 segment routing header",
    source: "RFC 8754 section 2.1",
    len: 2,
    fields: &in_order([
        number("type", 8, "Type; 124 is for experiments (RFC 8754 section 8.2)").default(124),
        number("length", 8, "Bytes after this field").default(6),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 2,
        kind: VariableKind::Bytes,
        default: &[0; 6],
        doc: "Value, in hexadecimal",
    }),
    real_length: OPTION_LENGTH,
    part: Some(Part { of: &["srh"], found: Found::ByKind }),
    ..Protocol::PLAIN
};

/// Any other routing header.
pub static IPV6_ROUTING: Protocol = Protocol {
    name: "ipv6_routing",
    title: "IPv6 routing header of any type",
    source: "RFC 8200 section 4.4",
    len: 4,
    fields: &in_order([
        number("next_header", 8, "Protocol of what follows").auto(Auto::NextProtocol).default(NO_NEXT_HEADER),
        number("length", 8, "Length without the first 8 bytes, in units of 8 bytes"),
        number("routing_type", 8, "Type; 253 is for experiments (RFC 4727 section 3.4)").default(253),
        number("segments_left", 8, "Nodes still to visit"),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 4,
        kind: VariableKind::Bytes,
        default: &[0; 4],
        doc: "Type-specific data, in hexadecimal",
    }),
    follows: &[("ipv6", 43)],
    names_like: Some("ipv6"),
    real_length: EIGHTS,
    ..Protocol::PLAIN
};
