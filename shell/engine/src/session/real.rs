//! Workers on separate threads, control on this one.

use super::collector::{Collector, WorkerResults};
use super::control_loop::{ControlLoop, Workers};
use super::machine::{MachineWatcher, TrialThreads};
use super::start::{LEAD, workers};
use crate::containment::{contain, reason};
use crate::control::commands::{Commands, Ringer};
use crate::counts::interval::Interval;
use crate::emulation::Emulation;
use crate::error::EngineError;
use crate::fault;
use crate::observer::{TrialObserver, View};
use crate::trial::Trial;
use crate::trial::rig::Rig;
use crate::worker::addition::Addition;
use crate::worker::commands::{HOST_EVENTS_MAX, HostEvent, WorkerCommand};
use crate::worker::watch::{Shared, Watch};
use crate::worker::{LastReport, Worker};
use os::nap::{self, Bell};
use os::{ThreadUsage, TscClock};
use port::Clock;
use profile::plan::Polling;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::Thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use units::Nanos;

/// From the moment workers get a common start to that start: on a busy machine each waits for its core first.
const START_LEAD: Nanos = Nanos::from_millis(200);
/// Least time from one turn of control to the next: commands wait that long at most.
const CONTROL_TURN: Nanos = Nanos::from_millis(5);
/// Most: captures that failed are noticed after that.
const CONTROL_REST: Nanos = Nanos::from_millis(100);
/// Longest rest before another look for a report.
const LOOK_FOR_REPORT: Duration = Duration::from_millis(10);

/// Time from informing workers that counters are to be set to zero to that instant, at first and at last.
const CUT_LEAD: Nanos = Nanos::from_millis(5);
const CUT_LEAD_MAX: Nanos = Nanos::from_millis(640);

/// Options to run a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Cores to work on, one worker each.
    pub cores: Vec<usize>,
    /// Whether to keep latency histograms; without them there are no percentiles.
    pub histograms: bool,
    /// Cores that are unused in this process: a worker that is kept from its own may move to one of them.
    pub spare: Vec<usize>,
}

impl RunOptions {
    /// Of a process that runs one trial at a time: all its other cores are spare.
    pub fn alone(cores: Vec<usize>, histograms: bool) -> Self {
        let spare = os::cpu::of_process().into_iter().filter(|core| !cores.contains(core)).collect();
        Self { cores, histograms, spare }
    }
}

/// Message from control to a worker's thread.
enum Message {
    /// Return the counts and continue with this interval.
    Swap(Box<Interval>),
    /// Send more streams; return the counts and continue with this interval.
    Add(Addition, Box<Interval>),
    /// Set counters to zero at an instant and continue with this interval then; return the counts of before.
    Cut(Nanos, Box<Interval>),
    /// Carry out a command.
    Apply(WorkerCommand),
    /// Hand over everything and end.
    Finish(Box<Interval>),
}

/// Control's ends of the rings to and from a worker.
struct Lines {
    messages: rtrb::Producer<Message>,
    reports: rtrb::Consumer<Box<Interval>>,
    host_events: rtrb::Consumer<HostEvent>,
    /// Whether it failed.
    failed: Arc<AtomicBool>,
    /// Whether it counted something on the wrong side of the instant at which counters were set to zero.
    inexact: Arc<AtomicBool>,
    /// Wakes it if it sleeps.
    bell: Bell,
    tid: i32,
    /// Use of its core when counters were set to zero, if they were.
    used: Option<ThreadUsage>,
}

