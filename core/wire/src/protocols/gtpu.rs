//! GPRS tunnelling protocol, user plane. Source: 3GPP TS 29.281 section 5; TS 38.415 section 5.5.2 for the PDU session
//! container.
//!
//! No field of the header names what follows: IP is known by its first four bits. If one of three flags is set, four
//! more bytes follow, `gtpu_options`, which name an extension header.

use crate::catalogue::{Auto, Found, Length, Part, Protocol, hex, in_order, number};

/// GTP-U.
pub static GTPU: Protocol = Protocol {
    name: "gtpu",
    title: "GPRS Tunnelling Protocol, user plane",
    source: "3GPP TS 29.281",
    len: 8,
    fields: &in_order([
        number("version", 3, "1").default(1),
        number("protocol_type", 1, "1: GTP, not GTP'").default(1),
        number("reserved", 1, "Zero"),
        number("extension_flag", 1, "gtpu_options names an extension header"),
        number("sequence_flag", 1, "gtpu_options has a sequence number"),
        number("npdu_flag", 1, "gtpu_options has an N-PDU number"),
        number("type", 8, "255: a user's packet").default(255),
        number("length", 16, "Bytes after this header").auto(Auto::LengthBehindHeader),
        hex("teid", 32, "Tunnel endpoint identifier").default(1),
    ]),
    follows: &[("udp", 2152)],
    ..Protocol::PLAIN
};

/// The optional fields, which come together.
pub static GTPU_OPTIONS: Protocol = Protocol {
    name: "gtpu_options",
    title: "Optional fields of GTP-U",
    source: "3GPP TS 29.281 section 5.1",
    len: 4,
    fields: &in_order([
        number("sequence", 16, "Sequence number"),
        number("npdu", 8, "N-PDU number"),
        hex("next_extension", 8, "Type of the extension header that follows; zero is none")
            .auto(Auto::NextProtocol),
    ]),
    part: Some(Part {
        of: &["gtpu"],
        found: Found::ByFlag(&["extension_flag", "sequence_flag", "npdu_flag"]),
    }),
    needs: &[("gtpu", "sequence_flag", 1)],
    ..Protocol::PLAIN
};

/// PDU session container, without optional fields.
pub static GTPU_PDU_SESSION: Protocol = Protocol {
    name: "gtpu_pdu_session",
    title: "GTP-U extension header: PDU session container",
    source: "3GPP TS 38.415 section 5.5.2",
    len: 4,
    fields: &in_order([
        number("length", 8, "Length of the extension header, in units of 4 bytes").default(1),
        number("type", 4, "0 downlink, 1 uplink"),
        hex("flags", 4, "Optional fields that are there: none"),
        number("paging", 1, "A paging policy is there"),
        number("reflective", 1, "Reflective QoS"),
        number("qfi", 6, "QoS flow identifier").default(1),
        hex("next_extension", 8, "Type of the extension header that follows; zero is none")
            .auto(Auto::NextProtocol),
    ]),
    follows: &[("gtpu_options", 0x85)],
    recognise: Some(("length", &[1])),
    real_length: Some(Length { field: "length", unit: 4, beyond: 0 }),
    needs: &[("gtpu", "extension_flag", 1)],
    ..Protocol::PLAIN
};
