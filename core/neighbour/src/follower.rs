//! The neighbours of a port's hosts while traffic runs: changes of their hardware address are followed, silent
//! neighbours are probed.
//!
//! Sources: RFC 826; RFC 4861 sections 7.2.5 and 7.3; RFC 1122 section 2.3.2.1 (the same for ARP, by unicast requests).
//!
//! Not here: who sends to them, and what becomes of frames under way.
//!
//! Invariant: a port sends at most one probe in [`Follower::GAP`], for any number of neighbours. A neighbour without a
//! reply keeps its hardware address.

use crate::{Claim, Hosts, Mac};
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::Nanos;

/// Time for which a neighbour is considered reachable after its last frame (RFC 4861 section 10: REACHABLE_TIME).
const REACHABLE: Nanos = Nanos::from_secs(30);
/// From one question to the next (RETRANS_TIMER).
const RETRANSMIT: Nanos = Nanos::from_secs(1);
/// Probes to the known hardware address (MAX_UNICAST_SOLICIT), before a multicast one.
const UNICASTS: u8 = 3;
/// Time for which a neighbour that has moved stays where it is: two that claim one address do not drive traffic to and
/// fro.
const SETTLED: Nanos = Nanos::from_millis(100);

/// A neighbour has another hardware address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The neighbour.
    pub ip: IpAddr,
    /// Numbers of the hosts that send to it, ascending.
    pub hosts: Vec<usize>,
    /// The hardware address it had.
    pub from: Mac,
    /// The one it has.
    pub to: Mac,
    /// Whether it was probed, because it had been silent for long.
    pub was_asked: bool,
}

/// Neighbours of a port's hosts.
#[derive(Debug)]
pub struct Follower {
    entries: Vec<Entry>,
    /// Where in `entries` an address of a VLAN is.
    places: BTreeMap<(u32, IpAddr), usize>,
    /// When the first of them has something to do, at the earliest.
    next: Nanos,
    /// Time of the port's next allowed probe.
    free: Nanos,
}

#[derive(Debug)]
struct Entry {
    ip: IpAddr,
    hosts: Vec<usize>,
    mac: Mac,
    /// Probes since its last frame.
    asked: u8,
    /// Time of its next probe.
    due: Nanos,
    /// Until when it stays where it is, and where it goes then.
    settled: Nanos,
    claimed: Option<Mac>,
}

impl Entry {
    /// Whether there is no reply from the known hardware address.
    fn is_silent(&self) -> bool {
        self.asked >= UNICASTS
    }

    fn goes_to(&mut self, now: Nanos, mac: Mac) -> Move {
        let was_asked = self.asked > 0;
        let from = std::mem::replace(&mut self.mac, mac);
        (self.asked, self.claimed) = (0, None);
        (self.due, self.settled) = (now + REACHABLE, now + SETTLED);
        Move { ip: self.ip, hosts: self.hosts.clone(), from, to: mac, was_asked }
    }
}

impl Follower {
    /// From one question of a port to the next.
    pub const GAP: Nanos = Nanos::from_millis(100);

    /// Neighbours with the numbers of the hosts that send to them and their hardware addresses, as they are known at `now`.
    pub fn new(hosts: &Hosts, now: Nanos, known: impl IntoIterator<Item = (usize, IpAddr, Mac)>) -> Self {
        let (mut entries, mut places) = (Vec::<Entry>::new(), BTreeMap::new());
        for (host, ip, mac) in known {
            let Some(vlan) = hosts.vlan(&hosts.host(host).vlans) else { continue };
            let place = *places.entry((vlan, ip)).or_insert(entries.len());
            if let Some(entry) = entries.get_mut(place) {
                entry.hosts.push(host);
                continue;
            }
            let due = now + REACHABLE + Nanos(Self::GAP.0 * place as u64);
            let settled = Nanos::ZERO;
            entries.push(Entry { ip, hosts: vec![host], mac, asked: 0, due, settled, claimed: None });
        }
        let mut all = Self { entries, places, next: Nanos::MAX, free: Nanos::ZERO };
        all.find_next();
        all
    }

