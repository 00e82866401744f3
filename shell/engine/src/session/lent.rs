//! Lends the ports of a plan, with the hosts of its sessions, to another sender than a trial's workers: one that decides
//! about each flow by what it has seen of others.
//!
//! Hosts are resolved, and reply to ARP, neighbour discovery and ping, as in a trial. One thread has all ports.
//!
//! Not here: streams, sessions as the profile has them, captures.

use crate::control::commands::Commands;
use crate::counts::interval::PortCounts;
use crate::error::EngineError;
use crate::rows;
use crate::sums::Sums;
use crate::trial::Trial;
use crate::trial::rig::Rig;
use crate::trial::session_endpoints::{LentHost, SessionEndpoints};
use crate::worker::flow_sink::{FlowSink, Outbox};
#[cfg(unix)]
use os::TscClock;
use port::{Burst, Clock};
use result::{ClockResult, Named, ResultDocument, Verdict};
use std::time::Duration;
use tcp::Sink;
use units::Nanos;

/// Longest sleep while nothing is due: frames that come in meanwhile wait.
const REST: Duration = Duration::from_micros(50);
/// A pause of the tester that shows in times.
const PAUSE: Nanos = Nanos::from_millis(50);
/// A pause after which other ends may have given up.
const LONG_PAUSE: Nanos = Nanos::from_secs(1);

/// A sender that borrows ports.
pub trait PortUser {
    /// Ports are open and neighbours known.
    fn begin(&mut self, now: Nanos, hosts: &[LentHost]);
    /// Takes a frame from a port. `unfinished`: its checksum was left to a card. Returns whether hosts must not reply to it.
    fn receive(&mut self, now: Nanos, port: usize, frame: &[u8], unfinished: bool) -> bool;
    /// Does what is due.
    fn turn(&mut self, now: Nanos);
    /// Writes frames for a port into `sink`, as far as it has room.
    fn transmit(&mut self, now: Nanos, port: usize, sink: &mut dyn Sink);
    /// When there is something to do next; at the latest, when a frame arrives.
    fn next_due(&self) -> Nanos;
    /// Ends early.
    fn stop(&mut self, now: Nanos);
    /// Whether it is done.
    fn is_over(&self) -> bool;
}

/// Time and frames of a loan.
struct Loan {
    begun: Nanos,
    ended: Nanos,
    counts: Vec<PortCounts>,
    longest_pause: Nanos,
    stopped: bool,
}

/// Lets the thread rest until something is due, and not for long.
#[cfg(unix)]
pub(super) fn rest(clock: &TscClock, until: Nanos) {
    let left = Duration::from_nanos(until.since(clock.now()).0);
    if !left.is_zero() {
        std::thread::sleep(left.min(REST));
    }
}

/// Lends the ports to `user` until it is done: the result of the loan.
pub(super) fn run<C: Clock>(
    trial: &Trial<'_>,
    rig: &mut Rig,
    clock: &C,
    clock_result: ClockResult,
    commands: &mut Commands,
    user: &mut dyn PortUser,
    idle: &dyn Fn(Nanos),
) -> Result<ResultDocument, EngineError> {
    let hosts = SessionEndpoints::new(trial, rig, 1, None)?.hosts(trial);
    let loan = drive(trial, rig, clock, commands, user, &hosts, idle);
    Ok(document(trial, &loan, clock_result))
}

fn drive<C: Clock>(
    trial: &Trial<'_>,
    rig: &mut Rig,
    clock: &C,
    commands: &mut Commands,
    user: &mut dyn PortUser,
    hosts: &[LentHost],
    idle: &dyn Fn(Nanos),
) -> Loan {
    let begun = clock.now();
    user.begin(begun, hosts);
    let mut loan = Loan {
        begun,
        ended: begun,
        counts: vec![PortCounts::default(); rig.ports.len()],
        longest_pause: Nanos::ZERO,
        stopped: false,
    };
    let mut outboxes: Vec<Outbox> = rig.ports.iter().map(|_| Outbox::default()).collect();
    let (mut burst, mut answers) = (Burst::new(), Vec::new());
    let mut expected = begun;
    loop {
        let now = clock.now();
        loan.longest_pause = loan.longest_pause.max(now.since(expected));
        if commands.is_stopped() && !loan.stopped {
            loan.stopped = true;
            user.stop(now);
        }
        user.turn(now);
        let mut busy = false;
        for (index, port) in rig.ports.iter_mut().enumerate() {
            let counts = &mut loan.counts[index];
            for queue in &mut port.queues.rx {
                queue.recv(&mut burst);
                busy |= !burst.is_empty();
                for i in 0..burst.len() {
                    let frame = burst.data(i);
                    counts.rx_packets += 1;
                    counts.rx_bytes += frame.len() as u64 + 4;
                    if !user.receive(now, index, frame, burst.has_unfinished_checksum(i)) {
                        answers.extend(trial.hosts.ports[index].answer(frame));
                    }
                }
                queue.free(&mut burst);
            }
            let Some(queue) = port.queues.tx.first_mut() else { continue };
            counts.tx_answers += answers.len() as u64;
            port.outlet.send(now, queue.as_mut(), &mut answers);
            let mut sink = FlowSink::new(queue.as_mut(), &mut outboxes[index], None, now, counts);
            user.transmit(now, index, &mut sink);
            busy |= sink.flush();
        }
        let is_empty = outboxes.iter().all(Outbox::is_empty);
        if user.is_over() && is_empty {
            loan.ended = now;
            break;
        }
        expected = clock.now();
        loan.longest_pause = loan.longest_pause.max(expected.since(now));
        if !busy {
            let next = if is_empty { user.next_due() } else { now };
            idle(next.max(Nanos(expected.0 + 1)));
            expected += Nanos(REST.as_nanos() as u64);
        }
    }
    for (outbox, port) in outboxes.iter_mut().zip(&mut rig.ports) {
        if let Some(queue) = port.queues.tx.first_mut() {
            outbox.free(queue.as_mut());
        }
    }
    loan
}

/// The result of a loan: frames of each port, and pauses of the tester.
fn document(trial: &Trial<'_>, loan: &Loan, clock: ClockResult) -> ResultDocument {
    let duration = loan.ended.since(loan.begun);
    let mut sums = Sums::new(trial.shape, 1);
    sums.ports.clone_from(&loan.counts);
    let is_virtual = clock.source == "virtual";
    let pause = Some(loan.longest_pause).filter(|pause| *pause >= PAUSE && !is_virtual);
    let reasons =
        pause.map(|pause| format!("the tester paused for {pause}: times are known no better than that"));
    let plan = &*trial.plan;
    ResultDocument {
        schema: result::SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: plan.seed,
        profile_sha256: plan.profile_sha256.clone(),
        started: None,
        failure: None,
        duration_s: duration.as_secs_f64(),
        interrupted: loan.stopped,
        clock,
        timestamp_class: "software".into(),
        self_latency_ns: None,
        verdict: Verdict {
            valid: pause.is_none_or(|pause| pause < LONG_PAUSE),
            disturbed: pause.is_some(),
            reasons: reasons.into_iter().collect(),
            ..Verdict::default()
        },
        achieved: None,
        overall: None,
        sim: None,
        machine: None,
        cleared: None,
        rate_changes: Vec::new(),
        field_programs: None,
        captures: Named::default(),
        protocols: Vec::new(),
        criteria: Vec::new(),
        ports: rows::ports(trial, &sums, duration.as_secs_f64().max(1e-9), None),
        streams: Named::default(),
        groups: Named::default(),
        sessions: Named::default(),
        workers: Vec::new(),
        agents: Vec::new(),
    }
}
