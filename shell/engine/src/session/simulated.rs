//! Workers in turn on this thread, time jumping from event to event.

use super::collector::{Collector, WorkerResults};
use super::control_loop::{ControlLoop, Workers};
use super::start::{LEAD, workers};
use crate::control::commands::Commands;
use crate::emulation::Emulation;
use crate::error::EngineError;
use crate::observer::TrialObserver;
use crate::trial::Trial;
use crate::trial::rig::Rig;
use crate::worker::Worker;
use crate::worker::addition::Addition;
use crate::worker::commands::{HostEvent, WorkerCommand};
use port::VirtualClock;
use units::Nanos;

pub(super) fn run<'a, V: VirtualClock>(
    trial: &'a Trial<'a>,
    rig: &mut Rig,
    count: usize,
    clock: &V,
    commands: &mut Commands,
    emulation: &mut Emulation,
    observer: &mut dyn TrialObserver,
) -> Result<WorkerResults<'a>, EngineError> {
    let (mut workers, mut background) = workers(trial, rig, count, None)?;
    background.captures.request(commands.take_captures());
    let epoch = clock.now() + LEAD;
    observer.begins(epoch);
    workers.iter_mut().try_for_each(|worker| worker.attach(epoch))?;
    let mut collector = Collector::new(trial, count, epoch, false, observer.reads_streams());
    let mut turns = Turns { workers, clock, idle: false };
    let (captures, senders) = (&mut background.captures, &background.senders);
    let (stopped, failure) = ControlLoop {
        collector: &mut collector,
        captures,
        senders,
        leaving: Vec::new(),
        scaling: Vec::new(),
        later: Vec::new(),
        stops: None,
        commands,
        emulation,
        observer,
    }
    .run(&mut turns);
    let finish = |worker: Worker<'_>| (worker.finish(clock.now(), collector.empty()), None);
    let lasts = turns.workers.into_iter().map(finish).collect();
    let results = collector.end(lasts, background, stopped, clock.now(), emulation, observer);
    Ok(WorkerResults { failure, ..results })
}

/// Workers in turn.
struct Turns<'a, V> {
    workers: Vec<Worker<'a>>,
    clock: &'a V,
    /// Whether none of them has anything to do before time passes.
    idle: bool,
}

impl<V: VirtualClock> Turns<'_, V> {
    /// Runs workers until `due` at most, or `end` with all done that was to do by then.
    fn pass(&mut self, due: Nanos, end: Nanos) -> Nanos {
        if self.idle {
            let own = self.workers.iter().map(Worker::next_due).min().unwrap_or(Nanos::MAX);
            self.clock.advance(own.min(due).min(end));
        }
        loop {
            let mut busy = false;
            for worker in &mut self.workers {
                busy |= worker.turn(self.clock);
            }
            let now = self.clock.now();
            if !busy || now >= due {
                self.idle = !busy;
                return now;
            }
        }
    }
}

impl<V: VirtualClock> Workers for Turns<'_, V> {
    fn run_until(&mut self, due: Nanos, end: Nanos, _: Nanos, _: &mut Commands) -> Nanos {
        self.pass(due, end)
    }

    fn tell(&mut self, command: &WorkerCommand) {
        let now = self.clock.now();
        self.workers.iter_mut().for_each(|worker| worker.apply(command.clone(), now));
        self.idle = false;
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn add(&mut self, additions: Vec<Addition>, collector: &mut Collector<'_>) {
        for (index, (worker, addition)) in self.workers.iter_mut().zip(additions).enumerate() {
            let report = worker.add(addition, collector.empty());
            collector.take(index, report);
        }
        self.idle = false;
    }

    fn host_events(&mut self) -> Vec<HostEvent> {
        let overhearing = self.workers.iter_mut().filter(|worker| worker.overhears());
        overhearing.flat_map(Worker::host_events).collect()
    }

    fn is_sending(&mut self) -> bool {
        !self.workers.iter_mut().all(Worker::is_done_sending)
    }

    fn gather(&mut self, collector: &mut Collector<'_>) {
        for (index, worker) in self.workers.iter_mut().enumerate() {
            let report = worker.swap(collector.empty());
            collector.take(index, report);
        }
    }

    fn cut(&mut self, collector: &mut Collector<'_>) -> (Nanos, bool) {
        let now = self.clock.now();
        let at = now.saturating_add(Nanos(1));
        self.workers.iter_mut().for_each(|worker| worker.cut(at, collector.empty(), now));
        while self.clock.now() < at {
            self.pass(at, at);
        }
        let mut are_exact = true;
        for (index, worker) in self.workers.iter_mut().enumerate() {
            if let Some((counted, is_exact)) = worker.take_cut() {
                collector.take(index, counted);
                are_exact &= is_exact;
            }
        }
        (at, are_exact)
    }

    /// Virtual time costs nothing: late packets are always waited for to the end.
    fn gather_every_while_draining(&self, _: usize) -> Option<Nanos> {
        None
    }

    fn has_failed(&self) -> bool {
        false
    }
}
