//! Loads a Plan on open ports and runs it.

#[cfg(unix)]
mod baseline;
mod collector;
mod control_loop;
mod late;
mod lent;
mod link_event;
#[cfg(unix)]
mod link_watcher;
#[cfg(unix)]
mod machine;
mod neighbours;
mod placement;
#[cfg(unix)]
mod real;
#[cfg(unix)]
mod real_session;
#[cfg(unix)]
mod silence;
mod simulated;
mod start;

pub use lent::PortUser;
#[cfg(unix)]
pub use real::RunOptions;
#[cfg(unix)]
pub use silence::unanswered;

use crate::achieved::achieved;
use crate::control::commands::Commands;
use crate::emulation::Emulation;
use crate::error::EngineError;
use crate::observer::{TrialObserver, View};
use crate::outages::Instants;
use crate::raw::RawTimes;
use crate::rows::{self, PortEnd};
use crate::session_rows;
use crate::trial::TrialStream;
use crate::trial::rig::Rig;
use crate::trust::{self, Evidence};
use collector::WorkerResults;
pub(crate) use link_event::LinkEvent;
use neighbours::prepare;
use port::{Clock, PortFacts, VirtualClock};
use profile::Plan;
use profile::plan::{Criterion, PortPlan, SessionEntry};
use result::{ClockResult, RateChange, ResultDocument, WorkerResult};
use std::borrow::Cow;
use std::sync::Arc;
use units::Nanos;

/// A Plan on open ports.
pub struct Session {
    plan: Arc<Plan>,
    rig: Rig,
    attended: bool,
    /// The plan with the streams that were added to the last trial, if any were.
    grown: Option<Plan>,
    /// Sums of the last trial, if other machines had a part in it.
    raw: Option<RawTimes>,
}

impl Session {
    /// Loads `plan` on the ports of `rig`, which are in the plan's order.
    pub fn load(plan: impl Into<Arc<Plan>>, rig: Rig) -> Self {
        let plan = plan.into();
        assert_eq!(plan.ports.len(), rig.ports.len(), "a rig has the ports of its plan");
        Self { plan, rig, attended: false, grown: None, raw: None }
    }

    /// Sets whether the trial is attended: then it waits neither for sessions and adjacencies of control
    /// protocols nor, if it sends nothing, for neighbours that do not reply, and it continues after everything is sent, until it
    /// is stopped or its duration is over.
    #[must_use]
    pub fn attended(self, attended: bool) -> Self {
        Self { attended, ..self }
    }

    /// Sums of the last trial, if other machines had a part in it.
    pub fn take_raw(&mut self) -> Option<RawTimes> {
        self.raw.take()
    }

    /// The ports, for another trial.
    pub fn into_rig(self) -> Rig {
        self.rig
    }

    /// Runs the trial on virtual time, with `workers` workers in turn on this thread.
    pub fn simulate<V: VirtualClock>(
        &mut self,
        workers: usize,
        histograms: bool,
        clock: &V,
        commands: &mut Commands,
        observer: &mut dyn TrialObserver,
    ) -> Result<ResultDocument, EngineError> {
        let (plan, rig): (&Plan, _) = (&self.plan, &mut self.rig);
        if let Some(port) = plan.ports.iter().find(|port| port.punt.is_some()) {
            let reason = "a simulated run has no network namespaces; leave it out".to_owned();
            return Err(EngineError::Punt { port: port.name.clone(), reason });
        }
        let idle = |until| clock.advance(until);
        rig.limit(plan);
        let mut emulation = Emulation::new(plan, rig)?;
        emulation.begin(rig, clock, commands, self.attended, &idle)?;
        let leased = leased(plan, &emulation)?;
        let plan = leased.as_ref().unwrap_or(plan);
        let control = (&mut *commands, &mut emulation);
        let trial = prepare(plan, rig, clock, histograms, self.attended, control, observer, &idle)?;
        let results = simulated::run(&trial, rig, workers, clock, commands, &mut emulation, observer)?;
        let drops = rig.driver_drops();
        let clock_result = ClockResult {
            source: "virtual".into(),
            hz: 1_000_000_000,
            uncertainty_ppm: None,
            drift_ppm: None,
            read_cost_ns: None,
            core_skew_ns: None,
        };
        let facts: Vec<PortFacts> = rig.facts().into_iter().cloned().collect();
        let mut document =
            assemble(&results, rig.queues(), &facts, drops, Vec::new(), Vec::new(), clock_result);
        document.timestamp_class = "simulated".into();
        emulation.end(rig, clock, &idle)?;
        emulation.report(&mut document);
        if let Some(reason) = results.failure.clone() {
            fail(&mut document, reason);
        }
        self.grown = grown(results);
        self.judge(&mut document);
        Ok(document)
    }

