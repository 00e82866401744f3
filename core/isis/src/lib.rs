//! IS-IS routers behind a port (ISO/IEC 10589, RFC 1195): adjacencies with the device, routes that are functions of their index, and routers
//! that are generated behind them.
//!
//! Sans-IO: frames in, frames out, time as an argument, randomness from a seed.
//!
//! A router here is a leaf: it originates LSPs, and receives the device's, which are counted and, within bounds, stored
//! for display. Nothing is passed on, and no routes are computed. It has no higher priority than the device: on a LAN,
//! the device is the designated intermediate system. It removes a neighbour's LSPs when it has no adjacency any more.
//!
//! Not here: what traffic is sent to the routes; ARP and neighbour discovery (`neighbour`); topologies other than the
//! standard one (RFC 5120).
//!
//! Separate because it shares with other link-state protocols the parts in `linkstate`, but no packet and no adjacency.
//!
//! Invariant: a PDU that is malformed, or for no router here, changes nothing but a counter.

#![forbid(unsafe_code)]

mod contents;
mod counts;
mod database;
mod failure;
mod level;
mod neighbour;
mod own;
mod password;
mod pdu;
mod router;
mod routes;

pub use contents::{LspLink, LspPart, LspRoute, parts};
pub use counts::{IsisCounts, LevelCounts};
pub use database::{Database, KnownLsp};
pub use failure::{Failure, Whom};
pub use linkstate::{RouterHost, Shape};
pub use neighbour::{NeighbourState, NeighbourView};
pub use own::{MAX_AGE_S, MIN_LSP_INTERVAL, REFRESH_S};
pub use password::{Authentication, Password};
pub use pdu::{Area, LSP_HEADER, LSP_MAX, LspHeader, LspId, Malformed, Received, SystemId, may_concern};
pub use router::{Levels, NetworkType, Router, RouterConfig};
pub use routes::{RouteKind, RouteRange, Topology, fragment_room, networks_max};

/// A hardware address.
pub type Mac = [u8; 6];

/// IS-IS routers behind a port.
pub type Routers = linkstate::Routers<Router>;

/// The routers of a port.
pub type RoutersConfig = linkstate::RoutersConfig<RouterConfig>;
