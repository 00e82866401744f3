//! Cores: which there are, which to measure on, and what a thread used of them. And the process's memory.
//!
//! Not here: changing anything but the affinity of the calling thread.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::OnceLock;
use units::Nanos;

pub use crate::usage::ThreadUsage;

const SYS_CPU: &str = "/sys/devices/system/cpu";
const SYS_NODE: &str = "/sys/devices/system/node";

/// Words of the affinity mask: room for 16,384 cores, more than Linux can be built for.
const MASK_WORDS: usize = 256;

/// The process's affinity before it bound a thread.
static OF_PROCESS: OnceLock<Vec<usize>> = OnceLock::new();

/// Cores this process may use, ascending, regardless of the cores that the calling thread is bound to.
pub fn of_process() -> Vec<usize> {
    OF_PROCESS.get_or_init(allowed).clone()
}

/// Cores the calling thread may run on, ascending.
pub fn allowed() -> Vec<usize> {
    let mut mask = [0u64; MASK_WORDS];
    // SAFETY: the pointer and the size describe `mask`; the kernel writes at most that much.
    let rc = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    if rc != 0 {
        return vec![0];
    }
    (0..MASK_WORDS * 64).filter(|core| mask[core / 64] >> (core % 64) & 1 == 1).collect()
}

/// Binds the calling thread to one core.
pub fn pin(core: usize) -> io::Result<()> {
    pin_to(&[core])
}

/// Binds the calling thread to a set of cores; threads it starts later inherit the set.
pub fn pin_to(cores: &[usize]) -> io::Result<()> {
    pin_thread(0, cores)
}

