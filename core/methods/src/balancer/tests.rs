//! Figures of known numbers, and the test on outcomes of a model.

use super::*;
use crate::outcome::TrialOutcome;
use crate::{MethodConfig, MethodResult, Step};

#[test]
fn spread_is_judged_by_weights() {
    assert_eq!(max_mean(&shares(&[100, 100, 100, 100], &[])), Some(1.0));
    assert_eq!(jain(&shares(&[100, 100, 100, 100], &[])), Some(1.0));
    assert_eq!(max_mean(&shares(&[300, 100, 100], &[3, 1, 1])), Some(1.0));
    assert_eq!(jain(&shares(&[300, 100, 100], &[3, 1, 1])), Some(1.0));
    // One of four has all.
    assert_eq!((max_mean(&[9.0, 0.0, 0.0, 0.0]), jain(&[9.0, 0.0, 0.0, 0.0])), (Some(4.0), Some(0.25)));
    assert_eq!((max_mean(&[0.0, 0.0]), jain(&[])), (None, None));
    // Jain, Chiu and Hawe (1984): of 50, 30 and 50 units the index is 0.9529.
    assert!((jain(&[50.0, 30.0, 50.0]).unwrap() - 130.0 * 130.0 / (3.0 * 5900.0)).abs() < 1e-12);
}

fn backends(counts: &[u64]) -> Vec<BackendOutcome> {
    let backend = |(n, count): (usize, &u64)| BackendOutcome {
        address: format!("10.0.1.{}", 11 + n),
        sessions: *count,
        connections: *count,
        ..BackendOutcome::default()
    };
    counts.iter().enumerate().map(backend).collect()
}

fn outcome(task: &BalancerTask) -> BalancerOutcome {
    let change = ChangeOutcome {
        wanted: 500,
        held: 500,
        held_by_backend: 125,
        open_at_backend: 125,
        ended: [("reset".to_owned(), 125)].into(),
        moved: 0,
        short: 5_000,
        short_failed: 12,
        last_failed_ns: Some(2_000_000_000),
        next_good_ns: Some(2_002_000_000),
        used_again_ns: Some(3_000_000_000),
        unused_until_ns: Some(2_998_000_000),
        clients_settled: Share::new(100, 100),
        clients_kept: Share::new(75, 75),
        clients_back: Share::new(100, 100),
        ..ChangeOutcome::default()
    };
    BalancerOutcome {
        backends: backends(&[250, 250, 250, 250]),
        sessions: 1_000,
        sticky: matches!(task, BalancerTask::Sticky { .. }).then(|| Share::new(300, 300)),
        by_chance: Some(0.25),
        change: matches!(task, BalancerTask::Change(_)).then_some(change),
        ..BalancerOutcome::default()
    }
}

fn run(config: &BalancerConfig, judge: impl Fn(u64) -> (bool, bool)) -> MethodResult {
    let testbed = Testbed::both_ways(10_000_000_000);
    let mut method = MethodConfig::Balancer(config.clone()).build(&testbed).unwrap();
    while let Step::Trial(request) = method.next_trial() {
        let TrialKind::Balancer { task, .. } = &request.kind else { panic!() };
        let (valid, disturbed) = judge(request.number);
        method.record(&TrialOutcome {
            valid,
            disturbed,
            balancer: Some(outcome(task)),
            ..TrialOutcome::default()
        });
    }
    method.result()
}

#[test]
fn every_part_becomes_a_finding_with_bounds() {
    let result = run(&BalancerConfig::default(), |_| (true, false));
    let findings = result.findings.values().unwrap();
    let of =
        |goal: &str| findings.iter().find(|finding| finding.goal == goal).unwrap_or_else(|| panic!("{goal}"));
    assert_eq!((of("spread_max_mean").value, of("spread_jain").value), (Some(1.0), Some(1.0)));
    assert_eq!(of("sticky source").value, Some(1.0));
    assert!(of("sticky endpoint").lower.unwrap() > 0.98);
    assert_eq!(of("reset_by_change reset").value, Some(125.0));
    assert_eq!(
        (of("detection_time silent").lower, of("detection_time silent").upper),
        (Some(2.0), Some(2.002))
    );
    assert_eq!((of("return_time drain").lower, of("return_time drain").value), (Some(2.998), Some(3.0)));
    assert_eq!(of("clients_kept drain").value, Some(1.0));
    for finding in &findings {
        assert!(crate::meaning(&finding.goal).is_some(), "{}", finding.goal);
    }
    assert!(result.summary.iter().any(|line| line.contains("125 ended (125 reset)")), "{:?}", result.summary);
}

#[test]
fn a_balancer_that_never_notices_has_no_time_of_detection() {
    let mut found = ChangeFound {
        change: BackendChange::Silent,
        effects: outcome(&BalancerTask::Change(change())).change.unwrap(),
    };
    found.effects.next_good_ns = None;
    found.effects.used_again_ns = None;
    let finding = found.detection();
    assert_eq!((finding.value, finding.lower, finding.upper), (None, Some(2.0), None));
    assert_eq!(found.use_again().value, None);
    found.effects.last_failed_ns = None;
    assert_eq!(found.detection().value, Some(0.0));
}

fn change() -> BalancerChange {
    let BalancerTask::Change(change) =
        BalancerTest::new(&BalancerConfig { sessions: 0, identities: 0, ..BalancerConfig::default() })
            .tasks
            .pop()
            .unwrap()
    else {
        panic!()
    };
    change
}

#[test]
fn a_part_that_cannot_be_judged_is_named() {
    let config =
        BalancerConfig { sessions: 0, held: 0, sticky: vec![StickyBy::Source], ..Default::default() };
    let result = run(&config, |_| (false, true));
    assert!(result.findings.is_unjudged());
    assert!(result.remarks.iter().any(|line| line.starts_with("Not judged")), "{:?}", result.remarks);
}

#[test]
fn settings_have_limits() {
    let testbed = Testbed::both_ways(10_000_000_000);
    let refuses = |config: BalancerConfig| MethodConfig::Balancer(config).check(&testbed).unwrap_err().field;
    let default = BalancerConfig::default;
    assert_eq!(refuses(BalancerConfig { held: 5_000_000, ..default() }), "held");
    assert_eq!(refuses(BalancerConfig { rate: 0, ..default() }), "rate");
    assert_eq!(refuses(BalancerConfig { repeats: 0, ..default() }), "repeats");
    assert_eq!(refuses(BalancerConfig { identities: 4_000_000, ..default() }), "repeats");
    assert_eq!(refuses(BalancerConfig { weights: vec![1, 0], ..default() }), "weights");
    assert_eq!(refuses(BalancerConfig { interval: Nanos::ZERO, ..default() }), "interval");
    assert_eq!(refuses(BalancerConfig { away: Nanos::ZERO, ..default() }), "away");
}