    /// Processes a frame's claim at `now`; returns the move if it gives the neighbour another hardware address.
    pub fn take(&mut self, now: Nanos, hosts: &Hosts, claim: &Claim) -> Option<Move> {
        let vlan = hosts.vlan(&claim.vlans)?;
        let entry = &mut self.entries[*self.places.get(&(vlan, claim.ip))?];
        if claim.mac == entry.mac {
            (entry.asked, entry.due, entry.claimed) = (0, now + REACHABLE, None);
        } else if !claim.replaces && !entry.is_silent() {
            // RFC 4861 section 7.2.5: it is not believed, and the one that is known is asked whether it is still there.
            entry.due = entry.due.min(now);
            self.next = self.next.min(entry.due.max(self.free));
        } else if now < entry.settled {
            entry.claimed = Some(claim.mac);
            self.next = self.next.min(entry.settled);
        } else {
            return Some(entry.goes_to(now, claim.mac));
        }
        None
    }

    /// The probe that is due, and the neighbours that move to an address claimed meanwhile.
    pub fn poll(&mut self, now: Nanos, hosts: &Hosts) -> (Option<Vec<u8>>, Vec<Move>) {
        if now < self.next {
            return (None, Vec::new());
        }
        let settled = |entry: &mut Entry| {
            let mac = entry.claimed.filter(|_| entry.settled <= now)?;
            Some(entry.goes_to(now, mac))
        };
        let moves = self.entries.iter_mut().filter_map(settled).collect();
        let mut frame = None;
        if self.free <= now
            && let Some(entry) = self.entries.iter_mut().min_by_key(|entry| entry.due)
            && entry.due <= now
        {
            let host = hosts.host(entry.hosts[0]);
            frame = if entry.is_silent() { host.request(entry.ip) } else { host.probe(entry.ip, entry.mac) };
            entry.asked = entry.asked.saturating_add(1);
            entry.due = now + RETRANSMIT;
            self.free = now + Self::GAP;
        }
        self.find_next();
        (frame, moves)
    }

    /// When there may be something to do; [`Nanos::MAX`] without neighbours.
    pub fn next_due(&self) -> Nanos {
        self.next
    }

