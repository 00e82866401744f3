//! RFC 9411, loads in steps, RFC 6349.

use super::*;
use methods::{
    Application, KnownRate, Limit, MixConfig, Objective, Phases, SessionConfig, SessionLatencyConfig,
    TcpConfig, TrialKind, session_series,
};
use units::Pps;

fn bed() -> Testbed {
    Testbed::both_ways(LINE)
}

fn one_app(config: SessionConfig) -> SessionConfig {
    SessionConfig { apps: config.apps[..1].to_vec(), ..config }
}

#[test]
fn finds_the_most_connections_per_second() {
    let mut trials = Vec::new();
    for seed in 0..SEEDS {
        let mut dut = Dut::new(1.0, seed);
        dut.cps = 500.0 + seed as f64 * 1_234.5;
        let cps = dut.cps;
        let config = MethodConfig::Sessions(one_app(SessionConfig::default()));
        let result = complete(&config, &bed(), &mut dut);
        let row = rows!(result, Sessions).remove(0);
        let best = row.best.unwrap().value as f64;
        assert!(best <= cps && best >= cps * 0.99 - 1.0, "{best} of {cps}");
        assert_eq!(row.limit, Limit::Dut);
        assert!(row.failed.unwrap().violations[0].contains("transactions failed"));
        trials.push(result.trials.len() as f64);
    }
    println!("connections per second to 1%: {} trials", median(trials));
}

#[test]
fn finds_the_session_table() {
    for seed in 0..SEEDS {
        let mut dut = Dut::new(1.0, seed);
        dut.table = 1_000 + seed * 4_321;
        let table = dut.table as f64;
        let config = MethodConfig::Sessions(SessionConfig::concurrent(50_000, 10_000_000, 20_000));
        let result = complete(&config, &bed(), &mut dut);
        let row = rows!(result, Sessions).remove(0);
        let best = row.best.unwrap().value as f64;
        // One failure in more than 100,000 is within the criteria.
        assert!(best <= table * 1.000_01 && best >= table * 0.99 - 1.0, "{best} of {table}");
        assert_eq!(row.objective, Objective::ConcurrentConnections);
    }
}

/// Ten transactions to a connection, and goodput in bits per second.
#[test]
fn other_objectives_are_driven_up_alike() {
    for seed in 0..SEEDS {
        let mut dut = Dut::between(1e8, 9e9, seed);
        let (capacity, cps) = (dut.capacity, dut.cps);
        let goodput = one_app(SessionConfig::goodput(1_000_000_000, 10_000_000_000));
        let transactions = SessionConfig {
            objective: Objective::TransactionsPerSecond,
            maximum: 10_000_000,
            ..goodput.clone()
        };
        for (config, most) in [(goodput, capacity), (transactions, cps * 10.0)] {
            let result = complete(&MethodConfig::Sessions(config), &bed(), &mut dut);
            let best = rows!(result, Sessions).remove(0).best.unwrap().value as f64;
            assert!(best <= most * 1.000_01 && best >= most * 0.99 - 1.0, "{best} of {most}");
        }
    }
}

/// Three quarters of the mix are of one entry; what is found is the multiple at which both together reach the limit.
#[test]
fn a_mix_is_scaled_as_a_whole() {
    for seed in 0..SEEDS {
        let mut dut = Dut::new(1.0, seed);
        dut.cps = 137.0 + seed as f64 * 1_234.5;
        let most = dut.cps / dut::MIX_PER_S;
        let result = complete(&MethodConfig::Mix(MixConfig::default()), &bed(), &mut dut);
        let row = rows!(result, Mix).remove(0);
        if most > 1_000.0 {
            assert_eq!((row.best.unwrap().multiplier, row.limit), (1_000.0, Limit::Maximum));
            continue;
        }
        let (best, failed) = (row.best.unwrap(), row.failed.unwrap());
        assert!(best.multiplier <= most && failed.multiplier > most, "{most}: {result:?}");
        assert!(failed.multiplier - best.multiplier <= failed.multiplier * 0.01 + 0.001, "{most}");
        assert!(failed.violations[0].starts_with("web: "), "{failed:?}");
        let values = result.values().unwrap();
        let of = |goal: &str| values.iter().find(|finding| finding.goal == goal).unwrap();
        let found = of("multiplier");
        assert_eq!((found.lower, found.upper), (Some(best.multiplier), Some(failed.multiplier)));
        assert_eq!((of("opened").frame.as_str(), of("opened").value), ("web", Some(best.entries[0].reached)));
    }
}

#[test]
fn a_mix_that_never_passes_is_impossible() {
    let mut dut = Dut::new(1.0, 1);
    dut.cps = dut::MIX_PER_S / 2_000.0;
    let result = complete(&MethodConfig::Mix(MixConfig::default()), &bed(), &mut dut);
    assert_eq!(rows!(result, Mix)[0].limit, Limit::Impossible);
    assert!(result.summary[0].starts_with("Multiple of the profile's load: none; at 0.001 times: web: "));
}

