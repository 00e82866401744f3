//! `script`: runs a Lua script with MoonGen's API in a separate process, which is ended when its time is up.
//!
//! A script has the powers of a C program, and compiled loops of LuaJIT cannot be interrupted: so the ports belong to a
//! child, which the kernel confines, and this process enforces the deadline.

mod child;
mod engine;
mod report;

use crate::output::NewFile;
use crate::text;
use crate::{Exit, Failure, confined, words};
use api::SCRIPT_FRAME_LENGTHS;
use clap::Args;
use os::claim::Marker;
use profile::document::Bytes;
use report::Report;
pub(crate) use report::schema;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use units::Nanos;

/// Time for a script to end after a request to stop.
const GRACE: Duration = Duration::from_secs(5);
/// Interval of checks whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A script and its ports.
#[derive(Args)]
pub(crate) struct ScriptArgs {
    /// Lua script
    file: PathBuf,
    /// Ports, as the script numbers them from 0: veth0,veth1
    #[arg(long, value_name = "DEVICE,…", value_delimiter = ',')]
    ports: Vec<String>,
    /// One more port, after the --ports; for device strings with a comma
    #[arg(long = "port", value_name = "DEVICE")]
    more_ports: Vec<String>,
    /// Time after which the script is requested to stop, as by Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = words::time)]
    run_time: Option<Nanos>,
    /// Time after which the script is ended unconditionally [default: 5s after the request to stop]
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    deadline: Option<Nanos>,
    /// Memory that the script may take
    #[arg(long, value_name = "BYTES", default_value = "2GB", value_parser = words::bytes)]
    memory: Bytes,
    /// Longest frame with FCS that it sends and receives; interfaces need an MTU of 18 bytes less
    #[arg(long = "frame-length", value_name = "BYTES", default_value_t = *SCRIPT_FRAME_LENGTHS.start(),
        value_parser = clap::value_parser!(u32).range(i64::from(*SCRIPT_FRAME_LENGTHS.start())..=i64::from(*SCRIPT_FRAME_LENGTHS.end())))]
    frame_len_max: u32,
    /// Run it even if the kernel cannot confine it
    #[arg(long)]
    unconfined: bool,
    /// Use interfaces with the machine's default route
    #[arg(long)]
    allow_default_route: bool,
    /// Deny access to files named in arguments
    #[arg(long, hide = true)]
    folder_only: bool,
    /// Write the result to a file; '-' is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// File for the child's report; this process is then the child
    #[arg(long, value_name = "FILE", hide = true)]
    report: Option<PathBuf>,
    /// The script's own arguments
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl ScriptArgs {
    fn devices(&self) -> impl Iterator<Item = &String> {
        self.ports.iter().chain(&self.more_ports)
    }

    fn memory_bytes(&self) -> u64 {
        self.memory.0
    }
}

/// End of the child, as seen by its parent.
enum Ending {
    Itself(ExitStatus),
    /// It was killed, for this reason.
    Killed(String),
    /// It was killed because of a second Ctrl-C.
    Interrupted,
}

/// Whether a file has the name of a child's report.
fn is_report(name: &str) -> bool {
    let number = name.strip_prefix("eagre-script-").and_then(|rest| rest.strip_suffix(".json"));
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

pub(crate) fn script(args: &ScriptArgs) -> Result<Exit, Failure> {
    if let Some(report) = &args.report {
        return child::run(args, report);
    }
    let text = text::bytes(&args.file)
        .map_err(|error| Failure::bad_input(format!("{}: {error}", args.file.display())))?;
    let path = std::env::temp_dir().join(format!("eagre-script-{:016x}.json", os::entropy::bits()));
    os::claim::remove_abandoned_files(&std::env::temp_dir(), is_report);
    // Nobody else's file, and no link to one.
    let marker =
        Marker::file(&path).map_err(|error| Failure::refused(format!("{}: {error}", path.display())))?;
    let start = Instant::now();
    let (ending, process) = supervise(args, &path);
    if let (Some(process), Ok(here)) = (process, std::env::current_dir())
        && here != Path::new("/")
    {
        confine::give_back(&here, process);
    }
    let mut report = Report::read(&path);
    drop(marker);
    report.describe(args, &text, start.elapsed());
    let (ending, interrupted) = ending?;
    let mut exit = judge(args, &mut report, ending);
    // Without a time, Ctrl-C is the way to end it.
    if interrupted && exit == Exit::Done && args.run_time.is_some() {
        exit = Exit::Interrupted;
    }
    if let Some(to) = &args.json {
        write(&report, to)?;
    }
    Ok(exit)
}

/// Starts the child and waits until it has ended, or must be ended; also returns whether it was interrupted, and its
/// process id.
fn supervise(args: &ScriptArgs, report: &Path) -> (Result<(Ending, bool), Failure>, Option<u32>) {
    match start(report) {
        Ok((mut child, signals)) => (wait(args, &mut child, &signals), Some(child.id())),
        Err(failure) => (Err(failure), None),
    }
}

fn refused(error: std::io::Error) -> Failure {
    Failure::refused(format!("the script's process: {error}"))
}

/// Starts the child, and counts the signals that request it to stop.
fn start(report: &Path) -> Result<(Child, Arc<AtomicU32>), Failure> {
    let program = std::env::current_exe().map_err(refused)?;
    let mut command = Command::new(program);
    // Before the others: what comes after '--' is the script's.
    command.arg("script").arg("--report").arg(report).args(std::env::args_os().skip(2));
    command.env_clear().envs(confined::environment(&[]));
    let signals = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&signals);
    ctrlc::set_handler(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    })
    .map_err(|error| Failure::refused(format!("signals: {error}")))?;
    Ok((os::namespace::tie(&mut command).spawn().map_err(refused)?, signals))
}

