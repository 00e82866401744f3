//! The native API's documents: what `eagre serve` and its clients exchange.
//!
//! Times are RFC 3339 in UTC. Fields that end in `_s` are seconds, in `_ns` nanoseconds, in `_bps_l1` bits per second
//! at layer 1. Result, interval and total documents are defined in `result`.
//!
//! Not here: HTTP, the engine, the store.

#![forbid(unsafe_code)]

mod access;
mod campaigns;
mod documents;
mod live;
mod machine;
mod ports;
mod problems;
mod profiles;
mod runs;
mod scripts;

pub use access::{AuditEntry, Role, Whoami};
pub use campaigns::{Campaign, Method, MethodPart, NewCampaign, Point, PointSessions};
pub use documents::{Accepted, Described};
pub use live::{Latency, Live, LivePorts, LiveSessions, LiveStreams, Names, Neighbour, Snapshot, WorkerLoad};
pub use machine::{CheckStatus, DoctorCheck, Version};
pub use ports::{Lease, NewLease, Port, PortKind, PortLease, Renewal};
pub use problems::{Problem, ProblemPlace};
pub use profiles::{Check, CheckedPort, NewCheck, NewProfile, ProfileEntry, ProfileKind, StoredProfile};
pub use result::{NewProtocolChange, ProtocolAction};
pub use runs::{
    NewPing, NewRate, NewRun, NewStreams, PingResult, ProtocolChange, RemovedStreams, Run, State,
};
pub use scripts::{NewScript, SCRIPT_FRAME_LENGTHS, Script, ScriptFile};
