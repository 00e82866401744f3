//! MLRsearch.

use super::*;
use methods::{Goal, Limit, MlrConfig, MlrRow};

fn config(goals: Vec<Goal>) -> MlrConfig {
    MlrConfig { sizes: small(), goals, ..MlrConfig::default() }
}

fn search(goals: Vec<Goal>, dut: &mut Dut) -> (MlrRow, MethodResult) {
    let result = complete(&MethodConfig::Mlr(config(goals)), &Testbed::one_way(LINE), dut);
    (rows!(result, Mlr).remove(0), result)
}

fn csit() -> Vec<Goal> {
    vec![Goal::ndr(), Goal::pdr(0.005)]
}

fn found(row: &MlrRow, goal: usize) -> f64 {
    row.goals[goal].conditional_throughput.as_ref().map_or(0.0, |rate| rate.first().as_f64())
}

/// A device of exactly a million frames per second; loads from a thousand to a billion.
#[test]
fn the_golden_run() {
    let bed = Testbed::one_way(672_000_000_000);
    let config = MlrConfig { minimum: 1e-6, ..config(csit()) };
    let mut method = MethodConfig::Mlr(config).build(&bed).unwrap();
    let mut trials = 0;
    while let Some(request) = method.next_trial().trial() {
        method.record(&methods::TrialOutcome::forwarded(&request, |_, sent| {
            sent.min((1e6 * request.duration.as_secs_f64()) as u64)
        }));
        trials += 1;
    }
    let row = rows!(method.result(), Mlr).remove(0);
    println!("golden run: NDR {:.4}, PDR {:.4}, {trials} trials", found(&row, 0), found(&row, 1));
    assert!((found(&row, 0) - 997_497.602_9).abs() < 1e-4, "{}", found(&row, 0));
    assert!((found(&row, 1) - 1_000_000.673_1).abs() < 1e-4, "{}", found(&row, 1));
}

/// Invariants of every result.
fn invariants(row: &MlrRow, result: &MethodResult) {
    for goal in &row.goals {
        let load = |bound: &Option<methods::MlrBound>| bound.as_ref().map(|b| b.load.first().as_f64());
        let (lower, upper) = (load(&goal.lower), load(&goal.upper));
        if let (Some(lower), Some(upper)) = (lower, upper) {
            assert!(lower < upper);
            assert!((upper - lower) / upper <= goal.goal.width + 1e-9, "{lower} {upper}");
        }
        assert_eq!(goal.regular, lower.is_some() && upper.is_some());
    }
    assert!(row.goals.windows(2).all(|pair| {
        let rate = |goal: &methods::GoalResult| goal.lower.as_ref().map(|bound| bound.load.first());
        rate(&pair[0]) <= rate(&pair[1])
    }));
    assert!(result.trials.iter().all(|trial| (0.001 - 1e-9..=1.0).contains(&trial.magnitude)));
}

#[test]
fn finds_hard_limits_at_the_price_of_a_few_seconds() {
    let mut seconds = Vec::new();
    let mut plain = Vec::new();
    for seed in 0..SEEDS {
        let mut dut = Dut::between(0.02 * LINE_PPS, 0.98 * LINE_PPS, seed);
        let capacity = dut.capacity;
        let (row, result) = search(csit(), &mut dut.clone());
        invariants(&row, &result);
        let ndr = found(&row, 0);
        assert!(ndr <= capacity + 1.0 && ndr >= capacity * 0.995 - 1.0, "{ndr} of {capacity}");
        assert!((found(&row, 1) / capacity - 1.0).abs() < 1e-3, "{} of {capacity}", found(&row, 1));
        assert_eq!(row.goals[0].limit, Limit::Dut);
        seconds.push(result.traffic_s);
        let binary: f64 = [0.0, 0.005]
            .map(|loss_ratio| {
                let config =
                    ThroughputConfig { loss_ratio, resolution: 0.005 * capacity / LINE_PPS, ..quick() };
                complete(&MethodConfig::Throughput(config), &Testbed::one_way(LINE), &mut dut).traffic_s
            })
            .iter()
            .sum();
        plain.push(binary);
    }
    let (seconds, plain) = (median(seconds), median(plain));
    println!("NDR and PDR of a hard limit: {seconds:.0} s of traffic; plain binary search {plain:.0} s");
    assert!(seconds <= 36.0);
}

#[test]
fn three_goals_at_once_cost_little_more() {
    let goals = vec![Goal::ndr(), Goal::pdr(0.001), Goal::pdr(0.005)];
    for seed in 0..SEEDS {
        let mut dut = Dut::between(0.02 * LINE_PPS, 0.98 * LINE_PPS, seed);
        let (row, result) = search(goals.clone(), &mut dut);
        invariants(&row, &result);
        assert!(result.traffic_s <= 70.0, "{}", result.traffic_s);
    }
}

/// Without looser targets the first trials decide too little, and the search continues from them nevertheless.
#[test]
fn a_goal_can_be_searched_directly() {
    for seed in 0..SEEDS {
        let mut dut = Dut::between(0.02 * LINE_PPS, 0.98 * LINE_PPS, seed);
        let capacity = dut.capacity;
        let (row, result) = search(vec![Goal { preceding: 0, ..Goal::ndr() }, Goal::tst009()], &mut dut);
        invariants(&row, &result);
        for goal in 0..2 {
            let ndr = found(&row, goal);
            assert!(ndr <= capacity + 1.0 && ndr >= capacity * 0.995 - 1.0, "{ndr} of {capacity}");
        }
    }
}

