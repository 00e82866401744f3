//! `eagre serve`: one engine for every client, over HTTP.
//!
//! [`Service`] is what the server does: leases, runs, campaigns, with who may what. The routes say it in HTTP; other front
//! doors use the same service. A run is a thread with an engine's `Session`; what it shows is published by pointer, so
//! that a client who looks costs the data plane nothing.
//!
//! Not here: what a run or a method is. No route decides anything that the service does not.
//!
//! Invariant: nothing sends on a port that is not leased, and what a lease's end finds running is stopped.

#![forbid(unsafe_code)]

mod access;
mod assets;
mod audit;
mod campaigns;
mod events;
mod fault;
mod jobs;
mod leases;
mod limits;
mod links;
mod listen;
mod looks;
mod metrics;
mod options;
mod otg;
mod pings;
mod profiles;
mod routes;
mod runs;
mod service;
mod shelf;
mod starting;
mod tls;

pub use access::{Caller, Token, TokenError};
pub use fault::Fault;
pub use limits::Limits;
pub use listen::{ServeError, serve};
pub use options::{Options, TlsOptions};
pub use routes::openapi;
pub use service::Service;
