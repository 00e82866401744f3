//! `eagre bench`: runs a test method on a profile, or a campaign document; stores trials and writes reports.

mod live;
mod runner;
mod series;

use crate::args::OnDisturbed;
use crate::output::NewFile;
use crate::results::default_store;
use crate::run::{files_beside, read};
use crate::verdicts::VerdictArgs;
use crate::{Exit, Failure, args, table, words};
use campaign::{Campaign, CampaignError, Choice, MappingFile, Part, Settings, StoredCampaign, choices};
use clap::Args as ClapArgs;
use lab::Variables;
use methods::{Attributes, Estimate, Frames, Modifier, Requirement, Timing};
use os::draft::Name;
use profile::{Overrides, Plan};
use runner::{CampaignRunner, Output};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use store::{NewCampaign, State, Store, report};
use units::{Load, Nanos, rough_time};

#[derive(Clone, ClapArgs)]
pub(crate) struct BenchArgs {
    /// Method; 'eagre bench list' lists them. 'campaign' runs the methods and configurations of a document
    #[arg(required_unless_present = "resume", value_parser = words::Named(methods), hide_possible_values = true)]
    pub method: Option<String>,
    /// Profile (YAML or JSON) with ports and traffic; for 'campaign', the campaign document
    pub profile: Option<PathBuf>,
    /// Frame lengths and mixes (overrides the method's): 64B,512B,imix, or the sets rfc2544, rfc5180 (IPv6), jumbo
    #[arg(long, value_name = "LENGTHS", value_parser = sizes, conflicts_with = "resume")]
    pub sizes: Option<Sizes>,
    /// Run in minutes instead of hours: 2 s trials, few repeats. Results note where this is below an RFC's requirement
    #[arg(long, conflicts_with = "resume")]
    pub quick: bool,
    /// Duration of every measured trial
    #[arg(long, value_name = "TIME", value_parser = words::time, conflicts_with = "resume")]
    pub trial: Option<Nanos>,
    /// Change a setting: 'resolution=0.01', 'latency.repeats=5'; 'eagre bench METHOD --settings' lists them
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value, conflicts_with = "resume")]
    pub set: Vec<(String, String)>,
    /// Print the method's settings and exit
    #[arg(long)]
    pub settings: bool,
    /// Time before each trial to send learning frames and let the device learn
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub learning: Option<Nanos>,
    /// Time to wait for late frames after each trial
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub drain: Option<Nanos>,
    /// Idle time between trials
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub settle: Option<Nanos>,
    /// Use pseudorandom addresses and ports, the same in every trial (RFC 4814)
    #[arg(long)]
    pub random_stimuli: bool,
    /// Number of destination networks to distribute packets over (RFC 2544 section 12)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub networks: u16,
    /// Traffic to mix in (RFC 2544 section 11, RFC 5180): broadcast, management, routing-updates, filters:N, hop-by-hop:PERCENT
    #[arg(long, value_parser = campaign::document::modifier)]
    pub modifier: Option<Modifier>,
    /// Command of a reset: 'software=ssh dut reboot'
    #[arg(long, value_name = "NAME=COMMAND", value_parser = name_and_value)]
    pub reset: Vec<(String, String)>,
    /// Command to run before each trial: 'bridge -n dut fdb flush dev br0'
    #[arg(long, value_name = "COMMAND", conflicts_with = "resume")]
    pub before_trial: Vec<String>,
    /// Command to run after each trial
    #[arg(long, value_name = "COMMAND", conflicts_with = "resume")]
    pub after_trial: Vec<String>,
    /// Path document: device counters to read during every trial, as for 'eagre path'
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub path: Option<PathBuf>,
    /// Write the mappings that 'bench nat' sees, a line of JSON each; 'eagre nat-log' compares them with the device's log
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub mappings: Option<PathBuf>,
    /// Number of worker cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: u16,
    /// Random seed (overrides the profile)
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run in virtual time over simulated links, like 'eagre sim'
    #[arg(long)]
    pub sim: bool,
    /// Simulated device, as for 'eagre sim'
    #[arg(long, value_name = "MODEL", value_parser = device, requires = "sim")]
    pub dut: Option<String>,
    /// Name of the campaign [default: the profile's name]
    #[arg(long)]
    pub name: Option<String>,
    /// Tag to find it by; 'key=value' tags make tables: dut=frr, config=nat
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Results store [default: results.db under $XDG_DATA_HOME/eagre or ~/.local/share/eagre]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub verdicts: VerdictArgs,
    /// Action if a disturbance of the tester makes a search's outcome uncertain: fail (exit code 4), warn, or start
    /// again up to N times
    #[arg(long, value_name = "fail|warn|repeat N", value_parser = args::on_disturbed, default_value = "fail")]
    pub on_disturbed: OnDisturbed,
    /// Write the findings to a file; '-' writes to standard output
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Print the estimated time and exit
    #[arg(long)]
    pub estimate: bool,
    /// Resume an interrupted campaign by its id [default: the latest]
    #[arg(long, value_name = "CAMPAIGN", num_args = 0..=1, default_missing_value = "latest", conflicts_with = "method")]
    pub resume: Option<String>,
}

