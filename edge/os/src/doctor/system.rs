//! Checks of what the system grants: privileges, time, a steady share of the processor, and the parts DPDK needs.

use super::Finding;
use crate::link::veth_xdp_mtu_max;

// linux/capability.h
pub(super) const CAP_NET_ADMIN: u32 = 12;
pub(super) const CAP_NET_RAW: u32 = 13;
pub(super) const CAP_IPC_LOCK: u32 = 14;
pub(super) const CAP_SYS_ADMIN: u32 = 21;
pub(super) const CAP_BPF: u32 = 39;

/// Share of time taken by other guests from which results are spoiled, percent.
const STEAL_PERCENT: f64 = 1.0;

/// Whether the process has a capability, from `/proc/self/status`.
pub(super) fn has_capability(status: Option<&str>, capability: u32) -> bool {
    effective(status).is_some_and(|set| set >> capability & 1 == 1)
}

fn effective(status: Option<&str>) -> Option<u64> {
    let line = status?.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

pub(super) fn privileges(status: Option<&str>) -> Finding {
    const CHECK: &str = "privileges";
    const REMEDY: &str = "sudo setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep \"$(readlink -f \"$(command -v eagre)\")\"";
    if effective(status).is_none() {
        return Finding::unknown(
            CHECK,
            "ports on real interfaces need CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF",
        );
    }
    let has = |capability| has_capability(status, capability);
    let uid = status.and_then(|text| text.lines().find_map(|line| line.strip_prefix("Uid:")));
    let uid = uid.and_then(|ids| ids.split_whitespace().nth(1)).unwrap_or("?");
    let who = if uid == "0" { "root".to_owned() } else { format!("user {uid}") };
    let missing: Vec<&str> = [
        (CAP_NET_RAW, "CAP_NET_RAW"),
        (CAP_NET_ADMIN, "CAP_NET_ADMIN"),
        (CAP_BPF, "CAP_BPF"),
        (CAP_IPC_LOCK, "CAP_IPC_LOCK"),
    ]
    .into_iter()
    // SYS_ADMIN includes what BPF was split off from.
    .filter(|&(capability, _)| !(has(capability) || capability == CAP_BPF && has(CAP_SYS_ADMIN)))
    .map(|(_, name)| name)
    .collect();
    if missing.is_empty() {
        return Finding::good(
            CHECK,
            format!("{who} with all that ports need"),
            "every kind of port can be opened",
        );
    }
    let found = format!("{who} without {}", missing.join(", "));
    if has(CAP_NET_RAW) {
        let why = "some ports cannot be opened: AF_XDP and TAP need CAP_NET_ADMIN, AF_XDP also CAP_BPF";
        return Finding::note(CHECK, found, why).mend(REMEDY);
    }
    Finding::bad(
        CHECK,
        found,
        "only in-process, pcap and shared-memory ports can be opened, no real interface",
    )
    .mend(REMEDY)
}

/// `cores`: processor time the narrowest control group grants, in cores; infinite without quota.
pub(super) fn cpu_quota(cores: Option<f64>) -> Finding {
    const CHECK: &str = "cpu quota";
    const WHY: &str = "when the quota of a period is used up the process stalls for the rest of it, up to 100 ms: \
                       traffic stops and received packets are lost";
    match cores {
        None => Finding::unknown(CHECK, WHY),
        Some(cores) if cores.is_infinite() => Finding::good(CHECK, "none", "workers may run all the time"),
        Some(cores) => Finding::bad(CHECK, format!("{cores} cores' worth of time"), WHY)
            .mend("run outside the container's CPU limit; bind it to cores instead (docker: --cpuset-cpus, no --cpus)"),
    }
}

/// Cores' worth of time in `cpu.max` (`200000 100000`, `max 100000`); infinite without quota.
pub(super) fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    if quota == "max" {
        return Some(f64::INFINITY);
    }
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    // Version 1 writes -1 for none.
    if quota < 0.0 { Some(f64::INFINITY) } else { (period > 0.0).then_some(quota / period) }
}

pub(super) fn load(loadavg: Option<&str>, cores: usize) -> Finding {
    const CHECK: &str = "machine load";
    const WHY: &str = "other work competes for cores, caches and memory bandwidth";
    let Some(load) = loadavg.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok()) else {
        return Finding::unknown(CHECK, WHY);
    };
    let found = format!("{load:.2} threads ran at a time in the last minute, on {cores} cores");
    if load > cores as f64 {
        return Finding::bad(CHECK, found, WHY).mend("stop other work: top -o %CPU shows it");
    }
    if load > 0.5 {
        return Finding::note(CHECK, found, WHY).mend("stop other work: top -o %CPU shows it");
    }
    Finding::good(CHECK, found, "the machine is otherwise idle")
}

