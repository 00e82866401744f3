//! Content of a store: campaigns, trials, findings.

use crate::figures::Figures;
use crate::{StoreError, StoredResult};
use methods::{Finding, MethodResult, TrialKind};
use result::{IntervalDocument, ResultDocument};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt;

/// A campaign that begins.
#[derive(Debug, Clone, Default)]
pub struct NewCampaign {
    /// Display name.
    pub name: String,
    /// `run`, `sim`, `rfc2544`, `mlrsearch`, `sessions` …
    pub method: String,
    /// The method's settings.
    pub config: Value,
    /// Text of the profile.
    pub profile: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Version of the program.
    pub version: String,
    /// The command line that does it again.
    pub command: String,
    /// When it began (RFC 3339, UTC).
    pub started: String,
    /// Kernel, processor, network cards, drivers, versions; `doctor` has the doctor's findings as `eagre doctor --json`
    /// prints them.
    pub environment: Value,
    /// Words to find it by. `key=value` makes an axis of tables: `dut=frr`, `config=nat`.
    pub tags: Vec<String>,
}

/// A campaign's name in the store: its first day and second, and six hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct CampaignId(pub(crate) String);

impl CampaignId {
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CampaignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// State of a campaign. One whose process was killed stays `Running` until it is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "StoredState")]
pub enum State {
    /// Begun and not ended.
    Running,
    /// Ended as planned.
    Done,
    /// Ended by the user.
    Interrupted,
    /// Ended by an error.
    Failed,
}

impl State {
    /// As the store has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "done" => Self::Done,
            "interrupted" => Self::Interrupted,
            "failed" => Self::Failed,
            _ => Self::Running,
        }
    }
}

/// A campaign in the store.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "StoredCampaign")]
pub struct Campaign {
    /// Its name in the store.
    pub id: CampaignId,
    /// Display name.
    pub name: String,
    /// The method.
    pub method: String,
    /// The method's settings.
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub config: Value,
    /// Text of the profile.
    pub profile: String,
    /// SHA-256 of that text.
    pub profile_sha256: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Version of the program.
    pub version: String,
    /// The command line that does it again.
    pub command: String,
    /// When it began (RFC 3339, UTC, ms).
    pub started: String,
    /// When it ended, likewise.
    pub ended: Option<String>,
    /// State.
    pub state: State,
    /// Why it failed.
    pub reason: Option<String>,
    /// Number of times that it was resumed.
    pub resumed: u32,
    /// The machine it ran on.
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub environment: Value,
    /// Words to find it by, in alphabetical order.
    pub tags: Vec<String>,
}

impl Campaign {
    /// Why this campaign can't be continued as `planned`; empty if it can.
    pub fn differences(&self, planned: &NewCampaign) -> Vec<String> {
        let mut all = Vec::new();
        let mut check = |what: &str, was: &str, is: &str| {
            if was != is {
                all.push(format!("{what} was {was} and is {is}"));
            }
        };
        check("the method", &self.method, &planned.method);
        check("the profile's SHA-256", &self.profile_sha256, &sha256(&planned.profile));
        check("the seed", &self.seed.to_string(), &planned.seed.to_string());
        check("the program's version", &self.version, &planned.version);
        check("the method's settings", &self.config.to_string(), &planned.config.to_string());
        all
    }

    /// The value of a tag `key=value`.
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find_map(|tag| tag.split_once('=').filter(|(k, _)| *k == key).map(|(_, v)| v))
    }
}

/// A trial that has finished, or as far as it is.
#[derive(Debug, Clone, Default)]
pub struct NewTrial {
    /// Its number in the campaign, as the method counts.
    pub number: u32,
    /// A fingerprint of the request, the same when it is repeated. Trials with equal keys are repeats.
    pub key: String,
    /// Description for people.
    pub label: String,
    /// Method that requested it, where a campaign has several: `throughput`, `latency`.
    pub part: String,
    /// `warm_up`, `probe`, `explore` or `measure`. Curves leave out the first two.
    pub phase: String,
    /// Frame length or mix as people write it: `64B`, `imix`. Empty if the campaign has no such rows.
    pub frame: String,
    /// Frame length with FCS, bytes; `None` for a mix.
    pub frame_bytes: Option<u32>,
    /// Theoretical maximum of the offered load, both directions, packets/s.
    pub line_pps: Option<f64>,
    /// The request.
    pub request: Value,
    /// The method's outcome: passed to it again when the campaign is resumed.
    pub outcome: Value,
    /// The result document, `eagre.result/1`.
    pub result: Value,
    /// The interval documents, `eagre.interval/1`.
    pub intervals: Vec<Value>,
}

