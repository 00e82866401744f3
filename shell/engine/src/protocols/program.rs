//! A program in a namespace, and the thread that starts, watches and ends it.

use os::namespace::{self, Namespace};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval at which a program is checked.
const WATCH: Duration = Duration::from_millis(20);
/// Time for it to end.
const PATIENCE: Duration = Duration::from_secs(3);
/// Lines of a log in a message, and bytes that are read for them.
const LINES: usize = 8;
const TAIL_BYTES: u64 = 16 << 10;

/// The data of a mutex, even if it is poisoned.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file with a program's output.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) path: PathBuf,
}

impl Log {
    /// A sentence with its last lines.
    pub(super) fn tail(&self) -> String {
        let read = || -> io::Result<String> {
            use std::io::{Read, Seek, SeekFrom};
            let mut file = File::open(&self.path)?;
            let len = file.metadata()?.len();
            file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        match read().unwrap_or_default() {
            text if text.trim().is_empty() => format!("; its log {} is empty", self.path.display()),
            text => format!("; its log {} ends:{}", self.path.display(), last_lines(&text)),
        }
    }
}

/// The last lines of a text, each on a separate indented line.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|line| format!("\n    {line}")).collect()
}

/// Why a program did not start.
pub(super) fn not_started(program: &str, package: Option<&str>, error: &io::Error) -> String {
    match (error.kind(), package) {
        (io::ErrorKind::NotFound, Some(package)) => {
            format!("'{program}' is not installed; install it (Debian: apt install {package})")
        }
        (io::ErrorKind::NotFound, None) => {
            format!("there is no program '{program}'; install it, or name its path")
        }
        _ => format!("can't start '{program}': {error}"),
    }
}

/// A program that runs.
pub(super) struct Program {
    pub(super) log: Log,
    ended: Arc<Mutex<Option<String>>>,
    end: Sender<()>,
    keeper: Option<JoinHandle<()>>,
}

impl Program {
    /// Starts `command` in `namespace`, on `cores`; its output goes to `log`. It ends with this process at the latest,
    /// together with its children.
    pub(super) fn start(
        namespace: &Namespace,
        cores: &[usize],
        name: &str,
        command: &[String],
        folder: &Path,
        log: Log,
    ) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o644).open(&log.path)?;
        let mut started = Command::new(&command[0]);
        started.args(&command[1..]).current_dir(folder).stdin(Stdio::null());
        started.stdout(file.try_clone()?).stderr(file);
        namespace::tie(&mut started);
        let ended = Arc::new(Mutex::new(None));
        let (end, ends) = mpsc::channel();
        let (ready_tx, ready) = mpsc::channel();
        let (namespace, cores) = (namespace.try_clone()?, cores.to_vec());
        let (why, whose, name) = (ended.clone(), log.clone(), name.to_owned());
        // The kernel ends the program when this thread ends, whatever ends it.
        let keep = move || {
            let mut start = || {
                namespace.enter()?;
                namespace::separate_processes()?;
                let _ = os::cpu::pin_to(&cores);
                started.spawn()
            };
            let mut child = match start() {
                Ok(child) => child,
                Err(error) => return drop(ready_tx.send(Err(error))),
            };
            let _ = ready_tx.send(Ok(()));
            loop {
                match child.try_wait() {
                    Ok(None) => {}
                    Ok(Some(status)) => {
                        *lock(&why) = Some(format!("{name} ended ({status}){}", whose.tail()));
                        return;
                    }
                    Err(error) => {
                        *lock(&why) = Some(format!("{name} is lost: {error}"));
                        return;
                    }
                }
                if !matches!(ends.recv_timeout(WATCH), Err(RecvTimeoutError::Timeout)) {
                    return terminate(&mut child);
                }
            }
        };
        let keeper = std::thread::Builder::new().name("eagre-keeper".to_owned()).spawn(keep)?;
        ready.recv().map_err(|_| io::ErrorKind::Other)??;
        Ok(Self { log, ended, end, keeper: Some(keeper) })
    }

    /// Why it does not run any more.
    pub(super) fn ended(&self) -> Option<String> {
        lock(&self.ended).clone()
    }

    /// Has it end.
    pub(super) fn end(&self) {
        let _ = self.end.send(());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Ends a child by SIGTERM, or else SIGKILL.
fn terminate(child: &mut Child) {
    os::process::terminate(child);
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(WATCH),
            _ => return,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Runs a command to its end in the namespace of the calling thread, which it does not outlive.
pub(super) fn call(command: &[String], folder: &Path, timeout: Duration) -> io::Result<Output> {
    let mut called = Command::new(&command[0]);
    called.args(&command[1..]).current_dir(folder).stdin(Stdio::null());
    called.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = namespace::tie(&mut called).spawn()?;
    let begun = Instant::now();
    while child.try_wait()?.is_none() && begun.elapsed() < timeout {
        std::thread::sleep(WATCH);
    }
    if child.try_wait()?.is_none() {
        child.kill()?;
    }
    child.wait_with_output()
}
