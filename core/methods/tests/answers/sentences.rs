//! Sentences and stored values of a result: equal for all outcomes of trials.

use super::*;
use methods::{
    AddressConfig, Finding, LatencySummary, LeaseConfig, LeaseOutcome, Limit, LossConfig, MixConfig,
    MlrConfig, MrrConfig, MulticastConfig, RouteConfig, RouteOutcome, SessionConfig, SweepConfig, TrialKind,
    TrialOutcome, TrialRequest,
};

/// Outcomes by the roll of a die, some of which can't be judged, some only within bounds, some short of the load.
struct Invented {
    dut: Dut,
    /// Number of disturbed trials in ten.
    disturbed: u64,
    seed: u64,
    trials: u64,
}

impl Invented {
    fn new(seed: u64) -> Self {
        let mut dut = Dut::between(1e6, 1.4 * LINE_PPS, seed);
        dut.cps = 500.0 + (seed * 37 % 3_000) as f64;
        dut.table = 10 + seed * 13 % 20_000;
        dut.tester = if seed.is_multiple_of(5) { 0.6 * LINE_PPS } else { f64::INFINITY };
        Self { dut, disturbed: seed % 11, seed, trials: 0 }
    }

    fn roll(&mut self) -> u64 {
        self.trials += 1;
        random::word(random::key(self.seed ^ 0x5e7), self.trials) % 10
    }

    fn run(&mut self, request: &TrialRequest) -> TrialOutcome {
        let mut outcome = match &request.kind {
            TrialKind::Leases { rate, alone, .. } => {
                let slow = !alone && *rate as f64 > self.dut.cps;
                let max = if slow { 2e9 } else { 1e6 };
                let bind = LatencySummary { samples: 9, max, p50: max, ..LatencySummary::default() };
                let leases =
                    LeaseOutcome { clients: 9, bound: 9, bind: Some(bind), ..LeaseOutcome::default() };
                TrialOutcome { valid: true, leases: Some(leases), ..TrialOutcome::default() }
            }
            TrialKind::Routes { routes, .. } => {
                let share = (self.dut.table as f64 / *routes as f64).min(1.0);
                let forwarded = TrialOutcome::forwarded(request, |_, sent| (sent as f64 * share) as u64);
                TrialOutcome { routes: Some(RouteOutcome::default()), ..forwarded }
            }
            TrialKind::Multicast { groups, .. } => {
                let share = (self.dut.table as f64 / *groups as f64).min(1.0);
                TrialOutcome::forwarded(request, |_, sent| (sent as f64 * share) as u64)
            }
            _ => self.dut.run(request),
        };
        if self.roll() < self.disturbed {
            outcome.disturbed = true;
            outcome.valid = false;
            outcome.only_worse = self.roll() > 1;
            self.lose_some(&mut outcome);
        }
        outcome
    }

    /// The tester itself loses frames, and fails sessions.
    fn lose_some(&mut self, outcome: &mut TrialOutcome) {
        let share = [0, 0, 1, 20, 200][(self.roll() % 5) as usize];
        for group in &mut outcome.groups {
            group.lost_least = (share != 1).then_some(group.lost);
            group.lost = (group.lost + group.sent * share / 10_000).min(group.sent);
            group.received = group.sent - group.lost;
        }
        if let Some(sessions) = outcome.sessions.as_mut().filter(|_| share > 0) {
            sessions.transactions_failed += 1 + sessions.transactions * share / 1_000;
        }
        if let Some(bind) =
            outcome.leases.as_mut().and_then(|leases| leases.bind.as_mut()).filter(|_| share > 0)
        {
            bind.max = 5e9;
        }
    }
}

fn searches() -> Vec<MethodConfig> {
    let sizes = small;
    let mut all = vec![
        MethodConfig::Throughput(quick()),
        MethodConfig::Throughput(ThroughputConfig {
            exploratory: Some(secs(1)),
            loss_verification: 1,
            ..quick()
        }),
        MethodConfig::Mlr(MlrConfig { sizes: sizes(), ..MlrConfig::default() }),
        MethodConfig::Mrr(MrrConfig { sizes: sizes(), ..MrrConfig::default() }),
        MethodConfig::Sweep(SweepConfig { sizes: sizes(), ..SweepConfig::default() }),
        MethodConfig::FrameLoss(LossConfig { sizes: sizes(), ..LossConfig::default() }),
        MethodConfig::Sessions(SessionConfig { target: 1_000, ..SessionConfig::default() }),
        MethodConfig::Sessions(SessionConfig::ramp(500, 10_000)),
        MethodConfig::Mix(MixConfig::default()),
        MethodConfig::Addresses(AddressConfig::default()),
        MethodConfig::Leases(LeaseConfig::default()),
        MethodConfig::Routes(RouteConfig::default()),
        MethodConfig::Multicast(MulticastConfig { repeats: 0, ..MulticastConfig::default() }),
    ];
    all.extend([Testbed::both_ways(LINE)].iter().flat_map(|_| [MethodConfig::Throughput(quick())]));
    all
}

