//! The hosts themselves, and when their frames go out and come in.
//!
//! Before traffic and after it, frames leave and arrive here. While workers send, control passes them on: a worker
//! sends a frame on request, and passes on frames that may concern hosts here.
//!
//! Not here: the protocols (`emulate`); what traffic does with leases (`profile::Plan::with_leases`).

use super::bgp::Speakers;
use super::dhcp6::Clients6;
use super::failure::nobody_bound;
use super::isis::IsisRouters;
use super::lacp::LagPort;
use super::lldp::Agents;
use super::ospf::OspfRouters;
use super::pppoe::Subscribers;
use crate::control::commands::Commands;
use crate::error::EngineError;
use crate::fault;
use crate::trial::KnownNeighbour;
use crate::trial::hosts::{EmulatedHosts, LOCAL, host_macs};
use crate::trial::rig::Rig;
use crate::worker::commands::{HostEvent, WorkerCommand};
use crate::worker::receive::Receiver;
use emulate::dhcp::{DhcpClients, DhcpConfig};
use emulate::groups::{GroupHost, GroupMembers, Membership};
use emulate::lacp::{LacpPort, run_lag};
use emulate::link_local;
use neighbour::{Host, Hosts, Mac};
use port::{BURST, Clock};
use profile::Plan;
use profile::plan::{ClientAddress, DhcpPlan, HostPlan, MembershipPlan, MulticastPlan, PortPlan};
use std::net::{IpAddr, Ipv4Addr};
use units::Nanos;
use wire::signature::Mark;

/// Time limit for the last messages: a report of leaving is repeated within a second.
const FAREWELL: Nanos = Nanos::from_secs(2);
/// Time limit for OSPF and IS-IS routers: what they flush is acknowledged late, and they wait for that for three
/// seconds.
const ROUTERS_FAREWELL: Nanos = Nanos::from_millis(3_500);

/// Time limit for the frames of a port with a low limit that are left at the end of an exchange.
const SLOWEST: Nanos = Nanos::from_secs(10);

/// Phase before traffic, or after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// LAG members come up: frames that hosts send before are dropped.
    Lags,
    /// Hosts begin.
    Hosts,
    /// All take leave.
    End,
}

/// Progress of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Open,
    Reached,
    /// Nobody wants it any more.
    Stopped,
}

impl Goal {
    fn of(is_stopped: bool, is_reached: bool) -> Self {
        match (is_stopped, is_reached) {
            (true, _) => Self::Stopped,
            (false, true) => Self::Reached,
            (false, false) => Self::Open,
        }
    }
}

/// Emulation of the hosts of all ports.
#[derive(Debug)]
pub(crate) struct Emulation {
    pub(super) ports: Vec<PortEmulation>,
    /// When traffic starts; [`Nanos::MAX`] until that is known.
    epoch: Nanos,
}

/// Emulation of a port's hosts.
#[derive(Debug, Default)]
pub(super) struct PortEmulation {
    pub(super) name: String,
    pub(super) commanded: Commanded,
    pub(super) dhcp: Option<Clients>,
    pub(super) dhcp6: Option<Clients6>,
    pub(super) pppoe: Option<Subscribers>,
    pub(super) members: Option<GroupMembers>,
    pub(super) lldp: Option<Agents>,
    pub(super) lacp: Option<LagPort>,
    pub(super) bgp: Option<Speakers>,
    pub(super) ospf: Option<OspfRouters>,
    pub(super) isis: Option<IsisRouters>,
    /// The port's hosts, which reply to ARP and echo where workers do not yet or no longer; none without BGP speakers,
    /// OSPF and IS-IS routers.
    hosts: Option<Hosts>,
    /// Joins and leaves while traffic runs: time, and whether it is a join; the next one last.
    later: Vec<(Nanos, bool, MembershipPlan)>,
}

/// Commands that were carried out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Commanded {
    pub(super) dhcp: u64,
    pub(super) dhcp6: u64,
    pub(super) pppoe: u64,
    pub(super) bgp: u64,
    pub(super) ospf: u64,
    pub(super) isis: u64,
    pub(super) lldp: u64,
    pub(super) lacp: u64,
}

