//! Both sides of a load balancer, sans-IO: clients whose requests have a number, and backends that name themselves in
//! each response.
//!
//! An [`Exchange`] has the hosts of both sides, opens the sessions of a [`Script`], changes a backend, and keeps a
//! [`SessionRecord`] of each session. Frames and time come in as arguments; frames leave into buffers that the caller lends.
//!
//! Not here: ports, ARP, and figures that follow from the records.
//!
//! Separate because it needs TCP, which methods do not, and no ports.
//!
//! Invariant: the backend of a session is the one that named itself to the client, never one that is derived.

#![forbid(unsafe_code)]

mod backends;
mod clients;
mod exchange;
mod message;
mod pipe;

pub use backends::BackendCounts;
pub use clients::{Ending, SessionRecord};
pub use exchange::{
    Backend, Change, ChangeScript, ChangeTimes, Client, Exchange, Identity, Rounds, Script, Setup,
};
pub use message::{Protocol, Speech};
