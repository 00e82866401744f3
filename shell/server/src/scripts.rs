//! A script: `eagre script` in a separate process, which is confined and has a deadline.
//!
//! Invariant: its output and files are bounded in memory here, and read only as regular files in its folder.

use crate::fault::Fault;
use crate::jobs::{Ending, Job, lock};
use crate::service::private_folder;
use api::{NewScript, SCRIPT_FRAME_LENGTHS, Script, ScriptFile, State};
use profile::Plan;
use profile::document::{Document, PortDoc};
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest text of a script, bytes.
const TEXT_MAX: usize = 1 << 20;
/// Arguments of a script, and bytes of one.
const ARGUMENTS_MAX: usize = 100;
const ARGUMENT_BYTES_MAX: usize = 4_096;
/// The end of what it prints that is kept, bytes.
const OUTPUT_MAX: usize = 256 << 10;
/// Files of a script that are listed.
const FILES_MAX: usize = 1_000;
/// Longest result document, bytes.
const RESULT_MAX: u64 = 16 << 20;
/// Time from the request to stop until its process is killed: its own supervisor gives it 5 s.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time from a script's deadline until its supervising process is killed, which enforces the deadline itself.
const SUPERVISOR_PATIENCE: Duration = Duration::from_secs(5);
/// Time for a script without a deadline to end after its time: as its own supervisor gives it.
const GRACE: Duration = Duration::from_secs(5);
/// Interval at which to check whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A script and its results so far.
pub(crate) struct ScriptJob {
    pub(crate) job: Job,
    arguments: Vec<String>,
    folder: PathBuf,
    output: Mutex<Output>,
    result: Mutex<Option<Arc<str>>>,
}

/// Part of a result document that the server needs.
#[derive(Deserialize)]
struct Told {
    reason: Option<String>,
}

/// The end of what a script printed.
#[derive(Debug, Default)]
struct Output {
    kept: VecDeque<u8>,
    skipped: u64,
}

impl Output {
    fn add(&mut self, bytes: &[u8]) {
        let beyond = (self.kept.len() + bytes.len()).saturating_sub(OUTPUT_MAX);
        let old = beyond.min(self.kept.len());
        self.kept.drain(..old);
        self.kept.extend(&bytes[beyond - old..]);
        self.skipped += beyond as u64;
    }
}

/// Permitted parameters of a script, and its command line.
pub(crate) struct Order {
    text: String,
    arguments: Vec<String>,
    run_time_s: Option<f64>,
    deadline_s: Option<f64>,
    frame_length: Option<u32>,
}

impl Order {
    /// # Errors
    /// The invalid value, with its place.
    pub(crate) fn of(new: &NewScript) -> Result<Self, Fault> {
        if new.text.trim().is_empty() || new.text.len() > TEXT_MAX {
            return Err(Fault::value("text", format!("expected a script of at most {TEXT_MAX} bytes")));
        }
        if new.arguments.len() > ARGUMENTS_MAX {
            return Err(Fault::value("arguments", format!("expected at most {ARGUMENTS_MAX}")));
        }
        let wrong = |text: &String| text.len() > ARGUMENT_BYTES_MAX || text.contains('\0');
        if let Some(index) = new.arguments.iter().position(wrong) {
            let expected = format!("expected at most {ARGUMENT_BYTES_MAX} bytes, none of them zero");
            return Err(Fault::value(&format!("arguments[{index}]"), expected));
        }
        if new.ports.is_empty() || new.ports.len() > 256 {
            return Err(Fault::value("ports", "expected 1 to 256 devices"));
        }
        if new.run_time_s.is_none() && new.deadline_s.is_none() {
            return Err(Fault::value(
                "run_time_s",
                "a script must have an end: set run_time_s or deadline_s",
            ));
        }
        for (place, seconds) in [("run_time_s", new.run_time_s), ("deadline_s", new.deadline_s)] {
            if seconds.is_some_and(|seconds| !(0.001..=31_536_000.0).contains(&seconds)) {
                return Err(Fault::value(place, "expected 0.001 s to one year"));
            }
        }
        if new.frame_length.is_some_and(|bytes| !SCRIPT_FRAME_LENGTHS.contains(&bytes)) {
            let (shortest, longest) = SCRIPT_FRAME_LENGTHS.into_inner();
            return Err(Fault::value("frame_length", format!("expected {shortest} to {longest} bytes")));
        }
        Ok(Self {
            text: new.text.clone(),
            arguments: new.arguments.clone(),
            run_time_s: new.run_time_s,
            deadline_s: new.deadline_s,
            frame_length: new.frame_length,
        })
    }

