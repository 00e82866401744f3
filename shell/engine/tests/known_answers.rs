//! Known results under load: devices of known loss, order and delay, measured in real time while something disturbs the
//! tester.
//!
//! The devices are between two in-process ports and act by packet number and time, so that disturbances of the tester
//! do not affect them. Figures reported as certain must be right in every run, and bounds must enclose the true value.
//! `EAGRE_KNOWN_ANSWERS=50` sets the number of repetitions of each case.

mod common;

use common::{Blind, plan, stream};
use engine::{Commands, Rig, RunOptions, Session};
use os::TscClock;
use port::{
    Burst, Clock, DriverDrops, Port, PortError, PortFacts, PortRequest, Queues, RxQueue, TxQueue, ring,
};
use profile::plan::StreamPlan;
use result::{ResultDocument, Standing};
use std::collections::VecDeque;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use units::Nanos;

const REQUEST: PortRequest = PortRequest { queues: 1, frame_len_max: 1518, confined: false };
const RATE: &str = "20kpps";
/// A twentieth of it is the shortest pause: what holds the tester up for less is in its latencies.
const DELAY: Nanos = Nanos::from_millis(1);

/// Behaviour of a device.
#[derive(Debug, Clone, Copy, Default)]
struct Rules {
    /// Drops every n-th packet; 0: none.
    drops_every: u64,
    /// Holds every n-th packet back until three more have passed; 0: none.
    holds_every: u64,
    delay: Nanos,
    /// Forwards nothing from one instant after its first packet until another.
    dark: Option<(Nanos, Nanos)>,
    /// Packets it has room for at a time; more are dropped, which a tester in time never brings about.
    room: Option<usize>,
    /// Holds up the tester for [`NAP`], once, at this instant after its first packet.
    naps: Option<Nanos>,
}

/// Shorter than what counts as a stall, and longer than a sampling interval.
const NAP: Duration = Duration::from_millis(4);

/// A device between two ports, and what it did.
#[derive(Debug, Default)]
struct Device {
    rules: Rules,
    seen: u64,
    began: Nanos,
    /// Packets dropped by the rules: the truth.
    dropped: u64,
    /// Packets dropped because they came in bursts: the tester's doing.
    overflowed: u64,
    overtaken: u64,
    held: Option<(u64, Vec<u8>)>,
    under_way: VecDeque<(Nanos, Vec<u8>)>,
}

impl Device {
    fn take(&mut self, now: Nanos, frame: &[u8]) {
        if self.seen == 0 {
            self.began = now;
        }
        self.seen += 1;
        let since = now.since(self.began);
        if self.rules.dark.is_some_and(|(from, until)| from <= since && since < until) {
            self.dropped += 1;
            return;
        }
        let is_one_of = |every: u64| self.seen.is_multiple_of(every);
        if is_one_of(self.rules.drops_every) {
            self.dropped += 1;
            return;
        }
        if self.rules.room.is_some_and(|room| self.under_way.len() >= room) {
            self.overflowed += 1;
            return;
        }
        let out = now + self.rules.delay;
        if is_one_of(self.rules.holds_every) {
            self.held = Some((self.seen, frame.to_vec()));
            return;
        }
        self.under_way.push_back((out, frame.to_vec()));
        if let Some((_, held)) = self.held.take_if(|(number, _)| self.seen - *number >= 3) {
            self.overtaken += 1;
            self.under_way.push_back((out, held));
        }
    }
}

type Shared = Arc<Mutex<Device>>;

fn lock(device: &Shared) -> MutexGuard<'_, Device> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A port on one side of the device: what it sends enters the device, what leaves the device it receives.
struct Side {
    facts: PortFacts,
    queues: Queues,
}

impl Port for Side {
    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn take_queues(&mut self) -> Queues {
        std::mem::replace(&mut self.queues, Queues { tx: Vec::new(), rx: Vec::new() })
    }

    fn driver_drops(&mut self) -> DriverDrops {
        DriverDrops::default()
    }
}

/// Both ends of a ring.
type Ends = (Box<dyn TxQueue>, Box<dyn RxQueue>);

