//! Responsiveness under working conditions (draft-ietf-ippm-responsiveness-09): a client that loads a path by HTTP and
//! sends probes meanwhile, and a server that stock clients use, too.
//!
//! Each load-generating connection has a thread; probes have another one, so that load delays them in the network and not
//! here. Parameters, arithmetic and the course of a test are in `responsiveness`.
//!
//! Not here: HTTP/3; the tester's own TCP and HTTP (`session`).

mod client;
mod connect;
mod http1;
mod lean;
mod load;
mod probe;
mod server;
pub mod text;
mod trust;

pub use client::{Event, Order, Report, Version, measure};
pub use server::{Served, ServerOptions, serve};
pub use trust::{Identity, Trust};

use crate::Wrong;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Interval at which a waiting thread looks whether it is to stop.
const NOW_AND_THEN: Duration = Duration::from_millis(50);

/// HTTP/2's flow control must not limit a transfer: octets that may be under way.
const STREAM_WINDOW: u32 = 16 << 20;
/// Of all transfers on a connection.
const CONNECTION_WINDOW: u32 = 32 << 20;
/// Octets that HTTP/2 may hold before they are encrypted: no more than a frame.
const SEND_BUFFER: usize = 16 << 10;
/// Octets that TLS may hold before they reach the socket.
const TLS_BUFFER: usize = 16 << 10;
/// Octets of load that are written at once.
const BLOCK: usize = 16 << 10;

/// The body of a load.
static ZEROS: [u8; BLOCK] = [0; BLOCK];

/// A thread's scheduler.
fn runtime() -> Result<Runtime, Wrong> {
    Builder::new_current_thread().enable_all().build().map_err(Wrong::io("threads"))
}
