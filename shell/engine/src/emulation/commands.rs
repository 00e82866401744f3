//! Commands about what hosts do by themselves: which of them are meant, and how they stand.

use super::bgp::Speakers;
use super::hosts::{Clients, Emulation, PortEmulation};
use crate::control::commands::{Command, CommandError, ProtocolAction, ProtocolCommand, Reply, Request};
use ::bgp::{HeardAttributes, Origin, Prefix, State};
use emulate::dhcp::ClientView;
use result::{AsPathPart, BgpPeerState, BgpRouteState, DhcpClientState, ProtocolStates};
use units::Nanos;

impl Emulation {
    /// Carries out a request about protocols and answers it.
    pub(crate) fn carry_out(&mut self, now: Nanos, request: Request) {
        let ports = &mut self.ports;
        let answer = match &request.command {
            Command::Protocol(command) => {
                change(ports, now, command).map(Reply::Changed).map_err(CommandError::Refused)
            }
            Command::AskProtocols { routes } => Ok(Reply::Protocols(Box::new(states(ports, *routes)))),
            _ => return,
        };
        request.answer(answer);
    }
}

/// Changes what is meant, all or nothing; returns how many ranges of routes, sessions or clients that were.
fn change(ports: &mut [PortEmulation], now: Nanos, command: &ProtocolCommand) -> Result<u64, String> {
    let (of_dhcp, wanted) = (command.action.is_of_dhcp(), command.port.as_ref());
    if let Some(name) = wanted.filter(|name| ports.iter().all(|port| port.name != **name)) {
        return Err(format!("there is no port '{name}'"));
    }
    let what = if of_dhcp { "DHCP clients" } else { "BGP peers" };
    let has_it = |port: &PortEmulation| if of_dhcp { port.dhcp.is_some() } else { port.bgp.is_some() };
    let is_meant = |port: &&mut PortEmulation| wanted.is_none_or(|name| port.name == *name) && has_it(port);
    let mut meant: Vec<&mut PortEmulation> = ports.iter_mut().filter(is_meant).collect();
    if meant.is_empty() {
        return Err(match wanted {
            Some(name) => format!("port '{name}' has no {what}"),
            None => format!("no port has {what}"),
        });
    }
    if !of_dhcp {
        known(&meant, command)?;
    }
    let mut changed = 0;
    for port in &mut meant {
        let done = match (&mut port.dhcp, &mut port.bgp) {
            (Some(clients), _) if of_dhcp => change_clients(clients, now, command.action),
            (_, Some(speakers)) if !of_dhcp => change_speakers(speakers, now, command),
            _ => 0,
        };
        port.commanded[usize::from(!of_dhcp)] += u64::from(done > 0);
        changed += done;
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

/// Whether all names of a command are known.
fn known(ports: &[&mut PortEmulation], command: &ProtocolCommand) -> Result<(), String> {
    let all = || ports.iter().filter_map(|port| port.bgp.as_ref());
    for name in &command.peers {
        let one = ProtocolCommand { peers: vec![name.clone()], ..command.clone() };
        if all().all(|speakers| peers(speakers, &one).next().is_none()) {
            return Err(format!("there is no BGP peer '{name}', and no speaker has that address"));
        }
    }
    let is_up_or_down = matches!(command.action, ProtocolAction::Up | ProtocolAction::Down);
    if is_up_or_down && !command.routes.is_empty() {
        return Err("routes can be advertised or withdrawn, not taken up or down".to_owned());
    }
    for name in &command.routes {
        let has = |speakers: &Speakers| {
            peers(speakers, command)
                .any(|peer| speakers.plan.peers[peer].routes.iter().any(|range| range.name == *name))
        };
        if !all().any(has) {
            return Err(format!("there are no routes '{name}'"));
        }
    }
    Ok(())
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

/// How all stand.
fn states(ports: &[PortEmulation], with_routes: bool) -> ProtocolStates {
    let mut all = ProtocolStates::default();
    for port in ports {
        if let Some(speakers) = &port.bgp {
            let peers = 0..speakers.plan.peers.len();
            all.bgp.extend(peers.map(|peer| peer_state(&port.name, speakers, peer, with_routes)));
        }
        if let Some(clients) = &port.dhcp {
            all.dhcp.extend(clients.machine.views().map(|view| client_state(&port.name, &view)));
        }
    }
    all
}

fn peer_state(port: &str, speakers: &Speakers, peer: usize, with_routes: bool) -> BgpPeerState {
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
        is_down: machine.is_down(peer),
        reason: machine.failure(peer).map(|failure| format!("{} {failure}", config.remote)),
        flaps: counts.flaps,
        advertised: counts.advertised,
        withdrawn: counts.withdrawn,
        received: counts.received_ipv4 + counts.received_ipv6,
        received_withdrawn: counts.received_withdrawn,
        received_end_of_rib: counts.ends_of_rib,
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

fn route_state((prefix, said): (&Prefix, &HeardAttributes)) -> BgpRouteState {
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
        address: prefix.0.to_string(),
        prefix_len: prefix.1,
        next_hop: said.next_hop.map(|hop| hop.to_string()),
        origin: said.origin.map(|one| origin(one).to_owned()),
        as_path: said.as_path.iter().map(part).collect(),
        communities: said.communities.clone(),
        med: said.med,
        local_pref: said.local_pref,
    }
}

fn client_state(port: &str, view: &ClientView) -> DhcpClientState {
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
        discovers: view.tally.discovers,
        offers: view.tally.offers,
        requests: view.tally.requests,
        acks: view.tally.acks,
        naks: view.tally.naks,
        releases: view.tally.releases,
    }
}
