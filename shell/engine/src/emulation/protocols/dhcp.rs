//! DHCP clients of a port, and what became of them.
//!
//! Not here: the protocol (`emulate::dhcp`).

use crate::control::commands::ActionOn;
use crate::emulation::protocol::{Context, HostProtocol, Listing, Planned, Wait, farewell, first_mac};
use crate::emulation::times::times;
use emulate::dhcp::{ClientView, DhcpClients, DhcpConfig};
use neighbour::{Host, Hosts, Mac};
use profile::plan::{ClientAddress, DhcpPlan, PortPlan};
use result::{DhcpClientState, DhcpResult, NewProtocolChange, PortResult, ProtocolAction, ProtocolStates};
use std::net::IpAddr;
use units::{Nanos, count};

/// DHCP clients of a port.
#[derive(Debug)]
pub(super) struct Clients {
    machine: DhcpClients,
    timeout: Nanos,
    /// Clients that had an address when traffic started.
    bound: u32,
    /// Clients that had one when traffic had ended.
    holding_at_end: Option<u32>,
}

impl Clients {
    fn new(plan: &DhcpPlan, port: Mac) -> Self {
        let mac = if plan.has_macs { plan.config.mac } else { first_mac(port) };
        let config = DhcpConfig { mac, ..plan.config.clone() };
        Self { machine: DhcpClients::new(config), timeout: plan.timeout, bound: 0, holding_at_end: None }
    }
}

impl Planned for Clients {
    const KEY: &'static str = "dhcp";
    const CONCERNS: fn(&[u8]) -> bool = emulate::may_concern;

    fn is_planned(port: &PortPlan) -> bool {
        port.dhcp.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        Some(Self::new(context.port.dhcp.as_ref()?, context.macs[0]))
    }
}

impl HostProtocol for Clients {
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
        now > wait.deadline || self.machine.all_bound()
    }

    fn conclude(&mut self, _: Nanos, _: bool) -> Option<String> {
        self.machine.give_up();
        self.bound = self.machine.holding();
        (self.bound == 0).then(|| nobody_bound(&self.machine, self.timeout))
    }

    fn shut(&mut self, now: Nanos) -> Nanos {
        self.machine.give_up();
        self.holding_at_end = Some(self.machine.holding());
        self.machine.release(now);
        let config = self.machine.config();
        now + farewell(config.clients as usize, config.rate)
    }

    fn is_over(&self) -> bool {
        self.machine.next_due() == Nanos::MAX
    }

    /// The reply to a request for the hardware address of a lease, which is not a host's yet.
    fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let machine = &self.machine;
        let IpAddr::V4(ip) = neighbour::asked_for(frame)? else { return None };
        let lease = machine.lease_of(ip)?;
        let host = Host {
            mac: lease.mac,
            vlans: machine.config().vlans.of(lease.client).into_owned(),
            addresses: vec![ip.into()],
            networks: Vec::new(),
            answers_for: vec![ip.into()..=ip.into()],
        };
        host.answer(frame)
    }

    fn addresses(&self) -> Vec<ClientAddress> {
        let vlans = &self.machine.config().vlans;
        let own = |client| vlans.differ().then(|| vlans.of(client).into_owned());
        let leases = self.machine.leases().map(ClientAddress::from);
        leases.map(|one| ClientAddress { vlans: own(one.client), ..one }).collect()
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
        all.counts.dhcp_clients += u64::from(self.machine.config().clients);
        all.counts.dhcp_leases += u64::from(self.machine.holding());
        let listed = self.machine.views().take(listing.limit - all.dhcp.len());
        all.dhcp.extend(listed.map(|view| client_state(listing.port, &view, listing.now)));
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        row.dhcp = Some(dhcp(self, commands));
    }

    fn complaints(&self) -> Vec<String> {
        complaints(self)
    }

    fn note(&self) -> Option<String> {
        let lost = self.machine.counts().lost;
        (lost > 0).then(|| format!("{} DHCP leases ended while traffic ran", count(lost)))
    }
}

fn dhcp(clients: &Clients, commands: u64) -> DhcpResult {
    let (counts, all) = (clients.machine.counts(), clients.machine.config().clients);
    let took = clients.machine.set_up_time().map(Nanos::as_secs_f64).filter(|took| *took > 0.0);
    DhcpResult {
        clients: all.into(),
        bound: clients.bound.into(),
        holding: clients.holding_at_end.unwrap_or_else(|| clients.machine.holding()).into(),
        failed: (all - clients.bound).into(),
        begun_per_s: clients.machine.begun_per_s(),
        bound_per_s: took.map(|took| counts.bind.samples() as f64 / took),
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
    let (counts, all) = (clients.machine.counts(), clients.machine.config().clients);
    let mut complaints = Vec::new();
    if clients.bound < all {
        complaints.push(format!(
            "{} of {} DHCP clients got an address within {}; traffic has only theirs",
            count(clients.bound.into()),
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

/// Why no client has an address after `waited`.
fn nobody_bound(machine: &DhcpClients, waited: Nanos) -> String {
    let (counts, clients) = (machine.counts(), machine.config().clients);
    let whose =
        if clients == 1 { "1 client".to_owned() } else { format!("{} clients", count(clients.into())) };
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
