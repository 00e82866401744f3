//! A campaign is resumed by recording stored outcomes again; configurations, requests and results survive storage.

use super::*;
use methods::{
    AddressConfig, BackToBackConfig, LatencyConfig, LossConfig, MlrConfig, MrrConfig, RecoveryConfig,
    ReplayError, ResetConfig, SelfTestConfig, SessionConfig, SessionLatencyConfig, SoakConfig, StoredTrial,
    SweepConfig, TcpConfig, TrialRequest, replay,
};
use proptest::prelude::*;

/// Every method once.
fn all() -> Vec<MethodConfig> {
    let sizes = || vec![Frames::bytes(64).unwrap(), "imix".parse().unwrap()];
    vec![
        MethodConfig::Throughput(ThroughputConfig { exploratory: Some(secs(1)), sizes: sizes(), ..quick() }),
        MethodConfig::Latency(LatencyConfig { rates: searched(), repeats: 2, ..LatencyConfig::default() }),
        MethodConfig::FrameLoss(LossConfig { sizes: sizes(), ..LossConfig::default() }),
        MethodConfig::BackToBack(BackToBackConfig {
            rates: searched(),
            repeats: 2,
            ..BackToBackConfig::default()
        }),
        MethodConfig::Recovery(RecoveryConfig { rates: searched(), ..RecoveryConfig::default() }),
        MethodConfig::Reset(ResetConfig { rates: searched(), ..ResetConfig::default() }),
        MethodConfig::Mlr(MlrConfig { sizes: sizes(), warm_up: Some(secs(1)), ..MlrConfig::default() }),
        MethodConfig::Mrr(MrrConfig { sizes: sizes(), ..MrrConfig::default() }),
        MethodConfig::Soak(SoakConfig { rates: searched(), ..SoakConfig::default() }),
        MethodConfig::Sweep(SweepConfig { sizes: sizes(), ..SweepConfig::default() }),
        MethodConfig::Addresses(AddressConfig::default()),
        MethodConfig::Sessions(SessionConfig::default()),
        MethodConfig::SessionLatency(SessionLatencyConfig::default()),
        MethodConfig::SelfTest(SelfTestConfig::default()),
        MethodConfig::Tcp(TcpConfig::default()),
    ]
}

/// A device with everything that is unpleasant, and a tester that stumbles and is interrupted.
fn unpleasant(seed: u64) -> Dut {
    let mut dut = Dut::between(0.2 * LINE_PPS, 0.9 * LINE_PPS, seed);
    dut.stalls = (0.02, 2000.0);
    dut.noise = 0.01;
    dut.buffer = 1_000.0;
    if seed.is_multiple_of(3) {
        dut.tester = 0.6 * LINE_PPS;
    }
    dut
}

