//! The methods by name, each a series of parts with their settings.
//!
//! Settings have one definition, the configurations of `methods`: here they are changed by the names they have there.

use crate::CampaignError;
use methods::{
    AddressConfig, BackToBackConfig, Findings, Frames, KnownRate, LatencyConfig, LossConfig, MethodConfig,
    MethodResult, MlrConfig, MrrConfig, RFC2544_BYTES, RFC5180_JUMBO_BYTES, RateSource, RecoveryConfig,
    ResetConfig, SelfTestConfig, SessionConfig, SessionLatencyConfig, SoakConfig, SweepConfig, TcpConfig,
    ThroughputConfig, Timing, session_series,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use units::{FrameLen, Nanos};

/// A method to choose.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it finds, for people.
    pub about: &'static str,
    make: fn() -> Vec<Part>,
}

/// One method of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its name, as settings are given for it: `throughput.resolution=0.01`.
    pub name: String,
    /// Its settings.
    pub config: MethodConfig,
    /// The part, counted from 0, whose rates it takes instead of searching them again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rates_from: Option<usize>,
}

impl Part {
    fn new(name: &str, config: MethodConfig) -> Self {
        Self { name: name.to_owned(), config, rates_from: None }
    }

    /// Each of its settings by its path, as [`Settings::set`] takes it, and its value.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let config = serde_json::to_value(&self.config).unwrap_or_default();
        config.as_object().into_iter().flatten().flat_map(|(_, config)| leaves("", config)).collect()
    }

    fn after(self, part: usize) -> Self {
        Self { rates_from: Some(part), ..self }
    }

    /// Its settings with the rates that an earlier part found; `None` if that found none.
    pub(crate) fn with_rates(&self, results: &[MethodResult]) -> Option<MethodConfig> {
        let Some(from) = self.rates_from else { return Some(self.config.clone()) };
        let known = known_rates(&results.get(from)?.findings);
        if known.is_empty() {
            return None;
        }
        let mut config = self.config.clone();
        if let Some(rates) = rates_of(&mut config) {
            *rates = RateSource::Known(known);
        }
        Some(config)
    }
}

/// Each value by its path; a list of plain values is one.
fn leaves(path: &str, value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| {
                leaves(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, value)
            })
            .collect(),
        other => vec![(path.to_owned(), other.clone())],
    }
}

/// The rate found at each frame length: the throughput, or that of the last goal.
fn known_rates(findings: &Findings) -> Vec<KnownRate> {
    let known = |frames: &Frames, rate| KnownRate { frames: frames.clone(), rate };
    match findings {
        Findings::Throughput(rows) => {
            let found = rows.iter().filter_map(|row| Some((&row.frames, row.throughput.as_ref()?.first())));
            found.filter(|(_, rate)| rate.micro() > 0).map(|(frames, rate)| known(frames, rate)).collect()
        }
        Findings::Mlr(rows) => {
            let found = rows.iter().filter_map(|row| {
                let goal = row.goals.last()?;
                Some((&row.frames, goal.lower.as_ref()?.load.first()))
            });
            found.filter(|(_, rate)| rate.micro() > 0).map(|(frames, rate)| known(frames, rate)).collect()
        }
        _ => Vec::new(),
    }
}

fn rates_of(config: &mut MethodConfig) -> Option<&mut RateSource> {
    match config {
        MethodConfig::Latency(config) => Some(&mut config.rates),
        MethodConfig::BackToBack(config) => Some(&mut config.rates),
        MethodConfig::Recovery(config) => Some(&mut config.rates),
        MethodConfig::Reset(config) => Some(&mut config.rates),
        MethodConfig::Soak(config) => Some(&mut config.rates),
        MethodConfig::Tcp(config) => Some(&mut config.rates),
        _ => None,
    }
}

