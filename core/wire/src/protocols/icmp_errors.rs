//! Errors that ICMP reports, of both IP versions. Source: RFC 792, RFC 1191 section 4 and RFC 4884 section 4; RFC 4443
//! section 3.
//!
//! Each is followed by the packet it is about, from its IP header on.

use crate::catalogue::{Auto, Field, Protocol, hex, in_order, ipv4, number};

const CHECKSUM: Field =
    hex("checksum", 16, "Checksum from here to the packet's end").auto(Auto::PlainChecksum);
const CHECKSUM6: Field = hex("checksum", 16, "Checksum from here to the packet's end, with pseudo-header")
    .auto(Auto::PseudoHeaderChecksum { zero_as_ones: false });

/// Destination unreachable.
pub static ICMP_UNREACHABLE: Protocol = Protocol {
    name: "icmp_unreachable",
    title: "ICMP destination unreachable",
    source: "RFC 792",
    len: 8,
    fields: &in_order([
        number("type", 8, "3").default(3),
        number("code", 8, "0 network, 1 host, 3 port, 4 fragmentation needed").default(3),
        CHECKSUM,
        number("unused", 8, "Zero"),
        number("length", 8, "Length of the packet it is about, in units of 4 bytes; zero without extensions"),
        number("mtu", 16, "MTU of the next hop, with code 4"),
    ]),
    follows: &[("ipv4", 1)],
    recognise: Some(("type", &[3])),
    ..Protocol::PLAIN
};

/// Redirect.
pub static ICMP_REDIRECT: Protocol = Protocol {
    name: "icmp_redirect",
    title: "ICMP redirect",
    source: "RFC 792",
    len: 8,
    fields: &in_order([
        number("type", 8, "5").default(5),
        number("code", 8, "0 for the network, 1 for the host").default(1),
        CHECKSUM,
        ipv4("gateway", "Router to send such packets to").default(0xc612_0002),
    ]),
    follows: &[("ipv4", 1)],
    recognise: Some(("type", &[5])),
    ..Protocol::PLAIN
};

/// Time exceeded.
pub static ICMP_TIME_EXCEEDED: Protocol = Protocol {
    name: "icmp_time_exceeded",
    title: "ICMP time exceeded",
    source: "RFC 792",
    len: 8,
    fields: &in_order([
        number("type", 8, "11").default(11),
        number("code", 8, "0 in transit, 1 in reassembly"),
        CHECKSUM,
        number("unused", 8, "Zero"),
        number("length", 8, "Length of the packet it is about, in units of 4 bytes; zero without extensions"),
        number("unused2", 16, "Zero"),
    ]),
    follows: &[("ipv4", 1)],
    recognise: Some(("type", &[11])),
    ..Protocol::PLAIN
};

/// Destination unreachable, IPv6.
pub static ICMPV6_UNREACHABLE: Protocol = Protocol {
    name: "icmpv6_unreachable",
    title: "ICMPv6 destination unreachable",
    source: "RFC 4443 section 3.1",
    len: 8,
    fields: &in_order([
        number("type", 8, "1").default(1),
        number("code", 8, "0 no route, 3 address, 4 port").default(4),
        CHECKSUM6,
        number("length", 8, "Length of the packet it is about, in units of 8 bytes; zero without extensions"),
        number("unused", 24, "Zero"),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[1])),
    ..Protocol::PLAIN
};

/// Packet too big.
pub static ICMPV6_PACKET_TOO_BIG: Protocol = Protocol {
    name: "icmpv6_packet_too_big",
    title: "ICMPv6 packet too big",
    source: "RFC 4443 section 3.2",
    len: 8,
    fields: &in_order([
        number("type", 8, "2").default(2),
        number("code", 8, "Zero"),
        CHECKSUM6,
        number("mtu", 32, "MTU of the next hop").default(1280),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[2])),
    ..Protocol::PLAIN
};

/// Time exceeded, IPv6.
pub static ICMPV6_TIME_EXCEEDED: Protocol = Protocol {
    name: "icmpv6_time_exceeded",
    title: "ICMPv6 time exceeded",
    source: "RFC 4443 section 3.3",
    len: 8,
    fields: &in_order([
        number("type", 8, "3").default(3),
        number("code", 8, "0 in transit, 1 in reassembly"),
        CHECKSUM6,
        number("length", 8, "Length of the packet it is about, in units of 8 bytes; zero without extensions"),
        number("unused", 24, "Zero"),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[3])),
    ..Protocol::PLAIN
};
