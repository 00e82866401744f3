//! HTTP/3 on the streams of a QUIC connection, both ends, sans-IO. Source: RFC 9114, field compression: RFC 9204.
//!
//! A [`Reader`] reads the stream of one request or of its response; a [`Peer`] reads the unidirectional streams of the other end.
//! [`opening`], [`goaway`] and [`headers`] are what is written.
//!
//! ```text
//! let mut peer = Peer::new(Role::Client);
//! let mut reader = Reader::new(Role::Client);
//! let mut head = Head::default();
//! while let Some(piece) = reader.read(&mut input, &mut head)? { … }     // what came on the stream of a request
//! reader.finish()?;                                                      // its sender has finished it
//! peer.read(stream, &bytes)?;                                            // what came on a unidirectional stream
//! ```
//!
//! Not here: QUIC, what requests and responses mean, any clock. There is no dynamic table (RFC 9204 section 3.2.3: its capacity is 0),
//! so header blocks wait for nothing. Pushed responses are not allowed to the peer (RFC 9114 section 4.6).
//!
//! Separate because it shares only the Huffman code and the rules of heads with `http2`.
//!
//! Invariants: no peer makes a reader hold more than the limits in [`limits`]; any input from a peer ends in a piece or
//! in a [`Fault`] with a reason.

#![forbid(unsafe_code)]

mod fault;
pub mod limits;
mod peer;
pub mod qpack;
mod reader;
mod varint;

pub use fault::{Code, Fault};
pub use http2::{Head, Role};
pub use peer::{Peer, Settings, Use, goaway, opening};
pub use reader::{Piece, Reader, data, headers};
pub use varint::{read as read_varint, write as write_varint};

/// The name of HTTP/3 in ALPN (RFC 9114 section 3.1).
pub const ALPN: &str = "h3";

/// Types of frames (RFC 9114 section 7.2).
pub(crate) mod frame {
    pub(crate) const DATA: u64 = 0;
    pub(crate) const HEADERS: u64 = 1;
    pub(crate) const CANCEL_PUSH: u64 = 3;
    pub(crate) const SETTINGS: u64 = 4;
    pub(crate) const PUSH_PROMISE: u64 = 5;
    pub(crate) const GOAWAY: u64 = 7;
    pub(crate) const MAX_PUSH_ID: u64 = 13;

    /// Whether it is one that HTTP/2 has and HTTP/3 has not (section 7.2.8).
    pub(crate) fn is_of_http2(kind: u64) -> bool {
        matches!(kind, 2 | 6 | 8 | 9)
    }
}

#[cfg(test)]
mod tests;
