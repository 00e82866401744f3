//! The tunnels of a plan's sessions: the networks inside, the hosts there, and their neighbours; then, once the next hops of the outer
//! packets are known, what puts frames into them and takes them out.
//!
//! Not here: frames that pass (`worker::tunnels`).

use super::hosts::EmulatedHosts;
use crate::worker::tunnels::{TunnelMap, TunnelNetwork};
use neighbour::{Host, Hosts, Resolver};
use port::PortFacts;
use profile::Plan;
use profile::plan::HopBy;
use session::plan::{PoolPlan, Side, SidePlan, SideTunnel};
use std::net::IpAddr;
use std::sync::Arc;
use tcp::GroupTunnel;
use units::Nanos;
use wire::Vlans;
use wire::tunnel::{Decap, DecapEntry, Encap, EncapLink, OuterHeaders, PppoeEncap, PppoeLinks, Tunnel};

/// Longest outer packet with a reply of a host inside.
const MTU: u32 = 1_500;
/// Ethernet's header and FCS.
const ETHERNET_BYTES: u32 = 18;

/// Longest frame that a port carries, with FCS: that of its interface's MTU, or what its buffers hold.
pub(crate) fn carried(facts: &PortFacts) -> u32 {
    const ORDINARY: u32 = 1_518;
    // The kernel's end of a tap port is as long as its buffers.
    let has_mtu = facts.netdev.is_some() && facts.driver != "net_tap";
    if has_mtu { facts.frame_len_max } else { facts.frame_len_max.max(ORDINARY) }
}

/// The end of a tunnel on a port: one side of an entry.
#[derive(Debug)]
struct End<'p> {
    session: usize,
    side: Side,
    own: &'p SideTunnel,
    /// Index of the network it is in, and of its host there.
    network: usize,
    host: usize,
    /// Headers before frames in it, once it is open, and their link.
    outer: Option<(Arc<OuterHeaders>, EncapLink)>,
}

/// Clients of an entry that are in PPPoE sessions, which need no neighbour.
#[derive(Debug)]
struct InSessions {
    session: usize,
    links: Arc<PppoeLinks>,
    outer: Arc<OuterHeaders>,
    network: usize,
}

/// A network inside tunnels, before they are open.
#[derive(Debug)]
struct Network {
    hosts: Hosts,
    mtu: usize,
    resolver: Resolver,
}

/// The tunnels that end at one port, while their neighbours are resolved.
#[derive(Debug)]
pub(crate) struct PortTunnels<'p> {
    ends: Vec<End<'p>>,
    in_sessions: Vec<InSessions>,
    networks: Vec<Network>,
    /// Once they are open.
    map: Option<Arc<TunnelMap>>,
}

/// The tunnels of a trial, open.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrialTunnels {
    /// Of each port that has some.
    maps: Vec<Option<Arc<TunnelMap>>>,
    /// Of each side of entries that is in one.
    groups: Vec<(usize, Side, GroupTunnel)>,
    /// The tunnel of each of those that are no PPPoE sessions, and the link its packets leave by.
    links: Vec<(usize, Side, Tunnel, EncapLink)>,
    /// Resolved neighbours of clients' hosts in tunnels: entry, neighbour, its hardware address.
    known: Vec<(usize, IpAddr, [u8; 6])>,
}

impl<'p> PortTunnels<'p> {
    /// Those of every port of a plan.
    pub(crate) fn of(plan: &'p Plan, hosts: &EmulatedHosts, facts: &[&PortFacts]) -> Vec<Self> {
        let on_port = |port| Self::on_port(plan, port, hosts, facts[port]);
        (0..plan.ports.len()).map(on_port).collect()
    }