pub(super) fn run<'a>(
    trial: &'a Trial<'a>,
    rig: &mut Rig,
    options: &RunOptions,
    clock: &TscClock,
    commands: &mut Commands,
    emulation: &mut Emulation,
    observer: &mut dyn TrialObserver,
) -> Result<WorkerResults<'a>, EngineError> {
    let count = options.cores.len();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall_zero = Nanos(wall.as_nanos() as u64) - clock.now();
    let priority = Priority::of(rig.facts().into_iter().any(|facts| facts.netdev.is_some()), options);
    // One worker has both ends of each in-process pair: nobody else sends into it.
    let own: Vec<bool> = rig.facts().into_iter().map(|facts| count == 1 && facts.is_in_process).collect();
    let (workers, mut background) = workers(trial, rig, count, Some(wall_zero))?;
    background.captures.request(commands.take_captures());
    let sending = AtomicUsize::new(count);
    let shared = Shared::new(count);
    let own_cores = os::cpu::allowed();
    // Control must not sit on a worker's core. Where there is no other, the scheduler has to share.
    let _ = os::cpu::pin_to(&os::cpu::control_cores(&options.cores));
    let harvest = std::thread::scope(|scope| {
        let (ready_tx, ready) = mpsc::channel();
        let mut threads = Vec::new();
        for (number, (mut worker, core)) in workers.into_iter().zip(&options.cores).enumerate() {
            if trial.plan.polling == Polling::Auto && trial.lets_rest(count) {
                worker.let_rest(&own);
            }
            let (messages, message_rx) = rtrb::RingBuffer::new(4);
            let (report_tx, reports) = rtrb::RingBuffer::new(4);
            let (event_tx, host_events) = rtrb::RingBuffer::new(HOST_EVENTS_MAX);
            let (go, go_rx) = mpsc::channel::<Nanos>();
            let (ready, sending, core) = (ready_tx.clone(), &sending, *core);
            let bell = Bell::new().map_err(|e| EngineError::Machine(format!("can't wake a worker: {e}")))?;
            let failed = Arc::new(AtomicBool::new(false));
            let inexact = Arc::new(AtomicBool::new(false));
            let ends = Ends {
                messages: message_rx,
                reports: report_tx,
                host_events: event_tx,
                failed: failed.clone(),
                inexact: inexact.clone(),
                bell: bell.clone(),
                control: ControlBell { ringer: commands.ringer(), thread: std::thread::current() },
            };
            let start = Start { number, core, priority, ready };
            let shared = shared.clone();
            let watch = move || Watch::new(clock.now(), os::cpu::thread_time, number, shared);
            let body = move || work(worker, start, clock, &go_rx, ends, sending, watch);
            let thread = std::thread::Builder::new().name(format!("eagre-{core}")).spawn_scoped(scope, body);
            let thread = thread
                .map_err(|e| EngineError::Machine(format!("can't start a thread for core {core}: {e}")))?;
            let line = Lines { messages, reports, host_events, failed, inexact, bell, tid: 0, used: None };
            threads.push((thread, go, line));
        }
        // A worker that fails at once is not waited for.
        drop(ready_tx);
        let (mut tids, mut priorities) = (vec![(0, 0); count], vec![String::new(); count]);
        for _ in 0..count {
            let answer = ready.recv_timeout(Duration::from_secs(10));
            let up = answer
                .map_err(|_| EngineError::Machine("a worker did not start within 10 s".to_owned()))??;
            tids[up.number] = (up.tid, options.cores[up.number]);
            priorities[up.number] = up.priority;
        }
        let lead = trial.start.map_or(LEAD, |_| START_LEAD);
        let control = os::cpu::current_tid();
        for ((_, _, line), (tid, _)) in threads.iter_mut().zip(&tids) {
            line.tid = *tid;
        }
        let threads_of_trial = TrialThreads { workers: tids, control, spare: options.spare.clone() };
        let ahead = trial.start.map_or(lead, |start| start.since(clock.now()).max(lead));
        // Nothing depends on it: a trial that nobody could watch is a trial.
        let watcher = MachineWatcher::begin(threads_of_trial, ahead, lead).ok();
        if let Some(start) = trial.start {
            let begins = Nanos(start.0.saturating_sub(START_LEAD.0));
            while clock.now() < begins && !commands.is_stopped() {
                commands.wait(Duration::from_nanos(begins.since(clock.now()).0));
            }
        }
        let soonest = clock.now() + LEAD;
        let epoch = trial.start.map_or(soonest, |start| start.max(soonest));
        let (mut lines, mut handles) = (Vec::new(), Vec::new());
        for (thread, go, line) in threads {
            // A worker that has ended is found out about when its thread is joined.
            let _ = go.send(epoch);
            lines.push(line);
            handles.push(thread);
        }
        if let Some(start) = trial.start {
            observer.started(epoch.since(start));
        }
        let mut collector = Collector::new(trial, count, epoch, true, observer.reads_streams());
        let mut threads = Threads { lines, clock, sending: &sending };
        let (captures, senders) = (&mut background.captures, &background.senders);
        let control = ControlLoop {
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
        };
        // Whatever fails here, workers are to end, and what they counted stays.
        let controlled = contain("control of the run", || control.run(&mut threads));
        let (mut stopped, mut failure) = match controlled {
            Ok(ended) => ended,
            Err(reason) => (Some(clock.now()), Some(reason)),
        };
        threads.finish(&mut collector);
        let watched = watcher.map(MachineWatcher::end);
        let mut lasts = Vec::new();
        let used: Vec<Option<ThreadUsage>> = threads.lines.iter().map(|line| line.used).collect();
        for (handle, used) in handles.into_iter().zip(used) {
            let end = handle.join().map_err(|payload| EngineError::Failed(reason("a worker", &*payload)))?;
            let WorkerEnd { last, usage, failure: why } = end?;
            lasts.push((last, usage.map(|(before, now)| now.since(&used.unwrap_or(before)))));
            if why.is_some() {
                stopped = stopped.or_else(|| Some(clock.now()));
                failure = failure.or(why);
            }
        }
        let mut nobody = Nobody;
        let observer = if failure.is_some() { &mut nobody } else { observer };
        let now = clock.now();
        let end = contain("the end of the run", || {
            collector.end(lasts, background, stopped, now, emulation, observer)
        });
        let results = end.map_err(|why| EngineError::Failed(failure.clone().unwrap_or(why)))?;
        Ok(WorkerResults { watched, priorities, failure, ..results })
    });
    let _ = os::cpu::pin_to(&own_cores);
    harvest
}

