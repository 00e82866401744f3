//! The router of a link as its hosts know it: they solicit advertisements and remember the last (RFC 4861 section 6.3).
//!
//! Not here: addresses from prefixes (RFC 4862), which clients make (`dhcp6`); several routers: the last advertisement
//! counts.

use crate::frame::{Link, Mac, Packet, Received, v6};
use crate::vlans::ClientVlans;
use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use units::Nanos;
use wire::Vlans;

/// Solicitations at most, and the time between them (RFC 4861 section 10).
const ASKED_MAX: u8 = 3;
const ASK_EVERY: Nanos = Nanos::from_secs(4);
/// Time for a router to reply to the first of them, delay included (RFC 4861 section 6.2.6), plus half a second of
/// margin.
const ANSWERS_WITHIN: Nanos = Nanos::from_secs(1);
/// Prefixes that are remembered.
const PREFIXES_MAX: usize = 16;
/// Where options begin.
const OPTIONS: usize = 16;
const PREFIX_INFORMATION: u8 = 3;
const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;
/// Prefixes from which hosts make addresses with an interface identifier of 64 bits (RFC 4862 section 5.5.3).
const AUTONOMOUS_LEN: u8 = 64;
/// An advertisement that would end addresses sooner leaves them this long (RFC 4862 section 5.5.3, e).
const SHORTENED: Nanos = Nanos::from_secs(7_200);

/// The hosts' knowledge of their link's router.
#[derive(Debug)]
pub struct RouterFinder {
    mac: Mac,
    vlans: Vlans,
    /// Solicitations sent, when the next is due, and when the first was sent.
    asked: u8,
    next: Nanos,
    first: Option<Nanos>,
    /// The router, and until when.
    router: Option<(Ipv6Addr, Nanos)>,
    /// Prefixes on the link, and their lengths.
    on_link: Vec<(Ipv6Addr, u8)>,
    /// The prefix from which hosts make addresses, and until when; the first one counts.
    autonomous: Option<(Ipv6Addr, Nanos)>,
}

impl RouterFinder {
    /// A host with this hardware address sends solicitations for all of its link.
    pub fn new(mac: Mac, vlans: Vlans) -> Self {
        let on_link = Vec::new();
        Self { mac, vlans, asked: 0, next: Nanos::ZERO, first: None, router: None, on_link, autonomous: None }
    }

    /// Adds the solicitation that is due.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        if self.next <= now && self.next_due() < Nanos::MAX {
            self.asked += 1;
            self.next = now.saturating_add(ASK_EVERY);
            self.first.get_or_insert(now);
            frames.push(Link::router_solicit(self.mac, &self.vlans));
        }
    }

    /// When there is something to do; [`Nanos::MAX`] if only a frame can bring it.
    pub fn next_due(&self) -> Nanos {
        if self.router.is_none() && self.asked < ASKED_MAX { self.next } else { Nanos::MAX }
    }

    /// Ends the search.
    pub fn give_up(&mut self) {
        self.asked = ASKED_MAX;
    }

    /// Looks at a received frame; returns whether a router of the link advertised itself.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let Some(Received { vlans, packet: Packet::Router { from, message }, .. }) = Received::read(frame)
        else {
            return false;
        };
        let Some(prefixes) = prefixes(message).filter(|_| vlans == self.vlans) else { return false };
        let lifetime = u16::from_be_bytes([message[6], message[7]]);
        if lifetime > 0 {
            self.router = Some((from, now.saturating_add(Nanos::from_secs(lifetime.into()))));
        } else if self.router.is_some_and(|(router, _)| router == from) {
            self.router = None;
        }
        for one in prefixes {
            self.take_autonomous(now, &one);
            if !one.is_on_link {
                continue;
            }
            let prefix = (one.prefix, one.len);
            self.on_link.retain(|known| *known != prefix);
            if one.valid_s > 0 && self.on_link.len() < PREFIXES_MAX {
                self.on_link.push(prefix);
            }
        }
        true
    }

    /// Whether hosts may make addresses from a prefix, and until when (RFC 4862 section 5.5.3).
    fn take_autonomous(&mut self, now: Nanos, one: &Prefix) {
        let is_fit = one.is_autonomous
            && one.len == AUTONOMOUS_LEN
            && !one.prefix.is_unicast_link_local()
            && !one.prefix.is_multicast()
            && one.preferred_s <= one.valid_s;
        let known = self.autonomous.filter(|(_, until)| now < *until);
        if !is_fit || known.is_some_and(|(prefix, _)| prefix != one.prefix) {
            return;
        }
        let told = match one.valid_s {
            u32::MAX => Nanos::MAX,
            seconds => now.saturating_add(Nanos::from_secs(seconds.into())),
        };
        let until = match known {
            Some((_, until)) if told < until => until.min(told.max(now.saturating_add(SHORTENED))),
            _ => told,
        };
        self.autonomous = (until > now).then_some((one.prefix, until));
    }

    /// The prefix for autoconfigured addresses, 64 bits of it, and its expiry.
    pub fn autonomous(&self) -> Option<(Ipv6Addr, Nanos)> {
        self.autonomous
    }

    /// Whether a router is known, or had enough time to reply.
    pub fn is_settled(&self, now: Nanos) -> bool {
        self.router.is_some() || self.first.is_some_and(|first| now.since(first) >= ANSWERS_WITHIN)
    }

    /// The router, by its link-local address.
    pub fn router(&self, now: Nanos) -> Option<Ipv6Addr> {
        self.router.filter(|(_, until)| now < *until).map(|(router, _)| router)
    }

    /// Length of the prefix on the link that `ip` has, the longest of them.
    pub fn prefix_len(&self, ip: Ipv6Addr) -> Option<u8> {
        let has = |(prefix, len): &&(Ipv6Addr, u8)| network(ip, *len) == *prefix;
        self.on_link.iter().filter(has).map(|(_, len)| *len).max()
    }
}

