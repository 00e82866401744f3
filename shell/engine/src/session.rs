//! The one handle on a trial: load, run, watch, stop.

use crate::EngineError;
use crate::interval::Interval;
use crate::receive::Receiver;
use crate::result::{self, ClockResult, PortEnd, ResultDocument, WorkerResult};
use crate::rig::Rig;
use crate::sums::Sums;
use crate::trial::{self, Trial};
use crate::trust::{self, Evidence};
use crate::watch::{View, Watch};
use crate::worker::{LastReport, Worker};
use measure::{Jitter, Recorder};
use neighbour::{Host, Resolver};
use os::{LinkCounters, ThreadUsage, TscClock};
use port::{Burst, Clock, PortFacts, VirtualClock};
use profile::Plan;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use units::Nanos;

/// How long neighbours are asked for.
const RESOLVE_S: u64 = 5;
/// From the moment all workers are ready to the first packet.
const LEAD: Nanos = Nanos::from_millis(1);
/// How often control looks whether anything has changed.
const CONTROL_TURN: Duration = Duration::from_millis(5);
/// How long duplicates are waited for once everything has arrived.
const SETTLE: Nanos = Nanos::from_millis(50);
/// Longest time counts stay in a worker: bucket counts there have 32 bits.
const LOOK_MAX: Nanos = Nanos::from_secs(5);

/// How to run a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Cores to work on, one worker each.
    pub cores: Vec<usize>,
    /// Whether to keep latency histograms; without them there are no percentiles.
    pub histograms: bool,
}

/// A Plan on open ports.
pub struct Session {
    plan: Plan,
    rig: Rig,
}

/// What came of the workers.
struct Harvest {
    total: Sums,
    jitter: Vec<Jitter>,
    unsent: Vec<u64>,
    last_departure: Nanos,
    usage: Vec<Option<ThreadUsage>>,
    epoch: Nanos,
    /// When it was stopped, if it was.
    stopped: Option<Nanos>,
}

impl Session {
    /// Loads `plan` on the ports of `rig`, which are in the plan's order.
    pub fn load(plan: Plan, rig: Rig) -> Self {
        assert_eq!(plan.ports.len(), rig.ports.len(), "a rig has the ports of its plan");
        Self { plan, rig }
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
        watch: &mut dyn Watch,
    ) -> Result<ResultDocument, EngineError> {
        let self_latency = trust::self_latency(clock);
        let skew = clock.cores_agree(&options.cores);
        let (plan, rig) = (&self.plan, &mut self.rig);
        let trial = prepare(plan, rig, clock, options.histograms, &|_| {
            std::thread::sleep(Duration::from_micros(50))
        })?;
        let facts: Vec<PortFacts> = rig.facts().into_iter().cloned().collect();
        let before = Baseline::take(rig, &facts);
        let started = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
        let harvest = real::run(&trial, rig, options, clock, watch)?;
        let drops = before.drops(rig, &facts, &harvest.total);
        let drift = clock.recheck();
        let clock_facts = clock.facts();
        let clock_result = ClockResult {
            source: clock_facts.source,
            hz: clock_facts.hz,
            uncertainty_ppm: Some(clock_facts.uncertainty_ppm),
            drift_ppm: Some(drift.ppm),
            read_cost_ns: Some(clock_facts.read_cost_ns),
            core_skew_ns: (options.cores.len() > 1).then_some(skew.max_ns),
        };
        let mut document = assemble(&trial, &harvest, drops, clock_result);
        document.started = Some(started);
        document.self_latency_ns = self_latency;
        for (worker, core) in document.workers.iter_mut().zip(&options.cores) {
            worker.core = Some(*core);
        }
        Ok(document)
    }

    /// Runs the trial on virtual time, with `workers` workers in turn on this thread.
    pub fn simulate<V: VirtualClock>(
        &mut self,
        workers: usize,
        histograms: bool,
        clock: &V,
        watch: &mut dyn Watch,
    ) -> Result<ResultDocument, EngineError> {
        let (plan, rig) = (&self.plan, &mut self.rig);
        let trial = prepare(plan, rig, clock, histograms, &|until| clock.advance(until))?;
        let harvest = simulated::run(&trial, rig, workers, clock, watch)?;
        let drops = rig.driver_drops();
        let clock_result = ClockResult {
            source: "virtual",
            hz: 1_000_000_000,
            uncertainty_ppm: None,
            drift_ppm: None,
            read_cost_ns: None,
            core_skew_ns: None,
        };
        let mut document = assemble(&trial, &harvest, drops, clock_result);
        document.timestamp_class = "simulated";
        Ok(document)
    }
}

