//! Signals.

/// Lets a closed pipe end this process quietly, as other commands do, instead of failing a write.
pub fn end_on_closed_pipe() {
    // SAFETY: sets a disposition the kernel knows, before any thread is started that could mind.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
