//! Decides which stream sends next. Never reads a clock; never touches a frame.
//!
//! Streams with the same even load form a *class* and take turns, so a thousand streams of 1 kpps leave as one even
//! train of 1 Mpps. The slots of a class are numbered; slot *j* belongs to stream *j* mod *S* and is due at a time that
//! is a function of *j* alone. A stream of any other pace, and a chain of streams, is a *process*: its slots are
//! numbered, too, and due at times that are a function of their numbers (and of a seed). Workers share both by taking
//! every *W*-th slot, so the union of what *W* workers send is what one would have sent.
//!
//! Time may pass faster or slower for some streams from an instant on, or not at all ([`Schedule::scale`]); then a slot is
//! due at a time that is a function of its number and of the changes.
//!
//! Invariant: at the top of the heap is the class or process whose next slot is due first.

#![forbid(unsafe_code)]

mod class;
mod curve;
mod cyclic;
mod exact;
mod factor;
mod flows;
mod heap;
mod load;
mod pacing;
mod process;
mod random;
mod scale;
mod schedule;
mod train;

pub use factor::Factor;
pub use load::{Chain, CurvePoint, CurveShape, FlowLoops, FlowTurns, GapOrder, Link, Pace, StreamLoad};
pub use pacing::{ErrorBucket, Pacing, PacingRecord};
pub use schedule::{Schedule, Share, Slot};