/// All methods.
pub fn choices() -> &'static [Choice] {
    const ALL: &[Choice] = &[
        Choice {
            name: "rfc2544",
            about: "throughput, latency, frame loss rate and back-to-back frames (RFC 2544, RFC 9004)",
            make: rfc2544,
        },
        Choice {
            name: "mlrsearch",
            about: "several loss goals at once: no drop, 0.1%, 0.5% (MLRsearch); then latency at 90, 50 and 10% of the last",
            make: mlrsearch,
        },
        Choice {
            name: "throughput",
            about: "highest rate without loss (RFC 2544 section 26.1)",
            make: throughput,
        },
        Choice { name: "latency", about: "latency at the throughput (RFC 2544 section 26.2)", make: latency },
        Choice {
            name: "frame-loss",
            about: "loss over load from the line rate down (RFC 2544 section 26.3)",
            make: loss,
        },
        Choice {
            name: "back-to-back",
            about: "longest burst at the line rate without loss (RFC 9004)",
            make: bursts,
        },
        Choice {
            name: "recovery",
            about: "time to recover from overload (RFC 2544 section 26.5)",
            make: recovery,
        },
        Choice { name: "reset", about: "outage after a reset (RFC 6201)", make: reset },
        Choice {
            name: "mrr",
            about: "what arrives at the line rate (FD.io CSIT's maximum receive rate)",
            make: mrr,
        },
        Choice { name: "sweep", about: "loss and latency over load, denser around the knee", make: sweep },
        Choice { name: "soak", about: "a load held for long: loss and creeping latency", make: soak },
        Choice {
            name: "addresses",
            about: "address cache capacity and learning rate of a switch (RFC 2889)",
            make: addresses,
        },
        Choice { name: "self-test", about: "what the tester itself can send", make: self_test },
        Choice {
            name: "sessions",
            about: "most connections per second, or what 'objective' says (RFC 9411)",
            make: sessions,
        },
        Choice {
            name: "session-latency",
            about: "latency of transactions at half the most (RFC 9411 section 7.4)",
            make: session_latency,
        },
        Choice {
            name: "session-series",
            about: "T1 to T4: the tester, the path, raw sessions, HTTP, each up to where it breaks",
            make: series,
        },
        Choice { name: "tcp", about: "TCP throughput, efficiency and buffer delay (RFC 6349)", make: tcp },
    ];
    ALL
}

fn rfc2544() -> Vec<Part> {
    let latency = MethodConfig::Latency(LatencyConfig::default());
    let bursts = MethodConfig::BackToBack(BackToBackConfig::default());
    vec![
        Part::new("throughput", MethodConfig::Throughput(ThroughputConfig::default())),
        Part::new("latency", latency).after(0),
        Part::new("frame-loss", MethodConfig::FrameLoss(LossConfig::default())),
        Part::new("back-to-back", bursts).after(0),
    ]
}

fn mlrsearch() -> Vec<Part> {
    let latency = LatencyConfig {
        shares: vec![0.9, 0.5, 0.1],
        repeats: 1,
        duration: Nanos::from_secs(5),
        ..LatencyConfig::default()
    };
    vec![
        Part::new("mlrsearch", MethodConfig::Mlr(MlrConfig::default())),
        Part::new("latency", MethodConfig::Latency(latency)).after(0),
    ]
}

fn throughput() -> Vec<Part> {
    vec![Part::new("throughput", MethodConfig::Throughput(ThroughputConfig::default()))]
}

fn latency() -> Vec<Part> {
    vec![Part::new("latency", MethodConfig::Latency(LatencyConfig::default()))]
}

fn loss() -> Vec<Part> {
    vec![Part::new("frame-loss", MethodConfig::FrameLoss(LossConfig::default()))]
}

fn bursts() -> Vec<Part> {
    vec![Part::new("back-to-back", MethodConfig::BackToBack(BackToBackConfig::default()))]
}

fn recovery() -> Vec<Part> {
    vec![Part::new("recovery", MethodConfig::Recovery(RecoveryConfig::default()))]
}

fn reset() -> Vec<Part> {
    vec![Part::new("reset", MethodConfig::Reset(ResetConfig::default()))]
}

fn mrr() -> Vec<Part> {
    vec![Part::new("mrr", MethodConfig::Mrr(MrrConfig::default()))]
}

fn sweep() -> Vec<Part> {
    vec![Part::new("sweep", MethodConfig::Sweep(SweepConfig::default()))]
}

