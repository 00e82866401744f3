//! Turns of a run's processes to start: on each machine a few at a time. Started all at once, they would keep each other, and everything
//! else on the machine, from its cores for seconds, agents and their leases included.
//!
//! Invariant: a turn ends when it is dropped, so a process that fails keeps no other from its turn.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Processes that start on one machine at a time.
const AT_A_TIME: usize = 2;

/// Turns of all processes of a run.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Processes that are starting, by machine.
    starting: BTreeMap<String, usize>,
    is_over: bool,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn on a machine; `None` if nothing is to start any more.
    pub(crate) fn wait(self: &Arc<Self>, machine: &str) -> Option<Turn> {
        let is_taken = |state: &mut State| {
            !state.is_over && state.starting.get(machine).is_some_and(|starting| *starting >= AT_A_TIME)
        };
        let waited = self.changed.wait_while(self.lock(), is_taken);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.is_over {
            return None;
        }
        *state.starting.entry(machine.to_owned()).or_default() += 1;
        Some(Turn { turns: self.clone(), machine: machine.to_owned() })
    }

    /// Gives no more turns.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    machine: String,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(starting) = self.turns.lock().starting.get_mut(&self.machine) {
            *starting = starting.saturating_sub(1);
        }
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_few_start_on_each_machine_at_a_time() {
        let turns = Arc::new(Turns::default());
        let mut held: Vec<Turn> = (0..AT_A_TIME).filter_map(|_| turns.wait("one")).collect();
        assert_eq!(held.len(), AT_A_TIME);
        assert!(turns.wait("two").is_some(), "another machine is free");
        let (got, gets) = mpsc::channel();
        let waiting = turns.clone();
        let thread = std::thread::spawn(move || {
            let turn = waiting.wait("one");
            got.send(turn.is_some()).unwrap();
        });
        assert!(gets.recv_timeout(Duration::from_millis(50)).is_err(), "it waits");
        held.pop();
        assert!(gets.recv_timeout(Duration::from_secs(10)).unwrap());
        thread.join().unwrap();
    }

    #[test]
    fn nobody_waits_for_what_is_over() {
        let turns = Arc::new(Turns::default());
        let _held: Vec<Turn> = (0..AT_A_TIME).filter_map(|_| turns.wait("one")).collect();
        let waiting = turns.clone();
        let thread = std::thread::spawn(move || waiting.wait("one").is_none());
        turns.end();
        assert!(thread.join().unwrap() && turns.wait("two").is_none());
    }
}
