//! Sets what the doctor advises and one write into `/proc` or `/sys` sets, and undoes it.
//!
//! Not here: what takes a reboot, a driver, a service or an interface (the findings name the commands), and what could stop the
//! machine, such as lifting the limit of real-time threads.
//!
//! Invariant: an old value is on disk before it is changed, so that [`undo`] restores exactly the changes made here,
//! also after this process was killed; settings changed otherwise since stay unchanged.

use super::machine::{Machine, entries, name_of, text};
use super::{Host, cores::IDLE_LATENCY_US};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where old values are kept: gone after a reboot, as the new ones are.
pub const RECORD: &str = "/run/eagre/doctor-undo";
/// Pages of 2 MiB, 512 of which are what the doctor advises.
const HUGE_PAGES: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
/// Prefixes allowed in records.
const SETTINGS: [&str; 2] = ["/proc/", "/sys/"];

/// One setting to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The check it serves.
    pub check: &'static str,
    /// The setting's file.
    pub path: PathBuf,
    /// Its value now.
    pub old: String,
    /// Its value to be.
    pub new: String,
}

/// A setting that was changed by [`apply`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The setting's file.
    pub path: PathBuf,
    /// Its value before.
    pub old: String,
    /// The value it was set to.
    pub new: String,
}

/// Result for a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// It has the value it should have.
    Set,
    /// Somebody else has set it to this since; it stays so.
    ChangedSince(String),
    /// The kernel refuses it: the reason.
    Refused(String),
}

/// Settings as files below a folder; `/` but in tests.
#[derive(Debug, Clone)]
pub struct Settings {
    root: PathBuf,
    record: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Self { root: "/".into(), record: RECORD.into() }
    }
}

impl Settings {
    /// Recommended changes on this machine: settings of the cores that workers use, and of the whole machine.
    pub fn plan() -> Vec<Change> {
        let machine = Machine::read();
        let others: Vec<usize> =
            machine.allowed.iter().copied().filter(|core| !machine.workers.contains(core)).collect();
        Self::default().changes(&Wishes {
            workers: machine.workers.clone(),
            others,
            in_vm: matches!(machine.host, Host::Guest(_)),
            interrupts: machine.interrupts_on_workers(),
            huge_pages: machine.bypass_nics() > 0 && machine.huge_pools.iter().all(|pool| pool.total == 0),
        })
    }

    fn path(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A setting's value: of a list of choices, the one in brackets.
    fn value(&self, path: &Path) -> Option<String> {
        let text = text(self.path(path))?;
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
        Some(chosen.unwrap_or(&text).trim().to_owned())
    }

    fn changes(&self, wishes: &Wishes) -> Vec<Change> {
        let mut all = Vec::new();
        let mut wish = |check: &'static str, path: PathBuf, new: &str, unless: &dyn Fn(&str) -> bool| {
            if let Some(old) = self.value(&path).filter(|old| old != new && !unless(old)) {
                all.push(Change { check, path, old, new: new.to_owned() });
            }
        };
        let never = |_: &str| false;
        for core in wishes.workers.iter().chain(&wishes.others) {
            let folder = PathBuf::from(format!("/sys/devices/system/cpu/cpu{core}/cpufreq"));
            let choices = text(self.path(&folder.join("scaling_available_governors"))).unwrap_or_default();
            if choices.split_whitespace().any(|choice| choice == "performance") {
                wish("frequency governor", folder.join("scaling_governor"), "performance", &never);
            }
        }
        for core in wishes.workers.iter().filter(|_| !wishes.in_vm) {
            for state in entries(self.path(Path::new(&format!("/sys/devices/system/cpu/cpu{core}/cpuidle"))))
            {
                let latency = text(state.join("latency")).and_then(|us| us.trim().parse::<u64>().ok());
                if latency.is_some_and(|us| us > IDLE_LATENCY_US) {
                    let name = name_of(&state);
                    let path = format!("/sys/devices/system/cpu/cpu{core}/cpuidle/{name}/disable");
                    wish("idle states", path.into(), "1", &never);
                }
            }
        }
        if !wishes.others.is_empty() {
            let others = crate::cpu::format_list(&wishes.others);
            for number in &wishes.interrupts {
                let path = format!("/proc/irq/{number}/smp_affinity_list");
                wish("interrupts", path.into(), &others, &never);
            }
        }
        let only = |wrong: &'static str| move |old: &str| old != wrong;
        if wishes.huge_pages {
            wish("huge pages", HUGE_PAGES.into(), "512", &only("0"));
        }
        let transparent = "/sys/kernel/mm/transparent_hugepage/enabled";
        wish("transparent huge pages", transparent.into(), "madvise", &only("always"));
        wish("bpf jit", "/proc/sys/net/core/bpf_jit_enable".into(), "1", &only("0"));
        wish("overcommit", "/proc/sys/vm/overcommit_memory".into(), "0", &only("2"));
        all
    }

