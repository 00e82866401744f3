//! Trials on the in-process pair, in real time.

mod common;

use common::{number, plan, run, stream};
use result::ResultDocument;

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
