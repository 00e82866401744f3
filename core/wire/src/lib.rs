//! The protocol catalogue: every header's fields by name with offset and width; building and reading packets from it;
//! checksums; the test signature.
//!
//! Not here: what varies from packet to packet, and when a packet is sent.
//!
//! Invariant: `read(build(headers)) = headers` for every packet the catalogue can express.

#![forbid(unsafe_code)]

mod build;
mod catalogue;
pub mod checksum;
pub mod protocols;
mod read;
pub mod signature;

#[cfg(test)]
mod testing;

pub use build::{Algorithm, BuildError, Checksum, Header, Packet, PacketSpec, PseudoHeader};
pub use catalogue::{Auto, Field, Kind, Protocol, ValueError, protocol};
pub use read::{ReadHeader, read};
