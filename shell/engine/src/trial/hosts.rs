//! The hosts behind each port: their hardware addresses, the addresses they reply for, and the neighbours they resolve
//! before a trial.
//!
//! Not here: frames of hosts (`neighbour`).

use crate::error::EngineError;
use neighbour::{Host, Hosts, Mac, Resolver};
use port::PortFacts;
use profile::Plan;
use profile::plan::{Address, HopBy, HostPlan, NextHop, PortPlan};
use session::plan::{PoolPlan, Side, SidePlan};
use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;

/// First byte of hardware addresses that are made here: locally administered, not a group's (IEEE 802).
pub(crate) const LOCAL: u8 = 0x02;

/// Ethernet header and FCS.
const ETHERNET_BYTES: u32 = 18;

/// The longest IP packet that hosts send: an ordinary one, or what the port takes.
pub(crate) fn hosts_mtu(facts: &PortFacts) -> usize {
    const MTU: u32 = 1_500;
    facts.frame_len_max.saturating_sub(ETHERNET_BYTES).min(MTU) as usize
}

/// The hosts behind all ports.
#[derive(Debug, Default)]
pub(crate) struct EmulatedHosts {
    /// Of each port.
    pub(crate) ports: Vec<Hosts>,
    /// For each port and each of its hosts, the index in the plan.
    plans: Vec<Vec<usize>>,
    /// The hosts, on their ports, that are the clients and the servers of each entry of sessions.
    sessions: Vec<(Vec<usize>, Vec<usize>)>,
}

impl EmulatedHosts {
    /// One port without hosts.
    pub(crate) fn none() -> Self {
        Self { ports: vec![Hosts::new(Vec::new(), Vec::new())], ..Self::default() }
    }

    /// Those of `plan` on ports of which `facts` are known.
    pub(crate) fn new(plan: &Plan, facts: &[&PortFacts]) -> Result<Self, EngineError> {
        let ports: Vec<Mac> = facts.iter().map(|facts| facts.mac).collect();
        let macs = host_macs(plan, &ports);
        let host = |(host, mac): (&HostPlan, &Mac)| {
            let addresses: Vec<IpAddr> = host.addresses.iter().map(|own| own.ip).collect();
            let network = |own: &Address| own.network().0..=own.network().1;
            Host {
                mac: *mac,
                vlans: host.vlans.clone(),
                networks: host.addresses.iter().map(network).collect(),
                answers_for: addresses.iter().map(|ip| *ip..=*ip).collect(),
                addresses,
            }
        };
        let mut hosts: Vec<Vec<Host>> = plan
            .ports
            .iter()
            .zip(&macs)
            .map(|(port, macs)| port.hosts.iter().zip(macs).map(host).collect())
            .collect();
        for (port, hosts) in plan.ports.iter().zip(&mut hosts) {
            for (router, ip) in port.routing().flat_map(|protocol| protocol.link_locals()) {
                let host = &mut hosts[router];
                let own = IpAddr::V6(link_local(ip, host.mac));
                if !host.owns(own) {
                    host.answers_for.push(own..=own);
                }
            }
        }
        let mut all =
            Self { plans: hosts.iter().map(|hosts| (0..hosts.len()).collect()).collect(), ..Self::default() };
        for (port, hosts) in plan.ports.iter().zip(&hosts) {
            refuse_twins(port, hosts)?;
        }
        for entry in &plan.sessions {
            let session = &entry.session;
            let mut assign = |side: &Option<SidePlan>, played: &[usize], pool: &PoolPlan| {
                let each = side.iter().flat_map(|side| (0..side.hosts.len()).map(move |place| (side, place)));
                each.map(|(side, place)| all.assign(&mut hosts, side, (place, played[place]), pool)).collect()
            };
            let client = assign(&session.client, &entry.client_hosts, &session.clients);
            let server = assign(&session.server, &entry.server_hosts, &session.servers);
            all.sessions.push((client, server));
        }
        let sent_to = |port: usize| -> Vec<RangeInclusive<IpAddr>> {
            let streams = plan.streams.iter().filter(|stream| stream.arrives_at(port));
            streams.filter_map(|stream| stream.destinations.map(|(low, high)| low..=high)).collect()
        };
        let own = |port: usize| plan.ports[port].punt.as_ref().map_or(0, |_| plan.ports[port].hosts.len());
        let on_port = |(port, hosts)| Hosts::new(hosts, sent_to(port)).punt(own(port));
        all.ports = hosts.into_iter().enumerate().map(on_port).collect();
        Ok(all)
    }

