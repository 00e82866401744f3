//! Tests between two hosts over the sockets of their kernels, like iperf3's: a client, and a server for many concurrent
//! clients. Messages and counters are in `iperf`, `udpst` and `stamp`; here are connections, threads and the clock.
//!
//! A stream has a thread. Its counts are behind a separate lock, which it shares with the thread that reads them once
//! an interval. The thread of a test has the control connection, takes intervals and ends the streams.
//!
//! Not here: the tester's own packets and its TCP (`engine`): this measures what programs on both hosts get.
//!
//! Separate because these packets are the kernel's, and the engine's are its own.

#![forbid(unsafe_code)]

pub mod capacity;
mod client;
mod control;
pub mod delay;
mod limit;
mod meter;
mod outcome;
pub mod responsiveness;
mod server;
mod stream;
mod text;
mod udp;

pub use client::{Client, Order, client};
pub use server::{Event, ServerOptions, serve};
pub use text::{interval_head, interval_lines, summary_lines};

/// Why a test was not made, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// This machine, or the other one, refused.
    #[error("{0}")]
    Refused(String),
    /// The other end did not keep to the protocol.
    #[error("{0}")]
    Unexpected(String),
    /// Interrupted here.
    #[error("interrupted")]
    Interrupted,
}

impl Wrong {
    fn io(what: &str) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |error| Self::Refused(format!("{what}: {}", reason(&error)))
    }
}

/// An error of the kernel in words, without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
