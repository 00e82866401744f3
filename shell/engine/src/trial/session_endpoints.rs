//! Each worker's share of a trial's sessions on each port.

use super::encryption::Encryption;
use super::resolved::{Trial, check_checksums};
use super::rig::Rig;
use super::tunnels::carried;
use crate::error::EngineError;
use crate::worker::flows::{Flows, Local, Opening, Role};
use crate::worker::steer::Steer;
use crate::worker::tunnels::Tunnels;
use port::PortFacts;
use profile::Plan;
use profile::plan::{ChecksumBy, ClientsBy};
use session::plan::{AppPlan, Carrier, SessionPlan, Side, SidePlan};
use session::secure::Layer;
use session::{Apps, Clients, GroupKey};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tcp::{GroupConfig, GroupId, Numbered, OwnMacs, Stack, Transport, UdpOptions, UnfinishedChecksums};
use units::Nanos;

/// Spread of frames over queues where what is sent on one comes to its partner.
const PAIRED: &str = "pair";
/// Time that a connection of QUIC whose peer's port is unreachable waits for something from another port.
const REFUSED_AFTER: Nanos = Nanos::from_secs(1);
/// Drivers of ports whose frames come from a kernel or a program, and that can not report which of them bypassed a
/// card: Linux leaves checksums to one.
const VIRTUAL: [&str; 10] = [
    "af_xdp",
    "net_af_packet",
    "net_af_xdp",
    "xdp_live_frames",
    "net_tap",
    "net_tun",
    "net_memif",
    "net_vhost",
    "net_virtio_user",
    "net_virtio",
];
/// Initial capacity for flows, if their number is unknown.
const FLOWS: u64 = 4_096;

/// Data from which the sessions of all workers are made.
pub(crate) struct SessionEndpoints {
    plans: Vec<SessionPlan>,
    groups: Vec<GroupKey>,
    /// Encryption of each entry that has some.
    secure: Vec<Option<Encryption>>,
    /// Number of workers that have sessions; they are the first.
    workers: usize,
    /// Of each port which checksums are good that do not add up.
    unfinished: Vec<UnfinishedChecksums>,
    /// Of each port to whom its sessions leave checksums.
    checksums: Vec<ChecksumsLeft>,
    /// Of each port whose frames may come to any worker: each worker's ways to the others.
    steers: Vec<Vec<Option<Steer>>>,
    /// Wall-clock time, since 1970-01-01 UTC, at instant zero of the workers' clock.
    wall_zero: Nanos,
}

/// A host of a side of an entry of sessions.
#[derive(Debug, Clone)]
pub struct LentHost {
    /// Index of the entry.
    pub entry: usize,
    /// Its side.
    pub side: Side,
    /// Index among the side's hosts.
    pub host: usize,
    /// Index of the port.
    pub port: usize,
    /// Options of its flows, with hardware addresses.
    pub config: GroupConfig,
}

