//! Makes the workers of a trial and starts the background tasks.

use crate::control::captures::Captures;
use crate::error::EngineError;
use crate::trial::Trial;
use crate::trial::endpoints::Endpoints;
use crate::trial::rig::Rig;
use crate::trial::session_endpoints::SessionEndpoints;
use crate::worker::Worker;
use jit::Jit;
use measure::Recorder;
use port::Stamps;
use profile::plan::StampsBy;
use sched::Share;
use units::Nanos;

/// From the moment all workers are ready to the first packet.
pub(super) const LEAD: Nanos = Nanos::from_millis(1);

/// Workers that another process may send with.
const FOREIGN_LANES: usize = 16;

/// Background tasks, and facts about them for the result.
pub(super) struct Background {
    pub(super) captures: Captures,
    /// Of each port whether the kernel records its test packets, or why not; `None` of ports that have no such thing.
    pub(super) recording: Vec<Option<Result<(), String>>>,
    /// Execution of varying fields, if any vary.
    pub(super) field_programs: Option<&'static str>,
    /// The ports that each worker sends from, and its share of them.
    pub(super) senders: Vec<Vec<(usize, Share)>>,
}

/// Workers for a trial. `wall_zero` is the wall clock's time at their zero; `None` in virtual time.
pub(super) fn workers<'a>(
    trial: &'a Trial<'_>,
    rig: &'a mut Rig,
    count: usize,
    wall_zero: Option<Nanos>,
) -> Result<(Vec<Worker<'a>>, Background), EngineError> {
    let shape = trial.shape;
    refuse_too_large(shape.bytes(count), shape.streams)?;
    let senders = trial.senders(&rig.queues(), count);
    let mut jit = None;
    let mut sessions = SessionEndpoints::new(trial, rig, count, wall_zero)?;
    let mut endpoints = trial.endpoints(rig, count, &mut jit)?;
    let captures = Captures::start(&trial.plan, &mut endpoints, wall_zero.unwrap_or(Nanos::ZERO))?;
    stamp(trial, &mut endpoints)?;
    let recording = record(trial, &mut endpoints);
    let field_programs = jit.as_ref().map(how_written);
    // How many workers another process sends with is not known here.
    let lanes = if trial.plan.sent_elsewhere.is_some() { FOREIGN_LANES } else { count };
    let worker = |(index, (transmitters, receivers))| {
        let local = sessions.local(trial, index)?;
        let recorder = Recorder::new(shape.table(), lanes);
        let interval = Box::new(shape.first_interval());
        let (hosts, expected) = (trial.hosts.clone(), trial.expected.clone());
        Ok(Worker::new(transmitters, receivers, local, hosts, expected, recorder, interval, trial.grace))
    };
    let workers = endpoints.into_iter().enumerate().map(worker).collect::<Result<_, EngineError>>()?;
    Ok((workers, Background { captures, recording, field_programs, senders }))
}

/// Has the kernel or cards stamp arrivals at ports whose profile wants it.
fn stamp(trial: &Trial<'_>, endpoints: &mut [Endpoints<'_>]) -> Result<(), EngineError> {
    for receiver in endpoints.iter_mut().flat_map(|(_, receivers)| receivers) {
        let port = &trial.plan.ports[receiver.port()];
        let Some(by) = port.stamps else { continue };
        let source = match by {
            StampsBy::Kernel => Stamps::Kernel,
            StampsBy::Hardware => Stamps::Hardware,
        };
        receiver.stamp(source).map_err(|reason| EngineError::Timestamps {
            port: port.name.clone(),
            by: by.name(),
            reason,
        })?;
    }
    Ok(())
}

/// Lets the kernel record test packets where it can.
fn record(trial: &Trial<'_>, endpoints: &mut [Endpoints<'_>]) -> Vec<Option<Result<(), String>>> {
    let mut ports = vec![None; trial.plan.ports.len()];
    for receiver in endpoints.iter_mut().flat_map(|(_, receivers)| receivers) {
        let outcome = receiver.record(&trial.expected);
        let port = &mut ports[receiver.port()];
        match outcome {
            Ok(true) if port.is_none() => *port = Some(Ok(())),
            Ok(_) => {}
            Err(reason) => *port = Some(Err(reason)),
        }
    }
    ports
}

/// Execution of varying fields.
pub(super) fn how_written(jit: &Jit) -> &'static str {
    if jit.compiles() { "compiled" } else { "interpreted" }
}

/// Counters are allocated before a trial starts, so one that does not fit is refused.
pub(super) fn refuse_too_large(needed: u64, streams: usize) -> Result<(), EngineError> {
    let available = os::memory::available_bytes();
    if needed <= available {
        return Ok(());
    }
    Err(EngineError::Machine(format!(
        "counters of {streams} streams need {} MB, and {} MB of memory are available; use --no-histograms or fewer streams",
        needed / 1_000_000,
        available / 1_000_000
    )))
}
