//! State of a neighbour and of the adjacency with it (ISO/IEC 10589 section 8, RFC 5303).

use crate::Mac;
use crate::failure::Whom;
use crate::pdu::{Area, SystemId};
use std::net::Ipv4Addr;
use units::Nanos;

/// State of an adjacency (RFC 5303 section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeighbourState {
    /// No hello was received.
    Down,
    /// A hello was received that does not list the router.
    Initializing,
    /// Both list each other.
    Up,
}

impl NeighbourState {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Initializing => "initializing",
            Self::Up => "up",
        }
    }
}

/// A neighbour to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourView {
    /// Its identifier.
    pub system: SystemId,
    /// Its address, if advertised.
    pub ip: Option<Ipv4Addr>,
    /// Its area, if advertised.
    pub area: Option<Area>,
    /// Its priority on a LAN.
    pub priority: u8,
    /// Bits of the levels that it and the router have in common: 1, 2 or 3.
    pub levels: u8,
    /// State of the adjacency.
    pub state: NeighbourState,
    /// Expiry of its hold time.
    pub lost_at: Nanos,
    /// Since when the adjacency is up.
    pub up_since: Option<Nanos>,
}

/// A neighbour. On a LAN, one that is of both levels is two of them.
#[derive(Debug)]
pub(crate) struct Neighbour {
    pub(crate) system: SystemId,
    pub(crate) ip: Option<Ipv4Addr>,
    pub(crate) mac: Mac,
    pub(crate) area: Option<Area>,
    /// Bits of the levels of the adjacency.
    pub(crate) levels: u8,
    pub(crate) priority: u8,
    /// The designated system's circuit, as announced by it.
    pub(crate) circuit: [u8; 7],
    /// The number it has for its circuit (RFC 5303).
    pub(crate) extended: Option<[u8; 4]>,
    pub(crate) state: NeighbourState,
    /// Time of the last hello, and its hold time, s.
    pub(crate) heard: Nanos,
    pub(crate) hold_s: u16,
    pub(crate) up_since: Option<Nanos>,
    /// Bytes of its last hello with LLC, if that was padded.
    pub(crate) padded: Option<u16>,
}

impl Neighbour {
    pub(crate) fn new(system: SystemId, mac: Mac, levels: u8) -> Self {
        Self {
            system,
            ip: None,
            mac,
            area: None,
            levels,
            priority: 0,
            circuit: [0; 7],
            extended: None,
            state: NeighbourState::Down,
            heard: Nanos::ZERO,
            hold_s: 0,
            up_since: None,
            padded: None,
        }
    }

    pub(crate) fn whom(&self) -> Whom {
        Whom { system: self.system, ip: self.ip }
    }

    pub(crate) fn is_up(&self, level: u8) -> bool {
        self.state == NeighbourState::Up && self.levels & level != 0
    }

    /// Whether it announces itself as the designated system.
    pub(crate) fn is_designated(&self) -> bool {
        self.circuit[..6] == self.system.0 && self.circuit[6] != 0
    }

    /// Expiry of its hold time.
    pub(crate) fn lost_at(&self) -> Nanos {
        self.heard.saturating_add(Nanos::from_secs(self.hold_s.into()))
    }

    pub(crate) fn view(&self) -> NeighbourView {
        NeighbourView {
            system: self.system,
            ip: self.ip,
            area: self.area,
            priority: self.priority,
            levels: self.levels,
            state: self.state,
            lost_at: self.lost_at(),
            up_since: self.up_since,
        }
    }
}
