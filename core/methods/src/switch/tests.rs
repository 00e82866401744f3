//! The method over devices with known results.

use super::flows::held;
use super::*;
use crate::draft::Limit;
use crate::outcome::{GroupOutcome, LatencySummary, TrialOutcome};
use crate::{MethodConfig, TrialKind, TrialRequest};
use std::collections::BTreeMap;

const LONG: u64 = 1518;
const BUFFER: u64 = 512 << 10;

/// Where frames wait.
#[derive(Clone, Copy, PartialEq)]
enum Queues {
    /// A buffer that all ports share.
    Shared,
    /// A buffer of that size for each port that frames leave by.
    Output,
    /// A buffer of that size for each port that frames come by.
    Input,
}

/// Outcome of a switch with four ports at line rate. Waiting takes 100 µs, anything else 1 µs.
fn outcome(request: &TrialRequest, queues: Queues) -> TrialOutcome {
    let TrialKind::Flows { flows } = &request.kind else {
        return TrialOutcome::forwarded(request, |_, sent| sent);
    };
    let length = u64::from(request.frames.one_length().unwrap());
    let line = Testbed::one_way(1_000_000_000).line_rate(&request.frames).as_f64();
    let mut load: BTreeMap<Option<u16>, (f64, u64)> = BTreeMap::new();
    for flow in flows {
        let (rate, senders) = load.entry(flow.to).or_default();
        (*rate, *senders) = (*rate + flow.rate.as_f64(), *senders + 1);
    }
    let room = if queues == Queues::Shared { BUFFER / length / load.len() as u64 } else { BUFFER / length };
    let over = |to: Option<u16>| load[&to].0 > line * 1.000_001;
    let congested = flows.iter().any(|flow| over(flow.to));
    let group = |flow: &FlowLoad| {
        let sent = flow.due(request.duration);
        let (rate, senders) = load[&flow.to];
        let waits = over(flow.to) || congested && flow.from == 0 && queues == Queues::Input;
        let lost = match flow.frames {
            Some(burst) => held(senders, burst).saturating_sub(room).div_ceil(senders),
            None if over(flow.to) => (sent as f64 * (1.0 - line / rate)) as u64,
            None if congested && queues != Queues::Output => sent / 3,
            None => 0,
        };
        let mean = match flow.frames {
            // What waits leaves at the line rate.
            Some(burst) => held(senders, burst).min(room) as f64 / line * 1e9,
            None if waits => 100_000.0,
            None => 1_000.0,
        };
        GroupOutcome {
            group: flow.name(),
            requested: flow.rate,
            achieved: flow.rate,
            sent,
            received: sent - lost,
            lost,
            latency: Some(LatencySummary {
                samples: sent - lost,
                mean,
                max: mean,
                ..LatencySummary::default()
            }),
            ..GroupOutcome::default()
        }
    };
    TrialOutcome {
        duration: request.duration,
        groups: flows.iter().map(group).collect(),
        valid: true,
        ..TrialOutcome::default()
    }
}

fn bed() -> Testbed {
    let line = 1_000_000_000;
    Testbed::of(&[("a to b", line), ("b to c", line), ("c to d", line), ("d to a", line)])
}

fn quick() -> SwitchConfig {
    let mut config =
        SwitchConfig { sizes: vec![Frames::bytes(LONG as u32).unwrap()], ..SwitchConfig::default() };
    config.quicken();
    config
}

fn run(config: SwitchConfig, device: impl Fn(&TrialRequest) -> TrialOutcome) -> (SwitchRow, Vec<String>) {
    let mut method = MethodConfig::Switch(config).build(&bed()).unwrap();
    while let Some(request) = method.next_trial().trial() {
        method.record(&device(&request));
    }
    let result = method.result();
    let Findings::Switch(rows) = result.findings else { panic!() };
    (rows[0].clone(), result.summary)
}

#[test]
fn the_buffer_is_found_within_a_frame() {
    let (row, said) = run(quick(), |request| outcome(request, Queues::Shared));
    let two = &row.bursts[0];
    assert_eq!((two.senders, two.limit, two.burst_frames), (2, Limit::Dut, Some(344)));
    let (low, high) = (two.held_bytes.unwrap(), two.failed_bytes.unwrap());
    assert!(low <= BUFFER && BUFFER < high && high - low == LONG, "{low} {high}");
    assert!(said.iter().any(|text| text.ends_with("as much as one port alone: they share it.")), "{said:?}");
    let (row, said) = run(quick(), |request| outcome(request, Queues::Output));
    assert_eq!(row.bursts[0].held_bytes, Some(low));
    assert!(said.iter().any(|text| text.contains("they do not share it")), "{said:?}");
}

