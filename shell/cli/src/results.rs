//! `eagre results`: lists, compares and exports stored results, and writes reports.

use crate::output::print_json;
use crate::print::Stdout;
use crate::table::table;
use crate::text;
use crate::{Exit, Failure};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use os::Draft;
use result::ResultDocument;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use store::{
    Campaign, Cell, Comparison, Filter, Loaded, Matrix, NewCampaign, NewTrial, State, Store, StoreError,
    TrendQuery, export, report,
};
use units::{percent, quantity, signed_percent};

/// Trials shown by `show`; more are in the report and the export.
const TRIALS_MAX: usize = 40;

#[derive(ClapArgs)]
pub(crate) struct ResultsArgs {
    /// Results store [default: results.db under $XDG_DATA_HOME/eagre or ~/.local/share/eagre]
    #[arg(long, value_name = "FILE", global = true)]
    pub store: Option<PathBuf>,
    #[command(subcommand)]
    pub command: ResultsCommand,
}

#[derive(Subcommand)]
pub(crate) enum ResultsCommand {
    /// List campaigns, newest first
    List {
        #[command(flatten)]
        filter: FilterArgs,
        /// Maximum number of campaigns
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a campaign's findings, verdicts and trials
    Show {
        /// Campaign id, a prefix of it, its last six digits, its name (of several the latest), or 'latest'
        #[arg(default_value = "latest")]
        campaign: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare campaigns with the first one
    Compare {
        /// Campaigns to compare
        #[arg(required = true, num_args = 2..)]
        campaigns: Vec<String>,
        #[command(flatten)]
        axes: AxesArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show findings over time: median, and the last value relative to it
    Trend {
        #[command(flatten)]
        filter: FilterArgs,
        /// Only campaigns of this profile: its SHA-256 or a prefix of it
        #[arg(long, value_name = "SHA256")]
        profile: Option<String>,
        /// Only this frame length or mix
        #[arg(long, value_name = "FRAMES")]
        frame: Option<String>,
        /// Only this goal, such as throughput, ndr or latency_p99
        #[arg(long)]
        goal: Option<String>,
        /// Maximum number of campaigns, newest first
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write an HTML report of one campaign, of several compared, or of a run's files
    Report {
        /// Campaigns [default: latest]
        campaigns: Vec<String>,
        /// Output directory of 'eagre run --out', instead of campaigns
        #[arg(long, value_name = "DIR", conflicts_with = "campaigns")]
        run: Option<PathBuf>,
        #[command(flatten)]
        axes: AxesArgs,
        /// Output file; '-' writes to standard output
        #[arg(long, short, value_name = "FILE|-", default_value = "report.html")]
        output: PathBuf,
    },
    /// Export campaigns as CSV or JSON
    Export {
        /// Campaigns [default: latest]
        campaigns: Vec<String>,
        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Csv)]
        format: Format,
        /// Output file; '-' writes to standard output
        #[arg(long, short, value_name = "FILE|-", default_value = "-")]
        output: PathBuf,
    },
    /// Add runs' files to the store, as a campaign with one trial per run
    Add {
        /// Output directories of 'eagre run --out' or 'eagre sim --out'; the runs can differ only in load and duration
        #[arg(value_name = "DIR", required = true)]
        runs: Vec<PathBuf>,
        /// Name of the campaign [default: the first directory's name]
        #[arg(long)]
        name: Option<String>,
        /// Tag to find it by; 'key=value' tags make tables: dut=frr, config=nat
        #[arg(long, value_name = "TAG")]
        tag: Vec<String>,
    },
    /// Write the profile of a campaign
    Profile {
        /// Campaign id, a prefix of it, its last six digits, or 'latest'
        #[arg(default_value = "latest")]
        campaign: String,
        /// Write the document of --path instead; communities and passwords are not kept and read 'hidden'
        #[arg(long)]
        path: bool,
        /// Output file; '-' writes to standard output
        #[arg(long, short, value_name = "FILE|-", default_value = "-")]
        output: PathBuf,
    },
    /// Delete campaigns with all their data
    Delete {
        /// Campaigns
        #[arg(required = true)]
        campaigns: Vec<String>,
    },
}

/// Selection of campaigns.
#[derive(ClapArgs)]
pub(crate) struct FilterArgs {
    /// Only campaigns of this method
    #[arg(long)]
    pub method: Option<String>,
    /// Only campaigns with this name
    #[arg(long)]
    pub name: Option<String>,
    /// Only campaigns with this tag; repeat it to require several
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Only campaigns started at or after this date: 2026-11-30, optionally with a time
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
}

/// Tag keys of a table's rows and columns.
#[derive(ClapArgs)]
pub(crate) struct AxesArgs {
    /// Tag key for table rows
    #[arg(long, value_name = "KEY", default_value = "dut")]
    pub rows: String,
    /// Tag key for table columns
    #[arg(long, value_name = "KEY", default_value = "config")]
    pub columns: String,
}

/// Export formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One row per trial
    Csv,
    /// CSV with one row per finding: value, lower, upper, resolution, spread, doubt
    Findings,
    /// Everything, including documents and intervals
    Json,
    /// One document per frame length, in the style of FD.io CSIT
    Trending,
    /// One row per trial, with column types
    #[cfg(feature = "parquet")]
    Parquet,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = if error.is_bad_input() { Exit::BadInput } else { Exit::Refused };
        Self { exit, text: error.to_string() }
    }
}