    fn on_port(plan: &'p Plan, port: usize, hosts: &EmulatedHosts, facts: &PortFacts) -> Self {
        let mut ends: Vec<End<'p>> = Vec::new();
        let mut in_sessions: Vec<InSessions> = Vec::new();
        let mut inside: Vec<Vec<Host>> = Vec::new();
        for (session, entry) in plan.sessions.iter().enumerate() {
            let sides: [(Side, &Option<SidePlan>, &PoolPlan); 2] = [
                (Side::Client, &entry.session.client, &entry.session.clients),
                (Side::Server, &entry.session.server, &entry.session.servers),
            ];
            for (side, end, pool) in sides {
                let Some(end) = end.as_ref().filter(|end| end.port == port) else { continue };
                let ranges = pool.addresses.iter().map(|range| range.first..=range.last);
                let addresses = pool.addresses.first().map(|range| range.first).into_iter().collect();
                let host = |number: usize, vlans: Vlans| Host {
                    mac: hosts.ports[port].host(number).mac,
                    vlans,
                    addresses,
                    networks: Vec::new(),
                    answers_for: ranges.collect(),
                };
                if let Some(links) = &end.pppoe {
                    // All are of the same clients.
                    let network = in_sessions.first().map_or(inside.len(), |other| other.network);
                    if network == inside.len() {
                        inside.push(Vec::new());
                    }
                    inside[network].push(host(0, Vlans::NONE));
                    let outer = Arc::new(OuterHeaders::Pppoe(PppoeEncap::new(links.clone())));
                    in_sessions.push(InSessions { session, links: links.clone(), outer, network });
                    continue;
                }
                let Some(own) = &end.tunnel else { continue };
                let known = ends.iter().find(|other| other.own.tunnel.shares_network(&own.tunnel));
                let network = known.map_or(inside.len(), |other| other.network);
                if network == inside.len() {
                    inside.push(Vec::new());
                }
                let vlans = end.hosts.first().map(|host| host.vlans.clone()).unwrap_or_default();
                let place = inside[network].len();
                inside[network].push(host(own.host, vlans));
                ends.push(End { session, side, own, network, host: place, outer: None });
            }
        }
        let networks = inside.into_iter().enumerate().map(|(number, hosts)| {
            let hosts = Hosts::new(hosts, Vec::new());
            let ends = || ends.iter().filter(|end| end.network == number);
            let wanted = ends().filter(|end| end.side == Side::Client).flat_map(|end| {
                plan.sessions[end.session].hops.iter().filter_map(|hop| match hop.by {
                    HopBy::Resolve(ip) => Some((end.host, ip)),
                    HopBy::Given(_) | HopBy::PeerPort => None,
                })
            });
            let resolver = Resolver::new(&hosts, wanted, []);
            let overhead = ends().map(|end| end.own.tunnel.overhead()).max().unwrap_or(PppoeLinks::OVERHEAD);
            let mtu = carried(facts).saturating_sub(ETHERNET_BYTES).min(MTU) as usize;
            Network { hosts, mtu: mtu.saturating_sub(overhead), resolver }
        });
        let networks = networks.collect();
        Self { ends, in_sessions, networks, map: None }
    }

    /// Opens them if the next hops of all are known to the port's `underlay`.
    pub(crate) fn open(&mut self, underlay: &Resolver, hosts: &Hosts) {
        if self.map.is_some() || self.networks.is_empty() {
            return;
        }
        let hop = |end: &End<'_>| underlay.mac(end.own.host, end.own.hop);
        let Some(hops) = self.ends.iter().map(hop).collect::<Option<Vec<_>>>() else { return };
        let mut entries = Vec::new();
        for (end, hop_mac) in self.ends.iter_mut().zip(hops) {
            let (own_mac, vlans) = (hosts.host(end.own.host).mac, end.own.vlans.clone());
            let tunnel = end.own.tunnel.clone();
            let network = end.network as u32 + 1;
            entries.push(DecapEntry { tunnel: tunnel.clone(), mac: own_mac, vlans: vlans.to_vec(), network });
            let link = EncapLink { own_mac, hop_mac, vlans };
            let encap = Encap::new(tunnel, &link);
            end.outer = Some((Arc::new(OuterHeaders::Tunnel(encap)), link));
        }
        let network = |(number, network): (usize, &Network)| {
            let mut outers: Vec<Arc<OuterHeaders>> = Vec::new();
            let of_ends = self
                .ends
                .iter()
                .filter(|end| end.network == number)
                .filter_map(|end| Some(&end.outer.as_ref()?.0));
            let of_sessions =
                self.in_sessions.iter().filter(|one| one.network == number).map(|one| &one.outer);
            for outer in of_ends.chain(of_sessions) {
                if outers.iter().all(|other| other.other_end() != outer.other_end()) {
                    outers.push(outer.clone());
                }
            }
            TunnelNetwork { hosts: network.hosts.clone(), outers, mtu: network.mtu }
        };
        let networks = self.networks.iter().enumerate().map(network).collect();
        let mut decap = Decap::new(entries);
        if let Some(one) = self.in_sessions.first() {
            decap = decap.with_sessions(one.links.clone(), one.network as u32 + 1);
        }
        self.map = Some(Arc::new(TunnelMap { decap, networks }));
    }

    /// Whether the next hops of all outer packets are known.
    pub(crate) fn is_open(&self) -> bool {
        self.map.is_some() || self.networks.is_empty()
    }

