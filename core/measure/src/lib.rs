//! Fate of every test packet: loss, order, duplicates, latency, jitter and inter-arrival, for each stream.
//!
//! A [`Recorder`] belongs to one worker. Its counts since the last swap are a [`Table`] that is exchanged for an empty
//! one in no time, so reading never disturbs the worker; tables add up over intervals and workers to [`Totals`]. State
//! that must survive the swap (the next sequence number, the time of the last packet) stays in the recorder.
//!
//! Not here: clocks, frames, and totals of sent packets: the engine computes loss from both counts. Packets sent are counted
//! by the millisecond only ([`Samples`]), to find outages.
//!
//! Invariant: every arrival is counted exactly once as received, duplicate, stale or rejected, at the latest by
//! [`Recorder::settle`].

#![forbid(unsafe_code)]

mod counts;
mod damage;
mod egress;
mod order;
mod outages;
mod paths;
mod recorder;
mod samples;
mod span;
mod totals;

pub use counts::{Counts, DelayVariation, Moments};
pub use damage::{DAMAGE_KINDS, DAMAGE_PLACES, DamageCounts, Damages};
pub use egress::{Egress, EgressCounts};
pub use order::{ArrivalOrder, RESYNC, WINDOW};
pub use outages::{Outage, OutageRule, Outages};
pub use paths::{PathCounts, Paths};
pub use recorder::{Arrival, KEPT_APART_MAX, Recorder, Table};
pub use samples::{SAMPLE, Sample, Samples};
pub use span::{Span, Spans};
pub use totals::{Jitter, StreamTotals, Totals, Undisturbed};
