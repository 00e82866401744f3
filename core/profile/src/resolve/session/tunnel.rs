//! Tunnels around the sessions of an end: from which address of the port to which of the device, and how clients send inside.
//!
//! Not here: hardware addresses, and what the port's MTU leaves, which only open ports know.

use super::Whose;
use super::pool::{self, Ends, Span};
use crate::document::end_tunnel::{EndTunnelDoc, GtpuDoc, OverlayDoc};
use crate::document::quantity::EndAddresses;
use crate::document::session::{AddressesDoc, NextHopDoc, SessionDoc};
use crate::document::session_text::EndText;
use crate::plan::{Address, HopBy, HostPlan, SessionHop};
use crate::protocols::CLIENTS_IN_WORDS;
use crate::resolve::{Resolver, family};
use session::plan::{AddressRange, SidePlan, SideTunnel};
use std::net::IpAddr;
use wire::tunnel::{Teids, Tunnel, TunnelKind};

/// Types of PDU sessions (TS 38.415 section 5.5.3).
const UPLINK: u8 = 1;
const DOWNLINK: u8 = 0;

/// The tunnels of both ends of an entry.
#[derive(Default)]
pub(super) struct EndTunnels {
    pub(super) client: Option<SideTunnel>,
    pub(super) server: Option<SideTunnel>,
}

impl EndTunnels {
    pub(super) fn of(&self, whose: Whose) -> Option<&SideTunnel> {
        match whose {
            Whose::Client => self.client.as_ref(),
            Whose::Server => self.server.as_ref(),
        }
    }
}

/// Whether an address is the same host for two ends on one port.
pub(super) fn share_network(one: &SidePlan, two: &SidePlan) -> bool {
    match (&one.tunnel, &two.tunnel) {
        (None, None) => one.pppoe.is_some() == two.pppoe.is_some(),
        (Some(one), Some(two)) => one.tunnel.shares_network(&two.tunnel),
        _ => false,
    }
}