fn soak() -> Vec<Part> {
    vec![Part::new("soak", MethodConfig::Soak(SoakConfig::default()))]
}

fn addresses() -> Vec<Part> {
    vec![Part::new("addresses", MethodConfig::Addresses(AddressConfig::default()))]
}

fn self_test() -> Vec<Part> {
    vec![Part::new("self-test", MethodConfig::SelfTest(SelfTestConfig::default()))]
}

fn sessions() -> Vec<Part> {
    vec![Part::new("sessions", MethodConfig::Sessions(SessionConfig::default()))]
}

fn session_latency() -> Vec<Part> {
    vec![Part::new("session-latency", MethodConfig::SessionLatency(SessionLatencyConfig::default()))]
}

fn series() -> Vec<Part> {
    let sizes = [512, 1024, 1518].into_iter().filter_map(Frames::bytes).collect();
    let names = ["t1-tester", "t2-path", "t3-raw", "t4-http"];
    let configs = session_series(sizes, 1_000, 1_000_000);
    names.into_iter().zip(configs).map(|(name, config)| Part::new(name, config)).collect()
}

fn tcp() -> Vec<Part> {
    vec![Part::new("tcp", MethodConfig::Tcp(TcpConfig::default()))]
}

/// What is asked of all parts of a campaign.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Frame lengths and mixes instead of the method's own.
    pub sizes: Option<Vec<Frames>>,
    /// Minutes instead of hours: trials of 2 s, few repeats, three frame lengths. Results say where that is less than an
    /// RFC asks for.
    pub quick: bool,
    /// Length of every trial that counts.
    pub trial: Option<Nanos>,
    /// `NAME=VALUE` or `PART.NAME=VALUE`, as in the configurations of `methods`.
    pub set: Vec<(String, String)>,
}

/// The shortest frame of IPv6 and UDP with the test signature.
const IPV6_LEAST_BYTES: u32 = 84;

/// The times around trials of a quick campaign.
const QUICK: Timing = Timing {
    learning: Nanos::from_millis(50),
    drain: Nanos::from_millis(200),
    settle: Nanos::from_millis(50),
};

impl Choice {
    /// The method of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn by_name(name: &str) -> Result<&'static Self, CampaignError> {
        choices().iter().find(|choice| choice.name == name).ok_or_else(|| {
            let known: Vec<_> = choices().iter().map(|choice| choice.name).collect();
            CampaignError::Unknown { name: name.to_owned(), known: known.join(", ") }
        })
    }

    /// Whether one of its parts has a setting of this name.
    pub fn has(&self, setting: &str) -> bool {
        (self.make)().iter().any(|part| {
            let path = match setting.split_once('.') {
                Some((own, rest)) if own == part.name => rest,
                _ => setting,
            };
            let mut document = serde_json::to_value(&part.config).unwrap_or_default();
            let settings = document.as_object_mut().and_then(|all| all.values_mut().next());
            settings.is_some_and(|settings| place(settings, path, &mut Vec::new()).is_some())
        })
    }

    /// Its parts with their settings.
    ///
    /// # Errors
    /// A setting that no part has, or whose value can't be read.
    pub fn parts(&self, settings: &Settings) -> Result<Vec<Part>, CampaignError> {
        let mut parts = (self.make)();
        for part in &mut parts {
            if settings.quick {
                quicken(&mut part.config);
                resize(&mut part.config, &quick_sizes());
            }
            if let Some(sizes) = &settings.sizes {
                resize(&mut part.config, sizes);
            }
            if let Some(trial) = settings.trial {
                lengthen(&mut part.config, trial);
            }
        }
        for (name, value) in &settings.set {
            set(&mut parts, name, value)?;
        }
        Ok(parts)
    }
}

impl Settings {
    /// The times around trials.
    pub fn timing(&self) -> Timing {
        if self.quick { QUICK } else { Timing::default() }
    }
}

/// The longest frame a campaign sends.
pub(crate) fn longest(parts: &[Part]) -> FrameLen {
    lengths(parts).into_iter().max().unwrap_or(FrameLen::MIN)
}

/// The shortest frame a campaign sends, if its parts say.
pub(crate) fn shortest(parts: &[Part]) -> Option<FrameLen> {
    lengths(parts).into_iter().min()
}

