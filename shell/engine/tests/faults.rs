//! A part of the tester that fails ends the run at once; what was counted stays, the ports are free, and the result says why.
#![cfg(debug_assertions)]

mod common;

use common::{number, plan, stream};
use engine::{Commands, EngineError, Rig, RunOptions, Session, TrialObserver, View};
use os::TscClock;
use port::{Port, PortRequest, ring};
use profile::Plan;
use profile::plan::{CapturePlan, CaptureStorage};
use result::ResultDocument;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use units::Nanos;

/// One fault at a time in a process.
static ONE: Mutex<()> = Mutex::new(());

/// Fails at a snapshot.
struct Faulty {
    left: usize,
}

impl TrialObserver for Faulty {
    fn interval(&self) -> Nanos {
        Nanos::from_millis(20)
    }

    fn snapshot(&mut self, _: &View<'_>) {
        self.left = self.left.saturating_sub(1);
        assert!(self.left > 0, "a fault in an observer");
    }
}

/// Packets of the stream that left.
fn sent(document: &ResultDocument) -> u64 {
    number(document, "streams.s.tx_packets") as u64
}

/// Runs a plan of an hour on a pair; the result, the time it took, and the ports.
fn run(
    plan: Plan,
    workers: usize,
    observer: &mut Faulty,
) -> (Result<ResultDocument, EngineError>, Duration, Rig) {
    let request = PortRequest { queues: workers as u16, frame_len_max: 1_518, confined: false };
    let ports = ring::pair(["ring:a", "ring:b"], request).unwrap().map(|p| Box::new(p) as Box<dyn Port>);
    let mut session = Session::load(plan, Rig::new(ports.into()));
    let allowed = os::cpu::allowed();
    let cores = (0..workers).map(|i| allowed[i % allowed.len()]).collect();
    let clock = TscClock::calibrate(Duration::from_millis(20));
    let begin = Instant::now();
    let options = RunOptions { cores, histograms: true, spare: Vec::new() };
    let document = session.run(&options, &clock, &mut Commands::none(), observer);
    (document, begin.elapsed(), session.into_rig())
}

fn hour() -> Plan {
    plan(vec![stream("s", "20kpps")], "1h")
}

fn captured() -> Plan {
    let mut plan = hour();
    plan.ports[1].capture = Some(CapturePlan {
        file: std::env::temp_dir()
            .join(format!("eagre-fault-{}.pcapng", std::process::id()))
            .display()
            .to_string(),
        storage: CaptureStorage::File,
        filter: String::new(),
        snap_bytes: 65_535,
        tx: false,
        rx: true,
        buffer_bytes: 1 << 20,
    });
    plan
}

/// The end of a part that fails while packets are sent: part, passes until then, the plan, words of the reason.
type Case = (&'static str, usize, fn() -> Plan, &'static str);

fn faults() -> Vec<Case> {
    vec![
        ("control", 1, hour, "control of the run failed: a fault in control"),
        ("control", 40, hour, "control of the run failed: a fault in control"),
        ("protocols", 40, hour, "control of the run failed: a fault in protocols"),
        ("pings", 40, hour, "control of the run failed: a fault in pings"),
        ("worker", 2_000, hour, "a worker failed: a fault in worker"),
        ("capture", 100, captured, "the capture on east failed"),
    ]
}

#[test]
fn a_part_that_fails_ends_the_run_and_keeps_what_was_counted() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (part, passes, plan, reason) in faults() {
        for workers in [1, 2] {
            let fault = engine::fault::inject(part, passes);
            let (document, time, _) = run(plan(), workers, &mut Faulty { left: usize::MAX });
            drop(fault);
            let document = document.unwrap();
            // An hour was asked for.
            assert!(time < Duration::from_secs(30), "{part}: {time:?}");
            let failure = document.failure.as_deref().unwrap_or_default();
            assert!(failure.contains(reason), "{part}: {failure}");
            assert!(document.interrupted && !document.verdict.valid, "{part}");
            assert_eq!(document.verdict.reasons[0], failure);
            let sent = sent(&document);
            assert!(passes == 1 || sent > 0, "{part} with {workers}: nothing counted");
            // All that was sent is known, and nothing went on: with 20,000 a second, in the time it took.
            assert!(sent <= 25_000 + (time.as_secs_f64() * 20_000.0) as u64, "{part}: {sent}");
        }
    }
}

#[test]
fn an_observer_that_fails_does_not_leave_traffic_to_nobody() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for left in [1, 5] {
        let (document, time, _) = run(hour(), 1, &mut Faulty { left });
        let document = document.unwrap();
        assert!(time < Duration::from_secs(30));
        assert!(document.failure.as_deref().unwrap_or_default().contains("a fault in an observer"));
        assert!(sent(&document) > 0);
    }
}

#[test]
fn before_and_after_traffic_too() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let with_hosts = |duration: &str| {
        let text = format!(
            "ports: {{west: {{device: 'ring:a', ip: 10.0.0.2/24, lldp: {{}}}}, east: {{device: 'ring:b', ip: 10.0.0.3/24}}}}\n\
             streams: [{{name: s, from: west, to: east, rate: 1kpps, packet: [ipv4, {{udp: {{dst: 9}}}}]}}]\n\
             load: {{duration: {duration}}}\n"
        );
        profile::load(&text).unwrap()
    };
    // Nothing was counted yet: an error, and the process goes on.
    let fault = engine::fault::inject("exchange", 1);
    let (document, _, rig) = run(with_hosts("100ms"), 1, &mut Faulty { left: usize::MAX });
    drop(fault);
    assert!(document.unwrap_err().to_string().contains("the run failed: a fault in exchange"));
    drop(rig);
    // All was counted: it stays.
    let fault = engine::fault::inject("farewell", 1);
    let (document, ..) = run(with_hosts("100ms"), 1, &mut Faulty { left: usize::MAX });
    drop(fault);
    let document = document.unwrap();
    assert!(document.failure.as_deref().unwrap_or_default().contains("a fault in farewell"));
    assert_eq!(sent(&document), 100);
}
