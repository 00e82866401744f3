//! Data passed between tasks: named tables of serialized values, locks, barriers and pipes.
//!
//! Invariant: an invalid number of a script refers to nothing; every wait also ends when the script does, except for
//! locks, which their holder must release.

use crate::world::World;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval at which those who wait check whether the script has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Values a pipe holds before senders wait.
const PIPE_MAX: usize = 65_536;

/// Something that passes through a pipe.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// Serialized.
    Text(Vec<u8>),
    /// A pointer; what it points to is the script's business.
    Address(usize),
}

#[derive(Default)]
struct Barrier {
    size: usize,
    waiting: usize,
    round: u64,
}

#[derive(Default)]
struct State {
    spaces: HashMap<String, BTreeMap<String, Vec<u8>>>,
    /// Which locks are held.
    locks: Vec<bool>,
    /// The locks of named tables.
    space_locks: HashMap<String, usize>,
    barriers: Vec<Barrier>,
    pipes: Vec<VecDeque<Item>>,
}

/// All of it.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0
    }

    /// A value of a named table.
    pub(crate) fn value(&self, space: &str, key: &str) -> Option<Vec<u8>> {
        self.state().spaces.get(space)?.get(key).cloned()
    }

    /// Sets it, or removes it.
    pub(crate) fn set_value(&self, space: &str, key: &str, value: Option<Vec<u8>>) {
        let mut state = self.state();
        let table = state.spaces.entry(space.to_owned()).or_default();
        match value {
            Some(value) => table.insert(key.to_owned(), value),
            None => table.remove(key),
        };
    }

    /// The keys of a named table.
    pub(crate) fn keys(&self, space: &str) -> Vec<String> {
        self.state().spaces.get(space).map(|table| table.keys().cloned().collect()).unwrap_or_default()
    }

    /// A new lock.
    pub(crate) fn new_lock(&self) -> usize {
        let mut state = self.state();
        state.locks.push(false);
        state.locks.len() - 1
    }

    /// The lock of a named table.
    pub(crate) fn lock_of(&self, space: &str) -> usize {
        let mut state = self.state();
        if let Some(&lock) = state.space_locks.get(space) {
            return lock;
        }
        state.locks.push(false);
        let lock = state.locks.len() - 1;
        state.space_locks.insert(space.to_owned(), lock);
        lock
    }

    /// Waits for a lock, `patience` at most; whether it is held now.
    pub(crate) fn lock(&self, lock: usize, patience: Option<Duration>) -> bool {
        let mut left = patience;
        let mut state = self.state();
        loop {
            match state.locks.get_mut(lock) {
                None => return false,
                Some(held) if !*held => {
                    *held = true;
                    return true;
                }
                Some(_) if left.is_some_and(|left| left.is_zero()) => return false,
                Some(_) => {}
            }
            let most = left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY));
            left = left.map(|left| left.saturating_sub(most));
            state = self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Releases a lock.
    pub(crate) fn unlock(&self, lock: usize) {
        if let Some(held) = self.state().locks.get_mut(lock) {
            *held = false;
        }
        self.changed.notify_all();
    }

    /// A new barrier for `n` tasks.
    pub(crate) fn new_barrier(&self, n: usize) -> usize {
        let mut state = self.state();
        state.barriers.push(Barrier { size: n.max(1), ..Barrier::default() });
        state.barriers.len() - 1
    }

    /// Changes for how many tasks a barrier is.
    pub(crate) fn resize_barrier(&self, barrier: usize, n: usize) {
        if let Some(barrier) = self.state().barriers.get_mut(barrier) {
            barrier.size = n.max(1);
        }
    }

    /// Waits until as many tasks do as the barrier is for.
    pub(crate) fn wait_at(&self, world: &World, barrier: usize) {
        let mut state = self.state();
        let Some(at) = state.barriers.get_mut(barrier) else { return };
        at.waiting += 1;
        if at.waiting >= at.size {
            at.waiting = 0;
            at.round += 1;
            drop(state);
            self.changed.notify_all();
            return;
        }
        let round = at.round;
        while state.barriers[barrier].round == round && world.is_running(0) {
            state = self.wait(state);
        }
    }

    /// A new pipe.
    pub(crate) fn new_pipe(&self) -> usize {
        let mut state = self.state();
        state.pipes.push(VecDeque::new());
        state.pipes.len() - 1
    }

    /// Puts items into a pipe, all or none; waits for room if it `may_wait`. Returns whether it did.
    pub(crate) fn send(&self, world: &World, pipe: usize, items: &[Item], may_wait: bool) -> bool {
        let mut state = self.state();
        loop {
            let Some(queue) = state.pipes.get_mut(pipe) else { return false };
            if queue.len() + items.len() <= PIPE_MAX {
                queue.extend(items.iter().cloned());
                drop(state);
                self.changed.notify_all();
                return true;
            }
            if !may_wait || !world.is_running(0) {
                return false;
            }
            state = self.wait(state);
        }
    }

    /// Takes the next item, waiting for it as long as given, or until the script ends.
    pub(crate) fn receive(&self, world: &World, pipe: usize, patience: Option<Duration>) -> Option<Item> {
        let mut left = patience;
        let mut state = self.state();
        loop {
            let item = state.pipes.get_mut(pipe)?.pop_front();
            if item.is_some() {
                return item;
            }
            match left {
                Some(Duration::ZERO) => return None,
                None if !world.is_running(0) => return None,
                _ => {}
            }
            let most = left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY));
            left = left.map(|left| left.saturating_sub(most));
            state = self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Items in a pipe.
    pub(crate) fn count(&self, pipe: usize) -> usize {
        self.state().pipes.get(pipe).map_or(0, VecDeque::len)
    }
}
