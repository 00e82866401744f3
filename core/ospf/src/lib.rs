//! OSPFv2 and OSPFv3 routers behind a port (RFC 2328, RFC 5340): adjacencies with the device, routes that are functions of their index, and
//! routers that are generated behind them, so that a million LSAs take no room.
//!
//! Both versions have the same neighbours, exchange, flooding and databases. They differ in packets (`packet`), in the bodies of LSAs (`lsa`,
//! `lsa3`), in which of them a router originates (`own`), and in who is called by what: a designated router by its address, or by its identifier.
//!
//! Sans-IO: frames in, frames out, time as an argument, randomness from a seed.
//!
//! A router here is a leaf of its area: it originates LSAs, and receives the device's, which are counted and, within
//! bounds, stored for display. Nothing is passed on, and no routes are computed. So it describes its own LSAs alone, is
//! never a designated router, and removes a neighbour's LSAs when it has no adjacency any more.
//!
//! Not here: what traffic is sent to the routes; ARP (`neighbour`).
//!
//! Separate because it is a routing protocol with databases and flooding, and clients in `emulate` keep a lease or a
//! membership.
//!
//! Invariant: a packet that is malformed, or for no router here, changes nothing but a counter.

#![forbid(unsafe_code)]

mod contents;
mod contents3;
mod counts;
mod database;
mod exchange;
mod failure;
mod lsa;
mod lsa3;
mod neighbour;
mod own;
mod packet;
mod router;
mod routes;
mod version;

pub use contents::{LsaContents, LsaLink, LsaRoute};
pub use contents3::{LsaContents3, LsaExternal3, LsaLink3, LsaPrefix};
pub use counts::{LsaCounts, OspfCounts};
pub use database::{Database, KnownLsa, LsaTally};
pub use failure::Failure;
pub use linkstate::{RouterHost, Shape};
pub use lsa::{
    EXTERNAL as EXTERNAL_LSA, INITIAL_SEQUENCE, LS_INFINITY, LSA_HEADER, LsaHeader, LsaKey, MAX_AGE,
    SUMMARY as SUMMARY_LSA,
};
pub use lsa3::EXTERNAL as EXTERNAL_LSA_3;
pub use neighbour::{NeighbourState, NeighbourView};
pub use own::{MIN_LS_ARRIVAL, MIN_LS_INTERVAL};
pub use packet::{
    Authentication, Body, Description, Hello, Malformed, PROTOCOL, Packet, Received, may_concern,
};
pub use router::{NetworkType, Router, RouterConfig};
pub use routes::{LINKS_MAX, RouteKind, RouteRange, Topology, links_max, prefixes_max};
pub use version::Version;

/// A hardware address.
pub type Mac = [u8; 6];

/// OSPF routers behind a port.
pub type Routers = linkstate::Routers<Router>;

/// The routers of a port.
pub type RoutersConfig = linkstate::RoutersConfig<RouterConfig>;
