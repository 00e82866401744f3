//! VLAN tag. Source: IEEE 802.1Q clause 9.6.
//!
//! The tag's first two bytes, its protocol identifier, are the type of the header before; the tag's own last two are
//! the type of what follows. So a tag is laid out here from after its identifier.
//!
//! The first of several tags is a service tag with the identifier 0x88a8 (IEEE 802.1Q clause 9.5, once 802.1ad), all
//! others have 0x8100. Set the type of the header before for anything else, such as two tags of 0x8100. Tags of 0x9100,
//! from before the standard, are read, too.

use super::LOCAL_EXPERIMENTAL;
use crate::catalogue::{Auto, Protocol, hex, in_order, number};

/// VLAN tag.
pub static VLAN: Protocol = Protocol {
    name: "vlan",
    title: "VLAN tag",
    source: "IEEE 802.1Q",
    len: 4,
    fields: &in_order([
        number("pcp", 3, "Priority code point"),
        number("dei", 1, "Drop eligible"),
        number("id", 12, "VLAN identifier").default(1),
        hex("type", 16, "EtherType of what follows").auto(Auto::NextProtocol).default(LOCAL_EXPERIMENTAL),
    ]),
    follows: &[("ethernet", 0x8100), ("ethernet", 0x9100)],
    names_like: Some("ethernet"),
    first_of_several: Some(0x88a8),
    ..Protocol::PLAIN
};
