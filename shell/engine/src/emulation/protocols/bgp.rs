//! BGP speakers of a port: they resolve their neighbours, come up before traffic, and are handled while it runs.
//!
//! Not here: the protocol (`::bgp`).

use crate::control::commands::ActionOn;
use crate::emulation::protocol::{Context, FAREWELL, HostProtocol, Listing, Planned, Wait};
use crate::emulation::ready::{Ready, lost, missing};
use crate::emulation::times::times;
use crate::trial::hosts::hosts_mtu;
use crate::trial::session_endpoints::unfinished;
use ::bgp::{AddPath, GracefulRestart, HeardAttributes, Origin, RouteKey, Speaker, SpeakerConfig, State};
use neighbour::{Hosts, Mac, Resolver};
use port::PortFacts;
use profile::plan::{BgpPlan, PortPlan};
use result::{
    AsPathPart, BgpPeerState, BgpResult, BgpRouteState, GracefulRestartState, NewProtocolChange, PortResult,
    ProtocolAction, ProtocolStates,
};
use std::net::IpAddr;
use tcp::{GroupConfig, UnfinishedChecksums};
use units::{Nanos, count};

/// Time to resolve neighbours before speakers begin without some.
const RESOLVE: Nanos = Nanos::from_secs(5);

/// BGP speakers of a port.
#[derive(Debug)]
pub(super) struct Speakers {
    pub(super) machine: Speaker,
    pub(super) plan: BgpPlan,
    /// Names of the port's hosts.
    pub(super) hosts: Vec<String>,
    resolver: Resolver,
    /// Time of the first request to neighbours.
    asked: Option<Nanos>,
    ready: Ready,
    /// Sessions in which a prefix could have several paths when it had ended.
    paths_at_end: Option<usize>,
    /// Sessions that were established when it had ended.
    pub(super) established_at_end: Option<usize>,
    /// Reasons for an invalid result, known when traffic started.
    complaints: Vec<String>,
}

impl Speakers {
    fn new(plan: &BgpPlan, port: &PortPlan, macs: &[Mac], facts: &PortFacts, hosts: &Hosts) -> Self {
        // Frames come from workers without what the port says of their checksums.
        let unfinished_checksums = match unfinished(facts) {
            UnfinishedChecksums::Told => UnfinishedChecksums::BySum,
            other => other,
        };
        let host = |(host, mac): (&profile::plan::HostPlan, &Mac)| GroupConfig {
            vlans: host.vlans.clone(),
            mtu: hosts_mtu(facts) as u16,
            own_mac: *mac,
            unfinished_checksums,
            ..GroupConfig::default()
        };
        let config = SpeakerConfig {
            hosts: port.hosts.iter().zip(macs).map(host).collect(),
            peers: plan.peers.clone(),
            rate: plan.rate,
            seed: plan.seed,
        };
        let wanted = plan.peers.iter().zip(&plan.hops).map(|(peer, hop)| (peer.host, *hop));
        let given =
            port.hosts.iter().enumerate().flat_map(|(number, host)| {
                host.gateway_macs.iter().map(move |(ip, mac)| (number, *ip, *mac))
            });
        Self {
            machine: Speaker::new(config),
            plan: plan.clone(),
            hosts: port.hosts.iter().map(|host| host.name.clone()).collect(),
            resolver: Resolver::new(hosts, wanted, given),
            asked: None,
            ready: Ready::new(plan.settle, plan.timeout),
            paths_at_end: None,
            established_at_end: None,
            complaints: Vec::new(),
        }
    }

    /// Tells speakers how their peers are reached, as far as that is known.
    fn set_hops(&mut self) {
        for (number, (peer, hop)) in self.plan.peers.iter().zip(&self.plan.hops).enumerate() {
            if let Some(mac) = self.resolver.mac(peer.host, *hop) {
                self.machine.set_hop(number, mac);
            }
        }
    }

    /// Traffic starts: notes what there is.
    fn note_start(&mut self, patient: bool) {
        self.ready.note_start(patient, self.machine.established());
        if patient {
            return;
        }
        let missing = self.missing();
        self.complaints.extend(missing.or_else(|| self.ready.complaint("BGP")));
        let mut lacking = (0..self.plan.peers.len())
            .filter_map(|peer| Some((self.plan.peers[peer].remote, self.machine.lacks(peer)?)));
        if let Some((remote, family)) = lacking.next() {
            self.complaints.push(format!(
                "{remote} does not exchange {family} routes: the routes of {} sessions are not advertised; activate the address family \
                 for this neighbor",
                count(1 + lacking.count() as u64)
            ));
        }
        let mut lacking = (0..self.plan.peers.len())
            .filter_map(|peer| Some((self.plan.peers[peer].remote, self.machine.lacks_paths(peer)?)));
        if let Some((remote, family)) = lacking.next() {
            self.complaints.push(format!(
                "{remote} takes one path of each {family} prefix, so do the peers of {} sessions that were to get more ('add_path'): \
                 of paths for the same prefix they have the one that was sent last",
                count(1 + lacking.count() as u64)
            ));
        }
    }

