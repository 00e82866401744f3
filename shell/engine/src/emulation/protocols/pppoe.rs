//! PPPoE clients of a port, and what became of them.
//!
//! Not here: the protocols (`emulate::pppoe`).

use crate::emulation::clients::{ClientProtocol, Clients};
use crate::emulation::protocol::{Context, FAREWELL, Listing};
use crate::emulation::times::times;
use emulate::PoolConfig;
use emulate::pppoe::{PppoeConfig, PppoeFailure, PppoePhase, PppoeProtocol, PppoeView};
use profile::plan::{ClientAddress, PortPlan, PppoePlan};
use result::{PortResult, PppoeClientState, PppoeResult, ProtocolStates};
use std::net::Ipv4Addr;
use units::{Nanos, count};

/// PPPoE clients of a port.
pub(super) type Subscribers = Clients<PppoeProtocol>;

impl Subscribers {
    fn nobody_up(&self) -> String {
        let (counts, config, waited) = (self.machine.counts(), self.machine.config(), self.timeout);
        let whose = self.in_words();
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
        let (counts, all) = (self.machine.counts(), self.all());
        let mut complaints = Vec::new();
        if self.up < all {
            let said = self.machine.message().map(|text| format!(" (the access concentrator: '{text}')"));
            complaints.push(format!(
                "{} of {} PPPoE clients got a session within {}{}; traffic uses only these",
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
                "{} PPPoE sessions were lost: {} ended by the access concentrator{}, {} without a reply to echo requests; traffic \
                 continued in them",
                count(lost),
                count(ended),
                said.unwrap_or_default(),
                count(silent)
            )
        })
    }

    fn row(&self, commands: u64) -> PppoeResult {
        let (counts, all) = (self.machine.counts(), self.all());
        PppoeResult {
            clients: all.into(),
            up: self.up.into(),
            failed: (all - self.up).into(),
            holding: self.holding().into(),
            up_per_s: self.up_per_s(counts.setup.samples()),
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

impl ClientProtocol for PppoeProtocol {
    const KEY: &'static str = "pppoe";
    const FAREWELL: Nanos = FAREWELL;
    /// An access concentrator would keep sessions that have begun.
    const MUST_SHUT: bool = true;

    type Beside = ();

    fn plan(port: &PortPlan) -> Option<&PppoePlan> {
        port.pppoe.as_ref()
    }

    fn pool(config: &mut PppoeConfig) -> &mut PoolConfig {
        &mut config.pool
    }

    fn beside(_: &Context<'_>, _: &PoolConfig) {}

    fn trouble(clients: &Subscribers) -> String {
        clients.nobody_up()
    }

    fn addresses(clients: &Subscribers) -> Vec<ClientAddress> {
        clients.machine.sessions().map(ClientAddress::from).collect()
    }

    fn list(clients: &Subscribers, listing: Listing<'_>, all: &mut ProtocolStates) {
        all.counts.pppoe_clients += u64::from(clients.all());
        all.counts.pppoe_sessions += u64::from(clients.machine.up());
        let listed = clients.machine.views().take(listing.limit - all.pppoe.len());
        all.pppoe.extend(listed.map(|view| client_state(listing.port, &view, listing.now)));
    }

    fn report(clients: &Subscribers, commands: u64, row: &mut PortResult) {
        row.pppoe = Some(clients.row(commands));
    }

    fn complaints(clients: &Subscribers) -> Vec<String> {
        clients.all_complaints()
    }

    fn note(clients: &Subscribers) -> Option<String> {
        clients.lost()
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
