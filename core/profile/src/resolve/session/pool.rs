//! Where clients and servers are: their ports, addresses, and how the ones send to the others.

use super::Whose;
use super::tunnel::EndTunnels;
use crate::document::quantity::{EndAddresses, Mac};
use crate::document::session::{AddressesDoc, NextHopDoc, SessionDoc};
use crate::document::session_text::{AddressText, EndText};
use crate::plan::{Address, ClientsBy, HopBy, HostPlan, SessionHop};
use crate::protocols::KEYS_IN_WORDS;
use crate::resolve::stream::PortName;
use crate::resolve::{Resolver, family};
use session::plan::{AddressRange, SideTunnel};
use spelling::unknown;
use std::net::IpAddr;

/// Servers on the clients' own network whose MAC addresses are resolved one by one.
const NEIGHBOURS_MAX: u128 = 4_096;

/// Error for addresses of mixed families.
pub(super) const TWO_FAMILIES: &str = "the addresses of an end are all IPv4 or all IPv6; make two entries";

/// Default port range of clients (RFC 4814 section 4.5).
const CLIENT_PORTS: (u16, u16) = (1_024, 65_535);

/// Which ports play the ends of an entry.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// Index of the clients' port; `None` if they are external.
    pub(super) client: Option<usize>,
    /// Index of the servers' port.
    pub(super) server: Option<usize>,
}

/// Addresses of both ends.
pub(super) struct Pools {
    pub(super) clients: Vec<AddressRange>,
    /// Ports clients open from.
    pub(super) client_ports: (u16, u16),
    pub(super) servers: Vec<AddressRange>,
    /// Indices of the hosts that emulated clients are.
    pub(super) client_hosts: Vec<usize>,
    /// Indices of the hosts that emulated servers are.
    pub(super) server_hosts: Vec<usize>,
    /// Kind of clients that the addresses are placeholders for, if they are clients of the port.
    pub(super) leased: Option<ClientsBy>,
    pub(super) hops: Vec<SessionHop>,
}

/// Addresses as numbers, first and last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u128,
    pub(super) last: u128,
    pub(super) v4: bool,
}

impl Span {
    pub(super) fn of(first: IpAddr, last: IpAddr) -> Self {
        Self { first: bits(first), last: bits(last), v4: first.is_ipv4() }
    }

    pub(super) fn range(range: &AddressRange) -> Self {
        Self::of(range.first, range.last)
    }

    pub(super) fn common(self, other: Self) -> Option<Self> {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        (self.v4 == other.v4 && first <= last).then_some(Self { first, last, v4: self.v4 })
    }

    pub(super) fn has(self, ip: IpAddr) -> bool {
        self.common(Self::of(ip, ip)).is_some()
    }

    fn count(self) -> u128 {
        (self.last - self.first).saturating_add(1)
    }

    pub(super) fn ip(self, bits: u128) -> IpAddr {
        if self.v4 { IpAddr::V4((bits as u32).into()) } else { IpAddr::V6(bits.into()) }
    }

    pub(super) fn hop(self, by: HopBy) -> SessionHop {
        SessionHop { host: 0, first: self.ip(self.first), last: self.ip(self.last), by }
    }
}

fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}

/// Addresses there are in ranges.
pub(super) fn count(ranges: &[AddressRange]) -> u128 {
    ranges.iter().fold(0u128, |sum, range| sum.saturating_add(Span::range(range).count()))
}

/// An address both have, if there is one.
pub(super) fn shared(ours: &[AddressRange], theirs: &[AddressRange]) -> Option<IpAddr> {
    let mut pairs = ours.iter().flat_map(|one| theirs.iter().map(move |other| (one, other)));
    pairs.find_map(|(one, other)| {
        let common = Span::range(one).common(Span::range(other))?;
        Some(common.ip(common.first))
    })
}

