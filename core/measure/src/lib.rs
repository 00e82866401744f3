//! What became of every test packet: loss, order, duplicates, latency, jitter and inter-arrival, for each stream.
//!
//! A [`Recorder`] belongs to one worker. What it has counted since the last look is a [`Table`] that is swapped for an
//! empty one in no time, so looking never disturbs the worker; tables add up over intervals and workers to [`Totals`].
//! What must survive the swap (which sequence number is next, when the last packet came) stays in the recorder.
//!
//! Not here: clocks, frames, and how many packets were sent; loss is what its owner makes of both counts.
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
