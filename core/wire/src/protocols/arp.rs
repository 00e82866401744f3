//! Address Resolution Protocol for IPv4 over Ethernet. Source: RFC 826.
//!
//! Only these two kinds of address, whose lengths fix the layout. A request by default, so it is broadcast.

use crate::catalogue::{Protocol, hex, in_order, ipv4, mac, number};

/// ARP.
pub static ARP: Protocol = Protocol {
    name: "arp",
    title: "Address Resolution Protocol",
    source: "RFC 826",
    len: 28,
    fields: &in_order([
        number("hardware_type", 16, "Kind of hardware address: 1 is Ethernet").default(1),
        hex("protocol_type", 16, "Kind of protocol address: 0x800 is IPv4").default(0x0800),
        number("hardware_length", 8, "Bytes of a hardware address").default(6),
        number("protocol_length", 8, "Bytes of a protocol address").default(4),
        number("operation", 16, "1 request, 2 reply").default(1),
        mac("sender_mac", "Hardware address of the sender").default(0x0200_0000_0001),
        ipv4("sender_ip", "IPv4 address of the sender").default(0xc612_0001),
        mac("target_mac", "Hardware address of the target; zero in a request"),
        ipv4("target_ip", "IPv4 address of the target").default(0xc613_0001),
    ]),
    follows: &[("ethernet", 0x0806)],
    needs: &[("ethernet", "dst", 0xffff_ffff_ffff)],
    ..Protocol::PLAIN
};
