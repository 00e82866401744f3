//! Hosts of a port whose control plane is a network namespace: each has a TAP interface there. Frames that match pass both ways
//! through rings of bytes, between the workers and a thread that owns the interfaces.
//!
//! Not here: which frames match (`wire::control`, `neighbour::PuntTable`) and what runs in the namespace.
//!
//! Invariants: a worker makes no system call for them and never waits; what finds no room is counted. Interfaces, and a namespace
//! without a name, end with this process, however it ends.

#[cfg(unix)]
mod open;
mod rings;
mod shared;
#[cfg(unix)]
mod thread;

pub(crate) use rings::{PuntEntry, PuntExit};

#[cfg(unix)]
use os::namespace::Namespace;
use shared::Shared;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

/// A port's door to its namespace.
pub(crate) struct Punt {
    /// One for each receive queue.
    pub(crate) entries: Vec<PuntEntry>,
    /// To the port.
    pub(crate) exit: PuntExit,
    #[cfg(unix)]
    pub(crate) namespace: Namespace,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Punt {
    /// Frames for the namespace, and of it, that were dropped by thread and kernel so far.
    pub(crate) fn dropped(&self) -> (u64, u64) {
        (self.shared.refused.load(Ordering::Relaxed), self.shared.full.load(Ordering::Relaxed))
    }
}

impl Drop for Punt {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
