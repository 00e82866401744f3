//! Known results from a disturbed tester: a wrong finding is never reported as certain.

use super::*;
use methods::{
    Application, Finding, Goal, Limit, LossConfig, MlrConfig, MrrConfig, SessionConfig, SweepConfig,
    TrialOutcome,
};

/// A machine whose other work keeps the tester from its own now and then: in some trials it is noticed, in some not.
struct Machine {
    /// Share of the trials in which the tester is disturbed and reports it.
    noticed: f64,
    /// Share of the trials that lose frames without a word, as where the device's machine is disturbed.
    unnoticed: f64,
    seed: u64,
    trials: u64,
}

impl Machine {
    fn chance(&mut self) -> f64 {
        self.trials += 1;
        random::word(random::key(self.seed), self.trials) as f64 / u64::MAX as f64
    }

    fn disturb(&mut self, mut outcome: TrialOutcome) -> TrialOutcome {
        let chance = self.chance();
        if chance < self.noticed + self.unnoticed {
            for group in &mut outcome.groups {
                let lost = (group.sent / 20).max(1);
                group.lost = (group.lost + lost).min(group.sent);
                group.received = group.sent - group.lost;
            }
        }
        if chance < self.noticed {
            outcome.valid = false;
            outcome.reasons.push("worker 0 waited for its core".into());
        }
        outcome
    }
}

fn methods() -> [MethodConfig; 2] {
    let throughput = ThroughputConfig {
        exploratory: Some(Nanos::from_millis(500)),
        final_trial: secs(2),
        loss_verification: 1,
        ..quick()
    };
    let goal = |loss_ratio| Goal {
        loss_ratio,
        initial_trial: Nanos::from_millis(200),
        final_trial: Nanos::from_millis(500),
        duration_sum: secs(3),
        ..Goal::default()
    };
    let goals = vec![goal(0.0), goal(0.005)];
    [
        MethodConfig::Throughput(throughput),
        MethodConfig::Mlr(MlrConfig { sizes: small(), goals, ..MlrConfig::default() }),
    ]
}

/// Both methods, as a campaign runs them: findings by all trials, and what bounds them.
fn found(capacity: f64, seed: u64, noticed: f64, unnoticed: f64) -> Vec<Finding> {
    let mut machine = Machine { noticed, unnoticed, seed, trials: 0 };
    let mut dut = Dut::new(capacity, seed);
    let results: Vec<MethodResult> = methods()
        .iter()
        .map(|config| {
            let mut method = config.build(&Testbed::one_way(LINE)).unwrap();
            for _ in 0..2_000 {
                let Step::Trial(request) = method.next_trial() else { return method.result() };
                let outcome = machine.disturb(dut.run(&request));
                method.record(&outcome);
            }
            panic!("{} does not end", method.name())
        })
        .collect();
    methods::reconciled(&results).iter().flat_map(|result| result.values().unwrap()).collect()
}

/// Whether the true rate lies within the finding's bounds.
fn is_right(finding: &Finding, truth: f64) -> bool {
    let near = 1.0 + 1e-6;
    finding.lower.is_none_or(|lower| lower <= truth * near)
        && finding.upper.is_none_or(|upper| upper * near >= truth)
}

fn truth(finding: &Finding, capacity: f64) -> f64 {
    let ratio = if finding.goal.starts_with("pdr") { 0.005 } else { 0.0 };
    capacity / (1.0 - ratio)
}

fn says_so(finding: &Finding) -> bool {
    finding.doubt.is_some() || finding.note.as_deref().is_some_and(|note| note.contains("disturbed"))
}

#[test]
fn without_disturbance_every_interval_holds_the_truth_and_nothing_is_in_doubt() {
    for seed in 0..SEEDS {
        let capacity = Dut::between(1e6, 0.95 * LINE_PPS, seed).capacity;
        let all = found(capacity, seed, 0.0, 0.0);
        assert_eq!(all.len(), 3);
        for finding in all {
            assert!(is_right(&finding, truth(&finding, capacity)), "{capacity}: {finding:?}");
            assert!(!says_so(&finding), "{finding:?}");
            let width = finding.upper.unwrap() - finding.lower.unwrap();
            assert!(width <= finding.resolution.unwrap() * 1.001, "{finding:?}");
        }
    }
}

#[test]
fn a_tester_that_notices_its_disturbance_finds_the_truth() {
    let mut told = 0;
    for seed in 0..SEEDS {
        let capacity = Dut::between(1e6, 0.95 * LINE_PPS, seed).capacity;
        for finding in found(capacity, seed, 0.3, 0.0) {
            assert!(is_right(&finding, truth(&finding, capacity)), "{capacity}: {finding:?}");
            told += usize::from(says_so(&finding));
        }
    }
    // Most trials that were disturbed were run again, and then were not.
    println!("{told} of {} findings in doubt", 3 * SEEDS);
    assert!(told * 2 < 3 * SEEDS as usize, "{told} of {} findings in doubt", 3 * SEEDS);
}