/// Waits until the child has ended; also returns whether it was interrupted.
fn wait(args: &ScriptArgs, child: &mut Child, signals: &AtomicU32) -> Result<(Ending, bool), Failure> {
    let start = Instant::now();
    let after = |time: Nanos| Duration::from_nanos(time.0);
    let mut deadline = args.deadline.or(args.run_time).map(after).map(|time| match args.deadline {
        Some(_) => start + time,
        None => start + time + GRACE,
    });
    let mut told = 0;
    loop {
        if let Some(status) = child.try_wait().map_err(refused)? {
            return Ok((Ending::Itself(status), told > 0));
        }
        let now = Instant::now();
        let heard = signals.load(Ordering::Relaxed);
        if heard > told {
            if told > 0 {
                return Ok((kill(child, Ending::Interrupted)?, true));
            }
            told = heard;
            os::process::terminate(child);
            let latest = now + GRACE;
            deadline = Some(deadline.map_or(latest, |deadline| deadline.min(latest)));
        }
        if deadline.is_some_and(|deadline| now >= deadline) {
            let after = start.elapsed().as_secs_f64();
            let late = Ending::Killed(format!("it did not stop by its deadline, after {after:.1} s"));
            return Ok((kill(child, late)?, told > 0));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn kill(child: &mut Child, ending: Ending) -> Result<Ending, Failure> {
    // An error says that it has ended just now.
    let _ = child.kill();
    child.wait().map_err(refused)?;
    Ok(ending)
}

/// Completes the report with the script's ending, prints the reason of a failure, and returns the exit code.
fn judge(args: &ScriptArgs, report: &mut Report, ending: Ending) -> Exit {
    let name = args.file.display();
    let status = match ending {
        Ending::Killed(reason) => {
            eprintln!("eagre: {name}: aborted: {reason}");
            report.end("aborted", Some(reason));
            return Exit::Failed;
        }
        Ending::Interrupted => {
            let reason = "it was interrupted twice";
            eprintln!("eagre: {name}: aborted: {reason}");
            report.end("aborted", Some(reason.to_owned()));
            return Exit::Interrupted;
        }
        Ending::Itself(status) => status,
    };
    if let Some(signal) = status.signal() {
        let what = match signal {
            libc_signal::SEGV | libc_signal::BUS => "it used memory that is not its own",
            libc_signal::ABRT => "it ended abnormally",
            _ => "it was ended by a signal",
        };
        let reason = format!("{what} (signal {signal})");
        eprintln!("eagre: {name}: crashed: {reason}");
        report.end("crashed", Some(reason));
        return Exit::Failed;
    }
    if report.is_cut_short() && status.code() == Some(Exit::Refused as i32) {
        let reason = "it took more memory than it may (--memory)".to_owned();
        eprintln!("eagre: {name}: failed: {reason}");
        report.end("failed", Some(reason));
        return Exit::Failed;
    }
    let exit = match status.code() {
        Some(0) => Exit::Done,
        Some(2) => Exit::BadInput,
        Some(3) => Exit::Refused,
        _ => Exit::Failed,
    };
    for sentence in report.dropped() {
        eprintln!("eagre: {name}: warning: {sentence}");
    }
    let reason = report.failure();
    if let Some(reason) = &reason {
        eprintln!("eagre: {name}: failed: {reason}");
    }
    report.end(if exit == Exit::Done { "done" } else { "failed" }, reason);
    exit
}

/// Numbers of signals (signal(7), x86 and ARM).
mod libc_signal {
    pub(super) const ABRT: i32 = 6;
    pub(super) const BUS: i32 = 7;
    pub(super) const SEGV: i32 = 11;
}

fn write(report: &Report, to: &Path) -> Result<(), Failure> {
    if to == Path::new("-") {
        crate::output::print_json(report)?;
        return Ok(());
    }
    let text = serde_json::to_string_pretty(report).map_err(|error| Failure::refused(error.to_string()))?;
    // The script has run: a bad path is no longer a bad input.
    let file = NewFile::create(to).map_err(|failure| Failure::refused(failure.text))?;
    file.write(&(text + "\n"))
}