    /// Makes changes, one after the other. Of a setting that was changed before, the record keeps the oldest value.
    ///
    /// # Errors
    /// The record can't be written: nothing was changed, or only recorded settings.
    pub fn apply(&self, changes: &[Change]) -> io::Result<Vec<Done>> {
        let mut all = self.recorded()?;
        let mut done = Vec::new();
        for change in changes {
            let before = all.clone();
            match all.iter_mut().find(|known| known.path == change.path) {
                Some(known) => known.new.clone_from(&change.new),
                None => all.push(Recorded {
                    path: change.path.clone(),
                    old: change.old.clone(),
                    new: change.new.clone(),
                }),
            }
            self.keep(&all)?;
            done.push(match self.set(&change.path, &change.new) {
                Ok(()) => Done::Set,
                Err(error) => {
                    all = before;
                    self.keep(&all)?;
                    Done::Refused(error.to_string())
                }
            });
        }
        Ok(done)
    }

    /// Sets recorded settings back, the newest first, and forgets those that are; what each became.
    ///
    /// # Errors
    /// The record can't be read or written.
    pub fn undo(&self) -> io::Result<Vec<(Recorded, Done)>> {
        let mut left = Vec::new();
        let mut done = Vec::new();
        for recorded in self.recorded()?.into_iter().rev() {
            let now = self.value(&recorded.path).unwrap_or_default();
            let outcome = match () {
                () if now == recorded.old => Done::Set,
                () if !same(&now, &recorded.new) => Done::ChangedSince(now),
                () => match self.set(&recorded.path, &recorded.old) {
                    Ok(()) => Done::Set,
                    Err(error) => Done::Refused(error.to_string()),
                },
            };
            if matches!(outcome, Done::Refused(_)) {
                left.insert(0, recorded.clone());
            }
            done.push((recorded, outcome));
        }
        self.keep(&left)?;
        Ok(done)
    }

    /// Changes made and not undone, in order.
    ///
    /// # Errors
    /// The record can't be read, or names what is no setting.
    pub fn recorded(&self) -> io::Result<Vec<Recorded>> {
        let text = match fs::read_to_string(&self.record) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read?,
        };
        text.lines().map(|line| parse(line).ok_or(io::ErrorKind::InvalidData.into())).collect()
    }

    fn set(&self, path: &Path, value: &str) -> io::Result<()> {
        // Never created: a setting that the kernel has not is an error.
        fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.path(path))?
            .write_all(value.as_bytes())?;
        // Some refuse silently.
        match self.value(path) {
            Some(now) if same(&now, value) => Ok(()),
            now => Err(io::Error::other(format!("it stays {}", now.unwrap_or_default()))),
        }
    }

    /// Replaces the record as a whole; an empty one is removed.
    fn keep(&self, all: &[Recorded]) -> io::Result<()> {
        if all.is_empty() {
            return match fs::remove_file(&self.record) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let line = |one: &Recorded| format!("{}\t{}\t{}\n", one.path.display(), one.old, one.new);
        let folder = self.record.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let new = self.record.with_extension("new");
        let mut file = fs::File::create(&new)?;
        file.write_all(all.iter().map(line).collect::<String>().as_bytes())?;
        file.sync_all()?;
        fs::rename(new, &self.record)
    }
}

/// Goals for setting up a machine.
struct Wishes {
    /// Cores of workers, and those for everything else.
    workers: Vec<usize>,
    others: Vec<usize>,
    in_vm: bool,
    /// Those of devices that go to workers' cores.
    interrupts: Vec<u32>,
    /// Whether network cards need them and there are none.
    huge_pages: bool,
}

/// Whether two values of a setting are the same; lists of cores may be written in several ways.
fn same(one: &str, other: &str) -> bool {
    one == other
        || crate::cpu::parse_list(one).is_some_and(|list| crate::cpu::parse_list(other) == Some(list))
}

fn parse(line: &str) -> Option<Recorded> {
    let mut fields = line.split('\t').map(str::to_owned);
    let (path, old, new) = (fields.next()?, fields.next()?, fields.next()?);
    let is_setting = SETTINGS.iter().any(|root| path.starts_with(root)) && !path.contains("..");
    (is_setting && fields.next().is_none()).then(|| Recorded { path: path.into(), old, new })
}

