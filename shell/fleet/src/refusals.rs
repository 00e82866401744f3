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
/// Longest line that is read, bytes. A client's name of 4,096 bytes has four times as many where all are escaped.
const LINE_MAX: usize = 32 << 10;
/// Longest reason that is kept, characters.
const REASON_MAX: usize = 1_024;

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
    let mut fields = line.splitn(5, ' ').skip(3);
    let (kind, entry) = (fields.next()?, fields.next()?);
    let (from, rest) = entry.split_once(" - cid:")?;
    let (_, rest) = rest.split_once(" - ")?;
    let (user, said) = message(rest);
    let after =
        |mark: &str| said.split_once(mark).map(|(_, rest)| rest.split('"').next().unwrap_or_default());
    // Newer servers write what is not TLS for debugging only. A client that went away has been refused nothing.
    let is_plain = said.starts_with("TLS handshake error") && !said.contains("read tcp");
    let is_error = kind == "[ERR]";
    let (what, is_known) = if is_error && said.starts_with("Publish Violation") {
        (format!("publish {}", after("Subject \"")?), true)
    } else if is_error && said.starts_with("Subscription Violation") {
        (format!("subscribe {}", after("Subject \"")?), true)
    } else if is_error && said.starts_with("authentication error")
        || is_plain && (is_error || kind == "[DBG]")
    {
        ("connect".to_owned(), false)
    } else {
        return None;
    };
    // Only a client that has proved who it is has a user.
    let user = user.filter(|_| is_known);
    let key = || user.and_then(|user| user.split_once("nkey:")).map(|(_, key)| key);
    let who = after("Nkey \"").or_else(key).and_then(name);
    let reason = said.trim();
    let reason = reason.chars().take(REASON_MAX).collect();
    Some(BrokerRefusal { from: from.to_owned(), who, what, is_known, reason })
}

/// The user, and the server's message. Before them is the client's name in quotes, if it has one, which can have any text; quotes in it are
/// escaped. Older servers have no user there, but the key in their message.
fn message(mut rest: &str) -> (Option<&str>, &str) {
    let mut quoted = Vec::new();
    while let Some((text, after)) = rest.strip_prefix('"').and_then(in_quotes)
        && let Some(after) = after.strip_prefix(" - ")
    {
        quoted.push(text);
        rest = after;
    }
    (quoted.last().copied(), rest)
}

/// The text up to the quote that ends it, and what follows.
fn in_quotes(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.find(|letter: char| {
        let is_end = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        is_end
    })?;
    Some((text.get(..end)?, text.get(end + 1..)?))
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
        // As 2.15 writes them.
        let violation = of(
            r#""v0.50.0:rust:eagre a7" - "$G/nkey:UAB" - Subscription Violation - Subject "_INBOX.a7.*", SID 0"#,
        )
        .unwrap();
        assert_eq!(
            (violation.who.as_deref(), violation.what.as_str()),
            (Some("a1"), "subscribe _INBOX.a7.*")
        );
        let plain = begin.replace("ERR", "DBG");
        let plain =
            format!("{plain}TLS handshake error: tls: first record does not look like a TLS handshake");
        assert_eq!(read(&plain, name).unwrap().what, "connect");
        assert_eq!(read(&begin.replace("ERR", "DBG"), name), None);
        assert_eq!(read("[1] 2026/11/30 01:57:05.290922 [INF] Reloaded: accounts", name), None);
    }

    #[test]
    fn a_name_forges_no_refusal() {
        let name = |key: &str| (key == "UAB").then(|| "a1".to_owned());
        let of = |kind: &str, rest: &str| {
            read(&format!("[1] 2026/11/30 01:57:06.093752 [{kind}] 10.0.0.3:1 - cid:6 - {rest}\n"), name)
        };
        for forged in [
            r#""v1:rust:TLS handshake error" - Client connection closed"#,
            r#""v1:rust:[ERR] 10.0.0.9:1 - cid:7 - TLS handshake error" - Client connection created"#,
            r#""v1:rust:x\" - TLS handshake error" - Client connection created"#,
            r#""v1:rust:x\" - \"$G/nkey:UAB\" - Publish Violation - Subject \"x\"" - Client connection created"#,
        ] {
            assert_eq!(of("DBG", forged), None, "{forged}");
            assert_eq!(of("ERR", forged), None, "{forged}");
        }
        let own =
            of("ERR", r#""v1:rust:nkey:UAB" - "$G/nkey:UXY" - Publish Violation - Subject "x""#).unwrap();
        assert_eq!((own.who, own.what.as_str()), (None, "publish x"));
        let old = r#""v1:rust:Nkey \"UAB\" - Publish Violation" - Subscription Violation - Nkey "UXY", Subject "y""#;
        let old = of("ERR", old).unwrap();
        assert_eq!((old.who, old.what.as_str()), (None, "subscribe y"));
        assert_eq!(of("DBG", r#""v1" - Publish Violation - Nkey "UAB", Subject "x""#), None);
        let nameless = of("ERR", r#""$G/nkey:UAB" - Publish Violation - Subject "x""#).unwrap();
        assert_eq!(nameless.who.as_deref(), Some("a1"));
        assert_eq!(of("ERR", r#""v1:rust:nkey:UAB" - authentication error"#).unwrap().who, None);
        let long =
            of("ERR", &format!(r#""{}" - authentication error{}"#, r"\x7f".repeat(4_096), "!".repeat(9_000)));
        assert_eq!(long.unwrap().reason.len(), REASON_MAX);
    }
}