/// Resolves neighbours and, with them, the plan. `idle` passes time until there may be something new.
fn prepare<'p, C: Clock>(
    plan: &'p Plan,
    rig: &mut Rig,
    clock: &C,
    histograms: bool,
    idle: &dyn Fn(Nanos),
) -> Result<Trial<'p>, EngineError> {
    let hosts = trial::hosts(plan, &rig.facts());
    let mut neighbours = trial::neighbours(plan);
    resolve(plan, rig, &hosts, &mut neighbours, clock, idle)?;
    Trial::new(plan, &rig.facts(), hosts, &neighbours, histograms)
}

/// Asks on every port for its neighbours, answering what is asked meanwhile.
fn resolve<C: Clock>(
    plan: &Plan,
    rig: &mut Rig,
    hosts: &[Host],
    neighbours: &mut [Resolver],
    clock: &C,
    idle: &dyn Fn(Nanos),
) -> Result<(), EngineError> {
    let deadline = clock.now() + Nanos::from_secs(RESOLVE_S);
    for port in &mut rig.ports {
        port.queues.tx.iter_mut().take(1).try_for_each(|q| q.attach())?;
        port.queues.rx.iter_mut().try_for_each(|q| q.attach())?;
    }
    loop {
        let now = clock.now();
        let next = neighbours.iter().map(Resolver::next_due).min().unwrap_or(Nanos::MAX);
        if next == Nanos::MAX {
            return Ok(());
        }
        if now > deadline {
            break;
        }
        for ((port, host), resolver) in rig.ports.iter_mut().zip(hosts).zip(neighbours.iter_mut()) {
            let mut frames = resolver.requests(now, host);
            for queue in &mut port.queues.rx {
                Receiver::new(queue.as_mut(), 0, 0).listen(|frame| {
                    resolver.take(host, frame);
                    frames.extend(host.answer(frame));
                });
            }
            if let Some(queue) = port.queues.tx.first_mut() {
                send(queue.as_mut(), &frames);
            }
        }
        idle(next.min(deadline).max(Nanos(now.0 + 1)));
    }
    let silent = neighbours.iter().position(|n| n.next_due() != Nanos::MAX).unwrap_or(0);
    Err(EngineError::Neighbour {
        port: plan.ports[silent].name.clone(),
        neighbours: neighbours[silent].unknown().collect(),
        waited_s: RESOLVE_S,
    })
}

fn send(queue: &mut dyn port::TxQueue, frames: &[Vec<u8>]) {
    let mut burst = Burst::new();
    for frame in frames {
        if queue.alloc(&mut burst, 1) == 1 {
            burst.frame_mut(0).copy_from(frame);
            queue.send(&mut burst);
            queue.free(&mut burst);
        }
    }
}

/// Workers for a trial.
fn workers<'a>(trial: &'a Trial<'_>, rig: &'a mut Rig, count: usize) -> Result<Vec<Worker<'a>>, EngineError> {
    let shape = trial.shape;
    refuse_too_large(shape.bytes(count), shape.streams)?;
    let endpoints = trial.endpoints(rig, count)?;
    let worker = |(transmitters, receivers)| {
        let recorder = Recorder::new(shape.table(), count);
        let interval = Box::new(shape.interval());
        Worker::new(transmitters, receivers, &trial.hosts, &trial.expected, recorder, interval, trial.grace)
    };
    Ok(endpoints.into_iter().map(worker).collect())
}

/// Counters are taken all at once and kept; a trial that does not fit is told so before it starts.
fn refuse_too_large(needed: u64, streams: usize) -> Result<(), EngineError> {
    let available = os::memory::available_bytes();
    if needed <= available {
        return Ok(());
    }
    Err(EngineError::Machine(format!(
        "counters of {streams} streams take {} MB, and {} MB of memory are available; leave out latency histograms with \
         --no-histograms, or use fewer streams",
        needed / 1_000_000,
        available / 1_000_000
    )))
}

