//! `eagre results`: what is in the store, side by side, over time, as pages and for other programs.

use crate::summary::table;
use crate::{Exit, Failure};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use store::{
    Cell, Filter, Loaded, NewCampaign, NewTrial, State, Store, StoreError, TrendQuery, export, percent,
    quantity, report,
};

/// Trials shown by `show`; more are in the report and the export.
const TRIALS_MAX: usize = 40;

#[derive(ClapArgs)]
pub struct ResultsArgs {
    /// The store [default: results.db under $XDG_DATA_HOME/eagre or ~/.local/share/eagre]
    #[arg(long, value_name = "FILE", global = true)]
    pub store: Option<PathBuf>,
    #[command(subcommand)]
    pub command: ResultsCommand,
}

#[derive(Subcommand)]
pub enum ResultsCommand {
    /// List campaigns, newest first
    List {
        #[command(flatten)]
        which: Which,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a campaign found, its verdict and its trials
    Show {
        /// Id, its beginning, its last six digits, or 'latest'
        #[arg(default_value = "latest")]
        campaign: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put campaigns side by side; differences are from the first
    Compare {
        /// Two campaigns or more
        #[arg(required = true, num_args = 2..)]
        campaigns: Vec<String>,
        #[command(flatten)]
        axes: Axes,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show findings over time: values, median, and the last against the median
    Trend {
        #[command(flatten)]
        which: Which,
        /// Only campaigns of this profile: its SHA-256, or the beginning of it
        #[arg(long, value_name = "SHA256")]
        profile: Option<String>,
        /// Only this frame length or mix
        #[arg(long, value_name = "FRAMES")]
        frame: Option<String>,
        /// Only this goal: throughput, ndr, latency_p99 …
        #[arg(long)]
        goal: Option<String>,
        /// At most so many campaigns, the newest
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a report as one HTML file: of one campaign, of several side by side, or of a run's files
    Report {
        /// Campaigns; 'latest' if none is given
        campaigns: Vec<String>,
        /// The folder 'eagre run --out' has written, instead of campaigns
        #[arg(long, value_name = "DIR", conflicts_with = "campaigns")]
        run: Option<PathBuf>,
        #[command(flatten)]
        axes: Axes,
        /// The file; '-' is standard output
        #[arg(long, short, value_name = "FILE|-", default_value = "report.html")]
        output: PathBuf,
    },
    /// Write campaigns for other programs
    Export {
        /// Campaigns; 'latest' if none is given
        campaigns: Vec<String>,
        /// What to write
        #[arg(long, value_enum, default_value_t = Format::Csv)]
        format: Format,
        /// The file; '-' is standard output
        #[arg(long, short, value_name = "FILE|-", default_value = "-")]
        output: PathBuf,
    },
    /// Keep runs' files in the store, as a campaign with a trial for each
    Add {
        /// Folders 'eagre run --out' or 'eagre sim --out' has written; runs of one campaign differ in load or length only
        #[arg(value_name = "DIR", required = true)]
        runs: Vec<PathBuf>,
        /// What to call it; the first folder's name if left out
        #[arg(long)]
        name: Option<String>,
        /// A word to find it by; 'key=value' makes tables: dut=frr, config=nat
        #[arg(long, value_name = "TAG")]
        tag: Vec<String>,
    },
    /// Remove campaigns with all they have
    Delete {
        /// Campaigns
        #[arg(required = true)]
        campaigns: Vec<String>,
    },
}

/// Which campaigns.
#[derive(ClapArgs)]
pub struct Which {
    /// Only campaigns of this method
    #[arg(long)]
    pub method: Option<String>,
    /// Only campaigns of this name
    #[arg(long)]
    pub name: Option<String>,
    /// Only campaigns with this tag; several must all be there
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Only campaigns begun then or later: 2026-11-30, or with a time
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
}

/// Tags that make tables.
#[derive(ClapArgs)]
pub struct Axes {
    /// Key of the tags whose values are the rows of tables
    #[arg(long, value_name = "KEY", default_value = "dut")]
    pub rows: String,
    /// Key of the tags whose values are the columns of tables
    #[arg(long, value_name = "KEY", default_value = "config")]
    pub columns: String,
}

/// What an export is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A row for each trial
    Csv,
    /// Everything, documents and intervals too
    Json,
    /// A document for each frame length, in the manner of FD.io CSIT
    Trending,
    /// A row for each trial, with types
    #[cfg(feature = "parquet")]
    Parquet,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = if error.is_bad_input() { Exit::BadInput } else { Exit::Refused };
        Self { exit, text: error.to_string() }
    }
}

/// Where the store is if nobody says.
pub(crate) fn default_store() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    data.unwrap_or_default().join("eagre").join("results.db")
}

/// `eagre results`.
pub(crate) fn results(args: &ResultsArgs) -> Result<Exit, Failure> {
    use ResultsCommand as C;
    let path = args.store.clone().unwrap_or_else(default_store);
    let open = || Store::open_existing(&path);
    match &args.command {
        C::List { which, limit, json } => list(&open()?, &filter(which, Some(*limit)), *json),
        C::Show { campaign, json } => show(&open()?, campaign, *json),
        C::Compare { campaigns, axes, json } => compare(&load(&open()?, campaigns)?, axes, *json),
        C::Trend { which, profile, frame, goal, limit, json } => {
            let query = TrendQuery {
                campaigns: filter(which, *limit),
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
        C::Add { runs, name, tag } => add(&path, runs, name.as_deref(), tag),
        C::Delete { campaigns } => delete(&mut open()?, campaigns),
    }
}

fn filter(which: &Which, limit: Option<u32>) -> Filter {
    Filter {
        method: which.method.clone(),
        name: which.name.clone(),
        tags: which.tag.clone(),
        since: which.since.clone(),
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

fn print_json(value: &impl serde::Serialize) -> Result<Exit, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::refused(e.to_string()))?;
    println!("{text}");
    Ok(Exit::Done)
}

fn list(store: &Store, filter: &Filter, json: bool) -> Result<Exit, Failure> {
    let all = store.list(filter)?;
    if json {
        return print_json(&all);
    }
    let row = |s: &store::Summary| {
        let doubts = [(s.invalid, "not valid"), (s.generator_limited, "limited")];
        let doubts: Vec<String> =
            doubts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        vec![
            s.id.to_string(),
            s.name.clone(),
            s.method.clone(),
            s.state.as_str().to_owned(),
            s.trials.to_string(),
            doubts.join(", "),
            s.tags.join(" "),
        ]
    };
    print!(
        "{}",
        table(
            &["campaign", "name", "method", "state", "trials", "doubts", "tags"],
            all.iter().map(row).collect()
        )
    );
    Ok(Exit::Done)
}

fn show(store: &Store, reference: &str, json: bool) -> Result<Exit, Failure> {
    let id = store.find(reference)?;
    if json {
        return print_json(&export::json(store, &id)?);
    }
    let (campaign, findings, trials) = (store.campaign(&id)?, store.findings(&id)?, store.trials(&id)?);
    println!("  {} · {} · {} · {}", campaign.id, campaign.name, campaign.method, campaign.state.as_str());
    println!("  started {}, version {}, seed {}", campaign.started, campaign.version, campaign.seed);
    if let Some(reason) = &campaign.reason {
        println!("  it failed: {reason}");
    }
    for document in store.method_results(&id)? {
        let sentences =
            ["summary", "remarks"].into_iter().filter_map(|key| document[key].as_array()).flatten();
        sentences.filter_map(Value::as_str).for_each(|sentence| println!("  {sentence}"));
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
                or_dash(f.noise(), &f.unit),
                f.note.clone().unwrap_or_default(),
            ]
        };
        let head = ["frames", "goal", "found", "of line", "give or take", "remark"];
        print!("\n{}", table(&head, findings.iter().map(row).collect()));
    }
    let row = |t: &store::TrialRow| {
        let verdict = match (t.valid, t.generator_limited) {
            (false, _) => "NOT VALID",
            (_, true) => "tester limited",
            _ => "valid",
        };
        vec![
            t.number.to_string(),
            t.label.clone(),
            or_dash(t.figures.offered_pps, "pps"),
            t.figures.loss_ratio.map_or("-".to_owned(), percent),
            or_dash(t.figures.latency_p50_ns, "ns"),
            or_dash(t.figures.latency_p99_ns, "ns"),
            verdict.to_owned(),
        ]
    };
    let head = ["trial", "what", "offered", "loss", "p50", "p99", "verdict"];
    print!("\n{}", table(&head, trials.iter().take(TRIALS_MAX).map(row).collect()));
    if trials.len() > TRIALS_MAX {
        println!("  … and {} more; `eagre results report {id}` has all", trials.len() - TRIALS_MAX);
    }
    let mut reasons: Vec<&String> = trials.iter().flat_map(|trial| &trial.reasons).collect();
    reasons.sort();
    reasons.dedup();
    reasons.iter().for_each(|reason| println!("    - {reason}"));
    Ok(Exit::Done)
}

/// Value, difference in percent, and whether that is more than noise.
fn compared(cell: Option<&Cell>, unit: &str) -> String {
    let Some(value) = cell.and_then(|cell| cell.value) else { return "-".to_owned() };
    let difference = cell.and_then(|cell| cell.difference);
    let ratio = difference.and_then(|d| d.ratio).map(|ratio| format!(" {:+.1}%", ratio * 100.0));
    let mark = match difference.and_then(|d| d.beyond_noise) {
        Some(true) => " *",
        Some(false) => " ~",
        None => "",
    };
    format!("{}{}{mark}", quantity(value, unit), ratio.unwrap_or_default())
}

fn compare(campaigns: &[Loaded], axes: &Axes, json: bool) -> Result<Exit, Failure> {
    let comparison = store::compare(campaigns);
    let matrices = comparison.matrices(&axes.rows, &axes.columns);
    if json {
        return print_json(&json!({"comparison": comparison, "matrices": matrices}));
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
    println!("\n  * beyond the noise   ~ within the noise   (!) has trials that are not valid or limited");
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
            Some(false) => "as usual",
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
            t.last_ratio.map_or("-".to_owned(), |ratio| format!("{:+.1}%", ratio * 100.0)),
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
        let mut out = std::io::stdout();
        return write(&mut out).and_then(|()| Ok(out.flush()?)).map_err(Failure::from);
    }
    let lost = |e: &dyn std::fmt::Display| Failure::refused(format!("{}: {e}", output.display()));
    let file = File::create(output).map_err(|e| Failure::bad_input(format!("{}: {e}", output.display())))?;
    let mut file = BufWriter::new(file);
    write(&mut file).map_err(|e| lost(&e))?;
    file.flush().map_err(|e| lost(&e))
}

fn write_report(page: &str, output: &Path) -> Result<Exit, Failure> {
    to_output(output, |out| Ok(out.write_all(page.as_bytes())?))?;
    if output != Path::new("-") {
        println!("{}", output.display());
    }
    Ok(Exit::Done)
}

fn export_to(store: &Store, references: Vec<String>, format: Format, output: &Path) -> Result<Exit, Failure> {
    let loaded = load(store, &references)?;
    let pretty = |out: &mut (dyn Write + Send), value: &Value| -> Result<(), StoreError> {
        serde_json::to_writer_pretty(&mut *out, value)?;
        Ok(out.write_all(b"\n")?)
    };
    match format {
        Format::Csv => to_output(output, |out| export::csv(&loaded, out))?,
        Format::Json => {
            let all: Result<Vec<Value>, _> =
                loaded.iter().map(|l| export::json(store, &l.campaign.id)).collect();
            let mut all = all?;
            let value = if all.len() == 1 { all.remove(0) } else { Value::Array(all) };
            to_output(output, |out| pretty(out, &value))?;
        }
        Format::Trending => {
            let all = Value::Array(loaded.iter().flat_map(export::trending).collect());
            to_output(output, |out| pretty(out, &all))?;
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => to_output(output, |out| export::parquet(&loaded, out))?,
    }
    Ok(Exit::Done)
}

/// What `eagre run --out` has written.
fn of_files(run: &Path) -> Result<Loaded, Failure> {
    let (about, trial) = read_files(run)?;
    Ok(Loaded::single(about, trial.result, trial.intervals))
}

fn read_files(run: &Path) -> Result<(NewCampaign, NewTrial), Failure> {
    let path = |name: &str| run.join(name);
    let wrong =
        |path: &Path, e: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {e}", path.display()));
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| wrong(path, &e));
    let parse = |path: &Path, text: &str| serde_json::from_str::<Value>(text).map_err(|e| wrong(path, &e));
    let result = parse(&path("result.json"), &read(&path("result.json"))?)?;
    let lines = path("intervals.jsonl");
    let intervals = if lines.exists() {
        read(&lines)?.lines().map(|line| parse(&lines, line)).collect::<Result<_, _>>()?
    } else {
        Vec::new()
    };
    let profile = std::fs::read_to_string(path("profile.yaml")).unwrap_or_default();
    let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
    // A simulated run has no instant of its own: when it was written stands for it.
    let written = || std::fs::metadata(path("result.json")).and_then(|about| about.modified());
    let started = match result["started"].as_str() {
        Some(started) => started.to_owned(),
        None => {
            let written = written().map_err(|e| wrong(run, &e))?;
            humantime::format_rfc3339_millis(written).to_string()
        }
    };
    let name = run.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
    let seed = result["seed"].as_u64().unwrap_or_default();
    let about = NewCampaign {
        method: if result["timestamp_class"] == "simulated" { "sim" } else { "run" }.to_owned(),
        command: format!("eagre run profile.yaml --seed {seed}"),
        version: text("version"),
        started,
        name,
        profile,
        seed,
        ..NewCampaign::default()
    };
    let key = format!("{} {}", about.name, result["profile_sha256"]);
    let trial =
        NewTrial { number: 1, key, label: about.name.clone(), result, intervals, ..NewTrial::default() };
    Ok((about, trial))
}

fn add(path: &Path, runs: &[PathBuf], name: Option<&str>, tags: &[String]) -> Result<Exit, Failure> {
    // All are read first: a mistake in one of them adds none.
    let mut read = runs.iter().map(|run| read_files(run)).collect::<Result<Vec<_>, _>>()?;
    let Some((about, _)) = read.first_mut() else { return Ok(Exit::Done) };
    about.name = name.map_or(std::mem::take(&mut about.name), str::to_owned);
    about.tags = tags.to_vec();
    let about = about.clone();
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::bad_input(format!("{}: {e}", folder.display())))?;
    }
    let interrupted = read.iter().any(|(_, trial)| trial.result["interrupted"] == true);
    let mut store = Store::open(path)?;
    let id = store.begin(&about)?;
    for (number, (_, trial)) in (1..).zip(read) {
        store.record(&id, &NewTrial { number, ..trial })?;
    }
    store.end(&id, if interrupted { State::Interrupted } else { State::Done }, None, None)?;
    println!("{id}");
    Ok(Exit::Done)
}

fn delete(store: &mut Store, references: &[String]) -> Result<Exit, Failure> {
    // All are looked up first: a mistake in one of them deletes none.
    let ids = references.iter().map(|one| store.find(one)).collect::<Result<Vec<_>, _>>()?;
    for id in &ids {
        store.delete(id)?;
        println!("deleted {id}");
    }
    Ok(Exit::Done)
}