/// Binds a thread of this process to a set of cores, from which it goes there at once; 0 is the calling one.
pub fn pin_thread(tid: i32, cores: &[usize]) -> io::Result<()> {
    of_process();
    let mut mask = [0u64; MASK_WORDS];
    for &core in cores {
        *mask.get_mut(core / 64).ok_or(io::ErrorKind::InvalidInput)? |= 1 << (core % 64);
    }
    // SAFETY: the pointer and the size describe `mask`, which the kernel only reads.
    let rc = unsafe { libc::sched_setaffinity(tid, size_of_val(&mask), mask.as_ptr().cast()) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Cores taken out of the scheduler's hands at boot (`isolcpus=`), ascending.
pub fn isolated() -> Vec<usize> {
    read_list(&format!("{SYS_CPU}/isolated")).unwrap_or_default()
}

/// Cores of a memory node; `None` if the node is not known.
pub fn node_cores(node: u32) -> Option<Vec<usize>> {
    read_list(&format!("{SYS_NODE}/node{node}/cpulist"))
}

/// Memory nodes of the machine, ascending; empty if the kernel does not report them.
pub fn nodes() -> Vec<u32> {
    let nodes = read_list(&format!("{SYS_NODE}/online")).unwrap_or_default();
    nodes.into_iter().filter_map(|node| u32::try_from(node).ok()).collect()
}

/// Memory node of a core; `None` if not known.
pub fn node_of(core: usize) -> Option<u32> {
    nodes().into_iter().find(|&node| node_cores(node).is_some_and(|cores| cores.contains(&core)))
}

/// Hardware threads of the physical core that `core` belongs to, itself included.
pub fn siblings(core: usize) -> Vec<usize> {
    read_list(&format!("{SYS_CPU}/cpu{core}/topology/thread_siblings_list")).unwrap_or_else(|| vec![core])
}

/// Cores for `n` workers, ascending: isolated ones first, then those near `numa_hint`, then one per physical core, then
/// the highest. The lowest core stays for the control plane as long as there is another. Fewer than `n` if there are
/// no more.
pub fn worker_cores(n: usize, numa_hint: Option<u32>) -> Vec<usize> {
    let isolated = isolated();
    let online = read_list(&format!("{SYS_CPU}/online")).unwrap_or_default();
    let candidates = candidates(of_process(), &isolated, &online);
    let near = numa_hint.and_then(node_cores);
    choose(n, &candidates, &isolated, near.as_deref(), siblings)
}

/// Checks that this process may run workers on all of `cores`.
///
/// # Errors
/// A sentence that names the first core that it may not use, and those it may.
pub fn check_cores(cores: &[usize]) -> Result<(), String> {
    let online = read_list(&format!("{SYS_CPU}/online")).unwrap_or_default();
    usable(cores, &candidates(of_process(), &isolated(), &online))
}

fn usable(cores: &[usize], candidates: &[usize]) -> Result<(), String> {
    let Some(odd) = cores.iter().find(|core| !candidates.contains(core)) else { return Ok(()) };
    let names: Vec<String> = candidates.iter().map(usize::to_string).collect();
    Err(format!("there is no core {odd} for this process; it may use {}", names.join(", ")))
}

/// Cores left for everything but the workers; all of them if the workers need all.
pub fn control_cores(workers: &[usize]) -> Vec<usize> {
    let allowed = allowed();
    let spare: Vec<usize> = allowed.iter().copied().filter(|core| !workers.contains(core)).collect();
    if spare.is_empty() { allowed } else { spare }
}

/// Isolated cores are in no affinity by default. They may be used if the process otherwise has the whole machine; a
/// narrower affinity is deliberate.
fn candidates(allowed: Vec<usize>, isolated: &[usize], online: &[usize]) -> Vec<usize> {
    if online.iter().all(|core| allowed.contains(core) || isolated.contains(core)) {
        let isolated = isolated.iter().filter(|core| online.contains(core));
        return allowed.iter().chain(isolated).copied().collect::<BTreeSet<_>>().into_iter().collect();
    }
    allowed
}

fn choose(
    n: usize,
    candidates: &[usize],
    isolated: &[usize],
    near: Option<&[usize]>,
    siblings: impl Fn(usize) -> Vec<usize>,
) -> Vec<usize> {
    let ordinary = candidates.iter().copied().filter(|core| !isolated.contains(core));
    let control = ordinary.min().or(candidates.iter().copied().min());
    let mut left = candidates.to_vec();
    let mut taken: Vec<usize> = control.into_iter().collect();
    let mut chosen = Vec::new();
    while chosen.len() < n && !left.is_empty() {
        let cost = |core: usize| {
            (
                Some(core) == control,
                !isolated.contains(&core),
                near.is_some_and(|near| !near.contains(&core)),
                siblings(core).iter().any(|sibling| taken.contains(sibling)),
                std::cmp::Reverse(core),
            )
        };
        let Some(at) = (0..left.len()).min_by_key(|&at| cost(left[at])) else { break };
        let core = left.swap_remove(at);
        taken.push(core);
        chosen.push(core);
    }
    chosen.sort_unstable();
    chosen
}

/// Thread id of the calling thread.
pub fn current_tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Niceness of a worker that may have its core to itself: others get about a hundredth of the core's time, and never nothing.
const WORKER_NICENESS: i32 = -20;

/// Gives the calling thread a larger share of its core than other processes have, never all of it: real-time classes would keep
/// the kernel's own threads from the core for as long as the thread does not sleep.
///
/// # Errors
/// The process may not (CAP_SYS_NICE, RLIMIT_NICE).
pub fn raise_priority() -> io::Result<()> {
    Ok(rustix::process::setpriority_process(None, WORKER_NICENESS)?)
}

/// Niceness of what keeps leases of a fleet: it needs little time, but in time.
pub const KEEPER_NICENESS: i32 = -10;

/// Gives the calling thread, and what it starts, the niceness of what keeps leases, unless an operator has chosen another one. Returns
/// whether it has that.
pub fn keep_in_time() -> bool {
    let is_usual = niceness().is_ok_and(|niceness| niceness == 0);
    is_usual && rustix::process::setpriority_process(None, KEEPER_NICENESS).is_ok()
}

/// Takes the niceness of what keeps leases from the calling thread, if it was started with that.
pub fn keep_no_longer() {
    if niceness().is_ok_and(|niceness| niceness == KEEPER_NICENESS) {
        // To be less preferred is always allowed.
        let _ = rustix::process::setpriority_process(None, 0);
    }
}

/// Niceness of the calling thread, from −20 (much time) to 19.
pub fn niceness() -> io::Result<i32> {
    Ok(rustix::process::getpriority_process(None)?)
}

/// Processor time of all threads of this process so far.
pub fn process_time() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to fill.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    if rc == 0 { Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64) } else { Nanos::ZERO }
}

impl ThreadUsage {
    /// Usage of the thread `tid` of this process so far. Source: `/proc/self/task/TID/schedstat`.
    pub fn read(tid: i32) -> io::Result<Self> {
        let text = fs::read_to_string(format!("/proc/self/task/{tid}/schedstat"))?;
        let usage = Self::parse(&text).ok_or(io::ErrorKind::InvalidData)?;
        // schedstat lags by up to a timer tick, which a core without ticks may not see for a second.
        Ok(Self { run_ns: thread_clock_ns(tid).unwrap_or(usage.run_ns), ..usage })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
        Some(Self { run_ns: numbers.next()??, wait_ns: numbers.next()??, slices: numbers.next()?? })
    }
}

