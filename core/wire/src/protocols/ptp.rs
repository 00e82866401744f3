//! Precision Time Protocol: messages that carry one timestamp. Source: IEEE 1588-2019 clauses 13.3, 13.6 and 13.7.
//!
//! A sync message by default; delay requests and follow-ups look the same. Event messages go to UDP port 319; set
//! `udp.dst` to 320 for a follow-up.

use crate::catalogue::{Protocol, hex, in_order, number};

/// PTP.
pub static PTP: Protocol = Protocol {
    name: "ptp",
    title: "Precision Time Protocol, version 2",
    source: "IEEE 1588",
    len: 44,
    fields: &in_order([
        number("sdo", 4, "Major SDO identifier"),
        number("type", 4, "0 sync, 1 delay request, 8 follow-up"),
        number("minor_version", 4, "Minor version"),
        number("version", 4, "2").default(2),
        number("length", 16, "Bytes of the message").default(44),
        number("domain", 8, "Domain"),
        number("minor_sdo", 8, "Minor SDO identifier"),
        hex("flags", 16, "0x200: a follow-up comes (two-step clock)"),
        number("correction", 64, "Nanoseconds to add, times 2^16"),
        hex("type_specific", 32, "Depends on the type"),
        hex("clock", 64, "Identity of the sender's clock").default(0x0200_00ff_fe00_0001),
        number("port", 16, "The sender's port").default(1),
        number("sequence", 16, "Number of the message"),
        number("control", 8, "By type, for version 1: 0 sync, 1 delay request, 2 follow-up"),
        hex("log_interval", 8, "Seconds between messages as a power of two; 0x7f is unspecified"),
        number("seconds", 48, "Seconds since 1970, TAI"),
        number("nanoseconds", 32, "Nanoseconds of the second"),
    ]),
    follows: &[("ethernet", 0x88f7), ("udp", 319), ("udp", 320)],
    ..Protocol::PLAIN
};
