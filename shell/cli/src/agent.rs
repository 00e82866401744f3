//! `eagre agent`: the process of one run of a server, which starts it and steers it over a socket.

use crate::{Exit, Failure};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// `eagre agent`.
pub(crate) fn agent() -> Result<Exit, Failure> {
    // Before there are other threads.
    os::memory::use_few_areas();
    let by_hand =
        |reason: String| Failure::bad_input(format!("agent: {reason}; 'eagre serve' starts agents itself"));
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let socket = UnixStream::from(input.map_err(|error| by_hand(error.to_string()))?);
    socket.peer_addr().map_err(|_| by_hand("standard input is no socket of a server".to_owned()))?;
    server::serve_as_agent(socket, |stop| {
        ctrlc::set_handler(stop).map_err(|error| format!("signals: {error}"))
    })
    .map_err(by_hand)?;
    Ok(Exit::Done)
}

/// The exit code by which a server recognizes an agent without memory.
const _: () = assert!(server::OUT_OF_MEMORY == Exit::Refused as i32);
