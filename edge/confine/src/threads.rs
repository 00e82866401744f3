//! Landlock and capabilities are per thread, and only a thread can change them: existing threads, such as DPDK's, are
//! made to do so by a signal.
//!
//! Invariant: after [`restrict`] no thread of the process is without the rules, or it failed.

use libc::{c_int, c_long};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time for a thread to follow.
const PATIENCE: Duration = Duration::from_secs(2);
/// linux/capability.h: `_LINUX_CAPABILITY_VERSION_3`
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// The rules for threads to take; -1 if there are none.
static RULES: AtomicI32 = AtomicI32::new(-1);
/// Threads that follow.
static FOLLOWED: AtomicUsize = AtomicUsize::new(0);

/// Puts the rules in force in all threads, and takes all capabilities from all but the calling one. False without rules.
pub(crate) fn restrict(rules: Option<OwnedFd>) -> io::Result<bool> {
    RULES.store(rules.as_ref().map_or(-1, AsRawFd::as_raw_fd), Ordering::SeqCst);
    others()?;
    let done = restrict_self();
    RULES.store(-1, Ordering::SeqCst);
    done.then_some(rules.is_some()).ok_or_else(io::Error::last_os_error)
}

/// Puts the rules in force in the calling thread. Safe in a signal handler.
fn restrict_self() -> bool {
    let rules = RULES.load(Ordering::SeqCst);
    // SAFETY: numbers only; neither call touches memory.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && (rules < 0 || libc::syscall(libc::SYS_landlock_restrict_self, rules, 0) == 0)
    }
}

/// Handler of the signal in another thread.
extern "C" fn follow(_: c_int) {
    let header: [u32; 2] = [CAPABILITY_VERSION, 0];
    let nothing = [0_u32; 6];
    // SAFETY: the kernel reads a header and two sets of three words; errno is put back.
    unsafe {
        let errno = *libc::__errno_location();
        let is_done =
            restrict_self() && libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) == 0;
        FOLLOWED.fetch_add(usize::from(is_done), Ordering::SeqCst);
        *libc::__errno_location() = errno;
    }
}

/// Threads of this process but the calling one.
fn tasks() -> io::Result<Vec<c_long>> {
    // SAFETY: takes nothing and cannot fail.
    let own = c_long::from(unsafe { libc::gettid() });
    let names = std::fs::read_dir("/proc/self/task")?;
    let ids = names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(ids.filter(|id| *id != own).collect())
}

fn others() -> io::Result<()> {
    let tasks = tasks()?;
    if tasks.is_empty() {
        return Ok(());
    }
    let signal = libc::SIGRTMAX() - 1;
    // SAFETY: a handler that makes system calls and touches atomics alone; the old one is put back.
    unsafe {
        let (mut new, mut old): (libc::sigaction, libc::sigaction) = (std::mem::zeroed(), std::mem::zeroed());
        new.sa_sigaction = follow as extern "C" fn(c_int) as usize;
        new.sa_flags = libc::SA_RESTART;
        if libc::sigaction(signal, &new, &mut old) != 0 {
            return Err(io::Error::last_os_error());
        }
        let sent = tasks.iter().filter(|task| {
            libc::syscall(libc::SYS_tgkill, c_long::from(libc::getpid()), **task, c_long::from(signal)) == 0
        });
        let sent = sent.count();
        let begin = Instant::now();
        while FOLLOWED.load(Ordering::SeqCst) < sent && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        libc::sigaction(signal, &old, std::ptr::null_mut());
        let followed = FOLLOWED.load(Ordering::SeqCst);
        if followed < sent {
            let reason = format!("{} of {sent} threads cannot be confined", sent - followed);
            return Err(io::Error::other(reason));
        }
    }
    Ok(())
}