impl Commanded {
    /// All of them.
    pub(super) fn all(&self) -> [u64; 8] {
        [self.dhcp, self.dhcp6, self.pppoe, self.bgp, self.ospf, self.isis, self.lldp, self.lacp]
    }

    /// One more of each kind that a command changed something of.
    pub(super) fn count(&mut self, changed: &Self) {
        let Self { dhcp, dhcp6, pppoe, bgp, ospf, isis, lldp, lacp } = self;
        let counts = [dhcp, dhcp6, pppoe, bgp, ospf, isis, lldp, lacp];
        for (count, changed) in counts.into_iter().zip(changed.all()) {
            *count += u64::from(changed > 0);
        }
    }
}

/// DHCP clients of a port.
#[derive(Debug)]
pub(super) struct Clients {
    pub(super) machine: DhcpClients,
    pub(super) timeout: Nanos,
    /// Clients that had an address when traffic started.
    pub(super) bound: u32,
    /// Clients that had one when traffic had ended.
    pub(super) holding_at_end: Option<u32>,
}

impl Emulation {
    /// That of `plan` on the ports of `rig`.
    pub(crate) fn new(plan: &Plan, rig: &Rig) -> Result<Self, EngineError> {
        let facts = rig.facts();
        let own: Vec<Mac> = facts.iter().map(|facts| facts.mac).collect();
        let macs = host_macs(plan, &own);
        let port = |(port, macs): (&PortPlan, &Vec<Mac>)| PortEmulation {
            name: port.name.clone(),
            commanded: Commanded::default(),
            dhcp: port.dhcp.as_ref().map(|dhcp| Clients::new(dhcp, macs[0])),
            dhcp6: port.dhcpv6.as_ref().map(|dhcp| Clients6::new(dhcp, port.own(), first_mac(macs[0]))),
            pppoe: port.pppoe.as_ref().map(|pppoe| Subscribers::new(pppoe, first_mac(macs[0]))),
            members: port.multicast.as_ref().map(|multicast| members(multicast, port.own(), macs[0])),
            later: port.multicast.as_ref().map_or_else(Vec::new, later),
            lldp: port.lldp.as_ref().map(|lldp| Agents::new(lldp, macs)),
            lacp: port.lacp.as_ref().map(|lacp| LagPort::new(lacp, macs[0], &plan.ports, &own)),
            bgp: None,
            ospf: None,
            isis: None,
            hosts: None,
        };
        let mut ports: Vec<PortEmulation> = plan.ports.iter().zip(&macs).map(port).collect();
        if plan.ports.iter().any(|port| port.bgp.is_some() || port.ospf.is_some() || port.isis.is_some()) {
            let hosts = EmulatedHosts::new(plan, &facts)?.ports;
            for (index, hosts) in hosts.into_iter().enumerate() {
                let (port, macs) = (&plan.ports[index], &macs[index]);
                let speakers = |bgp| Speakers::new(bgp, port, macs, facts[index], &hosts);
                ports[index].bgp = port.bgp.as_ref().map(speakers);
                let routers = |ospf| OspfRouters::new(ospf, port, macs, facts[index]);
                ports[index].ospf = port.ospf.as_ref().map(routers);
                let routers = |isis| IsisRouters::new(isis, port, macs, facts[index]);
                ports[index].isis = port.isis.as_ref().map(routers);
                ports[index].hosts = Some(hosts);
            }
        }
        Ok(Self { ports, epoch: Nanos::MAX })
    }

    /// Whether hosts do anything.
    pub(crate) fn is_active(&self) -> bool {
        let is_active = |port: &PortEmulation| {
            port.dhcp.is_some()
                || port.dhcp6.is_some()
                || port.pppoe.is_some()
                || port.members.is_some()
                || port.lldp.is_some()
                || port.lacp.is_some()
                || port.bgp.is_some()
                || port.ospf.is_some()
                || port.isis.is_some()
        };
        self.ports.iter().any(is_active)
    }