/// Sends into the device.
struct In {
    ring: Ends,
    device: Shared,
    clock: Arc<TscClock>,
}

impl TxQueue for In {
    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize {
        self.ring.0.alloc(burst, n)
    }

    fn send(&mut self, burst: &mut Burst) -> usize {
        let sent = self.ring.0.send(burst);
        let (now, mut entered) = (self.clock.now(), Burst::new());
        self.ring.1.recv(&mut entered);
        (0..entered.len()).for_each(|i| lock(&self.device).take(now, entered.data(i)));
        self.ring.1.free(&mut entered);
        let mut device = lock(&self.device);
        let since = now.since(device.began);
        if device.rules.naps.take_if(|at| *at <= since).is_some() {
            std::thread::sleep(NAP);
        }
        sent
    }

    fn free(&mut self, burst: &mut Burst) {
        self.ring.0.free(burst);
    }
}

/// Receives what the device lets go.
struct Out {
    ring: Ends,
    device: Shared,
    clock: Arc<TscClock>,
}

impl RxQueue for Out {
    fn recv(&mut self, burst: &mut Burst) -> usize {
        let (now, mut leaving) = (self.clock.now(), Burst::new());
        let mut device = lock(&self.device);
        while leaving.len() < port::BURST && device.under_way.front().is_some_and(|(at, _)| *at <= now) {
            if self.ring.0.alloc(&mut leaving, 1) == 0 {
                break;
            }
            let Some((_, frame)) = device.under_way.pop_front() else { break };
            leaving.frame_mut(leaving.len() - 1).copy_from(&frame);
        }
        self.ring.0.send(&mut leaving);
        self.ring.0.free(&mut leaving);
        self.ring.1.recv(burst)
    }

    fn free(&mut self, burst: &mut Burst) {
        self.ring.1.free(burst);
    }
}

fn ring(device: &str) -> Result<(PortFacts, Ends), PortError> {
    let mut port = ring::looped(device, REQUEST)?;
    let Queues { mut tx, mut rx } = port.take_queues();
    Ok((port.facts().clone(), (tx.remove(0), rx.remove(0))))
}

/// Two ports with a device between them.
fn around(device: &Shared, clock: &Arc<TscClock>) -> Vec<Box<dyn Port>> {
    // The way back loses nothing and is in no hurry.
    let back = Shared::default();
    let side = |name: &str, into: &Shared, out_of: &Shared| {
        let (facts, sent) = ring(name).unwrap();
        let (_, received) = ring(name).unwrap();
        let tx = In { ring: sent, device: into.clone(), clock: clock.clone() };
        let rx = Out { ring: received, device: out_of.clone(), clock: clock.clone() };
        Box::new(Side { facts, queues: Queues { tx: vec![Box::new(tx)], rx: vec![Box::new(rx)] } })
            as Box<dyn Port>
    };
    vec![side("ring:a", device, &back), side("ring:b", &back, device)]
}

/// Disturbance of the tester.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    /// Busy loops on the worker's core, which come and go.
    Loops,
    /// The whole process is stopped now and then.
    Stops,
}

/// Disturbance beside a trial, until it is dropped.
struct Beside {
    over: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
    stopper: Option<Child>,
}

impl Beside {
    fn begin(trouble: Trouble, core: usize, run: u64) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let threads = if trouble == Trouble::Loops { 2 } else { 0 };
        let looping = |n: u64| {
            let over = over.clone();
            std::thread::spawn(move || {
                os::cpu::pin(core).unwrap();
                let mut chance = 1 + run * 7 + n;
                while !over.load(Ordering::Relaxed) {
                    chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let busy = Instant::now() + Duration::from_millis(2 + (chance >> 60));
                    while Instant::now() < busy {
                        std::hint::spin_loop();
                    }
                    std::thread::sleep(Duration::from_millis(10 + (chance >> 58)));
                }
            })
        };
        let script = format!(
            "for n in 1 2 3 4; do sleep 0.1; kill -STOP {0}; sleep 0.03; kill -CONT {0}; done",
            std::process::id()
        );
        let stopper =
            (trouble == Trouble::Stops).then(|| Command::new("sh").args(["-c", &script]).spawn().unwrap());
        Self { threads: (0..threads).map(looping).collect(), over, stopper }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| _ = thread.join());
        self.stopper.iter_mut().for_each(|stopper| _ = stopper.wait());
    }
}