/// Default path of the store.
pub(crate) fn default_store() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    data.unwrap_or_default().join("eagre").join("results.db")
}

/// `eagre results`.
pub(crate) fn results(args: &ResultsArgs) -> Result<Exit, Failure> {
    use ResultsCommand as C;
    let path = args.store.clone().unwrap_or_else(default_store);
    os::draft::keep(&path);
    let open = || Store::open_to_read(&path);
    match &args.command {
        C::List { filter, limit, json } => list(&open()?, &selection(filter, Some(*limit)), *json),
        C::Show { campaign, json } => show(&open()?, campaign, *json),
        C::Compare { campaigns, axes, json } => compare(&load(&open()?, campaigns)?, axes, *json),
        C::Trend { filter, profile, frame, goal, limit, json } => {
            let query = TrendQuery {
                campaigns: selection(filter, *limit),
                profile_sha256: profile.clone(),
                frame: frame.clone(),
                goal: goal.clone(),
            };
            trend(&open()?, &query, *json)
        }
        C::Report { run: Some(run), output, .. } => write_report(&report::campaign(&of_files(run)?), output),
        C::Report { campaigns, axes, output, .. } => {
            let loaded = load(&open()?, or_latest(campaigns))?;
            let page = match &loaded[..] {
                [one] => report::campaign(one),
                several => report::comparison(several, &axes.rows, &axes.columns),
            };
            write_report(&page, output)
        }
        C::Export { campaigns, format, output } => export_to(&open()?, or_latest(campaigns), *format, output),
        C::Profile { campaign, path, output } => {
            let store = open()?;
            let kept = store.campaign(&store.find(campaign)?)?;
            let text = if *path { path_document(&kept)? } else { kept.profile };
            to_output(output, |out| Ok(out.write_all(text.as_bytes())?))?;
            Ok(Exit::Done)
        }
        C::Add { runs, name, tag } => add(&path, runs, name.as_deref(), tag),
        C::Delete { campaigns } => delete(&mut Store::open_existing(&path)?, campaigns),
    }
}

/// The document of `--path` that a campaign was run with.
fn path_document(campaign: &Campaign) -> Result<String, Failure> {
    let document = &campaign.config["path_document"];
    if document.is_null() {
        let reason = format!("campaign {} was run without --path, or by an older version", campaign.id);
        return Err(Failure::bad_input(reason));
    }
    let text = serde_json::to_string_pretty(document).map_err(|error| Failure::refused(error.to_string()))?;
    Ok(text + "\n")
}

