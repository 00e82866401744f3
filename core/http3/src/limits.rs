//! Limits of a reader's memory.

/// Bytes of a header block; a longer one is passed over, and its request or response is too large.
pub const BLOCK: usize = 64 << 10;
/// Size of a field section (RFC 9114 section 4.2.2) that is announced; a larger one is refused.
pub const FIELD_SECTION: u32 = 64 << 10;
/// Bytes of a frame on the control stream.
pub const CONTROL_FRAME: u64 = 4 << 10;
/// Settings in a frame.
pub const SETTINGS: usize = 64;
/// Unidirectional streams that are read at a time; QUIC must not let a peer open more.
pub const UNIDIRECTIONAL: u32 = 16;
