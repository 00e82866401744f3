//! Tasks: threads of a script, each with its own Lua state.

use crate::state;
use crate::world::World;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tasks that may run at one time.
const TASKS_MAX: usize = 100;
/// Bytes of a task's stack, for Lua code that recurses through C.
const STACK_BYTES: usize = 4 << 20;

/// State of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TaskState {
    Running,
    /// With what it returned, serialized.
    Done(Vec<u8>),
    /// With the reason.
    Failed(String),
}

struct Task {
    name: String,
    state: TaskState,
}

/// All tasks of the script but the first, in the order they were started.
#[derive(Default)]
pub(crate) struct Tasks {
    list: Mutex<Vec<Task>>,
    changed: Condvar,
}

impl Tasks {
    fn list(&self) -> MutexGuard<'_, Vec<Task>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread that loads the script and calls its function `name` with serialized arguments; returns its number.
    pub(crate) fn start(
        &self,
        world: &'static World,
        name: &str,
        arguments: Vec<u8>,
    ) -> Result<usize, String> {
        let id = {
            let mut list = self.list();
            if list.iter().filter(|task| task.state == TaskState::Running).count() >= TASKS_MAX {
                return Err(format!("task '{name}': {TASKS_MAX} tasks run already, which is the most"));
            }
            list.push(Task { name: name.to_owned(), state: TaskState::Running });
            list.len() - 1
        };
        let owned = name.to_owned();
        let work = move || {
            os::nap::wake_on_time();
            let state = match state::run_task(world, id, &owned, &arguments) {
                Ok(result) => TaskState::Done(result),
                Err(reason) => TaskState::Failed(reason),
            };
            world.tasks.list()[id].state = state;
            world.tasks.changed.notify_all();
        };
        // The kernel shows fifteen bytes of a name.
        let label: String = name.chars().filter(char::is_ascii_alphanumeric).take(15).collect();
        let spawned = std::thread::Builder::new().name(label).stack_size(STACK_BYTES).spawn(work);
        spawned.map(|_| id).map_err(|error| {
            self.list()[id].state = TaskState::Failed(error.to_string());
            format!("task '{name}' can't be started: {error}")
        })
    }

    /// State of a task; `None` if there is none with this number.
    pub(crate) fn state(&self, id: usize) -> Option<TaskState> {
        self.list().get(id).map(|task| task.state.clone())
    }

    /// Waits until all tasks have ended, `patience` at most; whether they have.
    pub(crate) fn wait_for_all(&self, patience: Option<Duration>) -> bool {
        let running = |list: &mut Vec<Task>| list.iter().any(|task| task.state == TaskState::Running);
        let list = self.list();
        let list = match patience {
            Some(patience) => {
                self.changed
                    .wait_timeout_while(list, patience, running)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => self.changed.wait_while(list, running).unwrap_or_else(PoisonError::into_inner),
        };
        !list.iter().any(|task| task.state == TaskState::Running)
    }

    /// Names of the tasks that failed, with the reason.
    pub(crate) fn failed(&self) -> Vec<(String, String)> {
        let list = self.list();
        let failed = list.iter().filter_map(|task| match &task.state {
            TaskState::Failed(reason) => Some((task.name.clone(), reason.clone())),
            _ => None,
        });
        failed.collect()
    }
}
