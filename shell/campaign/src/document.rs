//! The campaign document: methods and configurations of the device, run unattended.
//!
//! Read like profiles, with line and path of every error. Hooks define how the device is configured.

use crate::choice::{self, Choice, Settings};
use lab::{Dimension, Hook, Matrix, MatrixRun, Moment, Template, Value};
use methods::{Frames, Modifier};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use units::Nanos;

/// Several methods on one profile, over several configurations of the device under test.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Eagre campaign")]
pub struct Document {
    /// Name of the results.
    #[schemars(extend("format" = "name"))]
    pub name: String,
    /// The profile, relative to this document.
    #[schemars(length(min = 1))]
    pub profile: String,
    /// Methods, as 'eagre bench list' names them, in this order.
    #[schemars(length(min = 1))]
    pub methods: Vec<String>,
    /// Frame lengths and mixes, instead of the methods' own: 64B, imix, or all of rfc2544, rfc5180, jumbo.
    #[serde(default)]
    pub sizes: Vec<String>,
    /// Short trials and few repeats: minutes instead of hours.
    #[serde(default)]
    pub quick: bool,
    /// Length of every trial that counts.
    #[schemars(extend("format" = "duration"))]
    pub trial: Option<String>,
    /// Time before each trial for routes and tables to be learnt.
    #[schemars(extend("format" = "duration"))]
    pub learning: Option<String>,
    /// Time to wait for late frames after each trial.
    #[schemars(extend("format" = "duration"))]
    pub drain: Option<String>,
    /// Rest of the device between trials.
    #[schemars(extend("format" = "duration"))]
    pub settle: Option<String>,
    /// Settings of the methods by their names: 'latency.repeats: 5'.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, AnySetting>")]
    pub set: BTreeMap<String, String>,
    /// Pseudorandom addresses and ports, the same in every trial (RFC 4814).
    #[serde(default)]
    pub random_stimuli: bool,
    /// Number of destination networks, uniformly random (RFC 2544 section 12).
    #[serde(default)]
    pub networks: u32,
    /// Modifier: broadcast, management, routing-updates, 'filters:N', 'hop-by-hop:PERCENT'.
    pub modifier: Option<String>,
    /// Parameters of the device's configuration and their values. Every combination runs; hooks get them as
    /// '{config.NAME}'.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<AnySetting>>")]
    pub matrix: indexmap::IndexMap<String, Vec<String>>,
    /// Commands before and after the campaign, each configuration, each trial.
    #[serde(default)]
    pub hooks: Vec<HookDocument>,
    /// Commands that reset the device, by the names in the settings of method 'reset'.
    #[serde(default)]
    pub resets: BTreeMap<String, String>,
    /// The document of the devices along the path, whose counters are read around every trial; relative to this
    /// document.
    pub path: Option<String>,
    /// Tags to find results by; 'key=value' makes tables.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// A value written as a number, a word, true or false.
#[derive(JsonSchema)]
#[schemars(extend("type" = ["integer", "number", "string", "boolean"], "format" = "setting"))]
#[allow(dead_code, reason = "only its schema is used")]
struct AnySetting(String);

/// A command and when it runs.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Hook")]
pub struct HookDocument {
    /// When.
    pub when: MomentDocument,
    /// The command, for a shell. '{config.NAME}', '{trial.number}', '{rate_pps}' and others are filled in.
    #[schemars(length(min = 1))]
    pub run: String,
    /// Destination for ssh; without it the command runs here.
    pub ssh: Option<String>,
    /// Longest time it can take.
    #[schemars(extend("format" = "duration"))]
    pub timeout: Option<String>,
}

/// When a hook runs.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
#[allow(missing_docs, reason = "the names say it")]
pub enum MomentDocument {
    BeforeCampaign,
    AfterCampaign,
    BeforeConfiguration,
    AfterConfiguration,
    BeforeTrial,
    AfterTrial,
}

/// JSON Schema (draft 2020-12) of the document.
pub fn schema() -> serde_json::Value {
    profile::document_schema::<Document>()
}

/// Default timeout of a hook.
const HOOK_TIMEOUT: Nanos = Nanos::from_secs(60);

/// Errors of a document that its schema can't detect: sentences with the path in front.
type Errors = Vec<String>;

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(text: &str) -> Result<Self, Errors> {
        let document: Self = profile::read_document(text)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let errors = document.errors();
        if errors.is_empty() { Ok(document) } else { Err(errors) }
    }

