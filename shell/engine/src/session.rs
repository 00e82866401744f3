//! The one handle on a trial: load, run, watch, stop.

mod real;
mod simulated;

use crate::EngineError;
use crate::captures::Captures;
use crate::change::Order;
use crate::hosts::Played;
use crate::interval::Interval;
use crate::pings::{Errand, Heard, Pings};
use crate::players::Players;
use crate::receive::Receiver;
use crate::rig::Rig;
use crate::rows::{self, PortEnd};
use crate::session_rows;
use crate::sums::Sums;
use crate::trial::Trial;
use crate::trust::{self, Evidence};
use crate::watch::{View, Watch};
use crate::worker::{LastReport, Worker};
use measure::{Jitter, Recorder, Spans};
use neighbour::Resolver;
use os::{LinkCounters, LinkFacts, ThreadUsage, TscClock};
use port::{Burst, Clock, PortFacts, VirtualClock};
use profile::Plan;
use profile::plan::SessionEntry;
use result::{CaptureResult, ClockResult, Named, RateChange, ResultDocument, WorkerResult};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use units::Nanos;

/// How long neighbours are asked for.
const RESOLVE_S: u64 = 5;
/// From the moment all workers are ready to the first packet.
const LEAD: Nanos = Nanos::from_millis(1);
/// From an order to its effect: by then every worker has it.
const CHANGE_LEAD: Nanos = Nanos::from_millis(20);
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
    spans: Spans,
    jitter: Vec<Jitter>,
    unsent: Vec<u64>,
    last_departure: Nanos,
    usage: Vec<Option<ThreadUsage>>,
    epoch: Nanos,
    /// When it was stopped, if it was.
    stopped: Option<Nanos>,
    changes: Vec<RateChange>,
    captures: Named<CaptureResult>,
    field_programs: Option<&'static str>,
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
        let idle = |_| std::thread::sleep(Duration::from_micros(50));
        let trial = prepare(plan, rig, clock, options.histograms, watch, &idle)?;
        let facts: Vec<PortFacts> = rig.facts().into_iter().cloned().collect();
        let before = Baseline::take(rig, &facts);
        let started = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
        let harvest = real::run(&trial, rig, options, clock, watch)?;
        let drops = before.drops(rig, &facts, &harvest.total);
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
        let trial = prepare(plan, rig, clock, histograms, watch, &|until| clock.advance(until))?;
        let harvest = simulated::run(&trial, rig, workers, clock, watch)?;
        let drops = rig.driver_drops();
        let clock_result = ClockResult {
            source: "virtual".into(),
            hz: 1_000_000_000,
            uncertainty_ppm: None,
            drift_ppm: None,
            read_cost_ns: None,
            core_skew_ns: None,
        };
        let mut document = assemble(&trial, &harvest, drops, clock_result);
        document.timestamp_class = "simulated".into();
        Ok(document)
    }
}

/// Resolves neighbours and, with them, the plan. `idle` passes time until there may be something new.
fn prepare<'p, C: Clock>(
    plan: &'p Plan,
    rig: &mut Rig,
    clock: &C,
    histograms: bool,
    watch: &mut dyn Watch,
    idle: &dyn Fn(Nanos),
) -> Result<Trial<'p>, EngineError> {
    let played = Played::new(plan, &rig.facts())?;
    let mut neighbours = played.neighbours(plan);
    resolve(rig, &played, &mut neighbours, clock, idle)?;
    let listens = plan.streams.is_empty() && plan.sessions.iter().all(|entry| entry.session.client.is_none());
    for (index, asked) in neighbours.iter().enumerate() {
        let port = &plan.ports[index];
        let silent: Vec<IpAddr> = asked.unknown().map(|(_, ip)| ip).collect();
        let is_well = silent.is_empty() || (listens && watch.goes_without(&port.name, &silent));
        if !is_well {
            let by_whom = |(host, ip): (usize, IpAddr)| match played.plan(plan, index, host) {
                own if port.own() == own => ip.to_string(),
                host => format!("{ip} (asked by host {})", host.name),
            };
            let neighbours = asked.unknown().map(by_whom).collect();
            return Err(EngineError::Neighbour { port: port.name.clone(), neighbours, waited_s: RESOLVE_S });
        }
    }
    Trial::new(plan, &rig.facts(), played, &neighbours, histograms)
}

