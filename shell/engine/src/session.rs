//! Loads a Plan on open ports and runs it.

mod baseline;
mod collector;
mod control_loop;
mod lent;
mod link_watcher;
mod machine;
mod neighbours;
mod placement;
mod real;
mod silence;
mod simulated;
mod start;

pub use lent::PortUser;
pub use real::RunOptions;
pub use silence::unanswered;

use crate::achieved::achieved;
use crate::containment::contain;
use crate::control::commands::Commands;
use crate::emulation::Emulation;
use crate::error::EngineError;
use crate::fault;
use crate::observer::{TrialObserver, View};
use crate::outages::Instants;
use crate::peers;
use crate::protocols::Protocols;
use crate::rows::{self, PortEnd};
use crate::session_rows;
use crate::trial::TrialStream;
use crate::trial::rig::Rig;
use crate::trust::{self, Evidence};
use baseline::Baseline;
use collector::WorkerResults;
pub(crate) use link_watcher::LinkEvent;
use link_watcher::LinkWatcher;
use machine::WatchedMachine;
use neighbours::prepare;
use os::TscClock;
use port::{Clock, PortFacts, VirtualClock};
use profile::Plan;
use profile::plan::SessionEntry;
use result::{ClockResult, CoreMove, ProtocolResult, ResultDocument, WorkerResult};
use std::borrow::Cow;
use std::time::Duration;
use units::Nanos;

/// A Plan on open ports.
pub struct Session {
    plan: Plan,
    rig: Rig,
    attended: bool,
    /// The plan with the streams that were added to the last trial, if any were.
    grown: Option<Plan>,
}

impl Session {
    /// Loads `plan` on the ports of `rig`, which are in the plan's order.
    pub fn load(plan: Plan, rig: Rig) -> Self {
        assert_eq!(plan.ports.len(), rig.ports.len(), "a rig has the ports of its plan");
        Self { plan, rig, attended: false, grown: None }
    }

    /// Sets whether the trial is attended: then it waits neither for BGP sessions nor for OSPF and IS-IS adjacencies,
    /// nor, if it sends nothing, for neighbours that do not reply, and it continues after everything is sent, until it
    /// is stopped or its duration is over.
    #[must_use]
    pub fn attended(self, attended: bool) -> Self {
        Self { attended, ..self }
    }

    /// The ports, for another trial.
    pub fn into_rig(self) -> Rig {
        self.rig
    }

    /// Runs the trial on real time.
    pub fn run(
        &mut self,
        options: &RunOptions,
        clock: &TscClock,
        commands: &mut Commands,
        observer: &mut dyn TrialObserver,
    ) -> Result<ResultDocument, EngineError> {
        contain("the run", || self.run_for_real(options, clock, commands, observer))
            .unwrap_or_else(|reason| Err(EngineError::Failed(reason)))
    }

