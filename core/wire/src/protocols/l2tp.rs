//! Layer Two Tunnelling Protocol. Source: RFC 2661 section 3.1 (version 2), RFC 3931 section 4.1.1 (version 3).
//!
//! Version 2 as data messages without optional fields, over UDP; others are not read. Version 3 over IP, without cookie
//! and sublayer: put them after it as `bytes`.

use crate::catalogue::{Protocol, hex, in_order, number};

/// L2TP, version 2.
pub static L2TP: Protocol = Protocol {
    name: "l2tp",
    title: "Layer Two Tunnelling Protocol, version 2",
    source: "RFC 2661",
    len: 6,
    fields: &in_order([
        hex("flags", 12, "Control message, and which optional fields are there: none"),
        number("version", 4, "2").default(2),
        number("tunnel", 16, "Names the tunnel").default(1),
        number("session", 16, "Names the session").default(1),
    ]),
    follows: &[("udp", 1701)],
    recognise: Some(("flags", &[0])),
    ..Protocol::PLAIN
};

/// L2TP, version 3, over IP.
pub static L2TPV3: Protocol = Protocol {
    name: "l2tpv3",
    title: "Layer Two Tunnelling Protocol, version 3, over IP",
    source: "RFC 3931",
    len: 4,
    fields: &in_order([hex("session", 32, "Names the session; zero is a control message").default(1)]),
    follows: &[("ipv4", 115), ("ipv6", 115)],
    ..Protocol::PLAIN
};
