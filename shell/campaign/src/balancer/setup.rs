//! Both sides of a balancer, of the entries of sessions of a profile.

use crate::CampaignError;
use balance::{Backend, Client, Protocol, Setup, Speech};
use engine::LentHost;
use methods::BalancerLoad;
use profile::Plan;
use profile::plan::SessionEntry;
use session::plan::{AddressRange, AppPlan, Carrier, PoolPlan, Side, SidePlan};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use tcp::Transport;

/// Backends at most.
const BACKENDS_MAX: usize = 1_024;
/// Addresses of clients at most; more are left out.
const CLIENTS_MAX: usize = 65_536;

/// A backend of the profile.
pub(super) struct BackendPlan {
    pub(super) address: IpAddr,
    ports: RangeInclusive<u16>,
    /// Entry, and host of its servers.
    entry: usize,
    host: usize,
}

/// Both sides of a balancer.
pub(super) struct Sides {
    pub(super) client_port: usize,
    pub(super) server_port: usize,
    pub(super) backends: Vec<BackendPlan>,
    /// The entry of the clients.
    entry: usize,
    /// Clients: their addresses and hosts.
    clients: Vec<(IpAddr, usize)>,
    ports: RangeInclusive<u16>,
    to: SocketAddr,
    transport: Transport,
    protocol: Protocol,
}

impl Sides {
    /// # Errors
    /// The profile has not one entry of clients to a balancer and one of servers behind it.
    pub(super) fn of(plan: &Plan) -> Result<Self, CampaignError> {
        let bad = |reason: &str| Err(CampaignError::profile("sessions", reason));
        let entries = || plan.sessions.iter().enumerate();
        let mut of_clients = entries().filter(|(_, entry)| entry.session.client.is_some());
        let (Some((entry, own)), None) = (of_clients.next(), of_clients.next()) else {
            return bad(
                "one entry with clients is needed, whose server is the balancer: 'client: {port: …}', 'server: {addresses: …}'",
            );
        };
        if own.session.server.is_some() {
            return bad(
                "the server of the entry with clients must be the balancer, not the tester: leave its 'port' out, and give the backends as an \
                 entry without 'client'",
            );
        }
        let servers: Vec<(usize, &SessionEntry)> =
            entries().filter(|(_, entry)| entry.session.client.is_none()).collect();
        let Some(server_port) = servers.iter().find_map(|(_, entry)| port(&entry.session.server)) else {
            return bad("no backends: give them as an entry without 'client', 'server: {port: …}'");
        };
        if servers.iter().any(|(_, entry)| port(&entry.session.server) != Some(server_port)) {
            return bad("all backends must be behind one port");
        }
        for entry in &plan.sessions {
            check_entry(entry)?;
        }
        let carrier = own.session.carrier;
        if servers.iter().any(|(_, entry)| entry.session.carrier != carrier) {
            return bad("clients and backends must both use TCP, or both UDP ('transport')");
        }
        let backends: Vec<BackendPlan> = servers
            .iter()
            .flat_map(|(index, entry)| {
                let ports = server_ports(entry);
                addresses(&entry.session.servers).map(move |(address, host)| BackendPlan {
                    address,
                    ports: ports.clone(),
                    entry: *index,
                    host,
                })
            })
            .take(BACKENDS_MAX + 1)
            .collect();
        if backends.len() > BACKENDS_MAX {
            return bad("at most 1024 backends are possible");
        }
        let mut sorted: Vec<IpAddr> = backends.iter().map(|backend| backend.address).collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|two| two[0] == two[1]) {
            return bad("each backend needs its own address");
        }
        let mut balancer = addresses(&own.session.servers);
        let (Some((address, _)), None) = (balancer.next(), balancer.next()) else {
            return bad(
                "the balancer must have one address: 'server: {addresses: …}' of the entry with clients",
            );
        };
        let ports = server_ports(own);
        if ports.start() != ports.end() {
            return bad("the balancer must have one port: 'server: {ports: …}' of the entry with clients");
        }
        let is_http =
            matches!(own.session.mix.members.first().map(|member| &member.app), Some(AppPlan::Http(_)));
        Ok(Self {
            client_port: port(&own.session.client).unwrap_or_default(),
            server_port,
            backends,
            entry,
            clients: addresses(&own.session.clients).take(CLIENTS_MAX).collect(),
            ports: own.session.clients.ports.clone(),
            to: SocketAddr::new(address, *ports.start()),
            transport: carrier.into(),
            protocol: if is_http { Protocol::Http } else { Protocol::Line },
        })
    }

    pub(super) fn is_http(&self) -> bool {
        self.protocol == Protocol::Http
    }

    pub(super) fn clients(&self) -> usize {
        self.clients.len()
    }

    /// An exchange between these sides, with the hosts of the ports.
    pub(super) fn setup(&self, hosts: &[LentHost], load: &BalancerLoad, seed: u64) -> Setup {
        let own = hosts.iter().filter(|host| (host.entry, host.side) == (self.entry, Side::Client));
        let mut groups: Vec<&LentHost> = own.collect();
        groups.sort_by_key(|host| host.host);
        let config = |backend: &BackendPlan| {
            let key = (backend.entry, Side::Server, backend.host);
            let found = hosts.iter().find(|host| (host.entry, host.side, host.host) == key);
            found.map(|host| host.config.clone())
        };
        Setup {
            clients: self
                .clients
                .iter()
                .map(|(address, host)| Client { address: *address, group: *host as u16 })
                .collect(),
            groups: groups.into_iter().map(|host| host.config.clone()).collect(),
            ports: self.ports.clone(),
            to: self.to,
            transport: self.transport,
            speech: Speech { protocol: self.protocol, host: self.to.to_string() },
            backends: self
                .backends
                .iter()
                .filter_map(|backend| {
                    Some(Backend {
                        address: backend.address,
                        ports: backend.ports.clone(),
                        config: config(backend)?,
                    })
                })
                .collect(),
            warm_up: load.warm_up,
            timeout: load.timeout,
            seed,
        }
    }
}

