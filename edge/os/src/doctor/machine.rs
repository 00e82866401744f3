//! Reads what the checks judge. The only part of the doctor that touches the machine; every read may fail.

use super::cores::{IdleState, Interrupt, parse_interrupts};
use super::memory::HugePool;
use super::network::{Nic, Vfio};
use super::system::{DpdkFiles, Host, TallPeer, parse_cpu_max};
use crate::ethtool::{Offloads, Pause};
use crate::link::{self, LinkFacts, Links};
use crate::{clock, cpu, default_route, ethtool};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const CPU: &str = "/sys/devices/system/cpu";
const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// Workers a run of moderate size would have; their cores are the ones checked.
const WORKERS: usize = 4;

/// Everything the checks need. `None` or empty: not readable here.
#[derive(Debug, Default)]
pub(super) struct Machine {
    pub allowed: Vec<usize>,
    pub isolated: Option<Vec<usize>>,
    pub workers: Vec<usize>,
    pub worker_siblings: Vec<Vec<usize>>,
    pub workers_nodes: Vec<u32>,
    pub nodes: Vec<u32>,
    pub nohz_full: Option<String>,
    pub cmdline: Option<String>,
    pub smt_active: Option<String>,
    pub governors: Vec<String>,
    pub scaling_driver: Option<String>,
    pub boost: Option<(bool, &'static str)>,
    pub idle_states: Vec<IdleState>,
    pub idle_driver: Option<String>,
    pub quota_cores: Option<f64>,
    pub loadavg: Option<String>,
    pub irqbalance: bool,
    pub interrupts: Option<Vec<Interrupt>>,
    pub clocksource: Option<String>,
    pub tsc_objection: Option<&'static str>,
    pub host: Host,
    pub stat: Option<String>,
    pub vulnerabilities: Vec<(String, String)>,
    pub status_text: Option<String>,
    pub huge_pools: Vec<HugePool>,
    pub mounts: Option<String>,
    pub thp: Option<String>,
    pub swaps: Option<String>,
    pub swappiness: Option<String>,
    pub overcommit: Option<String>,
    pub memlock_bytes: Option<u64>,
    /// Whether there is a PCI bus to be seen.
    pub pci: bool,
    pub nics: Vec<Nic>,
    pub vfio: Vfio,
    pub default_routes: Option<Vec<String>>,
    pub links_known: bool,
    pub pauses: Vec<(String, Option<Pause>)>,
    pub offloads: Vec<(String, Offloads)>,
    pub tall_peers: Vec<TallPeer>,
    pub bpf_jit: Option<String>,
    pub release: Option<String>,
    pub dpdk: Vec<DpdkFiles>,
}

impl Machine {
    pub(super) fn read() -> Self {
        let mut machine = Self {
            status_text: text("/proc/self/status"),
            cmdline: text("/proc/cmdline"),
            stat: text("/proc/stat"),
            loadavg: text("/proc/loadavg"),
            mounts: text("/proc/mounts"),
            swaps: text("/proc/swaps"),
            swappiness: text("/proc/sys/vm/swappiness"),
            overcommit: text("/proc/sys/vm/overcommit_memory"),
            thp: text("/sys/kernel/mm/transparent_hugepage/enabled"),
            bpf_jit: text("/proc/sys/net/core/bpf_jit_enable"),
            release: text("/proc/sys/kernel/osrelease"),
            clocksource: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            tsc_objection: clock::tsc_objection(),
            host: host(),
            vulnerabilities: vulnerabilities(),
            quota_cores: quota_cores(),
            memlock_bytes: memlock_bytes(),
            huge_pools: huge_pools(),
            irqbalance: process_runs("irqbalance"),
            interrupts: interrupts(),
            dpdk: dpdk_files(),
            ..Self::default()
        };
        machine.read_cores();
        machine.read_network();
        machine
    }

    /// Interfaces the machine depends on, as far as known.
    pub(super) fn default_routes(&self) -> Vec<String> {
        self.default_routes.clone().unwrap_or_default()
    }

