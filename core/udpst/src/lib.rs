//! The UDP Speed Test Protocol (RFC 9946), which measures the IP capacity of a path in one direction (RFC 9097): its packets,
//! their authentication, the table of sending rates, the search for the highest one (ITU-T Y.1540 Annex B, Broadband Forum
//! TR-471), and what a receiver counts. Sans-IO.
//!
//! The server has the table and the search, for either direction of load. It sends load by them, or instructs the
//! client in each status how to send.
//!
//! Not here: sockets, threads and clocks (`between`).

#![forbid(unsafe_code)]

mod auth;
mod interval;
mod meter;
mod pace;
mod packet;
mod rate;
mod search;

pub use auth::{Auth, Keys, Sealed};
pub use interval::{Capacity, Interval};
pub use meter::{Meter, Receipts};
pub use pace::{Burst, Pace};
pub use packet::{
    Activation, Kind, LOAD, Load, NONE, Null, Setup, Stamp, Status, SubInterval, modifier, refusal,
};
pub use rate::{MOST_PAYLOAD, Rate, Table};
pub use search::{Heard, Search};

/// Port that servers listen at.
pub const PORT: u16 = 24601;
/// Supported version of the protocol: RFC 9946's.
pub const VERSION: u16 = 20;

/// Shortest and longest test, s.
pub const SECONDS: std::ops::RangeInclusive<u16> = 5..=3600;
