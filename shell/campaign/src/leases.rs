//! Trials of DHCP and DHCPv6 clients: a number of clients start per second, and nothing else is sent.
//!
//! The profile has clients on one port. Their number is the profile's, or lower if a trial has no time for more; the
//! profile's rate, maximum of waiting clients and timeout are ignored.

use crate::CampaignError;
use crate::outcome::{latency, of_any};
use crate::shape::without_schedule;
use methods::{LeaseOutcome, TrialOutcome, TrialRequest};
use profile::Plan;
use result::ResultDocument;
use units::{Nanos, count};

/// Waiting time of a trial after the time in which clients must get their leases: distinguishes late clients from ones
/// without a lease.
const GRACE: Nanos = Nanos::from_secs(2);
/// The same for one client by itself, whose delay is measured: dnsmasq pings an address for 3 s, up to six in a row.
const GRACE_ALONE: Nanos = Nanos::from_secs(20);
/// The traffic of such a trial, of which there is none.
const TRAFFIC: Nanos = Nanos::from_millis(10);
/// Clients began at less than this share of the rate: the tester was the limit.
const BEGUN_MIN: f64 = 0.95;

/// # Errors
/// The profile has no clients, or more than one kind, or on more than one port.
pub(crate) fn check(plan: &Plan) -> Result<(), CampaignError> {
    let mut kinds = plan.ports.iter().flat_map(|port| {
        let kinds = [("dhcp", port.dhcp.is_some()), ("dhcpv6", port.dhcpv6.is_some())];
        kinds.into_iter().filter(|(_, has)| *has).map(move |(kind, _)| format!("ports.{}.{kind}", port.name))
    });
    match (kinds.next(), kinds.next()) {
        (None, _) => {
            let reason = "no port has clients that request addresses: give one 'dhcp' or 'dhcpv6'";
            Err(CampaignError::profile("ports".to_owned(), reason))
        }
        (Some(first), Some(other)) => {
            let reason =
                format!("{first} has clients as well: a trial uses the clients of one port and one version");
            Err(CampaignError::profile(other, reason))
        }
        (Some(_), None) => Ok(()),
    }
}

/// Parameters of a trial.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// Clients per second.
    pub(crate) rate: u64,
    /// Each is to have its lease so long after its first message.
    pub(crate) within: Nanos,
    /// One client by itself.
    pub(crate) alone: bool,
}

/// The parts of a port's clients that a trial sets, regardless of the IP version.
struct Clients<'a> {
    clients: &'a mut u32,
    rate: &'a mut u32,
    outstanding: &'a mut u32,
    seed: &'a mut u64,
    mac: &'a mut [u8; 6],
    has_macs: &'a mut bool,
    client_id: Option<&'a mut String>,
    timeout: &'a mut Nanos,
}

impl Clients<'_> {
    fn set(self, asked: Asked, plan_seed: u64, request: &TrialRequest) {
        let in_time = u128::from(asked.rate) * u128::from(request.duration.0) / 1_000_000_000;
        let most = if asked.alone { 1 } else { in_time.max(1) };
        *self.clients = u128::from(*self.clients).min(most) as u32;
        *self.rate = u32::try_from(asked.rate).unwrap_or(u32::MAX);
        *self.outstanding = *self.clients;
        *self.seed ^= plan_seed;
        let begun = Nanos(u64::from(*self.clients) * 1_000_000_000 / asked.rate.max(1));
        let grace = if asked.alone { GRACE_ALONE } else { GRACE };
        *self.timeout = begun + asked.within + grace;
        if !*self.has_macs {
            // New to the server in each trial of each run: servers treat clients that they have seen differently.
            let new = random::word(random::key(plan_seed), request.number);
            *self.has_macs = true;
            *self.mac = fresh(new);
            if let Some(id) = self.client_id {
                *id = format!("{id}-{:08x}", new as u32);
            }
        }
    }
}

/// The first of this number of hardware addresses that no other trial uses: locally administered, with room for a
/// million after it.
fn fresh(word: u64) -> [u8; 6] {
    let [a, b, c, d, ..] = word.to_be_bytes();
    [a & 0xfc | 0x02, b, c, d & 0xf0, 0, 0]
}

/// The plan of such a trial.
///
/// # Errors
/// The profile has nothing for it.
pub(crate) fn shape(plan: &Plan, request: &TrialRequest, asked: Asked) -> Result<Plan, CampaignError> {
    check(plan)?;
    let mut shaped = without_schedule(plan, request);
    shaped.groups.clear();
    shaped.streams.clear();
    shaped.sessions.clear();
    shaped.duration = TRAFFIC;
    let seed = shaped.seed;
    for port in &mut shaped.ports {
        if let Some(dhcp) = &mut port.dhcp {
            let config = &mut dhcp.config;
            // Questions to all neighbours, two for each lease, are load that the server is not measured with.
            config.check = false;
            let clients = Clients {
                clients: &mut config.pool.clients,
                rate: &mut config.pool.rate,
                outstanding: &mut config.pool.outstanding,
                seed: &mut config.pool.seed,
                mac: &mut config.pool.mac,
                has_macs: &mut dhcp.has_macs,
                client_id: config.client_id.as_mut(),
                timeout: &mut dhcp.timeout,
            };
            clients.set(asked, seed, request);
        }
        if let Some(dhcp) = &mut port.dhcpv6 {
            let config = &mut dhcp.config;
            let clients = Clients {
                clients: &mut config.pool.clients,
                rate: &mut config.pool.rate,
                outstanding: &mut config.pool.outstanding,
                seed: &mut config.pool.seed,
                mac: &mut config.pool.mac,
                has_macs: &mut dhcp.has_macs,
                client_id: None,
                timeout: &mut dhcp.timeout,
            };
            clients.set(asked, seed, request);
        }
    }
    Ok(shaped)
}

/// Outcome. Clients without a lease are a result, and make no trial invalid.
pub(crate) fn outcome(rate: u64, document: &ResultDocument) -> TrialOutcome {
    let mut outcome = of_any(document);
    let leases = document.ports.values().find_map(|port| {
        let v4 = port.dhcp.as_ref().map(|dhcp| LeaseOutcome {
            clients: dhcp.clients,
            bound: dhcp.bound,
            repeated: dhcp.repeated,
            conflicts: dhcp.conflicts,
            begun_per_s: dhcp.begun_per_s,
            bound_per_s: dhcp.bound_per_s,
            bind: dhcp.bind_ns.as_ref().map(latency),
        });
        let v6 = port.dhcpv6.as_ref().map(|dhcp| LeaseOutcome {
            clients: dhcp.clients,
            bound: dhcp.bound,
            repeated: dhcp.repeated,
            conflicts: dhcp.conflicts,
            begun_per_s: dhcp.begun_per_s,
            bound_per_s: dhcp.bound_per_s,
            bind: dhcp.bind_ns.as_ref().map(latency),
        });
        v4.or(v6)
    });
    let Some(leases) = leases else { return outcome };
    // The verdict has a reason for each of these, and the method its own words.
    let answers = usize::from(leases.bound < leases.clients) + usize::from(leases.conflicts > 0);
    if !outcome.valid && outcome.reasons.len() <= answers {
        outcome.valid = true;
        outcome.reasons.clear();
    }
    if let Some(begun) = leases.begun_per_s.filter(|begun| *begun < rate as f64 * BEGUN_MIN) {
        outcome.generator_limited = true;
        outcome.reasons.push(format!(
            "{} clients began per second, not {}",
            count(begun as u64),
            count(rate)
        ));
    }
    outcome.leases = Some(leases);
    outcome
}
