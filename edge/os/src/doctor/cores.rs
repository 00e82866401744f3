//! Checks of the cores: how many, how quiet, how steady.

use super::Finding;
use crate::cpu::format_list;
use std::collections::BTreeMap;

/// Exit latency from which an idle state is felt in microsecond measurements, us.
pub(super) const IDLE_LATENCY_US: u64 = 10;

/// An interrupt of a device that has fired, and the cores the kernel sends it to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interrupt {
    pub number: u32,
    pub name: String,
    pub cores: Vec<usize>,
}

/// An idle state that is not switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IdleState {
    pub name: String,
    pub latency_us: u64,
}

pub(super) fn count(allowed: usize) -> Finding {
    const CHECK: &str = "cores";
    match allowed {
        0 | 1 => Finding::bad(
            CHECK,
            "this process may use 1 core",
            "the worker shares its core with everything else on the machine: gaps of milliseconds in what is sent",
        )
        .mend("give the machine or the container at least 2 cores"),
        2 => Finding::note(
            CHECK,
            "this process may use 2 cores",
            "one worker and the control plane fill the machine; a device under test on it would compete with them",
        ),
        n => Finding::good(CHECK, format!("this process may use {n} cores"), "workers have dedicated cores"),
    }
}

pub(super) fn isolated(
    isolated: Option<&[usize]>,
    nohz_full: Option<&str>,
    cmdline: Option<&str>,
    workers: &[usize],
    allowed: usize,
) -> Finding {
    const CHECK: &str = "isolated cores";
    let nohz = nohz_full.map(str::trim).filter(|list| !list.is_empty() && *list != "(null)");
    let rcu =
        cmdline.and_then(|line| line.split_whitespace().find_map(|word| word.strip_prefix("rcu_nocbs=")));
    let wish = format!("add to the kernel's command line: {}", arguments(&format_list(workers)));
    let why =
        "the scheduler may put other work on a worker's core: packets leave late and latency has a tail";
    let Some(isolated) = isolated else { return Finding::unknown(CHECK, why) };
    if isolated.is_empty() {
        let finding = Finding::note(CHECK, "none", why);
        return if allowed > 2 { finding.mend(wish) } else { finding };
    }
    let list = format_list(isolated);
    match (nohz, rcu) {
        (Some(nohz), Some(rcu)) => Finding::good(
            CHECK,
            format!("{list}; without timer ticks {nohz}; without RCU callbacks {rcu}"),
            "nothing else runs on the workers' cores",
        ),
        _ => Finding::note(
            CHECK,
            format!("{list}, but timer ticks or RCU callbacks still run there"),
            "the timer interrupts a worker 100 to 1000 times a second for some microseconds",
        )
        .mend(format!("add to the kernel's command line: {}", arguments(&list))),
    }
}

fn arguments(list: &str) -> String {
    format!("isolcpus=managed_irq,domain,{list} nohz_full={list} rcu_nocbs={list}")
}

pub(super) fn hyper_threads(active: Option<&str>, workers: &[usize], siblings: &[Vec<usize>]) -> Finding {
    const CHECK: &str = "hyper-threads";
    const WHY: &str =
        "two threads of one physical core share its pipeline: a worker slows down when the other works";
    match active.map(str::trim) {
        Some("0") => Finding::good(CHECK, "off", "every worker has a physical core"),
        Some("1") => {
            let shared = siblings.iter().flatten().filter(|core| !workers.contains(core)).count();
            let doubled = workers
                .iter()
                .zip(siblings)
                .any(|(core, of)| of.iter().any(|sibling| sibling != core && workers.contains(sibling)));
            let found = match (doubled, shared) {
                (true, _) => "on, and workers would share a physical core".to_owned(),
                (false, n) => format!("on; {n} other threads share the workers' physical cores"),
            };
            Finding::note(CHECK, found, WHY).mend("echo off | sudo tee /sys/devices/system/cpu/smt/control")
        }
        _ => Finding::unknown(CHECK, WHY),
    }
}

pub(super) fn governor(governors: &[String], driver: Option<&str>, in_vm: bool) -> Finding {
    const CHECK: &str = "frequency governor";
    const REMEDY: &str = "sudo cpupower frequency-set -g performance";
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for governor in governors {
        *kinds.entry(governor.trim()).or_default() += 1;
    }
    let found = kinds.iter().map(|(kind, n)| format!("{kind} on {n} cores")).collect::<Vec<_>>().join(", ");
    if kinds.is_empty() {
        let found = if in_vm { "not visible in this virtual machine" } else { "not known here" };
        return Finding::note(
            CHECK,
            found,
            "the frequency may change with load, and what a core can do with it",
        );
    }
    if kinds.keys().all(|kind| *kind == "performance") {
        return Finding::good(CHECK, found, "cores stay at their highest frequency");
    }
    // With these drivers `powersave` is a dynamic governor; elsewhere it is the lowest frequency there is.
    let dynamic = driver
        .is_some_and(|driver| driver.starts_with("intel_pstate") || driver.starts_with("amd-pstate-epp"));
    if kinds.contains_key("powersave") && !dynamic {
        return Finding::bad(CHECK, found, "cores stay at their lowest frequency").mend(REMEDY);
    }
    let why = "cores speed up only after some ms of load: the beginning of a trial is slower than its end, and a \
               kernel device under test is slow at low rates";
    Finding::note(CHECK, found, why).mend(REMEDY)
}