/// A trial in the store, without its documents.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrialRow {
    /// Its number in the campaign, as the method counts.
    pub number: u32,
    /// Its number in the campaign: 1, 2, 3 …, for all methods. Used in reports.
    pub ordinal: u32,
    /// A fingerprint of the request.
    pub key: String,
    /// Description for people.
    pub label: String,
    /// Method that requested it.
    pub part: String,
    /// Which phase of the method it belongs to.
    pub phase: String,
    /// Frame length or mix.
    pub frame: String,
    /// Frame length with FCS, bytes.
    pub frame_bytes: Option<u32>,
    /// Theoretical maximum, packets/s.
    pub line_pps: Option<f64>,
    /// When traffic started (RFC 3339); a simulated trial has no such time.
    pub started: Option<String>,
    /// Whether its figures can be believed.
    pub valid: bool,
    /// Whether the tester was the limit.
    pub generator_limited: bool,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Whether something on the tester's machine disturbed it.
    pub disturbed: bool,
    /// Why not valid, why limited, or what disturbed the tester.
    pub reasons: Vec<String>,
    /// For a trial of sessions: the requested load, in `load_unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// `connections/s`, `connections`, `transactions/s` or `bits/s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_unit: Option<String>,
    /// Summary of the measurements.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A campaign in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Summary {
    /// Its name in the store.
    pub id: CampaignId,
    /// Display name.
    pub name: String,
    /// The method.
    pub method: String,
    /// When it began.
    pub started: String,
    /// When it ended.
    pub ended: Option<String>,
    /// State.
    pub state: State,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Finished trials.
    pub trials: u32,
    /// Those of them that are not valid.
    pub invalid: u32,
    /// Those of them in which the tester was the limit.
    pub generator_limited: u32,
    /// Those of them in which something disturbed the tester.
    #[serde(default)]
    pub disturbed: u32,
    /// Why the first of the trials that are not valid is not; else why the first that was limited was.
    #[serde(default)]
    pub reason: Option<String>,
    /// For a single run: its outcome: `passed`, `failed` or `cannot_judge`.
    #[serde(default)]
    pub outcome: Option<String>,
}

/// Which campaigns; what is not set leaves all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The method.
    pub method: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// All of these tags.
    pub tags: Vec<String>,
    /// Begun at this instant or later: RFC 3339 in UTC, or a date.
    pub since: Option<String>,
    /// Maximum number, the newest first.
    pub limit: Option<u32>,
}

/// A campaign with all it has: what reports and comparisons are made of.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The campaign.
    pub campaign: Campaign,
    /// Its trials, by number.
    pub trials: Vec<TrialRow>,
    /// Their result documents, in the same order.
    pub results: Vec<Value>,
    /// Interval documents of the trials that have some, by trial number.
    pub intervals: Vec<(u32, Vec<Value>)>,
    /// Findings of its methods.
    pub method_results: Vec<StoredResult>,
    /// The same as values.
    pub findings: Vec<Finding>,
}

/// A whole campaign, `eagre.archive/1`. Its documents are unmodified: documents of an older version may lack fields.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Archive {
    /// `eagre.archive/1`.
    pub schema: &'static str,
    /// The campaign.
    pub campaign: Campaign,
    /// Findings of its methods.
    #[schemars(with = "Vec<MethodResult>")]
    pub method_results: Vec<StoredResult>,
    /// The same as values.
    pub findings: Vec<Finding>,
    /// Its trials, by number.
    pub trials: Vec<ArchivedTrial>,
}

/// A trial with its documents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArchivedTrial {
    /// Description and figures.
    #[serde(flatten)]
    pub row: TrialRow,
    /// The request, in the method's own form; null for a run without a method.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub request: Value,
    /// The method's outcome: passed to it again when the campaign is resumed. Null for a run without a method.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub outcome: Value,
    /// The result document, `eagre.result/1`.
    #[schemars(with = "ResultDocument")]
    pub result: Value,
    /// The interval documents, `eagre.interval/1`.
    #[schemars(with = "Vec<IntervalDocument>")]
    pub intervals: Vec<Value>,
}

impl Loaded {
    /// The result documents of its trials, in the same order; an empty one for what is no result document.
    pub(crate) fn documents(&self) -> Vec<ResultDocument> {
        self.results.iter().map(|result| result::read(result).unwrap_or_default()).collect()
    }

    /// The result document of its only trial; `None` if it has several.
    pub fn only(&self) -> Option<ResultDocument> {
        match &self.results[..] {
            [result] => result::read(result).ok(),
            _ => None,
        }
    }

    /// A single run that is in no store: from its files.
    pub fn single(about: NewCampaign, result: Value, intervals: Vec<Value>) -> Self {
        let trial =
            NewTrial { number: 1, label: about.name.clone(), result, intervals, ..NewTrial::default() };
        let row = TrialRow::new(&trial);
        let state = if row.interrupted { State::Interrupted } else { State::Done };
        let campaign = Campaign {
            id: CampaignId(String::new()),
            profile_sha256: recorded_sha256(&trial.result).unwrap_or_else(|| sha256(&about.profile)),
            name: about.name,
            method: about.method,
            config: about.config,
            profile: about.profile,
            seed: about.seed,
            version: about.version,
            command: about.command,
            started: about.started,
            ended: None,
            state,
            reason: None,
            resumed: 0,
            environment: about.environment,
            tags: about.tags,
        };
        let intervals = Some((1, trial.intervals)).filter(|(_, all)| !all.is_empty());
        Self {
            campaign,
            trials: vec![row],
            results: vec![trial.result],
            intervals: intervals.into_iter().collect(),
            method_results: Vec::new(),
            findings: Vec::new(),
        }
    }
}

