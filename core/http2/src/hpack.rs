//! Header compression (RFC 7541).

mod decode;
mod encode;
mod fixed;
pub mod huffman;
pub mod integer;

pub use decode::Decoder;
pub use encode::{Encoder, Field, Fields};

/// Bytes a field counts beyond its name and value (RFC 7541 section 4.1).
pub(crate) const OVERHEAD: u32 = 32;
