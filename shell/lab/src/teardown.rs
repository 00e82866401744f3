//! Takes a lab down, for any creator and even if incomplete.

use crate::folder::{self, Lab, NETNS};
use crate::process::{self, LabProcess};
use crate::topology::LabPaths;
use crate::{LabError, needs};
use std::path::Path;
use std::process::{Command, Stdio};

/// Removed items.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    /// Namespaces.
    pub namespaces: Vec<String>,
    /// Processes.
    pub processes: Vec<LabProcess>,
    /// Whether huge pages were given back.
    pub huge_pages: bool,
    /// Processes in its namespaces that the lab did not start, such as a user's shell. They keep running in
    /// a namespace without a name.
    pub others: Vec<LabProcess>,
}

/// Takes a lab down: its processes, namespaces with all links, files and huge pages.
///
/// # Errors
///
/// If there is no such lab, this is not root, or something could not be removed; the rest is removed anyway.
pub fn down(paths: &LabPaths) -> Result<Removed, LabError> {
    let namespaces = folder::namespaces(paths);
    if !paths.folder().exists() && namespaces.is_empty() {
        return Err(LabError::NotUp(paths.name().to_owned()));
    }
    if !process::is_root() {
        return Err(LabError::NotRoot);
    }
    let lab = folder::read(paths);
    stop_owner(lab.as_ref());
    let (namespaces, lab) = (folder::namespaces(paths), folder::read(paths));
    let mut removed = Removed { namespaces: namespaces.clone(), ..Removed::default() };
    let mut left = Vec::new();
    // Twice: a process that was just being started can appear after the first pass.
    for _ in 0..2 {
        let processes = process::of_lab(paths, &namespaces, lab.as_ref());
        left = process::end(&processes);
        removed.processes.extend(processes);
    }
    removed.others = process::in_namespaces(&namespaces);
    removed.others.retain(|other| !left.contains(other));
    let mut failures: Vec<String> =
        left.iter().map(|p| format!("cannot end {} ({})", p.name, p.pid)).collect();
    failures.extend(namespaces.iter().filter_map(|name| delete(name).err()));
    // Only once: the folder with the reservation is removed next.
    if let Some(reservation) = lab.as_ref().and_then(|lab| lab.huge_pages).filter(|_| failures.is_empty()) {
        removed.huge_pages = reservation.give_back().map_err(|e| failures.push(e.to_string())).is_ok();
    }
    if failures.is_empty() {
        folder::remove(paths)?;
        return Ok(removed);
    }
    Err(LabError::Left { name: paths.name().to_owned(), what: failures.join("; ") })
}

/// Stops a process that is still bringing the lab up; it removes what it has created.
fn stop_owner(lab: Option<&Lab>) {
    let owner = lab.filter(|lab| !lab.ready).and_then(|lab| lab.owner.as_ref());
    if let Some(owner) = owner.filter(|owner| owner.pid != std::process::id() && owner.is_running()) {
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
    // Another process can remove it at the same time.
    if done.status.success() || !Path::new(NETNS).join(name).exists() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())
}