fn selection(args: &FilterArgs, limit: Option<u32>) -> Filter {
    Filter {
        method: args.method.clone(),
        name: args.name.clone(),
        tags: args.tag.clone(),
        since: args.since.clone(),
        limit,
    }
}

fn or_latest(campaigns: &[String]) -> Vec<String> {
    if campaigns.is_empty() { vec!["latest".to_owned()] } else { campaigns.to_vec() }
}

fn load(store: &Store, references: impl AsRef<[String]>) -> Result<Vec<Loaded>, Failure> {
    let one = |reference: &String| Ok(store.load(&store.find(reference)?)?);
    references.as_ref().iter().map(one).collect()
}

fn list(store: &Store, filter: &Filter, json: bool) -> Result<Exit, Failure> {
    let all = store.list(filter)?;
    if json {
        return print_json(&all);
    }
    let row = |s: &store::Summary| {
        let issues = [(s.invalid, "invalid"), (s.generator_limited, "limited")];
        let issues: Vec<String> =
            issues.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        vec![
            s.id.to_string(),
            s.name.clone(),
            s.method.clone(),
            s.state.as_str().to_owned(),
            s.trials.to_string(),
            issues.join(", ") + &s.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}")),
            s.tags.join(" "),
        ]
    };
    print!(
        "{}",
        table(
            &["campaign", "name", "method", "state", "trials", "issues", "tags"],
            all.iter().map(row).collect()
        )
    );
    Ok(Exit::Done)
}

fn show(store: &Store, reference: &str, json: bool) -> Result<Exit, Failure> {
    let id = store.find(reference)?;
    if json {
        return print_json(&export::archive(store, &id)?);
    }
    let (campaign, findings, trials) = (store.campaign(&id)?, store.findings(&id)?, store.trials(&id)?);
    println!("  {} · {} · {} · {}", campaign.id, campaign.name, campaign.method, campaign.state.as_str());
    println!("  started {}, version {}, seed {}", campaign.started, campaign.version, campaign.seed);
    if let Some(reason) = &campaign.reason {
        println!("  failed: {reason}");
    }
    for result in store.method_results(&id)? {
        result.summary.iter().chain(&result.remarks).for_each(|sentence| println!("  {sentence}"));
    }
    let or_dash =
        |value: Option<f64>, unit: &str| value.map_or("-".to_owned(), |value| quantity(value, unit));
    if !findings.is_empty() {
        let row = |f: &store::Finding| {
            let share = f.value.zip(f.line).filter(|(_, line)| *line > 0.0);
            vec![
                f.frame.clone(),
                f.goal.clone(),
                or_dash(f.value, &f.unit),
                share.map_or("-".to_owned(), |(value, line)| percent(value / line)),
                or_dash(f.lower, &f.unit),
                or_dash(f.upper, &f.unit),
                or_dash(f.spread, &f.unit),
                f.note.clone().unwrap_or_default(),
            ]
        };
        let head = ["frames", "goal", "value", "of line rate", "at least", "below", "std dev", "remark"];
        print!("\n{}", table(&head, findings.iter().map(row).collect()));
    }
    let row = |t: &store::TrialRow| {
        let verdict = match (t.valid, t.generator_limited) {
            (false, _) => "INVALID",
            (_, true) => "tester limited",
            _ if t.disturbed => "disturbed",
            _ => "valid",
        };
        let because = t.reasons.first().map_or_else(String::new, |reason| format!(": {reason}"));
        let verdict = format!("{verdict}{because}");
        vec![
            t.ordinal.to_string(),
            t.label.clone(),
            or_dash(t.figures.offered_pps, "pps"),
            t.figures.loss_ratio.map_or("-".to_owned(), percent),
            or_dash(t.figures.latency_p50_ns, "ns"),
            or_dash(t.figures.latency_p99_ns, "ns"),
            verdict,
        ]
    };
    let head = ["trial", "label", "offered", "loss", "p50", "p99", "verdict"];
    print!("\n{}", table(&head, trials.iter().take(TRIALS_MAX).map(row).collect()));
    if trials.len() > TRIALS_MAX {
        println!("  … and {} more; for all: eagre results report {id}", trials.len() - TRIALS_MAX);
    }
    let mut reasons: Vec<&String> = trials.iter().flat_map(|trial| &trial.reasons).collect();
    reasons.sort();
    reasons.dedup();
    reasons.iter().for_each(|reason| println!("    - {reason}"));
    Ok(Exit::Done)
}

