//! Routers of link-state protocols of a port: they come up before traffic, and are handled while it runs.
//!
//! Not here: the protocols' plans and results (files in `protocols`), nor the protocols (crates of their names).

use super::protocol::{Context, HostProtocol, Listing, Planned, ROUTERS_FAREWELL, Wait};
use super::ready::{Ready, lost, missing};
use crate::control::commands::ActionOn;
use crate::trial::hosts::hosts_mtu;
use ::linkstate::{Router, RouterHost, Routers, RoutersConfig};
use neighbour::{Hosts, Mac};
use profile::plan::{HostPlan, PortPlan};
use result::{NewProtocolChange, PortResult, ProtocolAction, ProtocolStates};
use std::fmt::Debug;
use std::net::IpAddr;
#[cfg(unix)]
use std::time::SystemTime;
use units::Nanos;

/// A link-state protocol.
pub(super) trait LinkState: Debug + Sized {
    /// Its name.
    const NAME: &'static str;
    /// One of its routers, in words.
    const MEMBER: &'static str;
    /// Its key in the profile.
    const KEY: &'static str;
    /// Reason for an invalid result if routers lack an adjacency.
    const ABSENCE: &'static str;
    /// Whether a frame may be one of its packets.
    const CONCERNS: fn(&[u8]) -> bool;

    /// Its routers.
    type Router: Router;
    /// Their plan.
    type Plan: Clone + Debug;
    /// Numbers of their link states.
    type Held: Debug;

    /// The plan of a port.
    fn plan(port: &PortPlan) -> Option<&Self::Plan>;

    /// Its state besides routers.
    fn new() -> Self;

    /// Settings that all plans have.
    fn settings(plan: &Self::Plan) -> Settings;

    /// Settings of the routers whose hosts have these hardware addresses.
    fn configs(plan: &Self::Plan, macs: &[Mac]) -> Vec<<Self::Router as Router>::Config>;

    /// A router's name, and the address of its host.
    fn named(plan: &Self::Plan, router: usize) -> (&str, IpAddr);

    /// The names of its routes.
    fn routes(plan: &Self::Plan, router: usize) -> Vec<&str>;

    /// Takes in a frame; returns whether it was for one of the routers.
    fn take(&mut self, now: Nanos, frame: &[u8], machine: &mut Routers<Self::Router>) -> bool {
        let _ = self;
        machine.take(now, frame)
    }

    /// A reason for an invalid result besides missing adjacencies and routes.
    fn complaint(_machine: &Routers<Self::Router>) -> Option<String> {
        None
    }

    /// Adjacencies lost.
    fn flaps(counts: &<Self::Router as Router>::Counts) -> u64;

    /// Link states in the databases of all routers.
    fn held(machine: &Routers<Self::Router>) -> Self::Held;

    /// Adds the states.
    fn list(routers: &LinkStateRouters<Self>, listing: Listing<'_>, all: &mut ProtocolStates);

    /// Fills its part of the port's row.
    fn report(routers: &LinkStateRouters<Self>, commands: u64, row: &mut PortResult);
}

/// Settings that the plans of all link-state protocols have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// Number of routers.
    pub(super) routers: usize,
    /// Link states flooded in a second.
    pub(super) rate: u32,
    pub(super) timeout: Nanos,
    pub(super) settle: Nanos,
    pub(super) seed: u64,
}

/// Routers of a link-state protocol of a port.
#[derive(Debug)]
pub(super) struct LinkStateRouters<P: LinkState> {
    pub(super) machine: Routers<P::Router>,
    pub(super) plan: P::Plan,
    protocol: P,
    count: usize,
    /// Names of the port's hosts.
    pub(super) hosts: Vec<String>,
    pub(super) ready: Ready,
    /// When traffic had ended: routers with all adjacencies, and the link states of neighbours they held.
    at_end: Option<(usize, P::Held)>,
    /// Reasons for an invalid result, known when traffic started.
    complaints: Vec<String>,
}

impl<P: LinkState> LinkStateRouters<P> {
    fn new(plan: &P::Plan, context: &Context<'_>) -> Self {
        let Context { port, macs, facts, .. } = *context;
        let host = |(host, mac): (&HostPlan, &Mac)| RouterHost {
            mac: *mac,
            vlans: host.vlans.clone(),
            mtu: hosts_mtu(facts) as u16,
        };
        let Settings { routers, rate, timeout, settle, seed } = P::settings(plan);
        let config = RoutersConfig {
            hosts: port.hosts.iter().zip(macs).map(host).collect(),
            routers: P::configs(plan, macs),
            rate,
            seed,
        };
        Self {
            machine: Routers::new(config),
            plan: plan.clone(),
            protocol: P::new(),
            count: routers,
            hosts: port.hosts.iter().map(|host| host.name.clone()).collect(),
            ready: Ready::new(settle, timeout),
            at_end: None,
            complaints: Vec::new(),
        }
    }