    /// Everything the schema can't check.
    fn errors(&self) -> Errors {
        let mut errors = Vec::new();
        let mut note = |path: String, result: Result<(), String>| {
            if let Err(reason) = result {
                errors.push(format!("{path}: {reason}"));
            }
        };
        note("sizes".to_owned(), self.lengths().map(drop));
        for (index, method) in self.methods.iter().enumerate() {
            let parts = Choice::by_name(method)
                .map_err(|e| e.to_string())
                .and_then(|choice| choice.parts(&self.settings(choice)?).map_err(|error| error.to_string()));
            note(format!("methods[{index}]"), parts.map(drop));
        }
        for name in self.set.keys() {
            let known = |method: &String| Choice::by_name(method).is_ok_and(|choice| choice.has(name));
            let reason = "no method has this setting; 'eagre bench METHOD --settings' lists settings";
            note(
                format!("set.{name}"),
                if self.methods.iter().any(known) { Ok(()) } else { Err(reason.to_owned()) },
            );
        }
        note("modifier".to_owned(), self.modifier().map(drop));
        note(
            "networks".to_owned(),
            u16::try_from(self.networks).map(drop).map_err(|_| "at most 65535".to_owned()),
        );
        note("matrix".to_owned(), self.matrix().runs().map(drop).map_err(|e| e.to_string()));
        for (index, hook) in self.hooks.iter().enumerate() {
            let made = hook.hook().and_then(|hook| {
                hook.check(self.matrix.keys().map(String::as_str)).map_err(|error| error.to_string())
            });
            note(format!("hooks[{index}]"), made);
        }
        for (name, command) in &self.resets {
            note(format!("resets.{name}"), Template::parse(command).map(drop).map_err(|e| e.to_string()));
        }
        errors
    }

    fn lengths(&self) -> Result<Vec<Frames>, String> {
        let all: Result<Vec<_>, _> = self.sizes.iter().map(|text| choice::sizes(text)).collect();
        Ok(all?.concat())
    }

    /// Settings of a method.
    ///
    /// # Errors
    /// An unknown frame length or mix.
    pub fn settings(&self, method: &Choice) -> Result<Settings, String> {
        let own = self.set.iter().filter(|(name, _)| method.has(name));
        Ok(Settings {
            sizes: Some(self.lengths()?).filter(|sizes| !sizes.is_empty()),
            quick: self.quick,
            trial: time(self.trial.as_deref()),
            set: own.map(|(name, value)| (name.clone(), value.clone())).collect(),
        })
    }

    /// Learning, drain and settling time where the document sets them.
    pub fn times(&self) -> [Option<Nanos>; 3] {
        [&self.learning, &self.drain, &self.settle].map(|text| time(text.as_deref()))
    }

    /// Traffic mixed into test frames.
    ///
    /// # Errors
    /// An unknown modifier.
    pub fn modifier(&self) -> Result<Option<Modifier>, String> {
        self.modifier.as_deref().map(modifier).transpose()
    }

    /// Configurations and methods.
    pub fn matrix(&self) -> Matrix {
        let value = |text: &String| text.parse().map_or_else(|_| Value::Text(text.clone()), Value::Number);
        let dimension = |(name, values): (&String, &Vec<String>)| Dimension {
            name: name.clone(),
            values: values.iter().map(value).collect(),
        };
        Matrix { dimensions: self.matrix.iter().map(dimension).collect(), methods: self.methods.clone() }
    }

    /// All hooks.
    pub fn all_hooks(&self) -> Vec<Hook> {
        self.hooks.iter().filter_map(|hook| hook.hook().ok()).collect()
    }
}

