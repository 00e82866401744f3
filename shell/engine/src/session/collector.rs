//! Adds up what workers hand over, and publishes it.

use super::late::LateCommands;
#[cfg(unix)]
use super::machine::WatchedMachine;
use super::start::Background;
use crate::control::commands::{ArrivalsCommand, RateCommand, RemoveCommand};
use crate::control::neighbours::NeighbourMove;
use crate::counts::interval::Interval;
use crate::emulation::Emulation;
use crate::observer::{TrialObserver, View};
use crate::outages::{self, Instants, TrialOutages};
use crate::phases::Phases;
use crate::rows::{self, Jitters};
use crate::sums::Sums;
use crate::trial::Trial;
use crate::worker::LastReport;
use crate::worker::commands::WorkerCommand;
use measure::{Jitter, Spans};
use os::ThreadUsage;
use profile::plan::SessionEntry;
use result::{CaptureResult, Named, RateChange};
use std::borrow::Cow;
use std::sync::Arc;
use units::Nanos;

/// Longest time counts of sessions stay in one of several workers.
const GATHER_SESSIONS_EVERY: Nanos = Nanos::from_millis(50);

/// Results passed on by all workers.
pub(super) struct WorkerResults<'a> {
    /// The trial, with the streams that were added.
    pub(super) trial: Cow<'a, Trial<'a>>,
    pub(super) total: Sums,
    pub(super) spans: Spans,
    pub(super) outages: TrialOutages,
    pub(super) jitter: Vec<Jitter>,
    /// The same without what pauses of the tester did.
    pub(super) undisturbed_jitter: Vec<Jitter>,
    /// Of each stream the packets sent after the newest that arrived, if no pause came since.
    pub(super) unseen: Vec<u64>,
    pub(super) unsent: Vec<u64>,
    pub(super) last_departure: Nanos,
    pub(super) usage: Vec<Option<ThreadUsage>>,
    pub(super) epoch: Nanos,
    /// When it was stopped, if it was.
    pub(super) stopped: Option<Nanos>,
    pub(super) rate_changes: Vec<RateChange>,
    /// Notes on commands that were carried out too late.
    pub(super) late: Vec<String>,
    /// Neighbours that were followed, and how many more.
    pub(super) moves: (Vec<NeighbourMove>, u64),
    /// Of each stream, when it was noticed that packets had been sent.
    pub(super) first_sent: Vec<Option<Nanos>>,
    /// When sending was over.
    pub(super) sent_at: Nanos,
    pub(super) captures: Named<CaptureResult>,
    pub(super) field_programs: Option<&'static str>,
    /// Of each port whether the kernel recorded its test packets, or why not.
    pub(super) recording: Vec<Option<Result<(), String>>>,
    /// Observations of the machine; `None` in virtual time.
    #[cfg(unix)]
    pub(super) watched: Option<WatchedMachine>,
    /// Priority of each worker in words; none in virtual time.
    pub(super) priorities: Vec<String>,
    /// Why a part of the tester failed and ended the run, if one did.
    pub(super) failure: Option<String>,
}

impl WorkerResults<'_> {
    /// The jitter of all streams.
    pub(super) fn jitters(&self) -> Jitters<'_> {
        Jitters { all: &self.jitter, undisturbed: &self.undisturbed_jitter }
    }
}

/// Adds up what workers hand over, and shows it.
pub(super) struct Collector<'a> {
    /// With the streams that were added.
    pub(super) trial: Cow<'a, Trial<'a>>,
    total: Sums,
    spans: Spans,
    outages: TrialOutages,
    current: Sums,
    /// Whether `current` has rows of streams.
    has_rows: bool,
    /// Counted since the observer kept an interval last, and when that was, if it keeps any.
    kept: Option<(Sums, Nanos)>,
    /// The most sessions at a time of all workers since the last call of `gathered`, by place in a list of all.
    bounds: Vec<u64>,
    /// Cleared intervals, ready to be handed to workers.
    #[expect(clippy::vec_box, reason = "workers swap the boxes, not what is in them")]
    spare: Vec<Box<Interval>>,
    pub(super) epoch: Nanos,
    /// When a snapshot was published last.
    published: Nanos,
    /// Whether time is real.
    is_real: bool,
    measured: Vec<bool>,
    rate_changes: Vec<RateChange>,
    /// Commands that came too late.
    pub(super) late: LateCommands,
    /// Execution of varying fields of added streams.
    pub(super) field_programs: Option<&'static str>,
    /// Neighbours that were followed, and how many more.
    pub(super) moves: (Vec<NeighbourMove>, u64),
    /// Of each stream, when it was noticed that packets had been sent; and the streams of which none has.
    first_sent: Vec<Option<Nanos>>,
    unsent: Vec<u32>,
    /// Of each stream, packets that another machine has sent, once that is known.
    pub(super) others_sent: Option<Vec<u64>>,
    /// When sending was over.
    sent_at: Option<Nanos>,
}

