//! A ping: resolves the next hop's hardware address if it is unknown, sends echo requests there one after the other,
//! and reports the outcome.
//!
//! Sans-IO. Sources: RFC 792 (echo), RFC 4443 section 4 (echo in IPv6).
//!
//! Not here: which neighbour leads to a target; errors that routers report.
//!
//! Invariant: it ends, with or without a reply, after twice its attempts' timeouts at most.

use crate::question::{end_of, is_for_a_host};
use crate::resolver::RETRY;
use crate::{
    Claim, ECHO_REPLY, ECHO_REPLY_V6, ECHO_REQUEST, ECHO_REQUEST_V6, Host, Mac, header, ip_number, value,
    vlans_of,
};
use std::net::IpAddr;
use units::Nanos;
use wire::{ReadHeader, read};

/// Bytes of data in an echo request.
const DATA_BYTES: u8 = 56;

/// Parameters of a ping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Echo {
    /// Source: an address of the host.
    pub from: IpAddr,
    /// Destination, of the same IP version.
    pub to: IpAddr,
    /// The neighbour through which it is reached: itself, or a router.
    pub hop: IpAddr,
    /// The neighbour's hardware address, if it is known.
    pub mac: Option<Mac>,
    /// The number of the PPPoE session (RFC 2516) in which packets travel, if they do; then `mac` is the access concentrator's.
    pub session: Option<u16>,
    /// Tells replies from those to others.
    pub id: u16,
    /// Maximum number of requests, each with its own sequence number from 1 on.
    pub attempts: u16,
    /// Time from one request to the next. Resolving the neighbour may take as long as all requests together.
    pub timeout: Nanos,
}

/// Outcome of a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A reply came.
    Answered {
        /// From the request's departure to its reply's arrival.
        round_trip: Nanos,
    },
    /// The neighbour's hardware address was not resolved.
    NoNeighbour,
    /// No reply came.
    Silent,
    /// Replies came, with other data than the requests had.
    Spoilt,
}

/// A frame to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Without FCS.
    pub frame: Vec<u8>,
    /// Of an echo request; `None` is a request for a hardware address.
    pub sequence: Option<u16>,
}

/// A ping under way.
#[derive(Debug)]
pub struct Ping {
    echo: Echo,
    mac: Option<Mac>,
    began: Option<Nanos>,
    /// When there is something to do.
    next: Nanos,
    /// Of each echo request sent.
    departures: Vec<Nanos>,
    spoilt: bool,
    outcome: Option<Outcome>,
}

impl Ping {
    /// A ping that has not begun.
    pub fn new(echo: Echo) -> Self {
        let mac = echo.mac;
        Self {
            echo,
            mac,
            began: None,
            next: Nanos::ZERO,
            departures: Vec::new(),
            spoilt: false,
            outcome: None,
        }
    }

    /// The frame that is due, if one is. `host` has the address it is sent from.
    pub fn poll(&mut self, now: Nanos, host: &Host) -> Option<Due> {
        let began = *self.began.get_or_insert(now);
        if self.outcome.is_some() || now < self.next {
            return None;
        }
        let patience = Nanos(self.echo.timeout.0.saturating_mul(self.echo.attempts.into()));
        match self.mac {
            None if now.since(began) >= patience => self.outcome = Some(Outcome::NoNeighbour),
            None => {
                self.next = now + RETRY.min(self.echo.timeout);
                let frame = host.request_from(self.echo.from, self.echo.hop)?;
                return Some(Due { frame, sequence: None });
            }
            Some(_) if self.departures.len() >= usize::from(self.echo.attempts) => {
                self.outcome = Some(if self.spoilt { Outcome::Spoilt } else { Outcome::Silent });
            }
            Some(mac) => {
                self.departures.push(now);
                self.next = now + self.echo.timeout;
                let sequence = self.departures.len() as u16;
                return Some(Due { frame: self.request(host, mac, sequence)?, sequence: Some(sequence) });
            }
        }
        None
    }

    /// An echo request left at `at`, later than it was polled.
    pub fn departed(&mut self, sequence: u16, at: Nanos) {
        if let Some(departure) = self.departures.get_mut(usize::from(sequence).wrapping_sub(1)) {
            *departure = at;
        }
    }

    /// Looks at a frame that was received at `at`.
    pub fn take(&mut self, at: Nanos, host: &Host, frame: &[u8]) {
        if self.outcome.is_some() {
            return;
        }
        if self.mac.is_none() {
            let is_meant = |claim: &Claim| *claim.vlans == *host.vlans && claim.ip == self.echo.hop;
            if let Some(claim) = Claim::read(frame).filter(is_meant) {
                (self.mac, self.next) = (Some(claim.mac), at);
            }
            return;
        }
        let Some((sequence, is_whole)) = self.reply(frame).filter(|_| vlans_of(frame) == host.vlans) else {
            return;
        };
        match self.departures.get(usize::from(sequence).wrapping_sub(1)) {
            Some(departure) if is_whole => {
                self.outcome = Some(Outcome::Answered { round_trip: at.since(*departure) });
            }
            Some(_) => self.spoilt = true,
            None => {}
        }
    }

