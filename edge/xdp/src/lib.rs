//! Sending by a program that the kernel runs for each frame: XDP *live frames* (Linux 5.18). Several times faster than
//! AF_XDP on interfaces without zero-copy, such as veth.
//!
//! Frames are written as for any port; the program copies them from a shared array into the kernel's frames and sends them.
//! So whatever a port can send goes this way: streams with any field, sessions, captures.

#![allow(unsafe_code)]

pub mod bpf;
mod live;
mod program;
mod queue;

pub use live::LiveFrames;
pub use queue::{LiveCounts, pair};
