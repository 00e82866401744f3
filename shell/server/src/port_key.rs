//! Identity of a port, of this machine or of an agent's.

use dpdk::PortId;
use fleet::RemotePort;

/// A port that can be leased.
#[derive(Debug, Clone)]
pub(crate) enum PortKey {
    /// Of this machine.
    Here(PortId),
    /// Of an agent.
    Remote(RemotePort),
}

impl PortKey {
    /// Name for display, and to lease it by.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Here(id) => id.label(),
            Self::Remote(port) => port.to_string(),
        }
    }

    /// Whether both can't be open at the same time.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Here(own), Self::Here(other)) => own.overlaps(other),
            (Self::Remote(own), Self::Remote(other)) => own == other,
            _ => false,
        }
    }

    /// Whether it is one of `ports`, or a part of them.
    pub(crate) fn is_within(&self, ports: &[Self]) -> bool {
        match self {
            Self::Here(id) => {
                let here: Vec<PortId> = ports.iter().filter_map(|port| port.here().cloned()).collect();
                id.is_within(&here)
            }
            Self::Remote(port) => ports.iter().any(|other| other.remote() == Some(port)),
        }
    }

    /// The port, if it is one of this machine.
    pub(crate) fn here(&self) -> Option<&PortId> {
        match self {
            Self::Here(id) => Some(id),
            Self::Remote(_) => None,
        }
    }

    /// The port, if it is an agent's.
    pub(crate) fn remote(&self) -> Option<&RemotePort> {
        match self {
            Self::Here(_) => None,
            Self::Remote(port) => Some(port),
        }
    }
}
