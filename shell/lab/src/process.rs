//! Finds a lab's processes and ends them.
//!
//! A process id alone can be reused. Together with the start time it identifies one process until the next boot.

use crate::folder::Lab;
use crate::topology::LabPaths;
use rustix::process::{self as sys, Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Environment variable of everything a lab starts.
pub(crate) const MARK: &str = "EAGRE_LAB";

/// A process, identified by id and start time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabProcess {
    /// Its process id.
    pub pid: u32,
    /// Start time, clock ticks since boot.
    pub start_ticks: u64,
    /// Its name.
    pub name: String,
}

/// Data of /proc on a process.
struct ProcStat {
    pid: u32,
    zombie: bool,
    group: u32,
    start_ticks: u64,
    name: String,
}

impl From<ProcStat> for LabProcess {
    fn from(stat: ProcStat) -> Self {
        Self { pid: stat.pid, start_ticks: stat.start_ticks, name: stat.name }
    }
}

impl LabProcess {
    /// The process that has this id now.
    pub fn of(pid: u32) -> Option<Self> {
        stat(pid).map(Self::from)
    }

    /// Whether it is still running.
    pub fn is_running(&self) -> bool {
        stat(self.pid).is_some_and(|now| now.start_ticks == self.start_ticks && !now.zombie)
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        send(self, Signal::TERM);
    }
}

/// Field numbers as in proc(5), counted from the state after the name.
fn parse(pid: u32, stat: &str) -> Option<ProcStat> {
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_whitespace().collect();
    Some(ProcStat {
        pid,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        group: fields.get(2)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        name,
    })
}

fn stat(pid: u32) -> Option<ProcStat> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// All running processes.
fn all() -> impl Iterator<Item = ProcStat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| stat(entry.file_name().to_str()?.parse().ok()?)).filter(|stat| !stat.zombie)
}

/// Identity of a namespace: device and inode.
type Identity = (u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

fn is_marked(pid: u32, lab: &str) -> bool {
    let mark = format!("{MARK}={lab}");
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|&byte| byte == 0).any(|word| word == mark.as_bytes()))
}

/// Whether a process's command line has a file of this folder.
fn is_called_with(pid: u32, folder: &Path) -> bool {
    let folder = format!("{}/", folder.display());
    fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|words| String::from_utf8_lossy(&words).contains(&folder))
}

/// The processes of a lab: those in its state file, those with its mark in its namespaces, and the children of both.
/// Without a state file also those with a file of its folder in their command line: servers overwrite their environment
/// and with it the mark.
pub(crate) fn of_lab(paths: &LabPaths, namespaces: &[String], lab: Option<&Lab>) -> Vec<LabProcess> {
    let inside = inside(namespaces);
    let recorded = lab.map(|lab| lab.processes.as_slice()).unwrap_or_default();
    let is_recorded =
        |stat: &ProcStat| recorded.iter().any(|r| r.pid == stat.pid && r.start_ticks == stat.start_ticks);
    let is_marked = |stat: &ProcStat| {
        is_marked(stat.pid, paths.name()) || lab.is_none() && is_called_with(stat.pid, paths.folder())
    };
    let (mut ours, others): (Vec<ProcStat>, Vec<ProcStat>) = all()
        .filter(|stat| is_recorded(stat) || inside(stat.pid))
        .partition(|stat| is_recorded(stat) || is_marked(stat));
    // What a lab starts leads a process group, whose id is not reused while the group has members.
    let leads =
        |group: u32| recorded.iter().any(|r| r.pid == group) || ours.iter().any(|stat| stat.pid == group);
    let children: Vec<ProcStat> = others.into_iter().filter(|stat| leads(stat.group)).collect();
    ours.extend(children);
    ours.into_iter().map(LabProcess::from).collect()
}

/// All processes in a lab's namespaces.
pub(crate) fn in_namespaces(namespaces: &[String]) -> Vec<LabProcess> {
    let inside = inside(namespaces);
    all().filter(|stat| inside(stat.pid)).map(LabProcess::from).collect()
}

fn inside(namespaces: &[String]) -> impl Fn(u32) -> bool + use<> {
    let identities: Vec<Identity> =
        namespaces.iter().filter_map(|name| identity(&Path::new(crate::folder::NETNS).join(name))).collect();
    move |pid| {
        let own = identity(Path::new(&format!("/proc/{pid}/ns/net")));
        own.is_some_and(|own| identities.contains(&own))
    }
}

/// Sends a signal to this process only; does nothing if it is gone.
fn send(process: &LabProcess, signal: Signal) {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
    let handle = pid.and_then(|pid| sys::pidfd_open(pid, PidfdFlags::empty()).ok());
    // Check after opening the handle: from here on the id cannot be reused.
    if let Some(handle) = handle.filter(|_| process.is_running()) {
        let _ = sys::pidfd_send_signal(handle, signal);
    }
}

/// Ends processes with SIGTERM, then SIGKILL. Returns those that remain.
pub(crate) fn end(processes: &[LabProcess]) -> Vec<LabProcess> {
    for (signal, timeout_ms) in [(Signal::TERM, 3_000), (Signal::KILL, 5_000)] {
        processes.iter().filter(|process| process.is_running()).for_each(|process| send(process, signal));
        for _ in 0..timeout_ms / 10 {
            if !processes.iter().any(LabProcess::is_running) {
                return Vec::new();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    processes.iter().filter(|process| process.is_running()).cloned().collect()
}

/// Kills a child that leads a process group, and the group.
pub(crate) fn kill_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = sys::kill_process_group(pid, Signal::KILL);
    }
}

/// Whether this process runs as root.
pub(crate) fn is_root() -> bool {
    sys::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn stat_is_read_whatever_a_process_is_called() {
        let stat =
            "42 (a) (b) R 1 40 40 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 1 0 98765 1000 10 18446744073709551615";
        let stat = parse(42, stat).unwrap();
        assert_eq!(
            (stat.name.as_str(), stat.group, stat.start_ticks, stat.zombie),
            ("a) (b", 40, 98765, false)
        );
        assert!(parse(42, "42 (a) Z 1").is_none() && parse(1, "").is_none());
    }

    #[test]
    fn a_number_that_is_somebody_elses_now_is_left_alone() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let real = LabProcess::of(child.id()).unwrap();
        assert!(real.is_running() && real.name == "sleep");
        let other = LabProcess { start_ticks: real.start_ticks + 1, ..real.clone() };
        assert!(!other.is_running());
        assert!(end(std::slice::from_ref(&other)).is_empty());
        assert!(real.is_running(), "it was ended although it is another process");
        assert!(end(std::slice::from_ref(&real)).is_empty());
        child.wait().unwrap();
        assert!(!real.is_running());
    }

    #[test]
    fn who_does_not_listen_is_killed() {
        let mut child = Command::new("sh")
            .args(["-c", "trap '' TERM; echo; while :; do sleep 0.1; done"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert!(end(&[LabProcess::of(child.id()).unwrap()]).is_empty());
        child.wait().unwrap();
    }

    #[test]
    fn marks_are_seen() {
        let mut child = Command::new("sleep").arg("60").env(MARK, "x").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(is_marked(child.id(), "x") && !is_marked(child.id(), "xy") && !is_marked(child.id(), ""));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