/// Adds up what workers hand over, and shows it.
struct Collector<'a> {
    trial: &'a Trial<'a>,
    total: Sums,
    current: Sums,
    /// Cleared intervals, ready to be handed to workers.
    #[expect(clippy::vec_box, reason = "workers swap the boxes, not what is in them")]
    spare: Vec<Box<Interval>>,
    epoch: Nanos,
    looked: Nanos,
    measured: Vec<bool>,
}

impl<'a> Collector<'a> {
    fn new(trial: &'a Trial<'a>, workers: usize, epoch: Nanos) -> Self {
        let sums = Sums::new(trial.shape, workers);
        Self {
            trial,
            current: sums.clone(),
            total: sums,
            spare: Vec::new(),
            epoch,
            looked: epoch,
            measured: trial.measured(),
        }
    }

    fn empty(&mut self) -> Box<Interval> {
        self.spare.pop().unwrap_or_else(|| Box::new(self.trial.shape.interval()))
    }

    fn take(&mut self, worker: usize, mut interval: Box<Interval>) {
        self.current.add(worker, &interval);
        self.total.add(worker, &interval);
        interval.clear();
        self.spare.push(interval);
    }

    /// Shows what came in since the last time.
    fn show(&mut self, now: Nanos, draining: bool, watch: &mut dyn Watch) {
        let view = View {
            trial: self.trial,
            interval: &self.current,
            total: &self.total,
            at: now.since(self.epoch),
            span: now.since(self.looked),
            draining,
        };
        watch.look(&view);
        self.looked = now;
        self.current.clear();
    }

    fn all_arrived(&self) -> bool {
        self.total.all_arrived(&self.measured)
    }

    /// Takes what the workers hand over last, shows it, and ends.
    fn end(
        mut self,
        lasts: Vec<(LastReport, Option<ThreadUsage>)>,
        stopped: Option<Nanos>,
        now: Nanos,
        watch: &mut dyn Watch,
    ) -> Harvest {
        let mut jitter = vec![Jitter::default(); self.trial.shape.streams];
        let mut unsent = vec![0; self.trial.shape.ports];
        let (mut last_departure, mut usage) = (Nanos::ZERO, Vec::new());
        for (worker, (last, used)) in lasts.into_iter().enumerate() {
            self.take(worker, last.interval);
            jitter.iter_mut().zip(last.jitter).for_each(|(sum, jitter)| sum.merge(jitter));
            unsent.iter_mut().zip(&last.unsent).for_each(|(sum, n)| *sum += n);
            last_departure = last_departure.max(last.last_departure);
            usage.push(used);
        }
        self.show(now, true, watch);
        Harvest { jitter, unsent, last_departure, usage, epoch: self.epoch, stopped, total: self.total }
    }
}

/// Where a trial stands, seen from control.
struct Progress {
    next_look: Nanos,
    look_every: Nanos,
    /// When sending was over.
    sent: Option<Nanos>,
    /// When everything had arrived.
    whole: Option<Nanos>,
    stopped: Option<Nanos>,
}

impl Progress {
    fn new(epoch: Nanos, watch: &dyn Watch) -> Self {
        let look_every = watch.interval();
        Self {
            next_look: epoch.saturating_add(look_every),
            look_every,
            sent: None,
            whole: None,
            stopped: None,
        }
    }

    /// Whether late packets have been waited for long enough.
    fn is_over(&self, now: Nanos, drain: Nanos) -> bool {
        let drained = self.sent.is_some_and(|sent| now.since(sent) >= drain);
        drained || self.whole.is_some_and(|whole| now.since(whole) >= SETTLE.min(drain))
    }
}

mod real {
    //! Workers on threads of their own, control on this one.

    use super::*;

    enum Command {
        /// Hand over what was counted and go on with this.
        Swap(Box<Interval>),
        /// Send nothing that is not due yet.
        Stop,
        /// Hand over everything and end.
        Finish(Box<Interval>),
    }

    struct Lines {
        commands: rtrb::Producer<Command>,
        reports: rtrb::Consumer<Box<Interval>>,
    }