/// Asks on every port for its neighbours, answering what is asked meanwhile, until all have answered or it is time.
fn resolve<C: Clock>(
    rig: &mut Rig,
    played: &Played,
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
        if next == Nanos::MAX || now > deadline {
            return Ok(());
        }
        for ((port, hosts), resolver) in rig.ports.iter_mut().zip(&played.ports).zip(neighbours.iter_mut()) {
            let mut frames = resolver.requests(now, hosts);
            for queue in &mut port.queues.rx {
                Receiver::new(queue.as_mut(), 0, 0).listen(|frame| {
                    resolver.take(hosts, frame);
                    frames.extend(hosts.answer(frame));
                });
            }
            if let Some(queue) = port.queues.tx.first_mut() {
                send(queue.as_mut(), &frames);
            }
        }
        idle(next.min(deadline).max(Nanos(now.0 + 1)));
    }
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

/// What goes on beside the workers, and what there is to say of them.
struct Background {
    captures: Captures,
    /// How varying fields are written, if any vary.
    field_programs: Option<&'static str>,
}

/// Workers for a trial.
fn workers<'a>(
    trial: &'a Trial<'_>,
    rig: &'a mut Rig,
    count: usize,
    wall_zero: Nanos,
) -> Result<(Vec<Worker<'a>>, Background), EngineError> {
    let shape = trial.shape;
    refuse_too_large(shape.bytes(count), shape.streams)?;
    let mut jit = None;
    let mut players = Players::new(trial, rig, count)?;
    let mut endpoints = trial.endpoints(rig, count, &mut jit)?;
    let captures = Captures::start(trial.plan, &mut endpoints, wall_zero)?;
    let field_programs = jit.map(|jit| if jit.compiles() { "compiled" } else { "interpreted" });
    let worker = |(index, (transmitters, receivers))| {
        let local = players.local(trial, index)?;
        let recorder = Recorder::new(shape.table(), count);
        let interval = Box::new(shape.interval());
        let (hosts, expected) = (&trial.played.ports, &trial.expected);
        Ok(Worker::new(transmitters, receivers, local, hosts, expected, recorder, interval, trial.grace))
    };
    let workers = endpoints.into_iter().enumerate().map(worker).collect::<Result<_, EngineError>>()?;
    Ok((workers, Background { captures, field_programs }))
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
    spans: Spans,
    current: Sums,
    /// Cleared intervals, ready to be handed to workers.
    #[expect(clippy::vec_box, reason = "workers swap the boxes, not what is in them")]
    spare: Vec<Box<Interval>>,
    epoch: Nanos,
    looked: Nanos,
    measured: Vec<bool>,
    /// Made so far.
    changes: Vec<RateChange>,
}

impl<'a> Collector<'a> {
    fn new(trial: &'a Trial<'a>, workers: usize, epoch: Nanos) -> Self {
        let sums = Sums::new(trial.shape, workers);
        Self {
            trial,
            current: sums.clone(),
            total: sums,
            spans: Spans::new(trial.shape.streams, workers),
            spare: Vec::new(),
            epoch,
            looked: epoch,
            measured: trial.measured(),
            changes: Vec::new(),
        }
    }

    fn empty(&mut self) -> Box<Interval> {
        self.spare.pop().unwrap_or_else(|| Box::new(self.trial.shape.interval()))
    }

    fn take(&mut self, worker: usize, mut interval: Box<Interval>) {
        self.current.add(worker, &interval);
        self.total.add(worker, &interval);
        self.spans.add(worker, &interval.arrivals);
        interval.clear();
        self.spare.push(interval);
    }

    /// Shows what came in since the last time.
    fn show(&mut self, now: Nanos, draining: bool, watch: &mut dyn Watch) {
        let view = View {
            trial: self.trial,
            interval: &self.current,
            total: &self.total,
            spans: &self.spans,
            epoch: self.epoch,
            at: now.since(self.epoch),
            span: now.since(self.looked),
            draining,
        };
        watch.look(&view);
        self.looked = now;
        self.current.clear();
    }

    /// The changes somebody wants, as workers are told them; notes them for the result.
    fn orders(&mut self, now: Nanos, watch: &mut dyn Watch) -> Vec<Order> {
        let mut orders = Vec::new();
        while let Some(change) = watch.change() {
            let at = now.since(self.epoch) + CHANGE_LEAD;
            match change.orders(self.trial, at) {
                Ok(made) => {
                    orders.extend(made);
                    self.changes.push(rows::rate_change(&change, at));
                }
                Err(reason) => watch.refused(&change, &reason),
            }
        }
        orders
    }

    /// Whether the trial may be over once all is sent. One that begins nothing listens for its whole duration.
    fn may_end(&self, now: Nanos) -> bool {
        let plan = self.trial.plan;
        let begins = |entry: &SessionEntry| entry.session.client.is_some();
        !plan.streams.is_empty()
            || plan.sessions.iter().any(begins)
            || now >= self.epoch.saturating_add(plan.duration)
    }

