//! Router solicitation and advertisement, and the options after them. Source: RFC 4861 sections 4.1, 4.2 and 4.6.

use crate::catalogue::{Auto, Field, Found, Length, Part, Protocol, hex, in_order, ipv6, mac, number};
use crate::variable::{Variable, VariableKind};

const CHECKSUM: Field = hex("checksum", 16, "Checksum from here to the packet's end, with pseudo-header")
    .auto(Auto::PseudoHeaderChecksum { zero_as_ones: false });
/// RFC 4861 section 6.1: anything else was not sent from the link and is ignored.
const FROM_THE_LINK: &[(&str, &str, u128)] = &[("ipv6", "hop_limit", 255)];
const PART: Option<Part> =
    Some(Part { of: &["nd_router_solicit", "nd_router_advert"], found: Found::ByKind });
const LENGTH: Option<Length> = Some(Length { field: "length", unit: 8, beyond: 0 });

/// Router solicitation.
pub static ND_ROUTER_SOLICIT: Protocol = Protocol {
    name: "nd_router_solicit",
    title: "Router solicitation",
    source: "RFC 4861 section 4.1",
    len: 8,
    fields: &in_order([
        number("type", 8, "133").default(133),
        number("code", 8, "Zero"),
        CHECKSUM,
        hex("reserved", 32, "Zero"),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[133])),
    needs: FROM_THE_LINK,
    ..Protocol::PLAIN
};

/// Router advertisement.
pub static ND_ROUTER_ADVERT: Protocol = Protocol {
    name: "nd_router_advert",
    title: "Router advertisement",
    source: "RFC 4861 section 4.2",
    len: 16,
    fields: &in_order([
        number("type", 8, "134").default(134),
        number("code", 8, "Zero"),
        CHECKSUM,
        number("hop_limit", 8, "Hop limit for hosts to use; zero is unspecified").default(64),
        number("managed", 1, "Addresses come from DHCPv6"),
        number("other", 1, "Other configuration comes from DHCPv6"),
        hex("reserved", 6, "Zero"),
        number("lifetime", 16, "Seconds it is a default router").default(1800),
        number("reachable", 32, "Milliseconds a neighbour counts as reachable; zero is unspecified"),
        number("retransmit", 32, "Milliseconds between solicitations; zero is unspecified"),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[134])),
    needs: FROM_THE_LINK,
    ..Protocol::PLAIN
};

/// Source link-layer address.
pub static ND_SOURCE_LLADDR: Protocol = Protocol {
    name: "nd_source_lladdr",
    title: "Neighbour discovery option: hardware address of the sender",
    source: "RFC 4861 section 4.6.1",
    len: 8,
    fields: &in_order([
        number("type", 8, "1").default(1),
        number("length", 8, "Length of the option, in units of 8 bytes").default(1),
        mac("lladdr", "Hardware address of the sender").default(0x0200_0000_0001),
    ]),
    recognise: Some(("type", &[1])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Prefix information.
pub static ND_PREFIX: Protocol = Protocol {
    name: "nd_prefix",
    title: "Neighbour discovery option: prefix",
    source: "RFC 4861 section 4.6.2",
    len: 32,
    fields: &in_order([
        number("type", 8, "3").default(3),
        number("length", 8, "Length of the option, in units of 8 bytes").default(4),
        number("prefix_length", 8, "Bits of the prefix").default(64),
        number("on_link", 1, "The prefix is on the link").default(1),
        number("autonomous", 1, "Hosts may make addresses of it").default(1),
        hex("reserved", 6, "Zero"),
        number("valid", 32, "Seconds the prefix is valid").default(2_592_000),
        number("preferred", 32, "Seconds its addresses are preferred").default(604_800),
        hex("reserved2", 32, "Zero"),
        ipv6("prefix", "The prefix").default(0x2001_0002 << 96),
    ]),
    recognise: Some(("type", &[3])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// MTU.
pub static ND_MTU: Protocol = Protocol {
    name: "nd_mtu",
    title: "Neighbour discovery option: MTU of the link",
    source: "RFC 4861 section 4.6.4",
    len: 8,
    fields: &in_order([
        number("type", 8, "5").default(5),
        number("length", 8, "Length of the option, in units of 8 bytes").default(1),
        hex("reserved", 16, "Zero"),
        number("mtu", 32, "MTU of the link").default(1500),
    ]),
    recognise: Some(("type", &[5])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Any other option.
pub static ND_OPTION: Protocol = Protocol {
    name: "nd_option",
    title: "Neighbour discovery option of any type",
    source: "RFC 4861 section 4.6",
    len: 2,
    fields: &in_order([
        number("type", 8, "Type; 253 is for experiments (RFC 4727 section 5.1)").default(253),
        number("length", 8, "Length of the option, in units of 8 bytes").default(1),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 2,
        kind: VariableKind::Bytes,
        default: &[0; 6],
        doc: "Value of the option, in hexadecimal",
    }),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};
