//! Instants, durations, rates and frame lengths, with the text forms the whole project shares; rounded numbers for reports.
//!
//! Not here: clocks. An instant is a number of nanoseconds read elsewhere.
//!
//! Invariant: every quantity parses from what its `Display` prints, exactly.

#![forbid(unsafe_code)]

mod decimal;
mod length;
mod mac;
mod prefix;
mod rate;
mod schedule;
mod tally;
mod text;
mod time;

pub use decimal::QuantityError;
pub use length::{FrameLen, FrameMix};
pub use mac::{Mac, NotAMac};
pub use prefix::nth_prefix;
pub use rate::{BitRate, Layer, Load, Pps};
pub use schedule::{Flap, Schedule};
pub use tally::Tally;
pub use text::{count, percent, quantity, rough_time, signed_percent, whole};
pub use time::Nanos;

/// Bytes an Ethernet frame takes on the wire beyond itself: preamble, start delimiter and inter-frame gap.
///
/// Source: IEEE 802.3 clauses 3.1 and 4.4; RFC 2544 section 20 counts the same 20 bytes.
pub const L1_OVERHEAD_BYTES: u32 = 20;

/// Bytes of the frame check sequence, counted in every frame length of this project (RFC 2544 section 9.1).
pub const FCS_BYTES: u32 = 4;