/// All lengths of the frames that parts send.
fn lengths(parts: &[Part]) -> Vec<FrameLen> {
    let mut parts = parts.to_vec();
    let sizes = parts.iter_mut().flat_map(|part| {
        let mut all = own_sizes(&mut part.config).cloned().unwrap_or_default();
        match &part.config {
            MethodConfig::SelfTest(config) => all.extend([FrameLen::MIN, config.longest].map(Frames::of)),
            MethodConfig::Addresses(config) => all.push(config.frames.clone()),
            _ => {}
        }
        all
    });
    sizes.flat_map(|frames| frames.parts().iter().map(|(length, _)| *length).collect::<Vec<_>>()).collect()
}

/// Frame lengths and mixes by name: `64B`, `imix`, or all of a kind: `rfc2544`, `rfc5180` (IPv6, from 84 B on, the least
/// that holds the test signature), `jumbo`.
///
/// # Errors
/// A word that is none of them.
pub fn sizes(word: &str) -> Result<Vec<Frames>, String> {
    let bytes = |all: &[u32]| all.iter().copied().filter_map(Frames::bytes).collect();
    match word.trim() {
        "rfc2544" => Ok(Frames::rfc2544()),
        "rfc5180" => {
            let mut all: Vec<u32> = RFC2544_BYTES.to_vec();
            all[0] = IPV6_LEAST_BYTES;
            Ok(bytes(&all))
        }
        "jumbo" => Ok(bytes(&RFC5180_JUMBO_BYTES)),
        text => Ok(vec![text.parse()?]),
    }
}

fn sizes_of_rates(rates: &mut RateSource) -> Option<&mut Vec<Frames>> {
    match rates {
        RateSource::Known(_) => None,
        RateSource::Throughput(config) => Some(&mut config.sizes),
        RateSource::Mlr { search, .. } => Some(&mut search.sizes),
    }
}

fn own_sizes(config: &mut MethodConfig) -> Option<&mut Vec<Frames>> {
    match config {
        MethodConfig::Throughput(config) => Some(&mut config.sizes),
        MethodConfig::FrameLoss(config) => Some(&mut config.sizes),
        MethodConfig::Mlr(config) => Some(&mut config.sizes),
        MethodConfig::Mrr(config) => Some(&mut config.sizes),
        MethodConfig::Sweep(config) => Some(&mut config.sizes),
        _ => sizes_of_rates(rates_of(config)?),
    }
}

fn resize(config: &mut MethodConfig, sizes: &[Frames]) {
    match config {
        MethodConfig::Addresses(config) => config.frames = sizes[0].clone(),
        // The largest frame tells the bottleneck of TCP.
        MethodConfig::Tcp(_) => {}
        _ => {
            if let Some(own) = own_sizes(config) {
                *own = sizes.to_vec();
            }
        }
    }
}

fn lengthen_throughput(config: &mut ThroughputConfig, trial: Nanos) {
    config.final_trial = trial;
    config.exploratory = config.exploratory.map(|exploratory| exploratory.min(trial));
}

fn lengthen(config: &mut MethodConfig, trial: Nanos) {
    if let Some(RateSource::Throughput(config)) = rates_of(config) {
        lengthen_throughput(config, trial);
    }
    match config {
        MethodConfig::Throughput(config) => lengthen_throughput(config, trial),
        MethodConfig::Latency(config) => config.duration = trial,
        MethodConfig::FrameLoss(config) => config.duration = trial,
        MethodConfig::BackToBack(config) => config.burst_max = trial.min(Nanos::from_secs(30)),
        MethodConfig::Recovery(config) => config.overload = trial,
        MethodConfig::Reset(config) => config.duration = trial,
        MethodConfig::Mlr(config) => config.goals.iter_mut().for_each(|goal| {
            goal.final_trial = trial;
            goal.initial_trial = goal.initial_trial.min(trial);
            goal.duration_sum = goal.duration_sum.max(trial);
        }),
        MethodConfig::Mrr(config) => config.duration = trial,
        MethodConfig::Soak(config) => {
            config.duration = trial;
            config.interval = config.interval.min(trial);
        }
        MethodConfig::Sweep(config) => config.duration = trial,
        MethodConfig::Addresses(config) => config.duration = trial,
        MethodConfig::Sessions(config) => config.phases.sustain = trial,
        MethodConfig::SessionLatency(config) => config.search.phases.sustain = trial,
        MethodConfig::SelfTest(config) => config.duration = trial,
        MethodConfig::Tcp(config) => config.duration = trial,
    }
}