    /// Ends all sessions.
    fn end(&mut self, now: Nanos) {
        self.established_at_end = Some(self.machine.established());
        self.paths_at_end = Some(self.add_path_sessions());
        self.machine.shut(now);
    }

    /// Sessions established when traffic started, or ever if it did not wait for them.
    pub(super) fn established(&self) -> usize {
        let ever = |peer: &usize| self.machine.counts_of(*peer).established > 0;
        self.ready.there(self.plan.peers.len(), ever)
    }

    /// Sessions in which a prefix can have several paths, or could when traffic had ended.
    pub(super) fn add_path_sessions(&self) -> usize {
        let has_paths = |peer: &usize| self.machine.add_path(*peer) != AddPath::default();
        self.paths_at_end.unwrap_or_else(|| (0..self.plan.peers.len()).filter(has_paths).count())
    }

    /// Whether sessions were lost, in a sentence.
    fn lost(&self) -> Option<String> {
        let (peer, why) = self.machine.first_loss()?;
        let config = &self.plan.peers[peer];
        let first = format!("{} (from {}) {why}", config.remote, config.local);
        Some(lost(self.machine.counts().flaps, "BGP sessions", &first))
    }

    /// Time from the first connection until all routes were acknowledged; `None` if they were not before traffic.
    pub(super) fn told_after(&self) -> Option<Nanos> {
        self.ready.told_after()
    }

    /// Why sessions are missing, in a sentence; `None` if none is. One that was taken down by a command is not missing.
    fn missing(&self) -> Option<String> {
        let machine = &self.machine;
        let down = |peer: &usize| machine.state(*peer) != State::Established && !machine.is_down(*peer);
        let why = |peer: usize| {
            let (remote, local) = (self.plan.peers[peer].remote, self.plan.peers[peer].local);
            match machine.failure(peer) {
                Some(failure) => format!("{remote} (from {local}) {failure}"),
                None => format!("{remote} (from {local}) has not replied yet"),
            }
        };
        let all = self.plan.peers.len();
        let reasons: Vec<String> = (0..all).filter(down).map(why).collect();
        missing(all, Self::ABSENCE, &reasons)
    }
}

/// Segments of BGP, and announcements of neighbours' addresses.
fn concerns(frame: &[u8]) -> bool {
    ::bgp::may_concern(frame) || emulate::may_concern(frame)
}

impl Planned for Speakers {
    const KEY: &'static str = "bgp";
    const ABSENCE: &'static str = "BGP sessions could not be established";
    const CONCERNS: fn(&[u8]) -> bool = concerns;
    const BEFORE_SESSIONS: Option<fn(&[u8]) -> bool> = Some(::bgp::may_concern);
    const NEEDS_HOSTS: bool = true;

    fn is_planned(port: &PortPlan) -> bool {
        port.bgp.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        let Context { port, macs, facts, .. } = *context;
        Some(Self::new(port.bgp.as_ref()?, port, macs, facts, context.hosts?))
    }
}

impl HostProtocol for Speakers {
    fn take(&mut self, now: Nanos, frame: &[u8], hosts: Option<&Hosts>) -> bool {
        if ::bgp::may_concern(frame) {
            return self.machine.take(now, frame);
        }
        if hosts.is_some_and(|hosts| self.resolver.take(hosts, frame)) && self.ready.has_begun() {
            self.set_hops();
        }
        false
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.machine.poll(now, frames);
    }

    fn next_due(&self) -> Nanos {
        if self.ready.has_begun() { self.machine.next_due() } else { self.resolver.next_due() }
    }

    /// Asks for neighbours and begins once they are known.
    fn set_up(&mut self, now: Nanos, hosts: Option<&Hosts>, frames: &mut Vec<Vec<u8>>) {
        let Some(hosts) = hosts else { return };
        let asked = *self.asked.get_or_insert(now);
        frames.extend(self.resolver.requests(now, hosts));
        let is_known = self.resolver.next_due() == Nanos::MAX;
        if !self.ready.has_begun() && (is_known || now.since(asked) > RESOLVE) {
            self.set_hops();
            self.machine.begin(now);
            self.ready.begin(now);
        }
    }

