//! Which host behind a port plays an end of sessions.

use super::pool::Span;
use crate::document::{OneOrMany, VlanId};
use crate::plan::HostPlan;
use crate::resolve::Resolver;
use crate::resolve::hosts::of;
use session::plan::AddressRange;
use std::net::IpAddr;

impl Resolver<'_> {
    /// The host of `port` whose address, or whose network, the addresses of an end have: one for all of them.
    pub(super) fn session_host(
        &mut self,
        path: &str,
        ranges: &[AddressRange],
        port: Option<usize>,
        vlans: Option<&OneOrMany<VlanId>>,
    ) -> usize {
        let Some(port) = port.filter(|port| self.ports[*port].hosts.len() > 1) else { return 0 };
        let vlans = vlans.map(|given| given.with_paths().iter().map(|(_, id)| id.0).collect::<Vec<_>>());
        let hosts = &self.ports[port].hosts;
        let is_there = |host: &HostPlan| vlans.as_ref().is_none_or(|vlans| *vlans == host.vlans);
        let is_meant = |ip: IpAddr| ranges.iter().any(|range| Span::range(range).has(ip));
        let owned = hosts.iter().enumerate().flat_map(|(number, host)| {
            let meant = host.addresses.iter().filter(|own| is_meant(own.ip));
            meant.map(move |own| (number, own.ip))
        });
        let owned: Vec<(usize, IpAddr)> = owned.collect();
        let there: Vec<(usize, IpAddr)> =
            owned.iter().filter(|(number, _)| is_there(&hosts[*number])).copied().collect();
        let found = if there.is_empty() { owned } else { there };
        let Some((first, ip)) = found.first().copied() else {
            return self.host_near(port, ranges.first().map(|range| range.first), vlans.as_deref());
        };
        if let Some((other, other_ip)) = found.iter().find(|(number, _)| *number != first) {
            let name = |number: usize| format!("'{}'{}", hosts[number].name, of(&hosts[number].vlans));
            let (first, other) = (name(first), name(*other));
            let reason = if ip == *other_ip {
                format!("{ip} is an address of the hosts {first} and {other}; say which by 'vlan'")
            } else {
                format!(
                    "{ip} is an address of host {first}, and {other_ip} of host {other}; make an entry of sessions for each host"
                )
            };
            self.reading.fail(path, reason);
        }
        first
    }

    /// The host on whose network an address is that is nobody's own, in these VLANs if they are said; or the first of the
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