    fn run_for_real(
        &mut self,
        options: &RunOptions,
        clock: &TscClock,
        commands: &mut Commands,
        observer: &mut dyn TrialObserver,
    ) -> Result<ResultDocument, EngineError> {
        let self_latency = trust::self_latency(clock);
        let skew = clock.cores_agree(&options.cores);
        let (plan, rig) = (&self.plan, &mut self.rig);
        let idle = |_| std::thread::sleep(Duration::from_micros(50));
        rig.control_cores = os::cpu::control_cores(&options.cores);
        rig.limit(plan);
        let attended = self.attended;
        let mut emulation = Emulation::new(plan, rig)?;
        emulation.begin(plan, rig, clock, commands, attended, &idle)?;
        let leased = leased(plan, &emulation)?;
        let plan = leased.as_ref().unwrap_or(plan);
        let (histograms, control) = (options.histograms, (&mut *commands, &mut emulation));
        let trial = prepare(plan, rig, clock, histograms, attended, control, observer, &idle)?;
        let facts: Vec<PortFacts> = rig.facts().into_iter().cloned().collect();
        let before = Baseline::take(rig, &facts);
        let punts_before = rig.punts_dropped();
        let started = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
        let watcher = LinkWatcher::begin(&facts, clock);
        let results = real::run(&trial, rig, options, clock, commands, &mut emulation, observer)?;
        let (watcher, unwatched) = match watcher {
            Ok(watcher) => (watcher, None),
            Err(error) => (None, Some(format!("link state was not monitored during the trial: {error}"))),
        };
        let links = watcher.map_or_else(Vec::new, |watcher| watcher.end(facts.len(), results.epoch));
        let drops = before.drops(rig, &facts, &results.total);
        let drift = clock.recheck();
        let clock_facts = clock.facts();
        let clock_result = ClockResult {
            source: clock_facts.source.into(),
            hz: clock_facts.hz,
            uncertainty_ppm: Some(clock_facts.uncertainty_ppm),
            drift_ppm: Some(drift.ppm),
            read_cost_ns: Some(clock_facts.read_cost_ns),
            core_skew_ns: (options.cores.len() > 1).then_some(skew.max_ns),
        };
        let punts = rig.punts_dropped().into_iter().zip(punts_before);
        let punts = punts.map(|(now, before)| (now.0 - before.0, now.1 - before.1)).collect();
        let mut document = assemble(&results, rig.queues(), &facts, drops, punts, links, clock_result);
        document.started = Some(started);
        document.verdict.notes.extend(unwatched);
        document.self_latency_ns = self_latency;
        for (number, (worker, core)) in document.workers.iter_mut().zip(&options.cores).enumerate() {
            worker.core = Some(*core);
            worker.priority = results.priorities.get(number).cloned();
        }
        if let Some(watched) = &results.watched {
            add_machine(&mut document, watched);
        }
        let farewell = contain("the end of the hosts' protocols", || {
            fault::point("farewell");
            emulation.end(rig, clock, &idle)?;
            emulation.report(&mut document);
            Ok::<_, EngineError>(())
        });
        // What was counted is not lost by how hosts took leave.
        let unwell = farewell.and_then(|ended| ended.map_err(|error| error.to_string())).err();
        let lasted = Nanos((document.duration_s * 1e9) as u64);
        document.verdict.notes.extend(peers::notes(&document.ports, lasted));
        if let Some(reason) = results.failure.clone().or(unwell) {
            fail(&mut document, reason);
        }
        if let Some(protocols) = &rig.protocols {
            tell_protocols(&mut document, protocols);
        }
        self.grown = grown(results);
        self.judge(&mut document);
        Ok(document)
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
        let (plan, rig) = (&self.plan, &mut self.rig);
        if let Some(port) = plan.ports.iter().find(|port| port.punt.is_some()) {
            let reason = "a simulated run has no network namespaces; leave it out".to_owned();
            return Err(EngineError::Punt { port: port.name.clone(), reason });
        }
        let idle = |until| clock.advance(until);
        rig.limit(plan);
        let mut emulation = Emulation::new(plan, rig)?;
        emulation.begin(plan, rig, clock, commands, self.attended, &idle)?;
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

    /// Lends the ports to `user` until it is done, on real time.
    ///
    /// # Errors
    /// A port, or a neighbour that does not reply.
    pub fn lend(
        &mut self,
        clock: &TscClock,
        commands: &mut Commands,
        user: &mut dyn PortUser,
    ) -> Result<ResultDocument, EngineError> {
        let rest = |until| lent::rest(clock, until);
        let facts = clock.facts();
        let clock_result = ClockResult {
            source: facts.source.into(),
            hz: facts.hz,
            uncertainty_ppm: Some(facts.uncertainty_ppm),
            drift_ppm: None,
            read_cost_ns: Some(facts.read_cost_ns),
            core_skew_ns: None,
        };
        let started = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
        self.rig.control_cores = os::cpu::allowed();
        let mut document = self.lend_on(clock, clock_result, commands, user, &rest)?;
        document.started = Some(started);
        Ok(document)
    }

    /// The same on virtual time.
    ///
    /// # Errors
    /// As for [`lend`](Self::lend).
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
        let (plan, rig) = (&self.plan, &mut self.rig);
        if let Some(port) = plan.ports.iter().find(|port| port.rate_max.is_some() || port.punt.is_some()) {
            let reason =
                "this test keeps to no limit of a port, and serves no network namespace of its hosts";
            return Err(EngineError::Hosts { port: port.name.clone(), reason: reason.to_owned() });
        }
        rig.limit(plan);
        let mut emulation = Emulation::new(plan, rig)?;
        emulation.begin(plan, rig, clock, commands, self.attended, idle)?;
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
        document.criteria = trust::judge_criteria(&self.plan.criteria, document);
        document.achieved = Some(achieved(self.grown.as_ref().unwrap_or(&self.plan), document));
        document.overall = Some(document.decide());
    }
}

