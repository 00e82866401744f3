//! `eagre nat-log`: holds a gateway's own log against the mappings that `eagre bench nat --mappings` saw.

use crate::output::NewFile;
use crate::{Exit, Failure, words};
use clap::Args as ClapArgs;
use nat::{Comparison, LogFormat, Mapping, Mismatch, Pattern, Record, compare};
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use units::{Nanos, count};

/// Lines of each kind that are printed.
const PRINTED: usize = 10;

#[derive(ClapArgs)]
pub(crate) struct NatLogArgs {
    /// File of 'eagre bench nat --mappings'
    pub mappings: PathBuf,
    /// The gateway's log: the output of 'conntrack -E -o timestamp', or lines that --pattern takes apart
    pub log: PathBuf,
    /// Format of a line, with {inside} {inside_port} {outside} {outside_port} and, if it has them, {remote} {remote_port}
    /// {protocol} {time} (seconds since 1970) {*}: '{*}created {inside}:{inside_port} -> {outside}:{outside_port}'. Of a block of ports
    /// {inside} {outside} {first_port}, and {last_port} or {block_size}
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub pattern: Option<Pattern>,
    /// A record is late if it is from longer after its packet arrived; both clocks must agree
    #[arg(long, value_name = "TIME", value_parser = words::time, default_value = "1s")]
    pub late: Nanos,
    /// Write the comparison to a file; '-' writes to standard output
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

fn pattern(text: &str) -> Result<Pattern, String> {
    text.parse::<Pattern>().map_err(|error| error.to_string())
}

/// The comparison as JSON.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    mappings: usize,
    /// Lines of the log, and those among them that are records.
    lines: u64,
    records: usize,
    late_ns: u64,
    #[serde(flatten)]
    found: &'a Comparison,
}

pub(crate) fn nat_log(args: &NatLogArgs) -> Result<Exit, Failure> {
    let mappings = read_mappings(&args.mappings)?;
    let format = args.pattern.clone().map_or(LogFormat::Conntrack, LogFormat::Pattern);
    let (records, lines) = read_log(&args.log, &format)?;
    let json =
        args.json.as_deref().filter(|path| *path != Path::new("-")).map(NewFile::create).transpose()?;
    let found = compare(&mappings, &records, args.late.0);
    let summary = summary(&found, mappings.len(), records.len(), lines);
    if args.json.is_some() {
        let document = Document {
            schema: "eagre.nat-log/1",
            mappings: mappings.len(),
            lines,
            records: records.len(),
            late_ns: args.late.0,
            found: &found,
        };
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Failure::refused(error.to_string()))?
            + "\n";
        match json {
            Some(file) => {
                file.write(&text)?;
                print!("{summary}");
            }
            None => {
                eprint!("{summary}");
                print!("{text}");
            }
        }
    } else {
        print!("{summary}");
    }
    Ok(if found.is_complete() { Exit::Done } else { Exit::Failed })
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let opened =
        File::open(path).map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
    Ok(BufReader::new(opened))
}

fn read_mappings(path: &Path) -> Result<Vec<Mapping>, Failure> {
    let mut mappings = Vec::new();
    for (number, line) in (1..).zip(open(path)?.lines()) {
        let bad = |error: &dyn std::fmt::Display| {
            Failure::bad_input(format!(
                "{}:{number}: not a mapping ({error}); the file is that of 'eagre bench nat --mappings'",
                path.display()
            ))
        };
        let line = line.map_err(|error| bad(&error))?;
        mappings.push(serde_json::from_str(&line).map_err(|error| bad(&error))?);
    }
    if mappings.is_empty() {
        return Err(Failure::bad_input(format!("{}: there is no mapping in it", path.display())));
    }
    Ok(mappings)
}

/// Records, and the number of lines.
fn read_log(path: &Path, format: &LogFormat) -> Result<(Vec<Record>, u64), Failure> {
    let (mut records, mut lines) = (Vec::new(), 0);
    for line in open(path)?.split(b'\n') {
        let line = line.map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
        lines += 1;
        records.extend(format.read(&String::from_utf8_lossy(&line), lines));
    }
    Ok((records, lines))
}

fn summary(found: &Comparison, mappings: usize, records: usize, lines: u64) -> String {
    let mut text = format!(
        "  {} mappings, {} records in {} lines\n  {} matched, {} missing, {} wrong, {} late; {} records of others\n",
        count(mappings as u64),
        count(records as u64),
        count(lines),
        count(found.matched),
        count(found.missing.len() as u64),
        count(found.wrong.len() as u64),
        count(found.late.len() as u64),
        count(found.extra.len() as u64)
    );
    let mut part = |what: &str, all: Vec<String>| {
        let more = all.len().saturating_sub(PRINTED);
        all.iter().take(PRINTED).for_each(|line| text += &format!("  {what}: {line}\n"));
        if more > 0 {
            text += &format!("  {what}: {} more\n", count(more as u64));
        }
    };
    let ends = |mapping: &Mapping| format!("{} as {} to {}", mapping.inside, mapping.outside, mapping.to);
    let wrong = |one: &Mismatch| {
        format!("{}; line {} has {}", ends(&one.mapping), one.record.line, one.record.outside)
    };
    let late = |one: &Mismatch| {
        let by = one.record.at_ns.unwrap_or(0).saturating_sub(one.mapping.arrived_ns);
        format!("{}; line {} is from {:.3} s later", ends(&one.mapping), one.record.line, by as f64 / 1e9)
    };
    part("missing", found.missing.iter().map(ends).collect());
    part("wrong", found.wrong.iter().map(wrong).collect());
    part("late", found.late.iter().map(late).collect());
    text
}
