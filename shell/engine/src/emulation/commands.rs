//! Commands to hosts' protocols: selection of hosts, and their state.

use super::bgp::Speakers;
use super::hosts::{Clients, Commanded, Emulation, PortEmulation};
use super::isis::IsisRouters;
use super::ospf::OspfRouters;
use super::pppoe;
use crate::control::commands::{
    ActionOn, Command, CommandError, ProtocolAction, ProtocolCommand, Reply, Request,
};
use ::bgp::{AddPath, GracefulRestart, HeardAttributes, Origin, RouteKey, State};
use emulate::dhcp::ClientView;
use emulate::dhcp6::ClientView6;
use emulate::groups::Membership;
use result::{
    AsPathPart, BgpPeerState, BgpRouteState, DhcpClientState, Dhcpv6ClientState, GracefulRestartState,
    GroupState, LacpPortState, LldpPortState, ProtocolStates,
};
use std::collections::BTreeSet;
use std::net::IpAddr;
use units::Nanos;

impl Emulation {
    /// Carries out a request about protocols and sends the reply.
    pub(crate) fn carry_out(&mut self, now: Nanos, request: Request) {
        let ports = &mut self.ports;
        let answer = match &request.command {
            Command::Protocol(command) => {
                change(ports, now, command).map(Reply::Changed).map_err(CommandError::Refused)
            }
            Command::AskProtocols { routes, limit } => {
                Ok(Reply::Protocols(Box::new(states(ports, now, *routes, *limit))))
            }
            _ => return,
        };
        request.answer(answer);
    }
}

/// Changes what is meant, all or nothing; returns how many ranges of routes, sessions or clients that were.
fn change(ports: &mut [PortEmulation], now: Nanos, command: &ProtocolCommand) -> Result<u64, String> {
    let (on, wanted) = (command.action.on(), command.port.as_ref());
    if let Some(name) = wanted.filter(|name| ports.iter().all(|port| port.name != **name)) {
        return Err(format!("there is no port '{name}'"));
    }
    let what = match on {
        ActionOn::Routes => "BGP peers, OSPF or IS-IS routers",
        ActionOn::Bgp => "BGP peers",
        ActionOn::Clients => "DHCP or PPPoE clients",
        ActionOn::Link => "LLDP agents or lag",
    };
    let has_it = |port: &PortEmulation| match on {
        ActionOn::Routes => port.bgp.is_some() || port.ospf.is_some() || port.isis.is_some(),
        ActionOn::Bgp => port.bgp.is_some(),
        ActionOn::Clients => port.dhcp.is_some() || port.dhcp6.is_some() || port.pppoe.is_some(),
        ActionOn::Link => port.lldp.is_some() || port.lacp.is_some(),
    };
    let is_meant = |port: &&mut PortEmulation| wanted.is_none_or(|name| port.name == *name) && has_it(port);
    let mut meant: Vec<&mut PortEmulation> = ports.iter_mut().filter(is_meant).collect();
    if meant.is_empty() {
        return Err(match wanted {
            Some(name) => format!("port '{name}' has no {what}"),
            None => format!("no port has {what}"),
        });
    }
    if command.delay.is_some() && on != ActionOn::Bgp {
        return Err("only a restart of BGP sessions takes a time".to_owned());
    }
    if matches!(on, ActionOn::Routes | ActionOn::Bgp) {
        known(&meant, command)?;
    } else if !command.peers.is_empty() || !command.routes.is_empty() {
        return Err(format!("peers and routes are of BGP, OSPF and IS-IS; {what} are meant by 'port'"));
    }
    let mut changed = 0;
    for port in &mut meant {
        let mut done = Commanded::default();
        match on {
            ActionOn::Clients => {
                done.dhcp =
                    port.dhcp.as_mut().map_or(0, |clients| change_clients(clients, now, command.action));
                done.dhcp6 = port.dhcp6.as_mut().map_or(0, |clients| clients.change(now, command.action));
                done.pppoe = port.pppoe.as_mut().map_or(0, |clients| clients.change(now, command.action));
            }
            ActionOn::Routes | ActionOn::Bgp => {
                if on == ActionOn::Routes {
                    done.ospf = port.ospf.as_mut().map_or(0, |routers| change_routers(routers, now, command));
                    done.isis = port.isis.as_mut().map_or(0, |routers| change_routers(routers, now, command));
                }
                done.bgp = port.bgp.as_mut().map_or(0, |speakers| change_speakers(speakers, now, command));
            }
            ActionOn::Link => {
                let enable = command.action == ProtocolAction::Enable;
                done.lldp = port.lldp.as_mut().map_or(0, |agents| u64::from(agents.set(now, enable)));
                done.lacp = port.lacp.as_mut().map_or(0, |lacp| u64::from(lacp.set(now, enable)));
            }
        }
        port.commanded.count(&done);
        changed += done.all().iter().sum::<u64>();
    }
    Ok(changed)
}

