//! From headers with some fields set to the bytes of a frame.

use crate::catalogue::{Field, Protocol};
use std::fmt;
use units::FrameLen;

/// A header with the fields its author set; the others get defaults or are computed.
#[derive(Debug, Clone)]
pub struct Header {
    /// Which header.
    pub protocol: &'static Protocol,
    /// Fields set by name, in any order, each at most once. A set field is never computed.
    pub set: Vec<(&'static Field, u128)>,
}

/// A packet to build: headers from the outside in, then payload.
#[derive(Debug, Clone, Default)]
pub struct PacketSpec {
    /// Headers, outermost first.
    pub headers: Vec<Header>,
    /// First bytes of the payload; the rest is zeros.
    pub payload: Vec<u8>,
}

/// A built frame, without FCS, and where things are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The bytes, without FCS.
    pub bytes: Vec<u8>,
    /// Offset of each header's first byte, as in the spec.
    pub offsets: Vec<usize>,
    /// Offset of the first payload byte.
    pub payload: usize,
    /// The innermost computed transport checksum that covers the payload, if there is one.
    pub payload_checksum: Option<Checksum>,
}

/// A checksum field that covers the payload up to the end of the frame's IP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// Offset of the 16-bit field in the frame.
    pub offset: usize,
    /// Offset of the first byte it covers (the transport header's first).
    pub start: usize,
    /// A sum of zero is sent as all ones (UDP).
    pub zero_as_ones: bool,
}

/// Why a packet can't be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// The headers alone are longer than the frame.
    TooLong {
        /// Bytes of headers and given payload, with FCS.
        needs: u32,
        /// Bytes asked for, with FCS.
        frame: u32,
    },
    /// One header can't follow another: there is no value by which the first names the second.
    CannotFollow {
        /// Index of the second header.
        index: usize,
        /// Name of the first.
        outer: &'static str,
        /// Name of the second.
        inner: &'static str,
    },
    /// A checksum with a pseudo-header has no IP header before it.
    NoPseudoHeader {
        /// Index of the header.
        index: usize,
        /// Its name.
        name: &'static str,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = f;
        todo!()
    }
}

impl std::error::Error for BuildError {}

impl PacketSpec {
    /// The shortest frame (with FCS) that holds the headers, the given payload and `extra` bytes.
    pub fn shortest(&self, extra: usize) -> FrameLen {
        let _ = extra;
        todo!()
    }

    /// Builds a frame of `length`: headers, payload, zeros up to the end. Lengths and checksums nobody set come out
    /// right for the whole of it.
    pub fn build(&self, length: FrameLen) -> Result<Packet, BuildError> {
        let _ = length;
        todo!()
    }
}