/// Value, difference in percent, and whether the difference exceeds the noise.
fn compared(cell: Option<&Cell>, unit: &str) -> String {
    let Some(value) = cell.and_then(|cell| cell.value) else { return "-".to_owned() };
    let difference = cell.and_then(|cell| cell.difference);
    let ratio = difference.and_then(|d| d.ratio).map(|ratio| format!(" {}", signed_percent(ratio)));
    let mark = match difference.and_then(|d| d.beyond_noise) {
        Some(true) => " *",
        Some(false) => " ~",
        None => "",
    };
    format!("{}{}{mark}", quantity(value, unit), ratio.unwrap_or_default())
}

/// Output of `compare --json`.
#[derive(Serialize)]
struct ComparisonDocument<'a> {
    comparison: &'a Comparison,
    matrices: &'a [Matrix],
}

fn compare(campaigns: &[Loaded], axes: &AxesArgs, json: bool) -> Result<Exit, Failure> {
    let comparison = store::compare(campaigns);
    let matrices = comparison.matrices(&axes.rows, &axes.columns);
    if json {
        return print_json(&ComparisonDocument { comparison: &comparison, matrices: &matrices });
    }
    let names: Vec<String> = comparison
        .campaigns
        .iter()
        .map(|c| format!("{}{}", c.name, if c.invalid + c.generator_limited > 0 { " (!)" } else { "" }))
        .collect();
    let mut head = vec!["frames", "goal"];
    head.extend(names.iter().map(String::as_str));
    let row = |row: &store::ComparisonRow| {
        let mut cells = vec![row.frame.clone(), row.goal.clone()];
        cells.extend(row.cells.iter().map(|cell| compared(cell.as_ref(), &row.unit)));
        cells
    };
    print!("{}", table(&head, comparison.rows.iter().map(row).collect()));
    for matrix in &matrices {
        println!("\n  {} {}: {} by {}", matrix.frame, matrix.goal, axes.rows, axes.columns);
        let mut head = vec![""];
        head.extend(matrix.columns.iter().map(String::as_str));
        let rows = matrix.rows.iter().zip(&matrix.cells).map(|(name, cells)| {
            let value = |cell: &Option<Cell>| {
                let value = cell.as_ref().and_then(|cell| cell.value);
                value.map_or("-".to_owned(), |value| quantity(value, &matrix.unit))
            };
            [name.clone()].into_iter().chain(cells.iter().map(value)).collect()
        });
        print!("{}", table(&head, rows.collect()));
    }
    println!();
    comparison.sentences.iter().for_each(|sentence| println!("  {sentence}"));
    println!("\n  * beyond noise   ~ within noise   (!) has invalid or generator-limited trials");
    Ok(Exit::Done)
}

