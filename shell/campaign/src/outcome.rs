//! From the result document of a trial to what its method is told.

use crate::bed::Bed;
use crate::shape::{DIRECTIONS, SLICES};
use crate::{addresses, sessions};
use engine::ResultDocument;
use methods::{
    GroupOutcome, JitterSummary, LatencySummary, Outage, Recovery, TrialKind, TrialOutcome, TrialRequest,
};
use profile::Plan;
use serde_json::Value;
use units::{Nanos, Pps};

/// What came of a trial.
pub(crate) fn of(
    plan: &Plan,
    bed: &Bed,
    request: &TrialRequest,
    document: &ResultDocument,
    intervals: &[Value],
) -> TrialOutcome {
    match &request.kind {
        TrialKind::Sessions(_) | TrialKind::Path | TrialKind::Tcp { .. } => {
            sessions::outcome(plan, bed, request, document, intervals)
        }
        TrialKind::Addresses { .. } => addresses::outcome(plan, bed, request, document),
        _ => of_streams(bed, request, document, intervals),
    }
}

/// What came of a trial of streams.
pub(crate) fn of_streams(
    bed: &Bed,
    request: &TrialRequest,
    document: &ResultDocument,
    intervals: &[Value],
) -> TrialOutcome {
    let rows = &document.groups[DIRECTIONS];
    let astray = misrouted(document);
    let received: u64 = bed.directions.iter().map(|d| number(&rows[&d.name], "rx")).sum();
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
        if request.kind == TrialKind::SelfTest {
            // What becomes of the frames is not asked.
            (group.received, group.lost) = (group.sent, 0);
        }
        group
    };
    let mut outcome = of_any(document);
    outcome.groups = bed.directions.iter().zip(&request.offered).map(group).collect();
    match &request.kind {
        TrialKind::Overload { .. } => outcome.recovery = Some(recovery(&document.groups[SLICES])),
        TrialKind::Reset { .. } => outcome.outage = Some(outage(bed, rows, intervals)),
        TrialKind::SelfTest => {
            // The tester's limit is the answer here.
            outcome.valid |= outcome.generator_limited;
        }
        _ => {}
    }
    outcome
}

/// What every trial has.
pub(crate) fn of_any(document: &ResultDocument) -> TrialOutcome {
    TrialOutcome {
        duration: Nanos((document.duration_s * 1e9) as u64),
        valid: document.verdict.valid,
        generator_limited: document.verdict.generator_limited,
        reasons: document.verdict.reasons.clone(),
        interrupted: document.interrupted,
        ..TrialOutcome::default()
    }
}

/// Test frames that came to a port they should not have come to.
fn misrouted(document: &ResultDocument) -> u64 {
    document.ports.values().map(|port| number(&port["rx_errors"], "misrouted")).sum()
}

fn group(name: &str, row: &Value) -> GroupOutcome {
    GroupOutcome {
        group: name.to_owned(),
        sent: number(row, "tx"),
        received: number(row, "rx"),
        duplicates: number(row, "duplicates"),
        reordered: number(row, "reordered"),
        latency: latency(&row["latency_ns"]),
        jitter: jitter(&row["jitter_ns"]),
        ..GroupOutcome::default()
    }
}

/// A distribution of times as results have it.
pub(crate) fn latency(row: &Value) -> Option<LatencySummary> {
    let at = |key: &str| row[key].as_f64().unwrap_or(0.0);
    row.is_object().then(|| LatencySummary {
        samples: number(row, "samples"),
        min: at("min"),
        mean: at("mean"),
        stddev: at("stddev"),
        p50: at("p50"),
        p90: at("p90"),
        p99: at("p99"),
        p99_9: at("p99_9"),
        p99_99: at("p99_99"),
        max: at("max"),
        histogram: Vec::new(),
    })
}

fn jitter(row: &Value) -> Option<JitterSummary> {
    let at = |key: &str| row[key].as_f64().unwrap_or(0.0);
    row.is_object().then(|| JitterSummary {
        rfc3550: at("rfc3550"),
        rfc4689_mean: at("rfc4689_mean"),
        rfc4689_max: at("rfc4689_max"),
    })
}

/// When the last slice ended of which anything was lost.
fn recovery(slices: &Value) -> Recovery {
    let mut recovery = Recovery::default();
    for (end, row) in slices.as_object().into_iter().flatten() {
        let lost = number(row, "lost");
        recovery.lost_after_drop += lost;
        if lost > 0 {
            let end = end.parse::<u64>().ok();
            recovery.last_loss_after_ns = recovery.last_loss_after_ns.max(end);
        }
    }
    recovery
}

/// The longest silence between two frames of a direction, and whether frames came in the last interval of sending.
fn outage(bed: &Bed, rows: &Value, intervals: &[Value]) -> Outage {
    let gaps = bed.directions.iter().map(|d| rows[&d.name]["interarrival_ns"]["max"].as_u64());
    let sending = |interval: &&Value| interval["draining"] == false;
    let last = intervals.iter().rev().find(sending).map(|interval| &interval["groups"][DIRECTIONS]);
    let comes = |last: &Value| bed.directions.iter().all(|d| number(&last[&d.name], "rx") > 0);
    Outage { between_arrivals_ns: gaps.flatten().max(), came_back: last.is_some_and(comes) }
}

pub(crate) fn number(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or(0)
}
