//! Suites: methods that usually run together, under one name.

use crate::sessions::SessionConfig;
use crate::testbed::Frames;
use crate::throughput::ThroughputConfig;
use crate::trial::{Application, Phases};
use crate::{MethodConfig, SelfTestConfig};
use units::Nanos;

/// Several methods under one name.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// Purpose, in one line.
    pub about: &'static str,
    /// Its methods, each with the name used in settings. Methods that take rates take them from the first.
    pub parts: fn() -> Vec<(&'static str, MethodConfig)>,
}

/// All suites.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "rfc2544",
        about: "throughput, latency, frame loss rate and back-to-back frames (RFC 2544, RFC 9004)",
        parts: || {
            ["throughput", "latency", "frame-loss", "back-to-back"].into_iter().filter_map(named).collect()
        },
    },
    Suite {
        name: "session-series",
        about: "T1 to T4: tester alone, path, raw sessions, HTTP, each up to its limit",
        parts: || {
            let sizes = [512, 1024, 1518].into_iter().filter_map(Frames::bytes).collect();
            let names = ["t1-tester", "t2-path", "t3-raw", "t4-http"];
            names.into_iter().zip(session_series(sizes, 1_000, 1_000_000)).collect()
        },
    },
];

/// A method with its default settings.
fn named(name: &'static str) -> Option<(&'static str, MethodConfig)> {
    let config = MethodConfig::all().into_iter().find(|config| config.about().name == name)?;
    Some((name, config))
}

/// The session series T1 to T4: what the tester can do; throughput both ways at `sizes` of 400 B and more; raw TCP
/// sessions per second in `step`s up to failure, then bisected; HTTP GETs of padded requests against a real server,
/// likewise. T2 needs a testbed with both directions.
pub fn session_series(sizes: Vec<Frames>, step: u64, maximum: u64) -> [MethodConfig; 4] {
    let throughput = ThroughputConfig { sizes, ..ThroughputConfig::default() };
    let raw = SessionConfig::ramp(step, maximum);
    let get = |bytes| Application { request_bytes: bytes, ..Application::http(bytes, 1) };
    let http = SessionConfig {
        apps: raw.apps.iter().map(|app| get(app.request_bytes)).collect(),
        phases: Phases { sustain: Nanos::from_secs(90), ..raw.phases },
        flows: 0,
        ..raw.clone()
    };
    [
        MethodConfig::SelfTest(SelfTestConfig::default()),
        MethodConfig::Throughput(throughput),
        MethodConfig::Sessions(raw),
        MethodConfig::Sessions(http),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_have_their_methods() {
        for suite in SUITES {
            assert_eq!((suite.parts)().len(), 4, "{}", suite.name);
        }
    }
}
