//! The captures of a trial: a tap for each endpoint that wants one, a writer for each port.

use crate::EngineError;
use crate::capture::{self, CaptureOptions, CaptureWriter, Directions, Every, Keep};
use crate::trial::Endpoints;
use crate::watch::Watch;
use profile::Plan;
use profile::plan::{CapturePlan, CaptureStorage, PortPlan};
use result::{CaptureResult, Named};
use units::Nanos;

/// A capture that is to be switched on or off while its trial goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureSwitch {
    /// Name of the port.
    pub port: String,
    /// Whether packets are taken from now on.
    pub on: bool,
}

/// Captures that run.
pub(crate) struct Captures {
    /// By port name.
    writers: Vec<(String, CaptureWriter)>,
    /// The one that was switched last, until its file has all it captured.
    unsettled: Option<usize>,
}

impl Captures {
    /// Starts what the plan asks for. `wall_zero` is the wall clock's time at the workers' zero.
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
        Ok(Self { writers, unsettled: None })
    }

    /// Switches what somebody wants switched. Asks for the next once the one before is in effect, down to the file.
    pub(crate) fn follow(&mut self, watch: &mut dyn Watch) {
        loop {
            if self.unsettled.is_some_and(|last| !self.writers[last].1.is_settled()) {
                return;
            }
            let Some(switch) = watch.switch() else { return };
            let meant = self.writers.iter().position(|(port, _)| *port == switch.port);
            if let Some(meant) = meant {
                self.writers[meant].1.switch(switch.on);
            }
            self.unsettled = meant.filter(|_| !switch.on);
        }
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
