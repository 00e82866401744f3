//! Common parts of link-state routers: all routers of a port together, shapes of generated topologies, flooding state, Fletcher's
//! checksum.
//!
//! Not here: packets, adjacencies, databases: each protocol has its own.
//!
//! Separate because neither protocol should know the other.

#![forbid(unsafe_code)]

mod fletcher;
mod flood;
mod routers;
mod shape;

pub use fletcher::{fletcher, sums};
pub use flood::{Flood, Place, RETRANSMIT};
pub use routers::{APART, Limits, Router, RouterHost, Routers, RoutersConfig};
pub use shape::{Shape, share};
