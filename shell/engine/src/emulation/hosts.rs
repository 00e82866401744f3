//! The hosts themselves, and when their frames go out and come in.
//!
//! Before traffic and after it, frames leave and arrive here. While workers send, control passes them on: a worker
//! sends a frame on request, and passes on frames that may concern hosts here.
//!
//! Not here: the protocols (`emulate`); what traffic does with leases (`profile::Plan::with_leases`).

use super::protocol::{Context, FAREWELL, HostProtocol, Planned, Wait};
use super::protocols::{LagPort, Protocols, needs_hosts, run_lags};
use crate::control::commands::Commands;
use crate::error::EngineError;
use crate::fault;
use crate::trial::KnownNeighbour;
use crate::trial::hosts::{EmulatedHosts, host_macs};
use crate::trial::rig::Rig;
use crate::worker::commands::{HostEvent, WorkerCommand};
use crate::worker::receive::Receiver;
use neighbour::{Hosts, Mac};
use port::{BURST, Clock};
use profile::Plan;
use profile::plan::ClientAddress;
use units::Nanos;
use wire::signature::Mark;

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
}

/// Emulation of a port's hosts.
#[derive(Debug)]
pub(super) struct PortEmulation {
    pub(super) name: String,
    pub(super) protocols: Protocols,
    /// Commands that were carried out, of each protocol by its number.
    pub(super) commanded: [u64; Protocols::MAX],
    /// The port's hosts, which reply to ARP and echo where workers do not yet or no longer; none if no protocol needs
    /// them.
    hosts: Option<Hosts>,
}

impl Emulation {
    /// That of `plan` on the ports of `rig`.
    pub(crate) fn new(plan: &Plan, rig: &Rig) -> Result<Self, EngineError> {
        let facts = rig.facts();
        let own: Vec<Mac> = facts.iter().map(|facts| facts.mac).collect();
        let macs = host_macs(plan, &own);
        let mut hosts: Vec<Option<Hosts>> = plan.ports.iter().map(|_| None).collect();
        if plan.ports.iter().any(needs_hosts) {
            hosts = EmulatedHosts::new(plan, &facts)?.ports.into_iter().map(Some).collect();
        }
        let port = |(index, hosts): (usize, Option<Hosts>)| {
            let context = Context {
                port: &plan.ports[index],
                macs: &macs[index],
                facts: facts[index],
                hosts: hosts.as_ref(),
                ports: &plan.ports,
                port_macs: &own,
            };
            PortEmulation {
                name: context.port.name.clone(),
                protocols: Protocols::new(&context),
                commanded: [0; Protocols::MAX],
                hosts,
            }
        };
        Ok(Self { ports: hosts.into_iter().enumerate().map(port).collect() })
    }

    /// Whether hosts do anything.
    pub(crate) fn is_active(&self) -> bool {
        self.ports.iter().any(|port| port.protocols.each().next().is_some())
    }