/// Solicitations of one call.
const AT_ONCE: usize = 64;

/// The routers of a port's clients: that of their link, or of each client's, where each is alone in its VLANs.
#[derive(Debug)]
pub struct RouterFinders {
    vlans: ClientVlans,
    /// One for all, or one for each client.
    finders: Vec<RouterFinder>,
    /// When each solicits next, from the first poll on.
    due: Option<BTreeSet<(Nanos, u32)>>,
    /// Between the first solicitations of two clients.
    gap: Nanos,
    /// Those before it are settled.
    settled: usize,
}

impl RouterFinders {
    /// For this number of clients, of which the first has the hardware address `mac` and each other the next; `rate`: those that begin in a
    /// second, at least 1.
    pub fn new(mac: Mac, vlans: ClientVlans, clients: u32, rate: u32) -> Self {
        let number = if vlans.differ() { clients } else { 1 };
        let own = |client: u32| units::Mac::from_number(units::Mac(mac).number() + u64::from(client)).0;
        let finder = |client| RouterFinder::new(own(client), vlans.of(client).into_owned());
        let finders = (0..number).map(finder).collect();
        let gap = Nanos(1_000_000_000 / u64::from(rate.max(1)));
        Self { vlans, finders, due: None, gap, settled: 0 }
    }

    fn of(&self, client: u32) -> Option<&RouterFinder> {
        self.finders.get(if self.vlans.differ() { client as usize } else { 0 })
    }

