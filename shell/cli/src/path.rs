//! `path`: polls device counters along a path while traffic runs, and reports where packets were lost.

use crate::output::NewFile;
use crate::run::bad_profile;
use crate::table::table;
use crate::text;
use crate::{Exit, Failure, words};
use clap::Args;
use counters::{CounterError, PathConfig, PathReport, Poller, Sample};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use units::{Nanos, count};

/// Options of `eagre path`.
#[derive(Args)]
pub(crate) struct PathArgs {
    /// Path document with the hops (YAML or JSON); '-' reads standard input
    file: PathBuf,
    /// Duration [default: until Ctrl-C]
    #[arg(long = "for", visible_alias = "duration", value_name = "TIME", value_parser = words::time)]
    duration: Option<Nanos>,
    /// Write the report to a file; '-' writes to standard output
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// Write a page with rates over time to a file (HTML)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// The report as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'a PathReport,
}

impl From<CounterError> for Failure {
    fn from(error: CounterError) -> Self {
        if error.is_bad_input() {
            Self::bad_input(error.to_string())
        } else {
            Self::refused(error.to_string())
        }
    }
}

/// Destination of the JSON report.
enum Sink {
    Nowhere,
    Stdout,
    File(NewFile),
}

/// Name and version of the report.
const SCHEMA: &str = "eagre.path/1";

/// `eagre path`.
pub(crate) fn path(args: &PathArgs) -> Result<Exit, Failure> {
    let config = read(&args.file)?;
    config.check()?;
    let sink = Sink::open(args.json.as_deref())?;
    let page = args.report.as_deref().map(NewFile::create).transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::refused(format!("cannot install the Ctrl-C handler: {error}")))?;
    let mut poller = Poller::start(&config)?;
    if config.hops.iter().any(|hop| hop.snmp.is_some()) {
        eprintln!("  waiting {} for the SNMP agents to refresh their counters", config.refresh);
    }
    poller.begin();
    let until = args.duration.map_or_else(|| "until Ctrl-C".to_owned(), |time| format!("for {time}"));
    eprintln!("  polling {until}");
    let was_stopped = wait(args.duration, &stop);
    eprintln!("  reading the final counters");
    let report = poller.finish(None);
    let document = Document { schema: SCHEMA, report: &report };
    if let Some(page) = page {
        let document = serde_json::to_value(&document).map_err(|e| Failure::refused(e.to_string()))?;
        page.write(&store::report::counters(&document))?;
    }
    sink.write(&document)?;
    Ok(if was_stopped && args.duration.is_some() { Exit::Interrupted } else { Exit::Done })
}

pub(crate) fn read(file: &Path) -> Result<PathConfig, Failure> {
    let place = if file == Path::new("-") { "standard input".into() } else { file.to_string_lossy() };
    let read = text::read_or_stdin(file);
    let text = read.map_err(|error| Failure::bad_input(format!("{place}: {error}")))?;
    profile::read_document(&text).map_err(|errors| bad_profile(&place, &errors))
}

/// Placeholder for a secret in a stored document.
const HIDDEN: &str = "hidden";

/// A path document as it was written.
#[derive(Deserialize)]
#[serde(transparent)]
struct Written(Value);

impl JsonSchema for Written {
    fn schema_name() -> Cow<'static, str> {
        PathConfig::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PathConfig::json_schema(generator)
    }
}

/// The document as it can be kept and shown: what is secret is hidden.
pub(crate) fn kept(file: &Path) -> Result<Value, Failure> {
    let place = file.to_string_lossy();
    let text = text::read(file).map_err(|error| Failure::bad_input(format!("{place}: {error}")))?;
    let read = profile::read_document(&text).map_err(|errors| bad_profile(&place, &errors));
    let Written(mut document) = read?;
    hide(&mut document);
    Ok(document)
}

