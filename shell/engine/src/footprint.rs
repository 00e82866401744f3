//! About how much memory a plan's trial takes, before anything is allocated.
//!
//! Not here: what may be taken. Counters that do not fit are refused again when a trial starts (`session::start`).

use crate::counts::interval::Shape;
use profile::Plan;
use session::plan::SessionPlan;

/// Threads, buffers of ports, machine code, regardless of the plan.
const BASE_BYTES: u64 = 24 << 20;
/// Buffers of one queue of a port.
const QUEUE_BYTES: u64 = 8 << 20;
/// A stream beside its counters: its plan twice, packets, schedule, names, its rows in snapshots and in the result, as text too.
const STREAM_BYTES: u64 = 8 << 10;
/// Both ends of a session, with what applications keep of it.
const SESSION_BYTES: u64 = 1 << 10;

/// Sessions at a time where nothing bounds them: as many as are opened in the time that most last.
const UNBOUNDED_SESSIONS: u64 = 10_000;

/// Sessions of an entry at a time, at most.
fn at_a_time(plan: &SessionPlan) -> u64 {
    let load = &plan.load;
    load.concurrent.unwrap_or(UNBOUNDED_SESSIONS).min(load.count.unwrap_or(u64::MAX))
}

/// Estimated maximum memory of a run of `plan` on this number of workers, bytes.
pub fn memory_needed(plan: &Plan, workers: usize) -> u64 {
    let shape = Shape {
        has_paths: plan.streams.iter().any(|stream| !stream.also_to.is_empty()),
        has_samples: plan.streams.iter().any(|stream| stream.outages.is_some()),
        egress_rows: plan.streams.iter().map(|stream| stream.egress_values()).sum(),
        damage_rows: plan.streams.iter().filter(|stream| stream.integrity).count(),
        ..Shape::new(plan.streams.len(), plan.ports.len(), plan.sessions.len(), true)
    };
    let streams = plan.streams.len() as u64 * STREAM_BYTES;
    let queues = (plan.ports.len() * workers) as u64 * QUEUE_BYTES;
    let sessions: u64 = plan.sessions.iter().map(|entry| at_a_time(&entry.session)).sum();
    BASE_BYTES + queues + shape.bytes(workers) + streams + sessions.saturating_mul(SESSION_BYTES)
}