    /// Lets the host number `host` of a side's port, at `place` of the side's, reply for its addresses in `pool`;
    /// returns the host that does. In VLANs that are not the host's own it is another one, with the same hardware
    /// address.
    fn assign(
        &mut self,
        hosts: &mut [Vec<Host>],
        side: &SidePlan,
        (place, host): (usize, usize),
        pool: &PoolPlan,
    ) -> usize {
        // Its addresses are those of a host inside.
        if let Some(own) = &side.tunnel {
            return own.host;
        }
        // They are on no common link.
        if side.pppoe.is_some() {
            return host;
        }
        let (hosts, plans) = (&mut hosts[side.port], &mut self.plans[side.port]);
        let (mac, vlans) = (hosts[host].mac, &side.hosts[place].vlans);
        let own = || pool.addresses.iter().filter(|range| range.host == place);
        let is_it = |other: &usize| hosts[*other].vlans == *vlans && hosts[*other].mac == mac;
        let found = if is_it(&host) { Some(host) } else { (0..hosts.len()).find(is_it) };
        let number = found.unwrap_or_else(|| {
            let addresses = own().next().map(|range| range.first).into_iter().collect();
            let vlans = vlans.clone();
            hosts.push(Host { mac, vlans, addresses, networks: Vec::new(), answers_for: Vec::new() });
            plans.push(host);
            hosts.len() - 1
        });
        hosts[number].answers_for.extend(own().map(|range| range.first..=range.last));
        number
    }

    /// The host at `place` of a side of the entry `session`, on the side's port.
    pub(crate) fn of_session(&self, session: usize, side: Side, place: usize) -> usize {
        let (client, server) = &self.sessions[session];
        match side {
            Side::Client => client[place],
            Side::Server => server[place],
        }
    }

    /// The plan of a host behind a port.
    pub(crate) fn plan<'p>(&self, plan: &'p Plan, port: usize, host: usize) -> &'p HostPlan {
        &plan.ports[port].hosts[self.plans[port][host]]
    }

    /// Neighbours that the hosts of each port must resolve before the trial: next hops of their streams and sessions,
    /// and their gateways. Resolving a gateway also gives it the host's address, so that the first packets to the host
    /// need not wait for a reply.
    pub(crate) fn neighbours(&self, plan: &Plan) -> Vec<Resolver> {
        let mut wanted: Vec<Vec<(usize, IpAddr)>> = Vec::new();
        for port in &plan.ports {
            let hosts = port.hosts.iter().enumerate();
            wanted.push(
                hosts.flat_map(|(host, plan)| plan.gateways.iter().map(move |ip| (host, *ip))).collect(),
            );
        }
        for stream in &plan.streams {
            if let NextHop::Resolve(ip) = stream.next_hop {
                wanted[stream.from].push((stream.from_host, ip));
            }
        }
        for (index, entry) in plan.sessions.iter().enumerate() {
            for side in entry.session.client.iter().chain(&entry.session.server) {
                wanted[side.port].extend(side.tunnel.iter().map(|own| (own.host, own.hop)));
            }
            let Some(client) = entry.session.client.as_ref().filter(|client| client.tunnel.is_none()) else {
                continue;
            };
            wanted[client.port].extend(entry.hops.iter().filter_map(|hop| match hop.by {
                HopBy::Resolve(ip) => Some((self.of_session(index, Side::Client, hop.host), ip)),
                HopBy::Given(_) | HopBy::PeerPort => None,
            }));
        }
        let resolver = |(port, wanted): (usize, Vec<(usize, IpAddr)>)| {
            let given = (0..self.plans[port].len()).flat_map(|host| {
                let macs = self.plan(plan, port, host).gateway_macs.iter();
                macs.map(move |(ip, mac)| (host, *ip, *mac))
            });
            Resolver::new(&self.ports[port], wanted, given)
        };
        wanted.into_iter().enumerate().map(resolver).collect()
    }
}

