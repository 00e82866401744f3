//! PPPoE clients of a port, and what became of them.
//!
//! Not here: the protocols (`emulate::pppoe`).

use crate::control::commands::ActionOn;
use crate::emulation::protocol::{
    Context, FAREWELL, HostProtocol, Listing, Planned, Wait, farewell, first_mac,
};
use crate::emulation::times::times;
use emulate::pppoe::{PppoeClients, PppoeConfig, PppoeFailure, PppoePhase, PppoeView};
use neighbour::{Hosts, Mac};
use profile::plan::{ClientAddress, PortPlan, PppoePlan};
use result::{NewProtocolChange, PortResult, PppoeClientState, PppoeResult, ProtocolAction, ProtocolStates};
use std::net::Ipv4Addr;
use units::{Nanos, count};

/// PPPoE clients of a port.
#[derive(Debug)]
pub(super) struct Subscribers {
    machine: PppoeClients,
    timeout: Nanos,
    /// Clients that were up when traffic started.
    up: u32,
    /// Clients that were up when traffic had ended.
    up_at_end: Option<u32>,
}

impl Subscribers {
    /// Clients of `plan`; the first has the hardware address `first` unless the profile sets one.
    fn new(plan: &PppoePlan, first: Mac) -> Self {
        let mac = if plan.has_macs { plan.config.mac } else { first };
        let config = PppoeConfig { mac, ..plan.config.clone() };
        Self { machine: PppoeClients::new(config), timeout: plan.timeout, up: 0, up_at_end: None }
    }

    fn nobody_up(&self) -> String {
        let (counts, config, waited) = (self.machine.counts(), self.machine.config(), self.timeout);
        let whose = match config.clients {
            1 => "1 client".to_owned(),
            clients => format!("{} clients", count(clients.into())),
        };
        let said = self.machine.message().map(|text| format!(": '{text}'")).unwrap_or_default();
        let wanted = match (&config.ac, &config.service[..]) {
            (None, "") => String::new(),
            (None, service) => format!(" with the service '{service}'"),
            (Some(ac), "") => format!(" named '{ac}'"),
            (Some(ac), service) => format!(" named '{ac}' with the service '{service}'"),
        };
        if counts.offers == 0 {
            return format!(
                "no access concentrator replied to {} PADI packets of {whose} within {waited}; check that one{wanted} is reachable from \
                 this port",
                count(counts.initiations)
            );
        }
        if counts.passed_over == counts.offers {
            let offers = count(counts.offers);
            return format!("none of {offers} PADO packets was of an access concentrator{wanted}");
        }
        let failed = [
            (counts.failed_authentication, "did not let in"),
            (counts.failed_network, "gave no address to"),
            (counts.failed_discovery, "gave no session to"),
            (counts.failed_link, "agreed on no link (LCP) with"),
            (counts.failed_ended, "ended the sessions of"),
        ];
        if let Some((times, what)) = failed.into_iter().find(|(times, _)| *times > 0) {
            let attempts =
                if times == 1 { "1 attempt".to_owned() } else { format!("{} attempts", count(times)) };
            let hint = match counts.failed_authentication {
                0 => "",
                _ if config.methods.is_empty() => "; 'authentication' is none",
                _ if config.user.is_empty() => "; 'user' is not set",
                _ => "; check 'user', 'password' and 'authentication'",
            };
            return format!(
                "the access concentrator {what} {whose} within {waited} ({attempts}){said}{hint}"
            );
        }
        if counts.confirmations == 0 {
            return format!(
                "the access concentrator made {} offers to {whose} and replied to none of {} PADR packets within {waited}",
                count(counts.offers),
                count(counts.requests)
            );
        }
        format!("none of {} sessions of {whose} came up within {waited}", count(counts.confirmations))
    }

