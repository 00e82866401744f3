//! MPLS labels and the control word of a pseudowire. Source: RFC 3032 section 2.1; RFC 4385 section 3.
//!
//! No field names what follows: after the bottom of the stack IP is known by its first four bits, and a control word by
//! four zeros (RFC 4928 section 2).

use crate::catalogue::{Auto, Protocol, hex, in_order, number};

/// One entry of a label stack.
pub static MPLS: Protocol = Protocol {
    name: "mpls",
    title: "MPLS label",
    source: "RFC 3032",
    len: 4,
    fields: &in_order([
        number("label", 20, "The label; 0 to 15 are special (RFC 7274)").default(16),
        number("traffic_class", 3, "Traffic class (RFC 5462)"),
        number("bottom", 1, "1 in the last label of the stack").auto(Auto::NextProtocol).default(1),
        number("ttl", 8, "Time to live: routers it may pass").default(64),
    ]),
    follows: &[
        ("ethernet", 0x8847),
        ("ethernet", 0x8848),
        ("mpls", 0),
        ("ipv4", 137),
        ("ipv6", 137),
        ("udp", 6635),
        ("vxlan_gpe", 5),
    ],
    ..Protocol::PLAIN
};

/// The control word before a pseudowire's frame.
pub static MPLS_CONTROL_WORD: Protocol = Protocol {
    name: "mpls_control_word",
    title: "Control word of an MPLS pseudowire",
    source: "RFC 4385",
    len: 4,
    fields: &in_order([
        number("zero", 4, "Zero, which no IP packet begins with"),
        hex("flags", 4, "Of the pseudowire's kind"),
        number("fragment", 2, "Position in a fragmented frame (RFC 4623)"),
        number("length", 6, "Bytes of a short frame before padding; zero of a long one"),
        number("sequence", 16, "Number of the packet; zero is none"),
    ]),
    follows: &[("mpls", 1)],
    recognise: Some(("zero", &[0])),
    ..Protocol::PLAIN
};
