//! WebSocket as bytes: keys of the opening handshake, frames and their masks, messages in fragments, close codes. Source: RFC 6455.
//!
//! Sans-IO: [`Reader`] takes bytes and returns events, [`Header`] and [`Mask`] write frames. The times of sending belong to the
//! connection (`session`), and so does the HTTP around the handshake.
//!
//! Not here: extensions. Nothing is compressed (RFC 7692), and a frame with a reserved bit breaks the rules.
//!
//! Separate because its rules hold for any connection, and are fuzzed alone.
//!
//! Invariants: a header is read only in its shortest form; the events of a [`Reader`] do not depend on how the bytes are cut.

#![forbid(unsafe_code)]

mod frame;
mod handshake;
mod reader;
mod utf8;

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
    /// A text is not UTF-8.
    pub const NOT_UTF8: u16 = 1007;
    /// A message is too long.
    pub const TOO_LONG: u16 = 1009;
}
