//! A plan once its DHCP clients have their addresses.
//!
//! Invariant: afterwards nothing in the plan says `leased`.

use crate::plan::{Address, HopBy, HostPlan, NextHop, Plan, SessionEntry, SessionHop, StreamPlan};
use emulate::dhcp::Lease;
use field::{ListOrder, Source, Target, Variable, Vary, Write};
use session::plan::AddressRange;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Servers on the clients' own network whose MAC addresses are resolved one by one.
const NEIGHBOURS_MAX: u32 = 4_096;

/// What the leases of a port come to.
struct Leased<'l> {
    leases: &'l [Lease],
    /// The host of the first of them.
    host: usize,
    address: Address,
    router: Option<IpAddr>,
}

impl Plan {
    /// The plan with each port's leases: their clients are hosts behind it, and the sources of its streams and sessions.
    /// `Err` says, in a sentence about a stream or an entry, why that can't be.
    ///
    /// # Panics
    /// If there is no list of leases for each port.
    pub fn with_leases(&self, leases: &[Vec<Lease>]) -> Result<Self, String> {
        let mut plan = self.clone();
        let mut leased: Vec<Option<Leased<'_>>> = Vec::new();
        for (port, leases) in plan.ports.iter_mut().zip(leases) {
            let vlans = port.own().vlans.clone();
            let host = port.hosts.len();
            port.hosts.extend(leases.iter().map(|lease| client(lease, &vlans)));
            let first = leases.first().map(|lease| Leased {
                leases,
                host,
                address: Address { ip: lease.ip.into(), prefix_len: lease.prefix_len },
                router: lease.router.map(IpAddr::V4),
            });
            leased.push(first);
        }
        for stream in plan.streams.iter_mut().filter(|stream| stream.leased) {
            let name = &self.ports[stream.from].name;
            let from = leased[stream.from].as_ref();
            let from = from.ok_or_else(|| format!("stream {}: port {name} has no leases", stream.name))?;
            lease_stream(stream, from)?;
        }
        for entry in plan.sessions.iter_mut().filter(|entry| entry.leased) {
            let Some(client) = &entry.session.client else { continue };
            let name = &self.ports[client.port].name;
            let from = leased[client.port].as_ref();
            let none = || format!("sessions {}: port {name} has no leases", entry.session.name);
            let from = from.ok_or_else(none)?;
            lease_sessions(entry, from)?;
        }
        Ok(plan)
    }

    /// Whether hosts of a port get addresses, or join groups.
    pub fn has_clients(&self) -> bool {
        self.ports.iter().any(|port| port.dhcp.is_some() || port.multicast.is_some())
    }
}

fn client(lease: &Lease, vlans: &[u16]) -> HostPlan {
    let address = Address { ip: lease.ip.into(), prefix_len: lease.prefix_len };
    let router =
        lease.router.map(IpAddr::V4).filter(|router| address.is_next_to(*router) && *router != address.ip);
    HostPlan {
        name: format!("dhcp[{}]", lease.client),
        addresses: vec![address],
        gateways: router.into_iter().collect(),
        gateway_macs: Vec::new(),
        mac: Some(lease.mac),
        vlans: vlans.to_vec(),
    }
}

impl Leased<'_> {
    /// The neighbour through which `to` is reached.
    fn hop(&self, to: IpAddr) -> Result<IpAddr, String> {
        if self.address.is_next_to(to) {
            return Ok(to);
        }
        let network = format!("{}/{}", self.address.ip, self.address.prefix_len);
        self.router.ok_or_else(|| {
            format!(
                "{to} is not on the network of the leases ({network}), and the DHCP server named no router"
            )
        })
    }
}

fn lease_stream(stream: &mut StreamPlan, from: &Leased<'_>) -> Result<(), String> {
    stream.leased = false;
    stream.from_host = from.host;
    let headers = &stream.packet.headers;
    let ip = headers.iter().position(|header| header.protocol.name == "ipv4");
    if stream.next_hop == NextHop::PeerPort
        && let Some((to, _)) = stream.destinations
    {
        let hop = from.hop(to).map_err(|reason| format!("stream {}: {reason}", stream.name))?;
        stream.next_hop = NextHop::Resolve(hop);
    }
    let mut vary = stream.vary.as_ref().map_or_else(Vary::default, |vary| Vary::clone(vary));
    let mut list = |header: usize, field: &str, values: Vec<u128>| {
        let Some(field) = headers[header].protocol.field(field) else { return };
        let source = Source::List { values: values.into(), order: ListOrder::Sequential };
        vary.variables.push(Variable::new(source));
        let mask = u128::MAX >> (128 - field.width);
        let target = Target::Field { header, field };
        vary.writes.push(Write { variable: vary.variables.len() - 1, target, mask });
    };
    if let Some(ip) = ip {
        list(ip, "src", from.leases.iter().map(|lease| u32::from(lease.ip).into()).collect());
    }
    if stream.fill_source_mac {
        list(0, "src", from.leases.iter().map(|lease| units::Mac(lease.mac).number().into()).collect());
    }
    stream.vary = Some(Arc::new(vary));
    Ok(())
}

fn lease_sessions(entry: &mut SessionEntry, from: &Leased<'_>) -> Result<(), String> {
    entry.leased = false;
    entry.client_hosts = vec![from.host];
    let session = &mut entry.session;
    session.clients.addresses = ranges(from.leases);
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
        let (IpAddr::V4(first), IpAddr::V4(last)) = (first, last) else { continue };
        let (first, last) = (u32::from(first), u32::from(last));
        if last - first >= NEIGHBOURS_MAX {
            let reason = format!("more than {NEIGHBOURS_MAX} servers on the clients' own network");
            return Err(failed(reason));
        }
        for ip in (first..=last).map(|ip| IpAddr::V4(Ipv4Addr::from(ip))) {
            let hop = from.hop(ip).map_err(failed)?;
            entry.hops.push(SessionHop { host: 0, first: ip, last: ip, by: HopBy::Resolve(hop) });
        }
    }
    Ok(())
}

/// The addresses of the leases, in as few ranges as can be.
fn ranges(leases: &[Lease]) -> Vec<AddressRange> {
    let mut addresses: Vec<u32> = leases.iter().map(|lease| u32::from(lease.ip)).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let runs = addresses.chunk_by(|one, next| one + 1 == *next);
    let ip = |ip: u32| IpAddr::V4(ip.into());
    runs.map(|run| AddressRange { first: ip(run[0]), last: ip(run[run.len() - 1]), weight: 1, host: 0 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = r#"
ports:
  west: {device: "ring:a", dhcp: {clients: 3}}
  east: {device: "ring:b", ip: 10.9.0.2/24}
streams:
  - {name: s, from: west, from_host: dhcp, to: east, packet: [ipv4, udp], rate: 1kpps}
sessions:
  - {name: t, client: {port: west, addresses: dhcp}, server: {addresses: 10.0.0.7..10.0.0.8, ports: 9}, open: 1/s, app: {bulk: {from: client}}}
"#;

    fn lease(client: u32, last: u8, router: Option<u8>) -> Lease {
        let ip = |last| Ipv4Addr::new(10, 0, 0, last);
        Lease { client, mac: [2, 0, 0, 0, 0, last], ip: ip(last), prefix_len: 24, router: router.map(ip) }
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
