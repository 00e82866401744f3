//! Results of DHCP clients, memberships, LLDP agents, LAG members, BGP sessions, OSPF and IS-IS adjacencies: their rows
//! of the result, and sentences.

use super::bgp::Speakers;
use super::hosts::{Clients, Emulation};
use super::times::times;
use result::{BgpResult, DhcpResult, MulticastResult, Named, PortResult, ResultDocument};
use units::{Nanos, count};

impl Emulation {
    /// Adds what became of them to the document of their trial.
    pub(crate) fn report(&self, document: &mut ResultDocument) {
        self.fill(&mut document.ports);
        let verdict = &mut document.verdict;
        for port in &self.ports {
            let name = &port.name;
            if let Some(clients) = &port.dhcp {
                for reason in complaints(clients) {
                    verdict.lack(format!("port {name}: {reason}"));
                }
                let lost = clients.machine.counts().lost;
                if lost > 0 {
                    let note = format!("port {name}: {} DHCP leases ended while traffic ran", count(lost));
                    verdict.notes.push(note);
                }
            }
            if let Some(clients) = &port.dhcp6 {
                for reason in clients.complaints() {
                    verdict.lack(format!("port {name}: {reason}"));
                }
                let lost = clients.machine.counts().lost;
                if lost > 0 {
                    let note = format!("port {name}: {} DHCPv6 leases ended while traffic ran", count(lost));
                    verdict.notes.push(note);
                }
            }
            if let Some(clients) = &port.pppoe {
                for reason in clients.complaints() {
                    verdict.lack(format!("port {name}: {reason}"));
                }
                verdict.notes.extend(clients.note().map(|note| format!("port {name}: {note}")));
            }
            if let Some(lacp) = &port.lacp {
                if let Some(reason) = lacp.complaint() {
                    verdict.lack(format!("port {name}: {reason}"));
                }
                verdict.notes.extend(lacp.note().map(|note| format!("port {name}: {note}")));
            }
            if let Some(speakers) = &port.bgp {
                for reason in speakers.complaints.clone() {
                    verdict.lack(format!("port {name}: {reason}"));
                }
                verdict.notes.extend(speakers.lost().map(|note| format!("port {name}: {note}")));
            }
            if let Some(routers) = &port.isis {
                for reason in &routers.complaints {
                    verdict.lack(format!("port {name}: {reason}"));
                }
                verdict.notes.extend(routers.lost().map(|note| format!("port {name}: {note}")));
            }
            if let Some(routers) = &port.ospf {
                for reason in &routers.complaints {
                    verdict.lack(format!("port {name}: {reason}"));
                }
                verdict.notes.extend(routers.lost().map(|note| format!("port {name}: {note}")));
            }
        }
    }

    /// Adds their figures to the rows of all ports.
    pub(crate) fn fill(&self, rows: &mut Named<PortResult>) {
        for (port, row) in self.ports.iter().zip(rows.values_mut()) {
            row.dhcp = port.dhcp.as_ref().map(|clients| dhcp(clients, port.commanded.dhcp));
            row.dhcpv6 = port.dhcp6.as_ref().map(|clients| clients.report(port.commanded.dhcp6));
            row.pppoe = port.pppoe.as_ref().map(|clients| clients.report(port.commanded.pppoe));
            row.lldp = port.lldp.as_ref().map(|agents| agents.report(port.commanded.lldp));
            row.lacp = port.lacp.as_ref().map(|lacp| lacp.report(port.commanded.lacp));
            row.ospf = port.ospf.as_ref().map(|routers| routers.report(port.commanded.ospf));
            row.isis = port.isis.as_ref().map(|routers| routers.report(port.commanded.isis));
            row.bgp = port.bgp.as_ref().map(|speakers| bgp(speakers, port.commanded.bgp));
            row.multicast = port.members.as_ref().map(|members| {
                let counts = members.counts();
                MulticastResult {
                    joined: counts.joined,
                    left: counts.left,
                    reports: counts.reports,
                    queries: counts.queries,
                    first_join_ns: counts.first_join.map(|at| at.0),
                    first_leave_ns: counts.first_leave.map(|at| at.0),
                }
            });
        }
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

fn bgp(speakers: &Speakers, commands: u64) -> BgpResult {
    let (counts, all) = (speakers.machine.counts(), speakers.plan.peers.len());
    BgpResult {
        peers: all as u64,
        established: speakers.established() as u64,
        failed: (all - speakers.established()) as u64,
        established_at_end: speakers.established_at_end.unwrap_or_else(|| speakers.machine.established())
            as u64,
        flaps: counts.flaps,
        restarts: counts.restarts,
        graceful_restart_peers: (0..all)
            .filter(|peer| speakers.machine.their_restart(*peer).is_some())
            .count() as u64,
        add_path_sessions: speakers.add_path_sessions() as u64,
        setup_ns: times(speakers.machine.set_up_times()),
        announced_after_s: speakers.told_after().map(Nanos::as_secs_f64),
        connections: counts.connections,
        advertised: counts.advertised,
        withdrawn: counts.withdrawn,
        first_withdrawal_ns: counts.first_withdrawal.map(|at| at.0),
        first_advertisement_ns: counts.first_advertisement.map(|at| at.0),
        received_ipv4: counts.received_ipv4,
        received_ipv6: counts.received_ipv6,
        received_withdrawn: counts.received_withdrawn,
        received_end_of_rib_ipv4: counts.ends_of_rib.0,
        received_end_of_rib_ipv6: counts.ends_of_rib.1,
        opens_sent: counts.opens.0,
        opens_received: counts.opens.1,
        updates_sent: counts.updates.0,
        updates_received: counts.updates.1,
        keepalives_sent: counts.keep_alives.0,
        keepalives_received: counts.keep_alives.1,
        notifications_sent: counts.notifications.0,
        notifications_received: counts.notifications.1,
        refreshes_received: counts.refreshes,
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