/// The address that a router has on its link alone: that of its host, or the one that its hardware address makes if that is unspecified.
pub(crate) fn link_local(ip: Ipv6Addr, mac: Mac) -> Ipv6Addr {
    if ip.is_unspecified() { emulate::link_local(mac) } else { ip }
}

fn refuse_twins(port: &PortPlan, hosts: &[Host]) -> Result<(), EngineError> {
    let Some((one, other)) = neighbour::twins(hosts) else { return Ok(()) };
    let (one, other) = (&port.hosts[one].name, &port.hosts[other].name);
    let reason = format!("hosts '{one}' and '{other}' have the same MAC address; change the 'mac' of one");
    Err(EngineError::Hosts { port: port.name.clone(), reason })
}

/// The hardware address of each host of each port of `plan`, whose own are `ports`: as given, or the port's, or for
/// other hosts a unique one made of the port's and the host's number.
pub fn host_macs(plan: &Plan, ports: &[[u8; 6]]) -> Vec<Vec<[u8; 6]>> {
    let own: Vec<Mac> =
        plan.ports.iter().zip(ports).map(|(port, mac)| port.own().mac.unwrap_or(*mac)).collect();
    let given = plan.ports.iter().flat_map(|port| port.hosts.iter().filter_map(|host| host.mac));
    let mut taken: HashSet<Mac> = given.chain(own.iter().copied()).collect();
    let mut made = |own: Mac, host: usize| {
        let key = random::key(own.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)));
        let low = (host as u16).to_be_bytes();
        let mac = |turn| {
            let word = random::word(key, turn).to_be_bytes();
            [LOCAL, word[0], word[1], word[2], low[0], low[1]]
        };
        (0..).map(mac).find(|mac| taken.insert(*mac)).unwrap_or(own)
    };
    let port = |(port, own): (&PortPlan, Mac)| {
        let further = port.hosts.iter().enumerate().skip(1);
        let further: Vec<Mac> = further.map(|(n, host)| host.mac.unwrap_or_else(|| made(own, n))).collect();
        std::iter::once(own).chain(further).collect()
    };
    plan.ports.iter().zip(own.iter().copied()).map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = r#"
ports:
  west:
    device: "ring:a"
    ip: 10.0.0.2/24
    gateway: 10.0.0.1
    hosts:
      - {name: red, vlan: 7, ip: [10.0.0.2/24, 10.0.7.2/24], gateway: 10.0.0.1, gateway_mac: {10.0.0.1: "02:00:00:00:00:99"}}
      - {count: 3, ip: 10.0.0.10/24, vlan: [8, 9]}
  east: {device: "ring:b", ip: 10.0.1.2/24, hosts: [{mac: "02:00:00:00:00:33", ip: 10.0.1.3/24}]}
streams:
  - {name: s, from: west, to: east, rate: 1kpps, packet: [{ethernet: {dst: "02:00:00:00:00:01"}}, {ipv4: {dst: 10.0.1.9}}, udp]}
  - {name: t, from: west, rate: 1kpps, packet: [{ipv4: {src: 10.0.7.2, dst: 10.0.7.77}}, udp]}
sessions:
  - {name: r, client: {port: west, addresses: 10.0.7.2..10.0.7.9}, server: {addresses: 10.0.7.77, ports: 9}, open: 1/s, app: {bulk: {from: client}}}
  - {name: v, client: {port: west, vlan: 5, addresses: 10.0.0.50}, server: {addresses: 10.0.0.51, ports: 9}, open: 1/s, app: {bulk: {from: client}}}