/// Takes no snapshots.
struct Unseen;

impl TrialObserver for Unseen {
    fn interval(&self) -> Nanos {
        Nanos::MAX
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

/// The plan with what its DHCP and PPPoE clients got; `None` if it has no clients.
fn leased(plan: &Plan, emulation: &Emulation) -> Result<Option<Plan>, EngineError> {
    if !plan.ports.iter().any(|port| port.has_clients() || port.pppoe.is_some()) {
        return Ok(None);
    }
    plan.with_leases(&emulation.leases()).map(Some).map_err(EngineError::Machine)
}

/// Adds what was seen of the machine, and moves of workers.
fn add_machine(document: &mut ResultDocument, watched: &WatchedMachine) {
    document.machine = Some(watched.machine.clone());
    for (number, (worker, moves)) in document.workers.iter_mut().zip(&watched.moves).enumerate() {
        worker.moves.clone_from(moves);
        for CoreMove { at_s, from, to, waited_ratio } in moves {
            worker.core = Some(*to);
            document.verdict.notes.push(format!(
                "worker {number} moved from core {from} to core {to} {at_s:.1} s after the start: it waited for core {from}, which \
                 other processes used, {:.0}% of the time",
                waited_ratio * 100.0
            ));
        }
    }
}

/// Adds the results of control-protocol programs.
fn tell_protocols(document: &mut ResultDocument, protocols: &Protocols) {
    for state in protocols.states() {
        if let Some(reason) = &state.ended {
            document.verdict.lack(format!("protocols.{}: {reason}", state.name));
        }
        document.protocols.push(ProtocolResult {
            name: state.name,
            folder: state.folder.display().to_string(),
            logs: state.logs.iter().map(|path| path.display().to_string()).collect(),
            up_after_s: state.up_after.map(|after| after.as_secs_f64()),
            ended: state.ended,
        });
    }
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
    let seconds = span.as_secs_f64().max(1e-9);
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
        rate_changes: results.rate_changes.clone(),
        field_programs: results.field_programs.map(Into::into),
        captures: results.captures.clone(),
        protocols: Vec::new(),
        criteria: Vec::new(),
        ports: rows::ports(trial, &results.total, seconds, Some(&ends)),
        streams: rows::streams(trial, &results.total, span, Some(results.jitters()), Some(instants), true),
        groups: rows::groups(trial, &results.total, span, true),
        sessions: session_rows::sessions(trial, &results.total, span, true),
        workers: workers.collect(),
    };
    document.verdict.holds = evidence.holds(&document);
    document
}

/// Duration of traffic: as planned, unless it was stopped, ended early by count, or could not keep up.
fn sending_time(plan: &Plan, results: &WorkerResults<'_>) -> Nanos {
    let last = results.last_departure.since(results.epoch);
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
        None if counted => last.min(plan.duration),
        None => plan.duration,
    }
}
