//! `eagre nat-log`: holds a gateway's own log against the mappings that `eagre bench nat --mappings` saw.

use crate::output::NewFile;
use crate::{Exit, Failure, words};
use clap::Args as ClapArgs;
use nat::{Comparison, Endpoint, Exports, LogFormat, Mapping, Mismatch, Pattern, Record, compare};
use serde::Serialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use units::{Nanos, count};

/// Lines of each kind that are printed.
const PRINTED: usize = 10;

#[derive(ClapArgs)]
pub(crate) struct NatLogArgs {
    /// File of 'eagre bench nat --mappings'
    pub mappings: PathBuf,
    /// The gateway's log: the output of 'conntrack -E -o timestamp', or lines that --pattern takes apart; or its export by IPFIX (RFC 7011,
    /// RFC 8158) as a file of messages, or by IPFIX or NetFlow 9 over UDP in a capture (pcap, pcapng)
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
    /// Lines of the log, or messages of an export, and the records in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<u64>,
    records: usize,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    late_ns: u64,
    #[serde(flatten)]
    found: &'a Comparison,
}

pub(crate) fn nat_log(args: &NatLogArgs) -> Result<Exit, Failure> {
    let mappings = read_mappings(&args.mappings)?;
    let format = args.pattern.clone().map_or(LogFormat::Conntrack, LogFormat::Pattern);
    let log = read_log(&args.log, &format)?;
    log.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    let json =
        args.json.as_deref().filter(|path| *path != Path::new("-")).map(NewFile::create).transpose()?;
    let found = compare(&mappings, &log.records, args.late.0);
    let summary = summary(&found, mappings.len(), &log);
    if args.json.is_some() {
        let document = Document {
            schema: "eagre.nat-log/1",
            mappings: mappings.len(),
            lines: (!log.is_export).then_some(log.parts),
            messages: log.is_export.then_some(log.parts),
            records: log.records.len(),
            warnings: &log.warnings,
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

/// A gateway's log.
#[derive(Default)]
struct Log {
    records: Vec<Record>,
    /// Its lines, or its messages.
    parts: u64,
    is_export: bool,
    warnings: Vec<String>,
}

/// First bytes of captures: pcap of both byte orders with micro- and nanoseconds, pcapng, and gzip around any.
const CAPTURES: [&[u8]; 6] = [
    &[0xd4, 0xc3, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0xc3, 0xd4],
    &[0x4d, 0x3c, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0x3c, 0x4d],
    &[0x0a, 0x0d, 0x0d, 0x0a],
    &[0x1f, 0x8b],
];

fn read_log(path: &Path, format: &LogFormat) -> Result<Log, Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {error}", path.display()));
    let mut file = open(path)?;
    let begin = file.fill_buf().map_err(|error| bad(&error))?;
    let is_capture = CAPTURES.iter().any(|magic| begin.starts_with(magic));
    if !is_capture && !nat::is_ipfix(begin) {
        return read_lines(path, file, format);
    }
    if *format != LogFormat::Conntrack {
        let kind = if is_capture { "a capture" } else { "messages of IPFIX" };
        return Err(bad(&format!("it is {kind}, which has no lines: leave out --pattern")));
    }
    let mut exports = Exports::default();
    let mut log = if is_capture {
        let capture = pcap::read(file).map_err(|error| bad(&error))?;
        read_capture(&capture, &mut exports).map_err(|error| bad(&error))?
    } else {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| bad(&error))?;
        read_messages(&bytes, &mut exports).map_err(|error| bad(&error))?
    };
    log.is_export = true;
    if exports.without_template > 0 {
        log.warnings.push(format!(
            "{}: {} sets of records were left out, because their templates are in no message: record from the start of the \
             export, or for longer than the interval at which it repeats them",
            path.display(),
            count(exports.without_template)
        ));
    }
    if exports.scattered > 0 {
        log.warnings.push(format!(
            "{}: {} blocks were left out, because their ports do not follow one another",
            path.display(),
            count(exports.scattered)
        ));
    }
    Ok(log)
}

fn read_lines(path: &Path, file: BufReader<File>, format: &LogFormat) -> Result<Log, Failure> {
    let mut log = Log::default();
    for line in file.split(b'\n') {
        let line = line.map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
        log.parts += 1;
        log.records.extend(format.read(&String::from_utf8_lossy(&line), log.parts));
    }
    Ok(log)
}

/// Messages of IPFIX in a row (RFC 5655).
fn read_messages(bytes: &[u8], exports: &mut Exports) -> Result<Log, String> {
    let wrong =
        |at: usize, error: &dyn std::fmt::Display| format!("not a message of IPFIX at byte {at}: {error}");
    let mut log = Log::default();
    let mut at = 0;
    while at < bytes.len() {
        at += exports.learn(None, &bytes[at..]).map_err(|error| wrong(at, &error))?;
        log.parts += 1;
    }
    at = 0;
    while at < bytes.len() {
        at += exports.read(None, &bytes[at..], &mut log.records).map_err(|error| wrong(at, &error))?;
    }
    Ok(log)
}

/// Messages in the UDP datagrams of a capture; other packets are passed over. Those of which only a part is there are counted.
fn read_capture(capture: &pcap::Capture, exports: &mut Exports) -> Result<Log, String> {
    let mut log = Log { warnings: capture.warnings.clone(), ..Log::default() };
    let mut messages: Vec<(Endpoint, Vec<u8>)> = Vec::new();
    let mut cut = 0;
    for record in &capture.records {
        let Ok(frame) = pcap::frame(capture, record) else { continue };
        let Some(udp) = nat::payload_of_udp(&frame.bytes) else { continue };
        if !udp.is_whole {
            cut += u64::from(nat::is_message(udp.bytes));
        } else if exports.learn(Some(udp.from), udp.bytes).is_ok() {
            messages.push((udp.from, udp.bytes.to_vec()));
        }
    }
    if cut > 0 {
        log.warnings.push(format!(
            "{} messages were left out, because only a part of each is in the capture: record whole packets \
             (tcpdump -s 0), and have the gateway send messages that need no fragments",
            count(cut)
        ));
    }
    if messages.is_empty() {
        let why = log.warnings.last().filter(|_| cut > 0).map(|why| format!("; {why}"));
        return Err(format!(
            "there is no whole message of IPFIX or NetFlow 9 over UDP in it{}",
            why.unwrap_or_default()
        ));
    }
    log.parts = messages.len() as u64;
    for (from, message) in &messages {
        exports.read(Some(*from), message, &mut log.records).map_err(|error| error.to_string())?;
    }
    Ok(log)
}

fn summary(found: &Comparison, mappings: usize, log: &Log) -> String {
    let (parts, part) = if log.is_export { ("messages", "record") } else { ("lines", "line") };
    let mut text = format!(
        "  {} mappings, {} records in {} {parts}\n  {} matched, {} missing, {} wrong, {} late; {} records of others\n",
        count(mappings as u64),
        count(log.records.len() as u64),
        count(log.parts),
        count(found.matched),
        count(found.missing.len() as u64),
        count(found.wrong.len() as u64),
        count(found.late.len() as u64),
        count(found.extra.len() as u64)
    );
    let mut list = |what: &str, all: Vec<String>| {
        let more = all.len().saturating_sub(PRINTED);
        all.iter().take(PRINTED).for_each(|line| text += &format!("  {what}: {line}\n"));
        if more > 0 {
            text += &format!("  {what}: {} more\n", count(more as u64));
        }
    };
    let ends = |mapping: &Mapping| format!("{} as {} to {}", mapping.inside, mapping.outside, mapping.to);
    let wrong = |one: &Mismatch| {
        format!("{}; {part} {} has {}", ends(&one.mapping), one.record.line, one.record.outside)
    };
    let late = |one: &Mismatch| {
        let by = one.record.at_ns.unwrap_or(0).saturating_sub(one.mapping.arrived_ns);
        format!("{}; {part} {} is from {:.3} s later", ends(&one.mapping), one.record.line, by as f64 / 1e9)
    };
    list("missing", found.missing.iter().map(ends).collect());
    list("wrong", found.wrong.iter().map(wrong).collect());
    list("late", found.late.iter().map(late).collect());
    text
}