/// Valid values of METHOD.
fn methods() -> Vec<&'static str> {
    choices().iter().map(|choice| choice.name).chain(["list", series::METHOD]).collect()
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is not NAME=VALUE"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Frame lengths and mixes.
#[derive(Debug, Clone)]
pub(crate) struct Sizes(Vec<Frames>);

/// Each length once, in the order given.
fn sizes(text: &str) -> Result<Sizes, String> {
    let all: Result<Vec<_>, String> = words::lengths(text).split(',').map(campaign::sizes).collect();
    let mut once = Vec::new();
    for frames in all?.concat() {
        if !once.contains(&frames) {
            once.push(frames);
        }
    }
    Ok(Sizes(once))
}

/// Checks a simulated device; keeps its text.
fn device(text: &str) -> Result<String, String> {
    args::dut(text).map(|_| text.to_owned())
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        let exit = if error.is_bad_input() { Exit::BadInput } else { Exit::Refused };
        Self { exit, text: error.to_string() }
    }
}

/// A campaign's settings as stored: all that is needed to resume it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Setup {
    method: String,
    parts: Vec<Part>,
    timing: Timing,
    #[serde(default)]
    attributes: Attributes,
    #[serde(default)]
    resets: BTreeMap<String, String>,
    /// Commands before and after each trial, in addition to the document's hooks.
    #[serde(default)]
    before_trial: Vec<String>,
    #[serde(default)]
    after_trial: Vec<String>,
    /// Path of the profile.
    profile: PathBuf,
    /// Path of the path document.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    path: Option<PathBuf>,
    /// The path document, without its secrets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    path_document: Option<Value>,
    cores: u16,
    sim: bool,
    /// The simulated device, as text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    dut: Option<String>,
    /// The series it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    series: Option<Series>,
}

/// A campaign's place in its series.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Series {
    /// Tag of all campaigns of the series.
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
    let read = args.profile.iter().chain(&args.path);
    read.filter(|path| *path != Path::new("-")).chain([&store]).for_each(|path| os::draft::keep(path));
    let _store = Name::take(&store).map_err(|e| Failure::refused(format!("{}: {e}", store.display())))?;
    let output = Output::open(args)?;
    match &args.resume {
        Some(reference) => resume(args, output, &store, reference),
        None => begin(args, output, &store),
    }
}

fn list() {
    let campaign = (series::METHOD, "run the methods and configurations of a campaign document");
    let methods = choices().iter().map(|choice| (choice.name, choice.about)).chain([campaign]);
    print!("{}", table::list(methods.map(|(name, about)| vec![name.to_owned(), about.to_owned()]).collect()));
    println!(
        "\nRun one with 'eagre bench METHOD PROFILE'; list its settings with 'eagre bench METHOD --settings'"
    );
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

/// A setting's value in the form of `--set`. Untyped: each method has its own types of settings.
fn plain(value: &Value) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
            items.iter().map(word).collect::<Vec<_>>().join(",")
        }
        other => word(other),
    }
}

/// Starts a campaign.
fn begin(args: &BenchArgs, output: Output, store: &Path) -> Result<Exit, Failure> {
    let Some(file) = &args.profile else {
        if args.method.as_deref() != Some(series::METHOD) {
            chosen(args)?;
        }
        let usage =
            "no profile given: use 'eagre bench METHOD PROFILE'; 'eagre bench list' lists the methods";
        return Err(Failure::bad_input(usage));
    };
    if args.method.as_deref() == Some(series::METHOD) {
        refuse_repeats(args)?;
        return series::begin(args, output, store, file);
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
        path_document: args.path.as_deref().map(crate::path::kept).transpose()?,
        cores: args.cores,
        sim: args.sim,
        dut: args.dut.clone(),
        series: None,
    };
    let plan = load(&text, &setup.profile, args.seed)?;
    let name = args.name.clone().unwrap_or_else(|| stem(file));
    let mut runner = CampaignRunner::open(&[&setup], &plan)?;
    let mut campaign = runner.campaign(&setup, plan, &name, Vec::new(), Variables::new())?;
    let estimate = campaign.estimate()?;
    if args.estimate {
        println!("{}", about(&estimate));
        return Ok(Exit::Done);
    }
    if let Some(file) = &args.mappings {
        let has_some = |part: &Part| part.config.requirements().contains(&Requirement::BothSidesOfNat);
        if !setup.parts.iter().any(has_some) {
            return Err(Failure::bad_input(format!("--mappings: '{}' makes no mappings", setup.method)));
        }
        // It is written as it grows; here, what must not be replaced is refused.
        drop(NewFile::create(file)?);
        campaign.mappings = Some(MappingFile::create(file)?);
    }
    eprintln!("  {}: {}", setup.method, about(&estimate));
    let mut open = Store::open(store)?;
    let mut repeats = match args.on_disturbed {
        OnDisturbed::Repeat(times) => times,
        OnDisturbed::Fail | OnDisturbed::Warn => 0,
    };
    loop {
        let id = open.begin(&new_campaign(&setup, &campaign, text.clone(), args.tag.clone())?)?;
        let kept = StoredCampaign { store: &mut open, id, finished: Vec::new() };
        let finished = runner.run(&campaign, kept)?;
        if repeats == 0 || finished.exit() != Exit::CannotJudge {
            return conclude(args, output, &open, &campaign, &finished);
        }
        eprint!("{}", runner::summary(finished.id.as_str(), &finished.report, None));
        eprintln!("  can't be judged here: starts again, up to {repeats} times (--on-disturbed)");
        repeats -= 1;
    }
}