    pub(super) fn run(
        trial: &Trial<'_>,
        rig: &mut Rig,
        options: &RunOptions,
        clock: &TscClock,
        watch: &mut dyn Watch,
    ) -> Result<Harvest, EngineError> {
        let count = options.cores.len();
        let workers = workers(trial, rig, count)?;
        let sending = AtomicUsize::new(count);
        let own_cores = os::cpu::allowed();
        // Control must not sit on a worker's core. Where there is no other, the scheduler has to share.
        let _ = os::cpu::pin_to(&os::cpu::control_cores(&options.cores));
        let harvest = std::thread::scope(|scope| {
            let (ready_tx, ready) = mpsc::channel();
            let mut threads = Vec::new();
            for (worker, core) in workers.into_iter().zip(&options.cores) {
                let (commands, command_rx) = rtrb::RingBuffer::new(4);
                let (report_tx, reports) = rtrb::RingBuffer::new(4);
                let (go, go_rx) = mpsc::channel::<Nanos>();
                let (ready, sending, core) = (ready_tx.clone(), &sending, *core);
                let body = move || work(worker, core, clock, &ready, &go_rx, command_rx, report_tx, sending);
                let thread =
                    std::thread::Builder::new().name(format!("eagre-{core}")).spawn_scoped(scope, body);
                let thread =
                    thread.map_err(|e| EngineError::Machine(format!("no thread for core {core}: {e}")))?;
                threads.push((thread, go, Lines { commands, reports }));
            }
            for _ in 0..count {
                let answer = ready.recv_timeout(Duration::from_secs(10));
                answer
                    .map_err(|_| EngineError::Machine("a worker did not come up within 10 s".to_owned()))??;
            }
            let epoch = clock.now() + LEAD;
            let (mut lines, mut handles) = (Vec::new(), Vec::new());
            for (thread, go, line) in threads {
                // A worker that has ended is found out about when its thread is joined.
                let _ = go.send(epoch);
                lines.push(line);
                handles.push(thread);
            }
            let mut collector = Collector::new(trial, count, epoch);
            let stopped = control(&mut collector, &mut lines, clock, watch, &sending);
            let mut lasts = Vec::new();
            for handle in handles {
                lasts.push(handle.join().map_err(|_| EngineError::Machine("a worker failed".to_owned()))??);
            }
            Ok(collector.end(lasts, stopped, clock.now(), watch))
        });
        let _ = os::cpu::pin_to(&own_cores);
        harvest
    }

    /// The life of a worker's thread.
    fn work(
        mut worker: Worker<'_>,
        core: usize,
        clock: &TscClock,
        ready: &mpsc::Sender<Result<(), EngineError>>,
        go: &mpsc::Receiver<Nanos>,
        mut commands: rtrb::Consumer<Command>,
        mut reports: rtrb::Producer<Box<Interval>>,
        sending: &AtomicUsize,
    ) -> Result<(LastReport, Option<ThreadUsage>), EngineError> {
        let pinned =
            os::cpu::pin(core).map_err(|e| EngineError::Machine(format!("no place on core {core}: {e}")));
        let up = pinned.and_then(|()| worker.attach(Nanos::MAX).map_err(EngineError::from));
        let came_up = up.is_ok();
        let _ = ready.send(up);
        let Some(epoch) = go.recv().ok().filter(|_| came_up) else {
            return Err(EngineError::Machine("the trial was called off".to_owned()));
        };
        worker.attach(epoch)?;
        let tid = os::cpu::current_tid();
        let before = ThreadUsage::read(tid).ok();
        let mut was_sending = true;
        loop {
            worker.turn(clock);
            if was_sending && worker.is_done_sending() {
                was_sending = false;
                sending.fetch_sub(1, Ordering::Release);
            }
            match commands.pop() {
                Err(_) => {}
                Ok(Command::Swap(empty)) => {
                    // There is room: control sends no second request before the first is answered.
                    let _ = reports.push(worker.swap(empty));
                }
                Ok(Command::Stop) => worker.stop(clock.now()),
                Ok(Command::Finish(empty)) => {
                    let used =
                        ThreadUsage::read(tid).ok().zip(before).map(|(now, before)| now.since(&before));
                    return Ok((worker.finish(empty), used));
                }
            }
        }
    }

