//! Why a program can't be bound to a packet.

use std::fmt;

/// Why a program can't be bound to a packet. Variables and writes are named by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramError {
    /// A number that must be at least 1 is 0.
    Zero {
        /// Owner: `variable 2`, `flows`.
        of: String,
        /// Which: `every`, `count`.
        what: &'static str,
    },
    /// A width is not one of 1 to 128 bits.
    Width {
        /// Owner: `variable 2`, `write 0`.
        of: String,
        /// The width.
        width: u16,
    },
    /// A list has no values.
    Empty {
        /// The variable.
        variable: usize,
    },
    /// There are not as many weights as values, or all weights are zero.
    Weights {
        /// The variable.
        variable: usize,
    },
    /// The smallest value is above the largest.
    Backwards {
        /// The variable.
        variable: usize,
    },
    /// A variable refers to one that is not before it.
    NotEarlier {
        /// The variable.
        variable: usize,
        /// Index of the referenced variable.
        refers_to: usize,
    },
    /// A variable advances after one that never goes round: a random one.
    Endless {
        /// The variable.
        variable: usize,
        /// The endless one.
        after: usize,
    },
    /// A variable that advances after another one has a separate period.
    PeriodOfFirst {
        /// The variable.
        variable: usize,
        /// The one it advances after.
        after: usize,
    },
    /// A derived variable has an `every` or an `after`, but advances with the one it is derived from.
    DerivedAdvances {
        /// The variable.
        variable: usize,
    },
    /// A write of a variable that is not there.
    NoVariable {
        /// The write.
        write: usize,
        /// The variable.
        variable: usize,
    },
    /// A write to a header that is not there.
    NoHeader {
        /// The write.
        write: usize,
        /// The header.
        header: usize,
    },
    /// A write beyond the frame's end.
    OutsideFrame {
        /// The write.
        write: usize,
        /// Bits from the frame's start to the write's end.
        end_bits: u64,
        /// Bits of the frame, without FCS.
        frame_bits: u64,
    },
    /// Two writes to the same bits.
    Overlap {
        /// The first.
        first: usize,
        /// The second.
        second: usize,
    },
    /// A write to bits of the signature.
    OverlapsSignature {
        /// The write.
        write: usize,
    },
    /// The payload has no room for a signature.
    NoRoomForSignature {
        /// Bytes of the payload.
        payload: usize,
    },
}

impl ProgramError {
    /// Description of the error, with the caller's names of writes and variables.
    pub fn explain(
        &self,
        write_name: &dyn Fn(usize) -> String,
        variable_name: &dyn Fn(usize) -> String,
    ) -> String {
        match self {
            Self::Zero { of, what } => format!("{of}: {what} is 0, but must be at least 1"),
            Self::Width { of, width } => format!("{of}: a width of {width} bits is not one of 1 to 128"),
            Self::Empty { variable } => format!("{}: its list has no values", variable_name(*variable)),
            Self::Weights { variable } => {
                format!(
                    "{}: it needs one weight for each value, and not all of them zero",
                    variable_name(*variable)
                )
            }
            Self::Backwards { variable } => {
                format!("{}: its smallest value is above its largest", variable_name(*variable))
            }
            Self::NotEarlier { variable, refers_to } => {
                format!(
                    "{}: it refers to {}, which is not before it",
                    variable_name(*variable),
                    variable_name(*refers_to)
                )
            }
            Self::Endless { variable, after } => {
                format!(
                    "{}: it advances after {}, which never goes round",
                    variable_name(*variable),
                    variable_name(*after)
                )
            }
            Self::PeriodOfFirst { variable, after } => {
                format!(
                    "{}: it begins again with {}, after which it advances; the period belongs there",
                    variable_name(*variable),
                    variable_name(*after)
                )
            }
            Self::DerivedAdvances { variable } => {
                format!(
                    "{}: it advances with the one it is derived from, not on its own",
                    variable_name(*variable)
                )
            }
            Self::NoVariable { write, variable } => {
                format!("{}: there is no variable {variable}", write_name(*write))
            }
            Self::NoHeader { write, header } => {
                format!("{}: there is no header {header}", write_name(*write))
            }
            Self::OutsideFrame { write, end_bits, frame_bits } => {
                format!("{}: it ends at bit {end_bits} of a frame of {frame_bits}", write_name(*write))
            }
            Self::Overlap { first, second } => {
                format!("{}: it writes bits that {} writes too", write_name(*second), write_name(*first))
            }
            Self::OverlapsSignature { write } => {
                format!(
                    "{}: it writes bits of the signature, the payload's last 18 bytes",
                    write_name(*write)
                )
            }
            Self::NoRoomForSignature { payload } => {
                format!("a signature needs 18 bytes of payload, but there are only {payload}")
            }
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            &self.explain(&|write| format!("write {write}"), &|variable| format!("variable {variable}")),
        )
    }
}

impl std::error::Error for ProgramError {}
