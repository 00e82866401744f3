//! Captures of a run, switched on and off while it goes on.

use crate::jobs::{Job, lock};
use engine::CaptureSwitch;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::timeout;

/// From a switch being asked for to its being made, at most, once traffic flows.
const PATIENCE: Duration = Duration::from_millis(500);

/// Switches of a run's captures.
#[derive(Default)]
pub(crate) struct Switches {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<CaptureSwitch>,
    asked: u64,
    /// Handed to the engine.
    taken: u64,
    /// Carried out.
    made: u64,
}

impl Switches {
    /// With captures that begin switched off.
    pub(crate) fn off(ports: &[String]) -> Self {
        let waiting: VecDeque<_> =
            ports.iter().map(|port| CaptureSwitch { port: port.clone(), on: false }).collect();
        let queue = Queue { asked: waiting.len() as u64, waiting, ..Queue::default() };
        Self { queue: Mutex::new(queue) }
    }

    /// The next one, for the engine. Asked again, it has made the one before.
    pub(crate) fn next(&self, job: &Job) -> Option<CaptureSwitch> {
        let mut queue = lock(&self.queue);
        let next = queue.waiting.pop_front();
        if queue.made < queue.taken {
            queue.made = queue.taken;
            job.looks.ring();
        }
        queue.taken += u64::from(next.is_some());
        next
    }

    /// Asks for a switch, and waits until it is made. In a run whose traffic has not begun it is made before that begins.
    pub(crate) async fn ask(&self, switch: CaptureSwitch, job: &Job) {
        let (number, mut bell) = {
            let mut queue = lock(&self.queue);
            queue.waiting.push_back(switch);
            queue.asked += 1;
            (queue.asked, job.looks.listen())
        };
        let made = async {
            while lock(&self.queue).made < number && !job.has_ended() && bell.changed().await.is_ok() {}
        };
        let _ = timeout(PATIENCE, made).await;
    }
}
