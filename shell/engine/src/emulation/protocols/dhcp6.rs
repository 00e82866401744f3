//! DHCPv6 clients of a port, with the router of their link, and what became of them.
//!
//! Not here: the protocol (`emulate::dhcp6`).

use crate::control::commands::ActionOn;
use crate::emulation::protocol::{Context, HostProtocol, Listing, Planned, Wait, farewell, first_mac};
use crate::emulation::times::times;
use emulate::RouterFinders;
use emulate::dhcp6::{ClientView6, Dhcp6Clients, Dhcp6Config, Lease6};
use neighbour::{Host, Hosts, Mac};
use profile::plan::{Address, ClientAddress, Dhcp6Plan, HostPlan, PortPlan};
use result::{
    Dhcpv6ClientState, Dhcpv6Result, NewProtocolChange, PortResult, ProtocolAction, ProtocolStates,
};
use std::net::{IpAddr, Ipv6Addr};
use units::{Nanos, count};

/// DHCPv6 clients of a port.
#[derive(Debug)]
pub(super) struct Clients6 {
    machine: Dhcp6Clients,
    finder: RouterFinders,
    timeout: Nanos,
    /// Clients with their requested leases when traffic started, and the router then.
    bound: u32,
    /// Clients that had it when traffic had ended.
    holding_at_end: Option<u32>,
    router: Option<Ipv6Addr>,
    /// When traffic started.
    started: Nanos,
    /// The port's own networks and gateway, for links where no router advertises itself.
    own: Vec<Address>,
    gateway: Option<IpAddr>,
}

impl Clients6 {
    /// Clients of `plan`; the first has the hardware address `first` unless the profile sets one.
    fn new(plan: &Dhcp6Plan, own: &HostPlan, first: Mac) -> Self {
        let mac = if plan.has_macs { plan.config.mac } else { first };
        let config = Dhcp6Config { mac, ..plan.config.clone() };
        Self {
            finder: RouterFinders::new(mac, config.vlans.clone(), config.clients, config.rate),
            machine: Dhcp6Clients::new(config),
            timeout: plan.timeout,
            bound: 0,
            holding_at_end: None,
            router: None,
            started: Nanos::ZERO,
            own: own.addresses.iter().filter(|own| own.ip.is_ipv6()).copied().collect(),
            gateway: own.gateways.iter().find(|ip| ip.is_ipv6()).copied(),
        }
    }

    fn nobody_bound(&self) -> String {
        let (counts, clients, waited) = (self.machine.counts(), self.machine.config().clients, self.timeout);
        let whose =
            if clients == 1 { "1 client".to_owned() } else { format!("{} clients", count(clients.into())) };
        if self.machine.config().slaac {
            return match self.finder.autonomous() {
                None => format!(
                    "no router advertised a prefix for addresses of {whose} within {waited}; check that one sends advertisements \
                     with a prefix of 64 bits for autonomous configuration (flag A)"
                ),
                Some((prefix, _)) => format!(
                    "neighbours have the addresses that {whose} made from {prefix}/64: {} of them",
                    count(counts.duplicates)
                ),
            };
        }
        if counts.advertises + counts.replies == 0 {
            return format!(
                "no DHCPv6 server replied to {} SOLICIT messages of {whose} within {waited}; check that a server is reachable \
                 from this port",
                count(counts.solicits)
            );
        }
        if counts.duplicates > 0 {
            return format!(
                "neighbours have the addresses that the DHCPv6 server leases: {} were declined within {waited}",
                count(counts.duplicates)
            );
        }
        if counts.refused > 0 {
            return format!(
                "the DHCPv6 server does not give what {whose} asked for: {} answers without it within {waited}; check its pools of \
                 addresses and prefixes",
                count(counts.refused)
            );
        }
        format!(
            "the DHCPv6 server made {} offers to {whose}, and none became a lease within {waited}",
            count(counts.advertises)
        )
    }

    /// Reasons why a result with these clients is invalid.
    fn all_complaints(&self) -> Vec<String> {
        let slaac = self.machine.config().slaac;
        let (conflicts, all) = (self.machine.counts().conflicts, self.machine.config().clients);
        let mut complaints = Vec::new();
        if self.bound < all {
            complaints.push(format!(
                "{} of {} {} within {}; traffic has only theirs",
                count(self.bound.into()),
                count(all.into()),
                if slaac {
                    "clients have an address of their own"
                } else {
                    "DHCPv6 clients got what they asked for"
                },
                self.timeout
            ));
        }
        let duplicates = self.machine.counts().duplicates;
        if duplicates > 0 && slaac {
            let (duplicates, all) = (count(duplicates), count(all.into()));
            complaints.push(format!(
                "neighbours have the addresses that {duplicates} of {all} clients made; these have none"
            ));
        } else if duplicates > 0 {
            complaints.push(format!(
                "the DHCPv6 server leased {} addresses that neighbours have; they were declined",
                count(duplicates)
            ));
        }
        if conflicts > 0 {
            let conflicts = count(conflicts);
            complaints.push(format!(
                "the DHCPv6 server leased {conflicts} addresses or prefixes that another client here had"
            ));
        }
        complaints
    }

