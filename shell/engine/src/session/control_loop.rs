//! Tasks of control while workers send: takes commands, gathers counts, publishes snapshots, and determines the end of
//! the trial. One loop for real and for virtual time; [`Workers`] differs.

use super::collector::Collector;
use super::start::{how_written, refuse_too_large};
use crate::control::captures::Captures;
use crate::control::commands::{Command, CommandError, Commands, ProtocolCommand, Request};
use crate::control::neighbours::Neighbours;
use crate::control::pings::Pings;
use crate::emulation::Emulation;
use crate::error::EngineError;
use crate::fault;
use crate::observer::TrialObserver;
use crate::worker::addition::Addition;
use crate::worker::commands::{HostEvent, Removal, SessionStep, WorkerCommand};
use crate::worker::transmit::TxLoad;
use profile::Plan;
use sched::Share;
use std::collections::VecDeque;
use units::Nanos;

/// From a rate command to its effect: by then every worker has it.
const RATE_LEAD: Nanos = Nanos::from_millis(20);
/// Least time of traffic that is left when counters are set to zero.
const CLEAR_LEAST: Nanos = Nanos::from_millis(20);
/// Time between informing workers of leaving streams and their departure: control itself may be late.
const LEAVE_LEAD: Nanos = Nanos::from_millis(250);
/// Time to wait for duplicates once everything has arrived.
const SETTLE: Nanos = Nanos::from_millis(50);
/// Time for which a run on several machines, once stopped, waits for the others.
const OTHERS_MAX: Nanos = Nanos::from_secs(2);
/// Longest time counts stay in a worker: bucket counts there have 32 bits.
const GATHER_EVERY_MAX: Nanos = Nanos::from_secs(5);

/// The workers of a running trial, on separate threads or in turn on this one.
pub(super) trait Workers {
    /// Runs workers for a while; returns the time: `due` at most, or `end` with all done that was to do by then. On real time
    /// sooner: at `look`, for a command, or when a worker has something to be seen to.
    fn run_until(&mut self, due: Nanos, end: Nanos, look: Nanos, commands: &mut Commands) -> Nanos;

    /// Tells all workers something.
    fn tell(&mut self, command: &WorkerCommand);

    /// The time.
    fn now(&self) -> Nanos;