impl Resolver<'_> {
    /// The ports of both ends; `None` if they can't be determined.
    pub(super) fn ends(&mut self, path: &str, doc: &SessionDoc) -> Option<Ends> {
        let client = doc.client.as_ref().and_then(|client| client.port.as_deref());
        let server = doc.server.as_ref().and_then(|server| server.port.as_deref());
        if self.reading.is_broken(&format!("{path}.client"))
            || self.reading.is_broken(&format!("{path}.server"))
        {
            return None;
        }
        let client = client.map(|name| self.port_name(&format!("{path}.client.port"), name));
        let server = server.map(|name| self.port_name(&format!("{path}.server.port"), name));
        match (client, server) {
            (None, None) => {
                let reason = "no emulated end: give 'client', 'server' or both a 'port'";
                self.reading.fail(path, reason);
                return None;
            }
            (Some(PortName::Sound(one)), Some(PortName::Sound(other))) if one == other => {
                let name = &self.ports[one].name;
                let reason = format!("clients are on the same port '{name}'; use two ports");
                self.reading.fail(format!("{path}.server.port"), reason);
                return None;
            }
            _ => {}
        }
        let sound = |end: Option<PortName>| match end {
            None => Some(None),
            Some(PortName::Sound(index)) => Some(Some(index)),
            Some(_) => None,
        };
        Some(Ends { client: sound(client)?, server: sound(server)? })
    }

    /// The addresses of both ends, once they are known to fit each other.
    pub(super) fn pools(
        &mut self,
        path: &str,
        doc: &SessionDoc,
        ends: Ends,
        tunnels: &EndTunnels,
    ) -> Option<Pools> {
        let said = self.reading.errors.len();
        let (client_path, server_path) =
            (format!("{path}.client.addresses"), format!("{path}.server.addresses"));
        let given = doc.client.as_ref().and_then(|client| client.addresses.as_ref());
        if given.is_some() && ends.client.is_none() {
            let reason = "applies to emulated clients only: 'client' has no 'port'";
            self.reading.fail(client_path, reason);
            return None;
        }
        let leased = match given {
            Some(AddressesDoc::One(EndAddresses(EndText::Clients(by)))) => Some(*by),
            _ => None,
        };
        let server_v6 =
            doc.server.as_ref().and_then(|server| server.addresses.as_ref()).is_some_and(begins_v6);
        let clients = match ends.client.zip(leased) {
            Some((port, ClientsBy::Lease)) => self.places_of_leases(&client_path, port, server_v6),
            Some((port, ClientsBy::Session)) => self.places_of_sessions(path, doc, port, server_v6),
            None => given.map(|given| self.ranges(&client_path, given)),
        };
        let servers = doc.server.as_ref().and_then(|server| server.addresses.as_ref());
        let servers = servers.map(|given| self.ranges(&server_path, given));
        if self.reading.errors.len() > said {
            return None;
        }
        let client_names = doc.client.as_ref().and_then(|client| client.hosts.as_ref());
        let server_names = doc.server.as_ref().and_then(|server| server.hosts.as_ref());
        if let (Some(by), Some(_)) = (leased, client_names) {
            let reason = format!("{} clients are hosts by themselves; remove 'hosts'", by.protocol());
            self.reading.fail(format!("{path}.client.hosts"), reason);
            return None;
        }
        let (named_clients, clients) =
            self.session_hosts_by_name(Whose::Client, path, client_names, ends.client, clients)?;
        let (named_servers, servers) =
            self.session_hosts_by_name(Whose::Server, path, server_names, ends.server, servers)?;
        // They are no hosts: the port speaks for them.
        let named_clients = if leased == Some(ClientsBy::Session) { vec![0] } else { named_clients };
        let v4 = self.family_of(&client_path, clients.as_deref(), servers.as_deref(), ends)?;
        let servers = match (servers, ends.server) {
            (Some(servers), _) => servers,
            (None, Some(port)) if !named_servers.is_empty() => {
                self.addresses_of(&format!("{path}.server"), port, &named_servers, v4)?
            }
            (None, Some(port)) => self.own_address(&format!("{path}.server"), port, v4, "servers")?,
            (None, None) => {
                let reason = "external servers need 'addresses': 'server' has no 'port'";
                self.reading.fail(format!("{path}.server"), reason);
                return None;
            }
        };
        let clients = match (clients, ends.client) {
            (Some(clients), _) => clients,
            (None, Some(port)) if !named_clients.is_empty() => {
                self.addresses_of(&format!("{path}.client"), port, &named_clients, v4)?
            }
            (None, Some(port)) => self.own_address(&format!("{path}.client"), port, v4, "clients")?,
            (None, None) => Vec::new(),
        };
        let sides = [
            (&clients, ends.client.filter(|_| tunnels.client.is_none()), "clients", &client_path),
            (&servers, ends.server.filter(|_| tunnels.server.is_none()), "servers", &server_path),
        ];
        for (ranges, port, who, path) in sides {
            if let Some(port) = port {
                self.check_hosts(path, ranges, port, who);
            }
        }
        if let Some(ip) = shared(&clients, &servers) {
            self.reading.fail(&client_path, format!("{ip} is an address of the servers, too"));
        }
        if self.reading.errors.len() > said {
            return None;
        }
        let client_vlans = doc.client.as_ref().and_then(|client| client.vlan.as_ref()).or(doc.vlan.as_ref());
        let server_vlans = doc.server.as_ref().and_then(|server| server.vlan.as_ref()).or(doc.vlan.as_ref());
        let mut shared_out =
            |path: &str, mut named: Vec<usize>, ranges, port, vlans, tunnel: &Option<SideTunnel>| {
                named.extend(tunnel.iter().map(|tunnel| tunnel.host));
                if named.is_empty() { self.session_hosts(path, ranges, port, vlans) } else { (named, ranges) }
            };
        let (client_hosts, clients) =
            shared_out(&client_path, named_clients, clients, ends.client, client_vlans, &tunnels.client);
        let (server_hosts, servers) =
            shared_out(&server_path, named_servers, servers, ends.server, server_vlans, &tunnels.server);
        if self.reading.errors.len() > said {
            return None;
        }
        self.check_next_hops(path, doc, ends.client, &client_hosts);
        let mut hops = Vec::new();
        let is_known = leased.is_none() || leased == Some(ClientsBy::Lease) && has_mac(doc);
        for (place, host) in client_hosts.iter().enumerate() {
            let Some(port) = ends.client.filter(|_| is_known && self.reading.errors.len() == said) else {
                break;
            };
            let own: Vec<_> = clients.iter().filter(|range| range.host == place).copied().collect();
            let found = match &tunnels.client {
                Some(tunnel) => self.hops_inside(path, doc, tunnel, (ends.server, &servers)),
                None => self.hops(path, doc, (port, *host, &own), (ends.server, &servers)),
            };
            hops.extend(found.into_iter().map(|hop| SessionHop { host: place, ..hop }));
        }
        let client_ports = doc.client.as_ref().and_then(|client| client.ports.as_ref());
        let client_ports = client_ports.map_or(CLIENT_PORTS, |ports| ports.0);
        Some(Pools { clients, client_ports, servers, client_hosts, server_hosts, leased, hops })
    }

    /// The ranges that are written, all of one family, none twice.
    pub(super) fn ranges(&mut self, path: &str, doc: &AddressesDoc) -> Vec<AddressRange> {
        let range =
            |text: AddressText, weight| AddressRange { first: text.first, last: text.last, weight, host: 0 };
        let each: Vec<(String, AddressRange)> = match doc {
            AddressesDoc::One(EndAddresses(EndText::Of(text))) => vec![(path.to_owned(), range(*text, 1))],
            AddressesDoc::One(EndAddresses(EndText::Clients(_))) => {
                let reason =
                    format!("servers need addresses that are known; {KEYS_IN_WORDS} are for clients");
                self.reading.fail(path, reason);
                Vec::new()
            }
            AddressesDoc::List(list) => {
                let paths = (0..).map(|index| format!("{path}[{index}]"));
                paths.zip(list.iter().map(|text| range(text.0, 1))).collect()
            }
            AddressesDoc::Weights(weights) => weights
                .iter()
                .filter_map(|(text, weight)| {
                    Some((format!("{path}.{text}"), range(AddressText::parse(text)?, weight.0)))
                })
                .collect(),
        };
        let mut ranges: Vec<AddressRange> = Vec::new();
        for (path, range) in each {
            if ranges.first().is_some_and(|first| first.first.is_ipv4() != range.first.is_ipv4()) {
                self.reading.fail(path, TWO_FAMILIES);
            } else if let Some(ip) = shared(&ranges, &[range]) {
                self.reading.fail(path, format!("{ip} is in this list twice"));
            }
            ranges.push(range);
        }
        ranges
    }

    /// Whether sessions go over IPv4.
    fn family_of(
        &mut self,
        path: &str,
        clients: Option<&[AddressRange]>,
        servers: Option<&[AddressRange]>,
        ends: Ends,
    ) -> Option<bool> {
        let of = |ranges: Option<&[AddressRange]>| Some(ranges?.first()?.first.is_ipv4());
        let name = |v4| if v4 { "IPv4" } else { "IPv6" };
        match (of(clients), of(servers)) {
            (Some(clients), Some(servers)) if clients != servers => {
                let reason = format!(
                    "clients have {} addresses and servers {}; use the same family for both",
                    name(clients),
                    name(servers)
                );
                self.reading.fail(path, reason);
                None
            }
            (Some(v4), _) | (None, Some(v4)) => Some(v4),
            (None, None) => {
                let has = |port: Option<usize>, v4| {
                    port.is_none_or(|port| self.ports[port].addresses().any(|a| a.ip.is_ipv4() == v4))
                };
                Some(
                    [true, false]
                        .into_iter()
                        .find(|v4| has(ends.client, *v4) && has(ends.server, *v4))
                        .unwrap_or(true),
                )
            }
        }
    }

    /// The port's own address, for an end that has no others.
    fn own_address(&mut self, path: &str, port: usize, v4: bool, who: &str) -> Option<Vec<AddressRange>> {
        let host = self.host_of_family(port, v4);
        let port = &self.ports[port];
        if let Some(own) = port.hosts[host].address(v4) {
            return Some(vec![AddressRange { first: own.ip, last: own.ip, weight: 1, host: 0 }]);
        }
        let family = if v4 { "IPv4" } else { "IPv6" };
        let reason = format!(
            "port '{}' has no {family} address for the {who} to have; give it one, or give 'addresses'",
            port.name
        );
        self.reading.fail(path, reason);
        None
    }

    /// Checks that the port can reply for all of the addresses.
    fn check_hosts(&mut self, path: &str, ranges: &[AddressRange], port: usize, who: &str) {
        let plan = &self.ports[port];
        let spans: Vec<Span> = ranges.iter().map(Span::range).collect();
        let has = |ip: IpAddr| spans.iter().any(|span| span.has(ip));
        let gateway = plan.gateways().find(|gateway| has(*gateway));
        let others = self.ports.iter().enumerate().filter(|(index, _)| *index != port);
        let other = others
            .flat_map(|(_, other)| other.addresses().map(move |address| (address.ip, &other.name)))
            .find(|(ip, _)| has(*ip));
        let special = plan.addresses().find_map(|address| special_of(*address).filter(|(ip, _)| has(*ip)));
        let reason = if let Some(gateway) = gateway {
            format!("{gateway} is the gateway of port '{}'; {who} cannot use it", plan.name)
        } else if let Some((ip, name)) = other {
            format!("{ip} is the address of port '{name}'; {who} on port '{}' cannot use it", plan.name)
        } else if let Some((ip, what)) = special {
            format!("{ip} {what} of port '{}'; a host cannot use it", plan.name)
        } else {
            return;
        };
        self.reading.fail(path, reason);
    }

    /// That the hosts whose next hops are given are the clients'.
    fn check_next_hops(&mut self, path: &str, doc: &SessionDoc, port: Option<usize>, hosts: &[usize]) {
        let given = doc.client.as_ref().and_then(|client| client.mac.as_ref());
        let (Some(NextHopDoc::ByHost(macs)), Some(port)) = (given, port) else { return };
        let known: Vec<&str> = hosts.iter().map(|host| self.ports[port].hosts[*host].name.as_str()).collect();
        let strangers = macs.keys().filter(|name| !known.contains(&name.as_str()));
        let wrong: Vec<_> =
            strangers.map(|name| (name, unknown("host of these clients", name, &known))).collect();
        for (name, reason) in wrong {
            self.reading.fail(format!("{path}.client.mac.{name}"), reason);
        }
    }

    /// Where clients send to.
    fn hops(
        &mut self,
        path: &str,
        doc: &SessionDoc,
        (port, host, clients): (usize, usize, &[AddressRange]),
        (peer, servers): (Option<usize>, &[AddressRange]),
    ) -> Vec<SessionHop> {
        let spans = servers.iter().map(Span::range);
        if let Some(mac) = next_hop(doc, &self.ports[port].hosts[host]) {
            return spans.map(|span| span.hop(HopBy::Given(mac.0))).collect();
        }
        let v4 = servers.first().is_some_and(|range| range.first.is_ipv4());
        let own = self.ports[port].hosts[host].clone();
        let Some(address) = own.address_of(clients, v4) else {
            return self.hops_without_address(path, (port, host), peer, spans.collect());
        };
        let mut hops = Vec::new();
        let mut beyond: Vec<Span> = spans.collect();
        for network in own.addresses.iter().map(Address::network).map(|(first, last)| Span::of(first, last)) {
            for span in std::mem::take(&mut beyond) {
                let (on_link, rest) = split(span, network);
                if let Some(span) = on_link {
                    hops.extend(self.neighbours(path, span, peer.is_some()));
                }
                beyond.extend(rest);
            }
        }
        for span in beyond {
            let Some(gateway) = self.gateway_for(path, span, (port, host), address) else { return hops };
            hops.push(span.hop(HopBy::Resolve(gateway)));
            self.warn_of_routes(&doc.name.0, (port, host), clients, gateway);
        }
        hops
    }

    /// Servers on the clients' own network. Emulated ones are one neighbour; others are resolved one by one.
    pub(super) fn neighbours(&mut self, path: &str, span: Span, ours: bool) -> Vec<SessionHop> {
        if ours {
            return vec![span.hop(HopBy::Resolve(span.ip(span.first)))];
        }
        if span.count() > NEIGHBOURS_MAX {
            let reason = format!(
                "{} servers on the clients' own network, each with its own hardware address; the most is \
                 {NEIGHBOURS_MAX}",
                span.count()
            );
            self.reading.fail(format!("{path}.server.addresses"), reason);
            return Vec::new();
        }
        let each = (span.first..=span.last).map(|bits| Span { first: bits, last: bits, ..span });
        each.map(|one| one.hop(HopBy::Resolve(one.ip(one.first)))).collect()
    }

    fn gateway_for(
        &mut self,
        path: &str,
        span: Span,
        (port, host): (usize, usize),
        own: Address,
    ) -> Option<IpAddr> {
        let (plan, whose) = (&self.ports[port].hosts[host], whose(host));
        let gateway = plan.gateway(&own);
        if gateway.is_none() {
            let reason = format!(
                "{} is not on the network of {whose} '{}' ({}/{}); give the {whose} a gateway, or give 'mac' in 'client'",
                span.ip(span.first),
                plan.name,
                own.ip,
                own.prefix_len
            );
            self.reading.fail(format!("{path}.server"), reason);
        }
        gateway
    }

    /// Clients of a port that has no address of their family.
    fn hops_without_address(
        &mut self,
        path: &str,
        (port, host): (usize, usize),
        peer: Option<usize>,
        spans: Vec<Span>,
    ) -> Vec<SessionHop> {
        let plan = &self.ports[port].hosts[host];
        if plan.addresses.is_empty() && peer.is_some() {
            return spans.into_iter().map(|span| span.hop(HopBy::PeerPort)).collect();
        }
        let family = spans.first().map_or("IPv4", |span| family(span.ip(span.first)));
        let reason = format!(
            "{} '{}' has no {family} address to resolve the next hop with; give it one, or give 'mac' in 'client'",
            whose(host),
            plan.name
        );
        self.reading.fail(format!("{path}.client"), reason);
        Vec::new()
    }

    /// Answers to clients that are not on the network between port and router need a route there.
    fn warn_of_routes(
        &mut self,
        name: &str,
        (port, host): (usize, usize),
        clients: &[AddressRange],
        gateway: IpAddr,
    ) {
        let plan = &self.ports[port].hosts[host];
        let on_link = |range: &AddressRange| {
            plan.addresses.iter().any(|own| own.on_link(range.first) && own.on_link(range.last))
        };
        let Some(far) = clients.iter().find(|range| !on_link(range)) else { return };
        let own = plan.addresses.iter().find(|own| own.ip.is_ipv4() == gateway.is_ipv4());
        let via = own.map(|own| format!(" by way of {}", own.ip)).unwrap_or_default();
        let warning = format!(
            "sessions '{name}': clients such as {} are not on the network of {} '{}'; {gateway} needs a route to them{via}",
            far.first,
            whose(host),
            plan.name
        );
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// Whether the profile defines the next hops of all clients.
fn has_mac(doc: &SessionDoc) -> bool {
    let given = doc.client.as_ref().and_then(|client| client.mac.as_ref());
    matches!(given, Some(NextHopDoc::One(_)))
}

/// Next hop of a host's clients, if the profile defines it.
fn next_hop<'d>(doc: &'d SessionDoc, host: &HostPlan) -> Option<&'d Mac> {
    match doc.client.as_ref()?.mac.as_ref()? {
        NextHopDoc::One(mac) => Some(mac),
        NextHopDoc::ByHost(macs) => macs.get(&host.name),
    }
}

/// Name of the host with the number `host`.
fn whose(host: usize) -> &'static str {
    if host == 0 { "port" } else { "host" }
}

/// The part of `span` on a network, and the parts before and after it.
fn split(span: Span, network: Span) -> (Option<Span>, Vec<Span>) {
    let Some(inside) = span.common(network) else { return (None, vec![span]) };
    let mut beyond = Vec::new();
    if span.first < inside.first {
        beyond.push(Span { last: inside.first - 1, ..span });
    }
    if span.last > inside.last {
        beyond.push(Span { first: inside.last + 1, ..span });
    }
    (Some(inside), beyond)
}

/// Whether the first of some addresses is of IPv6.
fn begins_v6(addresses: &AddressesDoc) -> bool {
    match addresses {
        AddressesDoc::One(EndAddresses(EndText::Of(text))) => text.first.is_ipv6(),
        AddressesDoc::List(list) => list.first().is_some_and(|text| text.0.first.is_ipv6()),
        _ => false,
    }
}

/// The address that means all hosts of a network.
fn special_of(address: Address) -> Option<(IpAddr, &'static str)> {
    let (_, last) = address.network();
    (address.ip.is_ipv4() && address.prefix_len < 31)
        .then_some((last, "is the broadcast address on the network"))
}
