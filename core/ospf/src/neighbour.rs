//! State of a neighbour and of the adjacency with it (RFC 2328 section 10).

use crate::Mac;
use crate::lsa::{LsaHeader, LsaKey};
use linkstate::Instance;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use units::Nanos;

/// State of a neighbour (section 10.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeighbourState {
    /// No Hello was received.
    Down,
    /// A Hello was received that does not list the router.
    Init,
    /// Both list each other.
    TwoWay,
    /// They agree who leads the exchange.
    ExStart,
    /// They describe their databases.
    Exchange,
    /// The router requests missing LSAs.
    Loading,
    /// It has all.
    Full,
}

impl NeighbourState {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Init => "init",
            Self::TwoWay => "two_way",
            Self::ExStart => "ex_start",
            Self::Exchange => "exchange",
            Self::Loading => "loading",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for NeighbourState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Down => "Down",
            Self::Init => "Init",
            Self::TwoWay => "2-Way",
            Self::ExStart => "ExStart",
            Self::Exchange => "Exchange",
            Self::Loading => "Loading",
            Self::Full => "Full",
        })
    }
}

/// A neighbour to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourView {
    /// Its identifier.
    pub id: Ipv4Addr,
    /// Its address.
    pub ip: IpAddr,
    /// Its priority.
    pub priority: u8,
    /// State of the neighbour.
    pub state: NeighbourState,
    /// Since when the adjacency is full.
    pub full_since: Option<Nanos>,
    /// Whether its LSAs list a full adjacency, too.
    pub is_mutual: bool,
}

/// A neighbour.
#[derive(Debug)]
pub(crate) struct Neighbour {
    pub(crate) id: Ipv4Addr,
    pub(crate) ip: IpAddr,
    /// Its name as a designated router in Hello packets: its address in OSPFv2, its identifier in OSPFv3.
    pub(crate) called: Ipv4Addr,
    /// Its number of its interface, in OSPFv3.
    pub(crate) interface: u32,
    pub(crate) mac: Mac,
    /// Its bit among the router's neighbours.
    pub(crate) bit: u8,
    pub(crate) priority: u8,
    pub(crate) designated: Ipv4Addr,
    pub(crate) backup: Ipv4Addr,
    pub(crate) state: NeighbourState,
    /// Time of the last Hello.
    pub(crate) heard: Nanos,
    pub(crate) full_since: Option<Nanos>,
    /// Whether its LSAs list a full adjacency with the router.
    pub(crate) names_us: bool,
    /// The number of its last digest.
    pub(crate) digest_number: u32,
    /// Its MTU, if that is not the router's.
    pub(crate) other_mtu: Option<u16>,
    /// Whether the router leads the exchange.
    pub(crate) leads: bool,
    /// The number of the exchange's current description.
    pub(crate) sequence: u32,
    /// Flags, options and number of its last description.
    pub(crate) last: Option<(u8, u32, u32)>,
    /// The body of the last description that was sent, and when it is sent again.
    pub(crate) said: Vec<u8>,
    pub(crate) say_again: Nanos,
    /// The next LSA to be described, and whether there is none.
    pub(crate) describe: (usize, u32),
    pub(crate) has_described: bool,
    /// Of each group, what was described.
    pub(crate) described: Vec<Option<Instance<i32>>>,
    /// LSAs to request from it; the requested ones, and the time of the next request.
    pub(crate) wanted: BTreeMap<LsaKey, LsaHeader>,
    pub(crate) asked: BTreeSet<LsaKey>,
    pub(crate) ask_again: Nanos,
}

impl Neighbour {
    pub(crate) fn new(id: Ipv4Addr, ip: IpAddr, mac: Mac, bit: u8) -> Self {
        Self {
            id,
            ip,
            called: id,
            interface: 0,
            mac,
            bit,
            priority: 0,
            designated: Ipv4Addr::UNSPECIFIED,
            backup: Ipv4Addr::UNSPECIFIED,
            state: NeighbourState::Down,
            heard: Nanos::ZERO,
            full_since: None,
            names_us: false,
            digest_number: 0,
            other_mtu: None,
            leads: false,
            sequence: 0,
            last: None,
            said: Vec::new(),
            say_again: Nanos::MAX,
            describe: (0, 0),
            has_described: false,
            described: Vec::new(),
            wanted: BTreeMap::new(),
            asked: BTreeSet::new(),
            ask_again: Nanos::MAX,
        }
    }

    /// Forgets the exchange.
    pub(crate) fn clear(&mut self) {
        self.names_us = false;
        self.full_since = None;
        self.last = None;
        self.said.clear();
        self.say_again = Nanos::MAX;
        self.describe = (0, 0);
        self.has_described = false;
        self.described.clear();
        self.wanted.clear();
        self.asked.clear();
        self.ask_again = Nanos::MAX;
    }

    pub(crate) fn view(&self) -> NeighbourView {
        NeighbourView {
            id: self.id,
            ip: self.ip,
            priority: self.priority,
            state: self.state,
            full_since: self.full_since,
            is_mutual: self.names_us,
        }
    }

    /// Its next timer: its dead interval, or a retransmission.
    pub(crate) fn next_due(&self, dead: Nanos) -> Nanos {
        self.heard.saturating_add(dead).min(self.say_again).min(self.ask_again)
    }
}
