//! Writes packets of a port to files while traffic runs, without getting in its way.
//!
//! Each worker has a [`Tap`] for the port: it copies packets that pass the filter into its ring, and counts packets
//! without room there. A thread on the control side merges the rings by time into pcapng files ([`CaptureWriter`]). A
//! slow or full disk costs captured packets, never traffic.
//!
//! Not here: which ports are captured and when. A tap reads no clock. A capture that is switched off sees nothing.
//!
//! Invariant: every packet seen is captured, dropped or was not let through by the filter, and counted as such.

mod options;
mod outcome;
mod record;
mod shared;
mod sink;
mod tap;
mod writer;

pub(crate) use options::{CaptureOptions, Directions, Every, Keep};
pub(crate) use outcome::{CaptureError, CaptureOutcome};
pub(crate) use pcap::Direction;
pub(crate) use tap::Tap;
pub(crate) use writer::CaptureWriter;

use filter::Filter;
use shared::Shared;
use std::sync::Arc;

/// Begins to capture: opens the file and starts the thread that writes it. Returns a tap for each of `workers` workers.
pub(crate) fn start(
    options: &CaptureOptions,
    workers: usize,
) -> Result<(Vec<Tap>, CaptureWriter), CaptureError> {
    let compile = |text: &String| Filter::compile(text, options.snap_len).map(Arc::new);
    let filter = options.filter.as_ref().map(compile).transpose()?;
    let shared = Arc::new(Shared::new(workers));
    let mut taps = Vec::new();
    let mut rings = Vec::new();
    for worker in 0..workers {
        let (sender, receiver) = port::bytes::byte_ring(options.ring_bytes);
        taps.push(Tap::new(sender, filter.clone(), options, shared.clone(), worker));
        rings.push(receiver);
    }
    Ok((taps, CaptureWriter::start(options, rings, shared)?))
}

#[cfg(test)]
mod tests;
