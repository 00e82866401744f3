//! Refusals by a NATS server of this machine, as its log has them: unknown keys, foreign subjects, connections without TLS.
//!
//! Not here: refusals by agents, which their own logs have.

use crate::local::LocalBroker;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// Interval at which the log is read.
const READ_EVERY: Duration = Duration::from_millis(500);
/// Longest line that is read, bytes.
const LINE_MAX: usize = 4_096;

/// A connection or a message that the server refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerRefusal {
    /// Address of the client.
    pub from: String,
    /// The member with the key, if it is known.
    pub who: Option<String>,
    /// `connect`, `publish SUBJECT` or `subscribe SUBJECT`.
    pub what: String,
    /// Whether the client proved who it is: only its subject is wrong.
    pub is_known: bool,
    /// The server's words.
    pub reason: String,
}

/// Reads a line of the log.
fn read(line: &str, name: impl Fn(&str) -> Option<String>) -> Option<BrokerRefusal> {
    let (_, entry) = line.split_once("[ERR] ")?;
    let (from, rest) = entry.split_once(" - cid:")?;
    let (_, said) = rest.split_once(" - ")?;
    let after =
        |mark: &str| said.split_once(mark).map(|(_, rest)| rest.split('"').next().unwrap_or_default());
    let who = after("Nkey \"").and_then(name);
    let refusal = |what: String, is_known| {
        Some(BrokerRefusal {
            from: from.to_owned(),
            who: who.clone(),
            what,
            is_known,
            reason: said.trim().to_owned(),
        })
    };
    if said.contains("Publish Violation") {
        return refusal(format!("publish {}", after("Subject \"")?), true);
    }
    if said.contains("Subscription Violation") {
        return refusal(format!("subscribe {}", after("Subject \"")?), true);
    }
    // A client that went away has been refused nothing.
    let is_refused = said.contains("authentication error")
        || said.contains("TLS handshake error") && !said.contains("read tcp");
    if is_refused { refusal("connect".to_owned(), false) } else { None }
}

/// Follows the server's log from now on, in a thread that ends once `take` returns false.
///
/// # Errors
/// No thread can be started.
pub fn follow(
    broker: LocalBroker,
    mut take: impl FnMut(Option<BrokerRefusal>) -> bool + Send + 'static,
) -> std::io::Result<()> {
    let mut place = Place::end_of(&broker);
    let body = move || {
        // Asked each time, also if nothing was refused.
        while take(None) {
            std::thread::sleep(READ_EVERY);
            for line in place.lines(&broker) {
                if let Some(refusal) = read(&line, |key| broker.member_with(key))
                    && !take(Some(refusal))
                {
                    return;
                }
            }
        }
    };
    std::thread::Builder::new().name("eagre-refusals".to_owned()).spawn(body).map(drop)
}

/// Position in the log: the file, and the bytes that have been read.
#[derive(Debug, Default)]
struct Place {
    file: u64,
    bytes: u64,
}

impl Place {
    fn end_of(broker: &LocalBroker) -> Self {
        let facts = fs::metadata(broker.log_file());
        facts.map_or_else(|_| Self::default(), |facts| Self { file: facts.ino(), bytes: facts.len() })
    }

    /// Lines that are new; of a log that began again, all.
    fn lines(&mut self, broker: &LocalBroker) -> Vec<String> {
        let Ok(mut log) = File::open(broker.log_file()) else { return Vec::new() };
        let Ok(facts) = log.metadata() else { return Vec::new() };
        if facts.ino() != self.file || facts.len() < self.bytes {
            *self = Self { file: facts.ino(), bytes: 0 };
        }
        if log.seek(SeekFrom::Start(self.bytes)).is_err() {
            return Vec::new();
        }
        let (mut reader, mut lines, mut line) = (BufReader::new(log), Vec::new(), Vec::new());
        // A line without its end is still being written.
        while reader.read_until(b'\n', &mut line).is_ok_and(|_| line.ends_with(b"\n")) {
            self.bytes += line.len() as u64;
            line.truncate(LINE_MAX);
            lines.push(String::from_utf8_lossy(&line).into_owned());
            line.clear();
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_servers_are_read() {
        let name = |key: &str| (key == "UAB").then(|| "a1".to_owned());
        let begin = "[6871] 2026/11/30 01:57:06.093752 [ERR] 10.0.0.3:35148 - cid:6 - ";
        let of = |rest: &str| read(&format!("{begin}{rest}\n"), name);
        let violation = of(
            r#""v0.50.0:rust:eagre a7" - Subscription Violation - Nkey "UAB", Subject "_INBOX.a7.*", SID 0"#,
        )
        .unwrap();
        assert_eq!(
            (violation.who.as_deref(), violation.what.as_str()),
            (Some("a1"), "subscribe _INBOX.a7.*")
        );
        assert!(violation.is_known && violation.from == "10.0.0.3:35148");
        assert_eq!(
            of(r#""v" - Publish Violation - Nkey "UXY", Subject "eagre.a.a2.open""#).unwrap().what,
            "publish eagre.a.a2.open"
        );
        let unknown = of(r#""v0.50.0:rust:eagre a1" - authentication error - Nkey "UXY""#).unwrap();
        assert_eq!((unknown.who, unknown.what.as_str(), unknown.is_known), (None, "connect", false));
        assert!(of("TLS handshake error: tls: first record does not look like a TLS handshake").is_some());
        assert_eq!(
            of("TLS handshake error: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer"),
            None
        );
        assert_eq!(read("[1] 2026/11/30 01:57:05.290922 [INF] Reloaded: accounts", name), None);
    }
}
