//! Generic network virtualization encapsulation and its options. Source: RFC 8926 sections 3.4 and 3.5.
//!
//! Options follow `geneve` and count to its `options_length`.

use super::LOCAL_EXPERIMENTAL;
use crate::catalogue::{Auto, Found, Length, Part, Protocol, hex, in_order, number};
use crate::variable::{Variable, VariableKind};

/// GENEVE.
pub static GENEVE: Protocol = Protocol {
    name: "geneve",
    title: "Generic Network Virtualization Encapsulation",
    source: "RFC 8926",
    len: 8,
    fields: &in_order([
        number("version", 2, "Zero"),
        number("options_length", 6, "Length of the options, in units of 4 bytes"),
        number("control", 1, "A control message, not tenant data"),
        number("critical", 1, "An option must be understood"),
        hex("reserved", 6, "Zero"),
        hex("protocol", 16, "EtherType of what follows").auto(Auto::NextProtocol).default(LOCAL_EXPERIMENTAL),
        number("vni", 24, "Network identifier").default(1),
        hex("reserved2", 8, "Zero"),
    ]),
    follows: &[("udp", 6081)],
    names_like: Some("ethernet"),
    real_length: Some(Length { field: "options_length", unit: 4, beyond: 8 }),
    ..Protocol::PLAIN
};

/// An option.
pub static GENEVE_OPTION: Protocol = Protocol {
    name: "geneve_option",
    title: "GENEVE option",
    source: "RFC 8926 section 3.5",
    len: 4,
    fields: &in_order([
        hex("class", 16, "Namespace of the type; 0xff00 and beyond are for experiments").default(0xff00),
        hex("type", 8, "Type of the option; 0x80: it must be understood").default(1),
        hex("reserved", 3, "Zero"),
        number("length", 5, "Length of the data, in units of 4 bytes").default(1),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 4,
        kind: VariableKind::Bytes,
        default: &[0; 4],
        doc: "Value of the option, in hexadecimal; padded to a whole number of 4 bytes",
    }),
    real_length: Some(Length { field: "length", unit: 4, beyond: 4 }),
    part: Some(Part { of: &["geneve"], found: Found::ByKind }),
    ..Protocol::PLAIN
};
