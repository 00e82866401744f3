//! Turns the result document of a trial into the outcome that its method takes.

use crate::directions::Directions;
use crate::shape::{DIRECTIONS, SLICES};
use crate::{addresses, convergence, leases, multicast, routes, services, sessions, switch};
use methods::{
    GroupOutcome, JitterSummary, LatencySummary, Outage, Recovery, TrialKind, TrialOutcome, TrialRequest,
};
use profile::Plan;
use result::{IntervalDocument, JitterResult, LatencyResult, Named, ResultDocument, Standing, StreamResult};
use units::{Nanos, Pps};

/// Outcome of a trial.
pub(crate) fn of(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
    document: &ResultDocument,
    intervals: &[IntervalDocument],
) -> TrialOutcome {
    match &request.kind {
        TrialKind::Sessions(_) | TrialKind::Mix(_) | TrialKind::Path | TrialKind::Tcp { .. } => {
            sessions::outcome(plan, directions, request, document, intervals)
        }
        TrialKind::Addresses { .. } => addresses::outcome(plan, directions, request, document),
        TrialKind::Multicast { .. } => multicast::outcome(plan, directions, request, document),
        TrialKind::Flows { .. } => switch::outcome(plan, request, document),
        TrialKind::Leases { rate, .. } => leases::outcome(*rate, document),
        TrialKind::Services { .. } => services::outcome(request, document, intervals),
        TrialKind::Routes { .. } => routes::outcome(plan, directions, request, document, intervals),
        TrialKind::Convergence { .. } => TrialOutcome {
            convergence: convergence::outcome(plan, directions, request, document),
            ..of_streams(directions, request, document, intervals)
        },
        _ => of_streams(directions, request, document, intervals),
    }
}

/// Outcome of a trial of streams.
pub(crate) fn of_streams(
    directions: &Directions,
    request: &TrialRequest,
    document: &ResultDocument,
    intervals: &[IntervalDocument],
) -> TrialOutcome {
    let rows = &document.groups[DIRECTIONS];
    let astray = misrouted(document);
    let received: u64 = directions.all.iter().map(|d| rows[&d.name].rx.unwrap_or(0)).sum();
    let group = |(direction, load): (&crate::Direction, &methods::OfferedLoad)| {
        let row = &rows[&direction.name];
        let mut group = group(&direction.name, row);
        group.requested = load.rate;
        let seconds = document.duration_s.max(1e-9);
        group.achieved = Pps::from_micro((group.sent as f64 / seconds * 1e6) as u64);
        // A port counts what is not meant for it, whose streams they are is shared out.
        group.wrong_port =
            (u128::from(astray) * u128::from(group.received) / u128::from(received.max(1))) as u64;
        group.received -= group.wrong_port.min(group.received);
        group.lost = group.sent.saturating_sub(group.received);
        group.lost_least = lost_least(document, &format!("groups.{DIRECTIONS}.{}", direction.name));
        if request.kind == TrialKind::SelfTest {
            // What becomes of the frames is not asked.
            (group.received, group.lost) = (group.sent, 0);
        }
        group
    };
    let mut outcome = of_any(document);
    outcome.groups = directions.all.iter().zip(&request.offered).map(group).collect();
    match &request.kind {
        TrialKind::Overload { .. } => outcome.recovery = Some(recovery(&document.groups[SLICES])),
        TrialKind::Reset { .. } => {
            outcome.outage = Some(outage(directions, rows, intervals));
            // A device that is reset takes its links down, which is part of the outage.
            outcome.valid |=
                outcome.reasons.iter().all(|reason| reason.contains(engine::trust::CARRIER_LOST));
        }
        TrialKind::SelfTest => {
            // The tester's limit is the answer here.
            outcome.valid |= outcome.generator_limited;
        }
        _ => {}
    }
    outcome
}

/// Parts common to every trial.
pub(crate) fn of_any(document: &ResultDocument) -> TrialOutcome {
    TrialOutcome {
        duration: Nanos((document.duration_s * 1e9) as u64),
        valid: document.verdict.valid,
        generator_limited: document.verdict.generator_limited,
        disturbed: document.verdict.disturbed,
        only_worse: only_worse(document),
        reasons: document.verdict.reasons.clone(),
        interrupted: document.interrupted,
        ..TrialOutcome::default()
    }
}

