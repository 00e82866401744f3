//! Common parts of link-state routers: all routers of a port together, shapes of generated topologies, originations, flooding state,
//! the database of neighbours' link states, Fletcher's checksum.
//!
//! Not here: packets, adjacencies, contents of link states: each protocol has its own.
//!
//! Separate because neither protocol should know the other.

#![forbid(unsafe_code)]

mod database;
mod fletcher;
mod flood;
mod own;
mod routers;
mod shape;

pub use database::{Database, Header, Outcome};
pub use fletcher::{fletcher, sums};
pub use flood::{Flood, Place, RETRANSMIT};
pub use own::{Changes, Instance, Originations, Pace, Sequence, Wish};
pub use routers::{APART, Limits, Router, RouterHost, Routers, RoutersConfig};
pub use shape::{Shape, share};