pub(super) fn clock_source(current: Option<&str>, objection: Option<&str>) -> Finding {
    const CHECK: &str = "clock source";
    let kernel = current.map_or("not known here", str::trim);
    if let Some(objection) = objection {
        let why = "every timestamp is a call to the kernel: tens of ns each with a good clock source, a microsecond with a slow one";
        let found = format!("kernel's: {kernel}; {objection}");
        // Without a fast clock in the kernel either, timestamps become system calls.
        let fast = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "not known here"];
        let fast = fast.contains(&kernel);
        return if fast { Finding::note(CHECK, found, why) } else { Finding::bad(CHECK, found, why) };
    }
    match kernel {
        "tsc" => Finding::good(CHECK, "tsc, invariant", "a timestamp costs some ns and all cores agree"),
        "not known here" => Finding::note(
            CHECK,
            "tsc by the processor's flags; kernel's choice not known here",
            "the kernel may have reasons not to trust the counter",
        ),
        other => Finding::note(
            CHECK,
            format!("kernel uses {other} although the counter is invariant"),
            "kernel timestamps and the tester's own come from different clocks and drift apart a little",
        )
        .mend("echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }
}

/// Kind of host of this system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Host {
    /// The processor does not report it.
    #[default]
    Unknown,
    /// The machine itself.
    Metal,
    /// A hypervisor, by its name.
    Guest(String),
}

/// `stat`: the text of `/proc/stat`.
pub(super) fn virtual_machine(host: &Host, stat: Option<&str>) -> Finding {
    const CHECK: &str = "virtual machine";
    const WHY: &str = "the host may stop a worker at any time: expect a tail in latency, and compare ratios rather than \
                       absolute rates";
    let steal = stat.and_then(steal_percent);
    let stolen = steal.filter(|percent| *percent > 0.0).map_or(String::new(), |percent| {
        format!(", {percent:.2} % of busy time stolen by other guests since boot")
    });
    let name = match host {
        Host::Unknown => "not known here",
        Host::Metal => "no",
        Host::Guest(name) => name,
    };
    let found = format!("{name}{stolen}");
    if steal.is_some_and(|percent| percent >= STEAL_PERCENT) {
        let why = "the host stops workers to run others: gaps in what is sent, packets lost, false latency";
        return Finding::bad(CHECK, found, why)
            .mend("use a machine with dedicated cores, or bind the guest's cores on the host");
    }
    match host {
        Host::Metal => Finding::good(CHECK, found, "the processor is not shared"),
        _ => Finding::note(CHECK, found, WHY),
    }
}

/// Stolen time as a share of the time cores had something to do.
fn steal_percent(stat: &str) -> Option<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<u64> = line.split_whitespace().filter_map(|time| time.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; the guest times after it are in user and nice already.
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = times[..] else { return None };
    let wanted = user + nice + system + irq + softirq + steal;
    (wanted > 0).then(|| steal as f64 * 100.0 / wanted as f64)
}

/// `vulnerabilities`: names with the kernel's states.
pub(super) fn mitigations(vulnerabilities: &[(String, String)], cmdline: Option<&str>) -> Finding {
    const CHECK: &str = "cpu mitigations";
    const WHY: &str = "system calls and indirect jumps cost more: kernel ports and a kernel device under test are slower \
                       than on a machine without; note this when comparing machines";
    if vulnerabilities.is_empty() {
        return Finding::unknown(CHECK, WHY);
    }
    let active: Vec<&str> = vulnerabilities
        .iter()
        .filter(|(_, state)| state.contains("Mitigation:"))
        .map(|(name, _)| name.as_str())
        .collect();
    if cmdline.is_some_and(|line| line.split_whitespace().any(|word| word == "mitigations=off")) {
        return Finding::good(CHECK, "switched off", "nothing is slowed down");
    }
    if active.is_empty() {
        return Finding::good(CHECK, "none active", "nothing is slowed down");
    }
    Finding::note(CHECK, format!("{} active: {}", active.len(), active.join(", ")), WHY)
}

