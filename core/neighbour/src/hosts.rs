//! All hosts behind one port: whose an address is, in which VLAN.
//!
//! A frame is looked up by VLAN and address in time that grows with the logarithm of the number of hosts.
//!
//! Invariant: in one VLAN an address has one host at most. Hosts' own addresses come before ranges of others, and what
//! comes earlier before what comes later.

use crate::question::Question;
use crate::{Claim, Host, Mac};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// The hosts behind one port.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// The port's own is the first.
    hosts: Vec<Host>,
    /// A number for each stack of VLANs that a host is in.
    vlans: BTreeMap<Vec<u16>, u32>,
    /// Addresses that hosts reply for.
    named: Cover,
    /// Their networks.
    networks: Cover,
    /// Addresses for which the host on their network replies; sorted, apart from each other.
    sent_to: Vec<RangeInclusive<IpAddr>>,
    /// Number of the first hosts that leave replies for their own addresses to a namespace.
    punted: usize,
    /// Neighbours that frames go to, by VLAN.
    neighbours: BTreeSet<(u32, IpAddr)>,
}

impl Hosts {
    /// `hosts`, the port's own first. For an address in `sent_to` that no host has, the first host on its network
    /// replies.
    pub fn new(hosts: Vec<Host>, sent_to: Vec<RangeInclusive<IpAddr>>) -> Self {
        let mut vlans = BTreeMap::new();
        let (mut named, mut networks) = (Cover::default(), Cover::default());
        let numbers: Vec<u32> = hosts
            .iter()
            .map(|host| {
                let next = vlans.len() as u32;
                *vlans.entry(host.vlans.to_vec()).or_insert(next)
            })
            .collect();
        let each = || numbers.iter().zip(&hosts).zip(0u32..);
        for ((vlan, host), number) in each() {
            host.addresses.iter().for_each(|ip| named.add(*vlan, &(*ip..=*ip), number));
        }
        for ((vlan, host), number) in each() {
            host.answers_for.iter().for_each(|range| named.add(*vlan, range, number));
            host.networks.iter().for_each(|range| networks.add(*vlan, range, number));
        }
        Self {
            hosts,
            vlans,
            named,
            networks,
            sent_to: joined(sent_to),
            punted: 0,
            neighbours: BTreeSet::new(),
        }
    }

    /// Leaves requests for the first `hosts` hosts' own addresses to the receiver of their punted frames.
    #[must_use]
    pub fn punt(self, hosts: usize) -> Self {
        Self { punted: hosts, ..self }
    }

    /// The host with the number `index`.
    pub fn host(&self, index: usize) -> &Host {
        &self.hosts[index]
    }

    /// All of them, in the order of their numbers.
    pub fn all(&self) -> &[Host] {
        &self.hosts
    }

    /// Reply of a host to `frame`, if it is for one of them.
    pub fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let question = Question::read(frame)?;
        let owner = self.owner(&question.vlans, question.target)?;
        let host = &self.hosts[owner];
        if owner < self.punted && host.addresses.contains(&question.target) {
            return None;
        }
        host.reply(&question)
    }

    /// The number of the host that replies for `ip` in these VLANs, outermost first.
    pub fn owner(&self, vlans: &[u16], ip: IpAddr) -> Option<usize> {
        let vlan = *self.vlans.get(vlans)?;
        let sent_to = || has(&self.sent_to, ip).then(|| self.networks.find(vlan, ip)).flatten();
        self.named.find(vlan, ip).or_else(sent_to).map(|host| host as usize)
    }

    /// Looks out for claims of these neighbours, each with the number of a host that sends to it.
    pub fn watch(&mut self, neighbours: impl IntoIterator<Item = (usize, IpAddr)>) {
        for (host, ip) in neighbours {
            let vlan = self.vlan(&self.hosts[host].vlans);
            self.neighbours.extend(vlan.map(|vlan| (vlan, ip)));
        }
    }

    /// The hardware address of a watched neighbour in a frame.
    pub fn claim(&self, frame: &[u8]) -> Option<Claim> {
        if self.neighbours.is_empty() {
            return None;
        }
        let claim = Claim::read(frame)?;
        self.neighbours.contains(&(self.vlan(&claim.vlans)?, claim.ip)).then_some(claim)
    }

    /// The number of these VLANs, if a host is in them.
    pub(crate) fn vlan(&self, vlans: &[u16]) -> Option<u32> {
        self.vlans.get(vlans).copied()
    }
}

