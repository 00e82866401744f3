//! What routers of link-state protocols share: shapes of generated topologies, what is under way to neighbours, Fletcher's checksum.
//!
//! Not here: packets, adjacencies, databases: they differ (`ospf`, `isis`).

#![forbid(unsafe_code)]

mod fletcher;
mod flood;
mod shape;

pub use fletcher::{fletcher, sums};
pub use flood::{Flood, Place, RETRANSMIT};
pub use shape::{Shape, share};
