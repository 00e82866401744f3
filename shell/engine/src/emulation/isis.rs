//! IS-IS routers of a port: they come up before traffic, and are handled while it runs.
//!
//! Not here: the protocol (`::isis`).

use super::linkstate::{LinkState, change_routers, routers};
use super::protocol::{Context, HostProtocol, Listing, Planned, ROUTERS_FAREWELL, Wait};
use super::ready::{Ready, lost, missing};
use super::times::times;
use crate::absence::NOT_UP;
use crate::control::commands::ActionOn;
use crate::trial::hosts::{hosts_mtu, link_local};
use ::isis::{
    IsisHost, KnownLsp, LevelCounts, NeighbourState, NeighbourView, NetworkType, RouterConfig, Routers,
    RoutersConfig,
};
use neighbour::{Hosts, Mac};
use port::PortFacts;
use profile::plan::{HostPlan, IsisPlan, PortPlan};
use result::{
    IsisLevelCounts, IsisLspState, IsisNeighbourState, IsisResult, IsisRouterState, NewProtocolChange,
    PortResult, ProtocolStates,
};
use units::{Nanos, count};

/// IS-IS routers of a port.
#[derive(Debug)]
pub(super) struct IsisRouters {
    pub(super) machine: Routers,
    pub(super) plan: IsisPlan,
    /// Names of the port's hosts.
    hosts: Vec<String>,
    ready: Ready,
    /// Routers that had all adjacencies when traffic had ended.
    up_at_end: Option<usize>,
    /// LSPs of neighbours held then.
    held_at_end: Option<LevelCounts>,
    /// Reasons for an invalid result, known when traffic started.
    complaints: Vec<String>,
}

impl IsisRouters {
    fn new(plan: &IsisPlan, port: &PortPlan, macs: &[Mac], facts: &PortFacts) -> Self {
        let host = |(host, mac): (&HostPlan, &Mac)| IsisHost {
            mac: *mac,
            vlans: host.vlans.clone(),
            mtu: hosts_mtu(facts) as u16,
        };
        let router = |router: &RouterConfig| RouterConfig {
            link_local: router.link_local.map(|ip| link_local(ip, macs[router.host])),
            ..router.clone()
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
            hosts: port.hosts.iter().map(|host| host.name.clone()).collect(),
            ready: Ready::new(plan.settle, plan.timeout),
            up_at_end: None,
            held_at_end: None,
            complaints: Vec::new(),
        }
    }

    /// Traffic starts: notes what there is.
    fn note_start(&mut self, patient: bool) {
        self.ready.note_start(patient, self.machine.up());
        if patient {
            return;
        }
        let unfitting = self.machine.unfitting();
        if unfitting > 0 {
            let unfitting = count(unfitting);
            self.complaints.push(format!(
                "{unfitting} IS-IS routes have no room in 255 LSPs: the MTU of the port is too small for them"
            ));
        }
        let missing = self.missing();
        self.complaints.extend(missing.or_else(|| self.ready.complaint("IS-IS")));
    }

    /// Purges what was advertised and ends all adjacencies.
    fn end(&mut self, now: Nanos) {
        self.up_at_end = Some(self.machine.up());
        self.held_at_end = Some(self.held());
        self.machine.shut(now);
    }

    /// Routers with all adjacencies when traffic started, or ever if it did not wait for them.
    fn up(&self) -> usize {
        let ever = |router: &usize| self.machine.counts_of(*router).up > 0;
        self.ready.there(self.plan.routers.len(), ever)
    }

    /// Whether adjacencies were lost, in a sentence.
    fn lost(&self) -> Option<String> {
        let (router, why) = self.machine.first_loss()?;
        let first = format!("{}: {why}", self.plan.routers[router].local);
        Some(lost(self.machine.counts().flaps, "IS-IS adjacencies", &first))
    }

    /// Why adjacencies are missing, in a sentence; `None` if none is. Those of a router that a command took down are not missing.
    fn missing(&self) -> Option<String> {
        let (machine, all) = (&self.machine, self.plan.routers.len());
        let why = |router: usize| {
            Some(format!("{}: {}", self.plan.routers[router].local, machine.failure(router)?))
        };
        let reasons: Vec<String> =
            (0..all).filter(|router| !machine.is_down(*router)).filter_map(why).collect();
        missing(all, NOT_UP, &reasons)
    }

    /// LSPs in the databases of all routers.
    fn held(&self) -> LevelCounts {
        let mut held = LevelCounts::default();
        (0..self.plan.routers.len()).for_each(|router| held += &self.machine.held(router));
        held
    }

    /// Their row of the result.
    fn row(&self, commands: u64) -> IsisResult {
        let (counts, all) = (self.machine.counts(), self.plan.routers.len());
        let held = self.held_at_end.unwrap_or_else(|| self.held());
        IsisResult {
            routers: all as u64,
            up: self.up() as u64,
            failed: (all - self.up()) as u64,
            up_at_end: self.up_at_end.unwrap_or_else(|| self.machine.up()) as u64,
            flaps: counts.flaps,
            up_ns: times(&self.machine.set_up_times()),
            announced_after_s: self.ready.told_after().map(Nanos::as_secs_f64),
            advertised: counts.advertised,
            withdrawn: counts.withdrawn,
            first_withdrawal_ns: counts.first_withdrawal.map(|at| at.0),
            first_advertisement_ns: counts.first_advertisement.map(|at| at.0),
            lsps_sent: row(&counts.sent),
            lsps_received: row(&counts.received),
            database: row(&held),
            left_out: counts.left_out,
            received_purged: counts.received_purged,
            retransmitted: counts.retransmitted,
            refreshed: counts.refreshed,
            outdated: counts.outdated,
            hellos_sent: counts.hellos.0,
            hellos_received: counts.hellos.1,
            csnps_sent: counts.csnps.0.all(),
            csnps_received: counts.csnps.1.all(),
            psnps_sent: counts.psnps.0.all(),
            psnps_received: counts.psnps.1.all(),
            mismatched: counts.mismatched,
            malformed: counts.malformed,
            commands,
        }
    }

