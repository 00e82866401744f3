//! Commands of a side around its trials: what prepares its device, what runs while packets flow, what cleans up.

use crate::Failure;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time for a command that must end before a trial continues.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Longest time a device may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// Time from one question whether a device is ready to the next.
const READY_EVERY: Duration = Duration::from_millis(50);
/// Time a device gets to end by itself before it is killed.
const FAREWELL: Duration = Duration::from_secs(2);
/// Bytes kept of the end of a command's error output.
const ERRORS_KEPT: u64 = 2_000;

/// Commands around each trial of a side. All are shell commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeviceCommands {
    /// Runs to its end before each trial.
    pub(crate) before: Option<String>,
    /// Runs during each trial and is ended afterwards.
    pub(crate) start: Option<String>,
    /// Succeeds once the device is ready; run again and again until then.
    pub(crate) ready: Option<String>,
    /// Runs to its end after each trial.
    pub(crate) after: Option<String>,
    /// Where they run.
    pub(crate) folder: Option<PathBuf>,
    /// Environment variables they get.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// A device that runs; ended when dropped.
#[derive(Debug)]
pub(crate) struct RunningDevice {
    child: Option<Child>,
    command: String,
    errors: File,
}

impl DeviceCommands {
    /// Prepares and starts the device, and waits until it is ready. `stop`: whether to give up.
    pub(crate) fn begin(&self, stop: &mut dyn FnMut() -> bool) -> Result<Option<RunningDevice>, Failure> {
        if let Some(before) = &self.before {
            self.run(before, stop)?;
        }
        let mut device = self.start.as_deref().map(|start| self.start(start)).transpose()?;
        let Some(ready) = &self.ready else { return Ok(device) };
        let began = Instant::now();
        while self.run(ready, stop).is_err() {
            if let Some(device) = &mut device {
                device.check()?;
            }
            if stop() || began.elapsed() > READY_WITHIN {
                let reason =
                    format!("the device is not ready after {} s: '{ready}' fails", READY_WITHIN.as_secs());
                return Err(Failure::refused(reason));
            }
            std::thread::sleep(READY_EVERY);
        }
        Ok(device)
    }

    /// Ends the device and cleans up.
    pub(crate) fn end(
        &self,
        device: Option<RunningDevice>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Failure> {
        if let Some(mut device) = device {
            device.check()?;
        }
        self.after.as_deref().map_or(Ok(()), |after| self.run(after, stop).map(drop))
    }

    fn command(&self, text: &str) -> Result<(Command, File), Failure> {
        let failed =
            |error: std::io::Error| Failure::refused(format!("a file for the output of '{text}': {error}"));
        let errors = os::process::unnamed_file().map_err(failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", text]).stdin(Stdio::null()).stderr(errors.try_clone().map_err(failed)?);
        // A group of its own: what it starts ends with it, and Ctrl-C is for this program alone.
        command.process_group(0);
        command.envs(self.variables.iter().map(|(name, value)| (*name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        Ok((command, errors))
    }

    /// Runs a command to its end; its standard output.
    pub(crate) fn run(&self, text: &str, stop: &mut dyn FnMut() -> bool) -> Result<String, Failure> {
        let (mut command, errors) = self.command(text)?;
        let refuse = |error: std::io::Error| Failure::refused(format!("'{text}': {error}"));
        let output = os::process::unnamed_file().map_err(refuse)?;
        let mut child = command.stdout(output.try_clone().map_err(refuse)?).spawn().map_err(refuse)?;
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(refuse)? {
                break status;
            }
            let late = began.elapsed() > TIMEOUT;
            if late || stop() {
                os::process::end_group(&mut child, FAREWELL);
                let why = if late {
                    format!("did not end within {} s", TIMEOUT.as_secs())
                } else {
                    "was stopped".into()
                };
                return Err(Failure::refused(format!("'{text}' {why}")));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        if !status.success() {
            return Err(Failure::refused(format!("'{text}' failed ({status}){}", end_of(errors))));
        }
        let mut words = String::new();
        let mut output = output;
        output.seek(SeekFrom::Start(0)).and_then(|_| output.read_to_string(&mut words)).map_err(refuse)?;
        Ok(words)
    }

    fn start(&self, text: &str) -> Result<RunningDevice, Failure> {
        let (mut command, errors) = self.command(text)?;
        let child = command.stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| Failure::refused(format!("'{text}': {error}")))?;
        Ok(RunningDevice { child: Some(child), command: text.to_owned(), errors })
    }
}

impl RunningDevice {
    /// An error if the device has ended by itself.
    fn check(&mut self) -> Result<(), Failure> {
        let status = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
        let Some(status) = status else { return Ok(()) };
        let errors = self.errors.try_clone().map_or_else(|_| String::new(), end_of);
        Err(Failure::refused(format!(
            "the device ended during the trial ({status}): '{}'{errors}",
            self.command
        )))
    }
}

impl Drop for RunningDevice {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            os::process::end_group(child, FAREWELL);
        }
    }
}

/// The last line of an error output, for an error.
fn end_of(mut errors: File) -> String {
    let mut bytes = Vec::new();
    let len = errors.metadata().map_or(0, |metadata| metadata.len());
    let read = errors
        .seek(SeekFrom::Start(len.saturating_sub(ERRORS_KEPT)))
        .and_then(|_| errors.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match (read, text.trim().lines().next_back()) {
        (Ok(_), Some(line)) => format!(": {line}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(before: &str, start: &str) -> DeviceCommands {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        DeviceCommands { before: some(before), start: some(start), ..DeviceCommands::default() }
    }

    #[test]
    fn a_device_and_what_it_started_end_with_the_trial() {
        let commands = DeviceCommands {
            variables: vec![("EAGRE_SIDE", "b".to_owned())],
            ..commands("test $EAGRE_SIDE = b", "sleep 600 & sleep 600")
        };
        let device =
            commands.begin(&mut || false).unwrap_or_else(|failure| panic!("{}", failure.text)).unwrap();
        let group = device.child.as_ref().unwrap().id();
        let members = || os::process::group_size(group);
        // The shell may not have started both yet.
        let began = Instant::now();
        while members() < 3 && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(members(), 3);
        assert!(commands.end(Some(device), &mut || false).is_ok());
        assert_eq!(members(), 0);
    }

    #[test]
    fn what_fails_is_named_with_its_last_words() {
        let failed = commands("echo no such box >&2; exit 3", "").begin(&mut || false).err().unwrap();
        assert!(
            failed.text.contains("exit status: 3") && failed.text.ends_with(": no such box"),
            "{}",
            failed.text
        );
        let commands = commands("", "exit 4");
        let device = commands.begin(&mut || false).ok().unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let ended = commands.end(Some(device), &mut || false).err().unwrap();
        assert!(ended.text.contains("ended during the trial (exit status: 4)"), "{}", ended.text);
    }
}
