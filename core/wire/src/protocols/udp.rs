//! User Datagram Protocol. Source: RFC 768.
//!
//! The next header is determined by the destination port only. By default, goes to the discard port (RFC 863) from the
//! first of the dynamic ports (RFC 6335 section 6).

use crate::catalogue::{Auto, Protocol, hex, in_order, number};

/// UDP.
pub static UDP: Protocol = Protocol {
    name: "udp",
    title: "User Datagram Protocol",
    source: "RFC 768",
    len: 8,
    fields: &in_order([
        number("src", 16, "Source port").default(49152),
        number("dst", 16, "Destination port; determines what follows").auto(Auto::NextProtocol).default(9),
        number("length", 16, "Bytes from this header to the packet's end").auto(Auto::LengthWithHeader),
        hex("checksum", 16, "Checksum from here to the packet's end, with pseudo-header; zero is none")
            .auto(Auto::PseudoHeaderChecksum { zero_as_ones: true }),
    ]),
    follows: &[("ipv4", 17), ("ipv6", 17)],
    ..Protocol::PLAIN
};
