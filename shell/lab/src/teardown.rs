//! Takes a lab away, whoever made it and however far it got.

use crate::folder::{self, Lab, NETNS};
use crate::process::{self, Started};
use crate::topology::Place;
use crate::{LabError, needs};
use std::path::Path;
use std::process::{Command, Stdio};

/// What was taken away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    /// Namespaces.
    pub namespaces: Vec<String>,
    /// Processes.
    pub processes: Vec<Started>,
    /// Whether huge pages were given back.
    pub huge_pages: bool,
    /// Processes in its namespaces that the lab did not start, such as somebody's shell. They go on, in a namespace
    /// without a name.
    pub others: Vec<Started>,
}

/// Takes a lab away: its processes, namespaces with all links, files and huge pages.
///
/// # Errors
///
/// If there is nothing of that name, this is not root, or something would not go; the rest is gone then all the same.
pub fn down(place: &Place) -> Result<Removed, LabError> {
    let namespaces = folder::namespaces(place);
    if !place.folder().exists() && namespaces.is_empty() {
        return Err(LabError::NotUp(place.name().to_owned()));
    }
    if !process::is_root() {
        return Err(LabError::NotRoot);
    }
    let lab = folder::read(place);
    stop_owner(lab.as_ref());
    let (namespaces, lab) = (folder::namespaces(place), folder::read(place));
    let mut removed = Removed { namespaces: namespaces.clone(), ..Removed::default() };
    let mut left = Vec::new();
    // Twice: one that was just being started can show up after the first look.
    for _ in 0..2 {
        let processes = process::of_lab(place, &namespaces, lab.as_ref());
        left = process::end(&processes);
        removed.processes.extend(processes);
    }
    removed.others = process::in_namespaces(&namespaces);
    removed.others.retain(|other| !left.contains(other));
    let mut failures: Vec<String> =
        left.iter().map(|p| format!("{} ({}) does not end", p.name, p.pid)).collect();
    failures.extend(namespaces.iter().filter_map(|name| delete(name).err()));
    // Only once: the folder, and the note in it, goes next.
    if let Some(reservation) = lab.as_ref().and_then(|lab| lab.huge_pages).filter(|_| failures.is_empty()) {
        removed.huge_pages = reservation.give_back().map_err(|e| failures.push(e.to_string())).is_ok();
    }
    if failures.is_empty() {
        folder::remove(place)?;
        return Ok(removed);
    }
    Err(LabError::Left { name: place.name().to_owned(), what: failures.join("; ") })
}

/// If somebody is still bringing the lab up, they are stopped first; they take away what they have made.
fn stop_owner(lab: Option<&Lab>) {
    let owner = lab.filter(|lab| !lab.ready).and_then(|lab| lab.owner.as_ref());
    if let Some(owner) = owner.filter(|owner| owner.pid != std::process::id() && owner.runs()) {
        process::end(std::slice::from_ref(owner));
    }
}

/// Removes a namespace, and with it all its links.
fn delete(name: &str) -> Result<(), String> {
    if !Path::new(NETNS).join(name).exists() {
        return Ok(());
    }
    let done = Command::new("ip")
        .args(["netns", "delete", name])
        .env("PATH", needs::search_path())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("ip netns delete {name}: {error}"))?;
    // Somebody else may take it away at the same time.
    if done.status.success() || !Path::new(NETNS).join(name).exists() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())
}