/// Short trials narrow the search, and a loss is believed when it is seen twice.
fn quicken_throughput(config: &mut ThroughputConfig) {
    config.exploratory = Some(Nanos::from_millis(500));
    config.final_trial = Nanos::from_secs(2);
    config.loss_verification = 1;
}

/// The shortest frames, the longest, and some between.
fn quick_sizes() -> Vec<Frames> {
    [64, 512, 1518].into_iter().filter_map(Frames::bytes).collect()
}

fn quicken(config: &mut MethodConfig) {
    let s = Nanos::from_secs;
    if let Some(RateSource::Throughput(config)) = rates_of(config) {
        quicken_throughput(config);
    }
    match config {
        MethodConfig::Throughput(config) => quicken_throughput(config),
        MethodConfig::Latency(config) => {
            config.repeats = config.repeats.min(3);
            config.duration = s(2);
        }
        MethodConfig::FrameLoss(config) => config.duration = s(2),
        MethodConfig::BackToBack(config) => {
            config.repeats = 2;
            config.burst_max = Nanos::from_millis(500);
            config.resolution_frames = 64;
            config.wait = Nanos::from_millis(100);
        }
        MethodConfig::Recovery(config) => {
            config.overload = s(2);
            config.repeats = 2;
        }
        MethodConfig::Reset(config) => config.duration = s(30),
        MethodConfig::Mlr(config) => config.goals.iter_mut().for_each(|goal| {
            goal.initial_trial = Nanos::from_millis(200);
            goal.final_trial = Nanos::from_millis(500);
            goal.duration_sum = s(3);
            goal.width = goal.width.max(0.02);
        }),
        MethodConfig::Mrr(config) => config.repeats = 3,
        MethodConfig::Soak(config) => {
            config.duration = s(30);
            config.interval = s(2);
        }
        MethodConfig::Sweep(config) => config.duration = s(1),
        MethodConfig::Addresses(config) => config.duration = s(2),
        MethodConfig::Sessions(config) => quicken_sessions(config),
        MethodConfig::SessionLatency(config) => quicken_sessions(&mut config.search),
        MethodConfig::SelfTest(config) => config.duration = s(1),
        MethodConfig::Tcp(config) => config.duration = s(3),
    }
}

fn quicken_sessions(config: &mut SessionConfig) {
    let s = Nanos::from_secs;
    config.phases.init = Nanos::from_millis(200);
    config.phases.ramp_up = s(1);
    config.phases.sustain = s(3);
    config.phases.ramp_down = s(1);
    config.phases.collection = s(1);
    config.resolution = config.resolution.max(0.05);
}

/// Changes one setting of the parts that have it.
fn set(parts: &mut [Part], name: &str, value: &str) -> Result<(), CampaignError> {
    let bad = |reason: String| CampaignError::Setting { setting: format!("{name}={value}"), reason };
    let (only, path) = match name.split_once('.') {
        Some((part, rest)) if parts.iter().any(|own| own.name == part) => (Some(part), rest),
        _ => (None, name),
    };
    let mut known = Vec::new();
    let mut found = false;
    for part in parts.iter_mut().filter(|part| only.is_none_or(|only| part.name == only)) {
        let mut document = serde_json::to_value(&part.config).map_err(|error| bad(error.to_string()))?;
        // A method's settings stand under its name.
        let Some((_, settings)) = document.as_object_mut().and_then(|all| all.iter_mut().next()) else {
            continue;
        };
        let Some(place) = place(settings, path, &mut known) else { continue };
        *place = read(place, value);
        part.config = serde_json::from_value(document).map_err(|error| bad(error.to_string()))?;
        found = true;
    }
    if found {
        return Ok(());
    }
    known.sort_unstable();
    known.dedup();
    Err(bad(format!("there is no such setting; there are {}", known.join(", "))))
}