fn change_clients(clients: &mut Clients, now: Nanos, action: ProtocolAction) -> u64 {
    match action {
        ProtocolAction::Release => clients.machine.release_now(now),
        _ => clients.machine.renew_now(now),
    }
}

/// Peers that are meant, by number.
fn peers<'a>(speakers: &'a Speakers, command: &'a ProtocolCommand) -> impl Iterator<Item = usize> + 'a {
    let is_meant = |number: &usize| {
        let peer = &speakers.plan.peers[*number];
        let is_it = |name: &String| peer.name == *name || name.parse() == Ok(peer.local);
        command.peers.is_empty() || command.peers.iter().any(is_it)
    };
    (0..speakers.plan.peers.len()).filter(is_meant)
}

/// Ranges of routes of a peer that are meant, by number.
fn ranges<'a>(
    speakers: &'a Speakers,
    peer: usize,
    command: &'a ProtocolCommand,
) -> impl Iterator<Item = usize> + 'a {
    let routes = &speakers.plan.peers[peer].routes;
    (0..routes.len())
        .filter(|range| command.routes.is_empty() || command.routes.contains(&routes[*range].name))
}

/// Routers of a link-state protocol behind a port.
trait LinkState {
    /// Number of them.
    fn len(&self) -> usize;
    /// A router's name and the address of its host.
    fn named(&self, router: usize) -> (&str, IpAddr);
    /// The names of its routes.
    fn routes(&self, router: usize) -> Vec<String>;
    fn set_router(&mut self, now: Nanos, router: usize, up: bool) -> bool;
    fn set_range(&mut self, router: usize, range: usize, up: bool);
}

/// Implements [`LinkState`] by the plan and the machine of routers.
macro_rules! link_state {
    ($routers:ty) => {
        impl LinkState for $routers {
            fn len(&self) -> usize {
                self.plan.routers.len()
            }

            fn named(&self, router: usize) -> (&str, IpAddr) {
                let router = &self.plan.routers[router];
                (&router.name, router.local.into())
            }

            fn routes(&self, router: usize) -> Vec<String> {
                self.plan.routers[router].routes.iter().map(|range| range.name.clone()).collect()
            }

            fn set_router(&mut self, now: Nanos, router: usize, up: bool) -> bool {
                self.machine.set_router(now, router, up)
            }

            fn set_range(&mut self, router: usize, range: usize, up: bool) {
                self.machine.set_range(router, range, up);
            }
        }
    };
}

link_state!(OspfRouters);
link_state!(IsisRouters);

/// Routers that are meant, by number.
fn routers<'a>(all: &'a dyn LinkState, command: &'a ProtocolCommand) -> impl Iterator<Item = usize> + 'a {
    let is_meant = |number: &usize| {
        let (own, local) = all.named(*number);
        let is_it = |name: &String| own == name || name.parse() == Ok(local);
        command.peers.is_empty() || command.peers.iter().any(is_it)
    };
    (0..all.len()).filter(is_meant)
}

