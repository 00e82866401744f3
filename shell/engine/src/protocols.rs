//! Programs that run control protocols in the namespaces of ports: started before the first trial, waited for, and
//! ended after the last.
//!
//! Not here: how frames get to them (`punt`).
//!
//! Invariant: no program outlives this process, nor does anything it starts.

mod program;
mod recipe;

use crate::error::EngineError;
use os::claim::Marker;
use os::namespace::Namespace;
use profile::Plan;
use profile::plan::ProtocolPlan;
use program::{Log, Program, lock};
use recipe::Recipe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two attempts to find something up.
const RETRY: Duration = Duration::from_millis(100);
/// Time for a command of a recipe or a profile.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(20);

/// Progress of an entry of the profile.
#[derive(Debug, Clone)]
enum Stage {
    Starting,
    /// After so long.
    Up(Duration),
    Failed(String),
}

/// One entry under `protocols`.
struct Entry {
    name: String,
    folder: PathBuf,
    /// Marks a folder for temporary files as in use. Without it, logs are for the user, named in the result.
    _marker: Option<Marker>,
    stage: Arc<Mutex<Stage>>,
    /// Its running programs, in the order of their start.
    programs: Arc<Mutex<Vec<Program>>>,
    ends: Arc<AtomicBool>,
    starter: Option<JoinHandle<()>>,
}

/// Result of an entry.
pub(crate) struct ProtocolState {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) logs: Vec<PathBuf>,
    pub(crate) up_after: Option<Duration>,
    /// Why it does not run any more.
    pub(crate) ended: Option<String>,
}

/// The programs of a plan.
#[derive(Default)]
pub(crate) struct Protocols {
    entries: Vec<Entry>,
}

impl Protocols {
    /// Starts the programs of `plan`; `namespaces` are its ports'. They run on `cores`.
    pub(crate) fn start(
        plan: &Plan,
        namespaces: &[Option<&Namespace>],
        cores: &[usize],
    ) -> Result<Self, EngineError> {
        let mut all = Self::default();
        for entry in &plan.protocols {
            let bad = |reason| EngineError::Protocol { name: entry.name.clone(), reason };
            let Some(Some(namespace)) = namespaces.get(entry.port) else { continue };
            let namespace =
                namespace.try_clone().map_err(|error| bad(format!("can't enter its namespace: {error}")))?;
            let (folder, marker) = folder(entry).map_err(bad)?;
            let host = plan.ports[entry.port].own();
            let address = host.addresses.first().map(|own| own.ip.to_string()).unwrap_or_default();
            let recipe = Recipe::new(entry, &folder, &host.name, &address);
            all.entries.push(Entry::start(entry, (folder, marker), namespace, recipe, cores.to_vec()));
        }
        Ok(all)
    }

    /// Whether all are up. An error if one is not and will not be.
    pub(crate) fn are_up(&self) -> Result<bool, EngineError> {
        let mut up = true;
        for entry in &self.entries {
            match &*lock(&entry.stage) {
                Stage::Starting => up = false,
                Stage::Up(_) => {}
                Stage::Failed(reason) => {
                    return Err(EngineError::Protocol { name: entry.name.clone(), reason: reason.clone() });
                }
            }
        }
        Ok(up)
    }

    /// Result of each.
    pub(crate) fn states(&self) -> Vec<ProtocolState> {
        let state = |entry: &Entry| {
            let programs = lock(&entry.programs);
            ProtocolState {
                name: entry.name.clone(),
                folder: entry.folder.clone(),
                logs: programs.iter().map(|program| program.log.path.clone()).collect(),
                up_after: match *lock(&entry.stage) {
                    Stage::Up(after) => Some(after),
                    _ => None,
                },
                ended: programs.iter().find_map(Program::ended),
            }
        };
        self.entries.iter().map(state).collect()
    }
}

impl Drop for Protocols {
    fn drop(&mut self) {
        self.entries.iter().for_each(|entry| entry.ends.store(true, Ordering::Relaxed));
        for entry in &mut self.entries {
            if let Some(starter) = entry.starter.take() {
                let _ = starter.join();
            }
            lock(&entry.programs).iter().for_each(Program::end);
        }
        // All are told before any is waited for.
        self.entries.iter().for_each(|entry| lock(&entry.programs).clear());
    }
}

impl Entry {
    fn start(
        plan: &ProtocolPlan,
        (folder, marker): (PathBuf, Option<Marker>),
        namespace: Namespace,
        recipe: Recipe,
        cores: Vec<usize>,
    ) -> Self {
        let stage = Arc::new(Mutex::new(Stage::Starting));
        let (programs, ends) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let mut start = Start {
            begun: Instant::now(),
            timeout: Duration::from_nanos(plan.timeout.0),
            folder: folder.clone(),
            namespace,
            cores,
            programs: programs.clone(),
            ends: ends.clone(),
        };
        let outcome = stage.clone();
        let body = move || {
            let done = start.run(&recipe);
            *lock(&outcome) = match done {
                Ok(()) => Stage::Up(start.begun.elapsed()),
                Err(reason) => Stage::Failed(reason),
            };
        };
        let thread = std::thread::Builder::new().name("eagre-protocol".to_owned()).spawn(body);
        if let Err(error) = &thread {
            *lock(&stage) = Stage::Failed(format!("can't start a thread: {error}"));
        }
        let name = plan.name.clone();
        Self { name, folder, _marker: marker, stage, programs, ends, starter: thread.ok() }
    }
}

