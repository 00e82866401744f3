//! Internet Protocol, version 6. Source: RFC 8200; RFC 2474 (DSCP) and RFC 3168 (ECN) for the traffic class.
//!
//! The default addresses are of the network set aside for benchmarks (RFC 5180 section 8).

use super::IP_EXPERIMENTAL;
use crate::catalogue::{Auto, Protocol, hex, in_order, ipv6, number};

/// 2001:2::/48.
const BENCHMARK: u128 = 0x2001_0002 << 96;

/// IPv6.
pub static IPV6: Protocol = Protocol {
    name: "ipv6",
    title: "Internet Protocol, version 6",
    source: "RFC 8200",
    len: 40,
    fields: &in_order([
        number("version", 4, "Version: 6").default(6),
        number("dscp", 6, "Differentiated services code point"),
        number("ecn", 2, "Explicit congestion notification"),
        hex("flow_label", 20, "Names the flow the packet belongs to (RFC 6437)"),
        number("payload_length", 16, "Bytes after this header").auto(Auto::LengthBehindHeader),
        number("next_header", 8, "Protocol of what follows")
            .auto(Auto::NextProtocol)
            .default(IP_EXPERIMENTAL),
        number("hop_limit", 8, "Routers it may pass").default(64),
        ipv6("src", "Source address").default(BENCHMARK | 1),
        ipv6("dst", "Destination address").default(BENCHMARK | 1 << 64 | 1),
    ]),
    follows: &[
        ("ethernet", 0x86dd),
        ("ipv4", 41),
        ("ipv6", 41),
        ("ppp", 0x0057),
        ("mpls", 1),
        ("gtpu", 0),
        ("gtpu_options", 0),
        ("gtpu_pdu_session", 0),
        ("vxlan_gpe", 2),
        ("icmpv6_unreachable", 0),
        ("icmpv6_packet_too_big", 0),
        ("icmpv6_time_exceeded", 0),
    ],
    nibble: Some(6),
    pseudo_header: Some(8..40),
    ..Protocol::PLAIN
};