    /// Whether everything is advertised and the settle time has passed, or the timeout. With patience, it may start once sessions
    /// begin.
    fn may_start(&mut self, now: Nanos, wait: Wait) -> bool {
        let has_ended = self.plan.may_fail && self.machine.first_loss().is_some();
        has_ended || self.ready.may_start(now, wait.patient, || self.machine.is_settled())
    }

    fn conclude(&mut self, _: Nanos, patient: bool) -> Option<String> {
        self.note_start(patient);
        self.missing().filter(|_| self.established() == 0 && !patient && !self.plan.may_fail)
    }

    fn start(&mut self, epoch: Nanos) {
        self.machine.start(epoch);
    }

    /// The next hops to peers.
    fn neighbours(&self) -> Vec<(usize, IpAddr, Mac, bool)> {
        self.resolver.known().collect()
    }

    fn shut(&mut self, now: Nanos) -> Nanos {
        self.end(now);
        now + FAREWELL
    }

    fn is_over(&self) -> bool {
        self.machine.is_over()
    }

    fn member(&self) -> &'static str {
        "BGP peer"
    }

    fn has_member(&self, command: &NewProtocolChange) -> bool {
        peers(self, command).next().is_some()
    }

    fn has_routes(&self, command: &NewProtocolChange, name: &str) -> bool {
        let has = |peer: usize| self.plan.peers[peer].routes.iter().any(|range| range.name == name);
        peers(self, command).any(has)
    }

    fn obeys(&self, on: ActionOn) -> bool {
        matches!(on, ActionOn::Routes | ActionOn::Sessions | ActionOn::Restarts)
    }

    fn change(&mut self, now: Nanos, command: &NewProtocolChange) -> u64 {
        change_speakers(self, now, command)
    }

    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates) {
        let Listing { port, now, routes, limit, .. } = listing;
        let peers = self.plan.peers.len();
        all.counts.bgp_peers += peers as u64;
        all.counts.bgp_established += self.machine.established() as u64;
        let listed = 0..peers.min(limit - all.bgp.len());
        all.bgp.extend(listed.map(|peer| peer_state(port, self, peer, now, routes)));
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        row.bgp = Some(bgp(self, commands));
    }

    fn complaints(&self) -> Vec<String> {
        self.complaints.clone()
    }

    fn note(&self) -> Option<String> {
        self.lost()
    }
}

/// Peers that are meant, by number.
fn peers<'a>(speakers: &'a Speakers, command: &'a NewProtocolChange) -> impl Iterator<Item = usize> + 'a {
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
    command: &'a NewProtocolChange,
) -> impl Iterator<Item = usize> + 'a {
    let routes = &speakers.plan.peers[peer].routes;
    (0..routes.len())
        .filter(|range| command.routes.is_empty() || command.routes.contains(&routes[*range].name))
}

fn change_speakers(speakers: &mut Speakers, now: Nanos, command: &NewProtocolChange) -> u64 {
    let meant: Vec<usize> = peers(speakers, command).collect();
    // The server and the command line have bounds for it.
    let delay = command.delay_s.map(|delay_s| Nanos((delay_s * 1e9) as u64));
    let mut changed = 0;
    for peer in meant {
        match command.action {
            ProtocolAction::Up | ProtocolAction::Down => {
                let up = command.action == ProtocolAction::Up;
                changed += u64::from(speakers.machine.set_peer(now, peer, up));
            }
            ProtocolAction::Restart => changed += u64::from(speakers.machine.restart_peer(now, peer, delay)),
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

fn bgp(speakers: &Speakers, commands: u64) -> BgpResult {
    let (counts, all) = (speakers.machine.counts(), speakers.plan.peers.len());
    BgpResult {
        peers: all as u64,
        established: speakers.established() as u64,
        failed: (all - speakers.established()) as u64,
        established_at_end: speakers.established_at_end.unwrap_or_else(|| speakers.machine.established())
            as u64,
        flaps: counts.flaps,
        restarts: counts.restarts,
        graceful_restart_peers: (0..all)
            .filter(|peer| speakers.machine.their_restart(*peer).is_some())
            .count() as u64,
        add_path_sessions: speakers.add_path_sessions() as u64,
        setup_ns: times(speakers.machine.set_up_times()),
        announced_after_s: speakers.told_after().map(Nanos::as_secs_f64),
        connections: counts.connections,
        advertised: counts.advertised,
        withdrawn: counts.withdrawn,
        first_withdrawal_ns: counts.first_withdrawal.map(|at| at.0),
        first_advertisement_ns: counts.first_advertisement.map(|at| at.0),
        received_ipv4: counts.received_ipv4,
        received_ipv6: counts.received_ipv6,
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
        refreshes_received: counts.refreshes,
        commands,
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