    fn find_next(&mut self) {
        let claimed = self.entries.iter().filter(|entry| entry.claimed.is_some());
        let claimed = claimed.map(|entry| entry.settled).min().unwrap_or(Nanos::MAX);
        let due = self.entries.iter().map(|entry| entry.due).min().unwrap_or(Nanos::MAX);
        self.next = claimed.min(due.max(self.free));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;
    use crate::tests::host;

    const SECOND: Nanos = Nanos::from_secs(1);

    /// Two hosts that send to one neighbour in both families, and the neighbour.
    fn world() -> (Hosts, Host, Follower) {
        let (hosts, router) = (Hosts::new(vec![host(1), host(2)], Vec::new()), host(9));
        let known = router.addresses.iter().flat_map(|ip| (0..2).map(|asker| (asker, *ip, router.mac)));
        let follower = Follower::new(&hosts, Nanos::ZERO, known.collect::<Vec<_>>());
        (hosts, router, follower)
    }

    fn elsewhere() -> Host {
        Host { mac: [2, 0, 0, 0, 1, 9], ..host(9) }
    }

    fn claim(of: &Host, family: usize) -> Claim {
        Claim { vlans: Vec::new(), ip: of.addresses[family], mac: of.mac, replaces: true }
    }

    #[test]
    fn one_that_says_it_has_moved_is_followed_at_once() {
        for family in [0, 1] {
            let (hosts, router, mut follower) = world();
            let now = SECOND;
            assert_eq!(follower.take(now, &hosts, &claim(&router, family)), None, "it is where it was");
            let moved = follower.take(now, &hosts, &claim(&elsewhere(), family)).unwrap();
            let Move { ip, hosts: of, from, to, was_asked } = moved;
            assert_eq!((ip, of, was_asked), (router.addresses[family], vec![0, 1], false));
            assert_eq!((from, to), (router.mac, elsewhere().mac));
            let other_vlan = Claim { vlans: vec![7], ..claim(&router, family) };
            assert_eq!(follower.take(now + SECOND, &hosts, &other_vlan), None);
        }
    }

    #[test]
    fn two_that_claim_one_address_are_followed_ten_times_a_second_at_most() {
        let (hosts, router, mut follower) = world();
        let (mut moves, mut now) = (0, SECOND);
        while now < Nanos::from_secs(2) {
            for one in [&elsewhere(), &router] {
                moves += usize::from(follower.take(now, &hosts, &claim(one, 0)).is_some());
            }
            moves += follower.poll(now, &hosts).1.len();
            now += Nanos::from_millis(1);
        }
        assert!((2..=11).contains(&moves), "{moves}");
    }

    #[test]
    fn a_claim_that_came_too_soon_is_followed_later() {
        let (hosts, router, mut follower) = world();
        follower.take(SECOND, &hosts, &claim(&elsewhere(), 0)).unwrap();
        assert_eq!(follower.take(SECOND + Nanos(1), &hosts, &claim(&router, 0)), None);
        assert_eq!(follower.next_due(), SECOND + SETTLED);
        let (_, moves) = follower.poll(follower.next_due(), &hosts);
        assert_eq!(moves.iter().map(|one| one.to).collect::<Vec<_>>(), [router.mac]);
    }

    #[test]
    fn a_silent_one_is_asked_and_then_all_are() {
        let (hosts, router, mut follower) = world();
        let (mut asked, mut moved) = (Vec::new(), None);
        while moved.is_none() {
            let now = follower.next_due();
            let (frame, _) = follower.poll(now, &hosts);
            let Some(frame) = frame.filter(|frame| frame[12..14] == [8, 6]) else { continue };
            asked.push((now, frame[..6].to_vec()));
            // The old one has gone, the new one says nothing by itself.
            if frame[..6] != router.mac {
                let answer = elsewhere().answer(&frame).unwrap();
                moved = follower.take(now, &hosts, &Claim::read(&answer).unwrap());
            }
        }
        let to: Vec<_> = asked.iter().map(|(_, to)| to.as_slice()).collect();
        assert_eq!(to, [&router.mac[..], &router.mac, &router.mac, &[0xff; 6]]);
        let (first, last) = (asked[0].0, asked[3].0);
        assert_eq!((first, last.since(first)), (REACHABLE, Nanos(3 * SECOND.0)));
        assert!(moved.is_some_and(|one| one.was_asked && one.to == elsewhere().mac));
    }

    #[test]
    fn one_that_answers_is_asked_every_half_minute() {
        let (hosts, router, mut follower) = world();
        let (mut now, mut asked) = (Nanos::ZERO, 0);
        while now < Nanos::from_secs(300) {
            now = follower.next_due();
            let Some(frame) = follower.poll(now, &hosts).0 else { continue };
            asked += 1;
            assert_eq!(frame[..6], router.mac, "nobody else is asked");
            let answer = router.answer(&frame).expect("a well-formed question");
            assert_eq!(follower.take(now, &hosts, &Claim::read(&answer).unwrap()), None);
        }
        // Of each family.
        assert!((18..=20).contains(&asked), "{asked}");
    }

    #[test]
    fn an_advertisement_that_overrides_nothing_makes_it_ask() {
        let (hosts, router, mut follower) = world();
        let modest = Claim { replaces: false, ..claim(&elsewhere(), 1) };
        assert_eq!(follower.take(SECOND, &hosts, &modest), None);
        let (frame, _) = follower.poll(SECOND, &hosts);
        let frame = frame.expect("the one that is known is asked");
        assert_eq!(frame[..6], router.mac);
        assert!(router.answer(&frame).is_some());
        // It does not answer: then any other one is believed.
        for _ in 0..2 {
            follower.poll(follower.next_due(), &hosts);
        }
        let moved = follower.take(follower.next_due(), &hosts, &modest);
        assert_eq!(moved.map(|one| one.to), Some(elsewhere().mac));
    }

    #[test]
    fn many_silent_neighbours_are_asked_no_faster_than_one() {
        let hosts = Hosts::new(vec![host(1)], Vec::new());
        let ip = |n: u32| IpAddr::V4((0x0a00_0100 + n).into());
        let known = (0..1_000).map(|n| (0, ip(n), [2, 0, 0, 9, (n >> 8) as u8, n as u8]));
        let mut follower = Follower::new(&hosts, Nanos::ZERO, known);
        let (mut now, mut asked) = (Nanos::ZERO, 0);
        while now < Nanos::from_secs(100) {
            asked += usize::from(follower.poll(now, &hosts).0.is_some());
            now = follower.next_due();
        }
        assert!((690..=710).contains(&asked), "{asked}");
    }
}
