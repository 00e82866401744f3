//! A plan once its clients have their addresses.
//!
//! Invariant: afterwards no part of the plan is `leased` or `to_clients`.

use crate::plan::{
    Address, ClientsBy, HopBy, HostPlan, NextHop, Plan, PortPlan, SessionEntry, SessionHop, StreamPlan,
};
use crate::protocols::{open_in_sessions, send_in_sessions, send_to_sessions};
use field::{ListOrder, Source, Target, Variable, Vary, Write};
use session::plan::{AddressRange, SideHost};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use wire::Vlans;

/// Servers on the clients' own network whose MAC addresses are resolved one by one.
const NEIGHBOURS_MAX: u128 = 4_096;

/// An address that a client behind a port got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAddress {
    /// The client's number, from 0.
    pub client: u32,
    /// Its hardware address.
    pub mac: [u8; 6],
    /// The address, and its network.
    pub address: Address,
    /// Its link-local address, if it is of IPv6.
    pub link_local: Option<Ipv6Addr>,
    /// Its router.
    pub router: Option<IpAddr>,
    /// Its VLANs, outermost first; `None`: the VLANs of the port.
    pub vlans: Option<Vlans>,
    /// The session it is reached in, if it has one: then it is alone on its link, and has no router.
    pub session: Option<SessionLink>,
}

/// A session as packets in it name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLink {
    /// Its number.
    pub number: u16,
    /// Hardware address of the access concentrator.
    pub ac: [u8; 6],
    /// The address at its end; unspecified if not announced.
    pub peer: Ipv4Addr,
    /// Longest packet that the access concentrator takes, bytes.
    pub mtu: u16,
}

/// Hosts and sources made from the addresses that a port's clients got in a family.
struct Leased<'l> {
    leases: Vec<&'l ClientAddress>,
    /// The host of each.
    hosts: Vec<usize>,
}

impl Plan {
    /// The plan with the addresses that the clients of each port got: the clients are hosts behind it, and the sources
    /// of its streams and sessions. Clients with one hardware address are one host; clients in sessions, which share no link,
    /// are not hosts. `Err` gives the reason of a failure, in a sentence about a stream or an entry.
    ///
    /// # Panics
    /// If there is no list for each port.
    pub fn with_leases(&self, leases: &[Vec<ClientAddress>]) -> Result<Self, String> {
        let mut plan = self.clone();
        let mut leased: Vec<[Option<Leased<'_>>; 2]> = Vec::new();
        let mut in_sessions: Vec<Vec<&ClientAddress>> = Vec::new();
        for (port, leases) in plan.ports.iter_mut().zip(leases) {
            let (sessions, leases): (Vec<_>, Vec<_>) = leases.iter().partition(|one| one.session.is_some());
            in_sessions.push(sessions);
            let leases = &leases[..];
            let hosts = add_hosts(port, leases);
            let of = |v4: bool| {
                let kin =
                    || leases.iter().zip(&hosts).filter(move |(lease, _)| lease.address.ip.is_ipv4() == v4);
                let (leases, hosts): (Vec<_>, Vec<_>) = kin().map(|(lease, host)| (*lease, *host)).unzip();
                (!leases.is_empty()).then_some(Leased { leases, hosts })
            };
            leased.push([of(true), of(false)]);
        }
        for stream in plan.streams.iter_mut().filter(|stream| stream.to_clients) {
            let to = stream.to.unwrap_or(stream.from);
            let hosts = &plan.ports[stream.from].hosts;
            send_to_sessions(stream, &hosts[stream.from_host], &self.ports[to].name, &in_sessions[to])?;
        }
        for stream in plan.streams.iter_mut().filter(|stream| stream.leased.is_some()) {
            let name = &self.ports[stream.from].name;
            if stream.leased == Some(ClientsBy::Session) {
                send_in_sessions(stream, name, &in_sessions[stream.from])?;
                continue;
            }
            let is_v4 = stream.packet.headers.iter().any(|header| header.protocol.name == "ipv4");
            let from = leased[stream.from][usize::from(!is_v4)].as_ref();
            let from = from.ok_or_else(|| format!("stream {}: port {name} has no leases", stream.name))?;
            lease_stream(stream, from)?;
        }
        for entry in &mut plan.sessions {
            let (Some(by), Some(client)) = (entry.leased.take(), &entry.session.client) else { continue };
            let name = &self.ports[client.port].name;
            if by == ClientsBy::Session {
                open_in_sessions(entry, name, &in_sessions[client.port])?;
                continue;
            }
            let is_v4 = entry.session.clients.addresses.first().is_none_or(|range| range.first.is_ipv4());
            let from = leased[client.port][usize::from(!is_v4)].as_ref();
            let none = || format!("sessions {}: port {name} has no leases", entry.session.name);
            let from = from.ok_or_else(none)?;
            lease_sessions(entry, from)?;
        }
        Ok(plan)
    }
}

/// Adds a host for each client; returns which host each address is of.
fn add_hosts(port: &mut PortPlan, leases: &[&ClientAddress]) -> Vec<usize> {
    let vlans = port.own().vlans.clone();
    let mut known: HashMap<([u8; 6], &Vlans), usize> = HashMap::new();
    let mut places = Vec::with_capacity(leases.len());
    for lease in leases {
        let own = (lease.mac, lease.vlans.as_ref().unwrap_or(&vlans));
        let place = *known.entry(own).or_insert(port.hosts.len());
        if place == port.hosts.len() {
            port.hosts.push(HostPlan {
                name: ClientsBy::Lease.name(lease.client),
                addresses: Vec::new(),
                gateways: Vec::new(),
                gateway_macs: Vec::new(),
                mac: Some(lease.mac),
                vlans: lease.vlans.as_ref().unwrap_or(&vlans).clone(),
            });
        }
        let host = &mut port.hosts[place];
        host.addresses.push(lease.address);
        let link = lease.link_local.map(|ip| Address { ip: ip.into(), prefix_len: 64 });
        host.addresses.extend(link);
        let is_near = |router: &IpAddr| {
            lease.address.is_next_to(*router) || link.is_some_and(|link| link.is_next_to(*router))
        };
        host.gateways.extend(lease.router.filter(|router| is_near(router) && *router != lease.address.ip));
        places.push(place);
    }
    places
}

impl Leased<'_> {
    /// The neighbour through which the first reaches `to`.
    fn hop(&self, to: IpAddr) -> Result<IpAddr, String> {
        hop_of(self.leases[0], to)
    }
}