/// The value at a path such as `phases.sustain` or `rates.throughput.resolution`. Notes what there is where it fails.
fn place<'v>(settings: &'v mut Value, path: &str, known: &mut Vec<String>) -> Option<&'v mut Value> {
    let mut at = settings;
    for key in path.split('.') {
        let object = at.as_object_mut()?;
        if !object.contains_key(key) {
            known.extend(object.keys().cloned());
            return None;
        }
        at = object.get_mut(key)?;
    }
    Some(at)
}

/// A value as people write it: JSON, or a list with commas where there is a list, or a text.
fn read(old: &Value, text: &str) -> Value {
    if let Ok(value) = serde_json::from_str::<Value>(text)
        && !(old.is_string() && value.is_number())
    {
        let wrap = old.is_array() && !value.is_array();
        return if wrap { Value::Array(vec![value]) } else { value };
    }
    let word = |text: &str| {
        let text = text.trim();
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    };
    if old.is_array() { text.split(',').map(word).collect() } else { Value::String(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str, set: &[(&str, &str)]) -> Result<Vec<Part>, CampaignError> {
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Choice::by_name(name).unwrap().parts(&Settings { set, ..Settings::default() })
    }

    #[test]
    fn settings_go_to_the_parts_that_have_them() {
        let made =
            parts("rfc2544", &[("resolution", "0.01"), ("latency.repeats", "3"), ("sizes", "64B,512B")])
                .unwrap();
        let MethodConfig::Throughput(throughput) = &made[0].config else { panic!() };
        let MethodConfig::Latency(latency) = &made[1].config else { panic!() };
        let MethodConfig::BackToBack(bursts) = &made[3].config else { panic!() };
        assert_eq!((throughput.resolution, latency.repeats, bursts.repeats), (0.01, 3, 50));
        assert_eq!(throughput.sizes.iter().map(ToString::to_string).collect::<Vec<_>>(), ["64B", "512B"]);
    }

    #[test]
    fn settings_may_lie_deeper() {
        let made = parts("sessions", &[("phases.sustain", "10s"), ("objective", "goodput_bps")]).unwrap();
        let MethodConfig::Sessions(config) = &made[0].config else { panic!() };
        assert_eq!((config.phases.sustain, config.objective.unit()), (Nanos::from_secs(10), "bits/s"));
        let made = parts("latency", &[("rates.throughput.final_trial", "5s")]).unwrap();
        let MethodConfig::Latency(config) = &made[0].config else { panic!() };
        let RateSource::Throughput(search) = &config.rates else { panic!() };
        assert_eq!(search.final_trial, Nanos::from_secs(5));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let text = |name, set: &[(&str, &str)]| parts(name, set).unwrap_err().to_string();
        let unknown = text("mrr", &[("resolutoin", "1")]);
        assert_eq!(unknown, "resolutoin=1: there is no such setting; there are duration, repeats, sizes");
        assert!(text("mrr", &[("repeats", "many")]).contains("repeats=many: invalid type"));
        assert!(text("mrr", &[("duration", "5")]).contains("5"));
        assert!(
            Choice::by_name("rfc2455")
                .unwrap_err()
                .to_string()
                .starts_with("there is no method 'rfc2455'; there are rfc2544")
        );
    }

    #[test]
    fn lengths_have_names() {
        let texts = |word| sizes(word).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts("rfc5180"), ["84B", "128B", "256B", "512B", "1024B", "1280B", "1518B"]);
        assert_eq!(
            (texts("rfc2544").len(), texts("jumbo").len(), texts(" imix")),
            (7, 3, vec!["imix".to_owned()])
        );
        assert!(sizes("rfc2455").is_err());
    }

    #[test]
    fn every_method_has_parts() {
        for choice in choices() {
            for quick in [false, true] {
                let made = choice.parts(&Settings {
                    quick,
                    trial: Some(Nanos::from_secs(2)),
                    ..Settings::default()
                });
                assert!(!made.unwrap().is_empty(), "{}", choice.name);
            }
        }
    }
}
