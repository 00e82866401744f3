//! `eagre bench`: a test method on a profile, or a whole campaign, its trials kept in the store, its report.

mod live;
mod series;
mod stage;

use crate::results::default_store;
use crate::run::{files_beside, read};
use crate::{Exit, Failure, args};
use campaign::{Campaign, CampaignError, Choice, Kept, Part, Settings, choices};
use clap::Args as ClapArgs;
use lab::Variables;
use methods::{Attributes, Estimate, Frames, Modifier, Timing};
use profile::{Overrides, Plan};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stage::Stage;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use store::{NewCampaign, State, Store, report};
use units::{Load, Nanos};

#[derive(Clone, ClapArgs)]
pub struct BenchArgs {
    /// The method; 'eagre bench list' lists them. 'campaign': the methods and configurations of a document
    #[arg(required_unless_present = "resume")]
    pub method: Option<String>,
    /// The profile, YAML or JSON: which packets or sessions, between which ports; for 'campaign', the document
    pub profile: Option<PathBuf>,
    /// Frame lengths and mixes, instead of the method's own: 64B,512B,imix, or all of rfc2544, rfc5180 (IPv6), jumbo
    #[arg(long, value_name = "LENGTHS", value_parser = sizes, conflicts_with = "resume")]
    pub sizes: Option<Sizes>,
    /// Minutes instead of hours: trials of 2 s and few repeats. Results say where that is less than an RFC asks for
    #[arg(long, conflicts_with = "resume")]
    pub quick: bool,
    /// Length of every trial that counts
    #[arg(long, value_name = "TIME", conflicts_with = "resume")]
    pub trial: Option<Nanos>,
    /// Change a setting: 'resolution=0.01', 'latency.repeats=5'; 'eagre bench METHOD --settings' lists them
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value, conflicts_with = "resume")]
    pub set: Vec<(String, String)>,
    /// Print the method's settings, and run nothing
    #[arg(long)]
    pub settings: bool,
    /// For routes and tables to be learnt before each trial, from which frames are sent as well
    #[arg(long, value_name = "TIME")]
    pub learning: Option<Nanos>,
    /// For late frames after each trial
    #[arg(long, value_name = "TIME")]
    pub drain: Option<Nanos>,
    /// For the device to come to rest between trials
    #[arg(long, value_name = "TIME")]
    pub settle: Option<Nanos>,
    /// Pseudorandom addresses and ports, the same in every trial (RFC 4814)
    #[arg(long)]
    pub random_stimuli: bool,
    /// Destinations uniformly random over so many networks (RFC 2544 section 12)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub networks: u16,
    /// What is mixed in (RFC 2544 section 11, RFC 5180): broadcast, management, routing-updates, filters:N, hop-by-hop:PERCENT
    #[arg(long, value_parser = campaign::document::modifier)]
    pub modifier: Option<Modifier>,
    /// How a reset is done: 'software=ssh dut reboot'
    #[arg(long, value_name = "NAME=COMMAND", value_parser = name_and_value)]
    pub reset: Vec<(String, String)>,
    /// Run a command before each trial, for what the device needs then: 'bridge -n dut fdb flush dev br0'
    #[arg(long, value_name = "COMMAND", conflicts_with = "resume")]
    pub before_trial: Vec<String>,
    /// Run a command after each trial
    #[arg(long, value_name = "COMMAND", conflicts_with = "resume")]
    pub after_trial: Vec<String>,
    /// Devices along the path, whose counters are read beside every trial: a document as for 'eagre path'
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub path: Option<PathBuf>,
    /// Worker cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: u16,
    /// Seed of everything random, instead of the profile's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// In virtual time over simulated links, as 'eagre sim' does it
    #[arg(long)]
    pub sim: bool,
    /// Device between simulated ports, as for 'eagre sim'
    #[arg(long, value_name = "MODEL", value_parser = device, requires = "sim")]
    pub dut: Option<String>,
    /// What to call the campaign; the profile's name if left out
    #[arg(long)]
    pub name: Option<String>,
    /// A word to find it by; 'key=value' makes tables: dut=frr, config=nat
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// The store [default: results.db under $XDG_DATA_HOME/eagre or ~/.local/share/eagre]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Write the report as one HTML file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write what was found to a file, or to standard output with '-'
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Say how long it will take, and run nothing
    #[arg(long)]
    pub estimate: bool,
    /// Go on with a campaign that was interrupted or killed: its id, or the latest
    #[arg(long, value_name = "CAMPAIGN", num_args = 0..=1, default_missing_value = "latest", conflicts_with = "method")]
    pub resume: Option<String>,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is not NAME=VALUE"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Frame lengths and mixes.
#[derive(Debug, Clone)]
pub struct Sizes(Vec<Frames>);