/// Brings an entry up, on a separate thread.
struct Start {
    begun: Instant,
    timeout: Duration,
    folder: PathBuf,
    namespace: Namespace,
    cores: Vec<usize>,
    programs: Arc<Mutex<Vec<Program>>>,
    ends: Arc<AtomicBool>,
}

impl Start {
    fn run(&mut self, recipe: &Recipe) -> Result<(), String> {
        self.namespace.enter().map_err(|error| format!("can't enter its namespace: {error}"))?;
        let _ = os::cpu::pin_to(&self.cores);
        for (name, text) in &recipe.files {
            let path = self.folder.join(name);
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        for service in &recipe.services {
            let log = Log { path: self.folder.join(format!("{}.log", service.name)) };
            let program = Program::start(
                &self.namespace,
                &self.cores,
                &service.name,
                &service.command,
                &self.folder,
                log,
            )
            .map_err(|error| program::not_started(&service.command[0], recipe.package, &error))?;
            lock(&self.programs).push(program);
            if let Some(socket) = &service.socket {
                self.wait(&format!("{} made no socket {}", service.name, socket.display()), || {
                    Ok(socket.exists())
                })?;
            }
        }
        for command in &recipe.setup {
            let done = self
                .call(command)
                .map_err(|error| program::not_started(&command[0], recipe.package, &error))?;
            if !done.status.success() {
                let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
                return Err(format!("its configuration is refused:{}", program::last_lines(&said)));
            }
        }
        let Some(ready) = &recipe.ready else {
            // A program that fails at once is found out about.
            std::thread::sleep(RETRY);
            return self.alive();
        };
        let mut said = String::new();
        let mut is_ready = || {
            let done =
                self.call(ready).map_err(|error| program::not_started(&ready[0], recipe.package, &error))?;
            said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
            Ok(done.status.success())
        };
        let outcome = self.wait("it was not ready", &mut is_ready);
        outcome.map_err(|reason| match said.trim() {
            "" => reason,
            said => format!("{reason}\n  the last output of 'ready':{}", program::last_lines(said)),
        })
    }

    /// Waits until `condition` holds; `what` names the condition in the error of a timeout.
    fn wait(&self, what: &str, mut condition: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
        loop {
            self.alive()?;
            if condition()? {
                return Ok(());
            }
            if self.begun.elapsed() >= self.timeout {
                let logs: Vec<String> =
                    lock(&self.programs).iter().map(|program| program.log.tail()).collect();
                return Err(format!("{what} within {} s{}", self.timeout.as_secs_f64(), logs.concat()));
            }
            std::thread::sleep(RETRY);
        }
    }

    /// An error if one of its programs has ended, or it is to end.
    fn alive(&self) -> Result<(), String> {
        if self.ends.load(Ordering::Relaxed) {
            return Err("the run was cancelled".to_owned());
        }
        match lock(&self.programs).iter().find_map(Program::ended) {
            Some(reason) => Err(reason),
            None => Ok(()),
        }
    }

    fn call(&self, command: &[String]) -> std::io::Result<std::process::Output> {
        program::call(command, &self.folder, COMMAND_TIMEOUT)
    }
}

/// The entry's folder, made if it is not there. A temporary one is marked; those that killed runs left are removed.
fn folder(entry: &ProtocolPlan) -> Result<(PathBuf, Option<Marker>), String> {
    let failed =
        |path: &Path, error: std::io::Error| format!("can't make the folder {}: {error}", path.display());
    if let Some(folder) = &entry.folder {
        let path = std::path::absolute(folder).map_err(|error| failed(Path::new(folder), error))?;
        std::fs::create_dir_all(&path).map_err(|error| failed(&path, error))?;
        return Ok((path, None));
    }
    os::claim::remove_abandoned_folders(&std::env::temp_dir(), |name| name.starts_with("eagre-"));
    for number in 0..1_000 {
        let name = format!("eagre-{}-{}-{number}", std::process::id(), entry.name);
        let path = std::env::temp_dir().join(name);
        match std::fs::create_dir(&path) {
            Ok(()) => {
                let marker = Marker::folder(&path).map_err(|error| failed(&path, error))?;
                return Ok((path, Some(marker)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, error)),
        }
    }
    Err(format!("{} has too many folders of earlier runs", std::env::temp_dir().display()))
}