/// Whether all names of a command are known.
fn known(ports: &[&mut PortEmulation], command: &ProtocolCommand) -> Result<(), String> {
    let all = || ports.iter().filter_map(|port| port.bgp.as_ref());
    let has_routers = command.action.on() == ActionOn::Routes;
    let link_state = || {
        let all = ports.iter().filter(|_| has_routers).flat_map(|port| {
            let ospf = port.ospf.as_ref().map(|routers| ("OSPF router", routers as &dyn LinkState));
            let isis = port.isis.as_ref().map(|routers| ("IS-IS router", routers as &dyn LinkState));
            [ospf, isis]
        });
        all.flatten()
    };
    for name in &command.peers {
        let one = ProtocolCommand { peers: vec![name.clone()], ..command.clone() };
        let is_router = link_state().any(|(_, of)| routers(of, &one).next().is_some());
        if all().all(|speakers| peers(speakers, &one).next().is_none()) && !is_router {
            let kinds: BTreeSet<&str> = link_state().map(|(kind, _)| kind).collect();
            if kinds.is_empty() {
                return Err(format!("there is no BGP peer '{name}', and no speaker has that address"));
            }
            let kinds: Vec<&str> = all().next().map(|_| "BGP peer").into_iter().chain(kinds).collect();
            return Err(format!(
                "there is no {} '{name}', and none has that address",
                kinds.join(" and no ")
            ));
        }
    }
    let is_of_sessions =
        matches!(command.action, ProtocolAction::Up | ProtocolAction::Down | ProtocolAction::Restart);
    if is_of_sessions && !command.routes.is_empty() {
        return Err("routes can be advertised or withdrawn, not taken up or down or restarted".to_owned());
    }
    for name in &command.routes {
        let has = |speakers: &Speakers| {
            peers(speakers, command)
                .any(|peer| speakers.plan.peers[peer].routes.iter().any(|range| range.name == *name))
        };
        let router_has =
            |of: &dyn LinkState| routers(of, command).any(|router| of.routes(router).contains(name));
        if !all().any(has) && !link_state().any(|(_, of)| router_has(of)) {
            return Err(format!("there are no routes '{name}'"));
        }
    }
    Ok(())
}

fn change_routers(all: &mut dyn LinkState, now: Nanos, command: &ProtocolCommand) -> u64 {
    let meant: Vec<usize> = routers(all, command).collect();
    let mut changed = 0;
    for router in meant {
        match command.action {
            ProtocolAction::Up | ProtocolAction::Down => {
                changed += u64::from(all.set_router(now, router, command.action == ProtocolAction::Up));
            }
            _ => {
                let up = command.action == ProtocolAction::Advertise;
                let is_meant = |name: &String| command.routes.is_empty() || command.routes.contains(name);
                let routes = all.routes(router);
                for (range, _) in routes.iter().enumerate().filter(|(_, name)| is_meant(name)) {
                    all.set_range(router, range, up);
                    changed += 1;
                }
            }
        }
    }
    changed
}

fn change_speakers(speakers: &mut Speakers, now: Nanos, command: &ProtocolCommand) -> u64 {
    let meant: Vec<usize> = peers(speakers, command).collect();
    let mut changed = 0;
    for peer in meant {
        match command.action {
            ProtocolAction::Up | ProtocolAction::Down => {
                let up = command.action == ProtocolAction::Up;
                changed += u64::from(speakers.machine.set_peer(now, peer, up));
            }
            ProtocolAction::Restart => {
                changed += u64::from(speakers.machine.restart_peer(now, peer, command.delay))
            }
            _ => {
                let up = command.action == ProtocolAction::Advertise;
                let meant: Vec<usize> = ranges(speakers, peer, command).collect();
                changed += meant.len() as u64;
                meant.into_iter().for_each(|range| speakers.machine.set_range(peer, range, up));
            }
        }
    }
    changed
}

