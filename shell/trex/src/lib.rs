//! TRex's profiles as profiles of Eagre: streams (STL), sessions (ASTF) and templates of flows (STF).
//!
//! Reads the document `eagre.trex/1` – streams as TRex's RPC specification describes them, in an envelope – and writes the text of a
//! profile that sends the same packets at the same times. Documents in, documents out.
//!
//! Not here: Python, which only profiles of TRex need and the façade in `clients/trex` runs; ports, runs, HTTP.
//!
//! Separate because it shares nothing with `otg` but the profile language.
//!
//! Invariant: every field of a stream takes effect or is refused with the stream's name. Nothing is silently ignored.

#![forbid(unsafe_code)]

mod activity;
pub mod astf;
mod base64;
mod chain;
pub mod clients;
mod convert;
pub mod document;
mod error;
mod multiplier;
mod named;
mod program;
pub mod stf;
mod stream;
mod yaml;

pub use activity::time_of_packets;
pub use convert::{Conversion, Options, PortOptions, convert};
pub use error::Errors;
pub use multiplier::{Multiplier, Unit};
pub use stf::Sides;