    /// Lends the ports to `user` until it is done, on virtual time.
    ///
    /// # Errors
    /// A port, or a neighbour that does not reply.
    pub fn lend_simulated<V: VirtualClock>(
        &mut self,
        clock: &V,
        commands: &mut Commands,
        user: &mut dyn PortUser,
    ) -> Result<ResultDocument, EngineError> {
        let clock_result = ClockResult {
            source: "virtual".into(),
            hz: 1_000_000_000,
            uncertainty_ppm: None,
            drift_ppm: None,
            read_cost_ns: None,
            core_skew_ns: None,
        };
        let mut document =
            self.lend_on(clock, clock_result, commands, user, &|until| clock.advance(until))?;
        document.timestamp_class = "simulated".into();
        Ok(document)
    }

    fn lend_on<C: Clock>(
        &mut self,
        clock: &C,
        clock_result: ClockResult,
        commands: &mut Commands,
        user: &mut dyn PortUser,
        idle: &dyn Fn(Nanos),
    ) -> Result<ResultDocument, EngineError> {
        let (plan, rig): (&Plan, _) = (&self.plan, &mut self.rig);
        if let Some(port) = plan.ports.iter().find(|port| port.rate_max.is_some() || port.punt.is_some()) {
            let reason =
                "this test keeps to no limit of a port, and serves no network namespace of its hosts";
            return Err(EngineError::Hosts { port: port.name.clone(), reason: reason.to_owned() });
        }
        rig.limit(plan);
        let mut emulation = Emulation::new(plan, rig)?;
        emulation.begin(rig, clock, commands, self.attended, idle)?;
        let leased = leased(plan, &emulation)?;
        let plan = leased.as_ref().unwrap_or(plan);
        let control = (&mut *commands, &mut emulation);
        let trial = prepare(plan, rig, clock, false, self.attended, control, &mut Unseen, idle)?;
        let document = lent::run(&trial, rig, clock, clock_result, commands, user, idle)?;
        emulation.end(rig, clock, idle)?;
        Ok(document)
    }

    /// Evaluates the plan's criteria on a document of its trial, and computes how much was achieved. [`run`](Self::run)
    /// and [`simulate`](Self::simulate) have done so; repeat it after adding to a document.
    pub fn judge(&self, document: &mut ResultDocument) {
        judge(&self.plan.criteria, self.grown.as_ref().unwrap_or(&self.plan), document);
    }
}

/// Evaluates a plan's criteria on a document of its trial on several machines, and computes how much was achieved.
pub fn judge_merged(plan: &Plan, document: &mut ResultDocument) {
    judge(&plan.criteria, plan, document);
}

fn judge(criteria: &[Criterion], plan: &Plan, document: &mut ResultDocument) {
    document.criteria = trust::judge_criteria(criteria, document);
    document.achieved = Some(achieved(plan, document));
    document.overall = Some(document.decide());
}

/// Takes no snapshots.
struct Unseen;

impl TrialObserver for Unseen {
    fn interval(&self) -> Nanos {
        Nanos::MAX
    }