fn trend(store: &Store, query: &TrendQuery, json: bool) -> Result<Exit, Failure> {
    let all = store.trend(query)?;
    if json {
        return print_json(&all);
    }
    let row = |t: &store::Trend| {
        let last = t.points.last().map_or("-".to_owned(), |point| quantity(point.value, &t.unit));
        let judged = match t.last_is_unusual {
            Some(true) => "unusual",
            Some(false) => "normal",
            None => "",
        };
        vec![
            t.name.clone(),
            t.method.clone(),
            t.frame.clone(),
            t.goal.clone(),
            t.points.len().to_string(),
            quantity(t.median, &t.unit),
            last,
            t.last_ratio.map_or("-".to_owned(), signed_percent),
            judged.to_owned(),
        ]
    };
    let head = ["name", "method", "frames", "goal", "runs", "median", "last", "last / median", ""];
    print!("{}", table(&head, all.iter().map(row).collect()));
    Ok(Exit::Done)
}

/// Writes to a file, or to standard output.
fn to_output(
    output: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), StoreError>,
) -> Result<(), Failure> {
    if output == Path::new("-") {
        return write(&mut Stdout).map_err(Failure::from);
    }
    let lost = |e: &dyn std::fmt::Display| Failure::refused(format!("{}: {e}", output.display()));
    let file = Draft::create(output).map_err(|e| Failure::bad_input(format!("{}: {e}", output.display())))?;
    let mut file = BufWriter::new(file);
    write(&mut file).map_err(|e| lost(&e))?;
    file.into_inner().map_err(|e| lost(e.error())).and_then(|file| file.commit().map_err(|e| lost(&e)))
}

fn write_report(page: &str, output: &Path) -> Result<Exit, Failure> {
    to_output(output, |out| Ok(out.write_all(page.as_bytes())?))?;
    if output != Path::new("-") {
        println!("{}", output.display());
    }
    Ok(Exit::Done)
}

fn pretty<T: Serialize + ?Sized>(out: &mut (dyn Write + Send), value: &T) -> Result<(), StoreError> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    Ok(out.write_all(b"\n")?)
}