    /// Looks at the workers until the trial is over; returns when it was stopped, if it was.
    fn control(
        collector: &mut Collector<'_>,
        lines: &mut [Lines],
        clock: &TscClock,
        watch: &mut dyn Watch,
        sending: &AtomicUsize,
    ) -> Option<Nanos> {
        let drain = collector.trial.plan.drain;
        let mut progress = Progress::new(collector.epoch, watch);
        let mut gathered = clock.now();
        loop {
            std::thread::sleep(CONTROL_TURN);
            let now = clock.now();
            if watch.stop() && progress.stopped.is_none() {
                progress.stopped = Some(now);
                lines.iter_mut().for_each(|line| command(line, Command::Stop));
            }
            if progress.sent.is_none() && sending.load(Ordering::Acquire) == 0 {
                progress.sent = Some(now);
            }
            let look = now >= progress.next_look;
            let draining = progress.sent.is_some() && progress.whole.is_none();
            let span = now.since(gathered);
            // While draining, look often enough to notice the last packet, however many streams there are.
            if look || span >= LOOK_MAX || (draining && span >= drain_look(collector.trial.shape.streams)) {
                gather(collector, lines, clock);
                gathered = now;
                if progress.sent.is_some() && progress.whole.is_none() && collector.all_arrived() {
                    progress.whole = Some(now);
                }
            }
            if look {
                collector.show(now, progress.sent.is_some(), watch);
                progress.next_look = now.saturating_add(progress.look_every);
            }
            if progress.is_over(now, drain) || lines.iter().any(|line| line.reports.is_abandoned()) {
                break;
            }
        }
        for line in lines.iter_mut() {
            let empty = collector.empty();
            command(line, Command::Finish(empty));
        }
        progress.stopped
    }

    /// Tables of many streams take longer to clear than a few packets to arrive.
    fn drain_look(streams: usize) -> Nanos {
        Nanos::from_micros(5_000 + 20 * streams as u64)
    }