/// The exit code, for a user who may want to be warned only.
fn excused(exit: Exit, args: &BenchArgs) -> Exit {
    match exit {
        Exit::CannotJudge if args.on_disturbed == OnDisturbed::Warn => Exit::Done,
        exit => exit,
    }
}

/// Refuses to start again what has more than one campaign, or has begun before.
fn refuse_repeats(args: &BenchArgs) -> Result<(), Failure> {
    match args.on_disturbed {
        OnDisturbed::Repeat(_) => Err(Failure::bad_input(
            "--on-disturbed repeat: a campaign document, and a campaign that is resumed, can't start again; use fail or warn",
        )),
        OnDisturbed::Fail | OnDisturbed::Warn => Ok(()),
    }
}

/// Resumes a campaign.
fn resume(args: &BenchArgs, output: Output, store: &Path, reference: &str) -> Result<Exit, Failure> {
    refuse_repeats(args)?;
    let mut open = Store::open_existing(store)?;
    let id = open.find(reference)?;
    let kept = open.campaign(&id)?;
    let setup: Setup = serde_json::from_value(kept.config.clone()).map_err(|error| {
        Failure::bad_input(format!("campaign {id} was not made by 'eagre bench': {error}"))
    })?;
    if let Some(series) = &setup.series {
        return series::resume(args, output, open, series);
    }
    if kept.state == State::Done {
        return Err(Failure::bad_input(format!("campaign {id} is done: nothing to resume")));
    }
    let text = read(&setup.profile)?;
    check_resume(&kept, &setup, &text, args.seed)?;
    let plan = load(&text, &setup.profile, Some(kept.seed))?;
    let mut runner = CampaignRunner::open(&[&setup], &plan)?;
    let campaign = runner.campaign(&setup, plan, &kept.name, Vec::new(), Variables::new())?;
    let (_, trials) = open.resume(&id)?;
    eprintln!("  {id}: {} trials already done", trials.len());
    let finished = runner.run(&campaign, StoredCampaign { store: &mut open, id, finished: trials })?;
    conclude(args, output, &open, &campaign, &finished)
}

/// Refuses to resume a campaign whose settings have changed.
fn check_resume(kept: &store::Campaign, setup: &Setup, text: &str, seed: Option<u64>) -> Result<(), Failure> {
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
    Err(Failure::bad_input(format!("cannot resume campaign {}: {}", kept.id, differences.join("; "))))
}

/// Writes and prints a campaign's findings.
fn conclude(
    args: &BenchArgs,
    output: Output,
    store: &Store,
    campaign: &Campaign,
    finished: &runner::FinishedCampaign,
) -> Result<Exit, Failure> {
    let page = report::campaign(&store.load(&finished.id)?);
    let text = runner::summary(finished.id.as_str(), &finished.report, args.report.as_deref());
    let document = campaign.document(finished.id.as_str(), &finished.report);
    output.write(args, &page, &document, vec![finished.suite(&campaign.name)], &text)?;
    Ok(excused(finished.exit(), args))
}

/// The store's record of a new campaign.
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

/// Times around trials: the given ones, else the RFC's, or short ones with `quick`.
fn timing(quick: bool, given: [Option<Nanos>; 3]) -> Timing {
    let usual = Settings { quick, ..Settings::default() }.timing();
    let [learning, drain, settle] = given;
    Timing {
        learning: learning.unwrap_or(usual.learning),
        drain: drain.unwrap_or(usual.drain),
        settle: settle.unwrap_or(usual.settle),
    }
}

/// The plan of a profile; streams need no rate, because methods set it.
fn load(text: &str, profile: &Path, seed: Option<u64>) -> Result<Plan, Failure> {
    let overrides = Overrides {
        memory_bytes: Some(os::memory::available_bytes()),
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

pub(crate) fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// `about 12 min: 35 trials, 4 min of traffic`.
fn about(estimate: &Estimate) -> String {
    let trials = estimate.trials;
    format!(
        "about {}: {trials} trials, {} of traffic",
        rough_time(estimate.wall_s),
        rough_time(estimate.traffic_s)
    )
}

/// The command that repeats this, quoted for a shell: the lab's own in a lab's test, whose files are removed
/// afterwards.
pub(crate) fn command_line() -> String {
    if let Ok(command) = std::env::var(crate::lab::COMMAND) {
        return command;
    }
    let plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c));
    let quote = |word: String| if plain(&word) { word } else { format!("'{}'", word.replace('\'', "'\\''")) };
    let words = std::env::args().skip(1).map(quote);
    std::iter::once("eagre".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