fn sizes(text: &str) -> Result<Sizes, String> {
    let all: Result<Vec<_>, String> = text.split(',').map(campaign::sizes).collect();
    Ok(Sizes(all?.concat()))
}

/// A model device, as it was written.
fn device(text: &str) -> Result<String, String> {
    args::dut(text).map(|_| text.to_owned())
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        let exit = if error.is_bad_input() { Exit::BadInput } else { Exit::Refused };
        Self { exit, text: error.to_string() }
    }
}

/// What a campaign is, as the store keeps it: all it takes to go on with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Setup {
    method: String,
    parts: Vec<Part>,
    timing: Timing,
    #[serde(default)]
    attributes: Attributes,
    #[serde(default)]
    resets: BTreeMap<String, String>,
    /// Commands before and after each trial, beside those of a document.
    #[serde(default)]
    before_trial: Vec<String>,
    #[serde(default)]
    after_trial: Vec<String>,
    /// Where the profile is.
    profile: PathBuf,
    /// Where the document of the path is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    path: Option<PathBuf>,
    cores: u16,
    sim: bool,
    /// The simulated device, as it was written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    dut: Option<String>,
    /// The series it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    series: Option<Series>,
}

/// Where a campaign of a series has its place.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Series {
    /// What all campaigns of the series are tagged with.
    id: String,
    /// The document, and its SHA-256.
    document: PathBuf,
    sha256: String,
    /// Number of the run in the document's matrix, from 0.
    run: usize,
}

/// `eagre bench`.
pub(crate) fn bench(args: &BenchArgs) -> Result<Exit, Failure> {
    if args.method.as_deref() == Some("list") {
        list();
        return Ok(Exit::Done);
    }
    if args.settings {
        return settings(args);
    }
    let store = args.store.clone().unwrap_or_else(default_store);
    match &args.resume {
        Some(reference) => resume(args, &store, reference),
        None => begin(args, &store),
    }
}

fn list() {
    for choice in choices() {
        println!("  {:<17}{}", choice.name, choice.about);
    }
    println!("  {:<17}methods and configurations of a document, one after the other", series::METHOD);
    println!("\n'eagre bench METHOD PROFILE' runs one; 'eagre bench METHOD --settings' says what can be set");
}

fn chosen(args: &BenchArgs) -> Result<(&'static Choice, Vec<Part>), Failure> {
    let choice = Choice::by_name(args.method.as_deref().unwrap_or_default())?;
    let settings = Settings {
        sizes: args.sizes.clone().map(|sizes| sizes.0),
        quick: args.quick,
        trial: args.trial,
        set: args.set.clone(),
    };
    Ok((choice, choice.parts(&settings)?))
}

fn settings(args: &BenchArgs) -> Result<Exit, Failure> {
    let (choice, parts) = chosen(args)?;
    println!("  {}: {}", choice.name, choice.about);
    for part in parts {
        println!("\n  {}", part.name);
        part.settings().iter().for_each(|(name, value)| println!("    {name}={}", plain(value)));
    }
    Ok(Exit::Done)
}

/// A setting's value as `--set` takes it.
fn plain(value: &Value) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
            items.iter().map(word).collect::<Vec<_>>().join(",")
        }
        other => word(other),
    }
}

/// A campaign from its beginning.
fn begin(args: &BenchArgs, store: &Path) -> Result<Exit, Failure> {
    let Some(file) = &args.profile else {
        let usage = "which profile? 'eagre bench METHOD PROFILE'; 'eagre bench list' lists methods";
        return Err(Failure::bad_input(usage));
    };
    if args.method.as_deref() == Some(series::METHOD) {
        return series::begin(args, store, file);
    }
    let (choice, parts) = chosen(args)?;
    let text = read(file)?;
    let setup = Setup {
        method: choice.name.to_owned(),
        parts,
        timing: timing(args.quick, [args.learning, args.drain, args.settle]),
        attributes: Attributes {
            random_stimuli: args.random_stimuli,
            networks: args.networks,
            modifier: args.modifier,
        },
        resets: args.reset.iter().cloned().collect(),
        before_trial: args.before_trial.clone(),
        after_trial: args.after_trial.clone(),
        profile: absolute(file),
        path: args.path.as_deref().map(absolute),
        cores: args.cores,
        sim: args.sim,
        dut: args.dut.clone(),
        series: None,
    };
    let plan = load(&text, &setup.profile, args.seed)?;
    let name = args.name.clone().unwrap_or_else(|| stem(file));
    let mut stage = Stage::open(&[&setup], &plan)?;
    let campaign = stage.campaign(&setup, plan, &name, Vec::new(), Variables::new())?;
    let estimate = campaign.estimate()?;
    if args.estimate {
        println!("{}", about(&estimate));
        return Ok(Exit::Done);
    }
    let new = new_campaign(&setup, &campaign, text, args.tag.clone())?;
    eprintln!("  {}: {}", setup.method, about(&estimate));
    let mut open = Store::open(store)?;
    let id = open.begin(&new)?;
    let played = stage.play(&campaign, Kept { store: &mut open, id, finished: Vec::new() })?;
    conclude(args, &open, &played)
}

