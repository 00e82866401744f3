//! Responsiveness under working conditions (draft-ietf-ippm-responsiveness-09, July 2026): how many round trips a minute
//! a path makes while it carries as much as it can. It is the figure of Apple's `networkQuality`.
//!
//! A client loads a path by transfers without end, adds a connection in each interval, and meanwhile sends probes: small
//! requests on these connections, and on new ones. [`Course`] takes each interval's bytes and probes, and determines
//! when goodput and then responsiveness are stable, and the result.
//!
//! Not here: sockets, TLS, HTTP and clocks (`between`).

#![forbid(unsafe_code)]

mod config;
mod course;
mod parameters;
mod probe;
mod report;

pub use config::{Config, LARGE, Location, SMALL, UPLOAD, WELL_KNOWN};
pub use course::{Course, Phase, Tally};
pub use parameters::Parameters;
pub use probe::{Latency, Probe, trimmed_mean};
pub use report::{Confidence, Direction, Idle, Interval, Rating, Result};