/// The neighbour through which a client reaches `to`.
fn hop_of(lease: &ClientAddress, to: IpAddr) -> Result<IpAddr, String> {
    let address = lease.address;
    if address.is_next_to(to) {
        return Ok(to);
    }
    let network = format!("{}/{}", address.ip, address.prefix_len);
    lease.router.ok_or_else(|| {
        let whence = if to.is_ipv4() {
            format!("the {} server named no router", ClientsBy::Lease.protocol())
        } else {
            "no router advertised itself".to_owned()
        };
        format!("{to} is not on the network of the leases ({network}), and {whence}")
    })
}

/// Where the outermost IP header of a stream's packets is.
pub(crate) fn ip_header(stream: &StreamPlan) -> Option<usize> {
    stream.packet.headers.iter().position(|header| matches!(header.protocol.name, "ipv4" | "ipv6"))
}

/// Lets a field of a stream's packets go over `values`, one by packet.
pub(crate) fn spread(stream: &mut StreamPlan, header: usize, field: &str, values: Vec<u128>) {
    let Some(field) = stream.packet.headers[header].protocol.field(field) else { return };
    let mut vary = stream.vary.as_ref().map_or_else(Vary::default, |vary| Vary::clone(vary));
    let source = Source::List { values: values.into(), order: ListOrder::Sequential };
    vary.variables.push(Variable::new(source));
    let mask = u128::MAX >> (128 - field.width);
    let target = Target::Field { header, field };
    vary.writes.push(Write { variable: vary.variables.len() - 1, target, mask });
    stream.vary = Some(Arc::new(vary));
}

/// Lets the tags of a stream's packets go over the VLANs of its clients, if each has its own.
pub(crate) fn spread_vlans(stream: &mut StreamPlan, from: &[&ClientAddress]) {
    let Some(vlans) = from.iter().map(|one| one.vlans.as_ref()).collect::<Option<Vec<_>>>() else { return };
    let tags = stream.packet.headers[1..].iter().take_while(|header| header.protocol.name == "vlan").count();
    // A packet whose tags the profile has keeps them.
    if vlans.iter().any(|own| own.len() != tags) {
        return;
    }
    for depth in 0..tags {
        spread(stream, depth + 1, "id", vlans.iter().map(|own| own[depth].into()).collect());
    }
}

