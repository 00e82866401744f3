//! Logical link control and the subnetwork access protocol. Source: IEEE 802.2 clause 3; IEEE 802 clause 9.4 for SNAP.
//!
//! In an IEEE 802.3 frame the two bytes after the addresses, `ethernet.type` or `vlan.type`, hold how many bytes
//! follow.

use super::LOCAL_EXPERIMENTAL;
use crate::catalogue::{Auto, BY_LENGTH, Protocol, hex, in_order};

/// LLC.
pub static LLC: Protocol = Protocol {
    name: "llc",
    title: "Logical link control",
    source: "IEEE 802.2",
    len: 3,
    fields: &in_order([
        hex("dsap", 8, "Destination service access point: determines what follows").auto(Auto::NextProtocol),
        hex("ssap", 8, "Source service access point"),
        hex("control", 8, "3: unnumbered information").default(3),
    ]),
    follows: &[("ethernet", BY_LENGTH)],
    ..Protocol::PLAIN
};

/// SNAP.
pub static SNAP: Protocol = Protocol {
    name: "snap",
    title: "Subnetwork access protocol",
    source: "IEEE 802 clause 9.4",
    len: 5,
    fields: &in_order([
        hex("oui", 24, "Organization that defines the types; zero means EtherTypes"),
        hex("type", 16, "EtherType of what follows").auto(Auto::NextProtocol).default(LOCAL_EXPERIMENTAL),
    ]),
    follows: &[("llc", 0xaa)],
    names_like: Some("ethernet"),
    recognise: Some(("oui", &[0])),
    needs: &[("llc", "ssap", 0xaa)],
    ..Protocol::PLAIN
};
