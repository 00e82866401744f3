//! Framing of IPsec, with no cryptography. Source: RFC 4302 section 2 (AH), RFC 4303 section 2 (ESP).

use crate::catalogue::{Auto, Length, Protocol, hex, in_order, number};
use crate::variable::{Variable, VariableKind};

/// Authentication header. Its check value is what its author sets.
pub static AH: Protocol = Protocol {
    name: "ah",
    title: "IP authentication header",
    source: "RFC 4302",
    len: 12,
    fields: &in_order([
        number("next_header", 8, "Protocol of what follows").auto(Auto::NextProtocol).default(59),
        number("length", 8, "Length without the first 8 bytes, in units of 4 bytes").default(4),
        hex("reserved", 16, "Zero"),
        hex("spi", 32, "Security parameters index").default(0x100),
        number("sequence", 32, "Number of the packet").default(1),
    ]),
    variable: Some(Variable {
        name: "icv",
        at: 12,
        kind: VariableKind::Bytes,
        default: &[0; 12],
        doc: "Integrity check value, in hexadecimal",
    }),
    follows: &[("ipv4", 51), ("ipv6", 51)],
    names_like: Some("ipv6"),
    real_length: Some(Length { field: "length", unit: 4, beyond: 8 }),
    ..Protocol::PLAIN
};

/// Encapsulating security payload. The bytes after it are opaque.
pub static ESP: Protocol = Protocol {
    name: "esp",
    title: "IP encapsulating security payload",
    source: "RFC 4303",
    len: 8,
    fields: &in_order([
        hex("spi", 32, "Security parameters index").default(0x100),
        number("sequence", 32, "Number of the packet").default(1),
    ]),
    follows: &[("ipv4", 50), ("ipv6", 50)],
    ..Protocol::PLAIN
};
