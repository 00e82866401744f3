//! Calls of the documentation's playground: a profile in, its result out.

use crate::{Options, Tap, run};
use engine::{TrialObserver, View, channel};
use profile::{Overrides, Plan, ProfileError};
use result::ResultDocument;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Nanos;

/// Frames of a run, of all ports together. A browser simulates some hundred thousand a second.
const FRAMES_MAX: u64 = 3_000_000;
/// Duration of traffic.
const DURATION_MAX: Nanos = Nanos::from_secs(60);
/// Memory that a plan may take, bytes.
const MEMORY_MAX: u64 = 256 << 20;
/// Characters of a profile.
const PROFILE_MAX: usize = 100_000;
/// Virtual time from one look at the number of frames to the next: that of `eagre sim` between snapshots, because time stops
/// for them, which a worker's longest pause shows.
const LOOK_EVERY: Nanos = Nanos::from_millis(500);

/// A page's request.
#[derive(Deserialize)]
struct Request {
    /// The profile's text.
    profile: String,
}

/// The reply to it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Result(Box<ResultDocument>),
    Errors(Vec<Fault>),
}

/// Why there is no result.
#[derive(Debug, Serialize)]
struct Fault {
    /// Line of the profile, from 1, if the fault is there.
    line: Option<usize>,
    text: String,
}

impl Fault {
    fn of_run(text: impl Into<String>) -> Vec<Self> {
        vec![Self { line: None, text: text.into() }]
    }
}

impl From<ProfileError> for Fault {
    fn from(error: ProfileError) -> Self {
        Self { line: Some(error.line), text: error.to_string() }
    }
}

/// The reply to a request, both JSON: `{"profile": TEXT}` to `{"result": DOCUMENT}`, the document that `eagre sim --json`
/// writes, or to `{"errors": [{"line": 3, "text": "…"}]}`.
///
/// A profile without `seed` has seed 0.
pub fn reply(request: &str) -> String {
    let reply = match simulate(request) {
        Ok(document) => Reply::Result(document),
        Err(faults) => Reply::Errors(faults),
    };
    // The document is written as `eagre sim` writes it, which can't fail in memory.
    serde_json::to_string(&reply).unwrap_or_else(|error| format!(r#"{{"errors": [{{"text": "{error}"}}]}}"#))
}

fn simulate(request: &str) -> Result<Box<ResultDocument>, Vec<Fault>> {
    let Request { profile } =
        serde_json::from_str(request).map_err(|error| Fault::of_run(error.to_string()))?;
    let plan = plan(&profile)?;
    let (control, mut commands) = channel();
    let frames = Arc::new(AtomicU64::new(0));
    let seen = frames.clone();
    let tap: Tap = Box::new(move |_, _, _| {
        seen.fetch_add(1, Ordering::Relaxed);
    });
    let mut observer = Limit { frames: frames.clone(), stop: Some(Box::new(move || control.stop())) };
    let options = Options { dut: None, workers: 1, histograms: true, tap: Some(tap) };
    let document = run(plan, options, &mut commands, &mut observer);
    if observer.stop.is_none() {
        return Err(Fault::of_run(format!(
            "the run sent more than {FRAMES_MAX} frames, and was ended: lower rate or duration, or run it with 'eagre sim'"
        )));
    }
    document.map(Box::new).map_err(|error| Fault::of_run(error.to_string()))
}

/// The plan of a profile that is not too large.
fn plan(profile: &str) -> Result<Plan, Vec<Fault>> {
    if profile.len() > PROFILE_MAX {
        return Err(Fault::of_run(format!("the profile is longer than {PROFILE_MAX} bytes")));
    }
    let overrides = Overrides { memory_bytes: Some(MEMORY_MAX), ..Overrides::default() };
    let files = |name: &str| Err(format!("'{name}': there are no files here; run it with 'eagre sim'"));
    let plan = profile::load_with(profile, &overrides, &files);
    let plan = plan.map_err(|errors| errors.into_iter().map(Fault::from).collect::<Vec<_>>())?;
    if plan.duration > DURATION_MAX {
        let (most, asked) = (DURATION_MAX, plan.duration);
        return Err(Fault::of_run(format!("load.duration: at most {most} are simulated here, not {asked}")));
    }
    Ok(plan)
}

/// Stops a run with too many frames.
struct Limit {
    frames: Arc<AtomicU64>,
    /// `None` once called.
    stop: Option<Box<dyn FnOnce()>>,
}

impl TrialObserver for Limit {
    fn interval(&self) -> Nanos {
        LOOK_EVERY
    }

    fn reads_streams(&self) -> bool {
        false
    }

    fn snapshot(&mut self, _: &View<'_>) {
        if self.frames.load(Ordering::Relaxed) > FRAMES_MAX
            && let Some(stop) = self.stop.take()
        {
            stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const ROUTER: &str = "\
seed: 1
ports:
  west: {device: \"ring:a\", ip: 10.0.0.2/24, gateway: 10.0.0.1}
  east: {device: \"ring:b\", ip: 10.0.1.2/24, gateway: 10.0.1.1}
streams:
  - {name: s, from: west, to: east, packet: [ipv4, udp], size: 64B, rate: 120kpps}
load: {duration: 100ms, drain: 10ms}
sim: {link: {speed: 1Gbps, delay: 10us}, router: {capacity: 100kpps, buffer: 64}}
";

    fn called(profile: &str) -> Value {
        serde_json::from_str(&reply(&json!({ "profile": profile }).to_string())).unwrap()
    }

    #[test]
    fn a_larger_buffer_loses_less_and_delays_more() {
        let figures = |text: &str| {
            let stream = called(text)["result"]["streams"]["s"].clone();
            (stream["lost"].as_u64().unwrap(), stream["latency_ns"]["p99"].as_u64().unwrap())
        };
        let small = figures(ROUTER);
        let large = figures(&ROUTER.replace("buffer: 64", "buffer: 512"));
        assert!(large.0 < small.0 && large.1 > small.1, "{small:?}, {large:?}");
    }

    #[test]
    fn an_error_has_its_line() {
        let errors = called(&ROUTER.replace("rate: 120kpps", "rate: much"));
        assert_eq!(errors["errors"][0]["line"], 6, "{errors}");
    }

    #[test]
    fn what_takes_too_long_is_refused_or_ended() {
        let text = |errors: &Value| errors["errors"][0]["text"].as_str().unwrap_or_default().to_owned();
        let long = called(&ROUTER.replace("100ms,", "10m,"));
        assert!(text(&long).contains("at most"), "{long}");
        let fast = called(&ROUTER.replace("120kpps", "1Mpps").replace("100ms,", "5s,"));
        assert!(text(&fast).contains("frames"), "{fast}");
        let file = called(
            &ROUTER.replace("packet: [ipv4, udp], size: 64B, rate: 120kpps", "replay: {file: x.pcap}"),
        );
        assert!(text(&file).contains("files"), "{file}");
    }
}
