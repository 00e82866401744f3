//! Decides which stream sends next. Never reads a clock; never touches a frame.
//!
//! Streams that ask for the same load form a *class* and take turns, so a thousand streams of 1 kpps leave as one even
//! train of 1 Mpps. The slots of a class are numbered; slot *j* belongs to stream *j* mod *S* and is due at a time that
//! is a function of *j* alone. Workers share a class by taking every *W*-th slot, so the union of what *W* workers send
//! is what one would have sent.
//!
//! Invariant: the class at the top of the heap is the one whose next slot is due first.

#![forbid(unsafe_code)]

mod class;
mod pacing;
mod schedule;

pub use pacing::{Pacing, PacingRecord};
pub use schedule::{Schedule, Share, Slot, StreamLoad};