    /// Number of routers.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Routers with all adjacencies when traffic started, or ever if it did not wait for them.
    pub(super) fn up(&self) -> usize {
        self.ready.there(self.count, |router| self.machine.router(*router).set_up().is_some())
    }

    /// Routers with all adjacencies now, or when traffic had ended.
    pub(super) fn up_at_end(&self) -> usize {
        self.at_end.as_ref().map_or_else(|| self.machine.up(), |(up, _)| *up)
    }

    /// The result of `of` on the link states that are held now, or were when traffic had ended.
    pub(super) fn held<T>(&self, of: impl FnOnce(&P::Held) -> T) -> T {
        match &self.at_end {
            Some((_, held)) => of(held),
            None => of(&P::held(&self.machine)),
        }
    }

    /// Why adjacencies are missing, in a sentence; `None` if none is. Those of a router that a command took down are not missing.
    fn missing(&self) -> Option<String> {
        let up = (0..self.count).filter(|router| !self.machine.router(*router).is_down());
        let why = |router: usize| {
            let failure = self.machine.router(router).failure()?;
            Some(format!("{}: {failure}", P::named(&self.plan, router).1))
        };
        let reasons: Vec<String> = up.filter_map(why).collect();
        missing(self.count, P::ABSENCE, &reasons)
    }

    /// Routers that are meant, by number.
    fn meant(&self, command: &NewProtocolChange) -> impl Iterator<Item = usize> {
        let is_meant = |number: &usize| {
            let (own, local) = P::named(&self.plan, *number);
            let is_it = |name: &String| own == name || name.parse() == Ok(local);
            command.peers.is_empty() || command.peers.iter().any(is_it)
        };
        (0..self.count).filter(is_meant)
    }
}

impl<P: LinkState> Planned for LinkStateRouters<P> {
    const KEY: &'static str = P::KEY;
    const ABSENCE: &'static str = P::ABSENCE;
    const CONCERNS: fn(&[u8]) -> bool = P::CONCERNS;
    const NEEDS_HOSTS: bool = true;

    fn is_planned(port: &PortPlan) -> bool {
        P::plan(port).is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        Some(Self::new(P::plan(context.port)?, context))
    }
}

impl<P: LinkState> HostProtocol for LinkStateRouters<P> {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        (P::CONCERNS)(frame) && self.protocol.take(now, frame, &mut self.machine)
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
        self.ready.note_start(patient, self.machine.up());
        let missing = self.missing();
        if !patient {
            self.complaints.extend(P::complaint(&self.machine));
            self.complaints.extend(missing.clone().or_else(|| self.ready.complaint(P::NAME)));
        }
        missing.filter(|_| self.up() == 0 && !patient)
    }

    fn start(&mut self, epoch: Nanos) {
        self.machine.start(epoch);
    }

    /// Withdraws what was advertised and ends all adjacencies.
    fn shut(&mut self, now: Nanos) -> Nanos {
        self.at_end = Some((self.machine.up(), P::held(&self.machine)));
        self.machine.shut(now);
        now + ROUTERS_FAREWELL
    }

    fn is_over(&self) -> bool {
        self.machine.is_over()
    }

    fn member(&self) -> &'static str {
        P::MEMBER
    }

    fn has_member(&self, command: &NewProtocolChange) -> bool {
        self.meant(command).next().is_some()
    }

    fn has_routes(&self, command: &NewProtocolChange, name: &str) -> bool {
        self.meant(command).any(|router| P::routes(&self.plan, router).contains(&name))
    }

    fn obeys(&self, on: ActionOn) -> bool {
        matches!(on, ActionOn::Routes | ActionOn::Sessions)
    }

    fn change(&mut self, now: Nanos, command: &NewProtocolChange) -> u64 {
        let meant: Vec<usize> = self.meant(command).collect();
        let mut changed = 0;
        for router in meant {
            match command.action {
                ProtocolAction::Up | ProtocolAction::Down => {
                    let up = command.action == ProtocolAction::Up;
                    changed += u64::from(self.machine.set_router(now, router, up));
                }
                _ => {
                    let up = command.action == ProtocolAction::Advertise;
                    let routes = P::routes(&self.plan, router).into_iter().enumerate();
                    let is_meant = |name: &str| {
                        command.routes.is_empty() || command.routes.iter().any(|route| route == name)
                    };
                    for (range, _) in routes.filter(|(_, name)| is_meant(name)) {
                        self.machine.set_range(router, range, up);
                        changed += 1;
                    }
                }
            }
        }
        changed
    }

    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates) {
        P::list(self, listing, all);
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        P::report(self, commands, row);
    }

    fn complaints(&self) -> Vec<String> {
        self.complaints.clone()
    }

    /// Whether adjacencies were lost.
    fn note(&self) -> Option<String> {
        let (router, why) = self.machine.first_loss()?;
        let first = format!("{}: {why}", P::named(&self.plan, router).1);
        let lost_in_all = P::flaps(&self.machine.counts());
        Some(lost(lost_in_all, &format!("{} adjacencies", P::NAME), &first))
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