/// `boost`: whether cores may go above their nominal frequency, and the command that ends it.
pub(super) fn boost(boost: Option<(bool, &'static str)>, in_vm: bool) -> Finding {
    const CHECK: &str = "frequency boost";
    match boost {
        Some((false, _)) => {
            Finding::good(CHECK, "off", "the frequency does not depend on heat and neighbours")
        }
        Some((true, command)) => Finding::note(
            CHECK,
            "on",
            "the frequency depends on heat and on how many cores work: rates differ a little from run to run",
        )
        .mend(command),
        None => {
            let found = if in_vm { "not visible in this virtual machine" } else { "not known here" };
            Finding::note(
                CHECK,
                found,
                "a boosted frequency depends on heat and neighbours and differs between runs",
            )
        }
    }
}

pub(super) fn idle_states(states: &[IdleState], driver: Option<&str>, in_vm: bool) -> Finding {
    const CHECK: &str = "idle states";
    const WHY: &str = "a core that slept needs that long to wake: interrupt-driven parts (kernel ports, a device under \
                       test on this machine) respond late at low rates; busy workers are not affected";
    let Some(deepest) = states.iter().max_by_key(|state| state.latency_us) else {
        let driver = driver.map(str::trim).filter(|driver| *driver != "none");
        let found = match (in_vm, driver) {
            (true, Some(driver)) => {
                format!("driver {driver}; the host's are not visible in this virtual machine")
            }
            (true, None) => "not visible in this virtual machine".to_owned(),
            (false, _) => "not known here".to_owned(),
        };
        return Finding::note(CHECK, found, WHY);
    };
    let found = format!("deepest is {}, {} us to wake", deepest.name.trim(), deepest.latency_us);
    if in_vm {
        return Finding::note(
            CHECK,
            format!("{found}; the host's are not visible in this virtual machine"),
            WHY,
        );
    }
    if deepest.latency_us <= IDLE_LATENCY_US {
        return Finding::good(CHECK, found, "cores wake within microseconds");
    }
    Finding::note(CHECK, found, WHY).mend(format!("sudo cpupower idle-set -D {IDLE_LATENCY_US}"))
}

pub(super) fn interrupts(irqbalance: bool, interrupts: Option<&[Interrupt]>, workers: &[usize]) -> Finding {
    const CHECK: &str = "interrupts";
    let Some(interrupts) = interrupts else {
        return Finding::unknown(CHECK, "an interrupt on a worker's core delays it by some microseconds");
    };
    let hits = |interrupt: &&Interrupt| interrupt.cores.iter().any(|core| workers.contains(core));
    let on_workers: Vec<&Interrupt> = interrupts.iter().filter(hits).collect();
    let cores = format_list(workers);
    if on_workers.is_empty() && !irqbalance {
        return Finding::good(
            CHECK,
            format!("no device's on the workers' cores ({cores})"),
            "devices leave the workers alone",
        );
    }
    let names: Vec<&str> = on_workers.iter().take(4).map(|interrupt| interrupt.name.as_str()).collect();
    let more = if on_workers.len() > names.len() { ", …" } else { "" };
    let mut found = match on_workers.len() {
        0 => "irqbalance moves them as it sees fit".to_owned(),
        n => format!("{n} devices' go to the workers' cores ({cores}): {}{more}", names.join(", ")),
    };
    if irqbalance && !on_workers.is_empty() {
        found.push_str("; irqbalance moves them as it sees fit");
    }
    let mut commands = Vec::new();
    if irqbalance {
        commands.push("sudo systemctl stop irqbalance".to_owned());
    }
    if !on_workers.is_empty() {
        let numbers: Vec<String> = on_workers.iter().map(|interrupt| interrupt.number.to_string()).collect();
        commands.push(format!(
            "for i in {}; do echo 0 | sudo tee /proc/irq/$i/smp_affinity_list; done",
            numbers.join(" ")
        ));
    }
    Finding::note(CHECK, found, "an interrupt on a worker's core delays it by some microseconds each time")
        .mend(commands.join(" && "))
}

/// Numbers and names of devices' interrupts that have fired, from `/proc/interrupts`.
///
/// Rows of devices are numbered; rows of the processor itself (timer, rescheduling) have letters.
pub(super) fn parse_interrupts(text: &str) -> Vec<(u32, String)> {
    let mut lines = text.lines();
    let cores = lines.next().map_or(0, |header| header.split_whitespace().count());
    let row = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let mut words = rest.split_whitespace();
        let fired: u64 = words.by_ref().take(cores).filter_map(|count| count.parse::<u64>().ok()).sum();
        let name = words.next_back().unwrap_or("?").to_owned();
        (fired > 0).then_some((number, name))
    };
    lines.filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    const INTERRUPTS: &str = "           CPU0       CPU1       \n  \
          4:        120          0   IO-APIC   4-edge      ttyS0\n \
         33:          0          0  PCI-MSIX-0000:00:05.0   0-edge      virtio4-config\n \
         38:          0       3348 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n\
         LOC:      34923      28830   Local timer interrupts\nERR:          0\n";

    #[test]
    fn only_devices_that_fired_count() {
        assert_eq!(parse_interrupts(INTERRUPTS), [(4, "ttyS0".into()), (38, "virtio2-input.0".into())]);
        assert!(parse_interrupts("").is_empty());
    }

    #[test]
    fn interrupts_on_workers_are_noted_with_the_way_out() {
        let irq = |number, core| Interrupt { number, name: format!("nic-{number}"), cores: vec![core] };
        let list = [irq(4, 0), irq(38, 1)];
        let finding = interrupts(true, Some(&list), &[1]);
        assert_eq!(finding.status, Status::Note);
        assert!(finding.found.contains("nic-38") && !finding.found.contains("nic-4,"), "{}", finding.found);
        assert_eq!(
            finding.remedy.unwrap(),
            "sudo systemctl stop irqbalance && for i in 38; do echo 0 | sudo tee /proc/irq/$i/smp_affinity_list; done"
        );
        assert_eq!(interrupts(false, Some(&list), &[2]).status, Status::Good);
        assert_eq!(interrupts(true, Some(&[]), &[2]).status, Status::Note);
        assert_eq!(interrupts(false, None, &[2]).found, "not known here");
    }

    #[test]
    fn core_counts() {
        assert_eq!([1, 2, 8].map(|n| count(n).status), [Status::Bad, Status::Note, Status::Good]);
    }

    #[test]
    fn isolation_is_complete_or_says_what_is_missing() {
        let none = isolated(Some(&[]), Some("\n"), Some("quiet"), &[2, 3], 4);
        assert_eq!(none.status, Status::Note);
        assert!(
            none.remedy.unwrap().ends_with("isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3")
        );
        assert_eq!(isolated(Some(&[]), None, None, &[1], 2).remedy, None);
        let half = isolated(Some(&[2, 3]), Some("(null)\n"), Some("isolcpus=2-3"), &[2, 3], 4);
        assert_eq!(half.status, Status::Note);
        let full = isolated(Some(&[2, 3]), Some("2-3\n"), Some("isolcpus=2-3 rcu_nocbs=2-3"), &[2, 3], 4);
        assert_eq!(full.status, Status::Good);
    }

    #[test]
    fn hyper_threads_matter_where_they_are_on() {
        assert_eq!(hyper_threads(Some("0\n"), &[3], &[vec![3]]).status, Status::Good);
        let spread = hyper_threads(Some("1\n"), &[3], &[vec![1, 3]]);
        assert!(spread.found.contains("1 other threads"), "{}", spread.found);
        let doubled = hyper_threads(Some("1\n"), &[1, 3], &[vec![1, 3], vec![1, 3]]);
        assert!(doubled.found.contains("would share"), "{}", doubled.found);
    }

    #[test]
    fn governors_are_judged_by_what_they_do() {
        let of = |names: &[&str], driver| {
            governor(&names.iter().map(|n| format!("{n}\n")).collect::<Vec<_>>(), driver, false)
        };
        assert_eq!(of(&["performance", "performance"], None).status, Status::Good);
        assert_eq!(of(&["performance", "schedutil"], None).status, Status::Note);
        assert_eq!(of(&["powersave"], Some("acpi-cpufreq")).status, Status::Bad);
        assert_eq!(of(&["powersave"], Some("intel_pstate\n")).status, Status::Note);
        let vm = governor(&[], None, true);
        assert_eq!((vm.status, vm.found.as_str()), (Status::Note, "not visible in this virtual machine"));
    }

    #[test]
    fn deep_idle_states_are_noted() {
        let state = |name: &str, latency_us| IdleState { name: name.into(), latency_us };
        let deep = idle_states(&[state("POLL", 0), state("C1", 2), state("C6\n", 133)], None, false);
        assert_eq!((deep.status, deep.found.as_str()), (Status::Note, "deepest is C6, 133 us to wake"));
        assert_eq!(idle_states(&[state("POLL", 0), state("C1", 2)], None, false).status, Status::Good);
        assert!(idle_states(&[], Some("haltpoll"), true).found.contains("haltpoll"));
        assert_eq!(idle_states(&[state("haltpoll", 1)], None, true).status, Status::Note);
    }

    #[test]
    fn boost_is_noted_with_its_own_command() {
        assert_eq!(boost(Some((true, "x")), false).remedy.as_deref(), Some("x"));
        assert_eq!(boost(Some((false, "x")), false).status, Status::Good);
    }
}