impl SessionEndpoints {
    /// For the sessions of `trial` on the ports of `rig`, which have queues for `workers`. `wall_zero` is the wall clock's time at
    /// the workers' zero; `None` in virtual time, where handshakes have the same lengths each time.
    pub(crate) fn new(
        trial: &Trial<'_>,
        rig: &Rig,
        workers: usize,
        wall_zero: Option<Nanos>,
    ) -> Result<Self, EngineError> {
        let facts = rig.facts();
        let mut plans: Vec<SessionPlan> =
            trial.plan.sessions.iter().map(|entry| entry.session.clone()).collect();
        if trial.is_part() {
            plans.iter_mut().for_each(part_clocks);
        }
        for side in plans.iter_mut().flat_map(|plan| plan.client.iter_mut().chain(&mut plan.server)) {
            fit_mtu(side, facts[side.port]);
        }
        let mut secure = Vec::new();
        for plan in &plans {
            let bad = |reason| EngineError::Sessions { name: plan.name.clone(), reason };
            for side in plan.client.iter().chain(&plan.server) {
                check_side(&trial.plan, side, facts[side.port]).map_err(bad)?;
            }
            secure.push(
                plan.tls
                    .as_ref()
                    .map(|tls| Encryption::new(plan, tls, wall_zero.is_none(), &trial.key_logs))
                    .transpose()
                    .map_err(bad)?,
            );
        }
        let groups = session::groups(&plans);
        let owners = owners(&plans, rig, workers);
        let numbered: Arc<[Numbered]> = numbered(&plans).collect();
        let steers = rig.ports.iter().enumerate().map(|(index, port)| {
            let has_sessions = sides(&plans).any(|side| side.port == index);
            // Frames come to any worker, or to one of several that own flows.
            let any_worker = port.queues.rx.len().max(owners) > 1 && port.port.facts().rx_spread != PAIRED;
            let needed = has_sessions && workers > 1 && any_worker;
            if needed {
                Steer::between(workers, owners, &numbered).into_iter().map(Some).collect()
            } else {
                Vec::new()
            }
        });
        Ok(Self {
            workers: owners,
            unfinished: facts.iter().map(|facts| unfinished(facts)).collect(),
            checksums: (0..)
                .zip(&facts)
                .map(|(port, facts)| checksums_left(&trial.plan, port, facts))
                .collect(),
            steers: steers.collect(),
            plans,
            groups,
            secure,
            wall_zero: wall_zero.unwrap_or(Nanos::ZERO),
        })
    }

    /// The share of worker `worker` on each port. Call it once for each.
    pub(crate) fn local(&mut self, trial: &Trial<'_>, worker: usize) -> Result<Vec<Local>, EngineError> {
        let port = |port: usize| {
            let steer = self.steers[port].get_mut(worker).and_then(Option::take);
            let tunnels = trial.tunnels.map(port).map(|map| Tunnels::new(map.clone()));
            let flows = if trial.here[port] { self.on_port(trial, port, worker)? } else { None };
            Ok(Local { flows, steer, tunnels })
        };
        (0..trial.plan.ports.len()).map(port).collect()
    }

    /// The hosts of all sides, for a sender that is no worker.
    pub(crate) fn hosts(&self, trial: &Trial<'_>) -> Vec<LentHost> {
        let of = |key: &GroupKey| LentHost {
            entry: key.session,
            side: key.side,
            host: key.host,
            port: self.side(*key).port,
            config: self.config(trial, *key),
        };
        self.groups.iter().filter(|key| key.member == 0).map(of).collect()
    }

    fn on_port(&self, trial: &Trial<'_>, port: usize, worker: usize) -> Result<Option<Flows>, EngineError> {
        let role = |key: &GroupKey| {
            let follows = key.side == Side::Server && self.plans[key.session].client.is_some();
            let is_mixed = self.plans[key.session].mix.members.len() > 1;
            let is_multihomed = self.side(*key).hosts.len() > 1;
            let role = Role { key: *key, is_mixed, is_multihomed, follows };
            (self.side(*key).port == port).then_some(role)
        };
        let roles: Vec<Option<Role>> = self.groups.iter().map(role).collect();
        if worker >= self.workers || roles.iter().all(Option::is_none) {
            return Ok(None);
        }
        let configs = self.groups.iter().map(|key| self.config(trial, *key));
        let seed = random::word(random::key(trial.plan.seed), (port as u64) << 32 | worker as u64);
        let mut stack = Stack::new(seed, self.expected(&roles), configs.collect());
        for (number, role) in roles.iter().enumerate() {
            let Some(role) = role else { continue };
            self.settle(&mut stack, GroupId(number as u16), role.key);
        }
        // Where ranges overlap the first one counts: entries that serve TCP themselves come before.
        for (number, role) in roles.iter().enumerate() {
            let Some(role) = role else { continue };
            self.settle_fallback(&mut stack, GroupId(number as u16), role.key);
        }
        let mut secure = self
            .groups
            .iter()
            .map(|key| self.secured(*key, worker))
            .collect::<Result<Vec<_>, EngineError>>()?;
        let mut apps = Apps::new(&self.plans, worker, self.workers, |key| {
            let place = self.groups.iter().position(|group| *group == key);
            let made = place.and_then(|place| secure[place].take());
            made.expect("each group of an entry with TLS is taken once")
        });
        apps.set_clock(self.wall_zero);
        let openings = self.plans.iter().enumerate().filter_map(|(entry, plan)| {
            plan.client.as_ref().filter(|client| client.port == port)?;
            let clients = Clients::new(plan, entry, &self.groups, worker, self.workers)?;
            let hops = trial.hops[entry].iter().map(|hops| {
                let is_one = hops.iter().all(|(_, mac)| *mac == hops[0].1);
                if is_one { Vec::new() } else { hops.clone() }
            });
            Some(Opening::new(entry, clients, hops.collect()))
        });
        let (share, end) = ((worker, self.workers), trial.plan.duration);
        let waits = self.plans.iter().all(|plan| plan.client.is_none());
        let elsewhere = |(entry, plan): (usize, &SessionPlan)| {
            plan.client.as_ref().is_some_and(|client| !trial.here[client.port]).then_some(entry)
        };
        let others = self.plans.iter().enumerate().filter_map(elsewhere).collect();
        let flows = Flows::new(port, stack, apps, openings.collect(), roles, share, end, waits);
        Ok(Some(flows.with_clients_elsewhere(others)))
    }