impl<'a> Collector<'a> {
    /// `has_rows`: whether an observer reads counts of single streams from one snapshot to the next.
    pub(super) fn new(
        trial: &'a Trial<'a>,
        workers: usize,
        epoch: Nanos,
        is_real: bool,
        has_rows: bool,
    ) -> Self {
        let mut total = Sums::new(trial.shape, workers);
        total.phases = Phases::new(&trial.plan);
        let current = if has_rows { Sums::new } else { Sums::without_streams };
        Self {
            trial: Cow::Borrowed(trial),
            current: current(trial.shape, workers),
            has_rows,
            total,
            kept: None,
            spans: Spans::new(trial.shape.streams, workers),
            outages: TrialOutages::new(trial),
            bounds: Vec::new(),
            spare: Vec::new(),
            epoch,
            published: epoch,
            is_real,
            measured: trial.measured(),
            rate_changes: Vec::new(),
            late: LateCommands::default(),
            field_programs: None,
            moves: (Vec::new(), 0),
            first_sent: vec![None; trial.shape.streams],
            unsent: (0..trial.shape.streams as u32).collect(),
            others_sent: None,
            sent_at: None,
        }
    }

    /// Counts intervals for [`TrialObserver::keep`].
    pub(super) fn keep_intervals(&mut self) {
        let sums = Sums::new(self.trial.shape, self.current.workers.len());
        self.kept = Some((sums, self.epoch));
    }

    pub(super) fn empty(&mut self) -> Box<Interval> {
        self.spare.pop().unwrap_or_else(|| Box::new(self.trial.shape.interval()))
    }

    pub(super) fn take(&mut self, worker: usize, mut interval: Box<Interval>) {
        self.current.add(worker, &interval);
        if let Some((kept, _)) = &mut self.kept {
            kept.add(worker, &interval);
        }
        self.total.add(worker, &interval);
        self.spans.add(worker, &interval.arrivals);
        self.outages.add(&interval);
        self.bounds.resize(interval.sessions.len(), 0);
        let maxima = interval.sessions.iter().map(|counts| counts.app.active_max);
        self.bounds.iter_mut().zip(maxima).for_each(|(sum, most)| *sum += most);
        if interval.sent.len() == self.trial.shape.streams {
            interval.clear();
            self.spare.push(interval);
        }
    }

    /// Goes on with a trial of more streams.
    pub(super) fn grow(&mut self, trial: Trial<'a>) {
        self.spare.clear();
        if self.has_rows {
            self.current.grow(trial.shape);
        }
        if let Some((kept, _)) = &mut self.kept {
            kept.grow(trial.shape);
        }
        self.total.grow(trial.shape);
        self.spans.grow(trial.shape.streams);
        self.measured = trial.measured();
        self.unsent.extend(self.first_sent.len() as u32..trial.shape.streams as u32);
        self.first_sent.resize(trial.shape.streams, None);
        self.trial = Cow::Owned(trial);
    }

    /// All that workers counted until `at`, an instant of their clock, is here, and counters begin anew then.
    pub(super) fn begin_anew(&mut self, at: Nanos, is_exact: bool) {
        self.total.begin_anew(at.since(self.epoch), is_exact);
        self.spans = Spans::new(self.trial.shape.streams, self.total.workers.len());
        self.outages = TrialOutages::new(&self.trial);
        self.outages.begin(at);
        self.first_sent.fill(None);
        self.unsent = (0..self.first_sent.len() as u32).collect();
    }

    /// Ends the streams that a command names at `at`; their indices.
    pub(super) fn remove(&mut self, command: &RemoveCommand, at: Nanos) -> Result<Arc<[u32]>, String> {
        let is_there = |index: &u32| self.trial.streams[*index as usize].is_there(at);
        let indices = match &command.streams[..] {
            [] => (0..self.trial.streams.len() as u32).filter(is_there).collect(),
            names => self.called(names, &is_there)?,
        };
        self.mark_removed(&indices, at);
        Ok(indices.into())
    }

    /// Whether any of these streams is sent here, and others are on other machines of the run.
    pub(super) fn sends_of(&self, streams: &[u32]) -> bool {
        let is_here = |index: &u32| self.trial.has_port(self.trial.streams[*index as usize].from);
        self.trial.is_part() && streams.iter().any(is_here)
    }

