//! Which host behind a port sends a stream, and which one it goes to.

use super::Resolver;
use super::hosts::of;
use super::packet::{Draft, ip_value};
use crate::plan::PortPlan;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

/// The hosts of a port, indexed for lookups.
#[derive(Default)]
pub(super) struct HostIndex {
    by_name: HashMap<String, usize>,
    by_ip: HashMap<IpAddr, Vec<usize>>,
    /// The first host of each network, by its length and first address.
    by_network: HashMap<(u8, IpAddr), usize>,
    /// The lengths there are.
    lengths: BTreeSet<u8>,
}

impl HostIndex {
    pub(super) fn new(port: &PortPlan) -> Self {
        let mut index = Self::default();
        for (number, host) in port.hosts.iter().enumerate() {
            index.by_name.insert(host.name.clone(), number);
            for address in &host.addresses {
                index.by_ip.entry(address.ip).or_default().push(number);
                index.lengths.insert(address.prefix_len);
                index.by_network.entry((address.prefix_len, address.network().0)).or_insert(number);
            }
        }
        index
    }

    /// The hosts whose own address `ip` is, one in each VLAN.
    pub(super) fn owners(&self, ip: IpAddr) -> &[usize] {
        self.by_ip.get(&ip).map_or(&[], Vec::as_slice)
    }

    /// The first host on the narrowest network that `ip` is on.
    pub(super) fn on_network(&self, ip: IpAddr) -> Option<usize> {
        let width = if ip.is_ipv4() { 32 } else { 128 };
        let lengths = self.lengths.iter().rev().filter(|length| **length <= width);
        let network = |length: &u8| crate::plan::Address { ip, prefix_len: *length }.network().0;
        lengths.filter_map(|length| self.by_network.get(&(*length, network(length)))).copied().next()
    }
}

impl Resolver<'_> {
    /// The host called `name` behind a port.
    pub(super) fn host_name(&mut self, path: &str, port: usize, name: &str) -> Option<usize> {
        let found = self.indices[port].by_name.get(name).copied();
        if found.is_none() {
            let known: Vec<&str> = self.ports[port].hosts.iter().map(|host| host.name.as_str()).collect();
            let reason = spelling::unknown("host", name, &known);
            self.reading.fail(path, format!("behind port '{}': {reason}", self.ports[port].name));
        }
        found
    }

    /// The host of a port that has an address of the family, the port's own first.
    pub(super) fn host_of_family(&self, port: usize, v4: bool) -> usize {
        self.ports[port].hosts.iter().position(|host| host.address(v4).is_some()).unwrap_or(0)
    }

    /// The host behind `port` that sends what is drafted: the one whose address is its source.
    pub(super) fn sender(&mut self, path: &str, draft: &Draft, port: usize) -> usize {
        let hosts = &self.ports[port].hosts;
        if hosts.len() == 1 {
            return 0;
        }
        let header = draft.ip_header().map(|(_, header)| header);
        let v4 = header.map(|header| header.protocol.name == "ipv4");
        let source = header.and_then(|header| ip_value(header, "src"));
        let tags = draft.own_tags();
        let is_there = |host: &usize| tags.as_ref().is_none_or(|tags| *tags == hosts[*host].vlans);
        let Some(source) = source else {
            let can = |host: &usize| v4.is_none_or(|v4| hosts[*host].address(v4).is_some());
            let usual = v4.map_or(0, |v4| self.host_of_family(port, v4));
            let tagged = || (0..hosts.len()).find(|host| is_there(host) && can(host));
            return if tags.is_some() { tagged().unwrap_or(usual) } else { usual };
        };
        let owners = self.indices[port].owners(source);
        let there: Vec<usize> = owners.iter().copied().filter(is_there).collect();
        match (&there[..], owners) {
            ([one], _) | ([], [one, ..]) => *one,
            ([], []) => {
                let near = |host: &usize| hosts[*host].addresses.iter().any(|own| own.on_link(source));
                let tagged = || (0..hosts.len()).find(|host| is_there(host) && near(host));
                let near =
                    tags.as_ref().and_then(|_| tagged()).or_else(|| self.indices[port].on_network(source));
                near.unwrap_or_else(|| self.host_of_family(port, source.is_ipv4()))
            }
            ([one, other, ..], _) => {
                let name = |host: usize| format!("'{}'{}", hosts[host].name, of(&hosts[host].vlans));
                let reason = format!(
                    "{source} is an address of the hosts {} and {}; choose one with 'from_host' or vlan headers",
                    name(*one),
                    name(*other)
                );
                let one = *one;
                self.reading.fail(path, reason);
                one
            }
        }
    }

    /// The host behind `port` that has `ip`, or the first with an address of its family.
    pub(super) fn receiver(&self, port: usize, ip: IpAddr) -> usize {
        let owner = self.indices[port].owners(ip).first().copied();
        let near = || self.indices[port].on_network(ip);
        owner.or_else(near).unwrap_or_else(|| self.host_of_family(port, ip.is_ipv4()))
    }

    /// Warns if the addresses of `source`, which vary from packet to packet, belong to several hosts.
    pub(super) fn warn_of_sources(
        &mut self,
        name: &str,
        port: usize,
        host: usize,
        (low, high): (IpAddr, IpAddr),
    ) {
        let hosts = &self.ports[port].hosts;
        let is_passed = |number: &usize| {
            *number != host && hosts[*number].addresses.iter().any(|own| low <= own.ip && own.ip <= high)
        };
        if let Some(other) = (0..hosts.len()).find(is_passed) {
            let warning = format!(
                "stream {name}: its sources go over addresses of host '{}', too; all packets have the hardware address and \
                 the VLANs of '{}' ('copies' with 'per_copy' have each host's)",
                hosts[other].name, hosts[host].name
            );
            self.warnings.push(warning);
        }
    }
}
