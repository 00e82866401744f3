//! Internet Control Message Protocol, as echo lays it out. Source: RFC 792.
//!
//! Other types share the first four bytes; what they keep in the next four is read as `id` and `seq` too.

use crate::catalogue::{Auto, Protocol, hex, in_order, number};

/// ICMP.
pub static ICMP: Protocol = Protocol {
    name: "icmp",
    title: "Internet Control Message Protocol",
    source: "RFC 792",
    len: 8,
    fields: &in_order([
        number("type", 8, "8 echo request, 0 echo reply").default(8),
        number("code", 8, "Says more about the type"),
        hex("checksum", 16, "Checksum from here to the packet's end").auto(Auto::PlainChecksum),
        number("id", 16, "Identifier of the sender of echo requests"),
        number("seq", 16, "Number of the request"),
    ]),
    follows: &[("ipv4", 1)],
    ..Protocol::PLAIN
};
