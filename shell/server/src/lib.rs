//! `eagre serve`: leases, runs, campaigns and scripts of many clients, over HTTP.
//!
//! [`Service`] manages leases, runs and campaigns. The routes are its HTTP front; other front doors use the same service. A
//! run is a process, an agent, with an engine's `Session`; a thread here attends it and publishes its snapshots by pointer, so
//! that reading them costs the data plane nothing.
//!
//! Not here: what a run or a method is. Routes make no decisions; the service does.
//!
//! Invariant: nothing sends on a port without a lease. When a lease ends, its runs and campaigns are stopped.

#![forbid(unsafe_code)]

mod access;
mod admission;
mod agents;
mod assets;
mod audit;
mod budget;
mod campaigns;
mod connections;
mod events;
mod fault;
mod jobs;
mod kinds;
mod leases;
mod limits;
mod links;
mod listen;
mod metrics;
mod options;
mod otg;
mod patience;
mod pings;
mod port_key;
mod profile_store;
mod profiles;
mod protocols;
mod record;
mod routes;
mod runs;
mod scripts;
mod service;
mod snapshots;
mod starting;
mod texts;
mod tls;

pub use access::{Caller, Token, TokenError};
pub use agent::{OUT_OF_MEMORY, Permit, WrongClock};
pub use agents::serve_as_agent;
pub use fault::Fault;
pub use fleet::{
    Access as NatsAccess, AgentOptions, BrokerFacts, Card as AgentCard, CardPort as AgentPort, CardRun,
    Fleet, FleetError, JOIN_VARIABLE, Join, LeaseFacts, LocalBroker, serve as serve_agent,
};
pub use kinds::{KINDS, Kind};
pub use limits::Limits;
pub use listen::{ServeError, serve};
pub use options::{Options, TlsOptions};
pub use routes::OPENAPI;
pub use service::Service;