    /// When it must have ended, from its start.
    fn latest(&self) -> Duration {
        let after_time = self.run_time_s.map(|seconds| Duration::from_secs_f64(seconds) + GRACE);
        self.deadline_s.map(Duration::from_secs_f64).or(after_time).unwrap_or(GRACE)
    }

    fn command(&self, program: &Path, folder: &Path, plan: &Plan) -> Command {
        let mut command = Command::new(program);
        command.arg("script").arg("--folder-only").arg("--json").arg(folder.join(RESULT));
        for port in &plan.ports {
            command.arg("--port").arg(&port.device);
        }
        for (option, seconds) in [("--for", self.run_time_s), ("--deadline", self.deadline_s)] {
            if let Some(seconds) = seconds {
                command.arg(option).arg(format!("{}us", (seconds * 1e6).ceil() as u64));
            }
        }
        if let Some(bytes) = self.frame_length {
            command.arg("--frame-length").arg(bytes.to_string());
        }
        command.arg(folder.join(SCRIPT)).arg("--").args(&self.arguments);
        command.current_dir(folder.join(FILES)).stdin(Stdio::null());
        command
    }
}

/// In a script's folder: its text, its result, and the folder it runs in, the only one it can write to.
const SCRIPT: &str = "script.lua";
const RESULT: &str = "result.json";
const FILES: &str = "files";

/// The profile of ports and nothing else.
pub(crate) fn ports(devices: &[String]) -> String {
    let port = |(number, device): (usize, &String)| (number.to_string(), PortDoc::new(device));
    let ports = devices.iter().enumerate().map(port).collect();
    Document { ports, ..Document::default() }.to_yaml()
}

impl ScriptJob {
    pub(crate) fn new(job: Job, order: &Order, folder: PathBuf) -> Self {
        Self {
            job,
            arguments: order.arguments.clone(),
            folder,
            output: Mutex::default(),
            result: Mutex::default(),
        }
    }

    /// The script as clients see it; in lists without what it printed and wrote.
    pub(crate) fn document(&self, is_whole: bool) -> Script {
        let (status, about) = (self.job.status(), &self.job.about);
        let (output, output_skipped) = {
            let output = lock(&self.output);
            let (a, b) = output.kept.as_slices();
            let kept = if is_whole { [a, b].concat() } else { Vec::new() };
            (String::from_utf8_lossy(&kept).into_owned(), output.skipped)
        };
        Script {
            id: about.id.clone(),
            name: about.name.clone(),
            state: status.state,
            reason: status.reason,
            holder: about.holder.clone(),
            ports: about.ports.clone(),
            arguments: self.arguments.clone(),
            started: self.job.started.clone(),
            ended: status.ended,
            warnings: about.warnings.clone(),
            output,
            output_skipped,
            files: if is_whole { self.files() } else { Vec::new() },
        }
    }

    /// The result document's text.
    pub(crate) fn result(&self) -> Option<Arc<str>> {
        lock(&self.result).clone()
    }

    /// Bytes it takes in memory.
    pub(crate) fn held_bytes(&self) -> usize {
        self.result().map_or(0, |text| text.len()) + lock(&self.output).kept.len()
    }