/// A trial that a stall hits is no sign of a limit as long as most are not hit.
#[test]
fn stalls_do_not_move_the_ndr() {
    let mut shares = Vec::new();
    let mut seconds = Vec::new();
    for seed in 0..SEEDS {
        let mut dut = Dut::between(0.2 * LINE_PPS, 0.9 * LINE_PPS, seed);
        dut.stalls = (0.01, 2000.0);
        let capacity = dut.capacity;
        let (row, result) = search(csit(), &mut dut);
        invariants(&row, &result);
        shares.push(found(&row, 0) / capacity);
        seconds.push(result.traffic_s);
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    println!("stalls: NDR ÷ capacity {mean:.4}, {:.0} s of traffic", median(seconds));
    assert!(mean > 0.993 && shares.iter().all(|share| *share > 0.95), "{mean}");
}

#[test]
fn noise_inversion_warm_up_buffers_and_leaks_end_well() {
    type Change = fn(&mut Dut);
    let devices: [(&str, Change); 5] = [
        ("capacity noise", |dut| dut.noise = 0.01),
        ("loss inversion", |dut| dut.inversion = Some((dut.capacity * 0.5, dut.capacity * 0.6))),
        ("warm-up", |dut| dut.warm_up = 5.0),
        ("buffer", |dut| dut.buffer = 4096.0),
        ("leak", |dut| dut.leak = 0.000_1),
    ];
    for (name, change) in devices {
        let mut seconds = Vec::new();
        for seed in 0..SEEDS {
            let mut dut = Dut::between(0.2 * LINE_PPS, 0.9 * LINE_PPS, seed);
            change(&mut dut);
            let capacity = dut.capacity;
            let (row, result) = search(csit(), &mut dut);
            invariants(&row, &result);
            let pdr = found(&row, 1) / capacity;
            assert!((0.97..1.03).contains(&pdr) || name == "warm-up", "{name}: {pdr}");
            if name == "leak" {
                assert_eq!(row.goals[0].limit, Limit::Impossible);
            }
            seconds.push(result.traffic_s);
        }
        println!("{name}: {:.0} s of traffic", median(seconds));
    }
}

#[test]
fn rfc2544_goals_take_full_trials() {
    let pdr = Goal { loss_ratio: 0.005, ..Goal::rfc2544() };
    let mut seconds = Vec::new();
    for seed in 0..SEEDS {
        let mut dut = Dut::between(0.02 * LINE_PPS, 0.98 * LINE_PPS, seed);
        let (row, result) = search(vec![Goal::rfc2544(), pdr.clone()], &mut dut);
        invariants(&row, &result);
        seconds.push(result.traffic_s);
    }
    println!("RFC 2544 goals: {:.0} s of traffic", median(seconds));
}

#[test]
fn a_device_as_fast_as_the_line_has_no_upper_bound() {
    let (row, result) = search(csit(), &mut Dut::new(2.0 * LINE_PPS, 1));
    assert!(row.goals.iter().all(|goal| goal.limit == Limit::Maximum && !goal.regular));
    assert!(result.summary[0].contains("the highest value tried"), "{}", result.summary[0]);
}

#[test]
fn the_testers_limit_is_not_the_devices() {
    for seed in 0..SEEDS {
        let mut dut = Dut::new(2.0 * LINE_PPS, seed);
        dut.tester = LINE_PPS * (0.05 + 0.9 * seed as f64 / SEEDS as f64);
        let tester = dut.tester;
        let (row, _) = search(csit(), &mut dut);
        for goal in 0..2 {
            assert_eq!(row.goals[goal].limit, Limit::Tester);
            assert!(row.goals[goal].upper.is_none());
            let share = found(&row, goal) / tester;
            assert!((0.994..=1.0).contains(&share), "{share}");
        }
    }
}

#[test]
fn a_search_can_run_out_of_time() {
    let config = MlrConfig { traffic_max: Some(secs(10)), ..config(csit()) };
    let result = complete(&MethodConfig::Mlr(config), &Testbed::one_way(LINE), &mut Dut::new(5e6, 1));
    assert!(rows!(result, Mlr)[0].goals.iter().any(|goal| goal.limit == Limit::Open));
    assert!(result.remarks[0].contains("ended after 10s"), "{:?}", result.remarks);
}

#[test]
fn latency_after_a_search() {
    let rates = RateSource::Mlr { search: config(csit()), goal: 1 };
    let latency =
        methods::LatencyConfig { rates, shares: vec![0.1, 0.5, 0.9], repeats: 1, duration: secs(10) };
    let result = complete(&MethodConfig::Latency(latency), &Testbed::one_way(LINE), &mut Dut::new(5e6, 1));
    let shares: Vec<_> = rows!(result, Latency).iter().map(|row| row.load.first().as_f64() / 5e6).collect();
    assert!(
        shares.iter().zip([0.1, 0.5, 0.9]).all(|(share, wanted)| (share - wanted).abs() < 0.001),
        "{shares:?}"
    );
    assert!(result.summary[0].contains("10% of the PDR 0.5%"), "{}", result.summary[0]);
}
