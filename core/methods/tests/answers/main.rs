//! Every method against devices with known results.

mod disturbed;
mod dut;
mod faults;
mod mlr;
mod resume;
mod sentences;
mod sessions;
mod stateless;

use dut::Dut;
use methods::{
    Findings, Frames, Method, MethodConfig, MethodResult, RateSource, Status, Step, Testbed, ThroughputConfig,
};
use units::Nanos;

/// 10 Gbit/s.
const LINE: u64 = 10_000_000_000;
/// 64-byte frames that fill it.
const LINE_PPS: f64 = 14_880_952.380_952;
const SEEDS: u64 = 200;

fn small() -> Vec<Frames> {
    vec![Frames::bytes(64).unwrap()]
}

/// Short trials, so that stalls and noise hit some and not others; the machine does not wait for them anyway.
fn quick() -> ThroughputConfig {
    ThroughputConfig { sizes: small(), ..ThroughputConfig::default() }
}

fn searched() -> RateSource {
    RateSource::Throughput(quick())
}

fn secs(n: u64) -> Nanos {
    Nanos::from_secs(n)
}

/// Drives a method to its end.
fn drive(method: &mut dyn Method, dut: &mut Dut) -> MethodResult {
    for _ in 0..100_000 {
        match method.next_trial() {
            Step::Trial(request) => method.record(&dut.run(&request)),
            Step::Done | Step::Failed(_) => return method.result(),
        }
    }
    panic!("{} does not end", method.name());
}

fn run(config: &MethodConfig, bed: &Testbed, dut: &mut Dut) -> MethodResult {
    drive(&mut *config.build(bed).unwrap(), dut)
}

/// The result of a run that came to its end.
fn complete(config: &MethodConfig, bed: &Testbed, dut: &mut Dut) -> MethodResult {
    let result = run(config, bed, dut);
    assert_eq!(result.status, Status::Complete, "{:?}", result.summary);
    result
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

macro_rules! rows {
    ($result:expr, $kind:ident) => {
        match &$result.findings {
            Findings::$kind(rows) => rows.clone(),
            other => panic!("{other:?}"),
        }
    };
}
pub(crate) use rows;
