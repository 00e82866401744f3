//! PPPoE clients of a port, and what became of them.
//!
//! Not here: the protocols (`emulate::pppoe`).

use super::times::times;
use crate::control::commands::ProtocolAction;
use emulate::pppoe::{PppoeClients, PppoeConfig, PppoeFailure, PppoePhase, PppoeView};
use neighbour::Mac;
use profile::plan::PppoePlan;
use result::{PppoeClientState, PppoeResult};
use std::net::Ipv4Addr;
use units::{Nanos, count};

/// PPPoE clients of a port.
#[derive(Debug)]
pub(super) struct Subscribers {
    pub(super) machine: PppoeClients,
    pub(super) timeout: Nanos,
    /// Clients that were up when traffic started.
    up: u32,
    /// Clients that were up when traffic had ended.
    up_at_end: Option<u32>,
}

impl Subscribers {
    /// Clients of `plan`; the first has the hardware address `first` unless the profile sets one.
    pub(super) fn new(plan: &PppoePlan, first: Mac) -> Self {
        let mac = if plan.has_macs { plan.config.mac } else { first };
        let config = PppoeConfig { mac, ..plan.config.clone() };
        Self { machine: PppoeClients::new(config), timeout: plan.timeout, up: 0, up_at_end: None }
    }

    /// Traffic starts with the clients that are up; returns the reason of a failure if none is.
    pub(super) fn start(&mut self, now: Nanos) -> Option<String> {
        let why = (self.machine.up() == 0).then(|| self.nobody_up());
        self.machine.give_up(now);
        self.up = self.machine.up();
        why
    }

    /// Ends all sessions.
    pub(super) fn end(&mut self, now: Nanos) {
        self.up_at_end = Some(self.machine.up());
        self.machine.release(now);
    }

    /// Whether all sessions have ended.
    pub(super) fn is_over(&self) -> bool {
        self.machine.next_due() == Nanos::MAX
    }

    /// Carries out a command; returns how many clients it was for.
    pub(super) fn change(&mut self, now: Nanos, action: ProtocolAction) -> u64 {
        match action {
            ProtocolAction::Release => self.machine.disconnect_now(now),
            _ => self.machine.connect_now(now),
        }
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
    pub(super) fn complaints(&self) -> Vec<String> {
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
    pub(super) fn note(&self) -> Option<String> {
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

    pub(super) fn report(&self, commands: u64) -> PppoeResult {
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

/// Current state of a client.
pub(super) fn client_state(port: &str, view: &PppoeView, now: Nanos) -> PppoeClientState {
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