    /// Aggregates ports; then gets addresses, joins groups, establishes BGP sessions, OSPF and IS-IS adjacencies, until
    /// all is done, or time is up, or the run is stopped. With `patient`, there is no wait for LAG members, sessions
    /// and adjacencies, and none of them is required.
    pub(crate) fn begin<C: Clock>(
        &mut self,
        plan: &Plan,
        rig: &mut Rig,
        clock: &C,
        commands: &mut Commands,
        patient: bool,
        idle: &dyn Fn(Nanos),
    ) -> Result<(), EngineError> {
        if !self.is_active() {
            return Ok(());
        }
        self.aggregate(rig, clock, commands, patient, idle)?;
        let now = clock.now();
        for (port, plan) in self.ports.iter_mut().zip(&plan.ports) {
            let at_once = plan.multicast.iter().flat_map(|multicast| &multicast.memberships);
            at_once.filter(|one| one.join == Nanos::ZERO).for_each(|one| port.join(one));
        }
        let timeouts = self.ports.iter().flat_map(|port| {
            let (v4, v6, pppoe) = (port.dhcp.as_ref(), port.dhcp6.as_ref(), port.pppoe.as_ref());
            let dhcp = v4.map(|clients| clients.timeout).max(v6.map(|clients| clients.timeout));
            dhcp.max(pppoe.map(|clients| clients.timeout))
        });
        let deadline = now.saturating_add(timeouts.max().unwrap_or(Nanos::ZERO).max(FAREWELL));
        self.exchange(rig, clock, idle, Stage::Hosts, |emulation, now| {
            commands.take_protocols().into_iter().for_each(|request| emulation.carry_out(now, request));
            let is_done = |port: &mut PortEmulation| {
                let is_late = |clients: &Clients| now > deadline || clients.machine.all_bound();
                let is_settled = |members: &GroupMembers| members.is_settled();
                port.dhcp.as_ref().is_none_or(is_late)
                    && port.dhcp6.as_ref().is_none_or(|clients| now > deadline || clients.may_start(now))
                    && port.pppoe.as_ref().is_none_or(|clients| now > deadline || clients.machine.all_up())
                    && port.members.as_ref().is_none_or(is_settled)
                    && port.lldp.as_ref().is_none_or(|agents| agents.machine.has_sent())
                    && port.bgp.as_mut().is_none_or(|speakers| speakers.may_start(now, patient))
                    && port.ospf.as_mut().is_none_or(|routers| routers.may_start(now, patient))
                    && port.isis.as_mut().is_none_or(|routers| routers.may_start(now, patient))
            };
            Goal::of(commands.is_stopped(), emulation.ports.iter_mut().all(is_done))
        })?;
        for (port, plan) in self.ports.iter_mut().zip(&plan.ports) {
            if let Some(clients) = &mut port.dhcp {
                clients.machine.give_up();
                clients.bound = clients.machine.holding();
                if clients.bound == 0 && !commands.is_stopped() {
                    let reason = nobody_bound(&clients.machine, clients.timeout);
                    return Err(EngineError::Clients { port: plan.name.clone(), key: "dhcp", reason });
                }
            }
            if let Some(reason) = port.dhcp6.as_mut().and_then(|clients| clients.start(clock.now()))
                && !commands.is_stopped()
            {
                return Err(EngineError::Clients { port: plan.name.clone(), key: "dhcpv6", reason });
            }
            if let Some(reason) = port.pppoe.as_mut().and_then(|clients| clients.start(clock.now()))
                && !commands.is_stopped()
            {
                let error = EngineError::Clients { port: plan.name.clone(), key: "pppoe", reason };
                // An access concentrator would keep sessions that have begun.
                return self.end(rig, clock, idle).and(Err(error));
            }
            if let Some(speakers) = &mut port.bgp {
                speakers.note_start(patient);
                if let Some(reason) = speakers
                    .missing()
                    .filter(|_| speakers.established() == 0 && !patient && !commands.is_stopped())
                    .filter(|_| !speakers.plan.may_fail)
                {
                    return Err(EngineError::Bgp { port: plan.name.clone(), reason });
                }
            }
            if let Some(routers) = &mut port.ospf {
                routers.note_start(patient);
                let must = routers.full() == 0 && !patient && !commands.is_stopped();
                if let Some(reason) = routers.missing().filter(|_| must) {
                    return Err(EngineError::Ospf { port: plan.name.clone(), reason });
                }
            }
            if let Some(routers) = &mut port.isis {
                routers.note_start(patient);
                let must = routers.up() == 0 && !patient && !commands.is_stopped();
                if let Some(reason) = routers.missing().filter(|_| must) {
                    return Err(EngineError::Isis { port: plan.name.clone(), reason });
                }
            }
        }
        Ok(())
    }

