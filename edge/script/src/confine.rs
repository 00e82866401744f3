//! What a script may do to the machine: nothing but use the ports that are open already, read beside its file, and write in the
//! folder it runs in.
//!
//! LuaJIT's FFI is arbitrary memory access, so the kernel has to say no: Landlock for files, seccomp for starting programs,
//! opening sockets and the like, no privileges, limits for memory. To be called before the first Lua state, by the thread that starts
//! all others: of threads that are there already (DPDK's) only the calls are refused.

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// What is allowed.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    /// Folders and files to read.
    pub read: Vec<PathBuf>,
    /// Folders to read, and to make and write files in.
    pub write: Vec<PathBuf>,
    /// Bytes of address space the script may take beyond what the process has.
    pub memory_bytes: u64,
}

/// What the kernel does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confined {
    /// Files elsewhere are out of reach.
    pub files: bool,
    /// Programs, sockets and the machine's settings are.
    pub calls: bool,
}

/// Confines the calling thread, and all that it starts, for good.
///
/// # Errors
/// A limit cannot be set, or the kernel refused what it knows.
pub fn confine(allowed: &Confinement) -> io::Result<Confined> {
    limit_memory(allowed.memory_bytes)?;
    let files = confine_files(allowed).map_err(io::Error::other)?;
    drop_privileges()?;
    let programs = [calls().map_err(io::Error::other)?, new_processes().map_err(io::Error::other)?];
    let applied = programs.iter().all(|program| seccompiler::apply_filter_all_threads(program).is_ok());
    Ok(Confined { files, calls: applied })
}

/// The ports are open: what a script still needs of a superuser's rights is to read and write files of others, as far as it may.
fn drop_privileges() -> io::Result<()> {
    let kept = capabilities(None)?.permitted & CapabilitySet::DAC_OVERRIDE;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}

fn limit_memory(bytes: u64) -> io::Result<()> {
    let lower = |resource: Resource, to: u64| {
        let most = getrlimit(resource).maximum.map_or(to, |most| most.min(to));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    // A crash is reported, not kept.
    lower(Resource::Core, 0)?;
    // DPDK reserves far more addresses than it uses.
    let status = std::fs::read_to_string("/proc/self/status")?;
    let taken_kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB")?.parse().ok());
    let taken = taken_kib.unwrap_or(0_u64).saturating_mul(1_024);
    Ok(lower(Resource::As, taken.saturating_add(bytes))?)
}

fn confine_files(allowed: &Confinement) -> Result<bool, landlock::RulesetError> {
    let abi = ABI::V3;
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let mut ruleset = ruleset.handle_access(AccessFs::from_all(abi))?.create()?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Truncate;
    let all =
        allowed.read.iter().map(|path| (path, read)).chain(allowed.write.iter().map(|path| (path, write)));
    for (path, access) in all {
        // What is not there needs no permission.
        let Ok(file) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(abi) };
        ruleset = ruleset.add_rule(PathBeneath::new(file, access))?;
    }
    Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// System calls that a script has no use for and could do harm with.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_bpf,
    libc::SYS_io_uring_setup,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_capset,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_mknodat,
    libc::SYS_setrlimit,
];

/// linux/unistd.h: `__X32_SYSCALL_BIT`.
#[cfg(target_arch = "x86_64")]
const X32: libc::c_long = 0x4000_0000;

/// A filter cannot see what `clone3` is asked for. Where the kernel does not know it, threads are started by `clone`.
fn new_processes() -> Result<BpfProgram, seccompiler::Error> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
    let arch = std::env::consts::ARCH.try_into()?;
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, unknown, arch)?.try_into()?)
}

fn calls() -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    // The same calls with 32-bit pointers (x32) have a bit more.
    #[cfg(target_arch = "x86_64")]
    rules.extend(REFUSED.iter().chain(&[libc::SYS_clone]).map(|&call| (call | X32, Vec::new())));
    // Threads, but no processes.
    let no_thread = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64),
        0,
    )?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![no_thread])?]);
    // Limits may be read, not changed.
    let new_limit = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![new_limit])?]);
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let arch = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?;
    Ok(filter.try_into()?)
}