    /// Interrupts of devices that go to cores of workers.
    pub(super) fn interrupts_on_workers(&self) -> Vec<u32> {
        let hits = |interrupt: &&Interrupt| interrupt.cores.iter().any(|core| self.workers.contains(core));
        self.interrupts.iter().flatten().filter(hits).map(|interrupt| interrupt.number).collect()
    }

    /// Cards that DPDK drives without the kernel.
    pub(super) fn bypass_nics(&self) -> usize {
        self.nics.iter().filter(|nic| nic.is_bypass()).count()
    }

    /// Cards for tests with their memory nodes.
    pub(super) fn device_nodes(&self) -> Vec<(String, Option<u32>)> {
        let own = self.default_routes();
        let free = self.nics.iter().filter(|nic| nic.is_free(&own));
        free.map(|nic| (nic.address.clone(), nic.numa_node)).collect()
    }

    fn read_cores(&mut self) {
        self.allowed = cpu::of_process();
        self.isolated = text(format!("{CPU}/isolated")).and_then(|list| cpu::parse_list(&list));
        self.workers = cpu::worker_cores(self.allowed.len().saturating_sub(1).clamp(1, WORKERS), None);
        self.worker_siblings = self.workers.iter().map(|&core| cpu::siblings(core)).collect();
        self.nodes = cpu::nodes();
        self.workers_nodes = self.workers.iter().filter_map(|&core| cpu::node_of(core)).collect();
        self.workers_nodes.sort_unstable();
        self.workers_nodes.dedup();
        self.nohz_full = text(format!("{CPU}/nohz_full"));
        self.smt_active = text(format!("{CPU}/smt/active"));
        self.idle_driver = text(format!("{CPU}/cpuidle/current_driver"));
        let frequency = |core: &usize, file: &str| text(format!("{CPU}/cpu{core}/cpufreq/{file}"));
        self.governors = self.allowed.iter().filter_map(|core| frequency(core, "scaling_governor")).collect();
        self.scaling_driver = self.allowed.first().and_then(|core| frequency(core, "scaling_driver"));
        self.boost = boost();
        self.idle_states = self.workers.first().map(|&core| idle_states(core)).unwrap_or_default();
    }

