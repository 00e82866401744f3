//! Processor usage: busy time of cores and processes, and the load average, from `/proc`.
//!
//! Only names and times of processes are read, and only on demand.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// Ticks of the kernel's process times in a second: USER_HZ, the same on all architectures Rust knows.
const TICKS_PER_S: f64 = 100.0;
/// Maximum number of processes that are examined.
const PROCESSES_MAX: usize = 5_000;

/// The kernel's view of processes: `/proc`, or a folder like it.
#[derive(Debug, Clone)]
pub struct Proc {
    root: PathBuf,
}

impl Default for Proc {
    fn default() -> Self {
        Self::at("/proc")
    }
}

/// Times of a core since boot, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreTimes {
    /// Something ran.
    pub busy: u64,
    /// Nothing ran.
    pub idle: u64,
    /// The host ran others.
    pub stolen: u64,
}

impl CoreTimes {
    /// Share of the time since `earlier` in which nothing ran; `None` if no tick passed.
    pub fn idle_share(&self, earlier: &Self) -> Option<f64> {
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let (busy, idle) = (since(self.busy, earlier.busy), since(self.idle, earlier.idle));
        let all = busy + idle + since(self.stolen, earlier.stolen);
        (all > 0).then(|| idle as f64 / all as f64)
    }
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessTime {
    name: String,
    ticks: u64,
    /// Since boot: together with its number it names one process.
    started: u64,
}

impl Proc {
    /// A folder like `/proc`.
    pub fn at(root: impl AsRef<Path>) -> Self {
        Self { root: root.as_ref().to_owned() }
    }

    fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// Times of each core that is online.
    pub fn cores(&self) -> BTreeMap<usize, CoreTimes> {
        self.text("stat").iter().flat_map(|text| text.lines()).filter_map(core_times).collect()
    }

    /// Threads that ran or wanted to, averaged over the last minute.
    pub fn load_average(&self) -> Option<f64> {
        self.text("loadavg")?.split_whitespace().next()?.parse().ok()
    }

    /// All processes that can be seen, by number.
    fn processes(&self) -> HashMap<u32, ProcessTime> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        ids.take(PROCESSES_MAX)
            .filter_map(|id| Some((id, process_time(&self.text(format!("{id}/stat"))?)?)))
            .collect()
    }
}

/// A core's line of `/proc/stat`: user nice system idle iowait irq softirq steal.
fn core_times(line: &str) -> Option<(usize, CoreTimes)> {
    let (name, times) = line.split_once(' ')?;
    let core = name.strip_prefix("cpu")?.parse().ok()?;
    let times: Vec<u64> = times.split_whitespace().filter_map(|time| time.parse().ok()).collect();
    let [user, nice, system, idle, wait, irq, softirq, rest @ ..] = &times[..] else { return None };
    let stolen = rest.first().copied().unwrap_or(0);
    Some((core, CoreTimes { busy: user + nice + system + irq + softirq, idle: idle + wait, stolen }))
}

/// From `/proc/PID/stat` (proc(5)): fields 14 and 15 are times, field 22 the start; the name may have any character.
fn process_time(stat: &str) -> Option<ProcessTime> {
    let (before, fields) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(ProcessTime { name, ticks: number(14)? + number(15)?, started: number(22)? })
}

/// Processor time of one kind of process.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// Name of the processes.
    pub name: String,
    /// Time they used, s.
    pub cpu_s: f64,
}

/// Watches which processes use the processors.
#[derive(Debug)]
pub struct Activity {
    proc: Proc,
    /// This process, which is not counted.
    own: u32,
    last: HashMap<u32, ProcessTime>,
    used: BTreeMap<String, u64>,
}

impl Activity {
    /// Begins to watch all processes but the one with the number `own`.
    pub fn begin(proc: Proc, own: u32) -> Self {
        Self { last: proc.processes(), proc, own, used: BTreeMap::new() }
    }

    /// Records the usage since the last call. The usage of processes that have ended meanwhile is not known.
    pub fn look(&mut self) {
        let now = self.proc.processes();
        for (id, process) in now.iter().filter(|(id, _)| **id != self.own) {
            let before = self.last.get(id).filter(|before| before.started == process.started);
            let ticks = process.ticks.saturating_sub(before.map_or(0, |before| before.ticks));
            if ticks > 0 {
                *self.used.entry(process.name.clone()).or_default() += ticks;
            }
        }
        self.last = now;
    }