    /// Command to workers about arrivals that count against outages, or do not.
    pub(super) fn arrivals(&self, command: &ArrivalsCommand) -> Result<WorkerCommand, String> {
        let ArrivalsCommand { streams, port: name, on } = command;
        let port = self.trial.plan.ports.iter().position(|port| port.name == *name);
        let port = port.ok_or_else(|| format!("there is no port '{name}'"))?;
        let streams = self.called(streams, &|_| true)?.into();
        Ok(WorkerCommand::CountArrivals { port, streams, on: *on })
    }

    /// The streams with these names for which `is_there` is true, in ascending order.
    fn called(&self, names: &[String], is_there: &dyn Fn(&u32) -> bool) -> Result<Vec<u32>, String> {
        let mut indices = Vec::new();
        for name in names {
            let before = indices.len();
            let all = self.trial.plan.streams.iter().zip(0..);
            let meant = all.filter(|(plan, _)| plan.is_called(name)).map(|(_, index)| index);
            indices.extend(meant.filter(|index| is_there(index)));
            if indices.len() == before {
                return Err(format!("there is no stream '{name}'"));
            }
        }
        indices.sort_unstable();
        indices.dedup();
        Ok(indices)
    }

    pub(super) fn mark_removed(&mut self, indices: &[u32], at: Nanos) {
        let streams = &mut self.trial.to_mut().streams;
        indices.iter().for_each(|index| streams[*index as usize].removed = Some(at));
    }

    /// All workers have handed over once since this was called last, what they had counted at `now`.
    pub(super) fn gathered(&mut self, now: Nanos) {
        self.total.note_most(&mut self.bounds);
        self.outages.judge(now);
        let Self { unsent, first_sent, total, .. } = self;
        unsent.retain(|stream| {
            let stream = *stream as usize;
            first_sent[stream] = (total.sent[stream] > 0).then_some(now);
            first_sent[stream].is_none()
        });
    }

    /// When a phase of an entry's load begins or ends next.
    pub(super) fn next_cut(&self) -> Nanos {
        self.total.phases.next_cut().map_or(Nanos::MAX, |cut| self.epoch.saturating_add(cut))
    }

    /// All that was counted until `now` is here.
    pub(super) fn pass_cuts(&mut self, now: Nanos) {
        self.total.phases.pass(now.since(self.epoch));
    }

    /// Interval at which workers must hand over session counts, whose maximum at a time is then better known, and
    /// samples, of which a worker keeps few.
    pub(super) fn gather_every(&self) -> Option<Nanos> {
        let has_sessions = !self.trial.plan.sessions.is_empty() && self.total.workers.len() > 1;
        let sessions = has_sessions.then_some(GATHER_SESSIONS_EVERY);
        sessions.or(self.outages.are_watched().then_some(outages::GATHER_EVERY))
    }

    /// Sending is over, and all that was counted until `now` is here.
    pub(super) fn mark_sent(&mut self, now: Nanos, emulation: &Emulation, observer: &mut dyn TrialObserver) {
        self.total.mark_sent();
        self.sent_at = Some(now);
        self.offer(now, (false, true), emulation, observer);
    }

    /// Gives an observer that keeps intervals what was counted since it kept one last.
    fn offer(
        &mut self,
        now: Nanos,
        (draining, must): (bool, bool),
        emulation: &Emulation,
        observer: &mut dyn TrialObserver,
    ) {
        let Some((kept, since)) = &self.kept else { return };
        let view = View { interval: kept, span: now.since(*since), ..self.view(now, draining, emulation) };
        let is_kept = observer.keep(&view, must);
        if let Some((kept, since)) = self.kept.as_mut().filter(|_| is_kept) {
            kept.clear();
            *since = now;
        }
    }

    /// Counts since the last snapshot.
    fn view<'v>(&'v self, now: Nanos, draining: bool, emulation: &'v Emulation) -> View<'v> {
        View {
            trial: &self.trial,
            emulation,
            interval: &self.current,
            total: &self.total,
            instants: Instants { spans: &self.spans, outages: &self.outages, epoch: self.epoch },
            at: now.since(self.epoch),
            span: now.since(self.published),
            draining,
            is_real: self.is_real,
        }
    }

    /// Publishes what came in since the last time, if the observer wants it.
    pub(super) fn publish(
        &mut self,
        now: Nanos,
        draining: bool,
        emulation: &Emulation,
        observer: &mut dyn TrialObserver,
    ) {
        let view = self.view(now, draining, emulation);
        if observer.wants_snapshot(&view) {
            observer.snapshot(&view);
            self.published = now;
            self.current.clear();
        }
        self.offer(now, (draining, false), emulation, observer);
    }

