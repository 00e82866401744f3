//! Why a router has no full adjacency.

use crate::neighbour::NeighbourState;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// Why a router has no full adjacency, as far as it can be seen. Its text follows "10.0.0.2: ", the router's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No Hello packet came.
    Nobody,
    /// A neighbour is in another area.
    Area {
        /// The neighbour.
        from: IpAddr,
        /// Its area.
        is: Ipv4Addr,
        /// The router's.
        expected: Ipv4Addr,
    },
    /// A neighbour is of another instance of OSPFv3.
    Instance {
        /// The neighbour.
        from: IpAddr,
        /// Its instance.
        is: u8,
        /// The router's.
        expected: u8,
    },
    /// A neighbour's Hello packets have another time between them, s.
    HelloInterval {
        /// The neighbour.
        from: IpAddr,
        /// Its time.
        is: u32,
        /// The router's.
        expected: u32,
    },
    /// A neighbour has another dead interval, s.
    DeadInterval {
        /// The neighbour.
        from: IpAddr,
        /// Its time.
        is: u32,
        /// The router's.
        expected: u32,
    },
    /// A neighbour has another network mask.
    Mask {
        /// The neighbour.
        from: IpAddr,
        /// Its mask.
        is: Ipv4Addr,
        /// The router's.
        expected: Ipv4Addr,
    },
    /// A neighbour on a broadcast network has an address of another network.
    OtherNetwork(IpAddr),
    /// A neighbour's packets are authenticated otherwise.
    Authentication {
        /// The neighbour.
        from: IpAddr,
        /// The kind of its authentication.
        is: u16,
        /// The router's.
        expected: u16,
    },
    /// The number of a neighbour's digest is lower than that of the packet before.
    Replayed(IpAddr),
    /// A neighbour's area is a stub area or an NSSA.
    StubArea(IpAddr),
    /// A neighbour has the router's own identifier.
    SameId(IpAddr),
    /// It has that of a generated router.
    GeneratedId(IpAddr),
    /// A neighbour does not list the router.
    OneWay(IpAddr),
    /// Nobody on a broadcast network is its designated router.
    NoDesignated(IpAddr),
    /// A neighbour on a point-to-point network elects a designated router.
    Elects(IpAddr),
    /// A neighbour has another MTU.
    Mtu {
        /// The neighbour.
        from: IpAddr,
        /// Its MTU.
        is: u16,
        /// The router's.
        expected: u16,
    },
    /// No Hello from a neighbour for the dead interval.
    Silent(IpAddr),
    /// A neighbour no longer lists the router in its Hello packets.
    Forgotten(IpAddr),
    /// A neighbour began the exchange anew.
    Restarted(IpAddr),
    /// A neighbour requested an LSA that the router does not have.
    BadRequest(IpAddr),
    /// An adjacency is not full yet.
    Unfinished(IpAddr, NeighbourState),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authentication = |kind: u16| match kind {
            0 => "none",
            1 => "a simple password",
            2 => "a digest",
            _ => "one that is unknown",
        };
        match *self {
            Self::Nobody => f.write_str("no Hello packet from an OSPF router on its link"),
            Self::Area { from, is, expected } => {
                write!(f, "{from} is in area {is}, but 'area' is {expected}")
            }
            Self::Instance { from, is, expected } => {
                write!(f, "{from} has instance {is}, but 'instance' is {expected}")
            }
            Self::HelloInterval { from, is, expected } => {
                write!(f, "{from} has a hello interval of {is} s, but 'hello' is {expected} s")
            }
            Self::DeadInterval { from, is, expected } => {
                write!(f, "{from} has a dead interval of {is} s, but 'dead' is {expected} s")
            }
            Self::Mask { from, is, expected } => {
                write!(f, "{from} has the network mask {is}, but 'ip' has {expected}")
            }
            Self::OtherNetwork(from) => write!(f, "{from} is not in the network of the router's 'ip'"),
            Self::Authentication { from, is, expected } if is == expected => {
                write!(f, "{from} has another {}", if is < 2 { "password" } else { "key" })
            }
            Self::Authentication { from, is, expected } => {
                let (is, expected) = (authentication(is), authentication(expected));
                write!(f, "{from} has {is} as authentication, not {expected}")
            }
            Self::Replayed(from) => write!(
                f,
                "{from} sends packets again that came before: the sequence numbers of their digests are too low"
            ),
            Self::StubArea(from) => {
                write!(f, "{from} accepts no external routes: its area is a stub area or an NSSA")
            }
            Self::SameId(from) => write!(f, "{from} has the same router identifier"),
            Self::GeneratedId(from) => write!(
                f,
                "{from} has the router identifier of a router that is generated behind this one; set another 'topology.router_id'"
            ),
            Self::OneWay(from) => write!(f, "{from} does not list the router in its Hello packets"),
            Self::NoDesignated(from) => write!(
                f,
                "{from} sends Hello packets but no router is designated: its priority is 0, it still waits for its dead interval, or \
                 its network is point-to-point"
            ),
            Self::Elects(from) => write!(
                f,
                "{from} elects a designated router: its network is broadcast, but 'network' is point_to_point"
            ),
            Self::Mtu { from, is, expected } => {
                write!(f, "{from} has an MTU of {is}, not {expected}: give the router this 'mtu'")
            }
            Self::Silent(from) => write!(f, "{from} sent no Hello packet for the dead interval"),
            Self::Forgotten(from) => write!(f, "{from} no longer lists the router in its Hello packets"),
            Self::Restarted(from) => write!(f, "{from} began the database exchange anew"),
            Self::BadRequest(from) => write!(f, "{from} requested an LSA that does not exist"),
            Self::Unfinished(from, state) => write!(f, "the adjacency with {from} is in state {state} still"),
        }
    }
}
