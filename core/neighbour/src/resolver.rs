//! Asks for the neighbours of a port's hosts until all are known.
//!
//! Invariant: a neighbour is known once each host that wants it has sent a request, or its address was given: a request
//! also gives the neighbour the host's address.

use crate::{Claim, Hosts, Mac};
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::Nanos;

/// Time between two requests for the same neighbour.
pub(crate) const RETRY: Nanos = Nanos::from_millis(200);
/// Requests sent at a time, so that neither a queue nor a neighbour has more than it can take.
const AT_ONCE: usize = 64;
/// From one such burst to the next.
const PAUSE: Nanos = Nanos::from_millis(1);

/// A neighbour of a host.
#[derive(Debug)]
struct Wanted {
    host: usize,
    ip: IpAddr,
    mac: Option<Mac>,
    /// Whether the hardware address was given, and no request is sent.
    is_given: bool,
    is_asked: bool,
}

impl Wanted {
    fn is_done(&self) -> bool {
        self.mac.is_some() && (self.is_asked || self.is_given)
    }
}

/// Asks for neighbours until all are known.
#[derive(Debug)]
pub struct Resolver {
    /// By host and address, so that the same profile sends requests in the same order.
    wanted: Vec<Wanted>,
    /// Where in `wanted` an address of a VLAN is.
    places: BTreeMap<(u32, IpAddr), Vec<usize>>,
    /// Number of those that are not done.
    missing: usize,
    /// The next one to look at in this round.
    next: usize,
    next_request: Nanos,
    next_round: Nanos,
}

impl Resolver {
    /// Will resolve `wanted`, each a host's number and an address; except the `given` ones.
    pub fn new(
        hosts: &Hosts,
        wanted: impl IntoIterator<Item = (usize, IpAddr)>,
        given: impl IntoIterator<Item = (usize, IpAddr, Mac)>,
    ) -> Self {
        let mut all: BTreeMap<(usize, IpAddr), Option<Mac>> = BTreeMap::new();
        wanted.into_iter().for_each(|(host, ip)| _ = all.insert((host, ip), None));
        given.into_iter().for_each(|(host, ip, mac)| _ = all.insert((host, ip), Some(mac)));
        let entry = |((host, ip), mac): ((usize, IpAddr), Option<Mac>)| Wanted {
            host,
            ip,
            mac,
            is_given: mac.is_some(),
            is_asked: false,
        };
        let wanted: Vec<Wanted> = all.into_iter().map(entry).collect();
        let mut places: BTreeMap<(u32, IpAddr), Vec<usize>> = BTreeMap::new();
        for (place, one) in wanted.iter().enumerate() {
            if let Some(vlan) = hosts.vlan(&hosts.host(one.host).vlans) {
                places.entry((vlan, one.ip)).or_default().push(place);
            }
        }
        let missing = wanted.iter().filter(|one| !one.is_done()).count();
        Self { wanted, places, missing, next: 0, next_request: Nanos::ZERO, next_round: Nanos::ZERO }
    }

