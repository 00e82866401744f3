//! Which hosts behind a port play an end of sessions, and which of its addresses each of them has.

use super::Whose;
use super::pool::Span;
use crate::document::session::EndHostsDoc;
use crate::document::{OneOrMany, VlanId};
use crate::plan::{Address, HostPlan};
use crate::resolve::Resolver;
use crate::resolve::hosts::of;
use session::plan::AddressRange;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Maximum number of hosts of one end of an entry: each has a separate row in the result.
pub(crate) const MOST: usize = 256;

/// Hosts that may play an end, as far as its addresses are theirs.
struct Candidates {
    /// Addresses of the end that are hosts' own.
    owned: BTreeMap<u128, usize>,
    /// Networks of hosts, as far as addresses of the end are on them.
    networks: Vec<(Span, usize)>,
    /// The host for addresses on no host's network.
    first: usize,
    /// Whether it is the only one with its own addresses there.
    is_sole: bool,
}

impl Resolver<'_> {
    /// The hosts that an end of the entry at `path` names, none if it names none; and the end's addresses, if they are known
    /// then.
    pub(super) fn session_hosts_by_name(
        &mut self,
        whose: Whose,
        path: &str,
        doc: Option<&EndHostsDoc>,
        port: Option<usize>,
        addresses: Option<Vec<AddressRange>>,
    ) -> Option<(Vec<usize>, Option<Vec<AddressRange>>)> {
        let Some(doc) = doc else { return Some((Vec::new(), addresses)) };
        let end = format!("{path}.{}", whose.key());
        let path = format!("{end}.hosts");
        let Some(port) = port else {
            self.reading.fail(path, "applies to an emulated end only: this one has no 'port'");
            return None;
        };
        match doc {
            EndHostsDoc::Behind(behind) => {
                let (hosts, addresses) = self.behind(whose, &end, behind, port, addresses)?;
                Some((hosts, Some(addresses)))
            }
            EndHostsDoc::Named(_) if addresses.is_some() => {
                self.reading.fail(path, "the hosts' own addresses are used; remove 'addresses'");
                None
            }
            EndHostsDoc::Named(names) => Some((self.hosts_named(&path, names, port)?, None)),
        }
    }

    /// The hosts behind a port with these names.
    fn hosts_named(&mut self, path: &str, names: &OneOrMany<String>, port: usize) -> Option<Vec<usize>> {
        let mut numbers: Vec<usize> = Vec::new();
        for (index, name) in names.with_paths() {
            let hosts = &self.ports[port].hosts;
            let is_it = |host: &HostPlan| {
                let number = host.name.strip_prefix(name.as_str());
                number.is_some_and(|number| number.is_empty() || number.starts_with('['))
            };
            let found: Vec<usize> = (0..hosts.len()).filter(|number| is_it(&hosts[*number])).collect();
            let reason = if found.is_empty() {
                let known: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
                Some(spelling::unknown("host", name, &known))
            } else if let Some(twice) = found.iter().find(|number| numbers.contains(number)) {
                Some(format!("host {} is in this list twice", named(&hosts[*twice])))
            } else {
                numbers.extend(found);
                (numbers.len() > MOST).then(too_many)
            };
            if let Some(reason) = reason {
                self.reading.fail(format!("{path}{index}"), reason);
                return None;
            }
        }
        Some(numbers)
    }

    /// The addresses of one family that hosts have, each with its host's place.
    pub(super) fn addresses_of(
        &mut self,
        path: &str,
        port: usize,
        numbers: &[usize],
        v4: bool,
    ) -> Option<Vec<AddressRange>> {
        let hosts = &self.ports[port].hosts;
        let mut ranges = Vec::new();
        for (place, number) in numbers.iter().enumerate() {
            let own = hosts[*number].addresses.iter().filter(|own| own.ip.is_ipv4() == v4);
            let before = ranges.len();
            ranges.extend(own.map(|own| AddressRange {
                first: own.ip,
                last: own.ip,
                weight: 1,
                host: place,
            }));
            if ranges.len() == before {
                let family = if v4 { "IPv4" } else { "IPv6" };
                let reason = format!("host {} has no {family} address", named(&hosts[*number]));
                self.reading.fail(format!("{path}.hosts"), reason);
                return None;
            }
        }
        Some(ranges)
    }

    /// The hosts of `port` that have the addresses of an end, and the addresses with their hosts' places among these. An address
    /// is its owner's; others are the host's on whose network they are, and else the first one's.
    pub(super) fn session_hosts(
        &mut self,
        path: &str,
        ranges: Vec<AddressRange>,
        port: Option<usize>,
        vlans: Option<&OneOrMany<VlanId>>,
    ) -> (Vec<usize>, Vec<AddressRange>) {
        let Some(port) = port.filter(|port| self.ports[*port].hosts.len() > 1) else {
            return (vec![0], ranges);
        };
        let vlans = vlans.map(|given| given.with_paths().iter().map(|(_, id)| id.0).collect::<Vec<_>>());
        let found = self
            .candidates(port, &ranges, vlans.as_deref())
            .and_then(|candidates| candidates.share_out(&ranges, &self.ports[port].hosts));
        found.unwrap_or_else(|reason| {
            self.reading.fail(path, reason);
            (vec![0], ranges)
        })
    }

    /// Hosts that may play an end with these addresses; in these VLANs if they are given and have hosts.
    fn candidates(
        &self,
        port: usize,
        ranges: &[AddressRange],
        vlans: Option<&[u16]>,
    ) -> Result<Candidates, String> {
        let hosts = &self.ports[port].hosts;
        let is_meant = |ip: IpAddr| ranges.iter().any(|range| Span::range(range).has(ip));
        let own = |number: usize| hosts[number].addresses.iter().filter(|own| is_meant(own.ip));
        let is_there = |number: &usize| vlans.is_none_or(|vlans| *vlans == *hosts[*number].vlans);
        let all: Vec<usize> = (0..hosts.len()).collect();
        let there: Vec<usize> = all.iter().filter(|number| is_there(number)).copied().collect();
        let there = if there.iter().any(|number| own(*number).next().is_some()) { there } else { all };
        let mut owned = BTreeMap::new();
        for (number, own) in there.iter().flat_map(|number| own(*number).map(move |own| (*number, own))) {
            if let Some(other) = owned.insert(Span::of(own.ip, own.ip).first, number)
                && other != number
            {
                return Err(format!(
                    "{} is an address of the hosts {} and {}; choose one with 'vlan'",
                    own.ip,
                    named(&hosts[other]),
                    named(&hosts[number])
                ));
            }
        }
        let of_first = |number: &&usize| own(**number).next().is_some();
        let first = there.iter().find(of_first).copied();
        let first =
            first.unwrap_or_else(|| self.host_near(port, ranges.first().map(|range| range.first), vlans));
        let touched =
            |network: &Span| ranges.iter().any(|range| network.common(Span::range(range)).is_some());
        let network = |own: &Address| Span::of(own.network().0, own.network().1);
        // In VLANs where nobody is there are no networks, either.
        let placed = there.iter().filter(|number| vlans.is_none() || is_there(number));
        let networks = placed
            .flat_map(|number| hosts[*number].addresses.iter().map(move |own| (network(own), *number)))
            .filter(|(network, _)| touched(network));
        Ok(Candidates {
            is_sole: owned.values().all(|number| *number == first),
            networks: networks.collect(),
            owned,
            first,
        })
    }

    /// The host whose network includes an address of no host, in these VLANs if they are given; or the first of the
    /// address's family.
    fn host_near(&self, port: usize, ip: Option<IpAddr>, vlans: Option<&[u16]>) -> usize {
        let Some(ip) = ip else { return 0 };
        let hosts = &self.ports[port].hosts;
        let near = |number: &usize| {
            let host = &hosts[*number];
            vlans == Some(&host.vlans[..]) && host.addresses.iter().any(|own| own.on_link(ip))
        };
        let tagged = vlans.and_then(|_| (0..hosts.len()).find(near));
        let near = tagged.or_else(|| self.indices[port].on_network(ip));
        near.unwrap_or_else(|| self.host_of_family(port, ip.is_ipv4()))
    }
}

