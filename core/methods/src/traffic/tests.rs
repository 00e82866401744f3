//! The method over devices with known results.

use super::*;
use crate::draft::Limit;
use crate::outcome::{GroupOutcome, LatencySummary, ServiceOutcome, TrialOutcome};
use crate::{MethodConfig, MethodResult, Step, TrialKind, TrialRequest};
use units::Pps;

const FRAME: f64 = 1518.0;
const LINE: u64 = 1_000_000_000;
const IDLE_NS: f64 = 20_000.0;

/// A device: a rate, a bucket and a queue, of each class or of all together.
#[derive(Clone, Copy)]
struct Device {
    bps: f64,
    bucket: f64,
    queue: f64,
    /// Shares of two classes of one limit; `None`: each class has the limit by itself.
    shares: Option<[f64; 2]>,
}

impl Device {
    /// Bytes that pass of `bytes` that are sent within `seconds`, and the longest wait, s.
    fn passes(&self, bytes: f64, seconds: f64) -> (f64, f64) {
        let room = self.bucket + self.bps / 8.0 * seconds;
        let over = (bytes - room).max(0.0);
        let waiting = over.min(self.queue);
        (bytes.min(room) + waiting, waiting * 8.0 / self.bps)
    }

    fn outcome(&self, request: &TrialRequest) -> TrialOutcome {
        let TrialKind::Services { loads } = &request.kind else {
            return TrialOutcome::forwarded(request, |_, sent| sent);
        };
        let seconds = request.duration.as_secs_f64();
        let sent: Vec<f64> = loads
            .iter()
            .map(|load| match load.burst_bytes {
                Some(bytes) => (bytes as f64 / FRAME).floor(),
                None => (load.rate_bps as f64 / 8.0 * seconds / FRAME).floor(),
            })
            .collect();
        let time = |load: &ServiceLoadOf| match load.burst {
            Some(bytes) => bytes * 8.0 / LINE as f64,
            None => seconds,
        };
        let groups = loads.iter().enumerate().map(|(index, load)| {
            let burst = ServiceLoadOf { burst: load.burst_bytes.map(|bytes| bytes as f64) };
            let bytes = sent[index] * FRAME;
            let (passed, wait) = match self.shares.filter(|_| loads.len() > 1) {
                None => self.passes(bytes, time(&burst)),
                Some(shares) => {
                    // What a class does not use of its share the other may.
                    let other = sent[1 - index] * FRAME;
                    let room = self.bucket + self.bps / 8.0 * seconds;
                    let own = (room * shares[index]).max(room - other);
                    (bytes.min(own), if bytes > own { self.queue * 8.0 / self.bps } else { 0.0 })
                }
            };
            let received = (passed / FRAME).floor() as u64;
            let most = IDLE_NS + wait * 1e9;
            let latency = LatencySummary {
                samples: received,
                min: IDLE_NS,
                mean: f64::midpoint(IDLE_NS, most),
                p99: most,
                p99_9: most,
                max: most,
                ..LatencySummary::default()
            };
            let count = sent[index] as u64;
            GroupOutcome {
                group: load.stream.clone(),
                requested: Pps::from_micro((count as f64 / seconds * 1e6) as u64),
                achieved: Pps::from_micro((count as f64 / seconds * 1e6) as u64),
                sent: count,
                received: received.min(count),
                lost: count.saturating_sub(received),
                latency: Some(latency),
                ..GroupOutcome::default()
            }
        });
        TrialOutcome {
            duration: request.duration,
            groups: groups.collect(),
            services: loads
                .iter()
                .map(|load| ServiceOutcome { stream: load.stream.clone(), ..ServiceOutcome::default() })
                .collect(),
            valid: true,
            ..TrialOutcome::default()
        }
    }
}

struct ServiceLoadOf {
    burst: Option<f64>,
}

fn config(classes: &[&str]) -> TrafficConfig {
    TrafficConfig {
        classes: classes.iter().map(|name| (*name).to_owned()).collect(),
        duration: Nanos::from_secs(2),
        load: Some(BitRate { bps: 100_000_000, layer: Layer::L2 }),
        resolution: 0.001,
        ..TrafficConfig::default()
    }
}

fn run(config: TrafficConfig, device: Device) -> (Vec<TrafficRow>, MethodResult) {
    let mut method = MethodConfig::Traffic(config).build(&Testbed::one_way(LINE)).unwrap();
    while let Step::Trial(request) = method.next_trial() {
        method.record(&device.outcome(&request));
    }
    let result = method.result();
    match &result.findings {
        Findings::Traffic(rows) => (rows.clone(), result),
        _ => panic!(),
    }
}

fn near(value: Option<f64>, truth: f64, error: f64) {
    assert!(value.is_some_and(|value| (value - truth).abs() <= error), "{value:?}, {truth} +- {error}");
}

const POLICER: Device = Device { bps: 20e6, bucket: 64_000.0, queue: 0.0, shares: None };
const SHAPER: Device = Device { bps: 20e6, bucket: 20_000.0, queue: 500_000.0, shares: None };