/// A worker's ends of its [`Lines`].
struct Ends {
    messages: rtrb::Consumer<Message>,
    reports: rtrb::Producer<Box<Interval>>,
    host_events: rtrb::Producer<HostEvent>,
    failed: Arc<AtomicBool>,
    inexact: Arc<AtomicBool>,
    bell: Bell,
    /// The last field: the others are dropped before it rings.
    control: ControlBell,
}

impl Ends {
    fn report(&mut self, counted: Box<Interval>) {
        let _ = self.reports.push(counted);
        self.control.report();
    }
}

/// Wakes control; also once it is dropped, when the worker is gone.
struct ControlBell {
    ringer: Ringer,
    thread: Thread,
}

impl ControlBell {
    /// Something has come that the next turn of control sees to.
    fn ring(&self) {
        self.ringer.ring();
    }

    /// A report is there that control waits for.
    fn report(&self) {
        self.thread.unpark();
    }
}

impl Drop for ControlBell {
    fn drop(&mut self) {
        self.ring();
        self.report();
    }
}

/// Priority that workers request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Priority {
    /// A larger share of the core than others have.
    Raised,
    /// That of any thread, and why.
    Normal(&'static str),
}

impl Priority {
    /// The kernel forwards packets of its interfaces in threads of normal priority, often on the core of the worker
    /// that sent them; and everything but the workers needs a core.
    fn of(has_kernel_ports: bool, options: &RunOptions) -> Self {
        match () {
            () if has_kernel_ports => {
                Self::Normal("the kernel handles packets of its interfaces on the same cores")
            }
            () if options.spare.is_empty() => Self::Normal("no core is left for everything else"),
            () => Self::Raised,
        }
    }

    /// Asks for it for the calling thread; what it got, in words.
    fn ask(self) -> String {
        match self {
            Self::Normal(why) => format!("normal: {why}"),
            Self::Raised => match os::cpu::raise_priority().and_then(|()| os::cpu::niceness()) {
                Ok(niceness) => format!("nice {niceness}"),
                Err(error) => format!("normal: a higher one needs CAP_SYS_NICE ({error})"),
            },
        }
    }
}

/// A worker's thread that is up.
struct Up {
    number: usize,
    tid: i32,
    priority: String,
}

/// Start of a worker's thread.
struct Start {
    /// The worker's number.
    number: usize,
    core: usize,
    priority: Priority,
    ready: mpsc::Sender<Result<Up, EngineError>>,
}

/// Takes no snapshots: the one that did may have been what failed.
struct Nobody;

impl TrialObserver for Nobody {
    fn interval(&self) -> Nanos {
        Nanos::MAX
    }

    fn reads_streams(&self) -> bool {
        false
    }

