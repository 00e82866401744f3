//! System calls: what is not on the list is refused with EPERM, in all threads.
//!
//! Arguments that decide between harmless and harmful are fixed: a signal goes to threads of this process, a frame to the interface
//! that a socket is bound to (no address), a new file is no set-user-ID program, `clone` makes threads.

use libc::{SYS_prctl, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;
use std::io;

/// Kind of the confined code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Code in this process, which has its ports.
    Script {
        /// Whether a driver exchanges messages with the other end of a port over Unix sockets. Then no socket of this
        /// process may reach any other process: a message can have an address.
        messages: bool,
    },
    /// A program in place of this process.
    Program,
}

impl Default for Purpose {
    fn default() -> Self {
        Self::Script { messages: false }
    }
}

/// Calls that are allowed with any argument.
const ALLOWED: &[c_long] = &[
    // Files: which ones is for Landlock to say.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_ftruncate,
    libc::SYS_truncate,
    libc::SYS_fadvise64,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    // Memory, of which there is a limit.
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    // Threads.
    libc::SYS_clone3,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_getcpu,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getrusage,
    // Waiting.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    // Sockets that are open.
    libc::SYS_accept4,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_shutdown,
    // Facts.
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
];

/// The older forms of some of them.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[c_long] = &[
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_wait,
    libc::SYS_time,
    libc::SYS_getrlimit,
    // A thread's registers.
    libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[c_long] = &[];

/// Allowed operations of `fcntl`: not owners, leases, seals and sizes of pipes.
const FCNTL: &[i32] = &[libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL];
/// Allowed operations of `ioctl`: detection of terminals, and facts of interfaces (linux/sockios.h, `SIOCGIF…`).
const IOCTL: &[u64] = &[
    libc::TCGETS,
    libc::TIOCGWINSZ,
    libc::FIONREAD,
    libc::FIONBIO,
    0x8910,
    0x8912,
    0x8913,
    0x8915,
    0x891b,
    0x8921,
    0x8927,
    0x8933,
];
/// Sockets that a program may open to read facts of interfaces. They can send nowhere: no allowed call has an address.
const SOCKETS: &[i32] = &[libc::AF_NETLINK, libc::AF_INET, libc::AF_INET6];
/// Allowed operations of `prctl`: names of threads and memory, accuracy of sleeps.
const PRCTL: &[i32] = &[
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_SET_TIMERSLACK,
    libc::PR_GET_TIMERSLACK,
    libc::PR_GET_DUMPABLE,
    libc::PR_SET_VMA,
];
/// Flags of `clone` for a thread, by glibc and by musl.
const THREAD: libc::c_int = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID;
const THREADS: [libc::c_int; 2] = [THREAD, THREAD | libc::CLONE_DETACHED];
/// Set-user-ID and set-group-ID.
const SET_ID: u64 = (libc::S_ISUID | libc::S_ISGID) as u64;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Conditions = Result<Vec<SeccompRule>, seccompiler::Error>;

/// Applies the list to all threads; false if the kernel cannot.
pub(crate) fn restrict(purpose: Purpose) -> io::Result<bool> {
    let programs = [clone3().map_err(io::Error::other)?, list(purpose).map_err(io::Error::other)?];
    Ok(programs.iter().all(|program| seccompiler::apply_filter_all_threads(program).is_ok()))
}

/// A filter cannot see the arguments of `clone3`. Where the kernel does not know it, threads are started by `clone`.
fn clone3() -> Result<BpfProgram, seccompiler::Error> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
    let arch = std::env::consts::ARCH.try_into()?;
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, unknown, arch)?.try_into()?)
}

/// The list. Other numberings of calls (x32, 32-bit) are not on it.
fn list(purpose: Purpose) -> Result<BpfProgram, seccompiler::Error> {
    let known = ALLOWED.iter().chain(ALLOWED_HERE);
    let mut rules: Rules = known.map(|&call| (call, Vec::new())).collect();
    rules.extend(with_arguments()?);
    match purpose {
        Purpose::Script { messages: true } => {
            rules.insert(libc::SYS_sendmsg, Vec::new());
        }
        Purpose::Script { messages: false } => {}
        Purpose::Program => {
            rules.insert(libc::SYS_execve, Vec::new());
            rules.insert(libc::SYS_socket, one_of(0, SOCKETS)?);
            rules.insert(libc::SYS_bind, Vec::new());
            let room = [libc::SO_SNDBUF, libc::SO_RCVBUF]
                .map(|option| all(vec![equal(1, libc::SOL_SOCKET as u64)?, equal(2, option as u64)?]));
            let netlink = all(vec![equal(1, libc::SOL_NETLINK as u64)?]);
            rules.insert(libc::SYS_setsockopt, room.into_iter().chain([netlink]).collect::<Conditions>()?);
        }
    }
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let arch = std::env::consts::ARCH.try_into()?;
    Ok(SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch)?.try_into()?)
}

/// Calls that are allowed with some arguments only.
fn with_arguments() -> Result<Rules, seccompiler::Error> {
    // SAFETY: takes nothing and cannot fail.
    let own = unsafe { libc::getpid() } as u64;
    let mut fcntl = one_of(1, FCNTL)?;
    // Without O_ASYNC: a signal for every byte, to whoever is said to be the owner.
    fcntl.push(all(vec![equal(1, libc::F_SETFL as u64)?, clear(2, libc::O_ASYNC as u64)?])?);
    let ioctl = IOCTL.iter().map(|&request| all(vec![equal(1, request)?])).collect::<Conditions>()?;
    let mut rules = Rules::from([
        (libc::SYS_fcntl, fcntl),
        (libc::SYS_ioctl, ioctl),
        (SYS_prctl, one_of(0, PRCTL)?),
        (libc::SYS_clone, one_of(0, &THREADS)?),
        (libc::SYS_tgkill, vec![all(vec![equal(0, own)?])?]),
        // To where the socket is bound.
        (libc::SYS_sendto, vec![all(vec![whole(4, 0)?])?]),
        (libc::SYS_openat, vec![all(vec![clear(3, SET_ID)?])?]),
        // Of the calling thread.
        (libc::SYS_sched_setaffinity, vec![all(vec![equal(0, 0)?])?]),
        // Limits may be read, not changed; those of other processes are not this one's to read.
        (libc::SYS_prlimit64, vec![all(vec![equal(0, 0)?, whole(2, 0)?])?]),
    ]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![all(vec![clear(2, SET_ID)?])?]);
    Ok(rules)
}

fn all(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, seccompiler::Error> {
    Ok(SeccompRule::new(conditions)?)
}

/// A 32-bit argument that is one of `values`.
fn one_of(argument: u8, values: &[i32]) -> Conditions {
    values.iter().map(|&value| all(vec![equal(argument, value as u64)?])).collect()
}

/// A 32-bit argument.
fn equal(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value & 0xffff_ffff)?)
}

/// A pointer.
fn whole(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value)?)
}

/// A 32-bit argument without these bits.
fn clear(argument: u8, bits: u64) -> Result<SeccompCondition, seccompiler::Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), 0)?)
}
