//! Ports of lags, and what became of them.
//!
//! Not here: the protocol (`emulate::lacp`).

use crate::control::commands::ActionOn;
use crate::emulation::protocol::{Context, FAREWELL, HostProtocol, Listing, Planned};
use emulate::lacp::{LacpConfig, LacpEnd, LacpPort, run_lag};
use neighbour::{Hosts, Mac};
use profile::plan::{LacpPlan, PortPlan};
use result::{
    LacpEndResult, LacpPortState, LacpResult, NewProtocolChange, PortResult, ProtocolAction, ProtocolStates,
};
use units::Nanos;

/// A port of a lag.
#[derive(Debug)]
pub(crate) struct LagPort {
    machine: LacpPort,
    /// The number of its lag.
    pub(crate) lag: usize,
    name: String,
    wait: Nanos,
    /// Until when traffic waits for it.
    deadline: Option<Nanos>,
    /// That it did not distribute when the time to wait was over.
    late: Option<String>,
    flaps_before: u64,
    /// State when traffic had ended.
    at_end: Option<LacpResult>,
}

impl LagPort {
    /// That of `plan`; `all` are all ports, and `macs` their hardware addresses.
    fn new(plan: &LacpPlan, mac: Mac, all: &[PortPlan], macs: &[Mac]) -> Self {
        let is_in = |port: &PortPlan| port.lacp.as_ref().is_some_and(|other| other.lag == plan.lag);
        let first = all.iter().zip(macs).find(|(port, _)| is_in(port)).map_or(mac, |(_, mac)| *mac);
        let system = if plan.has_system { plan.config.system } else { first };
        Self {
            machine: LacpPort::new(LacpConfig { mac, system, ..plan.config.clone() }),
            lag: plan.lag,
            name: plan.name.clone(),
            wait: plan.wait,
            deadline: None,
            late: None,
            flaps_before: 0,
            at_end: None,
        }
    }

    /// Whether it distributes.
    pub(crate) fn is_up(&self) -> bool {
        self.machine.is_up()
    }

    /// Whether other hosts have to wait for it.
    pub(crate) fn is_awaited(&mut self, now: Nanos) -> bool {
        let deadline = *self.deadline.get_or_insert(now.saturating_add(self.wait));
        !self.machine.is_up() && now < deadline
    }

    /// The waiting time is over: records the state.
    pub(crate) fn note_start(&mut self) {
        self.flaps_before = self.machine.counts().flaps;
        self.late = self.missing();
    }

    /// That it does not distribute, in a sentence; `None` if it does.
    pub(crate) fn missing(&self) -> Option<String> {
        let trouble = self.machine.trouble()?;
        Some(format!("it did not distribute in its lag '{}' within {}: {trouble}", self.name, self.wait))
    }

    /// Starts its protocol, or leaves its LAG; returns whether that is a change.
    fn set(&mut self, now: Nanos, enable: bool) -> bool {
        let changes = self.machine.is_down() == enable;
        if enable {
            self.machine.come_back(now)
        } else {
            self.machine.leave(now)
        }
        changes
    }

    /// Traffic has ended: records the state, and begins to leave.
    fn end(&mut self, now: Nanos) {
        self.at_end = Some(self.stands());
        self.machine.leave(now);
    }

    /// Counters until now, and the state when traffic had ended; before that, the current state.
    fn row(&self, commands: u64) -> LacpResult {
        let LacpResult { state, receive, reason, flaps, actor, partner, .. } = self.stood();
        LacpResult { state, receive, reason, flaps, actor, partner, commands, ..self.stands() }
    }

    fn stood(&self) -> LacpResult {
        self.at_end.clone().unwrap_or_else(|| self.stands())
    }

    fn stands(&self) -> LacpResult {
        let (machine, counts) = (&self.machine, self.machine.counts());
        LacpResult {
            lag: self.name.clone(),
            state: machine.mux().name().to_owned(),
            receive: machine.receive().name().to_owned(),
            reason: machine.trouble().map(|trouble| trouble.to_string()),
            distributing_after_s: machine.came_up_after().map(Nanos::as_secs_f64),
            flaps: counts.flaps,
            tx_lacpdus: counts.sent,
            rx_lacpdus: counts.received,
            rx_errors: counts.illegal,
            rx_unknown: counts.unknown,
            rx_markers: counts.markers,
            tx_marker_responses: counts.markers_answered,
            commands: 0,
            actor: row(&machine.actor()),
            partner: machine.partner().map(row),
        }
    }
}

/// Brings the ports of all lags up to `now`.
pub(crate) fn run_lags(now: Nanos, mut ports: Vec<&mut LagPort>) {
    ports.sort_by_key(|port| port.lag);
    for lag in ports.chunk_by_mut(|one, next| one.lag == next.lag) {
        run_lag(now, &mut lag.iter_mut().map(|port| &mut port.machine).collect::<Vec<_>>());
    }
}

impl Planned for LagPort {
    const KEY: &'static str = "lacp";
    const CONCERNS: fn(&[u8]) -> bool = emulate::is_slow;

    fn is_planned(port: &PortPlan) -> bool {
        port.lacp.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        let plan = context.port.lacp.as_ref()?;
        Some(Self::new(plan, context.macs[0], context.ports, context.port_macs))
    }
}

impl HostProtocol for LagPort {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        emulate::is_slow(frame) && self.machine.take(now, frame)
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.machine.poll(now, frames);
    }

    fn next_due(&self) -> Nanos {
        self.machine.next_due()
    }

    fn shut(&mut self, now: Nanos) -> Nanos {
        self.end(now);
        now + FAREWELL
    }

    fn is_over(&self) -> bool {
        self.machine.has_left()
    }

    fn obeys(&self, on: ActionOn) -> bool {
        on == ActionOn::Link
    }

    fn change(&mut self, now: Nanos, command: &NewProtocolChange) -> u64 {
        u64::from(self.set(now, command.action == ProtocolAction::Enable))
    }

    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates) {
        all.counts.lacp_ports += 1;
        all.counts.lacp_distributing += u64::from(self.machine.is_up());
        if all.lacp.len() < listing.limit {
            let (port, is_down) = (listing.port.to_owned(), self.machine.is_down());
            all.lacp.push(LacpPortState { port, is_down, lacp: self.row(listing.commands) });
        }
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        row.lacp = Some(self.row(commands));
    }

    fn complaints(&self) -> Vec<String> {
        self.late.iter().cloned().collect()
    }

    /// That it stopped to distribute.
    fn note(&self) -> Option<String> {
        let stands = self.stood();
        let flaps = stands.flaps - self.flaps_before;
        let times = if flaps == 1 { "once".to_owned() } else { format!("{flaps} times") };
        let now = stands.reason.map_or_else(String::new, |reason| format!("; at the end {reason}"));
        (flaps > 0).then(|| {
            format!("it stopped distributing in its lag '{}' {times} while traffic ran{now}", self.name)
        })
    }
}

fn row(end: &LacpEnd) -> LacpEndResult {
    LacpEndResult {
        system: units::Mac(end.system).to_string(),
        system_priority: end.system_priority.into(),
        key: end.key.into(),
        port: end.port.into(),
        port_priority: end.port_priority.into(),
        state: end.state.names().map(str::to_owned).collect(),
    }
}
