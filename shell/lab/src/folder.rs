//! A lab's folder: its state, its files, the sockets and logs of its processes.
//!
//! `/run/eagre/lab-NAME/` is created atomically and fails if it exists, so two processes cannot bring up the same lab.
//! The state file is replaced as a whole, so a reader sees the old or the new one.

use crate::LabError;
use crate::design::Test;
use crate::huge_pages::Reservation;
use crate::process::LabProcess;
use crate::topology::LabPaths;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Parent of the labs' folders.
pub(crate) const ROOT: &str = "/run/eagre";
/// Directory of named network namespaces (`ip netns`).
pub(crate) const NETNS: &str = "/run/netns";
const PREFIX: &str = "lab-";
const STATE: &str = "state.json";

/// A lab that is up, or partly created or removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lab {
    /// Its name.
    pub name: String,
    /// Its topology.
    pub topology: String,
    /// Its parameters, as text.
    pub parameters: String,
    /// The process that brings it up, or did.
    pub owner: Option<LabProcess>,
    /// Whether it was brought up completely.
    pub ready: bool,
    /// Full names of its namespaces.
    pub namespaces: Vec<String>,
    /// Its processes.
    pub processes: Vec<LabProcess>,
    /// Its tests.
    pub tests: Vec<Test>,
    /// Cores of the tester, in the kernel's notation, if they were chosen.
    #[serde(default)]
    pub(crate) tester_cores: Option<String>,
    /// Huge pages it has reserved.
    pub(crate) huge_pages: Option<Reservation>,
}

/// The status of a lab.
#[derive(Debug, Clone, PartialEq)]
pub struct LabStatus {
    /// The lab, as far as known.
    pub lab: Lab,
    /// Its namespaces that exist.
    pub namespaces: Vec<String>,
    /// Its processes that run.
    pub running: Vec<LabProcess>,
}

impl LabStatus {
    /// 'up', 'incomplete' (not brought up completely) or 'damaged' (something is missing since).
    pub fn word(&self) -> &'static str {
        let all = |process: &LabProcess| self.running.iter().any(|running| running.pid == process.pid);
        let whole = self.namespaces.len() == self.lab.namespaces.len() && self.lab.processes.iter().all(all);
        match (self.lab.ready, whole) {
            (false, _) => "incomplete",
            (true, false) => "damaged",
            (true, true) => "up",
        }
    }
}

/// All labs of this machine, including leftovers.
pub fn labs() -> Vec<LabStatus> {
    let folders = fs::read_dir(ROOT).into_iter().flatten().flatten();
    let mut names: Vec<String> = folders
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix(PREFIX)?.to_owned()))
        .collect();
    let namespaces = fs::read_dir(NETNS).into_iter().flatten().flatten();
    names.extend(namespaces.filter_map(|entry| LabPaths::lab_of(entry.file_name().to_str()?)));
    names.sort();
    names.dedup();
    names.iter().filter_map(|name| status(&LabPaths::named(name).ok()?)).collect()
}

/// The status of a lab; `None` if there is no trace of it.
pub fn status(paths: &LabPaths) -> Option<LabStatus> {
    let namespaces = namespaces(paths);
    if !paths.folder().exists() && namespaces.is_empty() {
        return None;
    }
    let lab = read(paths);
    let running = crate::process::of_lab(paths, &namespaces, lab.as_ref());
    Some(LabStatus { lab: lab.unwrap_or_else(|| Lab::unknown(paths)), namespaces, running })
}

/// Names of a lab's existing namespaces.
pub(crate) fn namespaces(paths: &LabPaths) -> Vec<String> {
    let entries = fs::read_dir(NETNS).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| LabPaths::lab_of(name).as_deref() == Some(paths.name()));
    names.sort();
    names
}

impl Lab {
    /// A lab without a state file.
    fn unknown(paths: &LabPaths) -> Self {
        Self {
            name: paths.name().to_owned(),
            topology: String::new(),
            parameters: String::new(),
            owner: None,
            ready: false,
            namespaces: Vec::new(),
            processes: Vec::new(),
            tests: Vec::new(),
            tester_cores: None,
            huge_pages: None,
        }
    }
}

/// Creates a lab's folder.
pub(crate) fn claim(paths: &LabPaths) -> Result<(), LabError> {
    let file = |path: &Path, error| LabError::File { path: path.to_owned(), error };
    let up =
        || LabError::Up { name: paths.name().to_owned(), down: format!("eagre lab down {}", paths.name()) };
    if !namespaces(paths).is_empty() {
        return Err(up());
    }
    loop {
        fs::create_dir_all(ROOT).map_err(|e| file(Path::new(ROOT), e))?;
        return match fs::create_dir(paths.folder()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(up()),
            // The last other lab was just taken down, and with it the parent folder.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => Err(file(paths.folder(), error)),
        };
    }
}

/// Writes a lab's state.
pub(crate) fn write(paths: &LabPaths, lab: &Lab) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(lab).map_err(std::io::Error::from);
    let path = paths.folder().join(STATE);
    let written = text.and_then(|text| os::draft::replace(&path, text));
    written.map_err(|error| LabError::File { path, error })
}

/// Reads a lab's state.
pub(crate) fn read(paths: &LabPaths) -> Option<Lab> {
    serde_json::from_str(&fs::read_to_string(paths.folder().join(STATE)).ok()?).ok()
}

/// Removes a lab's folder, and the folder of all labs if this was the last.
pub(crate) fn remove(paths: &LabPaths) -> Result<bool, LabError> {
    match fs::remove_dir_all(paths.folder()) {
        Ok(()) => {
            let _ = fs::remove_dir(ROOT);
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(LabError::File { path: paths.folder().to_owned(), error }),
    }
}
