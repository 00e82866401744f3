//! Faults of a testbed are reported in a sentence.

use super::*;
use methods::{FaultKind, Limit, MlrConfig, MrrConfig, Standing, TrialOutcome, TrialRequest};

fn fault(
    change: impl Fn(&TrialRequest, &mut TrialOutcome),
    bed: &Testbed,
) -> (MethodResult, FaultKind, String) {
    let config = MethodConfig::Mlr(MlrConfig { sizes: small(), ..MlrConfig::default() });
    let mut method = config.build(bed).unwrap();
    let mut dut = Dut::new(5e6, 1);
    for _ in 0..1_000 {
        match method.next_trial() {
            Step::Trial(request) => {
                let mut outcome = dut.run(&request);
                change(&request, &mut outcome);
                method.record(&outcome);
            }
            Step::Failed(fault) => return (method.result(), fault.kind, fault.sentence),
            Step::Done => panic!("{:?}", method.result().summary),
        }
    }
    panic!("does not end");
}

fn silence(outcome: &mut TrialOutcome, group: usize) {
    let group = &mut outcome.groups[group];
    (group.received, group.lost) = (0, group.sent);
}

#[test]
fn a_silent_device() {
    let (result, kind, sentence) = fault(|_, outcome| silence(outcome, 0), &Testbed::one_way(LINE));
    assert_eq!(kind, FaultKind::Silent);
    assert!(sentence.starts_with("Nothing arrives: not one of 148,809 frames"), "{sentence}");
    // The trial that raised the suspicion, and the probes.
    assert_eq!(result.trials.len(), 4);
    assert!(matches!(result.status, Status::Failed(_)));
}

#[test]
fn a_device_that_is_deaf_in_one_direction() {
    let (_, kind, sentence) = fault(|_, outcome| silence(outcome, 1), &Testbed::both_ways(LINE));
    assert_eq!(kind, FaultKind::Silent);
    assert!(sentence.starts_with("Nothing of 'reverse' arrives"), "{sentence}");
}

#[test]
fn a_device_that_dies_on_the_way() {
    let die = |request: &TrialRequest, outcome: &mut TrialOutcome| {
        if request.number > 5 {
            silence(outcome, 0);
        }
    };
    let (result, kind, sentence) = fault(die, &Testbed::one_way(LINE));
    assert_eq!(kind, FaultKind::Silent);
    assert!(sentence.starts_with("Nothing arrives any more, though it did before"), "{sentence}");
    assert_eq!(result.trials.len(), 10);
}

/// Whether the trial can be judged or not: silence at a hundredth of the line rate is no matter of pauses.
#[test]
fn a_device_that_dies_in_the_last_trial() {
    for disturbed in [false, true] {
        let config = MethodConfig::Mrr(MrrConfig { sizes: small(), repeats: 3, ..MrrConfig::default() });
        let mut method = config.build(&Testbed::one_way(LINE)).unwrap();
        let mut dut = Dut::new(5e6, 1);
        while let Some(request) = method.next_trial().trial() {
            let mut outcome = dut.run(&request);
            (outcome.disturbed, outcome.valid) = (disturbed, !disturbed);
            if request.number > 1 {
                silence(&mut outcome, 0);
            }
            method.record(&outcome);
        }
        let Status::Failed(fault) = method.result().status else { panic!("{:?}", method.result().summary) };
        assert_eq!(fault.kind, FaultKind::Silent);
        assert!(fault.sentence.starts_with("Nothing arrives any more"), "{fault}");
    }
}

/// Forwarding nothing under full load is a device's good right.
#[test]
fn a_device_that_collapses_under_full_load() {
    let config = MethodConfig::Mlr(MlrConfig { sizes: small(), ..MlrConfig::default() });
    let mut method = config.build(&Testbed::one_way(LINE)).unwrap();
    let mut dut = Dut::new(5e6, 1);
    while let Some(request) = method.next_trial().trial() {
        let mut outcome = dut.run(&request);
        if outcome.lost() > 0 {
            silence(&mut outcome, 0);
        }
        method.record(&outcome);
    }
    let result = method.result();
    assert_eq!(result.status, Status::Complete);
    let ndr = rows!(result, Mlr)[0].goals[0].conditional_throughput.as_ref().unwrap().first().as_f64();
    assert!((ndr / 5e6 - 0.9975).abs() < 0.003, "{ndr}");
}

#[test]
fn a_wrong_cable() {
    let swap = |_: &TrialRequest, outcome: &mut TrialOutcome| {
        silence(outcome, 0);
        outcome.groups[0].wrong_port = outcome.groups[0].sent;
    };
    let (_, kind, sentence) = fault(swap, &Testbed::one_way(LINE));
    assert_eq!(kind, FaultKind::WrongPort);
    assert!(sentence.contains("arrived at a wrong port and 0 at the right one"), "{sentence}");
}

