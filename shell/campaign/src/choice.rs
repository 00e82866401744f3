//! The methods by name, each a series of parts with their settings.
//!
//! Methods and settings are defined in `methods`. This file changes settings by the names they have there and knows no
//! method by itself.

use crate::CampaignError;
use methods::{
    Frames, MethodConfig, MethodResult, RFC2544_BYTES, RFC5180_JUMBO_BYTES, Requirement, SUITES, Suite,
    Timing,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spelling::unknown;
use std::sync::LazyLock;
use units::{FrameLen, Nanos};

/// A method or a suite of methods to choose.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Its name on the command line.
    pub name: &'static str,
    /// Purpose, in one line.
    pub about: &'static str,
    parts: Vec<Part>,
}

/// One method of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its name, as settings are given for it: `throughput.resolution=0.01`.
    pub name: String,
    /// Its settings.
    pub config: MethodConfig,
    /// The part, counted from 0, whose rates it takes instead of searching for them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rates_from: Option<usize>,
}

impl Part {
    /// Each of its settings by its path, as [`Settings::set`] takes it, and its value.
    pub fn settings(&self) -> Vec<(String, Value)> {
        let config = serde_json::to_value(&self.config).unwrap_or_default();
        config.as_object().into_iter().flatten().flat_map(|(_, config)| leaves("", config)).collect()
    }

