//! Headers of LACP.

use super::header::{Header, Part};
use crate::node::Node;
use Part::{Fixed, Number, Pattern};

const STATE: [&str; 8] = [
    "activity",
    "timeout",
    "aggregation",
    "synchronization",
    "collecting",
    "distributing",
    "defaulted",
    "expired",
];
const PARTY: [&[Part]; 2] = [
    &[
        Pattern("type", 8),
        Pattern("length", 8),
        Pattern("system_priority", 16),
        Pattern("system_id", 48),
        Pattern("key", 16),
        Pattern("port_priority", 16),
        Pattern("port_number", 16),
    ],
    &[Pattern("reserved", 24)],
];
const COLLECTOR: &[Part] =
    &[Pattern("type", 8), Pattern("length", 8), Pattern("max_delay", 16), Number("reserved", 96)];
const TERMINATOR: &[Part] = &[Pattern("type", 8), Pattern("length", 8)];
const TERMINATOR_RESERVED: usize = 50;

/// An LACPDU.
pub(super) fn headers(node: &Node<'_>) -> Vec<Header> {
    let mut lacp = Header::native("lacp", node).parts(node, &[Fixed(1, 8), Pattern("version", 8)]);
    for (party, state) in [("actor", "actor_state"), ("partner", "partner_state")] {
        let node = node.at("lacpdu").child(party);
        lacp = lacp.parts(&node, PARTY[0]);
        let state = node.child(state);
        // The last bit is the first flag.
        let bits: Vec<Part> = STATE.iter().rev().map(|name| Pattern(name, 1)).collect();
        lacp = lacp.parts(&state, &bits).parts(&node, PARTY[1]);
    }
    let pdu = node.child("lacpdu");
    lacp = lacp.parts(&pdu.child("collector"), COLLECTOR).parts(&pdu.child("terminator"), TERMINATOR);
    let mut reserved = pdu.child("terminator").bytes("reserved");
    reserved.resize(TERMINATOR_RESERVED, 0);
    lacp.bytes(&reserved);
    vec![lacp]
}