/// Processor time of the calling thread since it started. A system call.
pub fn thread_time() -> Nanos {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).map_or(Nanos::ZERO, Nanos)
}

/// The kernel's clock id of a thread's processor time: the complement of its id above three bits for "one thread,
/// scheduler time" (linux/posix-timers_types.h).
fn thread_clock_ns(tid: i32) -> Option<u64> {
    clock_ns((!tid << 3) | 6)
}

fn clock_ns(id: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to fill; an unknown clock id is refused.
    let rc = unsafe { libc::clock_gettime(id, &mut time) };
    (rc == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Memory of this process in RAM. Huge pages are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Now, bytes (VmRSS).
    pub resident_bytes: u64,
    /// At most so far, bytes (VmHWM).
    pub peak_bytes: u64,
    /// Huge pages mapped now, bytes (HugetlbPages).
    pub huge_bytes: u64,
}

impl Memory {
    /// Memory of this process now.
    pub fn read() -> io::Result<Self> {
        Ok(Self::parse(&fs::read_to_string("/proc/self/status")?))
    }

    fn parse(status: &str) -> Self {
        let bytes = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let kib = value.and_then(|value| value.trim().trim_end_matches(" kB").parse::<u64>().ok());
            kib.unwrap_or(0) * 1024
        };
        Self { resident_bytes: bytes("VmRSS"), peak_bytes: bytes("VmHWM"), huge_bytes: bytes("HugetlbPages") }
    }
}

/// Reads the kernel's list notation, such as `0-3,8,10-11`; `None` if it is something else. An empty list is a list.
pub fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut list = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last < first || last - first > 1 << 16 {
            return None;
        }
        list.extend(first..=last);
    }
    Some(list)
}

/// The kernel's list notation of ascending numbers.
pub fn format_list(list: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for run in list.chunk_by(|a, b| a + 1 == *b) {
        parts.push(match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => continue,
        });
    }
    parts.join(",")
}

/// Whether the processor has a feature, by its name in `/proc/cpuinfo`.
pub(crate) fn has_flag(cpuinfo: &str, flag: &str) -> bool {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    line.is_some_and(|line| line.split_whitespace().any(|word| word == flag))
}

