//! Neighbour advertisement: announces a hardware address. Source: RFC 4861 sections 4.4 and 4.6.1.
//!
//! With the one option it carries: the target's hardware address. An advertisement without it is read as `icmpv6`.

use crate::catalogue::{Auto, Protocol, hex, in_order, ipv6, mac, number};

/// Neighbour advertisement.
pub static ND_ADVERT: Protocol = Protocol {
    name: "nd_advert",
    title: "Neighbour advertisement",
    source: "RFC 4861 section 4.4",
    len: 32,
    fields: &in_order([
        number("type", 8, "136").default(136),
        number("code", 8, "Zero"),
        hex("checksum", 16, "Checksum from here to the packet's end, with pseudo-header")
            .auto(Auto::PseudoHeaderChecksum { zero_as_ones: false }),
        hex("flags", 3, "4 router, 2 solicited, 1 override").default(0b011),
        hex("reserved", 29, "Zero"),
        ipv6("target", "Target address, whose hardware address is announced").default(0x2001_0002 << 96 | 1),
        number("option_type", 8, "2 is the target's hardware address").default(2),
        number("option_length", 8, "Length of the option, in units of 8 bytes").default(1),
        mac("lladdr", "Hardware address of the target").default(0x0200_0000_0001),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[136])),
    // RFC 4861 section 7.1.2: anything else was not sent from the link and is ignored.
    needs: &[("ipv6", "hop_limit", 255)],
    ..Protocol::PLAIN
};