/// The rest of a campaign.
fn resume(args: &BenchArgs, store: &Path, reference: &str) -> Result<Exit, Failure> {
    let mut open = Store::open_existing(store)?;
    let id = open.find(reference)?;
    let kept = open.campaign(&id)?;
    let setup: Setup = serde_json::from_value(kept.config.clone())
        .map_err(|error| Failure::bad_input(format!("campaign {id} is none of 'eagre bench': {error}")))?;
    if let Some(series) = &setup.series {
        return series::resume(args, open, series);
    }
    if kept.state == State::Done {
        return Err(Failure::bad_input(format!("campaign {id} is done; there is nothing left to run")));
    }
    let text = read(&setup.profile)?;
    may_resume(&kept, &setup, &text, args.seed)?;
    let plan = load(&text, &setup.profile, Some(kept.seed))?;
    let mut stage = Stage::open(&[&setup], &plan)?;
    let campaign = stage.campaign(&setup, plan, &kept.name, Vec::new(), Variables::new())?;
    let (_, finished) = open.resume(&id)?;
    eprintln!("  {id}: {} trials are there already", finished.len());
    let played = stage.play(&campaign, Kept { store: &mut open, id, finished })?;
    conclude(args, &open, &played)
}

/// Refuses to go on with a campaign that would become another one.
fn may_resume(kept: &store::Campaign, setup: &Setup, text: &str, seed: Option<u64>) -> Result<(), Failure> {
    let planned = NewCampaign {
        method: setup.method.clone(),
        config: serde_json::to_value(setup).unwrap_or_default(),
        profile: text.to_owned(),
        seed: seed.unwrap_or(kept.seed),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..NewCampaign::default()
    };
    let differences = kept.differences(&planned);
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::bad_input(format!("campaign {} can't be resumed: {}", kept.id, differences.join("; "))))
}

/// Writes and prints what a campaign found.
fn conclude(args: &BenchArgs, store: &Store, played: &stage::Played) -> Result<Exit, Failure> {
    let page = report::campaign(&store.load(&played.id)?);
    let words = stage::in_words(played.id.as_str(), &played.report, args.report.as_deref());
    stage::tell(args, &page, &played.document, &words)?;
    Ok(played.exit())
}

/// A campaign as the store begins it.
fn new_campaign(
    setup: &Setup,
    campaign: &Campaign,
    profile: String,
    tags: Vec<String>,
) -> Result<NewCampaign, Failure> {
    Ok(NewCampaign {
        name: campaign.name.clone(),
        method: setup.method.clone(),
        config: serde_json::to_value(setup).map_err(|e| Failure::refused(e.to_string()))?,
        profile,
        seed: campaign.plan.seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command_line(),
        started: now(),
        environment: campaign::environment(&campaign.plan),
        tags,
    })
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The times around trials: those given, else the RFC's or, if it has to be quick, short ones.
fn timing(quick: bool, given: [Option<Nanos>; 3]) -> Timing {
    let usual = Settings { quick, ..Settings::default() }.timing();
    let [learning, drain, settle] = given;
    Timing {
        learning: learning.unwrap_or(usual.learning),
        drain: drain.unwrap_or(usual.drain),
        settle: settle.unwrap_or(usual.settle),
    }
}

/// The plan of a profile whose streams need no rates: methods have their own.
fn load(text: &str, profile: &Path, seed: Option<u64>) -> Result<Plan, Failure> {
    let overrides = Overrides {
        seed,
        default_seed: os::entropy::seed(),
        default_rate: Some(Load::Max),
        ..Overrides::default()
    };
    let plan = profile::load_with(text, &overrides, &files_beside(profile));
    let plan = plan.map_err(|errors| crate::run::bad_profile(&profile.display().to_string(), &errors))?;
    crate::run::warn(&plan);
    Ok(plan)
}

fn stem(profile: &Path) -> String {
    profile.file_stem().map_or_else(|| "campaign".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// `about 12 min: 35 trials, 4 min of traffic`.
fn about(estimate: &Estimate) -> String {
    let trials = estimate.trials;
    format!("about {}: {trials} trials, {} of traffic", time(estimate.wall_s), time(estimate.traffic_s))
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

/// The command, to be typed again.
fn command_line() -> String {
    let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c));
    let quote = |word: String| if plain(&word) { word } else { format!("'{}'", word.replace('\'', "'\\''")) };
    let words = std::env::args().skip(1).map(quote);
    std::iter::once("eagre".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
