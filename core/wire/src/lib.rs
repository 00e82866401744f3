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
mod checksums;
mod fill;
mod layout;
pub mod path;
pub mod protocols;
mod read;
pub mod signature;

mod variable;

#[cfg(test)]
mod testing;

pub use build::{BuildError, Header, Packet, PacketSpec};
pub use catalogue::{Auto, BY_LENGTH, Field, Found, Kind, Length, Part, Protocol, ValueError, protocol};
pub use checksums::{Algorithm, Checksum, PseudoHeader, checksums};
pub use fill::Fill;
pub use path::{PathError, Place};
pub use read::{ReadHeader, read};
pub use variable::{Variable, VariableKind, parse_bytes};

/// Spreads a number's bits over all others: the output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn mix64(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
