//! Link Aggregation Control Protocol. Source: IEEE 802.1AX clause 6.4.2.3.
//!
//! One message of fixed length, its TLVs in their one order.

use crate::catalogue::{Protocol, hex, in_order, mac, number};

/// LACP.
pub static LACP: Protocol = Protocol {
    name: "lacp",
    title: "Link Aggregation Control Protocol",
    source: "IEEE 802.1AX",
    len: 110,
    fields: &in_order([
        number("subtype", 8, "1, of the slow protocols").default(1),
        number("version", 8, "1").default(1),
        number("actor_type", 8, "1").default(1),
        number("actor_length", 8, "20").default(20),
        number("actor_system_priority", 16, "Priority of the sender").default(32768),
        mac("actor_system", "The sender").default(0x0200_0000_0001),
        number("actor_key", 16, "Ports of one key can be aggregated").default(1),
        number("actor_port_priority", 16, "Priority of the sender's port").default(32768),
        number("actor_port", 16, "The sender's port").default(1),
        hex("actor_state", 8, "Activity 1, timeout 2, aggregation 4, synchronization 8, collecting 0x10, …")
            .default(0x05),
        hex("actor_reserved", 24, "Zero"),
        number("partner_type", 8, "2").default(2),
        number("partner_length", 8, "20").default(20),
        number("partner_system_priority", 16, "Priority of the partner, as the sender knows it"),
        mac("partner_system", "The partner"),
        number("partner_key", 16, "The partner's key"),
        number("partner_port_priority", 16, "Priority of the partner's port"),
        number("partner_port", 16, "The partner's port"),
        hex("partner_state", 8, "The partner's state"),
        hex("partner_reserved", 24, "Zero"),
        number("collector_type", 8, "3").default(3),
        number("collector_length", 8, "16").default(16),
        number("collector_delay", 16, "Largest delay of the collector, in units of 10 us"),
        hex("collector_reserved", 96, "Zero"),
        number("terminator_type", 8, "Zero"),
        number("terminator_length", 8, "Zero"),
        hex("reserved", 128, "Zero"),
        hex("reserved2", 128, "Zero"),
        hex("reserved3", 128, "Zero"),
        hex("reserved4", 16, "Zero"),
    ]),
    follows: &[("ethernet", 0x8809)],
    recognise: Some(("subtype", &[1])),
    needs: &[("ethernet", "dst", 0x0180_c200_0002)],
    ..Protocol::PLAIN
};
