//! ERSPAN: mirrored frames over GRE. Source: draft-foschiano-erspan-03 sections 4.2 (type II) and 4.3 (type III).
//!
//! Goes after `gre` with a `gre_sequence`.

use crate::catalogue::{Protocol, hex, in_order, number};

/// ERSPAN type II.
pub static ERSPAN2: Protocol = Protocol {
    name: "erspan2",
    title: "ERSPAN type II",
    source: "draft-foschiano-erspan-03 section 4.2",
    len: 8,
    fields: &in_order([
        number("version", 4, "1").default(1),
        number("vlan", 12, "VLAN of the mirrored frame"),
        number("cos", 3, "Class of service of the mirrored frame"),
        number("encapsulation", 2, "How the frame was tagged; 3: the tag is in the frame"),
        number("truncated", 1, "The frame was cut"),
        number("session", 10, "Names the mirror session").default(1),
        hex("reserved", 12, "Zero"),
        number("index", 20, "Port and direction, as the mirroring switch counts them"),
    ]),
    follows: &[("gre", 0x88be)],
    recognise: Some(("version", &[1])),
    ..Protocol::PLAIN
};

/// ERSPAN type III, without the platform-specific subheader.
pub static ERSPAN3: Protocol = Protocol {
    name: "erspan3",
    title: "ERSPAN type III",
    source: "draft-foschiano-erspan-03 section 4.3",
    len: 12,
    fields: &in_order([
        number("version", 4, "2").default(2),
        number("vlan", 12, "VLAN of the mirrored frame"),
        number("cos", 3, "Class of service of the mirrored frame"),
        number("state", 2, "0 good or unknown, 3 with an error, 1 short, 2 oversized"),
        number("truncated", 1, "The frame was cut"),
        number("session", 10, "Names the mirror session").default(1),
        number("timestamp", 32, "When the frame was mirrored"),
        number("group_tag", 16, "Security group tag"),
        number("ethernet", 1, "The mirrored packet is an Ethernet frame").default(1),
        number("frame_type", 5, "0 Ethernet, 2 IP"),
        number("hardware", 6, "Names the mirroring engine"),
        number("direction", 1, "0 was received, 1 was sent"),
        number("granularity", 2, "Unit of the timestamp: 0 is 100 us, 1 is 100 ns, 2 is IEEE 1588"),
        number("subheader", 1, "A platform-specific subheader follows"),
    ]),
    follows: &[("gre", 0x22eb)],
    recognise: Some(("version", &[2])),
    ..Protocol::PLAIN
};
