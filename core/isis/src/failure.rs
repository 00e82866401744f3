//! Why a router lacks an adjacency.

use crate::password::Authentication;
use crate::pdu::{Area, SystemId};
use std::fmt;
use std::net::Ipv4Addr;

/// A neighbour: its identifier, and its address if advertised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whom {
    /// Its identifier.
    pub system: SystemId,
    /// Its address on the link.
    pub ip: Option<Ipv4Addr>,
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            Some(ip) => write!(f, "{ip} ({})", self.system),
            None => write!(f, "{}", self.system),
        }
    }
}

/// Why a router lacks an adjacency, as far as it can be seen. Its text follows "10.0.0.2: ", the router's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No hello came.
    Nobody,
    /// A neighbour of level 1 is in another area.
    Area {
        /// The neighbour.
        from: Whom,
        /// Its area.
        is: Area,
        /// The router's.
        expected: Area,
    },
    /// A neighbour is not of a level that the router is of.
    Level {
        /// The neighbour.
        from: Whom,
        /// The level it is not of.
        lacks: u8,
    },
    /// A neighbour's PDUs are authenticated otherwise.
    Authentication {
        /// The neighbour; its identifier is zero if the PDU has none.
        from: Whom,
        /// Their authentication.
        is: Authentication,
        /// Authentication of the router's PDUs.
        expected: Authentication,
        /// Whether they are hellos; otherwise LSPs and sequence numbers PDUs.
        hello: bool,
    },
    /// A neighbour has the router's own identifier.
    SameId(Whom),
    /// It has that of a generated router.
    GeneratedId(Whom),
    /// A neighbour does not list the router.
    OneWay(Whom),
    /// A neighbour does not list the router, and pads its hellos to another length.
    Mtu {
        /// The neighbour.
        from: Whom,
        /// Length of its padded hellos, bytes with LLC.
        is: u16,
        /// Length of the router's padded hellos.
        expected: u16,
    },
    /// Nobody on a LAN is the designated system.
    NoDesignated(Whom),
    /// A neighbour's hellos are LAN hellos, and the router's link is point-to-point; or the other way round.
    Network {
        /// The neighbour.
        from: Whom,
        /// Whether they are LAN hellos.
        lan: bool,
    },
    /// No hello from a neighbour for its hold time, s.
    Silent(Whom, u16),
    /// A neighbour no longer lists the router.
    Forgotten(Whom),
    /// A neighbour's LSPs have links of narrow metrics alone.
    Narrow(Whom),
    /// A neighbour's LSPs do not name the router yet, at a level.
    Unnamed(Whom, u8),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authentication = |kind: Authentication| match kind {
            Authentication::None => "none",
            Authentication::Clear => "a clear password",
            Authentication::Digest => "HMAC-MD5",
            Authentication::Other => "one that is unknown",
        };
        let pdus = |hello: bool| if hello { "hellos" } else { "LSPs and SNPs" };
        match *self {
            Self::Nobody => f.write_str("no hello from an IS-IS router on its link"),
            Self::Area { from, is, expected } => {
                write!(f, "{from} is in area {is}, but 'area' is {expected}")
            }
            Self::Level { from, lacks } => {
                write!(f, "{from} has no level {lacks} on this link, which 'level' requires")
            }
            Self::Authentication { from, is, expected, hello } if is == expected => {
                write!(f, "{from} has another password in {}", pdus(hello))
            }
            Self::Authentication { from, is, expected, hello } => {
                let (is, expected) = (authentication(is), authentication(expected));
                write!(f, "{from} has {is} as authentication of {}, not {expected}", pdus(hello))
            }
            Self::SameId(from) => write!(f, "{from} has the same system identifier"),
            Self::GeneratedId(from) => write!(
                f,
                "{from} has the system identifier of a router that is generated behind this one; set another 'topology.system_id'"
            ),
            Self::OneWay(from) => write!(
                f,
                "{from} does not list the router in its hellos: its authentication differs, or hellos of this length do not reach it ('mtu', 'padding')"
            ),
            Self::Mtu { from, is, expected } => {
                write!(
                    f,
                    "{from} does not list the router in its hellos and has an MTU of {is}, not {expected}: give the router this 'mtu'"
                )
            }
            Self::NoDesignated(from) => {
                write!(
                    f,
                    "{from} sends hellos but is not the designated system (DIS): its priority is below the router's, or it has just started"
                )
            }
            Self::Network { from, lan: true } => {
                write!(f, "{from} has a broadcast network, but 'network' is point_to_point")
            }
            Self::Network { from, lan: false } => {
                write!(f, "{from} has a point-to-point network, but 'network' is broadcast")
            }
            Self::Silent(from, hold_s) => write!(f, "{from} sent no hello for its hold time of {hold_s} s"),
            Self::Forgotten(from) => write!(f, "{from} no longer lists the router"),
            Self::Narrow(from) => {
                write!(f, "{from} has links of narrow metrics alone: let it send wide ones")
            }
            Self::Unnamed(from, level) => {
                write!(
                    f,
                    "LSPs of {from} at level {level} do not name the router yet: it may wait before it generates them"
                )
            }
        }
    }
}
