//! Virtual eXtensible LAN, and its extension for other protocols than Ethernet. Source: RFC 7348 section 5;
//! draft-ietf-nvo3-vxlan-gpe-13 section 3.

use crate::catalogue::{Auto, Protocol, hex, in_order, number};

/// VXLAN.
pub static VXLAN: Protocol = Protocol {
    name: "vxlan",
    title: "Virtual eXtensible Local Area Network",
    source: "RFC 7348",
    len: 8,
    fields: &in_order([
        hex("flags", 8, "8: the network identifier is valid").default(0x08),
        hex("reserved", 24, "Zero"),
        number("vni", 24, "Network identifier").default(1),
        hex("reserved2", 8, "Zero"),
    ]),
    follows: &[("udp", 4789)],
    ..Protocol::PLAIN
};

/// VXLAN-GPE.
pub static VXLAN_GPE: Protocol = Protocol {
    name: "vxlan_gpe",
    title: "VXLAN, generic protocol extension",
    source: "draft-ietf-nvo3-vxlan-gpe-13",
    len: 8,
    fields: &in_order([
        hex("flags", 8, "8: the identifier is valid, 4: the next protocol is").default(0x0c),
        hex("reserved", 16, "Zero"),
        number("next_protocol", 8, "Next protocol: 1 IPv4, 2 IPv6, 3 Ethernet, 5 MPLS")
            .auto(Auto::NextProtocol),
        number("vni", 24, "Network identifier").default(1),
        hex("reserved2", 8, "Zero"),
    ]),
    follows: &[("udp", 4790)],
    ..Protocol::PLAIN
};
