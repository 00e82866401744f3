//! The captures of a trial: a tap for each endpoint that wants one, a writer for each port.

use super::commands::{CaptureCommand, Command, Request};
use crate::capture::{self, CaptureOptions, CaptureWriter, Directions, Every, Keep};
use crate::error::EngineError;
use crate::trial::endpoints::Endpoints;
use profile::Plan;
use profile::plan::{CapturePlan, CaptureStorage, PortPlan};
use result::{CaptureResult, Named};
use std::collections::VecDeque;
use units::Nanos;

/// The captures of a running trial.
pub(crate) struct Captures {
    /// By port name.
    writers: Vec<(String, CaptureWriter)>,
    /// The one that is being switched off, until its file has all it captured.
    stopping: Option<(usize, Request)>,
    /// Switches to make after it.
    waiting: VecDeque<Request>,
}

impl Captures {
    /// Starts the captures of the plan. `wall_zero` is the wall clock's time at the workers' zero.
    pub(crate) fn start(
        plan: &Plan,
        endpoints: &mut [Endpoints<'_>],
        wall_zero: Nanos,
    ) -> Result<Self, EngineError> {
        let mut writers = Vec::new();
        for (index, port) in plan.ports.iter().enumerate() {
            let Some(capture) = &port.capture else { continue };
            let (tx, rx): (Vec<_>, Vec<_>) = endpoints.iter_mut().map(|(tx, rx)| (tx, rx)).unzip();
            let tx = tx.into_iter().flatten().filter(|tx| capture.tx && tx.port() == index);
            let rx = rx.into_iter().flatten().filter(|rx| capture.rx && rx.port() == index);
            let (tx, rx): (Vec<_>, Vec<_>) = (tx.collect(), rx.collect());
            let options = options(port, capture, wall_zero);
            let started = capture::start(&options, tx.len() + rx.len());
            let (taps, writer) =
                started.map_err(|error| EngineError::Capture { port: port.name.clone(), error })?;
            let mut taps = taps.into_iter();
            tx.into_iter().zip(&mut taps).for_each(|(tx, tap)| tx.tap(tap));
            rx.into_iter().zip(taps).for_each(|(rx, tap)| rx.tap(tap));
            writers.push((port.name.clone(), writer));
        }
        Ok(Self { writers, stopping: None, waiting: VecDeque::new() })
    }

    /// Takes requests to switch captures; carries out the first at once if none is under way.
    pub(crate) fn request(&mut self, requests: impl IntoIterator<Item = Request>) {
        self.waiting.extend(requests);
        self.turn();
    }

    /// Answers a switch that has taken effect, down to the file, and makes the next.
    pub(crate) fn turn(&mut self) {
        loop {
            if self.stopping.as_ref().is_some_and(|(index, _)| !self.writers[*index].1.is_settled()) {
                return;
            }
            if let Some((_, request)) = self.stopping.take() {
                request.conclude(Ok(()));
            }
            let Some(request) = self.waiting.pop_front() else { return };
            let Command::SetCapture(CaptureCommand { port, on }) = &request.command else { continue };
            let Some(index) = self.writers.iter().position(|(name, _)| name == port) else {
                let reason = format!("port '{port}' has no capture");
                request.conclude(Err(reason));
                continue;
            };
            self.writers[index].1.switch(*on);
            if *on {
                request.conclude(Ok(()));
            } else {
                self.stopping = Some((index, request));
            }
        }
    }

    /// Whether a switch is under way, whose end is to be looked for.
    pub(crate) fn is_switching(&self) -> bool {
        self.stopping.is_some()
    }

    /// Why a capture ended unexpectedly, other than because of the disk: its result has that.
    pub(crate) fn failure(&self) -> Option<String> {
        let failed = self.writers.iter().find(|(_, writer)| writer.has_failed());
        failed.map(|(port, _)| {
            format!("the capture on {port} failed; this is a bug of the tester, please report it")
        })
    }

    /// Ends them, once the workers and their taps are gone.
    pub(crate) fn finish(self) -> Named<CaptureResult> {
        let results = self.writers.into_iter().map(|(port, writer)| (port, writer.finish().into()));
        let mut results: Named<_> = results.collect();
        results.sort_unstable_keys();
        results
    }
}

fn options(port: &PortPlan, capture: &CapturePlan, wall_zero: Nanos) -> CaptureOptions {
    CaptureOptions {
        keep: match capture.storage {
            CaptureStorage::File => Keep::All,
            CaptureStorage::RotateBytes { bytes, files } => {
                Keep::Rotate { every: Every::Bytes(bytes), files_max: files }
            }
            CaptureStorage::RotateTime { time, files } => {
                Keep::Rotate { every: Every::Time(time), files_max: files }
            }
            CaptureStorage::Ring { bytes } => Keep::Last { bytes, packets: u64::MAX },
        },
        filter: (!capture.filter.is_empty()).then(|| capture.filter.clone()),
        snap_len: capture.snap_bytes,
        directions: match (capture.rx, capture.tx) {
            (true, true) => Directions::Both,
            (false, true) => Directions::Sent,
            _ => Directions::Received,
        },
        ring_bytes: usize::try_from(capture.buffer_bytes).unwrap_or(usize::MAX),
        wall_zero,
        ..CaptureOptions::new(&port.device, &capture.file)
    }
}
