//! OSPF routers of a port: they come up before traffic, and are handled while it runs.
//!
//! Packets that come in fragments are reassembled: devices may send longer ones than their link takes (FRR's requests
//! of OSPFv3 are).
//!
//! Not here: the protocol (`::ospf`).

use super::linkstate::{LinkState, change_routers, routers};
use super::protocol::{Context, HostProtocol, Listing, Planned, ROUTERS_FAREWELL, Wait};
use super::ready::{Ready, lost, missing};
use super::times::times;
use crate::absence::NOT_FULL;
use crate::control::commands::ActionOn;
use crate::trial::hosts::{hosts_mtu, link_local};
use ::ospf::{
    KnownLsa, LsaCounts, NeighbourState, NetworkType, OspfCounts, OspfHost, RouterConfig, Routers,
    RoutersConfig, Version,
};
use fragment::{Fragment, Reassembler};
use neighbour::{Hosts, Mac};
use port::PortFacts;
use profile::plan::{OspfPlan, PortPlan};
use result::{
    NewProtocolChange, OspfLsaCounts, OspfLsaState, OspfPacketCounts, OspfResult, OspfRouterState,
    PortResult, ProtocolStates,
};
#[cfg(unix)]
use std::time::SystemTime;
use units::Nanos;

/// OSPF routers of a port.
#[derive(Debug)]
pub(super) struct OspfRouters {
    pub(super) machine: Routers,
    pub(super) plan: OspfPlan,
    pieces: Reassembler,
    /// Names of the port's hosts.
    hosts: Vec<String>,
    ready: Ready,
    /// Routers whose adjacency was full when traffic had ended.
    full_at_end: Option<usize>,
    /// LSAs of neighbours held then.
    held_at_end: Option<LsaCounts>,
    /// Reasons for an invalid result, known when traffic started.
    complaints: Vec<String>,
}

impl OspfRouters {
    fn new(plan: &OspfPlan, port: &PortPlan, macs: &[Mac], facts: &PortFacts) -> Self {
        let host = |(host, mac): (&profile::plan::HostPlan, &Mac)| OspfHost {
            mac: *mac,
            vlans: host.vlans.clone(),
            mtu: hosts_mtu(facts) as u16,
        };
        let router = |router: &RouterConfig| match router.version {
            Version::V2 => router.clone(),
            Version::V3 => RouterConfig {
                link_local: link_local(router.link_local, macs[router.host]),
                ..router.clone()
            },
        };
        let config = RoutersConfig {
            hosts: port.hosts.iter().zip(macs).map(host).collect(),
            routers: plan.routers.iter().map(router).collect(),
            rate: plan.rate,
            seed: plan.seed,
        };
        Self {
            machine: Routers::new(config),
            plan: plan.clone(),
            pieces: Reassembler::default(),
            hosts: port.hosts.iter().map(|host| host.name.clone()).collect(),
            ready: Ready::new(plan.settle, plan.timeout),
            full_at_end: None,
            held_at_end: None,
            complaints: Vec::new(),
        }
    }

    /// Takes in a frame; returns whether it was for one of the routers.
    fn take_packet(&mut self, now: Nanos, frame: &[u8]) -> bool {
        match Fragment::read(frame) {
            Some(fragment) => {
                let whole = self.pieces.take(now, &fragment);
                whole.is_none_or(|frame| self.machine.take(now, &frame))
            }
            None => self.machine.take(now, frame),
        }
    }

    /// Traffic starts: notes what there is.
    fn note_start(&mut self, patient: bool) {
        self.ready.note_start(patient, self.machine.full());
        if patient {
            return;
        }
        let missing = self.missing();
        self.complaints.extend(missing.or_else(|| self.ready.complaint("OSPF")));
    }

    /// Flushes what was advertised and ends all adjacencies.
    fn end(&mut self, now: Nanos) {
        self.full_at_end = Some(self.machine.full());
        self.held_at_end = Some(self.held());
        self.machine.shut(now);
    }

    /// Routers with a full adjacency when traffic started, or ever if it did not wait for them.
    fn full(&self) -> usize {
        let ever = |router: &usize| self.machine.counts_of(*router).full > 0;
        self.ready.there(self.plan.routers.len(), ever)
    }

    /// Whether adjacencies were lost, in a sentence.
    fn lost(&self) -> Option<String> {
        let (router, why) = self.machine.first_loss()?;
        let first = format!("{}: {why}", self.plan.routers[router].local);
        Some(lost(self.machine.counts().flaps, "OSPF adjacencies", &first))
    }

