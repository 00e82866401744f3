//! Forecasts outcomes, so that a method can run to its end without traffic and its duration be estimated.

use crate::balancer::{BalancerOutcome, ChangeOutcome};
use crate::natxy::{NatBehavior, NatOutcome, NatTimeout};
use crate::outcome::{
    GroupChange, LeaseOutcome, MixEntry, MixOutcome, Outage, PathOutcome, Recovery, RouteOutcome,
    ServiceOutcome, SessionOutcome, StreamConvergence, TcpOutcome, TrialOutcome,
};
use crate::switch::FlowLoad;
use crate::trial::{Objective, ServiceLoad, TrialKind, TrialRequest};
use std::collections::BTreeMap;

/// Observed passes and failures, by kind of trial and frames.
#[derive(Debug, Clone, Default)]
pub(crate) struct Forecast {
    seen: BTreeMap<String, (f64, f64)>,
}

impl Forecast {
    /// Learns from an outcome.
    pub(crate) fn learn(&mut self, request: &TrialRequest, outcome: &TrialOutcome) {
        let passed = match &outcome.sessions {
            Some(sessions) => sessions.transactions_failed == 0 && sessions.attempted > 0,
            None if outcome.nat.is_some() => {
                outcome.nat.as_ref().is_some_and(|nat| nat.validated == nat.attempted)
                    && outcome.groups.iter().all(|group| group.lost == 0)
            }
            None => outcome.groups.iter().all(|group| group.lost == 0 && group.flooded == 0),
        };
        let magnitude = request.magnitude();
        let (low, high) = self.seen.entry(subject(request)).or_insert((0.0, f64::INFINITY));
        if passed {
            *low = low.max(magnitude);
            // Something above has failed before; now this is known to pass.
            *high = high.max(magnitude * 1.000_001);
        } else {
            *high = high.min(magnitude).max(*low);
        }
    }

    /// The guess: halfway on a logarithmic scale between what passed and what failed; three quarters of what failed.
    fn capacity(&self, request: &TrialRequest) -> f64 {
        match self.seen.get(&subject(request)) {
            Some((low, high)) if *low > 0.0 && high.is_finite() => (low * high).sqrt(),
            Some((low, _)) if *low > 0.0 => *low,
            Some((_, high)) if high.is_finite() => high * 0.75,
            _ => request.magnitude() * 0.75,
        }
    }

    /// Expected outcome of `request`.
    pub(crate) fn outcome(&self, request: &TrialRequest) -> TrialOutcome {
        let pass = (self.capacity(request) / request.magnitude().max(1e-300)).min(1.0);
        let mut outcome = TrialOutcome::forwarded(request, |_, sent| {
            if pass >= 1.0 { sent } else { ((sent as f64 * pass) as u64).min(sent.saturating_sub(1)) }
        });
        match &request.kind {
            TrialKind::Overload { .. } => outcome.recovery = Some(Recovery::default()),
            TrialKind::Reset { .. } => outcome.outage = Some(Outage { came_back: true, ..Outage::default() }),
            TrialKind::Convergence { .. } => outcome.convergence = vec![StreamConvergence::default()],
            TrialKind::Services { loads } => {
                let of = |load: &ServiceLoad| ServiceOutcome {
                    stream: load.stream.clone(),
                    ..ServiceOutcome::default()
                };
                outcome.services = loads.iter().map(of).collect();
            }
            TrialKind::Multicast { .. } => outcome.multicast = Some(GroupChange::default()),
            TrialKind::Leases { rate, alone, .. } => {
                let clients = (*rate).max(1);
                let pass = if *alone { 1.0 } else { pass };
                let bound = (clients as f64 * pass) as u64;
                outcome.leases = Some(LeaseOutcome { clients, bound, ..LeaseOutcome::default() });
            }
            TrialKind::Nat { task } => {
                let attempted = task.load().map_or(0, |load| load.connections);
                let validated = (attempted as f64 * pass) as u64;
                let torn_down_s = Some(0.1);
                let (behavior, timeout) = (Some(NatBehavior::default()), Some(NatTimeout::default()));
                let left = Some(0);
                outcome.nat = Some(NatOutcome {
                    attempted,
                    arrived: validated,
                    validated,
                    opened_per_s: 0.0,
                    behavior,
                    timeout,
                    torn_down_s,
                    left,
                });
            }
            TrialKind::Balancer { .. } => {
                let change = Some(ChangeOutcome::default());
                outcome.balancer = Some(BalancerOutcome { change, ..BalancerOutcome::default() });
            }
            TrialKind::Routes { .. } => outcome.routes = Some(RouteOutcome::default()),
            TrialKind::Path => outcome.path = Some(PathOutcome { mtu_bytes: 1500, rtt_min_ns: 1_000_000 }),
            TrialKind::Tcp { senders, .. } => {
                let of = |group: &String| TcpOutcome { group: group.clone(), ..TcpOutcome::default() };
                outcome.tcp = senders.iter().map(of).collect();
            }
            TrialKind::Sessions(load) => outcome.sessions = Some(sessions(load.value as f64, pass)),
            TrialKind::Mix(load) => {
                let all = sessions(load.multiplier, pass);
                let entry = MixEntry {
                    entry: String::new(),
                    objective: Objective::ConnectionsPerSecond,
                    asked: load.multiplier,
                    reached: all.open_per_s,
                    sessions: all.clone(),
                };
                (outcome.sessions, outcome.mix) =
                    (Some(all), Some(MixOutcome { entries: vec![entry], ..MixOutcome::default() }));
            }
            _ => {}
        }
        outcome
    }
}

fn sessions(value: f64, pass: f64) -> SessionOutcome {
    let attempted = (value.max(1.0) * 1_000.0) as u64;
    let failed = (attempted as f64 * (1.0 - pass)).ceil() as u64;
    let reached = value * pass;
    SessionOutcome {
        attempted,
        established: attempted - failed,
        transactions: attempted,
        transactions_failed: failed,
        open_per_s: reached,
        concurrent_mean: reached,
        concurrent_max: reached as u64,
        transactions_per_s: reached,
        goodput_bps: reached,
        ..SessionOutcome::default()
    }
}

/// Key of trials whose outcomes are evidence about each other.
fn subject(request: &TrialRequest) -> String {
    match &request.kind {
        TrialKind::Burst { .. } => format!("burst {}", request.frames),
        TrialKind::Addresses { .. } => "addresses".into(),
        TrialKind::Flows { flows } => {
            let of = |flow: &FlowLoad| (flow.from, flow.to, flow.frames.is_some());
            format!("flows {} {:?}", request.frames, flows.iter().map(of).collect::<Vec<_>>())
        }
        TrialKind::Sessions(load) => format!("{:?} {:?}", load.objective, load.app),
        TrialKind::Mix(_) => "mix".into(),
        TrialKind::Leases { alone, .. } => format!("leases {alone}"),
        TrialKind::Nat { task } => format!("nat {:?}", std::mem::discriminant(task)),
        TrialKind::Balancer { .. } => "balancer".into(),
        TrialKind::Routes { .. } => "routes".into(),
        TrialKind::Tcp { .. } => "tcp".into(),
        _ => format!("load {}", request.frames),
    }
}