pub(super) fn bpf_jit(setting: Option<&str>) -> Finding {
    const CHECK: &str = "bpf jit";
    const WHY: &str =
        "without it the program that hands packets to AF_XDP ports is interpreted, several times slower";
    match setting.map(str::trim) {
        Some("0") => Finding::note(CHECK, "off", WHY).mend("sudo sysctl -w net.core.bpf_jit_enable=1"),
        Some(_) => Finding::good(CHECK, "on", "AF_XDP's program runs as machine code"),
        // The file is in the first network namespace only.
        None => Finding::unknown(CHECK, WHY),
    }
}

/// `release`: the kernel's, such as `6.1.0-28-amd64`; `status`: `/proc/self/status`. See `edge/xdp` for what they need.
/// `tall`: interfaces that take no XDP program for short frames alone because the MTU of the other end is too long.
pub(super) fn xdp_ports(release: Option<&str>, status: Option<&str>, tall: &[TallPeer]) -> Finding {
    const CHECK: &str = "xdp ports";
    const OLDEST: (u32, u32) = (5, 18);
    let why = "xdp: ports cannot be opened; afxdp: ports send a quarter as fast into a veth";
    let Some(release) = release.map(str::trim).filter(|release| parse_release(release).is_some()) else {
        return Finding::unknown(CHECK, why);
    };
    if parse_release(release) < Some(OLDEST) {
        return Finding::note(CHECK, format!("Linux {release}, older than 5.18"), why);
    }
    let missing: Vec<&str> = [
        (CAP_NET_ADMIN, "CAP_NET_ADMIN"),
        // Programs are loaded with it or with CAP_BPF; a network namespace is made with nothing less.
        (CAP_SYS_ADMIN, "CAP_SYS_ADMIN"),
    ]
    .into_iter()
    .filter(|&(capability, _)| !has_capability(status, capability))
    .map(|(_, name)| name)
    .collect();
    match (effective(status), missing.as_slice()) {
        (None, _) => Finding::unknown(CHECK, why),
        (_, []) if !tall.is_empty() => tall_peers(CHECK, tall),
        (_, []) => Finding::good(
            CHECK,
            format!("Linux {release} sends frames from a program"),
            "xdp: ports send several times as fast into a veth as afxdp: ports",
        ),
        _ => Finding::note(CHECK, format!("without {}", missing.join(", ")), why).mend("run eagre with sudo"),
    }
}

/// A veth whose other end has an MTU that is too long for XDP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TallPeer {
    pub name: String,
    pub mtu: u32,
    /// The other end.
    pub peer: String,
    pub peer_mtu: u32,
    /// Whether that is in another network namespace.
    pub is_elsewhere: bool,
}

fn tall_peers(check: &'static str, tall: &[TallPeer]) -> Finding {
    let most = veth_xdp_mtu_max();
    let one = |tall: &TallPeer| {
        let TallPeer { name, mtu, peer, peer_mtu, .. } = tall;
        format!("the other end of {name} (MTU {mtu}), {peer}, has an MTU of {peer_mtu}")
    };
    let found = format!(
        "{}; a program for short frames takes at most {most} there",
        tall.iter().map(one).collect::<Vec<_>>().join("; ")
    );
    let place = |tall: &TallPeer| if tall.is_elsewhere { " (in its namespace)" } else { "" };
    let commands =
        tall.iter().map(|tall| format!("sudo ip link set {} mtu {most}{}", tall.peer, place(tall)));
    Finding::note(check, found, "an xdp: port on such an interface records no test packets in the kernel, which costs three times as much")
        .mend(commands.collect::<Vec<_>>().join("; "))
}

