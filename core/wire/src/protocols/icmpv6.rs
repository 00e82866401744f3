//! Internet Control Message Protocol for IPv6, as echo lays it out. Source: RFC 4443.
//!
//! Covers every type without a separate protocol; their contents of the second four bytes are also read as `id` and
//! `seq`.

use crate::catalogue::{Auto, Protocol, hex, in_order, number};

/// ICMPv6.
pub static ICMPV6: Protocol = Protocol {
    name: "icmpv6",
    title: "Internet Control Message Protocol for IPv6",
    source: "RFC 4443",
    len: 8,
    fields: &in_order([
        number("type", 8, "128 echo request, 129 echo reply").default(128),
        number("code", 8, "Says more about the type"),
        hex("checksum", 16, "Checksum from here to the packet's end, with pseudo-header")
            .auto(Auto::PseudoHeaderChecksum { zero_as_ones: false }),
        number("id", 16, "Identifier of the sender of echo requests"),
        number("seq", 16, "Number of the request"),
    ]),
    follows: &[("ipv6", 58)],
    ..Protocol::PLAIN
};
