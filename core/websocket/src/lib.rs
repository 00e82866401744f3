//! WebSocket as bytes: keys of the opening handshake, frames and their masks, messages in fragments, their compression, close codes.
//! Source: RFC 6455, RFC 7692.
//!
//! Sans-IO: [`Reader`] takes bytes and returns events, [`Header`] and [`Mask`] write frames. The times of sending belong to the
//! connection (`session`), and so does the HTTP around the handshake.
//!
//! Not here: other extensions. A frame with a reserved bit that none gives a meaning breaks the rules.
//!
//! Separate because its rules hold for any connection, and are fuzzed alone.
//!
//! Invariants: a header is read only in its shortest form; the events of a [`Reader`] do not depend on how the bytes are cut.

#![forbid(unsafe_code)]

mod deflate;
mod frame;
mod handshake;
mod reader;
mod utf8;

pub use deflate::{Deflate, Deflater, Inflater, WINDOW_MAX, WINDOW_MIN};
pub use frame::{CONTROL_MAX, HEADER_MAX, Header, Mask, Opcode, close_code, write_close};
pub use handshake::{KEY_LEN, accept, is_key, key};
pub use reader::{Event, Kind, Reader, Step, Violation};
pub use utf8::Utf8;

/// Close codes that endpoints send (RFC 6455 section 7.4.1).
pub mod code {
    /// The purpose is fulfilled.
    pub const NORMAL: u16 = 1000;
    /// The endpoint goes away: a server that stops.
    pub const GOING_AWAY: u16 = 1001;
    /// The other end broke a rule of the protocol.
    pub const PROTOCOL: u16 = 1002;
    /// No code came: never on the wire.
    pub const NONE: u16 = 1005;
    /// The connection ended without a Close frame: never on the wire.
    pub const ABNORMAL: u16 = 1006;
    /// A text is not UTF-8, or a compressed message can't be decompressed.
    pub const NOT_UTF8: u16 = 1007;
    /// A message is too long.
    pub const TOO_LONG: u16 = 1009;
}