    /// Regular files in its folder, by name.
    fn files(&self) -> Vec<ScriptFile> {
        let entries = std::fs::read_dir(self.folder.join(FILES)).into_iter().flatten().take(FILES_MAX);
        let file = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            // Of the entry itself: links are not followed.
            let facts = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some(ScriptFile { name: entry.file_name().into_string().ok()?, bytes: facts.len() })
        };
        let mut files: Vec<ScriptFile> = entries.filter_map(file).collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files
    }

    /// Where a file that it wrote is.
    pub(crate) fn file(&self, name: &str) -> Result<PathBuf, Fault> {
        let is_there = self.files().iter().any(|file| file.name == name);
        let path = self.folder.join(FILES).join(name);
        is_there
            .then_some(path)
            .ok_or_else(|| Fault::not_found(format!("this script wrote no file '{name}'")))
    }

    /// Runs it to its end, which is announced once its process is gone and its ports are free.
    pub(crate) fn play(self: &Arc<Self>, order: &Order, plan: &Plan) -> Ending {
        let _span =
            tracing::info_span!("script", id = %self.job.about.id, name = %self.job.about.name).entered();
        tracing::info!("begins");
        let ending = self.supervise(order, plan).unwrap_or_else(|reason| Ending {
            state: State::Failed,
            reason: Some(format!("cannot run the script: {reason}")),
        });
        tracing::info!(state = ?ending.state, "ended");
        ending
    }

    fn supervise(self: &Arc<Self>, order: &Order, plan: &Plan) -> std::io::Result<Ending> {
        private_folder(&self.folder.join(FILES))?;
        private_folder(&self.folder)?;
        std::fs::write(self.folder.join(SCRIPT), &order.text)?;
        let (reader, writer) = std::io::pipe()?;
        // It runs in another folder, to which a relative path would lead elsewhere.
        let folder = self.folder.canonicalize()?;
        let mut command = order.command(&std::env::current_exe()?, &folder, plan);
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut child = os::namespace::tie(&mut command).spawn()?;
        // It has the pipe's other ends open, too.
        drop(command);
        self.job.set_state(State::Running);
        let job = self.clone();
        let reading = std::thread::Builder::new().name("eagre-script-output".to_owned());
        let reading = reading.spawn(move || job.read(reader));
        let latest = Instant::now() + order.latest() + SUPERVISOR_PATIENCE;
        let (mut told, mut overdue) = (None, false);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if !overdue && Instant::now() >= latest {
                overdue = true;
                // Its own supervisor does not do it. The script's process is tied to that.
                let _ = child.kill();
            }
            if self.job.is_stopped() {
                let told = *told.get_or_insert_with(|| {
                    os::process::terminate(&child);
                    Instant::now()
                });
                if told.elapsed() > PATIENCE {
                    // An error says that it has ended just now.
                    let _ = child.kill();
                }
            }
            std::thread::sleep(LOOK_EVERY);
        };
        if let Ok(reading) = reading {
            let _ = reading.join();
        }
        let reason = self.read_result().and_then(|result| result.reason);
        let reason = if overdue { Some("it did not stop by its deadline".to_owned()) } else { reason };
        Ok(match (self.job.is_stopped(), status.success()) {
            (true, _) => Ending { state: State::Stopped, reason: None },
            (false, true) => Ending { state: State::Done, reason: None },
            (false, false) => Ending { state: State::Failed, reason: reason.or_else(|| self.last_line()) },
        })
    }

    /// Reads its output until no process can write to it any more.
    fn read(&self, mut reader: impl Read) {
        let mut bytes = vec![0; 16 << 10];
        while let Ok(n @ 1..) = reader.read(&mut bytes) {
            lock(&self.output).add(&bytes[..n]);
        }
    }

    /// Takes over the result document.
    fn read_result(&self) -> Option<Told> {
        let file = std::fs::File::open(self.folder.join(RESULT)).ok()?;
        let mut text = String::new();
        file.take(RESULT_MAX).read_to_string(&mut text).ok()?;
        let document = serde_json::from_str(&text).ok()?;
        *lock(&self.result) = Some(text.into());
        Some(document)
    }

    /// The last line it printed: why it was refused.
    fn last_line(&self) -> Option<String> {
        let output = self.document(true).output;
        let line = output.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(line.trim_start_matches("eagre: ").to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_is_printed_is_kept() {
        let mut output = Output::default();
        output.add(&vec![b'a'; OUTPUT_MAX]);
        output.add(b"bcd");
        assert_eq!((output.kept.len(), output.skipped), (OUTPUT_MAX, 3));
        assert_eq!(output.kept.back(), Some(&b'd'));
        output.add(&vec![b'e'; 2 * OUTPUT_MAX + 5]);
        assert_eq!((output.kept.len(), output.skipped), (OUTPUT_MAX, 3 + 2 * OUTPUT_MAX as u64 + 5));
        assert!(output.kept.iter().all(|byte| *byte == b'e'));
    }

    #[test]
    fn a_script_has_an_end_and_limits() {
        let ports = vec!["ring:a".to_owned()];
        let good =
            NewScript { text: "x = 1".to_owned(), ports, run_time_s: Some(1.0), ..NewScript::default() };
        assert!(Order::of(&good).is_ok());
        let bad = [
            NewScript { text: " \n".to_owned(), ..good.clone() },
            NewScript { text: "x".repeat(TEXT_MAX + 1), ..good.clone() },
            NewScript { run_time_s: None, ..good.clone() },
            NewScript { deadline_s: Some(f64::NAN), ..good.clone() },
            NewScript { run_time_s: Some(-1.0), ..good.clone() },
            NewScript { frame_length: Some(1_517), ..good.clone() },
            NewScript { frame_length: Some(9_601), ..good.clone() },
            NewScript { arguments: vec![String::new(); ARGUMENTS_MAX + 1], ..good.clone() },
            NewScript { arguments: vec!["a\0b".to_owned()], ..good.clone() },
            NewScript { ports: Vec::new(), ..good.clone() },
            NewScript { ports: vec!["ring:a".to_owned(); 257], ..good },
        ];
        assert!(bad.iter().all(|new| Order::of(new).is_err()));
    }
}
