//! A lab's folder: its state, its files, the sockets and logs of its processes.
//!
//! `/run/eagre/lab-NAME/` is made in one step that fails if it is there, so two processes can't bring up one lab. The
//! state in it is replaced as a whole, so that a reader sees the old one or the new one.

use crate::LabError;
use crate::design::Test;
use crate::huge_pages::Reservation;
use crate::process::Started;
use crate::topology::Place;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Where labs have their folders.
pub(crate) const ROOT: &str = "/run/eagre";
/// Where `ip netns` keeps the names of namespaces.
pub(crate) const NETNS: &str = "/run/netns";
const PREFIX: &str = "lab-";
const STATE: &str = "state.json";

/// A lab that is up, or was half made or half removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lab {
    /// Its name.
    pub name: String,
    /// Its topology.
    pub topology: String,
    /// The parameters it was made with, for people.
    pub parameters: String,
    /// Who brings it up, or has.
    pub owner: Option<Started>,
    /// Whether it was brought up to the end.
    pub ready: bool,
    /// Full names of its namespaces.
    pub namespaces: Vec<String>,
    /// Its processes.
    pub processes: Vec<Started>,
    /// How it is tested.
    pub tests: Vec<Test>,
    /// Huge pages it has reserved.
    pub(crate) huge_pages: Option<Reservation>,
}

/// How a lab is.
#[derive(Debug, Clone, PartialEq)]
pub struct LabStatus {
    /// The lab, as far as it is known.
    pub lab: Lab,
    /// Those of its namespaces that are there.
    pub namespaces: Vec<String>,
    /// Those of its processes that run.
    pub running: Vec<Started>,
}

impl LabStatus {
    /// One word: 'up', 'incomplete' (not brought up to the end) or 'damaged' (something has gone since).
    pub fn word(&self) -> &'static str {
        let all = |process: &Started| self.running.iter().any(|running| running.pid == process.pid);
        let whole = self.namespaces.len() == self.lab.namespaces.len() && self.lab.processes.iter().all(all);
        match (self.lab.ready, whole) {
            (false, _) => "incomplete",
            (true, false) => "damaged",
            (true, true) => "up",
        }
    }
}

/// All labs of this machine, also those that only left something behind.
pub fn labs() -> Vec<LabStatus> {
    let folders = fs::read_dir(ROOT).into_iter().flatten().flatten();
    let mut names: Vec<String> = folders
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix(PREFIX)?.to_owned()))
        .collect();
    let namespaces = fs::read_dir(NETNS).into_iter().flatten().flatten();
    names.extend(namespaces.filter_map(|entry| Place::lab_of(entry.file_name().to_str()?)));
    names.sort();
    names.dedup();
    names.iter().filter_map(|name| status(&Place::named(name).ok()?)).collect()
}

/// How a lab is; nothing if there is no trace of it.
pub fn status(place: &Place) -> Option<LabStatus> {
    let namespaces = namespaces(place);
    if !place.folder().exists() && namespaces.is_empty() {
        return None;
    }
    let lab = read(place);
    let running = crate::process::of_lab(place, &namespaces, lab.as_ref());
    Some(LabStatus { lab: lab.unwrap_or_else(|| Lab::unknown(place)), namespaces, running })
}

/// Namespaces of a lab that are there, by their names.
pub(crate) fn namespaces(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(NETNS).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| Place::lab_of(name).as_deref() == Some(place.name()));
    names.sort();
    names
}

impl Lab {
    /// What is known of a lab without a state.
    fn unknown(place: &Place) -> Self {
        Self {
            name: place.name().to_owned(),
            topology: String::new(),
            parameters: String::new(),
            owner: None,
            ready: false,
            namespaces: Vec::new(),
            processes: Vec::new(),
            tests: Vec::new(),
            huge_pages: None,
        }
    }
}

/// Makes a lab's folder.
pub(crate) fn claim(place: &Place) -> Result<(), LabError> {
    let file = |path: &Path, error| LabError::File { path: path.to_owned(), error };
    let up =
        || LabError::Up { name: place.name().to_owned(), down: format!("eagre lab down {}", place.name()) };
    if !namespaces(place).is_empty() {
        return Err(up());
    }
    loop {
        fs::create_dir_all(ROOT).map_err(|e| file(Path::new(ROOT), e))?;
        return match fs::create_dir(place.folder()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(up()),
            // The last other lab was just taken down, and the folder of all labs with it.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => Err(file(place.folder(), error)),
        };
    }
}

/// Writes a lab's state.
pub(crate) fn write(place: &Place, lab: &Lab) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(lab).map_err(std::io::Error::from);
    let new = place.folder().join("state.new");
    let written = text.and_then(|text| fs::write(&new, text));
    let written = written.and_then(|()| fs::rename(&new, place.folder().join(STATE)));
    written.map_err(|error| LabError::File { path: new, error })
}

/// Reads a lab's state.
pub(crate) fn read(place: &Place) -> Option<Lab> {
    serde_json::from_str(&fs::read_to_string(place.folder().join(STATE)).ok()?).ok()
}

/// Removes a lab's folder, and the folder of all labs if this was the last.
pub(crate) fn remove(place: &Place) -> Result<bool, LabError> {
    match fs::remove_dir_all(place.folder()) {
        Ok(()) => {
            let _ = fs::remove_dir(ROOT);
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(LabError::File { path: place.folder().to_owned(), error }),
    }
}