/// State of all at `now`; at most `limit` of each kind are listed.
fn states(ports: &[PortEmulation], now: Nanos, with_routes: bool, limit: usize) -> ProtocolStates {
    let mut all = ProtocolStates::default();
    for port in ports {
        let name = &port.name;
        if let Some(speakers) = &port.bgp {
            let peers = speakers.plan.peers.len();
            all.counts.bgp_peers += peers as u64;
            all.counts.bgp_established += speakers.machine.established() as u64;
            let listed = 0..peers.min(limit - all.bgp.len());
            all.bgp.extend(listed.map(|peer| peer_state(name, speakers, peer, now, with_routes)));
        }
        if let Some(routers) = &port.ospf {
            let count = routers.plan.routers.len();
            all.counts.ospf_routers += count as u64;
            all.counts.ospf_full += routers.machine.full() as u64;
            let listed = 0..count.min(limit - all.ospf.len());
            all.ospf.extend(listed.map(|router| routers.state(name, router, now, with_routes)));
        }
        if let Some(routers) = &port.isis {
            let count = routers.plan.routers.len();
            all.counts.isis_routers += count as u64;
            all.counts.isis_up += routers.machine.up() as u64;
            let listed = 0..count.min(limit - all.isis.len());
            all.isis.extend(listed.map(|router| routers.state(name, router, now, with_routes)));
        }
        if let Some(clients) = &port.dhcp {
            all.counts.dhcp_clients += u64::from(clients.machine.config().clients);
            all.counts.dhcp_leases += u64::from(clients.machine.holding());
            let listed = clients.machine.views().take(limit - all.dhcp.len());
            all.dhcp.extend(listed.map(|view| client_state(name, &view, now)));
        }
        if let Some(agents) = &port.lldp {
            let (is_down, mut said) = (agents.machine.is_down(), agents.report(port.commanded.lldp));
            all.counts.lldp_ports += 1;
            all.counts.lldp_neighbours += said.known;
            let before: usize = all.lldp.iter().map(|port| port.agents.neighbours.len()).sum();
            said.neighbours.truncate(limit - before);
            all.lldp.push(LldpPortState { port: name.clone(), is_down, agents: said });
        }
        if let Some(lacp) = &port.lacp {
            all.counts.lacp_ports += 1;
            all.counts.lacp_distributing += u64::from(lacp.machine.is_up());
            if all.lacp.len() < limit {
                let (is_down, lacp) = (lacp.machine.is_down(), lacp.report(port.commanded.lacp));
                all.lacp.push(LacpPortState { port: name.clone(), is_down, lacp });
            }
        }
        if let Some(members) = &port.members {
            all.counts.groups += members.groups().count() as u64;
            let listed = members.memberships().take(limit - all.groups.len());
            all.groups.extend(listed.map(|(member, since)| group_state(name, &member, now.since(since))));
        }
        if let Some(clients) = &port.pppoe {
            all.counts.pppoe_clients += u64::from(clients.machine.config().clients);
            all.counts.pppoe_sessions += u64::from(clients.machine.up());
            let listed = clients.machine.views().take(limit - all.pppoe.len());
            all.pppoe.extend(listed.map(|view| pppoe::client_state(name, &view, now)));
        }
        if let Some(clients) = &port.dhcp6 {
            all.counts.dhcpv6_clients += u64::from(clients.machine.config().clients);
            all.counts.dhcpv6_leases += u64::from(clients.machine.holding());
            let listed = clients.machine.views().take(limit - all.dhcpv6.len());
            all.dhcpv6.extend(listed.map(|view| client6_state(name, &view)));
        }
    }
    all
}

fn group_state(port: &str, member: &Membership, joined_for: Nanos) -> GroupState {
    GroupState {
        port: port.to_owned(),
        group: member.group.to_string(),
        exclude: member.exclude,
        sources: member.sources.iter().map(ToString::to_string).collect(),
        joined_for_s: joined_for.as_secs_f64(),
    }
}

fn peer_state(port: &str, speakers: &Speakers, peer: usize, now: Nanos, with_routes: bool) -> BgpPeerState {
    let (machine, config) = (&speakers.machine, &speakers.plan.peers[peer]);
    let (counts, heard) = (machine.counts_of(peer), machine.heard(peer));
    let state = match machine.state(peer) {
        State::Idle => "idle",
        State::Connect => "connect",
        State::OpenSent => "open_sent",
        State::OpenConfirm => "open_confirm",
        State::Established => "established",
    };
    BgpPeerState {
        port: port.to_owned(),
        host: speakers.hosts[config.host].clone(),
        name: config.name.clone(),
        local: config.local.to_string(),
        remote: config.remote.to_string(),
        local_as: config.identity.own_as,
        remote_as: machine.peer_as(peer),
        state: state.to_owned(),
        established_for_s: machine.established_at(peer).map(|at| now.since(at).as_secs_f64()),
        is_down: machine.is_down(peer),
        reason: machine.failure(peer).map(|failure| format!("{} {failure}", config.remote)),
        flaps: counts.flaps,
        restarts: counts.restarts,
        graceful_restart: machine.their_restart(peer).map(restart_state),
        add_path: add_path(machine.add_path(peer)),
        advertised: counts.advertised,
        withdrawn: counts.withdrawn,
        received: counts.received_ipv4 + counts.received_ipv6,
        received_withdrawn: counts.received_withdrawn,
        received_end_of_rib_ipv4: counts.ends_of_rib.0,
        received_end_of_rib_ipv6: counts.ends_of_rib.1,
        opens_sent: counts.opens.0,
        opens_received: counts.opens.1,
        updates_sent: counts.updates.0,
        updates_received: counts.updates.1,
        keepalives_sent: counts.keep_alives.0,
        keepalives_received: counts.keep_alives.1,
        notifications_sent: counts.notifications.0,
        notifications_received: counts.notifications.1,
        kept: heard.map_or(0, |heard| heard.routes().len() as u64),
        left_out: heard.map_or(0, ::bgp::Heard::left_out),
        routes: heard
            .filter(|_| with_routes)
            .into_iter()
            .flat_map(|heard| heard.routes().map(route_state))
            .collect(),
    }
}

