//! From a Plan and open ports to what workers need.

#[cfg(unix)]
pub(crate) mod encryption;
#[cfg(not(unix))]
#[path = "trial/no_encryption.rs"]
mod encryption;
pub(crate) mod endpoints;
pub(crate) mod follow;
pub(crate) mod hosts;
#[cfg(unix)]
mod machine_rig;
mod resolved;
pub(crate) mod rig;
pub(crate) mod session_endpoints;
pub(crate) mod tunnels;

pub(crate) use resolved::{KnownNeighbour, Trial, TrialStream};