#[test]
fn the_tester_may_be_the_limit_of_sessions_too() {
    let mut dut = Dut::new(1.0, 1);
    dut.tester = 30_000.0;
    let config = MethodConfig::Sessions(one_app(SessionConfig::default()));
    let result = complete(&config, &bed(), &mut dut);
    let row = rows!(result, Sessions).remove(0);
    assert_eq!((row.limit, row.failed), (Limit::Tester, None));
    assert!(
        result.summary[0].contains("the tester was the limit; the DUT may do more"),
        "{}",
        result.summary[0]
    );
}

#[test]
fn latency_is_taken_at_half_the_most() {
    let config = SessionLatencyConfig { search: one_app(SessionConfig::default()), ..Default::default() };
    let result = complete(&MethodConfig::SessionLatency(config), &bed(), &mut Dut::new(1.0, 1));
    let row = rows!(result, SessionLatency).remove(0);
    let (most, point) = (row.most.unwrap(), row.point.unwrap());
    assert!(most <= 50_000 && most > 49_400 && point.value == most / 2);
    assert!(point.sessions.ttfb.is_some() && point.violations.is_empty());
}

/// The step at which it failed is kept, and the rate of failure is pinned between that step and the one before.
#[test]
fn a_ramp_ends_at_failure_and_pins_it() {
    for seed in 0..SEEDS {
        let mut dut = Dut::new(1.0, seed);
        dut.cps = 5_500.0 + seed as f64 * 100.0;
        let cps = dut.cps;
        let result =
            complete(&MethodConfig::Sessions(one_app(SessionConfig::ramp(5_000, 100_000))), &bed(), &mut dut);
        assert_eq!(result.method, "session-ramp");
        let row = rows!(result, Sessions).remove(0);
        let first = row.first_failed.unwrap();
        assert_eq!(first.value, (cps / 5_000.0).floor() as u64 * 5_000 + 5_000);
        assert_eq!(first.drops[0].0, "session table full");
        let best = row.best.unwrap().value as f64;
        assert!(best <= cps && best >= cps * 0.99 - 1.0, "{best} of {cps}");
    }
}

#[test]
fn the_series_runs_from_end_to_end() {
    let sizes = vec![Frames::bytes(400).unwrap(), Frames::bytes(1518).unwrap()];
    for config in session_series(sizes, 5_000, 100_000) {
        let result = complete(&config, &bed(), &mut Dut::new(2e6, 1));
        assert!(!result.summary.is_empty() && result.summary.iter().all(|sentence| sentence.ends_with('.')));
    }
}

#[test]
fn phases_are_those_of_the_rfc() {
    let mut method = MethodConfig::Sessions(SessionConfig::default()).build(&bed()).unwrap();
    let request = method.next_trial().trial().unwrap();
    let TrialKind::Sessions(load) = &request.kind else { panic!() };
    assert!(load.phases.init >= secs(5) && load.phases.sustain >= secs(300));
    assert_eq!((load.value, request.duration), (1_000, Phases::default().total()));
    assert_eq!(load.app, Application::http(1024, 1));
}

#[test]
fn tcp_fills_the_bottleneck_with_a_window_as_large_as_its_product() {
    let frames = Frames::bytes(1518).unwrap();
    let config = TcpConfig {
        rates: RateSource::Known(vec![KnownRate { frames, rate: Pps::new(50_000), limit: None }]),
        window_shares: vec![0.5, 1.0, 2.0],
        ..TcpConfig::default()
    };
    let result = complete(&MethodConfig::Tcp(config), &bed(), &mut Dut::new(50_000.0, 1));
    let row = rows!(result, Tcp).remove(0);
    let bottleneck = 50_000.0 * 1538.0 * 8.0;
    assert!((row.bottleneck_bps.unwrap() - bottleneck).abs() < 1.0);
    assert!((row.bdp_bytes.unwrap() - bottleneck * 0.02 / 8.0).abs() < 1.0);
    // Forward, reverse, both; three windows each.
    assert_eq!(row.runs.iter().map(|run| run.senders.len()).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 1, 2, 2, 2]);
    let figures: Vec<_> = row.runs[..3].iter().map(|run| run.results[0].clone()).collect();
    let ratio = |i: usize| figures[i].transfer_time_ratio;
    assert!((ratio(0) - 2.0 * 1460.0 / 1538.0).abs() < 1e-3 && (ratio(2) - 1.0).abs() < 1e-6, "{}", ratio(0));
    assert!((figures[2].buffer_delay_percent - 100.0).abs() < 1e-6);
    assert!((figures[2].efficiency_percent - 99.9).abs() < 1e-3);
    assert_eq!(figures[0].buffer_delay_percent, 0.0);
}
