//! Writes secrets of sessions' connections to files while traffic runs, without getting in its way.
//!
//! Workers put lines into a queue of limited length, and a thread writes them. A slow or full disk costs lines, never
//! traffic; they are counted. Other programs append to such files, too, so they are appended to, by whole lines.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use units::count;

/// Secrets a run writes to a file at most: 100,000 connections of TLS 1.3 have five each.
const SECRETS_MAX: u64 = 500_000;
/// Lines between workers and the thread; one has up to 250 bytes.
const QUEUE: usize = 1 << 16;
/// Bytes written at a time.
const BATCH: usize = 1 << 16;
/// Time to wait for the disk at the end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes a line, at once.
pub(crate) type TakeLine = Arc<dyn Fn(String) + Send + Sync>;

/// The files of a trial.
#[derive(Default)]
pub(crate) struct KeyLogs(Mutex<Vec<KeyLogFile>>);

struct KeyLogFile {
    path: String,
    sender: SyncSender<Message>,
    counts: Arc<Counts>,
}

enum Message {
    Line(String),
    /// Everything before is to be written; then this is dropped.
    Flush(SyncSender<()>),
}

#[derive(Default)]
struct Counts {
    taken: AtomicU64,
    written: AtomicU64,
    /// Why the file can't be written any more.
    error: OnceLock<String>,
}

impl KeyLogs {
    /// Opens a file, once for all that name it, and returns what takes its lines.
    pub(crate) fn open(&self, path: &str) -> Result<TakeLine, String> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.iter().find(|file| file.path == path) {
            return Ok(file.take_line());
        }
        let failed = |error: std::io::Error| format!("key_log: {path}: {error}");
        let written = appended(path).map_err(failed)?;
        let (sender, receiver) = sync_channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let of_thread = counts.clone();
        let thread = std::thread::Builder::new().name("key-log".to_owned());
        thread.spawn(move || write(written, &receiver, &of_thread)).map_err(failed)?;
        let file = KeyLogFile { path: path.to_owned(), sender, counts };
        let take = file.take_line();
        files.push(file);
        Ok(take)
    }

    /// Notes for the result: the files and their number of secrets. Waits for lines that are still to be written.
    pub(crate) fn notes(&self) -> Vec<String> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().flat_map(KeyLogFile::notes).collect()
    }
}

impl KeyLogFile {
    fn take_line(&self) -> TakeLine {
        let (sender, counts) = (self.sender.clone(), self.counts.clone());
        Arc::new(move |line| {
            let is_full = counts.taken.fetch_add(1, Ordering::Relaxed) >= SECRETS_MAX;
            if !is_full {
                // One without room in the queue is missing from the lines written.
                let _ = sender.try_send(Message::Line(line));
            }
        })
    }

    fn flush(&self) {
        let (done, is_done) = sync_channel(0);
        let end = Instant::now() + PATIENCE;
        let mut message = Message::Flush(done);
        while let Err(TrySendError::Full(again)) = self.sender.try_send(message) {
            if Instant::now() >= end {
                return;
            }
            message = again;
            std::thread::sleep(Duration::from_millis(5));
        }
        // It ends by the other end being dropped.
        let _ = is_done.recv_timeout(PATIENCE);
    }

    fn notes(&self) -> Vec<String> {
        self.flush();
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (path, taken, written) = (&self.path, of(&self.counts.taken), of(&self.counts.written));
        let mut notes = vec![format!(
            "{} secrets of encrypted connections were appended to {path}: with that file, captures of them can be decrypted",
            count(written)
        )];
        let beyond = taken.saturating_sub(SECRETS_MAX);
        if beyond > 0 {
            notes.push(format!(
                "{path} lacks {} later secrets: a trial writes {} at most",
                count(beyond),
                count(SECRETS_MAX)
            ));
        }
        let missing = taken.min(SECRETS_MAX).saturating_sub(written);
        if missing > 0 {
            let reason = self.counts.error.get().map_or("the disk was too slow", String::as_str);
            notes.push(format!("{path} lacks {} secrets: {reason}", count(missing)));
        }
        notes
    }
}

/// The file, created for its owner alone.
fn appended(path: &str) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // To open one waits for its reader.
        if std::fs::metadata(path)
            .is_ok_and(|file| std::os::unix::fs::FileTypeExt::is_fifo(&file.file_type()))
        {
            return Err(std::io::Error::other("it is a named pipe; name a file"));
        }
    }
    options.open(path)
}

/// Writes lines until their senders are gone.
fn write(mut file: impl Write, lines: &Receiver<Message>, counts: &Counts) {
    let (mut batch, mut number) = (String::new(), 0);
    loop {
        let message = match lines.try_recv() {
            Ok(message) => Some(message),
            Err(TryRecvError::Empty) => {
                put(&mut file, &mut batch, &mut number, counts);
                lines.recv().ok()
            }
            Err(TryRecvError::Disconnected) => None,
        };
        match message {
            Some(Message::Line(line)) => {
                batch.push_str(&line);
                batch.push('\n');
                number += 1;
                if batch.len() >= BATCH {
                    put(&mut file, &mut batch, &mut number, counts);
                }
            }
            Some(Message::Flush(done)) => {
                put(&mut file, &mut batch, &mut number, counts);
                drop(done);
            }
            None => return put(&mut file, &mut batch, &mut number, counts),
        }
    }
}

fn put(file: &mut impl Write, batch: &mut String, number: &mut u64, counts: &Counts) {
    if counts.error.get().is_none() && *number > 0 {
        match file.write_all(batch.as_bytes()) {
            Ok(()) => {
                counts.written.fetch_add(*number, Ordering::Relaxed);
            }
            Err(error) => {
                let _ = counts.error.set(error.to_string());
            }
        }
    }
    batch.clear();
    *number = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_and_holds_nothing_up() {
        let logs = KeyLogs::default();
        let take = logs.open("/dev/full").unwrap();
        (0..10).for_each(|number| take(format!("CLIENT_RANDOM {number:x} ab")));
        let notes = logs.notes();
        assert!(notes[0].starts_with("0 secrets"), "{notes:?}");
        assert!(notes[1].starts_with("/dev/full lacks 10 secrets: No space left"), "{notes:?}");
    }

    #[test]
    fn lines_are_appended_by_all_that_name_the_file_up_to_a_limit() {
        let path = std::env::temp_dir().join(format!("eagre-key-log-{}", std::process::id()));
        let path = path.to_str().unwrap();
        std::fs::write(path, "# of another program\n").unwrap();
        let logs = KeyLogs::default();
        let (one, other) = (logs.open(path).unwrap(), logs.open(path).unwrap());
        one("a".to_owned());
        other("b".to_owned());
        logs.0.lock().unwrap()[0].counts.taken.store(SECRETS_MAX, Ordering::Relaxed);
        one("c".to_owned());
        let notes = logs.notes();
        let text = std::fs::read_to_string(path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert_eq!(text, "# of another program\na\nb\n");
        assert!(notes[0].starts_with("2 secrets"), "{notes:?}");
        assert!(notes[1].contains("lacks 1 later secrets"), "{notes:?}");
    }

    #[test]
    fn a_file_that_can_not_be_opened_is_an_error() {
        let error = KeyLogs::default().open("/nonexistent/keys").err().unwrap();
        assert!(error.starts_with("key_log: /nonexistent/keys: "), "{error}");
    }
}
