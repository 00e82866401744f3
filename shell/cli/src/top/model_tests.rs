//! Tests of keys and updates.

use super::*;
use serde_json::json;

/// A running run with two ports and this number of streams.
pub(crate) fn run(id: &str, state: &str, streams: usize) -> Run {
    let names: Vec<String> = (0..streams).map(|n| format!("stream-{n}")).collect();
    serde_json::from_value(json!({
        "id": id, "name": "demo", "state": state, "reason": null, "holder": "local", "ports": ["ring:a", "ring:b"],
        "started": format!("2026-01-01T00:00:0{}Z", id.len()), "ended": null, "duration_s": 10.0, "at_s": 1.5,
        "seed": 7, "warnings": [], "verdict": null, "achieved": null, "rate_changes": [], "refused_changes": [],
        "names": {"ports": ["west", "east"], "streams": names, "groups": [], "sessions": ["web"]}, "captures": []
    }))
    .unwrap()
}

/// Its figures: stream n sends 100·n packets per second and has lost n modulo 3.
pub(crate) fn snapshot(at_s: f64, streams: usize) -> Snapshot {
    let each = |f: &dyn Fn(usize) -> serde_json::Value| (0..streams).map(f).collect::<Vec<_>>();
    serde_json::from_value(json!({
        "at_s": at_s, "interval_s": 0.5, "draining": false,
        "ports": {"tx_pps": [1200.0, 0.0], "rx_pps": [0.0, 1100.0], "tx_bps_l1": [8e5, 0.0], "rx_bps_l1": [0.0, 7e5],
                  "tx_packets": [1800, 0], "rx_packets": [0, 1700]},
        "streams": {"tx_pps": each(&|n| json!(100 * n)), "rx_pps": each(&|n| json!(90 * n)),
                    "tx": each(&|n| json!(100 * n)), "rx": each(&|n| json!(100 * n - n % 3)),
                    "lost": each(&|n| json!(n % 3)), "latency_p50_ns": each(&|_| json!(1500)),
                    "latency_p99_ns": each(&|n| json!(1000 * (n + 1))), "latency_max_ns": each(&|_| json!(90_000))},
        "sessions": {"active": [12], "open_per_s": [340.0], "transactions_per_s": [560.0], "rx_bps_goodput": [7.8e6],
                     "failed": [2], "established": [400]},
        "latency": {"p50_ns": 1500, "p90_ns": 1600, "p95_ns": 1700, "p99_ns": 9000, "p99_9_ns": 12000, "max_ns": 90000},
        "workers": [{"core": 1, "busy_ratio": 0.42}]
    }))
    .unwrap()
}

/// A model that shows a running run with this number of streams.
pub(crate) fn showing(streams: usize) -> Model {
    let mut model = Model::new("http://127.0.0.1:8443", None);
    model.apply(Update::Lists { runs: vec![run("a", "running", streams)], campaigns: Vec::new() });
    model.show(model.wanted().unwrap());
    model.apply(Update::Snapshot(Subject::Run("a".to_owned()), Box::new(snapshot(1.5, streams))));
    model
}

fn scale(model: &mut Model, key: char) -> f64 {
    match model.key(Key::Char(key)) {
        Some(UserCommand::Scale { run, scale }) if run == "a" => scale,
        other => panic!("{key} gave {other:?}"),
    }
}

#[test]
fn a_running_run_is_shown_before_newer_ended_ones() {
    let mut model = Model::new("x", None);
    assert_eq!(model.wanted(), None);
    let runs = vec![run("ccc", "done", 1), run("bb", "running", 1), run("a", "done", 1)];
    model.apply(Update::Lists { runs, campaigns: Vec::new() });
    assert_eq!(model.wanted(), Some(Subject::Run("bb".to_owned())));
    model.apply(Update::Run(Box::new(run("bb", "done", 1))));
    assert_eq!(model.wanted(), Some(Subject::Run("ccc".to_owned())));
}