fn lease_stream(stream: &mut StreamPlan, from: &Leased<'_>) -> Result<(), String> {
    stream.leased = None;
    stream.from_host = from.hosts[0];
    let ip = ip_header(stream);
    if stream.next_hop == NextHop::PeerPort
        && let Some((to, _)) = stream.destinations
    {
        let hop = from.hop(to).map_err(|reason| format!("stream {}: {reason}", stream.name))?;
        stream.next_hop = NextHop::Resolve(hop);
    }
    if let Some(ip) = ip {
        spread(stream, ip, "src", from.leases.iter().map(|lease| number(lease.address.ip)).collect());
    }
    if stream.fill_source_mac {
        let macs = from.leases.iter().map(|lease| units::Mac(lease.mac).number().into());
        spread(stream, 0, "src", macs.collect());
    }
    spread_vlans(stream, &from.leases);
    Ok(())
}

/// An entry that clients open, each in its own VLANs: each is a host of the entry.
fn lease_sessions_each(entry: &mut SessionEntry, from: &Leased<'_>) -> Result<(), String> {
    let session = &mut entry.session;
    let name = session.name.clone();
    let Some(client) = &mut session.client else { return Ok(()) };
    entry.client_hosts.clone_from(&from.hosts);
    let host = |lease: &&ClientAddress| SideHost {
        name: ClientsBy::Lease.name(lease.client),
        vlans: lease.vlans.clone().unwrap_or_default(),
    };
    client.hosts = from.leases.iter().map(host).collect();
    let range = |(place, lease): (usize, &&ClientAddress)| {
        let ip = lease.address.ip;
        AddressRange { first: ip, last: ip, weight: 1, host: place }
    };
    session.clients.addresses = from.leases.iter().enumerate().map(range).collect();
    let given = entry.hops.iter().map(|hop| hop.by).find(|by| matches!(by, HopBy::Given(_)));
    let places = from.leases.len() as u128;
    entry.hops.clear();
    for range in &session.servers.addresses {
        let (low, high) = (number(range.first), number(range.last));
        for (place, lease) in from.leases.iter().enumerate() {
            let mut add = |first, last, by| entry.hops.push(SessionHop { host: place, first, last, by });
            if let Some(by) = given {
                add(range.first, range.last, by);
                continue;
            }
            let hop = hop_of(lease, range.first).map_err(|reason| format!("sessions {name}: {reason}"))?;
            if hop != range.first || low == high {
                add(range.first, range.last, HopBy::Resolve(hop));
                continue;
            }
            if (high - low).saturating_mul(places) >= NEIGHBOURS_MAX {
                return Err(format!(
                    "sessions {name}: more than {NEIGHBOURS_MAX} servers on the clients' own networks"
                ));
            }
            for ip in (low..=high).map(|ip| address(ip, range.first.is_ipv4())) {
                add(ip, ip, HopBy::Resolve(hop_of(lease, ip)?));
            }
        }
    }
    Ok(())
}

fn lease_sessions(entry: &mut SessionEntry, from: &Leased<'_>) -> Result<(), String> {
    if from.leases.iter().all(|lease| lease.vlans.is_some()) {
        return lease_sessions_each(entry, from);
    }
    entry.client_hosts = vec![from.hosts[0]];
    let session = &mut entry.session;
    session.clients.addresses = ranges(&from.leases);
    let failed = |reason| format!("sessions {}: {reason}", session.name);
    if entry.hops.iter().all(|hop| matches!(hop.by, HopBy::Given(_))) && !entry.hops.is_empty() {
        return Ok(());
    }
    entry.hops.clear();
    for range in &session.servers.addresses {
        let (first, last) = (range.first, range.last);
        let hop = from.hop(first).map_err(failed)?;
        if hop != first || first == last {
            entry.hops.push(SessionHop { host: 0, first, last, by: HopBy::Resolve(hop) });
            continue;
        }
        let (low, high) = (number(first), number(last));
        if high - low >= NEIGHBOURS_MAX {
            let reason = format!("more than {NEIGHBOURS_MAX} servers on the clients' own network");
            return Err(failed(reason));
        }
        for ip in (low..=high).map(|ip| address(ip, first.is_ipv4())) {
            let hop = from.hop(ip).map_err(failed)?;
            entry.hops.push(SessionHop { host: 0, first: ip, last: ip, by: HopBy::Resolve(hop) });
        }
    }
    Ok(())
}