    fn side(&self, key: GroupKey) -> &SidePlan {
        let plan = &self.plans[key.session];
        let side = match key.side {
            Side::Client => &plan.client,
            Side::Server => &plan.server,
        };
        side.as_ref().expect("only sides that are played here have groups")
    }

    fn config(&self, trial: &Trial<'_>, key: GroupKey) -> GroupConfig {
        let side = self.side(key);
        let hop = match key.side {
            Side::Client => trial.hops[key.session][key.host].first().map(|(_, mac)| *mac),
            // What is before packets without Ethernet is nobody's hardware address.
            Side::Server => side.tunnel.as_ref().filter(|own| own.tunnel.kind.is_bare()).map(|_| [0; 6]),
        };
        let tunnel = trial.tunnels.of(key.session, key.side);
        let is_quic = self.plans[key.session].is_quic_of(key.member);
        GroupConfig {
            tcp: side.tcp.clone(),
            udp: UdpOptions {
                // A connection of QUIC ends by its own timer.
                idle_timeout: side.udp.idle_timeout.filter(|_| !is_quic),
                refused_after: if is_quic { REFUSED_AFTER } else { Nanos::ZERO },
                ..side.udp
            },
            ttl: side.ttl,
            tos: side.tos,
            vlans: side.hosts[key.host].vlans.clone(),
            mtu: side.mtu,
            own_mac: trial.hosts.ports[side.port]
                .host(trial.hosts.of_session(key.session, key.side, key.host))
                .mac,
            own_macs: self.own_macs(trial, key),
            hop_mac: hop,
            gateway: match key.side {
                Side::Client => None,
                Side::Server => trial.gateways[key.session][key.host].clone(),
            },
            unfinished_checksums: self.unfinished[side.port],
            leaves_checksums: match self.checksums[side.port] {
                ChecksumsLeft::Nobody => false,
                ChecksumsLeft::Link => true,
                ChecksumsLeft::Card => tunnel.is_none(),
            },
            tunnel,
        }
    }

    /// Hardware addresses of clients that are separate hosts: clients with leases.
    fn own_macs(&self, trial: &Trial<'_>, key: GroupKey) -> Option<Arc<OwnMacs>> {
        let port = self.side(key).port;
        if key.side != Side::Client || !trial.plan.ports[port].has_clients_by(ClientsBy::Lease) {
            return None;
        }
        let hosts = trial.hosts.ports[port].all();
        let macs = hosts.iter().flat_map(|host| host.addresses.iter().map(|ip| (*ip, host.mac)));
        Some(Arc::new(OwnMacs::new(macs)))
    }

