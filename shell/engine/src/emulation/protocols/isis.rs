//! IS-IS routers of a port: their plan, states and result.
//!
//! Not here: what all link-state protocols do (`linkstate`), nor the protocol (`::isis`).

use crate::emulation::linkstate::{LinkState, LinkStateRouters, Settings};
use crate::emulation::protocol::Listing;
use crate::emulation::times::times;
use crate::trial::hosts::link_local;
use ::isis::{
    IsisCounts, KnownLsp, LevelCounts, NeighbourState, NeighbourView, NetworkType, Router, RouterConfig,
    Routers,
};
use ::linkstate::Router as _;
use neighbour::Mac;
use profile::plan::{IsisPlan, PortPlan};
use result::{
    IsisLevelCounts, IsisLspState, IsisNeighbourState, IsisResult, IsisRouterState, PortResult,
    ProtocolStates,
};
use std::net::IpAddr;
use units::{Nanos, Tally as _, count};

/// IS-IS routers of a port.
pub(super) type IsisRouters = LinkStateRouters<Isis>;

/// IS-IS.
#[derive(Debug)]
pub(super) struct Isis;

impl LinkState for Isis {
    const NAME: &'static str = "IS-IS";
    const MEMBER: &'static str = "IS-IS router";
    const KEY: &'static str = "isis";
    const ABSENCE: &'static str = "IS-IS routers lack an adjacency";
    const CONCERNS: fn(&[u8]) -> bool = ::isis::may_concern;

    type Router = Router;
    type Plan = IsisPlan;
    type Held = LevelCounts;

    fn plan(port: &PortPlan) -> Option<&IsisPlan> {
        port.isis.as_ref()
    }

    fn new() -> Self {
        Self
    }

    fn settings(plan: &IsisPlan) -> Settings {
        let IsisPlan { routers, rate, timeout, settle, seed } = plan;
        Settings { routers: routers.len(), rate: *rate, timeout: *timeout, settle: *settle, seed: *seed }
    }

    fn configs(plan: &IsisPlan, macs: &[Mac]) -> Vec<RouterConfig> {
        let router = |router: &RouterConfig| RouterConfig {
            link_local: router.link_local.map(|ip| link_local(ip, macs[router.host])),
            ..router.clone()
        };
        plan.routers.iter().map(router).collect()
    }

    fn named(plan: &IsisPlan, router: usize) -> (&str, IpAddr) {
        let router = &plan.routers[router];
        (&router.name, router.local.into())
    }

    fn routes(plan: &IsisPlan, router: usize) -> Vec<&str> {
        plan.routers[router].routes.iter().map(|range| range.name.as_str()).collect()
    }

    fn complaint(machine: &Routers) -> Option<String> {
        let unfitting: u64 = machine.iter().map(Router::unfitting).sum();
        (unfitting > 0).then(|| {
            let unfitting = count(unfitting);
            format!(
                "{unfitting} IS-IS routes have no room in 255 LSPs: the MTU of the port is too small for them"
            )
        })
    }

    fn flaps(counts: &IsisCounts) -> u64 {
        counts.flaps
    }

    fn held(machine: &Routers) -> LevelCounts {
        let mut held = LevelCounts::default();
        machine.iter().for_each(|router| held.tally(&router.held()));
        held
    }

    fn list(routers: &IsisRouters, listing: Listing<'_>, all: &mut ProtocolStates) {
        let Listing { port, now, routes, limit, .. } = listing;
        all.counts.isis_routers += routers.count() as u64;
        all.counts.isis_up += routers.machine.up() as u64;
        let listed = 0..routers.count().min(limit - all.isis.len());
        all.isis.extend(listed.map(|router| routers.state(port, router, now, routes)));
    }

    fn report(routers: &IsisRouters, commands: u64, row: &mut PortResult) {
        row.isis = Some(routers.row(commands));
    }
}

impl IsisRouters {
    /// Their row of the result.
    fn row(&self, commands: u64) -> IsisResult {
        let (counts, all) = (self.machine.counts(), self.count());
        IsisResult {
            routers: all as u64,
            up: self.up() as u64,
            failed: (all - self.up()) as u64,
            up_at_end: self.up_at_end() as u64,
            flaps: counts.flaps,
            up_ns: times(&self.machine.set_up_times()),
            announced_after_s: self.ready.told_after().map(Nanos::as_secs_f64),
            advertised: counts.advertised,
            withdrawn: counts.withdrawn,
            first_withdrawal_ns: counts.first_withdrawal.map(|at| at.0),
            first_advertisement_ns: counts.first_advertisement.map(|at| at.0),
            lsps_sent: row(&counts.sent),
            lsps_received: row(&counts.received),
            database: self.held(row),
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
        let (config, router) = (&self.plan.routers[router], self.machine.router(router));
        let (counts, neighbour) = (router.counts(), router.neighbour());
        let up_since = neighbour.and_then(|one| one.up_since).filter(|_| router.is_up());
        let known = || {
            let all = router.databases();
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
            designated: router.designated(),
            up_for_s: up_since.map(|at| now.since(at).as_secs_f64()),
            is_mutual: router.is_mutual(),
            is_down: router.is_down(),
            reason: router.failure().filter(|_| !router.is_down()).map(|why| why.to_string()),
            neighbours: router.neighbours().map(|one| neighbour_state(&one, now)).collect(),
            adjacencies: row(&router.adjacencies()),
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
            originated: router.originated(),
            lsps_sent: row(&counts.sent),
            lsps_received: row(&counts.received),
            retransmitted: counts.retransmitted,
            database: row(&router.held()),
            kept: router.databases().map(|(_, database)| database.kept() as u64).sum(),
            left_out: counts.left_out,
            lsps: if with_lsps { known() } else { Vec::new() },
        }
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