fn limits(result: &MethodResult) -> Vec<Limit> {
    let rows = serde_json::to_value(&result.findings).unwrap();
    let of = |row: &serde_json::Value| {
        let goals = row["goals"].as_array().cloned().unwrap_or_else(|| vec![row.clone()]);
        let all = goals.into_iter().flat_map(|goal| {
            ["limit", "throughput_limit"].map(|key| serde_json::from_value(goal[key].clone()).ok())
        });
        all.flatten().collect::<Vec<Limit>>()
    };
    rows["rows"].as_array().unwrap().iter().flat_map(of).collect()
}

/// Invariants of a single finding.
fn is_consistent(finding: &Finding) -> bool {
    let below = |a: Option<f64>, b: Option<f64>| a.zip(b).is_none_or(|(a, b)| a <= b * (1.0 + 1e-9));
    below(finding.lower, finding.value)
        && below(finding.lower, finding.upper)
        && below(finding.value, finding.upper)
}

#[test]
fn sentences_follow_from_what_is_stored() {
    let (mut with_bounds, mut unjudged, mut nothing) = (0, 0, 0);
    for seed in 0..SEEDS {
        for config in searches() {
            let bed = Testbed { routes: 100_000, ..Testbed::one_way(LINE) };
            let mut machine = Invented::new(seed);
            let mut method = config.build(&bed).unwrap();
            let mut trials = 0;
            while let Step::Trial(request) = method.next_trial() {
                method.record(&machine.run(&request));
                trials += 1;
                assert!(trials < 3_000, "{} does not end", method.name());
            }
            let result = method.result();
            let said = result.summary.join(" ");
            let findings = result.values().unwrap();
            let context = || format!("{} seed {seed}: {said}\n{findings:#?}", result.method);
            if result.status != Status::Complete {
                continue;
            }
            let limits = limits(&result);
            assert!(!limits.contains(&Limit::Open) && !said.contains("not yet"), "{}", context());
            for finding in &findings {
                assert!(is_consistent(finding), "{}", context());
                let note = finding.note.as_deref().unwrap_or_default();
                assert!(finding.upper.is_none() || !note.contains("may do more"), "{}", context());
            }
            if let ([finding], [limit]) = (&findings[..], &limits[..]) {
                with_bounds += usize::from(finding.upper.is_some());
                agrees(finding, *limit, &said, &context());
            }
            assert_eq!(
                result.findings.nothing_found(),
                findings.iter().all(|finding| finding.value.is_none()) && !result.findings.has_failed(),
                "{}",
                context()
            );
            if result.findings.nothing_found() {
                nothing += 1;
                // A search without an answer says why, and an exit code can say it, too.
                assert!(result.findings.is_unjudged() || limits.contains(&Limit::Tester), "{}", context());
            }
            if result.findings.is_unjudged() {
                unjudged += 1;
                assert!(said.contains("disturbed"), "{}", context());
            }
        }
    }
    println!("{with_bounds} with an upper bound, {unjudged} not judged, {nothing} without a value");
    assert!(with_bounds > 200 && unjudged > 50 && nothing > 20, "{with_bounds} {unjudged} {nothing}");
}

/// One finding, what bounds it, and its sentence.
fn agrees(finding: &Finding, limit: Limit, said: &str, context: &str) {
    match limit {
        Limit::Dut => assert!(finding.value.is_some(), "{context}"),
        Limit::Maximum => assert!(finding.value.is_some() && finding.upper.is_none(), "{context}"),
        Limit::Disturbed => assert!(said.contains("can't be judged"), "{context}"),
        Limit::Impossible => assert!(finding.value.is_none() && said.contains("none"), "{context}"),
        Limit::Tester | Limit::Open => {}
    }
    if finding.upper.is_some() {
        assert!(!said.contains("may do more"), "{context}");
    }
    if limit != Limit::Disturbed {
        assert!(!said.contains("values can't be judged") && !said.contains("between can't be"), "{context}");
    }
    if said.contains("may do more") {
        assert!(matches!(limit, Limit::Tester | Limit::Disturbed), "{context}");
    }
}

