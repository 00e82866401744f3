//! An agent's messages, written by a separate thread: their senders never wait for the socket.
//!
//! Invariant: of snapshots the newest is sent, after everything else, which goes in the order it came. So the
//! queue is bounded by the server's requests.

use crate::BEAT_EVERY;
use crate::frame;
use crate::message::{FromAgent, Full};
use crate::part::FromPart;
use api::Live;
use columns::RowsMessage;
use engine::RawRow;
use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pending messages.
#[derive(Default)]
struct Waiting {
    messages: VecDeque<FromAgent>,
    live: Option<Box<Live>>,
    /// Sums of the live figures of one of several machines.
    raw: Option<Box<RawRow>>,
    /// With the rows of streams of one of several machines.
    full: Option<(Box<Full>, Option<Box<RowsMessage>>)>,
    /// Nothing comes any more.
    is_closed: bool,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.live.is_none() && self.full.is_none()
    }
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// Time to write the last full snapshot, ns.
    full_cost_ns: AtomicU64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes messages. Clones take for the same socket.
#[derive(Clone)]
pub(crate) struct Outbox {
    shared: Arc<Shared>,
}

impl Outbox {
    /// Begins to write; the thread ends after [`Outbox::close`], or when the other end is closed.
    pub(crate) fn new(socket: UnixStream) -> std::io::Result<(Self, JoinHandle<()>)> {
        let shared = Arc::new(Shared::default());
        let writer = shared.clone();
        let thread = std::thread::Builder::new().name("eagre-says".to_owned());
        let thread = thread.spawn(move || {
            // Nobody who could be told is left.
            let _ = write(&writer, socket);
        })?;
        Ok((Self { shared }, thread))
    }

    /// Sends a message after those before it.
    pub(crate) fn send(&self, message: FromAgent) {
        self.shared.lock().messages.push_back(message);
        self.shared.changed.notify_one();
    }

    /// Sends the newest snapshot instead of one that was not sent yet.
    /// `raw` are its sums, of one of several machines.
    pub(crate) fn snapshot(
        &self,
        live: Live,
        raw: Option<RawRow>,
        full: Option<(Full, Option<RowsMessage>)>,
    ) {
        let mut waiting = self.shared.lock();
        waiting.raw = raw.map(Box::new);
        waiting.live = Some(Box::new(live));
        if let Some((full, rows)) = full {
            waiting.full = Some((Box::new(full), rows.map(Box::new)));
        }
        drop(waiting);
        self.shared.changed.notify_one();
    }

    /// Whether the last full snapshot is still to be sent.
    pub(crate) fn has_full(&self) -> bool {
        self.shared.lock().full.is_some()
    }

    /// Time to write the last full snapshot.
    pub(crate) fn full_cost(&self) -> Duration {
        Duration::from_nanos(self.shared.full_cost_ns.load(Ordering::Relaxed))
    }

    /// Nothing is sent after what is sent already.
    pub(crate) fn close(&self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_one();
    }
}

/// Writes until the box is closed and empty.
fn write(shared: &Shared, mut socket: UnixStream) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let waiting = shared.lock();
        let is_idle = |waiting: &mut Waiting| waiting.is_empty() && !waiting.is_closed;
        let waited = shared.changed.wait_timeout_while(waiting, BEAT_EVERY, is_idle);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let (live, raw, full) = (waiting.live.take(), waiting.raw.take(), waiting.full.take());
        let messages = std::mem::take(&mut waiting.messages);
        let is_closed = waiting.is_closed;
        drop(waiting);
        if live.is_none() && full.is_none() && messages.is_empty() {
            if is_closed {
                return Ok(());
            }
            frame::write(&mut socket, &FromAgent::Beat, &mut buffer)?;
        }
        for message in messages {
            frame::write(&mut socket, &message, &mut buffer)?;
        }
        if let Some((full, mut rows)) = full {
            let began = Instant::now();
            let block = rows.as_mut().map(|rows| rows.detach()).unwrap_or_default();
            let message = match rows {
                Some(rows) => FromAgent::Part(Box::new(FromPart::Full(full, rows))),
                None => FromAgent::Full(full),
            };
            frame::write_with(&mut socket, &message, &block, &mut buffer)?;
            shared.full_cost_ns.store(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        // Readers are woken by live figures, and find the full ones there.
        if let Some(live) = live {
            let (message, block) = match raw {
                Some(raw) => {
                    let (part, block) = FromPart::live(live, raw);
                    (FromAgent::Part(Box::new(part)), block)
                }
                None => (FromAgent::Live(live), Vec::new()),
            };
            frame::write_with(&mut socket, &message, &block, &mut buffer)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(socket: &mut UnixStream) -> Option<FromAgent> {
        frame::read(socket, &mut Vec::new()).unwrap()
    }

    #[test]
    fn of_snapshots_the_newest_is_sent_and_of_messages_all() {
        let (here, mut there) = UnixStream::pair().unwrap();
        // Nothing is written before all is there.
        let shared = Arc::new(Shared::default());
        let outbox = Outbox { shared: shared.clone() };
        for n in 0..5 {
            outbox.snapshot(Live { at_s: f64::from(n), ..Live::default() }, None, None);
            outbox.send(FromAgent::NeighboursSilent { port: n.to_string(), neighbours: Vec::new() });
        }
        assert!(!outbox.has_full());
        outbox.close();
        write(&shared, here).unwrap();
        for n in 0..5 {
            let Some(FromAgent::NeighboursSilent { port, .. }) = next(&mut there) else { panic!("{n}") };
            assert_eq!(port, n.to_string());
        }
        let Some(FromAgent::Live(live)) = next(&mut there) else { panic!("a snapshot comes last") };
        assert_eq!(live.at_s, 4.0);
        assert!(next(&mut there).is_none());
    }

    #[test]
    fn whoever_has_nothing_to_say_says_that_he_lives() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let (outbox, thread) = Outbox::new(here).unwrap();
        assert!(matches!(next(&mut there), Some(FromAgent::Beat)));
        drop(there);
        // And ends when nobody listens.
        thread.join().unwrap();
        outbox.send(FromAgent::Beat);
    }
}