    /// The `most` names that used most since the beginning, the largest first.
    pub fn top(&self, most: usize) -> Vec<Usage> {
        let mut all: Vec<(&String, &u64)> = self.used.iter().collect();
        all.sort_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
        let usage =
            |(name, ticks): (&String, &u64)| Usage { name: name.clone(), cpu_s: *ticks as f64 / TICKS_PER_S };
        all.into_iter().take(most).map(usage).collect()
    }
}

/// Time that something ran on all cores together from `earlier` to `now`, s.
pub fn busy_s(earlier: &BTreeMap<usize, CoreTimes>, now: &BTreeMap<usize, CoreTimes>) -> f64 {
    let of = |(core, now): (&usize, &CoreTimes)| Some(now.busy.saturating_sub(earlier.get(core)?.busy));
    now.iter().filter_map(of).sum::<u64>() as f64 / TICKS_PER_S
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder like /proc; removed when dropped.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("eagre-activity-{name}-{}", std::process::id()));
            fs::create_dir_all(&root).unwrap();
            Self(root)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn process(&self, id: u32, name: &str, ticks: u64, started: u64) {
            let fields = format!("S 1 {id} {id} 0 -1 4194560 9 0 0 0 {ticks} 5 0 0 20 0 1 0 {started} 0 0");
            self.write(&format!("{id}/stat"), &format!("{id} ({name}) {fields}"));
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn times_of_cores_are_read_and_shares_follow() {
        let tree = Tree::new("cores");
        let proc = Proc::at(&tree.0);
        assert!(proc.cores().is_empty() && proc.load_average().is_none());
        tree.write(
            "stat",
            "cpu  9 9 9 9 9 9 9 9\ncpu0 10 0 10 80 0 0 0 0 0 0\ncpu3 0 0 0 100 0 0 0 0\nintr 1 2\n",
        );
        tree.write("loadavg", "5.31 2.00 1.00 3/300 4242\n");
        let before = proc.cores();
        assert_eq!(proc.load_average(), Some(5.31));
        assert_eq!(before.keys().copied().collect::<Vec<_>>(), [0, 3]);
        tree.write("stat", "cpu0 20 0 20 80 0 0 0 0 0 0\ncpu3 1 1 0 105 1 1 1 10\n");
        let now = proc.cores();
        let idle = |core: usize| now[&core].idle_share(&before[&core]).unwrap();
        assert_eq!((idle(0), idle(3)), (0.0, 0.3));
        assert_eq!(now[&0].idle_share(&now[&0]), None);
        assert_eq!(busy_s(&before, &now), 0.24);
    }

    #[test]
    fn processes_are_added_up_by_name_and_numbers_may_be_used_again() {
        let tree = Tree::new("processes");
        tree.process(1, "init", 1_000, 0);
        tree.process(7, "cc1 (x) y", 50, 10);
        tree.process(8, "eagre", 50, 10);
        tree.process(9, "old", 500, 10);
        tree.write("self/stat", "no number");
        let mut activity = Activity::begin(Proc::at(&tree.0), 8);
        assert!(activity.top(5).is_empty());
        tree.process(7, "cc1 (x) y", 150, 10);
        tree.process(8, "eagre", 950, 10);
        tree.process(9, "new", 20, 99);
        tree.process(12, "cc1 (x) y", 45, 120);
        activity.look();
        let top = activity.top(5);
        let usage = |name: &str, cpu_s| Usage { name: name.to_owned(), cpu_s };
        assert_eq!(top, [usage("cc1 (x) y", 1.5), usage("new", 0.25)]);
        activity.look();
        assert_eq!(activity.top(1), [usage("cc1 (x) y", 1.5)]);
    }

    #[test]
    fn this_machine_has_cores_and_processes() {
        let proc = Proc::default();
        assert!(!proc.cores().is_empty() && proc.load_average().is_some());
        assert!(proc.processes().contains_key(&std::process::id()));
    }
}
