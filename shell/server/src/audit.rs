//! Who did what: a line of JSON for everything that changes something, and for everything that was refused.

use crate::jobs::lock;
use api::AuditEntry;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Entries that can be asked for.
const RECENT: usize = 200;
/// Bytes after which a new file begins; the one before is kept.
const FILE_MAX: u64 = 16 << 20;

/// The log.
#[derive(Debug)]
pub(crate) struct Audit {
    path: PathBuf,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    file: File,
    bytes: u64,
    recent: VecDeque<AuditEntry>,
}

fn open(path: &Path) -> std::io::Result<(File, u64)> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

impl Audit {
    /// Goes on with `audit.jsonl` in a folder.
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join("audit.jsonl");
        let (file, bytes) = open(&path)?;
        Ok(Self { path, written: Mutex::new(Written { file, bytes, recent: VecDeque::new() }) })
    }

    /// Writes an entry.
    pub(crate) fn note(&self, entry: AuditEntry) {
        let line = serde_json::to_string(&entry).unwrap_or_default() + "\n";
        let mut written = lock(&self.written);
        if written.bytes > FILE_MAX {
            // If that fails the file grows, which is better than a gap.
            let _ = fs::rename(&self.path, self.path.with_extension("1.jsonl"));
            if let Ok((file, bytes)) = open(&self.path) {
                (written.file, written.bytes) = (file, bytes);
            }
        }
        match written.file.write_all(line.as_bytes()) {
            Ok(()) => written.bytes += line.len() as u64,
            Err(error) => tracing::error!("{}: {error}; this was to be written: {line}", self.path.display()),
        }
        if written.recent.len() == RECENT {
            written.recent.pop_front();
        }
        written.recent.push_back(entry);
    }

    /// The latest entries, newest first.
    pub(crate) fn recent(&self) -> Vec<AuditEntry> {
        lock(&self.written).recent.iter().rev().cloned().collect()
    }
}