    /// Adds the solicitations that are due, some at a time.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        let (finders, gap) = (&mut self.finders, self.gap);
        let due = self.due.get_or_insert_with(|| {
            let begin = |number: u32| now.saturating_add(Nanos(gap.0.saturating_mul(number.into())));
            (0..finders.len() as u32).map(|number| (begin(number), number)).collect()
        });
        for _ in 0..AT_ONCE {
            let Some((at, number)) = due.first().copied().filter(|(at, _)| *at <= now) else { break };
            due.remove(&(at, number));
            let finder = &mut finders[number as usize];
            finder.poll(now, frames);
            let next = finder.next_due();
            if next < Nanos::MAX {
                due.insert((next, number));
            }
        }
    }

    /// When there is something to do; [`Nanos::MAX`] if only a frame can bring it.
    pub fn next_due(&self) -> Nanos {
        match &self.due {
            None => Nanos::ZERO,
            Some(due) => due.first().map_or(Nanos::MAX, |(at, _)| *at),
        }
    }

    /// Ends the search.
    pub fn give_up(&mut self) {
        self.finders.iter_mut().for_each(RouterFinder::give_up);
        self.due = Some(BTreeSet::new());
    }

    /// Looks at a received frame; returns whether a router advertised itself on a client's link.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let Some(Received { vlans, packet: Packet::Router { .. }, .. }) = Received::read(frame) else {
            return false;
        };
        let finder = self.vlans.client_of(&vlans).and_then(|client| self.finders.get_mut(client as usize));
        finder.is_some_and(|finder| finder.take(now, frame))
    }

    /// The prefix for autoconfigured addresses, where all clients share a link: see [`RouterFinder::autonomous`].
    pub fn autonomous(&self) -> Option<(Ipv6Addr, Nanos)> {
        self.finders.first().filter(|_| !self.vlans.differ()).and_then(RouterFinder::autonomous)
    }

    /// Whether routers of all clients are known, or had enough time to reply.
    pub fn is_settled(&mut self, now: Nanos) -> bool {
        while self.finders.get(self.settled).is_some_and(|finder| finder.is_settled(now)) {
            self.settled += 1;
        }
        self.settled >= self.finders.len()
    }

    /// The router of a client, by its link-local address.
    pub fn router(&self, now: Nanos, client: u32) -> Option<Ipv6Addr> {
        self.of(client)?.router(now)
    }

    /// Length of the prefix on a client's link that `ip` has, the longest of them.
    pub fn prefix_len(&self, client: u32, ip: Ipv6Addr) -> Option<u8> {
        self.of(client)?.prefix_len(ip)
    }
}

/// The first `len` bits of an address.
fn network(ip: Ipv6Addr, len: u8) -> Ipv6Addr {
    let host = u128::MAX.checked_shr(len.into()).unwrap_or(0);
    Ipv6Addr::from(u128::from(ip) & !host)
}

/// A prefix in an advertisement (RFC 4861 section 4.6.2).
struct Prefix {
    prefix: Ipv6Addr,
    len: u8,
    is_on_link: bool,
    is_autonomous: bool,
    valid_s: u32,
    preferred_s: u32,
}

