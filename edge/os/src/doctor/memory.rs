//! Checks of memory: huge pages, nodes, and what may take pages away.

use super::Finding;
use crate::cpu::format_list;

/// Free huge pages that serve a tester of a few queues, MiB.
const HUGE_FREE_MIB: u64 = 256;

/// Recommended huge pages, MiB.
const HUGE_WISH_MIB: u64 = 1024;

/// Locked memory that AF_XDP needs for the packet buffers of a few queues, bytes.
const LOCKED_BYTES: u64 = 64 << 20;

/// Huge pages of one size on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HugePool {
    /// `None` where the kernel does not distinguish nodes.
    pub node: Option<u32>,
    pub page_kib: u64,
    pub total: u64,
    pub free: u64,
}

pub(super) fn huge_pages(pools: &[HugePool], mounts: Option<&str>, bypass_nics: bool) -> Finding {
    const CHECK: &str = "huge pages";
    let why = "packet buffers lie in small pages: the processor walks page tables at high rates, and network cards driven \
               by DPDK cannot be used at all";
    let Some(smallest) = pools.iter().map(|pool| pool.page_kib).min() else {
        return Finding::unknown(CHECK, why);
    };
    let wish = (HUGE_WISH_MIB * 1024).div_ceil(smallest);
    let folder = if pools.iter().any(|pool| pool.node.is_some()) {
        "/sys/devices/system/node/node*/hugepages"
    } else {
        "/sys/kernel/mm/hugepages"
    };
    let remedy = format!("echo {wish} | sudo tee {folder}/hugepages-{smallest}kB/nr_hugepages");
    let parts: Vec<String> = pools.iter().filter(|pool| pool.total > 0).map(describe).collect();
    let make = if bypass_nics { Finding::bad } else { Finding::note };
    if parts.is_empty() {
        return make(CHECK, "none reserved".into(), why).mend(remedy);
    }
    let found = parts.join(", ");
    let free_mib = pools.iter().map(|pool| pool.free * pool.page_kib / 1024).sum::<u64>();
    if free_mib < HUGE_FREE_MIB {
        return make(CHECK, format!("{found}: only {free_mib} MiB free"), why).mend(remedy);
    }
    if mounts.is_some_and(|mounts| !has_mount(mounts, "hugetlbfs")) {
        let why = "DPDK finds them only in memory mode, which cannot share memory with other processes";
        return Finding::note(CHECK, format!("{found}, but hugetlbfs is not mounted"), why)
            .mend("sudo mkdir -p /dev/hugepages && sudo mount -t hugetlbfs nodev /dev/hugepages");
    }
    Finding::good(CHECK, found, "packet buffers fit few pages")
}

fn describe(pool: &HugePool) -> String {
    let HugePool { node, page_kib, total, free } = pool;
    let size = match page_kib {
        kib if kib % (1 << 20) == 0 => format!("{} GiB", kib >> 20),
        kib if kib % 1024 == 0 => format!("{} MiB", kib >> 10),
        kib => format!("{kib} KiB"),
    };
    let place = node.map(|node| format!(" on node {node}")).unwrap_or_default();
    format!("{free} of {total} pages of {size} free{place}")
}

fn has_mount(mounts: &str, kind: &str) -> bool {
    mounts.lines().any(|line| line.split_whitespace().nth(2) == Some(kind))
}

