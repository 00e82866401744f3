//! Any bytes, where the catalogue has no header for them.
//!
//! Allowed between any two headers, and never changed: they name nothing and nothing names them, so set the field by
//! which the header before names the next one. After the last header such bytes are the payload.

use crate::catalogue::Protocol;
use crate::variable::{Variable, VariableKind};

/// Any bytes.
pub static BYTES: Protocol = Protocol {
    name: "bytes",
    title: "Any bytes between headers, which count as one header",
    source: "written out by the author of the packet",
    variable: Some(Variable {
        name: "hex",
        at: 0,
        kind: VariableKind::Bytes,
        default: &[],
        doc: "The bytes, in hexadecimal",
    }),
    anywhere: true,
    only_built: true,
    ..Protocol::PLAIN
};