    /// Waits until all LAG members are distributing, or their time is up, or the run is stopped. With `patient`, there
    /// is no wait.
    fn aggregate<C: Clock>(
        &mut self,
        rig: &mut Rig,
        clock: &C,
        commands: &mut Commands,
        patient: bool,
        idle: &dyn Fn(Nanos),
    ) -> Result<(), EngineError> {
        if patient || self.lag_ports().next().is_none() {
            return Ok(());
        }
        self.exchange(rig, clock, idle, Stage::Lags, |emulation, now| {
            commands.take_protocols().into_iter().for_each(|request| emulation.carry_out(now, request));
            // All of them: each notes when its time begins.
            let late = emulation.ports.iter_mut().flat_map(|port| &mut port.lacp);
            let waiting = late.filter_map(|lacp| (!lacp.may_start(now)).then_some(())).count();
            Goal::of(commands.is_stopped(), waiting == 0)
        })?;
        if commands.is_stopped() {
            return Ok(());
        }
        let is_up = |lag: usize| self.lag_ports().any(|(_, port)| port.lag == lag && port.machine.is_up());
        let down = self.lag_ports().find(|(_, lacp)| !is_up(lacp.lag));
        if let Some((port, reason)) = down.and_then(|(port, lacp)| Some((port, lacp.missing()?))) {
            return Err(EngineError::Lacp { port: port.to_owned(), reason });
        }
        self.ports.iter_mut().flat_map(|port| &mut port.lacp).for_each(LagPort::note_start);
        Ok(())
    }

    /// The ports that belong to lags, with their names.
    fn lag_ports(&self) -> impl Iterator<Item = (&str, &LagPort)> {
        self.ports.iter().filter_map(|port| Some((port.name.as_str(), port.lacp.as_ref()?)))
    }

    /// The addresses that clients have, of each port.
    pub(crate) fn leases(&self) -> Vec<Vec<ClientAddress>> {
        let of = |port: &PortEmulation| {
            let v4 = port.dhcp.iter().flat_map(|clients| clients.machine.leases()).map(ClientAddress::from);
            let sessions = port.pppoe.iter().flat_map(|clients| clients.machine.sessions());
            let v6 = port.dhcp6.iter().flat_map(Clients6::addresses);
            v4.chain(v6).chain(sessions.map(ClientAddress::from)).collect()
        };
        self.ports.iter().map(of).collect()
    }

    /// Neighbours that protocols have found out by themselves: the next hops to BGP peers.
    pub(crate) fn neighbours(&self) -> Vec<KnownNeighbour> {
        let of = |(port, own): (usize, &PortEmulation)| {
            let known = own.bgp.iter().flat_map(Speakers::neighbours);
            let known =
                known.map(|(host, ip, mac, is_given)| KnownNeighbour { port, host, ip, mac, is_given });
            known.collect::<Vec<_>>()
        };
        self.ports.iter().enumerate().flat_map(of).collect()
    }

