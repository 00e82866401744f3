//! Commands that prepare a device under test or read from it, before and after a campaign, a configuration or a trial.

use crate::process;
use crate::template::{Template, TemplateError, Variables};
use serde::Deserialize;
use std::fmt;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use units::Nanos;

/// Maximum bytes kept of a hook's standard output, and of its standard error.
const OUTPUT_MAX: usize = 64 * 1024;
/// Default timeout of a hook.
const TIMEOUT: Nanos = Nanos::from_secs(60);

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Once, first.
    BeforeCampaign,
    /// Once, last.
    AfterCampaign,
    /// Before the device gets another configuration.
    BeforeConfiguration,
    /// Before the next configuration, and after the last.
    AfterConfiguration,
    /// Before each trial.
    BeforeTrial,
    /// After each trial.
    AfterTrial,
}

impl Moment {
    /// Names of the variables known at this moment, besides the configuration's.
    pub fn variables(self) -> &'static [&'static str] {
        const CAMPAIGN: &[&str] = &["campaign.name", "profile"];
        const CONFIGURATION: &[&str] = &["campaign.name", "profile", "config.number"];
        const TRIAL: &[&str] = &[
            "campaign.name",
            "profile",
            "config.number",
            "frame_size",
            "method",
            "rate_pps",
            "duration_s",
            "trial.number",
        ];
        match self {
            Self::BeforeCampaign | Self::AfterCampaign => CAMPAIGN,
            Self::BeforeConfiguration | Self::AfterConfiguration => CONFIGURATION,
            Self::BeforeTrial | Self::AfterTrial => TRIAL,
        }
    }

    /// Whether a configuration is set, so that `{config.…}` has values.
    pub fn has_configuration(self) -> bool {
        !matches!(self, Self::BeforeCampaign | Self::AfterCampaign)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeCampaign => "before-campaign",
            Self::AfterCampaign => "after-campaign",
            Self::BeforeConfiguration => "before-configuration",
            Self::AfterConfiguration => "after-configuration",
            Self::BeforeTrial => "before-trial",
            Self::AfterTrial => "after-trial",
        })
    }
}

/// A command and its moment. In a document: `{when: before-trial, run: "…", ssh: admin@dut, timeout: 30s}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Document")]
pub struct Hook {
    /// When.
    pub when: Moment,
    /// The shell command.
    pub command: Template,
    /// The ssh destination, or this machine. Can have variables.
    pub ssh: Option<Template>,
    /// Timeout.
    pub timeout: Nanos,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    when: Moment,
    run: String,
    ssh: Option<String>,
    timeout: Option<String>,
}

impl TryFrom<Document> for Hook {
    type Error = String;

    fn try_from(document: Document) -> Result<Self, String> {
        let template = |text: &str| Template::parse(text).map_err(|e| e.to_string());
        let timeout = document.timeout.map(|text| text.parse::<Nanos>().map_err(|e| e.to_string()));
        Ok(Self {
            when: document.when,
            command: template(&document.run)?,
            ssh: document.ssh.as_deref().map(template).transpose()?,
            timeout: timeout.transpose()?.unwrap_or(TIMEOUT),
        })
    }
}

/// A hook's output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// The command that ran.
    pub command: String,
    /// The end of its standard output.
    pub out: String,
    /// The end of its standard error.
    pub err: String,
}

/// Why a hook failed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// An unknown variable.
    #[error("hook {when}: {error}")]
    Template {
        /// When the hook runs.
        when: Moment,
        /// The variable.
        error: TemplateError,
    },
    /// The shell or ssh could not be started.
    #[error("hook {when}: cannot run {program}: {error}")]
    Start {
        /// When the hook runs.
        when: Moment,
        /// The program.
        program: &'static str,
        /// The reason.
        error: std::io::Error,
    },
    /// It timed out and was killed.
    #[error("hook {when}: '{}' timed out after {timeout} and was killed{}", output.command, last_line(output))]
    TimedOut {
        /// When the hook runs.
        when: Moment,
        /// Its timeout.
        timeout: Nanos,
        /// Its output until then.
        output: Output,
    },
    /// It failed.
    #[error("hook {when}: '{}' failed ({status}){}", output.command, last_line(output))]
    Failed {
        /// When the hook runs.
        when: Moment,
        /// Its exit status.
        status: ExitStatus,
        /// Its output.
        output: Output,
    },
}

