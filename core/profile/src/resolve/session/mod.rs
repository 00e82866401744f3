//! Sessions: from an entry as written to what is run, and that entries do not get in each other's way.
//!
//! Not here: hardware addresses themselves, which only open ports know.

mod access_log;
mod app;
mod behind;
mod content;
mod dns;
mod grpc;
mod host;
mod http;
mod labels;
mod load;
mod options;
mod pool;
mod program;
mod quic;
mod stamp;
mod tls;
mod tunnel;
mod websocket;

use super::Resolver;
use crate::document::replay::FirstPortDoc;
use crate::document::session::{PairOrderDoc, SessionDoc};
use crate::document::vary::OrderDoc;
use crate::plan::{ClientsBy, SessionEntry};
use app::{Apps, Surroundings};
pub(in crate::resolve) use app::{BOTH_WAYS, has_alternative};
pub(crate) use host::MOST as HOSTS_MAX;
use pool::{Ends, Pools};
use session::pairs_in_step;
use session::plan::{
    Carrier, LoadPlan, Mix, OpenRate, PairOrder, Patience, PoolPlan, PortBegin, SelectionOrder, SessionPlan,
    SidePlan,
};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use units::Nanos;

/// One of the ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Client,
    Server,
}

impl Whose {
    /// Its key in the document.
    fn key(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

impl Resolver<'_> {
    /// All entries, for a run that lasts `duration`.
    pub(super) fn sessions(&mut self, duration: Nanos) -> Vec<SessionEntry> {
        let document = self.document;
        let paths = (0..).map(|index| format!("sessions[{index}]"));
        let kept: Vec<(String, &SessionDoc)> =
            paths.filter(|path| !self.reading.is_dropped(path)).zip(&document.sessions).collect();
        let mut names: HashMap<&str, &str> = HashMap::new();
        let mut entries: Vec<(&str, SessionEntry)> = Vec::new();
        for (path, doc) in &kept {
            let name = doc.name.0.as_str();
            if let Some(other) = names.insert(name, path) {
                let reason = format!("the name '{name}' is already that of {other}");
                self.reading.fail(format!("{path}.name"), reason);
            }
            if let Some(entry) = self.session(path, doc, duration) {
                self.check_beside(path, &entry, &entries);
                entries.push((path, entry));
            }
        }
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    fn session(&mut self, path: &str, doc: &SessionDoc, duration: Nanos) -> Option<SessionEntry> {
        let ends = self.ends(path, doc);
        let tunnels = ends.and_then(|ends| self.end_tunnels(path, doc, ends));
        let pools =
            ends.zip(tunnels.as_ref()).and_then(|(ends, tunnels)| self.pools(path, doc, ends, tunnels));
        let tunnels = tunnels.unwrap_or_default();
        let ends_known = ends.unwrap_or(Ends { client: Some(0), server: Some(0) });
        let v4 =
            pools.as_ref().and_then(|pools| pools.servers.first()).is_none_or(|range| range.first.is_ipv4());
        let load = match ends {
            Some(ends) => self.session_load(path, doc, ends, duration),
            None => LoadPlan::at(OpenRate::Max),
        };
        let surroundings = Surroundings {
            client: ends_known.client.is_some(),
            server: ends_known.server.is_some(),
            first_server: pools.as_ref().and_then(|pools| pools.servers.first()).map(|range| range.first),
            v4,
        };
        let apps = self.apps(path, doc, &surroundings);
        self.check_promises(path, doc, ends_known, apps.as_ref().map(|apps| apps.carrier));
        let tls = self.tls(path, doc, &surroundings);
        let hosts = pools.as_ref().map(|pools| (&pools.client_hosts[..], &pools.server_hosts[..]));
        let hosts = hosts.unwrap_or((&[0], &[0]));
        let in_sessions = pools.as_ref().is_some_and(|pools| pools.leased == Some(ClientsBy::Session));
        let pppoe = ends_known.client.filter(|_| in_sessions);
        let pppoe = pppoe.and_then(|port| self.ports[port].pppoe.as_ref()).map(|plan| plan.config.clone());
        let mut side = |whose, port: Option<usize>, hosts| {
            let around = (tunnels.of(whose), pppoe.as_ref().filter(|_| whose == Whose::Client));
            port.map(|port| self.side(path, doc, whose, (port, hosts), v4, around))
        };
        let mut client = side(Whose::Client, ends_known.client, hosts.0);
        let mut server = side(Whose::Server, ends_known.server, hosts.1);
        let (_, pools, apps) = (ends?, pools?, apps?);
        for (whose, side) in [(Whose::Client, &mut client), (Whose::Server, &mut server)] {
            if let Some(side) = side {
                self.enter_tunnel(path, doc, whose, side, &pools.clients);
            }
        }
        if client.is_some() {
            self.check_tuples(path, &pools, &apps, load.concurrent, doc.order);
        }
        let session = self.session_plan(path, doc, (client, server), &pools, apps, load);
        let session = self.timed_by_log(session, duration);
        let tls = tls.map(std::sync::Arc::new);
        Some(SessionEntry {
            session: SessionPlan { tls, ..session },
            client_hosts: pools.client_hosts,
            server_hosts: pools.server_hosts,
            leased: pools.leased,
            hops: pools.hops,
        })
    }

    fn session_plan(
        &mut self,
        path: &str,
        doc: &SessionDoc,
        (client, server): (Option<SidePlan>, Option<SidePlan>),
        pools: &Pools,
        apps: Apps,
        load: LoadPlan,
    ) -> SessionPlan {
        let members = apps.members;
        SessionPlan {
            name: doc.name.0.clone(),
            carrier: apps.carrier,
            client,
            server,
            clients: PoolPlan {
                addresses: pools.clients.clone(),
                ports: range(pools.client_ports),
                begin: match doc.client.as_ref().map(|client| client.first_port) {
                    Some(FirstPortDoc::Spread) => PortBegin::Spread,
                    Some(FirstPortDoc::First) | None => PortBegin::First,
                },
            },
            servers: PoolPlan {
                addresses: pools.servers.clone(),
                ports: range(apps.server_ports),
                begin: PortBegin::First,
            },
            order: self.pair_order(&format!("{path}.order"), doc.order),
            mix: Mix { members, order: SelectionOrder::Sequential },
            tunnel: doc.tunnel.as_ref().map(|tunnel| std::sync::Arc::new(self.tunnel(path, tunnel))),
            tls: None,
            quic: self.quic_options(path, doc),
            load,
            patience: Patience { response: doc.response_timeout.0, idle: doc.idle_timeout.0 },
            verify: doc.verify,
            seed: self.seed_of(path, "session"),
        }
    }

    /// Makes an entry's load that of its log, if it has one: each request is due at its time, and sent late rather than never.
    fn timed_by_log(&mut self, mut plan: SessionPlan, duration: Nanos) -> SessionPlan {
        let Some(times) = plan.request_log().map(|log| log.times.clone()) else { return plan };
        plan.load.late = true;
        plan.load.request_count = Some(times.len() as u64);
        let due = times.partition_point(|at| *at < duration);
        if due < times.len() {
            let last = times.last().copied().unwrap_or_default();
            self.warnings.push(format!(
                "sessions {}: the log lasts {last} and the load {duration}: {due} of its {} requests are due; set 'load.duration', or \
                 'speed' of the log",
                plan.name,
                times.len()
            ));
        }
        plan
    }

    fn pair_order(&self, path: &str, order: PairOrderDoc) -> PairOrder {
        match order {
            PairOrderDoc::Sequential => PairOrder::All(self.session_order(path, OrderDoc::Sequential)),
            PairOrderDoc::Random => PairOrder::All(self.session_order(path, OrderDoc::Random)),
            PairOrderDoc::InStep => PairOrder::InStep,
        }
    }

    /// Checks settings that need both ends, or TCP.
    fn check_promises(&mut self, path: &str, doc: &SessionDoc, ends: Ends, carrier: Option<Carrier>) {
        if doc.verify && (ends.client.is_none() || ends.server.is_none()) {
            let who = if ends.client.is_none() { "clients" } else { "servers" };
            let reason = format!("needs both ends emulated, and the {who} are external: they have no 'port'");
            self.reading.fail(format!("{path}.verify"), reason);
        }
        if doc.tunnel.is_some() && (ends.client.is_none() || ends.server.is_some()) {
            let reason =
                "needs emulated clients and an external proxy: 'client' with a 'port', 'server' without";
            self.reading.fail(format!("{path}.tunnel"), reason);
        }
        if carrier == Some(Carrier::Udp) {
            if doc.tunnel.is_some() {
                self.reading
                    .fail(format!("{path}.tunnel"), "a tunnel goes over TCP, and these sessions over UDP");
            }
            let has_tls = doc.tls.as_ref().is_some_and(|tls| tls.resolved().is_some());
            if has_tls && !doc.is_quic() && !tls::is_http3(&doc.app) {
                self.reading.fail(format!("{path}.tls"), "TLS goes over TCP, and these sessions over UDP");
            }
            let side = |end: Option<bool>| end.unwrap_or(false);
            let given = [
                ("tcp", doc.tcp.is_some()),
                ("client.tcp", side(doc.client.as_ref().map(|client| client.tcp.is_some()))),
                ("server.tcp", side(doc.server.as_ref().map(|server| server.tcp.is_some()))),
            ];
            for (key, _) in given.iter().filter(|(_, given)| *given) {
                self.reading.fail(format!("{path}.{key}"), "these sessions go over UDP");
            }
        }
    }

    /// That there are as many pairs of addresses and ports as sessions at a time.
    fn check_tuples(
        &mut self,
        path: &str,
        pools: &Pools,
        apps: &Apps,
        concurrent: Option<u64>,
        order: PairOrderDoc,
    ) {
        let ports = |(first, last): (u16, u16)| u128::from(last - first) + 1;
        let (clients, servers) = (pool::count(&pools.clients), pool::count(&pools.servers));
        let server_ports: u128 = apps.ports().into_iter().map(ports).sum();
        let (from, to) =
            (clients.saturating_mul(ports(pools.client_ports)), servers.saturating_mul(server_ports));
        let in_step = order == PairOrderDoc::InStep;
        let tuples = if in_step { pairs_in_step(from, to) } else { from.saturating_mul(to) };
        if let Some(concurrent) = concurrent.filter(|concurrent| u128::from(*concurrent) > tuples) {
            let reason = format!(
                "{concurrent} sessions at a time, but {} × {} × {} × {} make only {tuples} of them{}",
                counted(clients, "client address", "client addresses"),
                counted(ports(pools.client_ports), "port", "ports"),
                counted(servers, "server address", "server addresses"),
                counted(server_ports, "port", "ports"),
                if in_step { " in step" } else { "" },
            );
            self.reading.fail(format!("{path}.concurrent"), reason);
        }
    }

    /// That an entry does not serve, or open, what one before it does.
    fn check_beside(&mut self, path: &str, entry: &SessionEntry, before: &[(&str, SessionEntry)]) {
        for (other_path, other) in before {
            // Of entries that are wrong by themselves nothing is known.
            if self.reading.is_broken(path) || self.reading.is_broken(other_path) {
                continue;
            }
            let (ours, theirs) = (&entry.session, &other.session);
            let Some((ip, carrier, port)) = same_service(ours, theirs) else { continue };
            let (carrier, name) = (carrier_name(carrier), &theirs.name);
            if let (Some(one), Some(two)) = (&ours.server, &theirs.server)
                && one.port == two.port
                && tunnel::share_network(one, two)
                && vlans_of(one, &ours.servers, ip)
                    .any(|vlans| vlans_of(two, &theirs.servers, ip).any(|others| vlans == others))
            {
                let reason = format!("{ip} port {port} ({carrier}) is already served by sessions '{name}'");
                self.reading.fail(format!("{path}.server"), reason);
            } else if let (Some(one), Some(two)) = (&ours.client, &theirs.client)
                && one.port == two.port
                && tunnel::share_network(one, two)
                && let Some(client) = pool::shared(&ours.clients.addresses, &theirs.clients.addresses)
                && let Some(from) = common(&ours.clients.ports, &theirs.clients.ports)
            {
                let reason = format!(
                    "sessions '{name}' open from {client} port {from} to {ip} port {port}, too; \
                     give these clients other addresses or 'ports'"
                );
                self.reading.fail(format!("{path}.client"), reason);
            }
        }
    }
}

/// An address, a carrier and a port that servers of both entries are reached at.
fn same_service(ours: &SessionPlan, theirs: &SessionPlan) -> Option<(std::net::IpAddr, Carrier, u16)> {
    let ports = |plan: &SessionPlan| -> Vec<(Carrier, RangeInclusive<u16>)> {
        let own = |ports: &Option<RangeInclusive<u16>>| ports.clone().unwrap_or(plan.servers.ports.clone());
        let all = plan.mix.members.iter().enumerate();
        all.map(|(index, member)| (plan.carrier_of(index), own(&member.server_ports))).collect()
    };
    let ip = pool::shared(&ours.servers.addresses, &theirs.servers.addresses)?;
    let theirs_ports = ports(theirs);
    let both = |one: &(Carrier, RangeInclusive<u16>), other: &(Carrier, RangeInclusive<u16>)| {
        common(&one.1, &other.1).filter(|_| one.0 == other.0).map(|port| (one.0, port))
    };
    let found = ports(ours).iter().find_map(|one| theirs_ports.iter().find_map(|other| both(one, other)))?;
    Some((ip, found.0, found.1))
}

/// The VLANs in which a side has an address, for each of its hosts that has it.
fn vlans_of<'a>(
    side: &'a SidePlan,
    pool: &'a PoolPlan,
    ip: std::net::IpAddr,
) -> impl Iterator<Item = &'a [u16]> {
    let ranges = pool.addresses.iter().filter(move |range| range.first <= ip && ip <= range.last);
    ranges.map(|range| &side.hosts[range.host].vlans[..])
}

/// The first number in both ranges.
fn common(one: &RangeInclusive<u16>, other: &RangeInclusive<u16>) -> Option<u16> {
    let first = *one.start().max(other.start());
    (first <= *one.end().min(other.end())).then_some(first)
}

fn counted(number: u128, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

fn range((first, last): (u16, u16)) -> RangeInclusive<u16> {
    first..=last
}

fn carrier_name(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Tcp => "TCP",
        Carrier::Udp => "UDP",
    }
}