    fn command(line: &mut Lines, command: Command) {
        let mut command = command;
        while let Err(rtrb::PushError::Full(back)) = line.commands.push(command) {
            if line.commands.is_abandoned() {
                return;
            }
            command = back;
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Asks all workers for what they have counted and waits for it.
    fn gather(collector: &mut Collector<'_>, lines: &mut [Lines], clock: &TscClock) {
        for line in lines.iter_mut() {
            let empty = collector.empty();
            command(line, Command::Swap(empty));
        }
        for (worker, line) in lines.iter_mut().enumerate() {
            let patience = clock.now() + Nanos::from_secs(10);
            loop {
                if let Ok(report) = line.reports.pop() {
                    collector.take(worker, report);
                    break;
                }
                if line.reports.is_abandoned() || clock.now() > patience {
                    break;
                }
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }
}

mod simulated {
    //! Workers in turn on this thread, time jumping from event to event.

    use super::*;

    pub(super) fn run<V: VirtualClock>(
        trial: &Trial<'_>,
        rig: &mut Rig,
        count: usize,
        clock: &V,
        watch: &mut dyn Watch,
    ) -> Result<Harvest, EngineError> {
        let mut workers = workers(trial, rig, count)?;
        let epoch = clock.now() + LEAD;
        workers.iter_mut().try_for_each(|w| w.attach(epoch))?;
        let mut collector = Collector::new(trial, count, epoch);
        let mut progress = Progress::new(epoch, watch);
        loop {
            let mut busy = false;
            for worker in &mut workers {
                busy |= worker.turn(clock);
            }
            let now = clock.now();
            if busy && now < progress.next_look {
                continue;
            }
            if watch.stop() && progress.stopped.is_none() {
                progress.stopped = Some(now);
                workers.iter_mut().for_each(|w| w.stop(now));
            }
            if progress.sent.is_none() && workers.iter().all(Worker::is_done_sending) {
                progress.sent = Some(now);
            }
            if now >= progress.next_look {
                gather(&mut collector, &mut workers);
                collector.show(now, progress.sent.is_some(), watch);
                progress.next_look = now.saturating_add(progress.look_every);
            }
            if progress.is_over(now, trial.plan.drain) {
                break;
            }
            if !busy {
                let due = workers.iter().map(Worker::next_due).min().unwrap_or(Nanos::MAX);
                let drained = progress.sent.map_or(Nanos::MAX, |sent| sent.saturating_add(trial.plan.drain));
                let deadline = epoch.saturating_add(trial.plan.duration).saturating_add(trial.grace);
                let deadline = if now <= deadline { Nanos(deadline.0.saturating_add(1)) } else { Nanos::MAX };
                clock.advance(due.min(progress.next_look).min(drained).min(deadline));
            }
        }
        let lasts = workers.into_iter().map(|w| (w.finish(collector.empty()), None)).collect();
        let now = clock.now();
        Ok(collector.end(lasts, progress.stopped, now, watch))
    }

    fn gather(collector: &mut Collector<'_>, workers: &mut [Worker<'_>]) {
        for (index, worker) in workers.iter_mut().enumerate() {
            let report = worker.swap(collector.empty());
            collector.take(index, report);
        }
    }
}

/// Counters of driver and kernel before traffic.
struct Baseline {
    drops: Vec<port::DriverDrops>,
    links: Vec<Option<LinkCounters>>,
}

impl Baseline {
    fn take(rig: &mut Rig, facts: &[PortFacts]) -> Self {
        let links = facts.iter().map(link_counters).collect();
        Self { drops: rig.driver_drops(), links }
    }

    /// What was dropped between the queues and the wire since.
    fn drops(&self, rig: &mut Rig, facts: &[PortFacts], sums: &Sums) -> Vec<port::DriverDrops> {
        let mut drops = rig.driver_drops();
        for (index, now) in drops.iter_mut().enumerate() {
            subtract(&mut now.rx, &self.drops[index].rx);
            subtract(&mut now.tx, &self.drops[index].tx);
            let known: u64 = now.tx.iter().map(|(_, n)| n).sum();
            let ours = sums.ports[index].tx_packets;
            if let Some((before, after)) = self.links[index].as_ref().zip(link_counters(&facts[index])) {
                // The kernel's own packets may be among those the interface sent, so this never says too much.
                let since = after.since(before);
                // What a tap sends is what the kernel's interface receives.
                let counted =
                    if facts[index].driver == "net_tap" { since.rx_packets } else { since.tx_packets };
                let missing = ours.saturating_sub(known).saturating_sub(counted);
                now.tx.push(("not_counted_by_interface", missing));
            }
        }
        drops
    }
}

fn link_counters(facts: &PortFacts) -> Option<LinkCounters> {
    LinkCounters::read(facts.netdev.as_deref()?).ok()
}

fn subtract(now: &mut [(&'static str, u64)], before: &[(&'static str, u64)]) {
    for (reason, n) in now {
        let then = before.iter().find(|(same, _)| same == reason).map_or(0, |(_, n)| *n);
        *n = n.saturating_sub(then);
    }
}

fn assemble(
    trial: &Trial<'_>,
    harvest: &Harvest,
    drops: Vec<port::DriverDrops>,
    clock: ClockResult,
) -> ResultDocument {
    let plan = trial.plan;
    let ends: Vec<PortEnd> =
        harvest.unsent.iter().zip(drops).map(|(unsent, drops)| PortEnd { unsent: *unsent, drops }).collect();
    let span = sending_time(plan, harvest);
    let seconds = span.as_secs_f64().max(1e-9);
    let evidence = Evidence { trial, sums: &harvest.total, ends: &ends, drift_ppm: clock.drift_ppm };
    let workers = harvest.total.workers.iter().zip(&harvest.usage).map(|(time, usage)| WorkerResult {
        cpu_s: usage.map(|u| u.run_ns as f64 / 1e9),
        waited_s: usage.map(|u| u.wait_ns as f64 / 1e9),
        ..WorkerResult::new(time)
    });
    let mut document = ResultDocument {
        schema: result::SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        seed: plan.seed,
        profile_sha256: plan.profile_sha256.clone(),
        started: None,
        duration_s: span.as_secs_f64(),
        interrupted: harvest.stopped.is_some(),
        clock,
        timestamp_class: "software",
        self_latency_ns: None,
        verdict: evidence.verdict(),
        sim: None,
        criteria: Vec::new(),
        ports: result::ports(trial, &harvest.total, seconds, Some(&ends)),
        streams: result::streams(trial, &harvest.total, span, Some(&harvest.jitter), true),
        workers: workers.collect(),
    };
    document.criteria = trust::judge_criteria(&plan.criteria, &document);
    document
}

/// How long traffic was sent: as planned, unless it was stopped, ended early by count, or could not keep up.
fn sending_time(plan: &Plan, harvest: &Harvest) -> Nanos {
    let last = harvest.last_departure.since(harvest.epoch);
    let counted = !plan.streams.is_empty() && plan.streams.iter().all(|s| s.count.is_some());
    let unsent = harvest.unsent.iter().any(|n| *n > 0);
    match harvest.stopped {
        Some(stopped) => stopped.since(harvest.epoch).min(plan.duration),
        None if unsent => last.max(plan.duration),
        None if counted => last.min(plan.duration),
        None => plan.duration,
    }
}