    /// Says which addresses are a group's.
    fn settle(&self, stack: &mut Stack<Apps>, group: GroupId, key: GroupKey) {
        let plan = &self.plans[key.session];
        let pool = match key.side {
            Side::Client => &plan.clients,
            Side::Server => &plan.servers,
        };
        let ports = plan.mix.members[key.member].server_ports.as_ref().unwrap_or(&plan.servers.ports);
        for range in pool.addresses.iter().filter(|range| range.host == key.host) {
            let addresses: RangeInclusive<IpAddr> = range.first..=range.last;
            if key.side == Side::Server {
                let transport = plan.carrier_of(key.member).into();
                stack.listen(group, transport, addresses.clone(), ports.clone());
            }
            stack.owns(group, addresses);
        }
    }

    /// Serves DNS over TCP, too, where it is over UDP: queries with truncated responses are repeated there (RFC 7766
    /// section 5).
    fn settle_fallback(&self, stack: &mut Stack<Apps>, group: GroupId, key: GroupKey) {
        let plan = &self.plans[key.session];
        let member = &plan.mix.members[key.member];
        let is_dns = matches!(member.app, AppPlan::Dns(_));
        if key.side != Side::Server || plan.carrier != Carrier::Udp || plan.is_quic() || !is_dns {
            return;
        }
        let ports = member.server_ports.as_ref().unwrap_or(&plan.servers.ports);
        for range in plan.servers.addresses.iter().filter(|range| range.host == key.host) {
            stack.listen(group, Transport::Tcp, range.first..=range.last, ports.clone());
        }
    }

    /// Flows a worker's stack should have room for.
    fn expected(&self, roles: &[Option<Role>]) -> usize {
        let flows = |Role { key, .. }: &Role| {
            let load = &self.plans[key.session].load;
            // An entry's applications and hosts share what it has.
            let flows = if (key.member, key.host) == (0, 0) { load.concurrent.unwrap_or(FLOWS) } else { 0 };
            flows.div_ceil(self.workers as u64)
        };
        let all: u64 = roles.iter().flatten().map(flows).sum();
        usize::try_from(all).unwrap_or(usize::MAX)
    }

    /// The encryption of a group of a worker, if its entry has some.
    fn secured(&self, key: GroupKey, worker: usize) -> Result<Option<Layer>, EngineError> {
        let Some(sides) = &self.secure[key.session] else { return Ok(None) };
        let plan = &self.plans[key.session];
        let place = self.groups.iter().position(|group| *group == key).unwrap_or(0) as u64;
        let seed = random::word(random::key(plan.seed), place << 32 | worker as u64);
        let made = sides.layer(plan, self.side(key), key, worker as u8, seed);
        made.map(Some).map_err(|reason| EngineError::Sessions { name: plan.name.clone(), reason })
    }
}

/// Which checksums of frames of a port are good that do not add up.
pub(crate) fn unfinished(facts: &PortFacts) -> UnfinishedChecksums {
    if facts.tells_unfinished_checksums {
        UnfinishedChecksums::Told
    } else if VIRTUAL.contains(&facts.driver.as_str()) {
        UnfinishedChecksums::BySum
    } else {
        UnfinishedChecksums::Refused
    }
}

/// To whom sessions on a port leave TCP and UDP checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChecksumsLeft {
    /// They compute them.
    Nobody,
    /// The link is within this process and damages nothing: there are none.
    Link,
    /// The card computes them, if the profile enables it. It knows no tunnels.
    Card,
}

/// To whom sessions on a port leave checksums. A capture shows what is sent, so with one they are computed.
pub(crate) fn checksums_left(plan: &Plan, port: usize, facts: &PortFacts) -> ChecksumsLeft {
    if plan.ports.iter().any(|port| port.capture.is_some()) {
        ChecksumsLeft::Nobody
    } else if facts.is_in_process {
        ChecksumsLeft::Link
    } else if plan.ports[port].checksum == ChecksumBy::Offload && facts.tx_checksum_offload {
        ChecksumsLeft::Card
    } else {
        ChecksumsLeft::Nobody
    }
}

/// The other end of sessions of STAMP may be on another machine, which has another clock.
fn part_clocks(plan: &mut SessionPlan) {
    for member in &mut plan.mix.members {
        if let AppPlan::Stamp(stamp) = &mut member.app {
            Arc::make_mut(stamp).has_one_clock = false;
        }
    }
}