"#;

    fn emulated(text: &str) -> (Plan, Result<EmulatedHosts, EngineError>) {
        let plan = profile::load(text).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let ports: Vec<_> = plan.ports.iter().map(|port| port::ring::mac_of(&port.device)).collect();
        let [west, east] = port::ring::pair(
            ["ring:a", "ring:b"],
            port::PortRequest { queues: 1, frame_len_max: 1518, confined: false },
        )
        .unwrap();
        let facts = [port::Port::facts(&west), port::Port::facts(&east)];
        assert_eq!(ports, [facts[0].mac, facts[1].mac]);
        let hosts = EmulatedHosts::new(&plan, &facts);
        (plan, hosts)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn hardware_addresses_are_local_and_nobody_elses() {
        let (_, hosts) = emulated(PROFILE);
        let hosts = hosts.unwrap();
        let macs: Vec<Mac> = hosts.ports.iter().flat_map(Hosts::all).map(|host| host.mac).collect();
        assert_eq!(macs[0], port::ring::mac_of("ring:a"));
        assert!(macs[1..5].iter().all(|mac| mac[0] == LOCAL));
        assert_eq!(macs[1..4].iter().map(|mac| mac[5]).collect::<Vec<_>>(), [1, 2, 3]);
        let west: HashSet<&Mac> = macs[..5].iter().collect();
        assert_eq!(west.len(), 5, "{macs:02x?}");
        assert_eq!(macs.last(), Some(&[2, 0, 0, 0, 0, 0x33]));
    }

    #[test]
    fn addresses_are_answered_for_in_their_vlans() {
        let (_, hosts) = emulated(PROFILE);
        let hosts = hosts.unwrap();
        let (west, east) = (&hosts.ports[0], &hosts.ports[1]);
        assert_eq!(west.owner(&[], ip("10.0.0.2")), Some(0));
        assert_eq!(west.owner(&[7], ip("10.0.0.2")), Some(1));
        assert_eq!(
            west.owner(&[7], ip("10.0.7.9")),
            Some(1),
            "sessions are the host's whose address they have"
        );
        assert_eq!(west.owner(&[8, 9], ip("10.0.0.12")), Some(4));
        assert_eq!(west.owner(&[8], ip("10.0.0.12")), None);
        assert_eq!(east.owner(&[], ip("10.0.1.9")), Some(0), "a stream goes there");
        assert_eq!(east.owner(&[], ip("10.0.1.8")), None);
        assert_eq!(west.owner(&[5], ip("10.0.0.50")), Some(5), "sessions in a VLAN of their own");
        assert_eq!(west.owner(&[], ip("10.0.0.50")), None);
        assert_eq!(west.host(5).mac, west.host(0).mac);
    }

    #[test]
    fn hosts_ask_for_their_own_neighbours() {
        let (plan, hosts) = emulated(PROFILE);
        let hosts = hosts.unwrap();
        let resolvers = hosts.neighbours(&plan);
        let asked: Vec<(usize, IpAddr)> = resolvers[0].unknown().collect();
        assert_eq!(asked, [(0, ip("10.0.0.1")), (1, ip("10.0.7.77")), (5, ip("10.0.0.51"))]);
        assert_eq!(
            resolvers[0].known().collect::<Vec<_>>(),
            [(1, ip("10.0.0.1"), [2, 0, 0, 0, 0, 0x99], true)]
        );
        assert_eq!(hosts.plan(&plan, 0, 5).name, "west");
    }

    #[test]
    fn a_host_with_the_ports_own_hardware_address_is_an_error() {
        let mac = units::Mac(port::ring::mac_of("ring:b")).to_string();
        let (_, hosts) = emulated(&PROFILE.replace("02:00:00:00:00:33", &mac));
        let said = hosts.unwrap_err().to_string();
        assert_eq!(
            said,
            "port east: hosts 'east' and 'host1' have the same MAC address; change the 'mac' of one"
        );
    }
}