    /// Aggregates ports; then gets addresses, joins groups, establishes sessions and adjacencies, until
    /// all is done, or time is up, or the run is stopped. With `patient`, there is no wait for LAG members, sessions
    /// and adjacencies, and none of them is required.
    pub(crate) fn begin<C: Clock>(
        &mut self,
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
        let timeouts =
            self.ports.iter().flat_map(|port| port.protocols.each()).map(|(.., own)| own.timeout());
        let longest = timeouts.max().unwrap_or(Nanos::ZERO).max(FAREWELL);
        let wait = Wait { deadline: clock.now().saturating_add(longest), patient };
        self.exchange(rig, clock, idle, Stage::Hosts, |emulation, now| {
            for request in commands.take_protocols() {
                emulation.carry_out(now, request);
            }
            let mut all = emulation.ports.iter_mut().flat_map(|port| port.protocols.each_mut());
            let is_reached = all.all(|(.., own)| own.may_start(now, wait));
            Goal::of(commands.is_stopped(), is_reached)
        })?;
        let mut failed = None;
        for port in &mut self.ports {
            for (_, key, protocol) in port.protocols.each_mut() {
                if let Some(reason) = protocol.conclude(clock.now(), patient)
                    && !commands.is_stopped()
                {
                    let port = port.name.clone();
                    failed = Some((EngineError::Emulation { port, key, reason }, protocol.must_shut()));
                    break;
                }
            }
            if failed.is_some() {
                break;
            }
        }
        match failed {
            Some((error, true)) => self.end(rig, clock, idle).and(Err(error)),
            Some((error, false)) => Err(error),
            None => Ok(()),
        }
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
            for request in commands.take_protocols() {
                emulation.carry_out(now, request);
            }
            // All of them: each notes when its time begins.
            let all = emulation.ports.iter_mut().filter_map(|port| port.protocols.lag_port_mut());
            let waiting = all.filter_map(|port| port.is_awaited(now).then_some(())).count();
            Goal::of(commands.is_stopped(), waiting == 0)
        })?;
        if commands.is_stopped() {
            return Ok(());
        }
        let is_up = |lag: usize| self.lag_ports().any(|(_, port)| port.lag == lag && port.is_up());
        let down = self.lag_ports().find(|(_, port)| !is_up(port.lag));
        if let Some((port, reason)) = down.and_then(|(name, port)| Some((name, port.missing()?))) {
            return Err(EngineError::Emulation { port: port.to_owned(), key: LagPort::KEY, reason });
        }
        self.ports.iter_mut().filter_map(|port| port.protocols.lag_port_mut()).for_each(LagPort::note_start);
        Ok(())
    }

    /// The ports that belong to lags, with their names.
    fn lag_ports(&self) -> impl Iterator<Item = (&str, &LagPort)> {
        self.ports.iter().filter_map(|port| Some((port.name.as_str(), port.protocols.lag_port()?)))
    }

    /// The addresses that clients have, of each port.
    pub(crate) fn leases(&self) -> Vec<Vec<ClientAddress>> {
        (0..self.ports.len()).map(|port| self.leases_of(port)).collect()
    }

    /// The addresses that clients of a port have.
    pub(crate) fn leases_of(&self, port: usize) -> Vec<ClientAddress> {
        let all = self.ports.get(port).into_iter().flat_map(|port| port.protocols.each());
        all.flat_map(|(.., protocol)| protocol.addresses()).collect()
    }

    /// Neighbours that protocols have found out by themselves.
    pub(crate) fn neighbours(&self) -> Vec<KnownNeighbour> {
        let of = |(port, own): (usize, &PortEmulation)| {
            let known = own.protocols.each().flat_map(|(.., protocol)| protocol.neighbours());
            let known =
                known.map(|(host, ip, mac, is_given)| KnownNeighbour { port, host, ip, mac, is_given });
            known.collect::<Vec<_>>()
        };
        self.ports.iter().enumerate().flat_map(of).collect()
    }

    /// Traffic starts at `epoch`.
    pub(crate) fn start(&mut self, epoch: Nanos) {
        let all = self.ports.iter_mut().flat_map(|port| port.protocols.each_mut());
        all.for_each(|(.., protocol)| protocol.start(epoch));
    }

    /// When there is something to do.
    pub(crate) fn next_due(&self) -> Nanos {
        let all = self.ports.iter().flat_map(|port| port.protocols.each());
        all.map(|(.., protocol)| protocol.next_due()).min().unwrap_or(Nanos::MAX)
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
            port.poll(now, &mut frames);
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

    /// Gives addresses back, leaves all groups and ends all sessions and adjacencies: workers have ended, or have not begun.
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
        let all = self.ports.iter_mut().flat_map(|port| port.protocols.each_mut());
        let last = all.map(|(.., protocol)| protocol.shut(now)).max().unwrap_or(now).max(now);
        self.exchange(rig, clock, idle, Stage::End, |emulation, now| {
            let mut all = emulation.ports.iter().flat_map(|port| port.protocols.each());
            Goal::of(false, now > last || all.all(|(.., protocol)| protocol.is_over()))
        })
    }

    /// Brings the ports of all lags up to `now`.
    fn run_lags(&mut self, now: Nanos) {
        run_lags(now, self.ports.iter_mut().filter_map(|port| port.protocols.lag_port_mut()).collect());
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
                if stage == Stage::Hosts {
                    let all = port.protocols.each_mut();
                    all.for_each(|(.., own)| own.set_up(now, port.hosts.as_ref(), &mut frames));
                }
                if stage == Stage::Lags {
                    port.protocols.lag_port_mut().into_iter().for_each(|port| port.poll(now, &mut frames));
                } else {
                    port.poll(now, &mut frames);
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
        // Protocols that resolve neighbours, which come last, learn them before clients take what neighbours say.
        let mut all = self.protocols.each_mut().rev();
        all.any(|(.., protocol)| protocol.take(now, frame, self.hosts.as_ref()))
    }

    /// The reply to a request, by a host or for an address that workers do not know.
    fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let own = self.hosts.as_ref().and_then(|hosts| hosts.answer(frame).into_iter().next());
        own.or_else(|| self.protocols.each().find_map(|(.., protocol)| protocol.answer(frame)))
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.protocols.each_mut().for_each(|(.., protocol)| protocol.poll(now, frames));
    }
}