    fn read_network(&mut self) {
        let links = link::list();
        self.links_known = links.is_ok();
        let links = links.unwrap_or_default();
        self.default_routes = default_route::interfaces().ok();
        self.pci = Path::new(PCI_DEVICES).exists();
        self.nics = nics(&links);
        self.vfio = Vfio {
            iommu_groups: !entries("/sys/kernel/iommu_groups").is_empty(),
            loaded: Path::new("/sys/bus/pci/drivers/vfio-pci").exists(),
            without_iommu: text("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode")
                .is_some_and(|value| value.trim() == "Y"),
        };
        let own = self.default_routes();
        let for_tests: Vec<&LinkFacts> =
            links.iter().filter(|link| link.up && !link.loopback && !own.contains(&link.name)).collect();
        let physical = for_tests.iter().filter(|link| link.is_physical());
        self.pauses = physical.map(|link| (link.name.clone(), ethtool::pause(&link.name))).collect();
        let offloads = |link: &&LinkFacts| Some((link.name.clone(), ethtool::offloads(&link.name)?));
        self.offloads = for_tests.iter().filter_map(offloads).collect();
        self.tall_peers = tall_peers(&for_tests);
    }
}

pub(super) fn text(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Of the interfaces, those whose other end has an MTU that is too long for a program for short frames.
fn tall_peers(links: &[&LinkFacts]) -> Vec<TallPeer> {
    let Ok(mut all) = Links::open() else { return Vec::new() };
    let tall = |link: &&LinkFacts| {
        let peer = all.opposite(link).ok().filter(|peer| peer.mtu > link::veth_xdp_mtu_max())?;
        Some(TallPeer {
            name: link.name.clone(),
            mtu: link.mtu,
            peer: peer.name,
            peer_mtu: peer.mtu,
            is_elsewhere: link.elsewhere.is_some(),
        })
    };
    links.iter().filter_map(tall).collect()
}

/// Paths in a folder, sorted; none if it cannot be read.
pub(super) fn entries(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = folder.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn host() -> Host {
    let xen = text("/sys/hypervisor/type");
    let tree = Path::new("/proc/device-tree/hypervisor").exists();
    match is_guest() {
        Some(false) if xen.is_none() => Host::Metal,
        None if xen.is_none() && !tree => Host::Unknown,
        _ => {
            let names = [xen, hypervisor_signature(), text("/sys/class/dmi/id/sys_vendor")];
            let mut names = names.into_iter().flatten().map(|name| name.trim().to_owned());
            Host::Guest(
                names.find(|name| !name.is_empty()).unwrap_or_else(|| "unnamed hypervisor".to_owned()),
            )
        }
    }
}

/// Whether the processor reports a hypervisor (leaf 1, ECX bit 31).
#[cfg(target_arch = "x86_64")]
fn is_guest() -> Option<bool> {
    Some(cpuid(1).ecx >> 31 == 1)
}

/// The twelve letters a hypervisor gives itself, such as `KVMKVMKVM`.
#[cfg(target_arch = "x86_64")]
fn hypervisor_signature() -> Option<String> {
    is_guest().filter(|guest| *guest)?;
    let leaf = cpuid(0x4000_0000);
    let letters: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_ne_bytes).collect();
    let name = String::from_utf8(letters).ok()?.trim_end_matches('\0').to_owned();
    name.bytes().all(|letter| letter.is_ascii_graphic() || letter == b' ').then_some(name)
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "the intrinsic became a safe function after the oldest Rust supported here")]
fn cpuid(leaf: u32) -> core::arch::x86_64::CpuidResult {
    // SAFETY: every x86_64 processor has CPUID; a leaf it does not know reads as something harmless.
    unsafe { core::arch::x86_64::__cpuid(leaf) }
}

#[cfg(not(target_arch = "x86_64"))]
fn is_guest() -> Option<bool> {
    None
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor_signature() -> Option<String> {
    None
}

fn boost() -> Option<(bool, &'static str)> {
    if let Some(value) = text("/sys/devices/system/cpu/intel_pstate/no_turbo") {
        return Some((
            value.trim() == "0",
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
        ));
    }
    let value = text("/sys/devices/system/cpu/cpufreq/boost")?;
    Some((value.trim() == "1", "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"))
}

fn idle_states(core: usize) -> Vec<IdleState> {
    let state = |path: &PathBuf| {
        let disabled = text(path.join("disable")).is_some_and(|value| value.trim() != "0");
        let latency_us = text(path.join("latency"))?.trim().parse().ok()?;
        (!disabled).then_some(IdleState { name: text(path.join("name"))?.trim().to_owned(), latency_us })
    };
    entries(format!("{CPU}/cpu{core}/cpuidle")).iter().filter_map(state).collect()
}

fn vulnerabilities() -> Vec<(String, String)> {
    let paths = entries(format!("{CPU}/vulnerabilities"));
    paths.iter().filter_map(|path| Some((name_of(path), text(path)?))).collect()
}

/// The narrowest quota of the control groups above this process. Infinite if groups can be read and none has one.
fn quota_cores() -> Option<f64> {
    let groups = text("/proc/self/cgroup")?;
    let mut narrowest = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let is_cpu = controllers.split(',').any(|name| name == "cpu");
        if !controllers.is_empty() && !is_cpu {
            continue;
        }
        let root = PathBuf::from("/sys/fs/cgroup").join(controllers);
        // A container sees its own group as the root, whatever its path is outside.
        for folder in Path::new(path.trim_start_matches('/')).ancestors() {
            if let Some(cores) = quota_of(&root.join(folder)) {
                narrowest = Some(cores.min(narrowest.unwrap_or(f64::INFINITY)));
            }
        }
        // The root group of the machine has no quota and no file for one.
        if narrowest.is_none() && root.exists() {
            narrowest = Some(f64::INFINITY);
        }
    }
    narrowest
}

fn quota_of(folder: &Path) -> Option<f64> {
    if let Some(max) = text(folder.join("cpu.max")) {
        return parse_cpu_max(&max);
    }
    let quota = text(folder.join("cpu.cfs_quota_us"))?;
    let period = text(folder.join("cpu.cfs_period_us"))?;
    parse_cpu_max(&format!("{} {}", quota.trim(), period.trim()))
}

fn memlock_bytes() -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock);
    Some(limit.current.unwrap_or(u64::MAX))
}

