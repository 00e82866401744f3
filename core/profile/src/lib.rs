//! The document users write, resolved into a [`Plan`].
//!
//! Not here: files, ports, time.
//!
//! Invariant: a Plan has nothing left to guess, and a bad profile yields all its errors at once, each with line, path
//! and what was expected.

#![forbid(unsafe_code)]

pub mod plan;

pub use plan::Plan;