impl HookDocument {
    fn hook(&self) -> Result<Hook, String> {
        let template = |text: &str| Template::parse(text).map_err(|error| error.to_string());
        Ok(Hook {
            when: self.when.moment(),
            command: template(&self.run)?,
            ssh: self.ssh.as_deref().map(template).transpose()?,
            timeout: time(self.timeout.as_deref()).unwrap_or(HOOK_TIMEOUT),
        })
    }
}

impl MomentDocument {
    fn moment(self) -> Moment {
        match self {
            Self::BeforeCampaign => Moment::BeforeCampaign,
            Self::AfterCampaign => Moment::AfterCampaign,
            Self::BeforeConfiguration => Moment::BeforeConfiguration,
            Self::AfterConfiguration => Moment::AfterConfiguration,
            Self::BeforeTrial => Moment::BeforeTrial,
            Self::AfterTrial => Moment::AfterTrial,
        }
    }
}

/// A duration the schema has checked.
fn time(text: Option<&str>) -> Option<Nanos> {
    text.and_then(|text| text.parse().ok())
}

/// `broadcast`, `management`, `routing-updates`, `filters:25`, `hop-by-hop:10`.
///
/// # Errors
/// Anything else.
pub fn modifier(text: &str) -> Result<Modifier, String> {
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    let number =
        |what: &str| value.parse::<u16>().map_err(|_| format!("'{text}': give {what} after the colon"));
    Ok(match name {
        "broadcast" => Modifier::Broadcast,
        "management" => Modifier::Management,
        "routing-updates" => Modifier::RoutingUpdates,
        "filters" => Modifier::Filters(number("the number of rules")?),
        "hop-by-hop" => {
            let percent = number("a percentage")?;
            let percent = u8::try_from(percent).ok().filter(|percent| *percent <= 100);
            Modifier::HopByHop(percent.ok_or("a percentage is at most 100")?)
        }
        _ => {
            let known = "broadcast, management, routing-updates, filters:N, hop-by-hop:PERCENT";
            return Err(format!("'{text}' is not one of {known}"));
        }
    })
}

/// `routes=2,rules=0`: what tables call a configuration; empty if nothing is changed.
pub fn configuration(run: &MatrixRun) -> String {
    let values = run.values.iter().map(|(name, value)| format!("{name}={value}"));
    values.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name: routers\nprofile: router.yaml\nmethods: [mlrsearch, sweep]\nquick: true\nsizes: [64B, imix]\n\
        trial: 2s\nset: {sweep.step: 0.2, repeats: 3}\nmatrix: {routes: [2, 262144], rules: [0, 1024], how: [plain]}\n\
        hooks:\n  - {when: before-configuration, run: 'load {config.routes} {config.rules}', timeout: 10s}\n";

    #[test]
    fn a_document_is_read() {
        let document = Document::read(GOOD).unwrap();
        let runs = document.matrix().runs().unwrap();
        assert_eq!(runs.len(), 8);
        assert_eq!(configuration(&runs[7]), "routes=262144,rules=1024,how=plain");
        let settings = |method| document.settings(Choice::by_name(method).unwrap()).unwrap();
        assert_eq!(settings("sweep").set, [("sweep.step".to_owned(), "0.2".to_owned())]);
        assert_eq!(
            (settings("mlrsearch").set.len(), settings("sweep").trial),
            (1, Some(Nanos::from_secs(2)))
        );
        assert_eq!(document.all_hooks()[0].timeout, Nanos::from_secs(10));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let errors = |text: &str| Document::read(text).unwrap_err().join("\n");
        let bad = GOOD.replace("trial: 2s", "trial: soon").replace("quick: true", "quick: maybe");
        let said = errors(&bad);
        assert!(
            said.contains("line 4") && said.contains("line 6") && said.contains("'soon' is not a duration"),
            "{said}"
        );
        let said = errors(&GOOD.replace("sweep]", "sweeep]").replace("{config.rules}", "{config.rulez}"));
        assert!(said.contains("methods[1]: unknown method 'sweeep'"), "{said}");
        assert!(said.contains("hooks[0]: ") && said.contains("config.rulez"), "{said}");
        assert!(
            errors(&GOOD.replace("repeats: 3", "repeatz: 3"))
                .contains("set.repeatz: no method has this setting")
        );
    }
}
