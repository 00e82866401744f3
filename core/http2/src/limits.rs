//! Limits of a peer's demands on a connection.

/// Longest frame that is taken (RFC 9113 section 4.2: the least that may be announced).
pub const FRAME: u32 = 16_384;
/// Bytes of a header block, over all its frames.
pub const BLOCK: usize = 64 << 10;
/// Frames of a header block.
pub const BLOCK_FRAMES: u32 = 64;
/// Size of a header list (RFC 7541 section 4.1) that is announced; a longer one is refused.
pub const HEADER_LIST: u32 = 64 << 10;
/// Size of a header list that ends the connection: its fields are read to keep the table in step, and each costs time.
pub const HEADER_LIST_MOST: u32 = 256 << 10;
/// Size of the table of fields, both ways (RFC 7541 section 4.2: the initial size).
pub const TABLE: u32 = 4_096;
/// Frames within a second that move no request: SETTINGS, PING, WINDOW_UPDATE, PRIORITY, empty DATA, unknown ones.
pub const CONTROL_PER_SECOND: u32 = 2_000;
/// Requests that a client may cancel before it is no more than half of them.
pub const CANCELLED: u32 = 100;
/// Unacknowledged bytes of frames at which no more unsolicited ones are made.
pub const AHEAD: usize = 8 << 10;
/// Pieces that wait to be acknowledged at which no more of a body is sent: with [`FRAME`] some 4 MB.
pub const PIECES: usize = 256;
/// Bytes of frames that wait to be acknowledged at which no more is read.
pub const HELD: usize = 16 << 10;
/// Unacknowledged bytes of frames at which a peer that requests replies and reads none loses its connection.
pub const UNREAD: usize = 256 << 10;