    /// Reasons why a result with these clients is invalid.
    fn all_complaints(&self) -> Vec<String> {
        let (counts, all) = (self.machine.counts(), self.machine.config().clients);
        let mut complaints = Vec::new();
        if self.up < all {
            let said = self.machine.message().map(|text| format!(" (the access concentrator: '{text}')"));
            complaints.push(format!(
                "{} of {} PPPoE clients got a session within {}{}; traffic has only theirs",
                count(self.up.into()),
                count(all.into()),
                self.timeout,
                said.unwrap_or_default()
            ));
        }
        if counts.conflicts > 0 {
            let conflicts = count(counts.conflicts);
            complaints.push(format!("PPPoE clients got {conflicts} addresses that another client here had"));
        }
        complaints
    }

    /// Sessions that ended while traffic ran, in a sentence.
    fn lost(&self) -> Option<String> {
        let counts = self.machine.counts();
        let (ended, silent) = (counts.lost_ended, counts.lost_silent);
        let lost = ended + silent + counts.lost_other;
        let said = self.machine.message().filter(|_| ended > 0).map(|text| format!(": '{text}'"));
        (lost > 0).then(|| {
            format!(
                "{} PPPoE sessions were lost: {} ended by the access concentrator{}, {} without an answer to echo requests; traffic went \
                 on in them",
                count(lost),
                count(ended),
                said.unwrap_or_default(),
                count(silent)
            )
        })
    }

    fn row(&self, commands: u64) -> PppoeResult {
        let (counts, all) = (self.machine.counts(), self.machine.config().clients);
        let took = self.machine.set_up_time().map(Nanos::as_secs_f64).filter(|took| *took > 0.0);
        PppoeResult {
            clients: all.into(),
            up: self.up.into(),
            failed: (all - self.up).into(),
            holding: self.up_at_end.unwrap_or_else(|| self.machine.up()).into(),
            up_per_s: took.map(|took| counts.setup.samples() as f64 / took),
            setup_ns: times(&counts.setup),
            discovery_ns: times(&counts.discovery),
            link_ns: times(&counts.link),
            authentication_ns: times(&counts.authentication),
            network_ns: times(&counts.network),
            sessions: counts.sessions,
            padis: counts.initiations,
            pados: counts.offers,
            passed_over: counts.passed_over,
            padrs: counts.requests,
            padss: counts.confirmations,
            padts_sent: counts.terminations_sent,
            padts_received: counts.terminations_received,
            repeated: counts.repeated,
            failed_discovery: counts.failed_discovery,
            failed_link: counts.failed_link,
            failed_authentication: counts.failed_authentication,
            failed_network: counts.failed_network,
            failed_ended: counts.failed_ended,
            lost: counts.lost_ended + counts.lost_silent + counts.lost_other,
            lost_ended: counts.lost_ended,
            lost_silent: counts.lost_silent,
            message: self.machine.message().map(str::to_owned),
            echo_requests: counts.echo_requests,
            echo_replies: counts.echo_replies,
            echoes_answered: counts.echoes_answered,
            rejected: counts.rejected,
            conflicts: counts.conflicts,
            commands,
        }
    }
}

impl Planned for Subscribers {
    const KEY: &'static str = "pppoe";
    const CONCERNS: fn(&[u8]) -> bool = emulate::may_concern;

    fn is_planned(port: &PortPlan) -> bool {
        port.pppoe.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        Some(Self::new(context.port.pppoe.as_ref()?, first_mac(context.macs[0])))
    }
}

