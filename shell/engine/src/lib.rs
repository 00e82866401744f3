//! Runs Plans: spreads them over workers, resolves neighbours, keeps snapshots, and makes the result.
//!
//! [`Session`] is the one handle: load a Plan and run it on a [`Rig`] of open ports or on simulated ones. A
//! [`TrialObserver`] receives snapshots, a [`Control`] sends commands. The engine knows neither the method behind a trial
//! nor whether time is real.
//!
//! On a system that is no Unix, such as a browser, trials run in virtual time only: there are neither ports nor threads, files,
//! programs and TLS.
//!
//! Invariant: traffic stops and drains before counters are read, so packets in flight never count as lost.

#![forbid(unsafe_code)]
// Virtual time needs a part.
#![cfg_attr(not(unix), allow(dead_code, reason = "real time uses it"))]

pub mod absence;
pub mod achieved;
mod capture;
mod containment;
mod control;
mod counts;
mod device_notes;
mod emulation;
mod error;
#[doc(hidden)]
pub mod fault;
mod figures;
mod footprint;
mod key_logs;
mod observer;
mod outages;
mod outlet;
mod phases;
#[cfg(unix)]
mod protocols;
#[cfg(not(unix))]
#[path = "no_protocols.rs"]
mod protocols;
mod punt;
mod raw;
mod rows;
mod session;
mod session_rows;
mod sums;
mod tls_notes;
mod trial;
pub mod trust;
mod worker;

pub use control::commands::{
    ArrivalsCommand, CaptureCommand, Command, CommandError, Commands, Control, NewStreams, PendingReply,
    PingCommand, PingReply, Promise, ProtocolCommand, RateCommand, RemoveCommand, Reply, ReplyFuture, Speed,
    channel, promise,
};
pub use counts::interval::STREAMS_KEPT;
pub use error::EngineError;
pub use figures::{NeighbourView, PortView, SessionView, StreamView};
pub use footprint::memory_needed;
pub use observer::{TrialObserver, View};
pub use port::PortFacts;
pub use raw::{Distribution, RawRow, RawTimes};
pub use session::{PortUser, Session, judge_merged};
#[cfg(unix)]
pub use session::{RunOptions, unanswered};
#[cfg(unix)]
pub use trial::encryption::check_encryption;
pub use trial::hosts::host_macs;
pub use trial::rig::Rig;
pub use trial::session_endpoints::LentHost;

/// Version of DPDK, such as `DPDK 22.11.11`; `None` until a port opens it.
#[cfg(unix)]
pub fn dpdk_version() -> Option<String> {
    dpdk::version()
}

/// Version of DPDK if one of these ports needs it and it can be opened.
#[cfg(unix)]
pub fn dpdk_version_for<'a>(devices: impl Iterator<Item = &'a str>) -> Option<String> {
    dpdk::version_for(devices)
}

/// The DPDKs this program can use, by the number in the names of their libraries, the newest first.
#[cfg(unix)]
pub fn dpdk_abis() -> Vec<u32> {
    dpdk::abis()
}
