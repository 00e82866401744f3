//! OSPF routers of a port: their plan, states and result.
//!
//! Packets that come in fragments are reassembled: devices may send longer ones than their link takes (FRR's requests
//! of OSPFv3 are).
//!
//! Not here: what all link-state protocols do (`linkstate`), nor the protocol (`::ospf`).

use crate::emulation::linkstate::{LinkState, LinkStateRouters, Settings};
use crate::emulation::protocol::Listing;
use crate::emulation::times::times;
use crate::trial::hosts::link_local;
use ::linkstate::Router as _;
use ::ospf::{
    KnownLsa, LsaCounts, NeighbourState, NetworkType, OspfCounts, Router, RouterConfig, Routers, Version,
};
use fragment::{Fragment, Reassembler};
use neighbour::Mac;
use profile::plan::{OspfPlan, PortPlan};
use result::{
    OspfLsaCounts, OspfLsaState, OspfPacketCounts, OspfResult, OspfRouterState, PortResult, ProtocolStates,
};
use std::net::{IpAddr, Ipv4Addr};
use units::{Nanos, Tally as _};

/// OSPF routers of a port.
pub(super) type OspfRouters = LinkStateRouters<Ospf>;

/// OSPF.
#[derive(Debug)]
pub(super) struct Ospf {
    pieces: Reassembler,
}

impl LinkState for Ospf {
    const NAME: &'static str = "OSPF";
    const MEMBER: &'static str = "OSPF router";
    const KEY: &'static str = "ospf";
    const ABSENCE: &'static str = "OSPF routers have no full adjacency";
    const CONCERNS: fn(&[u8]) -> bool = ::ospf::may_concern;

    type Router = Router;
    type Plan = OspfPlan;
    type Held = LsaCounts;

    fn plan(port: &PortPlan) -> Option<&OspfPlan> {
        port.ospf.as_ref()
    }

    fn new() -> Self {
        Self { pieces: Reassembler::default() }
    }

    fn settings(plan: &OspfPlan) -> Settings {
        let OspfPlan { routers, rate, timeout, settle, seed } = plan;
        Settings { routers: routers.len(), rate: *rate, timeout: *timeout, settle: *settle, seed: *seed }
    }

    fn configs(plan: &OspfPlan, macs: &[Mac]) -> Vec<RouterConfig> {
        let router = |router: &RouterConfig| match router.version {
            Version::V2 => router.clone(),
            Version::V3 => RouterConfig {
                link_local: link_local(router.link_local, macs[router.host]),
                ..router.clone()
            },
        };
        plan.routers.iter().map(router).collect()
    }

    fn named(plan: &OspfPlan, router: usize) -> (&str, IpAddr) {
        let router = &plan.routers[router];
        (&router.name, router.local)
    }

    fn routes(plan: &OspfPlan, router: usize) -> Vec<&str> {
        plan.routers[router].routes.iter().map(|range| range.name.as_str()).collect()
    }

    fn take(&mut self, now: Nanos, frame: &[u8], machine: &mut Routers) -> bool {
        match Fragment::read(frame) {
            Some(fragment) => {
                let whole = self.pieces.take(now, &fragment);
                whole.is_none_or(|frame| machine.take(now, &frame))
            }
            None => machine.take(now, frame),
        }
    }

    fn flaps(counts: &OspfCounts) -> u64 {
        counts.flaps
    }

    fn held(machine: &Routers) -> LsaCounts {
        let mut held = LsaCounts::default();
        machine.iter().for_each(|router| held.tally(router.held()));
        held
    }

    fn list(routers: &OspfRouters, listing: Listing<'_>, all: &mut ProtocolStates) {
        let Listing { port, now, routes, limit, .. } = listing;
        all.counts.ospf_routers += routers.count() as u64;
        all.counts.ospf_full += routers.machine.up() as u64;
        let listed = 0..routers.count().min(limit - all.ospf.len());
        all.ospf.extend(listed.map(|router| routers.state(port, router, now, routes)));
    }

    fn report(routers: &OspfRouters, commands: u64, row: &mut PortResult) {
        row.ospf = Some(routers.row(commands));
    }
}

impl OspfRouters {
    /// Their row of the result.
    fn row(&self, commands: u64) -> OspfResult {
        let (counts, all) = (self.machine.counts(), self.count());
        OspfResult {
            routers: all as u64,
            full: self.up() as u64,
            failed: (all - self.up()) as u64,
            full_at_end: self.up_at_end() as u64,
            flaps: counts.flaps,
            full_ns: times(&self.machine.set_up_times()),
            announced_after_s: self.ready.told_after().map(Nanos::as_secs_f64),
            advertised: counts.advertised,
            withdrawn: counts.withdrawn,
            first_withdrawal_ns: counts.first_withdrawal.map(|at| at.0),
            first_advertisement_ns: counts.first_advertisement.map(|at| at.0),
            lsas_sent: row(&counts.sent),
            lsas_received: row(&counts.received),
            database: self.held(row),
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
        let (config, router) = (&self.plan.routers[router], self.machine.router(router));
        let (counts, database, neighbour) = (router.counts(), router.database(), router.neighbour());
        let (designated, backup) = router.designated();
        let named = |ip: Ipv4Addr| (!ip.is_unspecified()).then(|| ip.to_string());
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
            is_mutual: router.is_mutual(),
            is_down: router.is_down(),
            reason: router.failure().filter(|_| !router.is_down()).map(|why| why.to_string()),
            flaps: counts.flaps,
            advertised: counts.advertised,
            withdrawn: counts.withdrawn,
            originated_routers: router.originated(),
            packets_sent: packets(counts, |(sent, _)| sent),
            packets_received: packets(counts, |(_, received)| received),
            lsas_sent: row(&counts.sent),
            lsas_received: row(&counts.received),
            retransmitted: counts.retransmitted,
            database: row(router.held()),
            kept: database.kept() as u64,
            left_out: counts.left_out,
            lsas: if with_lsas { database.known(now).map(lsa_state).collect() } else { Vec::new() },
        }
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