    fn snapshot(&mut self, _: &View<'_>) {}
}

/// End of a worker's thread.
struct WorkerEnd {
    last: LastReport,
    /// Use of its core at the start and at the end.
    usage: Option<(ThreadUsage, ThreadUsage)>,
    /// Why it ended before a request to end.
    failure: Option<String>,
}

/// The life of a worker's thread.
fn work(
    mut worker: Worker<'_>,
    start: Start,
    clock: &TscClock,
    go: &mpsc::Receiver<Nanos>,
    mut ends: Ends,
    sending: &AtomicUsize,
    watch: impl FnOnce() -> Watch,
) -> Result<WorkerEnd, EngineError> {
    let Start { number, core, priority, ready } = start;
    let pinned = os::cpu::pin(core)
        .map_err(|e| EngineError::Machine(format!("can't pin a worker to core {core}: {e}")));
    let up = pinned.and_then(|()| worker.attach(Nanos::MAX).map_err(EngineError::from));
    let came_up = up.is_ok();
    let tid = os::cpu::current_tid();
    let _ = ready.send(up.map(|()| Up { number, tid, priority: priority.ask() }));
    let Some(epoch) = go.recv().ok().filter(|_| came_up) else {
        return Err(EngineError::Machine("the trial was cancelled".to_owned()));
    };
    worker.attach(epoch)?;
    nap::wake_on_time();
    let before = ThreadUsage::read(tid).ok();
    worker.watch(watch());
    let turns = contain("a worker", || turns(&mut worker, clock, &mut ends, sending));
    let (empty, failure) = match turns {
        Ok(Some(empty)) => (empty, None),
        Ok(None) => return Err(EngineError::Failed("control of the run has ended".to_owned())),
        // What it counted until then is handed over.
        Err(why) => {
            ends.failed.store(true, Ordering::Release);
            ends.control.ring();
            (until_finish(&mut ends).ok_or_else(|| EngineError::Failed(why.clone()))?, Some(why))
        }
    };
    let usage = before.zip(ThreadUsage::read(tid).ok());
    let last = contain("a worker", || worker.finish(clock.now(), empty));
    let last = last.map_err(|why| EngineError::Failed(failure.clone().unwrap_or(why)))?;
    Ok(WorkerEnd { last, usage, failure })
}

/// Remaining task of a failed worker: it returns each interval, until it must end.
fn until_finish(ends: &mut Ends) -> Option<Box<Interval>> {
    loop {
        match ends.messages.pop() {
            Ok(Message::Swap(empty) | Message::Add(_, empty) | Message::Cut(_, empty)) => {
                ends.report(empty);
            }
            Ok(Message::Apply(_)) => {}
            Ok(Message::Finish(empty)) => return Some(empty),
            Err(_) if ends.messages.is_abandoned() => return None,
            Err(_) => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

/// A worker's turns, until it must pass on everything and end: returns its next interval. `None` if control is gone.
fn turns(
    worker: &mut Worker<'_>,
    clock: &TscClock,
    ends: &mut Ends,
    sending: &AtomicUsize,
) -> Option<Box<Interval>> {
    let mut was_sending = true;
    loop {
        fault::point("worker");
        worker.turn(clock);
        if was_sending && worker.is_done_sending() {
            was_sending = false;
            sending.fetch_sub(1, Ordering::Release);
            ends.control.ring();
        }
        if let Some((counted, is_exact)) = worker.take_cut() {
            ends.inexact.store(!is_exact, Ordering::Release);
            ends.report(counted);
        }
        if worker.overhears() {
            let events: Vec<HostEvent> = worker.host_events().collect();
            if !events.is_empty() {
                let full =
                    |event| ends.host_events.push(event).err().map(|rtrb::PushError::Full(event)| event);
                let lost: Vec<HostEvent> = events.into_iter().filter_map(full).collect();
                worker.count_lost(&lost);
                ends.control.ring();
            }
        }
        match ends.messages.pop() {
            Err(_) if ends.messages.is_abandoned() => return None,
            Err(_) if !worker.is_idle() => {}
            Err(_) => {
                let now = clock.now();
                if let Some(until) = worker.rests_until(now) {
                    ends.bell.sleep(until.since(now), worker.descriptors());
                    worker.rested(now, until, clock.now());
                }
            }
            Ok(Message::Swap(empty)) => {
                // There is room: control sends no second request before the first is answered.
                ends.report(worker.swap(empty));
            }
            Ok(Message::Add(addition, empty)) => {
                ends.report(worker.add(addition, empty));
                // Control has counted it as sending already.
                if was_sending {
                    sending.fetch_sub(1, Ordering::Release);
                }
                was_sending = true;
            }
            Ok(Message::Cut(at, empty)) => worker.cut(at, empty, clock.now()),
            Ok(Message::Apply(command)) => worker.apply(command, clock.now()),
            Ok(Message::Finish(empty)) => return Some(empty),
        }
    }
}

/// Workers on separate threads, as seen by control.
struct Threads<'a> {
    lines: Vec<Lines>,
    clock: &'a TscClock,
    /// Workers that still have something to send.
    sending: &'a AtomicUsize,
}

impl Threads<'_> {
    /// Tells all workers to end.
    fn finish(&mut self, collector: &mut Collector<'_>) {
        self.lines.iter_mut().for_each(|line| line.send(Message::Finish(collector.empty())));
    }

    /// Waits for the requested data of each worker.
    fn take_reports(&mut self, collector: &mut Collector<'_>) {
        for (worker, line) in self.lines.iter_mut().enumerate() {
            let patience = self.clock.now() + Nanos::from_secs(10);
            loop {
                if let Ok(report) = line.reports.pop() {
                    collector.take(worker, report);
                    break;
                }
                if line.reports.is_abandoned() || self.clock.now() > patience {
                    break;
                }
                std::thread::park_timeout(LOOK_FOR_REPORT);
            }
        }
    }
}

impl Workers for Threads<'_> {
    /// Rests until there is something to do.
    fn run_until(&mut self, due: Nanos, end: Nanos, look: Nanos, commands: &mut Commands) -> Nanos {
        let time = |nanos: Nanos| Duration::from_nanos(nanos.0);
        let begun = self.clock.now();
        let rest = due.min(end).min(look).since(begun);
        commands.wait(time(rest.clamp(CONTROL_TURN, CONTROL_REST)));
        std::thread::sleep(time(begun.saturating_add(CONTROL_TURN).since(self.clock.now())));
        self.clock.now()
    }

    fn tell(&mut self, command: &WorkerCommand) {
        self.lines.iter_mut().for_each(|line| line.send(Message::Apply(command.clone())));
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn add(&mut self, additions: Vec<Addition>, collector: &mut Collector<'_>) {
        self.sending.fetch_add(self.lines.len(), Ordering::AcqRel);
        for (line, addition) in self.lines.iter_mut().zip(additions) {
            line.send(Message::Add(addition, collector.empty()));
        }
        self.take_reports(collector);
    }

    fn host_events(&mut self) -> Vec<HostEvent> {
        let events =
            |line: &mut Lines| std::iter::from_fn(|| line.host_events.pop().ok()).collect::<Vec<_>>();
        self.lines.iter_mut().flat_map(events).collect()
    }

    fn is_sending(&mut self) -> bool {
        self.sending.load(Ordering::Acquire) > 0
    }

    /// Asks all workers first and waits then.
    fn gather(&mut self, collector: &mut Collector<'_>) {
        for line in &mut self.lines {
            line.send(Message::Swap(collector.empty()));
        }
        self.take_reports(collector);
    }

    /// Repeats it with more time if a worker gets to know too late.
    fn cut(&mut self, collector: &mut Collector<'_>) -> (Nanos, bool) {
        let mut lead = CUT_LEAD;
        loop {
            let at = self.clock.now() + lead;
            for line in &mut self.lines {
                line.send(Message::Cut(at, collector.empty()));
            }
            self.take_reports(collector);
            let is_exact = !self.lines.iter().any(|line| line.inexact.load(Ordering::Acquire));
            if is_exact || lead >= CUT_LEAD_MAX {
                self.lines.iter_mut().for_each(|line| line.used = ThreadUsage::read(line.tid).ok());
                return (at, is_exact);
            }
            lead = Nanos(lead.0 * 2);
        }
    }

    /// Often enough to notice the last packet. Tables of many streams take longer to clear than a few packets to arrive.
    fn gather_every_while_draining(&self, streams: usize) -> Option<Nanos> {
        Some(Nanos::from_micros(5_000 + 20 * streams as u64))
    }

    fn has_failed(&self) -> bool {
        self.lines.iter().any(|line| line.failed.load(Ordering::Acquire) || line.reports.is_abandoned())
    }
}

impl Lines {
    /// Sends a message as soon as there is room, unless the worker is gone.
    fn send(&mut self, message: Message) {
        let mut message = message;
        while let Err(rtrb::PushError::Full(back)) = self.messages.push(message) {
            if self.messages.is_abandoned() {
                return;
            }
            message = back;
            std::thread::sleep(Duration::from_micros(50));
        }
        self.bell.ring();
    }
}