#[test]
fn blocking_and_a_full_buffer_are_told_apart() {
    let found = |queues| run(quick(), |request| outcome(request, queues)).0.congestion.unwrap().blocking;
    assert_eq!(found(Queues::Output), Some(Blocking::Absent));
    assert_eq!(found(Queues::Shared), Some(Blocking::SharedBuffer));
    assert_eq!(found(Queues::Input), Some(Blocking::HeadOfLine));
}

#[test]
fn incast_loses_what_the_port_cannot_take() {
    let (row, _) = run(quick(), |request| outcome(request, Queues::Output));
    let losses: Vec<f64> = row.loads.iter().map(|load| load.loss_ratio.unwrap()).collect();
    for (senders, loss) in losses.iter().enumerate() {
        let most = 1.0 - 1.0 / (senders + 1) as f64;
        assert!((loss - most).abs() < 0.001, "{losses:?}");
    }
    assert!(row.loads.iter().all(|load| load.fairness == Some(1.0) && !load.beyond_line), "{row:?}");
    let full = row.rates.iter().map(|rate| (rate.traffic.as_str(), rate.share)).collect::<Vec<_>>();
    let all = ["full_mesh", "one_to_many", "many_to_one", "halves", "broadcast"];
    assert_eq!(full, all.map(|name| (name, Some(1.0))));
}

#[test]
fn a_port_whose_speed_is_only_declared_shows_nothing() {
    let (row, said) = run(quick(), |request| TrialOutcome::forwarded(request, |_, sent| sent));
    let congestion = row.congestion.unwrap();
    assert!(congestion.beyond_line && congestion.blocking.is_none(), "{congestion:?}");
    assert_eq!(row.bursts[0].limit, Limit::Maximum);
    assert!(
        said.iter().any(|text| text.contains("not tested; the port took more than its line rate")),
        "{said:?}"
    );
    assert!(said.iter().any(|text| text.contains("a buffer of at least")), "{said:?}");
    // Where latencies are known, they show that nothing waited.
    let fast = |request: &TrialRequest| {
        let mut outcome = TrialOutcome::forwarded(request, |_, sent| sent);
        let latency = LatencySummary { samples: 1, mean: 1_000.0, max: 1_000.0, ..LatencySummary::default() };
        outcome.groups.iter_mut().for_each(|group| group.latency = Some(latency.clone()));
        outcome
    };
    let (row, said) = run(quick(), fast);
    assert!(row.bursts.iter().all(|burst| burst.beyond_line), "{row:?}");
    assert!(said.iter().any(|text| text.contains("nothing is known of a buffer")), "{said:?}");
    let buffers = crate::settings::Row::findings(&row);
    assert!(
        buffers
            .iter()
            .filter(|finding| finding.goal == "switch_buffer")
            .all(|finding| finding.value.is_none())
    );
}

#[test]
fn what_the_tester_spoils_is_not_judged() {
    let disturbed = |request: &TrialRequest| TrialOutcome {
        valid: matches!(request.kind, TrialKind::Load),
        ..outcome(request, Queues::Shared)
    };
    let (row, said) = run(quick(), disturbed);
    assert!(row.loads.iter().all(|load| !load.judged) && !row.congestion.as_ref().unwrap().judged, "{row:?}");
    assert!(crate::settings::Row::is_unjudged(&row));
    assert!(
        said.iter().all(|text| text.contains("can't be judged") || text.contains("not found")),
        "{said:?}"
    );
}

#[test]
fn a_dead_switch_is_a_fault() {
    let mut method = MethodConfig::Switch(quick()).build(&bed()).unwrap();
    let mut trials = 0;
    let fault = loop {
        match method.next_trial() {
            crate::Step::Trial(request) => method.record(&TrialOutcome::forwarded(&request, |_, _| 0)),
            crate::Step::Failed(fault) => break fault,
            crate::Step::Done => panic!("no fault"),
        }
        trials += 1;
    };
    assert!(fault.sentence.starts_with("Nothing arrives") && trials < 6, "{fault} after {trials}");
}