/// Refuses sessions that the ports of a plan can't carry.
pub(super) fn check_sessions(plan: &Plan, facts: &[PortFacts]) -> Result<(), EngineError> {
    for session in plan.sessions.iter().map(|entry| &entry.session) {
        for mut side in session.client.iter().chain(&session.server).cloned() {
            let facts = &facts[side.port];
            fit_mtu(&mut side, facts);
            check_side(plan, &side, facts)
                .map_err(|reason| EngineError::Sessions { name: session.name.clone(), reason })?;
        }
    }
    Ok(())
}

fn check_side(plan: &Plan, side: &SidePlan, facts: &PortFacts) -> Result<(), String> {
    check_mtu(side, facts)?;
    check_checksums(&plan.ports[side.port], facts)
}

/// Default longest IP packet in a tunnel: Ethernet's.
const ORDINARY_MTU: u32 = 1_500;

/// Lets packets in a tunnel be as long as the port's MTU leaves, unless the profile sets their length.
fn fit_mtu(side: &mut SidePlan, facts: &PortFacts) {
    if side.tunnel.as_ref().is_some_and(|own| own.fits_mtu) {
        side.mtu = carried(facts).saturating_sub(side.around_on(facts.vlan_bytes)).min(ORDINARY_MTU) as u16;
    }
}

fn check_mtu(side: &SidePlan, facts: &PortFacts) -> Result<(), String> {
    let around = side.around_on(facts.vlan_bytes);
    if let Some(own) = &side.tunnel {
        let left = carried(facts).saturating_sub(around);
        if u32::from(side.mtu) <= left {
            return Ok(());
        }
        return Err(format!(
            "an MTU of {} does not fit {}: {} carries IP packets of {} bytes, which leaves {left} inside; choose a smaller 'mtu', \
             or raise the interface's",
            side.mtu,
            own.tunnel,
            facts.device,
            carried(facts).saturating_sub(around - own.tunnel.overhead() as u32),
        ));
    }
    if u32::from(side.mtu) + around <= facts.frame_len_max {
        return Ok(());
    }
    let (frame, tag) = (side.frame_len(), side.around() - around);
    Err(format!(
        "an IP packet of {} bytes makes a frame of {frame} with FCS, longer than the {} bytes {} carries; choose a smaller \
         'mtu', or raise the interface's",
        side.mtu,
        facts.frame_len_max + tag,
        facts.device
    ))
}

/// Sides that are played here.
fn sides(plans: &[SessionPlan]) -> impl Iterator<Item = &SidePlan> {
    plans.iter().flat_map(|plan| plan.client.iter().chain(&plan.server))
}

/// Where emulated servers of QUIC get datagrams.
fn numbered(plans: &[SessionPlan]) -> impl Iterator<Item = Numbered> {
    plans.iter().filter(|plan| plan.server.is_some()).flat_map(|plan| {
        let all = plan.mix.members.iter().enumerate().filter(|(index, _)| plan.is_quic_of(*index));
        let members = all.map(|(_, member)| member.server_ports.as_ref().unwrap_or(&plan.servers.ports));
        members.flat_map(|ports| {
            plan.servers
                .addresses
                .iter()
                .map(|range| Numbered { addresses: range.first..=range.last, ports: ports.clone() })
        })
    })
}

/// Workers that own flows: those that can send on every port that has some.
fn owners(plans: &[SessionPlan], rig: &Rig, workers: usize) -> usize {
    let able = |side: &SidePlan| {
        let port = &rig.ports[side.port];
        let paired = port.port.facts().rx_spread == PAIRED;
        // Of a pair of ends with queues one to one, what a worker sends comes back to it alone.
        if paired { port.queues.tx.len().min(port.queues.rx.len()) } else { port.queues.tx.len() }
    };
    sides(plans).filter(|side| rig.ports[side.port].is_here).map(able).min().unwrap_or(1).clamp(1, workers)
}
