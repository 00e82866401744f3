//! What control does while workers send: takes commands, gathers counts, publishes snapshots, and sees when the trial is
//! over. One loop for real and for virtual time; [`Workers`] is what differs.

use super::collector::Collector;
use crate::control::captures::Captures;
use crate::control::commands::{Command, Commands};
use crate::control::pings::Pings;
use crate::emulation::Emulation;
use crate::observer::TrialObserver;
use crate::worker::commands::{HostEvent, WorkerCommand};
use std::collections::VecDeque;
use units::Nanos;

/// From a rate command to its effect: by then every worker has it.
const RATE_LEAD: Nanos = Nanos::from_millis(20);
/// How long duplicates are waited for once everything has arrived.
const SETTLE: Nanos = Nanos::from_millis(50);
/// Longest time counts stay in a worker: bucket counts there have 32 bits.
const GATHER_EVERY_MAX: Nanos = Nanos::from_secs(5);

/// The workers of a running trial, on threads of their own or in turn on this one.
pub(super) trait Workers {
    /// Lets workers work for a while; returns the time: `due` at most, or `end` with all done that was to do by then.
    fn run_until(&mut self, due: Nanos, end: Nanos) -> Nanos;

    /// Tells all workers something.
    fn tell(&mut self, command: &WorkerCommand);

    /// What workers saw of pings and of hosts since the last call.
    fn host_events(&mut self) -> Vec<HostEvent>;

    /// Whether any worker has something left to send.
    fn is_sending(&mut self) -> bool;

    /// Collects what workers have counted.
    fn gather(&mut self, collector: &mut Collector<'_>);

    /// How often to gather while late packets are waited for; `None` if their arrival ends nothing early.
    fn gather_every_while_draining(&self, streams: usize) -> Option<Nanos>;

    /// Whether a worker has died.
    fn has_failed(&self) -> bool;
}

/// How far a trial is.
struct Progress {
    next_snapshot: Nanos,
    snapshot_every: Nanos,
    /// When counts were gathered last.
    gathered: Nanos,
    /// When sending was over.
    sent: Option<Nanos>,
    /// When everything had arrived.
    arrived: Option<Nanos>,
    stopped: Option<Nanos>,
}

/// Control of one trial.
pub(super) struct ControlLoop<'c, 't> {
    pub(super) collector: &'c mut Collector<'t>,
    pub(super) captures: &'c mut Captures,
    pub(super) commands: &'c mut Commands,
    pub(super) emulation: &'c mut Emulation,
    pub(super) observer: &'c mut dyn TrialObserver,
}

impl ControlLoop<'_, '_> {
    /// Controls `workers` until the trial is over; returns when it was stopped, if it was.
    pub(super) fn run(mut self, workers: &mut impl Workers) -> Option<Nanos> {
        let mut progress = Progress::new(self.collector.epoch, self.observer);
        let mut pings = Pings::new(self.collector.trial, self.emulation.is_active());
        self.emulation.start(self.collector.epoch);
        let plan = self.collector.trial.plan;
        // A schedule that is late is given up then.
        let deadline =
            self.collector.epoch.saturating_add(plan.duration).saturating_add(self.collector.trial.grace);
        let mut now = self.collector.epoch;
        loop {
            let given_up = if now <= deadline { Nanos(deadline.0.saturating_add(1)) } else { Nanos::MAX };
            let drained = progress.sent.map_or(Nanos::MAX, |sent| sent.saturating_add(plan.drain));
            let gather = self
                .collector
                .gather_every()
                .map_or(Nanos::MAX, |every| progress.gathered.saturating_add(every));
            let due = pings.next_due().min(self.emulation.next_due());
            let due = due.min(progress.next_snapshot).min(gather).min(self.collector.next_cut());
            now = workers.run_until(due, drained.min(given_up));
            self.carry_out(now, workers, &mut pings);
            if now >= self.collector.next_cut() {
                workers.gather(self.collector);
                self.collector.gathered();
                self.collector.pass_cuts(now);
                progress.gathered = now;
            }
            if self.commands.is_stopped() && progress.stopped.is_none() {
                progress.stopped = Some(now);
                workers.tell(&WorkerCommand::Stop);
            }
            if progress.sent.is_none()
                && (progress.stopped.is_some() || self.collector.may_end(now))
                && !workers.is_sending()
            {
                progress.sent = Some(now);
                workers.gather(self.collector);
                self.collector.gathered();
                self.collector.mark_sent();
            }
            self.count(now, workers, &mut progress);
            if progress.is_over(now, plan.drain) || workers.has_failed() {
                break;
            }
        }
        pings.end();
        // What came too late is answered so.
        drop(self.commands.take());
        progress.stopped
    }

    /// Carries out the commands that have come.
    fn carry_out(&mut self, now: Nanos, workers: &mut impl Workers, pings: &mut Pings<'_>) {
        let requests = self.commands.take();
        let mut captures = VecDeque::new();
        for request in requests {
            match &request.command {
                Command::SetRate(command) => {
                    let steps =
                        self.collector.rate_steps(command, now.since(self.collector.epoch) + RATE_LEAD);
                    let outcome = steps.map(|steps| {
                        steps.iter().for_each(|step| workers.tell(step));
                    });
                    request.conclude(outcome);
                }
                Command::SetCapture(_) => captures.push_back(request),
                Command::Ping(_) => pings.request(request),
                Command::Protocol(_) | Command::AskProtocols { .. } => self.emulation.carry_out(now, request),
                Command::Stop => request.conclude(Ok(())),
            }
        }
        self.captures.request(captures);
        let events = workers.host_events();
        for command in self.emulation.turn(now, &events) {
            workers.tell(&command);
        }
        for command in pings.turn(now, events) {
            workers.tell(&command);
        }
    }

    /// Gathers counts and publishes a snapshot when it is time.
    fn count(&mut self, now: Nanos, workers: &mut impl Workers, progress: &mut Progress) {
        let is_draining = progress.sent.is_some() && progress.arrived.is_none();
        let every =
            workers.gather_every_while_draining(self.collector.trial.shape.streams).filter(|_| is_draining);
        let is_due = now >= progress.next_snapshot;
        let longest =
            [every, self.collector.gather_every()].into_iter().flatten().fold(GATHER_EVERY_MAX, Nanos::min);
        if is_due || now.since(progress.gathered) >= longest {
            workers.gather(self.collector);
            self.collector.gathered();
            progress.gathered = now;
            if every.is_some() && self.collector.all_arrived() {
                progress.arrived = Some(now);
            }
        }
        if is_due {
            self.collector.publish(now, progress.sent.is_some(), self.emulation, self.observer);
            progress.next_snapshot = now.saturating_add(progress.snapshot_every);
        }
    }
}

impl Progress {
    fn new(epoch: Nanos, observer: &dyn TrialObserver) -> Self {
        let snapshot_every = observer.interval();
        Self {
            next_snapshot: epoch.saturating_add(snapshot_every),
            snapshot_every,
            gathered: epoch,
            sent: None,
            arrived: None,
            stopped: None,
        }
    }

    /// Whether late packets have been waited for long enough.
    fn is_over(&self, now: Nanos, drain: Nanos) -> bool {
        let drained = self.sent.is_some_and(|sent| now.since(sent) >= drain);
        drained || self.arrived.is_some_and(|arrived| now.since(arrived) >= SETTLE.min(drain))
    }
}