    fn all_arrived(&self) -> bool {
        self.total.all_arrived(&self.measured) && self.total.sessions_ended()
    }

    /// Takes what the workers hand over last, shows it, and ends.
    fn end(
        mut self,
        lasts: Vec<(LastReport, Option<ThreadUsage>)>,
        background: Background,
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
        Harvest {
            captures: background.captures.finish(),
            field_programs: background.field_programs,
            jitter,
            unsent,
            last_departure,
            usage,
            epoch: self.epoch,
            stopped,
            changes: self.changes,
            total: self.total,
            spans: self.spans,
        }
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

/// Counters of driver and kernel before traffic.
struct Baseline {
    drops: Vec<port::DriverDrops>,
    links: Vec<Option<LinkCounters>>,
    /// Whether what the interface drops is the loss of somebody else's receive queue at the end of a veth pair.
    elsewhere: Vec<bool>,
}

impl Baseline {
    fn take(rig: &mut Rig, facts: &[PortFacts]) -> Self {
        let links = facts.iter().map(link_counters).collect();
        let elsewhere = facts.iter().map(|port| {
            let link = port.netdev.as_deref().and_then(|name| LinkFacts::read(name).ok());
            link.is_some_and(|link| link.leads_elsewhere())
        });
        Self { drops: rig.driver_drops(), links, elsewhere: elsewhere.collect() }
    }

    /// What was dropped between the queues and the wire since.
    fn drops(&self, rig: &mut Rig, facts: &[PortFacts], sums: &Sums) -> Vec<port::DriverDrops> {
        let mut drops = rig.driver_drops();
        for (index, now) in drops.iter_mut().enumerate() {
            subtract(&mut now.rx, &self.drops[index].rx);
            subtract(&mut now.tx, &self.drops[index].tx);
            if self.elsewhere[index] {
                now.tx.retain(|(reason, _)| *reason != "interface_dropped");
            }
            let known: u64 = now.tx.iter().map(|(_, n)| n).sum();
            let ours = sums.ports[index].tx_packets;
            if let Some((before, after)) = self.links[index].as_ref().zip(link_counters(&facts[index])) {
                // The kernel's own packets may be among those the interface sent, so this never says too much.
                let since = after.since(before);
                // What a tap sends is what the kernel's interface receives.
                let counted = match () {
                    () if facts[index].driver == "net_tap" => since.rx_packets,
                    () if self.elsewhere[index] => since.tx_packets + since.tx_dropped,
                    () => since.tx_packets,
                };
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
        ..rows::worker(time)
    });
    let arrived = Some((&harvest.spans, harvest.epoch));
    let mut document = ResultDocument {
        schema: result::SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: plan.seed,
        profile_sha256: plan.profile_sha256.clone(),
        started: None,
        duration_s: span.as_secs_f64(),
        interrupted: harvest.stopped.is_some(),
        clock,
        timestamp_class: "software".into(),
        self_latency_ns: None,
        verdict: evidence.verdict(),
        sim: None,
        rate_changes: harvest.changes.clone(),
        field_programs: harvest.field_programs.map(Into::into),
        captures: harvest.captures.clone(),
        criteria: Vec::new(),
        ports: rows::ports(trial, &harvest.total, seconds, Some(&ends)),
        streams: rows::streams(trial, &harvest.total, span, Some(&harvest.jitter), arrived, true),
        groups: rows::groups(trial, &harvest.total, span, true),
        sessions: session_rows::sessions(trial, &harvest.total, span, true),
        workers: workers.collect(),
    };
    document.criteria = trust::judge_criteria(&plan.criteria, &document);
    document
}

/// How long traffic was sent: as planned, unless it was stopped, ended early by count, or could not keep up.
fn sending_time(plan: &Plan, harvest: &Harvest) -> Nanos {
    let last = harvest.last_departure.since(harvest.epoch);
    let bounded = |entry: &SessionEntry| {
        let load = &entry.session.load;
        entry.session.client.is_some()
            && (load.count.is_some() || load.bytes.is_some() || load.time.is_some())
    };
    let counted = (!plan.streams.is_empty() || !plan.sessions.is_empty())
        && plan.streams.iter().all(|s| s.count.is_some())
        && plan.sessions.iter().all(bounded);
    let unsent = harvest.unsent.iter().any(|n| *n > 0);
    match harvest.stopped {
        Some(stopped) => stopped.since(harvest.epoch).min(plan.duration),
        None if unsent => last.max(plan.duration),
        None if counted => last.min(plan.duration),
        None => plan.duration,
    }
}