    /// Traffic starts at `epoch`.
    pub(crate) fn start(&mut self, epoch: Nanos) {
        self.epoch = epoch;
        self.ports.iter_mut().flat_map(|port| &mut port.members).for_each(|members| members.start(epoch));
        self.ports
            .iter_mut()
            .flat_map(|port| &mut port.bgp)
            .for_each(|speakers| speakers.machine.start(epoch));
        self.ports
            .iter_mut()
            .flat_map(|port| &mut port.ospf)
            .for_each(|routers| routers.machine.start(epoch));
        self.ports
            .iter_mut()
            .flat_map(|port| &mut port.isis)
            .for_each(|routers| routers.machine.start(epoch));
    }

    /// When there is something to do.
    pub(crate) fn next_due(&self) -> Nanos {
        let due = |port: &PortEmulation| {
            let clients = port.dhcp.as_ref().map_or(Nanos::MAX, |clients| clients.machine.next_due());
            let members = port.members.as_ref().map_or(Nanos::MAX, GroupMembers::next_due);
            let later = port.later.last().map_or(Nanos::MAX, |(at, ..)| self.epoch.saturating_add(*at));
            let bgp = port.bgp.as_ref().map_or(Nanos::MAX, Speakers::next_due);
            let ospf = port.ospf.as_ref().map_or(Nanos::MAX, |routers| routers.machine.next_due());
            let isis = port.isis.as_ref().map_or(Nanos::MAX, |routers| routers.machine.next_due());
            let lldp = port.lldp.as_ref().map_or(Nanos::MAX, |agents| agents.machine.next_due());
            let lacp = port.lacp.as_ref().map_or(Nanos::MAX, |lacp| lacp.machine.next_due());
            let clients6 = port.dhcp6.as_ref().map_or(Nanos::MAX, Clients6::next_due);
            let pppoe = port.pppoe.as_ref().map_or(Nanos::MAX, |clients| clients.machine.next_due());
            clients
                .min(clients6)
                .min(pppoe)
                .min(members)
                .min(later)
                .min(bgp)
                .min(ospf)
                .min(isis)
                .min(lldp)
                .min(lacp)
        };
        self.ports.iter().map(due).min().unwrap_or(Nanos::MAX)
    }

    /// Takes in a frame that the port with this number received.
    pub(crate) fn take(&mut self, now: Nanos, port: usize, frame: &[u8]) {
        self.ports[port].take(now, frame);
    }

    /// The frames that are due, of each port.
    pub(crate) fn poll(&mut self, now: Nanos) -> Vec<Vec<Vec<u8>>> {
        self.run_lags(now);
        let due = |port: &mut PortEmulation| {
            let mut frames = Vec::new();
            port.poll(now, self.epoch, &mut frames);
            frames
        };
        self.ports.iter_mut().map(due).collect()
    }

    /// Takes in what workers handed over, and adds the commands for them.
    pub(crate) fn turn(&mut self, now: Nanos, events: &[HostEvent]) -> Vec<WorkerCommand> {
        for event in events {
            if let HostEvent::Received { port, at, frame } = event {
                self.take(*at, *port, frame);
            }
        }
        let mut commands = Vec::new();
        for (index, mut frames) in self.poll(now).into_iter().enumerate() {
            while !frames.is_empty() {
                let some = frames.drain(..frames.len().min(BURST)).collect();
                commands.push(WorkerCommand::SendFrames { port: index, frames: some, tag: None });
            }
        }
        commands
    }

