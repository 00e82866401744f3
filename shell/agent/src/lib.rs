//! A run or a campaign in a separate process: an **agent** owns ports and runs trials, for a server that stays apart from drivers.
//!
//! [`run`] is the server's end: it starts the agent (or, as [`run_on`], gets a socket to one on another machine), gives it an [`Order`], passes on the requests of a [`Control`], hands its snapshots to
//! an [`Attendant`], and returns its end. [`run_together`] does so with the agents of several machines, which have parts of one run. [`serve`] is the agent's end. Between them is a socket with one message type in each
//! direction ([`ToAgent`], [`FromAgent`]), in frames of limited length.
//!
//! Not here: what a run is to clients, leases, the store; the server has those. An agent does one piece of
//! work; of the store it knows the entry of its campaign.
//!
//! Separate because either end must survive the other, and it knows neither clients nor leases.
//!
//! Invariants:
//! - Workers never wait for the socket: snapshots that a slow server does not take are replaced by newer ones, and only results, replies
//!   and stored intervals wait for it.
//! - An agent without its server ends. The kernel kills it when the server's process ends; when the server only stalls,
//!   traffic stops after its order's lease, [`LEASE`] on one machine.
//! - A server without its agent knows why: [`Lost`] has the reason in words.

#![forbid(unsafe_code)]

mod campaign;
mod child;
mod clocks;
mod control;
mod duties;
pub mod figures;
pub mod frame;
mod full;
mod group;
mod instant;
mod intervals;
mod joint;
mod loss;
mod lost;
mod message;
mod outbox;
mod part;
mod permit;
mod process;
mod serve;
mod share;
mod source;
mod turns;
mod view;

pub use child::{Child, JOIN_VARIABLE, Process};
pub use clocks::{Comparison, KernelTime};
pub use control::{Control, Requests, channel};
pub use full::FullView;
pub use group::{Member, run_together};
pub use lost::{Lost, OUT_OF_MEMORY};
pub use message::{
    Batch, CampaignEnd, CampaignOrder, CampaignState, Clock, End, FromAgent, Full, Hello, Order, Refusal,
    RunEnd, RunOrder, ToAgent, TrialBegins, Work,
};
pub use part::{FromPart, PartOrder, Peers, PortCard, refuse_together};
pub use permit::{Permit, WrongClock};
pub use process::{Attendant, Line, run, run_on};
pub use serve::serve;
pub use share::Columns;
pub use source::{ReadFile, Seals, Source};

use std::time::Duration;

/// Time for which an agent on its server's machine sends without a message of it.
pub const LEASE: Duration = Duration::from_secs(10);
/// Interval at which a server renews it.
const RENEW_EVERY: Duration = Duration::from_secs(1);
/// Interval of beats of an agent without other messages.
const BEAT_EVERY: Duration = Duration::from_millis(500);
/// Silence of an agent after which its server kills it.
const SILENCE_MAX: Duration = Duration::from_secs(10);