#[test]
fn a_policer_has_a_rate_and_a_bucket() {
    let (rows, result) = run(config(&["a"]), POLICER);
    let alone = rows[0].alone.as_ref().unwrap();
    assert_eq!((alone.treatment, alone.queue_bytes), (Some(Treatment::Policer), None));
    near(alone.rate_bps, 20e6, alone.rate_error_bps.unwrap());
    near(alone.bucket_bytes, 64_000.0, alone.bucket_error_bytes.unwrap());
    assert!(alone.rate_error_bps.unwrap() < 100_000.0 && alone.bucket_error_bytes.unwrap() < 20_000.0);
    let burst = rows[0].burst.as_ref().unwrap();
    // The bucket fills while a burst of 1 Gbit/s comes.
    assert_eq!((burst.frames, burst.limit), (Some((64_000.0 / (1.0 - 0.02) / FRAME) as u64), Limit::Dut));
    assert!(result.summary[0].starts_with("a: policed to 20"), "{:?}", result.summary);
}

#[test]
fn a_shaper_has_a_queue_too() {
    let (rows, _) = run(config(&["a"]), SHAPER);
    let alone = rows[0].alone.as_ref().unwrap();
    assert_eq!((alone.treatment, alone.queue_is_full), (Some(Treatment::Shaper), true));
    near(alone.rate_bps, 20e6, alone.rate_error_bps.unwrap());
    near(alone.bucket_bytes, 20_000.0, alone.bucket_error_bytes.unwrap());
    near(alone.queue_bytes, 500_000.0, 5_000.0);
    near(alone.wait_ns, 200e6, 2e6);
    near(rows[0].burst.as_ref().unwrap().bytes, 520_000.0 / (1.0 - 0.02), 3_000.0);
}

/// Frames in a queue that never fills still show the rate.
#[test]
fn a_queue_that_is_not_full_is_said() {
    let (rows, _) = run(config(&["a"]), Device { queue: 1e12, ..SHAPER });
    let alone = rows[0].alone.as_ref().unwrap();
    assert_eq!((alone.treatment, alone.queue_is_full), (Some(Treatment::Shaper), false));
    near(alone.rate_bps, 20e6, alone.rate_error_bps.unwrap());
    near(alone.bucket_bytes, 20_000.0, alone.bucket_error_bytes.unwrap());
}

#[test]
fn a_device_without_limits_has_none() {
    let (rows, result) = run(config(&["a"]), Device { bps: 1e9, ..POLICER });
    let alone = rows[0].alone.as_ref().unwrap();
    assert_eq!(
        (alone.treatment, rows[0].burst.as_ref().map(|burst| burst.frames)),
        (Some(Treatment::Unlimited), None)
    );
    assert!(result.summary[0].contains("everything passed"), "{:?}", result.summary);
}

/// Nothing is known of the device, so bursts up to the longest one pass.
#[test]
fn a_forecast_ends() {
    let method = MethodConfig::Traffic(config(&["a", "b"])).build(&Testbed::one_way(LINE)).unwrap();
    let trials = method.estimate().trials;
    assert!((2 * (3 + 10) + 3..2 * (3 + 20) + 3).contains(&trials), "{trials}");
}

#[test]
fn classes_share_as_the_device_divides() {
    for (shares, says) in [
        (Some([0.75, 0.25]), "shares by weight"),
        (Some([0.5, 0.5]), "equal shares of equal loads"),
        (None, "each class has a separate limit"),
    ] {
        let (rows, result) = run(config(&["a", "b"]), Device { shares, ..SHAPER });
        let sentence = result.summary.last().unwrap();
        assert!(sentence.contains(says), "{sentence}");
        if let Some([first, _]) = shares {
            near(rows[0].together.as_ref().unwrap().share, first, 0.01);
        }
        // A tenth of what it passes by itself passes beside the other.
        assert_eq!(rows[0].beside.as_ref().unwrap().loss_ratio, Some(0.0));
    }
    let (_, result) = run(
        TrafficConfig { load: Some(BitRate { bps: 36_000_000, layer: Layer::L2 }), ..config(&["a", "b"]) },
        Device { shares: Some([1.0, 0.0]), ..SHAPER },
    );
    assert!(result.summary.last().unwrap().contains("a first"), "{:?}", result.summary);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = |config: TrafficConfig, field: &str| {
        let error = MethodConfig::Traffic(config).build(&Testbed::one_way(LINE)).err().unwrap();
        assert!(error.to_string().starts_with(field), "{error}");
    };
    refused(config(&[]), "classes: needs the names of streams");
    refused(config(&["a", "a"]), "classes: 'a' is listed twice");
    refused(TrafficConfig { tests: Vec::new(), ..config(&["a"]) }, "tests");
    refused(TrafficConfig { tests: vec![TrafficTest::Scheduler], ..config(&["a"]) }, "classes");
    refused(TrafficConfig { frames: "imix".parse().unwrap(), ..config(&["a"]) }, "frames");
    refused(TrafficConfig { load: Some(BitRate { bps: 1, layer: Layer::L1 }), ..config(&["a"]) }, "load");
    refused(TrafficConfig { duration: Nanos::ZERO, ..config(&["a"]) }, "duration");
    refused(TrafficConfig { burst_max: 100, ..config(&["a"]) }, "burst_max");
    refused(TrafficConfig { resolution: 1.0, ..config(&["a"]) }, "resolution");
}
