//! Status codes of calls, and of responses that have none.

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Status {
    /// The call succeeded.
    #[default]
    Ok,
    /// The call was cancelled.
    Cancelled,
    /// An error without a known code.
    Unknown,
    /// An argument is wrong.
    InvalidArgument,
    /// The deadline passed.
    DeadlineExceeded,
    /// Something was not found.
    NotFound,
    /// Something exists that was to be created.
    AlreadyExists,
    /// The caller lacks a permission.
    PermissionDenied,
    /// A resource or a quota is exhausted, or a message is too long.
    ResourceExhausted,
    /// The system is not in a state for the call.
    FailedPrecondition,
    /// The call was aborted.
    Aborted,
    /// A value is out of range.
    OutOfRange,
    /// There is no such method, or it is not supported.
    Unimplemented,
    /// A rule of the protocol, or within the server, was broken.
    Internal,
    /// The service can't be reached now.
    Unavailable,
    /// Data were lost.
    DataLoss,
    /// The caller is not known.
    Unauthenticated,
}

impl Status {
    /// All of them, in order of their codes.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// Its name in gRPC.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    /// Its code on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The status of a value of `grpc-status`; a code that is not known counts as UNKNOWN, and `None` is no number.
    pub fn read(text: &[u8]) -> Option<Self> {
        if text.is_empty() || text.len() > 9 || !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let code = text.iter().fold(0, |code, digit| code * 10 + usize::from(digit - b'0'));
        Some(Self::ALL.get(code).copied().unwrap_or(Self::Unknown))
    }

    /// The status of a response without `grpc-status`, by its HTTP status.
    pub const fn of_http(status: u16) -> Self {
        match status {
            400 => Self::Internal,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::Unimplemented,
            429 | 502 | 503 | 504 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }

    /// The status of a call whose stream was reset with an error code of HTTP/2.
    pub const fn of_reset(code: u32) -> Self {
        match code {
            7 => Self::Unavailable,
            8 => Self::Cancelled,
            11 => Self::ResourceExhausted,
            12 => Self::PermissionDenied,
            0..=4 | 6 | 9 | 10 => Self::Internal,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_positions_and_names_differ() {
        for (code, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(status.code()), code);
            assert_eq!(Status::read(code.to_string().as_bytes()), Some(status));
        }
        let names: std::collections::BTreeSet<_> = Status::ALL.map(Status::name).into();
        assert_eq!(names.len(), Status::ALL.len());
        for (text, status) in
            [("17", Some(Status::Unknown)), ("", None), ("-1", None), ("1 ", None), ("9999999999", None)]
        {
            assert_eq!(Status::read(text.as_bytes()), status, "{text}");
        }
    }

    #[test]
    fn stands_for_codes_of_http() {
        assert_eq!(Status::of_http(503), Status::Unavailable);
        assert_eq!(Status::of_http(302), Status::Unknown);
        let resets = [
            (7, Status::Unavailable),
            (8, Status::Cancelled),
            (11, Status::ResourceExhausted),
            (2, Status::Internal),
        ];
        resets.into_iter().for_each(|(code, status)| assert_eq!(Status::of_reset(code), status));
    }
}
