//! DHCP clients of a port, and what became of them.
//!
//! Not here: the protocol (`emulate::dhcp`).

use crate::emulation::clients::{self, ClientProtocol};
use crate::emulation::protocol::{Context, Listing};
use crate::emulation::times::times;
use emulate::PoolConfig;
use emulate::dhcp::{ClientView, DhcpConfig, DhcpProtocol};
use neighbour::Mac;
use profile::plan::{ClientAddress, DhcpPlan, PortPlan};
use result::{DhcpClientState, DhcpResult, LatencyResult, PortResult, ProtocolStates};
use std::net::IpAddr;
use units::{Nanos, count};

/// A median time to a lease from which on a server's check of the address is likely: ISC dhcpd waits 1 s for its ping, dnsmasq 3 s.
const CHECKED: Nanos = Nanos::from_millis(900);

/// DHCP clients of a port.
pub(super) type Clients = clients::Clients<DhcpProtocol>;

impl ClientProtocol for DhcpProtocol {
    const KEY: &'static str = "dhcp";

    type Beside = ();

    fn plan(port: &PortPlan) -> Option<&DhcpPlan> {
        port.dhcp.as_ref()
    }

    fn pool(config: &mut DhcpConfig) -> &mut PoolConfig {
        &mut config.pool
    }