fn add_path(ways: AddPath) -> Option<String> {
    let word = match (ways.send, ways.receive) {
        (true, true) => "both",
        (true, false) => "send",
        (false, true) => "receive",
        (false, false) => return None,
    };
    Some(word.to_owned())
}

fn restart_state(said: &GracefulRestart) -> GracefulRestartState {
    let named = |is_meant: fn(bool) -> bool| {
        let families = ["ipv4", "ipv6"].into_iter().zip(said.families);
        families.filter(|(_, said)| said.is_some_and(is_meant)).map(|(name, _)| name.to_owned()).collect()
    };
    GracefulRestartState {
        restarted: said.has_restarted,
        time_s: said.time_s.into(),
        notification: said.notification,
        families: named(|_| true),
        forwarding: named(|forwards| forwards),
    }
}

fn route_state((key, said): (&RouteKey, &HeardAttributes)) -> BgpRouteState {
    let origin = |origin| match origin {
        Origin::Igp => "igp",
        Origin::Egp => "egp",
        Origin::Incomplete => "incomplete",
    };
    let part = |part: &::bgp::PathSegment| AsPathPart {
        kind: match part.kind {
            1 => "set",
            2 => "sequence",
            3 => "confederation_sequence",
            _ => "confederation_set",
        }
        .to_owned(),
        numbers: part.numbers.clone(),
    };
    BgpRouteState {
        address: key.prefix.0.to_string(),
        prefix_len: key.prefix.1,
        path_id: key.path_id,
        next_hop: said.next_hop.map(|hop| hop.to_string()),
        origin: said.origin.map(|one| origin(one).to_owned()),
        as_path: said.as_path.iter().map(part).collect(),
        communities: said.communities.clone(),
        med: said.med,
        local_pref: said.local_pref,
    }
}

fn client_state(port: &str, view: &ClientView, now: Nanos) -> DhcpClientState {
    let held = view.held.as_ref();
    DhcpClientState {
        port: port.to_owned(),
        client: view.client,
        mac: units::Mac(view.mac).to_string(),
        ip: held.map(|held| held.lease.ip.to_string()),
        prefix_len: held.map(|held| held.lease.prefix_len),
        router: held.and_then(|held| held.lease.router).map(|ip| ip.to_string()),
        server: held.map(|held| held.server.to_string()),
        lease_s: held.map(|held| held.lease_s),
        renew_s: held.map(|held| held.renew_s),
        rebind_s: held.map(|held| held.rebind_s),
        leased_for_s: held.map(|held| now.since(held.since).as_secs_f64()),
        discovers: view.tally.discovers,
        offers: view.tally.offers,
        requests: view.tally.requests,
        acks: view.tally.acks,
        naks: view.tally.naks,
        releases: view.tally.releases,
    }
}

fn client6_state(port: &str, view: &ClientView6<'_>) -> Dhcpv6ClientState {
    let (held, tally) = (view.held.as_ref(), &view.tally);
    Dhcpv6ClientState {
        port: port.to_owned(),
        client: view.client,
        mac: units::Mac(view.mac).to_string(),
        link_local: emulate::link_local(view.mac).to_string(),
        ip: held.and_then(|held| held.lease.ip).map(|ip| ip.to_string()),
        prefix: held.and_then(|held| held.lease.prefix).map(|(ip, _)| ip.to_string()),
        prefix_len: held.and_then(|held| held.lease.prefix).map(|(_, len)| len),
        server: held.map(|held| held.server.iter().map(|byte| format!("{byte:02x}")).collect()),
        valid_s: held.map(|held| held.valid_s),
        renew_s: held.map(|held| held.renew_s),
        rebind_s: held.map(|held| held.rebind_s),
        solicits: tally.solicits,
        advertises: tally.advertises,
        passed_over: tally.passed_over,
        requests: tally.requests,
        renews: tally.renews,
        rebinds: tally.rebinds,
        replies: tally.replies,
        refused: tally.refused,
        releases: tally.releases,
    }
}
