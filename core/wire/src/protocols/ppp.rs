//! PPP over Ethernet, and PPP itself. Source: RFC 2516 section 4; RFC 1661 section 2.
//!
//! PPP without the address and control bytes of HDLC-like framing, as PPPoE has it.

use crate::catalogue::{Auto, Found, Length, Part, Protocol, hex, in_order, number};
use crate::variable::{Variable, VariableKind};

/// PPPoE discovery; its tags follow.
pub static PPPOE_DISCOVERY: Protocol = Protocol {
    name: "pppoe_discovery",
    title: "PPP over Ethernet, discovery",
    source: "RFC 2516 section 5",
    len: 6,
    fields: &in_order([
        number("version", 4, "1").default(1),
        number("type", 4, "1").default(1),
        hex("code", 8, "9 initiation (PADI), 7 offer, 0x19 request, 0x65 confirmation, 0xa7 termination")
            .default(9),
        hex("session", 16, "Names the session; zero before there is one"),
        number("length", 16, "Bytes of the tags"),
    ]),
    follows: &[("ethernet", 0x8863)],
    real_length: Some(Length { field: "length", unit: 1, beyond: 6 }),
    needs: &[("ethernet", "dst", 0xffff_ffff_ffff)],
    ..Protocol::PLAIN
};

const TAG: Option<Part> = Some(Part { of: &["pppoe_discovery"], found: Found::ByKind });
const TAG_LENGTH: Option<Length> = Some(Length { field: "length", unit: 1, beyond: 4 });

/// Service name.
pub static PPPOE_SERVICE_NAME: Protocol = Protocol {
    name: "pppoe_service_name",
    title: "PPPoE tag: service name",
    source: "RFC 2516 appendix A",
    len: 4,
    fields: &in_order([hex("type", 16, "0x101").default(0x0101), number("length", 16, "Bytes of the name")]),
    variable: Some(Variable {
        name: "name",
        at: 4,
        kind: VariableKind::Text,
        default: &[],
        doc: "The service; empty means any",
    }),
    recognise: Some(("type", &[0x0101])),
    real_length: TAG_LENGTH,
    part: TAG,
    ..Protocol::PLAIN
};

/// Any other tag.
pub static PPPOE_TAG: Protocol = Protocol {
    name: "pppoe_tag",
    title: "PPPoE tag of any type",
    source: "RFC 2516 section 4",
    len: 4,
    fields: &in_order([
        hex("type", 16, "0x102 name of the concentrator, 0x103 host's mark, 0x104 cookie").default(0x0103),
        number("length", 16, "Bytes of the data"),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 4,
        kind: VariableKind::Bytes,
        default: &[],
        doc: "Value of the tag, in hexadecimal",
    }),
    real_length: TAG_LENGTH,
    part: TAG,
    ..Protocol::PLAIN
};

/// PPPoE session.
pub static PPPOE: Protocol = Protocol {
    name: "pppoe",
    title: "PPP over Ethernet, session",
    source: "RFC 2516 section 6",
    len: 6,
    fields: &in_order([
        number("version", 4, "1").default(1),
        number("type", 4, "1").default(1),
        hex("code", 8, "Zero: data"),
        hex("session", 16, "Names the session").default(1),
        number("length", 16, "Bytes after this header").auto(Auto::LengthBehindHeader),
    ]),
    follows: &[("ethernet", 0x8864)],
    ..Protocol::PLAIN
};

/// PPP.
pub static PPP: Protocol = Protocol {
    name: "ppp",
    title: "Point-to-Point Protocol",
    source: "RFC 1661",
    len: 2,
    // Serial data transport (RFC 1963) stands where no header follows.
    fields: &in_order([hex("protocol", 16, "Protocol of what follows")
        .auto(Auto::NextProtocol)
        .default(0x0049)]),
    follows: &[("pppoe", 0), ("l2tp", 0)],
    ..Protocol::PLAIN
};