/// Refuses entries that this test can't carry.
fn check_entry(entry: &SessionEntry) -> Result<(), CampaignError> {
    let name = &entry.session.name;
    let bad = |reason: &str| Err(CampaignError::profile(format!("sessions.{name}"), reason));
    if entry.session.tls.is_some() {
        return bad(
            "the test of a balancer has no TLS: leave 'tls' out, and let the balancer pass on what it gets",
        );
    }
    let sides = || entry.session.client.iter().chain(&entry.session.server);
    if sides().any(|side| side.tunnel.is_some() || side.pppoe.is_some()) || entry.session.tunnel.is_some() {
        return bad("the test of a balancer has no tunnels: leave 'tunnel' out");
    }
    if entry.leased.is_some() {
        return bad("the test of a balancer needs clients with fixed addresses");
    }
    if entry.session.carrier == Carrier::Udp
        && matches!(entry.session.mix.members.first().map(|m| &m.app), Some(AppPlan::Http(_)))
    {
        return bad("HTTP/3 is not possible here: use HTTP over TCP, or 'app: raw' over UDP");
    }
    Ok(())
}

fn port(side: &Option<SidePlan>) -> Option<usize> {
    side.as_ref().map(|side| side.port)
}

fn server_ports(entry: &SessionEntry) -> RangeInclusive<u16> {
    let own = entry.session.mix.members.first().and_then(|member| member.server_ports.clone());
    own.unwrap_or_else(|| entry.session.servers.ports.clone())
}

/// Addresses of a pool, each with its host.
fn addresses(pool: &PoolPlan) -> impl Iterator<Item = (IpAddr, usize)> + '_ {
    pool.addresses.iter().flat_map(|range| of_range(range).map(|address| (address, range.host)))
}

fn of_range(range: &AddressRange) -> impl Iterator<Item = IpAddr> + use<> {
    let number = |ip: IpAddr| match ip {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    };
    let is_v4 = range.first.is_ipv4();
    let address = move |n: u128| if is_v4 { IpAddr::V4((n as u32).into()) } else { IpAddr::V6(n.into()) };
    (number(range.first)..=number(range.last)).map(address)
}