fn stored(config: &MethodConfig, seed: u64) -> (Vec<StoredTrial>, MethodResult) {
    let mut method = config.build(&Testbed::both_ways(LINE)).unwrap();
    let mut dut = unpleasant(seed);
    let mut stored = Vec::new();
    while let Some(request) = method.next_trial().trial() {
        let mut outcome = dut.run(&request);
        let chance = random::word(random::key(seed), request.number);
        outcome.interrupted = chance.is_multiple_of(17);
        outcome.valid = !chance.is_multiple_of(13);
        stored.push(StoredTrial::new(&request, &outcome));
        method.record(&outcome);
        assert!(stored.len() < 5_000, "{} does not end", method.name());
    }
    (stored, method.result())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// For any interruption, the machine that replays the recorded outcomes requests the same trials and ends the same.
    #[test]
    fn a_replay_brings_a_method_where_it_was(which in 0usize..15, seed in 0u64..1_000, cut in 0.0f64..1.0) {
        let config = &all()[which];
        let (trials, result) = stored(config, seed);
        let cut = (trials.len() as f64 * cut) as usize;
        // Through storage and back.
        let text = serde_json::to_string(&trials[..cut]).unwrap();
        let kept: Vec<StoredTrial> = serde_json::from_str(&text).unwrap();
        let mut method = config.build(&Testbed::both_ways(LINE)).unwrap();
        replay(&mut *method, &kept).unwrap();
        prop_assert_eq!(method.progress().trials, cut as u64);
        for trial in &trials[cut..] {
            let request = method.next_trial().trial().unwrap();
            prop_assert_eq!((request.number, &request.key), (trial.number, &trial.key));
            method.record(&trial.outcome);
        }
        prop_assert!(method.next_trial().trial().is_none());
        prop_assert_eq!(method.result(), result);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// For any outcomes, even nonsensical ones: a method ends, and requests nothing beyond the link.
    #[test]
    fn every_method_ends_whatever_comes_back(which in 0usize..15, seed: u64, kindness in 0u64..4) {
        let mut method = all()[which].build(&Testbed::both_ways(LINE)).unwrap();
        let mut dut = Dut::new(0.5 * LINE_PPS, seed);
        let mut trials = 0;
        while let Some(request) = method.next_trial().trial() {
            prop_assert!(request.offered.iter().all(|load| load.share > 0.0 && load.share <= 1.0 + 1e-9));
            let mut outcome = dut.run(&request);
            let chance = random::word(random::key(seed), request.number);
            for (i, group) in outcome.groups.iter_mut().enumerate() {
                let share = (chance >> (16 * i) & 0xff) as f64 / 255.0;
                group.received = if share < kindness as f64 / 4.0 { group.sent } else { (group.sent as f64 * share) as u64 };
                group.lost = group.sent - group.received;
            }
            outcome.generator_limited = (chance >> 40).is_multiple_of(5 + kindness);
            outcome.valid = !(chance >> 50).is_multiple_of(7);
            if let Some(sessions) = &mut outcome.sessions {
                sessions.transactions_failed = sessions.transactions * (chance >> 60 & 1);
            }
            method.record(&outcome);
            trials += 1;
            prop_assert!(trials < 20_000, "{} does not end", method.name());
        }
        prop_assert!(method.result().summary.iter().all(|sentence| sentence.ends_with('.')));
    }
}

#[test]
fn asking_twice_changes_nothing() {
    for config in all() {
        let mut method = config.build(&Testbed::both_ways(LINE)).unwrap();
        let first = method.next_trial();
        method.estimate();
        method.progress();
        method.result();
        assert_eq!(method.next_trial(), first);
    }
}

#[test]
fn another_configuration_is_noticed() {
    let (trials, _) = stored(&all()[0], 1);
    let other = MethodConfig::Throughput(ThroughputConfig { exploratory: Some(secs(2)), ..quick() });
    let mut method = other.build(&Testbed::both_ways(LINE)).unwrap();
    let error = replay(&mut *method, &trials).unwrap_err();
    assert!(matches!(error, ReplayError::Other { number: 0, .. }), "{error}");
}

#[test]
fn everything_survives_storage() {
    for config in all() {
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<MethodConfig>(&text).unwrap(), config, "{text}");
        let mut method = config.build(&Testbed::both_ways(LINE)).unwrap();
        let request = method.next_trial().trial().unwrap();
        let text = serde_json::to_string(&request).unwrap();
        let back: TrialRequest = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        let (_, result) = stored(&config, 5);
        let text = serde_json::to_string(&result).unwrap();
        let back: MethodResult = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }
}

/// An empty object is a configuration with the RFC's values.
#[test]
fn defaults_are_the_rfcs() {
    let config: ThroughputConfig = serde_json::from_str("{}").unwrap();
    assert_eq!((config.sizes.len(), config.final_trial, config.loss_ratio), (7, secs(60), 0.0));
    let config: LatencyConfig = serde_json::from_str("{\"duration\": \"60s\"}").unwrap();
    assert_eq!((config.repeats, config.duration, config.shares), (20, secs(60), vec![1.0]));
    assert!(serde_json::from_str::<LossConfig>("{\"steps\": 3}").is_err());
}

/// The remaining work is estimated beforehand, and nothing remains at the end.
#[test]
fn estimates_are_of_the_right_size() {
    for config in all() {
        let mut method = config.build(&Testbed::both_ways(LINE)).unwrap();
        let before = method.estimate();
        let mut dut = Dut::new(0.5 * LINE_PPS, 1);
        dut.buffer = 1_000.0;
        let result = drive(&mut *method, &mut dut);
        let (said, run) = (before.trials, result.trials.len() as u64);
        // A search that ends with its first trial can't be foreseen.
        let near = said <= run * 5 + 12 && run <= said * 5 + 12;
        assert!(near, "{}: {said} said, {run} run", method.name());
        assert_eq!((method.estimate().trials, method.progress().fraction), (0, 1.0), "{}", method.name());
    }
}