#[test]
fn a_tester_that_is_always_disturbed_says_so() {
    let all = found(5e6, 1, 1.0, 0.0);
    for finding in all {
        assert_eq!((finding.value, finding.upper), (None, None), "{finding:?}");
        assert!(says_so(&finding), "{finding:?}");
    }
    let config = &methods()[0];
    let mut method = config.build(&Testbed::one_way(LINE)).unwrap();
    while let Step::Trial(request) = method.next_trial() {
        method.record(&TrialOutcome { valid: false, ..TrialOutcome::forwarded(&request, |_, sent| sent) });
    }
    assert_eq!(rows!(method.result(), Throughput)[0].limit, Limit::Disturbed);
}

/// A disturbance makes no device forward more: trials at the line rate that lost nothing count, those that lost something don't.
#[test]
fn a_line_rate_that_arrived_counts_whatever_disturbed_the_tester() {
    let row = |lost: u64| {
        let config = MethodConfig::Mrr(MrrConfig { sizes: small(), ..MrrConfig::default() });
        let mut method = config.build(&Testbed::one_way(LINE)).unwrap();
        while let Step::Trial(request) = method.next_trial() {
            let outcome = TrialOutcome::forwarded(&request, |_, sent| sent - lost);
            method.record(&TrialOutcome { valid: false, disturbed: true, only_worse: true, ..outcome });
        }
        rows!(method.result(), Mrr).remove(0)
    };
    let whole = row(0);
    let received = whole.received.unwrap();
    assert_eq!((received.samples, whole.disturbed, whole.limit), (10, 0, Some(Limit::Dut)));
    assert!((received.mean - LINE_PPS).abs() < 1.0, "{received:?}");
    let short = row(1_000);
    assert_eq!((short.received, short.limit), (None, Some(Limit::Disturbed)));
}

/// Undetected disturbances show where trials contradict each other: then the finding is in doubt and its interval
/// wider.
#[test]
fn loss_that_comes_and_goes_is_in_doubt_where_trials_show_it() {
    let (mut wrong, mut doubted) = (0, 0);
    for seed in 0..SEEDS {
        let capacity = Dut::between(1e6, 0.95 * LINE_PPS, seed).capacity;
        for finding in found(capacity, seed, 0.0, 0.1) {
            doubted += usize::from(says_so(&finding));
            wrong += usize::from(!says_so(&finding) && !is_right(&finding, truth(&finding, capacity)));
        }
    }
    println!("{doubted} in doubt, {wrong} wrong and sure, of {}", 3 * SEEDS);
    assert!(doubted > SEEDS as usize / 4, "{doubted}");
    assert!(wrong * 20 < 3 * SEEDS as usize, "{wrong} of {}", 3 * SEEDS);
}

/// A device that forwards the line rate in one trial and loses in the next: no finding is reported as certain.
#[test]
fn what_two_methods_contradict_is_in_doubt_in_both() {
    let bed = Testbed::one_way(LINE);
    let run = |config: MethodConfig, lost: fn(f64) -> f64| {
        let mut method = config.build(&bed).unwrap();
        while let Step::Trial(request) = method.next_trial() {
            let share = request.magnitude();
            let through = |sent: u64| sent - (sent as f64 * lost(share)) as u64;
            method.record(&TrialOutcome::forwarded(&request, |_, sent| through(sent)));
        }
        method.result()
    };
    let search = run(MethodConfig::Throughput(quick()), |_| 0.0);
    let curve =
        run(MethodConfig::FrameLoss(LossConfig { sizes: small(), ..LossConfig::default() }), |share| {
            if share > 0.85 { 0.04 } else { 0.0 }
        });
    let alone = &search.values().unwrap()[0];
    assert_eq!((alone.value, alone.upper, says_so(alone)), (alone.line, None, false));
    let both = methods::reconciled(&[search, curve]);
    let throughput = &both[0].values().unwrap()[0];
    assert!((throughput.value.unwrap() / LINE_PPS - 1.0).abs() < 1e-6);
    // The only trial of the search is the line rate; nothing lower passed for as long.
    assert!(throughput.lower.is_none_or(|lower| lower <= 0.81 * LINE_PPS), "{throughput:?}");
    let doubt = throughput.doubt.as_ref().unwrap();
    assert!(doubt.contains("4% was lost at ") && doubt.contains("(rfc2544-throughput, trial 1)"), "{doubt}");
    let sentence = both[0].summary.last().unwrap();
    assert!(sentence.starts_with("Throughput at 64B ") && sentence.contains("trials disagree"), "{sentence}");
    let full = &both[1].values().unwrap()[0];
    let near = |value: Option<f64>| (value.unwrap() - 0.04).abs() < 1e-6;
    assert!(full.lower == Some(0.0) && near(full.value) && near(full.upper), "{full:?}");
    assert!(full.doubt.as_ref().unwrap().contains("rfc2544-throughput, trial 1"), "{full:?}");
}