/// Two of `hosts` with the same hardware address in the same VLANs, by number, if there are such.
pub fn twins(hosts: &[Host]) -> Option<(usize, usize)> {
    let mut seen: BTreeMap<(&[u16], Mac), usize> = BTreeMap::new();
    hosts
        .iter()
        .enumerate()
        .find_map(|(number, host)| seen.insert((&host.vlans, host.mac), number).map(|other| (other, number)))
}

/// Ranges of addresses in VLANs, each with its host, none over another.
#[derive(Debug, Clone, Default)]
struct Cover {
    /// By VLAN and first address: the last address, and the host.
    ranges: BTreeMap<(u32, IpAddr), (IpAddr, u32)>,
}

impl Cover {
    /// Gives `host` what of `range` is still free.
    fn add(&mut self, vlan: u32, range: &RangeInclusive<IpAddr>, host: u32) {
        let (first, last) = (*range.start(), *range.end());
        if first > last || first.is_ipv4() != last.is_ipv4() {
            return;
        }
        let start = self.before(vlan, first).map_or(first, |(begin, _)| begin);
        let taken: Vec<(IpAddr, IpAddr)> = self
            .ranges
            .range((vlan, start)..=(vlan, last))
            .map(|((_, from), (to, _))| (*from, *to))
            .collect();
        let mut free = Some(first);
        for (from, to) in taken {
            let Some(start) = free else { return };
            if let Some(end) = before(from).filter(|end| start <= *end) {
                self.ranges.insert((vlan, start), (end, host));
            }
            free = if to < start { Some(start) } else { next(to) };
        }
        if let Some(start) = free.filter(|start| *start <= last) {
            self.ranges.insert((vlan, start), (last, host));
        }
    }

    /// The last range that begins at `ip` or before.
    fn before(&self, vlan: u32, ip: IpAddr) -> Option<(IpAddr, (IpAddr, u32))> {
        let ((of, first), end) = self.ranges.range(..=(vlan, ip)).next_back()?;
        (*of == vlan).then_some((*first, *end))
    }

    fn find(&self, vlan: u32, ip: IpAddr) -> Option<u32> {
        let (_, (last, host)) = self.before(vlan, ip)?;
        (ip <= last).then_some(host)
    }
}

fn has(ranges: &[RangeInclusive<IpAddr>], ip: IpAddr) -> bool {
    let index = ranges.partition_point(|range| *range.start() <= ip);
    index > 0 && ranges[index - 1].contains(&ip)
}

