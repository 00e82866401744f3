//! Cost of making one run of many machines' intervals: reading their messages, and adding them up, on one core.
//!
//! `cargo bench -p agent`. Messages are simulated: a thousand agents that each send a one-second interval, once with the sums of all
//! streams, which is the form in runs of more than 200 streams, and once with a row for each stream that they send. The median of
//! some rounds is printed, in processor time, because the machine is shared. `docs/fleet.md` has the figures.

#![allow(clippy::print_stdout)]

use engine::RawTimes;
use result::merge::Shares;
use result::{IntervalDocument, LatencyResult, Named, PortResult, StreamResult};
use serde_json::json;
use std::hint::black_box;

const ROUNDS: usize = 5;
/// Buckets of a histogram that are in use: latencies from 10 to 20 µs at the coarsest scale.
const BUCKETS: usize = 64;

fn main() {
    println!("agents  streams each  form    message kB  read ms  merge ms  share of a core");
    for (agents, streams, in_sum) in [
        (100, 1_000, true),
        (1_000, 1_000, true),
        (10_000, 1_000, true),
        (100, 100, false),
        (1_000, 100, false),
        (1_000, 1_000, false),
    ] {
        measure(agents, streams, in_sum);
    }
}

fn measure(agents: usize, streams: usize, in_sum: bool) {
    let shares = shares(agents, if in_sum { 0 } else { streams });
    let messages: Vec<Vec<u8>> = (0..agents).map(|agent| message(agent, streams, in_sum)).collect();
    let mut times: Vec<(f64, f64)> = (0..ROUNDS).map(|_| round(&shares, &messages)).collect();
    times.sort_by(|one, other| (one.0 + one.1).total_cmp(&(other.0 + other.1)));
    let (read, merge) = times[ROUNDS / 2];
    let form = if in_sum { "sums" } else { "rows" };
    let size = messages[0].len() as f64 / 1e3;
    println!(
        "{agents:6}  {streams:12}  {form:5}  {size:11.1}  {:7.1}  {:8.1}  {:14.1}%",
        read * 1e3,
        merge * 1e3,
        (read + merge) * 100.0
    );
}

/// One second's intervals of all agents: seconds to read, and to merge.
fn round(shares: &Shares, messages: &[Vec<u8>]) -> (f64, f64) {
    let began = os::cpu::thread_time();
    let parts: Vec<(IntervalDocument, RawTimes)> =
        messages.iter().map(|text| serde_json::from_slice(text).expect("a message")).collect();
    let read = os::cpu::thread_time().since(began).as_secs_f64();
    let began = os::cpu::thread_time();
    let times = RawTimes::sum(parts.iter().map(|(_, raw)| raw)).map(|sum| sum.groups());
    let intervals: Vec<Option<&IntervalDocument>> =
        parts.iter().map(|(interval, _)| Some(interval)).collect();
    black_box(shares.interval(&intervals, times.as_ref()));
    (read, os::cpu::thread_time().since(began).as_secs_f64())
}

fn name(agent: usize, stream: usize) -> String {
    format!("s{agent}-{stream}")
}

fn shares(agents: usize, streams: usize) -> Shares {
    let all = (0..agents)
        .flat_map(|agent| (0..streams).map(move |stream| (name(agent, stream), (agent, Some(agent)))));
    Shares {
        parts: (0..agents).map(|agent| format!("agent 'a{agent}'")).collect(),
        ports: (0..agents).map(|agent| (format!("p{agent}"), agent)).collect(),
        streams: all.collect(),
        ..Shares::default()
    }
}

fn message(agent: usize, streams: usize, in_sum: bool) -> Vec<u8> {
    let latency = LatencyResult {
        min: 10_123,
        mean: 15_234.5,
        stddev: 1_234.5,
        p50: Some(15_000),
        p90: Some(18_000),
        p95: Some(19_000),
        p99: Some(19_900),
        p99_9: Some(19_990),
        p99_99: Some(19_999),
        max: 20_000,
        samples: 1_000,
    };
    let row = || StreamResult {
        offered_pps: 1_000.0,
        tx: 1_000,
        tx_bytes: 128_000,
        rx: Some(1_000),
        rx_bytes: Some(128_000),
        duplicates: Some(0),
        reordered: Some(0),
        latency_ns: Some(latency.clone()),
        ..StreamResult::default()
    };
    let rows: Named<StreamResult> = match in_sum {
        true => Named::new(),
        false => (0..streams).map(|stream| (name(agent, stream), row())).collect(),
    };
    let interval = IntervalDocument {
        at_s: 1.0,
        interval_s: 1.0,
        ports: [(format!("p{agent}"), PortResult::default())].into_iter().collect(),
        streams: rows,
        all_streams: in_sum.then(row),
        ..IntervalDocument::default()
    };
    let mut raw = serde_json::to_value(RawTimes::default()).expect("sums");
    raw["all"]["is_measured"] = json!(true);
    raw["all"]["latency"] = json!({"bits": 6, "first": 320, "counts": vec![streams as u64; BUCKETS]});
    serde_json::to_vec(&(interval, raw)).expect("a message")
}
