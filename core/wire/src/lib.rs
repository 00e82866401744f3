//! The protocol catalogue: every header's fields by name with offset and width; building and reading packets from it;
//! checksums; the test signature; tunnels around frames.
//!
//! Not here: what varies from packet to packet, and when a packet is sent.
//!
//! Invariant: `read(build(headers)) = headers` for every packet the catalogue can express.

#![forbid(unsafe_code)]

mod build;
mod catalogue;
pub mod checksum;
mod checksums;
pub mod control;
mod fill;
pub mod integrity;
mod layout;
pub mod marked;
pub mod path;
pub mod protocols;
mod raw;
mod read;
pub mod signature;
pub mod tunnel;
mod variable;
mod vlans;

#[cfg(test)]
mod testing;

pub use build::{BuildError, Header, Packet, PacketSpec};
pub use catalogue::{Auto, BY_LENGTH, Field, Found, Kind, Length, Part, Protocol, ValueError, protocol};
pub use checksums::{Algorithm, Checksum, PseudoHeader, checksums};
pub use fill::Fill;
pub use path::{PathError, Place, known_field, known_header};
pub use raw::{Fix, FixOf, RawFrame};
pub use read::{ReadHeader, read, read_first};
pub use variable::{Variable, VariableKind, parse_bytes};
pub use vlans::{OLD_SERVICE_VLAN_TYPE, SERVICE_VLAN_TYPE, VLAN_TYPE, Vlans, is_tagged, is_vlan_type};
