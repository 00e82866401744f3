//! Clients of a port: they come up before traffic, and are handled while it runs.
//!
//! Not here: the protocols' words, states and results (files in `protocols`), nor the protocols (`emulate`).

use super::protocol::{Context, HostProtocol, Listing, Planned, Wait, farewell, first_mac};
use crate::control::commands::ActionOn;
use emulate::{Pool, PoolConfig};
use neighbour::{Host, Hosts, Mac};
use profile::plan::{ClientAddress, ClientsPlan, PortPlan};
use result::{NewProtocolChange, PortResult, ProtocolAction, ProtocolStates};
use std::fmt::Debug;
use std::net::IpAddr;
use units::{Nanos, count};

/// A protocol of clients.
pub(super) trait ClientProtocol: emulate::Protocol<Config: Clone> {
    /// Its key in the profile.
    const KEY: &'static str;
    /// Time for the last messages of one client.
    const FAREWELL: Nanos = Nanos::ZERO;
    /// Whether a run that fails must shut it, or a server would keep its state.
    const MUST_SHUT: bool = false;

    /// State besides the clients.
    type Beside: Debug;

    /// The plan of a port.
    fn plan(port: &PortPlan) -> Option<&ClientsPlan<Self::Config>>;

    /// The settings that all protocols have.
    fn pool(config: &mut Self::Config) -> &mut PoolConfig;