/// Changes as lines, settings of many cores together.
pub fn render(changes: &[Change]) -> String {
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&Change>> = BTreeMap::new();
    for change in changes {
        groups.entry((change.check, &change.old, &change.new)).or_default().push(change);
    }
    let mut text = String::new();
    for ((check, old, new), members) in groups {
        let first = members[0].path.display();
        let more = if members.len() > 1 { format!(" and {} more", members.len() - 1) } else { String::new() };
        text += &format!("{check:<24}{old} -> {new}   {first}{more}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with `/proc` and `/sys`; removed when dropped.
    struct Tree(Settings);

    impl Tree {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("eagre-fix-{name}-{}", std::process::id()));
            let tree = Self(Settings { record: root.join("run/eagre/doctor-undo"), root });
            for core in [0, 1] {
                let cpu = format!("/sys/devices/system/cpu/cpu{core}");
                tree.write(&format!("{cpu}/cpufreq/scaling_governor"), "schedutil\n");
                tree.write(&format!("{cpu}/cpufreq/scaling_available_governors"), "performance schedutil\n");
                for (state, latency) in [(0, 0), (1, 2), (2, 133)] {
                    tree.write(&format!("{cpu}/cpuidle/state{state}/latency"), &format!("{latency}\n"));
                    tree.write(&format!("{cpu}/cpuidle/state{state}/disable"), "0\n");
                }
            }
            tree.write("/proc/irq/38/smp_affinity_list", "0-1\n");
            tree.write("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
            tree.write("/proc/sys/net/core/bpf_jit_enable", "1\n");
            tree.write("/proc/sys/vm/overcommit_memory", "2\n");
            tree
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path(Path::new(path));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn read(&self, path: &str) -> String {
            self.0.value(Path::new(path)).unwrap()
        }

        fn plan(&self, in_vm: bool) -> Vec<Change> {
            self.0.changes(&Wishes {
                workers: vec![1],
                others: vec![0],
                in_vm,
                interrupts: vec![38, 39],
                huge_pages: true,
            })
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.root);
        }
    }

    const GOVERNOR: &str = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
    const IDLE: &str = "/sys/devices/system/cpu/cpu1/cpuidle/state2/disable";
    const IRQ: &str = "/proc/irq/38/smp_affinity_list";
    const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

    #[test]
    fn only_what_helps_is_changed_and_a_plan_changes_nothing() {
        let tree = Tree::new("plan");
        let plan = tree.plan(false);
        let checks: Vec<&str> = plan.iter().map(|change| change.check).collect();
        let governor = "frequency governor";
        let rest = ["idle states", "interrupts", "transparent huge pages", "overcommit"];
        assert_eq!(checks, [&[governor, governor][..], &rest[..]].concat());
        assert_eq!(tree.read(GOVERNOR), "schedutil");
        assert!(tree.plan(true).iter().all(|change| change.check != "idle states"));
        let text = render(&plan);
        assert!(
            text.contains(
                "schedutil -> performance   /sys/devices/system/cpu/cpu1/cpufreq/scaling_governor and 1 more"
            ),
            "{text}"
        );
        assert!(tree.0.recorded().unwrap().is_empty());
    }

    #[test]
    fn undo_restores_what_was_and_nothing_else() {
        let tree = Tree::new("undo");
        let plan = tree.plan(false);
        let done = tree.0.apply(&plan).unwrap();
        assert!(done.iter().all(|one| *one == Done::Set), "{done:?}");
        assert_eq!(
            [GOVERNOR, IDLE, IRQ, OVERCOMMIT].map(|path| tree.read(path)),
            ["performance", "1", "0", "0"]
        );
        assert!(tree.plan(false).is_empty(), "a second time there is nothing to do");
        // Somebody else has changed one of them since; another one the kernel writes in its own way.
        tree.write(OVERCOMMIT, "1\n");
        tree.write(IRQ, "0-0\n");
        let undone = tree.0.undo().unwrap();
        assert_eq!(
            [GOVERNOR, IDLE, IRQ, OVERCOMMIT].map(|path| tree.read(path)),
            ["schedutil", "0", "0-1", "1"]
        );
        let kept: Vec<_> = undone.iter().filter(|(_, done)| *done != Done::Set).collect();
        assert!(
            matches!(kept[..], [(recorded, Done::ChangedSince(now))] if recorded.path == Path::new(OVERCOMMIT) && now == "1")
        );
        assert!(tree.0.undo().unwrap().is_empty() && !tree.0.record.exists());
    }

    #[test]
    fn a_second_fix_keeps_the_oldest_values() {
        let tree = Tree::new("twice");
        tree.0.apply(&tree.plan(false)).unwrap();
        tree.write(GOVERNOR, "schedutil\n");
        tree.write(GOVERNOR.replace("cpu1", "cpu0").as_str(), "userspace\n");
        tree.0.apply(&tree.plan(false)).unwrap();
        assert_eq!(tree.0.recorded().unwrap().len(), 6);
        tree.0.undo().unwrap();
        assert_eq!(tree.read(&GOVERNOR.replace("cpu1", "cpu0")), "schedutil");
    }

    #[test]
    fn what_the_kernel_refuses_is_not_recorded() {
        let tree = Tree::new("refused");
        let change =
            |path: &str| Change { check: "swap", path: path.into(), old: "1".into(), new: "0".into() };
        let done = tree.0.apply(&[change("/proc/sys/none"), change(OVERCOMMIT)]).unwrap();
        assert!(matches!(done[..], [Done::Refused(_), Done::Set]), "{done:?}");
        assert_eq!(tree.0.recorded().unwrap().len(), 1);
    }

    #[test]
    fn a_record_names_settings_only() {
        assert!(parse("/proc/sys/vm/swappiness\t60\t10").is_some());
        for bad in ["/etc/passwd\ta\tb", "/proc/../etc/passwd\ta\tb", "/proc/x\ta", "/proc/x\ta\tb\tc", ""] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