    /// Gives addresses back, leaves all groups and ends all PPPoE and BGP sessions, OSPF and IS-IS adjacencies: workers have ended, or have not begun.
    pub(crate) fn end<C: Clock>(
        &mut self,
        rig: &mut Rig,
        clock: &C,
        idle: &dyn Fn(Nanos),
    ) -> Result<(), EngineError> {
        if !self.is_active() {
            return Ok(());
        }
        let now = clock.now();
        let mut last = now;
        for port in &mut self.ports {
            port.later.clear();
            if let Some(clients) = &mut port.dhcp {
                clients.machine.give_up();
                clients.holding_at_end = Some(clients.machine.holding());
                clients.machine.release(now);
                let config = clients.machine.config();
                last = last.max(now + farewell(config.clients as usize, config.rate));
            }
            if let Some(clients) = &mut port.dhcp6 {
                clients.end(now);
                let config = clients.machine.config();
                last = last.max(now + farewell(config.clients as usize, config.rate));
            }
            if let Some(clients) = &mut port.pppoe {
                clients.end(now);
                let config = clients.machine.config();
                last = last.max(now + FAREWELL + farewell(config.clients as usize, config.rate));
            }
            if let Some(members) = &mut port.members {
                last = last.max(now + farewell(members.groups().count(), members.host().rate));
                members.start(Nanos::MAX);
                members.leave_all();
            }
            if let Some(agents) = &mut port.lldp {
                agents.end(now);
            }
            if let Some(lacp) = &mut port.lacp {
                last = last.max(now + FAREWELL);
                lacp.end(now);
            }
            if let Some(speakers) = &mut port.bgp {
                last = last.max(now + FAREWELL);
                speakers.end(now);
            }
            if let Some(routers) = &mut port.ospf {
                last = last.max(now + ROUTERS_FAREWELL);
                routers.end(now);
            }
            if let Some(routers) = &mut port.isis {
                last = last.max(now + ROUTERS_FAREWELL);
                routers.end(now);
            }
        }
        self.exchange(rig, clock, idle, Stage::End, |emulation, now| {
            let is_done = |port: &PortEmulation| {
                let is_released = |clients: &Clients| clients.machine.next_due() == Nanos::MAX;
                let has_left = |members: &GroupMembers| members.next_due() == Nanos::MAX;
                port.dhcp.as_ref().is_none_or(is_released)
                    && port.dhcp6.as_ref().is_none_or(Clients6::is_released)
                    && port.pppoe.as_ref().is_none_or(Subscribers::is_over)
                    && port.members.as_ref().is_none_or(has_left)
                    && port.lldp.as_ref().is_none_or(|agents| agents.machine.has_left())
                    && port.lacp.as_ref().is_none_or(|lacp| lacp.machine.has_left())
                    && port.bgp.as_ref().is_none_or(|speakers| speakers.machine.is_over())
                    && port.ospf.as_ref().is_none_or(|routers| routers.machine.is_over())
                    && port.isis.as_ref().is_none_or(|routers| routers.machine.is_over())
            };
            Goal::of(false, now > last || emulation.ports.iter().all(is_done))
        })
    }

    /// Brings the ports of all lags up to `now`.
    fn run_lags(&mut self, now: Nanos) {
        let lags = self.ports.iter().flat_map(|port| &port.lacp).map(|lacp| lacp.lag + 1).max();
        for lag in 0..lags.unwrap_or(0) {
            let ports = self.ports.iter_mut().flat_map(|port| &mut port.lacp);
            let mut ports: Vec<&mut LacpPort> =
                ports.filter(|port| port.lag == lag).map(|port| &mut port.machine).collect();
            run_lag(now, &mut ports);
        }
    }

