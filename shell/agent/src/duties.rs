//! Duties of an agent beside its trial: it returns the engine's replies, and ends traffic when the server is silent.

use crate::message::FromAgent;
use crate::outbox::Outbox;
use engine::{Control, PendingReply};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which pending replies are polled: control of a trial handles commands within 5 ms.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Longest wait for something to do.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// Time for a trial to end once its server is gone.
const GRACE: Duration = Duration::from_secs(2);

/// Input from the reader of the socket.
pub(crate) enum Duty {
    /// A command was sent to the engine.
    Await { number: u64, reply: PendingReply },
    /// Nobody awaits this reply any more.
    Forget(u64),
    /// The server lives.
    Renew,
    /// The server is gone.
    Gone,
}

/// Why the agent has stopped its run by itself.
#[derive(Clone, Default)]
pub(crate) struct Stopped(Arc<Mutex<Option<String>>>);

impl Stopped {
    /// Notes a reason, unless there is one already.
    pub(crate) fn note(&self, reason: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| reason.to_owned());
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Sees to them until the process ends.
pub(crate) fn see_to(
    duties: &Receiver<Duty>,
    control: &Control,
    outbox: &Outbox,
    stopped: &Stopped,
    lease: Duration,
) {
    let mut awaited: BTreeMap<u64, PendingReply> = BTreeMap::new();
    let (mut renewed, mut gone) = (Instant::now(), None::<Instant>);
    loop {
        let deadline = match gone {
            Some(gone) => GRACE.saturating_sub(gone.elapsed()),
            None if stopped.reason().is_none() => lease.saturating_sub(renewed.elapsed()),
            None => WAIT_MAX,
        };
        match duties.recv_timeout(deadline.min(if awaited.is_empty() { WAIT_MAX } else { LOOK_EVERY })) {
            Ok(Duty::Await { number, reply }) => drop(awaited.insert(number, reply)),
            Ok(Duty::Forget(number)) => drop(awaited.remove(&number)),
            Ok(Duty::Renew) => renewed = Instant::now(),
            Ok(Duty::Gone) | Err(RecvTimeoutError::Disconnected) => {
                gone = gone.or_else(|| {
                    control.stop();
                    Some(Instant::now())
                });
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if gone.is_some() {
            // The reader has ended: there is nothing to wait for.
            std::thread::sleep(LOOK_EVERY);
        }
        awaited.retain(|number, reply| {
            let Some(reply) = reply.poll() else { return true };
            let reply = reply.map(Into::into).map_err(Into::into);
            outbox.send(FromAgent::Reply { number: *number, reply });
            false
        });
        if renewed.elapsed() >= lease && stopped.reason().is_none() {
            stopped.note(&format!("the server was silent for {} s", lease.as_secs()));
            control.stop();
        }
        if gone.is_some_and(|gone| gone.elapsed() >= GRACE) {
            // A driver hangs, or a protocol takes its time; nobody waits for it.
            os::process::end_now(1);
        }
    }
}
