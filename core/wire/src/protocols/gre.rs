//! Generic Routing Encapsulation and the fields it may have, with NVGRE's. Source: RFC 2784 section 2, RFC 2890 section 2,
//! RFC 7637 section 3.2.
//!
//! Fields that are not always there are headers after `gre`, in this order: `gre_checksum`, `gre_key` (or `nvgre`),
//! `gre_sequence`. Each sets its flag unless the author does.

use super::LOCAL_EXPERIMENTAL;
use crate::catalogue::{Auto, Found, Part, Protocol, hex, in_order, number};

/// GRE.
pub static GRE: Protocol = Protocol {
    name: "gre",
    title: "Generic Routing Encapsulation",
    source: "RFC 2784",
    len: 4,
    fields: &in_order([
        number("checksum_present", 1, "gre_checksum follows"),
        number("routing_present", 1, "Zero (RFC 2784 section 2.3)"),
        number("key_present", 1, "gre_key or nvgre follows (RFC 2890)"),
        number("sequence_present", 1, "gre_sequence follows (RFC 2890)"),
        hex("reserved", 9, "Zero"),
        number("version", 3, "Zero"),
        hex("type", 16, "EtherType of what follows").auto(Auto::NextProtocol).default(LOCAL_EXPERIMENTAL),
    ]),
    follows: &[("ipv4", 47), ("ipv6", 47)],
    names_like: Some("ethernet"),
    ..Protocol::PLAIN
};

/// The checksum.
pub static GRE_CHECKSUM: Protocol = Protocol {
    name: "gre_checksum",
    title: "Checksum of a GRE packet",
    source: "RFC 2784 section 2.5",
    len: 4,
    fields: &in_order([
        hex("checksum", 16, "Checksum from the GRE header to the packet's end").auto(Auto::PlainChecksum),
        hex("reserved", 16, "Zero"),
    ]),
    part: Some(Part { of: &["gre"], found: Found::ByFlag(&["checksum_present"]) }),
    needs: &[("gre", "checksum_present", 1)],
    ..Protocol::PLAIN
};

/// The key.
pub static GRE_KEY: Protocol = Protocol {
    name: "gre_key",
    title: "Key of a GRE packet",
    source: "RFC 2890 section 2.1",
    len: 4,
    fields: &in_order([number("key", 32, "Names the tunnel").default(1)]),
    part: Some(Part { of: &["gre"], found: Found::ByFlag(&["key_present"]) }),
    needs: &[("gre", "key_present", 1)],
    ..Protocol::PLAIN
};

/// The key as NVGRE divides it. A reader can't know that, and finds a `gre_key`.
pub static NVGRE: Protocol = Protocol {
    name: "nvgre",
    title: "Key of an NVGRE packet",
    source: "RFC 7637 section 3.2",
    len: 4,
    fields: &in_order([
        number("vsid", 24, "Virtual subnet identifier").default(4096),
        number("flow", 8, "Flow identifier"),
    ]),
    part: Some(Part { of: &["gre"], found: Found::ByFlag(&["key_present"]) }),
    needs: &[("gre", "key_present", 1)],
    only_built: true,
    ..Protocol::PLAIN
};

/// The sequence number.
pub static GRE_SEQUENCE: Protocol = Protocol {
    name: "gre_sequence",
    title: "Sequence number of a GRE packet",
    source: "RFC 2890 section 2.2",
    len: 4,
    fields: &in_order([number("sequence", 32, "Number of the packet")]),
    part: Some(Part { of: &["gre"], found: Found::ByFlag(&["sequence_present"]) }),
    needs: &[("gre", "sequence_present", 1)],
    ..Protocol::PLAIN
};
