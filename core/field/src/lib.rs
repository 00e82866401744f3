//! Field programs: what varies from packet to packet, as a function of the packet's number.
//!
//! A [`Vary`] defines the variables and the fields they are written to; a [`Program`] is one bound to a built packet.
//! [`Program::write`] is the meaning of both: any faster writer of packets must write the same bytes.
//!
//! Not here: when a packet is sent, which stream it belongs to, and machine code (`jit`).
//!
//! Invariant: a value depends on the program and the packet's number alone. There is no state, so any worker can
//! compute any packet, and workers that share the numbers out share the packets out.

#![forbid(unsafe_code)]

mod choice;
mod error;
mod program;
mod value;
mod vary;

#[cfg(test)]
mod stepped;

pub use choice::{Choice, ChoiceError};
pub use error::ProgramError;
pub use program::{Inputs, Patch, Program, checksum_bytes};
pub use value::{Bound, Draw, Parts, Sequence, Weights};
pub use vary::{FlowOrder, Flows, ListOrder, Pick, Source, Target, Variable, Vary, Write};