    /// Why adjacencies are missing, in a sentence; `None` if none is. That of a router that a command took down is not missing.
    fn missing(&self) -> Option<String> {
        let (machine, all) = (&self.machine, self.plan.routers.len());
        let why = |router: usize| {
            Some(format!("{}: {}", self.plan.routers[router].local, machine.failure(router)?))
        };
        let reasons: Vec<String> =
            (0..all).filter(|router| !machine.is_down(*router)).filter_map(why).collect();
        missing(all, NOT_FULL, &reasons)
    }

    /// LSAs in the databases of all routers.
    fn held(&self) -> LsaCounts {
        let mut held = LsaCounts::default();
        (0..self.plan.routers.len()).for_each(|router| held += self.machine.database(router).counts());
        held
    }

    /// Their row of the result.
    fn row(&self, commands: u64) -> OspfResult {
        let (counts, all) = (self.machine.counts(), self.plan.routers.len());
        let held = self.held_at_end.unwrap_or_else(|| self.held());
        OspfResult {
            routers: all as u64,
            full: self.full() as u64,
            failed: (all - self.full()) as u64,
            full_at_end: self.full_at_end.unwrap_or_else(|| self.machine.full()) as u64,
            flaps: counts.flaps,
            full_ns: times(&self.machine.set_up_times()),
            announced_after_s: self.ready.told_after().map(Nanos::as_secs_f64),
            advertised: counts.advertised,
            withdrawn: counts.withdrawn,
            first_withdrawal_ns: counts.first_withdrawal.map(|at| at.0),
            first_advertisement_ns: counts.first_advertisement.map(|at| at.0),
            lsas_sent: row(&counts.sent),
            lsas_received: row(&counts.received),
            database: row(&held),
            left_out: counts.left_out,
            received_flushed: counts.received_flushed,
            retransmitted: counts.retransmitted,
            refreshed: counts.refreshed,
            outdated: counts.outdated,
            hellos_sent: counts.hellos.0,
            hellos_received: counts.hellos.1,
            descriptions_sent: counts.descriptions.0,
            descriptions_received: counts.descriptions.1,
            requests_sent: counts.requests.0,
            requests_received: counts.requests.1,
            updates_sent: counts.updates.0,
            updates_received: counts.updates.1,
            acknowledgments_sent: counts.acknowledgments.0,
            acknowledgments_received: counts.acknowledgments.1,
            mismatched: counts.mismatched,
            malformed: counts.malformed,
            commands,
        }
    }

    /// State of a router at `now`.
    fn state(&self, port: &str, router: usize, now: Nanos, with_lsas: bool) -> OspfRouterState {
        let (machine, config) = (&self.machine, &self.plan.routers[router]);
        let (counts, database) = (machine.counts_of(router), machine.database(router));
        let neighbour = machine.neighbour(router);
        let (designated, backup) = machine.designated(router);
        let named = |ip: std::net::Ipv4Addr| (!ip.is_unspecified()).then(|| ip.to_string());
        let full_since = neighbour.and_then(|one| one.full_since);
        OspfRouterState {
            port: port.to_owned(),
            host: self.hosts[config.host].clone(),
            name: config.name.clone(),
            version: config.version.number(),
            router_id: config.id.to_string(),
            area: config.area.to_string(),
            instance: config.instance,
            local: config.local.to_string(),
            network: match config.network {
                NetworkType::PointToPoint => "point_to_point",
                NetworkType::Broadcast => "broadcast",
            }
            .to_owned(),
            state: neighbour.map_or(NeighbourState::Down, |one| one.state).name().to_owned(),
            neighbour_id: neighbour.map(|one| one.id.to_string()),
            neighbour: neighbour.map(|one| one.ip.to_string()),
            designated: named(designated),
            backup: named(backup),
            full_for_s: full_since.map(|at| now.since(at).as_secs_f64()),
            is_mutual: machine.is_mutual(router),
            is_down: machine.is_down(router),
            reason: machine.failure(router).filter(|_| !machine.is_down(router)).map(|why| why.to_string()),
            flaps: counts.flaps,
            advertised: counts.advertised,
            withdrawn: counts.withdrawn,
            originated_routers: machine.originated(router),
            packets_sent: packets(counts, |(sent, _)| sent),
            packets_received: packets(counts, |(_, received)| received),
            lsas_sent: row(&counts.sent),
            lsas_received: row(&counts.received),
            retransmitted: counts.retransmitted,
            database: row(database.counts()),
            kept: database.kept() as u64,
            left_out: counts.left_out,
            lsas: if with_lsas { database.known(now).map(lsa_state).collect() } else { Vec::new() },
        }
    }
}

