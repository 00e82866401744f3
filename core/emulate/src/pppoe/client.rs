//! State of one client.

use super::negotiation::Negotiation;
use crate::frame::Mac;
use crate::pool::PoolClient;
use std::net::Ipv4Addr;
use units::Nanos;

/// Where a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It has not begun.
    Waiting,
    /// It looks for an access concentrator.
    Initiating,
    /// Requests a session.
    Requesting,
    /// LCP.
    Linking,
    /// PAP or CHAP.
    Authenticating,
    /// IPCP and IPV6CP.
    Networking,
    /// Has everything it requested.
    Up,
    /// It ends its session.
    Leaving,
    /// It failed, and begins anew later.
    Pausing,
    /// It has ended its session, or given up.
    Over,
}

/// Why an attempt failed, or a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PppoeFailure {
    /// The access concentrator reported an error in discovery.
    Discovery,
    /// LCP came to no end.
    Link,
    /// User name or password were rejected, the method was not one of the allowed ones, or authentication was not
    /// requested or not completed.
    Authentication,
    /// No address: IPCP came to no end.
    Network,
    /// The access concentrator ended the session.
    Ended,
    /// LCP's echo requests had no reply.
    Silent,
}

/// Layers with options, by their place in [`Client::layers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Lcp,
    Ipcp,
    Ipv6cp,
}

impl Layer {
    pub(super) const ALL: [Self; 3] = [Self::Lcp, Self::Ipcp, Self::Ipv6cp];
}

/// Authentication method of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PppoeMethod {
    /// RFC 1334 section 2.
    Pap,
    /// RFC 1994, with MD5.
    ChapMd5,
    /// RFC 2759.
    MsChapV2,
}

/// State that a client needs only until it is up.
#[derive(Debug, Clone, Default)]
pub(super) struct Exchange {
    /// To be returned to the access concentrator.
    pub(super) cookie: Option<Vec<u8>>,
    /// The same, of an agent between.
    pub(super) relay: Option<Vec<u8>>,
    /// The last challenge: its identifier and value.
    pub(super) challenge: Option<(u8, Vec<u8>)>,
}

/// One client.
#[derive(Debug, Clone)]
pub struct Client {
    /// When it began its attempts; then when it came up.
    pub(super) since: Nanos,
    /// When it entered its state.
    pub(super) entered: Nanos,
    /// When there is something to do in its state.
    pub(super) timer: Nanos,
    /// Of the protocols with options, by [`Layer`].
    pub(super) layers: [Negotiation; 3],
    pub(super) exchange: Option<Box<Exchange>>,
    /// Interface identifiers (RFC 5072 section 4.1); zero if there is none.
    pub(super) interface: u64,
    pub(super) peer_interface: u64,
    /// Mark of its discovery packets.
    pub(super) uniq: u32,
    pub(super) magic: u32,
    /// Unspecified if there is none.
    pub(super) ip: Ipv4Addr,
    pub(super) peer: Ipv4Addr,
    pub(super) dns: [Ipv4Addr; 2],
    /// Zero if there is none.
    pub(super) session: u16,
    /// The longest PPP payload it takes, and the peer.
    pub(super) mru: u16,
    pub(super) peer_mru: u16,
    pub(super) ac: Mac,
    pub(super) state: State,
    /// The peer's request.
    pub(super) method: Option<PppoeMethod>,
    /// Of the last message of authentication, echo or termination.
    pub(super) id: u8,
    /// Messages of this state so far.
    pub(super) sent: u8,
    /// Consecutive echo requests without a reply.
    pub(super) unanswered: u8,
    /// Attempts in a row that failed.
    pub(super) failures: u8,
    /// Whether IPV6CP was refused.
    pub(super) without_ipv6: bool,
    /// Whether its session has been up.
    pub(super) was_up: bool,
    pub(super) last_failure: Option<PppoeFailure>,
    pub(super) tally: PppoeTally,
}

/// Counters of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PppoeTally {
    /// Sessions that came up.
    pub sessions: u32,
    /// Attempts that failed.
    pub failed: u32,
    /// Sessions that ended without its doing.
    pub lost: u32,
}

impl PoolClient for Client {
    fn new() -> Self {
        Self {
            since: Nanos::ZERO,
            entered: Nanos::ZERO,
            timer: Nanos::MAX,
            layers: [Negotiation::IDLE; 3],
            exchange: None,
            interface: 0,
            peer_interface: 0,
            uniq: 0,
            magic: 0,
            ip: Ipv4Addr::UNSPECIFIED,
            peer: Ipv4Addr::UNSPECIFIED,
            dns: [Ipv4Addr::UNSPECIFIED; 2],
            session: 0,
            mru: 0,
            peer_mru: 0,
            ac: [0; 6],
            state: State::Waiting,
            method: None,
            id: 0,
            sent: 0,
            unanswered: 0,
            failures: 0,
            without_ipv6: false,
            was_up: false,
            last_failure: None,
            tally: PppoeTally::default(),
        }
    }

    /// A session that is negotiated anew does not count.
    fn is_outstanding(&self) -> bool {
        use State::{Authenticating, Initiating, Linking, Networking, Requesting};
        let is_going = matches!(self.state, Initiating | Requesting | Linking | Authenticating | Networking);
        is_going && !self.was_up
    }

    fn is_up(&self) -> bool {
        self.state == State::Up
    }
}

impl Client {
    /// Whether it has a session that it sends PPP over.
    pub(super) fn has_session(&self) -> bool {
        self.session != 0
    }

    pub(super) fn layer(&mut self, layer: Layer) -> &mut Negotiation {
        &mut self.layers[layer as usize]
    }

    /// When there is something to do.
    pub(super) fn next_due(&self) -> Nanos {
        self.layers.iter().map(|layer| layer.due).fold(self.timer, Nanos::min)
    }

    /// Forgets the session.
    pub(super) fn forget(&mut self) {
        self.layers.iter_mut().for_each(Negotiation::stop);
        self.exchange = None;
        (self.ip, self.peer, self.dns) =
            (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED, [Ipv4Addr::UNSPECIFIED; 2]);
        (self.interface, self.peer_interface) = (0, 0);
        (self.session, self.mru, self.peer_mru, self.method) = (0, 0, 0, None);
        (self.without_ipv6, self.was_up, self.unanswered) = (false, false, 0);
    }
}
