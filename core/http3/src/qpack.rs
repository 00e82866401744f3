//! Field compression without a dynamic table (RFC 9204).

mod decode;
mod encode;
mod fixed;

pub use decode::decode;
pub use encode::{Field, begin};

/// Bytes a field counts beyond its name and value (RFC 9114 section 4.2.2).
pub const OVERHEAD: u32 = 32;
