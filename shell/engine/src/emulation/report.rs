//! What became of DHCP clients and memberships: their rows of the result, and sentences.

use super::hosts::{Clients, Emulation};
use histogram::Timing;
use result::{DhcpResult, LatencyResult, MulticastResult, ResultDocument};
use units::{Nanos, count};

impl Emulation {
    /// Adds what became of them to the document of their trial.
    pub(crate) fn report(&self, document: &mut ResultDocument) {
        let (ports, verdict) = (&mut document.ports, &mut document.verdict);
        for (port, (name, row)) in self.ports.iter().zip(ports) {
            if let Some(clients) = &port.dhcp {
                row.dhcp = Some(dhcp(clients));
                for reason in complaints(clients) {
                    verdict.valid = false;
                    verdict.reasons.push(format!("port {name}: {reason}"));
                }
                let lost = clients.machine.counts().lost;
                if lost > 0 {
                    let note = format!("port {name}: {} DHCP leases ended while traffic ran", count(lost));
                    verdict.notes.push(note);
                }
            }
            if let Some(members) = &port.members {
                let counts = members.counts();
                row.multicast = Some(MulticastResult {
                    joined: counts.joined,
                    left: counts.left,
                    reports: counts.reports,
                    queries: counts.queries,
                });
            }
        }
    }
}

fn dhcp(clients: &Clients) -> DhcpResult {
    let (counts, all) = (clients.machine.counts(), clients.machine.config().clients);
    let took = clients.machine.set_up_time().map(Nanos::as_secs_f64).filter(|took| *took > 0.0);
    DhcpResult {
        clients: all.into(),
        bound: clients.bound.into(),
        failed: (all - clients.bound).into(),
        bound_per_s: took.map(|took| counts.bind.samples() as f64 / took),
        bind_ns: times(&counts.bind),
        discovers: counts.discovers,
        offers: counts.offers,
        requests: counts.requests,
        acks: counts.acks,
        naks: counts.naks,
        releases: counts.releases,
        repeated: counts.repeated,
        renewed: counts.renewed,
        rebound: counts.rebound,
        lost: counts.lost,
        conflicts: counts.conflicts,
    }
}

fn times(timing: &Timing) -> Option<LatencyResult> {
    let quantile = |q| timing.histogram.quantile(q).map(|v| v.clamp(timing.min, timing.max));
    Some(LatencyResult {
        min: timing.min,
        mean: timing.mean()?,
        stddev: timing.stddev()?,
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        p99_9: quantile(0.999),
        p99_99: quantile(0.9999),
        max: timing.max,
        samples: timing.samples(),
    })
}

/// What makes a result with these clients invalid.
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
    complaints
}