fn huge_pools() -> Vec<HugePool> {
    let pools_in = |folder: PathBuf, node: Option<u32>| {
        entries(folder).into_iter().filter_map(move |path| {
            let page_kib = name_of(&path).strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            let number = |file: &str| text(path.join(file))?.trim().parse().ok();
            Some(HugePool { node, page_kib, total: number("nr_hugepages")?, free: number("free_hugepages")? })
        })
    };
    let node_folder = |node: u32| PathBuf::from(format!("/sys/devices/system/node/node{node}/hugepages"));
    let by_node: Vec<HugePool> =
        cpu::nodes().into_iter().flat_map(|node| pools_in(node_folder(node), Some(node))).collect();
    if by_node.is_empty() { pools_in("/sys/kernel/mm/hugepages".into(), None).collect() } else { by_node }
}

fn process_runs(name: &str) -> bool {
    let is_process = |path: &PathBuf| name_of(path).bytes().all(|byte| byte.is_ascii_digit());
    let mut processes = entries("/proc").into_iter().filter(is_process);
    processes.any(|path| text(path.join("comm")).is_some_and(|comm| comm.trim() == name))
}

fn interrupts() -> Option<Vec<Interrupt>> {
    let table = parse_interrupts(&text("/proc/interrupts")?);
    let targets = |number: u32| {
        let list = |file: &str| cpu::parse_list(&text(format!("/proc/irq/{number}/{file}"))?);
        list("effective_affinity_list")
            .filter(|cores| !cores.is_empty())
            .or_else(|| list("smp_affinity_list"))
    };
    let interrupt = |(number, name)| Some(Interrupt { number, name, cores: targets(number)? });
    Some(table.into_iter().filter_map(interrupt).collect())
}

/// Network cards on the PCI bus, with the kernel interfaces seen from here.
pub(super) fn network_cards() -> Vec<Nic> {
    nics(&link::list().unwrap_or_default())
}

/// PCI devices of class 02, network controllers.
fn nics(links: &[LinkFacts]) -> Vec<Nic> {
    let nic = |path: PathBuf| {
        if !text(path.join("class"))?.starts_with("0x02") {
            return None;
        }
        let address = name_of(&path);
        let number = |file: &str| {
            let value = text(path.join(file)).unwrap_or_default();
            value.trim().trim_start_matches("0x").to_owned()
        };
        Some(Nic {
            id: format!("{}:{}", number("vendor"), number("device")),
            driver: fs::read_link(path.join("driver")).ok().map(|driver| name_of(&driver)),
            netdev: links
                .iter()
                .find(|link| link.device.as_ref() == Some(&address))
                .map(|link| link.name.clone()),
            numa_node: link::numa_node(&address),
            iommu_group: path.join("iommu_group").exists(),
            address,
        })
    };
    entries(PCI_DEVICES).into_iter().filter_map(nic).collect()
}

/// Looks where distributions and `ninja install` put DPDK's libraries: each ABI once.
fn dpdk_files() -> Vec<DpdkFiles> {
    let roots = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64"].map(PathBuf::from);
    let triplets = roots.iter().flat_map(entries).filter(|path| name_of(path).ends_with("-linux-gnu"));
    let folders: Vec<PathBuf> = roots.iter().cloned().chain(triplets).collect();
    let abi = |path: PathBuf| -> Option<u32> {
        name_of(&path).strip_prefix("librte_eal.so.")?.split('.').next()?.parse().ok()
    };
    let abis: BTreeSet<u32> = folders.iter().flat_map(entries).filter_map(abi).collect();
    let drivers: Vec<PathBuf> = folders.iter().flat_map(|folder| entries(folder.join("dpdk"))).collect();
    let of = |abi: u32| {
        let of_abi = |path: &&PathBuf| name_of(path).starts_with(&format!("pmds-{abi}."));
        let drivers = drivers.iter().find(of_abi).map(|path| path.display().to_string());
        DpdkFiles { abi, drivers }
    };
    abis.into_iter().map(of).collect()
}
