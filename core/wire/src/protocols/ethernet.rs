//! Ethernet II header. Source: IEEE 802.3 clause 3.1.1.
//!
//! Without preamble and FCS. The default addresses are locally administered ones, as far as nobody fills them in.

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
    ..Protocol::PLAIN
};