/// A tester that sends a twentieth of the line rate: the curves lie where it can send.
#[test]
fn curves_lie_below_what_the_tester_sends() {
    let slow = || {
        let mut dut = Dut::new(0.03 * LINE_PPS, 1);
        dut.tester = 0.05 * LINE_PPS;
        dut
    };
    let bed = Testbed::one_way(LINE);
    let config = LossConfig { sizes: small(), ..LossConfig::default() };
    let result = complete(&MethodConfig::FrameLoss(config.clone()), &bed, &mut slow());
    let row = &rows!(result, FrameLoss)[0];
    let known: Vec<f64> = row
        .points
        .iter()
        .filter(|point| point.loss_percent.is_some())
        .map(|point| point.load_percent)
        .collect();
    assert!(known.len() >= 6 && known[0] < 5.0 && known[0] > 4.0, "{known:?}");
    assert_eq!(row.points.len(), known.len() + 1, "the first trial shows what the tester sends");
    assert!(!result.summary[0].contains("not known"), "{:?}", result.summary);
    assert!(
        result.remarks.iter().any(|remark| remark.contains("can't send the line rate")),
        "{:?}",
        result.remarks
    );

    let logarithmic = LossConfig { per_decade: 3, ..config.clone() };
    let result = complete(&MethodConfig::FrameLoss(logarithmic), &bed, &mut Dut::new(0.03 * LINE_PPS, 1));
    let loads: Vec<f64> = rows!(result, FrameLoss)[0].points.iter().map(|point| point.load_percent).collect();
    assert!((loads[0] - 100.0).abs() < 1e-9 && (loads[3] - 10.0).abs() < 1e-3, "{loads:?}");

    let absolute = LossConfig { rates: vec!["100kpps".into(), "500kpps".into(), "5Mpps".into()], ..config };
    let result = complete(&MethodConfig::FrameLoss(absolute), &bed, &mut slow());
    let row = &rows!(result, FrameLoss)[0];
    let known: Vec<_> = row.points.iter().map(|point| point.loss_percent.map(|loss| loss > 1.0)).collect();
    assert_eq!(known, [None, Some(true), Some(false)], "{row:?}");

    let sweep = MethodConfig::Sweep(SweepConfig { sizes: small(), ..SweepConfig::default() });
    let result = complete(&sweep, &bed, &mut slow());
    let row = &rows!(result, Sweep)[0];
    assert!(
        row.points.iter().filter(|point| point.loss_ratio.is_some()).count() >= 10,
        "{:?}",
        result.summary
    );
    let (free, loss) = (row.loss_free.unwrap(), row.first_loss.unwrap());
    assert!(free <= 0.03 && loss > 0.03 && loss - free < 0.002, "{free} to {loss}");
}

/// From the target on at most twice as much each time, with a rest after a failure.
#[test]
fn a_session_search_climbs_in_steps_and_rests_after_failures() {
    let config =
        SessionConfig { apps: vec![Application::http(1024, 1)], target: 1_000, ..SessionConfig::default() };
    let mut method = MethodConfig::Sessions(config.clone()).build(&Testbed::one_way(LINE)).unwrap();
    let mut dut = Dut::new(5e6, 1);
    dut.cps = 27_000.0;
    let (mut highest, mut failed, mut rests) = (0.0, false, 0);
    while let Step::Trial(request) = method.next_trial() {
        assert!(
            highest == 0.0 || request.magnitude() <= 10.0 * highest,
            "{} after {highest}",
            request.magnitude()
        );
        assert!(
            highest < 1_000.0 || request.magnitude() <= 2.0 * highest,
            "{} after {highest}",
            request.magnitude()
        );
        assert_eq!(request.around.rest > Nanos::ZERO, failed, "{}", request.label);
        rests += u32::from(failed);
        let outcome = dut.run(&request);
        failed = outcome.sessions.as_ref().unwrap().transactions_failed > 0;
        if !failed {
            highest = request.magnitude().max(highest);
        }
        method.record(&outcome);
    }
    let result = method.result();
    assert!(rests > 0 && result.remarks.iter().any(|remark| remark.contains("the device rested for")));
    let finding = &result.values().unwrap()[0];
    let (lower, value, upper) = (finding.lower.unwrap(), finding.value.unwrap(), finding.upper.unwrap());
    assert!(lower <= value && value <= 27_000.0 && 27_000.0 <= upper, "{finding:?}");
    assert!(upper - lower <= 2.0 * finding.resolution.unwrap(), "{finding:?}");
}
