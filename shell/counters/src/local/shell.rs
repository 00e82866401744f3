//! A shell that stays open and answers scripts. It ends with its owner: its input is closed, and it is ended by its number.

use rustix::net::SendFlags;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Longest time a script may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How long is waited for the last words of a shell that has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Lines of an answer that may wait to be taken.
const WAITING: usize = 1024;
/// Most that is kept of what it complains about, bytes.
const COMPLAINTS: u64 = 16 * 1024;

/// An open shell.
pub(super) struct Shell {
    child: Child,
    /// A socket and no pipe: writing to a pipe nobody reads from would end the program.
    input: Option<UnixStream>,
    lines: Receiver<String>,
    complaints: Receiver<String>,
    scripts: u64,
    is_ended: bool,
}

impl Shell {
    /// Starts `words`, which are a shell that reads scripts from its standard input.
    pub(super) fn open(words: &[String]) -> Result<Self, String> {
        let (input, theirs) = UnixStream::pair().map_err(|error| format!("no socket: {error}"))?;
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // The terminal's Ctrl-C is for whoever owns the poller.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("can't run {}: {error}", words[0]))?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (sender, lines) = sync_channel(WAITING);
        std::thread::spawn(move || {
            for line in output.into_iter().flat_map(|output| BufReader::new(output).split(b'\n')) {
                let Ok(line) = line else { return };
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        let (said, complaints) = sync_channel(1);
        std::thread::spawn(move || {
            let mut text = Vec::new();
            // An end of file is all that can be said of an error here; nobody may be listening any more.
            let _ = errors.map(|errors| errors.take(COMPLAINTS).read_to_end(&mut text));
            let _ = said.send(String::from_utf8_lossy(&text).into_owned());
        });
        Ok(Self { child, input: Some(input), lines, complaints, scripts: 0, is_ended: false })
    }

    /// Whether it has ended, or was ended because it did not answer.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// What the script prints. The error says why there is no answer.
    pub(super) fn run(&mut self, script: &str) -> Result<String, String> {
        self.scripts += 1;
        let mark = format!("@@end {}", self.scripts);
        if !self.typed(&format!("{script}\necho; echo '{mark}'\n")) {
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
                    return Err(format!("no answer within {} s", TIMEOUT.as_secs()));
                }
            }
        }
    }

    /// Whether all of the text could be handed over.
    fn typed(&self, text: &str) -> bool {
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

    /// Why it has ended: its last words.
    fn ended(&mut self) -> String {
        self.end();
        // What it has started may live on and keep its end of the pipe.
        let words = self.complaints.recv_timeout(LAST_WORDS).unwrap_or_default();
        let last = words.lines().rev().map(str::trim).find(|line| !line.is_empty());
        last.map_or_else(|| "its shell ended without a word".to_owned(), str::to_owned)
    }

    fn end(&mut self) {
        self.is_ended = true;
        self.input = None;
        // It may have ended by itself.
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
