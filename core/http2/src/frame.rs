//! Frames (RFC 9113 sections 4 and 6).

/// First bytes of a client's connection (RFC 9113 section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of a frame's head.
pub(crate) const HEAD: usize = 9;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const PRIORITIZED: u8 = 0x20;

/// Settings (RFC 9113 section 6.5.2).
pub(crate) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 5;
    pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 6;
    /// RFC 8441 section 3.
    pub(crate) const ENABLE_CONNECT_PROTOCOL: u16 = 8;
}

/// A window's most (RFC 9113 section 6.9.1).
pub(crate) const WINDOW_MOST: i64 = (1 << 31) - 1;
/// Initial window, before any update (RFC 9113 section 6.9.2).
pub(crate) const WINDOW: i64 = 65_535;

/// A frame's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub len: u32,
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
}

impl FrameHead {
    #[inline]
    pub(crate) fn read(bytes: &[u8; HEAD]) -> Self {
        let [a, b, c, kind, flags, s @ ..] = *bytes;
        Self {
            len: u32::from_be_bytes([0, a, b, c]),
            kind,
            flags,
            stream: u32::from_be_bytes(s) & 0x7fff_ffff,
        }
    }

    #[inline]
    pub(crate) fn write(self) -> [u8; HEAD] {
        let [_, a, b, c] = self.len.to_be_bytes();
        let [s, t, u, v] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, s, t, u, v]
    }

    #[inline]
    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The number in the first four bytes, without the reserved bit.
pub(crate) fn number(bytes: &[u8]) -> u32 {
    word(bytes) & 0x7fff_ffff
}

/// The number in the first four bytes.
pub(crate) fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
