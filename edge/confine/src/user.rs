//! The user of the process, its capabilities, and its limits.

use crate::Purpose;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, geteuid, getppid, getrlimit, parent_process_death_signal,
    set_dumpable_behavior, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set, set_capabilities,
    set_keep_capabilities,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::os::unix::fs::MetadataExt;

/// First of the users that confined processes of root become, one each; systemd leaves these numbers unused
/// (systemd.io/UIDS-GIDS: 1879048192 to 2147483647 are unused).
const FIRST_USER: u32 = 0x7E00_0000;
/// Process numbers are below it (linux/threads.h: `PID_MAX_LIMIT`).
const PROCESSES: u32 = 1 << 22;
/// Threads of a confined process.
const THREADS_MAX: u64 = 512;
/// Descriptors of a confined process.
const DESCRIPTORS_MAX: u64 = 4_096;

fn lower(resource: Resource, to: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(to, |most| most.min(to));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// Limits memory and descriptors.
pub(crate) fn limit(memory_bytes: u64) -> io::Result<()> {
    // A crash is reported, not kept.
    lower(Resource::Core, 0)?;
    lower(Resource::Nofile, DESCRIPTORS_MAX)?;
    // DPDK reserves far more addresses than it uses.
    let status = std::fs::read_to_string("/proc/self/status")?;
    let taken_kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB")?.parse().ok());
    let taken = taken_kib.unwrap_or(0_u64).saturating_mul(1_024);
    lower(Resource::As, taken.saturating_add(memory_bytes))
}

/// Limits threads. The kernel counts them per user: the limit of a user with other processes is higher by these.
pub(crate) fn limit_threads(is_own_user: bool) -> io::Result<()> {
    let others = if is_own_user { 0 } else { threads_of_user() };
    lower(Resource::Nproc, others + THREADS_MAX)
}

fn threads_of_user() -> u64 {
    let own = geteuid().as_raw();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let threads = processes.filter_map(|entry| {
        let is_own = entry.metadata().ok()?.uid() == own;
        is_own.then(|| std::fs::read_dir(entry.path().join("task")).ok().map(|tasks| tasks.count() as u64))?
    });
    threads.sum()
}

/// The user that the confined process with this number has.
pub(crate) fn of_process(process: u32) -> u32 {
    FIRST_USER + process % PROCESSES
}

/// Becomes a unique user, if this is root; keeps only the calling thread's capabilities. False if the process keeps its
/// user: it is not root's, or its user namespace has no such user.
pub(crate) fn leave(purpose: Purpose) -> io::Result<bool> {
    if !geteuid().is_root() {
        return Ok(false);
    }
    if purpose == Purpose::Program {
        // A network without interfaces. In a container this may not be allowed; the list of calls holds without it.
        // SAFETY: nothing of this process depends on its network.
        let _ = unsafe { unshare_unsafe(UnshareFlags::NEWNET) };
    }
    let user = of_process(std::process::id());
    let (parent, tie) = (getppid(), parent_process_death_signal()?);
    set_keep_capabilities(true)?;
    // SAFETY: numbers only. The C library's functions change all threads.
    let left = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(user, user, user) == 0
            && libc::setresuid(user, user, user) == 0
    };
    // It ends with its parent, which the kernel forgets when the user changes.
    set_parent_process_death_signal(tie)?;
    if getppid() != parent && tie.is_some() {
        return Err(io::Error::other("the parent process has ended"));
    }
    Ok(left)
}

/// The capabilities that are left: to read, and for a script to write, files of others as far as Landlock lets it.
pub(crate) fn drop_privileges(purpose: Purpose) -> io::Result<()> {
    let left = match purpose {
        Purpose::Script { .. } => CapabilitySet::DAC_OVERRIDE,
        Purpose::Program => CapabilitySet::DAC_READ_SEARCH,
    };
    let kept = capabilities(None)?.permitted & left;
    let passed_on = if purpose == Purpose::Program { kept } else { CapabilitySet::empty() };
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: passed_on })?;
    if !passed_on.is_empty() {
        configure_capability_in_ambient_set(CapabilitySet::DAC_READ_SEARCH, true)?;
    }
    // Other processes of this user, if it has any, cannot look into this one.
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}
