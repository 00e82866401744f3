//! Errors of connections and streams (RFC 9113 section 7).

/// Why a connection or a stream is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u32);

impl Code {
    /// Nothing is wrong.
    pub const NO_ERROR: Self = Self(0);
    /// Something the protocol does not allow.
    pub const PROTOCOL_ERROR: Self = Self(1);
    /// Something unexpected within.
    pub const INTERNAL_ERROR: Self = Self(2);
    /// More was sent than a window allows.
    pub const FLOW_CONTROL_ERROR: Self = Self(3);
    /// A frame came for a stream that is closed.
    pub const STREAM_CLOSED: Self = Self(5);
    /// A frame has the wrong length.
    pub const FRAME_SIZE_ERROR: Self = Self(6);
    /// A request that was not processed: it may be sent again.
    pub const REFUSED_STREAM: Self = Self(7);
    /// A request that is not needed any more.
    pub const CANCEL: Self = Self(8);
    /// A header block that can't be read.
    pub const COMPRESSION_ERROR: Self = Self(9);
    /// Too much work for too little.
    pub const ENHANCE_YOUR_CALM: Self = Self(11);

    /// Its name in the RFC.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "NO_ERROR",
            1 => "PROTOCOL_ERROR",
            2 => "INTERNAL_ERROR",
            3 => "FLOW_CONTROL_ERROR",
            4 => "SETTINGS_TIMEOUT",
            5 => "STREAM_CLOSED",
            6 => "FRAME_SIZE_ERROR",
            7 => "REFUSED_STREAM",
            8 => "CANCEL",
            9 => "COMPRESSION_ERROR",
            10 => "CONNECT_ERROR",
            11 => "ENHANCE_YOUR_CALM",
            12 => "INADEQUATE_SECURITY",
            13 => "HTTP_1_1_REQUIRED",
            _ => "an unknown code",
        }
    }
}

/// A peer's violation that ends its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Error code sent to it.
    pub code: Code,
    /// Description of the violation.
    pub why: &'static str,
}

impl Fault {
    /// Why a client's connection is none.
    pub const NO_PREFACE: &str = "the client does not begin with HTTP/2's preface";
    /// Reason why a connection is invalid: its peer uses another protocol.
    pub const NO_SETTINGS: &str = "the other end does not begin with SETTINGS";

    pub(crate) const fn protocol(why: &'static str) -> Self {
        Self { code: Code::PROTOCOL_ERROR, why }
    }

    pub(crate) const fn size(why: &'static str) -> Self {
        Self { code: Code::FRAME_SIZE_ERROR, why }
    }

    pub(crate) const fn flow(why: &'static str) -> Self {
        Self { code: Code::FLOW_CONTROL_ERROR, why }
    }

    pub(crate) const fn flood(why: &'static str) -> Self {
        Self { code: Code::ENHANCE_YOUR_CALM, why }
    }

    pub(crate) const fn closed(why: &'static str) -> Self {
        Self { code: Code::STREAM_CLOSED, why }
    }

    pub(crate) const fn compression(why: &'static str) -> Self {
        Self { code: Code::COMPRESSION_ERROR, why }
    }
}
