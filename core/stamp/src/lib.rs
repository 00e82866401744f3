//! The Simple Two-way Active Measurement Protocol (STAMP, RFC 8762 with the extensions of RFC 8972): its packets, a reflector, and a
//! sender's session with its result. TWAMP Light (RFC 5357, appendix I) shares the packets of unauthenticated mode. Sans-IO.
//!
//! A sender's packet carries the time of its departure, T1. The reflector adds the times at which the packet came (T2) and at which its
//! reply left (T3). With the time of the reply's arrival, T4, the round trip without the reflector's own time is T4 − T1 − (T3 − T2).
//!
//! Not here: sockets, threads and clocks (`between`); TWAMP-Control.

#![forbid(unsafe_code)]

mod form;
mod packet;
mod reflector;
mod report;
mod session;
mod time;
mod tlv;

pub use form::{AUTHENTICATED_BASE, Form, Key};
pub use packet::{BASE, Reply, Request, SHORTEST_REQUEST};
pub use reflector::{Drop, Reflected, Reflector, ReflectorCounts, ReflectorOptions};
pub use report::{ClockError, ClockState, Delays, Direction, Hops, Mode, Report};
pub use session::{PACKETS_MAX, Plan, Probe, Session, Unfit};
pub use time::{ErrorEstimate, Format};
pub use tlv::{HEADER, padding};

/// UDP port that reflectors listen at (RFC 8762 section 4.1).
pub const PORT: u16 = 862;