pub(super) fn transparent(setting: Option<&str>) -> Finding {
    const CHECK: &str = "transparent huge pages";
    const WHY: &str = "the kernel stops a process for up to milliseconds to join its pages";
    match setting.and_then(chosen) {
        Some("always") => Finding::note(CHECK, "always", WHY)
            .mend("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        Some(word) => Finding::good(CHECK, word, "only processes that request them get them"),
        None => Finding::unknown(CHECK, WHY),
    }
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

/// `workers`: nodes of the workers' cores. `devices`: names of network devices with their nodes.
pub(super) fn numa(nodes: &[u32], workers: &[u32], devices: &[(String, Option<u32>)]) -> Finding {
    const CHECK: &str = "numa";
    const WHY: &str =
        "a worker away from its device's memory node waits longer for every packet: lower rates, more jitter";
    match nodes {
        [] => return Finding::unknown(CHECK, WHY),
        [_] => return Finding::good(CHECK, "one node", "all memory is equally near"),
        _ => {}
    }
    let place = |node: &Option<u32>| node.map_or("not known".to_owned(), |node| format!("node {node}"));
    let all: Vec<usize> = workers.iter().map(|&node| node as usize).collect();
    let mut found = format!("{} nodes; workers would be on {}", nodes.len(), format_list(&all));
    for (name, node) in devices {
        found.push_str(&format!("; {name}: {}", place(node)));
    }
    let away = devices.iter().find(|(_, node)| node.is_some_and(|node| !workers.contains(&node)));
    if let Some((_, Some(node))) = away {
        return Finding::note(CHECK, found, WHY).mend(format!(
            "give workers cores of the device's node: --cores with some of $(cat /sys/devices/system/node/node{node}/cpulist)"
        ));
    }
    if devices.iter().any(|(_, node)| node.is_none()) {
        return Finding::note(CHECK, found, WHY);
    }
    Finding::good(CHECK, found, "workers are near their devices")
}

pub(super) fn swap(swaps: Option<&str>, swappiness: Option<&str>) -> Finding {
    const CHECK: &str = "swap";
    const WHY: &str = "a page that was moved to disk stops its thread for milliseconds";
    let Some(swaps) = swaps else { return Finding::unknown(CHECK, WHY) };
    let used_kib = |line: &str| line.split_whitespace().nth(3).and_then(|kib| kib.parse::<u64>().ok());
    let areas: Vec<u64> = swaps.lines().skip(1).filter_map(used_kib).collect();
    if areas.is_empty() {
        return Finding::good(CHECK, "none", "nothing is moved to disk");
    }
    let swappiness = swappiness.map(|value| format!(", swappiness {}", value.trim())).unwrap_or_default();
    let used_mib = areas.iter().sum::<u64>() / 1024;
    Finding::note(CHECK, format!("on, {used_mib} MiB in use{swappiness}"), WHY).mend("sudo swapoff -a")
}

pub(super) fn overcommit(setting: Option<&str>) -> Finding {
    const CHECK: &str = "overcommit";
    const WHY: &str =
        "with strict accounting the large address ranges that DPDK and flow tables reserve may be refused";
    match setting.map(str::trim) {
        Some("2") => Finding::note(CHECK, "strict (2)", WHY).mend("sudo sysctl -w vm.overcommit_memory=0"),
        Some("0") => Finding::good(CHECK, "heuristic (0)", "large reservations are granted"),
        Some("1") => Finding::good(CHECK, "always (1)", "large reservations are granted"),
        _ => Finding::unknown(CHECK, WHY),
    }
}

/// `limit`: bytes, [`u64::MAX`] without limit.
pub(super) fn locked(limit: Option<u64>, exempt: bool) -> Finding {
    const CHECK: &str = "locked memory";
    const WHY: &str = "AF_XDP ports cannot lock their packet buffers in memory and fail to open";
    const FINE: &str = "packet buffers can be locked in memory";
    match limit {
        None => Finding::unknown(CHECK, WHY),
        Some(u64::MAX) => Finding::good(CHECK, "no limit", FINE),
        Some(bytes) if exempt => {
            let found = format!("limit of {} MiB does not bind this process (CAP_IPC_LOCK)", bytes >> 20);
            Finding::good(CHECK, found, FINE)
        }
        Some(bytes) if bytes >= LOCKED_BYTES => {
            Finding::good(CHECK, format!("limit of {} MiB", bytes >> 20), FINE)
        }
        Some(bytes) => Finding::note(CHECK, format!("limit of {:.1} MiB", bytes as f64 / 1048576.0), WHY)
            .mend("sudo prlimit --memlock=unlimited --pid $$"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    fn pool(node: Option<u32>, page_kib: u64, total: u64, free: u64) -> HugePool {
        HugePool { node, page_kib, total, free }
    }

    #[test]
    fn huge_pages_must_be_there_free_and_mounted() {
        let none = [pool(Some(0), 2048, 0, 0), pool(Some(0), 1 << 20, 0, 0)];
        let finding = huge_pages(&none, None, false);
        assert_eq!((finding.status, finding.found.as_str()), (Status::Note, "none reserved"));
        assert_eq!(
            finding.remedy.unwrap(),
            "echo 512 | sudo tee /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages"
        );
        assert_eq!(huge_pages(&none, None, true).status, Status::Bad);
        assert_eq!(huge_pages(&[], None, true).found, "not known here");
        let used = huge_pages(&[pool(None, 2048, 512, 3)], None, false);
        assert_eq!(used.found, "3 of 512 pages of 2 MiB free: only 6 MiB free");
        let plenty = [pool(Some(1), 1 << 20, 4, 2)];
        let mounted = "hugetlbfs /dev/hugepages hugetlbfs rw,pagesize=1G 0 0\n";
        assert_eq!(huge_pages(&plenty, Some(mounted), true).status, Status::Good);
        assert_eq!(huge_pages(&plenty, Some("proc /proc proc rw 0 0\n"), true).status, Status::Note);
        assert_eq!(huge_pages(&plenty, Some(mounted), true).found, "2 of 4 pages of 1 GiB free on node 1");
    }

    #[test]
    fn transparent_huge_pages() {
        assert_eq!(transparent(Some("[always] madvise never\n")).status, Status::Note);
        assert_eq!(transparent(Some("always [madvise] never\n")).found, "madvise");
        assert_eq!(transparent(Some("???")).found, "not known here");
    }

    #[test]
    fn workers_belong_near_their_devices() {
        let device = |node| vec![("0000:03:00.0".to_owned(), node)];
        assert_eq!(numa(&[0], &[0], &device(None)).status, Status::Good);
        let far = numa(&[0, 1], &[1], &device(Some(0)));
        assert_eq!(far.status, Status::Note);
        assert!(far.remedy.unwrap().contains("node0/cpulist"));
        assert_eq!(numa(&[0, 1], &[1], &device(Some(1))).status, Status::Good);
        assert_eq!(numa(&[0, 1], &[1], &device(None)).status, Status::Note);
    }

    #[test]
    fn swap_is_noted_with_its_use() {
        let header = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
        assert_eq!(swap(Some(header), Some("60\n")).status, Status::Good);
        let used = swap(Some(&format!("{header}/dev/sda2 partition 8388604 20480 -2\n")), Some("60\n"));
        assert_eq!((used.status, used.found.as_str()), (Status::Note, "on, 20 MiB in use, swappiness 60"));
    }

    #[test]
    fn strict_accounting_is_noted() {
        assert_eq!(
            ["0\n", "1", "2"].map(|v| overcommit(Some(v)).status),
            [Status::Good, Status::Good, Status::Note]
        );
    }

    #[test]
    fn a_small_limit_binds_who_has_no_privilege() {
        assert_eq!(locked(Some(8 << 20), false).status, Status::Note);
        assert_eq!(locked(Some(8 << 20), true).status, Status::Good);
        assert_eq!(locked(Some(u64::MAX), false).status, Status::Good);
        assert_eq!(locked(Some(1 << 30), false).status, Status::Good);
    }
}