/// The same addresses in as few ranges as can be, in order.
fn joined(mut ranges: Vec<RangeInclusive<IpAddr>>) -> Vec<RangeInclusive<IpAddr>> {
    ranges.sort_by_key(|range| *range.start());
    let mut joined: Vec<RangeInclusive<IpAddr>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start() <= last.end() || next(*last.end()) == Some(*range.start()) => {
                *last = *last.start()..=(*last.end()).max(*range.end());
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// The address after `ip`.
fn next(ip: IpAddr) -> Option<IpAddr> {
    match ip {
        IpAddr::V4(ip) => Some(IpAddr::V4(u32::from(ip).checked_add(1)?.into())),
        IpAddr::V6(ip) => Some(IpAddr::V6(u128::from(ip).checked_add(1)?.into())),
    }
}

/// The address before `ip`.
fn before(ip: IpAddr) -> Option<IpAddr> {
    match ip {
        IpAddr::V4(ip) => Some(IpAddr::V4(u32::from(ip).checked_sub(1)?.into())),
        IpAddr::V6(ip) => Some(IpAddr::V6(u128::from(ip).checked_sub(1)?.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn host(vlans: &[u16], own: &str, network: (&str, &str), answers: &[(&str, &str)]) -> Host {
        Host {
            mac: [2, 0, 0, 0, 0, 1],
            vlans: vlans.into(),
            addresses: vec![ip(own)],
            networks: vec![ip(network.0)..=ip(network.1)],
            answers_for: answers.iter().map(|(first, last)| ip(first)..=ip(last)).collect(),
        }
    }

    const NETWORK: (&str, &str) = ("10.0.0.0", "10.0.0.255");

    #[test]
    fn an_address_has_one_host_in_a_vlan() {
        let hosts = Hosts::new(
            vec![
                host(&[], "10.0.0.2", NETWORK, &[("10.0.0.1", "10.0.0.9")]),
                host(&[], "10.0.0.5", NETWORK, &[("10.0.0.8", "10.0.0.12")]),
                host(&[7], "10.0.0.2", NETWORK, &[]),
                host(&[8, 7], "10.0.1.2", ("10.0.1.0", "10.0.1.255"), &[]),
            ],
            vec![ip("10.0.0.30")..=ip("10.0.0.31"), ip("10.0.1.40")..=ip("10.0.2.40")],
        );
        for (vlans, address, wanted) in [
            (&[][..], "10.0.0.2", Some(0)),
            (&[], "10.0.0.5", Some(1)),
            (&[], "10.0.0.4", Some(0)),
            (&[], "10.0.0.9", Some(0)),
            (&[], "10.0.0.10", Some(1)),
            (&[], "10.0.0.13", None),
            (&[], "10.0.0.31", Some(0)),
            (&[], "10.0.1.2", None),
            (&[7], "10.0.0.2", Some(2)),
            (&[7], "10.0.0.5", None),
            (&[7], "10.0.0.30", Some(2)),
            (&[8, 7], "10.0.1.50", Some(3)),
            (&[8, 7], "10.0.2.1", None),
            (&[9], "10.0.0.2", None),
        ] {
            assert_eq!(hosts.owner(vlans, ip(address)), wanted, "{address} in {vlans:?}");
        }
        assert_eq!(twins(hosts.all()), Some((0, 1)));
    }

    #[test]
    fn each_answers_in_its_own_vlan_only() {
        let mut red = host(&[7], "10.0.0.2", NETWORK, &[]);
        red.mac[5] = 7;
        let hosts = Hosts::new(vec![host(&[], "10.0.0.3", NETWORK, &[]), red], Vec::new());
        let ask = |vlans: &[u16]| host(vlans, "10.0.0.9", NETWORK, &[]).request(ip("10.0.0.2")).unwrap();
        assert_eq!(hosts.answer(&ask(&[])), None);
        assert_eq!(hosts.answer(&ask(&[8])), None);
        let answer = hosts.answer(&ask(&[7])).unwrap();
        assert_eq!((&answer[6..12], &answer[12..16]), (&[2, 0, 0, 0, 0, 7][..], &[0x81, 0, 0, 7][..]));
        // A tag that only tells a priority is none.
        let mut priority = ask(&[7]);
        priority[14..16].copy_from_slice(&[0xa0, 0]);
        assert_eq!(hosts.answer(&priority), None);
        priority[41] = 3;
        priority[45] = 3;
        assert!(hosts.answer(&priority).is_some_and(|answer| answer[12..14] == [8, 6]));
    }

    #[test]
    fn what_is_asked_of_a_punted_host_is_left_to_others() {
        let hosts = [
            host(&[], "10.0.0.2", NETWORK, &[("10.0.0.2", "10.0.0.9")]),
            host(&[], "10.0.0.30", NETWORK, &[]),
        ];
        let all = Hosts::new(hosts.to_vec(), vec![ip("10.0.0.200")..=ip("10.0.0.200")]).punt(1);
        let asker = host(&[], "10.0.0.99", NETWORK, &[]);
        let answers = |target| all.answer(&asker.request(ip(target)).unwrap()).is_some();
        assert!(!answers("10.0.0.2"));
        assert!(answers("10.0.0.9") && answers("10.0.0.200"), "sessions and streams are not the namespace's");
        assert!(answers("10.0.0.30"));
    }

    #[test]
    fn four_thousand_hosts_are_told_apart() {
        let each = |n: u32| {
            let own = IpAddr::V4((0x0a00_0000 + n).into());
            let mac = [2, 0, 0, 0, (n >> 8) as u8, n as u8];
            let vlans = vec![(n % 4_000) as u16 + 1];
            Host {
                mac,
                vlans: vlans.into(),
                addresses: vec![own],
                networks: Vec::new(),
                answers_for: vec![own..=own],
            }
        };
        let hosts = Hosts::new((0..4_096).map(each).collect(), Vec::new());
        for n in (0..4_096).step_by(37) {
            let host = each(n);
            assert_eq!(hosts.owner(&host.vlans, host.addresses[0]), Some(n as usize));
            assert_eq!(hosts.owner(&[4_001], host.addresses[0]), None);
        }
        assert_eq!(twins(hosts.all()), None);
    }
}
