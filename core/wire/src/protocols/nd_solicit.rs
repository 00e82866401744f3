//! Neighbour solicitation: requests a hardware address. Source: RFC 4861 sections 4.3 and 4.6.1.
//!
//! With the one option it carries when its sender has an address: the sender's own hardware address. A solicitation
//! without it (duplicate address detection) is read as `icmpv6`.

use crate::catalogue::{Auto, Protocol, hex, in_order, ipv6, mac, number};

/// Neighbour solicitation.
pub static ND_SOLICIT: Protocol = Protocol {
    name: "nd_solicit",
    title: "Neighbour solicitation",
    source: "RFC 4861 section 4.3",
    len: 32,
    fields: &in_order([
        number("type", 8, "135").default(135),
        number("code", 8, "Zero"),
        hex("checksum", 16, "Checksum from here to the packet's end, with pseudo-header")
            .auto(Auto::PseudoHeaderChecksum { zero_as_ones: false }),
        hex("reserved", 32, "Zero"),
        ipv6("target", "Target address, whose hardware address is requested")
            .default(0x2001_0002 << 96 | 1 << 64 | 1),
        number("option_type", 8, "1 is the sender's hardware address").default(1),
        number("option_length", 8, "Length of the option, in units of 8 bytes").default(1),
        mac("lladdr", "Hardware address of the sender").default(0x0200_0000_0001),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[135])),
    // RFC 4861 section 7.1.1: anything else was not sent from the link and is ignored.
    needs: &[("ipv6", "hop_limit", 255)],
    ..Protocol::PLAIN
};
