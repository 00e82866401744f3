//! An open shell that runs scripts. It ends with its owner, which closes its input and kills it.

use rustix::net::SendFlags;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Timeout of a script.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout for the error output of a shell that has exited.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum buffered output lines.
const LINES_MAX: usize = 1024;
/// Maximum bytes of error output to keep.
const STDERR_MAX: u64 = 16 * 1024;

/// An open shell.
pub(super) struct Shell {
    child: Child,
    /// A socket instead of a pipe: writing to a closed pipe would end this program.
    input: Option<UnixStream>,
    lines: Receiver<String>,
    stderr: Receiver<String>,
    scripts: u64,
    is_ended: bool,
}

impl Shell {
    /// Starts a shell, given by program and arguments, that reads scripts from its standard input.
    pub(super) fn open(words: &[String]) -> Result<Self, String> {
        let (input, theirs) =
            UnixStream::pair().map_err(|error| format!("cannot create a socket: {error}"))?;
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Shields it from the terminal's Ctrl-C.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", words[0]))?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (sender, lines) = sync_channel(LINES_MAX);
        std::thread::spawn(move || {
            for line in output.into_iter().flat_map(|output| BufReader::new(output).split(b'\n')) {
                let Ok(line) = line else { return };
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        let (said, stderr) = sync_channel(1);
        std::thread::spawn(move || {
            let mut text = Vec::new();
            // A read error counts as end of file; the receiver can be gone.
            let _ = errors.map(|errors| errors.take(STDERR_MAX).read_to_end(&mut text));
            let _ = said.send(String::from_utf8_lossy(&text).into_owned());
        });
        Ok(Self { child, input: Some(input), lines, stderr, scripts: 0, is_ended: false })
    }

    /// Whether it has exited, or was killed because it did not respond.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Runs a script and returns its output.
    pub(super) fn run(&mut self, script: &str) -> Result<String, String> {
        self.scripts += 1;
        let mark = format!("@@end {}", self.scripts);
        if !self.write_script(&format!("{script}\necho; echo '{mark}'\n")) {
            return Err(self.ended());
        }
        let end = Instant::now() + TIMEOUT;
        let mut answer = String::from("\n");
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line == mark => return Ok(answer),
                Ok(line) => {
                    answer.push_str(&line);
                    answer.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) => {
                    self.end();
                    return Err(format!("no response within {} s", TIMEOUT.as_secs()));
                }
            }
        }
    }

    /// Writes a script to the shell; returns whether all was written.
    fn write_script(&self, text: &str) -> bool {
        let Some(input) = &self.input else { return false };
        let mut left = text.as_bytes();
        while !left.is_empty() {
            match rustix::net::send(input, left, SendFlags::NOSIGNAL) {
                Ok(sent) => left = &left[sent..],
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// The last line of its error output.
    fn ended(&mut self) -> String {
        self.end();
        // A child of it can keep the pipe open.
        let words = self.stderr.recv_timeout(STDERR_TIMEOUT).unwrap_or_default();
        let last = words.lines().rev().map(str::trim).find(|line| !line.is_empty());
        last.map_or_else(|| "its shell exited without an error message".to_owned(), str::to_owned)
    }

    fn end(&mut self) {
        self.is_ended = true;
        self.input = None;
        // It can have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn scripts_are_answered_one_after_the_other() {
        let mut shell = Shell::open(&words("sh")).unwrap();
        assert_eq!(shell.run("x=7; echo one").unwrap(), "\none\n\n");
        assert_eq!(shell.run("printf $x").unwrap(), "\n7\n", "it is the same shell, and lines are whole");
    }

    #[test]
    fn a_shell_that_ends_says_why() {
        let mut shell = Shell::open(&words("sh|-c|echo first >&2; echo no such place >&2; exit 1")).unwrap();
        assert_eq!(shell.run("echo").unwrap_err(), "no such place");
        assert!(shell.is_ended());
        assert!(Shell::open(&words("/there/is/none")).is_err());
    }
}