    /// When there is something to do; [`Nanos::MAX`] once it is over.
    pub fn next_due(&self) -> Nanos {
        if self.outcome.is_some() { Nanos::MAX } else { self.next }
    }

    /// Outcome, once it is over.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Echo requests so far.
    pub fn sent(&self) -> u16 {
        self.departures.len() as u16
    }

    /// Its parameters.
    pub fn echo(&self) -> &Echo {
        &self.echo
    }

    fn request(&self, host: &Host, mac: Mac, sequence: u16) -> Option<Vec<u8>> {
        let (version, icmp, kind) = match self.echo.to {
            IpAddr::V4(_) => ("ipv4", "icmp", ECHO_REQUEST),
            IpAddr::V6(_) => ("ipv6", "icmpv6", ECHO_REQUEST_V6),
        };
        let session = self
            .echo
            .session
            .map(|number| [header("pppoe", &[("session", number.into())]), header("ppp", &[])]);
        let packet = [
            header(version, &[("src", ip_number(self.echo.from)), ("dst", ip_number(self.echo.to))]),
            header(icmp, &[("type", kind), ("id", self.echo.id.into()), ("seq", sequence.into())]),
        ];
        let headers = session.into_iter().flatten().chain(packet).collect();
        let types: Vec<u16> = host.vlans.types().collect();
        host.frame_with(mac, &types, headers, (0..DATA_BYTES).collect())
    }

    /// The headers of a frame, without the ones of the ping's PPPoE session; `None` if it is of none, or of another one.
    fn outside(&self, mut headers: Vec<ReadHeader>) -> Option<Vec<ReadHeader>> {
        let Some(number) = self.echo.session else { return Some(headers) };
        let at = headers.iter().position(|header| header.protocol.name == "pppoe")?;
        let (own, ppp) = (&headers[at], headers.get(at + 1)?);
        let is_it = value(own, "session") == u128::from(number) && value(own, "code") == 0;
        let is_it = is_it && ppp.protocol.name == "ppp";
        is_it.then(|| {
            headers.drain(at..at + 2);
            headers
        })
    }

