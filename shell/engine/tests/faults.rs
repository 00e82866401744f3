//! A part of the tester that fails ends the run immediately; counts are kept, the ports are free, and the result gives
//! the reason.
#![cfg(debug_assertions)]

mod common;

use common::{number, plan, stream};
use engine::fault::Fault;
use engine::{Commands, EngineError, Rig, RunOptions, Session, TrialObserver, View};
use os::TscClock;
use port::{Burst, Port, PortRequest, ring};
use profile::Plan;
use profile::plan::{CapturePlan, CaptureStorage};
use result::ResultDocument;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use units::Nanos;

/// One fault at a time in a process.
static ONE: Mutex<()> = Mutex::new(());

/// Behaviour at snapshots.
#[derive(Default)]
struct Faulty {
    /// The part that is to fail as soon as packets were counted, and at which pass from then.
    part: Option<(&'static str, usize)>,
    fault: Option<Fault>,
    /// Packets that had been sent by then.
    sent: u64,
    /// The snapshot at which this fails itself.
    fails_at: Option<usize>,
    /// Snapshots since packets were counted.
    snapshots: usize,
}

impl TrialObserver for Faulty {
    fn interval(&self) -> Nanos {
        Nanos::from_millis(20)
    }

    fn snapshot(&mut self, view: &View<'_>) {
        let sent = view.streams().map(|stream| stream.tx).sum();
        if sent == 0 {
            return;
        }
        self.snapshots += 1;
        assert!(self.fails_at != Some(self.snapshots), "a fault in an observer");
        if let Some((part, passes)) = self.part
            && self.fault.is_none()
        {
            self.sent = sent;
            self.fault = Some(engine::fault::inject(part, passes));
        }
    }
}

/// Packets of the stream that left.
fn sent(document: &ResultDocument) -> u64 {
    number(document, "streams.s.tx") as u64
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

/// A part that fails while packets are sent: its name, the pass at which it does, the plan, words of the reason.
type Case = (&'static str, usize, fn() -> Plan, &'static str);

const CASES: [Case; 6] = [
    ("control", 1, hour, "control of the run failed: a fault in control"),
    ("protocols", 3, hour, "control of the run failed: a fault in protocols"),
    ("pings", 3, hour, "control of the run failed: a fault in pings"),
    ("worker", 1, hour, "a worker failed: a fault in worker"),
    ("worker", 100, hour, "a worker failed: a fault in worker"),
    ("capture", 3, captured, "the capture on east failed"),
];

/// Packets that left the near port and still lie in the far one.
fn under_way(rig: Rig) -> u64 {
    let mut burst = Burst::new();
    let mut frames = 0;
    for (_port, mut queues) in rig.into_ports() {
        for queue in &mut queues.rx {
            while queue.recv(&mut burst) > 0 {
                frames += burst.len() as u64;
                queue.free(&mut burst);
            }
        }
    }
    frames
}

/// Runs a case; packets that were sent after the fault was injected.
fn fails((part, passes, plan, reason): Case, workers: usize) -> u64 {
    let mut observer = Faulty { part: Some((part, passes)), ..Faulty::default() };
    let plan = plan();
    let captured = plan.ports[1].capture.as_ref().map(|capture| capture.file.clone());
    let (document, time, rig) = run(plan, workers, &mut observer);
    captured.into_iter().for_each(|file| std::fs::remove_file(file).unwrap());
    assert!(observer.fault.take().is_some(), "{part}: nothing was sent");
    let document = document.unwrap();
    // An hour was asked for.
    assert!(time < Duration::from_secs(60), "{part}: {time:?}");
    let failure = document.failure.as_deref().unwrap_or_default();
    assert!(failure.contains(reason), "{part}: {failure}");
    assert!(document.interrupted && !document.verdict.valid, "{part}");
    assert_eq!(document.verdict.reasons[0], failure);
    // All that was sent is known.
    let sent = sent(&document);
    assert!(sent >= observer.sent, "{part} with {workers}: {sent} of {}", observer.sent);
    let received = number(&document, "streams.s.rx") as u64;
    assert_eq!(received + under_way(rig), sent, "{part} with {workers}");
    sent - observer.sent
}

#[test]
fn a_part_that_fails_ends_the_run_and_keeps_what_was_counted() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for case in CASES {
        for workers in [1, 2] {
            // No more than is due in 100 ms is sent then. Another process may keep any one run from that, but not all.
            let is_prompt = (0..10).any(|_| fails(case, workers) <= 2_000);
            assert!(is_prompt, "{} with {workers}: more than what was due in 100 ms was sent", case.0);
        }
    }
}

#[test]
fn an_observer_that_fails_does_not_leave_traffic_to_nobody() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for at in [1, 5] {
        let (document, time, rig) = run(hour(), 1, &mut Faulty { fails_at: Some(at), ..Faulty::default() });
        let document = document.unwrap();
        assert!(time < Duration::from_secs(60), "{time:?}");
        assert!(document.failure.as_deref().unwrap_or_default().contains("a fault in an observer"));
        let sent = sent(&document);
        assert!(sent > 0);
        assert_eq!(number(&document, "streams.s.rx") as u64 + under_way(rig), sent);
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
    // Workers wait for the first packet's time.
    let fault = engine::fault::inject("control", 1);
    let (document, time, _) = run(hour(), 2, &mut Faulty::default());
    drop(fault);
    assert!(time < Duration::from_secs(60), "{time:?}");
    assert!(document.unwrap().failure.unwrap().contains("a fault in control"));
    // Nothing was counted yet: an error, and the process goes on.
    let fault = engine::fault::inject("exchange", 1);
    let (document, _, rig) = run(with_hosts("100ms"), 1, &mut Faulty::default());
    drop(fault);
    assert!(document.unwrap_err().to_string().contains("the run failed: a fault in exchange"));
    drop(rig);
    // All was counted: it stays.
    let fault = engine::fault::inject("farewell", 1);
    let (document, ..) = run(with_hosts("100ms"), 1, &mut Faulty::default());
    drop(fault);
    let document = document.unwrap();
    assert!(document.failure.as_deref().unwrap_or_default().contains("a fault in farewell"));
    assert_eq!(sent(&document), 100);
}