/// Hides communities and passwords.
fn hide(document: &mut Value) {
    match document {
        Value::Object(keys) => {
            for (key, value) in keys {
                match key.as_str() {
                    "community" | "password" => *value = HIDDEN.into(),
                    _ => hide(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        _ => {}
    }
}

/// Waits for `time`; returns whether it was stopped early.
fn wait(time: Option<Nanos>, stop: &AtomicBool) -> bool {
    let end = time.map(|time| os::clock::monotonic_ns().saturating_add(time.0));
    loop {
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        let left = end.map_or(u64::MAX, |end| end.saturating_sub(os::clock::monotonic_ns()));
        if left == 0 {
            return false;
        }
        std::thread::sleep(Duration::from_nanos(left.min(20_000_000)));
    }
}

impl Sink {
    /// Opened before polling, so that a bad path is reported first.
    fn open(json: Option<&Path>) -> Result<Self, Failure> {
        match json {
            None => Ok(Self::Nowhere),
            Some(path) if path == Path::new("-") => Ok(Self::Stdout),
            Some(path) => NewFile::create(path).map(Self::File),
        }
    }

    fn write(self, document: &Document<'_>) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document).map_err(|e| Failure::refused(e.to_string()))?;
        let written = match self {
            Self::Stdout => {
                println!("{text}");
                return Ok(());
            }
            Self::Nowhere => Ok(()),
            Self::File(file) => file.write(&(text + "\n")),
        };
        print!("{}", render(document.report));
        written
    }
}

/// The report as text.
fn render(report: &PathReport) -> String {
    let packets = |packets: Option<u64>| packets.map_or_else(|| "-".to_owned(), count);
    let percent =
        |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.0}%", share * 100.0));
    let rows = report.hops.iter().map(|hop| {
        let dropped: u64 = hop.drops.iter().map(|drop| drop.count).max().unwrap_or(0);
        vec![
            hop.name.clone(),
            packets(hop.in_packets),
            packets(hop.out_packets),
            packets(hop.lost),
            packets(Some(dropped)),
            percent(hop.cpu_busy),
            percent(hop.softirq),
            peak(report, &hop.name, |sample| sample.in_pps),
            peak(report, &hop.name, |sample| sample.out_pps),
            peak(report, &hop.name, |sample| sample.drops_pps),
        ]
    });
    let head = [
        "hop",
        "packets in",
        "out",
        "lost",
        "largest counter",
        "cpu busy",
        "softirq",
        "peak pps in",
        "out",
        "dropped",
    ];
    let mut text = table(&head, rows.collect());
    for hop in &report.hops {
        let drops = hop.drops.iter().map(|drop| format!("{}: {}", drop.counter, count(drop.count)));
        for line in drops.chain(hop.remarks.iter().cloned()) {
            let _ = writeln!(text, "  {}: {line}", hop.name);
        }
    }
    let weakest = report.weakest.as_ref().map(|weakest| weakest.sentence.as_str());
    let _ = writeln!(
        text,
        "\n{}",
        weakest.unwrap_or("No hop or link lost more packets than background traffic explains.")
    );
    for remark in &report.remarks {
        let _ = writeln!(text, "{remark}");
    }
    text
}

/// The highest rate among a hop's samples, packets per second.
fn peak(report: &PathReport, hop: &str, rate: fn(&Sample) -> Option<f64>) -> String {
    let rates = report.samples.iter().filter(|sample| sample.hop == hop).filter_map(rate);
    rates.reduce(f64::max).map_or_else(|| "-".to_owned(), |rate| count(rate.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_shown() {
        let report = serde_json::json!({
            "hops": [
                {"name": "r1", "in_packets": 9000, "out_packets": 8000, "lost": 1000, "cpu_busy": 0.5, "softirq": 0.25,
                 "drops": [{"counter": "qdisc tbf of b", "count": 1000}], "counters": {}, "remarks": []},
                {"name": "r2", "drops": [], "counters": {}, "remarks": ["its counters could not be read"]},
            ],
            "weakest": {"hop": "r1", "lost": 1000, "counters": [], "sentence": "r1 lost 1,000."},
            "remarks": ["More."], "duration_s": 1.0,
            "samples": [
                {"hop": "r1", "at_s": 0.5, "in_packets": 1, "out_packets": 1, "drops": 0, "in_pps": 11_000.4, "out_pps": 7_000.0, "drops_pps": 0.0},
                {"hop": "r1", "at_s": 1.0, "in_packets": 1, "out_packets": 1, "drops": 0, "in_pps": 9_000.0, "out_pps": 8_000.0, "drops_pps": null},
            ],
        });
        let text = render(&serde_json::from_value(report).unwrap());
        let row: Vec<&str> = text.lines().nth(1).unwrap_or_default().split_whitespace().collect();
        assert_eq!(
            row,
            ["r1", "9,000", "8,000", "1,000", "1,000", "50%", "25%", "11,000", "8,000", "0"],
            "{text}"
        );
        assert!(text.contains(
            "r1: qdisc tbf of b: 1,000\n  r2: its counters could not be read\n\nr1 lost 1,000.\nMore.\n"
        ));
    }
}