    /// Requests that are due.
    pub fn requests(&mut self, now: Nanos, hosts: &Hosts) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        if now < self.next_request {
            return frames;
        }
        if self.next == 0 {
            self.next_round = now + RETRY;
        }
        while let Some(one) = self.wanted.get_mut(self.next).filter(|_| frames.len() < AT_ONCE) {
            self.next += 1;
            if one.is_done() {
                continue;
            }
            let host = hosts.host(one.host);
            frames.extend(host.sources(one.ip).into_iter().filter_map(|own| host.request_from(own, one.ip)));
            one.is_asked = true;
            self.missing -= usize::from(one.is_done());
        }
        self.next_request = now + PAUSE;
        if self.next == self.wanted.len() {
            (self.next, self.next_request) = (0, self.next_round);
        }
        frames
    }

    /// When requests are next due; [`Nanos::MAX`] when all is known.
    pub fn next_due(&self) -> Nanos {
        if self.missing == 0 { Nanos::MAX } else { self.next_request }
    }

    /// Looks at a received frame; returns whether a neighbour has another hardware address by it.
    pub fn take(&mut self, hosts: &Hosts, frame: &[u8]) -> bool {
        let Some(claim) = Claim::read(frame) else { return false };
        let places = hosts.vlan(&claim.vlans).and_then(|vlan| self.places.get(&(vlan, claim.ip)));
        let mut moved = false;
        for place in places.into_iter().flatten() {
            let one = &mut self.wanted[*place];
            let is_new = one.mac.is_none();
            if one.is_given || !is_new && !claim.replaces {
                continue;
            }
            let was_done = one.is_done();
            moved |= one.mac.replace(claim.mac).is_some_and(|before| before != claim.mac);
            self.missing -= usize::from(!was_done && one.is_done());
        }
        moved
    }

    /// Hosts and their unresolved neighbours.
    pub fn unknown(&self) -> impl Iterator<Item = (usize, IpAddr)> {
        self.wanted.iter().filter(|one| one.mac.is_none()).map(|one| (one.host, one.ip))
    }

    /// Hosts with their resolved or given neighbours, in the order of hosts and addresses, and whether they were given.
    pub fn known(&self) -> impl Iterator<Item = (usize, IpAddr, Mac, bool)> {
        self.wanted.iter().filter_map(|one| Some((one.host, one.ip, one.mac?, one.is_given)))
    }

    /// The hardware address of a host's neighbour.
    pub fn mac(&self, host: usize, ip: IpAddr) -> Option<Mac> {
        let place = self.wanted.binary_search_by_key(&(host, ip), |one| (one.host, one.ip)).ok()?;
        self.wanted[place].mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;

    const GATEWAY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 255, 254));
    const ROUTER: Mac = [2, 0, 0, 0, 0, 99];

    fn own(n: u32) -> IpAddr {
        IpAddr::V4((0x0a00_0001 + n).into())
    }

    fn host(n: u32, vlans: &[u16]) -> Host {
        let network = IpAddr::from([10, 0, 0, 0])..=IpAddr::from([10, 0, 255, 255]);
        let mac = [2, 0, 0, 1, (n >> 8) as u8, n as u8];
        Host {
            mac,
            vlans: vlans.into(),
            addresses: vec![own(n)],
            networks: vec![network],
            answers_for: vec![],
        }
    }

    fn router(vlans: &[u16]) -> Host {
        Host { mac: ROUTER, addresses: vec![GATEWAY], answers_for: vec![GATEWAY..=GATEWAY], ..host(0, vlans) }
    }

    #[test]
    fn every_host_asks_in_its_vlan_and_is_answered_there() {
        let hosts = Hosts::new(vec![host(0, &[]), host(1, &[7]), host(2, &[7])], Vec::new());
        let mut resolver = Resolver::new(&hosts, (0..3).map(|n| (n, GATEWAY)), []);
        let asked = resolver.requests(Nanos(1), &hosts);
        let tagged: Vec<bool> = asked.iter().map(|frame| frame[12..14] == [0x81, 0]).collect();
        assert_eq!(tagged, [false, true, true]);
        resolver.take(&hosts, &router(&[7]).answer(&asked[1]).unwrap());
        assert_eq!(resolver.unknown().collect::<Vec<_>>(), [(0, GATEWAY)], "VLAN 7 is not all");
        assert_eq!((resolver.mac(0, GATEWAY), resolver.mac(2, GATEWAY)), (None, Some(ROUTER)));
        resolver.take(&hosts, &router(&[]).answer(&asked[0]).unwrap());
        assert_eq!((resolver.next_due(), resolver.known().count()), (Nanos::MAX, 3));
    }

    #[test]
    fn an_address_that_is_given_is_not_asked_for_and_not_unlearnt() {
        let hosts = Hosts::new(vec![host(0, &[])], Vec::new());
        let fixed = [2, 0, 0, 0, 0, 77];
        let mut resolver = Resolver::new(&hosts, [(0, GATEWAY)], [(0, GATEWAY, fixed)]);
        assert_eq!(resolver.next_due(), Nanos::MAX);
        assert!(resolver.requests(Nanos(1), &hosts).is_empty());
        let stray = router(&[]).request(own(0)).unwrap();
        resolver.take(&hosts, &stray);
        assert_eq!(resolver.mac(0, GATEWAY), Some(fixed));
    }

    #[test]
    fn many_ask_a_few_at_a_time_and_each_asks_once_at_least() {
        let hosts = Hosts::new((0..1_000).map(|n| host(n, &[])).collect(), Vec::new());
        let mut resolver = Resolver::new(&hosts, (0..1_000).map(|n| (n, GATEWAY)), []);
        let (mut now, mut asked) = (Nanos(1), 0);
        while resolver.next_due() != Nanos::MAX {
            let requests = resolver.requests(now, &hosts);
            assert!(requests.len() <= AT_ONCE);
            asked += requests.len();
            // The first answer tells all in the VLAN; the others ask once all the same.
            if let Some(request) = requests.first() {
                resolver.take(&hosts, &router(&[]).answer(request).unwrap());
            }
            now = resolver.next_due();
            assert!(now == Nanos::MAX || now < Nanos::from_millis(100));
        }
        assert_eq!(asked, 1_000);
    }

    #[test]
    fn every_address_on_the_gateways_network_asks() {
        let mut one = host(0, &[]);
        one.addresses.push(own(9));
        one.addresses.push(IpAddr::from([192, 168, 0, 1]));
        one.networks.push(one.networks[0].clone());
        one.networks.push(IpAddr::from([192, 168, 0, 0])..=IpAddr::from([192, 168, 0, 255]));
        let hosts = Hosts::new(vec![one], Vec::new());
        let asked = Resolver::new(&hosts, [(0, GATEWAY)], []).requests(Nanos(1), &hosts);
        let senders: Vec<&[u8]> = asked.iter().map(|frame| &frame[28..32]).collect();
        assert_eq!(senders, [[10, 0, 0, 1], [10, 0, 0, 10]]);
    }
}