#[test]
fn a_loop() {
    let echo =
        |_: &TrialRequest, outcome: &mut TrialOutcome| outcome.groups[0].duplicates = outcome.groups[0].sent;
    let (_, kind, sentence) = fault(echo, &Testbed::one_way(LINE));
    assert_eq!(kind, FaultKind::Loop);
    assert!(
        sentence.starts_with("A loop: 14,880,952 frames of 'forward' were sent in trial 0"),
        "{sentence}"
    );
}

#[test]
fn a_tester_that_sends_nothing() {
    let nothing = |_: &TrialRequest, outcome: &mut TrialOutcome| {
        let group = &mut outcome.groups[0];
        (group.sent, group.received, group.lost) = (0, 0, 0);
        outcome.reasons = vec!["the link is down".into()];
    };
    let (_, kind, sentence) = fault(nothing, &Testbed::one_way(LINE));
    assert_eq!(
        (kind, sentence.as_str()),
        (FaultKind::NothingSent, "The tester sent no frame at all (the link is down).")
    );
}

#[test]
fn an_outcome_that_does_not_answer() {
    let (_, kind, sentence) = fault(|_, outcome| outcome.groups.clear(), &Testbed::one_way(LINE));
    assert_eq!(kind, FaultKind::Unanswered);
    assert_eq!(sentence, "The outcome of trial 0 lacks 'groups'.");
}

#[test]
fn interrupted_trials_are_run_again_and_at_last_given_up() {
    let (result, kind, _) = fault(|_, outcome| outcome.interrupted = true, &Testbed::one_way(LINE));
    assert_eq!((kind, result.trials.len()), (FaultKind::Interrupted, 3));
}

/// No trial that the tester limited bounds the device, and the result reports it.
#[test]
fn the_tester_is_never_taken_for_the_device() {
    for seed in 0..SEEDS {
        let mut dut = Dut::new(1e9, seed);
        dut.tester = LINE_PPS * (0.05 + 0.9 * seed as f64 / SEEDS as f64);
        let tester = dut.tester;
        let result = complete(&MethodConfig::Throughput(quick()), &Testbed::one_way(LINE), &mut dut);
        let row = rows!(result, Throughput).remove(0);
        let found = row.throughput.unwrap().first().as_f64();
        assert_eq!(row.limit, Limit::Tester);
        assert!(found <= tester && found >= tester - 0.001 * LINE_PPS - 1.0);
        assert!(result.summary[0].contains("the tester was the limit; the DUT may do more"));
        assert!(result.trials.iter().any(|trial| trial.standing == Standing::TesterLimited));
    }
}

/// A tester that fails once gets another request.
#[test]
fn one_stumble_is_forgiven() {
    let mut method = MethodConfig::Throughput(quick()).build(&Testbed::one_way(LINE)).unwrap();
    let mut dut = Dut::new(5e6, 1);
    let mut number = 0;
    while let Some(request) = method.next_trial().trial() {
        let mut outcome = dut.run(&request);
        outcome.generator_limited = number % 2 == 0;
        outcome.valid = number % 3 != 0;
        number += 1;
        method.record(&outcome);
    }
    // Every other trial is repeated; a trial that is repeated is limited never again.
    let row = rows!(method.result(), Throughput).remove(0);
    assert!(row.throughput.is_some());
}

#[test]
fn a_mrr_tells_what_was_really_offered() {
    let mut dut = Dut::new(1e9, 1);
    dut.tester = 5e6;
    let config = MethodConfig::Mrr(MrrConfig { sizes: small(), ..MrrConfig::default() });
    let result = complete(&config, &Testbed::one_way(LINE), &mut dut);
    assert_eq!(rows!(result, Mrr)[0].tester_limited, 10);
    assert!(result.summary[0].contains("the tester did not reach the line rate"), "{}", result.summary[0]);
}

#[test]
fn senseless_configurations_are_refused() {
    let refused = |config: MethodConfig| config.check(&Testbed::one_way(LINE)).unwrap_err().to_string();
    let config = ThroughputConfig { resolution: 0.0, ..quick() };
    assert_eq!(refused(MethodConfig::Throughput(config)), "resolution: must be between 0 and 1");
    let config = MlrConfig { goals: Vec::new(), ..MlrConfig::default() };
    assert_eq!(refused(MethodConfig::Mlr(config)), "goals: needs a frame length and a goal");
    for groups in [&[][..], &[("a", 0)], &[("a", 1), ("a", 1)]] {
        let error = MethodConfig::Throughput(quick()).check(&Testbed::of(groups)).unwrap_err();
        assert_eq!(error.field, "testbed.groups");
    }
}