/// A load at which the device failed for sure stays known where what lies between can't be judged.
#[test]
fn what_failed_bounds_a_search_that_was_disturbed() {
    let config = SessionConfig { target: 1_000, maximum: 4_000, ..SessionConfig::default() };
    let config = SessionConfig { apps: config.apps[..1].to_vec(), ..config };
    let mut method = MethodConfig::Sessions(config).build(&Testbed::one_way(LINE)).unwrap();
    let mut dut = Dut::new(5e6, 1);
    dut.cps = 1_600.0;
    while let Step::Trial(request) = method.next_trial() {
        let outcome = dut.run(&request);
        let disturbed = (1_001.0..2_000.0).contains(&request.magnitude());
        let fails = outcome
            .sessions
            .clone()
            .map(|sessions| methods::SessionOutcome { transactions_failed: 9, ..sessions });
        method.record(&match disturbed {
            true => TrialOutcome { valid: false, disturbed, only_worse: true, sessions: fails, ..outcome },
            false => outcome,
        });
    }
    let result = method.result();
    let finding = &result.values().unwrap()[0];
    assert_eq!((finding.value, finding.upper), (Some(1_000.0), Some(2_000.0)), "{finding:?}");
    assert!(
        result.summary[0].contains("at 2,000: ")
            && result.summary[0]
                .ends_with("values in between can't be judged, because the tester was disturbed."),
        "{}",
        result.summary[0]
    );
    assert!(result.findings.is_unjudged() && !result.findings.nothing_found());
}

/// Pauses of the tester lose nothing: what passed in spite of them passed.
#[test]
fn nothing_lost_is_nothing_lost_on_a_busy_machine() {
    let quiet = |config: &MethodConfig| {
        drive(&mut *config.build(&Testbed::one_way(LINE)).unwrap(), &mut Dut::new(9e6, 1))
    };
    for config in [
        MethodConfig::Throughput(quick()),
        MethodConfig::Mlr(MlrConfig { sizes: small(), ..MlrConfig::default() }),
    ] {
        let mut method = config.build(&Testbed::one_way(LINE)).unwrap();
        let mut dut = Dut::new(9e6, 1);
        let mut trials = 0u64;
        while let Step::Trial(request) = method.next_trial() {
            let mut outcome = dut.run(&request);
            trials += 1;
            if trials.is_multiple_of(2) {
                (outcome.valid, outcome.disturbed, outcome.only_worse) = (false, true, true);
                for group in &mut outcome.groups {
                    // Of a thousand frames one left late.
                    group.lost_least = Some(group.lost.saturating_sub(group.sent / 1_000));
                }
            }
            method.record(&outcome);
        }
        let (busy, quiet) = (method.result(), quiet(&config));
        assert!(busy.traffic_s <= 2.0 * quiet.traffic_s, "{} s, {} s", busy.traffic_s, quiet.traffic_s);
        for (busy, quiet) in busy.values().unwrap().iter().zip(quiet.values().unwrap()) {
            let truth = quiet.value.unwrap();
            assert!(busy.lower.is_none_or(|lower| lower <= truth * 1.01), "{busy:?}");
            assert!(busy.upper.is_none_or(|upper| upper >= truth * 0.99), "{busy:?}");
        }
    }
}

/// Disturbances of the tester do not depend on the load: three trials show it, not a search down to the smallest load.
#[test]
fn three_trials_that_can_t_be_judged_end_a_search() {
    for config in searches() {
        let mut method = config.build(&Testbed { routes: 1_000, ..Testbed::one_way(LINE) }).unwrap();
        let mut machine = Invented::new(0);
        let mut trials = 0;
        while let Step::Trial(request) = method.next_trial() {
            let mut outcome = machine.run(&request);
            (outcome.valid, outcome.disturbed, outcome.generator_limited) = (false, true, false);
            method.record(&outcome);
            trials += 1;
            assert!(trials < 40, "{}", method.name());
        }
        let result = method.result();
        // Other stages of the same method learn it from one trial each.
        let stages = result.summary.len().max(1) as u64;
        assert!(trials <= 5 + stages, "{}: {trials} trials, {:?}", result.method, result.summary);
        if result.status == Status::Complete {
            assert!(result.findings.nothing_found() && result.findings.is_unjudged(), "{:?}", result.summary);
        }
    }
}
