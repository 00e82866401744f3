//! State of one client, and the times of its messages (RFC 8415 section 15).

use super::message::MessageType6;
use crate::pool::PoolClient;
use std::net::Ipv6Addr;
use units::Nanos;

/// Where a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It has not begun.
    Waiting,
    /// It listens for a router that advertises a prefix (RFC 4862).
    Listening,
    /// It looks for servers.
    Soliciting,
    /// Requests leases from the chosen server.
    Requesting,
    /// Probes for its address (RFC 8415 section 18.2.10.1).
    Checking,
    Bound,
    /// Renews its leases with its server.
    Renewing,
    /// Rebinds with any server.
    Rebinding,
    /// It gives back what another one has, too, and then looks for servers: an address, or a prefix.
    Declining,
    Returning,
    /// It gives back what it has.
    Releasing,
    /// It has given back what it had, or gave up.
    Over,
}

/// Retransmission of a message (RFC 8415 section 7.6).
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeats {
    first_ms: u32,
    /// 0 is any.
    most_ms: u32,
    /// Messages in all; 0 is any.
    pub(super) count: u8,
}

const fn repeats(first_ms: u32, most_ms: u32, count: u8) -> Repeats {
    Repeats { first_ms, most_ms, count }
}

impl State {
    /// The message of this state, and how it is repeated; `None` if there is none.
    pub(super) fn message(self, solicit_max_ms: u32) -> Option<(MessageType6, Repeats)> {
        match self {
            Self::Soliciting => Some((MessageType6::Solicit, repeats(1_000, solicit_max_ms, 0))),
            Self::Requesting => Some((MessageType6::Request, repeats(1_000, 30_000, 10))),
            Self::Renewing => Some((MessageType6::Renew, repeats(10_000, 600_000, 0))),
            Self::Rebinding => Some((MessageType6::Rebind, repeats(10_000, 600_000, 0))),
            Self::Declining => Some((MessageType6::Decline, repeats(1_000, 0, 4))),
            // RFC 8415 section 18.2.8: a prefix is not declined.
            Self::Releasing | Self::Returning => Some((MessageType6::Release, repeats(1_000, 0, 4))),
            Self::Waiting | Self::Listening | Self::Checking | Self::Bound | Self::Over => None,
        }
    }

    /// Whether it has its requested leases.
    pub(super) fn has_lease(self) -> bool {
        matches!(self, Self::Bound | Self::Renewing | Self::Rebinding)
    }

    /// Whether an address and a prefix are its own, or about to be.
    pub(super) fn holds(self) -> bool {
        self.has_lease() || self == Self::Checking
    }
}

impl Repeats {
    /// Time until the next message, if that before took `before_ms`, 0 at the first; `word` is random. The first SOLICIT is
    /// never early, so that servers have their time (RFC 8415 section 18.2.1).
    pub(super) fn next(self, before_ms: u32, is_solicit: bool, word: u64) -> u32 {
        // From -10 % to 10 %, in 2^-16ths.
        let spread = |base: u32, low: i64| {
            let share = low + (word % (6_553 - low) as u64) as i64;
            (i64::from(base) + i64::from(base) * share / 65_536).clamp(1, u32::MAX.into()) as u32
        };
        if before_ms == 0 {
            return spread(self.first_ms, if is_solicit { 1 } else { -6_553 });
        }
        let doubled = spread(before_ms, -6_553).saturating_add(before_ms);
        if self.most_ms > 0 && doubled > self.most_ms { spread(self.most_ms, -6_553) } else { doubled }
    }
}

/// Messages of one client, as in [`Dhcp6Counts`](super::Dhcp6Counts).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientTally6 {
    /// SOLICIT sent.
    pub solicits: u32,
    /// ADVERTISE received.
    pub advertises: u32,
    /// REQUEST sent.
    pub requests: u32,
    /// RENEW sent.
    pub renews: u32,
    /// REBIND sent.
    pub rebinds: u32,
    /// REPLY received.
    pub replies: u32,
    /// RELEASE sent.
    pub releases: u32,
    /// ADVERTISE messages without the requested leases.
    pub passed_over: u32,
    /// REPLY messages without the requested leases.
    pub refused: u32,
}

/// One client.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// When it began its first exchange for an address; then when it was bound last.
    pub(super) since: Nanos,
    /// When its exchange began.
    pub(super) asked: Nanos,
    /// Offered or leased; unspecified if there is none, as the prefix.
    pub(super) ip: Ipv6Addr,
    pub(super) prefix: Ipv6Addr,
    pub(super) xid: u32,
    /// Seconds from `since`.
    pub(super) t1_s: u32,
    pub(super) t2_s: u32,
    pub(super) valid_s: u32,
    /// From its last message to the next.
    pub(super) wait_ms: u32,
    /// Which server it chose, or would choose so far.
    pub(super) server: Option<u16>,
    pub(super) prefix_len: u8,
    /// Of that server.
    pub(super) preference: u8,
    pub(super) state: State,
    /// Messages of this state so far.
    pub(super) sent: u8,
    /// Refusals in a row.
    pub(super) refusals: u8,
    pub(super) tally: ClientTally6,
}

impl PoolClient for Client {
    fn new() -> Self {
        Self {
            since: Nanos::ZERO,
            asked: Nanos::ZERO,
            ip: Ipv6Addr::UNSPECIFIED,
            prefix: Ipv6Addr::UNSPECIFIED,
            xid: 0,
            t1_s: 0,
            t2_s: 0,
            valid_s: 0,
            wait_ms: 0,
            server: None,
            prefix_len: 0,
            preference: 0,
            state: State::Waiting,
            sent: 0,
            refusals: 0,
            tally: ClientTally6::default(),
        }
    }

    fn is_outstanding(&self) -> bool {
        matches!(self.state, State::Soliciting | State::Requesting | State::Declining | State::Returning)
    }

    fn is_up(&self) -> bool {
        self.state.has_lease()
    }
}

impl Client {
    /// This number of seconds after it was bound; a time of 2^32 - 1 s never comes (RFC 8415 section 7.7).
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
        self.after(self.valid_s)
    }

    /// End of its state, with or without a reply.
    pub(super) fn ends_at(&self) -> Nanos {
        match self.state {
            State::Renewing => self.rebinds_at(),
            State::Rebinding => self.expires_at(),
            _ => Nanos::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_repeated_as_the_rfc_says() {
        let (_, solicit) = State::Soliciting.message(120_000).unwrap();
        for word in [0, 1, 6_551, 13_105, 7, u64::MAX] {
            let first = solicit.next(0, true, word);
            assert!((1_000..=1_100).contains(&first), "{first}");
            let (_, request) = State::Requesting.message(0).unwrap();
            let first = request.next(0, false, word);
            assert!((900..=1_100).contains(&first), "{first}");
            let second = request.next(1_000, false, word);
            assert!((1_900..=2_100).contains(&second), "{second}");
            let capped = request.next(29_000, false, word);
            assert!((27_000..=33_000).contains(&capped), "{capped}");
            assert!((108_000..=132_000).contains(&solicit.next(100_000, true, word)));
        }
        let (kind, release) = State::Releasing.message(0).unwrap();
        assert_eq!(
            (kind, release.count, release.next(4_000_000_000, false, 13_105)),
            (MessageType6::Release, 4, u32::MAX)
        );
    }
}