/// The last line of a hook's output, for an error.
fn last_line(output: &Output) -> String {
    let words = if output.err.trim().is_empty() { &output.out } else { &output.err };
    words.trim().lines().next_back().map_or_else(String::new, |line| format!(": {line}"))
}

impl Hook {
    /// A hook on this machine.
    ///
    /// # Errors
    ///
    /// If the command is not a valid template.
    pub fn here(when: Moment, command: &str) -> Result<Self, TemplateError> {
        Ok(Self { when, command: Template::parse(command)?, ssh: None, timeout: TIMEOUT })
    }

    /// Checks that all variables will have values: those known at the hook's moment, and the `configuration`'s names as
    /// `config.NAME`.
    ///
    /// # Errors
    ///
    /// The first unknown variable.
    pub fn check<'a>(&self, configuration: impl IntoIterator<Item = &'a str>) -> Result<(), HookError> {
        let chosen = self.when.has_configuration();
        let names = configuration.into_iter().filter(|_| chosen).map(|name| format!("config.{name}"));
        let known: Vec<String> =
            self.when.variables().iter().map(|&name| name.to_owned()).chain(names).collect();
        let mut templates = std::iter::once(&self.command).chain(&self.ssh);
        let checked = templates.try_for_each(|template| template.check(known.iter().map(String::as_str)));
        checked.map_err(|error| HookError::Template { when: self.when, error })
    }

    /// Program and arguments, with all variables filled in.
    ///
    /// # Errors
    ///
    /// A variable without a value.
    pub fn arguments(&self, variables: &Variables) -> Result<Vec<String>, HookError> {
        let fill = |template: &Template| {
            template.fill(variables).map_err(|error| HookError::Template { when: self.when, error })
        };
        let command = fill(&self.command)?;
        Ok(match &self.ssh {
            None => ["sh", "-c", &command].map(str::to_owned).to_vec(),
            // No password prompt; '--' keeps a destination from being an option.
            Some(host) => {
                let words =
                    ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", &fill(host)?, &command];
                words.map(str::to_owned).to_vec()
            }
        })
    }

    /// Runs it to its end.
    ///
    /// # Errors
    ///
    /// If it cannot be started, times out or fails; with its output.
    pub fn run(&self, variables: &Variables) -> Result<Output, HookError> {
        let arguments = self.arguments(variables)?;
        let program = if self.ssh.is_some() { "ssh" } else { "sh" };
        let spawned = Command::new(program)
            .args(&arguments[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Its own process group, so that its children can be killed with it.
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|error| HookError::Start { when: self.when, program, error })?;
        let (out, err) = (tail_of(child.stdout.take()), tail_of(child.stderr.take()));
        let status = wait(&mut child, self.timeout);
        if status.is_none() {
            process::kill_group(child.id());
            let _ = child.wait();
        }
        let command = arguments.into_iter().next_back().unwrap_or_default();
        let output = Output { command, out: out.finish(status.is_some()), err: err.finish(status.is_some()) };
        match status {
            Some(status) if status.success() => Ok(output),
            Some(status) => Err(HookError::Failed { when: self.when, status, output }),
            None => Err(HookError::TimedOut { when: self.when, timeout: self.timeout, output }),
        }
    }
}