/// One trial of a device in trouble.
fn measured(rules: Rules, trouble: Trouble, run: u64) -> (ResultDocument, Device) {
    let device = Arc::new(Mutex::new(Device { rules, ..Device::default() }));
    let clock = Arc::new(TscClock::calibrate(Duration::from_millis(20)));
    let watched = StreamPlan { outages: Some(500_000), ..stream("s", RATE) };
    let mut plan = plan(vec![watched], "600ms");
    plan.drain = Nanos::from_millis(100);
    let mut session = Session::load(plan, Rig::new(around(&device, &clock)));
    let core = *os::cpu::allowed().last().unwrap();
    let beside = Beside::begin(trouble, core, run);
    let options = RunOptions { cores: vec![core], histograms: true, spare: Vec::new() };
    let document =
        session.run(&options, &clock, &mut Commands::none(), &mut Blind { reads_streams: false }).unwrap();
    drop(beside);
    let device = std::mem::take(&mut *lock(&device));
    (document, device)
}

fn runs() -> u64 {
    std::env::var("EAGRE_KNOWN_ANSWERS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(2)
}

/// Whether `truth` equals the figure, or lies between its bounds; and whether it is reported as certain.
fn check(document: &ResultDocument, path: &str, truth: f64) -> bool {
    match document.standing(path) {
        Standing::Holds { value, .. } => {
            assert_eq!(value, Some(truth), "{path} is told as sure: {:#?}", document.verdict);
            true
        }
        Standing::Bounds { lower, upper, .. } => {
            let (low, high) = (lower.unwrap_or(f64::MIN), upper.unwrap_or(f64::MAX));
            assert!(
                low <= truth && truth <= high,
                "{path}: {truth} not in {low} to {high}: {:#?}",
                document.verdict
            );
            false
        }
        Standing::CannotJudge(_) => false,
    }
}

const TROUBLES: [Trouble; 3] = [Trouble::None, Trouble::Loops, Trouble::Stops];

/// Each run of a device in each trouble.
fn each(rules: Rules, check: impl Fn(Trouble, &ResultDocument, &Device)) {
    for trouble in TROUBLES {
        for run in 0..runs() {
            let (document, device) = measured(rules, trouble, run);
            check(trouble, &document, &device);
        }
    }
}

#[test]
fn nothing_lost_is_told_as_sure() {
    each(Rules::default(), |trouble, document, _| {
        for path in ["streams.s.lost", "streams.s.loss_ratio", "streams.s.reordered"] {
            assert!(check(document, path, 0.0), "{path} {trouble:?}");
        }
    });
}

#[test]
fn a_known_loss_lies_between_its_bounds() {
    let rules = Rules { drops_every: 1_000, ..Rules::default() };
    each(rules, |_, document, device| {
        check(document, "streams.s.lost", device.dropped as f64);
        let tx = document.streams["s"].tx as f64;
        check(document, "streams.s.loss_ratio", device.dropped as f64 / tx);
    });
}

/// A device that is dark for 200 ms: its outage is found, regardless of what pauses add to it or hide.
#[test]
fn a_known_outage_lies_between_its_bounds() {
    let (from, until) = (Nanos::from_millis(150), Nanos::from_millis(350));
    outage(Rules::default(), from, until);
    // A short pause hides the end of the outage.
    outage(Rules { naps: Some(until.since(Nanos::from_millis(3))), ..Rules::default() }, from, until);
}

fn outage(rules: Rules, from: Nanos, until: Nanos) {
    each(Rules { dark: Some((from, until)), ..rules }, |_, document, device| {
        check(document, "streams.s.lost", device.dropped as f64);
        let outages = document.streams["s"].outages.as_ref().unwrap();
        let is_sure = |path: &str| matches!(document.standing(path), Standing::Holds { .. });
        assert!(outages.count == 1 || !is_sure("streams.s.outages.count"), "{outages:?}");
        for (path, measured) in [("longest_ns", outages.longest_ns), ("total_ns", outages.total_ns)] {
            let path = format!("streams.s.outages.{path}");
            let truth = until.since(from).0 as f64;
            if is_sure(&path) {
                // Its edges are right to an interval.
                assert!((measured as f64 - truth).abs() <= outages.interval_ns as f64, "{path}: {outages:?}");
            } else {
                check(document, &path, truth);
            }
        }
    });
}

/// Bursts after pauses overflow a device that loses nothing at the requested rate.
#[test]
fn losses_that_pauses_bring_about_are_not_the_devices() {
    let rules =
        Rules { room: Some(8), drops_every: 1_000, delay: Nanos::from_micros(50), ..Rules::default() };
    each(rules, |_, document, device| {
        let lost = document.streams["s"].lost.unwrap();
        let left = device.under_way.len() as u64;
        assert_eq!(lost, device.dropped + device.overflowed + left);
        check(document, "streams.s.lost", device.dropped as f64);
    });
}

#[test]
fn a_known_disorder_lies_between_its_bounds() {
    let rules = Rules { holds_every: 100, ..Rules::default() };
    each(rules, |_, document, device| {
        check(document, "streams.s.reordered", device.overtaken as f64);
        let held = u64::from(device.held.is_some());
        check(document, "streams.s.lost", held as f64);
    });
}

/// Share of packets that no pause touched, and number of them, from which on their percentiles are compared with the delay: what is
/// left of a run that was disturbed all the time has the tester's short delays in it, which are no pauses.
const ENOUGH: (f64, f64) = (0.5, 5_000.0);
/// Runs of a trouble from which on most, not all, must have the delay at the 99th percentile.
const MANY: usize = 10;

/// The delay over packets that no pause touched is the device's, regardless of the others.
#[test]
fn undisturbed_packets_have_the_delay_of_the_device() {
    let rules = Rules { delay: DELAY, ..Rules::default() };
    let is_near = |ns: f64| (ns / DELAY.0 as f64 - 1.0).abs() <= 0.05;
    for trouble in TROUBLES {
        let (mut judged, mut far, mut unjudged) = (0, Vec::new(), 0);
        for run in 0..runs() {
            let (document, _) = measured(rules, trouble, run);
            let stream = &document.streams["s"];
            let ratio = stream.undisturbed.as_ref().map_or(1.0, |undisturbed| undisturbed.ratio);
            let max = stream.latency_ns.as_ref().unwrap().max;
            assert!(trouble != Trouble::Stops || max > 10_000_000, "the process was not stopped: {max}");
            let is_enough = ratio >= ENOUGH.0 && ratio * stream.rx.unwrap() as f64 >= ENOUGH.1;
            for figure in ["p50", "p99"] {
                let Standing::Holds { value: Some(ns), .. } =
                    document.standing(&format!("streams.s.latency_ns.{figure}"))
                else {
                    // The clock's drift is measured over the run, and may be in doubt of short ones.
                    let entry = document.verdict.holds.get("streams.s.latency_ns");
                    let reason = entry.and_then(|entry| entry.reason.as_deref());
                    let by_clock = reason.is_some_and(|reason| reason.contains("clock"));
                    assert!(!is_enough || by_clock, "{figure} {trouble:?}: {:#?}", document.verdict);
                    unjudged += 1;
                    continue;
                };
                // No packet is faster than the device. Buckets of a histogram are 0.8% wide at most.
                assert!(ns >= DELAY.0 as f64 * 0.99, "{figure} {trouble:?}: {ns}");
                if is_enough {
                    judged += 1;
                    assert!(figure != "p50" || is_near(ns), "{figure} {trouble:?}: {ns} {stream:#?}");
                    far.extend((!is_near(ns)).then_some((run, ns, ratio)));
                }
            }
        }
        println!(
            "{trouble:?}: {} of {judged} within 5%, {unjudged} not judged, far {far:?}",
            judged - far.len()
        );
        // Of each run both percentiles count.
        assert!(judged < 2 * MANY || far.len() * 10 <= judged, "{trouble:?}: far {far:?} of {judged}");
    }
}