fn export_to(store: &Store, references: Vec<String>, format: Format, output: &Path) -> Result<Exit, Failure> {
    let loaded = load(store, &references)?;
    match format {
        Format::Csv => to_output(output, |out| export::csv(&loaded, out))?,
        Format::Findings => to_output(output, |out| export::findings(&loaded, out))?,
        Format::Json => {
            let all = loaded
                .iter()
                .map(|l| export::archive(store, &l.campaign.id))
                .collect::<Result<Vec<_>, _>>()?;
            to_output(output, |out| match &all[..] {
                [one] => pretty(out, one),
                several => pretty(out, several),
            })?;
        }
        Format::Trending => {
            let all: Vec<_> = loaded.iter().flat_map(export::trending).collect();
            to_output(output, |out| pretty(out, &all))?;
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => to_output(output, |out| export::parquet(&loaded, out))?,
    }
    Ok(Exit::Done)
}

/// The files of `eagre run --out`.
struct RunFiles {
    campaign: NewCampaign,
    trial: NewTrial,
    document: ResultDocument,
}

/// The report's data of a run's files.
fn of_files(run: &Path) -> Result<Loaded, Failure> {
    let RunFiles { campaign, trial, .. } = RunFiles::read(run)?;
    Ok(Loaded::single(campaign, trial.result, trial.intervals))
}

/// The store's record of a run. `started` is the time of a simulated run, whose document has none.
pub(crate) fn about_run(
    document: &ResultDocument,
    name: &str,
    profile: String,
    started: String,
) -> NewCampaign {
    let method = if document.timestamp_class == "simulated" { "sim" } else { "run" };
    NewCampaign {
        method: method.to_owned(),
        command: format!("eagre {method} profile.yaml --seed {}", document.seed),
        version: document.version.to_string(),
        started: document.started.clone().unwrap_or(started),
        name: name.to_owned(),
        profile,
        seed: document.seed,
        ..NewCampaign::default()
    }
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::bad_input(format!("{}: {error}", path.display()))
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Failure> {
    // Of bytes, as everywhere: readers of large documents are large themselves.
    serde_json::from_slice(text.as_bytes()).map_err(|error| wrong(path, &error))
}

/// The part of a document by which its kind is known.
#[derive(Deserialize)]
struct Named {
    schema: Option<String>,
}

/// The file of a folder's result, which may have been compressed since.
fn result_in(folder: &Path) -> PathBuf {
    let [plain, packed] = ["result.json", "result.json.gz"].map(|name| folder.join(name));
    if !plain.exists() && packed.exists() { packed } else { plain }
}

/// The document of a run's folder, or of a file.
pub(crate) fn document_of(path: &Path) -> Result<ResultDocument, Failure> {
    let file = if path.is_dir() { result_in(path) } else { path.to_path_buf() };
    let text = text::read_unpacked(&file).map_err(|e| wrong(&file, &e))?;
    let schema = serde_json::from_str(&text).ok().and_then(|Named { schema }| schema);
    if schema.as_deref() != Some(result::SCHEMA) {
        let found =
            schema.map_or("it has no 'schema'".to_owned(), |schema| format!("its 'schema' is '{schema}'"));
        return Err(wrong(
            &file,
            &format!(
                "not a result: {found}, not '{}'; 'eagre run --json FILE' writes results",
                result::SCHEMA
            ),
        ));
    }
    parse(&file, &text)
}

impl RunFiles {
    fn read(run: &Path) -> Result<Self, Failure> {
        let read = |path: &Path| text::read(path).map_err(|e| wrong(path, &e));
        let path = result_in(run);
        let text = text::read_unpacked(&path).map_err(|e| wrong(&path, &e))?;
        let document: ResultDocument = parse(&path, &text)?;
        let lines = run.join("intervals.jsonl");
        let intervals = if lines.exists() {
            read(&lines)?.lines().map(|line| parse(&lines, line)).collect::<Result<_, _>>()?
        } else {
            Vec::new()
        };
        // A simulated run has no start time: use the file's modification time.
        let modified = || std::fs::metadata(&path).and_then(|about| about.modified());
        let started = match &document.started {
            Some(started) => started.clone(),
            None => {
                let modified = modified().map_err(|e| wrong(run, &e))?;
                humantime::format_rfc3339_millis(modified).to_string()
            }
        };
        let name =
            run.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
        let profile = text::read(&run.join("profile.yaml")).unwrap_or_default();
        let campaign = about_run(&document, &name, profile, started);
        let key = format!("{name} {}", document.profile_sha256);
        let result = parse(&path, &text)?;
        let trial = NewTrial { number: 1, key, label: name, result, intervals, ..NewTrial::default() };
        Ok(Self { campaign, trial, document })
    }
}

fn add(path: &Path, runs: &[PathBuf], name: Option<&str>, tags: &[String]) -> Result<Exit, Failure> {
    // Read all files first, so that an error adds nothing.
    let read = runs.iter().map(|run| RunFiles::read(run)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = read.first() else { return Ok(Exit::Done) };
    let mut campaign = NewCampaign { tags: tags.to_vec(), ..first.campaign.clone() };
    if let Some(name) = name {
        name.clone_into(&mut campaign.name);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|e| wrong(folder, &e))?;
    }
    let interrupted = read.iter().any(|run| run.document.interrupted);
    let mut store = Store::open(path)?;
    let id = store.begin(&campaign)?;
    for (number, run) in (1..).zip(read) {
        store.record(&id, &NewTrial { number, ..run.trial })?;
    }
    store.end(&id, if interrupted { State::Interrupted } else { State::Done }, None, None)?;
    println!("{id}");
    Ok(Exit::Done)
}

fn delete(store: &mut Store, references: &[String]) -> Result<Exit, Failure> {
    // Look up all campaigns first, so that an error deletes nothing.
    let ids = references.iter().map(|one| store.find(one)).collect::<Result<Vec<_>, _>>()?;
    for id in &ids {
        store.delete(id)?;
        println!("deleted {id}");
    }
    Ok(Exit::Done)
}
