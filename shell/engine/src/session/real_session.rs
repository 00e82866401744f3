//! Trials and loans of ports on real time.

use super::baseline::Baseline;
use super::link_watcher::LinkWatcher;
use super::machine::WatchedMachine;
use super::neighbours::prepare;
use super::real::{self, RunOptions};
use super::{Session, assemble, fail, grown, leased, lent};
use crate::containment::contain;
use crate::control::commands::Commands;
use crate::emulation::Emulation;
use crate::error::EngineError;
use crate::fault;
use crate::observer::TrialObserver;
use crate::protocols::Protocols;
use crate::raw::RawTimes;
use crate::session::PortUser;
use crate::trust;
use os::TscClock;
use port::PortFacts;
use profile::Plan;
use result::{ClockResult, CoreMove, ProtocolResult, ResultDocument};
use std::time::Duration;

impl Session {
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
        let (plan, rig): (&Plan, _) = (&self.plan, &mut self.rig);
        let idle = |_| std::thread::sleep(Duration::from_micros(50));
        rig.control_cores = os::cpu::control_cores(&options.cores);
        rig.limit(plan);
        let attended = self.attended;
        let mut emulation = Emulation::new(plan, rig)?;
        emulation.begin(rig, clock, commands, attended, &idle)?;
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
        document.verdict.notes.extend(results.late.iter().cloned());
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
        emulation.note_peers(&mut document);
        if let Some(reason) = results.failure.clone().or(unwell) {
            fail(&mut document, reason);
        }
        if let Some(protocols) = &rig.protocols {
            tell_protocols(&mut document, protocols);
        }
        self.raw = RawTimes::of_results(&results.trial, &results.total);
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