/// The addresses of the leases, in as few ranges as can be.
pub(crate) fn ranges(leases: &[&ClientAddress]) -> Vec<AddressRange> {
    let v4 = leases.iter().all(|lease| lease.address.ip.is_ipv4());
    let mut addresses: Vec<u128> = leases.iter().map(|lease| number(lease.address.ip)).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let runs = addresses.chunk_by(|one, next| one + 1 == *next);
    let range = |run: &[u128]| {
        let (first, last) = (address(run[0], v4), address(run[run.len() - 1], v4));
        AddressRange { first, last, weight: 1, host: 0 }
    };
    runs.map(range).collect()
}

/// An address as a number.
pub(crate) fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}

/// The address of a number.
fn address(number: u128, v4: bool) -> IpAddr {
    if v4 { IpAddr::V4((number as u32).into()) } else { IpAddr::V6(number.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulate::dhcp::Lease;
    use std::net::Ipv4Addr;
    use wire::tunnel::{PppoeLink, PppoeLinks};

    const PROFILE: &str = r#"
ports:
  west: {device: "ring:a", dhcp: {clients: 3}}
  east: {device: "ring:b", ip: 10.9.0.2/24}
streams:
  - {name: s, from: west, from_host: dhcp, to: east, packet: [ipv4, udp], rate: 1kpps}
sessions:
  - {name: t, client: {port: west, addresses: dhcp}, server: {addresses: 10.0.0.7..10.0.0.8, ports: 9}, open: 1/s, app: {bulk: {from: client}}}
"#;

    fn lease(client: u32, last: u8, router: Option<u8>) -> ClientAddress {
        let ip = |last| Ipv4Addr::new(10, 0, 0, last);
        Lease { client, mac: [2, 0, 0, 0, 0, last], ip: ip(last), prefix_len: 24, router: router.map(ip) }
            .into()
    }

    #[test]
    fn streams_and_sessions_come_from_the_leases() {
        let plan = crate::load(PROFILE).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let leases = [lease(0, 50, Some(1)), lease(1, 51, Some(1)), lease(2, 60, Some(1))];
        let plan = plan.with_leases(&[leases.to_vec(), Vec::new()]).unwrap();
        let west = &plan.ports[0];
        assert_eq!(west.hosts.len(), 4);
        assert_eq!((west.hosts[3].name.as_str(), west.hosts[3].gateways.len()), ("dhcp[2]", 1));
        let stream = &plan.streams[0];
        assert_eq!((stream.from_host, stream.next_hop), (1, NextHop::Resolve([10, 0, 0, 1].into())));
        let vary = stream.vary.as_ref().unwrap();
        let Source::List { values, .. } = &vary.variables[0].source else { panic!("no list") };
        assert_eq!(values.iter().map(|ip| *ip as u8).collect::<Vec<_>>(), [50, 51, 60]);
        assert_eq!(vary.writes.len(), 2);
        let entry = &plan.sessions[0];
        let clients = &entry.session.clients.addresses;
        assert_eq!(
            (clients.len(), clients[0].last, clients[1].first),
            (2, [10, 0, 0, 51].into(), [10, 0, 0, 60].into())
        );
        let hops: Vec<_> = entry.hops.iter().map(|hop| hop.by).collect();
        assert_eq!(hops, [HopBy::Resolve([10, 0, 0, 7].into()), HopBy::Resolve([10, 0, 0, 8].into())]);
    }

    #[test]
    fn a_client_of_both_families_is_one_host() {
        let text = PROFILE.replace("dhcp: {clients: 3}}", "dhcp: {clients: 3}, dhcpv6: {clients: 3}}");
        let text = text.replace("packet: [ipv4, udp]", "packet: [{ipv6: {dst: '2001:db8:9::2'}}, udp]");
        let plan = crate::load(&text).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let v6 = |client: u32, last: u8| ClientAddress {
            client,
            mac: [2, 0, 0, 0, 0, last],
            address: Address { ip: format!("2001:db8::{last:x}").parse().unwrap(), prefix_len: 64 },
            link_local: Some(format!("fe80::{last:x}").parse().unwrap()),
            router: Some("fe80::99".parse().unwrap()),
            vlans: None,
            session: None,
        };
        let leases = vec![lease(0, 50, Some(1)), lease(1, 51, Some(1)), v6(1, 51), v6(2, 60)];
        let plan = plan.with_leases(&[leases, Vec::new()]).unwrap();
        let west = &plan.ports[0];
        assert_eq!(
            (west.hosts.len(), west.hosts[2].addresses.len(), west.hosts[2].gateways.len()),
            (4, 3, 2)
        );
        let stream = &plan.streams[0];
        let hop = NextHop::Resolve("fe80::99".parse().unwrap());
        assert_eq!((stream.from_host, stream.next_hop), (2, hop));
        let Source::List { values, .. } = &stream.vary.as_ref().unwrap().variables[0].source else {
            panic!("no list")
        };
        assert_eq!(values.iter().map(|ip| *ip as u8).collect::<Vec<_>>(), [51, 60]);
    }

    #[test]
    fn pppoe_clients_send_and_receive() {
        let text = r#"
ports:
  west: {device: "ring:a", pppoe: {clients: 2}}
  east: {device: "ring:b", ip: 10.9.0.2/24, gateway: 10.9.0.1}
streams:
  - {name: up, from: west, from_host: pppoe, to: east, packet: [ipv4, udp], rate: 1kpps}
  - {name: down, from: east, to: west, to_host: pppoe, packet: [ipv4, udp], rate: 1kpps}
sessions:
  - {name: web, client: {port: west, addresses: pppoe}, server: {port: east, ports: 80}, open: 1/s, app: {bulk: {from: client}}}
"#;
        let plan = crate::load(text).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let session = |client: u32, last: u8| ClientAddress {
            client,
            mac: [2, 0, 0, 0, 0, last],
            address: Address { ip: [100, 64, 0, last].into(), prefix_len: 32 },
            link_local: None,
            router: None,
            vlans: None,
            session: Some(SessionLink {
                number: 100 + u16::from(last),
                ac: [2, 9, 9, 9, 9, 9],
                peer: Ipv4Addr::UNSPECIFIED,
                mtu: 1_480,
            }),
        };
        let sessions = vec![session(0, 7), session(1, 9)];
        let of = |stream: &StreamPlan| -> Vec<(String, Vec<u128>)> {
            let vary = stream.vary.clone().unwrap();
            let name = |write: &Write| match &write.target {
                Target::Field { header, field } => {
                    format!("{}.{}", stream.packet.headers[*header].protocol.name, field.name)
                }
                _ => panic!("no field"),
            };
            let values = |write: &Write| match &vary.variables[write.variable].source {
                Source::List { values, .. } => values.to_vec(),
                _ => panic!("no list"),
            };
            vary.writes.iter().map(|write| (name(write), values(write))).collect()
        };
        let done = plan.with_leases(&[sessions, Vec::new()]).unwrap();
        assert_eq!(done.ports[0].hosts.len(), 1, "they are no hosts");
        let named = |name: &str, values: [u128; 2]| (name.to_owned(), values.to_vec());
        let expected = [
            named("ethernet.dst", [0x0209_0909_0909; 2]),
            named("ethernet.src", [0x0200_0000_0007, 0x0200_0000_0009]),
            named("pppoe.session", [107, 109]),
            named("ipv4.src", [0x6440_0007, 0x6440_0009]),
        ];
        assert_eq!((of(&done.streams[0]), done.streams[0].next_hop), (expected.to_vec(), NextHop::Given));
        assert_eq!(of(&done.streams[1]), [named("ipv4.dst", [0x6440_0007, 0x6440_0009])]);
        assert_eq!(done.streams[1].next_hop, NextHop::Resolve([10, 9, 0, 1].into()));
        assert!(done.streams.iter().all(|stream| stream.leased.is_none() && !stream.to_clients));
        let entry = &done.sessions[0];
        let client = entry.session.client.as_ref().unwrap();
        assert_eq!((plan.sessions[0].session.client.as_ref().unwrap().mtu, client.mtu), (1_492, 1_480));
        let first: Vec<_> = entry.session.clients.addresses.iter().map(|range| range.first).collect();
        assert_eq!(first, [IpAddr::from([100, 64, 0, 7]), [100, 64, 0, 9].into()]);
        let link = |last: u8| {
            let mac = [2, 0, 0, 0, 0, last];
            (
                Ipv4Addr::new(100, 64, 0, last),
                PppoeLink { session: 100 + u16::from(last), ac: [2, 9, 9, 9, 9, 9], mac, vlans: [0; 2] },
            )
        };
        assert_eq!(client.pppoe.as_deref(), Some(&PppoeLinks::new(&wire::Vlans::NONE, [link(7), link(9)])));
        assert_eq!((entry.leased, entry.hops[0].by), (None, HopBy::UNSENT));
        let own =
            text.replace("pppoe: {clients: 2}", "pppoe: {clients: 2, vlans: {outer: 100..101, inner: 7}}");
        let own = crate::load(&own).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let tagged = |one: ClientAddress, outer| ClientAddress { vlans: Some([outer, 7].into()), ..one };
        let sessions = vec![tagged(session(0, 7), 100), tagged(session(1, 9), 101)];
        let own = own.with_leases(&[sessions, Vec::new()]).unwrap();
        let found = spreads(&own.streams[0]);
        assert!(
            found.contains(&(1, "id", vec![100, 101])) && found.contains(&(2, "id", vec![7, 7])),
            "{found:?}"
        );
        let links = own.sessions[0].session.client.as_ref().unwrap().pppoe.clone().unwrap();
        assert!(links.differ() && **links.vlans() == [100, 7]);
        let told = plan.with_leases(&[Vec::new(), Vec::new()]).unwrap_err();
        assert_eq!(told, "stream down: no PPPoE client of port west has a session");
        let plan = crate::load(&text.replace(", gateway: 10.9.0.1", "")).unwrap();
        let told = plan.with_leases(&[vec![session(0, 7)], Vec::new()]).unwrap_err();
        assert!(told.contains("is not on the network of 'east', which has no gateway"), "{told}");
    }

    /// Values that fields of a stream's packets go over, by field, with the number of the header.
    fn spreads(stream: &StreamPlan) -> Vec<(usize, &'static str, Vec<u128>)> {
        let vary = stream.vary.as_ref().unwrap();
        let row = |write: &Write| {
            let Target::Field { header, field } = &write.target else { panic!("no field") };
            let Source::List { values, .. } = &vary.variables[write.variable].source else {
                panic!("no list")
            };
            (*header, field.name, values.to_vec())
        };
        vary.writes.iter().map(row).collect()
    }

    #[test]
    fn clients_with_their_own_vlans_send_in_them() {
        let text = PROFILE.replace("clients: 3}", "clients: 3, vlans: {outer: 100..101, inner: 5..6}}");
        let plan = crate::load(&text).unwrap_or_else(|errors| panic!("{errors:#?}"));
        let pairs = [[100, 5], [100, 6], [101, 5]];
        let leased = |client: u32, last| ClientAddress {
            vlans: Some(pairs[client as usize].into()),
            ..lease(client, last, Some(1))
        };
        let leases = vec![leased(0, 50), leased(1, 51), leased(2, 60)];
        let done = plan.with_leases(&[leases, Vec::new()]).unwrap();
        let stream = &done.streams[0];
        let names: Vec<&str> = stream.packet.headers.iter().map(|header| header.protocol.name).collect();
        assert_eq!(names, ["ethernet", "vlan", "vlan", "ipv4", "udp"]);
        let found = spreads(stream);
        assert!(found.contains(&(1, "id", vec![100, 100, 101])), "{found:?}");
        assert!(found.contains(&(2, "id", vec![5, 6, 5])), "{found:?}");
        assert_eq!(*done.ports[0].hosts[3].vlans, [101, 5]);
        let entry = &done.sessions[0];
        assert_eq!(entry.client_hosts, [1, 2, 3]);
        let client = entry.session.client.as_ref().unwrap();
        let hosts: Vec<Vec<u16>> = client.hosts.iter().map(|host| host.vlans.to_vec()).collect();
        assert_eq!(hosts, pairs);
        let places: Vec<usize> = entry.session.clients.addresses.iter().map(|range| range.host).collect();
        assert_eq!(places, [0, 1, 2]);
        // Two servers on the network of each.
        let hops: Vec<_> = entry.hops.iter().map(|hop| (hop.host, hop.by)).collect();
        let to = |last: u8| HopBy::Resolve([10, 0, 0, last].into());
        assert_eq!(hops.len(), 6);
        assert!(hops.contains(&(2, to(7))) && hops.contains(&(2, to(8))), "{hops:?}");
    }

    #[test]
    fn a_network_without_a_router_is_told() {
        let plan = crate::load(PROFILE).unwrap();
        let told = plan.with_leases(&[vec![lease(0, 50, None)], Vec::new()]).unwrap_err();
        assert_eq!(
            told,
            "stream s: 10.9.0.2 is not on the network of the leases (10.0.0.50/24), and the DHCP server named no router"
        );
        let told = plan.with_leases(&[Vec::new(), Vec::new()]).unwrap_err();
        assert_eq!(told, "stream s: port west has no leases");
    }
}
