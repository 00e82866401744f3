//! The Open Traffic Generator model, used by snappi, gosnappi and otgen.
//!
//! Translates configurations to profiles and results to metrics, in JSON or protobuf. Documents in, documents out.
//!
//! Not here: HTTP, gRPC's transport, ports, runs, and the configuration between requests.
//!
//! Invariant: every field of a configuration takes effect or is refused with its JSON path. Nothing is silently ignored.

#![forbid(unsafe_code)]

mod action;
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
mod protocols;
mod states;
mod translate;

pub use action::{Action, Restart, action};
pub use capture::{capture, packets};
pub use error::{ErrorKind, Errors};
pub use metrics::{
    ControlEvent, ControlEventKind, Figures, MetricsInput, PortState, Transmit, has_ended, metrics,
};
pub use ping::{PingRequest, Pings};
pub use protocols::{
    ClientPlan, Igp, LagPlan, LagPort, LinkAgentPlan, PeerPlan, ProtocolsRequest, RouterPlan, protocols,
};
pub use states::{Known, MODEL_VERSION, are_learned, states, version};
pub use translate::{
    CapturePlan, EgressTag, EventsPlan, FlowPlan, Interface, PortPlan, RoutesPlan, StreamPlan, Translation,
    translate, translate_at,
};