    /// Requests inside that are due.
    pub(crate) fn requests(&mut self, now: Nanos) -> Vec<Vec<u8>> {
        let Some(map) = &self.map else { return Vec::new() };
        let mut frames = Vec::new();
        for (network, open) in self.networks.iter_mut().zip(&map.networks) {
            let requests = network.resolver.requests(now, &network.hosts);
            frames.extend(requests.iter().flat_map(|request| open.flood(request)));
        }
        frames
    }

    /// When requests inside are next due; [`Nanos::MAX`] if all is known, or the tunnels are not open.
    pub(crate) fn next_due(&self) -> Nanos {
        let is_open = self.map.is_some();
        let due = self.networks.iter().filter(|_| is_open).map(|network| network.resolver.next_due());
        due.min().unwrap_or(Nanos::MAX)
    }

    /// Takes a frame if it is of one of the tunnels, with the reply to it; `None` if it is not.
    pub(crate) fn take(&mut self, frame: &[u8]) -> Option<Option<Vec<u8>>> {
        let map = self.map.as_ref()?;
        let networks = &mut self.networks;
        map.listen(frame, |network, inside| {
            let network = &mut networks[network];
            network.resolver.take(&network.hosts, inside);
        })
    }

    /// Inner neighbours that did not reply, in words.
    pub(crate) fn unknown(&self) -> Vec<String> {
        let silent = self.networks.iter().enumerate().flat_map(|(number, network)| {
            network.resolver.unknown().map(move |(host, ip)| (number, host, ip))
        });
        let in_words = |(number, host, ip): (usize, usize, IpAddr)| {
            let is_it = |end: &&End<'_>| (end.network, end.host) == (number, host);
            let end = self.ends.iter().find(is_it).expect("each host inside is an end's");
            format!("{ip} (requested inside {})", end.own.tunnel)
        };
        silent.map(in_words).collect()
    }
}

impl TrialTunnels {
    /// Tunnels of a trial whose neighbours are resolved.
    pub(crate) fn new(ports: Vec<PortTunnels<'_>>) -> Self {
        let mut all = Self::default();
        for port in ports {
            for end in port.ends {
                if let Some((outer, link)) = end.outer {
                    let tunnel = GroupTunnel { outer, network: end.network as u32 + 1 };
                    all.groups.push((end.session, end.side, tunnel));
                    all.links.push((end.session, end.side, end.own.tunnel.clone(), link));
                }
                let known = port.networks[end.network].resolver.known();
                let own = known.filter(|(host, ..)| *host == end.host && end.side == Side::Client);
                all.known.extend(own.map(|(_, ip, mac, _)| (end.session, ip, mac)));
            }
            for one in port.in_sessions {
                let tunnel = GroupTunnel { outer: one.outer, network: one.network as u32 + 1 };
                all.groups.push((one.session, Side::Client, tunnel));
            }
            all.maps.push(port.map);
        }
        all
    }

    /// Lets the outer packets of some sides of entries, all on `port`, go to the hardware address `to`; returns their tunnels.
    pub(super) fn follow(
        &mut self,
        port: usize,
        ends: &[(usize, Side)],
        to: [u8; 6],
    ) -> Vec<(usize, Side, GroupTunnel)> {
        let mut moved = Vec::new();
        for (session, side, tunnel, link) in &mut self.links {
            let own = (*session, *side);
            let group = self.groups.iter_mut().find(|(session, side, _)| (*session, *side) == own);
            let Some((.., group)) = group.filter(|_| ends.contains(&own)) else { continue };
            link.hop_mac = to;
            let outer = Arc::new(OuterHeaders::Tunnel(Encap::new(tunnel.clone(), link)));
            let before = std::mem::replace(&mut group.outer, outer.clone());
            moved.push((own.0, own.1, group.clone()));
            if let Some(map) = &mut self.maps[port] {
                let outers = Arc::make_mut(map).networks.iter_mut().flat_map(|network| &mut network.outers);
                outers.filter(|other| **other == before).for_each(|other| *other = outer.clone());
            }
        }
        moved
    }

    /// Those of a port, if it has some.
    pub(crate) fn map(&self, port: usize) -> Option<&Arc<TunnelMap>> {
        self.maps.get(port)?.as_ref()
    }

    /// The tunnel that a side of an entry is in.
    pub(crate) fn of(&self, session: usize, side: Side) -> Option<GroupTunnel> {
        let found = self.groups.iter().find(|(of, which, _)| (*of, *which) == (session, side));
        found.map(|(_, _, tunnel)| tunnel.clone())
    }

    /// The hardware address of a neighbour inside, of the clients of an entry.
    pub(crate) fn mac(&self, session: usize, ip: IpAddr) -> Option<[u8; 6]> {
        self.known.iter().find(|(of, at, _)| (*of, *at) == (session, ip)).map(|(.., mac)| *mac)
    }
}