/// The first two numbers of a kernel's release.
fn parse_release(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A DPDK that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DpdkFiles {
    /// The number in the names of its libraries, such as 23 of `librte_eal.so.23`.
    pub abi: u32,
    /// Folder of its drivers.
    pub drivers: Option<String>,
}

/// Whether one of the DPDKs that the program can use is installed.
pub(super) fn dpdk(installed: &[DpdkFiles], usable: &[u32]) -> Finding {
    const CHECK: &str = "dpdk";
    const INSTALL: &str = "sudo apt-get install librte-meta-bus librte-meta-mempool librte-meta-net";
    let why = "memif:, tap:, vhost:, virtio:, pcap:, vdev: and PCI ports need it; afpacket:, afxdp:, xdp:, ring: and null do not";
    let note = |found: String| Finding::note(CHECK, found, why);
    let releases = |abis: &mut dyn Iterator<Item = u32>| abis.map(release).collect::<Vec<_>>().join(" or ");
    let wanted = releases(&mut usable.iter().copied());
    if usable.is_empty() {
        return note("this program was built without it".to_owned())
            .mend("build it again after sudo apt-get install libdpdk-dev");
    }
    if installed.is_empty() {
        return note(format!("not installed; this program can use {wanted}")).mend(INSTALL);
    }
    let found = usable.iter().find_map(|abi| installed.iter().find(|files| files.abi == *abi));
    match found {
        None => {
            let others = releases(&mut installed.iter().map(|files| files.abi));
            note(format!("{others} is installed; this program can use {wanted}")).mend(format!(
                "install {wanted}, or build this program where libdpdk-dev is the one installed"
            ))
        }
        Some(DpdkFiles { abi, drivers: None }) => {
            note(format!("{} without a folder of drivers", release(*abi))).mend(INSTALL)
        }
        Some(DpdkFiles { abi, drivers: Some(drivers) }) => {
            Finding::good(CHECK, format!("{}, drivers in {drivers}", release(*abi)), why)
        }
    }
}

/// DPDK breaks its binary interface once a year; the libraries' number is the year since 2000 plus one until the
/// November release that sets it (doc/guides/contributing/abi_policy).
fn release(abi: u32) -> String {
    format!("DPDK {}.11 (ABI {abi})", abi.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    fn status(uid: u32, capabilities: u64) -> String {
        format!("Name:\teagre\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{capabilities:016x}\n")
    }

    #[test]
    fn privileges_are_capabilities_not_names() {
        let all = privileges(Some(&status(0, u64::MAX >> 23)));
        assert_eq!((all.status, all.found.as_str()), (Status::Good, "root with all that ports need"));
        let none = privileges(Some(&status(1000, 0)));
        assert_eq!(none.status, Status::Bad);
        assert_eq!(none.found, "user 1000 without CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF, CAP_IPC_LOCK");
        // What Docker leaves to root by default.
        let docker = privileges(Some(&status(0, 0xa804_25fb)));
        assert_eq!(docker.found, "root without CAP_NET_ADMIN, CAP_BPF, CAP_IPC_LOCK");
        assert_eq!(docker.status, Status::Note);
        let old = 1 << CAP_NET_RAW | 1 << CAP_NET_ADMIN | 1 << CAP_IPC_LOCK | 1 << CAP_SYS_ADMIN;
        assert_eq!(privileges(Some(&status(0, old))).status, Status::Good);
        assert!(!has_capability(Some("CapEff:\tgarbage"), CAP_BPF));
    }

    #[test]
    fn quotas_are_bad() {
        assert_eq!(parse_cpu_max("max 100000\n"), Some(f64::INFINITY));
        assert_eq!(parse_cpu_max("250000 100000\n"), Some(2.5));
        assert_eq!(parse_cpu_max("-1 100000"), Some(f64::INFINITY));
        assert_eq!(parse_cpu_max("1000 0"), None);
        assert_eq!(cpu_quota(Some(2.5)).status, Status::Bad);
        assert_eq!(cpu_quota(Some(2.5)).found, "2.5 cores' worth of time");
        assert_eq!(cpu_quota(Some(f64::INFINITY)).status, Status::Good);
        assert_eq!(cpu_quota(None).status, Status::Note);
    }

    #[test]
    fn load_is_relative_to_cores() {
        let of = |text| load(Some(text), 2).status;
        assert_eq!(of("0.08 0.10 0.09 1/200 9\n"), Status::Good);
        assert_eq!(of("1.40 0.10 0.09 1/200 9\n"), Status::Note);
        assert_eq!(of("3.40 0.10 0.09 1/200 9\n"), Status::Bad);
    }

    #[test]
    fn clock_sources() {
        assert_eq!(clock_source(Some("tsc\n"), None).status, Status::Good);
        assert_eq!(clock_source(Some("kvm-clock\n"), None).status, Status::Note);
        assert_eq!(clock_source(Some("kvm-clock\n"), Some("stops")).status, Status::Note);
        assert_eq!(clock_source(Some("hpet\n"), Some("unstable")).status, Status::Bad);
    }

    #[test]
    fn stolen_time_is_bad_and_a_guest_is_noted() {
        let quiet = "cpu  6834 0 4237 285715 761 0 75 14 0 0\ncpu0 1 2\n";
        assert!((steal_percent(quiet).unwrap() - 0.125).abs() < 0.01);
        let finding = virtual_machine(&Host::Guest("KVM".into()), Some(quiet));
        assert_eq!(finding.status, Status::Note);
        assert_eq!(finding.found, "KVM, 0.13 % of busy time stolen by other guests since boot");
        assert_eq!(
            virtual_machine(&Host::Guest("KVM".into()), Some("cpu  100 0 0 900 0 0 0 50 0 0\n")).status,
            Status::Bad
        );
        assert_eq!(
            virtual_machine(&Host::Metal, Some("cpu  100 0 0 900 0 0 0 0 0 0\n")).status,
            Status::Good
        );
        assert_eq!(virtual_machine(&Host::Unknown, None).found, "not known here");
        assert_eq!(steal_percent("cpu  1 2 3\n"), None);
    }

    #[test]
    fn mitigations_are_listed() {
        let list = [
            ("meltdown".to_owned(), "Not affected\n".to_owned()),
            ("spectre_v1".to_owned(), "Mitigation: usercopy barriers\n".to_owned()),
        ];
        let finding = mitigations(&list, Some("quiet"));
        assert_eq!((finding.status, finding.found.as_str()), (Status::Note, "1 active: spectre_v1"));
        assert_eq!(mitigations(&list[..1], None).status, Status::Good);
        assert_eq!(mitigations(&list, Some("quiet mitigations=off")).status, Status::Good);
        assert_eq!(mitigations(&[], None).found, "not known here");
    }

    #[test]
    fn dpdk_is_found_if_the_program_can_use_it() {
        let files = |abi, drivers: Option<&str>| DpdkFiles { abi, drivers: drivers.map(str::to_owned) };
        let both = [files(23, Some("/old")), files(25, Some("/new"))];
        let finding = dpdk(&both, &[25, 23]);
        assert_eq!(
            (finding.status, finding.found.as_str()),
            (Status::Good, "DPDK 24.11 (ABI 25), drivers in /new")
        );
        assert_eq!(dpdk(&both, &[23]).found, "DPDK 22.11 (ABI 23), drivers in /old");
        assert_eq!(dpdk(&[files(23, None)], &[23]).status, Status::Note);
        let finding = dpdk(&both[1..], &[23]);
        assert_eq!(finding.status, Status::Note);
        assert_eq!(
            finding.found,
            "DPDK 24.11 (ABI 25) is installed; this program can use DPDK 22.11 (ABI 23)"
        );
        let finding = dpdk(&[], &[23]);
        assert_eq!(
            (finding.status, finding.found.as_str()),
            (Status::Note, "not installed; this program can use DPDK 22.11 (ABI 23)")
        );
        assert!(finding.remedy.unwrap().contains("apt-get install librte-"));
        assert_eq!(dpdk(&both, &[]).found, "this program was built without it");
    }

    #[test]
    fn xdp_ports_need_a_kernel_and_privileges() {
        let root = status(0, u64::MAX >> 23);
        let of = |release, status: &str| xdp_ports(Some(release), Some(status), &[]);
        assert_eq!(of("6.1.0-28-amd64\n", &root).status, Status::Good);
        assert_eq!(of("5.18.0", &root).status, Status::Good);
        assert_eq!(of("5.15.0-91-generic\n", &root).found, "Linux 5.15.0-91-generic, older than 5.18");
        let some = status(1000, 1 << CAP_NET_ADMIN | 1 << CAP_BPF);
        assert_eq!(of("6.1.0", &some).found, "without CAP_SYS_ADMIN");
        assert_eq!(of("garbage", &root).found, "not known here");
        let (name, peer) = ("veth0".to_owned(), "p0".to_owned());
        let tall = TallPeer { name, mtu: 1500, peer, peer_mtu: 9000, is_elsewhere: true };
        let finding = xdp_ports(Some("6.1.0"), Some(&root), &[tall]);
        assert_eq!(finding.status, Status::Note);
        assert!(finding.found.contains("veth0 (MTU 1500), p0, has an MTU of 9000"), "{}", finding.found);
        let most = veth_xdp_mtu_max();
        assert_eq!(finding.remedy.unwrap(), format!("sudo ip link set p0 mtu {most} (in its namespace)"));
    }

    #[test]
    fn bpf_jit_may_be_hidden() {
        assert_eq!(bpf_jit(Some("1\n")).status, Status::Good);
        assert_eq!(bpf_jit(Some("0\n")).status, Status::Note);
        assert_eq!(bpf_jit(None).found, "not known here");
    }
}
