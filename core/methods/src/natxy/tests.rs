//! The search on model gateways.

use super::*;
use crate::outcome::{GroupOutcome, TrialOutcome};
use crate::{MethodConfig, MethodResult, Step, TrialRequest};

/// A gateway with limits.
#[derive(Clone, Copy)]
struct Model {
    table: u64,
    per_s: u64,
    pps: u64,
    timeout_ns: u64,
    /// Connections validated of a trial that was too many: the table's, or fewer.
    evicts: u64,
}

const MODEL: Model =
    Model { table: 10_000, per_s: 240_000, pps: 400_000, timeout_ns: 30_000_000_000, evicts: 0 };

impl Model {
    fn opens(&self, load: &NatLoad) -> NatOutcome {
        let fits = if load.connections > self.table { self.table - self.evicts } else { load.connections };
        let learns =
            if load.rate > self.per_s { load.connections * self.per_s / load.rate } else { load.connections };
        let validated = fits.min(learns);
        NatOutcome {
            attempted: load.connections,
            arrived: validated.max(learns),
            validated,
            ..NatOutcome::default()
        }
    }

    fn run(&self, request: &TrialRequest) -> TrialOutcome {
        let TrialKind::Nat { task } = &request.kind else { panic!() };
        let mut groups = Vec::new();
        let nat = match task {
            NatTask::Behavior { .. } => {
                NatOutcome { behavior: Some(NatBehavior::default()), ..NatOutcome::default() }
            }
            NatTask::Timeout { longest, probes } => {
                let age = |n: u32| longest.0 / u64::from(*probes) * u64::from(n + 1);
                let probes: Vec<_> = (0..*probes).map(|n| (age(n), age(n) < self.timeout_ns)).collect();
                let timeout = Some(NatTimeout::of(&probes, Share::new(1, 2)));
                NatOutcome { timeout, ..NatOutcome::default() }
            }
            NatTask::Connections(load) => self.opens(load),
            NatTask::Traffic { load, pps } => {
                let lost = pps.saturating_sub(self.pps);
                groups.push(GroupOutcome {
                    sent: *pps,
                    received: pps - lost,
                    lost,
                    ..GroupOutcome::default()
                });
                self.opens(load)
            }
            NatTask::TearDown { load, .. } => {
                NatOutcome { torn_down_s: Some(0.5), left: Some(0), ..self.opens(load) }
            }
        };
        TrialOutcome { valid: true, nat: Some(nat), groups, ..TrialOutcome::default() }
    }

    fn measured(&self, config: NatConfig) -> (NatRow, MethodResult) {
        let mut method = MethodConfig::Nat(config).build(&Testbed::both_ways(10_000_000_000)).unwrap();
        for trial in 0.. {
            assert!(trial < 200, "it does not end");
            let Step::Trial(request) = method.next_trial() else { break };
            method.record(&self.run(&request));
        }
        let result = method.result();
        let Findings::Nat(rows) = &result.findings else { panic!() };
        (rows[0].clone(), result)
    }
}

fn capacity_only() -> NatConfig {
    let zero = Nanos::ZERO;
    NatConfig {
        samples: 0,
        timeout_max: zero,
        rate_max: 0,
        throughput_max: 0,
        connections: 1_000,
        ..NatConfig::default()
    }
}

#[test]
fn the_capacity_is_exact_whatever_a_full_table_does() {
    for (table, evicts) in [
        (10_000, 0),
        (10_000, 1),
        (10_000, 137),
        (4_000, 2_500),
        (1_000, 0),
        (1, 0),
        (65_535, 9_000),
        (5_000, 1_000),
    ] {
        let (row, result) = Model { table, evicts: evicts.min(table), ..MODEL }.measured(capacity_only());
        let search = row.capacity.unwrap();
        let of = |point: Option<NatPoint>| point.map(|point| point.connections);
        assert_eq!(
            (of(search.best), of(search.failed), search.limit),
            (Some(table), Some(table + 1), Limit::Dut)
        );
        let trials = result.trials.len();
        assert!(trials < 32 && (evicts > 0 || trials <= 8), "{table} {evicts}: {trials}");
    }
}

#[test]
fn a_table_without_limit_and_one_without_room_are_told_apart() {
    let limit = |table| Model { table, ..MODEL }.measured(capacity_only()).0.capacity.unwrap().limit;
    assert_eq!((limit(u64::MAX), limit(0)), (Limit::Maximum, Limit::Impossible));
}

#[test]
fn rates_throughput_time_out_and_tear_down_are_the_models() {
    let config = NatConfig { timeout_max: Nanos::from_secs(60), tear_downs: 3, ..NatConfig::default() };
    let (row, result) = MODEL.measured(config);
    let rate = row.rate.unwrap();
    let (best, failed) = (rate.best.unwrap(), rate.failed.unwrap());
    assert!(best.rate <= 240_000 && failed.rate > 240_000 && failed.rate - best.rate < 5_000, "{best:?}");
    assert_eq!(best.connections, 10_000);
    let throughput = row.throughput.unwrap();
    assert!(throughput.best.unwrap().rate.abs_diff(400_000) < 8_100);
    assert_eq!(throughput.failed.unwrap().violations.len(), 1);
    let timeout = row.timeout.unwrap();
    assert_eq!((timeout.lower_ns, timeout.upper_ns), (Some(29_970_000_000), Some(30_000_000_000)));
    assert_eq!(row.tear_down_per_s, [20_000.0; 3]);
    for said in [
        "Connection tracking table capacity: 10,000 connections; at 10,001 connections: 1 of 10,001 connections were not validated.",
        "Connection tear-down rate: 20,000 connections/s (mean of 3).",
        "Time-out of a UDP mapping: between 29.970 s and 30.000 s; the same outside endpoint again afterwards: 50%.",
    ] {
        assert!(result.summary.iter().any(|sentence| sentence == said), "{:#?}", result.summary);
    }
    let goals: Vec<_> = result.findings.values().unwrap().into_iter().map(|finding| finding.goal).collect();
    for goal in ["connection_rate", "table_capacity", "nat_throughput", "tear_down_rate", "udp_timeout"] {
        assert!(goals.iter().any(|own| own == goal), "{goals:?}");
    }
}

#[test]
fn probes_that_contradict_are_counted() {
    let timeout = NatTimeout::of(&[(10, true), (20, false), (30, true), (40, false)], Share::default());
    assert_eq!((timeout.lower_ns, timeout.upper_ns, timeout.contradictions), (Some(10), Some(20), 1));
    let none = NatTimeout::of(&[(10, false)], Share::default());
    assert_eq!((none.lower_ns, none.upper_ns), (None, Some(10)));
}

#[test]
fn a_capacity_that_shrinks_ends() {
    let mut capacity = Capacity::new(100, 1_000);
    let mut trials = 0;
    while let Some(at) = capacity.next() {
        trials += 1;
        assert!(trials < 100);
        // Room for fewer each time.
        let room = 500 / trials;
        capacity.judge(at, at.min(room), if at <= room { Verdict::Pass } else { Verdict::Fail });
    }
    assert_eq!(capacity.limit(), Limit::Dut);
}