    /// Hands every worker its part of streams to add, and collects what they had counted.
    fn add(&mut self, additions: Vec<Addition>, collector: &mut Collector<'_>);

    /// Workers' events of pings and hosts since the last call.
    fn host_events(&mut self) -> Vec<HostEvent>;

    /// Whether any worker has something left to send.
    fn is_sending(&mut self) -> bool;

    /// Collects what workers have counted.
    fn gather(&mut self, collector: &mut Collector<'_>);

    /// Sets all counters to zero at one instant and collects what was counted before; the instant, and whether nothing
    /// was counted on the wrong side of it.
    fn cut(&mut self, collector: &mut Collector<'_>) -> (Nanos, bool);

    /// Interval at which to gather while late packets are waited for; `None` if their arrival ends nothing early.
    fn gather_every_while_draining(&self, streams: usize) -> Option<Nanos>;

    /// Whether a worker has died.
    fn has_failed(&self) -> bool;
}

/// Progress of a trial.
struct Progress {
    next_snapshot: Nanos,
    snapshot_every: Nanos,
    /// When counts were gathered last.
    gathered: Nanos,
    /// When sending was over.
    sent: Option<Nanos>,
    /// When all was sent on this one of several machines.
    part_sent: Option<Nanos>,
    /// When everything had arrived.
    arrived: Option<Nanos>,
    stopped: Option<Nanos>,
}

/// Control of one trial.
pub(super) struct ControlLoop<'c, 't> {
    pub(super) collector: &'c mut Collector<'t>,
    pub(super) captures: &'c mut Captures,
    /// The ports that each worker sends from, and its share of them.
    pub(super) senders: &'c [Vec<(usize, Share)>],
    /// Streams that leave later.
    pub(super) leaving: Vec<Removal>,
    /// Rates of sessions that change later: workers take turns back once they know of a change.
    pub(super) scaling: Vec<SessionStep>,
    /// Changes of hosts' protocols at an instant that is to come.
    pub(super) later: Vec<(Nanos, Request)>,
    /// When traffic is to be stopped.
    pub(super) stops: Option<Nanos>,
    pub(super) commands: &'c mut Commands,
    pub(super) emulation: &'c mut Emulation,
    pub(super) observer: &'c mut dyn TrialObserver,
}

impl ControlLoop<'_, '_> {
    /// Controls `workers` until the trial is over; returns when it was stopped, if it was, and why it failed, if a part did that
    /// ends without a worker noticing.
    pub(super) fn run(mut self, workers: &mut impl Workers) -> (Option<Nanos>, Option<String>) {
        let mut progress = Progress::new(self.collector.epoch, self.observer);
        if self.observer.keeps() {
            self.collector.keep_intervals();
        }
        let trial = self.collector.trial.clone();
        let mut pings = Pings::new(&trial, self.emulation.is_active());
        let mut neighbours = Neighbours::new(&trial, self.senders.len(), self.collector.epoch);
        self.emulation.start(self.collector.epoch);
        let plan = &trial.plan;
        // A schedule that is late is given up then.
        let deadline =
            self.collector.epoch.saturating_add(plan.duration).saturating_add(self.collector.trial.grace);
        let mut now = self.collector.epoch;
        let failure = loop {
            fault::point("control");
            let given_up = if now <= deadline { Nanos(deadline.0.saturating_add(1)) } else { Nanos::MAX };
            let drained = progress.sent.map_or(Nanos::MAX, |sent| sent.saturating_add(plan.drain));
            let gather = self
                .collector
                .gather_every()
                .map_or(Nanos::MAX, |every| progress.gathered.saturating_add(every));
            let leaves = self.leaving.iter().map(|removal| removal.at).min();
            let scales = self.scaling.iter().map(|step| step.at).min();
            let ahead = |at: Option<Nanos>, lead: Nanos| {
                let early = |at| Nanos(self.collector.epoch.saturating_add(at).0.saturating_sub(lead.0));
                at.map_or(Nanos::MAX, early)
            };
            let due = pings.next_due().min(neighbours.next_due()).min(self.emulation.next_due());
            let due = due.min(ahead(leaves, LEAVE_LEAD)).min(ahead(scales, RATE_LEAD));
            let due = due.min(progress.next_snapshot).min(gather).min(self.collector.next_cut());
            let due = due.min(self.next_later());
            now =
                workers.run_until(due, drained.min(given_up), self.next_look(now, &progress), self.commands);
            let sends = progress.sent.is_none() && progress.stopped.is_none();
            self.carry_out(now, workers, (&mut pings, &mut neighbours), sends);
            // Setting counters to zero takes a while.
            now = now.max(workers.now());
            if now >= self.collector.next_cut() {
                workers.gather(self.collector);
                self.collector.gathered(now);
                self.collector.pass_cuts(now);
                progress.gathered = now;
            }
            if self.commands.is_stopped() && progress.stopped.is_none() {
                progress.stopped = Some(now);
                workers.tell(&WorkerCommand::Stop(Nanos::ZERO));
            }
            // Workers know of it already.
            let stop = self.stops.take_if(|at| now >= *at);
            // One after the end by the plan stops nothing.
            progress.stopped = progress.stopped.or(stop.filter(|at| *at < self.plan_end()));
            let may_end = self.stops.is_none_or(|at| at >= self.plan_end()) && self.collector.may_end(now);
            if progress.sent.is_none()
                && (progress.stopped.is_some() || may_end)
                && !workers.is_sending()
                && self.all_parts_sent(now, workers, &mut progress)
            {
                progress.sent = Some(now);
                workers.gather(self.collector);
                self.collector.gathered(now);
                self.collector.mark_sent(now, self.emulation, self.observer);
            }
            self.count(now, workers, &mut progress);
            let failure = self.captures.failure();
            if failure.is_some() || workers.has_failed() {
                progress.stopped = progress.stopped.or(Some(now));
                break failure;
            }
            if progress.is_over(now, plan.drain) {
                break None;
            }
        };
        pings.end();
        self.collector.moves = neighbours.end();
        // What came too late is answered so.
        drop(self.commands.take());
        (progress.stopped, failure)
    }

    /// Whether the other machines of the run have sent all, too; they get to know first that this one has.
    fn all_parts_sent(&mut self, now: Nanos, workers: &mut impl Workers, progress: &mut Progress) -> bool {
        if !self.collector.trial.is_part() {
            return true;
        }
        if progress.part_sent.is_none() {
            workers.gather(self.collector);
            self.collector.gathered(now);
            progress.gathered = now;
            progress.part_sent = Some(now);
            self.observer.part_sent(self.collector.sent(), progress.stopped.is_some());
        }
        let given_up = progress.stopped.is_some_and(|stopped| now.since(stopped) > OTHERS_MAX);
        self.collector.others_sent.is_some() || given_up
    }

    /// Carries out the commands that have come.
    fn carry_out(
        &mut self,
        now: Nanos,
        workers: &mut impl Workers,
        (pings, neighbours): (&mut Pings<'_>, &mut Neighbours),
        sends: bool,
    ) {
        let requests = self.commands.take();
        let mut captures = VecDeque::new();
        for request in requests {
            match &request.command {
                Command::SetRate(command) => {
                    let soonest = now.since(self.collector.epoch) + RATE_LEAD;
                    let at = command.at.unwrap_or(soonest).max(soonest);
                    let steps = self.collector.rate_steps(command, at);
                    let outcome = steps.map(|steps| {
                        for step in steps {
                            match step {
                                WorkerCommand::ScaleSessions(step) => self.scaling.push(step),
                                step => workers.tell(&step),
                            }
                        }
                    });
                    request.conclude(outcome);
                }
                Command::AddStreams(_) | Command::RemoveStreams(_) | Command::Clear if !sends => {
                    request.answer(Err(CommandError::Ended));
                }
                Command::AddStreams(new) => {
                    let outcome = self.add(&new.0, workers);
                    request.conclude(outcome);
                }
                Command::RemoveStreams(command) => {
                    let soonest = now.since(self.collector.epoch) + RATE_LEAD;
                    let at = command.at.unwrap_or(soonest).max(soonest);
                    let removed = self.collector.remove(command, at);
                    if let (Ok(streams), Some(wanted)) = (&removed, command.at)
                        && self.collector.sends_of(streams)
                    {
                        self.collector.late.note(|| "the removal of streams".to_owned(), wanted, at);
                    }
                    request.conclude(removed.map(|streams| self.leaving.push(Removal { streams, at })));
                }
                Command::CountArrivals(command) => {
                    let outcome = self.collector.arrivals(command);
                    request.conclude(outcome.map(|command| workers.tell(&command)));
                }
                Command::Clear => {
                    let outcome = self.clear(workers);
                    request.conclude(outcome);
                }
                Command::SetCapture(_) => captures.push_back(request),
                Command::Ping(_) => pings.request(request, &self.collector.trial.known, self.emulation),
                Command::Protocol(ProtocolCommand { at: Some(at), .. }) => {
                    self.later.push((self.collector.epoch.saturating_add(*at), request));
                }
                Command::Protocol(_) | Command::AskProtocols { .. } => {
                    self.emulation.carry_out(now, request);
                }
                Command::OthersSent(sent) => {
                    self.collector.others_sent = Some(sent.clone());
                    request.conclude(Ok(()));
                }
                Command::StopAt(at) => {
                    self.stop_at(now, *at, workers);
                    request.conclude(Ok(()));
                }
                Command::StartAt(_) | Command::Stop => request.conclude(Ok(())),
            }
        }
        let epoch = self.collector.epoch;
        for (at, request) in self.later.extract_if(.., |(at, _)| *at <= now) {
            let Command::Protocol(command) = &request.command else { continue };
            let action = command.change.action.name();
            if self.emulation.carry_out(now, request) && self.collector.trial.is_part() {
                let what = || format!("the command '{action}'");
                self.collector.late.note(what, at.since(epoch), now.since(epoch));
            }
        }
        let soon = now.since(self.collector.epoch) + LEAVE_LEAD;
        for removal in self.leaving.extract_if(.., |removal| removal.at <= soon) {
            workers.tell(&WorkerCommand::RemoveStreams(removal));
        }
        let soon = now.since(self.collector.epoch) + RATE_LEAD;
        for step in self.scaling.extract_if(.., |step| step.at <= soon) {
            workers.tell(&WorkerCommand::ScaleSessions(step));
        }
        self.captures.request(captures);
        let events = workers.host_events();
        fault::point("protocols");
        for command in self.emulation.turn(now, &events) {
            workers.tell(&command);
        }
        for command in neighbours.turn(now, &events, &mut self.collector.trial) {
            workers.tell(&command);
        }
        fault::point("pings");
        for command in pings.turn(now, events) {
            workers.tell(&command);
        }
    }

    /// When a change of hosts' protocols, or the stop, is due.
    fn next_later(&self) -> Nanos {
        self.later.iter().map(|(at, _)| *at).chain(self.stops).min().unwrap_or(Nanos::MAX)
    }

    /// Time of the next look at states whose changes wake no thread.
    fn next_look(&self, now: Nanos, progress: &Progress) -> Nanos {
        if progress.sent.is_some() || self.captures.is_switching() {
            return now;
        }
        Some(self.plan_end()).filter(|end| now < *end).unwrap_or(Nanos::MAX)
    }

    /// When traffic ends by the plan.
    fn plan_end(&self) -> Nanos {
        self.collector.epoch.saturating_add(self.collector.trial.plan.duration)
    }

    /// Stops traffic at a time since its start, or as soon as all workers can know of it.
    fn stop_at(&mut self, now: Nanos, at: Nanos, workers: &mut impl Workers) {
        let epoch = self.collector.epoch;
        let at = epoch.saturating_add(at).max(now.saturating_add(RATE_LEAD));
        workers.tell(&WorkerCommand::Stop(at.since(epoch)));
        self.stops = Some(self.stops.map_or(at, |other| other.min(at)));
    }

    /// Sets counters to zero.
    ///
    /// # Errors
    /// Why they can't be.
    fn clear(&mut self, workers: &mut impl Workers) -> Result<(), String> {
        let trial = &self.collector.trial;
        if trial.plan.sent_elsewhere.is_some() || trial.is_part() {
            // What was under way is found by when it left, and clocks of other machines are compared only afterwards.
            return Err(
                "counters can't be set to zero in a run whose streams are sent and received on several \
                        machines, or by several processes"
                    .to_owned(),
            );
        }
        // Workers need time until the instant, and rates need time after it.
        let end = self.collector.epoch.saturating_add(trial.plan.duration);
        if workers.now().saturating_add(CLEAR_LEAST) >= end {
            return Err("traffic is nearly over: there would be no time to count".to_owned());
        }
        let (at, is_exact) = workers.cut(self.collector);
        self.collector.gathered(at);
        self.collector.begin_anew(at, is_exact);
        Ok(())
    }

    /// Sends the streams of `more` as well.
    ///
    /// # Errors
    /// The parts that can't be sent here.
    fn add(&mut self, more: &Plan, workers: &mut impl Workers) -> Result<(), String> {
        let before = self.collector.trial.streams.len();
        let trial = self.collector.trial.with_streams(more)?;
        let new = before..trial.streams.len();
        let said = |error: EngineError| error.to_string();
        refuse_too_large(trial.shape.bytes(self.senders.len()), trial.shape.streams).map_err(said)?;
        let mut jit = None;
        let mut loads = Vec::new();
        for senders in self.senders {
            let load = |(port, share): &(usize, Share)| {
                Ok((*port, *share, trial.load(*port, *share, new.clone(), &mut jit)?))
            };
            loads.push(senders.iter().map(load).collect::<Result<Vec<_>, _>>().map_err(said)?);
        }
        let at = workers.now().since(self.collector.epoch) + RATE_LEAD;
        let trial = trial.beginning(new.clone(), at);
        let addition = |loads: Vec<(usize, Share, TxLoad)>| Addition {
            loads: loads
                .into_iter()
                .map(|(port, share, mut load)| {
                    trial.schedule(&mut load, port, share, new.clone(), at);
                    (port, load)
                })
                .collect(),
            hosts: trial.hosts.clone(),
            expected: trial.expected.clone(),
            marks: trial.marks(),
            longest: trial.plan.longest_frame(),
            lets_rest: trial.lets_rest(self.senders.len()),
        };
        let additions = loads.into_iter().map(addition).collect();
        self.collector.field_programs = jit.as_ref().map(how_written).or(self.collector.field_programs);
        self.collector.grow(trial);
        let end = at.saturating_add(more.duration);
        if end < self.collector.trial.plan.duration {
            let streams: Vec<u32> = new.map(|index| index as u32).collect();
            self.collector.mark_removed(&streams, end);
            self.leaving.push(Removal { streams: streams.into(), at: end });
        }
        workers.add(additions, self.collector);
        Ok(())
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
            self.collector.gathered(now);
            progress.gathered = now;
            if every.is_some() && self.collector.all_arrived() {
                progress.arrived = Some(now);
            }
        }
        if is_due {
            self.collector.publish(now, progress.sent.is_some(), self.emulation, self.observer);
            progress.next_snapshot = match self.collector.trial.is_part() {
                true => progress.after(now, self.collector.epoch),
                false => now.saturating_add(progress.snapshot_every),
            };
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
            part_sent: None,
            arrived: None,
            stopped: None,
        }
    }

    /// The time of the next snapshot, a whole number of intervals after the start: so several machines have the same times.
    fn after(&self, now: Nanos, epoch: Nanos) -> Nanos {
        let every = self.snapshot_every.0.max(1);
        epoch.saturating_add(Nanos((now.since(epoch).0 / every + 1).saturating_mul(every)))
    }

    /// Whether late packets have been waited for long enough.
    fn is_over(&self, now: Nanos, drain: Nanos) -> bool {
        let drained = self.sent.is_some_and(|sent| now.since(sent) >= drain);
        drained || self.arrived.is_some_and(|arrived| now.since(arrived) >= SETTLE.min(drain))
    }
}