    /// Sends and receives until `is_done`.
    fn exchange<C: Clock>(
        &mut self,
        rig: &mut Rig,
        clock: &C,
        idle: &dyn Fn(Nanos),
        stage: Stage,
        mut is_done: impl FnMut(&mut Self, Nanos) -> Goal,
    ) -> Result<(), EngineError> {
        for port in &mut rig.ports {
            port.queues.tx.iter_mut().take(1).try_for_each(|queue| queue.attach())?;
            port.queues.rx.iter_mut().try_for_each(|queue| queue.attach())?;
        }
        let (mut frames, mut reached) = (Vec::new(), None);
        loop {
            fault::point("exchange");
            let now = clock.now();
            for (port, rig) in self.ports.iter_mut().zip(&mut rig.ports) {
                for queue in &mut rig.queues.rx {
                    Receiver::new(queue.as_mut(), 0, Mark::of_run(0), 0).listen(|frame, _| {
                        if !port.take(now, frame) {
                            frames.extend(port.answer(frame));
                        }
                    });
                }
                if let Some(queue) = rig.queues.tx.first_mut() {
                    rig.outlet.send(now, queue.as_mut(), &mut frames);
                }
            }
            self.run_lags(now);
            // What a port may not send yet is not made yet.
            let free = self.ports.iter_mut().zip(&mut rig.ports).filter(|(_, rig)| rig.outlet.is_free());
            for (port, rig) in free {
                if let (Some(speakers), Some(hosts), Stage::Hosts) = (&mut port.bgp, &port.hosts, stage) {
                    speakers.set_up(now, hosts, &mut frames);
                }
                if let (Some(routers), Stage::Hosts) = (&mut port.ospf, stage) {
                    routers.set_up(now);
                }
                if let (Some(routers), Stage::Hosts) = (&mut port.isis, stage) {
                    routers.set_up(now);
                }
                if stage == Stage::Lags {
                    port.lacp.iter_mut().for_each(|lacp| lacp.machine.poll(now, &mut frames));
                } else {
                    port.poll(now, self.epoch, &mut frames);
                }
                if let Some(queue) = rig.queues.tx.first_mut() {
                    rig.outlet.send(now, queue.as_mut(), &mut frames);
                }
            }
            let is_free = rig.ports.iter().all(|port| port.outlet.is_free());
            let is_over = match is_done(self, now) {
                Goal::Open => false,
                // What was said last leaves, too, if a port may send but little.
                Goal::Reached => is_free || now.since(*reached.get_or_insert(now)) >= SLOWEST,
                Goal::Stopped => true,
            };
            if is_over {
                rig.ports.iter_mut().for_each(|port| port.outlet.clear());
                return Ok(());
            }
            let soon = now + Nanos::from_millis(1);
            idle(self.next_due().max(if is_free { Nanos(now.0 + 1) } else { soon }).min(soon));
        }
    }
}

impl PortEmulation {
    /// Looks at a received frame; returns whether it was for one of the hosts.
    fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        if let (Some(speakers), Some(hosts)) = (&mut self.bgp, &self.hosts)
            && speakers.take(now, frame, hosts)
        {
            return true;
        }
        if ::ospf::may_concern(frame) {
            return self.ospf.as_mut().is_some_and(|routers| routers.take(now, frame));
        }
        if ::isis::may_concern(frame) {
            return self.isis.as_mut().is_some_and(|routers| routers.machine.take(now, frame));
        }
        if emulate::is_slow(frame) {
            return self.lacp.as_mut().is_some_and(|lacp| lacp.machine.take(now, frame));
        }
        emulate::may_concern(frame)
            && (self.dhcp.as_mut().is_some_and(|clients| clients.machine.take(now, frame))
                || self.dhcp6.as_mut().is_some_and(|clients| clients.take(now, frame))
                || self.pppoe.as_mut().is_some_and(|clients| clients.machine.take(now, frame))
                || self.members.as_mut().is_some_and(|members| members.take(now, frame))
                || self.lldp.as_mut().is_some_and(|agents| agents.machine.take(now, frame)))
    }

    /// The reply to a request, by a host or for the hardware address of a lease.
    fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let own = self.hosts.as_ref().and_then(|hosts| hosts.answer(frame).into_iter().next());
        let leased = || self.answer_for_lease(frame);
        own.or_else(leased).or_else(|| self.dhcp6.as_ref()?.answer(frame))
    }

    /// The reply to a request for the hardware address of a lease, which is not a host's yet.
    fn answer_for_lease(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let machine = &self.dhcp.as_ref()?.machine;
        let IpAddr::V4(ip) = neighbour::asked_for(frame)? else { return None };
        let lease = machine.lease_of(ip)?;
        let host = Host {
            mac: lease.mac,
            vlans: machine.config().vlans.clone(),
            addresses: vec![ip.into()],
            networks: Vec::new(),
            answers_for: vec![ip.into()..=ip.into()],
        };
        host.answer(frame)
    }

    fn poll(&mut self, now: Nanos, epoch: Nanos, frames: &mut Vec<Vec<u8>>) {
        while let Some((_, joins, membership)) =
            self.later.pop_if(|(at, ..)| epoch.saturating_add(*at) <= now)
        {
            if joins { self.join(&membership) } else { self.leave(&membership) }
        }
        if let Some(clients) = &mut self.dhcp {
            clients.machine.poll(now, frames);
        }
        if let Some(clients) = &mut self.dhcp6 {
            clients.poll(now, frames);
        }
        if let Some(clients) = &mut self.pppoe {
            clients.machine.poll(now, frames);
        }
        if let Some(members) = &mut self.members {
            members.poll(now, frames);
        }
        if let Some(agents) = &mut self.lldp {
            agents.poll(now, frames);
        }
        if let Some(lacp) = &mut self.lacp {
            lacp.machine.poll(now, frames);
        }
        if let Some(speakers) = &mut self.bgp {
            speakers.machine.poll(now, frames);
        }
        if let Some(routers) = &mut self.ospf {
            routers.machine.poll(now, frames);
        }
        if let Some(routers) = &mut self.isis {
            routers.machine.poll(now, frames);
        }
    }

    fn join(&mut self, plan: &MembershipPlan) {
        let Some(members) = &mut self.members else { return };
        for group in groups(plan) {
            members.join(Membership { group, exclude: plan.exclude, sources: plan.sources.clone() });
        }
    }

    fn leave(&mut self, plan: &MembershipPlan) {
        let Some(members) = &mut self.members else { return };
        groups(plan).for_each(|group| members.leave(group));
    }
}