    fn row(&self, commands: u64) -> Dhcpv6Result {
        let (counts, all) = (self.machine.counts(), self.machine.config().clients);
        let took = self.machine.set_up_time().map(Nanos::as_secs_f64).filter(|took| *took > 0.0);
        Dhcpv6Result {
            clients: all.into(),
            bound: self.bound.into(),
            holding: self.holding_at_end.unwrap_or_else(|| self.machine.holding()).into(),
            failed: (all - self.bound).into(),
            begun_per_s: self.machine.begun_per_s(),
            bound_per_s: took.map(|took| counts.bind.samples() as f64 / took),
            bind_ns: times(&counts.bind),
            router: self.router.map(|router| router.to_string()),
            solicits: counts.solicits,
            advertises: counts.advertises,
            requests: counts.requests,
            renews: counts.renews,
            rebinds: counts.rebinds,
            releases: counts.releases,
            declines: counts.declines,
            replies: counts.replies,
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
}

impl Planned for Clients6 {
    const KEY: &'static str = "dhcpv6";
    const CONCERNS: fn(&[u8]) -> bool = emulate::may_concern;

    fn is_planned(port: &PortPlan) -> bool {
        port.dhcpv6.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        let plan = context.port.dhcpv6.as_ref()?;
        Some(Self::new(plan, context.port.own(), first_mac(context.macs[0])))
    }
}

impl HostProtocol for Clients6 {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        if !emulate::may_concern(frame) {
            return false;
        }
        if self.machine.take(now, frame) {
            return true;
        }
        let heard = self.finder.take(now, frame);
        if heard {
            self.machine.advertise(now, self.finder.autonomous());
        }
        heard
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.finder.poll(now, frames);
        self.machine.poll(now, frames);
    }

    fn next_due(&self) -> Nanos {
        self.machine.next_due().min(self.finder.next_due())
    }

    fn timeout(&self) -> Nanos {
        self.timeout
    }

    /// Whether all have their requested leases, and the router had time to advertise itself.
    fn may_start(&mut self, now: Nanos, wait: Wait) -> bool {
        now > wait.deadline || self.machine.is_settled() && self.finder.is_settled(now)
    }

    /// Traffic starts with the bound clients.
    fn conclude(&mut self, now: Nanos, _: bool) -> Option<String> {
        self.machine.give_up();
        self.finder.give_up();
        let clients = 0..self.machine.config().clients;
        self.router = clients.into_iter().find_map(|client| self.finder.router(now, client));
        (self.bound, self.started) = (self.machine.holding(), now);
        (self.bound == 0).then(|| self.nobody_bound())
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

    /// The reply to a request for the hardware address of a client, which is not a host yet, or no longer.
    fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let Some(IpAddr::V6(ip)) = neighbour::asked_for(frame) else { return None };
        let host = Host {
            mac: self.machine.mac_of_ip(ip)?,
            vlans: self.machine.config().vlans.of(self.machine.client_of_ip(ip)?).into_owned(),
            addresses: vec![ip.into()],
            networks: Vec::new(),
            answers_for: vec![ip.into()..=ip.into()],
        };
        host.answer(frame)
    }

    fn addresses(&self) -> Vec<ClientAddress> {
        let vlans = &self.machine.config().vlans;
        let router = |client| match vlans.differ() {
            // Most often all have the same link-local address.
            true => self.finder.router(self.started, client).or(self.router),
            false => self.router,
        };
        let address = |lease: &Lease6| {
            let ip = lease.ip?;
            let near = |own: &&Address| own.is_next_to(ip.into());
            let own = self.own.iter().find(near).map(|own| own.prefix_len);
            let prefix_len = self.finder.prefix_len(lease.client, ip).or(own).unwrap_or(128);
            Some(ClientAddress {
                client: lease.client,
                mac: lease.mac,
                address: Address { ip: ip.into(), prefix_len },
                link_local: Some(lease.link_local),
                router: router(lease.client).map(IpAddr::V6).or(self.gateway),
                vlans: vlans.differ().then(|| vlans.of(lease.client).into_owned()),
                session: None,
            })
        };
        self.machine.leases().filter_map(|lease| address(&lease)).collect()
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
        all.counts.dhcpv6_clients += u64::from(self.machine.config().clients);
        all.counts.dhcpv6_leases += u64::from(self.machine.holding());
        let listed = self.machine.views().take(listing.limit - all.dhcpv6.len());
        all.dhcpv6.extend(listed.map(|view| client6_state(listing.port, &view)));
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        row.dhcpv6 = Some(self.row(commands));
    }

    fn complaints(&self) -> Vec<String> {
        self.all_complaints()
    }

    fn note(&self) -> Option<String> {
        let lost = self.machine.counts().lost;
        (lost > 0).then(|| format!("{} DHCPv6 leases ended while traffic ran", count(lost)))
    }
}

fn client6_state(port: &str, view: &ClientView6<'_>) -> Dhcpv6ClientState {
    let (held, tally) = (view.held.as_ref(), &view.tally);
    Dhcpv6ClientState {
        port: port.to_owned(),
        client: view.client,
        mac: units::Mac(view.mac).to_string(),
        link_local: emulate::link_local(view.mac).to_string(),
        ip: held.and_then(|held| held.lease.ip).map(|ip| ip.to_string()),
        prefix: held.and_then(|held| held.lease.prefix).map(|(ip, _)| ip.to_string()),
        prefix_len: held.and_then(|held| held.lease.prefix).map(|(_, len)| len),
        server: held.map(|held| held.server.iter().map(|byte| format!("{byte:02x}")).collect()),
        valid_s: held.map(|held| held.valid_s),
        renew_s: held.map(|held| held.renew_s),
        rebind_s: held.map(|held| held.rebind_s),
        solicits: tally.solicits,
        advertises: tally.advertises,
        passed_over: tally.passed_over,
        requests: tally.requests,
        renews: tally.renews,
        rebinds: tally.rebinds,
        replies: tally.replies,
        refused: tally.refused,
        releases: tally.releases,
    }
}
