//! Agents on other machines, over NATS: membership, leases of ports, and the messages of runs.
//!
//! [`Fleet`] is the controller's end: it lists the ports of agents, leases them, and returns a socket to the process of a run on another
//! machine. [`serve`] is the agent's end: it keeps its name, and starts a process for each run that a controller with a lease requests.
//! [`LocalBroker`] is a NATS server of this machine, made for a fleet.
//! A controller and that process exchange the messages of the crate `agent`, byte by byte, as on one machine.
//!
//! Separate from `server` because the agent's end has no server, and because no other crate knows the broker.
//!
//! Not here: the meaning of a run. The broker is no store: results go to the controller's.
//!
//! Invariants:
//! - An agent stops its runs [`TTL`] after it last renewed its name, by its own monotonic clock, whatever it receives.
//! - A port has one holder: leases are keys that are created once, in memory of one broker, and a token from an older lease is refused.
//! - Bytes of a run arrive complete and in order, or the run ends.

#![forbid(unsafe_code)]

mod access;
mod bucket;
mod card;
mod controller;
mod join;
mod leases;
mod local;
mod order;
mod refusals;
mod serving;
mod subjects;
mod tunnel;

pub use access::{Access, FleetError};
pub use agent::JOIN_VARIABLE;
pub use card::{Card, CardPort, CardRun, list_ports};
pub use controller::{Fleet, LeaseFacts, RemotePort, split};
pub use join::Join;
pub use local::{BrokerFacts, LocalBroker};
pub use refusals::{BrokerRefusal, follow};
pub use serving::{AgentOptions, serve};

use std::time::Duration;

/// Time after which a name or a lease ends that was not renewed.
pub const TTL: Duration = Duration::from_secs(3);
/// Interval of renewals.
const RENEW_EVERY: Duration = Duration::from_secs(1);
/// Time for the broker's reply to a renewal, or to another request.
const REPLY_TIME: Duration = Duration::from_secs(1);
/// Interval at which deadlines are checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);