    /// Its settings with the rates that an earlier part found; `None` if that found none.
    pub(crate) fn with_rates(&self, results: &[MethodResult]) -> Option<MethodConfig> {
        let Some(from) = self.rates_from else { return Some(self.config.clone()) };
        let known = results.get(from)?.findings.known_rates();
        if known.is_empty() {
            return None;
        }
        let mut config = self.config.clone();
        config.set_rates(known);
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

/// Available choices: suites, and single methods with the methods that usually follow them.
pub fn choices() -> &'static [Choice] {
    static ALL: LazyLock<Vec<Choice>> = LazyLock::new(|| {
        let suite =
            |suite: &Suite| Choice { name: suite.name, about: suite.about, parts: parts((suite.parts)()) };
        let method = |config: MethodConfig| {
            let about = config.about();
            let named = |config: MethodConfig| (config.about().name, config);
            let followed_by = config.followed_by();
            let all = std::iter::once(config).chain(followed_by).map(named).collect();
            Choice { name: about.name, about: about.about, parts: parts(all) }
        };
        SUITES.iter().map(suite).chain(MethodConfig::all().into_iter().map(method)).collect()
    });
    &ALL
}

/// Methods in their order; those that take rates take the first one's.
fn parts(methods: Vec<(&str, MethodConfig)>) -> Vec<Part> {
    let part = |(number, (name, config)): (usize, (&str, MethodConfig))| Part {
        name: name.to_owned(),
        rates_from: (number > 0 && config.takes_rates()).then_some(0),
        config,
    };
    methods.into_iter().enumerate().map(part).collect()
}

/// Settings of all parts of a campaign.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Frame lengths and mixes instead of the method's own.
    pub sizes: Option<Vec<Frames>>,
    /// Minutes instead of hours: trials of 2 s, few repeats, three frame lengths. Results note where that is less than
    /// an RFC requires.
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
            CampaignError::Unknown(spelling::unknown("method", name, &known))
        })
    }

    /// Whether one of its parts has a setting of this name.
    pub fn has(&self, setting: &str) -> bool {
        self.parts.iter().any(|part| {
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
        let mut parts = self.parts.clone();
        for part in &mut parts {
            if settings.quick {
                part.config.quicken();
                part.config.set_sizes(&quick_sizes());
            }
            if let Some(sizes) = &settings.sizes {
                part.config.set_sizes(sizes);
            }
            if let Some(trial) = settings.trial {
                part.config.set_trial(trial);
            }
        }
        let has_taken = |sizes: &Vec<Frames>| {
            parts.iter().any(|part| sizes.first().is_none_or(|first| part.config.sizes().contains(first)))
        };
        if settings.sizes.as_ref().is_some_and(|sizes| !has_taken(sizes)) {
            return Err(CampaignError::Setting {
                setting: "sizes".to_owned(),
                reason: format!(
                    "{} takes no frame lengths from here; the profile has them, or the method's own settings",
                    self.name
                ),
            });
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
    lengths(parts.iter()).into_iter().max().unwrap_or(FrameLen::MIN)
}

/// The shortest frame that every stream of a campaign is sent with, if its parts define one.
pub(crate) fn shortest(parts: &[Part]) -> Option<FrameLen> {
    let of_all = |part: &&Part| {
        !part.config.requirements().iter().any(|one| matches!(one, Requirement::Stream { .. }))
    };
    lengths(parts.iter().filter(of_all)).into_iter().min()
}

/// All lengths of the frames that parts send.
fn lengths<'p>(parts: impl Iterator<Item = &'p Part>) -> Vec<FrameLen> {
    let sizes = parts.flat_map(|part| part.config.sizes());
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

/// The shortest frames, the longest, and some between.
fn quick_sizes() -> Vec<Frames> {
    [64, 512, 1518].into_iter().filter_map(Frames::bytes).collect()
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
        let before = std::mem::take(place);
        *place = read(&before, value);
        let wrong = |error: serde_json::Error| bad(unread(value, &before, &error));
        part.config = serde_json::from_value(document).map_err(wrong)?;
        found = true;
    }
    if found {
        return Ok(());
    }
    known.sort_unstable();
    known.dedup();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(bad(unknown("setting", path.rsplit('.').next().unwrap_or(path), &known)))
}

/// A type error of a setting without names of types: `'abc' is not a whole number`.
fn plainly(error: &str) -> String {
    let is_of_type = ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .any(|start| error.starts_with(start));
    let Some((found, expected)) = error.split_once(", expected ").filter(|_| is_of_type) else {
        return error.to_owned();
    };
    let found = match found.split(['`', '"']).nth(1) {
        Some(text) => format!("'{text}'"),
        None => found
            .rsplit(": ")
            .next()
            .unwrap_or(found)
            .replace("sequence", "a list")
            .replace("map", "a mapping"),
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number in its range".to_owned(),
        "i8" | "i16" | "i32" | "i64" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a mapping".to_owned(),
        "a string" => "a text".to_owned(),
        _ if expected.starts_with("struct ") => "a mapping".to_owned(),
        _ => expected.replace('`', "'"),
    };
    format!("{found} is not {expected}")
}

/// Why a value can't be read in place of another.
fn unread(value: &str, before: &Value, error: &serde_json::Error) -> String {
    match serde_json::from_str::<Value>(value) {
        Err(error) if value.starts_with(['[', '{']) => format!("not valid JSON: {error}"),
        _ if before.is_string() => format!("{}; now it is {before}", plainly(&error.to_string())),
        _ => plainly(&error.to_string()),
    }
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
    use methods::RateSource;

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
        assert_eq!(unknown, "resolutoin=1: unknown setting 'resolutoin'. Allowed: duration, repeats, sizes");
        assert!(text("throughput", &[("resolutoin", "1")]).contains("did you mean 'resolution'?"));
        let number = "is not a whole number in its range";
        assert_eq!(text("mrr", &[("repeats", "many")]), format!("repeats=many: 'many' {number}"));
        assert_eq!(text("mrr", &[("repeats", "-1")]), format!("repeats=-1: '-1' {number}"));
        assert_eq!(text("mrr", &[("repeats", "[1]")]), format!("repeats=[1]: a list {number}"));
        assert_eq!(
            text("balancer", &[("changes", "crash")]),
            "changes=crash: 'crash' is not one of 'silent', 'reset', 'drain'"
        );
        assert!(text("mrr", &[("duration", "5")]).contains("5"));
        assert!(
            Choice::by_name("rfc2455")
                .unwrap_err()
                .to_string()
                .starts_with("unknown method 'rfc2455'; did you mean 'rfc2544'? Allowed: rfc2544")
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
