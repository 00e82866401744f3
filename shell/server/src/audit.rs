//! The audit log: a line of JSON for each change and for each refused request.
//!
//! Changes are in `audit.jsonl`, refusals in `refused.jsonl`, each with its own size limit: repeated refusals, with or
//! without a token, displace no change.
//!
//! Invariants:
//! - Only this user reads the files, and an entry has a bounded length.
//! - What cannot be written now is written later, in order; changes are refused meanwhile ([`Audit::ready`]).

use crate::jobs::lock;
use api::AuditEntry;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Entries of each kind that can be requested.
const RECENT: usize = 200;
/// Bytes after which a new file of changes begins; the one before is kept.
const CHANGES_MAX: u64 = 16 << 20;
/// The same for refusals.
const REFUSALS_MAX: u64 = 4 << 20;
/// Entries that wait for the disk at most.
const UNWRITTEN_MAX: usize = 10_000;
/// Characters of a text in an entry.
const TEXT_MAX: usize = 300;

/// The log.
#[derive(Debug)]
pub(crate) struct Audit {
    changes: Mutex<Trail>,
    refusals: Mutex<Trail>,
}

/// A file of entries, and the newest of them.
#[derive(Debug)]
struct Trail {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
    recent: VecDeque<AuditEntry>,
    /// Lines that the disk did not take yet, and why.
    unwritten: VecDeque<String>,
}

fn open(path: &Path) -> std::io::Result<(File, u64)> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    // One that is there already may have been readable for others.
    file.set_permissions(Permissions::from_mode(0o600))?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

impl Audit {
    /// Goes on with the files in a folder.
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        let trail = |name: &str, bytes_max| {
            Ok::<_, std::io::Error>(Mutex::new(Trail::open(folder.join(name), bytes_max)?))
        };
        Ok(Self {
            changes: trail("audit.jsonl", CHANGES_MAX)?,
            refusals: trail("refused.jsonl", REFUSALS_MAX)?,
        })
    }

    /// Writes an entry.
    pub(crate) fn note(&self, mut entry: AuditEntry) {
        entry.what = cut(entry.what);
        entry.detail = entry.detail.map(cut);
        let refused = matches!(entry.status, 401 | 403);
        lock(if refused { &self.refusals } else { &self.changes }).write(entry);
    }

    /// Makes sure that a change can be noted.
    ///
    /// # Errors
    /// Why an earlier one could not, and still cannot.
    pub(crate) fn ready(&self) -> Result<(), String> {
        let mut changes = lock(&self.changes);
        changes.catch_up().map_err(|error| {
            format!("the audit log {} cannot be written: {error}; make room for it", changes.path.display())
        })
    }

    /// The latest changes and the latest refusals, newest first.
    pub(crate) fn recent(&self) -> Vec<AuditEntry> {
        let mut all: Vec<AuditEntry> = lock(&self.changes).recent.iter().cloned().collect();
        all.extend(lock(&self.refusals).recent.iter().cloned());
        all.sort_by(|one, other| other.at.cmp(&one.at));
        all
    }
}

impl Trail {
    fn open(path: PathBuf, bytes_max: u64) -> std::io::Result<Self> {
        let (file, bytes) = open(&path)?;
        Ok(Self { path, file, bytes, bytes_max, recent: VecDeque::new(), unwritten: VecDeque::new() })
    }

    fn write(&mut self, entry: AuditEntry) {
        let line = serde_json::to_string(&entry).unwrap_or_default() + "\n";
        if self.bytes > self.bytes_max {
            // If that fails the file grows, which is better than a gap.
            let _ = fs::rename(&self.path, self.path.with_extension("1.jsonl"));
            if let Ok((file, bytes)) = open(&self.path) {
                (self.file, self.bytes) = (file, bytes);
            }
        }
        self.unwritten.push_back(line);
        if let Err(error) = self.catch_up() {
            tracing::error!("{}: {error}; {} entries wait", self.path.display(), self.unwritten.len());
            // Only what is refused comes in such numbers.
            if self.unwritten.len() > UNWRITTEN_MAX {
                self.unwritten.pop_front();
            }
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(entry);
    }
}

impl Trail {
    /// Writes what the disk did not take before.
    fn catch_up(&mut self) -> std::io::Result<()> {
        while let Some(line) = self.unwritten.front() {
            if let Err(error) = self.file.write_all(line.as_bytes()) {
                // Half a line is none.
                let _ = self.file.set_len(self.bytes);
                return Err(error);
            }
            self.bytes += line.len() as u64;
            self.unwritten.pop_front();
        }
        Ok(())
    }
}

/// A text of a bounded length.
fn cut(text: String) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(what: &str, status: u16) -> AuditEntry {
        let (at, who, from) = (crate::jobs::now(), "-".to_owned(), "127.0.0.1:1".to_owned());
        AuditEntry { at, who, role: None, from, what: what.to_owned(), status, detail: None }
    }

    #[test]
    fn what_the_disk_refuses_is_written_later() {
        let folder = std::env::temp_dir().join(format!("eagre-audit-full-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let audit = Audit::open(&folder).unwrap();
        audit.note(entry("PUT /one", 200));
        assert!(audit.ready().is_ok());
        // A disk without room.
        let whole = std::mem::replace(
            &mut lock(&audit.changes).file,
            File::options().write(true).open("/dev/full").unwrap(),
        );
        audit.note(entry("PUT /two", 200));
        audit.note(entry("PUT /three", 200));
        assert!(
            audit.ready().unwrap_err().contains("audit.jsonl cannot be written: No space left on device")
        );
        lock(&audit.changes).file = whole;
        assert!(audit.ready().is_ok());
        audit.note(entry("PUT /four", 200));
        let text = fs::read_to_string(folder.join("audit.jsonl")).unwrap();
        let what: Vec<String> =
            text.lines().map(|line| serde_json::from_str::<AuditEntry>(line).unwrap().what).collect();
        assert_eq!(what, ["PUT /one", "PUT /two", "PUT /three", "PUT /four"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn refusals_push_no_change_out() {
        let folder = std::env::temp_dir().join(format!("eagre-audit-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let audit = Audit::open(&folder).unwrap();
        audit.note(entry("DELETE /api/v1/results/1", 204));
        let path = format!("GET /{}", "ä".repeat(60_000));
        (0..2 * RECENT).for_each(|_| audit.note(entry(&path, 401)));
        let recent = audit.recent();
        assert_eq!(recent.len(), RECENT + 1);
        assert_eq!(recent[RECENT].status, 204);
        assert!(recent.iter().all(|entry| entry.what.chars().count() < TEXT_MAX + 30));
        for (name, least, most) in [("audit.jsonl", 50, 1_000), ("refused.jsonl", 100_000, 1 << 20)] {
            let facts = fs::metadata(folder.join(name)).unwrap();
            assert!((least..most).contains(&facts.len()), "{name}: {}", facts.len());
            assert_eq!(facts.permissions().mode() & 0o777, 0o600);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
