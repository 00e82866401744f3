//! Link Layer Discovery Protocol: a list of TLVs. Source: IEEE 802.1AB clause 8.
//!
//! `lldp` is the first one, the chassis identifier, and has the others as its parts. A complete message has
//! `lldp_port_id` and `lldp_ttl` next and `lldp_end` last; no length is around them.

use crate::catalogue::{Field, Found, Length, Part, Protocol, hex, in_order, mac, number};
use crate::variable::{Variable, VariableKind};

const PART: Option<Part> = Some(Part { of: &["lldp"], found: Found::ByKind });
const LENGTH: Option<Length> = Some(Length { field: "length", unit: 1, beyond: 2 });

const fn tlv(value: u128, doc: &'static str) -> Field {
    number("type", 7, doc).default(value)
}

const fn length(bytes: u128) -> Field {
    number("length", 9, "Bytes after this field").default(bytes)
}

const fn text(at: usize, name: &'static str, default: &'static [u8], doc: &'static str) -> Option<Variable> {
    Some(Variable { name, at, kind: VariableKind::Text, default, doc })
}

/// Chassis identifier.
pub static LLDP: Protocol = Protocol {
    name: "lldp",
    title: "Link Layer Discovery Protocol, chassis identifier",
    source: "IEEE 802.1AB clause 8.5.2",
    len: 9,
    fields: &in_order([
        tlv(1, "1"),
        length(7),
        number("subtype", 8, "4: a hardware address").default(4),
        mac("chassis", "Hardware address of the chassis").default(0x0200_0000_0001),
    ]),
    follows: &[("ethernet", 0x88cc)],
    needs: &[("ethernet", "dst", 0x0180_c200_000e)],
    ..Protocol::PLAIN
};

/// Port identifier.
pub static LLDP_PORT_ID: Protocol = Protocol {
    name: "lldp_port_id",
    title: "LLDP TLV: port identifier",
    source: "IEEE 802.1AB clause 8.5.3",
    len: 3,
    fields: &in_order([
        tlv(2, "2"),
        length(5),
        number("subtype", 8, "5 name of the interface, 7 given by hand").default(5),
    ]),
    variable: text(3, "id", b"port", "The port"),
    recognise: Some(("type", &[2])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Time to live.
pub static LLDP_TTL: Protocol = Protocol {
    name: "lldp_ttl",
    title: "LLDP TLV: time to live",
    source: "IEEE 802.1AB clause 8.5.4",
    len: 4,
    fields: &in_order([
        tlv(3, "3"),
        length(2),
        number("seconds", 16, "Seconds to remember the message").default(120),
    ]),
    recognise: Some(("type", &[3])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Port description.
pub static LLDP_PORT_DESCRIPTION: Protocol = Protocol {
    name: "lldp_port_description",
    title: "LLDP TLV: port description",
    source: "IEEE 802.1AB clause 8.5.5",
    len: 2,
    fields: &in_order([tlv(4, "4"), length(4)]),
    variable: text(2, "text", b"port", "The description"),
    recognise: Some(("type", &[4])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// System name.
pub static LLDP_SYSTEM_NAME: Protocol = Protocol {
    name: "lldp_system_name",
    title: "LLDP TLV: system name",
    source: "IEEE 802.1AB clause 8.5.6",
    len: 2,
    fields: &in_order([tlv(5, "5"), length(5)]),
    variable: text(2, "text", b"eagre", "The name"),
    recognise: Some(("type", &[5])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// System description.
pub static LLDP_SYSTEM_DESCRIPTION: Protocol = Protocol {
    name: "lldp_system_description",
    title: "LLDP TLV: system description",
    source: "IEEE 802.1AB clause 8.5.7",
    len: 2,
    fields: &in_order([tlv(6, "6"), length(5)]),
    variable: text(2, "text", b"eagre", "The description"),
    recognise: Some(("type", &[6])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// System capabilities.
pub static LLDP_CAPABILITIES: Protocol = Protocol {
    name: "lldp_capabilities",
    title: "LLDP TLV: system capabilities",
    source: "IEEE 802.1AB clause 8.5.8",
    len: 6,
    fields: &in_order([
        tlv(7, "7"),
        length(4),
        hex("capabilities", 16, "System capabilities: bridge 4, router 0x10, station 0x80").default(0x80),
        hex("enabled", 16, "Enabled capabilities").default(0x80),
    ]),
    recognise: Some(("type", &[7])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// Organizationally specific.
pub static LLDP_ORGANIZATION: Protocol = Protocol {
    name: "lldp_organization",
    title: "LLDP TLV: specific to an organization",
    source: "IEEE 802.1AB clause 8.6",
    len: 6,
    fields: &in_order([
        tlv(127, "127"),
        length(4),
        hex("oui", 24, "The organization").default(0x02_0000),
        number("subtype", 8, "Subtype, defined by the organization").default(1),
    ]),
    variable: Some(Variable {
        name: "data",
        at: 6,
        kind: VariableKind::Bytes,
        default: &[],
        doc: "Value, in hexadecimal",
    }),
    recognise: Some(("type", &[127])),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};

/// End of the list.
pub static LLDP_END: Protocol = Protocol {
    name: "lldp_end",
    title: "LLDP TLV: end of the message",
    source: "IEEE 802.1AB clause 8.5.1",
    len: 2,
    fields: &in_order([tlv(0, "0"), length(0)]),
    recognise: Some(("type", &[0])),
    real_length: LENGTH,
    part: Some(Part { of: &["lldp"], found: Found::ByKindLast }),
    ..Protocol::PLAIN
};

/// Any other.
pub static LLDP_TLV: Protocol = Protocol {
    name: "lldp_tlv",
    title: "LLDP TLV of any type",
    source: "IEEE 802.1AB clause 8.4",
    len: 2,
    fields: &in_order([tlv(8, "Type; 8 is the management address"), length(0)]),
    variable: Some(Variable {
        name: "data",
        at: 2,
        kind: VariableKind::Bytes,
        default: &[],
        doc: "Value, in hexadecimal",
    }),
    real_length: LENGTH,
    part: PART,
    ..Protocol::PLAIN
};
