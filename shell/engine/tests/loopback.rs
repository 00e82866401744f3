//! Trials on the in-process pair, in real time.

mod common;

use common::{number, plan, run, run_attended, run_seen, run_told, stream};
use engine::{
    Command, CommandError, Commands, Control, NewStreams, RateCommand, RemoveCommand, Reply, Speed,
    TrialObserver, View, channel,
};
use profile::Plan;
use result::{Numbers, ResultDocument};
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use units::Nanos;

#[test]
fn everything_sent_comes_back_and_is_believed() {
    let document = run(plan(vec![stream("s", "100kpps")], "200ms"), 1);
    let sent = number(&document, "streams.s.tx");
    // A core that was taken away for long leaves some unsent, and says so.
    assert_eq!(sent + number(&document, "ports.west.tx_unsent"), 20_000.0);
    assert_eq!(number(&document, "streams.s.rx"), sent);
    assert_eq!(number(&document, "streams.s.lost"), 0.0);
    assert_eq!(number(&document, "streams.s.latency_ns.samples"), sent);
    assert_eq!(number(&document, "ports.east.rx_bytes"), sent * 64.0);
    assert!(is_believed(&document), "{:?}", document.verdict);
    assert!(document.self_latency_ns.is_some());
}

/// Wants each third snapshot.
#[derive(Default)]
struct Third {
    asked: usize,
    /// Packets of the intervals, and since the start.
    sent: (u64, u64),
    /// Ends and lengths of the intervals, s.
    times: Vec<(f64, f64)>,
}

impl TrialObserver for Third {
    fn interval(&self) -> Nanos {
        Nanos::from_millis(10)
    }

    fn wants_snapshot(&mut self, _: &View<'_>) -> bool {
        self.asked += 1;
        self.asked.is_multiple_of(3)
    }

    fn snapshot(&mut self, view: &View<'_>) {
        let interval = view.document();
        self.sent = (self.sent.0 + interval.streams["s"].tx, view.total().streams["s"].tx);
        self.times.push((interval.at_s, interval.interval_s));
    }
}

#[test]
fn a_snapshot_has_all_since_the_last_one_that_was_wanted() {
    let mut seen = Third::default();
    run_seen(plan(vec![stream("s", "10kpps")], "300ms"), &mut seen);
    assert!(seen.times.len() >= 2 && seen.times.len() == seen.asked / 3, "{:?}", seen.times);
    assert!(seen.sent.0 > 0 && seen.sent.0 == seen.sent.1, "{:?}", seen.sent);
    for pair in seen.times.windows(2) {
        assert!((pair[0].0 + pair[1].1 - pair[1].0).abs() < 1e-6, "{:?}", seen.times);
    }
}

/// A result that is valid, but for what else the machine had to do.
fn is_believed(document: &ResultDocument) -> bool {
    document.verdict.valid || document.verdict.disturbed
}

#[test]
fn two_workers_send_what_one_would() {
    let streams = (0..10).map(|i| stream(&format!("s{i}"), "3kpps")).collect::<Vec<_>>();
    for workers in [1, 2] {
        let document = run(plan(streams.clone(), "100ms"), workers);
        let sent: f64 = (0..10).map(|i| number(&document, &format!("streams.s{i}.tx"))).sum();
        assert_eq!(sent + number(&document, "ports.west.tx_unsent"), 3_000.0);
        for i in 0..10 {
            assert_eq!(number(&document, &format!("streams.s{i}.lost")), 0.0);
            assert_eq!(number(&document, &format!("streams.s{i}.reordered")), 0.0);
        }
        assert_eq!(document.workers.len(), workers);
    }
}

#[test]
fn as_fast_as_possible_is_said_to_be_the_testers_limit() {
    let document = run(plan(vec![stream("s", "max")], "100ms"), 1);
    assert!(number(&document, "streams.s.tx") > 100_000.0);
    assert_eq!(number(&document, "streams.s.lost"), 0.0);
    assert!(is_believed(&document) && document.verdict.generator_limited, "{:?}", document.verdict);
}

