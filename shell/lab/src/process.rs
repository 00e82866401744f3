//! Processes of a lab: told from all others, and ended.
//!
//! A process number alone says nothing: it may be somebody else's by now. With the time the process started it names
//! one process for as long as the machine runs.

use crate::folder::Lab;
use crate::topology::Place;
use rustix::process::{self as sys, Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The variable in the environment of everything a lab starts.
pub(crate) const MARK: &str = "EAGRE_LAB";

/// A process, whatever becomes of its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its number.
    pub pid: u32,
    /// When it started, clock ticks after the machine did.
    pub start_ticks: u64,
    /// What it is called.
    pub name: String,
}

/// What /proc tells of a process.
struct Facts {
    pid: u32,
    zombie: bool,
    group: u32,
    start_ticks: u64,
    name: String,
}

impl From<Facts> for Started {
    fn from(facts: Facts) -> Self {
        Self { pid: facts.pid, start_ticks: facts.start_ticks, name: facts.name }
    }
}

impl Started {
    /// The process that has this number now.
    pub fn of(pid: u32) -> Option<Self> {
        facts(pid).map(Self::from)
    }

    /// Whether it still runs.
    pub fn runs(&self) -> bool {
        facts(self.pid).is_some_and(|now| now.start_ticks == self.start_ticks && !now.zombie)
    }

    /// Asks it to end (SIGTERM); it may take its time.
    pub fn ask_to_end(&self) {
        send(self, Signal::TERM);
    }
}

/// Field numbers as in proc(5), counted from the state behind the name.
fn parse(pid: u32, stat: &str) -> Option<Facts> {
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = after.split_whitespace().collect();
    Some(Facts {
        pid,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        group: fields.get(2)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        name,
    })
}

fn facts(pid: u32) -> Option<Facts> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Everything that runs.
fn all() -> impl Iterator<Item = Facts> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| facts(entry.file_name().to_str()?.parse().ok()?)).filter(|facts| !facts.zombie)
}

/// What identifies a namespace: device and inode.
type Identity = (u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

fn is_marked(pid: u32, lab: &str) -> bool {
    let mark = format!("{MARK}={lab}");
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|&byte| byte == 0).any(|word| word == mark.as_bytes()))
}

/// Whether a process was called with a file of this folder.
fn is_called_with(pid: u32, folder: &Path) -> bool {
    let folder = format!("{}/", folder.display());
    fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|words| String::from_utf8_lossy(&words).contains(&folder))
}

/// The processes of a lab: those of its state, what carries its mark in its namespaces, and the children of both.
/// Without a state those called with a file of its folder count, too: servers overwrite their environment, and so the
/// mark.
pub(crate) fn of_lab(place: &Place, namespaces: &[String], lab: Option<&Lab>) -> Vec<Started> {
    let inside = inside(namespaces);
    let recorded = lab.map(|lab| lab.processes.as_slice()).unwrap_or_default();
    let is_recorded =
        |facts: &Facts| recorded.iter().any(|r| r.pid == facts.pid && r.start_ticks == facts.start_ticks);
    let is_marked = |facts: &Facts| {
        is_marked(facts.pid, place.name()) || lab.is_none() && is_called_with(facts.pid, place.folder())
    };
    let (mut ours, others): (Vec<Facts>, Vec<Facts>) = all()
        .filter(|facts| is_recorded(facts) || inside(facts.pid))
        .partition(|facts| is_recorded(facts) || is_marked(facts));
    // What a lab starts leads a group, whose number nobody else can have as long as one of the group is left.
    let leads =
        |group: u32| recorded.iter().any(|r| r.pid == group) || ours.iter().any(|facts| facts.pid == group);
    let children: Vec<Facts> = others.into_iter().filter(|facts| leads(facts.group)).collect();
    ours.extend(children);
    ours.into_iter().map(Started::from).collect()
}

/// Everybody in a lab's namespaces, whoever started them.
pub(crate) fn in_namespaces(namespaces: &[String]) -> Vec<Started> {
    let inside = inside(namespaces);
    all().filter(|facts| inside(facts.pid)).map(Started::from).collect()
}

fn inside(namespaces: &[String]) -> impl Fn(u32) -> bool + use<> {
    let identities: Vec<Identity> =
        namespaces.iter().filter_map(|name| identity(&Path::new(crate::folder::NETNS).join(name))).collect();
    move |pid| {
        let own = identity(Path::new(&format!("/proc/{pid}/ns/net")));
        own.is_some_and(|own| identities.contains(&own))
    }
}

/// Sends a signal to this very process; to nobody if it is gone.
fn send(process: &Started, signal: Signal) {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
    let handle = pid.and_then(|pid| sys::pidfd_open(pid, PidfdFlags::empty()).ok());
    // Looked at after the handle was taken: from here on it can't become somebody else.
    if let Some(handle) = handle.filter(|_| process.runs()) {
        let _ = sys::pidfd_send_signal(handle, signal);
    }
}

/// Ends processes: politely, then not. Returns those that are left.
pub(crate) fn end(processes: &[Started]) -> Vec<Started> {
    for (signal, patience_ms) in [(Signal::TERM, 3_000), (Signal::KILL, 5_000)] {
        processes.iter().filter(|process| process.runs()).for_each(|process| send(process, signal));
        for _ in 0..patience_ms / 10 {
            if !processes.iter().any(Started::runs) {
                return Vec::new();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    processes.iter().filter(|process| process.runs()).cloned().collect()
}

/// Ends a child of ours that leads a group, and the group.
pub(crate) fn kill_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = sys::kill_process_group(pid, Signal::KILL);
    }
}

/// Whether this process may do everything.
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
        let facts = parse(42, stat).unwrap();
        assert_eq!(
            (facts.name.as_str(), facts.group, facts.start_ticks, facts.zombie),
            ("a) (b", 40, 98765, false)
        );
        assert!(parse(42, "42 (a) Z 1").is_none() && parse(1, "").is_none());
    }

    #[test]
    fn a_number_that_is_somebody_elses_now_is_left_alone() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let real = Started::of(child.id()).unwrap();
        assert!(real.runs() && real.name == "sleep");
        let other = Started { start_ticks: real.start_ticks + 1, ..real.clone() };
        assert!(!other.runs());
        assert!(end(std::slice::from_ref(&other)).is_empty());
        assert!(real.runs(), "it was ended although it is another process");
        assert!(end(std::slice::from_ref(&real)).is_empty());
        child.wait().unwrap();
        assert!(!real.runs());
    }

    #[test]
    fn who_does_not_listen_is_killed() {
        let mut child = Command::new("sh")
            .args(["-c", "trap '' TERM; echo; while :; do sleep 0.1; done"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert!(end(&[Started::of(child.id()).unwrap()]).is_empty());
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
