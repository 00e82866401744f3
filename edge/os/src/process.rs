//! The end of this process, and of those it has started.

use std::process::Child;

/// Asks a child to end (SIGTERM).
pub fn terminate(child: &Child) {
    // It was not waited for yet, so its number is nobody else's.
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

/// Ends this process at once: no destructor, no exit handler, and no thread that hangs in a driver delays it.
pub fn end_now(code: i32) -> ! {
    // SAFETY: allowed anywhere; nothing of this process runs after it.
    unsafe { libc::_exit(code) }
}
