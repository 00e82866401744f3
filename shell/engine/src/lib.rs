//! Runs Plans: spreads them over workers, resolves neighbours, keeps snapshots, and makes the result.
//!
//! [`Session`] is the one handle: load a Plan, run it on a [`Rig`] of open ports or on simulated ones, watch it, stop
//! it. The engine does not know which method asked for the trial, nor whether time is real.
//!
//! Invariant: traffic stops and drains before counters are read, so there is no loss that is not one.

#![forbid(unsafe_code)]

pub mod capture;
mod captures;
mod change;
mod error;
mod flow_sink;
mod flows;
mod hosts;
mod interval;
mod pings;
mod players;
mod receive;
mod rig;
mod rows;
mod session;
mod session_rows;
mod steer;
mod sums;
mod template;
mod transmit;
mod trial;
pub mod trust;
mod varied;
mod watch;
mod worker;

pub use captures::CaptureSwitch;
pub use change::{Change, Speed};
pub use error::EngineError;
pub use hosts::host_macs;
pub use pings::{PingOrder, Pinged};
pub use rig::Rig;
pub use session::{RunOptions, Session};
pub use watch::{NeighbourView, PortView, SessionView, StreamView, View, Watch};

/// Version of DPDK, which opens the ports.
pub fn dpdk_version() -> String {
    dpdk::version()
}
