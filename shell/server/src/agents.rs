//! The other end of runs: this program as an agent.

use crate::profile_store;
use agent::Permit;
use std::os::unix::net::UnixStream;

/// Runs the one order that a server sends on `socket`, as far as `permit` allows it. `on_signal` is given what a signal to end is to call.
///
/// # Errors
/// The other end is no server of this version, or is gone.
pub fn serve_as_agent(
    socket: UnixStream,
    permit: Permit,
    on_signal: impl FnOnce(Box<dyn Fn() + Send>) -> Result<(), String>,
) -> Result<(), String> {
    agent::serve(socket, permit, profile_store::file, on_signal)
}
