//! The control side of a capture.

use super::options::CaptureOptions;
use super::outcome::{CaptureCounts, CaptureError, CaptureOutcome};
use super::record::RecordHead;
use super::shared::Shared;
use super::sink::{Failure, Sink};
use crate::fault;
use os::Draft;
use port::bytes::ByteReceiver;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use units::Nanos;

/// Time for which packets wait for older ones from other workers before they are written.
const PASS: Duration = Duration::from_millis(1);

/// The control side of a capture: a thread that takes packets out of the rings and writes them. Dropping it ends the
/// capture too, and reports no outcome; without a packet it then leaves an earlier file as it was.
pub(crate) struct CaptureWriter {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    /// The thread has an outcome.
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<(CaptureOutcome, Option<Draft>)>>,
}

impl CaptureWriter {
    pub(super) fn start(
        options: &CaptureOptions,
        rings: Vec<ByteReceiver>,
        shared: Arc<Shared>,
    ) -> Result<Self, CaptureError> {
        let sink = Sink::open(options, shared.clone())?;
        let stop = Arc::new(AtomicBool::new(false));
        let run = Run {
            rings: rings.into_iter().map(Ring::new).collect(),
            packet: Vec::new(),
            sink,
            shared: shared.clone(),
            stop: stop.clone(),
        };
        let thread = thread::Builder::new().name("capture".to_owned());
        let ended = Arc::new(AtomicBool::new(false));
        let has_ended = ended.clone();
        let body = move || {
            let outcome = run.run();
            has_ended.store(true, Ordering::Release);
            outcome
        };
        let thread = thread.spawn(body).map_err(CaptureError::Thread)?;
        Ok(Self { shared, stop, ended, thread: Some(thread) })
    }

    /// Takes packets from now on, or takes none until it is switched on again. Begun, a capture is on.
    pub(crate) fn switch(&self, on: bool) {
        self.shared.switch(on);
    }

    /// Whether everything captured so far is in the file, or never will be.
    pub(crate) fn is_settled(&self) -> bool {
        self.shared.written.load(Ordering::Relaxed) == self.shared.counts().captured || !self.is_running()
    }

    /// Counters so far. Packets that the disk refuses are counted at the end only.
    #[cfg(test)]
    pub(super) fn counts(&self) -> CaptureCounts {
        self.shared.counts()
    }

    /// Whether the capture is active: not if the disk refused a packet, or all taps are gone.
    pub(crate) fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Whether its thread failed: it has ended, and left no outcome.
    pub(crate) fn has_failed(&self) -> bool {
        !self.is_running() && !self.ended.load(Ordering::Acquire)
    }

    /// Ends the capture: writes what is in the rings and closes the files. Counts are exact if no tap is in use any more.
    pub(crate) fn finish(mut self) -> CaptureOutcome {
        let Some((mut outcome, empty)) = self.end() else {
            let error = Some("the capture's thread failed; what it wrote may be incomplete".to_owned());
            return CaptureOutcome { error, ..CaptureOutcome::default() };
        };
        let committed = empty.map_or(Ok(()), Draft::commit);
        outcome.error = outcome.error.or(committed.err().map(|error| error.to_string()));
        outcome
    }

    fn end(&mut self) -> Option<(CaptureOutcome, Option<Draft>)> {
        self.stop.store(true, Ordering::Release);
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for CaptureWriter {
    fn drop(&mut self) {
        self.end();
    }
}

/// A worker's ring and the packet that is next in it.
struct Ring {
    receiver: ByteReceiver,
    next: Option<RecordHead>,
}

impl Ring {
    fn new(receiver: ByteReceiver) -> Self {
        Self { receiver, next: None }
    }

    /// When the next packet was, if there is one.
    fn look(&mut self) -> Option<Nanos> {
        if self.next.is_none() {
            let mut head = [0; RecordHead::LEN];
            self.next = self.receiver.peek(0, &mut head).then(|| RecordHead::from_bytes(head));
        }
        self.next.as_ref().map(|head| head.at)
    }

    /// Takes the next packet out.
    fn take(&mut self, packet: &mut Vec<u8>) -> Option<RecordHead> {
        let head = self.next.take()?;
        packet.resize(head.captured_len as usize, 0);
        self.receiver.peek(RecordHead::LEN, packet);
        self.receiver.skip(RecordHead::LEN + packet.len());
        Some(head)
    }
}

/// State owned by the thread.
struct Run {
    rings: Vec<Ring>,
    packet: Vec<u8>,
    sink: Sink,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
}

impl Run {
    /// The outcome, and the file if there is no packet in it.
    fn run(mut self) -> (CaptureOutcome, Option<Draft>) {
        let failure = self.passes().err();
        // From now on taps do nothing: there would be nobody to take anything out.
        self.shared.end();
        if failure.is_some() {
            // Traffic goes on: a tap that is just counting a packet shall get done with it.
            thread::sleep(PASS);
        }
        let ended = self.sink.end(failure);
        let CaptureCounts { seen, matched, .. } = self.shared.counts();
        // Everything that was matched and is not there for sure is lost, in the ring or on the way to the disk.
        let dropped = matched.saturating_sub(ended.captured);
        let outcome = CaptureOutcome {
            files: ended.files,
            seen,
            matched,
            captured: ended.captured,
            dropped,
            displaced: ended.displaced,
            error: ended.error,
        };
        (outcome, ended.empty)
    }

    /// Takes packets out until there will be no more.
    ///
    /// A packet is written when a pass has gone by since some tap saw one as late: by then all older ones are in their
    /// rings, unless a worker was kept from its work.
    fn passes(&mut self) -> Result<(), Failure> {
        let mut until = Nanos::ZERO;
        loop {
            fault::point("capture");
            let last = self.stop.load(Ordering::Acquire)
                || self.rings.iter().all(|ring| ring.receiver.is_abandoned());
            if last {
                // Otherwise taps that are still in use could fill the rings as fast as they are emptied.
                self.shared.end();
            }
            let latest = self.shared.latest();
            self.drain(if last { Nanos::MAX } else { until })?;
            self.sink.settle()?;
            self.shared.written.store(self.sink.safe(), Ordering::Relaxed);
            if last {
                return Ok(());
            }
            until = latest;
            thread::sleep(PASS);
        }
    }

    /// Takes out all packets up to `until`, oldest first.
    fn drain(&mut self, until: Nanos) -> Result<(), Failure> {
        loop {
            let heads = self.rings.iter_mut().enumerate();
            let oldest = heads.filter_map(|(index, ring)| Some((ring.look()?, index))).min();
            let Some((_, index)) = oldest.filter(|(at, _)| *at <= until) else { return Ok(()) };
            if let Some(head) = self.rings[index].take(&mut self.packet) {
                self.sink.take(head, &self.packet)?;
            }
        }
    }
}
