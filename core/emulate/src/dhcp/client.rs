//! State of one client, and the times of its messages.

use crate::frame::Mac;
use crate::pool::PoolClient;
use std::net::Ipv4Addr;
use units::Nanos;

/// Where a client is in RFC 2131 figure 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It has not begun.
    Waiting,
    /// It looks for a server.
    Selecting,
    /// Requests the offered address from a server.
    Requesting,
    /// Probes for its new address.
    Checking,
    Bound,
    /// Renews its lease with its server.
    Renewing,
    /// Rebinds with any server.
    Rebinding,
    /// Declines its address: another host has it, or it is unusable.
    Declining,
    /// Releases its address.
    Leaving,
    /// It gave its address back, or gave up.
    Over,
}

/// Messages of one client, as in [`DhcpCounts`](super::DhcpCounts).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientTally {
    /// DHCPDISCOVER sent.
    pub discovers: u32,
    /// DHCPOFFER received.
    pub offers: u32,
    /// DHCPREQUEST sent.
    pub requests: u32,
    /// DHCPACK received.
    pub acks: u32,
    /// DHCPNAK received.
    pub naks: u32,
    /// DHCPRELEASE sent.
    pub releases: u32,
}

/// Requests for an offered address until a client begins anew (as in RFC 2131 section 3.1, point 5).
pub(super) const REQUESTS_MAX: u8 = 4;
/// Minimum time between two messages that extend a lease (RFC 2131 section 4.4.5).
const RENEW_LEAST: Nanos = Nanos::from_secs(60);

/// One client.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// When it began its first exchange for an address; then when it was bound last.
    pub(super) since: Nanos,
    /// When its last DHCPREQUEST went out.
    pub(super) requested: Nanos,
    pub(super) xid: u32,
    /// Offered or leased; unspecified if there is none.
    pub(super) ip: Ipv4Addr,
    pub(super) server: Ipv4Addr,
    pub(super) router: Ipv4Addr,
    /// Seconds from `since`.
    pub(super) t1_s: u32,
    pub(super) t2_s: u32,
    pub(super) lease_s: u32,
    /// Where the server's last frame came from: the server, or a relay.
    pub(super) server_mac: Mac,
    /// Seconds of its last DHCPDISCOVER, which DHCPREQUEST repeats (RFC 2131 section 3.1, point 3).
    pub(super) secs: u16,
    pub(super) prefix_len: u8,
    pub(super) state: State,
    /// Messages of this state so far.
    pub(super) sent: u8,
    /// NAKs in a row.
    pub(super) naks: u8,
    pub(super) tally: ClientTally,
}

impl PoolClient for Client {
    fn new() -> Self {
        Self {
            since: Nanos::ZERO,
            requested: Nanos::ZERO,
            xid: 0,
            ip: Ipv4Addr::UNSPECIFIED,
            server: Ipv4Addr::UNSPECIFIED,
            router: Ipv4Addr::UNSPECIFIED,
            t1_s: 0,
            t2_s: 0,
            lease_s: 0,
            server_mac: [0; 6],
            secs: 0,
            prefix_len: 32,
            state: State::Waiting,
            sent: 0,
            naks: 0,
            tally: ClientTally::default(),
        }
    }

    fn is_outstanding(&self) -> bool {
        matches!(self.state, State::Selecting | State::Requesting)
    }

    /// Whether it has an address.
    fn is_up(&self) -> bool {
        matches!(self.state, State::Bound | State::Renewing | State::Rebinding | State::Leaving)
    }
}

impl Client {
    /// Whether it has an address, or one that it checks.
    pub(super) fn has_address(&self) -> bool {
        self.is_up() || self.state == State::Checking
    }

    /// This number of seconds after it was bound; a lease of 2^32 - 1 s never ends (RFC 2131 section 3.3).
    fn after(&self, seconds: u32) -> Nanos {
        if seconds == u32::MAX {
            Nanos::MAX
        } else {
            self.since.saturating_add(Nanos::from_secs(seconds.into()))
        }
    }

    pub(super) fn renews_at(&self) -> Nanos {
        self.after(self.t1_s)
    }

    pub(super) fn rebinds_at(&self) -> Nanos {
        self.after(self.t2_s)
    }

    pub(super) fn expires_at(&self) -> Nanos {
        self.after(self.lease_s)
    }

    /// Time of the next message to extend the lease, unless it is extended by then: after half of the remaining time,
    /// and 60 s at least (RFC 2131 section 4.4.5), or when the next state begins.
    pub(super) fn asks_again(&self, now: Nanos, until: Nanos) -> Nanos {
        let wait = Nanos(until.since(now).0 / 2).max(RENEW_LEAST);
        now.saturating_add(wait).min(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_for_more_time_by_halves() {
        let now = Nanos::from_secs(100);
        let again = |until| Client::new().asks_again(now, Nanos::from_secs(until));
        assert_eq!(again(500), Nanos::from_secs(300));
        assert_eq!(again(200), Nanos::from_secs(160), "60 s at least");
        assert_eq!(again(110), Nanos::from_secs(110), "but no later than the next state");
        let forever = Client { lease_s: u32::MAX, t1_s: u32::MAX, ..Client::new() };
        assert_eq!((forever.renews_at(), forever.expires_at()), (Nanos::MAX, Nanos::MAX));
    }
}