impl HostProtocol for Subscribers {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        emulate::may_concern(frame) && self.machine.take(now, frame)
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.machine.poll(now, frames);
    }

    fn next_due(&self) -> Nanos {
        self.machine.next_due()
    }

    fn timeout(&self) -> Nanos {
        self.timeout
    }

    fn may_start(&mut self, now: Nanos, wait: Wait) -> bool {
        now > wait.deadline || self.machine.all_up()
    }

    /// Traffic starts with the clients that are up.
    fn conclude(&mut self, now: Nanos, _: bool) -> Option<String> {
        let why = (self.machine.up() == 0).then(|| self.nobody_up());
        self.machine.give_up(now);
        self.up = self.machine.up();
        why
    }

    /// An access concentrator would keep sessions that have begun.
    fn must_shut(&self) -> bool {
        true
    }

    fn shut(&mut self, now: Nanos) -> Nanos {
        self.up_at_end = Some(self.machine.up());
        self.machine.release(now);
        let config = self.machine.config();
        now + FAREWELL + farewell(config.clients as usize, config.rate)
    }

    fn is_over(&self) -> bool {
        self.machine.next_due() == Nanos::MAX
    }

    fn addresses(&self) -> Vec<ClientAddress> {
        let vlans = &self.machine.config().vlans;
        let own = |client| vlans.differ().then(|| vlans.of(client).into_owned());
        let sessions = self.machine.sessions().map(ClientAddress::from);
        sessions.map(|one| ClientAddress { vlans: own(one.client), ..one }).collect()
    }

    fn obeys(&self, on: ActionOn) -> bool {
        on == ActionOn::Clients
    }

    fn change(&mut self, now: Nanos, command: &NewProtocolChange) -> u64 {
        match command.action {
            ProtocolAction::Release => self.machine.disconnect_now(now),
            _ => self.machine.connect_now(now),
        }
    }

    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates) {
        all.counts.pppoe_clients += u64::from(self.machine.config().clients);
        all.counts.pppoe_sessions += u64::from(self.machine.up());
        let listed = self.machine.views().take(listing.limit - all.pppoe.len());
        all.pppoe.extend(listed.map(|view| client_state(listing.port, &view, listing.now)));
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        row.pppoe = Some(self.row(commands));
    }

    fn complaints(&self) -> Vec<String> {
        self.all_complaints()
    }

    fn note(&self) -> Option<String> {
        self.lost()
    }
}

/// Current state of a client.
fn client_state(port: &str, view: &PppoeView, now: Nanos) -> PppoeClientState {
    let held = view.session.as_ref();
    let said = |ip: &Ipv4Addr| !ip.is_unspecified();
    let servers = held.into_iter().flat_map(|one| one.dns).filter(said);
    PppoeClientState {
        port: port.to_owned(),
        client: view.client,
        mac: units::Mac(view.mac).to_string(),
        phase: match view.phase {
            PppoePhase::Waiting => "waiting",
            PppoePhase::Discovery => "discovery",
            PppoePhase::Link => "link",
            PppoePhase::Authentication => "authentication",
            PppoePhase::Network => "network",
            PppoePhase::Up => "up",
            PppoePhase::Terminating => "terminating",
            PppoePhase::Pausing => "pausing",
            PppoePhase::Down => "down",
        }
        .to_owned(),
        session: held.map(|one| one.session),
        ac: held.map(|one| units::Mac(one.ac).to_string()),
        ip: held.map(|one| one.ip.to_string()),
        peer: held.map(|one| one.peer).filter(said).map(|ip| ip.to_string()),
        dns: servers.map(|ip| ip.to_string()).collect(),
        interface: held.and_then(|one| one.interface).map(|number| format!("{number:016x}")),
        mru: held.map(|one| one.peer_mru),
        up_for_s: held.map(|one| now.since(one.since).as_secs_f64()),
        failure: view.failure.map(|failure| failure_name(failure).to_owned()),
        sessions: view.tally.sessions,
        failed: view.tally.failed,
        lost: view.tally.lost,
    }
}

fn failure_name(failure: PppoeFailure) -> &'static str {
    match failure {
        PppoeFailure::Discovery => "discovery",
        PppoeFailure::Link => "link",
        PppoeFailure::Authentication => "authentication",
        PppoeFailure::Network => "network",
        PppoeFailure::Ended => "ended",
        PppoeFailure::Silent => "silent",
    }
}
