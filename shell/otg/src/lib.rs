//! The Open Traffic Generator model: the language of snappi, gosnappi and otgen.
//!
//! Configurations of the model become profiles, figures of runs become its metrics, and both stand in JSON or in protobuf.
//! All is documents in, documents out.
//!
//! Not here: HTTP, gRPC's transport, ports, runs and what holds a configuration between requests.
//!
//! Invariant: what a configuration says is done, or refused with its JSON path. Nothing of it is silently ignored.

#![forbid(unsafe_code)]

mod capture;
mod check;
pub mod codec;
pub mod config;
mod error;
mod metrics;
mod model;
mod node;
mod packet;
mod pattern;
mod ping;
mod states;
mod translate;

pub use capture::{capture, packets};
pub use error::{Errors, Kind};
pub use metrics::{Figures, PortState, Seen, Transmit, metrics};
pub use ping::{PingRequest, Pings, pings};
pub use states::{MODEL_VERSION, states, version};
pub use translate::{CapturePlan, FlowPlan, Interface, PortPlan, StreamPlan, Translation, translate};
