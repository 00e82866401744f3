//! Why a trial did not run.

use crate::capture::CaptureError;
use port::{PortError, PortErrorKind};

/// Why a trial did not run, and whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A port can't be used.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A stream does not fit the port it is sent from.
    #[error("stream {stream}: {reason}")]
    Stream {
        /// The stream's name.
        stream: String,
        /// Description of the error.
        reason: String,
    },
    /// Sessions that can't run as they are.
    #[error("sessions {name}: {reason}")]
    Sessions {
        /// The entry's name.
        name: String,
        /// Description of the error.
        reason: String,
    },
    /// The interface carries the machine's default route.
    #[error(
        "port {port}: {netdev} carries this machine's default route, and test traffic harms a live network (RFC 6815); to \
         use it all the same, set 'allow_default_route: true'"
    )]
    DefaultRoute {
        /// The port's name.
        port: String,
        /// The interface.
        netdev: String,
    },
    /// A port's arrival times can't come from where its profile wants.
    #[error("port {port}: timestamps: {by}: {reason}")]
    Timestamps {
        /// The port's name.
        port: String,
        /// Their source in the profile.
        by: &'static str,
        /// Why not, and the remedy.
        reason: String,
    },
    /// Hosts behind a port conflict.
    #[error("port {port}: {reason}")]
    Hosts {
        /// The port's name.
        port: String,
        /// How.
        reason: String,
    },
    /// A neighbour did not reply to ARP or neighbour discovery.
    #[error(
        "port {port}: no reply from {} after {waited_s} s; check that the device under test is up, connected to this \
         port, and has the address",
        list(neighbours)
    )]
    Neighbour {
        /// The port's name.
        port: String,
        /// The addresses, with the requesting host if it is not the port's own.
        neighbours: Vec<String>,
        /// Waiting time, s.
        waited_s: u64,
    },
    /// It was stopped before its traffic began, while neighbours had not replied.
    #[error("interrupted before traffic started: {} had not replied", list(neighbours))]
    Stopped {
        /// The addresses, with the requesting host if it is not the port's own.
        neighbours: Vec<String>,
    },
    /// Hosts of a port can't have their control plane in a network namespace.
    #[error("port {port}: punt: {reason}")]
    Punt {
        /// The port's name.
        port: String,
        /// Why not.
        reason: String,
    },
    /// None of a port's hosts came up in a control protocol.
    #[error("port {port}: {key}: {reason}")]
    Emulation {
        /// The port's name.
        port: String,
        /// The protocol's key in the profile.
        key: &'static str,
        /// Why, as far as it can be seen.
        reason: String,
    },
    /// A control-protocol program did not come up.
    #[error("protocols.{name}: {reason}")]
    Protocol {
        /// The entry's name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A capture can't start.
    #[error("port {port}: capture: {error}")]
    Capture {
        /// The port's name.
        port: String,
        /// Why not.
        error: CaptureError,
    },
    /// A part of the tester failed before there was anything to count, or in a way that left nothing of it.
    #[error("{0}")]
    Failed(String),
    /// The machine lacks what the trial needs.
    #[error("{0}")]
    Machine(String),
}

/// Most neighbours listed in an error.
const LISTED_MAX: usize = 8;

fn list(neighbours: &[String]) -> String {
    let listed = neighbours.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match neighbours.len().saturating_sub(LISTED_MAX) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

impl EngineError {
    /// Whether the input is at fault, not the machine or the device under test.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Port(error) => error.kind == PortErrorKind::Name,
            Self::Stream { .. } | Self::Sessions { .. } | Self::Hosts { .. } => true,
            Self::Capture { error, .. } => error.is_bad_input(),
            Self::DefaultRoute { .. }
            | Self::Neighbour { .. }
            | Self::Stopped { .. }
            | Self::Protocol { .. }
            | Self::Emulation { .. }
            | Self::Punt { .. }
            | Self::Timestamps { .. }
            | Self::Failed(_)
            | Self::Machine(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_neighbours_some_are_named() {
        let said = |count: usize| {
            let neighbours = (0..count).map(|n| format!("10.0.0.{n}")).collect();
            EngineError::Neighbour { port: "west".to_owned(), neighbours, waited_s: 5 }.to_string()
        };
        assert!(said(2).starts_with("port west: no reply from 10.0.0.0, 10.0.0.1 after 5 s"));
        assert!(said(4_000).contains(", 10.0.0.7 and 3992 more after 5 s"));
    }
}
