//! From a Plan and open ports to what workers need.

pub(crate) mod endpoints;
pub(crate) mod follow;
pub(crate) mod hosts;
mod resolved;
pub(crate) mod rig;
pub(crate) mod session_endpoints;
pub(crate) mod tunnels;

pub(crate) use resolved::{KnownNeighbour, Trial, TrialStream};