fn read_list(path: &str) -> Option<Vec<usize>> {
    parse_list(&fs::read_to_string(path).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(core: usize) -> Vec<usize> {
        vec![core]
    }

    #[test]
    fn cores_that_cannot_be_used_are_named() {
        assert_eq!(usable(&[1, 2], &[0, 1, 2]), Ok(()));
        let reason = "there is no core 9 for this process; it may use 0, 1";
        assert_eq!(usable(&[1, 9], &[0, 1]), Err(reason.to_owned()));
    }

    #[test]
    fn reads_and_writes_the_kernels_lists() {
        assert_eq!(parse_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list("\n"), Some(vec![]));
        for bad in ["(null)", "3-1", "0-99999999", "1,x"] {
            assert_eq!(parse_list(bad), None, "{bad}");
        }
        assert_eq!(format_list(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(format_list(&[]), "");
    }

    #[test]
    fn pins_the_calling_thread() {
        let last = *allowed().last().unwrap();
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(allowed(), [last]);
            assert_eq!(rustix::thread::sched_getcpu(), last);
        })
        .join()
        .unwrap();
        assert!(pin(MASK_WORDS * 64).is_err());
        assert!(pin_to(&[]).is_err());
    }

    #[test]
    fn another_thread_is_moved() {
        let cores = allowed();
        let (send, receive) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            send.send(current_tid()).unwrap();
            wait.recv().unwrap();
            rustix::thread::sched_getcpu()
        });
        let (tid, last) = (receive.recv().unwrap(), *cores.last().unwrap());
        pin_thread(tid, &[last]).unwrap();
        go.send(()).unwrap();
        assert_eq!(thread.join().unwrap(), last);
        assert_eq!(allowed(), cores);
        assert!(process_time() > Nanos::ZERO);
    }

    #[test]
    fn what_keeps_leases_is_preferred_and_what_it_starts_can_end_that() {
        std::thread::spawn(|| {
            if keep_in_time() {
                assert_eq!(niceness().unwrap(), KEEPER_NICENESS);
                assert!(!keep_in_time(), "once is enough");
                keep_no_longer();
            }
            let before = niceness().unwrap();
            keep_no_longer();
            assert_eq!(niceness().unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_raised_priority_is_of_one_thread() {
        std::thread::spawn(|| match raise_priority() {
            Ok(()) => assert_eq!(niceness().unwrap(), WORKER_NICENESS),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        })
        .join()
        .unwrap();
        assert_ne!(niceness().unwrap(), WORKER_NICENESS);
    }

    #[test]
    fn workers_leave_the_lowest_core_to_the_control_plane() {
        assert_eq!(choose(1, &[0, 1, 2, 3], &[], None, alone), [3]);
        assert_eq!(choose(3, &[0, 1, 2, 3], &[], None, alone), [1, 2, 3]);
        assert_eq!(choose(9, &[0, 1, 2, 3], &[], None, alone), [0, 1, 2, 3]);
        assert_eq!(choose(2, &[5], &[], None, alone), [5]);
        assert!(choose(0, &[0, 1], &[], None, alone).is_empty());
    }

    #[test]
    fn workers_take_isolated_cores_first_and_then_near_ones() {
        let cores = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(choose(2, &cores, &[2, 3], None, alone), [2, 3]);
        assert_eq!(choose(3, &cores, &[2, 3], None, alone), [2, 3, 7]);
        assert_eq!(choose(3, &cores, &[], Some(&[0, 1, 2, 3]), alone), [1, 2, 3]);
        assert_eq!(choose(4, &cores, &[], Some(&[0, 1, 2, 3]), alone), [1, 2, 3, 7]);
        // All but one isolated, and that one keeps the control plane.
        assert_eq!(choose(3, &[0, 1, 2, 3], &[1, 2, 3], None, alone), [1, 2, 3]);
    }

    #[test]
    fn workers_share_no_physical_core_while_there_is_another() {
        let pairs = |core: usize| vec![core % 4, core % 4 + 4];
        let cores = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(choose(3, &cores, &[], None, pairs), [5, 6, 7]);
        assert_eq!(choose(4, &cores, &[], None, pairs), [4, 5, 6, 7]);
        let neighbours = |core: usize| vec![core / 2 * 2, core / 2 * 2 + 1];
        assert_eq!(choose(3, &cores, &[], None, neighbours), [3, 5, 7]);
    }

    #[test]
    fn isolated_cores_count_unless_somebody_narrowed_the_affinity() {
        assert_eq!(candidates(vec![0, 1], &[2, 3], &[0, 1, 2, 3]), [0, 1, 2, 3]);
        assert_eq!(candidates(vec![1], &[2, 3], &[0, 1, 2, 3]), [1]);
        assert_eq!(candidates(vec![0, 1], &[], &[]), [0, 1]);
    }

    #[test]
    fn real_workers_and_control_cores_are_cores_of_this_machine() {
        let workers = worker_cores(1, None);
        assert_eq!(workers.len(), 1);
        assert!(!control_cores(&workers).is_empty());
        assert_eq!(control_cores(&allowed()), allowed());
    }

    #[test]
    fn usage_grows_with_work() {
        assert_eq!(
            ThreadUsage::parse("75843 63174 2\n"),
            Some(ThreadUsage { run_ns: 75_843, wait_ns: 63_174, slices: 2 })
        );
        assert_eq!(ThreadUsage::parse("75843\n"), None);
        let Ok(start) = ThreadUsage::read(current_tid()) else { return };
        let mut sum = 0u64;
        for n in 0..3_000_000u64 {
            sum = std::hint::black_box(sum.wrapping_add(n));
        }
        let used = ThreadUsage::read(current_tid()).unwrap().since(&start);
        assert!(used.run_ns > 100_000, "{used:?} {sum}");
        assert!(ThreadUsage::read(0).is_err());
    }

    #[test]
    fn memory_is_what_the_kernel_says() {
        let status = "VmHWM:\t    1664 kB\nVmRSS:\t    1552 kB\nHugetlbPages:\t   2048 kB\n";
        let memory = Memory::parse(status);
        assert_eq!(
            memory,
            Memory { resident_bytes: 1552 << 10, peak_bytes: 1664 << 10, huge_bytes: 2048 << 10 }
        );
        let here = Memory::read().unwrap();
        assert!(here.resident_bytes > 0 && here.peak_bytes >= here.resident_bytes / 2);
    }

    #[test]
    fn flags_are_whole_words() {
        let text = "model name : x\nflags : tsc constant_tsc\n";
        assert!(has_flag(text, "tsc") && has_flag(text, "constant_tsc"));
        assert!(!has_flag(text, "constant") && !has_flag("", "tsc"));
    }
}