impl Clients {
    fn new(plan: &DhcpPlan, port: Mac) -> Self {
        let mac = if plan.has_macs { plan.config.mac } else { first_mac(port) };
        let config = DhcpConfig { mac, ..plan.config.clone() };
        Self { machine: DhcpClients::new(config), timeout: plan.timeout, bound: 0, holding_at_end: None }
    }
}

/// Time limit for the last messages of `count` clients or groups at `rate` in a second.
fn farewell(count: usize, rate: u32) -> Nanos {
    FAREWELL + Nanos::from_secs(count as u64 / u64::from(rate.max(1)))
}

/// The hardware address of the first client behind a port: made of the port's, with room for many more after it.
fn first_mac(port: Mac) -> Mac {
    let number = port.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    let word = random::word(random::other_key(random::key(number)), 0).to_be_bytes();
    [LOCAL, word[0], word[1], 0, 0, 0]
}

fn members(plan: &MulticastPlan, host: &HostPlan, mac: Mac) -> GroupMembers {
    let own = |v4: bool| host.address(v4).map(|own| own.ip);
    let local = host.addresses.iter().find_map(|own| match own.ip {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => Some(ip),
        _ => None,
    });
    GroupMembers::new(GroupHost {
        mac,
        vlans: host.vlans.clone(),
        ip: match own(true) {
            Some(IpAddr::V4(ip)) => ip,
            _ => Ipv4Addr::UNSPECIFIED,
        },
        link_local: local.unwrap_or_else(|| link_local(mac)),
        igmp_v2: plan.igmp_v2,
        mld_v1: plan.mld_v1,
        rate: plan.rate,
        seed: plan.seed,
    })
}

/// Joins and leaves while traffic runs, the next one last.
fn later(plan: &MulticastPlan) -> Vec<(Nanos, bool, MembershipPlan)> {
    let mut later = Vec::new();
    for one in &plan.memberships {
        later.extend((one.join > Nanos::ZERO).then(|| (one.join, true, one.clone())));
        later.extend(one.leave.map(|leave| (leave, false, one.clone())));
    }
    later.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    later
}

fn groups(plan: &MembershipPlan) -> impl Iterator<Item = IpAddr> + use<> {
    let number = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    };
    let is_v4 = plan.first.is_ipv4();
    (number(plan.first)..=number(plan.last))
        .map(move |ip| if is_v4 { IpAddr::V4((ip as u32).into()) } else { IpAddr::V6(ip.into()) })
}