    /// State of a router at `now`.
    fn state(&self, port: &str, router: usize, now: Nanos, with_lsps: bool) -> IsisRouterState {
        let (machine, config) = (&self.machine, &self.plan.routers[router]);
        let counts = machine.counts_of(router);
        let neighbour = machine.neighbour(router);
        let up_since = neighbour.and_then(|one| one.up_since).filter(|_| machine.is_up(router));
        let known = || {
            let all = machine.databases(router);
            all.flat_map(|(level, database)| database.known(now).map(move |lsp| lsp_state(level, &lsp)))
                .collect()
        };
        IsisRouterState {
            port: port.to_owned(),
            host: self.hosts[config.host].clone(),
            name: config.name.clone(),
            system_id: config.system.to_string(),
            area: config.area.to_string(),
            level: levels(config.levels.bits()).to_owned(),
            local: config.local.to_string(),
            network: match config.network {
                NetworkType::PointToPoint => "point_to_point",
                NetworkType::Broadcast => "broadcast",
            }
            .to_owned(),
            state: neighbour.map_or(NeighbourState::Down, |one| one.state).name().to_owned(),
            neighbour_id: neighbour.map(|one| one.system.to_string()),
            neighbour: neighbour.and_then(|one| one.ip).map(|ip| ip.to_string()),
            designated: machine.designated(router),
            up_for_s: up_since.map(|at| now.since(at).as_secs_f64()),
            is_mutual: machine.is_mutual(router),
            is_down: machine.is_down(router),
            reason: machine.failure(router).filter(|_| !machine.is_down(router)).map(|why| why.to_string()),
            neighbours: machine.neighbours(router).map(|one| neighbour_state(&one, now)).collect(),
            adjacencies: row(&machine.adjacencies(router)),
            hold_s: config.hold_s.into(),
            flaps: counts.flaps,
            flaps_by_level: row(&counts.flaps_at),
            hellos_sent: row(&counts.hellos_at.0),
            hellos_received: row(&counts.hellos_at.1),
            csnps_sent: row(&counts.csnps.0),
            csnps_received: row(&counts.csnps.1),
            psnps_sent: row(&counts.psnps.0),
            psnps_received: row(&counts.psnps.1),
            advertised: counts.advertised,
            withdrawn: counts.withdrawn,
            originated: machine.originated(router),
            lsps_sent: row(&counts.sent),
            lsps_received: row(&counts.received),
            retransmitted: counts.retransmitted,
            database: row(&machine.held(router)),
            kept: machine.databases(router).map(|(_, database)| database.kept() as u64).sum(),
            left_out: counts.left_out,
            lsps: if with_lsps { known() } else { Vec::new() },
        }
    }
}

link_state!(IsisRouters);

impl Planned for IsisRouters {
    const KEY: &'static str = "isis";
    const CONCERNS: fn(&[u8]) -> bool = ::isis::may_concern;
    const NEEDS_HOSTS: bool = true;

    fn is_planned(port: &PortPlan) -> bool {
        port.isis.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        let Context { port, macs, facts, .. } = *context;
        Some(Self::new(port.isis.as_ref()?, port, macs, facts))
    }
}

impl HostProtocol for IsisRouters {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        ::isis::may_concern(frame) && self.machine.take(now, frame)
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
            self.machine.begin(now);
        }
    }

    /// Whether everything is advertised and the settle time has passed, or the timeout. With patience, it may start immediately.
    fn may_start(&mut self, now: Nanos, wait: Wait) -> bool {
        self.ready.may_start(now, wait.patient, || self.machine.is_settled())
    }

    fn conclude(&mut self, _: Nanos, patient: bool) -> Option<String> {
        self.note_start(patient);
        self.missing().filter(|_| self.up() == 0 && !patient)
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
        "IS-IS router"
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
        all.counts.isis_routers += count as u64;
        all.counts.isis_up += self.machine.up() as u64;
        let listed = 0..count.min(limit - all.isis.len());
        all.isis.extend(listed.map(|router| self.state(port, router, now, routes)));
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        row.isis = Some(self.row(commands));
    }

    fn complaints(&self) -> Vec<String> {
        self.complaints.clone()
    }

    fn note(&self) -> Option<String> {
        self.lost()
    }
}

fn row(counts: &LevelCounts) -> IsisLevelCounts {
    IsisLevelCounts { level_1: counts.level_1, level_2: counts.level_2 }
}

/// Levels as results write them, from their bits.
fn levels(bits: u8) -> &'static str {
    match bits {
        1 => "1",
        2 => "2",
        _ => "1-2",
    }
}

fn neighbour_state(one: &NeighbourView, now: Nanos) -> IsisNeighbourState {
    IsisNeighbourState {
        system_id: one.system.to_string(),
        ip: one.ip.map(|ip| ip.to_string()),
        level: levels(one.levels).to_owned(),
        state: one.state.name().to_owned(),
        priority: one.priority.into(),
        hold_s: one.lost_at.since(now).0 / Nanos::from_secs(1).0,
    }
}

fn lsp_state(level: u8, lsp: &KnownLsp<'_>) -> IsisLspState {
    IsisLspState {
        level,
        id: lsp.id.to_string(),
        sequence: lsp.sequence,
        lifetime_s: lsp.lifetime_s,
        flags: lsp.flags,
        body: lsp.body.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