link_state!(OspfRouters);

impl Planned for OspfRouters {
    const KEY: &'static str = "ospf";
    const CONCERNS: fn(&[u8]) -> bool = ::ospf::may_concern;
    const NEEDS_HOSTS: bool = true;

    fn is_planned(port: &PortPlan) -> bool {
        port.ospf.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        let Context { port, macs, facts, .. } = *context;
        Some(Self::new(port.ospf.as_ref()?, port, macs, facts))
    }
}

impl HostProtocol for OspfRouters {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        ::ospf::may_concern(frame) && self.take_packet(now, frame)
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.machine.poll(now, frames);
    }

    fn next_due(&self) -> Nanos {
        self.machine.next_due()
    }

    /// Begins, the first time.
    fn set_up(&mut self, now: Nanos, _: Option<&Hosts>, _: &mut Vec<Vec<u8>>) {
        if self.ready.begin(now) {
            self.machine.begin(now, unix_s());
        }
    }

    /// Whether everything is advertised and the settle time has passed, or the timeout. With patience, it may start immediately.
    fn may_start(&mut self, now: Nanos, wait: Wait) -> bool {
        self.ready.may_start(now, wait.patient, || self.machine.is_settled())
    }

    fn conclude(&mut self, _: Nanos, patient: bool) -> Option<String> {
        self.note_start(patient);
        self.missing().filter(|_| self.full() == 0 && !patient)
    }

    fn start(&mut self, epoch: Nanos) {
        self.machine.start(epoch);
    }

    fn shut(&mut self, now: Nanos) -> Nanos {
        self.end(now);
        now + ROUTERS_FAREWELL
    }

    fn is_over(&self) -> bool {
        self.machine.is_over()
    }

    fn member(&self) -> &'static str {
        "OSPF router"
    }

    fn has_member(&self, command: &NewProtocolChange) -> bool {
        routers(self, command).next().is_some()
    }

    fn has_routes(&self, command: &NewProtocolChange, name: &str) -> bool {
        routers(self, command).any(|router| self.routes(router).iter().any(|own| own == name))
    }

    fn obeys(&self, on: ActionOn) -> bool {
        matches!(on, ActionOn::Routes | ActionOn::Sessions)
    }

    fn change(&mut self, now: Nanos, command: &NewProtocolChange) -> u64 {
        change_routers(self, now, command)
    }

    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates) {
        let Listing { port, now, routes, limit, .. } = listing;
        let count = self.plan.routers.len();
        all.counts.ospf_routers += count as u64;
        all.counts.ospf_full += self.machine.full() as u64;
        let listed = 0..count.min(limit - all.ospf.len());
        all.ospf.extend(listed.map(|router| self.state(port, router, now, routes)));
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        row.ospf = Some(self.row(commands));
    }

    fn complaints(&self) -> Vec<String> {
        self.complaints.clone()
    }

    fn note(&self) -> Option<String> {
        self.lost()
    }
}

fn row(counts: &LsaCounts) -> OspfLsaCounts {
    OspfLsaCounts {
        router: counts.router,
        network: counts.network,
        summary: counts.summary,
        external: counts.external,
        nssa: counts.nssa,
        opaque_link: counts.opaque_link,
        opaque_area: counts.opaque_area,
        opaque_domain: counts.opaque_domain,
        inter_area_prefix: counts.inter_area_prefix,
        inter_area_router: counts.inter_area_router,
        link: counts.link,
        intra_area_prefix: counts.intra_area_prefix,
        other: counts.other,
    }
}

fn packets(counts: &OspfCounts, of: fn((u64, u64)) -> u64) -> OspfPacketCounts {
    OspfPacketCounts {
        hellos: of(counts.hellos),
        descriptions: of(counts.descriptions),
        requests: of(counts.requests),
        updates: of(counts.updates),
        acknowledgments: of(counts.acknowledgments),
        acknowledged_lsas: of(counts.acknowledged),
    }
}

fn lsa_state(lsa: KnownLsa<'_>) -> OspfLsaState {
    let header = lsa.header;
    OspfLsaState {
        kind: header.key.kind,
        id: header.key.id.to_string(),
        router_id: header.key.router.to_string(),
        options: header.options,
        sequence: header.sequence as u32,
        age_s: lsa.age_s,
        body: lsa.body.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Seconds since 1970-01-01 UTC, where that is known.
#[cfg(unix)]
fn unix_s() -> u32 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs() as u32
}

/// Seconds since 1970-01-01 UTC: not known.
#[cfg(not(unix))]
fn unix_s() -> u32 {
    0
}