    fn reads_streams(&self) -> bool {
        false
    }

    fn snapshot(&mut self, _: &View<'_>) {}
}

/// Says why the tester ended the run.
fn fail(document: &mut ResultDocument, reason: String) {
    document.interrupted = true;
    document.verdict.valid = false;
    document.verdict.reasons.insert(0, reason.clone());
    document.failure = Some(reason);
}

/// The plan with what its clients got; `None` if it has no clients.
fn leased(plan: &Plan, emulation: &Emulation) -> Result<Option<Plan>, EngineError> {
    if !plan.ports.iter().any(PortPlan::has_clients) {
        return Ok(None);
    }
    plan.with_leases(&emulation.leases()).map(Some).map_err(EngineError::Machine)
}

/// The plan with the streams that were added, if any were.
fn grown(results: WorkerResults<'_>) -> Option<Plan> {
    let Cow::Owned(trial) = results.trial else { return None };
    match trial.plan {
        Cow::Owned(plan) => Some(plan),
        Cow::Borrowed(_) => None,
    }
}

fn assemble(
    results: &WorkerResults<'_>,
    queues: Vec<usize>,
    facts: &[PortFacts],
    drops: Vec<port::DriverDrops>,
    punts: Vec<(u64, u64)>,
    links: Vec<Vec<LinkEvent>>,
    clock: ClockResult,
) -> ResultDocument {
    let trial = &*results.trial;
    let plan = &*trial.plan;
    let (mut links, mut queues, mut punts) = (links.into_iter(), queues.into_iter(), punts.into_iter());
    let mut recording = results.recording.iter().cloned();
    let moves = |port| results.moves.0.iter().filter(move |step| step.port == port).cloned().collect();
    let end = |(port, (unsent, drops)): (usize, (&u64, _))| PortEnd {
        unsent: *unsent,
        drops,
        moves: moves(port),
        queues: queues.next().unwrap_or_default(),
        punts_dropped: punts.next().unwrap_or_default(),
        links: links.next().unwrap_or_default(),
        recording: recording.next().flatten(),
        xdp_mode: facts[port].xdp_mode.clone(),
    };
    let ends: Vec<PortEnd> = results.unsent.iter().zip(drops).enumerate().map(end).collect();
    let span = sending_time(plan, results);
    let seconds = span.since(results.total.since.at).as_secs_f64().max(1e-9);
    let evidence = Evidence {
        trial,
        sums: &results.total,
        ends: &ends,
        drift_ppm: clock.drift_ppm,
        usage: &results.usage,
        unseen: &results.unseen,
        facts,
        spans: &results.spans,
        first_sent: &results.first_sent,
    };
    let workers = results.total.workers.iter().zip(&results.usage).map(|(time, usage)| WorkerResult {
        cpu_s: usage.map(|u| u.run_ns as f64 / 1e9),
        waited_s: usage.map(|u| u.wait_ns as f64 / 1e9),
        paused_s: usage.map(|_| time.paused_ns as f64 / 1e9),
        ..rows::worker(time)
    });
    let instants = Instants { spans: &results.spans, outages: &results.outages, epoch: results.epoch };
    let mut document = ResultDocument {
        schema: result::SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: plan.seed,
        profile_sha256: plan.profile_sha256.clone(),
        started: None,
        failure: None,
        duration_s: span.as_secs_f64(),
        interrupted: results.stopped.is_some(),
        clock,
        timestamp_class: "software".into(),
        self_latency_ns: None,
        verdict: evidence.verdict(),
        achieved: None,
        overall: None,
        sim: None,
        machine: None,
        cleared: rows::cleared(&results.total, span),
        rate_changes: before(&results.rate_changes, changing_time(results, span)).cloned().collect(),
        field_programs: results.field_programs.map(Into::into),
        captures: results.captures.clone(),
        protocols: Vec::new(),
        criteria: Vec::new(),
        ports: rows::ports(trial, &results.total, seconds, Some(&ends)),
        streams: rows::streams(trial, &results.total, span, Some(results.jitters()), Some(instants), true),
        groups: rows::groups(trial, &results.total, span, true),
        sessions: session_rows::sessions(trial, &results.total, span, true),
        workers: workers.collect(),
        agents: Vec::new(),
    };
    document.verdict.holds = evidence.holds(&document);
    document
}

/// Duration of traffic: as planned, unless it was stopped, ended early by count, or could not keep up. A receiver of another
/// process's packets knows when they came.
fn sending_time(plan: &Plan, results: &WorkerResults<'_>) -> Nanos {
    if plan.sent_elsewhere.is_some()
        && let Some(time) = arriving_time(results)
    {
        return time;
    }
    let last = results.last_departure.since(results.epoch).max(planned_end(results));
    let bounded = |entry: &SessionEntry| {
        let load = &entry.session.load;
        entry.session.client.is_some()
            && (load.count.is_some() || load.bytes.is_some() || load.time.is_some())
    };
    let counted = (!plan.streams.is_empty() || !plan.sessions.is_empty())
        && results.trial.streams.iter().all(TrialStream::is_bounded)
        && plan.sessions.iter().all(bounded);
    let unsent = results.unsent.iter().any(|n| *n > 0);
    match results.stopped {
        Some(stopped) => stopped.since(results.epoch).min(plan.duration),
        None if unsent => last.max(plan.duration),
        // Others may have sent longer.
        None if counted && results.trial.is_part() => {
            results.sent_at.since(results.epoch).max(last).min(plan.duration)
        }
        None if counted => last.max(time_on_wire(results)).min(plan.duration),
        None => plan.duration,
    }
}

/// When the last packets of streams have had the time that their rates give them: three packets at 10 per second take 0.3 s,
/// although the third leaves after 0.2 s. Zero where rates changed, which the profile does not know of.
fn planned_end(results: &WorkerResults<'_>) -> Nanos {
    let end = results.trial.streams.iter().filter_map(TrialStream::planned_end).max().unwrap_or(Nanos::ZERO);
    if before(&results.rate_changes, end).next().is_some() { Nanos::ZERO } else { end }
}

/// Time in which a change of rates can have changed something: until the run was stopped, or all was sent. A pause that lasts to the end
/// comes after the last departure.
fn changing_time(results: &WorkerResults<'_>, span: Nanos) -> Nanos {
    if results.stopped.is_some() { span } else { span.max(results.sent_at.since(results.epoch)) }
}

/// The changes whose instant came before `end`.
fn before(changes: &[RateChange], end: Nanos) -> impl Iterator<Item = &RateChange> {
    changes.iter().filter(move |change| change.at_s < end.as_secs_f64())
}

/// The least time in which the ports can have sent what they sent, of those whose speed is known: packets that are due at one
/// instant leave one after the other.
fn time_on_wire(results: &WorkerResults<'_>) -> Nanos {
    let trial = &results.trial;
    let times = (0..results.total.ports.len()).filter_map(|port| {
        let speed = trial.streams.iter().find(|stream| stream.from == port)?.speed_bps;
        let (packets, bytes) = results.total.port_sent_in_all(port);
        let bits = rows::l1_bits(bytes, packets);
        (speed > 0).then(|| Nanos((bits * 1e9 / speed as f64) as u64))
    });
    times.max().unwrap_or(Nanos::ZERO)
}

/// Time in which another process's packets came; `None` if none did.
fn arriving_time(results: &WorkerResults<'_>) -> Option<Nanos> {
    let spans = (0..results.trial.streams.len()).filter_map(|stream| {
        let span = results.spans.of(stream)?;
        Some((span.first, span.first + rows::sent_within(span, results.total.sent[stream])))
    });
    let (first, last) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    Some(last.since(first).max(Nanos(1)))
}
