//! Errors of connections and streams (RFC 9114 section 8, RFC 9204 section 6).

/// Why a connection or a stream is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u64);

impl Code {
    /// Nothing is wrong.
    pub const NO_ERROR: Self = Self(0x100);
    /// Something the protocol does not allow.
    pub const GENERAL_PROTOCOL_ERROR: Self = Self(0x101);
    /// Something unexpected within.
    pub const INTERNAL_ERROR: Self = Self(0x102);
    /// A stream that is not taken.
    pub const STREAM_CREATION_ERROR: Self = Self(0x103);
    /// A stream was closed that a connection needs.
    pub const CLOSED_CRITICAL_STREAM: Self = Self(0x104);
    /// A frame that is not allowed here.
    pub const FRAME_UNEXPECTED: Self = Self(0x105);
    /// A frame with a wrong layout or length.
    pub const FRAME_ERROR: Self = Self(0x106);
    /// Too much work for too little.
    pub const EXCESSIVE_LOAD: Self = Self(0x107);
    /// An identifier that is reused, or above a limit.
    pub const ID_ERROR: Self = Self(0x108);
    /// SETTINGS that are wrong.
    pub const SETTINGS_ERROR: Self = Self(0x109);
    /// The control stream does not begin with SETTINGS.
    pub const MISSING_SETTINGS: Self = Self(0x10a);
    /// A request that was not processed: it may be sent again.
    pub const REQUEST_REJECTED: Self = Self(0x10b);
    /// A request that is not needed any more.
    pub const REQUEST_CANCELLED: Self = Self(0x10c);
    /// A stream ended within a request.
    pub const REQUEST_INCOMPLETE: Self = Self(0x10d);
    /// A malformed request or response.
    pub const MESSAGE_ERROR: Self = Self(0x10e);
    /// A header block that can't be read.
    pub const DECOMPRESSION_FAILED: Self = Self(0x200);
    /// The stream of QPACK's encoder is wrong.
    pub const ENCODER_STREAM_ERROR: Self = Self(0x201);
    /// The stream of QPACK's decoder is wrong.
    pub const DECODER_STREAM_ERROR: Self = Self(0x202);

    /// Its name in the RFC.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0x33 => "H3_DATAGRAM_ERROR",
            0x100 => "H3_NO_ERROR",
            0x101 => "H3_GENERAL_PROTOCOL_ERROR",
            0x102 => "H3_INTERNAL_ERROR",
            0x103 => "H3_STREAM_CREATION_ERROR",
            0x104 => "H3_CLOSED_CRITICAL_STREAM",
            0x105 => "H3_FRAME_UNEXPECTED",
            0x106 => "H3_FRAME_ERROR",
            0x107 => "H3_EXCESSIVE_LOAD",
            0x108 => "H3_ID_ERROR",
            0x109 => "H3_SETTINGS_ERROR",
            0x10a => "H3_MISSING_SETTINGS",
            0x10b => "H3_REQUEST_REJECTED",
            0x10c => "H3_REQUEST_CANCELLED",
            0x10d => "H3_REQUEST_INCOMPLETE",
            0x10e => "H3_MESSAGE_ERROR",
            0x10f => "H3_CONNECT_ERROR",
            0x110 => "H3_VERSION_FALLBACK",
            0x200 => "QPACK_DECOMPRESSION_FAILED",
            0x201 => "QPACK_ENCODER_STREAM_ERROR",
            0x202 => "QPACK_DECODER_STREAM_ERROR",
            _ => "an unknown code",
        }
    }

    /// Its name in the RFC, or its number.
    pub fn text(self) -> String {
        match self.name() {
            "an unknown code" => format!("code {:#x}", self.0),
            name => name.to_owned(),
        }
    }
}

/// A peer's violation that ends its connection, or one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Error code sent to it.
    pub code: Code,
    /// Description of the violation.
    pub why: &'static str,
    /// Whether only the stream ends with it, and the connection continues.
    pub of_stream: bool,
}

impl Fault {
    pub(crate) const fn connection(code: Code, why: &'static str) -> Self {
        Self { code, why, of_stream: false }
    }

    pub(crate) const fn stream(code: Code, why: &'static str) -> Self {
        Self { code, why, of_stream: true }
    }

    pub(crate) const fn unexpected(why: &'static str) -> Self {
        Self::connection(Code::FRAME_UNEXPECTED, why)
    }

    pub(crate) const fn frame(why: &'static str) -> Self {
        Self::connection(Code::FRAME_ERROR, why)
    }
}