/// Whether the tester was disturbed, and nothing else is wrong: then the device did no worse than what was counted.
fn only_worse(document: &ResultDocument) -> bool {
    let verdict = &document.verdict;
    verdict.disturbed && !verdict.valid && !verdict.generator_limited
}

/// Frames of the row at `row` (`streams.a`) that the device certainly lost despite the disturbance of the tester;
/// `None` if nothing is known, if the tester was not disturbed, or if there is another fault: for example, routes that
/// were not announced.
pub(crate) fn lost_least(document: &ResultDocument, row: &str) -> Option<u64> {
    let reasons = &document.verdict.reasons;
    if !only_worse(document) || !reasons.iter().all(|reason| engine::trust::is_disturbance(reason)) {
        return None;
    }
    let least = match document.standing(&format!("{row}.lost")) {
        Standing::Holds { value, .. } => value,
        Standing::Bounds { lower, .. } => lower,
        Standing::CannotJudge(_) => None,
    };
    least.map(|frames| frames as u64)
}

/// Test frames that came to a port they should not have come to.
fn misrouted(document: &ResultDocument) -> u64 {
    document.ports.values().map(|port| port.rx_errors.get("misrouted").copied().unwrap_or(0)).sum()
}

/// Load of a row of streams.
pub(crate) fn group(name: &str, row: &StreamResult) -> GroupOutcome {
    GroupOutcome {
        group: name.to_owned(),
        sent: row.tx,
        received: row.rx.unwrap_or(0),
        duplicates: row.duplicates.unwrap_or(0),
        reordered: row.reordered.unwrap_or(0),
        latency: row.latency_ns.as_ref().map(latency),
        jitter: row.jitter_ns.as_ref().map(jitter),
        ..GroupOutcome::default()
    }
}

/// A distribution of times as results have it.
pub(crate) fn latency(times: &LatencyResult) -> LatencySummary {
    let percentile = |ns: Option<u64>| ns.unwrap_or(0) as f64;
    LatencySummary {
        samples: times.samples,
        min: times.min as f64,
        mean: times.mean,
        stddev: times.stddev,
        p50: percentile(times.p50),
        p90: percentile(times.p90),
        p95: Some(percentile(times.p95)),
        p99: percentile(times.p99),
        p99_9: percentile(times.p99_9),
        p99_99: percentile(times.p99_99),
        max: times.max as f64,
        histogram: Vec::new(),
    }
}

fn jitter(times: &JitterResult) -> JitterSummary {
    JitterSummary {
        rfc3550: times.rfc3550.unwrap_or(0.0),
        rfc4689_mean: times.rfc4689_mean,
        rfc4689_max: times.rfc4689_max as f64,
    }
}

/// When the last slice ended of which anything was lost.
fn recovery(slices: &Named<StreamResult>) -> Recovery {
    let mut recovery = Recovery::default();
    for (end, row) in slices {
        let lost = row.lost.unwrap_or(0);
        recovery.lost_after_drop += lost;
        if lost > 0 {
            let end = end.parse::<u64>().ok();
            recovery.last_loss_after_ns = recovery.last_loss_after_ns.max(end);
        }
    }
    recovery
}

/// The longest silence between two frames of a direction, and whether frames came in the last interval of sending.
fn outage(directions: &Directions, rows: &Named<StreamResult>, intervals: &[IntervalDocument]) -> Outage {
    let gaps = directions.all.iter().map(|d| Some(rows[&d.name].interarrival_ns.as_ref()?.max));
    let last = intervals.iter().rev().find(|interval| !interval.draining);
    let last = last.and_then(|interval| interval.groups.get(DIRECTIONS));
    let receives = |rows: &Named<StreamResult>, name: &str| rows.get(name).and_then(|row| row.rx) > Some(0);
    let came_back = last.is_some_and(|rows| directions.all.iter().all(|d| receives(rows, &d.name)));
    Outage { between_arrivals_ns: gaps.flatten().max(), came_back }
}