    /// The steps workers take at `at` to follow a rate command, which is noted for the result.
    pub(super) fn rate_steps(
        &mut self,
        command: &RateCommand,
        at: Nanos,
    ) -> Result<Vec<WorkerCommand>, String> {
        let steps = command.steps(&self.trial, at)?;
        self.rate_changes.push(rows::rate_change(command, at));
        Ok(steps)
    }

    /// Whether the trial may be over once everything is sent. One without own traffic listens for its whole duration;
    /// an attended one is stopped by its client.
    pub(super) fn may_end(&self, now: Nanos) -> bool {
        let plan = &self.trial.plan;
        let begins = |entry: &SessionEntry| entry.session.client.is_some();
        if let Some(sent) = plan.sent_elsewhere {
            let spans = (0..plan.streams.len()).filter_map(|stream| self.spans.of(stream));
            let first = spans.map(|span| span.first).min();
            return now >= self.epoch.saturating_add(plan.duration)
                || first.is_some_and(|first| now >= first.saturating_add(sent).saturating_add(plan.drain));
        }
        !self.trial.is_attended && (!plan.streams.is_empty() || plan.sessions.iter().any(begins))
            || now >= self.epoch.saturating_add(plan.duration)
    }

    pub(super) fn all_arrived(&self) -> bool {
        self.total.all_arrived(&self.measured, self.others_sent.as_deref().unwrap_or_default())
            && self.total.sessions_ended()
    }

    /// Packets of each stream that were sent here so far.
    pub(super) fn sent(&self) -> &[u64] {
        &self.total.sent
    }

    /// Takes what the workers hand over last, shows it, and ends.
    pub(super) fn end(
        mut self,
        lasts: Vec<(LastReport, Option<ThreadUsage>)>,
        background: Background,
        stopped: Option<Nanos>,
        now: Nanos,
        emulation: &Emulation,
        observer: &mut dyn TrialObserver,
    ) -> WorkerResults<'a> {
        let mut jitter = vec![Jitter::default(); self.trial.shape.streams];
        let mut undisturbed_jitter = jitter.clone();
        let (mut unseen, workers) = (vec![0; self.trial.shape.streams], lasts.len());
        let mut unsent = vec![0; self.trial.shape.ports];
        let (mut last_departure, mut usage) = (Nanos::ZERO, Vec::new());
        for (worker, (last, used)) in lasts.into_iter().enumerate() {
            self.take(worker, last.interval);
            jitter.iter_mut().zip(last.jitter).for_each(|(sum, jitter)| sum.merge(jitter));
            let undisturbed = undisturbed_jitter.iter_mut().zip(last.undisturbed_jitter);
            undisturbed.for_each(|(sum, jitter)| sum.merge(jitter));
            if workers == 1 {
                // Of several workers none knows what another received.
                let sent: Vec<u64> = (0..self.total.sent.len()).map(|n| self.total.sent_in_all(n)).collect();
                let rows = sent.iter().zip(&last.numbered).zip(&last.is_quiet_since);
                let of = |((sent, seen), quiet): ((&u64, &u64), &bool)| {
                    if *quiet { sent.saturating_sub(*seen) } else { 0 }
                };
                unseen = rows.map(of).collect();
            }
            unsent.iter_mut().zip(&last.unsent).for_each(|(sum, n)| *sum += n);
            last_departure = last_departure.max(last.last_departure);
            if self.trial.plan.sent_elsewhere.is_some() {
                // Every worker sees the numbers of those packets that it receives.
                self.total.sent.iter_mut().zip(&last.numbered).for_each(|(sent, n)| *sent = (*sent).max(*n));
            }
            usage.push(used);
        }
        self.gathered(now);
        self.outages.end();
        self.publish(now, true, emulation, observer);
        self.offer(now, (true, true), emulation, observer);
        WorkerResults {
            captures: background.captures.finish(),
            field_programs: self.field_programs.or(background.field_programs),
            trial: self.trial,
            recording: background.recording,
            #[cfg(unix)]
            watched: None,
            priorities: Vec::new(),
            jitter,
            undisturbed_jitter,
            unseen,
            unsent,
            last_departure,
            usage,
            epoch: self.epoch,
            stopped,
            rate_changes: self.rate_changes,
            late: self.late.notes(),
            moves: self.moves,
            first_sent: self.first_sent,
            sent_at: self.sent_at.unwrap_or(now),
            total: self.total,
            spans: self.spans,
            outages: self.outages,
            failure: None,
        }
    }
}
