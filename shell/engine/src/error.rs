//! Why a trial did not run.

use crate::capture::CaptureError;
use port::{PortError, PortErrorKind};
use std::net::IpAddr;

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
        /// What is wrong.
        reason: String,
    },
    /// Sessions can't be played as they are.
    #[error("sessions {name}: {reason}")]
    Sessions {
        /// The entry's name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// The interface carries the machine's default route.
    #[error(
        "port {port}: {netdev} carries this machine's default route; a tester on a live network harms it (RFC 6815). \
         If you mean it, say 'allow_default_route: true'"
    )]
    DefaultRoute {
        /// The port's name.
        port: String,
        /// The interface.
        netdev: String,
    },
    /// A neighbour did not answer.
    #[error(
        "port {port}: no answer from {} after {waited_s} s; is the device under test up, is the cable on the right \
         port, and does it own the address?",
        list(neighbours)
    )]
    Neighbour {
        /// The port's name.
        port: String,
        /// Who did not answer.
        neighbours: Vec<IpAddr>,
        /// How long they were asked, s.
        waited_s: u64,
    },
    /// A capture did not begin.
    #[error("port {port}: capture: {error}")]
    Capture {
        /// The port's name.
        port: String,
        /// Why not.
        error: CaptureError,
    },
    /// The machine has not what was asked for.
    #[error("{0}")]
    Machine(String),
}

fn list(ips: &[IpAddr]) -> String {
    ips.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}

impl EngineError {
    /// Whether the user's input was at fault, and not the machine or the device under test.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Port(error) => error.kind == PortErrorKind::Name,
            Self::Stream { .. } | Self::Sessions { .. } => true,
            Self::Capture { error, .. } => error.is_bad_input(),
            Self::DefaultRoute { .. } | Self::Neighbour { .. } | Self::Machine(_) => false,
        }
    }
}
