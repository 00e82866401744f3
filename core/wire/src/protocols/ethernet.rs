//! Ethernet II header. Source: IEEE 802.3 clause 3.1.1.
//!
//! Without preamble and FCS. In an IEEE 802.3 frame the type is a length, and `llc` follows. The default addresses are
//! locally administered ones, unless they are set.

use super::LOCAL_EXPERIMENTAL;
use crate::catalogue::{Auto, Protocol, hex, in_order, mac};

/// Ethernet II.
pub static ETHERNET: Protocol = Protocol {
    name: "ethernet",
    title: "Ethernet",
    source: "IEEE 802.3",
    len: 14,
    fields: &in_order([
        mac("dst", "Destination address").default(0x0200_0000_0002),
        mac("src", "Source address").default(0x0200_0000_0001),
        hex("type", 16, "EtherType of what follows").auto(Auto::NextProtocol).default(LOCAL_EXPERIMENTAL),
    ]),
    // Of a whole frame inside another packet. EtherType 0x6558: transparent Ethernet bridging (RFC 1701).
    follows: &[
        ("vxlan", 0),
        ("vxlan_gpe", 3),
        ("geneve", 0x6558),
        ("gre", 0x6558),
        ("erspan2", 0),
        ("erspan3", 0),
        ("l2tpv3", 0),
        ("mpls_control_word", 0),
    ],
    ..Protocol::PLAIN
};