    fn beside(_: &Context<'_>, _: &PoolConfig) {}

    fn trouble(clients: &Clients) -> String {
        nobody_bound(clients)
    }

    fn holder(clients: &Clients, ip: IpAddr) -> Option<(u32, Mac)> {
        let IpAddr::V4(ip) = ip else { return None };
        clients.machine.lease_of(ip).map(|lease| (lease.client, lease.mac))
    }

    fn addresses(clients: &Clients) -> Vec<ClientAddress> {
        clients.machine.leases().map(ClientAddress::from).collect()
    }

    fn list(clients: &Clients, listing: Listing<'_>, all: &mut ProtocolStates) {
        all.counts.dhcp_clients += u64::from(clients.all());
        all.counts.dhcp_leases += u64::from(clients.machine.up());
        let listed = clients.machine.views().take(listing.limit - all.dhcp.len());
        all.dhcp.extend(listed.map(|view| client_state(listing.port, &view, listing.now)));
    }

    fn report(clients: &Clients, commands: u64, row: &mut PortResult) {
        row.dhcp = Some(dhcp(clients, commands));
    }

    fn complaints(clients: &Clients) -> Vec<String> {
        complaints(clients)
    }

    fn peers_note(row: &PortResult) -> Option<String> {
        let why = "servers may ping a new address before they offer it (ISC dhcpd for 1 s, dnsmasq for 3 s)";
        slow_leases("DHCP", row.dhcp.as_ref()?.bind_ns.as_ref()?, why)
    }

    fn note(clients: &Clients) -> Option<String> {
        let lost = clients.machine.counts().lost;
        (lost > 0).then(|| format!("{} DHCP leases ended while traffic ran", count(lost)))
    }
}

/// A note on the median time to a lease, if it is long.
pub(super) fn slow_leases(protocol: &str, bind: &LatencyResult, why: &str) -> Option<String> {
    let median = bind.p50.filter(|ns| *ns >= CHECKED.0)?;
    let waited_s = median as f64 / 1e9;
    Some(format!("{protocol} clients waited {waited_s:.1} s for their leases (median); {why}"))
}

fn dhcp(clients: &Clients, commands: u64) -> DhcpResult {
    let (counts, all) = (clients.machine.counts(), clients.all());
    DhcpResult {
        clients: all.into(),
        bound: clients.up.into(),
        holding: clients.holding().into(),
        failed: (all - clients.up).into(),
        begun_per_s: clients.machine.begun_per_s(),
        bound_per_s: clients.up_per_s(counts.bind.samples()),
        bind_ns: times(&counts.bind),
        discovers: counts.discovers,
        offers: counts.offers,
        requests: counts.requests,
        acks: counts.acks,
        naks: counts.naks,
        declines: counts.declines,
        releases: counts.releases,
        refused: counts.refused,
        repeated: counts.repeated,
        renewed: counts.renewed,
        rebound: counts.rebound,
        lost: counts.lost,
        conflicts: counts.conflicts,
        duplicates: counts.duplicates,
        commands,
    }
}

/// Reasons why a result with these clients is invalid.
fn complaints(clients: &Clients) -> Vec<String> {
    let (counts, all) = (clients.machine.counts(), clients.all());
    let mut complaints = Vec::new();
    if clients.up < all {
        complaints.push(format!(
            "{} of {} DHCP clients got an address within {}; traffic uses only these",
            count(clients.up.into()),
            count(all.into()),
            clients.timeout
        ));
    }
    if counts.conflicts > 0 {
        let conflicts = count(counts.conflicts);
        complaints.push(format!("the DHCP server leased {conflicts} addresses that another client here had"));
    }
    if counts.duplicates > 0 {
        let duplicates = count(counts.duplicates);
        complaints.push(format!(
            "the DHCP server leased {duplicates} addresses that neighbours have; they were declined"
        ));
    }
    if counts.refused > 0 {
        let refused = count(counts.refused);
        complaints.push(format!(
            "the DHCP server gave addresses that no client can have in {refused} messages; they were refused"
        ));
    }
    complaints
}

fn client_state(port: &str, view: &ClientView, now: Nanos) -> DhcpClientState {
    let held = view.held.as_ref();
    DhcpClientState {
        port: port.to_owned(),
        client: view.client,
        mac: units::Mac(view.mac).to_string(),
        ip: held.map(|held| held.lease.ip.to_string()),
        prefix_len: held.map(|held| held.lease.prefix_len),
        router: held.and_then(|held| held.lease.router).map(|ip| ip.to_string()),
        server: held.map(|held| held.server.to_string()),
        lease_s: held.map(|held| held.lease_s),
        renew_s: held.map(|held| held.renew_s),
        rebind_s: held.map(|held| held.rebind_s),
        leased_for_s: held.map(|held| now.since(held.since).as_secs_f64()),
        discovers: view.tally.discovers,
        offers: view.tally.offers,
        requests: view.tally.requests,
        acks: view.tally.acks,
        naks: view.tally.naks,
        releases: view.tally.releases,
    }
}

/// Why no client has an address.
fn nobody_bound(clients: &Clients) -> String {
    let (counts, whose, waited) = (clients.machine.counts(), clients.in_words(), clients.timeout);
    if counts.refused > 0 {
        return format!(
            "the DHCP server gave {whose} addresses that no client can have, in {} messages within {waited}: 0.0.0.0/8, \
             127.0.0.0/8, 224.0.0.0/3, the first or last of its network, or its own; check its pool",
            count(counts.refused)
        );
    }
    if counts.duplicates > 0 {
        return format!(
            "neighbours have the addresses that the DHCP server gave {whose}: {} were declined within {waited}; check its pool",
            count(counts.duplicates)
        );
    }
    if counts.offers == 0 {
        return format!(
            "no DHCP server replied to {} DISCOVER messages of {whose} within {waited}; check that a server is reachable from this \
             port",
            count(counts.discovers)
        );
    }
    if counts.naks > 0 {
        return format!(
            "the DHCP server refused the addresses it had offered: {} NAK messages to {whose} within {waited}",
            count(counts.naks)
        );
    }
    format!(
        "the DHCP server made {} offers to {whose} and replied to none of {} REQUEST messages within {waited}",
        count(counts.offers),
        count(counts.requests)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_that_take_seconds_have_a_reason() {
        let noted = |median| {
            let bind = LatencyResult { p50: Some(median), ..LatencyResult::default() };
            let dhcp = Some(DhcpResult { bind_ns: Some(bind), ..DhcpResult::default() });
            DhcpProtocol::peers_note(&PortResult { dhcp, ..PortResult::default() })
        };
        let note = noted(3_300_000_000).unwrap();
        assert!(note.contains("clients waited 3.3 s for their leases (median); servers may ping"), "{note}");
        assert_eq!(noted(512_000), None);
    }
}