    /// The sequence number of a reply to this ping, and whether its data match the request.
    fn reply(&self, frame: &[u8]) -> Option<(u16, bool)> {
        let (headers, behind) = read(frame);
        let headers = self.outside(headers)?;
        let (ip, echo) = (headers.iter().rev().nth(1)?, headers.last()?);
        let (version, icmp, kind) = match self.echo.to {
            IpAddr::V4(_) => ("ipv4", "icmp", ECHO_REPLY),
            IpAddr::V6(_) => ("ipv6", "icmpv6", ECHO_REPLY_V6),
        };
        let is_ours = is_for_a_host(&headers)
            && (ip.protocol.name, echo.protocol.name) == (version, icmp)
            && value(echo, "type") == kind
            && value(echo, "id") == u128::from(self.echo.id)
            && value(ip, "src") == ip_number(self.echo.to)
            && value(ip, "dst") == ip_number(self.echo.from);
        let is_whole =
            frame.get(behind..end_of(ip)).is_some_and(|data| data.iter().copied().eq(0..DATA_BYTES));
        is_ours.then(|| (value(echo, "seq") as u16, is_whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::may_answer;

    const SECOND: Nanos = Nanos::from_secs(1);

    fn host(last: u8) -> Host {
        Host { vlans: [7].into(), ..crate::tests::host(last) }
    }

    fn ping(family: usize, hop: u8, mac: Option<Mac>) -> Ping {
        let (from, to, hop) =
            (host(1).addresses[family], host(2).addresses[family], host(hop).addresses[family]);
        Ping::new(Echo { from, to, hop, mac, session: None, id: 7, attempts: 3, timeout: SECOND })
    }

    #[test]
    fn asks_for_the_neighbour_and_measures_the_round_trip() {
        for family in [0, 1] {
            let (asker, owner, mut ping) = (host(1), host(2), ping(family, 2, None));
            let ask = ping.poll(Nanos(5), &asker).unwrap();
            assert_eq!(ask.sequence, None);
            assert_eq!(ping.poll(Nanos(6), &asker), None, "no second request so soon");
            let told = owner.answer(&ask.frame).unwrap();
            assert!(may_answer(&told));
            ping.take(Nanos(10), &asker, &told);
            let echo = ping.poll(Nanos(20), &asker).unwrap();
            assert_eq!(echo.sequence, Some(1));
            ping.departed(1, Nanos(30));
            let reply = owner.answer(&echo.frame).unwrap();
            assert!(may_answer(&reply) && !may_answer(&echo.frame));
            ping.take(Nanos(130), &asker, &reply);
            assert_eq!(ping.outcome(), Some(Outcome::Answered { round_trip: Nanos(100) }));
            assert_eq!((ping.sent(), ping.next_due()), (1, Nanos::MAX));
        }
    }

    #[test]
    fn goes_through_a_session_of_pppoe() {
        let concentrator = [2, 9, 9, 9, 9, 9];
        let (client, owner) = (host(1), host(2));
        let Ping { echo, .. } = ping(0, 2, Some(concentrator));
        let mut ping = Ping::new(Echo { session: Some(0x1234), ..echo });
        let sent = ping.poll(Nanos(5), &client).unwrap().frame;
        assert_eq!((&sent[..6], &sent[16..18]), (&concentrator[..], &[0x88, 0x64][..]));
        // Version, type and code; session; length: protocol, IPv4, ICMP and data.
        assert_eq!(sent[18..26], [0x11, 0, 0x12, 0x34, 0, 2 + 20 + 8 + 56, 0, 0x21]);
        // What a host behind the access concentrator replies to, which has no session.
        let bare = [&owner.mac, &sent[6..16], &[8, 0], &sent[26..]].concat();
        let reply = owner.answer(&bare).unwrap();
        let inside = [&reply[..16], &[0x88, 0x64], &sent[18..26], &reply[18..]].concat();
        assert!(may_answer(&inside) && !may_answer(&sent));
        let mut other = inside.clone();
        other[21] = 0x35;
        ping.take(Nanos(60), &client, &other);
        ping.take(Nanos(60), &client, &reply);
        assert_eq!(ping.outcome(), None, "of another session, and of none");
        ping.take(Nanos(105), &client, &inside);
        assert_eq!(ping.outcome(), Some(Outcome::Answered { round_trip: Nanos(100) }));
    }

    #[test]
    fn goes_through_a_router_it_knows() {
        let (asker, mut ping) = (host(1), ping(0, 9, Some(host(9).mac)));
        let echo = ping.poll(Nanos(5), &asker).unwrap();
        assert_eq!(echo.frame[..6], host(9).mac);
        let mut reply = host(2).answer(&echo.frame).unwrap();
        // It comes back from the router, too.
        reply[6..12].copy_from_slice(&host(9).mac);
        ping.take(Nanos(9), &asker, &reply);
        assert_eq!(ping.outcome(), Some(Outcome::Answered { round_trip: Nanos(4) }));
    }

    #[test]
    fn ends_without_answers() {
        let asker = host(1);
        let mut absent = ping(0, 2, None);
        let (mut now, mut asked) = (Nanos::ZERO, 0);
        while absent.outcome().is_none() {
            now = absent.next_due();
            asked += absent.poll(now, &asker).iter().count();
        }
        assert_eq!((absent.outcome(), absent.sent()), (Some(Outcome::NoNeighbour), 0));
        assert_eq!((now, asked), (Nanos(3 * SECOND.0), 15));
        let mut silent = ping(0, 2, Some(host(2).mac));
        let polled: Vec<_> = (0..4).map(|s| silent.poll(Nanos(s * SECOND.0), &asker)).collect();
        let sequences: Vec<_> = polled.iter().flatten().map(|due| due.sequence).collect();
        assert_eq!(sequences, [Some(1), Some(2), Some(3)]);
        assert_eq!(silent.outcome(), Some(Outcome::Silent));
    }

    #[test]
    fn takes_no_reply_but_its_own() {
        let (asker, owner, mac) = (host(1), host(2), Some(host(2).mac));
        let mut mine = ping(0, 2, mac);
        let echo = mine.poll(Nanos(1), &asker).unwrap().frame;
        let reply = owner.answer(&echo).unwrap();
        let mut others = ping(0, 2, mac);
        others.echo.id = 8;
        let _ = others.poll(Nanos(1), &asker);
        others.take(Nanos(2), &asker, &reply);
        // Of a request that was never sent, of another host, and its own request.
        let mut early = ping(0, 2, mac);
        early.take(Nanos(2), &asker, &reply);
        let mut elsewhere = ping(0, 2, mac);
        elsewhere.echo.to = host(3).addresses[0];
        let _ = elsewhere.poll(Nanos(1), &asker);
        elsewhere.take(Nanos(2), &asker, &reply);
        mine.take(Nanos(2), &asker, &echo);
        for ping in [&mine, &others, &early, &elsewhere] {
            assert_eq!(ping.outcome(), None);
        }
        let mut spoilt = reply.clone();
        let last = spoilt.len() - 1;
        spoilt[last] ^= 1;
        mine.take(Nanos(2), &asker, &spoilt);
        (1..4).for_each(|s| drop(mine.poll(Nanos(s * SECOND.0 + 1), &asker)));
        assert_eq!(mine.outcome(), Some(Outcome::Spoilt));
    }

    #[test]
    fn most_frames_are_no_answer() {
        for frame in [&[][..], &[0xff; 60], &[0x81, 0, 0x81, 0].repeat(20)] {
            assert!(!may_answer(frame));
        }
    }
}
