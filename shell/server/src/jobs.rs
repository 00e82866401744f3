//! Common parts of runs and campaigns: a name, a state, permission to stop, snapshots.

use crate::fault::Fault;
use crate::snapshots::Snapshots;
use agent::{Control, Requests};
use api::State;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// A lock whose holder may have panicked: what it guards is replaced whole, so it is never half-made.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time of day (RFC 3339, UTC).
pub(crate) fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// A run or campaign.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) about: About,
    pub(crate) started: String,
    pub(crate) snapshots: Snapshots,
    status: Mutex<Status>,
    stop: AtomicBool,
    /// Where commands to its agent are sent, if it has one.
    pub(crate) control: Control,
}

/// Properties of a job that do not change.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Name of the caller that started it.
    pub(crate) holder: String,
    /// The lease it depends on.
    pub(crate) lease: String,
    /// Whether that lease was made for it alone.
    pub(crate) own_lease: bool,
    /// Its ports, by the names they are leased by.
    pub(crate) ports: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) warnings: Vec<String>,
}

/// State of a job.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) state: State,
    pub(crate) reason: Option<String>,
    pub(crate) ended: Option<String>,
}

/// End of a job.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) state: State,
    /// Reason, unless the request to stop gave one.
    pub(crate) reason: Option<String>,
}

impl Job {
    /// A job, and the commands it will get.
    pub(crate) fn new(about: About) -> (Self, Requests) {
        let (control, requests) = agent::channel();
        let job = Self {
            about,
            started: now(),
            snapshots: Snapshots::default(),
            status: Mutex::new(Status { state: State::Starting, reason: None, ended: None }),
            stop: AtomicBool::new(false),
            control,
        };
        (job, requests)
    }

    pub(crate) fn status(&self) -> Status {
        lock(&self.status).clone()
    }

    /// Sets the state, unless the job has ended.
    pub(crate) fn set_state(&self, state: State) {
        let mut status = lock(&self.status);
        if status.state != state && !status.state.has_ended() {
            status.state = state;
            drop(status);
            self.snapshots.notify();
        }
    }

    /// Ends the job. Its ports must be free again: clients use them at once.
    pub(crate) fn ends(&self, Ending { state, reason }: Ending) {
        let mut status = lock(&self.status);
        status.state = state;
        // Whoever stopped it has said why.
        status.reason = reason.or(status.reason.take());
        status.ended = Some(now());
        drop(status);
        self.snapshots.notify();
    }

    /// Replaces the reason of a job that has ended.
    pub(crate) fn set_reason(&self, reason: Option<String>) {
        lock(&self.status).reason = reason;
        self.snapshots.notify();
    }

    /// Requests a stop with a reason, unless the job has ended or was stopped before.
    pub(crate) fn stop(&self, why: &str) {
        let mut status = lock(&self.status);
        if !status.state.has_ended() && !self.stop.swap(true, Ordering::Relaxed) {
            status.reason = Some(why.to_owned());
            self.control.stop();
        }
    }

    /// Why there is no result of it, a `what`.
    pub(crate) fn no_result(&self, what: &str) -> Fault {
        let status = self.status();
        match status.reason.filter(|_| status.state.has_ended()) {
            Some(reason) => Fault::not_found(format!("the {what} has no result: {reason}")),
            None => Fault::conflict(format!("the {what} has not ended: there is no result yet")),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.status().state.has_ended()
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) {
        let mut changes = self.snapshots.subscribe();
        while !self.has_ended() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Cores for workers, shared only if there are too few.
#[derive(Debug)]
pub(crate) struct Cores {
    users: Mutex<BTreeMap<usize, u32>>,
}

/// Cores in use, until this is dropped.
#[derive(Debug)]
pub(crate) struct CoresInUse {
    pub(crate) cores: Vec<usize>,
    /// Whether another job uses one of them.
    pub(crate) shared: bool,
    pool: Arc<Cores>,
}

impl Cores {
    pub(crate) fn new(cores: &[usize]) -> Self {
        Self { users: Mutex::new(cores.iter().map(|core| (*core, 0)).collect()) }
    }

    /// The `n` cores with the fewest users; `None` if there are fewer cores.
    pub(crate) fn take(self: &Arc<Self>, n: usize) -> Option<CoresInUse> {
        let mut users = lock(&self.users);
        if n > users.len() {
            return None;
        }
        let mut by_users: Vec<(u32, usize)> = users.iter().map(|(core, users)| (*users, *core)).collect();
        by_users.sort_unstable();
        let chosen = &by_users[..n];
        let shared = chosen.iter().any(|(users, _)| *users > 0);
        let mut cores: Vec<usize> = chosen.iter().map(|(_, core)| *core).collect();
        cores.sort_unstable();
        cores.iter().for_each(|core| *users.entry(*core).or_default() += 1);
        Some(CoresInUse { cores, shared, pool: self.clone() })
    }

    pub(crate) fn all(&self) -> Vec<usize> {
        lock(&self.users).keys().copied().collect()
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.users).len()
    }
}

impl Drop for CoresInUse {
    fn drop(&mut self) {
        let mut users = lock(&self.pool.users);
        self.cores.iter().for_each(|core| *users.entry(*core).or_insert(1) -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_shared_last() {
        let pool = Arc::new(Cores::new(&[1, 2]));
        let one = pool.take(1).unwrap();
        let two = pool.take(1).unwrap();
        assert_eq!((one.cores.as_slice(), two.cores.as_slice()), (&[1][..], &[2][..]));
        assert!(!one.shared && !two.shared);
        let three = pool.take(1).unwrap();
        assert!(three.shared);
        drop(two);
        assert_eq!(pool.take(1).unwrap().cores, [2]);
        assert!(pool.take(3).is_none());
    }
}
