//! Internet Protocol, version 4. Source: RFC 791; RFC 2474 (DSCP) and RFC 3168 (ECN) for the second byte.
//!
//! Without options; a `header_length` beyond 5 makes room for them and fills it with zeros, the end-of-options option.
//! The default addresses are of the network set aside for benchmarks (RFC 2544 appendix C.2.2).

use super::IP_EXPERIMENTAL;
use crate::catalogue::{Auto, Protocol, hex, in_order, ipv4, number};

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
    follows: &[("ethernet", 0x0800), ("vlan", 0x0800)],
    real_length: Some(("header_length", 4)),
    fragment: Some("fragment_offset"),
    pseudo_header: Some(12..20),
    ..Protocol::PLAIN
};