/// A child's exit status; `None` after the timeout.
fn wait(child: &mut Child, timeout: Nanos) -> Option<ExitStatus> {
    let end = os::clock::monotonic_ns().saturating_add(timeout.0);
    let mut pause = Duration::from_millis(1);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if os::clock::monotonic_ns() >= end {
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Reads a pipe on its own thread, so that a hook with much output does not block.
struct Tail {
    kept: std::sync::Arc<std::sync::Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

fn tail_of(pipe: Option<impl Read + Send + 'static>) -> Tail {
    let kept = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let into = kept.clone();
    let reader = pipe.map(|mut pipe| {
        thread::spawn(move || {
            let mut piece = [0; 8192];
            while let Ok(n @ 1..) = pipe.read(&mut piece) {
                let Ok(mut kept) = into.lock() else { return };
                kept.extend_from_slice(&piece[..n]);
                let extra = kept.len().saturating_sub(OUTPUT_MAX);
                kept.drain(..extra);
            }
        })
    });
    Tail { kept, reader }
}

impl Tail {
    /// Returns what was read. A background process of the hook can keep the pipe open, so this waits only briefly.
    fn finish(mut self, ended: bool) -> String {
        let timeout_ms = if ended { 1000 } else { 100 };
        for _ in 0..timeout_ms / 5 {
            if self.reader.as_ref().is_none_or(JoinHandle::is_finished) {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        if let Some(reader) = self.reader.take_if(|reader| reader.is_finished()) {
            let _ = reader.join();
        }
        let kept = self.kept.lock().map(|kept| kept.clone()).unwrap_or_default();
        String::from_utf8_lossy(&kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(document: &str) -> Result<Hook, String> {
        serde_json::from_str(document).map_err(|e| e.to_string())
    }

    #[test]
    fn documents_are_read() {
        let read =
            hook(r#"{"when": "before-configuration", "run": "load {config.routes}", "timeout": "2min"}"#)
                .unwrap();
        assert_eq!(
            (read.when, read.timeout, read.ssh),
            (Moment::BeforeConfiguration, Nanos::from_secs(120), None)
        );
        assert!(hook(r#"{"when": "now", "run": "true"}"#).unwrap_err().contains("before-campaign"));
        assert!(hook(r#"{"when": "before-trial", "run": "{"}"#).unwrap_err().contains("unmatched"));
        assert!(
            hook(r#"{"when": "before-trial", "run": "true", "user": "x"}"#).unwrap_err().contains("user")
        );
        assert!(hook(r#"{"when": "before-trial", "run": "true", "timeout": "5"}"#).is_err());
    }

    #[test]
    fn variables_are_checked_before_anything_runs() {
        let trial =
            Hook::here(Moment::BeforeTrial, "x {trial.number} {config.routes} {frame_size} {rate_pps}")
                .unwrap();
        assert!(trial.check(["routes"]).is_ok());
        let error = trial.check(["rules"]).unwrap_err().to_string();
        assert!(error.starts_with("hook before-trial: ") && error.contains("'config.routes'"), "{error}");
        let early = Hook { when: Moment::BeforeCampaign, ..trial };
        assert!(early.check(["routes"]).unwrap_err().to_string().contains("'trial.number'"));
        let far = hook(r#"{"when": "before-campaign", "run": "true", "ssh": "{config.host}"}"#).unwrap();
        assert!(far.check(["host"]).is_err(), "no configuration is chosen yet");
    }

    #[test]
    fn ssh_gets_one_command() {
        let far =
            hook(r#"{"when": "after-trial", "run": "show {note}", "ssh": "admin@{config.host}"}"#).unwrap();
        let variables = Variables::new().with("config.host", "dut").with("note", "a b");
        let arguments = far.arguments(&variables).unwrap();
        assert_eq!(arguments[0], "ssh");
        assert_eq!(arguments[5..], ["--", "admin@dut", "show 'a b'"]);
    }

    #[test]
    fn output_is_kept() {
        let hook = Hook::here(Moment::BeforeTrial, "echo {frame_size}; echo careful >&2").unwrap();
        let output = hook.run(&Variables::new().with("frame_size", 64)).unwrap();
        assert_eq!((output.out.as_str(), output.err.as_str()), ("64\n", "careful\n"));
        let much = Hook::here(Moment::BeforeTrial, "seq 1 100000").unwrap();
        let output = much.run(&Variables::new()).unwrap();
        assert!(output.out.len() == OUTPUT_MAX && output.out.ends_with("\n100000\n"));
    }

    #[test]
    fn failures_are_reported() {
        let failing = Hook::here(Moment::AfterTrial, "echo no such route >&2; exit 4").unwrap();
        let error = failing.run(&Variables::new()).unwrap_err().to_string();
        assert!(
            error.starts_with("hook after-trial: 'echo no such route >&2; exit 4' failed (exit status: 4)")
        );
        assert!(error.ends_with(": no such route"), "{error}");
        let slow = Hook {
            timeout: Nanos::from_millis(100),
            ..Hook::here(Moment::AfterTrial, "echo on; sleep 60 & sleep 60").unwrap()
        };
        let start = os::clock::monotonic_ns();
        let error = slow.run(&Variables::new()).unwrap_err();
        assert!(os::clock::monotonic_ns() - start < 10_000_000_000);
        assert!(error.to_string().contains("timed out after 100ms and was killed: on"), "{error}");
    }
}
