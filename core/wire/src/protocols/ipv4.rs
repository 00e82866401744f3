//! Internet Protocol, version 4. Source: RFC 791; RFC 2474 (DSCP) and RFC 3168 (ECN) for the second byte.
//!
//! Its options are separate headers, in `ipv4_options.rs`. A `header_length` set beyond their length makes room and
//! fills it with zeros, the end-of-options option. The default addresses are in the network reserved for benchmarks
//! (RFC 2544 appendix C.2.2).

use super::IP_EXPERIMENTAL;
use crate::catalogue::{Auto, Length, Protocol, hex, in_order, ipv4, number};

/// The flag of all fragments but the last.
const MORE_FRAGMENTS: u128 = 1;

/// IPv4.
pub static IPV4: Protocol = Protocol {
    name: "ipv4",
    title: "Internet Protocol, version 4",
    source: "RFC 791",
    len: 20,
    fields: &in_order([
        number("version", 4, "Version: 4").default(4),
        number("header_length", 4, "Length of the header, in units of 4 bytes").default(5),
        number("dscp", 6, "Differentiated services code point"),
        number("ecn", 2, "Explicit congestion notification"),
        number("total_length", 16, "Bytes from this header to the packet's end").auto(Auto::LengthWithHeader),
        number("id", 16, "Names the packet its fragments belong to"),
        hex("flags", 3, "1 more fragments, 2 don't fragment"),
        number("fragment_offset", 13, "Where this fragment belongs, in units of 8 bytes"),
        number("ttl", 8, "Time to live: routers it may pass").default(64),
        number("protocol", 8, "Protocol of what follows").auto(Auto::NextProtocol).default(IP_EXPERIMENTAL),
        hex("checksum", 16, "Checksum of this header").auto(Auto::HeaderChecksum),
        ipv4("src", "Source address").default(0xc612_0001),
        ipv4("dst", "Destination address").default(0xc613_0001),
    ]),
    follows: &[
        ("ethernet", 0x0800),
        ("ipv4", 4),
        ("ipv6", 4),
        ("ppp", 0x0021),
        ("mpls", 1),
        ("gtpu", 0),
        ("gtpu_options", 0),
        ("gtpu_pdu_session", 0),
        ("vxlan_gpe", 1),
        ("icmp_unreachable", 0),
        ("icmp_redirect", 0),
        ("icmp_time_exceeded", 0),
    ],
    nibble: Some(4),
    real_length: Some(Length { field: "header_length", unit: 4, beyond: 0 }),
    fragment: &[("fragment_offset", u128::MAX), ("flags", MORE_FRAGMENTS)],
    pseudo_header: Some(12..20),
    ..Protocol::PLAIN
};
