//! From the bytes of a frame to its headers.

use crate::catalogue::{Field, Protocol};

/// A header found in a frame.
#[derive(Debug, Clone)]
pub struct ReadHeader {
    /// Which header.
    pub protocol: &'static Protocol,
    /// Offset of its first byte in the frame.
    pub offset: usize,
    /// All its fields with their values.
    pub fields: Vec<(&'static Field, u128)>,
}

/// The headers of `frame` (without FCS), outermost first, and the offset of what is behind the last one understood.
///
/// Never fails: a header that is cut short or unknown ends the list.
pub fn read(frame: &[u8]) -> (Vec<ReadHeader>, usize) {
    let _ = frame;
    todo!()
}