/// The prefixes in an advertisement; `None` if it is malformed (RFC 4861 section 6.1.2).
fn prefixes(message: &[u8]) -> Option<Vec<Prefix>> {
    let (mut prefixes, mut rest) = (Vec::new(), message.get(OPTIONS..)?);
    while !rest.is_empty() {
        let len = usize::from(*rest.get(1)?) * 8;
        let option = rest.get(..len).filter(|option| !option.is_empty())?;
        if option[0] == PREFIX_INFORMATION && len == 32 && option[2] <= 128 {
            let seconds =
                |at: usize| u32::from_be_bytes([option[at], option[at + 1], option[at + 2], option[at + 3]]);
            prefixes.push(Prefix {
                prefix: network(v6(option, 16)?, option[2]),
                len: option[2],
                is_on_link: option[3] & ON_LINK != 0,
                is_autonomous: option[3] & AUTONOMOUS != 0,
                valid_s: seconds(4),
                preferred_s: seconds(8),
            });
        }
        rest = &rest[len..];
    }
    Some(prefixes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::link_local;

    const SECOND: Nanos = Nanos::from_secs(1);
    const HOST: Mac = [2, 0, 0, 0, 0, 1];
    const ROUTER: Mac = [2, 0, 0, 0, 0, 0xfe];

    fn advert(lifetime: u16, valid: u32) -> Vec<u8> {
        let mut message = vec![134, 0, 0, 0, 64, 0];
        message.extend(lifetime.to_be_bytes());
        message.extend([0; 8]);
        message.extend([1, 1, 2, 0, 0, 0, 0, 0xfe, 3, 4, 64, 0xc0]);
        message.extend(valid.to_be_bytes());
        message.extend([0; 8]);
        message.extend("2001:db8:1:2::".parse::<Ipv6Addr>().unwrap().octets());
        Link::router_advert(ROUTER, &[7].into(), &message)
    }

    #[test]
    fn each_client_has_the_router_of_its_vlans() {
        let each = crate::EachVlan { outer: None, inner: (6, 8) };
        let mut finders = RouterFinders::new(HOST, ClientVlans::each(each, &Vlans::NONE), 3, 10);
        let mut frames = Vec::new();
        assert_eq!(finders.next_due(), Nanos::ZERO);
        for tenth in 10..13 {
            finders.poll(Nanos::from_millis(100 * tenth), &mut frames);
        }
        let sent: Vec<_> = frames.iter().map(|frame| (frame[11], frame[15])).collect();
        assert_eq!(sent, [(1, 6), (2, 7), (3, 8)], "at their rate, each in its VLAN");
        assert!(finders.take(SECOND, &advert(100, 3_600)), "in VLAN 7");
        let ip = "2001:db8:1:2::9".parse().unwrap();
        assert_eq!((finders.router(SECOND, 1), finders.router(SECOND, 0)), (Some(link_local(ROUTER)), None));
        assert_eq!((finders.prefix_len(1, ip), finders.prefix_len(2, ip)), (Some(64), None));
        assert_eq!(finders.autonomous(), None);
        let soon = Nanos::from_millis(2_100);
        assert!(!finders.is_settled(soon) && finders.is_settled(Nanos::from_millis(2_200)));
        finders.give_up();
        assert_eq!(finders.next_due(), Nanos::MAX);
        let mut one = RouterFinders::new(HOST, Vlans::from([7]).into(), 3, 10);
        assert!(one.take(SECOND, &advert(100, 3_600)));
        assert_eq!((one.router(SECOND, 2), one.is_settled(SECOND)), (Some(link_local(ROUTER)), true));
    }

    #[test]
    fn a_router_is_asked_for_and_remembered() {
        let mut finder = RouterFinder::new(HOST, [7].into());
        let mut frames = Vec::new();
        for second in 1..20 {
            finder.poll(Nanos::from_secs(second), &mut frames);
        }
        assert_eq!((frames.len(), finder.next_due()), (3, Nanos::MAX));
        assert_eq!(frames[0][..18], [0x33, 0x33, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 7, 0x86, 0xdd]);
        assert_eq!((frames[0][25], frames[0][58], frames[0].len()), (255, 133, 58 + 16));
        let mut finder = RouterFinder::new(HOST, [7].into());
        finder.poll(SECOND, &mut frames);
        assert!(!finder.is_settled(SECOND) && finder.is_settled(Nanos::from_secs(2)));
        let frame = advert(100, 3_600);
        assert!(crate::may_concern(&frame) && finder.take(SECOND, &frame) && finder.is_settled(SECOND));
        assert_eq!((finder.router(SECOND), finder.next_due()), (Some(link_local(ROUTER)), Nanos::MAX));
        assert_eq!(finder.router(Nanos::from_secs(101)), None, "its lifetime is over");
        let ip = |text: &str| text.parse::<Ipv6Addr>().unwrap();
        assert_eq!(finder.prefix_len(ip("2001:db8:1:2::9")), Some(64));
        assert_eq!(finder.prefix_len(ip("2001:db8:1:3::9")), None);
        assert!(finder.take(SECOND, &advert(0, 0)));
        assert_eq!((finder.router(SECOND), finder.prefix_len(ip("2001:db8:1:2::9"))), (None, None));
    }

    /// An advertisement that shortens a prefix leaves it two hours (RFC 4862 section 5.5.3, e); another prefix has to wait.
    #[test]
    fn a_prefix_for_addresses_is_kept() {
        let mut finder = RouterFinder::new(HOST, [7].into());
        let prefix = "2001:db8:1:2::".parse().unwrap();
        let after = |seconds: u64| Some((prefix, Nanos::from_secs(1 + seconds)));
        for (valid, until) in [(1_000, 1_000), (90_000, 90_000), (10, 7_200), (8_000, 8_000), (0, 7_200)] {
            assert!(finder.take(SECOND, &advert(100, valid)));
            assert_eq!(finder.autonomous(), after(until), "{valid} s");
        }
        assert!(finder.take(SECOND, &advert(100, u32::MAX)));
        assert_eq!(finder.autonomous(), Some((prefix, Nanos::MAX)));
    }

    #[test]
    fn what_is_spoilt_or_for_another_vlan_is_no_router() {
        let frame = advert(100, 3_600);
        for at in (15..16).chain(25..26).chain(58..frame.len()) {
            let mut other = frame.clone();
            other[at] ^= 1;
            assert!(!RouterFinder::new(HOST, [7].into()).take(SECOND, &other), "byte {at}");
        }
        for len in 0..frame.len() {
            assert!(!RouterFinder::new(HOST, [7].into()).take(SECOND, &frame[..len]));
        }
    }
}