#[test]
fn more_than_the_tester_can_send_is_told_to_the_packet() {
    let document = run(plan(vec![stream("s", "1000Mpps")], "100ms"), 1);
    let (sent, unsent) = (number(&document, "streams.s.tx"), number(&document, "ports.west.tx_unsent"));
    assert_eq!(sent + unsent, 100_000_000.0);
    assert!(document.verdict.generator_limited);
    assert!(document.verdict.reasons[0].contains("were not sent"), "{:?}", document.verdict);
}

#[test]
fn a_count_ends_the_trial() {
    let mut some = stream("s", "10kpps");
    some.count = Some(50);
    let document = run(plan(vec![some], "10s"), 1);
    assert_eq!(number(&document, "streams.s.tx"), 50.0);
    assert!(document.duration_s < 1.0, "{}", document.duration_s);
}

#[test]
fn who_attends_a_trial_ends_it() {
    let (control, mut commands) = channel();
    let attendant = spawn(move || {
        let stop = || control.request(Command::Stop).wait().map(drop);
        // The trial begins some time after the other thread.
        sleep(Duration::from_millis(600));
        stop().unwrap();
    });
    let mut some = stream("s", "10kpps");
    some.count = Some(50);
    let begun = Instant::now();
    let document = run_attended(plan(vec![some.clone()], "10s"), &mut commands);
    attendant.join().unwrap();
    assert_eq!((number(&document, "streams.s.tx"), number(&document, "streams.s.lost")), (50.0, 0.0));
    assert!(document.interrupted && begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let begun = Instant::now();
    let document = run_attended(plan(vec![some], "1500ms"), &mut Commands::none());
    let lasted = begun.elapsed();
    assert!(!document.interrupted && lasted >= Duration::from_millis(1500), "{lasted:?}");
}

fn add(control: &Control, plan: Plan) -> Result<(), CommandError> {
    control.request(Command::AddStreams(NewStreams(Arc::new(plan)))).wait().map(drop)
}

#[test]
fn streams_join_and_leave_a_running_trial() {
    for workers in [1, 2] {
        let (control, mut commands) = channel();
        let others = spawn(move || {
            sleep(Duration::from_millis(200));
            let mut marked = stream("third", "2kpps");
            (marked.from, marked.to) = (1, Some(0));
            add(&control, plan(vec![stream("second", "5kpps"), marked], "1s")).unwrap();
            let again = add(&control, plan(vec![stream("second", "5kpps")], "1s"));
            assert!(
                matches!(again, Err(CommandError::Refused(reason)) if reason.contains("'second' already"))
            );
            let other_seed = add(&control, Plan { seed: 8, ..plan(vec![stream("x", "1kpps")], "1s") });
            assert!(matches!(other_seed, Err(CommandError::Refused(reason)) if reason.contains("seed is 7")));
            sleep(Duration::from_millis(300));
            let remove = || RemoveCommand { streams: vec!["second".to_owned()], at: None };
            control.request(Command::RemoveStreams(remove())).wait().unwrap();
            assert!(control.request(Command::RemoveStreams(remove())).wait().is_err(), "it is gone");
            // All that are left: what was removed is not brought back.
            let resume = RateCommand { stream: None, speed: Speed::Share(1_000_000), at: None };
            control.request(Command::SetRate(resume)).wait().unwrap();
        });
        let document = run_told(plan(vec![stream("first", "10kpps")], "1s"), workers, &mut commands);
        others.join().unwrap();
        let of = |name: &str, field: &str| number(&document, &format!("streams.{name}.{field}"));
        let unsent: f64 =
            ["west", "east"].map(|p| number(&document, &format!("ports.{p}.tx_unsent"))).iter().sum();
        assert!((of("first", "tx") - 10_000.0).abs() <= unsent, "{}", of("first", "tx"));
        for name in ["first", "second", "third"] {
            assert_eq!(
                (of(name, "lost"), of(name, "reordered"), of(name, "duplicates")),
                (0.0, 0.0, 0.0),
                "{name}"
            );
            assert!(of(name, "latency_ns.samples") > 0.0);
        }
        let (added, removed) = (of("second", "added_s"), of("second", "removed_s"));
        // The trial begins some time after the other thread.
        assert!((0.0..0.6).contains(&added) && (added + 0.25..1.0).contains(&removed), "{added} {removed}");
        assert!((of("second", "tx") - (removed - added) * 5_000.0).abs() <= 2.0 + unsent);
        assert!((of("third", "tx") - (1.0 - added) * 2_000.0).abs() <= 2.0 + unsent);
        assert!((of("second", "offered_pps") - 5_000.0).abs() < 50.0 + unsent);
        assert!(document.number("streams.first.added_s").is_none());
    }
}

/// Packets under way when counters are set to zero are neither lost nor received; their numbers continue.
#[test]
fn counters_set_to_zero_count_from_then_on() {
    for workers in [1, 2] {
        let (control, mut commands) = channel();
        let others = spawn(move || {
            for _ in 0..2 {
                sleep(Duration::from_millis(300));
                control.request(Command::Clear).wait().unwrap();
            }
        });
        let mut watched = stream("watched", "50kpps");
        watched.outages = Some(950_000);
        let streams = vec![stream("s", "100kpps"), watched];
        let document = run_told(plan(streams, "1500ms"), workers, &mut commands);
        others.join().unwrap();
        let of = |name: &str, field: &str| number(&document, &format!("streams.{name}.{field}"));
        let cleared = document.cleared.as_ref().unwrap();
        assert!(cleared.exact && cleared.times == 2, "{cleared:?}");
        assert!((cleared.at_s + cleared.counted_s - 1.5).abs() < 1e-6 && (0.3..1.4).contains(&cleared.at_s));
        let unsent: f64 =
            ["west", "east"].map(|p| number(&document, &format!("ports.{p}.tx_unsent"))).iter().sum();
        for (name, rate) in [("s", 100_000.0), ("watched", 50_000.0)] {
            let whole = of(name, "tx") + of(name, "tx_before_clear");
            assert!((whole - 1.5 * rate).abs() <= unsent, "{whole}");
            assert_eq!((of(name, "lost"), of(name, "rx")), (0.0, of(name, "tx")), "{workers}");
            assert_eq!((of(name, "reordered"), of(name, "duplicates"), of(name, "stale")), (0.0, 0.0, 0.0));
            assert_eq!(of(name, "latency_ns.samples"), of(name, "rx"));
            assert!((of(name, "offered_pps") / rate - 1.0).abs() < 0.05, "{}", of(name, "offered_pps"));
            assert!(of(name, "first_arrival_ns") >= cleared.at_s * 1e9);
            assert!(of(name, "rx_before_clear") < 10_000.0);
        }
        let tx = number(&document, "ports.west.tx_packets");
        assert_eq!(tx, of("s", "tx") + of("watched", "tx"));
    }
}

#[test]
fn a_trial_ends_with_its_last_stream() {
    let (control, mut commands) = channel();
    let others = spawn(move || {
        sleep(Duration::from_millis(100));
        let mut short = stream("short", "1kpps");
        short.duration = Some("200ms".parse().unwrap());
        add(&control, plan(vec![short], "1s")).unwrap();
        let mut timed = stream("timed", "1kpps");
        timed.start_delay = Nanos::from_millis(50);
        add(&control, plan(vec![timed], "150ms")).unwrap();
        let remove = RemoveCommand { streams: vec!["long".to_owned()], at: Some(Nanos::from_millis(1_000)) };
        control.request(Command::RemoveStreams(remove)).wait().unwrap();
    });
    let document = run_told(plan(vec![stream("long", "1kpps")], "1000s"), 1, &mut commands);
    others.join().unwrap();
    assert!((0.9..5.0).contains(&document.duration_s), "{}", document.duration_s);
    let sent: f64 =
        ["short", "timed", "long"].map(|n| number(&document, &format!("streams.{n}.tx"))).iter().sum();
    assert_eq!(sent + number(&document, "ports.west.tx_unsent"), 200.0 + 100.0 + 1_000.0);
}

#[test]
fn a_stop_at_an_instant_ends_the_schedule_there() {
    let stop = |at_ms| Command::StopAt(Nanos::from_millis(at_ms));
    for workers in [1, 2] {
        let (control, mut commands) = channel();
        // The first of them counts.
        let replies = [stop(900), stop(1_000), stop(60_000)].map(|stop| control.request(stop));
        let document = run_told(plan(vec![stream("s", "10kpps")], "60s"), workers, &mut commands);
        assert!(replies.into_iter().all(|reply| reply.wait().is_ok()));
        let (sent, unsent) = (number(&document, "streams.s.tx"), number(&document, "ports.west.tx_unsent"));
        assert_eq!((sent + unsent, number(&document, "streams.s.lost")), (9_000.0, 0.0));
        assert!(document.interrupted && document.duration_s == 0.9, "{}", document.duration_s);
    }
    // At its time although all is sent, and late if it comes late.
    let mut some = stream("s", "10kpps");
    some.count = Some(50);
    let (control, mut commands) = channel();
    drop(control.request(stop(400)));
    let document = run_told(plan(vec![some], "60s"), 1, &mut commands);
    assert_eq!((number(&document, "streams.s.tx"), document.duration_s), (50.0, 0.4));
    let late = spawn(move || {
        // Once it is carried out, traffic has begun.
        let rate = RateCommand { stream: None, speed: Speed::Share(1_000_000), at: None };
        control.request(Command::SetRate(rate)).wait().unwrap();
        sleep(Duration::from_millis(150));
        control.request(stop(1)).wait()
    });
    let document = run_told(plan(vec![stream("s", "1kpps")], "60s"), 1, &mut commands);
    assert_eq!(late.join().unwrap(), Ok(Reply::Done));
    assert!(document.interrupted && (0.1..30.0).contains(&document.duration_s), "{}", document.duration_s);
    // The end of the trial comes first.
    let (control, mut commands) = channel();
    drop(control.request(stop(60_000)));
    let document = run_told(plan(vec![stream("s", "1kpps")], "300ms"), 1, &mut commands);
    assert!(!document.interrupted, "{}", document.duration_s);
}

/// Times that the calling thread has slept.
fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn control_sleeps_until_there_is_something_to_do_and_answers_at_once() {
    let (control, mut commands) = channel();
    let attendant = spawn(move || {
        // Once it is carried out, traffic has begun.
        let rate = RateCommand { stream: None, speed: Speed::Share(1_000_000), at: None };
        control.request(Command::SetRate(rate.clone())).wait().unwrap();
        let mut times: Vec<Duration> = (0..20)
            .map(|_| {
                sleep(Duration::from_millis(50));
                let asked = Instant::now();
                control.request(Command::SetRate(rate.clone())).wait().unwrap();
                asked.elapsed()
            })
            .collect();
        times.sort();
        // For three seconds it has nothing to do.
        sleep(Duration::from_secs(3));
        control.request(Command::Stop).wait().unwrap();
        times
    });
    let before = sleeps();
    let document = run_told(plan(vec![stream("s", "10pps")], "60s"), 1, &mut commands);
    let (slept, times) = (sleeps() - before, attendant.join().unwrap());
    assert!(document.interrupted && document.duration_s > 3.0, "{}", document.duration_s);
    // Others use these cores as well: the quickest quarter shows what is possible.
    assert!(times[5] < Duration::from_millis(5), "{times:?}");
    // Waking every 5 ms it would be 800 times; neighbours are looked for more often, in the moment before the start.
    assert!(slept < 300, "{slept}");
}