#[test]
fn arrows_choose_and_a_missing_run_is_reported() {
    let mut model = Model::new("x", None);
    let runs = vec![run("ccc", "running", 1), run("bb", "done", 1), run("a", "done", 1)];
    model.apply(Update::Lists { runs, campaigns: Vec::new() });
    model.show(model.wanted().unwrap());
    model.key(Key::Right);
    assert_eq!(model.wanted(), Some(Subject::Run("bb".to_owned())));
    model.show(model.wanted().unwrap());
    model.key(Key::Right);
    model.show(model.wanted().unwrap());
    model.key(Key::Right);
    assert_eq!(model.wanted(), Some(Subject::Run("a".to_owned())));
    model.apply(Update::Lists { runs: vec![run("ccc", "running", 1)], campaigns: Vec::new() });
    assert_eq!(model.wanted(), Some(Subject::Run("ccc".to_owned())));
    assert!(model.message.as_ref().unwrap().ends_with("no longer has a"));
}

#[test]
fn rates_change_by_steps_and_come_back_after_a_pause() {
    let mut model = showing(3);
    assert!((scale(&mut model, '+') - 1.1).abs() < 1e-9);
    assert!((scale(&mut model, '-') - 0.99).abs() < 1e-9);
    assert_eq!(scale(&mut model, 'p'), 0.0);
    assert!(model.paused);
    assert!((scale(&mut model, 'p') - 0.99).abs() < 1e-9);
}

#[test]
fn an_ended_run_takes_no_commands() {
    let mut model = showing(3);
    model.apply(Update::Run(Box::new(run("a", "done", 3))));
    for key in ['p', 'c'] {
        assert_eq!(model.key(Key::Char(key)), None);
        assert!(model.message.take().unwrap().contains("has ended"));
    }
    assert_eq!((model.key(Key::Char('s')), model.overlay), (None, Overlay::Nothing));
}

#[test]
fn counters_are_set_to_zero_at_once() {
    let mut model = showing(3);
    assert_eq!(model.key(Key::Char('c')), Some(UserCommand::Clear("a".to_owned())));
}

#[test]
fn stopping_needs_confirmation() {
    let mut model = showing(3);
    assert_eq!((model.key(Key::Char('s')), model.overlay), (None, Overlay::Stop));
    assert_eq!((model.key(Key::Char('n')), model.overlay), (None, Overlay::Nothing));
    model.key(Key::Char('s'));
    assert_eq!(model.key(Key::Char('y')), Some(UserCommand::Stop(Subject::Run("a".to_owned()))));
}

#[test]
fn streams_are_sorted_and_filtered() {
    let mut model = showing(6);
    assert_eq!(model.sorted_streams(), [2, 5, 1, 4, 0, 3]);
    model.key(Key::Char('t'));
    assert_eq!(model.sorted_streams(), [5, 4, 3, 2, 1, 0]);
    model.key(Key::Char('n'));
    assert_eq!(model.sorted_streams(), [0, 1, 2, 3, 4, 5]);
    for c in "/-4".chars() {
        model.key(Key::Char(c));
    }
    assert_eq!(model.sorted_streams(), [4]);
    model.key(Key::Escape);
    assert_eq!(model.sorted_streams().len(), 6);
}

#[test]
fn scrolling_ends_with_the_list() {
    let mut model = showing(100);
    model.rows = 10;
    model.key(Key::PageDown);
    assert_eq!(model.first, 10);
    (0..20).for_each(|_| drop(model.key(Key::PageDown)));
    assert_eq!(model.first, 90);
    model.key(Key::Home);
    assert_eq!(model.first, 0);
}

#[test]
fn history_is_bounded_and_restarts_with_another_trial() {
    let mut model = showing(2);
    for step in 0..300 {
        model.apply(Update::Snapshot(
            Subject::Run("a".to_owned()),
            Box::new(snapshot(2.0 + f64::from(step), 2)),
        ));
    }
    assert_eq!(model.history[0].len(), HISTORY_MAX);
    model.apply(Update::Snapshot(Subject::Run("a".to_owned()), Box::new(snapshot(0.5, 2))));
    assert_eq!(model.history[0].len(), 1);
    model.apply(Update::Snapshot(Subject::Run("other".to_owned()), Box::new(snapshot(99.0, 2))));
    assert_eq!(model.live.as_ref().unwrap().at_s, 0.5);
}