impl Resolver<'_> {
    /// The tunnels of both ends; `None` if something is wrong with them.
    pub(super) fn end_tunnels(&mut self, path: &str, doc: &SessionDoc, ends: Ends) -> Option<EndTunnels> {
        let said = self.reading.errors.len();
        let client = doc.client.as_ref().map(|end| (&end.tunnel, &end.addresses, end.hosts.is_some()));
        let server = doc.server.as_ref().map(|end| (&end.tunnel, &end.addresses, end.hosts.is_some()));
        let mut tunnels = EndTunnels::default();
        for (whose, end, port) in [(Whose::Client, client, ends.client), (Whose::Server, server, ends.server)]
        {
            let Some((Some(given), addresses, has_hosts)) = end else { continue };
            let end_path = format!("{path}.{}", whose.key());
            let Some(port) = port else {
                let reason = "applies to an emulated end only: this one has no 'port'";
                self.reading.fail(format!("{end_path}.tunnel"), reason);
                continue;
            };
            if has_hosts {
                let reason =
                    "hosts are on the port's own network, and this end is in a tunnel; use 'addresses'";
                self.reading.fail(format!("{end_path}.hosts"), reason);
            }
            match addresses {
                None if !has_hosts => {
                    self.reading.fail(&end_path, "an end in a tunnel needs 'addresses': those inside it");
                }
                Some(AddressesDoc::One(EndAddresses(EndText::Clients(_)))) => {
                    let reason =
                        format!("{CLIENTS_IN_WORDS} are at the port itself, and these are in a tunnel");
                    self.reading.fail(format!("{end_path}.addresses"), reason);
                }
                _ => {}
            }
            let tunnel = self.end_tunnel(&format!("{end_path}.tunnel"), given, whose, port);
            match whose {
                Whose::Client => tunnels.client = tunnel,
                Whose::Server => tunnels.server = tunnel,
            }
        }
        (self.reading.errors.len() == said).then_some(tunnels)
    }

    /// The tunnel of an end on a port.
    fn end_tunnel(
        &mut self,
        path: &str,
        doc: &EndTunnelDoc,
        whose: Whose,
        port: usize,
    ) -> Option<SideTunnel> {
        let (kind, udp_port, source_port) = self.tunnel_kind(path, doc, whose)?;
        if doc.gateway.is_some() {
            let reason = if kind.is_bare() {
                Some(format!("{kind} carries no Ethernet: nothing inside has a next hop"))
            } else if whose == Whose::Server {
                Some("applies to clients only: servers reply to where a session came from".to_owned())
            } else {
                None
            };
            if let Some(reason) = reason {
                self.reading.fail(format!("{path}.gateway"), reason);
            }
        }
        let to = doc.to.0;
        let (host, from) = self.tunnel_source(path, doc, port)?;
        let (plan, own) = (&self.ports[port], &self.ports[port].hosts[host]);
        let hop = if plan.addresses().any(|own| own.ip == to) {
            Err(format!("{to} is an address of port '{}' itself", plan.name))
        } else {
            underlay_hop(own, from, to).ok_or_else(|| {
                let whose = if host == 0 { "port" } else { "host" };
                let Address { ip, prefix_len } = from;
                format!(
                    "{to} is not on the network of {whose} '{}' ({ip}/{prefix_len}); give it a gateway",
                    own.name
                )
            })
        };
        let vlans = own.vlans.clone();
        let hop = match hop {
            Ok(hop) => hop,
            Err(reason) => {
                self.reading.fail(format!("{path}.to"), reason);
                return None;
            }
        };
        let tunnel = Tunnel { kind, from: from.ip, to, dscp: doc.dscp, ttl: doc.ttl, udp_port, source_port };
        Some(SideTunnel { tunnel, host, vlans, hop, fits_mtu: false })
    }

    /// Kind of the tunnel, and its UDP ports. Identifiers of clients are not numbered yet.
    fn tunnel_kind(
        &mut self,
        path: &str,
        doc: &EndTunnelDoc,
        whose: Whose,
    ) -> Option<(TunnelKind, u16, Option<u16>)> {
        let mut kinds = Vec::new();
        let overlay = |own: &OverlayDoc| (own.udp_port, own.source_port);
        kinds.extend(doc.vxlan.as_ref().map(|own| (TunnelKind::Vxlan { vni: own.vni }, overlay(own))));
        kinds.extend(doc.geneve.as_ref().map(|own| (TunnelKind::Geneve { vni: own.vni }, overlay(own))));
        let gre = doc.gre.as_ref();
        kinds.extend(gre.map(|own| (TunnelKind::Gre { key: own.key, ethernet: own.ethernet }, (None, None))));
        kinds.extend(doc.ipip.as_ref().map(|_| (TunnelKind::Ip, (None, None))));
        kinds.extend(doc.gtpu.as_ref().map(|own| (gtpu(own, whose), (own.udp_port, own.source_port))));
        match (kinds.pop(), kinds.is_empty()) {
            (Some((kind, (udp_port, source_port))), true) => {
                let udp_port = udp_port.or(kind.udp_port()).unwrap_or(0);
                Some((kind, udp_port, source_port))
            }
            (first, _) => {
                let what = if first.is_some() { "it has several" } else { "it has none" };
                let reason = format!("a tunnel is one of vxlan, geneve, gre, ipip and gtpu; {what}");
                self.reading.fail(path, reason);
                None
            }
        }
    }

    /// The host of a port that is this end of a tunnel, and its address.
    fn tunnel_source(&mut self, path: &str, doc: &EndTunnelDoc, port: usize) -> Option<(usize, Address)> {
        let (plan, to) = (&self.ports[port], doc.to.0);
        let hosts = plan.hosts.iter().enumerate();
        let all: Vec<(usize, Address)> =
            hosts.flat_map(|(host, plan)| plan.addresses.iter().map(move |own| (host, *own))).collect();
        let (key, reason) = match &doc.from {
            Some(from) if from.0.is_ipv4() != to.is_ipv4() => {
                let (one, other) = (family(from.0), family(to));
                ("from", format!("{} is {one}, and 'to' is {other}; use the same for both", from.0))
            }
            Some(from) => match all.iter().find(|(_, own)| own.ip == from.0) {
                Some(found) => return Some(*found),
                None => ("from", format!("{} is no address of port '{}' or its hosts", from.0, plan.name)),
            },
            None => {
                let kin: Vec<_> =
                    all.into_iter().filter(|(_, own)| own.ip.is_ipv4() == to.is_ipv4()).collect();
                match kin.iter().find(|(_, own)| own.on_link(to)).or(kin.first()) {
                    Some(found) => return Some(*found),
                    None => {
                        let (name, family) = (&plan.name, family(to));
                        (
                            "to",
                            format!(
                                "port '{name}' has no {family} address for its end of the tunnel; give it one"
                            ),
                        )
                    }
                }
            }
        };
        self.reading.fail(format!("{path}.{key}"), reason);
        None
    }

    /// Lets an end's packets be in its tunnel, now that the clients are known.
    pub(super) fn enter_tunnel(
        &mut self,
        path: &str,
        doc: &SessionDoc,
        whose: Whose,
        side: &mut SidePlan,
        clients: &[AddressRange],
    ) {
        let Some(own) = &mut side.tunnel else { return };
        let kind = &mut own.tunnel.kind;
        if kind.is_bare() && side.hosts.iter().any(|host| !host.vlans.is_empty()) {
            let reason = format!("{kind} carries no Ethernet, so no VLANs; the outer ones are the port's");
            let own = format!("{path}.{}.vlan", whose.key());
            let at = if self.reading.has(&own) { own } else { format!("{path}.vlan") };
            self.reading.fail(at, reason);
        }
        let TunnelKind::Gtpu { send, receive, .. } = kind else { return };
        let end = match whose {
            Whose::Client => doc.client.as_ref().and_then(|client| client.tunnel.as_ref()),
            Whose::Server => doc.server.as_ref().and_then(|server| server.tunnel.as_ref()),
        };
        if !end.and_then(|end| end.gtpu.as_ref()).is_some_and(|gtpu| gtpu.per_client) {
            return;
        }
        let path = format!("{path}.{}.tunnel.gtpu", whose.key());
        if clients.is_empty() {
            let reason = "the clients are external: their addresses are not known";
            self.reading.fail(format!("{path}.per_client"), reason);
            return;
        }
        let count = pool::count(clients);
        for (key, teids) in [("teid", &mut *send), ("own_teid", &mut *receive)] {
            if u128::from(teids.first) + count > 1 << 32 {
                let reason =
                    format!("{count} clients from {} on go beyond the last TEID, 4294967295", teids.first);
                let at = if self.reading.has(&format!("{path}.{key}")) { key } else { "teid" };
                self.fail_once(format!("{path}.{at}"), reason);
            }
            teids.clients = clients.iter().map(|range| range.first..=range.last).collect();
        }
    }

    /// Where clients in a tunnel send to inside it.
    pub(super) fn hops_inside(
        &mut self,
        path: &str,
        doc: &SessionDoc,
        own: &SideTunnel,
        (peer, servers): (Option<usize>, &[AddressRange]),
    ) -> Vec<SessionHop> {
        let client = doc.client.as_ref();
        let given = client.and_then(|client| client.mac.as_ref());
        let spans = || servers.iter().map(Span::range);
        let all = |by: HopBy| spans().map(|span| span.hop(by)).collect();
        let kind = &own.tunnel.kind;
        if kind.is_bare() {
            if given.is_some() {
                let reason = format!("{kind} carries no Ethernet: nothing inside has a MAC address");
                self.reading.fail(format!("{path}.client.mac"), reason);
            }
            return all(HopBy::UNSENT);
        }
        match given {
            Some(NextHopDoc::One(mac)) => return all(HopBy::Given(mac.0)),
            Some(NextHopDoc::ByHost(_)) => {
                let reason = "clients in a tunnel are not the port's hosts; give one MAC address";
                self.reading.fail(format!("{path}.client.mac"), reason);
                return Vec::new();
            }
            None => {}
        }
        let gateway =
            client.and_then(|client| client.tunnel.as_ref()).and_then(|tunnel| tunnel.gateway.as_ref());
        let v4 = servers.first().is_none_or(|range| range.first.is_ipv4());
        match gateway {
            Some(gateway) if gateway.0.is_ipv4() != v4 => {
                let (one, other) = (family(gateway.0), if v4 { "IPv4" } else { "IPv6" });
                let reason = format!("{} is {one}, and these sessions are {other}", gateway.0);
                self.reading.fail(format!("{path}.client.tunnel.gateway"), reason);
                Vec::new()
            }
            Some(gateway) => all(HopBy::Resolve(gateway.0)),
            None => {
                let spans: Vec<Span> = spans().collect();
                spans.into_iter().flat_map(|span| self.neighbours(path, span, peer.is_some())).collect()
            }
        }
    }
}

/// GTP-U with one identifier in each direction.
fn gtpu(doc: &GtpuDoc, whose: Whose) -> TunnelKind {
    let is_client = whose == Whose::Client;
    let teids = |first| Teids { first, clients: Vec::new(), clients_here: is_client };
    TunnelKind::Gtpu {
        send: teids(doc.teid),
        receive: teids(doc.own_teid.unwrap_or(doc.teid)),
        qos_flow: doc.qfi.map(|qfi| (if is_client { UPLINK } else { DOWNLINK }, qfi)),
    }
}

/// The neighbour of a host that leads from its address to another.
fn underlay_hop(host: &HostPlan, from: Address, to: IpAddr) -> Option<IpAddr> {
    let is_near = host.addresses.iter().any(|own| own.on_link(to));
    if is_near { Some(to) } else { host.gateway(&from) }
}