impl Candidates {
    /// Gives every address to a host: the hosts, and the ranges cut where the host changes.
    fn share_out(
        &self,
        ranges: &[AddressRange],
        hosts: &[HostPlan],
    ) -> Result<(Vec<usize>, Vec<AddressRange>), String> {
        let mut places: Vec<usize> = Vec::new();
        let mut shared: Vec<AddressRange> = Vec::new();
        for range in ranges {
            let begin = shared.len();
            let span = Span::range(range);
            for (part, number) in self.parts(span, hosts)? {
                let known = places.iter().position(|place| *place == number);
                let host = known.unwrap_or(places.len());
                if known.is_none() {
                    places.push(number);
                }
                match shared[begin..].last_mut().filter(|before| before.host == host) {
                    Some(before) => before.last = part.ip(part.last),
                    None => shared.push(AddressRange {
                        first: part.ip(part.first),
                        last: part.ip(part.last),
                        weight: range.weight,
                        host,
                    }),
                }
                if places.len() > MOST {
                    return Err(too_many());
                }
            }
        }
        Ok((places, shared))
    }

    /// The parts of a range, in order, each with its host.
    fn parts(&self, span: Span, hosts: &[HostPlan]) -> Result<Vec<(Span, usize)>, String> {
        let mut starts = vec![span.first];
        let inside = self.networks.iter().filter_map(|(network, _)| network.common(span));
        let single = self.owned.range(span.first..=span.last).map(|(ip, _)| (*ip, *ip));
        for (first, last) in inside.map(|span| (span.first, span.last)).chain(single) {
            starts.extend(
                [Some(first), last.checked_add(1).filter(|next| *next <= span.last)].into_iter().flatten(),
            );
        }
        starts.sort_unstable();
        starts.dedup();
        let ends = starts.iter().skip(1).map(|next| next - 1).chain([span.last]);
        let parts = starts.iter().zip(ends).map(|(first, last)| Span { first: *first, last, ..span });
        parts.map(|part| Ok((part, self.host_of(part, hosts)?))).collect()
    }

    /// The host of addresses that are all its own, or all on the same networks.
    fn host_of(&self, part: Span, hosts: &[HostPlan]) -> Result<usize, String> {
        if let Some(owner) = self.owned.get(&part.first) {
            return Ok(*owner);
        }
        let on = self.networks.iter().filter(|(network, _)| network.common(part).is_some());
        let mut near: Vec<usize> = on.map(|(_, number)| *number).collect();
        near.sort_unstable();
        near.dedup();
        match near[..] {
            [] => Ok(self.first),
            [one] => Ok(one),
            _ if self.is_sole && near.contains(&self.first) => Ok(self.first),
            [one, other, ..] => Err(format!(
                "{} is on the network of the hosts {} and {}, and none of their addresses; give it to one by 'ip', or make an \
                 entry of sessions for each host",
                part.ip(part.first),
                named(&hosts[one]),
                named(&hosts[other])
            )),
        }
    }
}

pub(super) fn too_many() -> String {
    format!("more than {MOST} hosts; make several entries of sessions")
}

pub(super) fn named(host: &HostPlan) -> String {
    format!("'{}'{}", host.name, of(&host.vlans))
}
