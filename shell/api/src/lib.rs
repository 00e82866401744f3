//! What `eagre serve` and its clients say to each other: the native API's documents.
//!
//! Times are RFC 3339 in UTC; fields that end in `_s` are seconds, in `_ns` nanoseconds, in `_bps_l1` bits per second at
//! layer 1. Result, interval and campaign documents are other rooms' (`eagre schema`); here they are JSON values.
//!
//! Not here: HTTP, the engine, the store.

#![forbid(unsafe_code)]

mod campaigns;
mod errors;
mod live;
mod people;
mod profiles;
mod runs;

pub use campaigns::{Campaign, Method, MethodPart, NewCampaign, Point, PointSessions};
pub use errors::{Place, Problem};
pub use live::{
    Latency, Live, LivePorts, LiveSessions, LiveStreams, Names, Neighbour, Snapshot, Totals, WorkerLoad,
};
pub use people::{AuditEntry, Lease, LeaseOfPort, NewLease, Port, PortKind, Renewal, Role, Version, Whoami};
pub use profiles::{Check, CheckedPort, NewCheck, NewProfile, ProfileEntry, StoredProfile};
pub use runs::{Change, NewPing, NewRun, Pinged, Run, State};