    /// The state besides the clients, at the beginning.
    fn beside(context: &Context<'_>, pool: &PoolConfig) -> Self::Beside;

    /// Takes in a frame that was for no client; returns whether it was for one of the hosts.
    fn take_other(_clients: &mut Clients<Self>, _now: Nanos, _frame: &[u8]) -> bool {
        false
    }

    /// Adds the frames that are due besides the clients' messages.
    fn poll(_beside: &mut Self::Beside, _now: Nanos, _frames: &mut Vec<Vec<u8>>) {}

    /// When there is something to do besides.
    fn next_due_beside(_beside: &Self::Beside) -> Nanos {
        Nanos::MAX
    }

    /// Whether waiting longer changes nothing.
    fn is_settled(clients: &mut Clients<Self>, _now: Nanos) -> bool {
        clients.machine.all_up()
    }

    /// The wait is over.
    fn conclude(_clients: &mut Clients<Self>, _now: Nanos) {}

    /// Why no client is up.
    fn trouble(clients: &Clients<Self>) -> String;

    /// The client that has an address, of which neighbours may request the hardware address.
    fn holder(_clients: &Clients<Self>, _ip: IpAddr) -> Option<(u32, Mac)> {
        None
    }

    /// The addresses that clients have, without VLANs.
    fn addresses(clients: &Clients<Self>) -> Vec<ClientAddress>;

    /// Adds the states.
    fn list(clients: &Clients<Self>, listing: Listing<'_>, all: &mut ProtocolStates);

    /// Fills its part of the port's row.
    fn report(clients: &Clients<Self>, commands: u64, row: &mut PortResult);

    /// Reasons for an invalid result.
    fn complaints(clients: &Clients<Self>) -> Vec<String>;

    /// A note on the behaviour of real servers, if it explains a figure of this row.
    fn peers_note(_row: &PortResult) -> Option<String> {
        None
    }

    /// A sentence about losses while traffic ran.
    fn note(clients: &Clients<Self>) -> Option<String>;
}

/// Clients of a port.
#[derive(Debug)]
pub(super) struct Clients<P: ClientProtocol> {
    pub(super) machine: Pool<P>,
    pub(super) beside: P::Beside,
    pub(super) timeout: Nanos,
    /// Clients that were up when traffic started.
    pub(super) up: u32,
    /// Clients that were up when traffic had ended.
    up_at_end: Option<u32>,
}

impl<P: ClientProtocol> Clients<P> {
    /// Number of clients.
    pub(super) fn all(&self) -> u32 {
        self.machine.common().clients
    }

    /// The clients in words.
    pub(super) fn in_words(&self) -> String {
        match self.all() {
            1 => "1 client".to_owned(),
            clients => format!("{} clients", count(clients.into())),
        }
    }

    /// Clients that are up; once traffic has ended, those at its end.
    pub(super) fn holding(&self) -> u32 {
        self.up_at_end.unwrap_or_else(|| self.machine.up())
    }

    /// Clients that came up in a second, of `samples` that did.
    pub(super) fn up_per_s(&self, samples: u64) -> Option<f64> {
        let took = self.machine.set_up_time().map(Nanos::as_secs_f64).filter(|took| *took > 0.0);
        took.map(|took| samples as f64 / took)
    }
}

impl<P: ClientProtocol> Planned for Clients<P> {
    const KEY: &'static str = P::KEY;
    const CONCERNS: fn(&[u8]) -> bool = emulate::may_concern;

    fn is_planned(port: &PortPlan) -> bool {
        P::plan(port).is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        let plan = P::plan(context.port)?;
        let mut config = plan.config.clone();
        let pool = P::pool(&mut config);
        if !plan.has_macs {
            pool.mac = first_mac(context.macs[0]);
        }
        let beside = P::beside(context, pool);
        Some(Self { machine: Pool::new(config), beside, timeout: plan.timeout, up: 0, up_at_end: None })
    }
}

impl<P: ClientProtocol> HostProtocol for Clients<P> {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        emulate::may_concern(frame) && (self.machine.take(now, frame) || P::take_other(self, now, frame))
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        P::poll(&mut self.beside, now, frames);
        self.machine.poll(now, frames);
    }

    fn next_due(&self) -> Nanos {
        self.machine.next_due().min(P::next_due_beside(&self.beside))
    }

    fn timeout(&self) -> Nanos {
        self.timeout
    }

    fn may_start(&mut self, now: Nanos, wait: Wait) -> bool {
        now > wait.deadline || P::is_settled(self, now)
    }

    /// Traffic starts with the clients that are up.
    fn conclude(&mut self, now: Nanos, _: bool) -> Option<String> {
        self.machine.give_up(now);
        P::conclude(self, now);
        self.up = self.machine.up();
        (self.up == 0).then(|| P::trouble(self))
    }

    fn must_shut(&self) -> bool {
        P::MUST_SHUT
    }

    fn shut(&mut self, now: Nanos) -> Nanos {
        self.machine.give_up(now);
        self.up_at_end = Some(self.machine.up());
        self.machine.release(now);
        now + P::FAREWELL + farewell(self.all() as usize, self.machine.common().rate)
    }

    fn is_over(&self) -> bool {
        self.machine.next_due() == Nanos::MAX
    }

    /// The reply to a request for the hardware address of a client, which is not a host yet, or no longer.
    fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let ip = neighbour::asked_for(frame)?;
        let (client, mac) = P::holder(self, ip)?;
        let host = Host {
            mac,
            vlans: self.machine.common().vlans.of(client).into_owned(),
            addresses: vec![ip],
            networks: Vec::new(),
            answers_for: vec![ip..=ip],
        };
        host.answer(frame)
    }

    fn addresses(&self) -> Vec<ClientAddress> {
        let vlans = &self.machine.common().vlans;
        let own = |client| vlans.differ().then(|| vlans.of(client).into_owned());
        P::addresses(self).into_iter().map(|one| ClientAddress { vlans: own(one.client), ..one }).collect()
    }

    fn obeys(&self, on: ActionOn) -> bool {
        on == ActionOn::Clients
    }

    fn change(&mut self, now: Nanos, command: &NewProtocolChange) -> u64 {
        match command.action {
            ProtocolAction::Release => self.machine.release_now(now),
            _ => self.machine.renew_now(now),
        }
    }

    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates) {
        P::list(self, listing, all);
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        P::report(self, commands, row);
    }

    fn complaints(&self) -> Vec<String> {
        P::complaints(self)
    }

    fn peers_note(&self, row: &PortResult, _: Nanos) -> Option<String> {
        P::peers_note(row)
    }

    fn note(&self) -> Option<String> {
        P::note(self)
    }
}
