//! Common parts of link-state routers: shapes of generated topologies, flooding state, Fletcher's checksum.
//!
//! Not here: packets, adjacencies, databases: they differ (`ospf`, `isis`).
//!
//! Separate because neither protocol should know the other.

#![forbid(unsafe_code)]

mod fletcher;
mod flood;
mod shape;

pub use fletcher::{fletcher, sums};
pub use flood::{Flood, Place, RETRANSMIT};
pub use shape::{Shape, share};
