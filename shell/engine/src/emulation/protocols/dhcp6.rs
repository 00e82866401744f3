//! DHCPv6 clients of a port, with the router of their link, and what became of them.
//!
//! Not here: the protocol (`emulate::dhcp6`).

use super::dhcp::slow_leases;
use crate::emulation::clients::{ClientProtocol, Clients};
use crate::emulation::protocol::{Context, Listing};
use crate::emulation::times::times;
use emulate::dhcp6::{ClientView6, Dhcp6Config, Dhcp6Protocol, Lease6};
use emulate::{PoolConfig, RouterFinders};
use neighbour::Mac;
use profile::plan::{Address, ClientAddress, Dhcp6Plan, PortPlan};
use result::{Dhcpv6ClientState, Dhcpv6Result, PortResult, ProtocolStates};
use std::net::{IpAddr, Ipv6Addr};
use units::{Nanos, count};

/// DHCPv6 clients of a port.
pub(super) type Clients6 = Clients<Dhcp6Protocol>;

/// The router of the clients' link.
#[derive(Debug)]
pub(crate) struct Link {
    finder: RouterFinders,
    /// The router when traffic started, and that time.
    router: Option<Ipv6Addr>,
    started: Nanos,
    /// The port's own networks and gateway, for links where no router advertises itself.
    own: Vec<Address>,
    gateway: Option<IpAddr>,
}

impl Clients6 {
    fn nobody_bound(&self) -> String {
        let (counts, whose, waited) = (self.machine.counts(), self.in_words(), self.timeout);
        if self.machine.config().slaac {
            return match self.beside.finder.autonomous() {
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
                "the DHCPv6 server does not lease what {whose} requested: {} replies without it within {waited}; check its pools of \
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
        let (conflicts, all) = (self.machine.counts().conflicts, self.all());
        let mut complaints = Vec::new();
        if self.up < all {
            complaints.push(format!(
                "{} of {} {} within {}; traffic uses only these",
                count(self.up.into()),
                count(all.into()),
                if slaac { "clients made an address" } else { "DHCPv6 clients got what they requested" },
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
        let (counts, all) = (self.machine.counts(), self.all());
        Dhcpv6Result {
            clients: all.into(),
            bound: self.up.into(),
            holding: self.holding().into(),
            failed: (all - self.up).into(),
            begun_per_s: self.machine.begun_per_s(),
            bound_per_s: self.up_per_s(counts.bind.samples()),
            bind_ns: times(&counts.bind),
            router: self.beside.router.map(|router| router.to_string()),
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

impl ClientProtocol for Dhcp6Protocol {
    const KEY: &'static str = "dhcpv6";

    type Beside = Link;

    fn plan(port: &PortPlan) -> Option<&Dhcp6Plan> {
        port.dhcpv6.as_ref()
    }

    fn pool(config: &mut Dhcp6Config) -> &mut PoolConfig {
        &mut config.pool
    }

    fn beside(context: &Context<'_>, pool: &PoolConfig) -> Link {
        let own = context.port.own();
        Link {
            finder: RouterFinders::new(pool.mac, pool.vlans.clone(), pool.clients, pool.rate),
            router: None,
            started: Nanos::ZERO,
            own: own.addresses.iter().filter(|own| own.ip.is_ipv6()).copied().collect(),
            gateway: own.gateways.iter().find(|ip| ip.is_ipv6()).copied(),
        }
    }

    fn take_other(clients: &mut Clients6, now: Nanos, frame: &[u8]) -> bool {
        let heard = clients.beside.finder.take(now, frame);
        if heard {
            clients.machine.advertise(now, clients.beside.finder.autonomous());
        }
        heard
    }

    fn poll(link: &mut Link, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        link.finder.poll(now, frames);
    }

    fn next_due_beside(link: &Link) -> Nanos {
        link.finder.next_due()
    }

    /// Whether all have their requested leases, and the router had time to advertise itself.
    fn is_settled(clients: &mut Clients6, now: Nanos) -> bool {
        clients.machine.is_settled() && clients.beside.finder.is_settled(now)
    }

    fn conclude(clients: &mut Clients6, now: Nanos) {
        let (all, link) = (clients.all(), &mut clients.beside);
        link.finder.give_up();
        link.router = (0..all).find_map(|client| link.finder.router(now, client));
        link.started = now;
    }

    fn trouble(clients: &Clients6) -> String {
        clients.nobody_bound()
    }

    fn holder(clients: &Clients6, ip: IpAddr) -> Option<(u32, Mac)> {
        let IpAddr::V6(ip) = ip else { return None };
        Some((clients.machine.client_of_ip(ip)?, clients.machine.mac_of_ip(ip)?))
    }

    fn addresses(clients: &Clients6) -> Vec<ClientAddress> {
        let (link, has_links) = (&clients.beside, clients.machine.common().vlans.differ());
        let router = |client| match has_links {
            // Most often all have the same link-local address.
            true => link.finder.router(link.started, client).or(link.router),
            false => link.router,
        };
        let address = |lease: &Lease6| {
            let ip = lease.ip?;
            let near = |own: &&Address| own.is_next_to(ip.into());
            let own = link.own.iter().find(near).map(|own| own.prefix_len);
            let prefix_len = link.finder.prefix_len(lease.client, ip).or(own).unwrap_or(128);
            Some(ClientAddress {
                client: lease.client,
                mac: lease.mac,
                address: Address { ip: ip.into(), prefix_len },
                link_local: Some(lease.link_local),
                router: router(lease.client).map(IpAddr::V6).or(link.gateway),
                vlans: None,
                session: None,
            })
        };
        clients.machine.leases().filter_map(|lease| address(&lease)).collect()
    }

    fn list(clients: &Clients6, listing: Listing<'_>, all: &mut ProtocolStates) {
        all.counts.dhcpv6_clients += u64::from(clients.all());
        all.counts.dhcpv6_leases += u64::from(clients.machine.up());
        let listed = clients.machine.views().take(listing.limit - all.dhcpv6.len());
        all.dhcpv6.extend(listed.map(|view| client6_state(listing.port, &view)));
    }

    fn report(clients: &Clients6, commands: u64, row: &mut PortResult) {
        row.dhcpv6 = Some(clients.row(commands));
    }

    fn complaints(clients: &Clients6) -> Vec<String> {
        clients.all_complaints()
    }

    fn peers_note(row: &PortResult) -> Option<String> {
        let why = "servers may be slow, or clients check their addresses first";
        slow_leases("DHCPv6", row.dhcpv6.as_ref()?.bind_ns.as_ref()?, why)
    }

    fn note(clients: &Clients6) -> Option<String> {
        let lost = clients.machine.counts().lost;
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