fn recorded_sha256(result: &Value) -> Option<String> {
    let document: ResultDocument = result::read(result).ok()?;
    Some(document.profile_sha256).filter(|sha256| !sha256.is_empty())
}

impl TrialRow {
    /// Display name: its label, or else its key.
    pub(crate) fn name(&self) -> &str {
        if self.label.is_empty() { &self.key } else { &self.label }
    }

    /// Heading: `Trial 3: 64B at 100 kpps`.
    pub(crate) fn title(&self) -> String {
        let name = if self.name().is_empty() { String::new() } else { format!(": {}", self.name()) };
        format!("Trial {}{name}", self.ordinal)
    }

    /// Whether it is meant as evidence about the device: no warm-up, no probe.
    pub(crate) fn counts(&self) -> bool {
        !matches!(self.phase.as_str(), "warm_up" | "probe")
    }

    /// The row of a finished trial. If its result is not a result document, the row has no figures and is not valid.
    pub fn new(trial: &NewTrial) -> Self {
        let result: Option<ResultDocument> = result::read(&trial.result).ok();
        let figures = result.as_ref().map(Figures::new).unwrap_or_default();
        let asked = session_load(&trial.request).or_else(|| {
            let rates = result.as_ref()?.sessions.values().map(|entry| entry.requested_open_per_s);
            Some((rates.reduce(|a, b| Some(a? + b?))??, "connections/s".to_owned()))
        });
        let (load, load_unit) = asked.unzip();
        let ResultDocument { started, verdict, interrupted, .. } = result.unwrap_or_default();
        Self {
            number: trial.number,
            ordinal: trial.number,
            key: trial.key.clone(),
            label: trial.label.clone(),
            part: trial.part.clone(),
            phase: trial.phase.clone(),
            frame: trial.frame.clone(),
            frame_bytes: trial.frame_bytes,
            line_pps: trial.line_pps,
            started,
            valid: verdict.valid,
            generator_limited: verdict.generator_limited,
            interrupted,
            disturbed: verdict.disturbed,
            reasons: verdict.reasons,
            load,
            load_unit,
            figures,
        }
    }
}

/// The load of a request for sessions, and its unit.
fn session_load(request: &Value) -> Option<(f64, String)> {
    let kind = TrialKind::deserialize(request.get("kind")?).ok()?;
    kind.session_load().map(|(load, unit)| (load, unit.to_owned()))
}

/// SHA-256 of a text, in hexadecimal.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An instant as the store has it, with milliseconds: text order is time order.
pub(crate) fn instant(text: &str) -> Result<String, StoreError> {
    let wrong = || StoreError::Instant(text.to_owned());
    let utc = text.strip_suffix("+00:00").map(|local| format!("{local}Z"));
    let utc = utc.as_deref().unwrap_or(text).to_ascii_uppercase();
    let instant = humantime::parse_rfc3339(&utc).map_err(|_| wrong())?;
    Ok(humantime::format_rfc3339_millis(instant).to_string())
}

/// The beginning of an instant: a date, or more.
pub(crate) fn date(text: &str) -> Result<String, StoreError> {
    if let Ok(exact) = instant(text) {
        return Ok(exact);
    }
    let rest = "2000-01-01T00:00:00Z".get(text.len()..).filter(|_| text.len() >= 10 && text.is_ascii());
    let whole = rest.map(|rest| format!("{text}{rest}")).ok_or_else(|| StoreError::Date(text.to_owned()))?;
    instant(&whole).map_err(|_| StoreError::Date(text.to_owned()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A temporary file for a test, removed afterwards.
    pub(crate) struct Scratch {
        pub(crate) path: PathBuf,
    }

    impl Scratch {
        pub(crate) fn new(name: &str) -> Self {
            let scratch = Self {
                path: std::env::temp_dir().join(format!("eagre-store-{name}-{}.db", std::process::id())),
            };
            scratch.remove();
            scratch
        }

        fn remove(&self) {
            for suffix in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{suffix}", self.path.display()));
            }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            self.remove();
        }
    }

    #[test]
    fn instants_have_one_form() {
        assert_eq!(instant("2026-11-30T23:59:59Z").unwrap(), "2026-11-30T23:59:59.000Z");
        assert_eq!(instant("2026-11-30T23:59:59.5+00:00").unwrap(), "2026-11-30T23:59:59.500Z");
        assert_eq!(instant("2026-11-30T23:59:59.123456Z").unwrap(), "2026-11-30T23:59:59.123Z");
        for wrong in ["", "yesterday", "2026-11-30", "2026-11-30T23:59:59", "2026-11-30T23:59:59+01:00", "é"]
        {
            assert!(instant(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_date_is_its_first_instant() {
        assert_eq!(date("2026-11-30").unwrap(), "2026-11-30T00:00:00.000Z");
        assert_eq!(date("2026-11-30T12:30").unwrap(), "2026-11-30T12:30:00.000Z");
        assert!(date("2026").is_err() && date("last week!").is_err() && date("2026-02-30").is_err());
    }
}
